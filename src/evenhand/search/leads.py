"""Leads by the scores of one block alone: weights of least squares in which all else cancels.

In a panel a lead is told by pairs of scores of the same evaluators, Σ c_j (ȳ_ij − ȳ_xj) with
Σ c_j = 1 and Σ c_j (z_ij − z_xj) = 0, where z are the attributes of the two questions; of all such
c the shortest. Elsewhere it is told by all questions of the block together, counts as weights, and
so is a value that is held against a bar: what an impartial question to the average of all
evaluators would have.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, dense
from evenhand.questions import Questions
from evenhand.search.evidence import BAR

_SAME = 1e-9  # share of its size by which what is to cancel may be off


def lead_weights(questions: Questions, asked: Indices, counts: Counts, pairs: Indices) -> Floats:
    """Return (r, u) weights of the mean scores of questions that tell the leads of pairs of
    options, NaN where they do not tell one; in units of each question's relative noise.
    """
    if not len(pairs):
        return np.zeros((0, len(asked)))
    if questions.has_arrow_form and (pairs != BAR).all():
        found = _by_evaluators(questions, asked, pairs)
    else:
        found = _together(questions, asked, counts, pairs)
    return found if questions.noise is None else found * questions.noise[asked]


def _by_evaluators(questions: Questions, asked: Indices, pairs: Indices) -> Floats:
    """Return weights of pairs of scores that the same evaluators gave."""
    found = np.full((len(pairs), len(asked)), np.nan)
    about, who = questions.about[asked, 0], questions.evaluator[asked]
    Z = dense(questions.attributes[asked])
    if (who == who[0]).all():  # one ballot
        place = np.full(len(questions.options), -1, dtype=np.intp)
        place[about] = np.arange(len(asked))
        mine, theirs = place[pairs].T
        rows = np.flatnonzero((mine >= 0) & (theirs >= 0) & (Z[mine] == Z[theirs]).all(axis=1))
        found[rows] = 0.0
        found[rows, mine[rows]], found[rows, theirs[rows]] = 1.0, -1.0
        return found
    kept: dict[bytes, Floats | None] = {}
    of = {option: np.flatnonzero(about == option) for option in np.unique(pairs).tolist()}
    for row, (i, x) in enumerate(pairs.tolist()):
        mine, theirs = of[i], of[x]
        _, a, b = np.intersect1d(who[mine], who[theirs], return_indices=True)
        if not len(a):
            continue
        mine, theirs = mine[a], theirs[b]
        apart = Z[mine] - Z[theirs]  # (n, p); severity cancels
        key = apart.tobytes()
        if key not in kept:
            kept[key] = shortest(apart)
        c = kept[key]
        if c is not None:
            found[row] = 0.0
            found[row, mine] += c
            found[row, theirs] -= c
    return found


def shortest(apart: Floats) -> Floats | None:
    """Return the shortest c with Σ c = 1 and Σ c_j apart_j = 0; None if there is none."""
    n = len(apart)
    used = apart[:, np.abs(apart).max(axis=0, initial=0.0) > 0.0]
    if not used.shape[1]:
        return np.full(n, 1.0 / n)
    scale = np.abs(used).max(axis=0)
    A = np.column_stack([np.ones(n), used / scale])
    goal = np.zeros(A.shape[1])
    goal[0] = 1.0
    c = np.linalg.lstsq(A.T, goal, rcond=_SAME)[0]
    return c if np.abs(A.T @ c - goal).max() < _SAME else None


def _together(questions: Questions, asked: Indices, counts: Counts, pairs: Indices) -> Floats:
    """Return weights of least squares on all questions."""
    rows = np.asarray(questions.matrix[asked].toarray())
    C = directions(questions, pairs)
    size = np.abs(rows).max(axis=0, initial=0.0)
    used = size > 0.0
    A, goal = rows[:, used] / size[used], C[:, used] / size[used]
    root = np.sqrt(counts.astype(np.float64))
    W = goal @ np.linalg.pinv(A * root[:, None], rcond=_SAME) * root
    lost = np.abs(W @ A - goal).max(axis=1, initial=0.0)
    reach = np.abs(goal).max(axis=1, initial=0.0)
    wrong = (lost > 1e3 * _SAME * reach) | (np.abs(C[:, ~used]).max(axis=1, initial=0.0) > 0.0)
    W[wrong] = np.nan
    return np.asarray(W)


def directions(questions: Questions, pairs: Indices) -> Floats:
    """Return (r, d + p) the leads of pairs of options as combinations of the parameters."""
    X = questions.options.features
    rows = np.vstack([X, np.zeros(X.shape[1])])  # the last: `BAR`
    C = np.zeros((len(pairs), questions.rows.shape[1]))
    C[:, : questions.n_features] = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    side = (pairs[:, 1] == BAR).astype(np.float64) - (pairs[:, 0] == BAR)
    C[:, questions.n_features :] = side[:, None] * questions.neutral
    return C
