"""Where to begin: the cheapest questions that make options comparable.

Notation
--------
A       (q, m)  rows of the questions           Y  (n, m)  directions that must be identified
B       rows, linearly independent, that span all others;  Y = C B, with C unique

Cheap questions come first, and one is taken if it says something that those before it do not. Since
B is independent, a direction needs exactly the rows with an entry in its row of C: all others are
left out again. So the leads of a panel do not pay for an evaluator they can do without.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.policies._inquiry import Inquiry
from evenhand.questions import Askable, Questions

_NEW = 1e-8  # share of a row beside those before it from which on it says something new
_NEEDED = 1e-9  # entries of C that are no rounding error


def opening(rows: Floats, directions: Floats, prices: Floats, turn: Indices) -> Indices:
    """Return questions that identify the directions, as far as all questions do; cheap ones first.

    Parameters
    ----------
    rows
        (q, m) rows of the questions.
    directions
        (n, m) what must be identified.
    prices, turn
        (q,) prices, and the order among questions of the same price.

    Examples
    --------
    >>> rows = np.array([[1.0, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]])   # two options, P and Q
    >>> opening(rows, np.array([[1.0, -1, 0]]), np.array([1.0, 1, 9, 9]), np.arange(4))
    array([0, 1])
    """
    m = rows.shape[1]
    found: list[int] = []
    basis = np.zeros((0, m))
    for x in np.lexsort((turn, prices)).tolist():
        row = rows[x]
        size = float(np.linalg.norm(row))
        beside = row - basis.T @ (basis @ row)
        beside -= basis.T @ (basis @ beside)  # once more: the first time loses digits
        length = float(np.linalg.norm(beside))
        if length > _NEW * size:
            found.append(x)
            basis = np.vstack([basis, beside / length])
            if len(found) == m:
                break
    if not found or len(directions) == 0:
        return np.zeros(0, dtype=np.intp)
    C, *_ = np.linalg.lstsq(rows[found].T, directions.T, rcond=None)
    needed = np.abs(C).max(axis=1) > _NEEDED * np.abs(C).max(initial=math.ulp(0.0))
    return np.asarray(np.array(found, dtype=np.intp)[needed])


def inquiry_of(actions: Askable, rows: Floats, targets: Floats, seed: int) -> Inquiry | None:
    """Return what to ask about options, for rows (q, m) of questions and targets (k, w) of options.

    None where every option is its own question.
    """
    if not isinstance(actions, Questions):
        return None
    q, k = len(actions), len(actions.options)
    turn = np.argsort(np.random.default_rng(seed).permutation(q), kind="stable")
    leads = np.zeros((k - 1, rows.shape[1]))
    leads[:, : targets.shape[1]] = targets[1:] - targets[0]
    about = [np.flatnonzero((actions.about == x).any(axis=1)) for x in range(k)]
    about = [some if len(some) else np.arange(q) for some in about]
    starts = np.concatenate([[0], np.cumsum([len(some) for some in about])])
    first = opening(rows, leads, actions.prices, turn)
    return Inquiry(starts, np.concatenate(about), actions.prices, first, turn, rows.shape[1])
