"""Who is wanted at each event by the mean, and what the bias and leniency change in it.

Notation
--------
y, p        (rows,) scores and partiality;  β the bias
v(x)        (entries,) values by a rule that is linear in the rows x (`rules`)

Wanted are the m best, those above a bar, or those better than one option of the event; with a
tolerance, those that are worse than the bar or the option by no more than that.

By the mean v(y); with the bias off, v(y) − β v(p) of the mean; with leniency off, two-way values of
y; with both, two-way values of y − βp. So the bias is said to change what taking it off changes by
itself, and leniency what taking that off changes by itself. Who is surely in or out is told by the
last (`certainty.line`); within noise nothing is said to be wrong.

A bar is on the scale of the average evaluator of the event: two-way values have the mean leniency
added. Where options were tried on items nothing is sure of a bar: how hard other items are, no
leftovers of these tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.leads import LeadCovariance, LeadErrors, fair
from evenhand.auditing.rules import Ballots, Contests
from evenhand.certainty.line import Field, beside_by, beyond_bar, line_of
from evenhand.inference.target import Target
from evenhand.errors import InputError
from evenhand.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

Flags = NDArray[np.bool_]

_REASONS = {
    (True, True): "the bias or leniency, each alone",
    (True, False): "the bias",
    (False, True): "leniency",
    (False, False): "the bias and leniency together",
}


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

    @property
    def wanted(self) -> str:
        """What is wanted, as it follows 'is' or 'are'."""
        top = self.target.top
        return self.target.words if top is None else f"among the best {top:,}"

    @property
    def contested(self) -> Flags:
        """(events,) whether somebody can be wanted, or not."""
        if self.target.against is not None:
            return self.contests.any_of(self._itself) & (self.contests.sizes > 1)
        return self.contests.sizes > (self.target.top or 0)

    @cached_property
    def _itself(self) -> Flags:
        """(entries,) whether it is the option that others are held against."""
        return _rival(self.contests, self.options, self.target)

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
        if self.inside[entry]:
            return "in"
        if self._itself[entry]:
            return "itself"
        return "out" if self.outside[entry] else "at the line"

    def names(self, entries: Indices) -> list[str]:
        """Return the names of the options of some entries."""
        return [self.options[x] for x in self.contests.option[entries].tolist()]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for every option of every event."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        n, contests = len(self.fair), self.contests
        changed = set(self.changed.tolist())
        return pd.DataFrame(
            {
                "event": [contests.names[x] for x in contests.event.tolist()],
                "option": self.names(np.arange(n)),
                "by_mean": self.by_mean,
                "without_bias": self.without_bias,
                "without_leniency": self.without_leniency,
                "fair": self.fair,
                "verdict": [self.verdict(x) for x in range(n)],
                "changed_by": [self.reason(x) if x in changed else "" for x in range(n)],
            }
        )


def shortlist(
    scores: Scores,
    bias: BiasEstimate,
    target: Target,
    attributes: Floats | None = None,
    surely: bool = True,
) -> Shortlist:
    """Return who is wanted at every event by each rule, and who is ``surely`` so, unless that is
    known; events of no more options than are wanted have all in.
    """
    ballots = Ballots.of(scores)
    y, p, contests = ballots.score, ballots.partial[: len(scores)], ballots.contests
    known = bool(np.isfinite(bias.value))
    beta, se = (bias.value, bias.se) if known else (0.0, 0.0)
    plain = ballots.mean(y)
    way = fair(scores, ballots)
    worth = scores.centred if attributes is None else scores.centred - attributes
    if target.bar is not None and attributes is not None:  # which are average where the bar is
        worth = worth + float(attributes.mean())
    at_zero, slope = way.lines(worth, p)
    if target.bar is not None and scores.reference is None:
        at_zero = at_zero + ballots.average_leniency(worth)
        slope = slope + ballots.average_leniency(p)
    values = at_zero - beta * slope
    rules = plain, plain - beta * ballots.mean(ballots.partial), at_zero, values
    itself = _rival(contests, scores.option.names, target)
    line = None if target.bar is None else target.bar - scores.level.origin
    if target.top is not None:
        first, fairly = contests.places(plain), contests.places(values)
        also = fairly, first, first, first
        lists = [_first(contests, *by, target.top) for by in zip(rules, also, strict=True)]
    else:
        away = [_away(contests, by, itself, line) for by in rules]
        lists = [_above(contests, by, target.tolerance) & ~itself for by in away]
        lists = [np.where(np.isnan(by), lists[0], x) for by, x in zip(away, lists, strict=True)]
    inside, outside = np.zeros((2, len(values)), dtype=np.bool_)
    if surely and math.isfinite(se) and (target.bar is None or scores.item is None):
        fitted = int(known) + int(attributes is not None)
        errors = way.errors(worth - beta * p, values, fitted)
        test = _Test(target, line, 1.0 - bias.level)
        inside, outside = _surely(contests, values, se * slope, errors, itself, test)
    by_mean, unbiased, even, both = lists
    return Shortlist(
        contests, scores.option.names, target, by_mean, unbiased, even, both, inside, outside
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


def _rival(contests: Contests, options: tuple[str, ...], target: Target) -> Flags:
    """Return (entries,) whether it is the option that others are held against."""
    rival = target.rival(options)
    return np.asarray(contests.option == (-1 if rival is None else rival))


def _first(contests: Contests, values: Floats, also: NDArray[np.int32], top: int) -> Flags:
    """Return (entries,) who is among the first at its event; of those that tie, by ``also``."""
    order = contests.order(contests.places(values), also)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - contests.starts[contests.event[order]]
    return place < top


def _away(contests: Contests, values: Floats, itself: Flags, bar: float | None) -> Floats:
    """Return (entries,) how far values are above a bar, or above that of one option of the event;
    NaN where it does not compete.
    """
    if bar is not None:
        return values - bar
    least = np.full(len(contests), np.nan)
    least[contests.event[itself]] = values[itself]
    return np.asarray(values - least[contests.event])


def _above(contests: Contests, away: Floats, tolerance: float) -> Flags:
    """Return (entries,) who is above, or below by no more than a tolerance."""
    rounding = contests.enough(away)
    return away >= -tolerance - rounding if tolerance else away > rounding


class _Test(NamedTuple):
    """What is asked of the options of an event."""

    target: Target
    bar: float | None  # from the origin of the scores
    delta: float

    def __call__(
        self, values: Floats, biased: Floats, found: LeadCovariance, first: int
    ) -> tuple[Flags, Flags]:
        """Return (k,) who is surely in and who surely out, by values, how much of each one standard
        error of the bias is, and how far off the leads of the ``first`` are.
        """
        inside, outside = np.zeros((2, len(values)), dtype=np.bool_)
        scatter, freedom = (float(np.min(part)) for part in (found.scatter, found.freedom))
        if freedom < 1.0:
            return inside, outside
        unit = 1.0 if math.isinf(freedom) or found.own is not None else scatter / freedom
        target, rivals, slack = self.target, found.rivals, self.target.tolerance
        leads = values[first] - values[rivals]
        if target.top is not None:
            field = Field.of_leads(leads, found.shared, unit, freedom, found.own)
            if field is None:
                return inside, outside
            line = line_of(field.beside(biased), target.top, self.delta)
            return line.inside, line.outside
        with np.errstate(divide="ignore", invalid="ignore"):  # what is known has no error
            if self.bar is None:
                errors = np.hypot(
                    np.sqrt(unit * found.shared.variances), biased[first] - biased[rivals]
                )
                free = np.broadcast_to(found.freedom, leads.shape)
                better, _, close, far = beside_by(leads, errors, free, slack, self.delta)
                inside[rivals], outside[rivals] = better | close, far
            elif found.alone is not None:
                sizes, away = np.hypot(found.alone.sizes, biased), values - self.bar
                errors = found.alone._replace(sizes=sizes)
                inside, _ = beyond_bar(away, errors, slack, self.delta)
                _, outside = beyond_bar(away + slack, errors, 0.0, self.delta)
        return inside, outside


def _surely(
    contests: Contests,
    values: Floats,
    biased: Floats,
    errors: LeadErrors,
    itself: Flags,
    test: _Test,
) -> tuple[Flags, Flags]:
    """Return (entries,) who is surely in and surely out, at each event by itself."""
    inside, outside = np.zeros((2, len(values)), dtype=np.bool_)
    there = contests.any_of(itself)
    for event, (start, size) in enumerate(
        zip(contests.starts.tolist(), contests.sizes.tolist(), strict=True)
    ):
        here = slice(start, start + size)
        if size <= (test.target.top or 1) or not np.isfinite(values[here]).all():
            continue
        if test.target.against is not None and not there[event]:
            continue
        first = int(itself[here].argmax())
        found = errors(event, first, -1)
        if found is None or len(found.rivals) < size - 1 or not np.isfinite(biased[here]).all():
            continue
        inside[here], outside[here] = test(values[here], biased[here], found, first)
    return inside, outside
