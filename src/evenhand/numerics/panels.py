"""Least squares on panels, on the smaller of their two sides.

Notation, beside that of `numerics.least_squares`
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
from typing import Self

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, dense, per_item
from evenhand.numerics.least_squares import Arrow, cross, times_rows

_CHUNK = 8192  # rows made dense at once


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

    # ------------------------------------------------------------------ estimates

    def solve(self, totals: Floats) -> tuple[Floats, Floats]:
        """Return v̂, (i,), and ω̂, (p,), for totals Σ w y of the rows, (u,); see `Arrow.solve`."""
        own, beside = self.form.solve(self.own, self.Z, totals)
        if self.levels is None:
            return own, beside
        omega = np.zeros(len(self.levels) + len(self.others))
        omega[self.levels] = own[1:] - own[0]
        omega[self.others] = beside[self.n_items :]
        return beside[: self.n_items] + own[0], omega

    # ------------------------------------------------------------------ variances

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

    # ------------------------------------------------------------------ rows

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
