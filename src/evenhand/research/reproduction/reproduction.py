"""The paper, reproduced: what was measured beside what it claims, in words and in a folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.files import make_folder, write_atomically
from evenhand.report.model import Assumptions, Picture, Report, Result, Section
from evenhand.research.reproduction.measurements import Measurements
from evenhand.research.reproduction.statements import Statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOW = (
    "Regret is counted with true values; the noise is Gaussian with standard deviation 1, and "
    "δ = 1/T unless said otherwise. F is the event that some estimate of a run is off by the "
    "precision ε_l of its phase or more. Limits are drawn with the constants that their proofs "
    "give. Replication i sees the same noise for all policies; all randomness comes from seed "
    "{seed}, so that the same command measures the same:"
)
_SIZE = (
    "{0[in_horizon][replications]:,} runs per problem and horizon in figure 1, "
    "{0[in_kappa][replications]:,} in 2, {0[growth][replications]:,} in 3, "
    "{0[transition][replications]:,} in 4, {0[blind][replications]:,} in 7; "
    "{audited:,} runs looked into step by step in 5 and 6; {sets:,} sets of options for the lemmas "
    "on designs."
)


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Result):
    """Every statement of the paper, with what was measured."""

    measurements: Measurements
    statements: tuple[Statement, ...]
    command: str = ""

    @property
    def holds(self) -> bool:
        """Whether every statement holds in what was measured."""
        return all(row.holds for row in self.statements)

    def _report(self) -> Report:
        # Drawing is slow to load, and needed for the page only; the list of figures is beside it.
        from evenhand.research.reproduction.figures import FIGURES  # noqa: PLC0415

        found, rows = self.measurements, self.statements
        held = sum(row.holds for row in rows)
        audits = [audit for _, audit in (*found.lemmas, *found.failures)]
        audited, sets = sum(audit["runs"] for audit in audits), found.geometry["sets"]
        size = _SIZE.format(found.programme, audited=audited, sets=sets)
        figures = [
            Section(
                f"{number}. {figure.title}",
                [
                    Picture(figure.name, partial(figure.draw, found), figure.title, figure.note),
                    _shown(row for row in rows if row.source in figure.sources),
                ],
                "file",
            )
            for number, figure in enumerate(FIGURES, 1)
        ]
        return Report(
            "The price of unfairness, reproduced",
            "Every theorem and lemma of S. Gaucher, A. Carpentier and C. Giraud, The price of "
            "unfairness in linear bandits with biased feedback, run with evenhand "
            f"{version('evenhand')}. {'All' if held == len(rows) else f'{held} of'} {len(rows)} "
            "statements hold in what was measured.",
            sections=[
                Section("What the paper claims, and what was measured", [_shown(rows)], "print"),
                *figures,
                Section("How it was run", [_HOW.format(seed=found.seed), self.command, size]),
            ],
        )

    def _record(self) -> dict[str, Any]:
        return {
            "seed": self.measurements.seed,
            "statements": [dataclasses.asdict(row) for row in self.statements],
            "measurements": _parts(self.measurements),
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.research.reproduction.figures import draw_in_horizon  # noqa: PLC0415

        return draw_in_horizon(self.measurements, axes)

    def write(self, folder: Path) -> Path:
        """Write everything to a folder, figures as SVG and PNG, numbers as ``measurements.json``;
        return the page.
        """
        from evenhand.report.pictures import save_figure  # noqa: PLC0415
        from evenhand.research.reproduction.figures import FIGURES  # noqa: PLC0415

        make_folder(folder)
        for figure in FIGURES:
            drawn = figure.draw(self.measurements)
            for kind in ("svg", "png"):
                save_figure(drawn, folder / f"{figure.name}.{kind}")
        with write_atomically(folder / "measurements.json", "the report") as draft:
            draft.write_text(json.dumps(self.to_dict(), indent=1) + "\n", "utf-8")
        self.report(folder / "index.html")
        return folder / "index.html"

    def __repr__(self) -> str:
        held = sum(row.holds for row in self.statements)
        return f"Reproduction({held} of {len(self.statements)} statements hold)"


def _shown(rows: Iterable[Statement]) -> Assumptions:
    return Assumptions(
        [
            (
                f"{row.source}: {row.claim}",
                "held" if row.holds else "contradicted",
                f"{row.measured} Erratum: {row.erratum}" if row.erratum else row.measured,
            )
            for row in rows
        ]
    )


def _parts(value: Any) -> Any:
    """Return dataclasses as dictionaries."""
    if dataclasses.is_dataclass(value):
        return {f.name: _parts(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _parts(part) for name, part in value.items()}
    return [_parts(part) for part in value] if isinstance(value, tuple | list) else value
