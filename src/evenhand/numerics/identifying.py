"""The first of some rows, in a given order, that identify directions.

A row is taken if it says something that those before it do not. The rows that were taken are
independent, so a direction is a combination of them in one way only: it needs exactly those with a
part in it, and all others are left out again. With rows in the order of their prices these are, by
the exchange property of independent sets, the cheapest that span all that the rows do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.tolerance import IN_SPAN, RANK

_FEW, _MANY = 256, 8192  # rows worked on at once: few where each turns all of them

Rows = Callable[[Indices], "Floats | sparse.csr_array"]


def identifying(rows: Floats, directions: Floats, order: Indices) -> Indices:
    """Return the first rows in order that identify the directions, as far as those in order do."""
    chosen, N = first_independent(lambda some: rows[some], order, rows.shape[1])
    sizes, lost = (np.linalg.norm(part, axis=1) for part in (directions, directions @ N))
    found = parts(rows[chosen], directions[lost <= IN_SPAN * sizes])
    return np.asarray(chosen[found.any(axis=1)])


def identifying_leads(rows: Floats, options: Floats, order: Indices) -> Indices:
    """Return the first rows in order that identify all leads that those in order do; a lead is the
    difference of two rows of ``options``, (k, m).
    """
    chosen, N = first_independent(lambda some: rows[some], order, rows.shape[1])
    labels = classes(options @ N)
    first = np.unique(labels, return_index=True)[1]
    return np.asarray(chosen[parts(rows[chosen], options - options[first[labels]]).any(axis=1)])


def classes(unknown: Floats, apart: Indices | None = None) -> Indices:
    """Return (k,) numbers of classes: options can be compared if what is unknown of them, (k, l),
    is equal and they are not ``apart`` anyway.
    """
    labels = np.zeros(len(unknown), dtype=np.intp) if apart is None else apart
    for column in unknown.T:
        order = np.lexsort((column, labels))
        new = (np.diff(labels[order]) != 0) | (np.diff(column[order]) > IN_SPAN)
        labels = np.empty_like(labels)
        labels[order] = np.concatenate([[0], np.cumsum(new)])
    # numbered by their first options
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.intp)[labels.reshape(-1)]


def first_independent(
    rows: Rows, order: Indices, m: int, who: Indices | None = None, free: Counts | None = None
) -> tuple[Indices, Floats]:
    """Return the first independent rows in order, and an orthonormal basis N of what they leave."""
    # A row a is independent of those before exactly if a N is not 0. Then N is turned, by a
    # reflection that maps a N to its first column, and loses that column. ``who`` says whose a row
    # is, −1 if nobody's, and ``free`` how many may be taken of each, which is lessened in place.
    N = np.eye(m)
    chosen: list[int] = []
    start, size = 0, _FEW
    while start < len(order) and N.shape[1]:
        some, before = order[start : start + size], len(chosen)
        start += size
        A = rows(some)
        squares = A.multiply(A) if sparse.issparse(A) else A**2
        least = RANK * np.sqrt(np.asarray(squares.sum(axis=1)).reshape(-1))
        left = np.asarray(A @ N)
        while N.shape[1] and len(some):
            fresh = np.linalg.norm(left, axis=1) > np.maximum(least, RANK**2)
            if who is not None and free is not None:
                fresh &= (who[some] < 0) | (free[who[some]] > 0)
            if not fresh.any():
                break
            at = int(np.argmax(fresh))
            chosen.append(int(some[at]))
            if who is not None and free is not None and who[some[at]] >= 0:
                free[who[some[at]]] -= 1
            v = left[at] / np.linalg.norm(left[at])
            v[0] += 1.0 if v[0] >= 0.0 else -1.0
            v /= np.linalg.norm(v)
            N = _reflected(N, v)
            left, some, least = _reflected(left[at + 1 :], v), some[at + 1 :], least[at + 1 :]
        size = _FEW if len(chosen) > before else min(2 * size, _MANY)
    return np.array(chosen, dtype=np.intp), N


def parts(basis: Floats, directions: Floats) -> Floats:
    """Return (r, n) the parts that independent rows, (r, m), have in directions, (n, m); those that
    are rounding are 0, as are those of directions that are rounding beside others.
    """
    if not len(basis) or not len(directions):
        return np.zeros((len(basis), len(directions)))
    found = np.asarray(np.linalg.lstsq(basis.T, directions.T, rcond=None)[0])
    sizes = np.abs(found).max(axis=0)
    least = np.maximum(IN_SPAN * sizes, RANK * sizes.max())
    return np.where(np.abs(found) > least, found, 0.0)


def _reflected(rows: Floats, v: Floats) -> Floats:
    """Return rows reflected along v, without their first column."""
    return np.asarray(rows[:, 1:] - np.outer(2.0 * (rows @ v), v[1:]))
