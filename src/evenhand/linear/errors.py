"""Errors of contrasts: one method for every lead, value, severity and bias.

Notation
--------
w           weights of a contrast (`basis`): its estimate is w·y;  S = w·w;  e residuals
s²          Σe²/ν with ν = n − rank: the noise, were it alike
g           a cluster: rows of one judge, one item, one session;  H_gg the hat matrix among them
A_g         (I − H_gg)^(−1/2) on what is left of it: A_g e_g has the covariance of the noise, if
            that is alike everywhere (CR2; Bell and McCaffrey, 2002)
u_g         Σ_{i in g} w_i (A_g e_g)_i: what cluster g adds to the error;  b_g = A_g w_g
V           Σ u_g², the variance by clusters of a kind;  Q the covariance of u under equal noise
f           (tr Q)²/tr Q², its degrees of freedom (Satterthwaite; Bell and McCaffrey, 2002)

1 Clusters. Scores of a judge, an item, a session come back together. Under equal noise E V = S
whatever the design is, and on a complete panel V is that of the paired t test by judges, with J − 1
degrees of freedom. Q = diag(b_g·b_g) − T Tᵀ, T_g = F_gᵀ b_g. Kinds add up (Cameron, Gelbach and
Miller, 2011): V = Σ V_kind − (kinds − 1) V_cell, no less than any of them; freedom is Welch's.

2 Pooling. Over the k contrasts 'one option less the others' s₀² is the mean of s_i² = V/S, with
ν₀ = (k − 1)/k (Σs_i²)²/Σ(s_i⁴/f_i) degrees of freedom, at most ν. p is four times the smaller tail
chance, at most 1, of an option's s_i² beside the mean of all others' (F(f_i, ν_−i)): one whose
noise lies between the quartiles of what chance allows is pooled in full. Of a contrast it is the
least of its own options'. Freedom is drawn on the scale of 1/f, in which Student's quantile is
about straight: 1/f′ = (1 − p)/f + p/ν₀. The rest is the moderated t (Smyth, 2004; robust as in
Phipson and others, 2016): with d = f′ − f, V becomes (d s₀² S + f V)/(d + f) where that is more. An
option as noisy as all has nearly the pooled t test, one that is noisier or quieter beyond chance
its own.

3 Slopes. A bias β errs by noise and by what clusters favour for themselves: z_g in x_g z_g.
B = max(s² S, V by single rows) is noise alone. A cluster's own slope moves u by M z,
M = diag(b_g·x_g) − T (F_hᵀ x_h), of which V shows tr MMᵀ where β varies by Σ(w_g·x_g)²: m is the
ratio, from 1 to 4. V = B + Σ_kinds (V_kind − B)₊ m. The freedom is the least of Bell–McCaffrey's
and of that t whose 5% point Z/√Σλχ² has, λ the eigenvalues of MMᵀ (Craig, 1991); as far as V_kind/B
may be chance, by P of it under F(f, ν), that of noise takes its place: 1/f − P/3, no less than 1/ν.
A lead that leans on β is the lead of effects alone and a part along x̃, which is orthogonal to it:
their errors add up, each by its own rule (Welch).

4 Use of the scale. Judges may differ in how far apart they put the same options, so that what is
worth more looks favoured where it stands before judges with long scales: judge e adds λ a_e v°,
v° the values less their mean over what the judge scored, a_e = Σ_{i in e} w_i v°_i over its
largest, λ ~ N(0, τ²). The estimate of λ, l, is by least squares beside all effects (Tukey, 1949),
drawn to 0 by r = τ²/(τ² + var l): with the shift h = w·z of the contrast, where z = a_e v°, its
estimate loses h l r and its variance gains h² r var l. Two options
whose lead it is count as worth the same. Of a bias λ is told well, since judges of both groups see
options of every worth: there τ is so large that it is nearly one more column of the fit; and since
what is bent is no line, half of the correction counts as an error of its own.

Where a table is large the eigenvalues of Q and MMᵀ are taken to be their diagonals, less one degree
of freedom for the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, dense
from evenhand.linear.basis import Basis, Weights, indicator
from evenhand.scores.scores import Codes, crossed

TAU, FREE = 0.25, 1.0
"""Standard deviation of how much more steeply than others the most exposed judges use the scale, as
it is taken to be for leads, and for biases.
"""

TRUSTED = 0.5
"""Share of what the use of the scale moves a bias by that counts as an error: it may be no line."""

_DENSE = 4_000_000  # rows times columns of a basis that is written out
_WORK = 3e9  # multiplications that exact degrees of freedom may take
_CELLS = 2_000_000  # numbers that are written out at once
_MOST_SLOPE = 4.0
_QUIET = 0.04  # of the noise of all: a contrast that scatters less tells nothing of its own
_CRAIG = np.sin((np.arange(48) + 0.5) / 48 * np.pi / 2) ** 2
_STEPS = 16  # into which degrees of freedom are parted, three times
_TINY = 1e-300
_LARGE = 1_500  # rows, and effects, of a cluster beyond which A_g is one number
_SMALL = 64  # rows of a cluster up to which H_gg itself is taken apart
_LOST = 1e-8  # share of a direction that is left, below which nothing is
_HIDDEN = 1024  # rows without a residual that are told apart
_ROUNDING = 1e-12  # of what is added up: what is no more is rounding


class Spread(NamedTuple):
    """Estimates with their variances (infinite where nothing is known) and degrees of freedom."""

    estimate: Floats
    variance: Floats
    freedom: Floats

    @property
    def t(self) -> Floats:
        """Estimates over their standard errors."""
        return np.asarray(self.estimate / np.sqrt(np.maximum(self.variance, _TINY)))

    @property
    def above(self) -> Floats:
        """How probable as large an estimate would be if the truth were 0 or less."""
        return np.asarray(special.stdtr(np.maximum(self.freedom, 0.1), -self.t))

    @property
    def turned(self) -> Spread:
        """The same of what is less the estimated."""
        return self._replace(estimate=-self.estimate)

    def shifted(self, by: Floats | float) -> Spread:
        """Return the same of truths that are larger by so much."""
        return self._replace(estimate=self.estimate + by)

    def ends(self, failure: float) -> Floats:
        """Return (K, 3) estimates with the ends of their intervals."""
        t = special.stdtrit(np.maximum(self.freedom, 0.1), 1.0 - 0.5 * failure)
        half = np.where(np.isfinite(self.variance), t * np.sqrt(self.variance), np.inf)
        known = np.where(np.isnan(self.estimate), 0.0, self.estimate)
        return np.column_stack([self.estimate, known - half, known + half])


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
        L = np.hstack([basis.effects(rows), basis.Q[rows]])
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
            effects = basis.width + basis.Q.shape[1]
            if s > max(_SMALL, 1.5 * effects) and effects <= _LARGE and basis.parts == 1:
                self._parts += [_Wide.of(basis, one) for one in rows]
                continue
            if s > _LARGE:
                mean = 1.0 - basis.leverage[rows].mean(1, keepdims=True)
                self._parts.append(_Part(rows, None, mean))
                continue
            step = max(1, _CELLS // (s * max(s, effects)))
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


class Pool(NamedTuple):
    """Noise over the contrasts 'one of n less the others'."""

    noise: float  # s₀²
    freedom: float  # ν₀
    chance: Floats  # (n,) of each one's own noise being as large


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of contrasts of one fit."""

    basis: Basis
    residual: Floats
    freedom: int  # ν
    known: float | None = None  # σ, where somebody stated it

    @cached_property
    def noise(self) -> float:
        """s², the variance of the residuals."""
        e = self.residual
        return float(e @ e) / max(self.freedom, 1)

    @cached_property
    def _kept(self) -> dict[object, Any]:
        return {}

    def clusters(self, *codes: Codes) -> Clusters:
        """Return clusters of rows, of several columns their cells; of none, single rows."""
        key = ("clusters", *(id(one) for one in codes))
        if key not in self._kept:
            n = len(self.residual)
            single = np.arange(n, dtype=np.int32)
            self._kept[key] = codes, Clusters(self.basis, crossed(*codes)[0] if codes else single)
        found: Clusters = self._kept[key][1]
        return found

    def sums(self, weights: Weights, clusters: Clusters) -> Any:
        """Return (K, clusters) u, what clusters add to the error; perhaps sparse, and kept for the
        same weights.
        """
        key = ("sums", id(weights), id(clusters))
        if key not in self._kept:
            e = clusters.root(self.residual)
            u = self.basis.sums(weights, clusters.codes, clusters.size, e)
            largest = float(np.abs(self.residual).max(initial=0.0))
            least, hidden = _ROUNDING * largest * np.sqrt(weights.squares), self._hidden(weights)
            if sparse.issparse(u) or sparse.issparse(hidden):
                u = sparse.csr_array(u)
                u.data[np.abs(u.data) <= np.repeat(least, np.diff(u.indptr))] = 0.0
                u = sparse.hstack([u, hidden], format="csr")
            else:
                u[np.abs(u) <= least[:, None]] = 0.0
                u = np.hstack([u, hidden])
            self._kept[key] = weights, clusters, u
        return self._kept[key][2]

    def _hidden(self, weights: Weights) -> Any:
        """Return what rows add that have no residual of their own, such as the one score of an
        option: the noise of all scores is theirs.
        """
        rows = np.flatnonzero(self.basis.leverage > 1.0 - 1e-9)
        size = min(len(rows), _HIDDEN)
        if not size:
            return np.zeros((len(weights), 0))
        codes, there = np.zeros((2, len(self.residual)), dtype=np.int32)
        codes[rows], there[rows] = np.arange(len(rows)) % _HIDDEN, 1
        return self.basis.sums(weights, codes, size, there * np.sqrt(self.noise))

    @property
    def small(self) -> bool:
        """Whether the basis may be written out."""
        columns = self.basis.m + self.basis.parts * self.basis.width
        return bool(len(self.residual) * columns <= _DENSE)

    def _exact(self, K: int, size: int) -> bool:
        p = self.basis.m + self.basis.parts * self.basis.width
        return self.small and bool(K * size**2 * max(size, p) <= _WORK)

    def own_squares(self, weights: Weights, clusters: Clusters) -> tuple[Any, Floats]:
        """Return (K, clusters) the squares of a contrast's weights in the rows of what it is about,
        sparse, and (K,) their sum.
        """
        K = len(weights)
        c, r, w = self.basis.own(weights)
        found = sparse.csr_array((w * w, (c, clusters.codes[r])), shape=(K, clusters.size))
        return found, np.bincount(c, w * w, K).astype(np.float64)

    def _approximate_freedom(self, weights: Weights, clusters: Clusters) -> Floats:
        """Return (K,) f by the diagonal of Q, the squares of the weights of each cluster; those of
        other rows than the contrast's own are few, and taken to be spread evenly.
        """
        share = np.bincount(clusters.codes) / len(clusters.codes)
        if weights.about is None:
            rows = self.basis.rows(weights)
            each = [np.bincount(clusters.codes, w * w, clusters.size) for w in rows]
            return _less_one(np.array(each, dtype=np.float64))
        q, own = self.own_squares(weights, clusters)
        rest = np.maximum(weights.squares - own, 0.0)
        square = (q * q).sum(1) + 2.0 * rest * (q @ share) + rest**2 * float(share @ share)
        return less_one(weights.squares, np.asarray(square))

    def _freedom(self, weights: Weights, clusters: Clusters) -> Floats:
        """Return (K,) f."""
        K, size = len(weights), clusters.size
        if not self._exact(K, size):
            return self._approximate_freedom(weights, clusters)
        f = np.empty(K)
        for some in _chunks(K, max(size * self.basis.written_out.shape[1], len(self.residual))):
            f[some] = _exact_freedom(self.basis, weights.some(some), clusters)[0]
        return f

    def _kinds(self, columns: Mapping[str, Codes]) -> list[Clusters]:
        return [self.clusters(codes) for codes in columns.values()] or [self.clusters()]

    def by_clusters(self, weights: Weights, columns: Mapping[str, Codes]) -> tuple[Floats, Floats]:
        """Return (K,) variances and degrees of freedom by clusters alone (1)."""
        kinds = self._kinds(columns)
        V = np.array([squared_lengths(self.sums(weights, kind)) for kind in kinds])
        f = np.array([self._freedom(weights, kind) for kind in kinds])
        cell = V[0]
        if len(V) > 1:
            cell = squared_lengths(self.sums(weights, self.clusters(*columns.values())))
        v, d = together(V, f, cell)
        return np.where(weights.told, v, np.inf), d

    def by_slopes(self, weights: Weights, columns: Mapping[str, Codes]) -> tuple[Floats, Floats]:
        """Return (K,) variances and degrees of freedom of contrasts of slopes (3)."""
        size = np.sqrt(np.maximum(weights.squares, _TINY))
        slopes = weights.slopes / size[:, None]
        unit = replace(weights, slopes=slopes, squares=(slopes * slopes).sum(1))
        found = [self._slopes_by(unit, kind) for kind in self._kinds(columns)]
        V, f, most, m = (np.array(part) for part in zip(*found, strict=True))
        W = self.basis.rows(unit)
        rows = np.asarray((W * W) @ self.clusters().root(self.residual) ** 2)
        v, d = with_slopes((self.noise, self.freedom), V, f, most, m, unit.squares, rows)
        return np.where(weights.told, v * size**2, np.inf), d

    def _slopes_by(self, weights: Weights, kind: Clusters) -> tuple[Floats, Floats, Floats, Floats]:
        """Return (K,) variances by clusters of a kind, their degrees of freedom, those if all error
        were slopes of the clusters, and m.
        """
        basis, K, exact = self.basis, len(weights), self._exact(len(weights), kind.size)
        V = squared_lengths(self.sums(weights, kind))
        most, m = np.full(K, np.inf), np.ones(K)
        if exact:
            f, B, T = _exact_freedom(basis, weights, kind)
        else:
            f = self._approximate_freedom(weights, kind)
        for x in basis.design.biases.T:
            true = squared_lengths(basis.sums(weights, kind.codes, kind.size, x))
            if exact:
                few, trace = _exact_slopes(basis, kind, x, B, T)
            else:
                shown = basis.sums(weights, kind.codes, kind.size, kind.half(x)) ** 2
                few, trace = _less_one(shown), shown.sum(1)
            here = true > 1e-9 * weights.squares * (x @ x)
            ratio = np.minimum(true / np.maximum(trace, _TINY), _MOST_SLOPE)
            most = np.where(here, np.minimum(most, few), most)
            m = np.where(here, np.maximum(m, ratio), m)
        return V, f, most, m

    def units(self, columns: Mapping[str, Codes]) -> tuple[Floats, Floats]:
        """Return (r,) variances and degrees of freedom along the directions of slopes; kept."""
        key = ("units", *columns)
        if key not in self._kept:
            Q, r = self.basis.Q, self.basis.Q.shape[1]
            none, told = np.zeros((r, self.basis.m)), (Q * Q).sum(0) > 0.5
            unit = Weights(none, None, np.eye(r), told, np.ones(r))
            self._kept[key] = self.by_slopes(unit, columns)
        kept: tuple[Floats, Floats] = self._kept[key]
        return kept

    def pool(self, made: Callable[[], Weights], block: str, columns: Mapping[str, Codes]) -> Pool:
        """Return the noise over the contrasts 'one less the others' of a block of effects, whose
        weights are ``made`` if they are needed.
        """
        key = ("pool", block, *columns)
        if key not in self._kept:
            weights = made().apart()[0]
            n = len(weights)
            V, f = self.by_clusters(weights, columns)
            S = weights.squares
            ok = np.isfinite(V) & (S > 1e-12) & (f > 1e-9)
            s, f, chance = V[ok] / S[ok], f[ok], np.ones(n)
            pooled = Pool(0.0, 0.0, chance)
            if len(s) > 1 and (mean := float(s.mean())) > _TINY and self.freedom > 0:
                s = s / mean
                nu0 = float((n - 1) / n * s.sum() ** 2 / (s * s / f).sum())
                pooled = Pool(mean, min(nu0, float(self.freedom)), chance)
                rest, parts = s.sum() - s, s * s / f  # of all but one
                nu = (n - 2) / (n - 1) * rest**2 / np.maximum(parts.sum() - parts, _TINY)
                nu = np.clip(nu, 0.1, self.freedom)
                ratio = np.minimum(s * (len(s) - 1) / np.maximum(rest, _TINY), 1e9)
                quieter = np.where(s < _QUIET, 1.0, special.fdtr(f, nu, ratio))
                both = np.minimum(special.fdtrc(f, nu, ratio), quieter)
                chance[ok] = np.minimum(1.0, 4.0 * both)
            self._kept[key] = pooled
        found: Pool = self._kept[key]
        return found

    def moderated(
        self, V: Floats, f: Floats, S: Floats, pool: Pool, p: Floats
    ) -> tuple[Floats, Floats]:
        """Return variances and degrees of freedom drawn to the noise of all (2)."""
        if self.known is not None:
            return np.where(np.isinf(V), V, self.known**2 * S), np.full(len(V), 1e9)
        s0, nu0 = pool.noise, pool.freedom
        if not s0 > 0.0:
            return V, f
        d = 1.0 / ((1.0 - p) / f + p / np.maximum(nu0, f)) - f
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = V + d / (d + f) * (s0 * S - np.minimum(V, s0 * S))
        return np.where(s0 * S > V, drawn, V), f + d


def squared_lengths(rows: Any) -> Floats:
    """Return (n,) the squared lengths of the rows of a matrix that may be sparse."""
    return np.asarray((rows * rows).sum(1)).reshape(-1)


def together(V: Floats, f: Floats, cell: Floats) -> tuple[Floats, Floats]:
    """Return (K,) variances and degrees of freedom over (kinds, K) kinds of clusters; ``cell``:
    variances by cells of all kinds.
    """
    if len(V) == 1:
        return V[0], np.maximum(f[0], 1e-3)
    v = np.maximum(V.sum(0) - (len(V) - 1) * cell, np.maximum(V.max(0), cell))
    parts = np.maximum(V, cell) / np.maximum(v, _TINY)
    welch = 1.0 / np.maximum((parts**2 / np.maximum(f, 1e-9)).sum(0), 1e-12)
    d = np.where(v > 0.0, np.maximum(welch, f.min(0)), f.min(0))
    return v, np.maximum(d, 1e-3)


def with_slopes(
    noise: tuple[float, int],
    V: Floats,
    f: Floats,
    most: Floats,
    m: Floats,
    S: Floats,
    rows: Floats,
) -> tuple[Floats, Floats]:
    """Return (K,) variances and degrees of freedom of slopes, which differ by (kinds, K) kinds of
    clusters; ``noise``: s² and ν, ``rows``: variances by single rows.
    """
    s2, nu = noise[0], max(noise[1], 1)
    B = np.maximum(np.maximum(s2 * S, rows), _TINY)
    own = np.clip(np.minimum(f, most), 0.3, nu)
    more = np.where(V > B, (V - B) * m, V - B)
    P = special.fdtrc(own, nu, np.minimum(1.0 + more / B, 1e9))
    slopes = 1.0 / np.maximum(1.0 / own - P / 3.0, 1.0 / nu)
    return B + np.maximum(more, 0.0).sum(0), np.maximum(slopes.min(0), 1e-3)


def _chunks(K: int, each: int) -> Iterator[slice]:
    step = max(1, _CELLS // max(each, 1))
    return (slice(i, min(i + step, K)) for i in range(0, K, step))


def less_one(trace: Floats | float, square: Floats | float) -> Floats:
    """Return degrees of freedom from sums of eigenvalues and of their squares, less the mean's."""
    count = trace**2 / np.maximum(square, _TINY)
    return np.asarray(np.maximum(count - 1.0, 0.5 * count))


def _less_one(q: Floats) -> Floats:
    return less_one(q.sum(1), (q * q).sum(1))


def _exact_freedom(
    basis: Basis, weights: Weights, clusters: Clusters
) -> tuple[Floats, Floats, Floats]:
    """Return (K,) f, (K, n) b and (K, clusters, p) T."""
    F, codes, size = basis.written_out, clusters.codes, clusters.size
    B = clusters.root(basis.rows(weights))
    over = dense(indicator(codes, size)).T
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    T = np.stack([B[:, mine] @ F[mine] for mine in rows], axis=1)
    Q = -np.matmul(T, T.transpose(0, 2, 1))
    at = np.arange(size)
    Q[:, at, at] += (B * B) @ over
    f = np.trace(Q, axis1=1, axis2=2) ** 2 / np.maximum((Q * Q).sum((1, 2)), _TINY)
    return f, B, T


def _exact_slopes(
    basis: Basis, clusters: Clusters, x: Floats, B: Floats, T: Floats
) -> tuple[Floats, Floats]:
    """Return (K,) degrees of freedom if all error were slopes of x, and tr MMᵀ."""
    over = dense(indicator(clusters.codes, clusters.size)).T
    M = -np.matmul(T, basis.written_out.T @ (over * x[:, None]))
    on = np.arange(clusters.size)
    M[:, on, on] += (B * x) @ over
    return _tail_freedom(np.matmul(M, M.transpose(0, 2, 1))), (M * M).sum((1, 2))


def _tail_freedom(Q: Floats) -> Floats:
    """Return of which t the 5% point is that of Z/√Σλχ², λ the eigenvalues of (K, G, G) matrices:
    P(|Z| > c √Σλχ²) is the mean over φ of Π(1 + c²λ/sin²φ)^(−½) (Craig, 1991).
    """
    share = np.maximum(np.linalg.eigvalsh(Q), 0.0)
    share = share / np.maximum(share.sum(1, keepdims=True), _TINY)
    freedom, squares = _quantiles()
    ratio, every = (share[:, :, None] / _CRAIG)[:, None], np.arange(len(Q))
    place = last = np.zeros(len(Q), dtype=np.intp)
    p = np.zeros((len(Q), _STEPS + 1))
    for step in (_STEPS**2, _STEPS, 1):  # the first that is less than 5%, ever more closely
        at = place[:, None] + step * np.arange(_STEPS + 1)
        with np.errstate(over="ignore"):
            p = (1.0 / np.sqrt((1.0 + squares[at][:, :, None, None] * ratio).prod(2))).mean(2)
        last = np.clip((p < 0.05).sum(1) - 1, 0, _STEPS - 1)
        place = at[every, last]
    low, high = p[every, last], p[every, last + 1]
    share = np.clip((0.05 - low) / np.maximum(high - low, _TINY), 0.0, 1.0)
    return np.asarray(freedom[place] * (freedom[1] / freedom[0]) ** share)


@lru_cache(maxsize=1)
def _quantiles() -> tuple[Floats, Floats]:
    """Return degrees of freedom from ½ to 50 in equal steps, and the squares of their 5% points."""
    freedom = np.geomspace(0.5, 50.0, _STEPS**3 + 1)
    return freedom, np.asarray(special.stdtrit(freedom, 0.975) ** 2, dtype=np.float64)
