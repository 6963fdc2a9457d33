"""Independent answers to every design problem, slow and as exact as arithmetic allows.

Nothing here is shared with `evenhand`. A float is a rational number, so κ, leverages and variances
of float input are computed in integers, without rounding:

    a_x     a point, k of them, in R^m           π, μ    weights, masses on the points
    c       the direction to be estimated        s_x     √cost_x, a free point has s_x = 0
    w       estimator coefficients, Σ w_x a_x = c         u       dual vector, |a_x·u| ≤ s_x

    √κ_c(cost) = min{Σ s_x|w_x| : Σ w_x a_x = c} = max{c·u : |a_x·u| ≤ s_x}        (Elfving)

The only irrational numbers are the roots s_x; they carry more than 200 correct bits. What an
integer simplex returns, which needs no tolerance and cannot cycle, is then checked on the points as
given. A wrong simplex could only raise, never mislead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import cvxpy as cp
import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = list[int]

ROOT_BITS = 220
"""Correct bits in each √cost."""


class UnprovedError(AssertionError):
    """The reference could not prove its own answer."""


def integer_row(row: Sequence[float | Fraction] | Floats) -> tuple[Integers, int]:
    """Write a row of floats (or fractions) as integers over one denominator."""
    ratios = [
        (entry if isinstance(entry, Fraction) else float(entry)).as_integer_ratio() for entry in row
    ]
    denominator = math.lcm(*(bottom for _, bottom in ratios))
    return [top * (denominator // bottom) for top, bottom in ratios], denominator


def primitive(row: Integers) -> Integers:
    """Divide a row of integers by its greatest common divisor."""
    content = math.gcd(*row) if row else 1
    return [entry // content for entry in row] if content > 1 else row


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True) if x and y)


@dataclass
class Span:
    """The span of integer rows, in reduced echelon form; `chosen` are the rows that made it."""

    width: int
    basis: list[Integers]
    pivots: Integers
    chosen: Integers

    @staticmethod
    def of(rows: Sequence[Integers], width: int) -> Span:
        span = Span(width, [], [], [])
        for index, row in enumerate(rows):
            if len(span.basis) == width:
                break
            span.add(row, index)
        return span

    @property
    def rank(self) -> int:
        return len(self.basis)

    def reduce(self, row: Integers) -> tuple[Integers, int]:
        """Return `scale · row` minus its part in the span (zero in pivot columns), and scale."""
        scale = 1
        for basis_row, pivot in zip(self.basis, self.pivots, strict=True):
            entry = row[pivot]
            if entry:
                lead = basis_row[pivot]
                common = math.gcd(lead, entry)
                lead, entry = lead // common, entry // common
                row = [lead * a - entry * b for a, b in zip(row, basis_row, strict=True)]
                scale *= lead
        return row, scale

    def add(self, row: Integers, index: int) -> None:
        remainder = primitive(self.reduce(row)[0])
        pivot = next((j for j, entry in enumerate(remainder) if entry), None)
        if pivot is None:
            return
        for i, basis_row in enumerate(self.basis):
            if basis_row[pivot]:
                lead, entry = remainder[pivot], basis_row[pivot]
                self.basis[i] = primitive(
                    [lead * a - entry * b for a, b in zip(basis_row, remainder, strict=True)]
                )
        self.basis.append(remainder)
        self.pivots.append(pivot)
        self.chosen.append(index)

    def contains(self, row: Integers) -> bool:
        return not any(self.reduce(row)[0])


def integer_inverse(matrix: list[Integers]) -> tuple[list[Integers], int]:
    """Return (B, δ) in integers with matrix⁻¹ = B/δ, by fraction-free Gauss–Jordan (Bareiss)."""
    n = len(matrix)
    work = [list(row) + [int(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    previous = 1
    for column in range(n):
        pivot_row = next((i for i in range(column, n) if work[i][column]), None)
        if pivot_row is None:
            msg = "the basis is singular"
            raise UnprovedError(msg)
        if pivot_row != column:
            work[column], work[pivot_row] = work[pivot_row], [-entry for entry in work[column]]
        pivot = work[column][column]
        for i in range(n):
            if i != column:
                factor = work[i][column]
                work[i] = [
                    (pivot * a - factor * b) // previous
                    for a, b in zip(work[i], work[column], strict=True)
                ]
        previous = pivot
    return [row[n:] for row in work], previous


def exact_rank(points: ArrayLike) -> int:
    """The rank of the points as given, without tolerance."""
    rows = [integer_row(row)[0] for row in np.asarray(points, dtype=np.float64)]
    return Span.of(rows, np.asarray(points).shape[1]).rank


def in_range(points: ArrayLike, direction: ArrayLike) -> bool:
    """Whether the direction is a combination of the points, without tolerance."""
    rows = [integer_row(row)[0] for row in np.asarray(points, dtype=np.float64)]
    target = integer_row(np.asarray(direction, dtype=np.float64))[0]
    return Span.of(rows, len(target)).contains(target)


@dataclass(frozen=True)
class Elfving:
    """κ in a proven bracket, with an optimal w (`coefficients`) and the u (`dual`) behind it."""

    kappa: float
    lower: Fraction
    upper: Fraction
    coefficients: tuple[Fraction, ...]
    dual: tuple[Fraction, ...]


def _integer_root(value: Fraction, bits: int) -> int:
    """⌊√value · 2^bits⌋."""
    return math.isqrt((value.numerator << (2 * bits)) // value.denominator)


def _solve(rows: list[Integers], target: Sequence[Fraction]) -> list[Fraction]:
    """Return y with Σ y_i rows_i = target, for independent rows whose span holds the target."""
    if not rows:
        if any(target):
            msg = "a nonzero target is not a combination of no rows"
            raise UnprovedError(msg)
        return []
    span = Span.of(rows, len(rows[0]))
    square = [[row[p] for p in span.pivots] for row in rows]
    inverse, determinant = integer_inverse(square)
    picked = [target[p] for p in span.pivots]
    return [
        sum((picked[j] * inverse[j][i] for j in range(len(picked))), Fraction(0)) / determinant
        for i in range(len(rows))
    ]


def _simplex(
    rows: list[Integers], roots: Integers, target: Integers, start: Sequence[int]
) -> tuple[Integers, list[Fraction], tuple[Integers, int]]:
    """Minimise Σ roots_x|w_x| subject to Σ w_x rows_x = target, in integers.

    `start` are rows that form a basis. Signed columns ±rows make every basis feasible. The most
    violated column enters while the objective falls; after a degenerate step Bland's rule takes
    over until it falls again, so it cannot cycle. Returns the basis, its w, and u = (integers, δ).
    """
    n = len(target)
    basis = list(start)
    signs = [1] * n
    bland = False
    while True:
        inverse, determinant = integer_inverse([rows[b] for b in basis])
        size = abs(determinant)
        flip = 1 if determinant > 0 else -1
        # `signed[i]` is size · w of basis row i.
        signed = [flip * dot([inverse[j][i] for j in range(n)], target) for i in range(n)]
        signs = [(v > 0) - (v < 0) or s for v, s in zip(signed, signs, strict=True)]
        priced = [s * roots[b] for s, b in zip(signs, basis, strict=True)]
        dual = [flip * dot(row, priced) for row in inverse]
        entering, worst, reach = -1, Fraction(1), 0
        for x, row in enumerate(rows):
            value = dot(row, dual)
            if abs(value) > roots[x] * size:
                if bland:
                    entering, reach = x, value
                    break
                ratio = Fraction(abs(value), roots[x] * size)
                if ratio > worst:
                    entering, worst, reach = x, ratio, value
        if entering < 0:
            return basis, [Fraction(v, size) for v in signed], (dual, size)
        sign = 1 if reach > 0 else -1
        step = [
            sign * s * flip * dot([inverse[j][i] for j in range(n)], rows[entering])
            for i, s in enumerate(signs)
        ]
        leaving = min(
            (i for i in range(n) if step[i] > 0),
            key=lambda i: (Fraction(abs(signed[i]), step[i]), basis[i]),
        )
        bland = signed[leaving] == 0
        basis[leaving], signs[leaving] = entering, sign


def elfving_value(
    points: ArrayLike,
    direction: Sequence[float | Fraction] | Floats,
    costs: ArrayLike | None = None,
) -> Elfving:
    """κ_c(costs) and its proof; infinite when the direction is not in the range of the points.

    Free points (cost 0) demand a_x·u = 0, so the problem is solved in the quotient by their span.
    """
    A = np.asarray(points, dtype=np.float64)
    c = [Fraction(entry) for entry in direction]
    k, m = A.shape
    cost = np.ones(k) if costs is None else np.asarray(costs, dtype=np.float64)
    exact_cost = [Fraction(float(value)) for value in cost]
    exact_rows = [integer_row(row) for row in A]
    target, target_scale = integer_row(c)
    everything = Span.of([row for row, _ in exact_rows], m)
    if not everything.contains(target):
        infinity = math.inf
        return Elfving(infinity, Fraction(0), Fraction(0), (), ())

    free = [x for x in range(k) if exact_cost[x] == 0]
    free_span = Span.of([exact_rows[x][0] for x in free], m)
    paid, paid_rows, paid_scale = [], [], []
    for x in range(k):
        if exact_cost[x] > 0:
            row, denominator = exact_rows[x]
            reduced, scale = free_span.reduce(row)
            if any(reduced):
                paid.append(x)
                content = math.gcd(*reduced)
                paid_rows.append([entry // content for entry in reduced])
                paid_scale.append(Fraction(denominator * abs(scale), content))
    reduced_target, scale = free_span.reduce(target)
    reduced_target_scale = target_scale * scale  # signed: the sign of c matters to c·u and w

    coefficients = [Fraction(0)] * k
    dual = [Fraction(0)] * m
    if any(reduced_target):
        values = [exact_cost[x] * t * t for x, t in zip(paid, paid_scale, strict=True)]
        smallest = min(values)
        shift = max(0, (smallest.denominator.bit_length() - smallest.numerator.bit_length()) // 2)
        bits = ROOT_BITS + shift
        roots = [_integer_root(value, bits) for value in values]
        quotient = Span.of(paid_rows, m)
        columns = quotient.pivots
        basis, w, (u, size) = _simplex(
            [[row[p] for p in columns] for row in paid_rows],
            roots,
            [reduced_target[p] for p in columns],
            quotient.chosen,
        )
        for b, value in zip(basis, w, strict=True):
            row, denominator = exact_rows[paid[b]]
            # paid_rows[b] is a_x, up to its part in the free span, times this signed number.
            signed_scale = _signed_scale(free_span, row, paid_rows[b]) * denominator
            coefficients[paid[b]] = value * signed_scale / reduced_target_scale
        unit = size << bits
        for p, top in zip(columns, u, strict=True):
            dual[p] = Fraction(top, unit)
        if reduced_target_scale < 0:
            dual = [-value for value in dual]
        for f, p in zip(free_span.basis, free_span.pivots, strict=True):
            lifted = sum((Fraction(f[j]) * dual[j] for j in range(m) if j != p), Fraction(0))
            dual[p] = -lifted / f[p]
    # What the paid points leave over is a combination of the free ones.
    rest = [
        c[j]
        - sum(
            (coefficients[x] * Fraction(float(A[x, j])) for x in paid if coefficients[x]),
            Fraction(0),
        )
        for j in range(m)
    ]
    chosen = [free[i] for i in free_span.chosen]
    for x, value in zip(chosen, _solve([exact_rows[x][0] for x in chosen], rest), strict=True):
        coefficients[x] = value * exact_rows[x][1]
    return proved(A, c, exact_cost, coefficients, dual)


def _signed_scale(free_span: Span, row: Integers, reduced: Integers) -> Fraction:
    """The number t with reduced = t · (row minus its part in the free span)."""
    full, scale = free_span.reduce(row)
    j = next(i for i, entry in enumerate(reduced) if entry)
    return Fraction(reduced[j], full[j]) * scale


def proved(
    A: Floats,
    c: list[Fraction],
    cost: list[Fraction],
    coefficients: list[Fraction],
    dual: list[Fraction],
) -> Elfving:
    """Check w and u on the points as given and turn them into a bracket, or raise."""
    k, m = A.shape
    exact = [[Fraction(float(A[x, j])) for j in range(m)] for x in range(k)]
    for j in range(m):
        total = sum((w * exact[x][j] for x, w in enumerate(coefficients) if w), Fraction(0))
        if total != c[j]:
            msg = f"Σ w a misses the direction in column {j}"
            raise UnprovedError(msg)
    # u as integers over one denominator: the check is k integer dot products.
    bottom = math.lcm(*(value.denominator for value in dual)) if dual else 1
    tops = [value.numerator * (bottom // value.denominator) for value in dual]
    excess = Fraction(1)
    for x in range(k):
        row, denominator = integer_row(A[x])
        reach = dot(row, tops)
        if cost[x] == 0:
            if reach:
                msg = f"free point {x} is felt by the dual vector"
                raise UnprovedError(msg)
        elif reach:
            limit = cost[x] * (denominator * bottom) ** 2
            if reach * reach > limit:
                excess = max(excess, reach * reach / limit)
    gain = sum((c[j] * dual[j] for j in range(m)), Fraction(0))
    lower = gain * gain / excess
    bits = ROOT_BITS + 200
    above = sum(
        (
            abs(w) * Fraction(_integer_root(cost[x], bits) + 1, 1 << bits)
            for x, w in enumerate(coefficients)
            if w and cost[x] > 0
        ),
        Fraction(0),
    )
    upper = above * above
    if upper < lower or (upper - lower) * 10**30 > upper:
        msg = f"the bracket [{float(lower)!r}, {float(upper)!r}] is not tight"
        raise UnprovedError(msg)
    return Elfving(float(upper), lower, upper, tuple(coefficients), tuple(dual))


def bias_points(features: ArrayLike, groups: ArrayLike) -> tuple[Floats, Floats]:
    """Rows a_x = (x; z_x) and the direction e of the bias."""
    X = np.asarray(features, dtype=np.float64)
    A = np.column_stack([X, np.asarray(groups, dtype=np.float64)])
    e = np.zeros(A.shape[1])
    e[-1] = 1.0
    return A, e


def kappa_star(features: ArrayLike, groups: ArrayLike) -> float:
    """κ_* by Elfving's program."""
    return elfving_value(*bias_points(features, groups)).kappa


def kappa_gaps(features: ArrayLike, groups: ArrayLike, gaps: ArrayLike) -> float:
    """κ(Δ) by Elfving's program with costs Δ."""
    return elfving_value(*bias_points(features, groups), gaps).kappa


@dataclass(frozen=True)
class Variance:
    """cᵀV(μ)⁺c of a design as given, without rounding.

    A float design may span the direction only up to rounding: the direction is then replaced by
    its projection on what the design spans, and `backward_error` is the largest relative change.
    `coefficients` are those of least squares, w_x = μ_x a_xᵀV⁺c.
    """

    value: float
    backward_error: float
    coefficients: Floats


def design_variance(points: ArrayLike, masses: ArrayLike, direction: ArrayLike) -> Variance:
    """The exact variance of c·θ̂ under masses on the points (weights, μ or counts)."""
    A = np.asarray(points, dtype=np.float64)
    mass = np.asarray(masses, dtype=np.float64)
    c = np.asarray(direction, dtype=np.float64)
    k, m = A.shape
    support = [int(x) for x in np.flatnonzero(mass > 0)]
    rows = [integer_row(A[x]) for x in support]
    target, target_bottom = integer_row(c)
    span = Span.of([row for row, _ in rows], m)
    if span.rank == 0:
        return Variance(math.inf, math.inf, np.zeros(k))
    exact_target = [Fraction(entry, target_bottom) for entry in target]
    if not span.contains(target):
        exact_target = _projection(A[support], span, exact_target)
    columns = span.pivots
    weights = [Fraction(float(mass[x])) for x in support]
    V = _information(rows, weights, columns)
    inverse, determinant, unit = V
    picked = [exact_target[p] for p in columns]
    image = [
        sum((Fraction(row[j]) * picked[j] for j in range(len(columns))), Fraction(0))
        * unit
        / determinant
        for row in inverse
    ]
    value = sum((a * b for a, b in zip(picked, image, strict=True)), Fraction(0))
    coefficients = np.zeros(k)
    reach = np.abs(c)
    for x, (row, bottom), weight in zip(support, rows, weights, strict=True):
        w = weight * sum(
            (Fraction(row[p], bottom) * v for p, v in zip(columns, image, strict=True)), Fraction(0)
        )
        coefficients[x] = float(w)
        reach = reach + abs(float(w)) * np.abs(A[x])
    error = max(
        float(abs(Fraction(float(c[j])) - exact_target[j])) / reach[j] if reach[j] else 0.0
        for j in range(m)
    )
    return Variance(float(value), error, coefficients)


def _projection(rows: Floats, span: Span, target: list[Fraction]) -> list[Fraction]:
    """The nearest point of the span, in columns scaled to size one by powers of two."""
    sizes = np.max(np.abs(rows), axis=0, initial=0.0)
    scale = [
        Fraction(1) if size == 0 else 1 / Fraction(2) ** math.frexp(float(size))[1]
        for size in sizes
    ]
    scaled = [[entry * s for entry, s in zip(row, scale, strict=True)] for row in span.basis]
    goal = [entry * s for entry, s in zip(target, scale, strict=True)]
    n = span.rank
    bottom = math.lcm(*(entry.denominator for row in scaled for entry in row))
    whole = [[int(entry * bottom) for entry in row] for row in scaled]
    inverse, determinant = integer_inverse([[dot(a, b) for b in whole] for a in whole])
    inner = [
        sum((Fraction(a) * b for a, b in zip(row, goal, strict=True)), Fraction(0)) for row in whole
    ]
    y = [
        sum((inverse[i][j] * inner[j] for j in range(n)), Fraction(0)) / determinant
        for i in range(n)
    ]
    return [
        sum((y[i] * whole[i][j] for i in range(n)), Fraction(0)) / scale[j]
        for j in range(len(target))
    ]


def _information(
    rows: list[tuple[Integers, int]], weights: list[Fraction], columns: Integers
) -> tuple[list[Integers], int, Fraction]:
    """V = Σ μ a aᵀ on the chosen columns, as V⁻¹ = unit · B/δ with integers B, δ."""
    scales = [weight / (bottom * bottom) for weight, (_, bottom) in zip(weights, rows, strict=True)]
    common = math.lcm(*(scale.denominator for scale in scales))
    n = len(columns)
    V = [[0] * n for _ in range(n)]
    for scale, (row, _) in zip(scales, rows, strict=True):
        weight = scale.numerator * (common // scale.denominator)
        picked = [row[p] for p in columns]
        for i in range(n):
            if picked[i]:
                left = weight * picked[i]
                for j in range(i, n):
                    V[i][j] += left * picked[j]
    for i in range(n):
        for j in range(i):
            V[i][j] = V[j][i]
    inverse, determinant = integer_inverse(V)
    return inverse, determinant, Fraction(common)


@dataclass(frozen=True)
class GCheck:
    """Kiefer–Wolfowitz on a design as given: rank r, every leverage, and max leverage/r − 1."""

    rank: int
    leverages: Floats
    gap: float


def g_optimal_check(points: ArrayLike, weights: ArrayLike) -> GCheck:
    """All leverages a_xᵀV(π)⁺a_x without rounding; infinite if the design spans too little."""
    A = np.asarray(points, dtype=np.float64)
    pi = np.asarray(weights, dtype=np.float64)
    k, m = A.shape
    rows = [integer_row(row) for row in A]
    rank = Span.of([row for row, _ in rows], m).rank
    support = [int(x) for x in np.flatnonzero(pi > 0)]
    span = Span.of([rows[x][0] for x in support], m)
    if span.rank < rank:
        return GCheck(rank, np.full(k, math.inf), math.inf)
    columns = span.pivots
    inverse, determinant, unit = _information(
        [rows[x] for x in support], [Fraction(float(pi[x])) for x in support], columns
    )
    exact = []
    for row, bottom in rows:
        picked = [row[p] for p in columns]
        form = sum(dot(inverse[i], picked) * picked[i] for i in range(len(columns)) if picked[i])
        exact.append(Fraction(form, determinant) * unit / (bottom * bottom))
    gap = float(max(exact) / rank - 1)
    return GCheck(rank, np.array([float(value) for value in exact]), gap)


def alpha_value(features: ArrayLike, groups: ArrayLike) -> float:
    """The worst-case alignment α: one exact program per ordered pair of actions, none left out."""
    A, _ = bias_points(features, groups)
    best = 0.0
    for x, y in permutations(range(len(A)), 2):
        direction = A[x] - A[y]
        direction[-1] = 0.0
        best = max(best, elfving_value(A, direction).kappa)
    return best


@dataclass(frozen=True)
class Minimax:
    """κ̃ between a design's exact worst case and the exact price of a mixture of parameters."""

    kappa: float
    lower: float
    upper: float
    masses: Floats


def worst_case_regret(features: ArrayLike, masses: ArrayLike) -> float:
    """max over x' and γ with |x·γ| ≤ 1 of Σ μ(x)(x' − x)·γ: one exact program per x'."""
    X = np.asarray(features, dtype=np.float64)
    exact = [[Fraction(float(entry)) for entry in row] for row in X]
    mu = [Fraction(float(mass)) for mass in np.asarray(masses)]
    total = sum(mu, Fraction(0))
    columns = range(X.shape[1])
    drift = [
        sum((mass * row[j] for mass, row in zip(mu, exact, strict=True)), Fraction(0))
        for j in columns
    ]
    return max(
        math.sqrt(elfving_value(X, [total * row[j] - drift[j] for j in columns]).kappa)
        for row in exact
    )


def minimax_value(features: ArrayLike, groups: ArrayLike) -> Minimax:
    """κ̃ as one conic program (Clarabel), then bracketed by exact programs at its solution.

    For each x' the inner maximum is dualised: max{v·γ : |x·γ| ≤ 1} = min{Σ|λ_x| : Σ λ_x x = v}
    with v = Σ μ(x)(x' − x). The variance is the cone w_x² ≤ q_x μ_x, Σ q ≤ 1, Σ w a = e.
    Upper bound: the solution's design, scaled to variance one, against its own worst parameter.
    Lower bound: multipliers of Σλx = v are parameters γ_{x'} times probabilities, so the mixed gaps
    c_x = Σ_{x'} (max_y y·g_{x'} − x·g_{x'}) give κ̃ ≥ κ(c).
    """
    X = np.asarray(features, dtype=np.float64)
    A, e = bias_points(X, groups)
    k = len(X)
    base = elfving_value(A, e).kappa
    if math.isinf(base):
        return Minimax(math.inf, math.inf, math.inf, np.zeros(k))
    scale = np.max(np.abs(X), axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    unit = X / scale
    # Masses in units of κ_* and w in units of √κ_* keep every variable of order one.
    mu = cp.Variable(k, nonneg=True)
    w = cp.Variable(k)
    q = cp.Variable(k, nonneg=True)
    tau = cp.Variable()
    lam = cp.Variable((k, k))
    target = e / math.sqrt(base)
    constraints = [cp.sum(q) <= 1, np.column_stack([unit, A[:, -1]]).T @ w == target]
    constraints += [cp.SOC(q[x] + mu[x], cp.hstack([2 * w[x], q[x] - mu[x]])) for x in range(k)]
    balances = []
    for x in range(k):
        balances.append(unit.T @ lam[x] == cp.sum(mu) * unit[x] - unit.T @ mu)
        constraints.append(cp.norm1(lam[x]) <= tau)
    problem = cp.Problem(cp.Minimize(tau), constraints + balances)
    with warnings.catch_warnings():
        # Clarabel may stop short of these tolerances; the bracket below says how good it is.
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
        )
    raw = np.maximum(np.asarray(mu.value, dtype=np.float64), 0.0) * base
    masses = np.where(raw < 1e-9 * raw.sum(), 0.0, raw)
    variance = design_variance(A, masses, e)
    if variance.backward_error > 0:
        masses, variance = raw, design_variance(A, raw, e)
    upper = worst_case_regret(X, masses) * variance.value
    lower = 0.0
    for sign in (1.0, -1.0):
        multipliers = [sign * np.asarray(balance.dual_value) / scale for balance in balances]
        price = sum(float(np.max(np.abs(X @ g))) for g in multipliers)
        if price > 0:
            gaps = sum((np.max(X @ g) - X @ g for g in multipliers), np.zeros(k)) / price
            gaps[gaps < 0] = 0.0
            lower = max(lower, elfving_value(A, e, gaps).kappa)
    if not lower <= upper * (1 + 1e-12) or upper - lower > 1e-5 * upper:
        msg = f"the bracket [{lower!r}, {upper!r}] of κ̃ is not tight"
        raise UnprovedError(msg)
    return Minimax((lower + upper) / 2, lower, upper, masses * variance.value)


def chebyshev_value(degree: int, x: float) -> float:
    """T_n(x) in fifty digits, rounded once."""
    with mpmath.workdps(50):
        return float(mpmath.chebyt(degree, mpmath.mpf(x)))
