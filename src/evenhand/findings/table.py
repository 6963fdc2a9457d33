"""Findings in a table of scores: faults that it shows, at one level for all of them.

Each check with a p-value is asked at the level over the number of those that could be asked
(Bonferroni), so that scores that follow the model show anything in about 3% of tables. An alarm
withdraws what it concerns; a note tells of what the error by clusters has in it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from evenhand.arrays import Floats
from evenhand.findings.alike import clusters, copies
from evenhand.findings.residuals import Residuals, drift, noise, outliers
from evenhand.linear.basis import connected
from evenhand.report.words import number
from evenhand.scores.scores import BASELINE, Factor, Finding, Scores, crossed

CHECKS: tuple[Callable[[Residuals], list[Finding] | None], ...] = (
    outliers,
    noise,
    drift,
    lambda of: copies(of.scores),
)
"""What is asked of every table: each returns findings with p-values, or None where it cannot be."""

LEVEL = 0.03
"""Probability with which scores that follow the model show anything, in a table or a run."""

_PILED, _FEWEST_PILED = 0.1, 5  # share and number of scores at an end that are worth a word,
_TIMES = 1.3  # and how many times as many as next to it


def findings_of(
    scores: Scores,
    residual: Floats,
    leverage: Floats,
    freedom: float,
    *,
    beside: Mapping[str, Factor] | None = None,
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
    """
    if not len(scores):
        return ()
    of = Residuals(scores, residual, leverage, freedom)
    asked = [check(of) for check in CHECKS]
    asked += [[one] for one in clusters(scores, beside or {})]
    answered = [found for found in asked if found is not None]
    enough = LEVEL / max(len(answered), 1)
    found = [one for some in answered for one in some if one.p_value <= enough]
    return tuple(sorted([*found, *ends(of)], key=lambda finding: not finding.alarm))


def ends(of: Residuals) -> Iterator[Finding]:
    """Yield a note for each end of the scale at which scores pile up, more than next to it.

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
        if n < max(_FEWEST_PILED, _PILED * len(y)) or n <= _TIMES * int((y == inside).sum()):
            continue
        yield Finding(
            code,
            f"{n / len(y):.0%} of all scores are {number(end)}, and none is {way}: options that "
            "differ look alike there, so that leads and biases are larger than they look; a scale "
            "that goes further would tell them apart.",
            alarm=False,
        )


def unlinked(scores: Scores) -> tuple[Finding, ...]:
    """Return a note if options of an event fall into parts that no evaluator links."""
    if scores.reference is not None:
        return ()
    at = np.zeros(len(scores), dtype=np.int32) if scores.event is None else scores.event.codes
    if scores.rival is None:
        (first, k), (second, n) = scores.scored, scores.chairs
        second, n = second + k, n + k
    else:
        both, n = crossed(np.append(scores.option.codes, scores.rival), np.append(at, at))
        first, second = both[: len(at)], both[len(at) :]
    part = connected(first, second, n)
    rows = np.unique(part[first], return_index=True)[1]  # one of each part
    split = int((np.bincount(at[rows]) > 1).sum())
    if not split:
        return ()
    events = "" if scores.event is None else f" at {split:,} of {len(scores.event):,} events"
    said = (
        f"Options fall into parts{events} that no evaluator links, {len(rows):,} in all: values "
        "and leniencies of two parts have no common measure. The bias is told within parts."
    )
    return (Finding.note("overlap", said),)
