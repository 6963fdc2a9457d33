"""What every design solver returns: weights, value, and a certificate that a stranger can check.

Notation
--------
A   (k, m)  points a_x        π  (k,)  weights, summing to one      μ = mass · π   pulls
V(μ) = Σ μ_x a_x a_xᵀ         c  (m,)  direction                    s_x = √cost_x

Every solver ends with `checked`: what it is about to say is finite, feasible and proven. That looks
at the rows in the support only, so it costs nothing beside the solver, and takes no step of the
solver's. That the dual holds on all other rows is for the solver's last pass over the data, and for
`Design.verify`, which looks at everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import ArrayValue, Floats
from evenhand.designs.verification import Verification, largest_variance, recompute
from evenhand.errors import AccuracyError, InputError

Criterion = Literal["G", "c", "minimax", "joint"]

_MOST = 2**62  # evaluations that a count can hold
_ROUNDING = 1e-6  # what a value computed in another way may be off by, relatively


@dataclass(frozen=True, eq=False)
class Mixture(ArrayValue):
    """A probability over parameters γ: the opponent that makes a minimax design as costly as it is.

    Parameters
    ----------
    weights
        (n,) probabilities.
    parameters
        (n, d) parameters with |x·γ| ≤ 1 for all options x.
    """

    weights: Floats
    parameters: Floats


@dataclass(frozen=True, eq=False)
class Certificate(ArrayValue):
    """Proof of how good a design is.

    Parameters
    ----------
    value
        What the design attains.
    bound
        What no design can beat, proven by ``dual``.
    dual
        c-optimal: a vector u with abs(a_x·u) ≤ √cost_x for all x; then every design of variance
        at most one costs at least (c·u)². G-optimal: a matrix W with ‖Wa‖ ≤ 1 for all points,
        the ellipsoid around them; the bound is the rank, since leverages average to it.
        Minimax: u as for c, with the mean gaps under ``mixture`` as costs. Joint: a matrix with
        one vector h_u per direction u and Σ_u (a_x·h_u)² ≤ cost_x for all x; then every design
        costs at least Σ_u (u·h_u)².
    mixture
        Minimax only: the parameters against which no design does better.

    Examples
    --------
    >>> import evenhand as eh
    >>> proof = eh.c_optimal_design([[1.0, 1.0], [2.0, -1.0]], [0.0, 1.0]).certificate
    >>> bool((abs(np.array([[1.0, 1.0], [2.0, -1.0]]) @ proof.dual) <= 1 + 1e-12).all())
    True
    >>> round(proof.bound, 9), proof.gap < 1e-12
    (1.0, True)
    """

    value: float
    bound: float
    dual: Floats
    mixture: Mixture | None = None

    @property
    def gap(self) -> float:
        """Return how far above the bound the value may be, relative to the bound."""
        if self.value <= self.bound:
            return 0.0
        return self.value / self.bound - 1.0 if self.bound > 0 else np.inf


@dataclass(frozen=True, eq=False)
class Design(ArrayValue):
    """How to divide evaluations among options, with its price and a certificate.

    Parameters
    ----------
    criterion
        "G" (all evaluations equally well), "c" (one direction at least cost), "minimax" (that
        against the worst parameter) or "joint" (several directions at least cost).
    weights
        (k,) shares of the evaluations, summing to one.
    value
        The optimum: largest leverage (G), least cost for unit variance (c; κ_* or κ(Δ)), κ̃.
    mass
        Evaluations for unit variance: ``mass * weights`` is the paper's μ.
    certificate
        Proof of near-optimality.
    direction, costs
        What was asked for: (m,) a direction (c and minimax), or (n, m) several (joint); costs.
    excess
        How much more than ``value`` the pulls cost, relatively: 0, unless options of cost zero
        would need infinitely many pulls to attain it.

    Examples
    --------
    >>> import evenhand as eh
    >>> design = eh.c_optimal_design([[1.0, 1.0], [2.0, -1.0]], direction=[0.0, 1.0])
    >>> design.weights.round(3)
    array([0.667, 0.333])
    >>> round(design.value, 6), bool(design.verify([[1.0, 1.0], [2.0, -1.0]]))
    (1.0, True)
    >>> design.counts(pulls=100), design.counts(precision=25)
    (array([67, 34]), array([17,  9]))
    """

    criterion: Criterion
    weights: Floats
    value: float
    mass: float
    certificate: Certificate
    direction: Floats | None = None
    costs: Floats | None = None
    excess: float = 0.0

    @property
    def support(self) -> NDArray[np.intp]:
        """Return the indices of the options with positive weight."""
        return np.flatnonzero(self.weights)

    def counts(
        self, pulls: float | None = None, *, precision: float | None = None
    ) -> NDArray[np.int64]:
        """Return whole numbers of evaluations, rounded up as in the paper's Lemmas 3 and 4.

        Parameters
        ----------
        pulls
            ⌈pulls · π_x⌉: about this many evaluations in all; variance at most value / pulls
            (for unit costs).
        precision
            ⌈precision · μ_x⌉: variance at most 1 / precision.
        """
        if (pulls is None) == (precision is None):
            raise InputError("give either pulls= (how many) or precision= (1 / variance), not both")
        amount = pulls if pulls is not None else precision
        if amount is None or not np.isfinite(amount) or amount < 0:
            raise InputError(f"the amount must be a finite number ≥ 0; got {amount}")
        scale = amount if pulls is not None else amount * self.mass
        wanted = np.ceil(scale * self.weights)
        if not wanted.sum() <= _MOST:
            raise InputError(
                f"that takes {wanted.sum():.3g} evaluations; at most {_MOST:.3g} can be counted. "
                "Ask for less."
            )
        return wanted.astype(np.int64)

    def verify(self, points: ArrayLike, tol: float | None = None) -> Verification:
        """Recompute from the points alone whether the design is valid and as good as it says.

        Shares no code with the solvers: singular values and dense least squares only.

        Parameters
        ----------
        points
            (k, m) the points that the design is for.
        tol
            How far above its proven bound the value may be, relatively; if not given, as far as
            the certificate itself says. Recomputed numbers may differ from those stated by 1e-6,
            which is the recomputation's own rounding.
        """
        return recompute(self, points, tol)


def checked(design: Design, points: Floats, scales: Floats, tol: float) -> Design:
    """Return the design, or raise `AccuracyError` if its value is above its proven bound by more
    than ``tol``, relatively; ``scales`` are (m,) the magnitudes of the points' columns.
    """
    fault = _fault(design, points[design.support], scales, tol)
    if fault is not None:
        raise AccuracyError(
            f"the {design.criterion}-optimal design came out wrong: {fault}. The points are too "
            "close to dependent, or too different in size, for double precision: drop columns "
            "that are almost combinations of others, or bring rows and columns to comparable size."
        )
    return design


def _fault(design: Design, rows: Floats, scales: Floats, tol: float) -> str | None:
    """Say what is wrong, every comparison written so that a NaN fails it."""
    weights, certificate = design.weights[design.support], design.certificate
    numbers = (design.value, design.mass, certificate.bound)
    if not (all(map(math.isfinite, numbers)) and np.isfinite(certificate.dual).all()):
        return "some number in it is not finite"
    if not (len(weights) and weights.min() > 0 and abs(weights.sum() - 1.0) <= 1e-9):
        return "its weights are no shares"
    directions = np.zeros((0, len(scales))) if design.direction is None else design.direction
    proven = certificate.gap <= tol
    if not proven and not certificate.gap <= tol + _rounding(directions, rows, certificate.dual):
        return f"its value is proven to a gap of {certificate.gap:.2g} only, not {tol:.2g}"
    if design.criterion == "G":
        # leverages average to the rank, whatever the weights
        d = np.square(rows @ certificate.dual.T).sum(axis=1) * design.value
        if not abs(float(weights @ d) - certificate.bound) <= _ROUNDING * certificate.bound:
            return f"its leverages average to {float(weights @ d):.9g}, not to the rank"
        return None
    enough = 1.0 + _ROUNDING
    variance = largest_variance(rows / scales, design.mass * weights, directions / scales, enough)
    if not variance <= enough:
        return f"the variance at its mass is {variance:.9g}, not 1"
    return None


def _rounding(directions: Floats, rows: Floats, dual: Floats) -> float:
    """Return what the proven bound may be off by, relatively, because products are rounded sums."""
    # It is (c·u)², with u shrunk until a·u is within its limit, which it attains on the support.
    if dual.ndim != 1:
        return 0.0
    vectors = np.vstack([directions, rows])
    terms, sums = np.abs(vectors) @ np.abs(dual), np.abs(vectors @ dual)
    nonzero = sums > 0.0
    worst = float((terms[nonzero] / sums[nonzero]).max(initial=0.0))
    return 4.0 * np.finfo(float).eps * len(dual) * worst
