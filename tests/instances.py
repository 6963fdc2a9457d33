"""Named hard instances, with the answer where a closed form gives it.

`DIRECTIONS` are c-optimal problems (points, direction, costs), `BIASES` are action sets whose bias
is to be estimated (with gaps or without), `SPREADS` are G-optimal problems, and `HOPELESS` and
`HOPELESS_DIRECTIONS` are those that no amount of evaluations solves. Coordinates are chosen so that
a closed form holds for the floats themselves where it can: small integers and powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from evenhand import families
from reference import Floats, chebyshev_value


def frozen(values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


class Given:
    """A problem whose arrays cannot be changed, whatever they were given as."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "groups":
                object.__setattr__(self, name, tuple(int(z) for z in value))
            elif isinstance(value, np.ndarray | list):
                object.__setattr__(self, name, frozen(value))


@dataclass(frozen=True)
class Direction(Given):
    """Estimate `direction · θ` from evaluations at `points`; `value` is the closed form of κ."""

    name: str
    points: Floats
    direction: Floats
    costs: Floats | None = None
    value: float | None = None
    tolerance: float = 1e-7


@dataclass(frozen=True)
class Bias(Given):
    """Estimate the bias between two groups; `value` is the closed form of κ_* or κ(gaps)."""

    name: str
    features: Floats
    groups: tuple[int, ...]
    gaps: Floats | None = None
    value: float | None = None
    tolerance: float = 1e-7

    @property
    def points(self) -> Floats:
        return frozen(np.column_stack([self.features, np.array(self.groups, dtype=np.float64)]))

    @property
    def direction(self) -> Floats:
        return frozen(np.append(np.zeros(self.features.shape[1]), 1.0))


@dataclass(frozen=True)
class Spread(Given):
    """Estimate all points evenly; the value is the `rank`."""

    name: str
    points: Floats
    rank: int
    exact_rank: bool = True
    """False when the rank holds up to rounding only, so that exact arithmetic sees a larger one."""


def worst_case(d: int, kappa: float) -> Bias:
    """Lemma 15: e_1 (+), e_2..e_d (−) and −(1−α)e_1 (−) with α = 2/(√κ+1): κ_* = κ."""
    x = np.vstack([np.eye(d), np.zeros(d)])
    x[d, 0] = -(1.0 - 2.0 / (math.sqrt(kappa) + 1.0))
    z = [1] + [-1] * d
    return Bias(f"worst case d={d} κ={kappa:g}", x, z, value=kappa)


def gap_problem(d: int, kappa: float, number: int) -> Bias:
    """κ(Δ) of a problem of Theorem 4's family; `paper/test_families.py` has its closed form."""
    problem = families.gap_dependent(d, kappa, 1 / 16, 1 / 8)[number - 1]
    name = f"gap family d={d} κ={kappa:g} problem {number}"
    features, groups = problem.actions.features, problem.actions.groups
    return Bias(name, features, groups, gaps=problem.gaps)


def slab(d: int, margin: float, radius: float, spread: float = 1.0) -> tuple[Floats, list[int]]:
    """Both groups between two hyperplanes at `margin` and `radius` from zero, mirrored sideways.

    The z_x·x are (margin or radius, ±spread·e_j): symmetric in every coordinate but the first,
    so the best u lies along the first: √κ = (radius+margin)/(radius−margin). Full of ties.
    """
    rows, groups = [], []
    sides = (
        [np.zeros(d)]
        if d == 1
        else [s * spread * np.eye(d)[j] for j in range(1, d) for s in (1, -1)]
    )
    for side, distance, z in product(sides, (margin, radius), (1, -1)):
        row = side.copy()
        row[0] = z * distance
        rows.append(row)
        groups.append(z)
    return np.array(rows), groups


def slab_instance(name: str, d: int, margin: float, radius: float, spread: float = 1.0) -> Bias:
    x, z = slab(d, margin, radius, spread)
    value = ((radius + margin) / (radius - margin)) ** 2
    return Bias(name, x, z, value=value)


def cube_slab(d: int) -> tuple[Floats, list[int]]:
    """(1, ±1, …) in + and (−3, ±1, …) in −: margin 1, radius 3, κ_* = 4, 2^(d−1) ties a side."""
    sides = list(product((1.0, -1.0), repeat=d - 1))
    rows = [(1.0, *side) for side in sides] + [(-3.0, *side) for side in sides]
    return np.array(rows), [1] * len(sides) + [-1] * len(sides)


def separated(k: int, d: int, margin: float, seed: int) -> tuple[Floats, list[int]]:
    """Gaussian points, pushed away from a hyperplane through zero by `margin`."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((k, d))
    normal = rng.standard_normal(d)
    normal /= np.linalg.norm(normal)
    z = np.where(x @ normal > 0, 1, -1)
    z[:2] = (1, -1)
    x[:2] = np.abs(x[:2] @ normal)[:, None] * np.outer(z[:2], normal) + (
        x[:2] - np.outer(x[:2] @ normal, normal)
    )
    return x + margin * np.outer(z, normal), [int(value) for value in z]


def equicorrelated(k: int, m: int, rho: float, seed: int) -> Floats:
    """Gaussian columns that correlate by ρ."""
    rng = np.random.default_rng(seed)
    return math.sqrt(1 - rho) * rng.standard_normal((k, m)) + math.sqrt(rho) * rng.standard_normal(
        (k, 1)
    )


def decades(n: int, low: float, high: float) -> Floats:
    """n scales, evenly spaced in the logarithm, ends included."""
    return np.logspace(low, high, n)


def bias_instances() -> Iterator[Bias]:
    yield from (
        worst_case(d, kappa) for d in (1, 2, 5) for kappa in (1.0, 1.0201, 4.0, 1e3, 1e6, 1e9)
    )
    yield worst_case(20, 16.0)
    yield from (
        gap_problem(d, kappa, i)
        for d in (4, 7)
        for kappa in (1.0, 16.0, 1e6)
        for i in (1, 2, d // 2 + 1)
    )
    yield from (slab_instance(f"slab d={d} κ=4", d, 1.0, 3.0) for d in (1, 2, 6))
    yield slab_instance("slab, thin", 3, 1.0, 1.0 + 2.0**-14)
    yield slab_instance("slab, very thin", 3, 1.0, 1.0 + 2.0**-16)
    yield slab_instance("slab, touching zero", 3, 2.0**-30, 1.0)
    yield slab_instance("slab, wide sideways", 4, 1.0, 3.0, spread=2.0**20)
    yield slab_instance("slab, narrow sideways", 4, 1.0, 3.0, spread=2.0**-20)
    x, z = cube_slab(6)
    yield Bias("cube slab d=6", x, z, value=4.0)
    small, sides = cube_slab(3)
    for name, scales in {
        "columns 1e-6 to 1e6": decades(6, -6, 6),
        "columns 1e6 to 1e-6": decades(6, 6, -6),
        "columns all 1e-6": np.full(6, 1e-6),
        "columns all 1e6": np.full(6, 1e6),
    }.items():
        # κ_* does not feel the units of a feature
        yield Bias(f"cube slab, {name}", x * scales, z, value=4.0)

    # Neither group's side: zero is inside the hull of the z_x·x.
    square = np.array(list(product((1.0, -1.0), repeat=2)))
    yield Bias("exclusive or", square, square.prod(axis=1), value=1.0)
    # e is half the difference of the twins
    yield Bias(
        "twins across groups", [[1, 2], [1, 2], [3, -1], [0.5, 7]], (1, -1, 1, -1), value=1.0
    )
    # its row is e itself
    yield Bias(
        "an option without features",
        [[0, 0], [5, 1], [5, -1], [-5, 0.25]],
        (1, 1, 1, -1),
        value=1.0,
    )
    yield Bias(
        "touching groups",
        [[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 1], [0, 1]],
        (1, 1, -1, -1, 1, -1),
        value=1.0,
    )
    yield Bias(
        "many, not separable",
        np.random.default_rng(1).standard_normal((400, 5)),
        np.random.default_rng(2).integers(0, 2, 400) * 2 - 1,
        value=1.0,
    )

    # Repetition and emptiness.
    yield Bias(
        "cube slab, each three times", np.repeat(small, 3, axis=0), np.repeat(sides, 3), value=4.0
    )
    # k < m: e is in the span of x and −x/2
    yield Bias(
        "two points in five dimensions",
        [[1, 2, 3, 4, 5], [-0.5, -1, -1.5, -2, -2.5]],
        (1, -1),
        value=9.0,
    )
    yield Bias(
        "three points in a plane of R^4",
        [[4, 0, 4, 0], [-2, 0, -2, 0], [0, 1, 0, 1]],
        (1, -1, 1),
        value=9.0,
    )
    yield Bias(
        "unused columns",
        np.column_stack([small[:, :1], np.zeros((8, 2)), small[:, 1:]]),
        sides,
        value=4.0,
    )
    # rank 3 in seven columns
    yield Bias(
        "repeated columns", np.column_stack([small, small, small @ [1, 2, -4]]), sides, value=4.0
    )
    yield Bias(
        "a group in a subspace",
        [[1, 0, 0], [2, 1, 0], [1, 0, 3], [1.5, -2, 1], [-1, 0, 0], [-0.25, 0, 0]],
        (1, 1, 1, 1, -1, -1),
    )
    yield Bias(
        "single option in a group",
        [[-2, 0.5], *separated(20, 2, 0.5, 5)[0][3:].tolist()],
        (-1, *([1] * 17)),
    )

    # Collinear features: an invertible change of features leaves κ_* alone, and here it is exact.
    for power in (20, 27):
        bent = small.copy()
        bent[:, 1] = small[:, 0] + 2.0**-power * small[:, 1]
        bent[:, 2] = small[:, 0] - 2.0**-power * small[:, 2]
        yield Bias(f"collinear to 2^-{power}", bent, sides, value=4.0)
    for epsilon in (1e-6, 1e-8):
        x, z = separated(40, 3, 0.3, 7)
        x[:, 2] = x[:, 1] + epsilon * x[:, 2]
        yield Bias(f"collinear to {epsilon:g}", x, z)
        x = np.column_stack(
            [x[:, :2], epsilon * np.random.default_rng(3).standard_normal(40) + np.array(z)]
        )
        # κ_* is about 1/ε² unless others help
        yield Bias(
            f"the group almost a feature, {epsilon:g}",
            x,
            z,
            tolerance=1e-6 if epsilon < 1e-7 else 1e-7,
        )

    # Reference only.
    for k, d, margin in ((30, 2, 1.0), (60, 5, 0.1), (60, 7, 3.0), (500, 5, 0.01), (6, 5, 0.5)):
        x, z = separated(k, d, margin, k + d)
        yield Bias(f"separated {k}×{d} by {margin:g}", x, z)
        gaps = np.random.default_rng(k).exponential(size=k)
        yield Bias(f"separated {k}×{d} by {margin:g}, gaps", x, z, gaps=gaps)
        gaps[int(np.argmin(gaps))] = 0.0
        yield Bias(f"separated {k}×{d} by {margin:g}, best known", x, z, gaps=gaps)
        wild = 10.0 ** np.random.default_rng(k + 1).uniform(-9, 3, k)
        yield Bias(f"separated {k}×{d} by {margin:g}, wild gaps", x, z, gaps=wild)
    x, z = separated(60, 5, 0.5, 11)
    yield Bias("separated, columns 1e-6 to 1e6", x * decades(5, -6, 6), z)
    x = equicorrelated(80, 4, 0.99, 13)
    z_array = np.where(x[:, 0] - x[:, 1] > 0, 1, -1)
    yield Bias("equicorrelated 0.99", x, z_array)
    grid = np.array(list(product(range(-4, 5), repeat=2)), dtype=np.float64)
    yield Bias(
        "grid, shifted by one half",
        grid + np.array([0.5, 0.0]),
        np.where(grid[:, 0] >= 0, 1, -1),
        value=(5.0 / 4.0) ** 2,
    )

    # Gaps of zero.
    ones = np.ones(len(small))
    some = ones.copy()
    some[:4] = 0.0  # all of group +
    yield Bias("cube slab, gaps of one", small, sides, gaps=ones, value=4.0)  # κ(1) = κ_*
    yield Bias("cube slab, gaps of four", small, sides, gaps=4 * ones, value=16.0)  # κ(cΔ) = cκ(Δ)
    # κ(cΔ) = cκ(Δ)
    yield Bias("cube slab, tiny gaps", small, sides, gaps=2.0**-40 * ones, value=2.0**-38)
    # u = t(−1, 0, 0, 1) vanishes on +, and 2t ≤ 1 on −
    yield Bias("cube slab, one group free", small, sides, gaps=some, value=0.25)
    yield Bias("cube slab, all free", small, sides, gaps=0 * ones, value=0.0)
    yield Bias(
        "twins free",
        [[1, 2], [1, 2], [3, -1], [0.5, 7]],
        (1, -1, 1, -1),
        gaps=[0, 0, 1, 2],
        value=0.0,
    )
    # w = ±½ on the twins, or costlier
    yield Bias(
        "twins, one free",
        [[1, 2], [1, 2], [30, -1], [0.5, 70]],
        (1, -1, 1, -1),
        gaps=[0, 1, 400, 900],
        value=0.25,
    )
    # (½√4 + ½√9)²
    yield Bias(
        "twins, two prices",
        [[1, 2], [1, 2], [30, -1], [0.5, 70]],
        (1, -1, 1, -1),
        gaps=[4, 9, 4000, 9000],
        value=6.25,
    )


def monomials(x: ArrayLike, degree: int) -> Floats:
    return np.vander(np.asarray(x, dtype=np.float64), degree + 1, increasing=True)


def direction_instances() -> Iterator[Direction]:
    point = np.array([3, -2, 0.5, 0])
    yield Direction("one point, itself", [point], point, value=1.0)  # w = 1
    yield Direction("one point, doubled", [point], -2 * point, value=4.0)  # w = −2
    yield Direction("one point, with a cost", [point], 2 * point, costs=[0.25], value=1.0)  # 4·cost
    yield Direction("one number", [[5]], [10], value=4.0)  # m = 1
    # rows of zeros carry nothing; w = (1, 1)
    yield Direction("zero rows", [[0, 0], [2, 0], [0, 0], [0, 4]], [2, 4], value=4.0)
    # w = 1/8
    yield Direction("along a long row", [[1, 0], [0, 1], [8, 8]], [1, 1], value=1 / 64)
    # k = m, w = ½, ½
    yield Direction("no direction but a shadow", [[1, 1], [1, -1]], [1, 0], value=1.0)
    for m in (2, 5, 8):
        c = np.arange(1.0, m + 1) * (-1.0) ** np.arange(m)
        cross = np.vstack([np.eye(m), -np.eye(m)])
        # Elfving's set is the l1 ball
        yield Direction(f"cross-polytope m={m}", cross, c, value=float(np.abs(c).sum()) ** 2)
        costs = np.tile(4.0 ** np.arange(m), 2)
        # (Σ√cost|c|)²
        yield Direction(
            f"cross-polytope m={m}, costs",
            cross,
            c,
            costs=costs,
            value=float((2.0 ** np.arange(m) * np.abs(c)).sum()) ** 2,
        )
        scales = decades(m, -6, 6)
        # κ_v follows the units of the columns
        yield Direction(
            f"cross-polytope m={m}, columns 1e-6 to 1e6",
            cross * scales,
            c * scales,
            value=float(np.abs(c).sum()) ** 2,
        )
    for m in (3, 6):
        cube = np.array(list(product((1.0, -1.0), repeat=m)))
        c = np.linspace(-1.0, 2.0, m)
        yield Direction(f"hypercube m={m}", cube, c, value=4.0)  # Elfving's set is the cube
        c = np.eye(m)[0]
        yield Direction(f"hypercube m={m}, a facet's centre", cube, c, value=1.0)
    for n in (8, 100):
        angle = 2 * np.pi * np.arange(n) / n
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        # w = 3 at the corner
        yield Direction(f"{n}-gon, at a corner", circle, 3 * circle[1], value=9.0)
        middle = np.array([math.cos(math.pi / n), math.sin(math.pi / n)])
        # the edge is at cos(π/n)
        yield Direction(
            f"{n}-gon, between corners", circle, middle, value=1 / math.cos(math.pi / n) ** 2
        )

    # Polynomials: Chebyshev points are the support (Hoel and Levine), T_n the dual polynomial.
    for degree, x0 in ((2, 1.5), (4, 2.0), (7, 1.25), (7, 3.0)):
        grid = np.cos(np.pi * np.arange(8 * degree + 1) / (8 * degree))
        grid[4 * degree] = 0.0
        c = monomials([x0], degree)[0]
        # T_n(x₀)²
        yield Direction(
            f"extrapolation of degree {degree} to {x0:g}",
            monomials(grid, degree),
            c,
            value=chebyshev_value(degree, x0) ** 2,
        )
        top = np.eye(degree + 1)[degree]
        # the leading coefficient of T_n, squared
        yield Direction(
            f"leading coefficient of degree {degree} ({x0:g})",
            monomials(grid, degree),
            top,
            value=4.0 ** (degree - 1),
        )
    uniform = monomials(np.linspace(-1, 1, 401), 5)
    yield Direction("slope at zero, degree 5, fine grid", uniform, np.eye(6)[1])

    # A set of low rank, as integers so that the rank is exact.
    plane = np.array([[1, 2, 3, 4], [0, 1, -1, 2]])
    flat = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-3, 1]], dtype=np.float64)
    # in the plane (1, ½) = ⅝(1, 1) − ⅛(−3, 1)
    yield Direction("plane in R^4", flat @ plane, np.array([1, 0.5]) @ plane, value=0.5625)
    # (1, 0) is free, ½(0, 1) is not
    yield Direction(
        "plane, a free row",
        flat @ plane,
        np.array([1, 0.5]) @ plane,
        costs=[0, 1, 1, 4, 1],
        value=0.25,
    )
    # k = m, bidiagonal: w = (1, −1, 1, −1, 1)
    yield Direction("basis of R^5", np.eye(5) + np.eye(5, k=1), np.eye(5)[0], value=25.0)
    # (1 + 2 + 0 + 3 + 1)²
    yield Direction(
        "basis of R^5, costs",
        np.eye(5) + np.eye(5, k=1),
        np.eye(5)[0],
        costs=[1, 4, 0, 9, 1],
        value=49.0,
    )
    nearly = np.array([[1, 0], [1, 2.0**-27]])
    yield Direction("nearly parallel basis", nearly, [0, 1], value=2.0**56)  # w = ±2^27

    rng = np.random.default_rng(20)
    for k, m in ((10, 10), (60, 6), (300, 6), (1000, 4)):
        A = rng.standard_normal((k, m))
        c = rng.standard_normal(m)
        costs = rng.exponential(size=k)
        free = np.where(rng.uniform(size=k) < 2 / k, 0.0, costs)
        yield Direction(f"Gaussian {k}×{m}", A, c)
        yield Direction(f"Gaussian {k}×{m}, costs", A, c, costs=costs)
        yield Direction(f"Gaussian {k}×{m}, some free", A, c, costs=free)
        yield Direction(
            f"Gaussian {k}×{m}, row lengths 1e-6 to 1e6", A * 10.0 ** rng.uniform(-6, 6, (k, 1)), c
        )
        yield Direction(
            f"Gaussian {k}×{m}, column scales 1e-6 to 1e6",
            A * decades(m, -6, 6),
            c * decades(m, -6, 6),
        )
    # κ of order 1e24
    yield Direction(
        "Gaussian 60×6, tiny and far", 1e-6 * rng.standard_normal((60, 6)), 1e6 * np.ones(6)
    )
    yield Direction("equicorrelated 0.99", equicorrelated(200, 6, 0.99, 3), np.eye(6)[5])


def spread_instances() -> Iterator[Spread]:
    for m in (1, 3, 8):
        yield Spread(f"orthonormal frame m={m}", np.eye(m), m)
        cross = np.vstack([np.eye(m), -np.eye(m)])
        yield Spread(f"cross-polytope m={m}", cross, m)
    yield Spread("a basis, skew", np.eye(5) + np.eye(5, k=1), 5)
    yield Spread("one point", [[3, -2, 0.5]], 1)
    yield Spread("one point, repeated", [[3, -2, 0.5]] * 7, 1)
    yield Spread("one line", np.outer([1, -2, 4, 0], [1, 3]), 1)
    yield Spread("zero rows", [[0, 0], [2, 0], [0, 0], [0, 4]], 2)
    yield Spread(
        "three points in five dimensions", [[1, 2, 3, 4, 5], [0, 1, 0, 1, 0], [2, 0, 0, 0, 1]], 3
    )
    yield Spread(
        "interior points", np.vstack([np.eye(4), 0.25 * np.eye(4), 0.25 * np.ones((1, 4))]), 4
    )
    for m in (2, 4, 7):
        # Vertices of a regular simplex, centred: rank m in R^(m+1), a symmetric orbit.
        simplex = (m + 1) * np.eye(m + 1) - 1.0
        yield Spread(f"regular simplex in R^{m}", simplex, m)
    for m in (3, 6):
        cube = np.array(list(product((1.0, -1.0), repeat=m)))
        yield Spread(f"hypercube m={m}", cube, m)
    for n in (3, 5, 64):
        angle = 2 * np.pi * np.arange(n) / n
        yield Spread(f"{n}-gon", np.column_stack([np.cos(angle), np.sin(angle)]), 2)
    for degree in (1, 2, 4, 6):
        grid = monomials(np.linspace(-1, 1, 61), degree)
        yield Spread(f"polynomial of degree {degree}", grid, degree + 1)
    yield Spread(
        "polynomial of degree 6, fine uniform grid", monomials(np.linspace(-1, 1, 801), 6), 7
    )
    x, z = cube_slab(4)
    A = np.column_stack([x, z])
    rng = np.random.default_rng(30)
    gaussian = rng.standard_normal((300, 6))
    sphere = gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)
    yield Spread("cube slab", A, 5)
    yield Spread("cube slab, each three times", np.repeat(A, 3, axis=0), 5)
    yield Spread("Gaussian 300×6", gaussian, 6)
    yield Spread("Gaussian 300×6, columns 1e-6 to 1e6", gaussian * decades(6, -6, 6), 6)
    yield Spread(
        "Gaussian 300×6, rows 1e-6 to 1e6", gaussian * 10.0 ** rng.uniform(-6, 6, (300, 1)), 6
    )
    yield Spread("sphere 300×6", sphere, 6)
    yield Spread("equicorrelated 0.99", equicorrelated(300, 6, 0.99, 31), 6)
    yield Spread("Gaussian 7×6", gaussian[:7], 6)
    yield Spread(
        "plane in R^4",
        np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-3, 1]]) @ [[1, 2, 3, 4], [0, 1, -1, 2]],
        2,
    )
    yield Spread(
        "a group in a subspace",
        [
            [1, 0, 0, 1],
            [2, 1, 0, 1],
            [1, 0, 3, 1],
            [1.5, -2, 1, 1],
            [-1, 0, 0, -1],
            [-0.25, 0, 0, -1],
        ],
        4,
    )
    yield Spread(
        "rank three up to rounding",
        gaussian[:80, :3] @ rng.standard_normal((3, 6)),
        3,
        exact_rank=False,
    )
    for epsilon in (1e-6, 1e-8):
        bent = gaussian[:, :4].copy()
        bent[:, 3] = bent[:, 2] + epsilon * bent[:, 3]
        yield Spread(f"collinear to {epsilon:g}", bent, 4)


def hopeless_instances() -> Iterator[Bias]:
    """Action sets with e outside the range: some combination of features equals the group."""
    rng = np.random.default_rng(40)
    x, z = cube_slab(3)
    z_array = np.array(z, dtype=np.float64)
    gaussian = rng.standard_normal((50, 3))
    group = np.where(rng.uniform(size=50) < 0.5, 1.0, -1.0)
    reveal = gaussian.copy()
    reveal[:, 1] = (group - 0.3 * gaussian[:, 0] - 0.7 * gaussian[:, 2]) / 0.9
    one_hot = np.column_stack([group > 0, group < 0]).astype(np.float64)
    yield Bias("the group is a feature", np.column_stack([x, z_array]), z)
    yield Bias("the group, rescaled", np.column_stack([x, -1e-6 * z_array]), z)
    # x₁ + x₂ = z
    yield Bias("the group is a sum of features", np.column_stack([x[:, 1], z_array - x[:, 1]]), z)
    # a combination of three features, rounded
    yield Bias("the group up to rounding", reveal, group)
    # z = difference of dummies
    yield Bias("one-hot groups and noise", np.column_stack([gaussian, one_hot]), group)
    # z = 2·dummy − 1
    yield Bias(
        "intercept and a dummy", np.column_stack([gaussian, np.ones(50), one_hot[:, :1]]), group
    )
    # k = d: any evaluations fit without a bias
    yield Bias("independent features", np.eye(4), (1, -1, 1, -1))
    yield Bias("fewer options than features", rng.standard_normal((3, 6)), (1, -1, 1))
    yield Bias("one dimension, mirrored", [[2], [-2]], (1, -1))  # x = 2z


def hopeless_directions() -> Iterator[Direction]:
    plane = np.array([[1, 0], [0, 1], [1, 1]]) @ np.array([[1, 2, 3], [0, 1, -1]])
    yield Direction("off the line", [[1, 2], [2, 4]], [2, 1])
    yield Direction("off the plane", plane, [0, 0, 1])
    yield Direction("off the plane, free", plane, [0, 0, 1], costs=[0, 0, 0])
    yield Direction("only zeros", np.zeros((3, 2)), [1, 0])
    yield Direction("a column never seen", [[1, 0], [-2, 0]], [1, 1e-3])


BIASES = tuple(bias_instances())
DIRECTIONS = tuple(direction_instances())
SPREADS = tuple(spread_instances())
HOPELESS = tuple(hopeless_instances())
HOPELESS_DIRECTIONS = tuple(hopeless_directions())
