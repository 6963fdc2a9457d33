"""Row spaces: which rows span all of them, the first of which, and what lies in that span.

Notation
--------
A     (k, m)   the points, one row a_x per action; known up to the rounding of each entry
B     (r, m)   r independent rows of A that span all of them
Q     (r,)     r independent columns; the other columns are combinations of these
R     (r, m−r) A[:, others] = A[:, Q] R, the relations between columns
T     (m, r)   B T = I: the coordinates a T of a point are its weights on the rows of B

What a vector a leaves over, S = a[others] − a[Q] R, is zero exactly if a lies in the span. In
floats it is judged by what cancelled: if every entry of A and a is off by a share ε of itself, then
S is off by at most ε E to first order, where with w = a T

    E = |a[others]| + |a[Q]| |R| + |w| (|B[:, others]| + |B[:, Q]| |R|).

|S| / E does not change with the units of rows and columns. It is about 1e-16 for what is rounding.

`first_independent`, `parts`: a row is taken, in a given order, if it says something that those
before it do not.
The rows that were taken are independent, so a direction is a combination of them in one way only:
it needs exactly those with a part in it, and all others are left out again. With rows in the order
of their prices these are, by the exchange property of independent sets, the cheapest that span all
that the rows do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from evenhand.arrays import Floats, Indices, refuse_non_finite
from evenhand.errors import AccuracyError, InputError
from evenhand.numerics._bases import eliminate, equilibrated
from evenhand.numerics._passes import products_into, squared_norms_into
from evenhand.numerics.solves import STEADY, RefinedSolver
from evenhand.numerics.tolerance import EXACT, IN_SPAN, RANK

_ROUNDING = 1e-14  # |S| / E up to here is rounding: of the entries, and of sums of some hundred
_CERTAIN = 1e-11  # from here on it is data; in between nobody can tell
HIDING = _CERTAIN / _ROUNDING
"""From this factor of `RowSpace.erased` on, what counts as rounding may hide what was data."""

_SAFE = 1e-6  # pivots of the quick elimination that need no second look
_MATTERS = 1e-6  # share of a relation from which on a column is named
SAMPLED_PER_COLUMN = 48
"""Rows that are looked at first, for each column."""

_LEADING = 4096  # leading rows looked at first
_CHUNK = 65536  # rows looked at in one go
_SAMPLE_RUN = 16  # neighbouring rows read together when a large matrix is sampled
_FEW, _MANY = 256, 8192  # rows worked on at once: few where each turns all of them
_LARGEST = 1e300  # of the numbers in a column; beyond, quotients leave the range of floats


DOUBT = (
    "are dependent to 11 digits or more, and numbers of 16 digits do not tell whether the rest is "
    "data or rounding. Leave one of them out, or replace one by its difference from what the "
    "others give."
)
"""What `DoubtfulRankError` says of columns whose rank nobody can tell."""

ERASED = (
    "differ, if at all, by digits that were rounded away when their means were subtracted, beside "
    "which some of their numbers are tiny. Make the options with standardize=False, or leave one "
    "of these columns out."
)
"""What it says of columns of which nobody can tell because of how they were standardised."""

NEARLY = "are nearly dependent; leave one of them out, or replace one by its difference from what "
NEARLY += "the others give."
"""What it says of columns that made a computation fail."""


class DoubtfulRankError(AccuracyError):
    """Whether some columns are dependent cannot be decided from numbers of 16 digits."""

    def __init__(self, columns: tuple[int, ...], problem: str) -> None:
        named = ", ".join(str(column) for column in columns)
        super().__init__(f"columns {named} (counting from 0) {problem}")
        self.columns = columns
        self.problem = problem


@dataclass(frozen=True, eq=False)
class RowSpace:
    """A basis of the span of the rows, taken from the rows themselves."""

    basis: Indices  # indices of r independent rows
    rows: Floats  # those rows B, (r, m)
    columns: Indices  # indices Q of r independent columns
    scales: Floats  # (m,) magnitudes of the columns: powers of two
    doubt: tuple[int, ...] = ()  # columns that may or may not be dependent
    # how many basis rows are leading ones: they span all leading rows, so the coordinates after
    # these are what remains of a point modulo the leading rows
    n_leading: int = 0

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.basis)

    @property
    def full(self) -> bool:
        """Tell whether the rows span everything."""
        return self.rank == len(self.scales)

    @cached_property
    def leading(self) -> RowSpace:
        """The span of the leading rows alone."""
        n = self.n_leading
        return RowSpace(self.basis[:n], self.rows[:n], self.columns[:n], self.scales, (), n)

    def rebased(self, basis: Indices, rows: Floats) -> RowSpace:
        """Return the same span with another basis; the leading rows have to stay."""
        return RowSpace(basis, rows, self.columns, self.scales, self.doubt, self.n_leading)

    @cached_property
    def transform(self) -> Floats:
        """(m, r) matrix T with B T = I; only rows Q of it differ from zero."""
        T = np.zeros((len(self.scales), self.rank))
        if self.rank:
            lu, swaps, lengths = self._factors
            inverse, _ = lapack.dgetri(lu, swaps)
            T[self.columns] = inverse / lengths / self.scales[self.columns, None]
        return T

    @property
    def coordinates(self) -> Floats:
        """Return an (m, r) matrix C so that a C determines a, as accurately as there is."""
        # Scaling the columns is all where the rank is full; otherwise it is the transform.
        return np.diag(1.0 / self.scales) if self.full else self.transform

    @cached_property
    def others(self) -> Indices:
        """The columns that are combinations of the independent ones."""
        return np.setdiff1d(np.arange(len(self.scales)), self.columns)

    @cached_property
    def relations(self) -> Floats:
        """(r, m − r) matrix R, in scaled columns: the other columns from the independent ones."""
        if self.rank == 0 or self.full:
            return np.zeros((self.rank, len(self.scales) - self.rank))
        return self._solver.solve(self._rest(self.rows))

    def reduced(self, vectors: Floats) -> Floats:
        """Return the independent columns, scaled: all that there is to know of a point."""
        return vectors[..., self.columns] / self.scales[self.columns]

    def lifted(self, v: Floats) -> Floats:
        """Return u with a·u = reduced(a)·v for every a in the span."""
        u = np.zeros(len(self.scales))
        u[self.columns] = v / self.scales[self.columns]
        return u

    def weights_of(self, vectors: Floats) -> Floats:
        """Return the coordinates of vectors in the span: their weights on the basis rows."""
        if self._steady:
            return np.ascontiguousarray(vectors @ self.transform)
        return np.ascontiguousarray(self._solver.solve_transposed(self.reduced(vectors).T).T)

    def remainders(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return |S| / E and |S|, (n, m − r): what is left over, first as a share."""
        R, sizes = self._relation_sizes
        independent, rest = self.reduced(vectors), self._rest(vectors)
        left = np.abs(rest - independent @ R)
        E = np.abs(rest) + np.abs(independent) @ np.abs(R)
        E += np.abs(vectors @ self.transform) @ sizes
        E[E == 0.0] = 1.0  # nothing is left of nothing
        return left / E, left

    def contains(self, vector: Floats) -> bool:
        """Tell whether a vector lies in the span; raise `DoubtfulRankError` if nobody can."""
        if self.full:
            return True
        shares = self.remainders(vector[None])[0][0]
        j = int(np.argmax(shares))
        if _ROUNDING < shares[j] < _CERTAIN:
            raise DoubtfulRankError(self.related(j), DOUBT)
        return bool(shares[j] <= _ROUNDING)

    def erased(self, vectors: Floats, offsets: Floats) -> Floats:
        """Return (n, m − r) factors by which subtracting offsets has enlarged the rounding of S."""
        # Entries a came from a + offsets, whose rounding the user's numbers have anyway; to
        # subtract has rounded them by up to |a| + |offsets|. A factor of 1000 means that three
        # digits, with all that they had told of a relation between columns, are gone.
        R, w = np.abs(self.relations), np.abs(self.weights_of(vectors))

        def rounded(size: Callable[[Floats], Floats]) -> Floats:
            own, basis = (
                self._rest(a) + self.reduced(a) @ R for a in (size(vectors), size(self.rows))
            )
            return own + w @ basis

        before = rounded(lambda a: np.abs(a + offsets))
        now = rounded(lambda a: np.abs(a) + np.abs(offsets))
        zero = before <= _ROUNDING * now  # zeros have no digits to lose
        return np.divide(now, before, out=np.ones_like(now), where=~zero)

    def related(self, j: int) -> tuple[int, ...]:
        """Return the columns in the relation that gives the j-th of the others, and that one."""
        sizes = np.abs(self.relations[:, j])
        used = self.columns[sizes > _MATTERS * sizes.max(initial=0.0)]
        return tuple(sorted([*used.tolist(), int(self.others[j])]))

    def nearly_dependent(self) -> tuple[int, ...]:
        """Return the columns in the relation that holds best among the independent ones; empty
        where none comes near to holding.
        """
        if self._steady:
            return ()
        n = self.rank - 1  # pivots fall, so the last column is the one most nearly dependent
        fewer = RowSpace(self.basis[:n], self.rows[:n], self.columns[:n], self.scales)
        return fewer.related(int(np.flatnonzero(fewer.others == self.columns[n])[0]))

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let an `AccuracyError` name the columns that are nearly dependent, if any are."""
        try:
            yield
        except DoubtfulRankError:
            raise
        except AccuracyError as error:
            columns = self.nearly_dependent()
            if not columns:
                raise
            raise DoubtfulRankError(columns, f"{NEARLY} What failed: {error}") from error

    def _rest(self, vectors: Floats) -> Floats:
        return np.asarray(vectors[..., self.others] / self.scales[self.others])

    @cached_property
    def _relation_sizes(self) -> tuple[Floats, Floats]:
        """R, and |B[:, others]| + |B[:, Q]| |R|."""
        # The relations hold on a row of B up to the extended precision of the residuals, at worst
        # relative to its length: where a part of R is zero, that is what is left of it.
        R, square = self.relations, self.reduced(self.rows)
        sizes = np.abs(self._rest(self.rows)) + np.abs(square) @ np.abs(R)
        off = 8.0 * float(np.finfo(np.longdouble).eps) * np.abs(square).max(axis=1, initial=0.0)
        return R, sizes + np.outer(off / _ROUNDING, np.abs(R).max(axis=0, initial=0.0))

    @property
    def relation_rounding(self) -> Floats:
        """(r, m − r) bounds of what the rounding of A's entries changes in R."""
        inverse = np.abs(self.transform[self.columns]) * self.scales[self.columns, None]
        return _ROUNDING * inverse @ self._relation_sizes[1]

    @cached_property
    def _factors(self) -> tuple[Floats, NDArray[np.intc], Floats]:
        """LU factors of B[:, Q], rows and columns in comparable units, and the lengths of rows."""
        square = self.reduced(self.rows)
        lengths = np.abs(square).max(axis=1)
        lu, swaps, info = lapack.dgetrf(square / lengths[:, None])
        if info != 0:
            raise AccuracyError("the points are singular to working precision.")
        return lu, swaps, lengths

    @cached_property
    def _steady(self) -> bool:
        """Tell whether no pivot is small, so that plain floats are accurate enough."""
        return self.rank == 0 or bool(np.abs(self._factors[0].diagonal()).min() > STEADY)

    @cached_property
    def _solver(self) -> RefinedSolver:
        return RefinedSolver(self.reduced(self.rows))


def row_space(points: Floats, sample: Indices, leading: Indices | None = None) -> RowSpace:
    """Return a basis of the span of all rows, ``leading`` ones first, found among ``sample`` and
    extended where needed.
    """
    # A sample of full rank settles the matter. Otherwise one pass looks for rows outside the span
    # of the sample, adds the farthest, and repeats: at most m passes, usually one.
    leading = np.empty(0, dtype=np.intp) if leading is None else leading
    first = leading[sample_rows(len(leading), _LEADING)]
    while True:
        space = _row_space_of(points, np.concatenate([first, sample]), len(first))
        if len(first) < len(leading):
            astray = rows_outside(points, leading, space.leading)
            if len(astray):
                first = np.concatenate([first, astray])
                continue
        if space.full or len(sample) + len(first) >= len(points):
            return space
        outside = rows_outside(points, np.arange(len(points)), space)
        if len(outside) == 0:
            return space
        sample = np.concatenate([sample, outside])


def _row_space_of(points: Floats, sample: Indices, n_leading: int) -> RowSpace:
    """Pick independent rows and columns of the sample, the leading rows first."""
    # Elimination with complete pivoting, in comparable units, finds what is beyond doubt. What it
    # leaves is worked out anew, accurately, and judged by what cancelled; the surest entry is the
    # next pivot.
    S, exponents = equilibrated(points, sample)
    if S is None:
        refuse_non_finite(points)
        raise AssertionError("an entry is not finite, or all are")
    m = points.shape[1]
    scales = np.ldexp(1.0, exponents)
    if not (scales.min() > 0.5 / _LARGEST and scales.max() <= _LARGEST):
        _refuse_extreme(points)
    at, columns = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
    doubt: tuple[int, ...] = ()
    quick = True
    taken = leads = 0
    for n_rows in (n_leading, len(sample)):
        leads = taken
        while taken < m:
            if quick:
                taken, left = eliminate(S, n_rows, _SAFE, at, columns, taken)
                if left == 0.0:
                    break
            basis = sample[at[:taken]]
            space = RowSpace(basis, points[basis], columns[:taken].copy(), scales)
            remaining = np.setdiff1d(np.arange(n_rows), at[:taken])
            pivot = _surest_pivot(space, points[sample[remaining]])
            if pivot is None:
                break
            row, j, share = pivot
            if _ROUNDING < share < _CERTAIN:
                doubt = space.related(j)
            if share <= EXACT:
                break
            at[taken], columns[taken] = remaining[row], space.others[j]
            taken += 1
            quick = False
    basis = sample[at[:taken]]
    return RowSpace(basis, points[basis], columns[:taken].copy(), scales, doubt, leads)


def _surest_pivot(space: RowSpace, rows: Floats) -> tuple[int, int, float] | None:
    """Return row, place among the other columns, and |S| / E of a pivot; None if there is none."""
    # Of those that count, the one is taken that is both sure and large beside its row: a small one
    # would make the coordinates of all others large.
    shares, left = space.remainders(rows)
    if not shares.any():
        return None
    lengths = np.abs(rows / space.scales).max(axis=1)
    lengths[lengths == 0.0] = 1.0
    merit = np.where(shares > EXACT, shares * left / lengths[:, None], 0.0)
    best = int(np.argmax(merit if merit.any() else shares))
    row, j = divmod(best, shares.shape[1])
    return row, j, float(shares[row, j])


def rows_outside(points: Floats, among: Indices, space: RowSpace) -> Indices:
    """Return, for each direction that is missing, the row that reaches farthest into it."""
    farthest: dict[int, tuple[float, int]] = {}
    for start in range(0, len(among), _CHUNK):
        rows = among[start : start + _CHUNK]
        shares, _ = space.remainders(points[rows])
        if not np.isfinite(shares).all():
            refuse_non_finite(points)
        for j, at in enumerate(np.argmax(shares, axis=0)):
            share = float(shares[at, j])
            if share > max(EXACT, farthest.get(j, (0.0, 0))[0]):
                farthest[j] = (share, int(rows[at]))
    return np.unique(np.array([row for _, row in farthest.values()], dtype=np.intp))


def _refuse_extreme(points: Floats) -> None:
    """Raise an error that names a column whose numbers leave no room to compute."""
    sizes = np.abs(points).max(axis=0)
    j = int(np.argmax(np.where(sizes > 0.0, np.abs(np.log2(np.maximum(sizes, 5e-324))), 0.0)))
    raise InputError(
        f"the largest number in column {j} (counting from 0) is {sizes[j]:.3g} in magnitude; from "
        f"{1 / _LARGEST:g} to {_LARGEST:g} is supported. Choose another unit for it."
    )


def products(points: Floats, u: Floats) -> Floats:
    """Return a·u for every row a, in one pass."""
    out = np.empty(len(points))
    products_into(points, np.ascontiguousarray(u), out)
    return out


def leverages(points: Floats, W: Floats) -> Floats:
    """Return ‖W a‖² for every row a, in one pass."""
    out = np.empty(len(points))
    squared_norms_into(points, W, out)
    return out


def largest_entries(d: Floats, size: int) -> Indices:
    """Return the indices of the ``size`` largest entries, in no order."""
    # Where d is long, every sixteenth entry says which twice as many come into question.
    if len(d) <= size:
        return np.arange(len(d))
    some, rank = d[::16], size // 8 + 16
    if rank < len(some) // 4:
        (above,) = np.nonzero(d >= np.partition(some, len(some) - rank)[len(some) - rank])
        if size <= len(above) < len(d):
            return np.asarray(above[largest_entries(d[above], size)])
    return np.argpartition(d, len(d) - size)[len(d) - size :]


def space_of(points: Floats) -> RowSpace:
    """Return the row space of points, (k, m), found by a sample of them."""
    return row_space(points, sample_rows(len(points), SAMPLED_PER_COLUMN * points.shape[1]))


def sample_rows(k: int, size: int) -> Indices:
    """Return about ``size`` row indices spread over range(k), the same ones every time."""
    # Short runs at random places, one per stretch of equal length: quick to read, and proof against
    # any order that the rows may have.
    if k <= size:
        return np.arange(k)
    n_runs = max(1, size // _SAMPLE_RUN)
    stretch = k / n_runs
    offsets = np.random.default_rng(20210307).random(n_runs) * (stretch - _SAMPLE_RUN)
    starts = (np.arange(n_runs) * stretch + np.maximum(offsets, 0.0)).astype(np.intp)
    runs: Indices = (starts[:, None] + np.arange(_SAMPLE_RUN)).ravel()
    return runs[runs < k]


Rows = Callable[[Indices], "Floats | sparse.csr_array"]


def first_independent(rows: Rows, order: Indices, m: int) -> tuple[Indices, Floats]:
    """Return the first independent rows in order, and an orthonormal basis N of what they leave."""
    # A row a is independent of those before exactly if a N is not 0. Then N is turned, by a
    # reflection that maps a N to its first column, and loses that column.
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
            if not fresh.any():
                break
            at = int(np.argmax(fresh))
            chosen.append(int(some[at]))
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
