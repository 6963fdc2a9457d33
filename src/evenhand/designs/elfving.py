"""Elfving's linear program, exactly, over as many rows as there are.

    √κ_c = min { Σ s_x |w_x| : Σ w_x a_x = c } = max { c·u : |a_x·u| ≤ s_x }       (s_x = √cost_x)

Solved by the compiled simplex on a pool of rows; a pass over all rows finds those that the dual
vector u violates, which join the pool, until there are none. Rows of cost zero are free columns:
u vanishes on them, so the program is solved in the directions orthogonal to them.

Its solutions are the c-optimal designs: one direction of the parameter, at the least cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, Indices, as_points, as_vector, refuse_non_finite
from evenhand.designs._simplex import elfving_basis
from evenhand.designs.design import Certificate, Design, checked
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError
from evenhand.numerics._bases import dominant_basis
from evenhand.numerics._passes import rows_beyond
from evenhand.numerics.row_space import (
    DOUBT,
    SAMPLED_PER_COLUMN,
    DoubtfulRankError,
    RowSpace,
    row_space,
    sample_rows,
)
from evenhand.numerics.solves import RefinedSolver

TOLERANCE = 1e-9
"""How far |a·u| may exceed √cost, relatively, before its row has to enter the basis."""

SENSITIVITY = 1e-6
"""How much of κ the rounding of the points' entries may change before an answer is refused."""

_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-13  # share of a direction below which it is rounding error
_CLEAR = 1e-6  # share of a direction that is clearly more than rounding error
_DOMINANT = 100.0  # coordinates larger than this call for another basis of the pool
_MIDDLE = 32768  # rows of the level between the pool and everything
_NEWCOMERS = 4096  # violators that join the pool at once
_PAYS = 500  # a look at so many bounds takes as long as solving one direction
_STEPS = 50_000  # more than any program of this kind has been seen to need
FREE_EXCESS = 0.01
"""How much more than κ the pulls may cost where options of cost zero would need infinitely many."""

_GAP = 1e-6  # what the value is proven to, at least; the simplex stops at 1e-9

_LEAST = 1e-145  # of a weight: squares of weights are to be floats, with room to spare


@dataclass(frozen=True)
class ElfvingSolution:
    """Primal and dual solution of the program for one direction."""

    rows: Indices  # indices x, at most m of them,
    weights: Floats  # and signed weights w_x with Σ w_x a_x = c
    # largest entries of those rows, columns equilibrated: |w_x| times them is what x contributes
    lengths: Floats
    root: float  # Σ s_x |w_x| = √κ
    dual: Floats  # u with |a_x·u| ≤ s_x for all x
    root_bound: float  # c·u ≤ √κ

    def support(self) -> tuple[Indices, Floats]:
        """Return the rows that contribute more than rounding error, and their weights."""
        share = np.abs(self.weights) * self.lengths
        used = share > _ROUNDING * share.max()
        return self.rows[used], self.weights[used]


class ElfvingProgram:
    """The programs of all directions over the same rows, (k, m), and roots of costs, (k,) or None
    for unit costs; a row space that is known is taken only where no cost is zero.
    """

    def __init__(self, A: Floats, s: Floats | None = None, space: RowSpace | None = None) -> None:
        self.A, self.s = A, s
        k, m = A.shape
        sample = sample_rows(k, SAMPLED_PER_COLUMN * m)
        self._pool_is_all = len(sample) == k
        free: Indices | None = None
        if s is not None and not s.all():
            (free,) = np.nonzero(s == 0.0)
            sample = sample[s[sample] > 0.0]
        self.space = row_space(A, sample, free) if space is None else space
        self._n_free = self.space.n_leading
        paid = self.space.basis[self._n_free :]
        self._pool = _Pool(A, s, np.concatenate([paid, sample]), self.space, np.arange(len(paid)))
        if not np.isfinite(self._pool.P).all():
            refuse_non_finite(A)

    def solve(self, c: Floats) -> ElfvingSolution:
        """Return the solution for direction c, or raise `NotIdentifiableError` where the rows do
        not give it, and `AccuracyError` where rounding decides whether they do, or by how much.
        """
        refuse_outside(self.space, c)
        solution = self.solve_within(c)
        self.refuse_sensitive(solution, np.abs(c))
        return solution

    def solve_within(self, c: Floats) -> ElfvingSolution:
        """Return the solution for a direction that is known to be a combination of the rows."""
        pool, basis = self._pool, self._pool.start.copy()
        if self._n_free and self._is_free(c):
            return self._solution(c, pool.rows[basis], np.zeros(len(basis)))
        v = pool.improve(c, basis)
        if len(self.A) > 8 * _MIDDLE:  # settle on a part first: it saves passes over everything
            part = sample_rows(len(self.A), _MIDDLE)
            rows, limits = self.A[part], None if self.s is None else self.s[part]
            while True:
                found, excess = self._beyond(rows, limits, pool.dual(v))
                new = _newcomers(part[found], excess, pool.rows)
                if len(new) == 0:
                    break
                pool = pool.enlarged(new, basis)
                v = pool.improve(c, basis)
        while True:
            solution = self._solution(c, pool.rows[basis], np.sign(pool.P[basis] @ v))
            found, excess = self._beyond(self.A, self.s, solution.dual)
            largest = float(excess.max(initial=0.0))
            noise = 4.0 * _EPS * float(2.0 * self.space.scales @ np.abs(solution.dual))
            if noise > TOLERANCE:  # a·u cancels so much that only coordinates tell
                found, excess = self._beyond_despite(noise, solution.dual, pool, v)
            new = _newcomers(found, excess, pool.rows)
            if len(new) == 0:
                return _feasible(solution, c, largest)
            pool = pool.enlarged(new, basis)
            v = pool.improve(c, basis)

    def refuse_sensitive(self, solution: ElfvingSolution, size: Floats) -> None:
        """Raise where the rounding of points, and of a direction computed from magnitudes ``size``,
        (m,), may alone change the value.
        """
        # Points that are off by δA and a direction that is off by δc change √κ by δc·u − wᵀ δA u to
        # first order, as in any linear program.
        w, u = np.abs(solution.weights), np.abs(solution.dual)
        terms = (w @ np.abs(self.A[solution.rows]) + size) * u
        change = _EPS / 2 * float(terms.sum())
        if change > SENSITIVITY / 2 * solution.root:
            columns = np.flatnonzero(terms > 1e-3 * terms.max())
            raise DoubtfulRankError(
                tuple(columns.tolist()),
                "are so nearly dependent that the rounding of their numbers may change the answer "
                f"by a share of {2 * change / solution.root:.1g}. Leave one of them out, or "
                "replace one by its difference from what the others give.",
            )

    def largest(
        self, directions: Floats, bounds: Floats | None = None, tol: float = 1e-9
    ) -> Indices:
        """Return the directions, (n, m), that may have the largest √κ, the largest first; those
        that lead by less than ``tol``, relatively, may be left out.
        """
        # The basis of one solution writes every direction as a combination of rows (none of them
        # free), whose weights bound its √κ from above. So only directions are solved whose bound
        # exceeds the largest value yet. Where a look at all bounds settles few of them, more are
        # solved in between.
        (open_,) = np.nonzero(np.abs(directions).max(axis=1, initial=0.0) > 0.0)
        bounds = np.full(len(open_), np.inf) if bounds is None else bounds[open_]
        solved: dict[int, float] = {}
        G = self.coordinates(directions[open_])
        best, batch = 0.0, 1
        while len(open_):
            batch = min(batch, len(open_))
            chosen = np.argpartition(bounds, len(bounds) - batch)[len(bounds) - batch :]
            for x in open_[chosen]:
                rows, solved[int(x)] = self._optimal_rows(directions[x])
                best = max(best, solved[int(x)])
            bounds[chosen] = 0.0
            np.minimum(bounds, self._roots_on(rows, G), out=bounds)
            still = bounds > best * (1.0 + tol)
            settled = len(open_) - np.count_nonzero(still) - batch
            batch = 1 if settled * _PAYS > len(open_) else min(2 * batch, 256)
            open_, bounds, G = open_[still], bounds[still], G[still]
        return np.array(sorted(solved, key=lambda x: -solved[x]), dtype=np.intp)

    def coordinates(self, vectors: Floats) -> Floats:
        """Return combinations of the rows in coordinates in which no row is long, (…, r)."""
        return self._pool.coordinates(vectors)

    def roots_on(self, rows: Indices, directions: Floats) -> Floats:
        """Return Σ s|w| for every direction written as a combination of basis rows."""
        return self._roots_on(rows, self.coordinates(directions))

    def _roots_on(self, rows: Indices, G: Floats) -> Floats:
        s = np.ones(len(rows)) if self.s is None else self.s[rows]
        w = np.linalg.solve(self.coordinates(self.A[rows]).T, G.T)
        return np.asarray(s @ np.abs(w))

    def _optimal_rows(self, c: Floats) -> tuple[Indices, float]:
        """Return the rows of the optimal basis and √κ; quick where the pool is everything."""
        if not self._pool_is_all:
            solution = self.solve_within(c)
            return solution.rows, solution.root
        basis = self._pool.start.copy()
        v = self._pool.improve(c, basis)
        return self._pool.rows[basis], float(self.coordinates(c) @ v)

    def _is_free(self, c: Floats) -> bool:
        """Tell whether the free rows alone give the direction."""
        lengths = np.abs(self.space.reduced(self.space.rows)).max(axis=1)
        shares = np.abs(c @ self.space.transform) * lengths
        if shares[self._n_free :].max(initial=0.0) > _CLEAR * shares.max():
            return False
        return self.space.leading.contains(c)

    def _beyond(self, rows: Floats, limits: Floats | None, u: Floats) -> tuple[Indices, Floats]:
        """Return the rows where |a·u| exceeds its limit, and by how much relatively."""
        found, values = rows_beyond(rows, u, limits)
        if not np.isfinite(values).all():
            refuse_non_finite(self.A)
        excess = np.abs(values) - 1.0
        if limits is not None:
            paid = limits[found] > 0.0  # where u vanishes, rounding is no violation
            found, values = found[paid], values[paid]
            excess = np.abs(values) / limits[found] - 1.0
        return found, excess

    def _beyond_despite(
        self, noise: float, u: Floats, pool: _Pool, v: Floats
    ) -> tuple[Indices, Floats]:
        """As `_beyond` for all rows, where a·u is off by up to ``noise``, by v in coordinates."""
        limits = np.ones(len(self.A)) if self.s is None else self.s
        found, _ = rows_beyond(self.A, u, np.maximum(limits - noise, 0.0))
        found = found[limits[found] > 0.0]
        return found, np.abs(pool.coordinates(self.A[found]) @ v) / limits[found] - 1.0

    def _solution(self, c: Floats, paid: Indices, signs: Floats) -> ElfvingSolution:
        """Solve a basis afresh and accurately; the dual may still violate other rows."""
        # Signs of zero say that the free rows do it alone.
        free = self.space.basis[: self._n_free]
        rows = np.concatenate([free, paid]) if len(free) else paid
        s = np.ones(len(rows)) if self.s is None else self.s[rows]
        M = self.space.reduced(self.A[rows])
        solver = RefinedSolver(M)
        w = solver.solve_transposed(self.space.reduced(c))
        target = s.copy()
        target[self._n_free :] *= signs
        if not target.any():
            w[self._n_free :] = 0.0
        v = solver.solve(target)
        noise = 4.0 * _EPS * np.abs(M) @ np.abs(v)
        if (noise > TOLERANCE * s).any():
            # Each row keeps off its own limit by what rounding may add. That costs Σ|w| noise,
            # almost nothing, where shrinking u for the sake of one long row would cost much.
            v = solver.solve(np.sign(target) * np.maximum(s - noise, 0.0))
        u = self.space.lifted(v)
        lengths = np.abs(M).max(axis=1)
        return ElfvingSolution(rows, w, lengths, float(s @ np.abs(w)), u, float(c @ u))


def refuse_outside(space: RowSpace, c: Floats) -> None:
    """Raise where no combination of the rows gives direction c, or where nobody can tell."""
    if space.doubt:
        raise DoubtfulRankError(space.doubt, DOUBT)
    if not space.contains(c):
        raise NotIdentifiableError(
            "no combination of the options' points gives this direction (they span "
            f"{space.rank} of {len(c)} dimensions): it cannot be estimated, however many "
            "evaluations are made."
        )


class _Pool:
    """Rows held in memory, in coordinates (after the leading rows of ``space``) on a basis that
    dominates them, at first the places ``start``, divided by √cost.
    """

    def __init__(
        self, A: Floats, s: Floats | None, rows: Indices, space: RowSpace, start: Indices
    ) -> None:
        self.A, self.s, self.rows, self.space, self.start = A, s, rows, space, start
        self.P = self._priced_coordinates()
        if np.abs(self.P).max(initial=0.0) > _DOMINANT:
            self._dominate()

    def coordinates(self, vectors: Floats) -> Floats:
        """Return vectors in the span as combinations of a_b / s_b over basis rows b."""
        weights = self.space.weights_of(vectors)[..., self.space.n_leading :]
        return weights if self.s is None else weights * self.s[self.rows[self.start]]

    def dual(self, v: Floats) -> Floats:
        """Return u with a·u = coordinates(a)·v."""
        if self.s is not None:
            v = v * self.s[self.rows[self.start]]
        return self.space.transform[:, self.space.n_leading :] @ v

    def improve(self, c: Floats, basis: Indices) -> Floats:
        """Bring the basis to the optimum over the pool, in place, and return the dual vector."""
        v = np.empty(len(basis))
        status = elfving_basis(self.P, self.coordinates(c), basis, v, TOLERANCE, _STEPS)
        if status == -1:
            raise AccuracyError(f"the linear program did not finish in {_STEPS:,} steps.")
        if status == -2:
            raise AccuracyError("the linear program became singular to working precision.")
        return v

    def enlarged(self, new: Indices, basis: Indices) -> _Pool:
        """Return a pool with more rows; a basis keeps its places."""
        rows = np.concatenate([self.rows, new])
        return _Pool(self.A, self.s, rows, self._space_on(basis), basis.copy())

    def _priced_coordinates(self) -> Floats:
        P = self.coordinates(self.A[self.rows])
        if self.s is not None:
            P = P / self.s[self.rows, None]
        return np.ascontiguousarray(P)

    def _space_on(self, places: Indices) -> RowSpace:
        """Return the span with the rows at these places as the basis behind the leading rows."""
        n = self.space.n_leading
        basis = np.concatenate([self.space.basis[:n], self.rows[places]])
        return self.space.rebased(basis, self.A[basis])

    def _dominate(self) -> None:
        """Go over to a basis on which no row of the pool has large coordinates."""
        dominant_basis(self.P, self.start, _DOMINANT)
        self.space = self._space_on(self.start)
        self.P = self._priced_coordinates()


def _newcomers(found: Indices, excess: Floats, pool: Indices) -> Indices:
    """Return rows outside the pool that exceed their limit by more than rounding, the worst."""
    beyond = excess > TOLERANCE
    if not beyond.any():
        return found[:0]
    found, excess = found[beyond], excess[beyond]
    if len(found) > _NEWCOMERS:
        found = found[np.argpartition(-excess, _NEWCOMERS)[:_NEWCOMERS]]
    return np.setdiff1d(found, pool)


def _feasible(solution: ElfvingSolution, c: Floats, excess: float) -> ElfvingSolution:
    """Return the solution with its dual shrunk to be feasible."""
    u = solution.dual / (1.0 + excess)
    return ElfvingSolution(
        solution.rows, solution.weights, solution.lengths, solution.root, u, float(c @ u)
    )


def c_optimal_design(
    points: ArrayLike, direction: ArrayLike, costs: ArrayLike | None = None
) -> Design:
    """Return the cheapest way to estimate ``direction · parameter`` with unit variance.

    Parameters
    ----------
    points
        (k, m) matrix, one row per option.
    direction
        (m,) vector c.
    costs
        (k,) costs ≥ 0 of one evaluation of each option; 1 each if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> design = eh.c_optimal_design([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [0.0, 1.0])
    >>> design.support, round(design.value, 12)   # a slope is best read off the two ends
    (array([0, 2]), 1.0)
    """
    A = as_points(points)
    k, m = A.shape
    c = as_vector(direction, m, "direction")
    if not c.any():
        raise InputError("direction is the zero vector; there is nothing to estimate.")
    cost, s = None, None
    if costs is not None:
        cost = as_vector(costs, k, "costs")
        if cost.min() < 0:
            x = int(np.argmin(cost))
            raise InputError(f"costs[{x}] is {cost[x]}; a cost must be ≥ 0.")
        s = np.sqrt(cost)
        cost.flags.writeable = False  # so that the design need not copy them
    program = ElfvingProgram(A, s)
    design = _design(program.solve(c), k, c, cost, s)
    with program.space.blamed():
        return checked(design, A, program.space.scales, _GAP)


def _design(
    lp: ElfvingSolution, k: int, c: Floats, cost: Floats | None, s: Floats | None
) -> Design:
    """Turn the weights of the program into pulls: μ_x = |w_x| √κ / s_x (the paper's Lemma 9)."""
    # Rows of cost zero would need infinitely many pulls. Their cost is floored, for the pulls only,
    # so that the design costs (1 + FREE_EXCESS) κ; the value stays κ.
    rows, w = lp.support()
    w = np.abs(w)
    if not _LEAST <= float(w.max()) <= 1.0 / _LEAST:
        raise InputError(
            f"this direction takes a weight of {w.max():.3g} on row {int(rows[np.argmax(w)])}, "
            "whose square leaves the range of floats: direction and points differ too much in "
            "size. Choose a unit for the direction, or for the columns, nearer to the other."
        )
    root_cost = np.ones(len(w)) if s is None else s[rows]
    free = root_cost == 0.0
    free_weight = float(w[free].sum())
    if free_weight > 0.0:
        root_cost[free] = FREE_EXCESS * lp.root / free_weight if lp.root > 0.0 else 1.0
    mu = w * float(root_cost @ w) / root_cost
    mass = float(mu.sum())
    weights = np.zeros(k)
    weights[rows] = mu / mass
    weights.flags.writeable = False  # so that the design need not copy them
    value, bound = lp.root**2, max(lp.root_bound, 0.0) ** 2
    excess = FREE_EXCESS if free_weight > 0.0 and lp.root > 0.0 else 0.0
    return Design("c", weights, value, mass, Certificate(value, bound, lp.dual), c, cost, excess)
