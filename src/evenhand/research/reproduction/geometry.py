"""The lemmas on designs and on the price of the bias, tried on random and hostile sets of options.

Notation
--------
X, z     (k, d) features and (k,) groups ±1     A     (k, d+1) rows a_x = (x; z_x)
e        the direction of the bias              V(μ)  Σ μ(x) a_x a_xᵀ
κ_*      least eᵀV(π)⁺e of a design π           κ(Δ)  least Σ μ(x)Δ_x with eᵀV(μ)⁺e ≤ 1
C(X)     parameters γ with |x·γ| ≤ 1 for all x  κ̃, α  Lemmas 2 and 6

What evenhand works out is held against the definitions: variances by least squares, and every
maximum and minimum by a linear program of its own (HiGHS) that shares nothing with our solvers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.designs import Design, c_optimal_design, g_optimal_design
from evenhand.geometry import (
    bias_geometry,
    bias_optimal_design,
    delta_optimal_design,
    kappa,
    minimax_design,
)
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.tally import EQUAL, LemmaCheck, Tally

_KINDS = ("random", "separated", "close", "basis", "line", "flat", "twins", "units", "dull")
_DESIGNS = 20  # random designs that are tried to beat an optimal one


def measure_geometry(plan: Mapping[str, Any], seed: int, executor: Executor | None) -> Tally:
    """Try the lemmas on as many sets as a plan asks for, and on the families of the proofs; count
    the sets, those whose groups a hyperplane through 0 keeps apart ("separable"), those whose
    features do not span R^d ("deficient"), and those of rank one ("lines").
    """
    spread = map if executor is None else executor.map
    parts = spread(_try_set, [seed] * plan["number"], range(plan["number"]))
    return sum([*parts, _families(plan), _errata()], Tally())


def hostile_set(seed: int, number: int) -> tuple[Floats, Floats]:
    """Return features and groups of a small set in which the bias can be estimated; nine kinds
    take turns: any, separated, hardly to be told apart, k = d + 1, on a line, features of lower
    rank, the same features in both groups, units of all sizes, and small whole numbers.
    """
    kind = _KINDS[number % len(_KINDS)]
    rng = np.random.default_rng([seed, number])
    while True:
        d = 1 if kind == "line" else int(rng.integers(2, 5))
        k = d + 1 if kind == "basis" else int(rng.integers(d + 2, d + 6))
        X, z = rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k)
        if kind in ("separated", "close", "line"):
            u = rng.standard_normal(d) / math.sqrt(d)
            margin = 30.0 if kind == "close" else float(rng.exponential(0.5))
            X += np.outer((z * (np.abs(X @ u) + margin) - X @ u) / (u @ u), u)
            if kind == "line" and rng.random() < 0.5:
                X = np.abs(X)  # both groups on one side
        elif kind == "flat":
            X[:, -1] = X[:, 0] - 2 * X[:, -2] if d > 2 else X[:, 0]
        elif kind == "twins":
            X[1], z[:2] = X[0], (1.0, -1.0)
            X[2:] *= 5.0 ** rng.standard_normal(k - 2)[:, None]
        elif kind == "units":
            X *= 10.0 ** rng.uniform(-4, 4, d)
        elif kind == "dull":
            X = rng.integers(-2, 3, (k, d)).astype(np.float64)
        if abs(z.sum()) < k and _rank(np.c_[X, z]) == _rank(X) + 1 and _rank(X) > 0:
            return X, z


def _try_set(seed: int, number: int) -> Tally:
    X, z = hostile_set(seed, number)
    trial = _Trial(X, z, np.random.default_rng([seed, number, 1]))
    tally, rank = Tally(Counter(sets=1)), _rank(X)
    for name, check in trial.checks():
        tally.note(name, check)
    tally.counts["separable"] = int(trial.star > 1 + EQUAL)
    tally.counts["deficient"] = int(rank < X.shape[1])
    tally.counts["lines"] = int(rank == 1)
    return tally


class _Trial:
    """One set of options, and all lemmas on it."""

    def __init__(self, X: Floats, z: Floats, rng: np.random.Generator) -> None:
        self.X, self.z, self.rng = X, z, rng
        self.actions = ActionSet(X, z.astype(int))
        # Units of features do not matter to a design, and programs in floating point like theirs
        # to be alike.
        scales = np.abs(X).max(axis=0)
        self.scaled = X / np.where(scales > 0, scales, 1.0)
        self.A = np.c_[self.scaled, z]
        self.e = np.eye(self.A.shape[1])[-1]
        self.design = bias_optimal_design(self.actions)
        self.star = bias_geometry(self.actions).kappa_star

    def checks(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Check every lemma, by the name of its row."""
        yield from self._elfving()
        yield from self._characterisations()
        yield from self._rounding()
        yield from self._worst_parameter()
        yield from self._alignment()
        yield from self._prices()

    def _elfving(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Theorem 5: tc = Σ π(x)ζ_x a_x on the boundary of S, where t⁻² is the variance."""
        for c in (self.e, self.rng.standard_normal(len(self.A)) @ self.A):
            design = c_optimal_design(self.A, c)
            pi = np.asarray(design.weights)
            least = _variance(self.A, pi, c)
            t = least**-0.5
            zeta = np.sign(self.A @ _coefficients(self.A, pi, c))
            apart = float(np.abs(t * c - (pi * zeta) @ self.A).max() / np.abs(t * c).max())
            yield "theorem 5", LemmaCheck.of(apart, EQUAL)
            # how far one can go along c within S
            yield "theorem 5", _equal(t, _gauge(self.A, c))
            for other in self._designs():
                variance = _variance(self.A, other, c)
                yield "theorem 5, none better", LemmaCheck.of(least, variance, EQUAL)

    def _characterisations(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemmas 5 and 1: by the least largest residual, and by the widest margin."""
        defined = _variance(self.A, np.asarray(self.design.weights), self.e)
        yield "lemma 5", _equal(defined, _least_residual(self.scaled, self.z) ** -2)
        yield "lemma 5", _equal(self.star, defined)
        margin = _widest_margin(self.scaled, self.z)
        if margin <= EQUAL:
            yield "lemma 1, apart", _equal(defined, 1.0)
        else:
            # 1 − margin/radius keeps its digits where κ_* is large
            yield "lemma 1, margin", _equal(1 - margin, 2 / (math.sqrt(defined) + 1))

    def _rounding(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemmas 3 and 4: ⌈mπ⌉, for the optimal designs and for any."""
        for pi in (np.asarray(self.design.weights), *self._designs()):
            variance = _variance(self.A, pi, self.e)
            if math.isfinite(variance):
                m = 10.0 ** self.rng.uniform(-2, 4)
                rounded = _variance(self.A, np.ceil(m * pi), self.e)
                yield "lemma 3", LemmaCheck.of(rounded, variance / m, EQUAL)
        for rows in (np.ones(len(self.A), dtype=bool), self.z > 0, self.z < 0):
            A = self.A[rows]
            pi = np.asarray(g_optimal_design(A).weights)
            m = 10.0 ** self.rng.uniform(-2, 4)
            for masses, size in ((pi, 1.0), (np.ceil(m * pi), m)):
                largest = max(_variance(A, masses, a) for a in A)
                yield "lemma 4", LemmaCheck.of(largest, A.shape[1] / size, EQUAL)

    def _worst_parameter(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemma 2, with κ̃ between the worst regret of a design and the price of a mixture."""
        low, high = _minimax(self.actions, self.scaled, self.A, self.e, self.X)
        yield "lemma 2, bracket", _equal(low, high)
        name = "lemma 2" if _rank(self.X) > 1 else "lemma 2, line"
        yield "lemma 2", LemmaCheck.of(high, 2 * self.star, EQUAL)
        yield name, LemmaCheck.of(self.star, 2 * low, EQUAL)

    def _alignment(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemma 6, with α from every pair."""
        alpha = _alignment(self.scaled, self.z)
        yield "lemma 6, alpha", _equal(bias_geometry(self.actions).alpha(), alpha)
        name = "lemma 6" if _rank(self.X) > 1 else "lemma 6, line"
        yield "lemma 6", LemmaCheck.of(alpha, 16 * self.star, EQUAL)
        yield name, LemmaCheck.of(self.star / 3, alpha, EQUAL)
        if _rank(self.X) > 1:
            yield "lemma 6, sharper", LemmaCheck.of(4 * self.star, alpha, EQUAL)

    def _prices(self) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemmas 7, 8 and 9: κ(Δ) of admissible gaps."""
        first, second = (self._gaps() for _ in range(2))
        for gaps in (first, second):
            yield "lemma 7", LemmaCheck.of(kappa(self.actions, gaps), 2 * self.star, EQUAL)
        yield from self._rescaled(np.maximum(first, 0.05))
        price, w = _price(self.A, self.e, first)
        if price < EQUAL:
            return  # the best options tell the bias, for nothing
        ours = kappa(self.actions, first)
        yield "lemma 8, kappa", _equal(ours, price)
        for factor in (1e-6, 3.0, 1e6):
            scaled = kappa(self.actions, factor * first)
            yield "lemma 8, homogeneous", _equal(scaled, factor * ours)
        both = kappa(self.actions, np.maximum(first, second))
        larger = max(ours, kappa(self.actions, second))
        yield "lemma 8", LemmaCheck.of(larger, both, EQUAL)  # (ii) and (iii)
        for epsilon in (1e-2, 1e-5, 1e-9):
            lifted = np.maximum(first, epsilon)
            raised = kappa(self.actions, lifted)
            yield "lemma 8", LemmaCheck.of(ours, raised, EQUAL)
            # (iv), by a modulus of continuity: what is optimal for Δ costs no more than this
            bound = float(np.sqrt(lifted) @ np.abs(w)) ** 2
            yield "lemma 8", LemmaCheck.of(raised, bound, EQUAL)

    def _rescaled(self, gaps: Floats) -> Iterator[tuple[str, LemmaCheck]]:
        """Lemma 9: μ = κ π/Δ, with π optimal for the rows a_x/√Δ_x."""
        other = c_optimal_design(self.A / np.sqrt(gaps)[:, None], self.e)
        mu = other.value * np.asarray(other.weights) / gaps
        direct = delta_optimal_design(self.actions, gaps)
        price, _ = _price(self.A, self.e, gaps)
        yield "lemma 9", _equal(float(mu @ gaps), price)
        yield "lemma 9", _equal(direct.value, price)
        yield "lemma 9", _equal(_variance(self.A, mu, self.e), 1.0)
        support = LemmaCheck.of(float(len(direct.support)), float(self.A.shape[1]))
        yield "lemma 9, support", support

    def _gaps(self) -> Floats:
        """Return the gaps of a parameter of C(X): one in the midst of it, or a vertex."""
        along = np.asarray(self.rng.standard_normal(self.X.shape[1]))
        if self.rng.random() < 0.5:
            along = _vertex(self.scaled, self.scaled.T @ self.rng.standard_normal(len(self.X)))
        values = self.scaled @ along
        values /= np.abs(values).max()
        return np.asarray(values.max() - values)

    def _designs(self) -> Iterator[Floats]:
        """Yield designs of all kinds: spread out, and on few options."""
        k = len(self.A)
        for _ in range(_DESIGNS):
            pi = self.rng.dirichlet(np.full(k, 10.0 ** self.rng.uniform(-1, 1)))
            pi[self.rng.random(k) < self.rng.uniform(0, 0.6)] = 0.0
            if pi.any():
                yield pi / pi.sum()


def _families(plan: Mapping[str, Any]) -> Tally:
    """Lemmas 15, 16 and 17, and the last claim of Theorem 6, on the sets of the proofs."""
    tally = Tally()
    note = tally.note
    for d in plan["dimensions"]:
        for star in plan["kappas"]:
            pair = families.worst_case(d, star, horizon=1e6 * star)
            for problem in pair:
                note("lemma 15", _equal(_price_of(problem, None), star))
            if d < 4:
                continue
            for number, problem in enumerate(families.gap_dependent(d, star, 0.05, 0.1)):
                note("lemma 16", _equal(_price_of(problem, None), star))
                price = _price_of(problem, problem.gaps)
                printed = (1 + math.sqrt(star)) ** 2 * float(problem.gaps[-1]) / 4
                if number == 0:
                    note("lemma 17", _equal(price, printed))
                else:
                    a = 2 / (math.sqrt(star) + 1)
                    root = math.sqrt(problem.gaps[-1]) + (1 - a) * math.sqrt(problem.gaps[0])
                    note("lemma 17, corrected", _equal(price, root**2 / a**2))
                    if star > 1:
                        note("lemma 17, others", LemmaCheck.of(price, printed, EQUAL))
                note("theorem 6, kappa", LemmaCheck.of(star / 8, price, EQUAL))
                note("theorem 6, kappa", LemmaCheck.of(price, 2 * star, EQUAL))
    return tally


def _errata() -> Tally:
    """The set on a line for which Lemmas 2 and 6 fail, and that which attains Lemma 7."""
    X, z = np.array([[1.0], [1.01]]), np.array([1.0, -1.0])
    actions = ActionSet(X, [1, -1])
    star = bias_geometry(actions).kappa_star
    low, _ = _minimax(actions, X, np.c_[X, z], np.array([0.0, 1.0]), X)
    twins = ActionSet([[-1.0, 0.0], [-1.0, 0.0], [1.0, 3.0]], [1, -1, 1])
    attained = kappa(twins, [2.0, 2.0, 0.0]) / (2 * bias_geometry(twins).kappa_star)
    return Tally(
        checks={
            "lemma 2, line": LemmaCheck.of(star, 2 * low, EQUAL),
            "lemma 6, line": LemmaCheck.of(star / 3, _alignment(X, z), EQUAL),
            "lemma 7": LemmaCheck.of(attained, 1.0, EQUAL),
        }
    )


def _price_of(problem: BiasedLinearBandit, gaps: Floats | None) -> float:
    """Return κ_*, or κ(Δ) of gaps, of a problem's options by a linear program."""
    A = np.asarray(problem.actions.points)
    costs = np.ones(len(A)) if gaps is None else np.asarray(gaps)
    return _price(A, np.eye(A.shape[1])[-1], costs)[0]


def _equal(found: float, exact: float) -> LemmaCheck:
    return LemmaCheck.of(abs(found - exact) / abs(exact), EQUAL)


def _rank(A: Floats) -> int:
    scales = np.abs(A).max(axis=0)
    return int(np.linalg.matrix_rank(A / np.where(scales > 0, scales, 1.0), tol=1e-9))


def _coefficients(A: Floats, masses: Floats, c: Floats) -> Floats:
    """Return V(μ)⁺c."""
    V = A.T * masses @ A
    return np.asarray(np.linalg.lstsq(V, c, rcond=1e-13)[0])


def _variance(A: Floats, masses: Floats, c: Floats) -> float:
    """Return cᵀV(μ)⁺c, as ‖h‖² of the shortest h with Σ √μ(x) h_x a_x = c; infinite without one."""
    rows = A * np.sqrt(masses)[:, None]
    h = np.linalg.lstsq(rows.T, c, rcond=1e-13)[0]
    if np.abs(rows.T @ h - c).max() > 1e-8 * np.abs(c).max():
        return math.inf
    return float(h @ h)


def _price(A: Floats, c: Floats, costs: Floats) -> tuple[float, Floats]:
    """Return the least Σ μ(x) cost_x with cᵀV(μ)⁺c ≤ 1, and its w: (min Σ √cost |w|)², Aᵀw = c."""
    roots = np.sqrt(costs)
    unit = float(roots.max()) or 1.0
    value, w = _least(np.r_[roots, roots] / unit, A_eq=np.c_[A.T, -A.T], b_eq=c)
    return (value * unit) ** 2, w[: len(A)] - w[len(A) :]


def _gauge(A: Floats, c: Floats) -> float:
    """Return the largest s with sc in the hull of ±a_x."""
    k, m = A.shape
    hull = {"A_ub": np.r_[np.ones(2 * k), 0.0][None], "b_ub": [1.0]}
    equal = {"A_eq": np.c_[A.T, -A.T, -c], "b_eq": np.zeros(m)}
    return -_least(np.r_[np.zeros(2 * k), -1.0], **hull, **equal)[0]


def _least_residual(X: Floats, z: Floats) -> float:
    """Return min_u max_x |x·u + z_x|."""
    k, d = X.shape
    sides = np.c_[np.r_[X, -X], -np.ones(2 * k)]
    free = [(None, None)] * (d + 1)
    return _least(np.eye(d + 1)[-1], A_ub=sides, b_ub=np.r_[-z, z], bounds=free)[0]


def _widest_margin(X: Floats, z: Floats) -> float:
    """Return the largest margin of a hyperplane through 0 from which nothing is farther than 1."""
    k, d = X.shape
    margin = np.c_[-z[:, None] * X, np.ones(k)]
    reach = np.c_[np.r_[X, -X], np.zeros(2 * k)]
    bounds = [(None, None)] * d + [(0.0, None)]
    limits = np.r_[np.zeros(k), np.ones(2 * k)]
    sides = np.r_[margin, reach]
    return -_least(-np.eye(d + 1)[-1], A_ub=sides, b_ub=limits, bounds=bounds)[0]


def _vertex(X: Floats, along: Floats) -> Floats:
    """Return the γ of C(X) that is largest along a direction of the row space."""
    ones, free = np.ones(2 * len(X)), [(None, None)] * X.shape[1]
    return _least(-along, A_ub=np.r_[X, -X], b_ub=ones, bounds=free)[1]


def _least(costs: Floats, **program: Any) -> tuple[float, Floats]:
    """Return the value and the solution of a linear program."""
    found = linprog(costs, **program)
    assert found.fun is not None
    return float(found.fun), np.asarray(found.x)


def _alignment(X: Floats, z: Floats) -> float:
    """Return α: the largest ((x − x')·v)² over pairs, and over v and s with |x·v + z_x s| ≤ 1."""
    A = np.c_[X, z]
    largest = 0.0
    for i, j in combinations(range(len(X)), 2):
        lead = np.r_[X[i] - X[j], 0.0]
        largest = max(largest, float(lead @ _vertex(A, lead)))
    return largest**2


def _minimax(
    actions: ActionSet, scaled: Floats, A: Floats, e: Floats, X: Floats
) -> tuple[float, float]:
    """Return a lower and an upper bound of κ̃, from a mixture of parameters and from a design."""
    design: Design = minimax_design(actions)
    mu = design.mass * np.asarray(design.weights)
    mu = mu * _variance(A, mu, e)  # so that it has variance 1
    mean = mu @ scaled
    leads = [mu.sum() * x - mean for x in scaled]
    worst = max(float(lead @ _vertex(scaled, lead)) for lead in leads)
    mixture = design.certificate.mixture
    assert mixture is not None
    values = np.asarray(mixture.parameters) @ X.T
    values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), 1.0)
    gaps = np.asarray(mixture.weights) @ (values.max(axis=1, keepdims=True) - values)
    return _price(A, e, gaps)[0], worst
