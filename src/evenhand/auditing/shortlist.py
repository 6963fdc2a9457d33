"""Who is wanted at each event by the mean, and what the bias and leniency change in it.

Wanted are the m best, those above a bar, or those better than one option of the event; with a
tolerance, those that are worse than the bar or the option by no more than that.

By the mean, with the bias off, with leniency off, and with both: so the bias is said to change what
taking it off changes by itself, and leniency likewise. Who is surely in or out is the conclusion
from the event with both off (`inference.conclude`); within noise nothing is said to be wrong. A bar
is on the scale of the average evaluator of the event, where attributes are average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.events import Contests, EventFit, Flags, Panel
from evenhand.errors import InputError
from evenhand.inference import Target, conclude
from evenhand.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

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


def shortlist(
    scores: Scores,
    contests: Contests,
    panels: Sequence[Panel],
    target: Target,
    values: tuple[Floats, Floats, Floats, Floats],
    delta: float,
    added: float,
) -> Shortlist:
    """Return who is wanted at every event by each rule, and who surely; ``values``: (entries,) by
    the mean, with the bias off, with leniency off and with both; ``added``: what attributes add.
    """
    mean, fair, itself = values[0], values[3], _rival(contests, scores.option.names, target)
    lines = [0.0] * 4
    if target.top is not None:
        also = fair, mean, mean, mean
        lists = [_first(contests, *by, target.top) for by in zip(values, also, strict=True)]
    else:
        if target.bar is not None:
            bar = target.bar - scores.level.origin
            lines = [bar, bar, bar - added, bar - added]
        away = [_away(contests, by, itself, x) for by, x in zip(values, lines, strict=True)]
        lists = [_above(contests, by, target.tolerance) & ~itself for by in away]
        lists = [np.where(np.isnan(by), lists[0], x) for by, x in zip(away, lists, strict=True)]
    inside, outside = np.zeros((2, len(fair)), dtype=np.bool_)
    by_mean, unbiased, even, both = lists
    names = scores.option.names
    found = Shortlist(contests, names, target, by_mean, unbiased, even, both, inside, outside)
    aim = target if target.bar is None else replace(target, bar=lines[3])
    for panel, start, size in zip(panels, contests.starts, contests.sizes, strict=True):
        here = slice(start, start + size)
        rival = int(itself[here].argmax()) if itself[here].any() else None
        if size <= (target.top or 1) or (target.against is not None and rival is None):
            continue
        if panel.fit is None:  # references are known
            inside[here] = found.fair[here]
            outside[here] = ~(found.fair | itself)[here]
        elif isinstance(panel.fit, EventFit) and np.isfinite(fair[here]).all():
            said = conclude(panel.fit, aim, delta, rival=rival)
            inside[start + np.array(said.inside, dtype=np.intp)] = True
            out = said.outside if target.top is not None else said.short
            outside[start + np.array(out, dtype=np.intp)] = True
    return found


def _rival(contests: Contests, options: tuple[str, ...], target: Target) -> Flags:
    """Return (entries,) whether it is the option that others are held against."""
    rival = target.rival(options)
    return np.asarray(contests.option == (-1 if rival is None else rival))


def _first(contests: Contests, values: Floats, also: Floats, top: int) -> Flags:
    """Return (entries,) who is among the first at its event; of those that tie, by ``also``."""
    order = contests.order(values, also)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - contests.starts[contests.event[order]]
    return place < top


def _away(contests: Contests, values: Floats, itself: Flags, bar: float) -> Floats:
    """Return (entries,) how far values are above a bar, or above that of one option of the event;
    NaN where it does not compete.
    """
    if not itself.any():
        return values - bar
    least = np.full(len(contests), np.nan)
    least[contests.event[itself]] = values[itself]
    return np.asarray(values - least[contests.event])


def _above(contests: Contests, away: Floats, tolerance: float) -> Flags:
    """Return (entries,) who is above, or below by no more than a tolerance."""
    rounding = contests.enough(away)
    return away >= -tolerance - rounding if tolerance else away > rounding
