"""The fit of tables with millions of rows: biases beside two kinds of effects, step by step.

Notation
--------
p, S̃        (n,) a regressor, and the same less all effects and other regressors;  e residuals
λ_g         Σ_g S̃², a share of the information Λ = S̃·S̃;  a_g = Σ_g S̃ p, its weight in β
K_gg        what is left of λ_g once all is fitted: z_g = Σ_g S̃ e has this variance under
            noise of variance 1, so z_g² is multiplied by λ_g/K_gg (`errors` has the exact form)

Effects are taken off by conjugate gradients (`projection`), and never written out. Means of the two
kinds of effects are taken off K_gg one kind at a time: clusters are many then, and few meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.linear.design import Design
from evenhand.linear.errors import FREE, TRUSTED, Spread, less_one, with_slopes
from evenhand.linear.projection import ENOUGH, Projection
from evenhand.numerics.tolerance import IN_SPAN, PROJECTED
from evenhand.scores.scores import Codes, crossed, less_means, sums_over


class LargeFit:
    """Least squares on a design of two kinds of effects and a few regressors."""

    def __init__(self, design: Design) -> None:
        self.design, n = design, len(design)
        whose, many = design.evaluator, design.n_evaluators
        if design.rival is not None:
            met = Projection(design.option, design.n_options, whose, many, against=design.rival)
        elif whose is None:
            nobody = np.zeros(n, dtype=np.int32)
            met = Projection(nobody, 1, design.option, design.n_options)
        else:
            met = Projection(whose, many, design.option, design.n_options)
        self._met = met
        X = design.x
        left = [met.without(column)[0] for column in X.T]
        for rest, column in zip(left, X.T, strict=True):
            if not np.linalg.norm(rest) > IN_SPAN * np.linalg.norm(column):
                rest[:] = 0.0
        self._left = left
        e, kept, swept = met.without(design.y)
        gram = np.array([[a @ b for b in left] for a in left]).reshape(len(left), len(left))
        inverse = np.linalg.pinv(gram, hermitian=True, rcond=1e-10)
        self.slopes = inverse @ np.array([a @ e for a in left]).reshape(-1)
        self._inverse = inverse
        for slope, column in zip(self.slopes, left, strict=True):
            e -= slope * column
        e[np.abs(e) <= ENOUGH * float(np.abs(design.y).max(initial=0.0))] = 0.0
        self.residual = e
        rank = int(np.linalg.matrix_rank(gram, hermitian=True)) if left else 0
        self.freedom = n - met.rank - rank
        theta = met.without(design.y - X @ self.slopes)[1:] if left else (kept, swept)
        self.values, self.severities = self._levels(*(part.reshape(-1) for part in theta))

    @property
    def part(self) -> Codes:
        """(k,) the number of the connected part of each option."""
        of_kept, of_swept, _ = self._met.parts
        return of_swept if self.design.rival is None else of_kept

    @property
    def compared(self) -> bool:
        """Whether all options are compared with one another."""
        return bool((self.part == self.part[0]).all())

    def _levels(self, kept: Floats, swept: Floats) -> tuple[Floats, Floats]:
        """Return values and severities from coefficients of both kinds of effects."""
        of_kept, of_swept, n = self._met.parts
        mean = np.bincount(of_kept, kept, n) / np.maximum(np.bincount(of_kept, minlength=n), 1)
        if self.design.rival is not None:
            return kept - mean[of_kept], swept
        return swept + mean[of_swept], kept - mean[of_kept]

    def values_of(self, column: Floats) -> Floats:
        """Return (k,) values if (n,) a column were the scores, and nothing reacted to x."""
        found = self._met.without(column)[1:]
        return self._levels(*(part.reshape(-1) for part in found))[0]

    def leads(self, a: Indices, b: Indices) -> Spread:
        """Return by how much options a are better than options b, pair by pair: errors by judges,
        no less than those of equal noise.
        """
        design, e = self.design, self.residual / np.sqrt(1.0 - self.leverage)
        judge, J = design.evaluator, max(design.n_evaluators, 1)
        judge = np.zeros(len(design), dtype=np.int32) if judge is None else judge
        variance, freedom = np.empty(len(a)), np.empty(len(a))
        for i, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            c, none = np.zeros(design.n_options), np.zeros(J)
            c[one], c[other] = 1.0, -1.0
            if design.rival is not None:
                v, s = self._met.coefs(c, none)
                w = v[design.option] - v[design.rival] + s[judge]
            else:
                s, v = self._met.coefs(none, c)
                w = v[design.option] + s[judge]
            u, q = sums_over(judge, J, w, e), sums_over(judge, J, w, w)
            alike, own = self._s2 * float(q.sum()), float(u @ u)
            variance[i] = max(alike, own)
            few = float(less_one(q.sum(), float(q @ q)))
            freedom[i] = few if own > alike else float(self.freedom)
        told = (self.part[a] == self.part[b]) & (self.freedom > 0) & (variance > 0.0)
        return Spread(self.values[a] - self.values[b], np.where(told, variance, np.inf), freedom)

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals; NaN where none are left over."""
        return float(np.sqrt(self._s2)) if self.freedom > 0 else float("nan")

    @cached_property
    def _s2(self) -> float:
        return float(self.residual @ self.residual) / max(self.freedom, 1)

    @cached_property
    def leverage(self) -> Floats:
        """(n,) hat values of the rows, one kind of effects at a time."""
        h = np.zeros(len(self.design))
        for codes, n in self._kinds():
            h += 1.0 / np.maximum(np.bincount(codes, minlength=n), 1)[codes]
        return np.minimum(h, 0.99)

    def _kinds(self) -> list[tuple[Codes, int]]:
        found = (
            [] if self.design.rival is not None else [(self.design.option, self.design.n_options)]
        )
        if self.design.evaluator is not None:
            found.append((self.design.evaluator, self.design.n_evaluators))
        return found

    def bias(self, j: int, columns: Mapping[str, Codes]) -> Spread:
        """Return the slope of x in column j, with clusters that it may differ by."""
        p = self.design.x[:, j]
        S = sum(c * column for c, column in zip(self._inverse[j], self._left, strict=True))
        info = float(S @ S) if len(self._left) else 0.0  # 1/Λ of the regressor alone
        unknown = Spread(np.array([np.nan]), np.array([np.inf]), np.ones(1))
        if not info > 0.0 or self.freedom < 1:
            return unknown
        S = S / info  # S̃: w = S̃/Λ
        total, e = 1.0 / info, self.residual
        V, f, most, m = [], [], [], []
        for codes in columns.values():
            size = int(codes.max()) + 1
            lam, a = sums_over(codes, size, S, S), sums_over(codes, size, S, p)
            of_noise, of_bias = self._taken_off(codes, size, S, S, p)
            K = lam - lam * lam / total - of_noise
            told = (PROJECTED * lam < K) & (lam > PROJECTED * total)
            factor = np.divide(lam, K, out=np.zeros(size), where=told)
            factor *= total / max(float(lam[told].sum()), 1e-300)
            z = sums_over(codes, size, S, e)
            own = factor * (a - lam * a / total - of_bias) ** 2
            V.append(float(factor @ (z * z)) / total**2)
            f.append(float(less_one(lam.sum(), float(lam @ lam))))
            most.append(max(float(less_one(own.sum(), float(own @ own))), 0.3))
            m.append(float(np.clip((a @ a) / max(own.sum(), 1e-300), 1.0, 4.0)))
        rows = float(((S * e) ** 2 / (1.0 - self.leverage)).sum()) / total**2
        V_, f_, most_, m_ = (np.array(part).reshape(-1, 1) for part in (V, f, most, m))
        noise, S_ = (self._s2, self.freedom), np.array([1.0 / total])
        v, d = with_slopes(noise, V_, f_, most_, m_, S_, np.array([rows]))
        moved, more = self._stretched(S / total)
        return Spread(self.slopes[[j]] - moved, v + more, d)

    def _taken_off(self, codes: Codes, size: int, one: Floats, *others: Floats) -> list[Floats]:
        """Return (G,) what means of both kinds take off Σ_g one · other, one kind at a time."""
        taken = [np.zeros(size) for _ in others]
        for levels, n_levels in self._kinds():
            rows = np.maximum(sums_over(levels, n_levels), 1.0)
            cells, n = crossed(codes, levels)
            for j, other in enumerate(others):
                share = one * sums_over(cells, n, other)[cells] / rows[levels]
                taken[j] += np.bincount(codes, share, size)
        return taken

    def _stretched(self, w: Floats) -> tuple[float, float]:
        """Return by how much unequal use of the scale moves a bias, and the variance left."""
        design = self.design
        if design.evaluator is None or design.rival is not None:
            return 0.0, 0.0
        judge, J = design.evaluator, design.n_evaluators
        x = less_means(self.values[design.option], judge, J)
        a = sums_over(judge, J, w, x)
        top = float(np.abs(a).max(initial=0.0))
        if not top > 1e-9 * float(np.abs(w) @ np.abs(x)):
            return 0.0, 0.0
        z = (a / top)[judge] * x
        left = self._met.without(z)[0]
        for column, of in zip(
            self._left, self._inverse @ [c @ left for c in self._left], strict=True
        ):
            left -= of * column
        size, shift = float(left @ left), float(w @ z)
        if not size > 1e-9 * float(z @ z):
            return 0.0, shift**2 * FREE**2
        along = float(left @ self.residual) / size
        sums = sums_over(judge, J, left, self.residual - left * along)
        error = max(self._s2 / size, float(sums @ sums) / size**2)
        drawn = FREE**2 / (FREE**2 + error)
        moved = shift * drawn * along
        return moved, shift**2 * FREE**2 * (1.0 - drawn) + (TRUSTED * moved) ** 2

    def own_slopes(self, codes: Codes, size: int) -> Spread:
        """Return (size,) the slope of the first regressor in the rows of each code, as if these did
        not meet; −1 is nobody's row.
        """
        p, e = self.design.x[:, 0], self.residual
        rows = np.flatnonzero((p != 0.0) & (codes >= 0))
        mine, some = codes[rows], p[rows]
        squares = np.bincount(mine, some * some, size)
        column = np.where(codes >= 0, p, 0.0)
        whose = np.where(codes >= 0, codes, 0).astype(np.int32)
        off = self._taken_off(whose, size, column, column)[0]
        Q = squares - off
        told = PROJECTED * np.maximum(squares, 1e-300) < Q
        safe = np.where(told, Q, 1.0)
        slope = np.where(
            told, self.slopes[0] + np.bincount(mine, some * e[rows], size) / safe, np.nan
        )
        V = np.maximum(self._s2 / safe, np.bincount(mine, (some * e[rows]) ** 2, size) / safe**2)
        n = np.bincount(mine, minlength=size)
        return Spread(slope, np.where(told, V, np.inf), np.maximum(n - 1.0, 1.0))
