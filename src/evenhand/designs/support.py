"""Carathéodory's theorem as a function: fewer points that carry the same second moments."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from evenhand.arrays import Floats, Indices
from evenhand.designs._caratheodory import empty_rows, moment_tableau

_DEPENDENT = 1e-10  # a pivot below this share of the largest: the moments are dependent
_GROWTH = 1e-9  # growth of the total weight that may be rounding


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
    p = r * (r + 1) // 2
    if n <= p:
        return w
    basis, others, T, smallest = moment_tableau(Y, w)
    if smallest < _DEPENDENT:
        basis, others, T = _dependent_tableau(symmetric_moments(Y) * w[:, None])
    cut = _emptied(basis, others, T, w)
    if cut.sum() > w.sum() * (1.0 + _GROWTH):
        cut = _cut_with_total(Y, w)
    return cut


def _emptied(basis: Indices, others: Indices, T: Floats, w: Floats) -> Floats:
    """Return the weights after all rows outside the basis have handed theirs over."""
    weights, place = np.ones(len(basis)), np.full(len(basis), -1)
    empty_rows(T, weights, place)
    cut = np.zeros(len(w))
    rows = np.where(place >= 0, others[place], basis)
    cut[rows] = weights * w[rows]
    return cut


def _cut_with_total(Y: Floats, w: Floats) -> Floats:
    """Cut the support and keep the total weight, or lower it.

    The same moments can be carried by rows of small leverage, with more weight in all, which no
    D-optimal design has. With the total as one more moment, one row too many may remain; a last
    step along the one relation between the moments, in the direction that lowers the total,
    empties it.
    """
    M = symmetric_moments(Y)
    S = np.column_stack([M, np.full(len(w), np.sqrt(np.einsum("ij,ij->i", M, M).mean()))])
    cut = _emptied(*_dependent_tableau(S * w[:, None]), w)
    (rows,) = np.nonzero(cut)
    while len(rows) > M.shape[1]:
        relation = np.linalg.svd(M[rows].T)[2][-1]
        relation *= -np.sign(relation.sum()) or 1.0
        falling = relation < 0
        step = cut[rows][falling] / -relation[falling]
        emptied = rows[falling][np.argmin(step)]
        cut[rows] += step.min() * relation
        cut[emptied] = 0.0
        np.maximum(cut, 0.0, out=cut)
        (rows,) = np.nonzero(cut)
    return cut


def _dependent_tableau(S: Floats) -> tuple[Indices, Indices, Floats]:
    """As `moment_tableau`, by pivoted QR, for rows that span fewer dimensions than columns."""
    qr, pivots, *_ = lapack.dgeqp3(S.T)
    diagonal = np.abs(np.diagonal(qr))
    rank = int(np.count_nonzero(diagonal > _DEPENDENT * diagonal[0]))
    R = np.triu(qr[:rank])
    T, _ = lapack.dtrtrs(R[:, :rank], R[:, rank:])
    order = np.asarray(pivots - 1, dtype=np.intp)
    return order[:rank], order[rank:], np.ascontiguousarray(T.T)
