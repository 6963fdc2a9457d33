"""Answers to questions as a linear design, and what a fit of it says of their columns.

Notation
--------
A = (F, Z)      rows of the questions: features of what they are about, and attributes (`Questions`)
c, μ, S         answers to a question, their mean, and their sum of squares about it

Columns of Z become what they stand for: leniencies, and what being named first adds, the block of
evaluators; all others columns of x. The span is that of A, so that least squares are the same.

Of a question with c answers only c, μ and S may be known (`Feedback`). Rows μ + a and μ − a by
turns, and μ once where c is odd, have the same mean and the same S, so that all is the same that
goes by single rows.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.linear import Design, Fit, Spread
from evenhand.policies.messages import Feedback
from evenhand.questions import Column, Questions
from evenhand.scores.scores import Codes, crossed, sums_over

Scope = Literal["these", "like these"]


class _Columns(NamedTuple):
    """Where the attributes of questions are in a design."""

    severity: Indices | None  # (n,) the block of evaluators; None where there is none,
    of: Indices  # (J,) the column of each of them; −1: that from which leniencies are measured
    others: Indices  # (r,) columns of x


def design_of_answers(
    questions: Questions,
    which: Indices,
    y: Floats,
    *,
    scope: Scope = "like these",
    items: Indices | None = None,
    clusters: Indices | None = None,
) -> Design:
    """Return answers to questions as a design.

    Parameters
    ----------
    questions
        What was asked.
    which, y
        (n,) the question of each answer, and the answer: the highest is the best.
    scope
        "like these": it is about judges like those who answered, so that what one of them says
        again is no further opinion, and what he says of several options may share an error.
        "these": about them alone, and every answer has an error of its own; unless several share a
        favour, which may differ from one to another.
    items, clusters
        (n,) codes of what options were tried on, and of what else shares an error, such as a
        session; by default the items.
    """
    which, y = np.asarray(which, dtype=np.intp), np.asarray(y, dtype=np.float64)
    several = len(np.unique(questions.evaluator[which][questions.evaluator[which] >= 0])) > 1
    codes = {"item": items, "cluster": clusters}
    by = {name: np.asarray(one, np.intp) for name, one in codes.items() if one is not None}
    if several and scope == "like these":
        which, y, by = _averaged(questions, which, y, by)
    option, rival, n_options, features = _about(questions, which)
    columns = _columns(questions, which, rival is not None, option, features)
    d = questions.n_features
    shares: dict[str, Any] = {}
    shared = any(one.kind == "bias" and one.evaluator is None for one in questions.columns)
    if several and (scope == "like these" or shared):
        shares["evaluator"] = _apart(questions.evaluator[which])
    if by:
        drawn = by["cluster"] if "cluster" in by else by["item"]
        shares["item"] = np.unique(drawn, return_inverse=True)[1]
    item: Codes | None = None
    n_items = 0
    if "item" in by:
        item = np.unique(by["item"], return_inverse=True)[1].astype(np.int32)
        n_items = int(item.max(initial=-1)) + 1
        both = crossed(item, option.astype(np.int32))[1]
        if rival is not None or both == n_items:  # nothing was tried on the same
            item, n_items = None, 0
    severity = columns.severity
    return Design(
        y,
        option.astype(np.int32),
        n_options,
        None if severity is None else severity.astype(np.int32),
        len(columns.of),
        None if rival is None else rival.astype(np.int32),
        item,
        n_items,
        questions.matrix[which][:, d + columns.others].toarray(),
        {name: codes.astype(np.int32) for name, codes in shares.items()},
        features,
    )


def design_of_feedback(
    questions: Questions, told: Feedback, scope: Scope = "like these"
) -> tuple[Design, Indices]:
    """Return answers that were added up by question as a design, and (n,) the question of each.

    The sums are in units of each question's relative noise, as policies have them.
    """
    (used,) = np.nonzero(told.counts)
    counts, sums, squares = told.counts[used], told.sums[used], told.sums_of_squares[used]
    noise = np.ones(len(used)) if questions.noise is None else questions.noise[used]
    means = sums / counts * noise
    about = np.maximum(squares - sums**2 / counts, 0.0) * noise**2
    about[about <= 1e-14 * squares * noise**2] = 0.0  # the rounding of what cancels
    steps = np.sqrt(about / np.maximum(counts - counts % 2, 1))
    which = np.repeat(used, counts)
    turn = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    last = np.repeat((counts % 2).astype(bool), counts) & (turn == np.repeat(counts, counts) - 1)
    signs = np.where(last, 0.0, 1.0 - 2.0 * (turn % 2))
    y = np.repeat(means, counts) + signs * np.repeat(steps, counts)
    design = design_of_answers(questions, which, y, scope=scope)
    return design, which


def biases_by(questions: Questions, which: Indices, fit: Fit, delta: float) -> list[Named]:
    """Return what attributes add to answers, each with its interval, leniencies against the mean of
    who answered; (n,) is the question of each answer that the fit is of.
    """
    design = fit.design
    option, rival, _, features = _about(questions, which)
    columns = _columns(questions, which, rival is not None, option, features)
    unknown = np.array([np.nan, -np.inf, np.inf])
    severe: dict[int, Floats] = {}
    if columns.severity is not None:
        severe = dict(zip(columns.of.tolist(), fit.severity().ends(delta), strict=True))
    slopes: dict[int, Floats] = {}
    for j, place in enumerate(columns.others.tolist()):
        own = questions.columns[place].evaluator is not None
        slopes[place] = _ends(fit.bias(j, {} if own else design.clusters), delta)
    lenient = {c.evaluator: x for x, c in enumerate(questions.columns) if c.kind == "leniency"}
    found = [
        (column, slopes.get(x, severe.get(x, unknown)))
        for x, column in enumerate(questions.columns)
        if column.kind != "leniency"
    ]
    answered = set(questions.evaluator[np.unique(which)].tolist())
    for who, name in enumerate(questions.evaluators if lenient else ()):
        said = severe.get(lenient.get(name, -1)) if who in answered else None
        found.append((Column(name, "leniency", evaluator=name), unknown if said is None else said))
    return found


Named = tuple[Column, Floats]
"""What a column stands for, and (3,) its estimate with the ends of its interval."""


def _ends(spread: Spread, delta: float) -> Floats:
    found: Floats = spread.ends(delta)[0]
    return found if np.isfinite(found[1:]).all() else np.array([np.nan, -np.inf, np.inf])


def _averaged(
    questions: Questions, which: Indices, y: Floats, by: dict[str, Indices]
) -> tuple[Indices, Floats, dict[str, Indices]]:
    """Return one answer of each evaluator to each question (on each item): their mean."""
    nobody = questions.evaluator[which] < 0
    single = np.where(nobody, np.arange(1, len(which) + 1), 0)
    columns = (np.unique(c, return_inverse=True)[1] for c in (which, single, *by.values()))
    cell, n = crossed(*(column.astype(np.int32) for column in columns))
    if n == len(which):
        return which, y, by
    first = np.zeros(n, dtype=np.intp)
    first[cell[::-1]] = np.arange(len(which))[::-1]
    means = sums_over(cell, n, y) / sums_over(cell, n)
    return which[first], means, {name: codes[first] for name, codes in by.items()}


def _about(
    questions: Questions, which: Indices
) -> tuple[Indices, Indices | None, int, Floats | None]:
    """Return (n,) the option of each answer and its rival, how many options there are, and their
    features; of questions that are about something else, a further 'option' for each.
    """
    options, k = questions.options, len(questions.options)
    used, place = np.unique(which, return_inverse=True)
    first, second = questions.about[used].T
    F = sparse.csr_array(questions.matrix[used][:, : questions.n_features])
    X = options.own_features
    of = sparse.csr_array(sparse.eye_array(k) if X is None else X)
    compared = bool((second >= 0).all())
    known = (first >= 0).all() and (compared or (second < 0).all())
    if known and max(first.max(), second.max()) < of.shape[0]:
        expected = of[first] - of[second] if compared else of[first]
        if not abs(F - expected).max() > 0.0:
            return first[place], second[place] if compared else None, of.shape[0], X
    kinds, kind = np.unique(F.toarray(), axis=0, return_inverse=True)
    features = np.vstack([options.features, kinds])
    return k + kind.reshape(-1)[place], None, len(features), features


def _columns(
    questions: Questions,
    which: Indices,
    compared: bool,
    option: Indices,
    features: Floats | None,
) -> _Columns:
    """Return where the attributes of questions are in a design."""
    kinds = np.array([column.kind for column in questions.columns])
    every, d = np.arange(len(kinds)), questions.n_features
    block = "leniency" if not compared and (kinds == "leniency").any() else "position"
    mine = np.flatnonzero(kinds == block)
    no_block = _Columns(None, np.zeros(0, dtype=np.intp), every)
    if not len(mine):
        return no_block
    if block == "leniency" and features is not None and not _has_constant(features[option]):
        return no_block
    entries = questions.matrix[which][:, d + mine].tocoo()
    rows, cols = entries.coords
    plain = bool((entries.data == 1.0).all()) and len(np.unique(rows)) == len(rows)
    if not plain or (block == "position" and len(rows) < len(which)):
        return no_block
    column = np.full(len(which), -1, dtype=np.intp)
    column[rows] = mine[cols]
    of, severity = np.unique(column, return_inverse=True)
    return _Columns(severity, of, np.setdiff1d(every, mine))


def _has_constant(F: Floats) -> bool:
    """Tell whether features of answers have a constant among their combinations."""
    F = np.unique(F, axis=0)
    ones = np.ones(len(F))
    return bool(np.abs(F @ np.linalg.lstsq(F, ones, rcond=None)[0] - ones).max() < 1e-9)


def _apart(evaluator: Indices) -> Indices:
    """Return (n,) codes of evaluators; what nobody in particular said is by itself."""
    alone = len(evaluator) + np.arange(len(evaluator))
    found: Indices = np.unique(np.where(evaluator < 0, alone, evaluator), return_inverse=True)[1]
    return found
