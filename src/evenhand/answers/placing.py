"""Where options stand against a target: surely in, surely out, or at the line; and how probably.

What is sure holds for all options at once, with a chance of 1 − δ: the m best by `certainty.line`
(the best one by the winner test); a bar by one-sided tests at δ/k each, and one option at
δ/(k − 1), since each other option can be on one wrong side only. Ranks are of all at once, by
themselves. Chances and what is expected to be lost are estimates (`certainty.chances`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.answers.scale import Scale
from evenhand.arrays import Floats
from evenhand.auditing.shortlists import Shortlist
from evenhand.certainty.chances import Drawn
from evenhand.certainty.likings import doubts
from evenhand.certainty.line import (
    Field,
    Flags,
    Line,
    beside,
    beyond_bar,
    line_of,
    ranks_of,
    value_errors,
)
from evenhand.certainty.look import Look, leading
from evenhand.certainty.models import Fit
from evenhand.certainty.targets import Target
from evenhand.numerics.shrinkage import population
from evenhand.policies.conclusion import Conclusion
from evenhand.policies.messages import Decision, Selection

Verdict = Literal["in", "out", "open", "not worse", "itself"]

SAID: dict[str, dict[str, str]] = {
    "top": {
        "in": "surely in",
        "probably in": "probably in",
        "open": "at the line",
        "probably out": "probably out",
        "out": "surely out",
    },
    "bar": {
        "in": "surely above",
        "probably in": "probably above",
        "open": "at the bar",
        "probably out": "probably below",
        "out": "surely below",
    },
    "against": {
        "in": "better",
        "probably in": "probably better",
        "open": "cannot tell",
        "probably out": "probably worse",
        "out": "worse",
        "not worse": "not worse",
        "itself": "",
    },
}
"""Verdicts in words, by what was wanted."""


@dataclass(frozen=True, eq=False)
class Placing:
    """Where every option stands against a target.

    Parameters
    ----------
    target
        What was wanted.
    verdicts
        (k,) in, out or open; against another option also 'not worse' by more than the tolerance.
    chances
        (k,) how probable it is that each is wanted: an estimate. NaN where nothing is known.
    rank_low, rank_high
        (k,) the best and the worst place that each may have, of all options at once.
    chosen
        Indices of those that look wanted, the most valuable first.
    loss
        What any of the chosen is worse than any other option at most, of the m best; infinite if
        that is not known.
    expected_loss
        What is expected to be lost per place, against the true m best: an estimate.
    shortlist
        What the bias and leniency change among the m best; None where nobody can say.
    spread
        Standard deviation of values in general, by estimate.
    level
        Confidence of what is sure; and the chance from which on an option is probably in or out.
    """

    target: Target
    verdicts: tuple[Verdict, ...]
    chances: Floats
    rank_low: NDArray[np.intp]
    rank_high: NDArray[np.intp]
    chosen: tuple[int, ...]
    loss: float = math.inf
    expected_loss: float = math.nan
    shortlist: Shortlist | None = None
    spread: float = math.nan
    level: float = 0.95

    def where(self, *verdicts: Verdict) -> list[int]:
        """Return the options, by index, of which one of these is said."""
        return [x for x, said in enumerate(self.verdicts) if said in verdicts]

    def likely(self, option: int) -> str:
        """Return the verdict on an option; if open, where it probably is."""
        verdict, chance = self.verdicts[option], float(self.chances[option])
        if verdict == "open" and chance >= self.level:
            return "probably in"
        return "probably out" if verdict == "open" and chance <= 1.0 - self.level else verdict

    def said(self, option: int) -> str:
        """Return the verdict on an option in words."""
        verdict = self.likely(option)
        kind = self.target.kind
        if verdict == "probably in" and kind == "against" and self.target.tolerance > 0.0:
            return "probably not worse"
        return SAID[kind][verdict]

    @property
    def settled(self) -> bool:
        """Whether nothing is open; of the m best, also if no more than the tolerance is lost."""
        if self.target.top is None:
            return not self.where("open")
        return self.loss <= self.target.tolerance

    @property
    def expected_right(self) -> float:
        """How many of the chosen are expected to be wanted: an estimate."""
        return float(self.chances[list(self.chosen)].sum()) if self.chosen else 0.0


def placing_of(
    said: Conclusion,
    values: Floats,
    target: Target,
    delta: float,
    *,
    sure: bool,
    holds: bool,
    scale: tuple[float, float] | None,
    alike: Fit | None = None,
    shortlist: Shortlist | None = None,
) -> Placing:
    """Return where options stand against a target, by a conclusion and (k,) values; ``sure`` says
    that the best one is, and ``holds`` that the scores do not contradict what is assumed. Chances
    are by a fit with one noise for all (``alike``), if there is one.
    """
    k, fit = len(values), said.fit
    field = Field.of(fit, k) if holds and fit is not None else None
    if field is None:
        return _unknown(values, target, said.decision.option, sure)
    if getattr(fit, "trusted", None) is not None:
        field = field.confirmed_by(_confirmed(fit.trusted, k, delta))
    low, high = ranks_of(field, delta)
    drawn = Drawn.of((None if alike is None else Field.of(alike, k)) or field)
    unit, spread = said.unit, drawn.spread
    if target.top is None:
        made = _bar if target.bar is not None else _against
        verdicts, chances, chosen = made(said, fit, values, target, delta, drawn, alike or fit)
        return Placing(
            target, verdicts, chances, low, high, chosen, spread=spread * unit, level=1.0 - delta
        )
    line = line_of(field, target.top, delta)
    if target.top == 1:
        line = _winner(said, fit, k, delta, sure, line)
    most = Scale.of(scale, False).most
    verdicts = tuple(
        "in" if line.inside[x] else "out" if line.outside[x] else "open" for x in range(k)
    )
    return Placing(
        target,
        verdicts,
        drawn.among(target.top),
        low,
        high,
        tuple(line.chosen.tolist()),
        min(line.loss * unit, most),
        drawn.lost(line.chosen) * unit,
        shortlist,
        spread * unit,
        1.0 - delta,
    )


def placing_by(
    decision: Decision,
    target: Target | None,
    labels: Sequence[str],
    values: Floats,
    fit: Fit | None,
    noise_scale: float | None,
) -> Placing:
    """Return where options stand by a search for a target; chances by its fit, if any."""
    selection, k, unit = decision.selection, len(values), noise_scale or 1.0
    assert selection is not None
    target = Target(top=len(selection.chosen)) if target is None else target
    rival = target.rival(labels)
    field = None if fit is None else Field.of(fit, k)
    chances, lost, spread = np.full(k, np.nan), math.nan, math.nan
    if field is not None and fit is not None:
        drawn = Drawn.of(field)
        spread = drawn.spread * unit
        if target.top is not None:
            lost = drawn.lost(np.array(selection.chosen)) * unit
            chances = drawn.among(target.top)
        elif rival is not None:
            chances = _chances_beside(drawn, rival, target.tolerance / unit)
        else:
            chances = _chances_above(values, value_errors(fit) * unit, target)
    low, high = np.ones(k, dtype=np.intp), np.full(k, k)
    if target.top is not None:
        high[list(selection.inside)], low[list(selection.outside)] = target.top, target.top + 1
    return Placing(
        target,
        verdicts_by(selection, target, k, rival),
        chances,
        low,
        high,
        selection.chosen,
        decision.loss,
        lost,
        spread=spread,
        level=decision.level or 0.95,
    )


def verdicts_by(
    selection: Selection, target: Target, k: int, rival: int | None
) -> tuple[Verdict, ...]:
    """Return (k,) what a search for a target says of each; ``rival`` is whom all are against."""
    inside, outside = np.zeros((2, k), dtype=np.bool_)
    inside[list(selection.inside)], outside[list(selection.outside)] = True, True
    said: list[Verdict] = list(_verdicts(inside, outside))
    if rival is not None:
        good: Verdict = "not worse" if target.tolerance else "in"
        said = [good if one == "in" else one for one in said]
        said[rival] = "itself"
    return tuple(said)


def _unknown(values: Floats, target: Target, best: int, sure: bool) -> Placing:
    """Return that nothing is sure, and nothing probable."""
    k = len(values)
    order = [x for x in np.argsort(-values, kind="stable").tolist() if not math.isnan(values[x])]
    verdicts: list[Verdict] = ["open"] * k
    loss, chosen = math.inf, tuple(order[: target.top])
    if target.top == 1 and sure:
        verdicts = ["out"] * k
        verdicts[best], loss, chosen = "in", 0.0, (best,)
    if target.bar is not None:
        chosen = tuple(x for x in order if values[x] >= target.bar - target.tolerance)
    return Placing(
        target,
        tuple(verdicts),
        np.full(k, np.nan),
        np.ones(k, dtype=np.intp),
        np.full(k, k),
        chosen if target.against is None else (),
        loss,
    )


def _confirmed(trusted: Fit, k: int, delta: float) -> Flags:
    """Return (k, k) whom those who are trusted have ahead by themselves, on that one side."""
    everybody = np.arange(k)
    return np.array([doubts(trusted, x, everybody, 0.0, delta)[0] < delta for x in range(k)])


def _winner(said: Conclusion, fit: Any, k: int, delta: float, sure: bool, line: Line) -> Line:
    """Return the best one by the winner test: out is whom it rejects, in who is left alone."""
    option, everybody = said.decision.option, np.arange(k)
    inside, outside = np.zeros((2, k), dtype=np.bool_)
    if leading(fit, everybody, 0.0) is not None:
        rivals = everybody[~said.questions.options.same_as(option)]
        look = Look.at(fit, option, rivals, 0.0, delta)
        outside[look.rivals] = look.chances < delta
    inside[option] = sure
    return Line(inside, outside, np.array([option]), said.decision.loss / said.unit)


def _bar(
    said: Conclusion,
    fit: Fit,
    values: Floats,
    target: Target,
    delta: float,
    _: Drawn,
    alike: Fit,
) -> tuple[tuple[Verdict, ...], Floats, tuple[int, ...]]:
    """Return verdicts, chances and who looks above the bar."""
    assert target.bar is not None
    bar = target.bar
    errors = value_errors(fit) * said.unit
    verdicts = _verdicts(*beyond_bar(values - bar, errors, fit.freedom, target.tolerance, delta))
    chances = _chances_above(values, value_errors(alike) * said.unit, target)
    order = np.argsort(-values, kind="stable").tolist()
    return verdicts, chances, tuple(x for x in order if values[x] >= bar - target.tolerance)


def _chances_above(values: Floats, errors: Floats, target: Target) -> Floats:
    """Return (k,) how probable it is that each is above a bar, by values with standard errors."""
    people, bar = population(values, errors**2), target.bar or 0.0
    if people is None:
        return np.full(len(values), np.nan)
    kept = 1.0 - people.noise(errors**2)
    away = people.shrunken(values, errors**2) - bar + target.tolerance
    deviation = np.sqrt(np.where(kept > 0.0, kept * errors**2, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(special.ndtr(np.nan_to_num(away / deviation, nan=0.0)))


def _chances_beside(drawn: Drawn, rival: int, slack: float) -> Floats:
    """Return (k,) how probable it is that each is better than one, or no worse."""
    chances = np.asarray((drawn.values - drawn.values[:, [rival]] > -slack).mean(axis=0))
    chances[rival] = math.nan
    return chances


def _against(
    said: Conclusion,
    fit: Fit,
    values: Floats,
    target: Target,
    delta: float,
    drawn: Drawn,
    _: Fit,
) -> tuple[tuple[Verdict, ...], Floats, tuple[int, ...]]:
    """Return verdicts, chances and who looks better than, or no worse than, one option."""
    assert target.against is not None
    k, a = len(values), said.questions.options.labels.index(target.against)
    others = np.delete(np.arange(k), a)
    leads, slack = fit.leads(a, others).estimates, target.tolerance / said.unit
    better, worse, close = beside(fit, a, others, slack, delta)
    found = np.full(k, "itself", dtype=object)
    found[others] = np.where(
        better, "in", np.where(worse, "out", np.where(close, "not worse", "open"))
    )
    trusted = getattr(fit, "trusted", None)
    if trusted is not None:
        for x in others.tolist():
            doubt = doubts(trusted, x, np.array([a]), 0.0 if found[x] == "in" else slack, delta)
            if found[x] in ("in", "not worse") and not doubt[0][0] < delta:
                found[x] = "open"
    chances = _chances_beside(drawn, a, slack)
    order = others[np.argsort(leads, kind="stable")].tolist()
    behind = dict(zip(others.tolist(), leads.tolist(), strict=True))
    return tuple(found.tolist()), chances, tuple(x for x in order if -behind[x] > -slack)


def _verdicts(inside: Flags, outside: Flags) -> tuple[Verdict, ...]:
    return tuple(
        "in" if one else "out" if other else "open"
        for one, other in zip(inside.tolist(), outside.tolist(), strict=True)
    )
