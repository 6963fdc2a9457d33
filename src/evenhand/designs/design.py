"""What every design solver returns: weights, value, and a certificate that a stranger can check.

Notation
--------
A   (k, m)  points a_x        π  (k,)  weights, summing to one      μ = mass · π   pulls
V(μ) = Σ μ_x a_x a_xᵀ         c  (m,)  direction                    s_x = √cost_x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Floats
from evenhand.designs.verification import recompute
from evenhand.errors import InputError
from evenhand.report.model import Report
from evenhand.report.result import Result
from evenhand.values import ArrayValue

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Criterion = Literal["G", "c", "minimax", "joint"]

_MOST = 2**62  # evaluations that a count can hold


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


@dataclass(frozen=True)
class Verification:
    """What an independent recomputation of a design found; true if the design is as it says.

    Examples
    --------
    >>> import evenhand as eh
    >>> design = eh.c_optimal_design([[1.0, 1.0], [2.0, -1.0]], [0.0, 1.0])
    >>> design.verify([[1.0, 1.0], [2.0, -1.1]]).ok      # not the points it was made for
    False
    """

    ok: bool
    value: float
    bound: float
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, eq=False)
class Design(ArrayValue, Result):
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

    def _report(self) -> Report:
        from evenhand.designs.sections import report_of  # noqa: PLC0415 # it speaks of designs

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "value": self.value,
            "mass": self.mass,
            "excess": self.excess,
            "weights": self.weights,
            "direction": self.direction,
            "costs": self.costs,
            "certificate": {
                "bound": self.certificate.bound,
                "gap": self.certificate.gap,
                "dual": self.certificate.dual,
                "mixture": None
                if self.certificate.mixture is None
                else {
                    "weights": self.certificate.mixture.weights,
                    "parameters": self.certificate.mixture.parameters,
                },
            },
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.designs.sections import heaviest, option_name  # noqa: PLC0415
        from evenhand.report.pictures import shares_figure  # noqa: PLC0415

        shown = heaviest(self)
        return shares_figure(
            self._report().verdict,
            [option_name(x, None) for x in shown],
            self.weights[shown].tolist(),
            axes,
        )

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
        finding = recompute(self, points, tol)
        return Verification(
            not finding.reasons, finding.value, finding.bound, tuple(finding.reasons)
        )
