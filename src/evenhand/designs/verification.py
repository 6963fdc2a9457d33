"""Check a design from its points alone, the slow and plain way.

Nothing here is shared with the solvers, but how points are read: dense singular values, dense
products, and for minimax designs the linear programs of SciPy. A design that passes is right even
if the solvers are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, qr, solve_triangular

from evenhand.arrays import Floats, unmasked
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.designs.design import Design


_CHUNK = 65536
_ROUNDING = 1e-6  # what a number recomputed in another way may be off by, relatively
_EXPLAINED = 1e-14  # share of what cancelled that is rounding: of the entries, and of some hundred


@dataclass(frozen=True)
class Verification:
    """What an independent recomputation of a design found: its value, the bound that its dual
    proves, and complaints; true if there are none, and the design is as it says.

    Examples
    --------
    >>> import evenhand as eh
    >>> design = eh.c_optimal_design([[1.0, 1.0], [2.0, -1.0]], [0.0, 1.0])
    >>> design.verify([[1.0, 1.0], [2.0, -1.1]]).ok      # not the points it was made for
    False
    """

    value: float
    bound: float
    reasons: list[str]

    @property
    def ok(self) -> bool:
        """Whether the design is as it says."""
        return not self.reasons

    def __bool__(self) -> bool:
        return self.ok


def recompute(design: Design, points: ArrayLike, tol: float | None) -> Verification:
    """Recompute value and bound of a design, and say everything that is wrong with it; ``tol`` is
    the largest gap between them, None for the gap that the certificate states.
    """
    # Every comparison is written so that a NaN fails it.
    if tol is not None and not 0.0 <= tol < np.inf:
        raise InputError(f"tol must be a finite number ≥ 0; got {tol!r}.")
    certificate = design.certificate
    A = _Points(points, (len(design.weights), certificate.dual.shape[-1]), design.support)
    numbers = (design.value, design.mass, certificate.value, certificate.bound)
    arrays = (design.weights, certificate.dual, np.array(numbers))
    if not (A.finite and all(np.isfinite(array).all() for array in arrays)):
        return Verification(
            np.nan, np.nan, ["some number of the design or the points is not finite"]
        )
    reasons = []
    if not design.weights.min() >= 0:
        reasons.append(f"weight {int(np.argmin(design.weights))} is negative")
    if not abs(design.weights.sum() - 1.0) <= 1e-9:
        reasons.append(f"the weights sum to {design.weights.sum():.12g}, not to 1")
    if reasons:
        return Verification(np.nan, np.nan, reasons)
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


class _Points:
    """The matrix that a design is for, looked through once."""

    def __init__(
        self, points: ArrayLike, shape: tuple[int, int], support: NDArray[np.intp]
    ) -> None:
        self.whole: Floats = np.asarray(unmasked(points, "points"), dtype=np.float64)
        if self.whole.shape != shape:
            raise InputError(
                f"points must be the {shape} matrix that the design is for; got shape "
                f"{self.whole.shape}."
            )
        self.rows = np.empty((len(support), shape[1]))
        self.finite = True
        sizes = np.zeros(shape[1])
        for start, a in self.chunks():
            first, last = np.searchsorted(support, [start, start + len(a)])
            self.rows[first:last] = a[support[first:last] - start]
            sizes = np.fmax(sizes, np.abs(a).max(axis=0))
            self.finite = self.finite and bool(np.isfinite(a).all())
        self.scales = _units(sizes)

    def chunks(self) -> Iterator[tuple[int, Floats]]:
        """Return the rows, some at a time, and the number of the first of them."""
        for start in range(0, len(self.whole), _CHUNK):
            yield start, self.whole[start : start + _CHUNK]


def _compare(reasons: list[str], what: str, found: float, stated: float) -> None:
    if not abs(found - stated) <= _ROUNDING * abs(stated):
        reasons.append(f"{what} is {found:.12g}, not {stated:.12g}")


def _check_g(design: Design, A: _Points) -> Verification:
    """Largest leverage against the rank; the ellipsoid ‖Wa‖ ≤ 1 must hold all points, tightly."""
    # Leverages do not change with coordinates. A first factor R gives coordinates T in which the
    # points are nearly orthonormal, so that a second factor loses nothing. Going over to T takes
    # long double where columns are nearly dependent.
    scales = A.scales
    root = np.sqrt(design.weights[design.support])[:, None]
    rows = A.rows / scales * root
    _, R, pivots = qr(rows[np.argsort(-np.abs(rows).max(axis=1))], mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(diagonal > _EXPLAINED * diagonal[0]))
    kept, others = pivots[:rank], pivots[rank:]
    product = np.matmul if diagonal[rank - 1] > _ROUNDING * diagonal[0] else _wide_product
    T = solve_triangular(R[:rank, :rank], np.eye(rank)) / scales[kept, None]
    Q, second = qr(product(A.rows[:, kept], T) * root, mode="economic")
    relations = Q.T @ rows[:, others]
    largest, outside, stray = 0.0, 0.0, 0.0
    for _, a in A.chunks():
        y = solve_triangular(second, product(a[:, kept], T).T, trans="T")
        largest = max(largest, float((y**2).sum(axis=0).max()))
        outside = max(outside, float(((a @ design.certificate.dual.T) ** 2).sum(axis=1).max()))
        unit = a / scales
        residual = np.linalg.norm(unit[:, others] - y.T @ relations, axis=1)
        stray = max(stray, float((residual / (np.linalg.norm(unit, axis=1) + 1e-300)).max()))
    reasons: list[str] = []
    if not stray <= 1e-6:
        reasons.append("some points lie outside the range of the design")
    if not abs(outside - 1.0) <= _ROUNDING:
        reasons.append(f"the dual ellipsoid does not touch the points: max ‖Wa‖² = {outside:.9g}")
    _compare(reasons, "its mass", design.mass, largest)
    return Verification(largest, float(rank), reasons)


def _check_c(design: Design, A: _Points) -> Verification:
    """Variance one at the stated cost, and a dual vector that stays within √cost everywhere."""
    return _check_cost(design, A, _costs(design))


def _costs(design: Design) -> Floats:
    if design.costs is None:
        return np.broadcast_to(1.0, len(design.weights))
    return design.costs


def _check_cost(design: Design, A: _Points, costs: Floats) -> Verification:
    reasons: list[str] = []
    c, u = design.direction, design.certificate.dual
    if c is None:
        return Verification(np.nan, np.nan, ["the design names no direction"])
    scales = A.scales
    mu = design.mass * design.weights[design.support]
    variance = largest_variance(A.rows / scales, mu, c / scales)
    if not variance <= 1.0 + _ROUNDING:
        reasons.append(f"the variance at its mass is {variance:.12g}, not 1")
    spent = float(mu @ costs[design.support])
    if design.excess and spent <= design.value * (1.0 + design.excess) * (1.0 + _ROUNDING):
        spent = design.value  # the infimum; attained only with infinitely many free pulls
    excess = 0.0
    for start, a in A.chunks():
        cost = costs[start : start + len(a)]
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
    return Verification(spent, bound, reasons)


def _check_minimax(design: Design, A: _Points) -> Verification:
    """Worst regret of the design by linear programs; bound from the mixture of parameters."""
    from scipy.optimize import linprog  # noqa: PLC0415 (only here, and slow to import)

    mixture = design.certificate.mixture
    if mixture is None:
        return Verification(np.nan, np.nan, ["the certificate has no mixture of parameters"])
    d = mixture.parameters.shape[1]
    X = A.whole[:, :d]
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
    worst = 0.0
    unit = X / A.scales[:d]
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
            return Verification(np.nan, np.nan, [*reasons, "a linear program failed"])
        worst = max(worst, -float(lp.fun) * size)
    return Verification(worst, finding.bound, reasons)


def _check_joint(design: Design, A: _Points) -> Verification:
    """Variance one for every direction at the stated cost, and dual vectors within the costs."""
    U, H = design.direction, design.certificate.dual
    costs = _costs(design)
    if U is None or U.shape != H.shape:
        return Verification(np.nan, np.nan, ["there is not one dual vector per direction"])
    reasons: list[str] = []
    mu = design.mass * design.weights[design.support]
    variance = largest_variance(A.rows / A.scales, mu, U / A.scales)
    if not variance <= 1.0 + _ROUNDING:
        reasons.append(f"the largest variance at its mass is {variance:.12g}, not 1")
    load = max(
        float((np.square(a @ H.T).sum(axis=1) / costs[start : start + len(a)]).max())
        for start, a in A.chunks()
    )
    if not load <= 1.0 + _ROUNDING:
        reasons.append(f"the dual vectors charge an option {load:.9g} times its cost")
    bound = float(np.square((U * H).sum(axis=1)).sum()) / max(load, 1.0)
    return Verification(float(mu @ costs[design.support]), bound, reasons)


def largest_variance(rows: Floats, mu: Floats, directions: Floats, enough: float = 0.0) -> float:
    """Return the largest cᵀV(μ)⁺c of the directions c, or a proof that it is at most ``enough``;
    infinite where one is out of range.
    """
    # It is the least ‖y‖² with Σ_x √μ_x y_x a_x = c. So any y that gives c, up to what the rounding
    # of the points explains, proves that it is no more: the quickest y will do if it proves that it
    # is ``enough``. The points, (n, m), have columns of comparable size, and pulls > 0.
    root, targets = np.sqrt(mu), np.atleast_2d(directions).T
    weighted = (rows * root[:, None]).T
    room = np.zeros((max(len(mu) - len(targets), 0), targets.shape[1]))  # for a y that is longer
    _, y, _ = lapack.dgels(weighted, np.concatenate([targets, room]))
    y = y[: len(mu)]
    variance = float((y * y).sum(axis=0).max())
    if variance <= enough and _gives(weighted, y, targets):
        return variance
    return _least_squares((rows.astype(np.longdouble) * root[:, None]).T, targets)


def _least_squares(weighted: NDArray[np.longdouble], targets: Floats) -> float:
    """Return the largest ‖y‖² of the shortest y with ``weighted`` y = target."""
    # Singular vectors join, the largest first, until rounding explains the rest: those of dependent
    # columns never do. Residuals are computed in long double, which the points deserve where they
    # are nearly dependent.
    U, sizes, Vt = np.linalg.svd(weighted.astype(np.float64), full_matrices=False)
    for r in range(1, int(np.count_nonzero(sizes)) + 1):
        y = np.zeros((weighted.shape[1], targets.shape[1]))
        for _ in range(4):  # each step leaves a share of cond · 1e-16 of the error
            residual = (targets - weighted @ y).astype(np.float64)
            y = y + Vt[:r].T @ (U[:, :r].T @ residual / sizes[:r, None])
        if _gives(weighted, y, targets):
            return float(np.square(y).sum(axis=0).max())
    return np.inf


def _gives(weighted: Floats | NDArray[np.longdouble], y: Floats, targets: Floats) -> bool:
    """Tell whether weighted · y is the targets, judged by the size of what cancels in it."""
    # What cancels may not be so large that its rounding hides the targets: that y proves nothing.
    asked = np.abs(targets)
    size = (np.abs(weighted) @ np.abs(y) + asked).max(axis=0)
    limit = np.minimum(_EXPLAINED * size, _ROUNDING * asked.max(axis=0))
    return bool((np.abs(weighted @ y - targets) <= limit).all())


def _wide_product(a: Floats, b: Floats) -> Floats:
    """Return a @ b, summed in long double."""
    return np.asarray(a.astype(np.longdouble) @ b.astype(np.longdouble), dtype=np.float64)


def _units(sizes: Floats) -> Floats:
    """Return magnitudes of columns as powers of two, which round nothing."""
    sizes = np.where((sizes == 0) | ~np.isfinite(sizes), 1.0, sizes)
    return np.asarray(np.ldexp(1.0, np.frexp(sizes)[1]))
