"""Where options stand against a target: surely in, surely out, or at the line; and how probably.

Options of categories compete inside these alone, by one fit of all scores: one leniency for every
evaluator, and one bias. Of C categories each has δ/C, so that what is sure is so of all of them.

What is sure holds for all options at once, with a chance of 1 − δ: the m best by `certainty.line`
(the best one by the winner test); a bar by two-sided tests (Holm), and one option
at δ/2(k − 1), since who is worth the same may look better or worse. Ranks are of all at once, by
themselves. Chances and what is expected to be lost are estimates (`certainty.chances`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.categories import Categories
from evenhand.answers.scale import Scale
from evenhand.arrays import Floats, Indices
from evenhand.auditing.shortlists import Shortlist
from evenhand.inference.chances import Drawn
from evenhand.certainty.likings import doubts
from evenhand.certainty.line import (
    Errors,
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
from evenhand.inference.target import Target
from evenhand.policies.conclusion import Conclusion
from evenhand.policies.messages import Decision, Selection

Verdict = Literal["in", "out", "open", "not worse", "itself"]
_Stand = tuple[tuple[Verdict, ...], Floats, tuple[int, ...], tuple[int, ...]]

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
    "bar, low": {
        "in": "surely below",
        "probably in": "probably below",
        "open": "at the bar",
        "probably out": "probably above",
        "out": "surely above",
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
        What the bias and leniency change among those wanted; None where nobody can say.
    spread
        Standard deviation of values in general, by estimate.
    level
        Confidence of what is sure; and the chance from which on an option is probably in or out.
    short
        Indices of those that surely fall short of a bar or another option by more than the
        tolerance.
    categories
        What options are compared inside of; the m best, places and chances are of each then.
    apart
        Whether the scores do not compare all options of a category with one another.
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
    short: tuple[int, ...] = ()
    categories: Categories | None = None
    apart: bool = False

    @property
    def best(self) -> bool:
        """Whether nothing but the best option of all is wanted."""
        return self.target.top == 1 and self.categories is None

    @property
    def wanted(self) -> str:
        """What is wanted, as it follows 'is' or 'are'."""
        among = "" if self.target.top in (None, 1) else "among "
        inside = "" if self.categories is None else f" of their {self.categories.column}"
        return f"{among}{self.target.words}{inside}"

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
        low = kind == "bar" and self.target.best == "low"
        return SAID["bar, low" if low else kind][verdict]

    @property
    def settled(self) -> bool:
        """Whether nothing is open; of the m best, also if no more than the tolerance is lost."""
        if self.target.top is None:
            return not self.where("open")
        if not self.target.tolerance:  # by one test: what may be lost is another
            return bool(self.chosen) and all(self.verdicts[x] == "in" for x in self.chosen)
        return self.loss <= self.target.tolerance

    def passes(self, option: int) -> bool | None:
        """Tell whether an option is surely wanted, up to the tolerance; None where it is open."""
        tolerance, top = self.target.tolerance, self.target.top is not None
        verdict = self.verdicts[option]
        if verdict in ("in", "not worse") or (top and self.settled and option in self.chosen):
            return True
        fails = option in self.short or (verdict == "out" and (top or not tolerance))
        return False if fails else None

    @property
    def expected_right(self) -> float:
        """How many of the chosen are expected to be wanted: an estimate."""
        return float(self.chances[list(self.chosen)].sum()) if self.chosen else 0.0


class _Part(NamedTuple):
    """Where options stand that compete with one another, by their numbers among all."""

    verdicts: tuple[Verdict, ...]
    chances: Floats
    rank_low: NDArray[np.intp]
    rank_high: NDArray[np.intp]
    chosen: Indices
    loss: float
    lost: float  # in all, by estimate
    spread: float


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
    categories: Categories | None = None,
) -> Placing:
    """Return where options stand against a target, by a conclusion and (k,) values; ``sure`` says
    that the best one is, and ``holds`` that the scores do not contradict what is assumed. Chances
    are by a fit with one noise for all (``alike``), if there is one.
    """
    fit, k = said.fit if holds else None, len(values)
    if categories is not None:
        return _within(said, fit, values, target, delta, alike, categories, scale)
    everybody = np.arange(k)
    field = None if fit is None else _field(fit, everybody, delta)
    if fit is None or field is None:
        return _unknown(said, values, target, sure)
    if target.top is None:
        low, high = ranks_of(field, delta)
        drawn = Drawn.of((None if alike is None else Field.of(alike, k)) or field)
        made = _bar if target.bar is not None else _against
        verdicts, chances, chosen, short = made(
            said, fit, values, target, delta, drawn, alike or fit
        )
        return Placing(
            target,
            verdicts,
            chances,
            low,
            high,
            chosen,
            shortlist=shortlist,
            spread=drawn.spread * said.unit,
            level=1.0 - delta,
            short=short,
        )
    line = None if target.top > 1 else _winner(said, fit, everybody, delta, 0.0, sure)
    part = _part(field, target.top, delta, alike, everybody, line)
    return Placing(
        target,
        part.verdicts,
        part.chances,
        part.rank_low,
        part.rank_high,
        tuple(part.chosen.tolist()),
        min(part.loss * said.unit, Scale.of(scale, False).most),
        part.lost * said.unit / target.top,
        shortlist,
        part.spread * said.unit,
        1.0 - delta,
    )


def _within(
    said: Conclusion,
    fit: Fit | None,
    values: Floats,
    target: Target,
    delta: float,
    alike: Fit | None,
    categories: Categories,
    scale: tuple[float, float] | None,
) -> Placing:
    """Return where options stand in their categories, by one fit; each has its share of δ."""
    assert target.top is not None
    m, share = target.top, delta / len(categories.names)
    found = replace(
        _unknown(said, values, target, sure=False),
        chosen=(),
        level=1.0 - delta,
        categories=categories,
        apart=said.fit is not None and not all(_compared(said.fit, x) for x in categories.parts),
    )
    verdicts, chosen = list(found.verdicts), []
    low, high = found.rank_low, found.rank_high
    loss = lost = 0.0
    spreads: list[float] = []
    for some in categories.parts:
        n, field = len(some), None if fit is None else _field(fit, some, share)
        high[some] = n
        if n <= m:
            for x in some.tolist():
                verdicts[x] = "in"
            found.chances[some] = 1.0
            chosen += some.tolist()
            continue
        if fit is None or field is None:
            chosen += some[np.argsort(-values[some], kind="stable")][:m].tolist()
            loss = lost = math.inf
            continue
        slack = target.tolerance / said.unit
        line = None if m > 1 else _winner(said, fit, some, share, slack, None)
        part = _part(field, m, share, alike, some, line)
        for x, verdict in zip(some.tolist(), part.verdicts, strict=True):
            verdicts[x] = verdict
        found.chances[some], low[some], high[some] = part.chances, part.rank_low, part.rank_high
        chosen += part.chosen.tolist()
        loss, lost = max(loss, part.loss), lost + part.lost
        spreads.append(part.spread)
    return replace(
        found,
        verdicts=tuple(verdicts),
        chosen=tuple(chosen),
        loss=min(loss * said.unit, Scale.of(scale, False).most),
        expected_loss=lost * said.unit / len(chosen) if math.isfinite(lost) else math.nan,
        spread=float(np.mean(spreads)) * said.unit if spreads else math.nan,
    )


def _compared(fit: Fit, some: Indices) -> bool:
    """Tell whether scores compare some options with one another."""
    return bool(np.isfinite(fit.leads(int(some[0]), some).variances).all())


def _field(fit: Fit, some: Indices, delta: float) -> Field | None:
    """Return estimates of some options, of which is sure what those who are trusted confirm."""
    field, trusted = Field.of_some(fit, some), getattr(fit, "trusted", None)
    if field is None or trusted is None:
        return field
    return field.confirmed_by(
        np.array([doubts(trusted, x, some, 0.0, delta)[0] < delta for x in some.tolist()])
    )


def _part(
    field: Field, m: int, delta: float, alike: Fit | None, some: Indices, line: Line | None
) -> _Part:
    """Return where options stand that compete with one another; the best one has a ``line``."""
    drawn = Drawn.of((None if alike is None else Field.of_some(alike, some)) or field)
    line = line_of(field, m, delta) if line is None else line
    low, high = ranks_of(field, delta)
    return _Part(
        _verdicts(line.inside, line.outside),
        drawn.among(m),
        low,
        high,
        some[line.chosen],
        line.loss,
        m * drawn.lost(line.chosen),
        drawn.spread,
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
            chances = drawn.beside(rival, target.tolerance / unit)
        else:
            assert target.bar is not None
            least = target.bar - target.tolerance
            chances = drawn.above(field, values, value_errors(fit), least, unit)
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


def _unknown(said: Conclusion, values: Floats, target: Target, sure: bool) -> Placing:
    """Return that nothing is sure, and nothing probable."""
    k, best = len(values), said.decision.option
    order = [x for x in np.argsort(-values, kind="stable").tolist() if not math.isnan(values[x])]
    verdicts: list[Verdict] = ["open"] * k
    loss, chosen = math.inf, tuple(order[: target.top])
    if target.top == 1 and sure:
        verdicts = ["out"] * k
        verdicts[best], loss, chosen = "in", 0.0, (best,)
    if target.bar is not None:
        chosen = tuple(x for x in order if values[x] >= target.bar - target.tolerance)
    if target.against is not None:
        verdicts[said.questions.options.labels.index(target.against)] = "itself"
    return Placing(
        target,
        tuple(verdicts),
        np.full(k, np.nan),
        np.ones(k, dtype=np.intp),
        np.full(k, k),
        chosen if target.against is None else (),
        loss,
    )


def _winner(
    said: Conclusion, fit: Any, some: Indices, delta: float, slack: float, sure: bool | None
) -> Line:
    """Return the best of some by the winner test: out is whom it rejects, in who is left alone;
    whether that is ``sure`` is known of the best of all.
    """
    inside, outside = np.zeros((2, len(some)), dtype=np.bool_)
    option, loss = said.decision.option, said.decision.loss / said.unit
    leader = leading(fit, some, 0.0)
    if sure is None:
        option, loss = int(some[0]) if leader is None else leader, math.inf
    if leader is not None:
        rivals = some[~said.questions.options.same_as(option)[some]]
        look = Look.at(fit, option, rivals, 0.0, delta)
        outside[np.isin(some, look.rivals[look.chances < delta])] = True
        if sure is None:
            look = Look.at(fit, option, rivals, slack, delta)
            least = look.ends(len(said.questions.options))[rivals, 0]
            sure, loss = look.certain, max(0.0, -float(least.min(initial=0.0)))
    place = np.flatnonzero(some == option)
    inside[place] = bool(sure)
    return Line(inside, outside, place, loss)


def _bar(
    said: Conclusion,
    fit: Fit,
    values: Floats,
    target: Target,
    delta: float,
    drawn: Drawn,
    alike: Fit,
) -> _Stand:
    """Return verdicts, chances, who looks above the bar, and who surely falls short of it."""
    assert target.bar is not None
    bar, least = target.bar, target.bar - target.tolerance
    like = said.scope == "like these"
    errors = Errors.of(fit, like=like).times(said.unit)
    verdicts = _verdicts(*beyond_bar(values - bar, errors, target.tolerance, delta))
    _, far = beyond_bar(values - least, errors, 0.0, delta)
    field = Field.of(alike, len(values)) or Field.of(fit, len(values))
    assert field is not None  # as there are draws
    known = Errors.of(alike, like=like).sizes
    chances = drawn.above(field, values, known, least, said.unit)
    order = np.argsort(-values, kind="stable").tolist()
    looks = tuple(x for x in order if values[x] >= least)
    return verdicts, chances, looks, tuple(np.flatnonzero(far).tolist())


def _against(
    said: Conclusion,
    fit: Fit,
    values: Floats,
    target: Target,
    delta: float,
    drawn: Drawn,
    _: Fit,
) -> _Stand:
    """Return verdicts, chances, who looks better than one option or no worse, who falls short."""
    assert target.against is not None
    k, a = len(values), said.questions.options.labels.index(target.against)
    others = np.delete(np.arange(k), a)
    leads, slack = fit.leads(a, others).estimates, target.tolerance / said.unit
    better, worse, close, far = beside(fit, a, others, slack, delta)
    found = np.full(k, "itself", dtype=object)
    found[others] = np.select([better, close, worse], ["in", "not worse", "out"], "open")
    trusted = getattr(fit, "trusted", None)
    if trusted is not None:
        for x in others.tolist():
            doubt = doubts(trusted, x, np.array([a]), 0.0 if found[x] == "in" else slack, delta)
            if found[x] in ("in", "not worse") and not doubt[0][0] < delta:
                found[x] = "open"
    chances = drawn.beside(a, slack)
    order = others[np.argsort(leads, kind="stable")].tolist()
    behind = dict(zip(others.tolist(), leads.tolist(), strict=True))
    looks = tuple(x for x in order if -behind[x] > -slack)
    return tuple(found.tolist()), chances, looks, tuple(others[far].tolist())


def _verdicts(inside: Flags, outside: Flags) -> tuple[Verdict, ...]:
    return tuple(
        "in" if one else "out" if other else "open"
        for one, other in zip(inside.tolist(), outside.tolist(), strict=True)
    )
