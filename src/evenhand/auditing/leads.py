"""What options are worth once evaluators are taken out of it, and how sure a lead is.

Notation
--------
o, c        options and evaluators at one event;  B  (o, c) a 1 where c has scored o;  N = B 1
S           diag(Bᵀ1) − Bᵀ N⁻¹ B: what is left of evaluators once options are swept out;  P = S⁺
σ_o²        the variance of a score of option o (`certainty.models`)
v̂, ŝ        levels of both: ŝ = P z with z_c = Σ (y − ȳ_o) over c, and v̂ = ȳ − N⁻¹B ŝ
e           y − v̂ − ŝ, what they leave over of scores;  ν its degrees of freedom
L_j, q_j    the lead over rival j, and how much of it one standard error of the bias is
y, p        (n,) scores and partiality
v           (entries,) values: v(y) − β v(p), with v linear

Values come in three ways, by what the scores are: two-way levels, where evaluators score options;
least squares on differences, where they compare them; the reference, where something impartial
knows.

How far off leads may be: each event has the noise that it shows, and each option there its own. The
means ȳ are independent of z, since the noise is the same for all scores of an option. So, with T
the covariance of z,

    Cov v̂ = diag(σ²/N) + (N⁻¹BP) T (N⁻¹BP)ᵀ,    T = diag(Bᵀσ²) − Bᵀ diag(σ²/N) B:

a diagonal, and a part of the rank of the evaluators, which is the form that `winner` takes.

The scores of option o leave over (1 − hat) of themselves: with Π_o the rows of o less their mean,
that is Π_o − Π_o P Π_o, of which own noise wants the trace and the squares.

What an evaluator thinks of an option is the same on all items, and however often it is asked: it is
one opinion, and counts once. So rows are first brought to pairs of evaluator and option.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import sides, whose_position
from evenhand.linear.projection import Projection
from evenhand.auditing.rules import Ballots, Levels
from evenhand.certainty.line import Errors
from evenhand.certainty.models import Leftovers, OwnParts, Shared, own_variances
from evenhand.certainty.winner import Winner
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.tolerance import ROUNDING
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, crossed, sums_over

_EVALUATORS = 400  # of an event, up to which all covariances are computed
_NEAREST = 8  # rivals whose leads are looked at where there are more
_RIVALS = 1_000  # the nearest in standard errors, by whom others are further off, too


class LeadCovariance(NamedTuple):
    """What the leads over some rivals have in common."""

    rivals: Indices  # (n,) who they are
    shared: Shared  # the covariance of leads over them, for noise of variance 1
    scatter: Floats | float  # residual sum of squares of all leads, or (n,) of each
    freedom: Floats | float
    own: OwnParts | None = None  # of all options of the event, where each has its noise
    alone: Errors | None = None  # those of values as the average evaluator gives them


class Tested(NamedTuple):
    """What noise alone would do at an event."""

    chance: float  # largest over all rivals, if they were as good, of a lead as large over them
    of_rival: float  # the same of one rival; NaN where none was asked for
    error: float  # standard error of the lead over the nearest; NaN where the noise is not known


def winner_test(leads: Floats, found: LeadCovariance | None, q: Floats, rival: int = -1) -> Tested:
    """Return whether the option that leads at an event is better than its rivals, by (k,) L and q
    and how far off leads are (None: unknown); ``rival`` is one whose own chance is asked for.
    """
    if found is None:
        return Tested(1.0, 1.0 if rival >= 0 else math.nan, math.nan)
    scatter, freedom = (
        np.broadcast_to(part, len(found.rivals)) for part in (found.scatter, found.freedom)
    )
    unit = 1.0 if np.isinf(freedom).all() else math.sqrt(float((scatter / freedom).max()))
    shared = found.shared._replace(
        factor=np.column_stack([found.shared.factor, q[found.rivals] / unit])
    )
    leads, spread = leads[found.rivals], np.sqrt(shared.variances)
    chances = np.where(leads > 0.0, 0.0, 1.0)
    # far rivals are no nearer given that near ones are behind: p_j is at most about exp(−t_j t_l)
    t = np.divide(leads, spread, out=np.full(len(leads), np.inf), where=spread > 0.0)
    near = np.argsort(t, kind="stable")[:_RIVALS]
    near = np.union1d(near, np.flatnonzero(found.rivals == rival))
    near = near[spread[near] > 0.0]
    some = Shared(shared.factor[near], shared.own[near])
    chances[near] = Winner.of(leads[near], some, scatter[near], freedom[near]).chances()
    of_rival = chances[found.rivals == rival]
    return Tested(
        float(chances.max()),
        float(of_rival[0]) if len(of_rival) else math.nan,
        unit * float(spread[leads.argmin()]),
    )


@dataclass(frozen=True, eq=False)
class Opinions:
    """What evaluators think of the options of one event, once each."""

    option: Codes  # (n,)
    evaluator: Codes | None  # (n,); None where nobody said who they are
    score: Floats  # (n,) y, with the bias off
    values: Floats  # (k,) v̂
    taken: float = 0.0  # the share of all degrees of freedom that bias and attributes have taken

    def errors(self, leader: int, rival: int = -1) -> LeadCovariance | None:
        """Return how far off the leads of an option are (of many evaluators, over the nearest
        rivals, and the one that is named); None if nothing is left over.
        """
        left = self._left
        if left.free.sum() < 0.5 or not left.scatter.sum() > ROUNDING**2 * left.size:
            return None
        noise = own_variances(left)
        variances, means = noise.variances, noise.variances / self._times
        own_parts = OwnParts(means, noise.freedom, noise.most, noise.floors / self._times)
        rivals = np.delete(np.arange(len(self.values)), leader)
        if self._evaluators > _EVALUATORS:
            spread = np.sqrt(means[rivals] + means[leader])
            near = np.argsort((self.values[leader] - self.values[rivals]) / spread, kind="stable")
            rivals = np.union1d(rivals[near[:_NEAREST]], rivals[rivals == rival])
            own = np.array([self._variance(leader, one, means) for one in rivals.tolist()])
            freedom = own_parts.of_leads(leader, rivals, own)
            return LeadCovariance(rivals, Shared(np.zeros((len(rivals), 0)), own), freedom, freedom)
        B, P = self._met
        axes = self._levels(variances)
        root = B / self._times[:, None] @ P @ axes
        common = np.full((len(rivals), 1), math.sqrt(means[leader]))
        factor = np.hstack([root[leader] - root[rivals], common])
        shared = Shared(factor, means[rivals])
        freedom = own_parts.of_leads(leader, rivals, shared.variances)
        pooled = np.full(len(means), float(left.scatter.sum()) / noise.most)
        alone = Errors.at_least(
            self._alone(variances), noise.least, self._alone(pooled), noise.most
        ).for_judges_like(self._severities)
        return LeadCovariance(rivals, shared, freedom, freedom, own_parts, alone)

    def _levels(self, variances: Floats) -> Floats:
        """Return a root of the covariance of what (k,) noise adds to evaluators' levels."""
        B, _ = self._met
        T = np.diag(variances @ B) - ((variances / self._times)[:, None] * B).T @ B
        sizes, axes = np.linalg.eigh(T)
        return np.asarray(axes * np.sqrt(np.maximum(sizes, 0.0)))

    def _alone(self, variances: Floats) -> Floats:
        """Return (k,) standard errors of values by (k,) noise of their scores."""
        B, P = self._met
        lenient = P.sum(axis=0) / max(self._evaluators, 1) - B / self._times[:, None] @ P
        along = lenient @ self._levels(variances)
        return np.asarray(np.sqrt(variances / self._times + (along**2).sum(axis=1)))

    @cached_property
    def _times(self) -> Floats:
        """(k,) N."""
        return sums_over(self.option, len(self.values))

    @property
    def _evaluators(self) -> int:
        return 0 if self.evaluator is None else int(self.evaluator.max()) + 1

    @cached_property
    def _met(self) -> tuple[Floats, Floats]:
        """B and P."""
        B = np.zeros((len(self.values), self._evaluators))
        if self.evaluator is not None:
            B[self.option, self.evaluator] = 1.0
        S = np.diag(B.sum(axis=0)) - (B / self._times[:, None]).T @ B
        return B, Gram.of_matrix(S).inverse  # one level at least is not told

    @cached_property
    def _left(self) -> Leftovers:
        """What the scores of each option leave over, its trace and its squares."""
        y, N, k = self.score, self._times, len(self.values)
        e = y - self.values[self.option]
        if self.evaluator is not None:
            rows = np.bincount(self.evaluator)
            e -= (sums_over(self.evaluator, len(rows), e) / rows)[self.evaluator]
        if self.evaluator is not None and self._evaluators > _EVALUATORS:
            share = 1.0 / rows[self.evaluator]  # P is about 1 over the rows of each evaluator
            trace, squares = (sums_over(self.option, k, x) for x in (share, share**2))
        else:
            B, P = self._met
            BP = B @ P
            through = (B * BP).sum(axis=1) / N
            trace = B @ np.diag(P) - through
            squares = ((B @ P**2) * B - 2.0 * B * BP**2 / N[:, None]).sum(axis=1) + through**2
        return Leftovers(
            sums_over(self.option, k, e * e),
            np.maximum(N - 1.0 - trace, 0.0) * (1.0 - self.taken),
            np.maximum(N - 1.0 - 2.0 * trace + squares, 0.0) * (1.0 - self.taken),
            float(y @ y),
        )

    @property
    def _severities(self) -> Floats:
        """(J,) what evaluators give beyond values."""
        if self.evaluator is None:
            return np.zeros(0)
        beyond = self.score - self.values[self.option]
        return sums_over(self.evaluator, self._evaluators, beyond) / np.bincount(self.evaluator)

    def _variance(self, leader: int, rival: int, means: Floats) -> float:
        """Return the variance of a lead, with as much noise as the scores of both have."""
        assert self.evaluator is not None
        contrast = np.zeros(len(self.values))
        contrast[[leader, rival]] = 1.0, -1.0
        levels = Levels(self.option, self.evaluator, len(contrast), self._evaluators)
        unit = levels.variances(contrast, np.zeros(len(contrast), dtype=np.int32), 1)[0]
        both = [leader, rival]
        return float(unit * means[both].sum() / (1.0 / self._times[both]).sum())


_FEW = 600  # options that are compared, for which the variance of a lead is exact


LeadErrors = Callable[[int, int, int], LeadCovariance | None]
"""How far off the leads of an entry of an event are: event, entry, and a rival or −1."""


class Fair(Protocol):
    """Values of options without what evaluators add."""

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p); NaN at events where options have no common measure."""

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are by (n,) scores and (entries,) values with the bias off,
        after fitting so many numbers beside levels; entries count from the first of their event.
        """


def fair(scores: Scores, ballots: Ballots) -> Fair:
    """Return the way to fair values that goes with a table of scores."""
    if scores.reference is not None:
        return References(scores.reference - scores.level.origin, ballots)
    return EventPanel(ballots) if scores.rival is None else LeadDuels(scores, ballots)


@dataclass(frozen=True, eq=False)
class EventPanel:
    """Options that evaluators score: two-way levels; means, where nobody said who scored."""

    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p)."""
        return self.ballots.two_way(y), self.ballots.two_way(p)

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are: each event by its own noise."""
        ballots, contests = self.ballots, self.ballots.contests
        entry = contests.entry[contests.scored]
        if ballots.levels is not None and len(contests.entry) > len(values):  # several items
            level = ballots.levels.fitted(y)[contests.scored]
            y = y - level + values[entry]
        chair = ballots.chair
        if chair is not None:
            pair, n = crossed(entry, chair)
            times = sums_over(pair, n)
            some = np.zeros(n, dtype=np.intp)
            some[pair] = np.arange(len(pair))
            y, entry, chair = sums_over(pair, n, y) / times, entry[some], chair[some]
        order = np.argsort(contests.event[entry], kind="stable")
        ends = np.searchsorted(contests.event[entry[order]], np.arange(len(contests) + 1))
        seats = 0 if chair is None else len(np.unique(chair)) - len(contests)
        taken = min(fitted / max(len(y) - len(values) - seats, 1), 1.0)

        def of(event: int, leader: int, rival: int) -> LeadCovariance | None:
            rows, start = order[ends[event] : ends[event + 1]], int(contests.starts[event])
            who = None
            if chair is not None:
                who = np.unique(chair[rows], return_inverse=True)[1].reshape(-1).astype(np.int32)
            mine = values[start : start + int(contests.sizes[event])]
            found = Opinions(entry[rows] - start, who, y[rows], mine, taken)
            return found.errors(leader, rival)

        return of


@dataclass(frozen=True, eq=False)
class LeadDuels:
    """Options that evaluators compare: v_a − v_b, and what standing first adds."""

    scores: Scores
    ballots: Ballots

    @cached_property
    def _met(self) -> tuple[Projection, Indices]:
        """Who met whom, and (k,) the entry of each who did."""
        first, second, k = sides(self.scores)
        contests = self.ballots.contests
        entry = np.zeros(k, dtype=np.intp)
        entry[np.concatenate([first, second])] = contests.entry[contests.scored]
        return Projection(first, k, *whose_position(self.scores), against=second), entry

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) v(y) and v(p)."""
        met, entry = self._met
        contests = self.ballots.contests
        part = np.empty(len(entry), dtype=np.int32)
        part[entry] = met.parts[0]
        apart = contests.any_of(part != part[contests.starts][contests.event])[contests.event]
        found = np.empty((len(entry), 2))
        found[entry] = met.without(np.column_stack([y, p]))[1]
        found[apart] = np.nan
        return found[:, 0], found[:, 1]

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return how far off leads are, each event by its own noise: sums of e over pairs of
        evaluator and options, which scatter by more than single ones do.
        """
        contests, n = self.ballots.contests, len(self.scores)
        rows = contests.entry[contests.scored]
        first, second = rows[:n], rows[n:]
        event, size = contests.event[first], len(contests)
        left = self._met[0].without(y)[0].reshape(-1)
        evaluator = self.scores.evaluator
        who = np.arange(n, dtype=np.int32) if evaluator is None else evaluator.codes
        pair, n_pairs = crossed(np.minimum(first, second), np.maximum(first, second), who)
        of_pair = np.zeros(n_pairs, dtype=np.int32)
        of_pair[pair] = event
        together = sums_over(pair, n_pairs, np.where(first <= second, left, -left))
        verdicts = np.bincount(event, minlength=size)
        others = contests.sizes - 1 + (whose_position(self.scores)[1] + fitted) * verdicts / n
        scatter = np.maximum(sums_over(event, size, left**2), sums_over(of_pair, size, together**2))
        variance = scatter / np.maximum(verdicts - others, 1.0)
        freedom = np.bincount(of_pair, minlength=size) - others
        exact = len(values) <= _FEW
        root = self._root if exact else np.zeros((len(values), 0))
        alone = np.zeros(len(values)) if exact else 1.0 / np.bincount(rows, minlength=len(values))

        def of(event: int, leader: int, _: int) -> LeadCovariance | None:
            if freedom[event] < 1.0 or not variance[event] > 0.0:
                return None
            start = contests.starts[event]
            rivals = np.delete(np.arange(contests.sizes[event]), leader)
            b, j = start + leader, start + rivals
            factor = np.column_stack([root[b] - root[j], np.full(len(j), math.sqrt(alone[b]))])
            scatter = float(variance[event] * freedom[event])
            return LeadCovariance(rivals, Shared(factor, alone[j]), scatter, float(freedom[event]))

        return of

    @cached_property
    def _root(self) -> Floats:
        """(entries, r) R: leads have the covariance of R Rᵀ, for noise of variance 1."""
        _, entry = self._met
        contests, n = self.ballots.contests, len(self.scores)
        rows = contests.entry[contests.scored]
        whose, n_positions = whose_position(self.scores)
        met = np.zeros((len(entry), len(entry)))
        first, second = rows[:n], rows[n:]
        for one in (first, second):
            np.add.at(met, (one, one), 1.0)
        for one, other in ((first, second), (second, first)):
            np.add.at(met, (one, other), -1.0)
        sizes, stood = met.diagonal().copy(), np.zeros((len(entry), n_positions))
        np.add.at(stood, (first, whose), 1.0)
        np.add.at(stood, (second, whose), -1.0)
        met -= stood / np.maximum(np.bincount(whose, minlength=n_positions), 1) @ stood.T
        return Gram.of_matrix(met, sizes).root


@dataclass(frozen=True, eq=False)
class References:
    """What something impartial knows: whatever evaluators gave, values are the references."""

    reference: Floats
    ballots: Ballots

    def lines(self, y: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(entries,) the mean of the references, whatever the bias."""
        known = self.ballots.mean(self.ballots.turned(self.reference))
        return known, np.zeros(len(known))

    def errors(self, y: Floats, values: Floats, fitted: int) -> LeadErrors:
        """Return that references have no noise."""
        sizes = self.ballots.contests.sizes

        def of(event: int, leader: int, _: int) -> LeadCovariance:
            rivals = np.delete(np.arange(sizes[event]), leader)
            none = Shared(np.zeros((len(rivals), 0)), np.zeros(len(rivals)))
            return LeadCovariance(
                rivals, none, 0.0, math.inf, alone=Errors(np.zeros(sizes[event]), math.inf)
            )

        return of
