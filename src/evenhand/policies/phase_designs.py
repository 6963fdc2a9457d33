"""How often to evaluate each option in a phase, and what its evaluations tell.

By a G-optimal design on the options that are left (`PhaseDesigns`).

`AttributePlan`: which evaluations show what the attributes do to them.

Notation
--------
a_x = (x; z_x)      points; the distinct attribute vectors z_g, with mean c
v_g = (0; z_g − c)  what takes the bias out of an evaluation, (x; c) = a_x − v_g; of rank q
ν                   G-optimal design on the v_g
μ_g                 the cheapest design that estimates v_g·θ with unit variance, at a price κ_g
μ = q Σ ν_g μ_g     estimates every v_g·θ with variance at most 1, at the price κ_A = q Σ ν_g κ_g

Variance at most 1 says V(μ_g) ⪰ v_g v_gᵀ. So V(μ) ⪰ q V(ν), and ν is G-optimal. Two groups: v = ±e
and c = 0, so that μ is the bias-optimal design, and κ_A = κ_* for unit costs.

Estimators and their confidence widths
--------------------------------------
A       (k, m)  points            n, s   (k,)  counts and sums of evaluations of each option
V(n) = Σ n_x a_x a_xᵀ             θ̂ = V(n)⁺ Σ s_x a_x, ordinary least squares
q       (k,)    sums of squares of evaluations
S = Σ (q_x − s_x²/n_x)            scatter of evaluations around their option's mean, in
f = Σ (n_x − 1)                   degrees of freedom; both sums over the options that have some
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices
from evenhand.designs import Design, g_optimal_design
from evenhand.designs.elfving import ElfvingProgram
from evenhand.numerics.least_squares import Svd
from evenhand.numerics.tolerance import rounded_up
from evenhand.policies.frame import OptionFrame, per_action_set

REMEMBERED = 4096
"""Designs and plans that are remembered: most runs on the same options go the same way at first."""


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares as a linear map of means: estimates of n linear functions of θ."""

    used: Indices  # (u,) the options that were evaluated
    weights: Floats  # (n, u) what the mean of each of them counts for
    # (n,) of the estimates per unit of noise; infinite where evaluations do not show it
    deviations: Floats

    def estimates(self, means: Floats) -> Floats:
        """Return (n,) estimates from the (k,) mean evaluation of each option."""
        return np.asarray(self.weights @ means[self.used])


def least_squares(points: Floats, counts: Counts, targets: Floats) -> LeastSquares:
    """Return the least squares estimator of targets · θ from so many evaluations of each point."""
    # The weights w of a target minimise Σ w_x²/n_x subject to Σ w_x a_x = target (its projection,
    # where that is not in the span). Works on √n · A, columns equilibrated, which keeps the
    # accuracy that V(n) loses.
    (used,) = np.nonzero(counts)
    root = np.sqrt(counts[used].astype(np.float64))
    rows = Svd.of(points[used] * root[:, None])
    weights, _ = rows.weights(targets)
    return LeastSquares(used, weights @ rows.U.T * root, np.sqrt(rows.variances(targets)))


def gaussian_width(deviation: float, failure: float) -> float:
    """Return a half-width that a Gaussian error exceeds with probability at most ``failure``."""
    # P(|N(0, s²)| ≥ s √(2 log(1/δ))) ≤ δ, as in the paper's Lemma 10.
    return float(deviation * np.sqrt(2.0 * np.log(1.0 / failure)))


def fixed_design_width(
    deviation: float,
    failure: float,
    counts: Counts,
    sums: Floats,
    squares: Floats,
    noise_scale: float | None = None,
) -> float:
    """Return a half-width of a linear function of the means of evaluations whose counts, (k,), were
    fixed before; ``deviation`` is its standard deviation per unit of noise.
    """
    # With the noise scale, that of `gaussian_width`. Without it, Student's: for Gaussian noise S/σ²
    # is χ² with f degrees of freedom and independent of the means, so that the error over deviation
    # · √(S/f) is t with f. Infinite while nothing scatters: no evaluation was repeated, or the
    # evaluator repeats itself.
    if noise_scale is not None:
        return gaussian_width(noise_scale * deviation, failure)
    repeated = counts > 1
    n, s, q = counts[repeated], sums[repeated], squares[repeated]
    scatter, freedom = float(np.maximum(q - s**2 / n, 0.0).sum()), int((n - 1).sum())
    if scatter == 0.0:
        return math.inf
    return deviation * math.sqrt(scatter / freedom) * student_quantile(0.5 * failure, freedom)


class PhasePlan(NamedTuple):
    """Counts of evaluations, and how estimates follow from the means that come back."""

    counts: Counts
    fit: LeastSquares
    kappa: float = math.nan  # what it costs, where that was worked out


class PhaseDesigns:
    """G-optimal designs on some of the rows, (k, n), of a matrix; each is remembered."""

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._designs = functools.lru_cache(REMEMBERED)(self._new_design)
        self._plans = functools.lru_cache(REMEMBERED)(self._new_plan)

    def design(self, active: Indices) -> Design:
        """Return the G-optimal design on the active rows, which are not all zero."""
        return self._designs(active.tobytes())

    def rank(self, active: Indices) -> int:
        """Return the rank of the active rows, which is the value of their design."""
        return round(self.design(active).value)

    def counts(self, active: Indices, n: float) -> Counts:
        """Return ⌈n π(x)⌉ evaluations of the active options, of all k."""
        counts = np.zeros(len(self._rows), dtype=np.int64)
        counts[active] = whole(n * self.design(active).weights)
        return counts

    def plan(self, active: Indices, n: float) -> PhasePlan:
        """Return ⌈n π(x)⌉ evaluations of the active options, and their estimates."""
        return self._plans(active.tobytes(), n)

    def _new_design(self, active: bytes) -> Design:
        return g_optimal_design(self._rows[np.frombuffer(active, dtype=np.intp)])

    def _new_plan(self, active: bytes, n: float) -> PhasePlan:
        options = np.frombuffer(active, dtype=np.intp)
        counts = self.counts(options, n)
        return PhasePlan(counts, least_squares(self._rows, counts, self._rows[options]))


def whole(pulls: Floats) -> Counts:
    """Round up; what no horizon can hold is cut off before it overflows, and stays too much."""
    return np.minimum(rounded_up(pulls), 2.0**60 / len(pulls)).astype(np.int64)


class AttributePlan:
    """How to estimate what the attributes do to evaluations: directions, designs and prices; or
    `NotIdentifiableError` where no evaluations tell them from features.
    """

    def __init__(self, actions: ActionSet) -> None:
        self._points = actions.points
        self.frame = OptionFrame.of(actions)
        apart = self.frame.cells - self.frame.centre
        apart[np.abs(apart) <= 1e-12 * np.abs(apart).max(initial=0.0)] = 0.0
        signs = np.zeros(len(apart))
        if apart.shape[1]:
            signs = np.sign(apart[np.arange(len(apart)), np.argmax(apart != 0.0, axis=1)])
        distinct, index = np.unique(apart * signs[:, None], axis=0, return_inverse=True)
        index = index.reshape(-1)
        some = distinct.any(axis=1)
        place = np.where(some, np.cumsum(some) - 1, -1)
        # (k,) which direction an option has, and with which sign; −1 and 0 where its z is c
        self.stream: Indices = place[index][self.frame.cell]
        self.sign: Floats = signs[self.frame.cell]
        # (g, m) distinct directions (0; z − c), up to sign; those that vanish left out
        self.directions: Floats = np.zeros((int(some.sum()), self._points.shape[1]))
        self.directions[:, actions.n_features :] = distinct[some]
        self.coordinates: Floats = self.directions @ self.frame.transform.T
        self._designs = PhaseDesigns(self._points)

    @staticmethod
    @per_action_set
    def of(actions: ActionSet) -> AttributePlan:
        """Return the plan for these options, kept as long as they are."""
        return AttributePlan(actions)

    @cached_property
    def _mixture(self) -> tuple[Indices, Floats]:
        """Directions of positive weight, and q ν."""
        if len(self.directions) == 0:
            return np.empty(0, dtype=np.intp), np.empty(0)
        design = g_optimal_design(self.directions)
        return design.support, design.value * design.weights[design.support]

    @property
    def rank(self) -> int:
        """Dimension q of the span of the directions."""
        return round(float(self._mixture[1].sum()))

    @cached_property
    def price(self) -> float:
        """κ_A for unit costs: κ_* for two groups."""
        return self.pulls(np.ones(len(self._points)))[1]

    def pulls(self, costs: Floats) -> tuple[Floats, float]:
        """Return μ, (k,) evaluations for unit variance of every direction, and its cost κ_A, where
        one of each option costs so much, (k,) > 0.
        """
        roots = np.sqrt(costs)
        program = ElfvingProgram(self._points, roots, self.frame.space)
        mu, price = np.zeros(len(costs)), 0.0
        for v, weight in zip(*self._mixture, strict=True):
            solution = program.solve(self.directions[v])
            rows, w = solution.support()
            mu[rows] += weight * solution.root * np.abs(w) / roots[rows]
            price += float(weight) * solution.root**2
        return mu, price

    def evaluations(self, options: Indices, n: float) -> Counts:
        """Return (k,) counts ⌈n π(x)⌉ for the G-optimal design π on some of the options."""
        if len(options) == len(self._points):
            return whole(n * self.frame.weights)
        return self._designs.counts(options, n)


def student_quantile(failure: float, freedom: float) -> float:
    """Return what Student's variable exceeds with a chance of ``failure``."""
    if math.isinf(freedom):
        return -float(special.ndtri(failure))
    return -float(special.stdtrit(freedom, failure))
