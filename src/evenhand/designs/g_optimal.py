"""G-optimal designs: know the evaluations of all options equally well.

Kiefer and Wolfowitz: the design that maximises log det V(π) also minimises the largest leverage
max_x a_xᵀV(π)⁺a_x, which is then the rank r of the points. So max leverage / r − 1, over all
points, certifies any design.

The work is done on a small working set of rows: a sample at first, then what its optimum leaves
too high. There the interior-point method finds the weights, whatever the rows: V is unique, the
weights often are not. In the end the support is cut to the r(r+1)/2 rows that suffice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, Indices, as_points
from evenhand.designs._ascent import interior_point, multiplicative
from evenhand.designs.check import checked
from evenhand.designs.design import Certificate, Design
from evenhand.designs.screen import Screen, factor
from evenhand.designs.support import cut_support
from evenhand.errors import AccuracyError, InputError
from evenhand.numerics._bases import dominant_basis, spanning_rows
from evenhand.numerics.passes import sample_rows
from evenhand.numerics.row_space import RANK_TOLERANCE, RowSpace, row_space

_ROOM = 2.5  # rows in a first sample, per moment; see _first_rows
_WARM_UP = 10  # multiplicative steps, each as cheap as a leverage pass over the working set
_SHARE = 0.1  # of tol may be spent on the working set; the rest is for rows outside
_UNSEEN = 5.0  # a gap over all rows this many times that of the sample: other rows matter more
_ADD = 2  # rows added at a time, per moment
_LONG = 64.0  # coordinates larger than this call for another basis
_STEPS = 100  # of the interior-point method, which takes 5 to 20
_ROUNDS = 40
_SMALL = 512  # rows that cost less than another round


def g_optimal_design(points: ArrayLike, tol: float = 1e-6) -> Design:
    """Return the design that minimises the largest variance of any option's evaluation.

    Parameters
    ----------
    points
        (k, m) matrix, one row per option; any rank r.
    tol
        The largest leverage will be at most r (1 + tol).

    Examples
    --------
    >>> import evenhand as eh
    >>> grid = np.linspace(-1, 1, 201)
    >>> design = eh.g_optimal_design(np.vander(grid, 3))     # a parabola on [-1, 1]
    >>> grid[design.support], round(design.value, 4)
    (array([-1.,  0.,  1.]), 3.0)
    """
    if not (isinstance(tol, (int, float)) and 0 < tol < 1):
        raise InputError(f"tol must lie between 0 and 1; got {tol!r}.")
    A = as_points(points)
    try:
        return _g_optimal(A, tol)
    except np.linalg.LinAlgError as error:
        raise AccuracyError(
            "the G-optimal design broke down: the points are singular to working precision. Bring "
            "rows and columns to comparable size, or drop columns that are almost combinations "
            "of others."
        ) from error


def _g_optimal(A: Floats, tol: float) -> Design:
    """Solve a small working set; add the rows that its optimum leaves too high; repeat.

    Every support stays in the working set, so log det V rises from round to round and no working
    set comes twice.
    """
    k, m = A.shape
    space = row_space(A, sample_rows(k, max(1024, 48 * m)))
    r = space.rank
    if r == 0:
        raise InputError("all points are zero; there is nothing to estimate.")
    p = r * (r + 1) // 2
    rows, w, screen = _first_rows(A, space)
    spend, largest = _SHARE * tol, np.inf
    for _ in range(_ROUNDS):
        B, d = _coordinates(A, rows, space), np.empty(len(rows))
        multiplicative(B, w, d, _WARM_UP)
        interior_point(B, w, d, spend, _STEPS)
        kept = _but_dust(w, spend)
        few = w[kept] / w[kept].sum()
        V = factor(space, A[rows[kept]], few)
        screen = screen or Screen(A, V)
        high, above = screen.rows_above(r * (1.0 - 1e-6), V)
        largest = float(above.max())
        if largest <= r * (1.0 + tol) and len(few) > p:
            few = cut_support(A[rows[kept]] @ V.W.T, few)
            kept, few = kept[few > 0.0], few[few > 0.0] / few.sum()
            V = factor(space, A[rows[kept]], few)
            high, above = screen.rows_above(r * (1.0 - 1e-6), V)
            largest = float(above.max())
        if largest <= r * (1.0 + tol):
            weights = np.zeros(k)
            weights[rows[kept]] = few
            certificate = Certificate(largest, float(r), V.W / np.sqrt(largest))
            design = Design("G", weights, largest, largest, certificate)
            return checked(design, A, space.scales, tol)
        violating = (above > r * (1.0 + spend)) & ~np.isin(high, rows)
        if not violating.any():  # what is wrong lies within: ask more of the working set
            spend *= 0.1
        high, above = high[violating], above[violating]
        near = (d > r * (2.0 - largest / r)) | np.isin(np.arange(len(rows)), kept)
        rows, w = _joined(rows[near], w[near], high[_largest(above, _ADD * p)])
    raise AccuracyError(
        f"the G-optimal design reached a gap of {largest / r - 1:.2g}, not {tol:.2g}. "
        "Ask for a larger tol."
    )


def _first_rows(A: Floats, space: RowSpace) -> tuple[Indices, Floats, Screen | None]:
    """Return rows and weights to begin with, and the screen if a pass was made for them.

    A sample, joined by the rows that reach farthest out for as long as the sample knows little of
    them; a few multiplicative steps tell which rows hardly matter.
    """
    k, r = len(A), space.rank
    p = r * (r + 1) // 2
    rows = np.union1d(sample_rows(k, max(_SMALL, int(_ROOM * p))), space.basis)
    w = np.full(len(rows), 1.0 / len(rows))
    screen = None
    while True:
        d = np.empty(len(rows))
        gap = multiplicative(_coordinates(A, rows, space), w, d, _WARM_UP)
        near = (d > r * (1.0 - gap)) | np.isin(rows, space.basis)
        if len(rows) == k:
            return rows[near], w[near] / w[near].sum(), None
        V = factor(space, A[rows], w)
        screen = screen or Screen(A, V)
        high, d = screen.rows_above(r, V)
        if d.max() <= r * (1.0 + _UNSEEN * gap):
            return rows[near], w[near] / w[near].sum(), screen
        rows, w = _joined(rows[near], w[near], high[_largest(d, _ADD * p)])


def _joined(rows: Indices, w: Floats, new: Indices) -> tuple[Indices, Floats]:
    """Return the rows with new ones, half of the weight spread evenly."""
    new = np.setdiff1d(new, rows)
    n = len(rows) + len(new)
    return np.concatenate([rows, new]), np.append(0.5 * w / w.sum(), np.zeros(len(new))) + 0.5 / n


def _but_dust(w: Floats, dust: float) -> Indices:
    """Return the indices of all weights but the smallest ones, which are ``dust`` in all."""
    order = np.argsort(w)
    return np.sort(order[np.searchsorted(np.cumsum(w[order]), dust) :])


def _largest(d: Floats, size: int) -> Indices:
    """Return the indices of the ``size`` largest entries, in no order."""
    if len(d) <= size:
        return np.arange(len(d))
    return np.argpartition(d, len(d) - size)[len(d) - size :]


def _coordinates(A: Floats, rows: Indices, space: RowSpace) -> Floats:
    """Return the rows in coordinates in which V is well conditioned.

    On the basis of the row space; where some row is very long, on a basis that dominates.
    """
    B = np.ascontiguousarray(A[rows] @ space.transform)
    if np.abs(B).max() > _LONG:
        basis, _, _ = spanning_rows(B, np.arange(len(B)), 0, RANK_TOLERANCE)
        if len(basis) == B.shape[1]:
            dominant_basis(B, basis, 2.0)
    return B
