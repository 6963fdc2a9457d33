"""A look at scores that were planned: which option leads, and how probable that is by chance.

All of it is about one fit of the scores that are in; `winner` has the tests,
`one_look` says which looks there are and what chance δ_m of being wrong each of them has.

What holds at a look with n rivals, each wrong with a chance of δ_m (docs/research/one_look.md):

- that the leader is within the tolerance of the best, where it is said to be (`certain`);
- what it loses at most, by n comparisons with the best; of two options, at δ_m/2, so that it is
  what the interval of their difference says;
- the interval of its lead over any one option, at δ_m/2 on either side for the largest of n, since
  who leads was not fixed before.

They are statements of their own: that all of them hold has no more than the sum of their chances
against it. Where the leader is certain, leads are at least what that says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.likings import CorrectedFit, doubts
from evenhand.certainty.line import Errors
from evenhand.certainty.models import Fit, Spread, freedom_of
from evenhand.certainty.winner import (
    BoundedLeads,
    Winner,
    largest_tail,
    smallest_variance,
    stronger,
)
from evenhand.numerics.intervals import student_quantiles
from evenhand.numerics.tolerance import ROUNDING, first_largest
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_SAME = 1e-12  # share of the largest score below which a difference is rounding


@dataclass(frozen=True, eq=False)
class Look:
    """A look at the scores that are in."""

    leader: int
    rivals: Indices  # (n,) the other options
    winner: Winner | BoundedLeads  # its leads over them
    # (n,) how probable leads as large are if they were below the tolerance: p_j of the winner test,
    # or that of the largest of n comparisons with the best (`winner`)
    chances: Floats
    slack: float  # the tolerance in units of the leads
    failure: float  # δ_m, the chance of being wrong that the look has
    began: int = 0  # the first plan of the design,
    plan: int = 0  # the one in force,
    count: int = 0  # and how many of its scores were in
    share: float = 1.0  # t, how many of all scores of the design these are
    # (n,) what leads are at least by trusted judges alone; None if all count alike
    floor: Floats | None = None

    @classmethod
    def at(
        cls,
        fit: Fit,
        leader: int,
        rivals: Indices,
        slack: float,
        failure: float,
        bounded: bool = False,
    ) -> Look:
        """Return the look at a fit `with_own_noise`: at the leads of the option that leads by it,
        with the tolerance (``slack``) in their units.
        """
        leads = np.maximum(fit.leads(leader, rivals).estimates, 0.0)
        shared, n = fit.shared(leader, rivals), len(rivals)
        if bounded:
            leads_between = BoundedLeads(leads, shared.variances, n + 1)
            chances = leads_between.chances(-slack)
            return cls(leader, rivals, leads_between, chances, slack, failure)
        freedom = freedom_of(fit, leader, rivals)
        scatter = fit.scatter if fit.own is None else freedom
        winner = Winner.of(leads, shared, scatter, freedom)
        found = winner.chances(-slack)
        if n and slack > 0.0 and not winner.silent:
            error = winner.noise * math.sqrt(smallest_variance(shared))
            if stronger(slack, error, n, winner.least, failure):
                found = largest_tail((leads + slack) / winner.errors, n, winner.least)
        if isinstance(fit, CorrectedFit | ItemsFit) and fit.trusted is not None:
            doubted, floor = doubts(fit.trusted, leader, rivals, slack, failure)
            found = np.maximum(found, doubted)
            return cls(leader, rivals, winner, found, slack, failure, floor=floor)
        return cls(leader, rivals, winner, found, slack, failure)

    @property
    def worst(self) -> float:
        """The largest chance of all rivals."""
        return float(self.chances.max(initial=0.0))

    @property
    def certain(self) -> bool:
        """Whether no option is better than the leader by more than the tolerance."""
        return self.worst < self.failure

    @property
    def open(self) -> Indices:
        """Rivals that may be better, the closest first; without those whom it surely leads."""
        near = np.argsort(self.winner.leads, kind="stable")
        near = near[self.chances[near] >= self.failure]
        low = self.ends(1 + int(self.rivals.max(initial=0)))[self.rivals[near], 1]
        return self.rivals[near if (low > 0.0).all() else near[low <= 0.0]]

    def ends(self, k: int) -> Floats:
        """Return (k, 3) what leads are at least, and their lows and highs, which are two-sided."""
        # At least what the winner test says, if that is 0 or more; else by comparisons with the
        # best.
        ends, winner, n = np.tile([-np.inf, -np.inf, np.inf], (k, 1)), self.winner, len(self.rivals)
        if winner.silent or not n:
            return ends
        within, width = (
            winner.largest(x) * winner.errors
            for x in (self.failure if n > 1 else 0.5 * self.failure, 0.5 * self.failure)
        )
        least, low = np.minimum(winner.leads - within, 0.0), winner.leads - width
        if self.floor is not None:
            least, low = np.minimum(least, self.floor), np.minimum(low, self.floor)
        if self.certain:
            least = np.maximum(least, np.maximum(winner.at_least(self.failure), -self.slack))
            low = np.maximum(low, min(least.min(), 0.0))
        ends[self.rivals] = np.column_stack([least, low, winner.leads + width])
        return ends


def leading(fit: Fit, among: Indices, size: float) -> int | None:
    """Return the option that leads among some; None where the scores do not compare them all.
    Estimates up to ``size`` are rounding.
    """
    behind, variances = fit.leads(int(among[0]), among)
    if not np.isfinite(variances).all():
        return None
    return int(among[first_largest(-told_apart(behind, size), size / ROUNDING)])


def leads_by(
    looks: Sequence[Look], option: int, estimates: Floats, same: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return (k, 3) leads of an option with intervals, and (k,) what they are at least, by all
    looks at which it led: what was said before holds as well.
    """
    k = len(estimates)
    ends = np.tile([-np.inf, -np.inf, np.inf], (k, 1))
    for look in looks:
        if look.leader == option:
            said = look.ends(k)
            ends = np.column_stack(
                [np.maximum(ends[:, :2], said[:, :2]), np.minimum(ends[:, 2], said[:, 2])]
            )
    leads = np.column_stack([np.clip(estimates, ends[:, 1], ends[:, 2]), ends[:, 1:]])
    leads[same] = ends[same] = 0.0
    return leads, ends[:, 0]


def plain_intervals(found: Spread, noise: tuple[float, float], failure: float) -> Floats:
    """Return (n, 3) estimates with Student's intervals, by ``noise``: R, with ν of freedom."""
    scatter, freedom = noise
    unit = 1.0 if math.isinf(freedom) or freedom < 1.0 else math.sqrt(scatter / freedom)
    return intervals_by(found.estimates, Errors(np.sqrt(found.variances) * unit, freedom), failure)


def intervals_by(estimates: Floats, errors: Errors, failure: float) -> Floats:
    """Return (n, 3) estimates with Student's intervals, by their errors."""
    known = (errors.sizes > 0.0) & np.isfinite(errors.sizes)
    freedom = np.broadcast_to(errors.freedom, known.shape)
    widths = np.full(len(known), np.inf)
    if failure > 0.0:
        told = known & (freedom >= 1.0)
        widths[told] = student_quantiles(0.5 * failure, freedom[told]) * errors.sizes[told]
    values = np.where(known, estimates, np.nan)
    return np.column_stack(
        [values, *(np.where(known, estimates, 0.0) + s for s in (-widths, widths))]
    )


def difference_by(fit: Fit, a: int, b: int, failure: float) -> Floats:
    """Return (4,) by how much a is better than b, Student's interval, and what that is at least (at
    ``failure`` on its side alone), for two options that no score selected.
    """
    found, other = fit.leads(a, np.array([b])), np.array([b])
    freedom = float(np.min(freedom_of(fit, a, other)))
    noise = (fit.scatter if fit.own is None else freedom), freedom
    both, side = (plain_intervals(found, noise, x)[0] for x in (failure, 2.0 * failure))
    return np.append(both, side[1])


def rounding(told: Feedback, unit: float, grain: float = 0.0) -> float:
    """Return below what a difference of scores is rounding; ``grain`` is that of single ones."""
    counts, _, squares = told.parts
    size = math.sqrt(float((squares / np.maximum(counts, 1)).max(initial=0.0)))
    return max(_SAME * size, grain) / unit


def told_apart(estimates: Floats, size: float) -> Floats:
    """Return estimates, 0 where they are no more than rounding."""
    return np.where(np.abs(estimates) <= size, 0.0, estimates)


def guess(questions: Questions, told: Feedback, grain: float = 0.0) -> int:
    """Return an option while not all can be compared: by its own scores, drawn to the mean."""
    counts, sums, _ = told.parts
    beyond = sums - counts * (sums.sum() / max(int(counts.sum()), 1))
    first, second = questions.about.T
    n, k = len(questions.items) + 1, len(questions.options)  # the last: none
    total = np.bincount(first % n, beyond, n) - np.bincount(second % n, beyond, n)
    often = np.bincount(first % n, counts, n) + np.bincount(second % n, counts, n)
    size = max(float(np.abs(told.means).max(initial=0.0)), grain / ROUNDING)
    return first_largest((total / (often + 1.0))[:k], size)
