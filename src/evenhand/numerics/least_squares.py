"""Least squares on rows: what they identify, and how precisely.

`Gram`: V = Σ w a aᵀ over rows a with weights w. A direction u has the variance uᵀV⁻u per unit of
noise if it lies in the range of V, and an infinite one elsewhere; no solution of least norm is ever
taken for an answer. What counts in V is judged by its eigenvalues, in units of rows and columns in
which these are comparable.

`Svd`: A = U diag(s) Wᵀ diag(c), for rows A, (q, m), whose columns have the largest entries c.
Scaled like that, the units of columns do not matter to what counts as rounding.

`Arrow`, for panels: nothing has the size of options × options.

Notation
--------
a = (e_o; z)    (i + p,)  row of a question about item o: a 1 for the item, then attributes z
w               weights of the rows: how often it was asked, over its squared relative noise
n, c̄            (i,), (i, p)  n_o = Σw over the rows of an item, and c̄_o the mean of their z
M = Σ w z zᵀ,   S = M − Σ n_o c̄_o c̄_oᵀ = Σ w (z − c̄_o)(z − c̄_o)ᵀ      (p, p)

V = Σ w a aᵀ has a diagonal block of items, so that S, the Schur complement, is all that has to be
inverted. For the coefficients (v; ω), with V⁺ on its range,

    ω̂ = S⁺ Σ w y (z − c̄_o),   v̂_o = ȳ_o − c̄_o·ω̂,   var(ω̂·u) = uᵀS⁺u,
    var(v̂_o + ω̂·u) = 1/n_o + (u − c̄_o)ᵀS⁺(u − c̄_o),
    var(v̂_b − v̂_j) = 1/n_b + 1/n_j + (c̄_b − c̄_j)ᵀS⁺(c̄_b − c̄_j).

The null space of V is that of S, with v_o = −c̄_o·ω: so a combination is estimable if and only if
the vector beside S⁺ above lies in the range of S. Elsewhere its variance is infinite; no solution
of least norm is ever taken. The rank of S is judged in units in which M has a unit diagonal.

`PanelForm`: `Arrow` on the smaller of the two sides of a panel.

Notation
--------
levels      columns of Z of which a row has one at the most, and there a 1: leniencies of evaluators
            (the first of whom has none)
g, h        what a combination of the coefficients (v; ω) has of each
σ²          (u,)  how loud a row is, where rows differ

Either side of a panel may have the diagonal block. Where there are more levels than items, levels
have it: a row is then (e_j; z) with j its level, 0 if it has none, and z = (e_o; other columns).
All rows together span the same. A combination Σ c_o v_o + Σ d_j λ_j, levels measured from those who
have none, has the coefficient Σc − Σd for j = 0. What is inverted has the size of the smaller side,
and everything else is sums over rows, or rows times that size.

With rows of variances σ², n'_j = Σ w σ², q'_j = Σ w σ² z and T = Σ w σ² (z − c̄_j)(z − c̄_j)ᵀ are
sums over the rows of j. Two rows have √w √w' ([j = j']/n_j + (z − c̄_j)ᵀS⁺(z' − c̄_j')) in the hat
matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import FEW, Floats, Indices, Rows, dense, per_item, thin
from evenhand.numerics.tolerance import EXACT, EXACT_IN_SPAN, IN_SPAN, RANK


@dataclass(frozen=True, eq=False)
class Gram:
    """A Gram matrix V, taken apart."""

    root: Floats  # (r, s) with root·rootᵀ a generalised inverse of V, s the rank
    # (r, r − s) columns that span what V says nothing of; orthonormal once rows are multiplied by
    # the scales
    lost: Floats
    scales: Floats  # (r,) units of the rows of V

    @staticmethod
    def of_matrix(V: Floats, sizes: Floats) -> Gram:
        """Return the form of a symmetric matrix; eigenvalues count beyond the share `RANK`."""
        # ``sizes``, (r,), are the diagonal of what V is, or is the rest of: beside their roots its
        # rows are comparable, and what is tiny beside them is rounding.
        scales = np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
        values, vectors = np.linalg.eigh(V / np.outer(scales, scales))
        inside = values > RANK * values[-1:].max(initial=1.0)
        vectors /= scales[:, None]
        root = vectors[:, inside] / np.sqrt(values[inside])
        # in the order of arrays that come back from a file: products then agree to the bit
        return Gram(np.ascontiguousarray(root), np.ascontiguousarray(vectors[:, ~inside]), scales)

    @cached_property
    def inverse(self) -> Floats:
        """(r, r) a generalised inverse of V."""
        return np.asarray(self.root @ self.root.T)

    def variances(self, directions: Rows, of: Floats | None = None) -> Floats:
        """Return (n,) the variances of directions, (n, r); see `outside`."""
        along = directions @ self.root
        found = np.asarray(np.einsum("ij,ij->i", along, along))
        found[self.outside(directions, of)] = np.inf
        return found

    def outside(self, directions: Rows, of: Floats | None = None) -> NDArray[np.bool_]:
        """Tell (n,) which directions do not lie in the range of V; ``of`` is how large, by
        `lengths`, that is which they are differences of, they themselves if not given.
        """
        if not self.lost.shape[1]:
            return np.zeros(directions.shape[0], dtype=np.bool_)
        beside = np.linalg.norm(directions @ self.lost, axis=1)
        return np.asarray(
            beside > IN_SPAN * (self.lengths(dense(directions)) if of is None else of)
        )

    def lengths(self, directions: Floats) -> Floats:
        """Return (n,) the lengths of directions, (n, r), in units of the scales."""
        return np.asarray(np.linalg.norm(directions / self.scales, axis=-1))


def gram(rows: Floats, weights: Floats) -> Floats:
    """Return V = Σ w a aᵀ, (r, r)."""
    return np.asarray((rows * weights[:, None]).T @ rows)


@dataclass(frozen=True, eq=False)
class Svd:
    """The singular value decomposition of rows, without what is rounding."""

    U: Floats  # (q, r) orthonormal columns
    sizes: Floats  # (r,) singular values
    W: Floats  # (m, r) orthonormal columns
    scales: Floats  # (m,) c; 1 where a column is 0

    @classmethod
    def of(cls, rows: Floats) -> Self:
        """Return the decomposition of rows, (q, m)."""
        scales = np.abs(rows).max(axis=0, initial=0.0)
        scales[scales == 0.0] = 1.0
        U, sizes, Wt = np.linalg.svd(rows / scales, full_matrices=False)
        span = sizes > EXACT * sizes.max(initial=0.0)
        return cls(U[:, span], sizes[span], Wt[span].T, scales)

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.sizes)

    @property
    def coordinates(self) -> Floats:
        """(m, r) C with A C = U, so that Σ (aC)ᵀ(aC) over the rows is the unit matrix."""
        return np.asarray(self.W / self.sizes / self.scales[:, None])

    def weights(self, targets: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return (n, r) w, and (n,) whether the rows show targets, (n, m), at all."""
        # Least squares on y estimates a target's combination of the coefficients by w·Uᵀy, with the
        # variance w·w per unit of noise.
        T = targets / self.scales
        inside = T @ self.W
        off = np.abs(T - inside @ self.W.T).max(axis=1, initial=0.0)
        seen = np.asarray(off <= EXACT_IN_SPAN * np.abs(T).max(axis=1, initial=0.0))
        return np.asarray(inside / self.sizes), seen

    def variances(self, targets: Floats) -> Floats:
        """Return (n,) the variances of targets, (n, m), per unit of noise; infinite if not seen."""
        weights, seen = self.weights(targets)
        return np.where(seen, (weights**2).sum(axis=1), np.inf)

    # The span of the rows, with the hat matrix H = UUᵀ; `PanelForm` has the same.

    def without(self, y: Floats) -> Floats:
        """Return (q,) (I − H)y."""
        return np.asarray(y - self.U @ (self.U.T @ y))

    def leverages(self) -> Floats:
        """Return (q,) the diagonal of H."""
        return np.asarray(np.einsum("ij,ij->i", self.U, self.U))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) = ‖UᵀΣU‖² for Σ with this diagonal."""
        inner = self.U.T @ (variances[:, None] * self.U)
        return float((inner**2).sum())


_CHUNK = 8192  # rows worked on at once


@dataclass(frozen=True, eq=False)
class Arrow(Gram):
    """V = Σ w a aᵀ of the rows of a panel, taken apart: S as a `Gram`, and the items."""

    sizes: Floats  # (i,) n_o
    centres: Rows  # (i, p) c̄_o; 0 where an item has no rows
    reciprocals: Floats  # (i,) 1/n_o
    reaches: Floats  # (i,) lengths of centres, in units of the scales

    @classmethod
    def of_rows(cls, items: Indices, Z: sparse.csr_array, weights: Floats, n_items: int) -> Self:
        """Return the form of rows with these items, (q,), attributes, (q, p), and weights, (q,)."""
        A = Z.toarray() if Z.shape[0] * Z.shape[1] <= FEW else Z
        sizes: Floats = np.asarray(np.bincount(items, weights, n_items), dtype=np.float64)
        seen, over = sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        sums = thin(per_item(items, weights, n_items) @ A)
        M = dense(A.T @ times_rows(weights, A))
        centres = times_rows(over, sums)
        S = Gram.of_matrix(M - cross(sums, centres), np.diagonal(M))
        squares = centres**2 if isinstance(centres, np.ndarray) else centres.multiply(centres)
        reaches = np.sqrt(squares @ S.scales**-2.0)
        reciprocals = np.where(seen, over, np.inf)
        return cls(S.root, S.lost, S.scales, sizes, centres, reciprocals, reaches)

    @property
    def rank(self) -> int:
        """Dimension of the span of the rows."""
        return int(np.count_nonzero(self.sizes)) + int(self.root.shape[1])

    def lead_variances(self, leader: int | Indices, items: Indices) -> Floats:
        """Return (n,) the variances of v̂_b − v̂_j, of one b or each its own; 0 where b is j."""
        ahead = np.broadcast_to(leader, items.shape)
        found: Floats = self.reciprocals[ahead] + self.reciprocals[items]
        of = self.reaches[ahead] + self.reaches[items]
        for begin in range(0, len(items), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            reach = self.centres[ahead[part]] - self.centres[items[part]]
            found[part] += self.variances(reach, of[part])
        found[items == ahead] = 0.0
        return found

    def value_variances(self, items: Indices, attributes: Floats) -> Floats:
        """Return (n,) the variances of v̂_o + ω̂·u, for one vector u of attributes, (p,)."""
        found = self.reciprocals[items]
        of = self.reaches[items] + self.lengths(attributes)
        for begin in range(0, len(items), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            reach = attributes - dense(self.centres[items[part]])
            found[part] += self.variances(reach, of[part])
        return found

    def solve(self, items: Indices, Z: sparse.csr_array, totals: Floats) -> tuple[Floats, Floats]:
        """Return v̂, (i,), and ω̂, (p,), for totals Σ w y of the rows that the form is of, (q,)."""
        # Some solution of the normal equations; only what is estimable in it means anything.
        sums = np.bincount(items, totals, len(self.sizes))
        omega = self.root @ (self.root.T @ (Z.T @ totals - self.centres.T @ sums))
        means = sums / np.where(self.sizes > 0.0, self.sizes, 1.0)
        return means - self.centres @ omega, omega


def times_rows(factors: Floats, A: Rows) -> Any:
    """Return the rows of a matrix times factors, (n,): quicker than by a diagonal matrix."""
    if isinstance(A, np.ndarray):
        return A * factors[:, None]
    data = A.data * np.repeat(factors, np.diff(A.indptr))
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def cross(A: Rows, B: Rows) -> Floats:
    """Return (p, p) AᵀB, dense; by dense matrices where most of it would be dense anyway."""
    both = thin(A), thin(B)
    if any(isinstance(one, np.ndarray) for one in both):
        A, B = dense(A), dense(B)
    return dense(A.T @ B)


@dataclass(frozen=True, eq=False)
class PanelForm:
    """Least squares on rows (e_o; z) of a panel."""

    form: Arrow  # the design
    own: Indices  # (u,) with Z and weights the rows of that form
    Z: sparse.csr_array  # (u, p)
    weights: Floats  # (u,)
    n_items: int
    # columns of the attributes that are; None where items have the diagonal block
    levels: Indices | None
    others: Indices  # and those that are not

    @classmethod
    def of(
        cls,
        items: Indices,
        Z: sparse.csr_array,
        weights: Floats,
        n_items: int,
        levels: np.ndarray,
    ) -> Self:
        """Return the form of rows with these items, (u,), attributes, (u, p), and weights, (u,);
        ``levels`` says, (p,), which columns may be levels.
        """
        some, others = np.flatnonzero(levels), np.flatnonzero(~levels)
        level = _level_of(sparse.csr_array(Z[:, some])) if len(some) > n_items else None
        if level is None:
            form = Arrow.of_rows(items, Z, weights, n_items)
            return cls(form, items, Z, weights, n_items, None, others)
        q = len(items)
        e = sparse.csr_array((np.ones(q), (np.arange(q), items)), shape=(q, n_items))
        beside = sparse.csr_array(sparse.hstack([e, Z[:, others]]))
        form = Arrow.of_rows(level, beside, weights, len(some) + 1)
        return cls(form, level, beside, weights, n_items, some, others)

    @property
    def rank(self) -> int:
        """Dimension of the span of the rows."""
        return self.form.rank

    def solve(self, totals: Floats) -> tuple[Floats, Floats]:
        """Return v̂, (i,), and ω̂, (p,), for totals Σ w y of the rows, (u,); see `Arrow.solve`."""
        own, beside = self.form.solve(self.own, self.Z, totals)
        if self.levels is None:
            return own, beside
        omega = np.zeros(len(self.levels) + len(self.others))
        omega[self.levels] = own[1:] - own[0]
        omega[self.others] = beside[self.n_items :]
        return beside[: self.n_items] + own[0], omega

    def lead_variances(self, leader: int | Indices, items: Indices) -> Floats:
        """Return (n,) the variances of v̂_b − v̂_j, of one b or each its own; 0 where b is j."""
        if self.levels is None:
            return self.form.lead_variances(leader, items)
        e = np.eye(self.n_items, self.form.centres.shape[1])
        return self.form.variances(e[leader] - e[items])

    def value_variances(self, items: Indices, attributes: Floats) -> Floats:
        """Return (n,) the variances of v̂_o + ω̂·u, for one vector u of attributes, (p,)."""
        form, u = self.form, attributes
        if self.levels is None:
            return form.value_variances(items, u)
        g = np.append(1.0 - u[self.levels].sum(), u[self.levels])
        shared = np.append(np.zeros(self.n_items), u[self.others])
        e = np.eye(self.n_items, len(shared))[items]
        of = form.lengths(e) + form.lengths(np.abs(shared) + np.abs(g) @ abs(form.centres))
        own = float((g[g != 0.0] ** 2 * form.reciprocals[g != 0.0]).sum())
        return own + form.variances(e + shared - g @ form.centres, of)

    @cached_property
    def _centres(self) -> Floats:
        """(i, r) C̄R, for S⁺ = RRᵀ."""
        return np.asarray(self.form.centres @ self.form.root)

    def _along(self, rows: Indices) -> Floats:
        """Return (n, r) √w (z − c̄_j)ᵀR of rows."""
        z = self.Z[rows] @ self.form.root - self._centres[self.own[rows]]
        return np.asarray(z * np.sqrt(self.weights[rows])[:, None])

    @property
    def _shares(self) -> Floats:
        """(u,) w/n_j of the rows."""
        return self.weights / self.form.sizes[self.own]

    def leverages(self) -> Floats:
        """Return (u,) the diagonal of the hat matrix."""
        h = self._shares.copy()
        for begin in range(0, len(h), _CHUNK):
            some = np.arange(begin, min(begin + _CHUNK, len(h)))
            U = self._along(some)
            h[some] += np.einsum("ij,ij->i", U, U)
        return h

    def without(self, y: Floats) -> Floats:
        """Return (u,) y, in units of √w, less what the rows' span has of it."""
        root, n = np.sqrt(self.weights), np.where(self.form.sizes > 0.0, self.form.sizes, 1.0)
        means = np.bincount(self.own, root * y, len(n)) / n
        left = y - root * means[self.own]
        x = self.form.inverse @ (self.Z.T @ (root * left))
        return np.asarray(left - root * (self.Z @ x - (self.form.centres @ x)[self.own]))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for the hat matrix H and Σ with this diagonal, (u,)."""
        form, louder, inverse = self.form, self.weights * variances, self.form.inverse
        n: Floats = np.asarray(np.bincount(self.own, louder, len(form.sizes)), dtype=np.float64)
        sizes = np.where(form.sizes > 0.0, form.sizes, 1.0)
        moved = times_rows(n, form.centres)  # n'c̄
        apart = per_item(self.own, louder, len(n)) @ self.Z - moved  # q' − n'c̄
        across = cross(form.centres, apart)
        T = dense(self.Z.T @ times_rows(louder, self.Z)) - cross(form.centres, moved)
        turned = (T - across - across.T) @ inverse
        tilt = dense(times_rows(1.0 / np.sqrt(sizes), apart))
        beside = float((tilt @ inverse * tilt).sum())
        return float(((n / sizes) ** 2).sum() + 2.0 * beside + (turned * turned.T).sum())


def _level_of(Z: sparse.csr_array) -> Indices | None:
    """Return (u,) which of the columns a row has, from 1 on, or 0; None if these are no levels."""
    number = np.diff(Z.indptr)
    if (number > 1).any() or (Z.data != 1.0).any():
        return None
    level = np.zeros(len(number), dtype=np.intp)
    level[number == 1] = 1 + Z.indices
    return level
