"""Elfving's linear program, exactly, over as many rows as there are.

    √κ_c = min { Σ s_x |w_x| : Σ w_x a_x = c } = max { c·u : |a_x·u| ≤ s_x }       (s_x = √cost_x)

Solved by the compiled simplex on a pool of rows; a pass over all rows finds those that the dual
vector u violates, which join the pool, until there are none. Rows of cost zero are free columns:
u vanishes on them, so the program is solved in the directions orthogonal to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.designs._simplex import elfving_basis
from evenhand.errors import AccuracyError, NotIdentifiableError
from evenhand.linalg import (
    Floats,
    Indices,
    RefinedSolver,
    products,
    refuse_non_finite,
    row_space,
    sample_rows,
)

TOLERANCE = 1e-9
"""How far |a·u| may exceed √cost, relatively, before its row has to enter the basis."""

_IN_SPAN = 1e-8  # relative distance from the span below which a direction lies in it
_POOL_PER_COLUMN = 48  # rows in the first pool, per column
_MIDDLE = 32768  # rows of the level between the pool and everything
_STEPS = 50_000  # more than any program of this kind has been seen to need
_NEWCOMERS = 4096  # violators that join the pool at once


@dataclass(frozen=True)
class ElfvingSolution:
    """Primal and dual solution of the program for one direction.

    Parameters
    ----------
    rows, weights
        Indices x and signed weights w_x with Σ w_x a_x = c; at most m of them.
    lengths
        Lengths of those rows, columns equilibrated: |w_x| times them is what row x contributes.
    root
        Σ s_x |w_x| = √κ.
    dual
        u with |a_x·u| ≤ s_x for all x.
    root_bound
        c·u ≤ √κ.
    """

    rows: Indices
    weights: Floats
    lengths: Floats
    root: float
    dual: Floats
    root_bound: float


class ElfvingProgram:
    """The programs of all directions over the same rows and costs.

    Parameters
    ----------
    A
        (k, m) points.
    s
        (k,) square roots of the costs, or None for unit costs.
    """

    def __init__(self, A: Floats, s: Floats | None = None) -> None:
        self.A, self.s = A, s
        k, m = A.shape
        sample = sample_rows(k, _POOL_PER_COLUMN * m)
        self.has_free = s is not None and not s.all()
        free = np.flatnonzero(s == 0.0) if self.has_free else None
        self.space = row_space(A, sample, free)
        self.n_free = self.space.n_leading
        # coordinates modulo the free rows: those on the rest of the basis
        self.T = np.ascontiguousarray(self.space.transform[:, self.n_free :])
        paid = self.space.basis[self.n_free :]
        if self.has_free:
            sample = sample[self.s[sample] > 0.0]
        self.pool = np.concatenate([paid, sample])
        self.P = self._coordinates(self.pool)
        if not np.isfinite(self.P).all():
            refuse_non_finite(A)

    def solve(self, c: Floats) -> ElfvingSolution:
        """Return the solution for direction c, or raise `NotIdentifiableError`."""
        distance = self.space.distance(c)
        if distance > _IN_SPAN:
            raise NotIdentifiableError(
                "no combination of the options' points gives this direction "
                f"(relative distance {distance:.2g} from their span, of dimension "
                f"{self.space.rank}): it cannot be estimated, however many evaluations are made."
            )
        return self._solution(c, *self._optimal_basis(c))

    def largest(self, directions: Floats, tol: float = 1e-9) -> Indices:
        """Return the directions (rows) that may have the largest √κ, the largest first.

        The basis of one solution writes every direction as a combination of rows, whose weights
        bound its √κ from above. So only directions are solved whose bound exceeds the largest
        value yet.
        """
        C = self.space.coordinates
        targets = directions @ C
        (open_,) = np.nonzero(np.abs(targets).max(axis=1) > 0.0)
        bounds = np.full(len(open_), np.inf)
        solved: dict[int, float] = {}
        best = 0.0
        while len(open_):
            at = int(np.argmax(bounds))
            x = int(open_[at])
            paid, signs = self._optimal_basis(directions[x])
            rows = self._with_free(paid)
            s = np.ones(len(rows)) if self.s is None else self.s[rows]
            weights = np.linalg.solve((self.A[rows] @ C).T, targets[open_].T)
            np.minimum(bounds, s @ np.abs(weights), out=bounds)
            solved[x] = float(bounds[at])
            best = max(best, solved[x])
            bounds[at] = 0.0
            still = bounds > best * (1.0 + tol)
            open_, bounds = open_[still], bounds[still]
        return np.array(sorted(solved, key=lambda x: -solved[x]), dtype=np.intp)

    def roots_on(self, solution: ElfvingSolution, directions: Floats) -> Floats:
        """Return Σ s|w| for every direction written as a combination of the solution's rows."""
        C = self.space.coordinates
        w = np.linalg.solve((self.A[solution.rows] @ C).T, (directions @ C).T)
        s = np.ones(len(w)) if self.s is None else self.s[solution.rows]
        return np.asarray(s @ np.abs(w))

    def _with_free(self, paid: Indices) -> Indices:
        """Return the whole basis: the free rows that lead it, and the given ones."""
        return np.concatenate([self.space.basis[: self.n_free], paid])

    def _optimal_basis(self, c: Floats) -> tuple[Indices, Floats]:
        """Return the rows of an optimal basis, free rows apart, and the signs of their weights."""
        g = c @ self.T
        basis = np.arange(self.T.shape[1])
        if np.abs(g).max(initial=0.0) <= _IN_SPAN * np.abs(c @ self.space.transform).max():
            return self.pool[basis], np.zeros(len(basis))  # free altogether
        pool, P = self.pool, self.P
        v = _improve(P, g, basis)
        for level in self._levels():
            known = np.zeros(len(self.A), dtype=bool)
            known[pool] = True
            while True:
                new = self._violators(level, self.T @ v)
                new = new[~known[new]]
                if len(new) == 0:
                    break
                known[new] = True
                pool = np.concatenate([pool, new])
                P = np.concatenate([P, self._coordinates(new)])
                v = _improve(P, g, basis)
        return pool[basis], np.sign(P[basis] @ v)

    def _levels(self) -> list[Indices | None]:
        """Return the sets of rows to satisfy, one after the other; None is all of them."""
        k = len(self.A)
        everything: list[Indices | None] = [None] if k > _POOL_PER_COLUMN * self.A.shape[1] else []
        return [sample_rows(k, _MIDDLE), *everything] if k > 8 * _MIDDLE else everything

    def _coordinates(self, rows: Indices) -> Floats:
        """Return the rows on the basis of the row space, divided by the root of their cost."""
        P = self.A[rows] @ self.T
        if self.s is not None:
            P /= self.s[rows, None]
        return np.ascontiguousarray(P)

    def _violators(self, level: Indices | None, u: Floats) -> Indices:
        """Return the rows of a level on which u is too large, the worst ones if they are many."""
        excess = self._ratios(level, u)
        (found,) = np.nonzero(excess > 1.0 + TOLERANCE)
        if len(found) > _NEWCOMERS:
            found = found[np.argpartition(-excess[found], _NEWCOMERS)[:_NEWCOMERS]]
        return found if level is None else level[found]

    def _ratios(self, level: Indices | None, u: Floats) -> Floats:
        """Return |a·u| / s for the rows of a level; 0 for free rows."""
        A = self.A if level is None else self.A[level]
        y = products(A, u)
        np.abs(y, out=y)
        if self.s is not None:
            s = self.s if level is None else self.s[level]
            with np.errstate(divide="ignore", invalid="ignore"):
                y /= s
            if self.has_free:
                y[s == 0.0] = 0.0
        if not np.isfinite(y.max(initial=0.0)):
            refuse_non_finite(self.A)
        return y

    def _solution(self, c: Floats, paid: Indices, signs: Floats) -> ElfvingSolution:
        """Solve the last basis afresh and accurately, and scale the dual to be feasible."""
        rows = self._with_free(paid)
        s = np.ones(len(rows)) if self.s is None else self.s[rows]
        C = self.space.coordinates
        M = self.A[rows] @ C
        solver = RefinedSolver(M)
        w = solver.solve_transposed(c @ C)
        target = s.copy()
        target[self.n_free :] *= signs
        u = C @ solver.solve(target)
        u /= max(float(self._ratios(None, u).max()), 1.0)
        lengths = np.sqrt(np.einsum("ij,ij->i", M, M))
        return ElfvingSolution(rows, w, lengths, float(s @ np.abs(w)), u, float(c @ u))


def _improve(P: Floats, g: Floats, basis: Indices) -> Floats:
    """Bring the basis to the optimum over the rows of P, in place, and return the dual vector."""
    v = np.empty(len(basis))
    status = elfving_basis(P, g, basis, v, TOLERANCE, _STEPS)
    if status == -1:
        raise AccuracyError(f"the linear program did not finish in {_STEPS:,} steps.")
    if status == -2:
        raise AccuracyError("the linear program became singular to working precision.")
    return v
