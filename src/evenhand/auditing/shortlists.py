"""Who is among the m best of each event by the mean, and what the bias and leniency change in it.

Notation
--------
y, p        (rows,) scores and partiality;  β the bias
v(x)        (entries,) values by a rule that is linear in the rows x (`rules`)

By the mean v(y); with the bias off, v(y) − β v(p) of the mean; with leniency off, two-way values of
y; with both, two-way values of y − βp. So the bias is said to change what taking it off changes by
itself, and leniency what taking that off changes by itself. Who is surely in or out is told by the
last (`certainty.line`); within noise nothing is said to be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.leads import LeadErrors, fair
from evenhand.auditing.rules import Ballots, Contests
from evenhand.certainty.line import Field, line_of
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
    """The m best of every event by each rule, (entries,) each."""

    contests: Contests
    options: tuple[str, ...]
    top: int
    by_mean: Flags
    without_bias: Flags  # by the mean, with the bias off
    without_leniency: Flags  # with leniency, or what standing first adds, off; the bias is in it
    fair: Flags  # with both off
    inside: Flags  # surely among the m best
    outside: Flags  # surely not

    @property
    def changed(self) -> Indices:
        """Entries that are among the best by the mean and not with both off, or turned round."""
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
    top: int,
    attributes: Floats | None = None,
    surely: bool = True,
) -> Shortlist:
    """Return the ``top`` of every event by each rule, and who is ``surely`` there, unless that is
    known; events of no more options have all in.
    """
    ballots = Ballots.of(scores)
    y, p, contests = ballots.score, ballots.partial[: len(scores)], ballots.contests
    known = bool(np.isfinite(bias.value))
    beta, se = (bias.value, bias.se) if known else (0.0, 0.0)
    plain = ballots.mean(y)
    way = fair(scores, ballots)
    worth = scores.centred if attributes is None else scores.centred - attributes
    at_zero, slope = way.lines(worth, p)
    values = at_zero - beta * slope
    first = contests.places(plain)

    def listed(by: Floats, also: Floats) -> Flags:
        return _first(contests, by, contests.places(also), top)

    inside, outside = np.zeros((2, len(values)), dtype=np.bool_)
    if surely:
        fitted = int(known) + int(attributes is not None)
        errors = way.errors(worth - beta * p, values, fitted)
        inside, outside = _surely(contests, values, slope, se, errors, top, 1.0 - bias.level)
    return Shortlist(
        contests,
        scores.option.names,
        top,
        _first(contests, plain, contests.places(values), top),
        listed(plain - beta * ballots.mean(ballots.partial), plain),
        _first(contests, at_zero, first, top),
        _first(contests, values, first, top),
        inside,
        outside,
    )


def refuse_too_many(scores: Scores, top: int) -> None:
    """Raise an error unless some event has more options than are wanted."""
    most = int(Contests.of(scores).sizes.max(initial=0))
    if top >= most:
        raise InputError(
            f"top must be less than the number of options that compete, which is {most:,} at most; "
            f"got {top:,}."
        )


def _first(contests: Contests, values: Floats, also: NDArray[np.int32], top: int) -> Flags:
    """Return (entries,) who is among the first at its event; of those that tie, by ``also``."""
    order = contests.order(contests.places(values), also)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - contests.starts[contests.event[order]]
    return place < top


def _surely(
    contests: Contests,
    values: Floats,
    slope: Floats,
    se: float,
    errors: LeadErrors,
    top: int,
    delta: float,
) -> tuple[Flags, Flags]:
    """Return (entries,) who is surely in and surely out, at each event by itself."""
    inside, outside = np.zeros((2, len(values)), dtype=np.bool_)
    for event, (start, size) in enumerate(
        zip(contests.starts.tolist(), contests.sizes.tolist(), strict=True)
    ):
        here = slice(start, start + size)
        if size <= top or not np.isfinite(values[here]).all():
            continue
        found = errors(event, 0, -1)
        if found is None or len(found.rivals) < size - 1 or not math.isfinite(se):
            continue
        scatter, freedom = (float(np.min(part)) for part in (found.scatter, found.freedom))
        if freedom < 1.0:
            continue
        unit = 1.0 if math.isinf(freedom) or found.own is not None else scatter / freedom
        field = Field.of_leads(
            values[start] - values[start + 1 : start + size],
            found.shared,
            unit,
            freedom,
            found.own,
        )
        if field is None:
            continue
        line = line_of(field.beside(se * slope[here]), top, delta)
        inside[here], outside[here] = line.inside, line.outside
    return inside, outside
