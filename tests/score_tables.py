"""Random small tables of scores, with the design that they are of written down in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import evenhand as eh
from evenhand.scores import Scores
from evenhand.scores.roles import ROLES
from reference import in_range


def read_table(table: Any, **parts: Any) -> Scores:
    """Return the scores of a table, of which parts are named one by one, read strictly."""
    columns = parts.pop("columns", {}) | {r: parts.pop(r) for r in ROLES if r in parts}
    usual = {"repeats": False, "telling": True, "beside": False}
    return eh.read_scores(table, columns=columns, **usual | parts)


def scored(y: Any, judges: Sequence[str] = ()) -> pd.DataFrame:
    """Return (options, judges) scores as a table of o0, o1 … by j0, j1 …; NaN was not given."""
    scores = np.asarray(y, dtype=np.float64)
    option, judge = np.nonzero(np.isfinite(scores))
    return pd.DataFrame(
        {
            "option": [f"o{x}" for x in option],
            "evaluator": [judges[x] if judges else f"j{x}" for x in judge],
            "score": scores[option, judge],
        }
    )


KINDS = ("panel", "repeats", "groups", "comparisons", "one order", "items")


@dataclass(frozen=True, eq=False)
class Table:
    """A table, and who scored what.

    kind, frame, settings
        What it is, the table, and what `decide` is to be told of it.
    rows
        (n, m) 1 for the option (−1 for the rival), 1 for the evaluator, 1 for the own group.
    noise
        Standard deviation of the noise; 0 for judges who agree to the last digit.
    """

    kind: str
    frame: pd.DataFrame
    rows: NDArray[np.int64]
    options: tuple[int, ...]
    noise: float
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def compares(self) -> bool:
        """Whether the scores tell all leads: each is in the span of the rows, in whole numbers."""
        return self._compares(self.rows)

    @property
    def compares_at_once(self) -> bool:
        """Likewise where who made few comparisons shares what being named first adds."""
        if self.kind != "comparisons":
            return self.compares
        options = self.rows[:, : max(self.options) + 1]
        return self._compares(np.column_stack([options, np.ones(len(options), dtype=np.int64)]))

    def _compares(self, rows: NDArray[np.int64]) -> bool:
        columns = np.eye(rows.shape[1])
        first, *others = (columns[option] for option in self.options)
        return all(in_range(rows, first - other) for other in others)


def table(rng: np.random.Generator) -> Table | None:
    """Draw a table; None where there is nothing to compare."""
    kind = KINDS[rng.integers(len(KINDS))]
    k, J = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    share, noise = rng.choice([0.3, 0.7, 1.0]), float(rng.choice([0.0, 0.5]))
    values, leniencies = rng.integers(0, 9, k) / 2, rng.integers(-2, 3, J) / 4
    sides = [["f", "g"][x] for x in rng.integers(0, 2, k + J)]
    compared = kind in ("comparisons", "one order")
    rows: list[NDArray[np.int64]] = []
    cells: list[dict[str, Any]] = []
    for o, j, r in np.ndindex(k, J, k if compared else {"repeats": 3, "items": 4}.get(kind, 1)):
        if rng.random() > share or (compared and r == o):
            continue
        own = int(kind == "groups" and sides[o] == sides[k + j])
        by = leniencies[j] * (kind != "one order")
        row = np.zeros(k + J + 1, dtype=np.int64)
        row[o], row[k + j], row[-1] = 1, kind != "one order", own
        cell = {"option": f"o{o}", "evaluator": f"J{j}", "score": values[o] + by + 0.5 * own}
        if compared:
            row[r], cell["rival"], cell["score"] = -1, f"o{r}", cell["score"] - values[r]
        if kind == "groups":
            cell |= {"option_group": sides[o], "evaluator_group": sides[k + j]}
        if kind == "items":
            cell |= {"item": f"i{r}", "score": cell["score"] + 0.25 * r}
        cell["score"] += noise * rng.normal()
        rows.append(row)
        cells.append(cell)
    frame = pd.DataFrame(cells)
    if len(cells) < 2 or frame["score"].nunique() < 2:
        return None
    if compared and frame["score"].min() * frame["score"].max() >= 0.0:  # refused: who won?
        return None
    names = set(frame["option"]) | (set(frame["rival"]) if compared else set())
    options = tuple(sorted(int(name[1:]) for name in names))
    if len(options) < 2:
        return None
    settings = {"position": False} if kind == "one order" else {}
    return Table(kind, frame, np.array(rows), options, noise, settings)
