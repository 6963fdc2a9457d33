"""Faults that residuals of the one fit show: typing errors, a noisy evaluator, drift.

Notation
--------
e, h        residuals of least squares, and hat values: var e = (1 − h) σ²
x           |e|/√(1 − h), which are equally noisy, x₁ ≥ x₂ ≥ …
d           residual of a row by the fit without it: e/(1 − h), so that x = |d| √(1 − h)
z           the smallest size of suspected typing errors, by the fit without them
s           what it is held against: the noise, or that of its own option or evaluator if larger
E           the mean of log x₁ … log x_b less log x_{b+1} (Hill): 1/α of a tail like x^−α
t           time in standard units

A factor is among the effects of the fit just if residuals sum to 0 over each of its names.

Suspects are the largest residuals down to the widest gap. They are errors if they are improbable,
by n times the tail of Student's t at z/s, and isolated: noise with heavy tails has large residuals,
too, but others not far behind. In a tail like x^−α the gap log z − log x₁ after k suspects is
exponential with mean E/k, in lighter ones it is less. So it must be several times E, which is drawn
to that of normal noise where scores are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.best import sign
from evenhand.report.words import listed, number, p_value, short
from evenhand.scores import Finding, Scores
from evenhand.scores.scores import Codes, crossed, less_means, sums_over

_ROUNDS = 50  # of taking effects off, one after another
_NOTHING = 1e-5  # of what a sum could be, at which it is rounding
_FREE = 1e-6  # 1 − h below which a score has an effect of its own
_ISOLATED = 2.75  # times E
_WILD = 12.0  # times s, from which on a score withdraws what it concerns
_PRIOR, _NORMAL = 8.0, 0.25  # spacings that normal noise counts for in E, and their mean
_OWN = 4.0  # scores that the noise of all counts for in that of an option or evaluator
_SUSPECTS, _SHARE = 2, 1e-3  # at most, and as a share of all scores
_TAIL = 8  # residuals of which E is taken, at least
_FEWEST = 4  # options of an evaluator whose noise is then looked at
_ENOUGH = 500_000  # scores by which noise is compared
_TOLD = 1e-6  # of the variance of time that effects leave, below which it looks like them
_MOVED, _MOVED_BIAS = 4.0, 2.0  # errors of an option's mean and of a bias that drift may move it by


@dataclass(frozen=True, eq=False)
class Residuals:
    """(n,) residuals and hat values of scores, and degrees of freedom."""

    scores: Scores
    e: Floats
    h: Floats
    freedom: float

    @cached_property
    def x(self) -> Floats:
        """(n,) sizes of residuals in equal units; 0 where the fit leaves nothing."""
        free = 1.0 - self.h
        x = np.zeros(len(self.e))
        np.divide(np.abs(self.e), np.sqrt(np.maximum(free, _FREE)), out=x, where=free > _FREE)
        return x

    @cached_property
    def noise(self) -> float:
        """The standard deviation; 0 where that is rounding, or there are no degrees of freedom."""
        size = float(np.abs(self.scores.centred).max(initial=0.0))
        s = float(np.sqrt(self.e @ self.e / self.freedom)) if self.freedom >= 1.0 else 0.0
        return s if s > 1e-9 * size else 0.0

    @cached_property
    def two_valued(self) -> bool:
        """Whether there are but two scores, as in votes: their noise follows from their mean."""
        y = self.scores.score
        return bool(((y == y.min()) | (y == y.max())).all())

    @cached_property
    def effects(self) -> list[Codes]:
        """The factors, as codes, that the fit took off."""
        s, total = self.scores, float(np.abs(self.e).sum())
        parts = [one.codes for one in (s.option, s.item, s.evaluator) if one is not None]

        def absorbed(codes: Codes) -> bool:
            sums = sums_over(codes, int(codes.max()) + 1, self.e)
            return float(np.abs(sums).sum()) <= _NOTHING * total

        cells = [codes for codes in (s.scored[0], s.chairs[0]) if absorbed(codes)]
        return cells if len(cells) == 2 else [codes for codes in parts if absorbed(codes)]

    def without(self, rows: Indices) -> Residuals:
        """Return the residuals of a fit that leaves some rows out; theirs, too, by that fit."""
        kept = np.ones(len(self.e))
        kept[rows] = 0.0
        found = Residuals(self.scores, swept(self.e, self.effects, kept), self.h, self.freedom)
        found.x[rows] *= 1.0 - self.h[rows]  # there, e is d
        return found


def swept(values: Floats, factors: list[Codes], weight: Floats | None = None) -> Floats:
    """Return (n,) values less additive effects of some factors, by weighted least squares."""
    left = np.array(values, dtype=np.float64)
    weight = np.ones(len(left)) if weight is None else weight
    counts = [np.maximum(np.bincount(codes, weight), 1e-300) for codes in factors]
    size = float(np.abs(left).max(initial=0.0))
    for _ in range(_ROUNDS):
        moved = 0.0
        for codes, n in zip(factors, counts, strict=True):
            means = np.bincount(codes, weight * left) / n
            left -= means[codes]
            moved = max(moved, float(np.abs(means).max()))
        if moved <= _NOTHING * size:
            break
    return left


def outliers(of: Residuals) -> list[Finding] | None:
    """Return what to say of scores that look like typing errors; None where it cannot be asked."""
    n, most = len(of.e), max(_SUSPECTS, int(_SHARE * len(of.e)))
    b = max(_TAIL, math.isqrt(n))
    if of.two_valued or not of.noise > 0.0 or of.freedom <= most or n <= most + b:
        return None
    rows = _largest(of.x, most + 1)
    k = 1 + int(np.argmax(of.x[rows[:-1]] / np.maximum(of.x[rows[1:]], 1e-9 * of.x[rows[0]])))
    rows = rows[:k]
    others = of.without(rows)
    size, worst = np.maximum(others.x[rows], of.x[rows]), int(rows[0])
    off = float(others.e[worst])
    others.e[rows] = others.x[rows] = 0.0
    z, noise = float(size.min()), float(others.e @ others.e) / (of.freedom - k)
    scale = np.full(k, noise)
    for factor in (of.scores.option, of.scores.evaluator):
        if factor is not None:
            squares = np.bincount(factor.codes, others.x**2)[factor.codes[rows]]
            shared = factor.counts[factor.codes[rows]] - 1.0 + _OWN
            scale = np.maximum(scale, (squares + _OWN * noise) / shared)
    t = float((size / np.sqrt(np.maximum(scale, 1e-18 * z * z))).min())
    chance = min(1.0, 2.0 * n * float(special.stdtr(of.freedom - k, -t)))
    x = np.log(np.maximum(others.x[_largest(others.x, b + 1)], 1e-9 * z))
    spacing = (float((x[:b] - x[b]).sum()) + _PRIOR * _NORMAL) / (b + _PRIOR)
    if math.log(z) - float(x[0]) < _ISOLATED * spacing:
        return []
    return [_outlier(of, rows, off, chance, t >= _WILD)]


def _largest(x: Floats, n: int) -> Indices:
    """Return the rows of the n largest numbers, the largest first."""
    rows = np.argpartition(x, len(x) - n)[len(x) - n :]
    return np.asarray(rows[np.argsort(-x[rows])])


def _outlier(of: Residuals, rows: Indices, off: float, chance: float, wild: bool) -> Finding:
    scores, worst = of.scores, int(rows[0])
    codes = [scores.option.codes] + ([] if scores.rival is None else [scores.rival])
    options = dict.fromkeys(scores.option.names[int(c[row])] for row in rows for c in codes)
    who = scores.evaluator
    by = "" if who is None else f" by {short(who.names[int(who.codes[worst])])}"
    more = "" if len(rows) == 1 else f", and {len(rows) - 1:,} more like it"
    return Finding(
        "outliers",
        f"The score {number(scores.score[worst])} of "
        f"{short(scores.option.names[int(scores.option.codes[worst])])}{by} "
        f"({scores.where(worst)}) is {number(abs(off))} {'above' if off > 0.0 else 'below'} what "
        f"all others explain{more}: correct it if it is a typing error"
        + (f"; until then no lead of {listed(list(options))} is sure." if wild else "."),
        alarm=wild,
        p_value=chance,
        concerns=tuple(options),
    )


def noise(of: Residuals) -> list[Finding] | None:
    """Return a note on an evaluator who is noisier than others, or less noisy (Levene's test, by
    medians, so that skewed noise does not look like it).
    """
    who = of.scores.evaluator
    if who is None or of.two_valued or not of.noise > 0.0:
        return None
    rows = np.flatnonzero(of.x > 0.0)
    if len(rows) > _ENOUGH:
        rows = rows[np.random.default_rng(0).random(len(rows)) < _ENOUGH / len(rows)]
    # scores of the same pair have its liking in common: pairs are told once
    pair, n = crossed(who.codes[rows], of.scores.option.codes[rows])
    e = np.copysign(of.x, of.e)[rows]
    size = np.abs(e - _medians(e, who.codes[rows], len(who))[who.codes[rows]])
    size = np.bincount(pair, size) / np.bincount(pair)
    judge = np.zeros(n, dtype=np.intp)
    judge[pair] = who.codes[rows]
    count = np.bincount(judge, minlength=len(who))
    some = (count >= _FEWEST)[judge]
    size, judge = size[some], judge[some]
    groups, left = int((count >= _FEWEST).sum()), len(size) - int((count >= _FEWEST).sum())
    if groups < 2 or left < 2:
        return None
    mean = np.bincount(judge, size, len(who)) / np.maximum(count, 1)
    mean = np.where(count >= _FEWEST, mean, size.mean())
    within = float(((size - mean[judge]) ** 2).sum()) / left
    apart = mean - size.mean()
    between = float((apart[judge] ** 2).sum()) / (groups - 1)
    chance = float(special.fdtrc(groups - 1, left, between / within)) if within > 0.0 else 1.0
    one = int(np.argmax(np.abs(apart) * np.sqrt(count)))
    own = who.codes == one
    times = math.sqrt(float((of.x[own] ** 2).mean() / (of.x[~own] ** 2).mean()))
    return [
        Finding(
            "noise",
            f"Scores of {short(who.names[one])} scatter {number(times)} times as much as those of "
            f"the others ({p_value(chance)}): errors allow for that, a plain mean of scores does "
            "not.",
            alarm=False,
            p_value=chance,
        )
    ]


def _medians(values: Floats, codes: Codes, n: int) -> Floats:
    """Return (n,) the medians of the values of each code; 0 where there is none."""
    order, counts = np.lexsort((values, codes)), np.bincount(codes, minlength=n)
    middle = np.cumsum(counts) - counts + np.stack([(counts - 1) // 2, counts // 2])
    found = values[order[np.clip(middle, 0, len(values) - 1)]].mean(axis=0)
    return np.where(counts > 0, found, 0.0)


def drift(of: Residuals) -> list[Finding] | None:
    """Return a finding if evaluators become lenient or severe with time: an alarm if that moves
    leads or the bias by more than their errors.
    """
    scores, time = of.scores, of.scores.time
    spread = 0.0 if time is None else float(time.std())
    if time is None or not spread > 0.0 or not of.noise > 0.0 or of.freedom < 3.0:
        return None
    t = (time - time.mean()) / spread
    free, along, information = swept(t, of.effects), 0.0, 1.0
    if scores.partial is not None:
        own = swept(scores.partial, of.effects)
        information = max(float(own @ own), 1e-300)
        along = float(own @ free) / information
        free = free - along * own
    square = float(free @ free)
    if square <= _TOLD * len(t):
        return None
    slope = float(of.e @ free) / square
    rest = of.e - slope * free
    error = max(rest @ rest / (of.freedom - 1.0) * square, (rest * free) @ (rest * free))
    chance = 2.0 * float(special.stdtr(of.freedom - 1.0, -abs(slope) * square / math.sqrt(error)))
    counts = np.maximum(scores.option.counts, 1)
    means = np.bincount(scores.option.codes, less_means(t, *scores.chairs)) / counts
    # times in random order move leads as noise does, and are in their errors
    moved = max(
        float(np.ptp(means)) * math.sqrt(float(np.median(counts))) / _MOVED,
        abs(along) * math.sqrt(information) / _MOVED_BIAS,
    )
    more = "lenient" if sign(scores.best) * slope > 0.0 else "severe"
    return [
        Finding(
            "drift",
            f"Evaluators become more {more} with time, by {number(abs(slope))} within one standard "
            f"deviation of it ({p_value(chance)}): give each part of the time as an event of its "
            "own, or ask in random order.",
            alarm=abs(slope) * moved > of.noise,
            p_value=chance,
        )
    ]
