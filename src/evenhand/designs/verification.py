"""Check a design from its points alone, the slow and plain way.

Nothing here is shared with the solvers: dense singular values, dense products, and for minimax
designs the linear programs of SciPy. A design that passes is right even if the solvers are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from evenhand.arrays import Floats, unmasked
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.designs.design import Design


_CHUNK = 65536
_ROUNDING = 1e-6  # what a number recomputed in another way may be off by, relatively


class Finding(NamedTuple):
    """What a recomputation found: the value, the bound that the dual proves, and complaints."""

    value: float
    bound: float
    reasons: list[str]


def recompute(design: Design, points: ArrayLike, tol: float | None) -> Finding:
    """Recompute value and bound of a design, and say everything that is wrong with it.

    ``tol`` is the largest gap between them; None for the gap that the certificate states. Every
    comparison is written so that a NaN fails it.
    """
    if tol is not None and not 0.0 <= tol < np.inf:
        raise InputError(f"tol must be a finite number ≥ 0; got {tol!r}.")
    A = np.asarray(unmasked(points, "points"), dtype=np.float64)
    certificate = design.certificate
    width = A.shape[1] if A.ndim == 2 else -1
    if len(A) != len(design.weights) or certificate.dual.shape[-1] != width:
        raise InputError(
            f"points must be the ({len(design.weights)}, {certificate.dual.shape[-1]}) matrix that "
            f"the design is for; got shape {A.shape}."
        )
    numbers = (design.value, design.mass, certificate.value, certificate.bound)
    arrays = (design.weights, certificate.dual, A, np.array(numbers))
    if not all(np.isfinite(array).all() for array in arrays):
        return Finding(np.nan, np.nan, ["some number of the design or the points is not finite"])
    reasons = []
    if not design.weights.min() >= 0:
        reasons.append(f"weight {int(np.argmin(design.weights))} is negative")
    if not abs(design.weights.sum() - 1.0) <= 1e-9:
        reasons.append(f"the weights sum to {design.weights.sum():.12g}, not to 1")
    if reasons:
        return Finding(np.nan, np.nan, reasons)
    check = {"G": _check_g, "c": _check_c, "minimax": _check_minimax, "joint": _check_joint}
    finding = check[design.criterion](design, A)
    _compare(finding.reasons, "its value", finding.value, design.value)
    _compare(finding.reasons, "its certified value", certificate.value, design.value)
    _compare(finding.reasons, "what its dual proves", finding.bound, certificate.bound)
    if tol is not None and not design.value <= certificate.bound * (1.0 + tol):
        finding.reasons.append(
            f"the certificate proves only {certificate.bound:.12g} of the value {design.value:.12g}"
        )
    return finding


def _compare(reasons: list[str], what: str, found: float, stated: float) -> None:
    if not abs(found - stated) <= _ROUNDING * abs(stated):
        reasons.append(f"{what} is {found:.12g}, not {stated:.12g}")


def _check_g(design: Design, A: Floats) -> Finding:
    """Largest leverage against the rank; the ellipsoid ‖Wa‖ ≤ 1 must hold all points, tightly."""
    scales = _scales(A)
    rows = A[design.support] / scales * np.sqrt(design.weights[design.support])[:, None]
    _, R, pivots = qr(rows[np.argsort(-np.abs(rows).max(axis=1))], mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(diagonal > 1e-13 * diagonal[0]))
    largest, outside, stray = 0.0, 0.0, 0.0
    for a in _chunks(A):
        unit = a[:, pivots] / scales[pivots]
        y = solve_triangular(R[:rank, :rank], unit[:, :rank].T, trans="T")
        largest = max(largest, float((y**2).sum(axis=0).max()))
        outside = max(outside, float(((a @ design.certificate.dual.T) ** 2).sum(axis=1).max()))
        residual = np.linalg.norm(unit[:, rank:] - y.T @ R[:rank, rank:], axis=1)
        stray = max(stray, float((residual / (np.linalg.norm(unit, axis=1) + 1e-300)).max()))
    reasons: list[str] = []
    if not stray <= 1e-6:
        reasons.append("some points lie outside the range of the design")
    if not abs(outside - 1.0) <= _ROUNDING:
        reasons.append(f"the dual ellipsoid does not touch the points: max ‖Wa‖² = {outside:.9g}")
    _compare(reasons, "its mass", design.mass, largest)
    return Finding(largest, float(rank), reasons)


def _check_c(design: Design, A: Floats) -> Finding:
    """Variance one at the stated cost, and a dual vector that stays within √cost everywhere."""
    costs = np.ones(len(A)) if design.costs is None else design.costs
    return _check_cost(design, A, costs)


def _check_cost(design: Design, A: Floats, costs: Floats) -> Finding:
    reasons: list[str] = []
    c, u = design.direction, design.certificate.dual
    if c is None:
        return Finding(np.nan, np.nan, ["the design names no direction"])
    scales = _scales(A)
    mu = design.mass * design.weights
    used = design.support
    variance = largest_variance(A[used] / scales, mu[used], c / scales, refine=True)
    if not variance <= 1.0 + _ROUNDING:
        reasons.append(f"the variance at its mass is {variance:.12g}, not 1")
    spent = float(mu @ costs)
    if design.excess and spent <= design.value * (1.0 + design.excess) * (1.0 + _ROUNDING):
        spent = design.value  # the infimum; attained only with infinitely many free pulls
    excess = 0.0
    for a, cost in zip(_chunks(A), _chunks(costs), strict=True):
        over = np.abs(a @ u) - np.sqrt(cost)
        rounding = 1e-12 * (np.abs(a) @ np.abs(u))
        paid = cost > 0
        if paid.any():
            excess = max(excess, float(((over - rounding)[paid] / np.sqrt(cost[paid])).max()))
        vanishing = 1e-9 * (np.abs(a[~paid]) / scales).max(axis=1) * np.abs(u * scales).max()
        if not (over[~paid] <= vanishing).all():
            reasons.append("the dual vector does not vanish on an option of cost zero")
    if not excess <= _ROUNDING:
        reasons.append(f"the dual vector exceeds √cost by {excess:.3g} relatively")
    bound = (max(float(c @ u), 0.0) / (1.0 + max(excess, 0.0))) ** 2
    return Finding(spent, bound, reasons)


def _check_minimax(design: Design, A: Floats) -> Finding:
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
    finding = _check_cost(design, A, costs)
    reasons = finding.reasons
    if not np.abs(values).max() <= 1.0 + _ROUNDING:
        reasons.append("a parameter of the mixture gives a value outside [-1, 1]")
    if abs(mixture.weights.sum() - 1.0) > 1e-9 or mixture.weights.min() < 0:
        reasons.append("the mixture is not a probability")
    mu = design.mass * design.weights
    worst, scales = 0.0, _scales(X)
    unit = X / scales
    for x in unit:
        v = design.mass * x - mu @ unit
        size = float(np.abs(v).max())
        if size <= 1e-9 * float((design.mass * np.abs(x) + mu @ np.abs(unit)).max()):
            continue  # all but nothing, and much of it rounding, which may leave the span
        # of size one: the solver gives up on objectives that are all but zero
        lp = linprog(
            -v / size, A_ub=np.vstack([unit, -unit]), b_ub=np.ones(2 * len(X)), bounds=(None, None)
        )
        if lp.fun is None:
            return Finding(np.nan, np.nan, [*reasons, "a linear program failed"])
        worst = max(worst, -float(lp.fun) * size)
    return Finding(worst, finding.bound, reasons)


def _check_joint(design: Design, A: Floats) -> Finding:
    """Variance one for every direction at the stated cost, and dual vectors within the costs."""
    U, H = design.direction, design.certificate.dual
    costs = np.ones(len(A)) if design.costs is None else design.costs
    if U is None or U.shape != H.shape:
        return Finding(np.nan, np.nan, ["there is not one dual vector per direction"])
    reasons: list[str] = []
    mu = design.mass * design.weights
    scales = _scales(A)
    rows = A[design.support] / scales
    variance = largest_variance(rows, mu[design.support], U / scales, refine=True)
    if not variance <= 1.0 + _ROUNDING:
        reasons.append(f"the largest variance at its mass is {variance:.12g}, not 1")
    load = max(
        float((np.square(a @ H.T).sum(axis=1) / cost).max())
        for a, cost in zip(_chunks(A), _chunks(costs), strict=True)
    )
    if not load <= 1.0 + _ROUNDING:
        reasons.append(f"the dual vectors charge an option {load:.9g} times its cost")
    bound = float(np.square((U * H).sum(axis=1)).sum()) / max(load, 1.0)
    return Finding(float(mu @ costs), bound, reasons)


def largest_variance(
    rows: Floats, mu: Floats, directions: Floats, *, refine: bool = False
) -> float:
    """Return the largest cᵀV(μ)⁺c of the directions c; infinite where one is out of range.

    By least squares on √μ · rows, columns of comparable size. A residual is judged by the size of
    what cancelled in it.
    """
    weighted, targets = (rows * np.sqrt(mu)[:, None]).T, np.atleast_2d(directions).T
    y, *_ = np.linalg.lstsq(weighted, targets, rcond=1e-15)
    if refine:
        y += np.linalg.lstsq(weighted, targets - weighted @ y, rcond=1e-15)[0]
    size = (np.abs(weighted) @ np.abs(y) + np.abs(targets)).max(axis=0)
    if not (np.abs(weighted @ y - targets) <= 1e-7 * size).all():
        return np.inf
    return float(np.square(y).sum(axis=0).max())


def _scales(A: Floats) -> Floats:
    scales = np.abs(A).max(axis=0)
    scales[scales == 0] = 1.0
    return np.asarray(scales)


def _chunks(array: Floats) -> Iterator[Floats]:
    for start in range(0, len(array), _CHUNK):
        yield array[start : start + _CHUNK]
