"""The m best at one look: who is surely among them, who surely not, and who stands at the line.

Notation
--------
v̂, C        (k,) estimated values up to a constant, and (k, k) their covariance up to what all share
s_xy², ν_xy variance of v̂_x − v̂_y, and its degrees of freedom;  t_xy = (v̂_x − v̂_y)/s_xy
t°_xy       the same of noise alone: of draws from C, over draws of s_xy
δ           1 − confidence;  β = δ/10
x ≻ y       t_xy > c: x is better than y beyond noise

*In*: fewer than m options are better. *Out*: at least m others are as good or better. x is said to
be in if it is ≻ at least k − m others, and out if at least m others are ≻ x.

Why it holds
------------
Let options be numbered by their true values. Whoever is in falsely, at place m + j, has k − m − j
others behind it, and so is ≻ at least j of those before it; whoever is out falsely, at place
m − i + 1, has at least i of those behind it ≻ it. For none of these pairs is the true difference
above 0. So anything is said falsely only if M > c, M the largest of

    the j-th largest of {t°_{m+j,y}: y < m + j},    j = 1 … k − m, and
    the i-th largest of {t°_{y,m−i+1}: y > m − i + 1},    i = 1 … m,

and c is the quantile of M by draws. It is never larger than that of the largest of all pairs across
the line, and much smaller where many are wanted. If all noise is alike, the law of M does not
depend on who is where; else it is that of the order as estimated, and was measured
(docs/research/measured.md).

Two steps (after Romano, Shaikh and Wolf, 2014). Pairs that are far apart cannot be confused. With a
chance of 1 − β all differences are within c_β of their estimates, c_β the quantile of the largest
|t°| of all pairs, s_xy at most s_xy √(ν/χ²_{β/2,ν}). So a pair is taken to differ by
u_xy = min(0, (t_xy + c_β)√(χ²_{β/2,ν}/ν)) errors, which is added to its noise, and M is to exceed
c with a chance of δ − β.

Then step down: who is in cannot be out, and the other way round, so that nothing false is left to
say of them. M is taken over the places of the others, which makes c smaller, until nobody follows.

Where options have noise of their own, t_xy is put on the normal scale by its own degrees of freedom
(Wallace, 1959), the same of draws, so that c is fair to all pairs.

Of m = 1 nothing here is used but chances and ranks: the winner test (`winner`) rejects 'j is the
best' for each rival by itself, and only one of these is true, so that is out who is rejected, and
in who is left alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.certainty.models import Fit, OwnParts, Shared, freedom_of
from evenhand.numerics.intervals import student_tail
from evenhand.questions.options import named_biases

_NUMBERS = 5_000_000  # that draws of all pairs may come to: of many options there are fewer draws,
_FEWEST, _MOST = 1_000, 10_000  # but no fewer than this, and never more
_FIRST = 0.1  # share of δ that the first step has
_SAME = 1e-12  # share of the largest variance below which two options are the same

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Field:
    """Estimates of all options, with what errors they have in common."""

    values: Floats  # (k,) v̂, up to a constant
    covariance: Floats  # (k, k) C, up to what all share
    freedom: float  # ν of all, where it is one noise; of the least known else
    own: OwnParts | None = None  # what options' own scores add, where each has its noise
    confirmed: Flags | None = None  # (k, k) whom those who are trusted have ahead; None: all count

    @classmethod
    def of(cls, fit: Fit, k: int) -> Self | None:
        """Return the field of a fit; None where not all can be compared or nothing is heard."""
        return cls.of_some(fit, np.arange(k))

    @classmethod
    def of_some(cls, fit: Fit, among: Indices) -> Self | None:
        """Return the field of a fit among some options, as `of` all."""
        if len(among) < 2 or fit.freedom < 1.0:
            return None
        first, rivals = int(among[0]), among[1:]
        leads, variances = fit.leads(first, rivals)
        if not np.isfinite(variances).all():
            return None
        unit = 1.0 if math.isinf(fit.freedom) else fit.scatter / fit.freedom
        return cls.of_leads(
            leads,
            fit.shared(first, rivals),
            unit,
            fit.freedom,
            fit.own.among(among) if isinstance(fit.own, OwnParts) else None,
        )

    @classmethod
    def of_leads(
        cls,
        leads: Floats,
        shared: Shared,
        unit: float,
        freedom: float,
        own: OwnParts | None = None,
    ) -> Self | None:
        """Return the field in which the first option has these leads over the others."""
        some = unit * shared.some(np.arange(len(leads)))
        if not (np.isfinite(some).all() and some.any()):
            return None
        return cls(np.append(0.0, -leads), np.pad(some, ((1, 0), (1, 0))), freedom, own)

    def __len__(self) -> int:
        """Return how many options there are."""
        return len(self.values)

    def beside(self, errors: Floats) -> Self:
        """Return the field with (k,) errors beside, which are one and the same for all."""
        return replace(self, covariance=self.covariance + np.outer(errors, errors))

    def confirmed_by(self, confirmed: Flags) -> Self:
        """Return the field of which is sure only what those who are trusted confirm."""
        return replace(self, confirmed=confirmed)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """(k,) the options, the most valuable first; of equals the better known."""
        own = np.diagonal(self.centred)
        return np.lexsort((own, -self.values))

    @cached_property
    def centred(self) -> Floats:
        """(k, k) covariance of values less their mean, whatever option leads were measured from."""
        C = self.covariance
        return np.asarray(C - C.mean(axis=0) - C.mean(axis=1)[:, None] + C.mean())

    @cached_property
    def variances(self) -> Floats:
        """(k, k) s_xy²; infinite for an option beside itself, or beside the same again."""
        own = np.diagonal(self.covariance)
        found = own[:, None] + own - 2.0 * self.covariance
        found = np.where(found > _SAME * found.max(), found, np.inf)
        np.fill_diagonal(found, np.inf)
        return found

    @cached_property
    def freedoms(self) -> Floats:
        """(k, k) ν_xy."""
        if self.own is None:
            return np.full((len(self), len(self)), self.freedom)
        everybody = np.arange(len(self))
        rows = (self.own.of_leads(x, everybody, self.variances[x]) for x in range(len(self)))
        return np.array(list(rows))

    @cached_property
    def tests(self) -> Floats:
        """(k, k) t_xy on the normal scale."""
        apart = self.values[:, None] - self.values
        return _normal(apart / np.sqrt(self.variances), self.freedoms)

    @cached_property
    def noise(self) -> Noise:
        """Draws of the noise, in the order of the values."""
        return Noise.of(self)


@dataclass(frozen=True, eq=False)
class Noise:
    """Draws of the noise of all pairs; options are in the order of their values."""

    field: Field
    draws: Floats  # (b, k) of v̂
    scales: Floats | None  # (b, k) of χ²_D/D of each option's own noise; None: (b,) of one
    common: Floats  # (b,) of χ²_ν/ν

    @classmethod
    def of(cls, field: Field) -> Self:
        """Draw, the same for the same values however options are numbered or called."""
        k, rng = len(field), np.random.default_rng(0)
        n = int(np.clip(_NUMBERS // k**2, _FEWEST, _MOST))
        C = field.centred[np.ix_(field.order, field.order)]
        size = float(np.trace(C)) / k
        z = rng.standard_normal((n, k))
        root = np.linalg.cholesky(C / size + 1.0 / k + 1e-12 * np.eye(k))
        common, scales, own = np.ones(n), None, field.own
        nu = field.freedom if own is None else own.most
        if math.isfinite(nu):
            common = rng.chisquare(nu, n) / nu
        if own is not None:
            # as σ̃² is found: by the option's own scores, but no less than by the others'
            freedom, floors = own.freedom[field.order], (own.floors / own.parts)[field.order]
            scales = rng.chisquare(freedom, (n, k)) / freedom
            np.maximum(scales, floors * common[:, None], out=scales)
        return cls(field, math.sqrt(size) * (z @ root.T), scales, common)

    def tests(
        self, x: int, others: slice, shift: Floats | None = None, normal: bool = True
    ) -> Floats:
        """Return (b, n) t° of the x-th option over others, on the ``normal`` scale or as they are,
        with (n,) true differences added, in errors.
        """
        field, order = self.field, self.field.order
        V = field.variances[order[x], order[others]]
        found = self.draws[:, [x]] - self.draws[:, others]
        if shift is not None:
            found += shift * np.sqrt(V)
        if self.scales is None or field.own is None:
            found /= np.sqrt(V)
            found /= np.sqrt(self.common)[:, None]
        else:
            a = field.own.parts[order]
            here = V + a[x] * (self.scales[:, [x]] - 1.0) + a[others] * (self.scales[:, others] - 1)
            found /= np.sqrt(np.maximum(here, 1e-6 * V))
        return _normal(found, field.freedoms[order[x], order[others]]) if normal else found

    @cached_property
    def largest(self) -> Floats:
        """(b,) the largest |t°| of all pairs."""
        found = np.zeros(len(self.draws))
        for x in range(1, len(self.field)):
            np.maximum(found, np.abs(self.tests(x, slice(0, x))).max(axis=1), out=found)
        return found

    def across(self, m: int) -> Floats:
        """Return (b,) the largest t° of those behind the first m over these."""
        found = np.full(len(self.draws), -np.inf)
        for x in range(m, len(self.field)):
            row = self.tests(x, slice(0, m), normal=False)
            np.maximum(found, row.max(axis=1), out=found)
        return found

    def coupled(self, m: int, shifts: Floats) -> Floats:
        """Return (b, k) what M is the largest of, by the place of each option, with (k, k) true
        differences of pairs added, in errors.
        """
        k = len(self.field)
        found = np.empty((len(self.draws), k))
        for x in range(m, k):  # place x + 1 = m + j
            j, before = x + 1 - m, slice(0, x)
            row = self.tests(x, before, shifts[x, before])
            found[:, x] = np.partition(row, x - j, axis=1)[:, x - j]
        for x in range(m):  # place x + 1 = m − i + 1
            i, n, behind = m - x, k - 1 - x, slice(x + 1, k)
            row = -self.tests(x, behind, -shifts[behind, x])
            found[:, x] = np.partition(row, n - i, axis=1)[:, n - i]
        return found


@dataclass(frozen=True, eq=False)
class Line:
    """What is sure of the m best."""

    inside: Flags  # (k,) surely among the m best
    outside: Flags  # (k,) surely not
    chosen: NDArray[np.intp]  # (m,) who look best, the best first
    loss: float  # what any of these may be worse than any that is left out, at most


def line_of(field: Field, m: int, delta: float) -> Line:
    """Return who is surely in and surely out, all of it with a chance of 1 − δ."""
    order = field.order
    inside, outside = settled(field, m, delta)
    chosen, left = order[:m], order[m:]
    loss = 0.0
    if not inside[chosen].all():
        c_line = float(np.quantile(field.noise.across(m), 1.0 - delta))
        pairs = np.ix_(chosen, left)
        apart = field.values[chosen][:, None] - field.values[left]
        same = np.isinf(field.variances[pairs])
        error = np.sqrt(np.where(same, 0.0, field.variances[pairs]))
        loss = max(0.0, float((c_line * error - apart).max()))
    return Line(inside, outside, chosen, loss)


def settled(field: Field, m: int, delta: float) -> tuple[Flags, Flags]:
    """Return (k,) who is surely in, and who surely out, step by step."""
    k, order = len(field), field.order
    agreed = field.tests
    if field.confirmed is not None:
        agreed = np.where(field.confirmed, agreed, np.minimum(agreed, 0.0))
    # up to which c each is ≻ k − m others, and m others ≻ it; beside itself it has 0
    ahead, behind = np.sort(agreed, axis=1)[:, m], np.sort(agreed, axis=0)[k - m]
    rows, least = coupled(field, m, delta), -float(special.ndtri(delta))
    open_ = np.ones(k, dtype=np.bool_)
    while True:
        largest = rows[:, open_[order]].max(axis=1)
        c = max(float(np.quantile(largest, 1.0 - delta + _FIRST * delta)), least)
        inside, outside = ahead > c, behind > c
        left = ~(inside | outside)
        if not left.any() or (left == open_).all():
            return inside, outside
        open_ = left


def coupled(field: Field, m: int, delta: float) -> Floats:
    """Return (b, k) draws of what M is the largest of, by place, of pairs that are as far apart as
    the first step says.
    """
    beta, noise, order = _FIRST * delta, field.noise, field.order
    at = np.ix_(order, order)
    freedoms = field.freedoms[at]
    within = float(np.quantile(noise.largest, 1.0 - 0.5 * beta))
    reach = _student(np.full(freedoms.shape, within), freedoms)
    t = _student(field.tests[at], freedoms)
    known = np.isinf(freedoms)
    nu = np.where(known, 1.0, freedoms)
    smaller = np.where(known, 1.0, np.sqrt(special.chdtri(nu, 1.0 - 0.5 * beta) / nu))
    return noise.coupled(m, np.minimum(0.0, (t + reach) * smaller))


def ranks_of(field: Field, delta: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (k,) the best and the worst place that each may have, of all at once, from 1."""
    beats = field.tests > float(np.quantile(field.noise.largest, 1.0 - delta))
    if field.confirmed is not None:
        beats &= field.confirmed
    return 1 + beats.sum(axis=0), len(field) - beats.sum(axis=1)


class Errors(NamedTuple):
    """Standard errors of values, each by itself, and how well they are known."""

    sizes: Floats  # (k,)
    freedom: Floats | float

    @classmethod
    def of(cls, fit: Fit, neutral: Floats | None = None, *, like: bool) -> Self:
        """Return the errors of a fit, in units of its noise where that is known: for other judges
        ``like`` these, or for these alone.
        """
        own, pooled = value_errors(fit, neutral), fit.pooled
        found = cls(own, fit.freedom)
        if pooled is not None:
            found = cls.at_least(own, fit.freedom, value_errors(pooled, neutral), pooled.freedom)
        return found.for_judges_like(severities(fit, neutral)) if like else found

    def for_judges_like(self, severities: Floats) -> Self:
        """Return the errors for judges like these, of (J,) severities: that of their mean is added,
        var/J with J − 1 degrees of freedom (Welch). One judge tells nothing of others.
        """
        # The severities are estimates: their variance has noise in it, and so is no smaller than
        # that of the judges themselves.
        J = len(severities)
        if J < 2:
            return self
        drawn = float(severities.var(ddof=1)) / J
        V = self.sizes**2 + drawn
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(np.isfinite(V) & (V > 0.0), drawn / V, 0.0)
            freedom = 1.0 / ((1.0 - share) ** 2 / self.freedom + share**2 / (J - 1))
        known = np.broadcast_to(self.freedom, share.shape) >= 1.0
        return type(self)(np.sqrt(V), np.where(known, np.maximum(freedom, 1.0), self.freedom))

    @classmethod
    def at_least(cls, own: Floats, least: float, pooled: Floats, most: float) -> Self:
        """Return errors by options' own noise that are no smaller than by the noise of all."""
        # In a lead there are two noises, and one is seldom far too small by chance; in a value
        # there is one, that four scores may show a sixth of. Who looks no louder than all has the
        # noise of all; but it may be louder than it looks, so this is known half as well, on the
        # scale of logarithms, as if all were alike.
        freedom = np.where(own > pooled, least, math.sqrt(least * most))
        return cls(np.maximum(own, pooled), freedom)

    def times(self, unit: float) -> Self:
        """Return them in another unit."""
        return self._replace(sizes=self.sizes * unit)


def beyond_bar(away: Floats, errors: Errors, tolerance: float, delta: float) -> tuple[Flags, Flags]:
    """Return (k,) who is surely above a bar, or below it by no more than a tolerance, and who is
    surely below, of values so far above it with these errors; of all at once.
    """
    above, below = (
        student_tail(np.nan_to_num(side / errors.sizes, nan=0.0), errors.freedom)
        for side in (away + tolerance, -away)
    )
    # two-sided, since who is at the bar may look to be on either side; Holm, step by step
    k, p = len(away), 2.0 * np.minimum(above, below)
    order, limits = np.argsort(p, kind="stable"), np.empty(len(away))
    limits[order] = np.where(
        np.logical_and.accumulate(p[order] < delta / (k - np.arange(k))),
        delta / (k - np.arange(k)),
        0.0,
    )
    return 2.0 * above < limits, 2.0 * below < limits


def value_errors(fit: Fit, neutral: Floats | None = None) -> Floats:
    """Return (k,) standard errors of values, in units of the fit's noise where that is known."""
    heard = 1.0 <= fit.freedom < math.inf
    unit = math.sqrt(fit.scatter / fit.freedom) if heard else 1.0
    return np.asarray(np.sqrt(fit.values(neutral).variances) * unit)


def severities(fit: Fit, neutral: Floats | None = None) -> Floats:
    """Return (J,) how much more than the average of all each judge gives, of those who gave some;
    of comparisons there are none.
    """
    columns, rows = named_biases(fit.questions, neutral)
    lenient = np.array([column.kind == "leniency" for column in columns], dtype=np.bool_)
    found = fit.attributes(rows[lenient])
    return np.asarray(found.estimates[np.isfinite(found.variances)])


def beside(
    fit: Fit, option: int, others: Indices, slack: float, delta: float
) -> tuple[Flags, Flags, Flags, Flags]:
    """Return (n,) which others are surely better than an option, which are worse, which are not
    worse by more than a tolerance, and which are worse by more; of all at once.
    """
    leads, variances = fit.leads(option, others)
    unit = 1.0 if math.isinf(fit.freedom) or fit.own is not None else fit.scatter / fit.freedom
    # The option's own noise is in every comparison: as little known as what is known least.
    freedom = np.minimum(np.broadcast_to(freedom_of(fit, option, others), leads.shape), fit.freedom)
    return beside_by(leads, np.sqrt(variances * unit), freedom, slack, delta)


def beside_by(
    leads: Floats, errors: Floats, freedom: Floats, slack: float, delta: float
) -> tuple[Flags, Flags, Flags, Flags]:
    """Return the same of (n,) leads of the option with their standard errors."""
    share = delta / len(leads)
    better, worse, close, far = (
        student_tail(t, freedom)
        for t in (side / errors for side in (-leads, leads, slack - leads, leads - slack))
    )
    two = 0.5 * share  # of two that are worth the same either may look better
    return better < two, worse < two, (close < share) & (slack > 0.0), far < two


def _normal(t: Floats, freedom: Floats) -> Floats:
    """Return Student's variables on the normal scale (Wallace); increasing, and odd."""
    if np.isinf(freedom).all():
        return t
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(np.isinf(freedom), 1.0, (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0))
        found = np.square(t)
        found /= freedom
        np.log1p(found, out=found)
        found *= freedom
        np.sqrt(found, out=found)
        found = np.where(np.isinf(freedom), np.abs(t), found)
        found *= scale
    return np.asarray(np.copysign(found, t))


def _student(z: Floats, freedom: Floats) -> Floats:
    """Return what `_normal` was of."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
        found = np.sqrt(freedom * np.expm1((z / scale) ** 2 / freedom))
    return np.asarray(np.copysign(np.where(np.isinf(freedom), np.abs(z), found), z))
