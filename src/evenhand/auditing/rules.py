"""Who competes where, and the rules by which scores become values of those who do.

Notation
--------
row         a score; a comparison counts twice, for its first option and, turned, for its second
scored      what a row is about: an option on an item at an event
entry       an option at an event; worth the mean of what it is worth on its items
y, p        (rows,) scores and partiality;  v  (scored,) values by a rule
o, c        what is scored, and the evaluator at an event, who has a leniency s_c
N_o, N_c    how many rows each has;  B: (o, c) how many rows they have together, never written down
a, b        right sides of the normal equations: N_o v + B s = a,  Bᵀ v + N_c s = b

Who is ahead at an event: ties are ties, whatever rounding says.

Levels of what is scored and of who scores are fitted together: y = v_o + s_c + noise. A
`Projection` solves the normal equations. Least squares have a = Σ y over o and b = Σ y over c; with
a = d and b = 0, d·v is the variance of the estimate d·v̂, in units of that of the noise.

Rules are means and two-way effects, linear in the scores: with a bias β taken off, values are
v(y) − β v(p). So which β makes another option win is a division.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.linear.projection import Projection
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, crossed, sums_over


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

    def leading(self, order: Indices) -> Indices:
        """(events, 2) the first two entries of each event in some order; −1 for nobody."""
        steps = np.arange(2)
        there = steps < self.sizes[:, None]
        at = np.minimum(self.starts[:, None] + steps, len(order) - 1)
        return np.where(there, order[at], -1)

    def lead(self, values: Floats, leading: Indices) -> Floats:
        """(events,) the first less the second: 0 where they tie, infinite without a second."""
        first, second = leading.T
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


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows that are about something scored by someone, to be fitted by levels of both."""

    scored: Codes  # (rows,) o
    chair: Codes  # (rows,) c
    n_scored: int  # with those that no row is about
    n_chairs: int

    @property
    def parts(self) -> NDArray[np.int32]:
        """(scored,) the number of the part that each is in: no row links one part to another."""
        return self._met.parts[1]

    @cached_property
    def _met(self) -> Projection:
        return Projection(self.chair, self.n_chairs, self.scored, self.n_scored)

    def fitted(self, values: Floats) -> Floats:
        """(scored,) v, comparable within a part; NaN for what no row is about."""
        return self._solved(
            sums_over(self.scored, self.n_scored, values),
            sums_over(self.chair, self.n_chairs, values),
        )

    def variances(self, contrasts: Floats, group: Codes, n_groups: int) -> Floats:
        """(groups,) variances, for noise of variance 1, of one contrast of (scored,) levels for
        each group, which adds to 0 over every part; no part has those of two groups.
        """
        levels = self._solved(contrasts, np.zeros(self.n_chairs))
        levels = np.where(contrasts == 0.0, 0.0, levels)
        return sums_over(group, n_groups, contrasts, levels)

    def _solved(self, a: Floats, b: Floats) -> Floats:
        found = self._met.coefs(b, a)[1]
        self._met.forget()
        return np.where(sums_over(self.scored, self.n_scored) > 0.0, found, np.nan)


@dataclass(frozen=True, eq=False)
class Ballots:
    """Scores as rows that speak for one option each; a comparison makes two, the second turned."""

    score: Floats  # (rows,) y, from the origin of their level
    partial: Floats  # (rows,) p
    chair: Codes | None  # (rows,) who at which event; None where nobody said, or in comparisons
    contests: Contests  # what the rows are about
    compared: bool = False  # whether each score makes two rows

    @classmethod
    def of(cls, scores: Scores) -> Ballots:
        """Return the rows of a table of scores."""
        contests = Contests.of(scores)
        partial = np.zeros(len(scores)) if scores.partial is None else scores.partial
        if scores.rival is None:
            chair = None if scores.evaluator is None else scores.chairs[0]
            return cls(scores.centred, partial, chair, contests)
        y, p = (np.concatenate([x, -x]) for x in (scores.score, partial))
        return cls(y, p, None, contests, compared=True)

    def turned(self, x: Floats) -> Floats:
        """(rows,) numbers by score, as they count for the option of each row."""
        return np.concatenate([x, -x]) if self.compared else x

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(scored,) how many rows are about each."""
        return np.bincount(self.contests.scored, minlength=len(self.contests.entry))

    def mean(self, values: Floats) -> Floats:
        """(entries,) the mean of the rows."""
        totals = sums_over(self.contests.scored, len(self.contests.entry), values)
        return self.contests.of_entries(totals / self.counts)

    @cached_property
    def levels(self) -> Levels | None:
        """All rows, to be fitted by levels of what is scored and of who scores; None without."""
        if self.chair is None:
            return None
        n_chairs = int(self.chair.max(initial=-1)) + 1
        return Levels(self.contests.scored, self.chair, len(self.counts), n_chairs)

    def two_way(self, values: Floats) -> Floats:
        """(entries,) values less what lenient and severe evaluators add, the mean if nobody knows;
        NaN at events where no chain of evaluators links some options with the others.
        """
        if self.levels is None:
            return self.mean(values)
        found = self.contests.of_entries(self.levels.fitted(values))
        linked = self.contests.alike(self.levels.parts)
        return np.where(linked[self.contests.event], found, np.nan)

    def average_leniency(self, values: Floats) -> Floats:
        """(entries,) what the average evaluator of the event adds to `two_way` values."""
        contests = self.contests
        if self.chair is None or self.levels is None:
            return np.zeros(len(contests.option))
        left = values - self.levels.fitted(values)[contests.scored]
        chair, n = self.chair, self.levels.n_chairs
        event = np.zeros(n, dtype=np.int32)
        event[chair] = contests.event[contests.entry[contests.scored]]
        rows = sums_over(chair, n)
        there = rows > 0.0
        lenient = sums_over(chair, n, left)[there] / rows[there]
        seats = np.bincount(event[there], minlength=len(contests))
        return np.asarray((sums_over(event[there], len(contests), lenient) / seats)[contests.event])


@dataclass(frozen=True, eq=False)
class RuleComparison:
    """Who wins at every event by a rule, and who without it."""

    rule: str
    winner: Indices  # (events,) the entry that wins by the rule; −1 where options cannot be ranked
    baseline: Indices  # (events,) the one that wins without it
    flipped: NDArray[np.bool_]  # (events,) whether another wins; a tie changes nothing
    margin: Floats  # (events,) lead by the rule: 0 in a tie, infinite without a rival
    # (entries,) whether each wins without the rule, alone or in a tie
    first_before: NDArray[np.bool_]

    @classmethod
    def of(cls, rule: str, contests: Contests, values: Floats, before: Floats) -> RuleComparison:
        """Return who wins by some values, against who wins by others; (entries,) both."""
        ranked = ~(contests.any_of(np.isnan(values)) | contests.any_of(np.isnan(before)))
        places, places_before = contests.places(values), contests.places(before)
        leading = contests.leading(contests.order(places, places_before))
        earlier = contests.leading(contests.order(places_before, places))
        return cls(
            rule,
            np.where(ranked, leading[:, 0], -1),
            np.where(ranked, earlier[:, 0], -1),
            ranked & (leading[:, 0] != earlier[:, 0]),
            np.where(ranked, contests.lead(values, leading), np.nan),
            places_before == 0,
        )
