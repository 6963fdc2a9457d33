"""Findings in a table of scores: faults that its residuals show, at one level for all of them.

Notation
--------
e, x        residuals of the one fit, and their sizes in equal units (`Residuals`)
t           time in standard units;  t̃ less all effects of the fit

Each question with a p-value is asked at the level over the number of questions (Bonferroni), so
that scores that follow the model show anything in about 3% of tables. An alarm withdraws what it
concerns; a note tells of what the error by clusters has in it already.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.best import sign
from evenhand.findings.clusters import clusters
from evenhand.findings.copies import copies
from evenhand.findings.outliers import outliers
from evenhand.findings.residuals import Residuals, swept
from evenhand.report.words import number, p_value, short
from evenhand.scores.scores import BASELINE, Codes, Factor, Finding, Scores, crossed, less_means

_FEWEST = 4  # options of an evaluator whose noise is then looked at
_ENOUGH = 500_000  # scores by which noise is compared
_PILED, _FEWEST_PILED = 0.1, 5  # share and number of scores at an end that are worth a word
_TOLD = 1e-6  # of the variance of time that effects leave, below which it looks like them
_MOVED, _MOVED_BIAS = (
    4.0,
    2.0,
)  # errors of an option's mean and of a bias by which drift may move it


def findings_of(
    scores: Scores,
    residual: Floats,
    leverage: Floats,
    freedom: float,
    *,
    beside: Mapping[str, Factor] | None = None,
    level: float = 0.03,
) -> tuple[Finding, ...]:
    """Return the faults that a table of scores shows, alarms first.

    Parameters
    ----------
    scores
        The table.
    residual, leverage
        (n,) residuals of the one fit, of the scores as they stand in the table, and hat values.
    freedom
        Degrees of freedom: scores less the rank of the fit.
    beside
        Columns that play no part, by which scores may hang together.
    level
        Probability with which scores that follow the model show anything.
    """
    if not len(scores):
        return ()
    of = Residuals(scores, residual, leverage, freedom)
    asked = [outliers(of), noise(of), drift(of), copies(scores)]
    asked += [[one] for one in clusters(scores, beside or {})]
    answered = [found for found in asked if found is not None]
    enough = level / max(len(answered), 1)
    found = [one for some in answered for one in some if one.p_value <= enough]
    return tuple(sorted([*found, *ends(of)], key=lambda finding: not finding.alarm))


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


def ends(of: Residuals) -> Iterator[Finding]:
    """Yield a note for each end of the scale at which scores pile up, twice as many as next to it.
    Leads are too small by that, and not too large: no choice is sure by it.
    """
    scores, y = of.scores, of.scores.score
    if scores.rival is not None or of.two_valued:
        return
    if any(note.assumption == BASELINE for note in scores.notes):
        return  # it is 0 everywhere, and others may be more or less
    for code, way, end, inside in (
        ("ceiling", "more", float(y.max()), y[y < y.max()].max()),
        ("floor", "less", float(y.min()), y[y > y.min()].min()),
    ):
        n = int((y == end).sum())
        if n < max(_FEWEST_PILED, _PILED * len(y)) or n <= 2 * int((y == inside).sum()):
            continue
        yield Finding(
            code,
            f"{n / len(y):.0%} of all scores are {number(end)}, and none is {way}: options that "
            "differ look alike there, so that leads and biases are larger than they look; a scale "
            "that goes further would tell them apart.",
            alarm=False,
        )
