"""Scores that share an error: clusters of rows, and by how much their residuals are too small.

Notation
--------
g       a cluster: the rows of one judge, one item, one session;  H_gg the hat matrix among them
A_g     (I − H_gg)^(−1/2) on what is left of it: A_g e_g has the covariance of the noise, if that
        is alike everywhere (CR2; Bell and McCaffrey, 2002)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.linear.basis import Basis
from evenhand.scores.scores import Codes

_LARGE = 1_500  # rows, and effects, of a cluster beyond which A_g is one number
_SMALL = 64  # rows of a cluster up to which H_gg itself is taken apart
_LOST = 1e-8  # share of a direction that is left, below which nothing is


@dataclass(frozen=True, eq=False)
class _Part:
    """Clusters of one size: their rows, eigenvectors and -values of I − H_gg."""

    rows: NDArray[np.intp]  # (c, s)
    vectors: Floats | None  # (c, s, s); None where A_g is a number
    left: Floats  # (c, s), or (c, 1)

    def scaled(self, v: Floats, power: float) -> Floats:
        """Return (…, c, s) columns times (I − H_gg) to a power."""
        some = v[..., self.rows]
        scale = _powers(self.left, power)
        if self.vectors is None or self.rows.shape[1] == 1:
            return np.asarray(some * scale)
        along = np.matmul(some[..., None, :], self.vectors)[..., 0, :] * scale
        return np.asarray(np.matmul(along[..., None, :], self.vectors.swapaxes(1, 2))[..., 0, :])


@dataclass(frozen=True, eq=False)
class _Wide:
    """One cluster of many rows and few effects: I − H_gg = D − LLᵀ, where D takes off shares of
    the means of levels, so that A_g = (I − MMᵀ)^(−1/2) D^(−1/2), M = D^(−1/2)L, is as good a root.
    """

    rows: NDArray[np.intp]  # (1, s)
    level: Codes  # (s,) from 0
    times: Floats  # (levels,) rows of each
    kept: Floats  # (levels,) what D leaves of a mean
    vectors: Floats  # (s, r) eigenvectors of MMᵀ
    left: Floats  # (r,) 1 less its eigenvalues

    @classmethod
    def of(cls, basis: Basis, rows: NDArray[np.intp]) -> _Wide:
        names, found = np.unique(basis.level[rows], return_inverse=True)
        level = found.reshape(-1).astype(np.int32)
        times = np.bincount(level).astype(np.float64)
        kept = 1.0 - times / basis.counts[names]
        made = cls(rows[None], level, times, kept, np.zeros((0, 0)), np.zeros(0))
        L = np.hstack([basis.G[rows], basis.Q[rows]])
        M = made._by_levels(L.T, -0.5).T
        value, vector = np.linalg.eigh(M.T @ M)
        some = value > 1e-12
        P = M @ (vector[:, some] / np.sqrt(value[some]))
        return cls(rows[None], level, times, kept, P, 1.0 - value[some])

    def _by_levels(self, v: Floats, power: float) -> Floats:
        means = np.stack([np.bincount(self.level, row, len(self.times)) for row in v]) / self.times
        return np.asarray(v + (means * (_powers(self.kept, power) - 1.0))[:, self.level])

    def scaled(self, v: Floats, power: float) -> Floats:
        """Return (…, 1, s) columns times A_g, or A_g(I − H_gg)."""
        some = v[..., self.rows[0]]
        some = self._by_levels(some.reshape(-1, some.shape[-1]), power).reshape(some.shape)
        along = (some @ self.vectors) * (_powers(self.left, power) - 1.0)
        return np.asarray((some + along @ self.vectors.T)[..., None, :])


def _powers(left: Floats, power: float) -> Floats:
    told = left > _LOST
    return np.where(told, np.where(told, left, 1.0) ** power, 0.0)


class Clusters:
    """Clusters of one kind, those of one size done at once."""

    def __init__(self, basis: Basis, codes: Codes) -> None:
        counts = np.bincount(codes)
        if not counts.all():  # names that no row has
            codes = (np.cumsum(counts > 0) - 1)[codes]
            counts = counts[counts > 0]
        self.codes, self.size, self._parts = codes, len(counts), list[_Part | _Wide]()
        order, starts = np.argsort(codes, kind="stable"), np.cumsum(counts) - counts
        for s in np.unique(counts).tolist():
            rows = order[starts[counts == s][:, None] + np.arange(s)]
            if s == 1:
                left = 1.0 - basis.leverage[rows]
                self._parts.append(_Part(rows, np.ones((len(rows), 1, 1)), left))
                continue
            effects = basis.G.shape[1] + basis.Q.shape[1]
            if s > max(_SMALL, 1.5 * effects) and effects <= _LARGE and basis.parts == 1:
                self._parts += [_Wide.of(basis, one) for one in rows]
                continue
            if s > _LARGE:
                mean = 1.0 - basis.leverage[rows].mean(1, keepdims=True)
                self._parts.append(_Part(rows, None, mean))
                continue
            step = max(1, 20_000_000 // (s * s))
            for some in (rows[i : i + step] for i in range(0, len(rows), step)):
                share, vectors = np.linalg.eigh(basis.hat(some))
                self._parts.append(_Part(some, vectors, 1.0 - share))

    def root(self, v: Floats) -> Floats:
        """Return (…, n) columns v with A_g v_g in the rows of every cluster."""
        return self._scaled(v, -0.5)

    def half(self, v: Floats) -> Floats:
        """Return (…, n) columns v with (I − H_gg)^(1/2) v_g in the rows of every cluster."""
        return self._scaled(v, 0.5)

    def _scaled(self, v: Floats, power: float) -> Floats:
        found = np.empty_like(v)
        for part in self._parts:
            found[..., part.rows] = part.scaled(v, power)
        return found
