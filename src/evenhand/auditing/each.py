"""Evaluators one by one, and those whom they favour: whose bias is how large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import column_of
from evenhand.auditing.own import OwnBiases, own_biases
from evenhand.auditing.spread import Drawn, Spread, drawn, spread
from evenhand.scores.factor import Codes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Each:
    """Biases one by one: of evaluators, or towards groups."""

    effects: Effects
    kind: str  # evaluator, group or option
    codes: Codes  # (n,) whose bias it is in each row, −1 for nobody's
    names: Sequence[str]
    about: Mapping[str, object]  # further columns of `frame`, after the names
    level: float  # of intervals; whoever has a q-value of at most 1 − level is flagged

    @cached_property
    def own(self) -> OwnBiases:
        """Biases of those who have partial scores."""
        return own_biases(self.effects, self.codes, len(self.names))

    @cached_property
    def spread(self) -> Spread:
        """How much they differ."""
        return spread(self.own, self.level)

    @cached_property
    def drawn(self) -> Drawn:
        """Biases drawn to their mean."""
        return drawn(self.own, self.level)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each; whoever has no partial scores has no bias of his own.

        Columns: the name; what else is known about them; ``scores``, and how many of these are
        ``own`` (partial); ``bias`` from ``low`` to ``high``; ``shrunk`` to the mean, from
        ``shrunk_low`` to ``shrunk_high``; ``p`` and ``q`` for a bias of 0; ``flagged``.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        size, there, mine = len(self.names), self.codes >= 0, self.own
        partial = there & (column_of(self.effects) != 0.0)
        width = mine.widths(self.level)

        def of_all(values: Floats) -> Floats:
            column = np.full(size, np.nan)
            column[mine.who] = values
            return column

        return pd.DataFrame(
            {
                self.kind: list(self.names),
                **self.about,
                "scores": np.bincount(self.codes[there], minlength=size),
                "own": np.bincount(self.codes[partial], minlength=size),
                "bias": of_all(mine.bias),
                "low": of_all(mine.bias - width),
                "high": of_all(mine.bias + width),
                "shrunk": of_all(self.drawn.bias),
                "shrunk_low": of_all(self.drawn.low),
                "shrunk_high": of_all(self.drawn.high),
                "p": of_all(self.drawn.chance),
                "q": of_all(self.drawn.q),
                "flagged": of_all(self.drawn.q) <= 1.0 - self.level,
            }
        )


def of_evaluators(effects: Effects, level: float) -> Each:
    """Return the biases of evaluators, with their groups and leniencies."""
    scores = effects.scores
    if scores.evaluator is None:
        return Each(effects, "evaluator", np.full(len(scores), -1, dtype=np.int32), (), {}, level)
    codes, names = scores.evaluator.codes, scores.evaluator.names
    about: dict[str, object] = {}
    if scores.evaluator_group is not None:
        about["group"] = [scores.groups[g] if g >= 0 else None for g in scores.evaluator_group]
    lenient = np.full(len(names), np.nan)
    if len(effects.leniencies()):
        rows = np.bincount(codes, minlength=len(names))
        given = np.bincount(codes, effects.leniencies()[scores.chairs[0]], len(names))
        lenient = np.divide(given, rows, out=lenient, where=rows > 0)
    return Each(effects, "evaluator", codes, names, about | {"leniency": lenient}, level)


def of_favoured(effects: Effects, level: float) -> Each:
    """Return the biases towards groups; where none are given, towards options."""
    scores, p = effects.scores, column_of(effects)
    if scores.option_group is None:
        codes = scores.option.codes
        if scores.rival is not None:
            codes = np.where(p < 0.0, scores.rival, codes)
        return Each(effects, "option", codes, scores.option.names, {}, level)
    codes = scores.option_group[scores.option.codes]
    if scores.rival is not None:
        codes = np.where(p < 0.0, scores.option_group[scores.rival], codes)
    return Each(effects, "group", codes, scores.groups, {}, level)
