"""The difference of two options that somebody names: a against b, and not worse than."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.best import sign
from evenhand.errors import InputError
from evenhand.policies.base import said_by
from evenhand.policies.messages import Estimate
from evenhand.report.model import Report, Result
from evenhand.report.words import interval, number, percent, short
from evenhand.tables import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.answers.answer import Answer


@dataclass(frozen=True)
class Difference(Result):
    """By how much one option is better than another, with its interval."""

    # Probabilities are for options that were named without looking at the scores.

    option: str
    rival: str
    value: float
    low: float  # infinite where nothing is known
    high: float
    at_least: float  # one-sided bound: not worse by more than -at_least
    level: float  # probability of each of the two, the interval and at_least

    def _report(self) -> Report:
        return Report(f"{short(self.option)} against {short(self.rival)}", self._verdict())

    def _record(self) -> dict[str, Any]:
        return vars(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.report.pictures import ForestRow, draw_forest, new_figure  # noqa: PLC0415

        if axes is None:
            axes = new_figure(7.0, 2.2, self._verdict(), 80).subplots()
        row = ForestRow(self.option, self.value, self.low, self.high)
        draw_forest(axes, [row], zero=True, fewest=1)
        axes.set_xlabel(f"better than {short(self.rival)} by", fontsize=9, parse_math=False)
        return axes.figure.figure

    def _verdict(self) -> str:
        """Return the difference, and how sure it is, in a sentence or two."""
        name, other = short(self.option), short(self.rival)
        if math.isnan(self.value):
            return f"The scores do not compare {name} with {other}."
        found, word = Estimate(self.value, self.low, self.high, self.level), "better"
        if self.value < 0.0:
            found, word = -found, "worse"
        said = f"{name} is {word} than {other} by {interval(found)}"
        if not math.isfinite(self.at_least):
            return f"{said}; how sure that is, these scores do not say."
        bound = f"better by at least {number(self.at_least)}"
        if self.at_least <= 0.0:
            bound = f"not worse by more than {number(-self.at_least)}"
        return f"{said}; {bound}. Each is {percent(self.level)} sure."


def difference(answer: Answer, option: str | int, rival: str | int) -> Difference:
    """Return by how much one option of an answer is better than another."""
    a, b = (_place(answer, name) for name in (option, rival))
    if a == b:
        raise InputError(f"two options are needed; got {answer.options.labels[a]!r} twice.")
    said, level = answer.conclusion, answer.confidence
    policy = None if answer.outcome is None else answer.outcome.policy
    value = sign(answer.best) * (answer.standing(a).value - answer.standing(b).value)
    found: Floats = np.array([value, -math.inf, math.inf, -math.inf])
    if answer.option in (a, b):
        found[:3] = said.leads[b] if answer.option == a else -said.leads[a, [0, 2, 1]]
        found[3] = found[1]
    if said.fit is not None:
        spread = said.compare(a, b)
        if answer.option not in (a, b) or math.isnan(found[0]):
            found[:3] = spread.ends(1.0 - level)[0]
        found[3] = spread.ends(2.0 * (1.0 - level))[0, 1]
    elif policy is not None and math.isinf(found[2] - found[1]):
        by_policy = said_by(policy, "difference", a, b)
        found = found if by_policy is None else by_policy
    labels = answer.options.labels
    if answer.contradicted:
        found, level = np.array([found[0], -math.inf, math.inf, -math.inf]), 0.0
    value, low, high, least = answer.scale.leads(found).tolist()
    if (said.verdicts[a], said.verdicts[b]) == ("in", "out"):  # then it is above 0
        low = max(low, 0.0)
    return Difference(labels[a], labels[b], value, low, high, least, level)


def _place(answer: Answer, option: str | int) -> int:
    """Return the index of an option, by its name or index."""
    labels = answer.options.labels
    if isinstance(option, str) and option in labels:
        return labels.index(option)
    if isinstance(option, int | np.integer) and 0 <= option < len(labels):
        return int(option)
    raise InputError(
        f"there is no option {option!r}; say one of {listed(labels, 5)}, or its index."
    )
