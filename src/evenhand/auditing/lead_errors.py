"""How far off leads at an event may be, by what the scores of that event leave over.

Notation
--------
o, c        options and evaluators at one event;  B  (o, c) a 1 where c has scored o;  N = B 1
S           diag(Bᵀ1) − Bᵀ N⁻¹ B: what is left of evaluators once options are swept out;  P = S⁺
σ_o²        the variance of a score of option o (`certainty.own_noise`)
v̂, ŝ        levels of both: ŝ = P z with z_c = Σ (y − ȳ_o) over c, and v̂ = ȳ − N⁻¹B ŝ
e           y − v̂ − ŝ, what they leave over
L_j, q_j    the lead over rival j, and how much of it one standard error of the bias is

Each event has the noise that it shows, and each option there its own. The means ȳ are independent
of z, since the noise is the same for all scores of an option. So, with T the covariance of z,

    Cov v̂ = diag(σ²/N) + (N⁻¹BP) T (N⁻¹BP)ᵀ,    T = diag(Bᵀσ²) − Bᵀ diag(σ²/N) B:

a diagonal, and a part of the rank of the evaluators, which is the form that `winner` takes.

The scores of option o leave over (1 − hat) of themselves: with Π_o the rows of o less their mean,
that is Π_o − Π_o P Π_o, of which own noise wants the trace and the squares.

What an evaluator thinks of an option is the same on all items, and however often it is asked: it is
one opinion, and counts once. So rows are first brought to pairs of evaluator and option.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.levels import Levels
from evenhand.certainty.models import Leftovers, OwnParts, Shared
from evenhand.certainty.own_noise import own_variances
from evenhand.certainty.winner import Winner
from evenhand.numerics.gram import Gram
from evenhand.numerics.tolerance import ROUNDING
from evenhand.scores.factor import Codes, sums_over

_EVALUATORS = 400  # of an event, up to which all covariances are computed
_NEAREST = 8  # rivals whose leads are looked at where there are more
_RIVALS = 1_000  # the nearest in standard errors, by whom others are further off, too


class LeadCovariance(NamedTuple):
    """What the leads over some rivals have in common."""

    rivals: Indices  # (n,) who they are
    shared: Shared  # the covariance of leads over them, for noise of variance 1
    scatter: Floats | float  # residual sum of squares of all leads, or (n,) of each
    freedom: Floats | float


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
        own_parts = OwnParts(means, noise.freedom, noise.most)
        rivals = np.delete(np.arange(len(self.values)), leader)
        if self._evaluators > _EVALUATORS:
            spread = np.sqrt(means[rivals] + means[leader])
            near = np.argsort((self.values[leader] - self.values[rivals]) / spread, kind="stable")
            rivals = np.union1d(rivals[near[:_NEAREST]], rivals[rivals == rival])
            own = np.array([self._variance(leader, one, means) for one in rivals.tolist()])
            freedom = own_parts.of_leads(leader, rivals, own)
            return LeadCovariance(rivals, Shared(np.zeros((len(rivals), 0)), own), freedom, freedom)
        B, P = self._met
        T = np.diag(variances @ B) - (means[:, None] * B).T @ B
        sizes, axes = np.linalg.eigh(T)
        root = B / self._times[:, None] @ P @ (axes * np.sqrt(np.maximum(sizes, 0.0)))
        common = np.full((len(rivals), 1), math.sqrt(means[leader]))
        factor = np.hstack([root[leader] - root[rivals], common])
        shared = Shared(factor, means[rivals])
        freedom = own_parts.of_leads(leader, rivals, shared.variances)
        return LeadCovariance(rivals, shared, freedom, freedom)

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

    def _variance(self, leader: int, rival: int, means: Floats) -> float:
        """Return the variance of a lead, with as much noise as the scores of both have."""
        assert self.evaluator is not None
        contrast = np.zeros(len(self.values))
        contrast[[leader, rival]] = 1.0, -1.0
        levels = Levels(self.option, self.evaluator, len(contrast), self._evaluators)
        unit = levels.variances(contrast, np.zeros(len(contrast), dtype=np.int32), 1)[0]
        both = [leader, rival]
        return float(unit * means[both].sum() / (1.0 / self._times[both]).sum())
