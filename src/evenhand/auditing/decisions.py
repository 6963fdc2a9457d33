"""Decisions of a table of scores: who is wanted at each event, and what would change that.

Notation
--------
y, x_j, β_j     scores, regressors (partiality first, then attributes) and their slopes
v(·)            (k,) values of an event's options by a fit of it alone, linear in the rows
s_j             standard error of β_j
δ               1 less the confidence

An event is a small panel with values by three rules: the mean of scores as given; the mean with the
bias off; and v(y) − Σ β_j v(x_j), with leniency, position and attributes off, too. Slopes are those
of the whole table, and are not known exactly: a lead of a over b errs by s_j (v_a − v_b)(x_j)
beside the noise of the event, from which the slopes are independent. What slopes cost in degrees of
freedom is shared by all events.

What is sure is so by the values with all taken off, as in `inference.conclusion`: the best is, if
its lead over every rival has a chance below δ/2; who surely is not, if that of the best over it has
one below δ/(k − 1). Within noise nothing is said to be wrong. Of a target (the m best, those above
a bar, or better than one option) the conclusion itself says who is in or out. A bar is on the scale
of the average evaluator of the event, where attributes are average. All of this is by the mean of
these scores, which need not be how a committee or a sport decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Floats, Indices
from evenhand.best import sign
from evenhand.errors import InputError
from evenhand.inference import Target, conclude
from evenhand.inference.biases import BiasEstimate, TableFit
from evenhand.linear import Design, Fit, Spread
from evenhand.linear.design import design_of_values, whose_position
from evenhand.linear.fit import alike, places
from evenhand.linear.large import LargeFit
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import Codes

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]

_TOGETHER = "the bias and leniency together"
_LARGE = 30_000_000  # rows times effects of a table on items that are fitted at once
_NEAREST = 8  # rivals whose leads are looked at in a table that is fitted step by step


class Slopes(NamedTuple):
    """(r,) slopes of the whole table, partiality first; 0 for what is not known."""

    value: Floats
    se: Floats
    freedom: float  # of the standard errors
    taken: float  # share of all degrees of freedom that went into slopes

    @classmethod
    def of(cls, scores: Scores, biases: Iterable[BiasEstimate], n_events: int) -> Slopes:
        """Return the slopes that these biases are."""
        given = [(one.value, one.se, one.freedom) for one in biases]
        known = [one for one in given if math.isfinite(one[0])]
        levels = scores.chairs[1] + (0 if scores.rival is not None else scores.scored[1])
        left = max(len(scores) - levels + n_events, 1)
        value, se, _ = np.where(np.isfinite([[one[0]] for one in given]), given, 0.0).T
        freedom = min((max(one[2], 0.3) for one in known), default=1.0)
        return cls(value, np.minimum(se, 1e100), freedom, min(len(known) / left, 0.9))


class EventFit(Fit):
    """The fit of one event, whose contrasts lean on slopes that are not known exactly; ``off``: (k,
    r) what one standard error of each slope moves values by.
    """

    def __init__(self, design: Design, slopes: Slopes) -> None:
        super().__init__(design)
        self.slopes, self.off = slopes, np.zeros((design.n_options, 1))

    def leads(self, a: ArrayLike, b: ArrayLike) -> Spread:
        """Return by how much options a are better than options b, pair by pair."""
        a, b = np.asarray(a, dtype=np.intp), np.asarray(b, dtype=np.intp)
        return self._wider(super().leads(a, b), self.off[a] - self.off[b])

    def level(self, like: bool = True) -> Spread:
        """Return the values with errors, for judges like these or for these alone."""
        return self._wider(super().level(like), self.off)

    def _wider(self, spread: Spread, off: Floats) -> Spread:
        kept = 1.0 - self.slopes.taken
        own = Spread(spread.estimate, spread.variance / kept, spread.freedom * kept)
        return leaning(own, off, self.slopes.freedom)


def leaning(spread: Spread, off: Floats, freedom: float) -> Spread:
    """Return contrasts that also err by (K, r) independent parts (Welch)."""
    more = (off * off).sum(axis=1)
    variance = spread.variance + more
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(variance) & (more > 0.0), more / variance, 0.0)
    least = 1.0 / ((1.0 - share) ** 2 / np.maximum(spread.freedom, 1e-3) + share**2 / freedom)
    return Spread(spread.estimate, variance, least)


@dataclass(frozen=True, eq=False)
class Panel:
    """One event: (k,) which options compete, and (4, k) their values by the mean, with the bias
    off, with leniency off, and with both; and how sure leads are.
    """

    name: str
    options: Indices
    values: Floats
    grain: float  # within which values tie
    fit: EventFit | LargeFit | None = None  # with both off; None where references say what is true
    off: Floats | None = None  # (k, r) what one standard error of each slope moves values by
    freedom: float = 1.0

    def ranked(self, row: int, also: int) -> Indices:
        """Return options by values in a row, of those that tie by another."""
        return np.lexsort([places(self.values[x], self.grain) for x in (also, row)])

    def lead(self, row: int, also: int) -> tuple[int, int, float]:
        """Return who is first by values in a row, of those that tie by another, who next, and by
        how much: 0 in a tie, infinite without a next one; −1 and NaN where values are not known.
        """
        values, (first, *others) = self.values[row], self.ranked(row, also)[:2].tolist()
        if np.isnan(values).any():
            return -1, -1, math.nan
        if not others:
            return first, -1, math.inf
        tied = np.ptp(places(values, self.grain)[[first, *others]]) == 0
        return first, others[0], 0.0 if tied else float(values[first] - values[others[0]])

    def leads(self, first: int, also: Iterable[int]) -> tuple[Indices, Spread]:
        """Return rivals, and the leads of an option over them: all, or in a large table those who
        are nearest and ``also`` some.
        """
        fit, v = self.fit, self.values[3]
        rivals = np.delete(np.arange(len(v)), first)
        if isinstance(fit, LargeFit) and self.off is not None:
            times = np.bincount(fit.design.option, minlength=len(v))
            near = np.argsort((v[first] - v[rivals]) * np.sqrt(times[rivals]), kind="stable")
            rivals = np.union1d(rivals[near[:_NEAREST]], np.array([*also], dtype=np.intp))
            found = fit.leads(np.full(len(rivals), first), rivals)
            return rivals, leaning(found, self.off[[first]] - self.off[rivals], self.freedom)
        if isinstance(fit, EventFit):
            return rivals, fit.leads(np.full(len(rivals), first), rivals)
        exact = np.zeros(len(rivals)), np.ones(len(rivals))
        return rivals, Spread(v[first] - v[rivals], *exact)


def panels(scores: Scores, biases: Iterable[BiasEstimate], names: Iterable[str]) -> Iterator[Panel]:
    """Yield the events of a table whose highest scores are the best; ``biases`` are slopes of the
    whole table: along partiality, and attributes of these ``names``.
    """
    y, p = scores.centred, scores.partial
    X = [np.zeros(len(y)) if p is None else p, *(scores.attributes[name] for name in names)]
    worth, position, rows = y, True, _rows(scores)
    slopes = Slopes.of(scores, biases, len(rows))
    if scores.rival is not None and len(rows) > 1:  # where one stands is told by all events
        worth, position = y - TableFit(scores).panel.severities[whose_position(scores)[0]], False
    for some in rows:
        event = scores.event
        name = "" if event is None else event.names[int(event.codes[some[0]])]
        options, part = _of_event(scores, some)
        mean = _means(part, y[some])
        unbiased = mean - slopes.value[0] * _means(part, X[0][some])
        if scores.reference is not None:
            known = _means(part, scores.reference[some] - scores.level.origin)
            yield Panel(name, options, np.array([mean, unbiased, known, known]), scores.level.grain)
            continue
        x = np.column_stack([column[some] for column in X])
        made = _reduced(design_of_values(part, position=position, y=worth[some], x=x))
        none = np.zeros((len(made), 0))
        left = replace(made, y=made.y - made.x @ slopes.value, x=none, grain=scores.level.grain)
        fit = LargeFit(left) if left.large else EventFit(left, slopes)
        lean = np.column_stack([fit.values_of(column) for column in made.x.T])
        size = np.abs(made.x).max(axis=0, initial=1e-100)
        off = np.round(lean / size, 9) * size * slopes.se
        if isinstance(fit, EventFit):
            fit.off = off
        fair = fit.values if fit.compared else np.full(len(mean), np.nan)
        values = np.array([mean, unbiased, fair + slopes.value[0] * lean[:, 0], fair])
        yield Panel(name, options, values, scores.level.grain, fit, off, slopes.freedom)


def _rows(scores: Scores) -> list[Any]:
    """Return the rows of each event that has any."""
    if scores.event is None:
        return [slice(None)]
    order = np.argsort(scores.event.codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(scores.event.codes[order])) + 1)


def _of_event(scores: Scores, rows: Any) -> tuple[Indices, Scores]:
    """Return the options in some rows, and who scored what, with the names alone that are there."""

    def of(factor: Factor | None, also: Codes | None = None) -> tuple[Indices, Any, Codes | None]:
        if factor is None:
            return np.zeros(0, dtype=np.intp), None, None
        codes = factor.codes[rows]
        present, number = np.unique(
            codes if also is None else np.append(codes, also), return_inverse=True
        )
        numbers: Codes = number.reshape(-1).astype(np.int32)
        names = tuple(factor.names[one] for one in present.tolist())
        second = None if also is None else numbers[len(codes) :]
        return present, Factor(numbers[: len(codes)], names), second

    seconds = None if scores.rival is None else scores.rival[rows]
    options, option, rival = of(scores.option, seconds)
    evaluator, item, cluster = (of(x)[1] for x in (scores.evaluator, scores.item, scores.cluster))
    return options, Scores(scores.score[rows], option, evaluator, rival, item, cluster=cluster)


def _means(part: Scores, column: Floats) -> Floats:
    """Return (k,) the mean of a column over the rows of each option; turned for second ones."""
    codes = part.option.codes
    if part.rival is not None:
        codes, column = np.concatenate([codes, part.rival]), np.concatenate([column, -column])
    return np.bincount(codes, column) / np.bincount(codes)


def _reduced(design: Design) -> Design:
    """Return a design that can be fitted step by step where items make it too large: items take the
    place of evaluators if there is one, else each pair of evaluator and option has its mean.
    """
    effects = design.n_options + design.n_evaluators
    if design.item is None or design.evaluator is None or len(design) * effects <= _LARGE:
        return design
    if design.n_evaluators == 1:
        return replace(
            design, item=None, n_items=0, evaluator=design.item, n_evaluators=design.n_items
        )
    mine = {"evaluator": design.evaluator}
    return replace(design, item=None, n_items=0, clusters=mine).averaged()


class Decisions(NamedTuple):
    """What the scores decide at every event, and what would change that; no option is None.

    Parameters
    ----------
    events
        A row for every event, with its ``options`` counted: the ``winner`` by the mean, and who is
        ``tied`` with it; the ``fair_winner``, with bias and leniency off, the ``runner_up``, and
        the ``lead`` between them with its standard error; the largest ``chance``, over all rivals,
        of such a lead if the rival were as good; whether that is ``sure``; the ``tipping_favour``:
        how much all evaluators together would have to favour the fair winner's group (or it alone,
        where there are no groups) for somebody else to be best, infinite where nobody else
        competes; and the ``verdict`` on the winner by the mean. wrong: it is surely not the best.
        safe: it surely is. Both by more than noise, and than what is not known of the bias.
        unknown: options cannot be compared, or the bias is not known. fragile: all else.
    flips
        A row for every event and rule: who wins by the rule, and without it (``baseline``), who is
        ``tied`` with that, whether another wins (a tie changes nothing), and by which ``margin``.
    shortlist
        A row for every option of every event: whether it is wanted (among the m best, above a bar
        or better than one option) by the mean, and with bias, leniency (or what standing first
        adds) or both off; what is sure of it with both off; and what changes its place. None if
        nobody said what is wanted.
    """

    events: pd.DataFrame
    flips: pd.DataFrame
    shortlist: pd.DataFrame | None = None


def decisions(
    scores: Scores,
    bias: BiasEstimate,
    attributes: Mapping[str, BiasEstimate] | None = None,
    target: Target | None = None,
) -> Decisions:
    """Return what scores decide, and what a common bias changes; ``attributes``: what scores rise
    with each of them; ``target``: what is wanted.
    """
    import pandas as pd  # noqa: PLC0415 # slow to load

    beside, side = attributes or {}, sign(scores.best)
    scores = scores.maximised  # rules and tests maximise
    slopes = [one if side > 0.0 else -one for one in (bias, *beside.values())]
    made = list(panels(scores, slopes, beside))
    rules = {"bias": 1} if math.isfinite(bias.value) else {}
    rules["bias and leniency" if scores.reference is None else "reference"] = 3
    groups = scores.option_group
    if groups is None:
        groups = np.arange(len(scores.option), dtype=np.int32)
    short = None
    if target is not None:
        added = sum(
            one.value * float(scores.attributes[name].mean())
            for name, one in zip(beside, slopes[1:], strict=True)
            if math.isfinite(one.value)
        )
        aim = target if side > 0.0 else target.turned
        short = _shortlist(scores, made, aim, 1.0 - bias.level, added)
    events = pd.DataFrame([_decided(one, scores, groups) for one in made], columns=_EVENT)
    events["sure"] = sure = events["chance"] < 1.0 - bias.level
    least = 2.0 * (1.0 - bias.level) / np.maximum(events["options"] - 1, 2)  # two-sided
    other = events["winner"] != events["fair_winner"]
    wrong = other & (sure | (events.pop("over_winner") < least))
    unknown = events["lead"].isna() | math.isnan(bias.value)
    events["verdict"] = np.select(
        [unknown, wrong, sure & ~other], ["unknown", "wrong", "safe"], "fragile"
    )
    flips = [(one.name, rule, *_compared(one, scores, row)) for rule, row in rules.items()
             for one in made]  # fmt: skip
    return Decisions(events, pd.DataFrame(flips, columns=_FLIP), short)


_EVENT = ["event", "options", "winner", "tied", "fair_winner", "runner_up", "lead", "lead_se"]
_EVENT += ["chance", "tipping_favour", "over_winner"]
_FLIP = ["event", "rule", "winner", "baseline", "tied", "flipped", "margin"]


def _names(one: Panel, scores: Scores, places: Iterable[int]) -> list[str | None]:
    """Return the names of some of an event's options; None for nobody."""
    return [None if x < 0 else scores.option.names[one.options[x]] for x in places]


def _tied(one: Panel, scores: Scores, first: int) -> str:
    """Return who shares the first place by the mean."""
    shared = np.flatnonzero(places(one.values[0], one.grain) == 0)
    return ", ".join(str(name) for name in _names(one, scores, shared[shared != first].tolist()))


def _compared(one: Panel, scores: Scores, row: int) -> tuple[Any, ...]:
    """Return who wins an event by values in this row, who by the mean and who is tied with it,
    whether that is another, and by how much who wins leads.
    """
    first, _, margin = one.lead(row, 0)
    before = first if first < 0 else one.lead(0, row)[0]
    tied = "" if before < 0 else _tied(one, scores, before)
    return (*_names(one, scores, (first, before)), tied, first != before, margin)


def _decided(one: Panel, scores: Scores, groups: Codes) -> tuple[Any, ...]:
    """Return the row of an event, and the chance of the fair winner's lead over who wins by the
    mean, NaN where that is the same.
    """
    fair = one.values[3]
    known = not np.isnan(fair).any()
    by_mean, (first, second, lead) = one.lead(0, 3 if known else 0)[0], one.lead(3, 0)
    winner, *next_ = _names(one, scores, (by_mean, first, second))
    who = (one.name, len(fair), winner, _tied(one, scores, by_mean), *next_)
    if not known:
        return (*who, *[math.nan] * 5)
    if second < 0:
        return (*who, lead, 0.0, 0.0, math.inf, math.nan)
    rivals, found = one.leads(first, (x for x in (second, by_mean) if x != first))
    chances = np.where(found.estimate > 0.0, np.minimum(2.0 * found.above, 1.0), 1.0)
    error = math.sqrt(float(found.variance[rivals == second][0]))
    error = error if math.isfinite(error) else math.nan
    over = math.nan if by_mean == first else float(chances[rivals == by_mean][0])
    group = groups[one.options]
    others = (group != group[first]) | (group < 0)
    others[first] = False
    tips = float(fair[first] - fair[others].max()) if others.any() else math.inf
    return (*who, lead, error, float(chances.max()), max(tips, 0.0), over)


def refuse_unfit(scores: Scores, target: Target) -> None:
    """Raise an error unless options can have the target: some event has more than are wanted."""
    if target.top is None:
        target.among(scores.option.names, scores.rival is not None)
        return
    k, sides = len(scores.option), [scores.option.codes]
    sides += [] if scores.rival is None else [scores.rival]
    event = np.zeros(1, dtype=np.int64) if scores.event is None else scores.event.codes.astype(int)
    there = np.unique(np.concatenate([event * k + side for side in sides]))
    most = int(np.bincount(there // k).max(initial=0))
    if target.top >= most:
        raise InputError(
            f"top must be less than the number of options that compete, which is {most:,} at most; "
            f"got {target.top:,}."
        )


def _shortlist(
    scores: Scores, made: Iterable[Panel], target: Target, delta: float, added: float
) -> pd.DataFrame:
    """Return who is wanted at every event by each rule, and who surely; ``added``: what attributes
    add.
    """
    import pandas as pd  # noqa: PLC0415 # slow to load

    names = scores.option.names
    rival, bar = target.rival(names), (target.bar or 0.0) - scores.level.origin
    aim = target if target.bar is None else replace(target, bar=bar - added)
    lines = np.array([[bar], [bar], [bar - added], [bar - added]])
    flags, entries = list[Flags](), list[tuple[str, str]]()
    for one in made:
        known, k = not np.isnan(one.values[3]).any(), len(one.options)
        itself = one.options == (-1 if rival is None else rival)
        nobody = k <= (target.top or 1) or (rival is not None and not itself.any())
        lists = [np.zeros(k, dtype=np.bool_) for _ in one.values]
        if target.top is not None:
            for row, flag in enumerate(lists):
                flag[one.ranked(row, 0 if row else 3)[: target.top]] = True
        elif rival is None or itself.any():
            away = one.values - (lines if rival is None else one.values[:, itself])
            lists = [_above(by, target.tolerance, one.grain) & ~itself for by in away]
            lists = lists if known else [*lists[:2], lists[0], lists[0]]
        inside, outside = np.zeros((2, k), dtype=np.bool_)
        if not nobody and one.fit is None:  # references are known
            inside, outside = lists[3], ~(lists[3] | itself)
        elif not nobody and isinstance(one.fit, EventFit) and known:
            against = int(itself.argmax()) if rival is not None else None
            said = conclude(one.fit, aim, delta, rival=against)
            inside[list(said.inside)] = True
            outside[list(said.outside if target.top is not None else said.short)] = True
        flags.append(np.array([*lists, inside, itself, outside]))
        entries += [(one.name, names[x]) for x in one.options.tolist()]
    by_mean, without_bias, without_leniency, fair, *sure = np.hstack(flags)
    alone = [by_mean == fair, without_bias != by_mean, without_leniency != by_mean]
    reasons = ["", "the bias or leniency, each alone", "the bias", "leniency"]
    changed = np.select([alone[0], alone[1] & alone[2], *alone[1:]], reasons, _TOGETHER)
    return pd.DataFrame(entries, columns=["event", "option"]).assign(
        by_mean=by_mean,
        without_bias=without_bias,
        without_leniency=without_leniency,
        fair=fair,
        verdict=np.select(sure, ["in", "itself", "out"], "at the line"),
        changed_by=changed,
    )


def _above(away: Floats, tolerance: float, grain: float) -> Flags:
    """Return (k,) who is above, or below by no more than a tolerance."""
    rounding = alike(away, grain)
    return away >= -tolerance - rounding if tolerance else away > rounding
