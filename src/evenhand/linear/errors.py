"""Errors of contrasts: one method for every lead, value, severity and bias.

Notation
--------
w           weights of a contrast (`basis`): its estimate is w·y;  S = w·w;  e residuals
s²          Σe²/ν with ν = n − rank: the noise, were it alike
u_g         Σ_{i in g} w_i (A_g e_g)_i: what cluster g adds to the error;  b_g = A_g w_g
V           Σ u_g², the variance by clusters of a kind;  Q the covariance of u under equal noise
f           (tr Q)²/tr Q², its degrees of freedom (Satterthwaite; Bell and McCaffrey, 2002)

1 Clusters. Scores of a judge, an item, a session come back together. Under equal noise E V = S
whatever the design is, and on a complete panel V is that of the paired t test by judges, with J − 1
degrees of freedom. Q = diag(b_g·b_g) − T Tᵀ, T_g = F_gᵀ b_g. Kinds add up (Cameron, Gelbach and
Miller, 2011): V = Σ V_kind − (kinds − 1) V_cell, no less than any of them; freedom is Welch's.

2 Pooling. Over the k contrasts 'one option less the others' s₀² is the mean of s_i² = V/S, with
ν₀ = (k − 1)/k (Σs_i²)²/Σ(s_i⁴/f_i) degrees of freedom, at most ν. p is four times the smaller tail
chance, at most 1, of an option's s_i² beside the mean of all others' (F(f_i, ν_−i)): one whose noise
lies between the quartiles of what chance allows is pooled in full. Of a contrast it is the least of
its own options'. Freedom is drawn on the scale of 1/f, in which Student's quantile is about
straight: 1/f′ = (1 − p)/f + p/ν₀. The rest is the moderated t (Smyth, 2004; robust as in Phipson and
others, 2016): with d = f′ − f, V becomes (d s₀² S + f V)/(d + f) where that is more. An option as
noisy as all has nearly the pooled t test, one that is noisier or quieter beyond chance its own.

3 Slopes. A bias β, and a lead that leans on one, errs by noise and by what clusters favour for
themselves: z_g in x_g z_g. B = max(s² S, V by single rows) is noise alone. A cluster's own slope
moves u by M z, M = diag(b_g·x_g) − T (F_hᵀ x_h), of which V shows tr MMᵀ where β varies by
Σ(w_g·x_g)²: m is the ratio, from 1 to 4. V = B + Σ_kinds (V_kind − B)₊ m. The freedom is the least of
Bell and McCaffrey's and of that t whose 5% point Z/√Σλχ² has, λ the eigenvalues of MMᵀ (Craig,
1991); as far as V_kind/B may be chance, by P of it under F(f, ν), that of noise takes its place:
1/f − P/3, no less than 1/ν.

4 Use of the scale. Judges may differ in how far apart they put the same options, so that what is
worth more looks favoured where it stands before judges with long scales: judge e adds λ a_e x̂, x̂ the
values less those of what the judge scored, a_e = Σ_{i in e} w_i x̂_i over its largest, λ ~ N(0, τ²).
λ̂ is by least squares beside all effects (Tukey, 1949), drawn to 0 by r = τ²/(τ² + var λ̂): with the
shift h = w·z of the contrast, its estimate loses hλ̂r and its variance gains h² r var λ̂. Two options
whose lead it is count as worth the same. Of a bias λ is told well, since judges of both groups see
options of every worth: there τ is so large that it is nearly one more column of the fit.

Where a table is large the eigenvalues of Q and MMᵀ are taken to be their diagonals, less one degree
of freedom for the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from evenhand.arrays import Floats
from evenhand.linear.basis import Basis, Flags, Weights, dense, indicator
from evenhand.linear.clusters import Clusters
from evenhand.scores.scores import Codes, crossed

TAU, FREE = 0.25, 1.0
"""Standard deviation of how much more steeply than others the most exposed judges use the scale, as
it is taken to be for leads, and for biases.
"""

_DENSE = 4_000_000  # rows times columns of a basis that is written out
_WORK = 3e9  # multiplications that exact degrees of freedom may take
_ROWS = 10_000_000  # weights that are written out at once
_MOST_SLOPE = 4.0
_QUIET = 0.04  # of the noise of all: a contrast that scatters less tells nothing of its own
_CRAIG = np.sin((np.arange(48) + 0.5) / 48 * np.pi / 2) ** 2
_TINY = 1e-300
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

    def shifted(self, by: Floats | float) -> Spread:
        """Return the same of truths that are larger by so much."""
        return self._replace(estimate=self.estimate + by)

    def ends(self, failure: float) -> Floats:
        """Return (K, 3) estimates with the ends of their intervals."""
        t = special.stdtrit(np.maximum(self.freedom, 0.1), 1.0 - 0.5 * failure)
        half = np.where(np.isfinite(self.variance), t * np.sqrt(self.variance), np.inf)
        known = np.where(np.isnan(self.estimate), 0.0, self.estimate)
        return np.column_stack([self.estimate, known - half, known + half])


class _Kind(NamedTuple):
    """What clusters of a kind say of K contrasts."""

    V: Floats
    f: Floats
    most: Floats  # freedom, if all error were clusters' own slopes
    m: Floats  # by how much V shows too little of such slopes
    leans: Flags  # whether the contrast has slopes in it


class _Features(NamedTuple):
    """(K, clusters) sums over the rows of clusters, of w A_g e, and of rows that show no noise; by
    regressor, of w x and of what residuals show of it.
    """

    u: Floats
    slopes: tuple[tuple[Floats, Floats], ...]


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

    # ------------------------------------------------------------------ by clusters alone

    def features(self, weights: Weights, clusters: Clusters) -> _Features:
        """Return what rows add to contrasts, summed over clusters; kept for the same weights."""
        key = ("features", id(weights), id(clusters))
        if key not in self._kept:
            basis, codes, size = self.basis, clusters.codes, clusters.size
            u, *more = (
                basis.sums(weights, codes, size, v)
                for v in (clusters.root(self.residual), *self.regressors(clusters))
            )
            largest = float(np.abs(self.residual).max(initial=0.0))
            u[np.abs(u) <= _ROUNDING * largest * np.sqrt(weights.squares)[:, None]] = 0.0
            u = np.hstack([u, self._hidden(weights)])
            found = _Features(u, tuple(zip(more[::2], more[1::2], strict=True)))
            self._kept[key] = weights, clusters, found
        kept: _Features = self._kept[key][2]
        return kept

    def _hidden(self, weights: Weights) -> Floats:
        """Return what rows add that have no residual of their own, such as the one score of an
        option: the noise of all scores is theirs.
        """
        rows = np.flatnonzero(self.basis.leverage > 1.0 - 1e-9)
        size = min(len(rows), _HIDDEN)
        codes, there = np.zeros((2, len(self.residual)), dtype=np.int32)
        codes[rows], there[rows] = np.arange(len(rows)) % _HIDDEN, 1
        return self.basis.sums(weights, codes, max(size, 1), there * np.sqrt(self.noise))[:, :size]

    def regressors(self, clusters: Clusters) -> list[Floats]:
        """Return by turns each bias, and what clusters' residuals show of it."""
        return [v for x in self.basis.design.biases.T for v in (x, clusters.half(x))]

    def _kind(self, weights: Weights, clusters: Clusters) -> _Kind:
        basis, K, size = self.basis, len(weights), clusters.size
        u, slopes = self.features(weights, clusters)
        V = (u * u).sum(1)
        X = basis.design.biases
        most, m, leans = np.full(K, np.inf), np.ones(K), np.zeros(K, dtype=np.bool_)
        found: list[tuple[Floats, Flags]] = []
        for x, (own, _) in zip(X.T, slopes, strict=True):
            true = (own * own).sum(1)
            here = true > 1e-9 * weights.squares * (x @ x)
            found.append((true, here))
            leans |= here
        f = np.empty(K)
        if not self._exact(K, size):
            f[:] = self._approximate_freedom(weights, clusters)
            for (true, here), (_, shown) in zip(found, slopes, strict=True):
                lam, trace = few_slopes(shown[here])
                most[here] = np.minimum(most[here], lam)
                m[here] = np.maximum(m[here], _ratio(true[here], trace))
            return _Kind(V, f, most, m, leans)
        for some in _chunks(K, size * basis.written_out.shape[1]):
            leaning = bool(leans[some].any())
            f[some], (B, T) = _exact_freedom(basis, weights.some(some), clusters, leaning)
            for x, (true, here) in zip(X.T, found, strict=True):
                at = np.flatnonzero(here[some])
                if not len(at):
                    continue
                which = np.arange(K)[some][at]
                lam, trace = _exact_slopes(basis, clusters, x, B[at], T[at])
                most[which] = np.minimum(most[which], lam)
                m[which] = np.maximum(m[which], _ratio(true[which], trace))
        return _Kind(V, f, most, m, leans)

    @property
    def small(self) -> bool:
        """Whether the basis may be written out."""
        columns = self.basis.m + self.basis.parts * self.basis.G.shape[1]
        return bool(len(self.residual) * columns <= _DENSE)

    def _exact(self, K: int, size: int) -> bool:
        p = self.basis.m + self.basis.parts * self.basis.G.shape[1]
        return self.small and bool(K * size**2 * max(size, p) <= _WORK)

    def own_squares(self, weights: Weights, clusters: Clusters) -> tuple[Any, Floats, Floats]:
        """Return (K, clusters) the squares of a contrast's weights in the rows of what it is about,
        sparse; (K,) their sum, and that of the squares with noise by rows.
        """
        K, noise = len(weights), self.clusters().root(self.residual) ** 2
        c, r, w = self.basis.own(weights)
        w = w * w
        found = sparse.csr_array((w, (c, clusters.codes[r])), shape=(K, clusters.size))
        own, rows = (np.bincount(c, part, K).astype(np.float64) for part in (w, w * noise[r]))
        return found, own, rows

    def _approximate_freedom(self, weights: Weights, clusters: Clusters) -> Floats:
        """Return (K,) f by the diagonal of Q, the squares of the weights of each cluster; those of
        other rows than the contrast's own are few, and taken to be spread evenly.
        """
        share = np.bincount(clusters.codes) / len(clusters.codes)
        if weights.about is None:
            found = np.empty(len(weights))
            for some in _chunks(len(weights), len(self.residual)):
                W = self.basis.rows(weights.some(some))
                q = [np.bincount(clusters.codes, row * row, clusters.size) for row in W]
                found[some] = _less_one(np.array(q, dtype=np.float64))
            return found
        q, own, _ = self.own_squares(weights, clusters)
        rest = np.maximum(weights.squares - own, 0.0)
        square = (q * q).sum(1) + 2.0 * rest * (q @ share) + rest**2 * float(share @ share)
        return less_one(weights.squares, np.asarray(square))

    def raw(self, weights: Weights, columns: Mapping[str, Codes]) -> tuple[Floats, Floats, Flags]:
        """Return variances and degrees of freedom by clusters alone, and which have slopes."""
        every = [self.clusters(codes) for codes in columns.values()] or [self.clusters()]
        kinds = [self._kind(weights, clusters) for clusters in every]
        V, f, most, m, leans = (np.array(part) for part in zip(*kinds, strict=True))
        cell, rows, lean = V[0], V[0], np.asarray(leans.any(0))
        if len(V) > 1:
            cells = self.clusters(*columns.values())
            u = self.features(weights, cells).u
            cell = (u * u).sum(1)
        if lean.any():
            rows = self._by_rows(weights, lean)
        noise = self.noise, self.freedom
        v, d = combined(noise, V, f, most, m, lean, weights.squares, cell, rows)
        return np.where(weights.told, v, np.inf), d, lean

    def _by_rows(self, weights: Weights, lean: Flags) -> Floats:
        """Return (K,) the variance of noise alone, by single rows, of contrasts that lean."""
        e, found = self.clusters().root(self.residual) ** 2, np.zeros(len(weights))
        if weights.about is not None and len(e) * len(weights) > _ROWS:
            _, own, rows = self.own_squares(weights, self.clusters())
            return np.asarray(rows + np.maximum(weights.squares - own, 0.0) * self.noise)
        for some in _chunks(len(weights), len(e)):
            if lean[some].any():
                W = self.basis.rows(weights.some(some))
                found[some] = (W * W) @ e
        return found

    # ------------------------------------------------------------------ pooled

    def pool(
        self, made: Callable[[], Weights], block: str, columns: Mapping[str, Codes]
    ) -> Pool:
        """Return the noise over the contrasts 'one less the others' of a block of effects, whose
        weights are ``made`` if they are needed.
        """
        key = ("pool", block, *columns)
        if key not in self._kept:
            weights = made()
            n = len(weights)
            V, f, _ = self.raw(weights, columns)
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
        self, V: Floats, f: Floats, S: Floats, lean: Flags, pool: Pool, own: Floats
    ) -> tuple[Floats, Floats]:
        """Return variances and degrees of freedom drawn to the noise of all; ``own``: (K,) how
        probable the noise of the contrast's own options is.
        """
        if self.known is not None:
            return np.where(np.isinf(V), V, self.known**2 * S), np.full(len(V), 1e9)
        s0, nu0 = pool.noise, pool.freedom
        if not s0 > 0.0:
            return V, f
        p = np.where(lean, 0.0, own)
        d = 1.0 / ((1.0 - p) / f + p / np.maximum(nu0, f)) - f
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = V + d / (d + f) * (s0 * S - np.minimum(V, s0 * S))
        return np.where(V < s0 * S, drawn, V), f + d


def combined(
    noise: tuple[float, int],
    V: Floats,
    f: Floats,
    most: Floats,
    m: Floats,
    lean: Flags,
    S: Floats,
    cell: Floats,
    rows: Floats,
) -> tuple[Floats, Floats]:
    """Return (K,) variances and degrees of freedom over (kinds, K) kinds of clusters; ``noise``:
    s² and ν, ``cell`` and ``rows``: variances by cells of all kinds, and by single rows.
    """
    v, d = V[0], f[0]
    if len(V) > 1:
        v = np.maximum(V.sum(0) - (len(V) - 1) * cell, np.maximum(V.max(0), cell))
        parts = np.maximum(V, cell) / np.maximum(v, _TINY)
        welch = 1.0 / np.maximum((parts**2 / np.maximum(f, 1e-9)).sum(0), 1e-12)
        d = np.where(v > 0.0, np.maximum(welch, f.min(0)), f.min(0))
    s2, nu = noise
    if lean.any() and nu > 0:
        B = np.maximum(np.maximum(s2 * S, rows), _TINY)
        own = np.clip(np.minimum(f, most), 0.3, nu)
        more = np.where(V > B, (V - B) * m, V - B)
        P = special.fdtrc(own, nu, np.minimum(1.0 + more / B, 1e9))
        v = np.where(lean, B + np.maximum(more, 0.0).sum(0), v)
        slopes = 1.0 / np.maximum(1.0 / own - P / 3.0, 1.0 / nu)
        d = np.where(lean, slopes.min(0), d)
    return v, np.maximum(d, 1e-3)


def _chunks(K: int, each: int) -> Iterator[slice]:
    step = max(1, _ROWS // max(each, 1))
    return (slice(i, min(i + step, K)) for i in range(0, K, step))


def less_one(trace: Floats | float, square: Floats | float) -> Floats:
    """Return degrees of freedom from sums of eigenvalues and of their squares, less the mean's."""
    count = trace**2 / np.maximum(square, _TINY)
    return np.asarray(np.maximum(count - 1.0, 0.5 * count))


def _less_one(q: Floats) -> Floats:
    return less_one(q.sum(1), (q * q).sum(1))


def _exact_freedom(
    basis: Basis, weights: Weights, clusters: Clusters, leans: bool
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return (K,) f, and (K, n) b with (K, clusters, p) T."""
    F, codes, size = basis.written_out, clusters.codes, clusters.size
    B = clusters.root(basis.rows(weights))
    over = dense(indicator(codes, size)).T
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(size))
    T = np.add.reduceat(B[:, order, None] * F[order], starts, axis=1)
    Q = -np.matmul(T, T.transpose(0, 2, 1))
    at = np.arange(size)
    Q[:, at, at] += (B * B) @ over
    f = np.trace(Q, axis1=1, axis2=2) ** 2 / np.maximum((Q * Q).sum((1, 2)), _TINY)
    return f, (B, T) if leans else (B[:0], T[:0])


def few_slopes(shown: Floats) -> tuple[Floats, Floats]:
    """Return (K,) degrees of freedom if all error were slopes, and tr MMᵀ, by the diagonal of M."""
    diagonal = shown * shown
    return _less_one(diagonal), diagonal.sum(1)


def _ratio(true: Floats, trace: Floats) -> Floats:
    return np.asarray(np.minimum(true / np.maximum(trace, _TINY), _MOST_SLOPE))


def _exact_slopes(
    basis: Basis, clusters: Clusters, x: Floats, B: Floats, T: Floats
) -> tuple[Floats, Floats]:
    """Return the same by M itself."""
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
    low, high = np.full(len(Q), np.log(0.5)), np.full(len(Q), np.log(50.0))  # of f
    for _ in range(16):
        mid = 0.5 * (low + high)
        c = special.stdtrit(np.exp(mid), 0.975)
        p = np.exp(-0.5 * np.log1p((c * c)[:, None, None] * share[:, :, None] / _CRAIG).sum(1))
        out = p.mean(1) < 0.05  # too far out: more freedom
        low, high = np.where(out, mid, low), np.where(out, high, mid)
    return np.asarray(np.exp(low))
