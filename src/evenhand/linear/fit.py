"""The fit of a table of scores, and every question that is asked of it: a contrast each.

Notation
--------
v, s, β     values of options, severities of evaluators, slopes of x;  J evaluators
c           a contrast;  C (K, ·) several of them, by the block of effects they are of

Values are those before evaluators of average severity, on average items, of the connected part of
the table that the option is in; leads between two parts are not identified. Of judges like these,
the average severity is that of a sample: a value's variance has var(s)/J more in it (Welch).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evenhand.arrays import Floats, Indices, dense
from evenhand.linear.basis import Basis, Weights, indicator
from evenhand.linear.design import Design
from evenhand.linear.errors import (
    FREE,
    TAU,
    TRUSTED,
    Errors,
    Pool,
    Spread,
    less_one,
    squared_lengths,
    together,
)
from evenhand.numerics.tolerance import TIE
from evenhand.scores.scores import Codes

_CLOSEST = 2_000_000  # weights of leads whose use of the scale is looked at, the closest first
_PAIRS = 40_000_000  # the same of all pairs
_BLOCK = 250_000  # leads that are looked at at once
_MANY = 300  # options whose mean is known well beside any of them
_ROUNDING = 1e-12  # of the size of scores: what is no more is rounding
_SILENT = 1e-18  # of the squared size of values: a variance below is no scatter


class Fit:
    """Least squares on a design; ``noise`` is the standard deviation of a score if it is known."""

    def __init__(self, design: Design, noise: float | None = None) -> None:
        self.design, self.basis = design, Basis(design)
        y = design.y
        e = self.basis.off(y[:, None])[:, 0]
        self._grain = max(_ROUNDING * float(np.abs(y).max(initial=0.0)), 2.0 * design.grain)
        e[np.abs(e) <= self._grain] = 0.0
        self.residual, self.freedom = e, len(y) - self.basis.rank
        self.errors = Errors(self.basis, e, self.freedom, noise)

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals; NaN where none are left over."""
        return float(np.sqrt(self.errors.noise)) if self.freedom > 0 else float("nan")

    @property
    def leverage(self) -> Floats:
        """(n,) hat values of the rows."""
        return self.basis.leverage

    @property
    def silent(self) -> bool:
        """Whether nothing tells the noise: no residuals are left, or none scatters."""
        return self.errors.known is None and (self.freedom < 1 or not self.residual.any())

    @cached_property
    def values(self) -> Floats:
        """(k,) values, for evaluators and items of the connected part on average."""
        values = self.values_of(self.design.y)
        if not self._grain:
            return values
        return np.asarray(np.round(values / self._grain) * self._grain)  # equals are equal

    @property
    def told(self) -> NDArray[np.bool_]:
        """(k,) whether the scores tell the value of each option."""
        return self._levels.told

    def values_of(self, column: Floats) -> Floats:
        """Return (k,) values if (n,) a column were the scores."""
        return self.basis.estimates(self._levels, column)

    @cached_property
    def part(self) -> NDArray[np.intp]:
        """(k,) the number of the part of each option: leads across parts are unknown, since nobody
        scored options of both, or a bias that nothing shows may be all of them.
        """
        design, k = self.design, self.design.n_options
        if design.rival is None and design.features is None and self.basis.slopes_told:
            return self.basis.part_of("option")
        found = np.full(k, -1, dtype=np.intp)
        while (found < 0).any():
            first = int(np.argmin(found))
            told = self._weights(np.full(k, first), np.arange(k)).told & (found < 0)
            told[first] = True
            found[told] = found.max() + 1
        return found

    @property
    def compared(self) -> bool:
        """Whether all options are compared with one another."""
        return bool((self.part == 0).all())

    def covariance(self, some: Indices, alone: bool = False) -> tuple[Floats, float]:
        """Return the covariance of some values, up to a constant that all share, as if noise were
        alike, and the degrees of freedom of that noise; ``alone``: its diagonal.
        """
        errors, weights = self.errors, self._levels.some(some)
        S = weights.squares
        if not alone:
            S = np.asarray(sum(dense(part @ part.T) for part in _parts(self.basis, weights)))
        if errors.known is not None:
            return errors.known**2 * S, 1e9
        pool = self._pool
        if not pool.noise > 0.0:
            return errors.noise * S, float(self.freedom)
        return pool.noise * S, max(pool.freedom, 1.0)

    @property
    def _pool(self) -> Pool:
        """The noise of options."""
        columns = self.design.clusters
        return self.errors.pool(lambda: self._one_less_others("option"), "option", columns)

    @cached_property
    def order(self) -> Indices:
        """Options by value, the highest first; of equals, the first."""
        return np.argsort(-self.values, kind="stable")

    def _of_options(self, C: Any) -> dict[str, Any]:
        """Return contrasts of options by the block that they are of."""
        features = self.design.features
        return {"option": C if features is None else C @ features}

    def _weights(self, a: ArrayLike, b: ArrayLike) -> Weights:
        a, b = np.asarray(a), np.asarray(b)
        C = indicator(a, self.design.n_options).T - indicator(b, self.design.n_options).T
        about = "option", np.column_stack([a, b]).astype(np.intp)
        return self.basis.weights(self._of_options(C), about=about)

    def _one_less_others(self, block: str) -> Weights:
        """Return the weights of 'one less the others' of its connected part; of very many, of each
        alone, which hardly differs.
        """
        if block == "evaluator":
            return self._severity_weights
        k, part = self.design.n_options, self.part
        if k > _MANY:
            return self._levels
        same = part[:, None] == part
        n = same.sum(1, keepdims=True)
        C = (np.eye(k) - same / n) * n / np.maximum(n - 1, 1)
        return self.basis.weights(self._of_options(C), about=("option", np.arange(k)[:, None]))

    def contrasts(
        self,
        weights: Weights,
        columns: Mapping[str, Codes],
        pooled: str | None = None,
        own: Any = None,
        pair: tuple[Indices, Indices] | None = None,
    ) -> Spread:
        """Return estimates with errors of contrasts.

        Parameters
        ----------
        weights
            Of the contrasts.
        columns
            By name, what comes back: (n,) clusters.
        pooled
            The block of effects over which noise is pooled; None for a noise of its own.
        own
            (K,) function of the pool's chances of single effects: how probable the contrast's own
            noise is.
        pair
            The two options whose lead it is, if it is one; judges' unequal use of the scale may
            move it then, as it may a bias.
        """
        estimate = self.basis.estimates(weights, self.design.y)
        estimate = np.where(np.abs(estimate) <= self._grain, 0.0, estimate)
        alone, slopes = weights.apart()
        V, f = self.errors.by_clusters(alone, columns)
        if pooled is not None:
            pool = self.errors.pool(lambda: self._one_less_others(pooled), pooled, columns)
            chances = np.ones(len(V)) if own is None else own(pool.chance)
            V, f = self.errors.moderated(V, f, alone.squares, pool, chances)
        V, f = self._with_slopes(V, f, slopes, columns)
        if pair is not None:
            moved, more = self._by_scale(weights, pair, estimate, V)
            estimate, V = estimate - moved, V + more
        return self._told(Spread(estimate, V, f), pooled is not None)

    def _with_slopes(
        self, V: Floats, f: Floats, slopes: Floats, columns: Mapping[str, Codes]
    ) -> tuple[Floats, Floats]:
        """Return errors of contrasts of effects with those of slopes that are taken off."""
        if not slopes.any() or self.errors.known is not None:
            return V, f
        each, freedom = self.errors.units(columns)
        with np.errstate(invalid="ignore"):
            more = np.where(slopes != 0.0, slopes**2 * each, 0.0).sum(1)
            both = V + more
            share = np.where(np.isfinite(both) & (both > 0.0), V / np.maximum(both, 1e-300), 1.0)
        return both, 1.0 / (share**2 / f + (1.0 - share) ** 2 / freedom.min())

    def _told(self, spread: Spread, pooled: bool) -> Spread:
        """Return infinite variances where nothing tells an error."""
        size = float(np.abs(self.design.y).max(initial=0.0)) ** 2
        none = (spread.variance <= _SILENT * size) | (pooled & (spread.freedom < 0.99))
        return spread._replace(variance=np.where(none, np.inf, spread.variance))

    def leads(self, a: ArrayLike, b: ArrayLike) -> Spread:
        """Return by how much options a are better than options b, pair by pair."""
        a, b = (np.asarray(x, dtype=np.intp) for x in np.broadcast_arrays(a, b))
        return self._leads(a, b, self._exact(len(a)))

    def _exact(self, n: int) -> bool:
        """Tell whether the weights of so many leads may be written out."""
        return self.errors.small and n * len(self.design) <= _PAIRS

    def _leads(self, a: Indices, b: Indices, exact: bool) -> Spread:
        if not exact:
            spread = self._many_leads(a, b)
        else:
            spread = self.contrasts(
                self._weights(a, b),
                self.design.clusters,
                "option",
                lambda chance: np.minimum(chance[a], chance[b]),
                (a, b),
            )
            if self.silent and self.design.rival is not None:
                spread = self._swept(a, b, spread)
        same = a == b
        return Spread(
            np.where(same, 0.0, spread.estimate),
            np.where(same, 0.0, spread.variance + self._by_items(a, b)),
            spread.freedom,
        )

    def _swept(self, a: Indices, b: Indices, spread: Spread) -> Spread:
        """Return leads where no verdict contradicts another: of two options that are worth the same
        n judges prefer one with a chance of 2⁻ⁿ (the sign test); as many count as name either
        first, since that may help.
        """
        design, n = self.design, np.zeros(len(a))
        if len(design.clusters) > 1 or not np.isin(design.y, (-1.0, 1.0)).all():
            return spread
        codes = next(iter(design.clusters.values()), np.arange(len(design)))
        for i, pair in enumerate(zip(a, b, strict=True)):
            stand = (pair, pair[::-1])
            first, second = (
                set(codes[(design.option == x) & (design.rival == y)].tolist()) for x, y in stand
            )
            n[i] = len(first & second) + 2 * min(len(first - second), len(second - first))
        with np.errstate(divide="ignore", invalid="ignore"):
            V = (spread.estimate / special.ndtri(0.5**n)) ** 2
        told = np.isfinite(spread.estimate) & (n > 1) & (V > 0.0)
        return spread._replace(variance=np.where(told, V, np.inf), freedom=np.full(len(a), 1e9))

    def pairs(self) -> Iterator[tuple[Indices, Indices, Spread]]:
        """Return all leads of options a over options b behind them, block by block."""
        k = self.design.n_options
        n = k * (k - 1) // 2
        if n <= _BLOCK or self._exact(n):
            yield self._all_pairs
            return
        behind = k - 1 - np.arange(k)
        block = (np.cumsum(behind) - 1) // _BLOCK
        for rows in np.split(np.arange(k), np.flatnonzero(np.diff(block)) + 1):
            a = np.repeat(rows, behind[rows])
            b = np.concatenate([np.arange(row + 1, k) for row in rows.tolist()])
            yield a, b, self._leads(a, b, exact=False)

    @cached_property
    def _all_pairs(self) -> tuple[Indices, Indices, Spread]:
        a, b = np.triu_indices(self.design.n_options, 1)
        return a, b, self.leads(a, b)

    def _many_leads(self, a: Indices, b: Indices) -> Spread:
        """Return the leads of many pairs from sums over clusters of single options: variances are
        exact, degrees of freedom by the rows of both options, which have most of the weights.
        """
        errors, design = self.errors, self.design
        weights, slopes = self._levels.apart()
        every = [errors.clusters(one) for one in design.clusters.values()] or [errors.clusters()]
        shared = sum(_products(part, a, b) for part in _parts(self.basis, weights))
        squares = np.maximum(weights.squares[a] + weights.squares[b] - 2.0 * shared, 0.0)
        V, f = list[Floats](), list[Floats]()
        for kind in every:
            V.append(_squares(errors.sums(weights, kind), a, b, -1.0))
            q, total = errors.own_squares(weights, kind)
            rest = np.maximum(squares - total[a] - total[b], 0.0)
            share = float(((np.bincount(kind.codes) / len(kind.codes)) ** 2).sum())
            f.append(less_one(squares, _squares(q, a, b, 1.0) + rest**2 * share))
        cell = V[0]
        if len(V) > 1:
            cells = errors.clusters(*design.clusters.values())
            cell = _squares(errors.sums(weights, cells), a, b, -1.0)
        v, d = together(np.array(V), np.array(f), cell)
        v, pool = np.where(self.part[a] == self.part[b], v, np.inf), self._pool
        p = np.minimum(pool.chance[a], pool.chance[b])
        v, d = errors.moderated(v, d, squares, pool, p)
        v, d = self._with_slopes(v, d, slopes[a] - slopes[b], design.clusters)
        lead = self.values[a] - self.values[b]
        if len(a) <= design.n_options:
            moved, more = self._by_scale(None, (a, b), lead, v)
            lead, v = lead - moved, v + more
        return self._told(Spread(lead, v, d), pooled=True)

    def level(self, like: bool = True) -> Spread:
        """Return the values with errors, for items like these, and judges like these or these."""
        spread = self.contrasts(self._levels, self.design.clusters, "option", lambda c: c)
        if self.design.rival is not None:
            return spread
        if like and self.design.n_evaluators > 1:
            spread = self._drawn(spread, self.severities, self.basis.part_of("evaluator"))
        return spread if self.design.item is None else self._drawn(spread, *self._items)

    def _drawn(self, spread: Spread, effects: Floats, whose: NDArray[np.intp]) -> Spread:
        """Return values with the error of the mean of a sample of effects, too, (n,) with their
        connected parts (Welch).
        """
        drawn, many = np.empty((2, self.design.n_options))
        for s in range(self.basis.parts):
            own, mine = effects[whose == s], self.basis.part_of("option") == s
            many[mine] = max(len(own) - 1, 1)
            drawn[mine] = own.var(ddof=1) / len(own) if len(own) > 1 else np.inf
        V = spread.variance + drawn
        with np.errstate(invalid="ignore"):
            share = np.where(np.isfinite(V), drawn / np.maximum(V, 1e-300), 1.0)
        freedom = 1.0 / ((1.0 - share) ** 2 / spread.freedom + share**2 / many)
        return Spread(spread.estimate, V, freedom)

    @property
    def _items(self) -> tuple[Floats, NDArray[np.intp]]:
        """How high items lie, or clusters of them, on average; and the connected part of each."""
        design = self.design
        assert design.item is not None
        left = design.y - self.residual - self.values[design.option]
        if design.evaluator is not None and "evaluator" in self.basis.blocks:
            left = left - self.severities[design.evaluator]
        slopes = self.basis.weights({}, np.eye(design.x.shape[1]))
        left = left - design.x @ self.basis.estimates(slopes, design.y)
        codes = design.clusters.get("cluster", design.item)
        times = np.bincount(codes)
        whose = np.zeros(len(times), dtype=np.intp)
        whose[codes] = self.basis.part
        seen = times > 0
        return np.bincount(codes, left)[seen] / times[seen], whose[seen]

    @cached_property
    def severities(self) -> Floats:
        """(J,) severities less their mean in the connected part; in comparisons, what each adds to
        what is named first.
        """
        return self.basis.estimates(self._severity_weights, self.design.y)

    def severity(self) -> Spread:
        """Return the severities with errors; a judge errs among options, so these are clusters."""
        columns = {"option": self.design.option}
        if self.design.rival is not None:
            columns = dict(self.design.clusters)
            columns.pop("evaluator", None)
        pooled = "evaluator" if self.design.n_evaluators > 1 else None
        return self.contrasts(self._severity_weights, columns, pooled, lambda chance: chance)

    def bias(self, j: int, columns: Mapping[str, Codes]) -> Spread:
        """Return the slope of x in column j, with clusters that it may differ by."""
        c = np.zeros((1, self.design.x.shape[1]))
        c[0, j] = 1.0
        weights = self.basis.weights({}, c)
        V, f = self.errors.by_slopes(weights, columns)
        spread = self._told(Spread(self.basis.estimates(weights, self.design.y), V, f), False)
        moved, more = self._by_scale(weights, None, spread.estimate, spread.variance)
        return Spread(spread.estimate - moved, spread.variance + more, spread.freedom)

    @cached_property
    def _levels(self) -> Weights:
        """Weights of values: of options, with evaluators and items of their part on average."""
        design, k = self.design, self.design.n_options
        about = "option", np.arange(k)[:, None]
        contrasts = self._of_options(indicator(np.arange(k, dtype=np.int32), k))
        if design.rival is not None:  # values less their mean
            contrasts = self._of_options(np.eye(k) - 1.0 / k)
            if not self.compared:
                same = self.part[:, None] == self.part
                contrasts = self._of_options(np.eye(k) - same / same.sum(1, keepdims=True))
            return self.basis.weights(contrasts, about=about)
        for name, size in (("evaluator", design.n_evaluators), ("item", design.n_items)):
            if name not in self.basis.blocks:
                continue
            if self.basis.parts == 1:
                contrasts[name] = np.full((k, size), 1.0 / size)
                continue
            of = self.basis.part_of(name)
            same = self.basis.part_of("option")[:, None] == of
            contrasts[name] = same / np.maximum(same.sum(1, keepdims=True), 1)
        return self.basis.weights(contrasts, about=about)

    @cached_property
    def _severity_weights(self) -> Weights:
        J, whose = self.design.n_evaluators, self.basis.part_of("evaluator")
        C = np.eye(J)
        if self.design.rival is None:  # J may be large: less in place
            for part in range(self.basis.parts):
                mine = np.flatnonzero(whose == part)
                C[np.ix_(mine, mine)] -= 1.0 / max(len(mine), 1)
        return self.basis.weights({"evaluator": C}, about=("evaluator", np.arange(J)[:, None]))

    def _by_scale(
        self,
        weights: Weights | None,
        pair: tuple[Indices, Indices] | None,
        estimate: Floats,
        V: Floats,
    ) -> tuple[Floats, Floats]:
        """Return by how much unequal use of the scale moves contrasts, drawn to 0, and the variance
        that is left (`errors`, 4). Of many leads, those that are closest are looked at.
        """
        design, K = self.design, len(estimate)
        moved, more = np.zeros(K), np.zeros(K)
        if design.evaluator is None or design.rival is not None or design.control is not None:
            return moved, more
        if design.features is not None or design.n_evaluators < 2:
            return moved, more
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(estimate) / np.sqrt(V)
        which = np.argsort(np.where(np.isfinite(V), t, np.inf), kind="stable")
        which = which[: max(1, _CLOSEST // max(len(design), 1))]
        which = which[np.isfinite(V[which])]
        for some in np.array_split(which, max(1, len(which) * len(design) // 4_000_000)):
            both = None if pair is None else (pair[0][some], pair[1][some])
            if both is not None and weights is None:
                these = self._weights(*both)
            else:
                assert weights is not None
                these = weights.some(some)
            moved[some], more[some] = self._stretched(these, both)
        if pair is not None:  # who leads is said once, by values: a lead may be lost, not turned
            moved = np.clip(moved, np.minimum(estimate, 0.0), np.maximum(estimate, 0.0))
        return moved, more

    def _stretched(
        self, weights: Weights, pair: tuple[Indices, Indices] | None
    ) -> tuple[Floats, Floats]:
        design, basis, K = self.design, self.basis, len(weights)
        assert design.evaluator is not None
        judge, J = design.evaluator, design.n_evaluators
        W, o, v = basis.rows(weights), design.option, self.values
        x = np.repeat(v[None, o], K, axis=0)
        if pair is not None:  # a lead is not among what is stretched
            mean = 0.5 * (v[pair[0]] + v[pair[1]])
            own = (o == pair[0][:, None]) | (o == pair[1][:, None])
            x = np.where(own, mean[:, None], x)
        over = indicator(judge, J).T
        times = np.maximum(np.bincount(judge, minlength=J), 1)
        x -= (np.asarray(x @ over) / times)[:, judge]
        a = np.asarray((W * x) @ over)
        top = np.abs(a).max(1)
        moved, more = np.zeros(K), np.zeros(K)
        some = top > 1e-9 * ((np.abs(W) * np.abs(x)).sum(1) + 1e-300)
        if not some.any():
            return moved, more
        z = (a[some] / top[some, None])[:, judge] * x[some]
        left = basis.off(np.ascontiguousarray(z.T)).T
        size, shift = (left * left).sum(1), (W[some] * z).sum(1)
        along = left @ self.residual
        told = size > 1e-9 * (z * z).sum(1)
        safe = np.where(told, size, 1.0)
        sums = np.asarray((left * (self.residual - left * (along / safe)[:, None])) @ over)
        error = np.maximum(self.errors.noise / safe, ((sums / safe[:, None]) ** 2).sum(1))
        error = np.where(told, error, np.inf)
        tau = FREE if pair is None else TAU
        drawn = tau**2 / (tau**2 + error)
        moved[some] = shift * drawn * along / safe
        more[some] = shift**2 * tau**2 * (1.0 - drawn)
        if pair is None:
            more[some] += (TRUSTED * moved[some]) ** 2
        return moved, more

    def _by_items(self, a: Indices, b: Indices) -> Floats | float:
        """Return the variance of what models say on all items, of items like these."""
        X = self.design.control
        if X is None:
            return 0.0
        first = np.eye(1, self.design.x.shape[1])
        slope = float(self.basis.estimates(self.basis.weights({}, first), self.design.y)[0])
        there = np.maximum(np.isfinite(X).sum(1, keepdims=True), 1)
        mean = np.where(np.isfinite(X), X, 0.0) / there
        gram = mean @ mean.T
        d = gram.diagonal()
        n = X.shape[1]
        return np.asarray(slope**2 * (d[a] + d[b] - 2.0 * gram[a, b]) * n / max(n - 1, 1))


def _parts(basis: Basis, weights: Weights) -> list[Any]:
    """Return matrices of K rows each, whose products add up to those of weights over all rows."""
    counts = np.where(np.isinf(basis.counts), 0.0, basis.counts)
    parts = [weights.levels * np.sqrt(counts), weights.slopes]
    return parts if weights.effects is None else [*parts, weights.effects]


def _products(rows: Any, a: Indices, b: Indices) -> Floats:
    """Return (n,) the products of rows a and b of a matrix that may be sparse."""
    if len(a) > rows.shape[0]:
        first = a.min()
        return np.asarray(dense(rows[first : a.max() + 1] @ rows.T)[a - first, b])
    return np.asarray((rows[a] * rows[b]).sum(1)).reshape(-1)


def _squares(rows: Any, a: Indices, b: Indices, sign: float) -> Floats:
    """Return (n,) the squared lengths of rows a and b added, or of their difference."""
    own = squared_lengths(rows)
    return np.asarray(np.maximum(own[a] + own[b] + 2.0 * sign * _products(rows, a, b), 0.0))


def alike(values: Floats, grain: float) -> float:
    """Return up to what difference values tie: that of rounding, or a grain."""
    return max(TIE * float(np.abs(values).max(initial=0.0, where=np.isfinite(values))), grain)


def places(values: Floats, grain: float) -> Floats:
    """Return (k,) the place of each value, from 0; those that tie share it, NaN has none."""
    order = np.argsort(-values, kind="stable")
    found = np.where(np.isnan(values), np.nan, 0.0)
    found[order[1:]] += np.cumsum(-np.diff(values[order]) > alike(values, grain))
    return found
