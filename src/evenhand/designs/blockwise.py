"""Optimal designs over more rows than memory holds.

A `Problem` gives every row a level under a solution, at most one where the solution is optimal:
leverage / r for G, |a·u| / √cost for c. A solution that is optimal for a pool of rows, and under
which no row at all has a level above one, is optimal for all.

The rows come by blocks. A look at a block, under the solution of the moment, takes the rows of
highest level into the pool, up to the block's share of it, and remembers the highest level of those
that it leaves (`Look.left`). When rows turned out too high, the pool is solved again and the next
block is looked at under the new solution. A block whose look was under an older one need not be
read again where a bound proves its remaining rows to be low all the same:

    G:  level_new ≤ λ_max(V_new⁺ V_old) · level_old
    c:  level_new ≤ level_old + ‖Uᵀ(u_new − u_old)‖ · max ‖W a‖ / √cost     with U W = I on the rows

So after the first pass only blocks are read that may hold something, those first that may hold
most, and each may keep more rows than before. Of n rows in random order the solution for the first
half leaves about as many rows of the second half too high as a basis has (Clarkson), and the bound
clears most blocks: two passes are usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.errors import AccuracyError
from evenhand.numerics.row_space import (
    RowSpace,
    largest_entries,
    products,
    row_space,
    rows_outside,
)
from evenhand.tables.blocks import Blocks

POOL = 2**16
"""Rows that all blocks together keep; memory for them is small beside that of a block."""

_LEAST = 64  # rows that a block keeps, however many blocks there are
_EDGE = 1.0 - 1e-6  # levels up to here are low, whatever rounding adds
_DOUBLES = 4  # times as many rows as are kept are looked through for copies of one another
_MORE = 4  # times as many rows a block may keep that had some too high, when it is read again
_LAG = 1.25  # in the first pass the pool is solved whenever so many times as much has been read
_PASSES = 40


@dataclass(frozen=True, eq=False)
class Kept:
    """Some rows of the matrix, and their numbers."""

    indices: Indices
    rows: Floats

    def of(self, places: Indices) -> Kept:
        """Return the rows at these places."""
        return Kept(self.indices[places], self.rows[places])


S = TypeVar("S", contravariant=False)


class Problem(Protocol[S]):
    """What is optimised, as far as the blocks have to know."""

    limit: float
    """The highest level that is low enough."""

    def solve(self, pool: Kept) -> S:
        """Return the optimum over the pool."""

    def used(self, solution: S) -> Kept:
        """Return the rows that the solution stands on."""

    def levels(self, solution: S, indices: Indices | slice, rows: Floats) -> Floats:
        """Return the levels of rows, which have these numbers."""

    def reach(self, indices: slice, rows: Floats) -> float:
        """Return what a bound has to know of rows besides their levels."""

    def change(self, old: S, new: S) -> float:
        """Return how far one solution is from another."""

    def bound(self, change: float, left: float, reach: float) -> float:
        """Return how high rows can be that were no higher than ``left`` before the change."""


@dataclass(frozen=True, eq=False)
class Look(Generic[S]):
    """What a look at a block found under a solution."""

    solution: S
    kept: Kept
    left: float  # the highest level of a row that was not kept
    highest: float  # of any row
    fresh: float  # of any row that was not in the pool
    reach: float
    share: int  # how many rows the block may keep


def optimum(blocks: Blocks, problem: Problem[S], first: Kept) -> tuple[S, float]:
    """Return a solution under which no row is higher than the limit, and the highest level."""
    n = len(blocks)
    looks: list[Look[S] | None] = [None] * n
    pool, known, solution = first, np.sort(first.indices), problem.solve(first)
    read, solved, due = 0, 1, False
    changes: dict[int, float] = {}  # of the solution since those of the looks

    def highest_left(b: int) -> float:
        """How high rows of a block may be now that are not in the pool; infinite if unknown."""
        look = looks[b]
        if look is None:
            return np.inf
        if look.solution is solution:
            return 0.0 if look.fresh <= problem.limit else look.fresh
        key = id(look.solution)
        if key not in changes:
            changes[key] = problem.change(look.solution, solution)
        return problem.bound(changes[key], look.left, look.reach)

    while blocks.passes < _PASSES:
        left = np.array([highest_left(b) for b in range(n)])
        b = int(np.argmax(left))  # at first one after the other, then where most is to be found
        if left[b] <= _EDGE or len(first.indices) == blocks.shape[0]:
            inside = float(problem.levels(solution, pool.indices, pool.rows).max())
            now = [look.highest for look in looks if look and look.solution is solution]
            return solution, max([inside, *now])
        looks[b] = look = _look(blocks, b, problem, solution, known, looks[b])
        read += 1
        due = due or look.fresh > problem.limit
        if due and (read >= _LAG * solved or read >= n):  # before, there will be more
            kept = (look.kept for look in looks if look)
            pool = joined([first, problem.used(solution), *kept])
            known = np.sort(pool.indices)
            solution, solved, due = problem.solve(pool), read, False
            changes.clear()
    raise AccuracyError(f"no design was proven in {_PASSES} passes over the data.")


def _look(
    blocks: Blocks,
    b: int,
    problem: Problem[S],
    solution: S,
    known: Indices,
    before: Look[S] | None,
) -> Look[S]:
    """Read a block; of each piece its rows of highest level, and of those the highest, are kept;
    ``known`` are the rows of the pool, in order.
    """
    share = max(_LEAST, POOL // len(blocks))
    if before is not None:
        more = before.fresh > problem.limit  # there is more in it than in others
        share = min(_MORE * before.share, POOL) if more else before.share
    indices, rows, levels = [], [], []
    left, highest, fresh, reach = 0.0, 0.0, 0.0, 0.0
    for start, piece in blocks.pieces(b):
        which = slice(start, start + len(piece))
        level = problem.levels(solution, which, piece)
        top = float(level.max())
        if not np.isfinite(top):
            blocks.refuse_non_finite(piece, start)
        chosen, rest = highest_rows(level, piece, share)
        indices.append(start + chosen)
        rows.append(piece[chosen])
        levels.append(level[chosen])
        left, highest = max(left, rest), max(highest, top)
        reach = before.reach if before is not None else max(reach, problem.reach(which, piece))
    kept, level = Kept(np.concatenate(indices), np.concatenate(rows)), np.concatenate(levels)
    if len(indices) > 1:
        chosen, rest = highest_rows(level, kept.rows, share)
        kept, left = kept.of(chosen), max(left, rest)
    at = np.minimum(np.searchsorted(known, kept.indices), len(known) - 1)
    new = known[at] != kept.indices
    if new.any():
        fresh = float(problem.levels(solution, kept.indices[new], kept.rows[new]).max())
    return Look(solution, kept, left, highest, max(fresh, left), reach, share)


def highest_rows(level: Floats, rows: Floats, size: int) -> tuple[Indices, float]:
    """Return the rows of highest level, copies left out, and the highest level of what remains."""
    # A row counts for its copies and mirror images, if none is higher: costs may differ. Those
    # have the same product with any vector, up to the sign, and rows with the same product with a
    # random one are copies. Else a lattice's many copies of one corner would fill the pool.
    if len(level) <= size:
        return np.arange(len(level)), 0.0
    for n in (min(_DOUBLES * size, len(level)), len(level)):
        top = largest_entries(level, n)
        top = top[np.argsort(-level[top], kind="stable")]
        product = np.abs(products(np.ascontiguousarray(rows[top]), _direction(rows.shape[1])))
        _, at = np.unique(product, return_index=True)
        if len(at) >= size:
            break
    at.sort()
    below = level.copy()
    below[top] = 0.0
    below[top[at[size:]]] = level[top[at[size:]]]
    return top[at[:size]], float(below.max())


def _direction(m: int) -> Floats:
    return np.random.default_rng(m).standard_normal(m)


def spanning(blocks: Blocks, sample: Kept) -> tuple[Kept, RowSpace]:
    """Return rows to begin with, whose first ones are a basis of the span of all rows."""
    # A sample of full rank settles the matter. Otherwise one pass looks for rows outside the span.
    for at in np.flatnonzero(~np.isfinite(sample.rows).all(axis=1)):
        blocks.refuse_non_finite(sample.rows[at : at + 1], int(sample.indices[at]))
    space = _space_of(sample)
    if len(sample.indices) < blocks.shape[0]:
        for b in range(len(blocks)):
            if space.full:
                break
            for start, piece in blocks.pieces(b):
                if not np.isfinite(piece.sum()):
                    blocks.refuse_non_finite(piece, start)
                more = Kept(np.arange(start, start + len(piece)), piece)
                sample, space = extended(sample, space, more)
    others = np.setdiff1d(np.arange(len(sample.indices)), space.basis)
    ordered = sample.of(np.concatenate([space.basis, others]))
    return ordered, space.rebased(np.arange(space.rank), space.rows)


def spanning_free(blocks: Blocks, first: Kept, s: Floats) -> Kept:
    """Return the rows to begin with, and rows that span all those with ``s``, (k,), zero."""
    free = first.of(np.flatnonzero(s[first.indices] == 0.0))
    for b in range(len(blocks)):
        if s[blocks.starts[b] : blocks.starts[b + 1]].all():
            continue
        for start, piece in blocks.pieces(b):
            at = np.flatnonzero(s[start : start + len(piece)] == 0.0)
            if len(at):
                blocks.refuse_non_finite(piece[at], start)
                more = Kept(start + at, np.ascontiguousarray(piece[at]))
                free = free if len(free.indices) else more.of(np.arange(1))
                free, _ = extended(free, _space_of(free), more)
    return joined([first, free])


def extended(some: Kept, space: RowSpace, more: Kept) -> tuple[Kept, RowSpace]:
    """Return rows joined by those of others that are outside their span, and the new span."""
    while not space.full:
        outside = rows_outside(more.rows, np.arange(len(more.rows)), space)
        if not len(outside):
            break
        some = joined([some, more.of(outside)])
        space = _space_of(some)
    return some, space


def joined(parts: list[Kept]) -> Kept:
    """Return the rows of all parts, each once, in the order in which they first appear."""
    indices = np.concatenate([part.indices for part in parts])
    _, at = np.unique(indices, return_index=True)
    at.sort()
    return Kept(indices[at], np.concatenate([part.rows for part in parts])[at])


def _space_of(some: Kept) -> RowSpace:
    return row_space(some.rows, np.arange(len(some.rows)))
