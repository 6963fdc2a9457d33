"""Hand-outs: who evaluates what where everybody evaluates a part, as even as it can be.

Notation
--------
x_p         whether evaluator e evaluates item o, for pairs p = (o, e) that may be asked; Σ x_p = n
r_o, l_e    evaluations of an item, and of an evaluator, with those that are there already
m_e, u_o    the same of pairs where the evaluator is partial (the own group); t_e what m_e is to be:
            the share of the own group among all that may be asked

    min  A Σ r_o² + B Σ l_e² + C Σ (m_e − t_e)² + D Σ u_o² + Σ c_p x_p,    A ≫ B ≫ C ≫ D ≫ c

All costs are convex and of sums over families of pairs that are nested on either side, so that this
is a flow, whose linear program (a variable for each unit of each sum, at its marginal cost) has
whole solutions. With A ≫ B no r_o differs from another by more than one unless pairs that cannot be
asked, or workloads, leave no other way. c is drawn by lot: of several draws that are as even the
one is taken that tells options apart best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.questions.identifiable import accuracy
from evenhand.report.words import counted

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

_ITEM, _LOAD, _OWN, _OWN_ITEM, _LOT = 1e5, 1e3, 10.0, 1.0, 0.1  # A, B, C, D, c
_DRAWS = 8
_DRAWN = 2_000  # pairs in all draws together, but for the first
_MOST = 200_000  # pairs, beyond which there is no program


@dataclass(frozen=True, eq=False)
class HandOut:
    """Who evaluates what: (q,) how often each question is asked."""

    questions: Questions
    counts: Counts

    @cached_property
    def reviews(self) -> Counts:
        """(k,) evaluations of each option."""
        return _sums(self.questions.about[:, 0], self.counts, len(self.questions.options))

    @cached_property
    def loads(self) -> Counts:
        """(e,) evaluations of each evaluator."""
        return _sums(self.questions.evaluator, self.counts, len(self.questions.evaluators))

    @cached_property
    def own(self) -> Counts:
        """(e,) those of the own group among them."""
        own = np.where(self.questions.partial, self.counts, 0)
        return _sums(self.questions.evaluator, own, len(self.questions.evaluators))

    @property
    def words(self) -> str:
        """Who evaluates how much, in a sentence."""
        said = (
            f"{counted(int(self.counts.sum()), 'evaluation')}: every option by "
            f"{_range(self.reviews)}, every evaluator {_range(self.loads)}"
        )
        if self.questions.partial.any():
            said += f", {_range(self.own)} of them of the own group ({int(self.own.sum())} in all)"
        return f"{said}."


def hand_out(
    questions: Questions,
    n: int,
    have: Counts | None = None,
    left: Counts | None = None,
    seed: int = 0,
) -> Counts | None:
    """Return (q,) how often to ask each question of a panel, n in all or as many as may be.

    Those that are there already (``have``) stay, and of those ``left`` each is asked once more at
    most. None where it is no panel, where prices or noise make questions differ, and where there
    are too many.
    """
    have = np.zeros(len(questions), dtype=np.int64) if have is None else have
    (pairs,) = np.nonzero(questions.capacity > have if left is None else left > 0)
    alike = not np.ptp(questions.prices) and questions.noise is None
    named = (questions.evaluator >= 0).all()
    if not (questions.has_arrow_form and alike and named and 0 < len(pairs) <= _MOST):
        return None
    flow = _Flow(questions, pairs, have, n - int(have.sum()))
    best, least = None, math.inf
    for draw in range(min(_DRAWS, 1 + _DRAWN // len(pairs))):
        counts = have.copy()
        counts[pairs] += flow.drawn(np.random.default_rng([seed, draw]))
        spread = accuracy(questions, counts.astype(np.float64)).mean_lead_variance()
        if best is None or spread < least:
            best, least = counts, spread
    return best


class _Flow:
    """The program for some pairs, beside evaluations that are there already."""

    def __init__(self, questions: Questions, pairs: Indices, have: Counts, n: int) -> None:
        item, who, own = questions.about[:, 0], questions.evaluator, questions.partial
        i, e = len(questions.options), len(questions.evaluators)
        loads, often = _sums(who, have, e), _sums(who[pairs], np.ones_like(pairs), e)
        room = np.minimum(np.maximum(questions.workload - loads, 0), often)
        target = _wanted(questions, own, _filled(loads, room, n))
        self._rows: list[Indices] = []
        self._columns: list[Indices] = []
        self._signs: list[Floats] = []
        self._costs: list[Floats] = []
        self._width, self._height, self._pairs = len(pairs), 0, len(pairs)
        self._n = min(n, int(room.sum()))
        anybody = np.full(i, len(pairs))
        self._sum_by(item[pairs], anybody, _ITEM, _sums(item, have, i))
        self._sum_by(who[pairs], room, _LOAD, loads)
        mine = own[pairs]
        if mine.any():
            before = _sums(who, np.where(own, have, 0), e)
            self._sum_by(np.where(mine, who[pairs], -1), room, _OWN, before + 0.5 - target)
            self._sum_by(np.where(mine, item[pairs], -1), anybody, _OWN_ITEM, np.zeros(i))

    def _sum_by(self, group: Indices, room: Counts, weight: float, start: Floats | Counts) -> None:
        """Add the sum of each group of pairs, whose units cost more and more; −1 is no group."""
        order = np.argsort(group, kind="stable")
        order = order[group[order] >= 0]
        names, firsts, sizes = np.unique(group[order], return_index=True, return_counts=True)
        for g, first, size in zip(names.tolist(), firsts.tolist(), sizes.tolist(), strict=True):
            units = min(size, int(room[g]))
            self._columns += [order[first : first + size], self._width + np.arange(units)]
            self._signs += [np.ones(size), -np.ones(units)]
            self._rows.append(np.full(size + units, self._height))
            self._costs.append(weight * (start[g] + np.arange(units)))
            self._width, self._height = self._width + units, self._height + 1

    def drawn(self, rng: np.random.Generator) -> Counts:
        """Return (pairs,) which are asked: of all that are as even, some by lot."""
        from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

        n = self._pairs
        rows = np.concatenate([*self._rows, np.full(n, self._height)])
        columns = np.concatenate([*self._columns, np.arange(n)])
        signs = np.concatenate([*self._signs, np.ones(n)])
        shape = (self._height + 1, self._width)
        A: Any = sparse.csr_array(
            (signs, (rows, columns)), shape=shape
        )  # stubs know no sparse ones
        found = linprog(
            np.concatenate([_LOT * rng.random(n), *self._costs]),
            A_eq=A,
            b_eq=np.append(np.zeros(self._height), self._n),
            bounds=(0.0, 1.0),
            method="highs-ds",
        )
        assert found.x is not None, found.message  # a flow of so many there is
        return np.asarray(np.round(found.x[:n]), dtype=np.int64)


def _wanted(questions: Questions, own: NDArray[np.bool_], loads: Floats) -> Floats:
    """Return (e,) how many of the own group evaluators with these loads are to have."""
    may, e = (questions.capacity > 0).astype(np.int64), len(loads)
    there = np.maximum(_sums(questions.evaluator, may, e), 1)
    return np.asarray(_sums(questions.evaluator, may * own, e) / there * loads)


def _filled(loads: Counts, room: Counts, n: int) -> Floats:
    """Return (e,) loads with n more, as equal as there is room."""
    low, high = 0.0, float((loads + room).max(initial=0))
    for _ in range(60):
        level = 0.5 * (low + high)
        more = np.clip(level - loads, 0.0, room).sum()
        low, high = (level, high) if more < n else (low, level)
    return np.asarray(loads + np.clip(high - loads, 0.0, room))


def _sums(group: Indices, counts: Counts, n: int) -> Counts:
    there = group >= 0
    return np.bincount(group[there], counts[there], n).astype(np.int64)


def _range(counts: Counts) -> str:
    low, high = int(counts.min()), int(counts.max())
    return (
        f"{low}" if low == high else f"{low} or {high}" if high == low + 1 else f"{low} to {high}"
    )
