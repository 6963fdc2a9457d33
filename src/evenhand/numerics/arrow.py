"""Least squares on panels in arrow form: nothing has the size of options × options.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.numerics.gram import Gram

FULL = 0.05  # share of numbers that are not 0, from which on a matrix is dense for products


@dataclass(frozen=True, eq=False)
class Arrow(Gram):
    """V = Σ w a aᵀ of the rows of a panel, taken apart: S as a `Gram`, and the items."""

    sizes: Floats  # (i,) n_o
    centres: sparse.csr_array  # (i, p) c̄_o; 0 where an item has no rows

    @classmethod
    def of_rows(cls, items: Indices, Z: sparse.csr_array, weights: Floats, n_items: int) -> Self:
        """Return the form of rows with these items, (q,), attributes, (q, p), and weights, (q,)."""
        sizes: Floats = np.asarray(np.bincount(items, weights, n_items), dtype=np.float64)
        sums = sparse.csr_array(per_item(items, weights, n_items) @ Z)
        M = (Z.T @ times_rows(weights, Z)).toarray()
        centres = times_rows(1.0 / np.where(sizes > 0.0, sizes, 1.0), sums)
        S = Gram.of_matrix(M - cross(sums, centres), np.diagonal(M))
        return cls(S.root, S.lost, S.scales, sizes, centres)

    @property
    def rank(self) -> int:
        """Dimension of the span of the rows."""
        return int(np.count_nonzero(self.sizes)) + int(self.root.shape[1])

    def centres_of(self, items: Indices) -> Floats:
        """Return (n, p) the centres of items, dense."""
        return np.asarray(self.centres[items].toarray())

    def value_variances(self, items: Indices, attributes: Floats) -> Floats:
        """Return (n,) the variances of v̂_o + ω̂·u, for one vector u of attributes, (p,)."""
        beside = self.centres_of(items)
        of = self.lengths(beside) + self.lengths(attributes[None, :])
        return self._reciprocals(items) + self.variances(attributes - beside, of)

    def lead_variances(self, leader: int | Indices, items: Indices) -> Floats:
        """Return (n,) the variances of v̂_b − v̂_j, of one b or each its own; 0 where b is j."""
        ahead = np.atleast_1d(leader)
        centre, centres = self.centres_of(ahead), self.centres_of(items)
        of = self.lengths(centres) + self.lengths(centre)
        found = self.variances(centre - centres, of)
        found += self._reciprocals(ahead) + self._reciprocals(items)
        found[items == leader] = 0.0
        return found

    def _reciprocals(self, items: Indices) -> Floats:
        sizes = self.sizes[items]
        return np.where(sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0), np.inf)

    def solve(self, items: Indices, Z: sparse.csr_array, totals: Floats) -> tuple[Floats, Floats]:
        """Return v̂, (i,), and ω̂, (p,), for totals Σ w y of the rows that the form is of, (q,)."""
        # Some solution of the normal equations; only what is estimable in it means anything.
        sums = np.bincount(items, totals, len(self.sizes))
        omega = self.root @ (self.root.T @ (Z.T @ totals - self.centres.T @ sums))
        means = sums / np.where(self.sizes > 0.0, self.sizes, 1.0)
        return means - self.centres @ omega, omega


def per_item(items: Indices, weights: Floats, n_items: int) -> sparse.csr_array:
    """Return (i, q) what adds rows up by their items."""
    q = len(items)
    return sparse.csr_array((weights, (items, np.arange(q))), shape=(n_items, q))


def times_rows(factors: Floats, A: sparse.csr_array) -> sparse.csr_array:
    """Return the rows of a matrix times factors, (n,): quicker than by a diagonal matrix."""
    data = A.data * np.repeat(factors, np.diff(A.indptr))
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def cross(A: sparse.csr_array, B: sparse.csr_array) -> Floats:
    """Return (p, p) AᵀB, dense; by dense matrices where most of it would be dense anyway."""
    if max(A.nnz, B.nnz) > FULL * A.shape[0] * A.shape[1]:
        return np.asarray(A.toarray().T @ B.toarray())
    return np.asarray((A.T @ B).toarray())
