"""Who competes with whom at which event, and who is ahead: ties are ties, whatever rounding says.

Notation
--------
row         a score; a comparison counts twice, for its first option and, turned, for its second
scored      what a row is about: an option on an item at an event
entry       an option at an event; worth the mean of what it is worth on its items
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Scores
from evenhand.scores.factor import Codes, crossed, sums_over

PODIUM = 3
"""Places that are looked at beside the first."""


@dataclass(frozen=True, eq=False)
class Contests:
    """The events of a table of scores, and what competes at each."""

    scored: Codes  # (rows,) what each row is about
    entry: Codes  # (scored,) the entry that each belongs to
    option: Codes  # (entries,) which option
    event: Codes  # (entries,) at which event; entries of one event follow each other
    starts: Indices  # (events,) the first entry of each event
    names: tuple[str, ...]  # of the events
    grain: float = 0.0  # below what a difference of values is rounding of the scores

    @classmethod
    def of(cls, scores: Scores) -> Contests:
        """Return the events of a table of scores; all of it is one, if it has none."""
        if scores.rival is None:
            scored, n = scores.scored
            options, events = scores.option.codes, _event_codes(scores)
        else:
            options = np.concatenate([scores.option.codes, scores.rival])
            events = np.tile(_event_codes(scores), 2)
            parts = [options, events]
            if scores.item is not None:
                parts.append(np.tile(scores.item.codes, 2))
            scored, n = crossed(*parts)
        row = np.zeros(n, dtype=np.intp)
        row[scored] = np.arange(len(scored))
        option, event = options[row], events[row]
        entry, n_entries = crossed(event, option)
        some = np.zeros(n_entries, dtype=np.intp)
        some[entry] = np.arange(n)
        option, event = option[some], event[some]
        present, starts = np.unique(event, return_index=True)
        if scores.event is None:
            names: tuple[str, ...] = ("",)
        else:
            names = tuple(scores.event.names[code] for code in present.tolist())
        event = np.searchsorted(present, event).astype(np.int32)
        return cls(scored, entry, option, event, starts, names, scores.level.grain)

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.starts)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(events,) how many options compete at each."""
        return np.bincount(self.event, minlength=len(self))

    def of_entries(self, of_scored: Floats) -> Floats:
        """(entries,) the mean over what was scored of each; NaN where one of it is NaN."""
        size = np.bincount(self.entry, minlength=len(self.option))
        return sums_over(self.entry, len(self.option), of_scored) / size

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

    def enough(self, values: Floats) -> float:
        """Return up to what difference such values tie."""
        size = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
        return max(TIE * size, self.grain)

    def order(self, places: Codes, also: Codes) -> Indices:
        """(entries,) entries event by event, the first first; of those that tie, by ``also``."""
        return np.lexsort((self.option, also, places, self.event))

    def podium(self, order: Indices) -> Indices:
        """(events, 3) the first three entries of each event in some order; −1 for nobody."""
        steps = np.arange(PODIUM)
        there = steps < self.sizes[:, None]
        at = np.minimum(self.starts[:, None] + steps, len(order) - 1)
        return np.where(there, order[at], -1)

    def lead(self, values: Floats, podium: Indices) -> Floats:
        """(events,) the first less the second: 0 where they tie, infinite without a second."""
        first, second = podium[:, 0], podium[:, 1]
        lead = values[first] - values[second]
        tied = np.abs(lead) <= self.enough(values)
        return np.where(second < 0, np.inf, np.where(tied, 0.0, lead))

    def any_of(self, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(events,) whether an entry of each is marked."""
        return np.logical_or.reduceat(marks, self.starts)

    def alike(self, of_scored: Codes) -> NDArray[np.bool_]:
        """(events,) whether everything that was scored there has the same number."""
        event = self.event[self.entry]
        first = np.empty(len(self), dtype=of_scored.dtype)
        first[event] = of_scored
        return np.asarray(sums_over(event, len(self), of_scored != first[event]) == 0.0)


def _event_codes(scores: Scores) -> Codes:
    if scores.event is None:
        return np.zeros(len(scores), dtype=np.int32)
    return scores.event.codes
