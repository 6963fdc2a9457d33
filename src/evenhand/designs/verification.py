"""Check a design from its points alone, the slow and plain way.

Nothing here is shared with the solvers: dense singular values, dense products, and for minimax
designs the linear programs of SciPy. A design that passes is right even if the solvers are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.designs.design import Design

Floats = NDArray[np.float64]

_CHUNK = 65536


class Finding(NamedTuple):
    """What a recomputation found: the value, the bound that the dual proves, and complaints."""

    value: float
    bound: float
    reasons: list[str]


def recompute(design: Design, points: ArrayLike, tol: float) -> Finding:
    """Recompute value and bound of a design, and say everything that is wrong with it."""
    A = np.asarray(points, dtype=np.float64)
    if A.ndim != 2 or len(A) != len(design.weights):
        raise InputError(
            f"points must have one row for each of the {len(design.weights)} weights of the "
            f"design; got shape {A.shape}."
        )
    reasons = []
    if design.weights.min() < 0:
        reasons.append(f"weight {int(np.argmin(design.weights))} is negative")
    if abs(design.weights.sum() - 1.0) > 1e-9:
        reasons.append(f"the weights sum to {design.weights.sum():.12g}, not to 1")
    if reasons:
        return Finding(np.nan, np.nan, reasons)
    check = {"G": _check_g, "c": _check_c, "minimax": _check_minimax}[design.criterion]
    finding = check(design, A, tol)
    if abs(finding.value - design.value) > tol * max(abs(design.value), 1e-300):
        finding.reasons.append(f"its value is {finding.value:.12g}, not {design.value:.12g}")
    if finding.bound < design.certificate.bound * (1.0 - tol):
        finding.reasons.append(
            f"its dual proves {finding.bound:.12g}, not {design.certificate.bound:.12g}"
        )
    if finding.value > finding.bound * (1.0 + tol + design.certificate.gap):
        finding.reasons.append(
            f"value {finding.value:.12g} and proven bound {finding.bound:.12g} differ by more "
            "than the certificate says"
        )
    return finding


def _check_g(design: Design, A: Floats, tol: float) -> Finding:
    """Largest leverage against the rank; the ellipsoid ‖Wa‖ ≤ 1 must hold all points."""
    scales = np.abs(A).max(axis=0)
    scales[scales == 0] = 1.0
    rows = A[design.support] / scales
    _, sigma, Vt = np.linalg.svd(rows * np.sqrt(design.weights[design.support])[:, None])
    rank = int(np.count_nonzero(sigma > 1e-12 * sigma[0]))
    Vt, sigma = Vt[:rank], sigma[:rank]
    largest, outside, stray = 0.0, 0.0, 0.0
    for a in _chunks(A):
        unit = a / scales
        y = unit @ Vt.T
        largest = max(largest, float(((y / sigma) ** 2).sum(axis=1).max()))
        outside = max(outside, float(((a @ design.certificate.dual.T) ** 2).sum(axis=1).max()))
        residual = np.linalg.norm(unit - y @ Vt, axis=1)
        stray = max(stray, float((residual / (np.linalg.norm(unit, axis=1) + 1e-300)).max()))
    reasons = []
    if stray > 1e-6:
        reasons.append("some points lie outside the range of the design")
    if outside > 1.0 + tol:
        reasons.append(f"a point lies outside the dual ellipsoid: ‖Wa‖² = {outside:.9g}")
    return Finding(largest, float(rank), reasons)


def _check_c(design: Design, A: Floats, tol: float) -> Finding:
    """Variance one at the stated cost, and a dual vector that stays within √cost everywhere."""
    costs = np.ones(len(A)) if design.costs is None else design.costs
    return _check_cost(design, A, costs, tol)


def _check_cost(design: Design, A: Floats, costs: Floats, tol: float) -> Finding:
    reasons = []
    c, u = design.direction, design.certificate.dual
    if c is None:
        return Finding(np.nan, np.nan, ["the design names no direction"])
    mu = design.mass * design.weights
    variance = _variance(A[design.support], mu[design.support], c)
    if not variance <= 1.0 + tol:
        reasons.append(f"the variance at mass {design.mass:.9g} is {variance:.9g}, not 1")
    spent = float(mu @ costs) * variance
    if design.excess and spent <= design.value * (1.0 + design.excess) * (1.0 + tol):
        spent = design.value  # the infimum; attained only with infinitely many free pulls
    excess = 0.0
    for a, cost in zip(_chunks(A), _chunks(costs), strict=True):
        reach = np.abs(a) @ np.abs(u)
        over = np.abs(a @ u) - np.sqrt(cost)
        slack = 1e-12 * reach  # rounding of the product itself
        paid = cost > 0
        if paid.any():
            excess = max(excess, float(((over - slack)[paid] / np.sqrt(cost[paid])).max()))
        if (over[~paid] > 1e4 * slack[~paid]).any():
            reasons.append("the dual vector does not vanish on an option of cost zero")
    if excess > tol:
        reasons.append(f"the dual vector exceeds √cost by {excess:.3g} relatively")
    bound = (max(float(c @ u), 0.0) / (1.0 + max(excess, 0.0))) ** 2
    return Finding(spent, bound, reasons)


def _check_minimax(design: Design, A: Floats, tol: float) -> Finding:
    """Worst regret of the design by linear programs; bound from the mixture of parameters."""
    from scipy.optimize import linprog  # noqa: PLC0415 (only here, and slow to import)

    mixture = design.certificate.mixture
    if mixture is None:
        return Finding(np.nan, np.nan, ["the certificate has no mixture of parameters"])
    d = mixture.parameters.shape[1]
    X = A[:, :d]
    values = X @ mixture.parameters.T
    gaps = values.max(axis=0) - values
    costs = gaps @ mixture.weights
    finding = _check_cost(design, A, costs, tol)
    reasons = [r for r in finding.reasons if not r.startswith("its value")]
    if np.abs(values).max() > 1.0 + tol:
        reasons.append("a parameter of the mixture gives a value outside [-1, 1]")
    if abs(mixture.weights.sum() - 1.0) > 1e-9 or mixture.weights.min() < 0:
        reasons.append("the mixture is not a probability")
    mu = design.mass * design.weights
    worst = 0.0
    for x in X:
        v = design.mass * x - mu @ X
        lp = linprog(-v, A_ub=np.vstack([X, -X]), b_ub=np.ones(2 * len(X)), bounds=(None, None))
        worst = max(worst, -float(lp.fun))
    return Finding(worst, finding.bound, reasons)


def _variance(rows: Floats, mu: Floats, c: Floats) -> float:
    """Return cᵀV(μ)⁺c, infinite where c is not in the range, by least squares on √μ · rows."""
    scales = np.abs(rows).max(axis=0)
    scales[scales == 0] = 1.0
    weighted = (rows / scales * np.sqrt(mu)[:, None]).T
    y, *_ = np.linalg.lstsq(weighted, c / scales, rcond=1e-15)
    if np.linalg.norm(weighted @ y - c / scales) > 1e-7 * np.linalg.norm(c / scales):
        return np.inf
    return float(y @ y)


def _chunks(array: Floats) -> Iterator[Floats]:
    for start in range(0, len(array), _CHUNK):
        yield array[start : start + _CHUNK]
