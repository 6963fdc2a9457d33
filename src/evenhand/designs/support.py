"""Carathéodory's theorem as a function: fewer points that carry the same second moments."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from evenhand.designs._caratheodory import empty_rows, moment_tableau
from evenhand.linalg import Floats, Indices

_DEPENDENT = 1e-10  # a pivot below this share of the largest: the moments are dependent


def symmetric_moments(Y: Floats) -> Floats:
    """Return the rows svec(y yᵀ), (n, r(r+1)/2), whose inner products are (y·y')²."""
    i, j = np.tril_indices(Y.shape[1])
    return Y[:, i] * Y[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def cut_support(Y: Floats, w: Floats) -> Floats:
    """Return weights on at most r(r+1)/2 of the rows with the same Σ w_i y_i y_iᵀ.

    Parameters
    ----------
    Y
        (n, r) rows.
    w
        (n,) positive weights.

    Examples
    --------
    >>> circle = np.column_stack([np.cos(np.arange(8)), np.sin(np.arange(8))])
    >>> w = cut_support(circle, np.full(8, 0.125))
    >>> int(np.count_nonzero(w)), np.allclose(circle.T * w @ circle, circle.T @ circle / 8)
    (3, True)
    """
    n, r = Y.shape
    if n <= r * (r + 1) // 2:
        return w
    basis, others, T, smallest = moment_tableau(Y, w)
    if smallest < _DEPENDENT:
        basis, others, T = _dependent_tableau(symmetric_moments(Y) * w[:, None])
    weights, place = np.ones(len(basis)), np.full(len(basis), -1)
    empty_rows(T, weights, place)
    cut = np.zeros(n)
    rows = np.where(place >= 0, others[place], basis)
    cut[rows] = weights * w[rows]
    return cut


def _dependent_tableau(S: Floats) -> tuple[Indices, Indices, Floats]:
    """As `moment_tableau`, by pivoted QR, for rows that span fewer than r(r+1)/2 dimensions."""
    qr, pivots, *_ = lapack.dgeqp3(S.T)
    diagonal = np.abs(np.diagonal(qr))
    rank = int(np.count_nonzero(diagonal > _DEPENDENT * diagonal[0]))
    R = np.triu(qr[:rank])
    T, _ = lapack.dtrtrs(R[:, :rank], R[:, rank:])
    order = np.asarray(pivots - 1, dtype=np.intp)
    return order[:rank], order[rank:], np.ascontiguousarray(T.T)
