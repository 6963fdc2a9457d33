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
from functools import cached_property
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
from evenhand.linear.large import LargeFit, is_large
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import Codes

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]

RULES = {
    "bias": "the mean with the bias off, against the mean",
    "bias and leniency": "values without bias, leniency, position and attributes, against the mean",
    "reference": "the mean of the references, against the mean of scores",
}
"""What each rule compares: who wins by it, against who wins without."""

_REASONS = {
    (True, True): "the bias or leniency, each alone",
    (True, False): "the bias",
    (False, True): "leniency",
    (False, False): "the bias and leniency together",
}
_LARGE = 30_000_000  # rows times effects of a table on items that are fitted at once
_NEAREST = 8  # rivals whose leads are looked at in a table that is fitted step by step


@dataclass(frozen=True, eq=False)
class Contests:
    """The events of a table of scores, and which options compete at each."""

    option: Codes  # (entries,) which option
    event: Codes  # (entries,) at which event; entries of one event follow each other
    names: tuple[str, ...]  # of the events
    grain: float = 0.0  # below what a difference of values is rounding of the scores

    @classmethod
    def of(cls, scores: Scores) -> Contests:
        """Return the events of a table of scores; all of it is one, if it has none."""
        k, n = len(scores.option), len(scores)
        event = np.zeros(n, np.int64) if scores.event is None else scores.event.codes.astype(int)
        keys = event * k + scores.option.codes
        if scores.rival is not None:
            keys = np.concatenate([keys, event * k + scores.rival])
        found = np.flatnonzero(np.bincount(keys)) if scores.event is None else np.unique(keys)
        present, at = np.unique(found // k, return_inverse=True)
        names = ("",) if scores.event is None else scores.event.names
        return cls(
            (found % k).astype(np.int32),
            at.reshape(-1).astype(np.int32),
            tuple(names[code] for code in present.tolist()),
            scores.level.grain,
        )

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.names)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(events,) how many options compete at each."""
        return np.bincount(self.event, minlength=len(self))

    @cached_property
    def starts(self) -> Indices:
        """(events,) the first entry of each event."""
        return np.cumsum(self.sizes) - self.sizes

    def enough(self, values: Floats) -> float:
        """Return up to what difference such values tie."""
        size = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
        return max(TIE * size, self.grain)

    def places(self, values: Floats) -> Codes:
        """(entries,) the place of each at its event, from 0; those that tie share it."""
        order = np.lexsort((-values, self.event))
        arranged = values[order]
        behind = np.ones(len(order), dtype=np.bool_)
        behind[1:] = ~(arranged[:-1] - arranged[1:] <= self.enough(values))
        behind[self.starts] = True
        counted = np.cumsum(behind)
        places = np.empty(len(order), dtype=np.int32)
        places[order] = counted - np.repeat(counted[self.starts], self.sizes)
        return places

    def order(self, values: Floats, also: Floats) -> Indices:
        """(entries,) entries event by event, the best first; of those that tie, by ``also``."""
        return np.lexsort((self.option, self.places(also), self.places(values), self.event))

    def leading(self, values: Floats, also: Floats) -> Indices:
        """(events, 2) the first two entries of each event in that order; −1 for nobody, and where
        a value is not known.
        """
        order, steps = self.order(values, also), np.arange(2)
        known = ~np.logical_or.reduceat(np.isnan(values), self.starts)
        at = np.minimum(self.starts[:, None] + steps, len(order) - 1)
        there = (steps < self.sizes[:, None]) & known[:, None]
        return np.where(there, order[at], -1)

    def lead(self, values: Floats, leading: Indices) -> Floats:
        """(events,) the first less the second: 0 where they tie, infinite without a second, NaN
        without a first.
        """
        first, second = leading.T
        lead = values[first] - values[second]
        lead = np.where(np.abs(lead) <= self.enough(values), 0.0, lead)
        return np.where(first < 0, np.nan, np.where(second < 0, np.inf, lead))


# ---------------------------------------------------------------------- an event as a panel


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
    """One event: (4, k) values of its options, by the mean, with the bias off, with leniency off,
    and with both; and how sure leads are.
    """

    values: Floats
    fit: EventFit | LargeFit | None = None  # with both off; None where references say what is true
    off: Floats | None = None  # (k, r) what one standard error of each slope moves values by
    freedom: float = 1.0

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
    """Yield the events of a table whose highest scores are the best, in the order of `Contests`;
    ``biases`` are slopes of the whole table: along partiality, and attributes of these ``names``.
    """
    y, p = scores.centred, scores.partial
    X = [np.zeros(len(y)) if p is None else p, *(scores.attributes[name] for name in names)]
    worth, position, rows = y, True, _rows(scores)
    slopes = Slopes.of(scores, biases, len(rows))
    if scores.rival is not None and len(rows) > 1:  # where one stands is told by all events
        worth, position = y - TableFit(scores).panel.severities[whose_position(scores)[0]], False
    for some in rows:
        part = _of_event(scores, some)
        mean = _means(part, y[some])
        unbiased = mean - slopes.value[0] * _means(part, X[0][some])
        if scores.reference is not None:
            known = _means(part, scores.reference[some] - scores.level.origin)
            yield Panel(np.array([mean, unbiased, known, known]))
            continue
        x = np.column_stack([column[some] for column in X])
        made = _reduced(design_of_values(part, position=position, y=worth[some], x=x))
        none = np.zeros((len(made), 0))
        left = replace(made, y=made.y - made.x @ slopes.value, x=none, grain=scores.level.grain)
        fit = LargeFit(left) if is_large(left) else EventFit(left, slopes)
        lean = np.column_stack([fit.values_of(column) for column in made.x.T])
        size = np.abs(made.x).max(axis=0, initial=1e-100)
        off = np.round(lean / size, 9) * size * slopes.se
        if isinstance(fit, EventFit):
            fit.off = off
        fair = fit.values if fit.compared else np.full(len(mean), np.nan)
        values = np.array([mean, unbiased, fair + slopes.value[0] * lean[:, 0], fair])
        yield Panel(values, fit, off, slopes.freedom)


def _rows(scores: Scores) -> list[Any]:
    """Return the rows of each event that has any."""
    if scores.event is None:
        return [slice(None)]
    order = np.argsort(scores.event.codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(scores.event.codes[order])) + 1)


def _of_event(scores: Scores, rows: Any) -> Scores:
    """Return who scored what in some rows, with those names alone that stand in them."""

    def of(factor: Factor | None, also: Codes | None = None) -> tuple[Any, Codes | None]:
        if factor is None:
            return None, None
        codes = factor.codes[rows]
        there = np.bincount(codes, minlength=len(factor))
        if also is not None:
            there += np.bincount(also, minlength=len(factor))
        present = np.flatnonzero(there)
        number = np.zeros(len(factor), dtype=np.int32)
        number[present] = np.arange(len(present))
        names = tuple(factor.names[one] for one in present.tolist())
        return Factor(number[codes], names), None if also is None else number[also]

    option, rival = of(scores.option, None if scores.rival is None else scores.rival[rows])
    evaluator, item, cluster = (of(x)[0] for x in (scores.evaluator, scores.item, scores.cluster))
    return Scores(scores.score[rows], option, evaluator, rival, item, cluster=cluster)


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


# ---------------------------------------------------------------------- what is decided


class RuleComparison(NamedTuple):
    """Who wins at every event by a rule, and who without it."""

    winner: Indices  # (events,) the entry that wins by the rule; −1 where options cannot be ranked
    baseline: Indices  # (events,) the one that wins without it
    flipped: Flags  # (events,) whether another wins; a tie changes nothing
    margin: Floats  # (events,) lead by the rule: 0 in a tie, infinite without a rival


@dataclass(frozen=True, eq=False)
class Decisions:
    """What the scores decide at every event, and what would change that.

    Parameters
    ----------
    contests
        The events, and who competes at each.
    options
        Names of the options.
    bias
        The bias that is taken off.
    mean, fair
        (entries,) values by the mean, and with bias and leniency off; the highest are the best.
    rules
        Who wins, by the name of the rule.
    lead_se
        (events,) the standard error of the fair winner's lead.
    chance
        (events,) of the fair winner the largest chance, over all rivals, of such a lead if the
        rival were as good.
    chance_of_winner
        (events,) the same of its lead over the winner by the mean alone; NaN where that is the
        same.
    tipping_favour
        (events,) how much all evaluators together would have to favour the fair winner's group (or
        it alone, where there are no groups) for somebody else to be best; infinite where nobody
        else competes.
    shortlist
        Who is wanted by the mean, and with bias and leniency off: among the m best, above a bar or
        better than one option; None if nobody said what is wanted.
    """

    contests: Contests
    options: tuple[str, ...]
    bias: BiasEstimate
    mean: Floats
    fair: Floats
    rules: Mapping[str, RuleComparison]
    lead_se: Floats
    chance: Floats
    chance_of_winner: Floats
    tipping_favour: Floats
    shortlist: Shortlist | None = None

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.contests)

    @cached_property
    def _leading(self) -> Indices:
        return self.contests.leading(self.fair, self.mean)

    @cached_property
    def winner(self) -> Indices:
        """(events,) the entry that wins by the mean."""
        return self.contests.leading(self.mean, self.fair)[:, 0]

    @property
    def fair_winner(self) -> Indices:
        """(events,) the entry that wins with bias and leniency off; −1 for nobody."""
        return self._leading[:, 0]

    @property
    def runner_up(self) -> Indices:
        """(events,) the entry that is next to the fair winner; −1 for nobody."""
        return self._leading[:, 1]

    @cached_property
    def lead(self) -> Floats:
        """(events,) by how much the fair winner leads."""
        return self.contests.lead(self.fair, self._leading)

    @cached_property
    def sure(self) -> Flags:
        """(events,) whether the fair winner is better than all others by more than noise."""
        return self.chance < 1.0 - self.bias.level

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """For every event: wrong, fragile, safe or unknown.

        wrong: the winner by the mean is surely not the best. safe: it surely is. Both by more than
        noise, and than what is not known of the bias. unknown: options cannot be compared, or the
        bias is not known. fragile: all else.
        """
        others = np.maximum(self.contests.sizes - 1, 2)
        least = 2.0 * (1.0 - self.bias.level) / others  # two-sided
        other = self.winner != self.fair_winner
        wrong = other & (self.sure | (self.chance_of_winner < least))
        said = np.where(wrong, "wrong", np.where(self.sure & ~other, "safe", "fragile"))
        nobody = np.isnan(self.lead) | math.isnan(self.bias.value)
        return tuple(np.where(nobody, "unknown", said).tolist())

    def names(self, entries: Indices) -> list[str | None]:
        """Return the names of the options of some entries; None for nobody."""
        codes = np.where(entries < 0, -1, self.contests.option[entries]).tolist()
        return [None if code < 0 else self.options[code] for code in codes]

    @cached_property
    def first(self) -> Flags:
        """(entries,) whether each wins by the mean, alone or in a tie."""
        return self.contests.places(self.mean) == 0

    def tied(self, rule: RuleComparison) -> list[str]:
        """Return, for every event, who ties with the winner without a rule; "" for nobody."""
        found = [""] * len(self)
        for entry in np.flatnonzero(self.first).tolist():
            event = int(self.contests.event[entry])
            if rule.baseline[event] not in (-1, entry):
                name = self.options[int(self.contests.option[entry])]
                found[event] += f", {name}" if found[event] else name
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for every event."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        who = {name: self.names(getattr(self, name)) for name in _WHO}
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        events = {"event": self.contests.names, "options": self.contests.sizes}
        return pd.DataFrame(events | who | numbers)

    def flips(self) -> pd.DataFrame:
        """Return a data frame with a row for every event and rule.

        ``tied`` has those who share the first place with ``baseline``.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        frames = [
            pd.DataFrame(
                {
                    "event": self.contests.names,
                    "rule": name,
                    "winner": self.names(rule.winner),
                    "baseline": self.names(rule.baseline),
                    "tied": self.tied(rule),
                    "flipped": rule.flipped,
                    "margin": rule.margin,
                }
            )
            for name, rule in self.rules.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def changed(self) -> pd.DataFrame:
        """Return the rows of `flips` whose winner changes; a tie without the rule is named."""
        frame = self.flips()
        frame = frame[frame["flipped"]]
        tied = " (tied with " + frame["tied"] + ")"
        return frame.assign(baseline=frame["baseline"] + tied.where(frame["tied"] != "", ""))


_WHO = ("winner", "fair_winner", "runner_up")
_NUMBERS = ("lead", "lead_se", "chance", "sure", "tipping_favour", "verdict")


def decisions(
    scores: Scores,
    bias: BiasEstimate,
    attributes: Mapping[str, BiasEstimate] | None = None,
    target: Target | None = None,
) -> Decisions:
    """Return what scores decide, and what a common bias changes; ``attributes``: what scores rise
    with each of them; ``target``: what is wanted.
    """
    beside, side = attributes or {}, sign(scores.best)
    scores = scores.maximised  # rules and tests maximise
    slopes = [one if side > 0.0 else -one for one in (bias, *beside.values())]
    contests, made = Contests.of(scores), list(panels(scores, slopes, beside))
    mean, unbiased, even, fair = np.hstack([one.values for one in made])
    rules = {"bias": unbiased} if math.isfinite(bias.value) else {}
    rules["bias and leniency" if scores.reference is None else "reference"] = fair
    groups = scores.option_group
    groups = np.arange(len(scores.option)) if groups is None else groups
    leading = contests.leading(fair, mean)
    who = np.column_stack([leading, contests.leading(mean, fair)[:, 0]])
    tests = [
        _tested(one, *(entries - start).tolist()) if entries[0] >= 0 else (math.nan,) * 3
        for one, entries, start in zip(made, who, contests.starts, strict=True)
    ]
    found = Decisions(
        contests,
        scores.option.names,
        bias,
        mean,
        fair,
        {name: _compared(contests, values, mean) for name, values in rules.items()},
        *np.array(tests).T,
        _tipping_favour(contests, fair, leading[:, 0], groups),
    )
    if target is None:
        return found
    added = sum(
        one.value * float(scores.attributes[name].mean())
        for name, one in zip(beside, slopes[1:], strict=True)
        if math.isfinite(one.value)
    )
    aim = target if side > 0.0 else target.turned
    by = np.array([mean, unbiased, even, fair])
    short = _shortlist(scores, contests, made, aim, by, 1.0 - bias.level, added)
    return replace(found, shortlist=replace(short, target=target))


def _compared(contests: Contests, values: Floats, before: Floats) -> RuleComparison:
    """Return who wins by some values, against who wins by others; (entries,) both."""
    leading, earlier = contests.leading(values, before), contests.leading(before, values)
    winner = leading[:, 0]
    baseline = np.where(winner < 0, -1, earlier[:, 0])
    return RuleComparison(winner, baseline, winner != baseline, contests.lead(values, leading))


def _tested(panel: Panel, first: int, second: int, by_mean: int) -> tuple[float, float, float]:
    """Return the standard error of the lead of an event's fair winner over the next, its chance
    over any rival, and over who wins by the mean (NaN where that is the same).
    """
    if second < 0:
        return 0.0, 0.0, math.nan
    rivals, found = panel.leads(first, (one for one in (second, by_mean) if one != first))
    chances = np.where(found.estimate > 0.0, np.minimum(2.0 * found.above, 1.0), 1.0)
    error = math.sqrt(float(found.variance[rivals == second][0]))
    over = math.nan if by_mean == first else float(chances[rivals == by_mean][0])
    return error if math.isfinite(error) else math.nan, float(chances.max()), over


def _tipping_favour(contests: Contests, values: Floats, winner: Indices, groups: Codes) -> Floats:
    """(events,) the lead of the winner over the best of another group; NaN where nobody wins."""
    group = groups[contests.option]
    others = (group != group[winner][contests.event]) | (group < 0)
    others[winner[winner >= 0]] = False
    best = np.maximum.reduceat(np.where(others, values, -np.inf), contests.starts)
    return np.where(winner < 0, np.nan, np.maximum(values[winner] - best, 0.0))


# ---------------------------------------------------------------------- a target


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Who is wanted at every event by each rule, (entries,) each."""

    contests: Contests
    options: tuple[str, ...]
    target: Target
    by_mean: Flags
    without_bias: Flags  # by the mean, with the bias off
    without_leniency: Flags  # with leniency, or what standing first adds, off; the bias is in it
    fair: Flags  # with both off
    inside: Flags  # surely wanted
    outside: Flags  # surely not
    itself: Flags  # the option that others are held against

    @property
    def wanted(self) -> str:
        """What is wanted, as it follows 'is' or 'are'."""
        top = self.target.top
        return self.target.words if top is None else f"among the best {top:,}"

    @property
    def changed(self) -> Indices:
        """Entries that are wanted by the mean and not with both off, or turned round."""
        return np.flatnonzero(self.by_mean != self.fair)

    @property
    def wrong(self) -> Indices:
        """Entries whose place by the mean is wrong beyond noise."""
        return np.flatnonzero((self.by_mean & self.outside) | (~self.by_mean & self.inside))

    def reason(self, entry: int) -> str:
        """Return what changes the place of an entry: what does so by itself, else both."""
        alone = self.without_bias, self.without_leniency
        bias, leniency = (bool(one[entry] != self.by_mean[entry]) for one in alone)
        return _REASONS[bias, leniency]

    def verdict(self, entry: int) -> str:
        """Return what is sure of an entry: in, out or at the line."""
        sure = {"in": self.inside, "itself": self.itself, "out": self.outside}
        return next((said for said, flags in sure.items() if flags[entry]), "at the line")

    def names(self, entries: Indices) -> list[str]:
        """Return the names of the options of some entries."""
        return [self.options[x] for x in self.contests.option[entries].tolist()]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for every option of every event."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        contests, every = self.contests, np.arange(len(self.fair))
        changed = set(self.changed.tolist())
        return pd.DataFrame(
            {
                "event": [contests.names[x] for x in contests.event.tolist()],
                "option": self.names(every),
                "by_mean": self.by_mean,
                "without_bias": self.without_bias,
                "without_leniency": self.without_leniency,
                "fair": self.fair,
                "verdict": [self.verdict(x) for x in every.tolist()],
                "changed_by": [self.reason(x) if x in changed else "" for x in every.tolist()],
            }
        )


def refuse_unfit(scores: Scores, target: Target) -> None:
    """Raise an error unless options can have the target: some event has more than are wanted."""
    if target.top is None:
        target.among(scores.option.names, scores.rival is not None)
        return
    most = int(Contests.of(scores).sizes.max(initial=0))
    if target.top >= most:
        raise InputError(
            f"top must be less than the number of options that compete, which is {most:,} at most; "
            f"got {target.top:,}."
        )


def _shortlist(
    scores: Scores,
    contests: Contests,
    panels: Iterable[Panel],
    target: Target,
    values: Floats,
    delta: float,
    added: float,
) -> Shortlist:
    """Return who is wanted at every event by each rule, and who surely; ``values``: (4, entries) by
    the mean, with the bias off, with leniency off and with both; ``added``: what attributes add.
    """
    names, mean, fair = scores.option.names, values[0], values[3]
    rival = target.rival(names)
    itself = np.asarray(contests.option == (-1 if rival is None else rival))
    line = 0.0
    if target.top is not None:
        lists = [_first(contests, by, mean if i else fair, target.top)
                 for i, by in enumerate(values)]  # fmt: skip
    else:
        if target.bar is not None:
            line = target.bar - scores.level.origin
            away = values - line
            line -= added
            away[2:] += added
        else:
            away = np.full((4, len(contests)), np.nan)
            away[:, contests.event[itself]] = values[:, itself]
            away = values - away[:, contests.event]
        lists = [_above(contests, by, target.tolerance) & ~itself for by in away]
        lists = [np.where(np.isnan(by), lists[0], x) for by, x in zip(away, lists, strict=True)]
    inside, outside = np.zeros((2, len(fair)), dtype=np.bool_)
    aim = target if target.bar is None else replace(target, bar=line)
    for panel, start, size in zip(panels, contests.starts, contests.sizes, strict=True):
        here = slice(start, start + size)
        against = int(itself[here].argmax()) if itself[here].any() else None
        if size <= (target.top or 1) or (rival is not None and against is None):
            continue
        if panel.fit is None:  # references are known
            inside[here] = lists[3][here]
            outside[here] = ~(lists[3] | itself)[here]
        elif isinstance(panel.fit, EventFit) and np.isfinite(fair[here]).all():
            said = conclude(panel.fit, aim, delta, rival=against)
            inside[start + np.array(said.inside, dtype=np.intp)] = True
            out = said.outside if target.top is not None else said.short
            outside[start + np.array(out, dtype=np.intp)] = True
    return Shortlist(contests, names, target, *lists, inside, outside, itself)


def _first(contests: Contests, values: Floats, also: Floats, top: int) -> Flags:
    """Return (entries,) who is among the first at its event; of those that tie, by ``also``."""
    order = contests.order(values, also)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - contests.starts[contests.event[order]]
    return place < top


def _above(contests: Contests, away: Floats, tolerance: float) -> Flags:
    """Return (entries,) who is above, or below by no more than a tolerance."""
    rounding = contests.enough(away)
    return away >= -tolerance - rounding if tolerance else away > rounding
