"""Typing errors: scores that stand alone, far from all that options and evaluators explain.

Notation
--------
x           sizes of residuals in equal units, x₁ ≥ x₂ ≥ …, by the fit without the suspects
z           the smallest size of a suspect
s           what it is held against: the noise, or that of its own option or evaluator if larger
E           the mean of log x₁ … log x_b less log x_{b+1} (Hill): 1/α of a tail like x^−α

Suspects are the largest residuals down to the widest gap. They are errors if they are improbable,
by n times the tail of Student's t at z/s, and isolated: noise with heavy tails has large residuals,
too, but others not far behind. In a tail like x^−α the gap log z − log x₁ after k suspects is
exponential with mean E/k, in lighter ones it is less. So it must be several times E, which is drawn
to that of normal noise where scores are few.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.findings.residuals import Residuals
from evenhand.report.words import listed, number, short
from evenhand.scores.scores import Finding

_ISOLATED = 3.0  # times E
_WILD = 12.0  # times s, from which on a score withdraws what it concerns
_PRIOR, _NORMAL = 8.0, 0.25  # spacings that normal noise counts for in E, and their mean
_OWN = 4.0  # scores that the noise of all counts for in that of an option or evaluator
_SUSPECTS, _SHARE = 2, 1e-3  # at most, and as a share of all scores
_TAIL = 8  # residuals of which E is taken, at least


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
    return [_finding(of, rows, off, chance, t >= _WILD)]


def _largest(x: Floats, n: int) -> Indices:
    """Return the rows of the n largest numbers, the largest first."""
    rows = np.argpartition(x, len(x) - n)[len(x) - n :]
    return np.asarray(rows[np.argsort(-x[rows])])


def _finding(of: Residuals, rows: Indices, off: float, chance: float, wild: bool) -> Finding:
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
