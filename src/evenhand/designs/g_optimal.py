"""G-optimal designs: know the evaluations of all options equally well.

Kiefer and Wolfowitz: the design that maximises log det V(π) also minimises the largest leverage
max_x a_xᵀV(π)⁺a_x, which is then the rank r of the points. So max leverage / r − 1, the gap over
all points, certifies any design.

The work is done on a small working set of rows: a sample and those far out at first, then also
what its optimum leaves too high. Titterington's multiplicative steps, cheap and slow, say which
rows matter. Where no more than p = r(r+1)/2 do, Newton's method finds their weights; else, and
where it fails, the interior-point method, whatever the rows: V is unique, the weights often are
not. In every round the support is cut to the p rows that suffice, which keeps V
(Carathéodory). Where so many rows matter that a sample fits its own noise, no working set will do,
and `enclosing` takes over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, Indices, as_points
from evenhand.designs._ascent import interior_point, multiplicative, newton
from evenhand.designs._caratheodory import empty_rows, moment_tableau
from evenhand.designs.design import Certificate, Design, checked
from evenhand.designs.enclosing import dependent, enclosing, relaxed
from evenhand.designs.screen import GramFactor, Screen, factor
from evenhand.errors import AccuracyError, InputError
from evenhand.numerics._bases import dominant_basis
from evenhand.numerics.row_space import (
    DOUBT,
    DoubtfulRankError,
    RowSpace,
    largest_entries,
    leverages,
    row_space,
    sample_rows,
)

# Wendel: the hull of n symmetric random points in p dimensions holds the centre with probability
# 1/2 at n = 2p and almost surely a little beyond. So many rows on one ellipsoid carry its V.
_ROOM = 2.5
_SMALL = 512  # rows that cost less than the Python of another round
_WARM_UP = 10  # multiplicative steps at a time; each costs one leverage pass over the working set
_SPREAD = 64  # sampled rows per dimension: their covariance is off by about 1/√64, an eighth
_FAR = 3  # rows far out under it, per moment: 95 to 100 % of the support of Gaussian points
_ADD = 2  # rows added at a time, per moment
_KEEP = 2  # rows kept, per row of the support: those next in line, lest they come back
_INWARD = 0.1  # of the weight; with a hundredth the interior-point method takes twice the steps
_MISLED = 0.01  # of all rows too high: more than a working set overlooks where few rows matter
_CLOSE = 0.25  # of the gap that equal weights have: less than is left where rows are not close
_FITTED = 32  # sampled rows per moment to fit an ellipsoid: its error is 1/√32 of their noise
_SHARE = 0.1  # of the gap over all rows: what the working set is solved to
_ROUNDING = 1e-11  # a gap that leverages in double precision cannot tell from none
_EDGE = 1.0 - 1e-6  # leverages this close to r count as r: rounding must not hide a row
_LONG = 64.0  # coordinates larger than this call for another basis
_STEPS = 100  # of the interior-point method, which takes 5 to 20
_ROUNDS = 60
_DEPENDENT = 1e-10  # moments that differ by less, as a share of the largest, are dependent
_GROWTH = 1e-9  # growth of the total weight that may be rounding


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
    k, m = A.shape
    space = row_space(A, sample_rows(k, max(1024, 48 * m)))
    if space.rank == 0:
        raise InputError("all points are zero; there is nothing to estimate.")
    if space.doubt:
        raise DoubtfulRankError(space.doubt, DOUBT)
    with space.blamed():
        try:
            return _g_optimal(A, space, tol)
        except np.linalg.LinAlgError as error:
            raise AccuracyError(
                "the G-optimal design broke down: the points are singular to working precision. "
                "Bring rows and columns to comparable size, or drop columns that are almost "
                "combinations of others."
            ) from error


def _g_optimal(A: Floats, space: RowSpace, tol: float) -> Design:
    """Solve a small working set; add the rows that its optimum leaves too high; repeat."""
    r = space.rank
    p = r * (r + 1) // 2
    rows, w, screen = _first_rows(A, space)
    others = np.setdiff1d(sample_rows(len(A), _SPREAD * r), rows)
    spend, loose = _SHARE * tol, 0.0
    for round_ in range(_ROUNDS):
        exact = max(0.01 * spend, _ROUNDING)
        n = len(rows)
        B = _coordinates(A, np.append(rows, others), space)
        w, d = w / w.sum(), np.empty(n)
        # Newton's method while no more than p rows carry weight or ask for it; where there are
        # more, or where it fails since moments are dependent, the interior-point method
        if newton(B[:n], w, d, exact, _STEPS) > exact:
            if len(others) and dependent(B[:n]):
                others = others[:0]
            _from_inside(B[:n], w, d, max(loose, exact), B[n : n + len(others)])
        if len(others) and (better := _enclosed(A, space, rows, w, others, tol)):
            rows, w, screen = better
            B, d = _coordinates(A, rows, space), np.empty(len(rows))
            multiplicative(B, w, d, 0)
        elif len(others) and multiplicative(B[:n], w, d, 0) > max(loose, 10.0 * exact):
            _from_inside(B[:n], w, d, max(loose, exact), B[:0])  # stopped too early
        others = others[:0]
        kept = _but_dust(w, spend / r)  # a share ε of the weight moves no leverage by more than r ε
        few = cut_support(B[kept], w[kept])
        kept, few = kept[few > 0.0], few[few > 0.0]
        V = factor(space, A[rows[kept]], few / few.sum())
        screen = screen or Screen(A, V)
        high, beyond = screen.rows_above(r * _EDGE, V)
        largest = float(beyond.max())
        if largest <= r * (1.0 + tol):
            design = _cut(A, space, B[kept], rows[kept], few / few.sum(), V, largest)
            if design.value <= r * (1.0 + tol):
                return checked(design, A, space.scales, tol)
        loose = _SHARE * (largest / r - 1.0) / 2**round_  # in the end every round raises log det V
        new = (beyond > r * (1.0 + spend)) & ~np.isin(high, rows)
        if not new.any():  # the fault lies within: drop less, ask more of the working set
            loose, spend = 0.0, 0.1 * spend
        high, beyond = high[new], beyond[new]
        kept = kept[largest_entries(few, _KEEP * p)]
        near = np.union1d(kept, _nearest(d, _KEEP * min(len(kept), p), rows, space))
        room = p - int(np.count_nonzero(w))  # for Newton's method; none after an interior point
        high = high[largest_entries(beyond, room if room > p // 4 else _ADD * p)]
        rows, w = np.append(rows[near], high), np.append(w[near], np.zeros(len(high)))
    raise AccuracyError(
        f"the G-optimal design reached a gap of {largest / r - 1:.2g}, not {tol:.2g}. "
        "Ask for a larger tol."
    )


def _cut(
    A: Floats,
    space: RowSpace,
    B: Floats,
    rows: Indices,
    w: Floats,
    V: GramFactor,
    largest: float,
) -> Design:
    """Return the design with as few rows as its V needs; B are theirs in coordinates."""
    cut = cut_support(B, w)
    if cut is not w:
        # V stays the same up to rounding, which is bounded without another pass
        rows, w = rows[cut > 0.0], cut[cut > 0.0] / cut.sum()
        V, before = factor(space, A[rows], w), V
        largest *= float(np.linalg.norm(V.W @ before.U, 2)) ** 2
    weights = np.zeros(len(A))
    weights[rows] = w
    certificate = Certificate(largest, float(space.rank), V.W / np.sqrt(largest))
    return Design("G", weights, largest, largest, certificate)


def _enclosed(
    A: Floats, space: RowSpace, rows: Indices, w: Floats, others: Indices, tol: float
) -> tuple[Indices, Floats, Screen] | None:
    """Return optimal rows, weights, screen, if more rows matter than a working set holds."""
    # Then the optimum for a small sample fits its noise: it leaves many rows too high, and which
    # ones says little. Where all lie close to one ellipsoid, a large sample tells more of it.
    r = space.rank
    V = factor(space, A[rows], w)
    levels = leverages(A[others], V.W) / r
    if np.count_nonzero(levels > 1.0 + tol) <= _MISLED * len(levels):
        return None
    sample = np.union1d(sample_rows(len(A), _FITTED * r * (r + 1) // 2), space.basis)
    w, first, gap = relaxed(_coordinates(A, sample, space))
    if not tol < gap <= min(_CLOSE * first, float(levels.max()) - 1.0):
        return None
    try:
        return enclosing(A, space, factor(space, A[sample], w), 0.5 * tol)
    except np.linalg.LinAlgError:  # rows of very different lengths: working sets have a basis
        return None


def _from_inside(B: Floats, w: Floats, d: Floats, tol: float, others: Floats) -> None:
    """Bring w to the optimum for the rows of B, up to ``tol`` or as far as ``others`` gain by it;
    d are the leverages.
    """
    w[:] = (1.0 - _INWARD) * w + _INWARD / len(w)
    interior_point(B, w, d, tol, _STEPS, others)


def _first_rows(A: Floats, space: RowSpace) -> tuple[Indices, Floats, Screen | None]:
    """Return rows and weights to begin with, and the screen if a pass was made for them."""
    # A sample, joined by the rows that reach farthest out as the covariance of a larger one has it.
    # Then rows are left out while many hardly matter: a leverage above r says that a weight rises.
    # Weight is left to these and as many next in line.
    k, r = len(A), space.rank
    p = r * (r + 1) // 2
    rows = np.union1d(sample_rows(k, max(_SMALL, int(_ROOM * p))), space.basis)
    screen = None
    if len(rows) < k:
        spread = A[np.union1d(sample_rows(k, _SPREAD * r), space.basis)]
        screen = Screen(A, factor(space, spread, np.full(len(spread), 1.0 / len(spread))))
        rows = np.union1d(rows, largest_entries(screen.d, _FAR * p))
    w = np.full(len(rows), 1.0 / len(rows))
    while True:
        d = np.empty(len(rows))
        multiplicative(_coordinates(A, rows, space), w, d, _WARM_UP)
        active = int(np.count_nonzero(d > r * _EDGE))
        size = int(_ROOM * active) if active <= p else max(_SMALL, int(_ROOM * p))
        near = _nearest(d, size, rows, space)
        if len(near) > 0.8 * len(rows):
            w[d < np.partition(d, -min(2 * active, len(d)))[-min(2 * active, len(d))]] = 0.0
            return rows, w, screen
        rows, w = rows[near], w[near] / w[near].sum()


def _nearest(d: Floats, size: int, rows: Indices, space: RowSpace) -> Indices:
    """Return where the ``size`` rows of largest leverage are, and a basis, so that they span."""
    return np.union1d(largest_entries(d, max(size, 1)), np.flatnonzero(np.isin(rows, space.basis)))


def _but_dust(w: Floats, dust: float) -> Indices:
    """Return the indices of all weights but the smallest ones, which are ``dust`` in all."""
    order = np.argsort(w)
    return np.sort(order[np.searchsorted(np.cumsum(w[order]), dust) :])


def _coordinates(A: Floats, rows: Indices, space: RowSpace) -> Floats:
    """Return the rows in coordinates in which V is well conditioned."""
    # On the basis of the row space, which is among them; where some row is very long, on one that
    # dominates, and worked out anew, since the exchanges have lost digits.
    B = np.ascontiguousarray(A[rows] @ space.transform)
    if np.abs(B).max() <= _LONG:
        return B
    basis = np.flatnonzero(np.isin(rows, space.basis))
    dominant_basis(B, basis, 2.0)
    return space.rebased(rows[basis], A[rows[basis]]).weights_of(A[rows])


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
