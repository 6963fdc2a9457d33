"""Biases of a table of scores: the common one, those of attributes, of each evaluator, of places.

One fit tells them from worth and severity (`linear.design_of_biases`); `audit` and `decide` say
what is said here, so that both say the same. A bias is a contrast like any other; it may differ by
evaluators and by options, which are clusters. Biases of several of a kind are shrunken to their
mean by as much as they are noise (`population`).

Notation
--------
b_g, v_g    one of G estimates of a kind, and the variance of its noise
τ²          variance of the truths about their mean μ
w_g         1/(v_g + τ²);  μ̂ = Σ w b/Σ w;  c = Σ w − Σ w²/Σ w

At the true τ², Q(τ²) = Σ w (b − μ̂)² is χ² with G − 1 degrees of freedom. τ² is taken where Q is
G − 1, and 0 if it is less at 0 (Paule and Mandel). Its error is that of Q over c, so its variance
is 2(G − 1)/c². DerSimonian and Laird stop after the first step towards that root, with weights 1/v:
of 34 estimates that are known as well as the biases of skating's nations, their τ² is off by 0.45
of itself where it is 20 times a usual v, this one by 0.26; where it is 0.3 v, by 0.20 v and 0.24 v.
Intervals of both hold alike.

The mean is as sure as the b are spread about it: its variance is Q/((G − 1) Σ w), with Student's
distribution (Hartung and Knapp), and at least 1/Σ w where τ² is 0. One more of them has τ² beside
(Higgins, Thompson and Spiegelhalter), with as many degrees of freedom as twice the square over the
variance of τ² has, from 2 to G − 2. Each estimate is drawn to μ̂ by the share v/(v + τ²) of it that
is noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.linear import Design, Fit, Spread
from evenhand.linear.basis import Weights
from evenhand.linear.design import (
    PARTIALITY,
    clusters_of_biases,
    design_of_biases,
    design_of_values,
    regressors,
    sides,
)
from evenhand.linear.errors import Pool
from evenhand.linear.large import LargeFit
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.policies.messages import Estimate
from evenhand.scores import Scores
from evenhand.scores.scores import POSITION, Codes, crossed

_EXACT = 1e-12  # of the largest variance, added to all: an exact estimate has a finite weight, too
_STEPS = 100
_EACH = 20_000_000  # rows times slopes of each that are fitted at once


@dataclass(frozen=True)
class BiasEstimate(Estimate):
    """How much evaluators add to what they are partial to.

    Parameters
    ----------
    value, low, high
        The estimate, and an interval that holds the bias with probability ``level``.
    level
        Confidence of the interval.
    se, freedom
        Standard error, and the degrees of freedom of Student's distribution that goes with it.
    clusters
        By what the bias may differ, and how many of them have partial scores.

    Examples
    --------
    >>> found = Spread(np.array([3.0]), np.array([1.0]), np.array([30.0]))
    >>> bias = BiasEstimate.of(found, level=0.95)
    >>> round(bias.low, 2), round(bias.high, 2), round(bias.chance, 4)
    (0.96, 5.04, 0.0054)
    """

    se: float
    freedom: float
    clusters: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, spread: Spread, level: float, clusters: Mapping[str, int] | None = None
    ) -> BiasEstimate:
        """Return the estimate that a contrast has, by Student's distribution."""
        value, low, high = spread.ends(1.0 - level)[0].tolist()
        se, freedom = math.sqrt(float(spread.variance[0])), float(spread.freedom[0])
        return cls(value, low, high, level, se, freedom, dict(clusters or {}))

    @classmethod
    def unknown(cls, level: float) -> BiasEstimate:
        """Return an estimate of which nothing is known."""
        return cls(math.nan, -math.inf, math.inf, level, math.inf, 1.0)

    def times(self, factor: float) -> BiasEstimate:
        """Return the same in units that are so many times smaller; the factor is above 0."""
        ends = factor * self.value, factor * self.low, factor * self.high
        return replace(self, value=ends[0], low=ends[1], high=ends[2], se=factor * self.se)

    @property
    def chance(self) -> float:
        """How probable an estimate as far from 0 would be without a bias."""
        if math.isnan(self.value) or math.isinf(self.se):
            return 1.0
        if self.se == 0.0:
            return float(self.value == 0.0)
        return 2.0 * float(special.stdtr(max(self.freedom, 0.1), -abs(self.value) / self.se))


@dataclass(frozen=True, eq=False)
class TableFit:
    """The fits of a table of scores: of biases, and of values; on the scale of the scores."""

    scores: Scores
    like: bool = True  # whether judges like these are meant, or these alone
    position: bool = True  # whether judges may favour what is named first
    noise_scale: float | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the regressors: partiality, if it is known, then attributes."""
        return tuple(regressors(self.scores))

    @property
    def partiality(self) -> str:
        """What the regressor is called that says who is partial."""
        return self.scores.called.get("partial", PARTIALITY)

    @cached_property
    def design(self) -> Design:
        """The design of biases."""
        return design_of_biases(self.scores)

    @cached_property
    def panel(self) -> Fit | LargeFit:
        """The fit of biases: what was scored, and evaluators at events."""
        if self.design.large:
            return LargeFit(self.design)
        plain = self.scores.event is None and self.scores.item is None and self.like
        if plain and self.scores.reference is None and len(self.values.design) == len(self.scores):
            return self.values  # the same design
        return Fit(self.design, self.noise_scale)

    @cached_property
    def values(self) -> Fit:
        """The fit of values, the highest the best."""
        scores = self.scores.maximised
        return Fit(design_of_values(scores, self.like, self.position), self.noise_scale)

    @property
    def _sign(self) -> float:
        """−1 where the fit of biases is that of values, and these were turned."""
        shared = self.panel is self.__dict__.get("values")
        return -1.0 if shared and self.scores.best == "low" else 1.0

    @property
    def residual(self) -> Floats:
        """(n,) residuals of the scores as they stand."""
        return self._sign * self.panel.residual

    @property
    def severities(self) -> Floats:
        """What evaluators at events add to all that they score, from their mean; with a reference,
        from that.
        """
        level = 0.0 if self.scores.reference is None else self.panel.values[0]
        return self._sign * (self.panel.severities + level)

    @cached_property
    def told(self) -> bool:
        """Whether the bias is identified."""
        return self.partiality in self.names and math.isfinite(self._slope(self.partiality)[1][0])

    def _slope(self, name: str, columns: Mapping[str, Codes] | None = None) -> Spread:
        j = self.names.index(name)
        columns = clusters_of_biases(self.scores) if columns is None else columns
        spread = self.panel.bias(j, columns)
        known = np.isfinite(spread.variance) & (self.panel.freedom > 0)
        value = np.where(self._alone(j).any(), self._sign * spread.estimate, np.nan)
        return Spread(value, np.where(known, spread.variance, np.inf), spread.freedom)

    def _alone(self, j: int) -> Floats:
        """Return (n,) a regressor less effects and the others; 0 where it is not identified."""
        panel = self.panel
        X = panel.basis.X if isinstance(panel, Fit) else np.column_stack(panel._left)
        x, others = X[:, j], np.delete(X, j, axis=1)
        left = x - others @ np.linalg.lstsq(others, x, rcond=None)[0] if others.any() else x
        gone = float(left @ left) <= IN_SPAN**2 * float(x @ x)
        return np.zeros(len(x)) if gone else np.asarray(left)

    @cached_property
    def own(self) -> Floats:
        """(n,) partiality less effects and other regressors; 0 where it is not identified."""
        return self._alone(0) if self.partiality in self.names else np.zeros(len(self.scores))

    def naive(self, level: float) -> BiasEstimate:
        """Return the bias as least squares have it, as if all scores were independent."""
        own, panel = self.own, self.panel
        size = float(own @ own)
        if not size > 0.0:
            return BiasEstimate.unknown(level)
        value = self._sign * float(own @ panel.design.y) / size
        variance = panel.noise**2 / size if panel.freedom > 0 else math.inf
        found = (value, variance, float(max(panel.freedom, 1)))
        return BiasEstimate.of(Spread(*(np.array([part]) for part in found)), level)

    def bias(self, level: float, name: str | None = None) -> BiasEstimate:
        """Return the bias, or the effect of an attribute, with its interval."""
        name = self.partiality if name is None else name
        if name not in self.names:
            return BiasEstimate.unknown(level)
        if name == POSITION and self.scores.baseline is not None:
            return self._place_beside_baseline(level)
        column = regressors(self.scores)[name]
        own = np.flatnonzero(column)
        found = {
            kind: len(np.unique(codes[own]))
            for kind, codes in clusters_of_biases(self.scores).items()
        }
        return BiasEstimate.of(self._slope(name), level, found)

    def here(self, level: float) -> BiasEstimate:
        """Return the bias of these evaluators towards these options alone: noise is all."""
        if self.partiality not in self.names or isinstance(self.panel, LargeFit):
            return self.bias(level)
        return BiasEstimate.of(self._slope(self.partiality, {}), level)

    def standing_first(self, level: float) -> BiasEstimate | None:
        """Return by how much standing first helps in comparisons; None where nothing was compared,
        and against one baseline, where it is an attribute if both stood first.
        """
        scores = self.scores
        if scores.rival is None or scores.baseline is not None:
            return None
        first, second, k = sides(scores)
        x = np.column_stack([np.ones(len(scores)), *regressors(scores).values()])
        clusters = clusters_of_biases(scores)
        design = Design(scores.centred, first, k, rival=second, x=x, clusters=clusters)
        fit = Fit(design)
        if not fit.basis.weights({}, np.eye(1, x.shape[1])).told[0]:
            return BiasEstimate.unknown(level)
        return BiasEstimate.of(fit.bias(0, clusters), level)

    def _place_beside_baseline(self, level: float) -> BiasEstimate:
        """Return by how much standing first helps where all are compared with one baseline: within
        items that were judged in both orders; else from item to item, since within an item nothing
        tells its order from how good the baseline's answer is, and orders do not go by that.
        """
        scores = self.scores
        assert scores.item is not None
        rows = np.flatnonzero(scores.option.codes != scores.baseline)
        columns = {name: column[rows] for name, column in regressors(scores).items()}
        first = columns.pop(POSITION)
        x = np.column_stack([first, *columns.values()])
        options, k = crossed(scores.option.codes[rows])
        items, n = crossed(scores.item.codes[rows])
        clusters = {kind: codes[rows] for kind, codes in clusters_of_biases(scores).items()}
        times = np.bincount(items)
        within = 2 * np.count_nonzero(np.abs(np.bincount(items, first)) < times) >= n
        design = Design(scores.centred[rows], options, k, x=x, clusters=clusters)
        fit = Fit(replace(design, item=items, n_items=n) if within else design)
        if not fit.basis.weights({}, np.eye(1, x.shape[1])).told[0]:
            return BiasEstimate.unknown(level)
        found = {kind: len(np.unique(codes)) for kind, codes in clusters.items()}
        return BiasEstimate.of(fit.bias(0, clusters), level, found)

    def each(self, codes: Codes, size: int) -> Spread:
        """Return (size,) the bias in the rows of each code, −1 for nobody's: least squares with a
        slope for each; NaN for those who have no partial scores, or none that are told.
        """
        nothing = Spread(np.full(size, np.nan), np.full(size, np.inf), np.ones(size))
        if self.partiality not in self.names or self.panel.freedom < 1:
            return nothing
        p = regressors(self.scores)[self.partiality]
        there = (p != 0.0) & (codes >= 0)
        who = np.unique(codes[there])
        if not len(who):
            return nothing
        if isinstance(self.panel, LargeFit) or len(who) * len(p) > _EACH:
            large = self.panel if isinstance(self.panel, LargeFit) else LargeFit(self.design)
            return large.own_slopes(codes, size)
        x = np.where(codes[:, None] == who, p[:, None], 0.0)
        others = [
            column for name, column in regressors(self.scores).items() if name != self.partiality
        ]
        design = replace(self.design, x=np.column_stack([x, *others]))
        fit = Fit(design, self.noise_scale)
        m = len(who)
        weights = fit.basis.weights({}, np.eye(m, m + len(others)))
        V, f = self._of_pairs(fit, weights)
        told = weights.told & np.isfinite(V)
        nothing.estimate[who] = np.where(told, fit.basis.estimates(weights, design.y), np.nan)
        nothing.variance[who] = np.where(told, V, np.inf)
        nothing.freedom[who] = np.maximum(f, 1.0)
        return nothing

    def _of_pairs(self, fit: Fit, weights: Weights) -> tuple[Floats, Floats]:
        """Return variances and degrees of freedom of slopes that are somebody's own: by pairs of
        evaluator and option, since what one sees in the other comes back; drawn to the noise of all
        slopes by how probable the own one is beside it (`linear.errors`, 2).
        """
        scores, errors, S = self.scores, fit.errors, np.maximum(weights.squares, 1e-300)
        parts = [scores.option.codes, *([] if scores.rival is None else [scores.rival])]
        parts += [] if scores.evaluator is None else [scores.evaluator.codes]
        pairs, n = crossed(*parts)
        V, f = errors.by_clusters(weights, {"pairs": pairs})
        whose = 0 if scores.evaluator is None else len(scores.evaluator) - 1
        left = max(n - len(scores.option) - whose - len(f), 1)  # degrees of freedom of pairs
        f = f * min(1.0, left / max(float(f.sum()), 1e-9))
        s, some = V / S, weights.told & (f > 1e-9)
        if not s[some].any():
            return np.full(len(s), errors.noise) * S, np.full(len(s), float(fit.freedom))
        s0 = float((s * f)[some].sum() / f[some].sum())
        nu = min(float(f[some].sum()), float(fit.freedom))
        tails = special.fdtrc(f, nu, s / s0), special.fdtr(f, nu, s / s0)
        p = np.minimum(1.0, 4.0 * np.minimum(*tails))
        return errors.moderated(V, f, S, Pool(s0, max(nu, 1.0), p), p)


@dataclass(frozen=True)
class Population:
    """What estimates of a kind say of the truths behind them."""

    n: int  # how many were known
    mean: float  # μ̂
    mean_variance: float  # its variance, with n − 1 degrees of freedom
    between: float  # τ²
    next_freedom: float  # of where one more lies: around the mean, with τ² and the mean's variance
    chance: float  # how probable as much as they differ would be if all were alike

    def shrunken(self, estimates: Floats, variances: Floats) -> Floats:
        """Return (n,) estimates drawn to the mean; the mean where nothing is known."""
        kept = 1.0 - self.noise(variances)
        return np.asarray(self.mean + kept * np.where(kept > 0.0, estimates - self.mean, 0.0))

    def noise(self, variances: Floats) -> Floats:
        """Return (n,) the share of what an estimate differs by that is noise."""
        total = variances + self.between
        share = np.ones(len(variances))
        return np.divide(variances, total, out=share, where=np.isfinite(total) & (total > 0.0))


def population(estimates: Floats, variances: Floats) -> Population | None:
    """Return what estimates say of the truths behind them; None unless two have a variance."""
    known = np.isfinite(estimates) & np.isfinite(variances)
    b, v = estimates[known], variances[known]
    n = len(b)
    if n < 2 or not v.any():
        return None
    unit, level = math.sqrt(float(v.max())), float(b.mean())
    b, v = (b - level) / unit, v / unit**2 + _EXACT

    def weighted(between: float) -> tuple[Floats, float, float]:
        w = 1.0 / (v + between)
        mean = float(w @ b / w.sum())
        return w, mean, float(w @ (b - mean) ** 2)

    apart, between = weighted(0.0)[2], 0.0
    if apart > n - 1:
        for _ in range(_STEPS):  # of Newton: Q falls, and ever less steeply
            w, mean, Q = weighted(between)
            if (n - 1) * (1.0 + 1e-12) >= Q:
                break
            between += (Q - (n - 1)) / float(w**2 @ (b - mean) ** 2)
    w, mean, Q = weighted(between)
    of_mean = max(Q / (n - 1), float(between == 0.0)) / float(w.sum())
    c = float(w.sum() - w @ w / w.sum())
    sure = ((between + of_mean) * c) ** 2 / (n - 1)
    return Population(
        n,
        level + unit * mean,
        unit**2 * of_mean,
        unit**2 * between,
        min(max(sure, 2.0), n - 2.0),
        float(special.chdtrc(n - 1, apart)),
    )
