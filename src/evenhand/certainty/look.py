"""A look at scores that were planned: which option leads, and how probable that is by chance.

All of it is about one fit of the scores that are in; `winner` has the test, `one_look` says which
looks there are and what chance of being wrong each of them has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.certainty.dense import DenseFit
from evenhand.certainty.models import Fit, Spread
from evenhand.certainty.winner import Winner
from evenhand.numerics.ties import first_largest
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_SAME = 1e-12  # share of the largest score below which a difference is rounding
_REPEATS = 1e-24  # a scatter below this share of all squares is rounding, and no noise


@dataclass(frozen=True, eq=False)
class Look:
    """A look at the scores that are in.

    Parameters
    ----------
    leader, rivals, winner
        The option that leads, (n,) the others, and its leads over them.
    chances
        (n,) p_j, beyond the tolerance.
    failure
        δ_m, the chance of being wrong that the look has.
    began, plan, count
        When it was: the first plan of the design, the one in force, and how many of its scores were
        in.
    share
        t, how many of all scores of the design these are.
    """

    leader: int
    rivals: Indices
    winner: Winner
    chances: Floats
    failure: float
    began: int = 0
    plan: int = 0
    count: int = 0
    share: float = 1.0

    @classmethod
    def at(
        cls,
        fit: Fit,
        leader: int,
        rivals: Indices,
        noise: tuple[float, float],
        slack: float,
        failure: float,
    ) -> Look:
        """Return the look at a fit: at the leads of the option that leads by it.

        Parameters
        ----------
        fit, leader, rivals
            Least squares on what is in, the option that leads by it, and (n,) the others.
        noise
            R and ν; see `noise_by`.
        slack
            The tolerance in units of the leads.
        failure
            Chance of being wrong that the look has.
        """
        leads = np.maximum(fit.leads(leader, rivals).estimates, 0.0)
        winner = Winner.of(leads, fit.shared(leader, rivals), *noise)
        return cls(leader, rivals, winner, winner.chances(-slack), failure)

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
        """Rivals that may be better, the closest first."""
        near = np.argsort(self.winner.leads, kind="stable")
        return self.rivals[near[self.chances[near] >= self.failure]]

    def ends(self, k: int) -> Floats:
        """Return (k, 3) what leads are at least, and their lows and highs, which are two-sided."""
        ends = np.tile([-np.inf, -np.inf, np.inf], (k, 1))
        half, winner = 0.5 * self.failure, self.winner
        sides = winner.at_least(self.failure), winner.at_least(half), winner.at_most(half)
        ends[self.rivals] = np.column_stack(sides)
        return ends


def leading(fit: Fit, among: Indices, size: float) -> int | None:
    """Return the option that leads among some; None where the scores do not compare them all.

    Estimates up to ``size`` are rounding.
    """
    behind, variances = fit.leads(int(among[0]), among)
    if not np.isfinite(variances).all():
        return None
    return int(among[first_largest(-told_apart(behind, size))])


def leads_by(
    looks: Sequence[Look], option: int, estimates: Floats, same: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return (k, 3) leads of an option with intervals, and (k,) what they are at least.

    By all looks at which it led: what was said before holds as well.
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
    """Return (n, 3) estimates with Student's intervals, by R with ν degrees of freedom.

    Examples
    --------
    >>> plain_intervals(Spread(np.ones(1), np.full(1, 0.25)), (0.0, math.inf), 0.05).round(2)
    array([[1.  , 0.02, 1.98]])
    """
    scatter, freedom = noise
    known = (found.variances > 0.0) & np.isfinite(found.variances)
    width = np.inf
    if freedom >= 1.0 and failure > 0.0:
        unit = 1.0 if math.isinf(freedom) else math.sqrt(scatter / freedom)
        t = special.ndtri if math.isinf(freedom) else partial(special.stdtrit, freedom)
        width = -float(t(0.5 * failure)) * unit
    widths = np.where(known, width * np.sqrt(np.where(known, found.variances, 1.0)), np.inf)
    values = np.where(known, found.estimates, np.nan)
    return np.column_stack(
        [values, *(np.where(known, found.estimates, 0.0) + s for s in (-widths, widths))]
    )


def noise_by(fit: Fit, told: Feedback) -> tuple[float, float]:
    """Return the residual sum of squares and its degrees of freedom; 0 and ∞ if σ is known.

    Where the residuals are rounding, nothing is known of the noise: then both are 0.
    """
    if math.isinf(fit.freedom):
        return 0.0, math.inf
    scatter, squares = fit.scatter, float(told.sums_of_squares.sum())
    if isinstance(fit, DenseFit):  # by the residuals themselves, of which fewer digits cancel
        counts, sums, each = told.parts
        within = np.maximum(each - sums * told.means, 0.0).sum()
        left = told.means - fit.model.frame.points @ fit.theta
        scatter = float(within + counts @ left**2)
    return (scatter, fit.freedom) if scatter > _REPEATS * squares else (0.0, 0.0)


def rounding(told: Feedback, unit: float) -> float:
    """Return below what a difference of scores is rounding."""
    counts, _, squares = told.parts
    return _SAME * math.sqrt(float((squares / np.maximum(counts, 1)).max(initial=0.0))) / unit


def told_apart(estimates: Floats, size: float) -> Floats:
    """Return estimates, 0 where they are no more than rounding."""
    return np.where(np.abs(estimates) <= size, 0.0, estimates)


def guess(questions: Questions, told: Feedback) -> int:
    """Return an option while not all can be compared: by its own scores, drawn to the mean.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"])
    >>> guess(panel, Feedback([1, 0, 0, 1], [3.0, 0.0, 0.0, 5.0], [9.0, 0.0, 0.0, 25.0]))
    1
    """
    counts, sums, _ = told.parts
    beyond = sums - counts * (sums.sum() / max(int(counts.sum()), 1))
    first, second = questions.about.T
    n, k = len(questions.items) + 1, len(questions.options)  # the last: none
    total = np.bincount(first % n, beyond, n) - np.bincount(second % n, beyond, n)
    often = np.bincount(first % n, counts, n) + np.bincount(second % n, counts, n)
    size = float(np.abs(told.means).max(initial=0.0))
    return first_largest((total / (often + 1.0))[:k], size)
