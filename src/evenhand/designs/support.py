"""Carathéodory's theorem as a function: fewer points that carry the same second moments."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.designs._caratheodory import empty_rows, moment_tableau

_DEPENDENT = 1e-10  # moments that differ by less, as a share of the largest, are dependent
_GROWTH = 1e-9  # growth of the total weight that may be rounding


def cut_support(Y: Floats, w: Floats) -> Floats:
    """Return weights on at most r(r+1)/2 of the rows, (n, r), with the same Σ w_i y_i y_iᵀ."""
    # The same moments can be carried by rows of small leverage, with more weight in all, which no
    # D-optimal design has; so the total may fall and does not rise.
    n, r = Y.shape
    if n <= r * (r + 1) // 2:
        return w
    basis, others, T = moment_tableau(Y, w, _DEPENDENT)
    weights, place = w[basis], np.full(len(basis), -1)
    empty_rows(T, weights, place, w[others], _GROWTH * float(w.sum()) / n)
    taken = place >= 0
    basis[taken] = others[place[taken]]
    cut = np.zeros(n)
    cut[basis] = weights
    return cut
