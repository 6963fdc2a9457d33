"""Least squares on panels, on the smaller of their two sides.

Notation, beside that of `numerics.least_squares`
--------
levels      columns of Z of which a row has one at the most, and there a 1: leniencies of evaluators
            (the first of whom has none)
g, h        (n, i), (n, p)  what a combination of the coefficients (v; ω) has of each
σ²          (u,)  how loud a row is, where rows differ

Either side of a panel may have the diagonal block. Where there are more levels than items, levels
have it: a row is then (e_j; z) with j its level, 0 if it has none, and z = (e_o; other columns).
All rows together span the same. A combination Σ c_o v_o + Σ d_j λ_j, levels measured from those who
have none, has the coefficient Σc − Σd for j = 0. What is inverted has the size of the smaller side,
and everything else is sums over rows, or rows times that size.

Estimates are linear in the scores: the combination (g; h) has the weight √w (g_j/n_j + (z − c̄_j)·x)
of a row's, with x = S⁺(h − gC̄). So if rows have variances σ², its variance is

    Σ g_j² n'_j/n_j² + 2 Σ g_j/n_j (q'_j − n'_j c̄_j)·x + xᵀT x,    n'_j = Σ w σ²,  q'_j = Σ w σ² z,
    T = Σ w σ² (z − c̄_j)(z − c̄_j)ᵀ,

sums over the rows of j; and Σ g²/n + xᵀS x where all σ² are 1. Two rows have
√w √w' ([j = j']/n_j + (z − c̄_j)ᵀS⁺(z' − c̄_j')) in the hat matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.numerics.least_squares import FULL, Arrow, cross, per_item
from evenhand.numerics.tolerance import IN_SPAN

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
        levels: np.ndarray | None = None,
    ) -> Self:
        """Return the form of rows with these items, (u,), attributes, (u, p), and weights, (u,);
        ``levels`` says, (p,), which columns may be levels; without it none are.
        """
        (some,) = np.nonzero(np.zeros(Z.shape[1], dtype=bool) if levels is None else levels)
        (others,) = np.nonzero(np.ones(Z.shape[1], dtype=bool) if levels is None else ~levels)
        level = None
        if len(some) > n_items:
            level = _level_of(sparse.csr_array(Z[:, some]))
        if level is None:
            form, own, beside = Arrow.of_rows(items, Z, weights, n_items), items, Z
        else:
            q = len(items)
            e = sparse.csr_array((np.ones(q), (np.arange(q), items)), shape=(q, n_items))
            own, beside = level, sparse.csr_array(sparse.hstack([e, Z[:, others]]))
            form = Arrow.of_rows(own, beside, weights, len(some) + 1)
        turned = None if level is None else some
        return cls(form, own, beside, weights, n_items, turned, others)

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
        found = self._variances(self._leads(leader, items), _nothing(len(items), self._p))
        found[items == leader] = 0.0
        return found

    def value_variances(self, items: Indices, attributes: Floats) -> Floats:
        """Return (n,) the variances of v̂_o + ω̂·u, for one vector u of attributes, (p,)."""
        n = len(items)
        some = sparse.csr_array((np.ones(n), (np.arange(n), items)), shape=(n, self.n_items))
        return self._variances(some, _nothing(n, self._p), attributes)

    def variances(self, rows: Floats) -> Floats:
        """Return (n,) the variances of combinations, (n, p), of ω̂."""
        # What most of them have in common, such as the mean that they are deviations from, is
        # multiplied once.
        none, every = _nothing(len(rows), self.n_items), _in_most(rows)
        apart = sparse.csr_array(rows - every)
        if 2 * apart.nnz > np.count_nonzero(rows):
            return self._variances(none, sparse.csr_array(rows))
        return self._variances(none, apart, every)

    @property
    def _p(self) -> int:
        if self.levels is None:
            return int(self.Z.shape[1])
        return len(self.levels) + len(self.others)

    def _leads(self, leader: int | Indices, items: Indices) -> sparse.csr_array:
        n = len(items)
        at = np.concatenate([np.full(n, leader), items])
        signs, rows = np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)
        return sparse.csr_array((signs, (rows, at)), shape=(n, self.n_items))

    def _placed(
        self, c: sparse.csr_array, d: sparse.csr_array
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return g and h of combinations that have c of the items, (n, i), and d of ω, (n, p)."""
        if self.levels is None:
            return c, d
        some = sparse.csr_array(d[:, self.levels])
        first = sparse.csr_array((c.sum(axis=1) - some.sum(axis=1))[:, None])
        return (
            sparse.csr_array(sparse.hstack([first, some])),
            sparse.csr_array(sparse.hstack([c, d[:, self.others]])),
        )

    def _variances(
        self, c: sparse.csr_array, d: sparse.csr_array, every: Floats | None = None
    ) -> Floats:
        """Return (n,) variances; ``every``, (p,), is what all of them have of ω besides."""
        form, inverse = self.form, self._inverse
        g, h = self._placed(c, d)
        g0, h0 = np.zeros(len(form.sizes)), np.zeros(form.centres.shape[1])
        if every is not None:
            extra, beside = self._placed(_nothing(1, self.n_items), sparse.csr_array(every[None]))
            g0, h0 = extra.toarray()[0], beside.toarray()[0]
        seen = form.sizes > 0.0
        own = np.divide(1.0, form.sizes, out=np.zeros(len(seen)), where=seen)
        found = g.multiply(g) @ own + 2.0 * (g @ (own * g0)) + own @ g0**2
        base = h0 - g0 @ form.centres
        for begin in range(0, len(found), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            reach = thin(sparse.csr_array(h[part] - g[part] @ form.centres))
            found[part] += _rowwise(reach @ inverse, reach)
            found[part] += 2.0 * (reach @ (inverse @ base))
            if form.lost.shape[1]:
                beside = np.linalg.norm(reach @ form.lost + base @ form.lost, axis=1)
                found[part][beside > IN_SPAN * self._lengths(g[part], h[part], g0, h0)] = np.inf
        found += base @ inverse @ base
        unseen = np.abs(_sum_of(g, ~seen) + (np.abs(g0) * ~seen).sum()) > 0.0
        return np.where(unseen, np.inf, np.maximum(found, 0.0))

    def _lengths(self, g: sparse.csr_array, h: sparse.csr_array, g0: Floats, h0: Floats) -> Floats:
        """Return (n,) the length, in scaled columns, of what combinations are differences of."""
        # Not less than the length of the sum of what all of them have, and of what each has.
        scale, sizes = 1.0 / self.form.scales, abs(self.form.centres)
        some = sparse.csr_array((abs(h) + abs(g) @ sizes) * scale)
        every = float(np.linalg.norm((np.abs(h0) + np.abs(g0) @ sizes) * scale))
        return np.asarray(np.sqrt(some.multiply(some).sum(axis=1))) + every

    # ------------------------------------------------------------------ rows

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(self.form.inverse)

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
        x = self._inverse @ (self.Z.T @ (root * left))
        return np.asarray(left - root * (self.Z @ x - (self.form.centres @ x)[self.own]))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for the hat matrix H and Σ with this diagonal, (u,)."""
        totals, tilt, T = self._sums(variances)
        sizes = np.where(self.form.sizes > 0.0, self.form.sizes, 1.0)
        turned = T @ self._inverse
        across = sparse.diags_array(np.sqrt(sizes)) @ tilt
        beside = float((across @ self._inverse * across.toarray()).sum())
        return float(((totals / sizes) ** 2).sum() + 2.0 * beside + (turned * turned.T).sum())

    def _sums(self, variances: Floats) -> tuple[Floats, sparse.csr_array, Floats]:
        """Return n', (i,), (q' − n'c̄)/n, (i, p), and T, (p, p)."""
        form, louder = self.form, self.weights * variances
        n = np.asarray(np.bincount(self.own, louder, len(form.sizes)), dtype=np.float64)
        sums = sparse.csr_array(per_item(self.own, louder, len(n)) @ self.Z)
        apart = sums - sparse.diags_array(n) @ form.centres
        M = (self.Z.T @ (sparse.diags_array(louder) @ self.Z)).toarray()
        across = cross(form.centres, sparse.csr_array(apart))
        inner = cross(form.centres, sparse.csr_array(sparse.diags_array(n) @ form.centres))
        T = M - across - across.T - inner
        over = 1.0 / np.where(form.sizes > 0.0, form.sizes, 1.0)
        return n, sparse.csr_array(sparse.diags_array(over) @ apart), np.asarray(T)


def thin(rows: sparse.csr_array) -> Floats | sparse.csr_array:
    """Return rows dense, unless products with them are cheaper as they are."""
    n, m = rows.shape
    return rows if rows.nnz <= FULL * n * m else np.asarray(rows.toarray())


def _rowwise(dense: Floats, rows: Floats | sparse.csr_array) -> Floats:
    """Return (n,) the products of rows with those of another matrix."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", dense, rows))
    return np.asarray(rows.multiply(dense).sum(axis=1))


def _level_of(Z: sparse.csr_array) -> Indices | None:
    """Return (u,) which of the columns a row has, from 1 on, or 0; None if these are no levels."""
    number = np.diff(Z.indptr)
    if (number > 1).any() or (Z.data != 1.0).any():
        return None
    level = np.zeros(len(number), dtype=np.intp)
    level[number == 1] = 1 + Z.indices
    return level


def _in_most(rows: Floats) -> Floats:
    """Return (p,) what two of the last three rows have, entry by entry; 0 where they all differ."""
    if len(rows) < 3:
        return np.zeros(rows.shape[1])
    a, b, c = rows[-3:]
    return np.asarray(np.where((a == b) | (a == c), a, np.where(b == c, b, 0.0)))


def _nothing(n: int, m: int) -> sparse.csr_array:
    return sparse.csr_array((n, m))


def _sum_of(g: sparse.csr_array, which: np.ndarray) -> Floats:
    return np.asarray(abs(g) @ which.astype(np.float64))
