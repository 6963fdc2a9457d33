"""Small dull tables, and what exact arithmetic says of them.

A table is what a user has: whole numbers, percentages that add to 100, categories, money in two
currencies. It reaches `evenhand` as the user would send it (as arrays, or as a data frame whose
columns are standardised), and exact arithmetic sees the user's own numbers. Everything asked about
is the same in both: κ_*, α and κ̃ do not change when columns are shifted and scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import evenhand as eh
from reference import Floats, bias_points, elfving_value, exact_rank, in_range, worst_case_regret

FEW = 6
"""Up to this many options every pair is compared exactly for α, and κ̃ by exact programs."""


@dataclass(frozen=True)
class Table:
    """A table as the user has it and as `evenhand` gets it.

    `numbers` are the user's columns (with the constant, where an intercept is asked for), and
    `counts` the same as whole numbers, in units such as tenths and cents: exact where decimals are
    not. `names` are what columns are called in a printed combination. `hard` tables may be refused
    with an `AccuracyError`, but not answered wrongly.
    """

    kind: str
    numbers: Floats
    counts: Floats
    names: tuple[str, ...]
    groups: tuple[int, ...]
    actions: eh.ActionSet
    hard: bool = False

    def __str__(self) -> str:
        rows = [
            f"  {row.tolist()} {z:+d}" for row, z in zip(self.numbers, self.groups, strict=True)
        ]
        return "\n".join([f"{self.kind}, columns {', '.join(self.names)}:", *rows])


def small_tables(seed: int) -> Iterator[Table]:
    """Yield tables without end, the kinds in turn; the same for the same seed."""
    rng = np.random.default_rng(seed)
    while True:
        for kind in KINDS:
            k = int(rng.integers(2, 13))
            groups = rng.choice([-1, 1], k)
            groups[:2] = [1, -1]
            yield kind(rng, k, tuple(int(z) for z in groups))


def percentages(rng: np.random.Generator, k: int, groups: tuple[int, ...]) -> Table:
    """Percentages that add to 100, in steps of 10, of 1 or of 0.1."""
    parts = int(rng.integers(2, 6))
    whole = int(rng.choice([10, 100, 1000]))
    counts = rng.multinomial(whole, np.full(parts, 1.0 / parts), size=k)
    return _as_user_sends(rng, "percentages", counts, 100 / whole, groups)


def whole_numbers(rng: np.random.Generator, k: int, groups: tuple[int, ...]) -> Table:
    """Small whole numbers, some of low rank, some with the groups drawn apart."""
    d = int(rng.integers(1, 6))
    most = int(rng.choice([1, 2, 9]))
    numbers = rng.integers(-most, most + 1, (k, d))
    if rng.random() < 0.3:
        r = int(rng.integers(1, d + 1))
        numbers = rng.integers(-2, 3, (k, r)) @ rng.integers(-2, 3, (r, d))
    numbers[:, 0] += int(rng.choice([0, 0, 3])) * np.array(groups)
    return _as_user_sends(rng, "whole numbers", numbers, 1.0, groups)


def categories(rng: np.random.Generator, k: int, groups: tuple[int, ...]) -> Table:
    """Every category of one or two columns as zeros and ones, with or without an intercept."""
    blocks = []
    for _ in range(int(rng.integers(1, 3))):
        n = int(rng.integers(2, 5))
        blocks.append(np.eye(n)[rng.integers(0, n, k)])
    if rng.random() < 0.5:
        blocks.append(np.ones((k, 1)))
    if rng.random() < 0.5:
        blocks.append(rng.integers(0, 10, (k, 1)).astype(float))
    return _as_arrays("categories", np.hstack(blocks), 1.0, groups)


def years(rng: np.random.Generator, k: int, groups: tuple[int, ...]) -> Table:
    """A year of birth, an age that follows from it, and a score."""
    born = rng.integers(1940, 2010, k)
    numbers = np.column_stack([born, 2026 - born, rng.integers(0, 100, k)])
    return _as_user_sends(rng, "years", numbers, np.array([1.0, 1.0, 0.1]), groups)


def currencies(rng: np.random.Generator, k: int, groups: tuple[int, ...]) -> Table:
    """Incomes in euros and dollars to the cent, maybe one far richer, maybe percentages beside."""
    cents = rng.integers(10**5, 10**7, k)
    if rng.random() < 0.5:
        cents[int(rng.integers(k))] *= 10 ** int(rng.integers(3, 8))
    columns, units = [cents, cents * 10837 // 10000], [0.01, 0.01]
    if rng.random() < 0.5:
        columns += list(rng.multinomial(100, np.full(3, 1 / 3), size=k).T)
        units += [1.0] * 3
    return _as_user_sends(
        rng, "currencies", np.column_stack(columns), np.array(units), groups, hard=True
    )


KINDS: tuple[Callable[[np.random.Generator, int, tuple[int, ...]], Table], ...] = (
    percentages,
    whole_numbers,
    categories,
    years,
    currencies,
)


def _as_arrays(
    kind: str,
    counts: NDArray[np.int64],
    unit: float | Floats,
    groups: tuple[int, ...],
    hard: bool = False,
) -> Table:
    actions = eh.ActionSet(counts * unit, groups)
    exact = counts.astype(float)
    names = actions.feature_names
    return Table(f"{kind}, arrays", counts * unit, exact, names, groups, actions, hard)


def _as_user_sends(
    rng: np.random.Generator,
    kind: str,
    counts: NDArray[np.int64],
    unit: float | Floats,
    groups: tuple[int, ...],
    hard: bool = False,
) -> Table:
    """As arrays, or as a frame with or without intercept and standardisation."""
    way = int(rng.integers(4))
    varies = np.ptp(counts, axis=0) > 0
    names = [f"c{j}" for j in np.flatnonzero(varies)]
    frame = pd.DataFrame((counts * unit)[:, varies], columns=names).assign(side=groups)
    intercept = way != 3
    try:
        if way == 0 or not varies.any():
            return _as_arrays(kind, counts, unit, groups, hard)
        actions = eh.ActionSet.from_table(
            frame, group="side", positive=1, intercept=intercept, standardize=way == 1
        )
    except eh.InputError:  # a column that tells the group by itself is refused when it is read
        return _as_arrays(kind, counts, unit, groups, hard)
    numbers, exact = (counts * unit)[:, varies], counts[:, varies].astype(float)
    if intercept:
        one = np.ones((len(counts), 1))
        numbers, exact = np.hstack([numbers, one]), np.hstack([exact, one])
        names.append("(constant)")
    told = "standardised" if way == 1 else "with intercept" if intercept else "as they are"
    return Table(f"{kind}, {told}", numbers, exact, tuple(names), groups, actions, hard)


def check(table: Table) -> list[str]:
    """Return everything that `evenhand` says wrongly about the bias in this table."""
    A, e = bias_points(table.counts, table.groups)
    possible = in_range(A, e)
    try:
        geometry = eh.bias_geometry(table.actions)
    except eh.NotIdentifiableError as error:
        if possible:
            return [f"says it cannot be estimated, but κ* = {elfving_value(A, e).kappa:.9g}"]
        return _false_combination(table, error)
    except eh.errors.AccuracyError as error:
        return _unhelpful(table, error)
    if not possible:
        return [f"says κ* = {geometry.kappa_star:.9g}, but it cannot be estimated"]
    complaints = []
    exact = elfving_value(A, e).kappa
    if not _close(geometry.kappa_star, exact):
        complaints.append(f"κ* is {geometry.kappa_star:.12g}, but should be {exact:.12g}")
    questions = (
        lambda: _alpha(table, geometry, exact),
        lambda: _minimax(table, geometry, exact),
        lambda: _gaps(table, A, e),
        lambda: _every_row(table, A),
    )
    for question in questions:
        try:
            complaints += question()
        except eh.errors.AccuracyError as error:
            complaints += _unhelpful(table, error)
        except eh.NotIdentifiableError as error:
            complaints.append(f"κ* is finite, but: {error}")
    return complaints


def check_g(table: Table) -> list[str]:
    """Return what is wrong with the G-optimal design of this table's points."""
    try:
        design = eh.g_optimal_design(table.actions.points)
    except eh.errors.AccuracyError as error:
        return _unhelpful(table, error)
    rank = exact_rank(bias_points(table.counts, table.groups)[0])
    if round(design.certificate.bound) != rank:
        return [f"the G-optimal design is for rank {design.certificate.bound}, not {rank}"]
    return [
        f"the G-optimal design: {reason}" for reason in design.verify(table.actions.points).reasons
    ]


def _close(found: float, exact: float) -> bool:
    return abs(found - exact) <= 1e-6 * exact


def _unhelpful(table: Table, error: eh.errors.AccuracyError) -> list[str]:
    """A refusal is right only for a hard table, and if it names a column of the user's."""
    named = ["columns 0", "columns 1", "columns 2", *table.actions.feature_names]
    if table.hard and any(name in str(error) for name in named):
        return []
    return [f"refuses: {error}"]


def _false_combination(table: Table, error: eh.NotIdentifiableError) -> list[str]:
    """The printed combination has to equal the group on every row of the user's table."""
    if error.confounding is None:
        return [f"gives no reason: {error}"]
    terms = error.confounding.combination
    strangers = set(terms) - set(table.names)
    if strangers:
        return [f"names columns that are not there: {strangers}"]
    beta = np.array([terms.get(name, 0.0) for name in table.names])
    off = np.abs(table.numbers @ beta - table.groups)
    allowed = 1e-9 * (1.0 + np.abs(table.numbers) @ np.abs(beta))
    if (off > allowed).any():
        x = int(np.argmax(off))
        return [f"says {terms}, which is off by {off[x]:.2g} on row {x}"]
    return []


def _alpha(table: Table, geometry: eh.geometry.BiasGeometry, exact: float) -> list[str]:
    """α by one exact program per pair where they are few; else between its bounds."""
    alpha, root = geometry.alpha(), math.sqrt(exact)
    A, _ = bias_points(table.counts, table.groups)
    if len(A) <= FEW:
        H = A.copy()
        H[:, -1] = 0.0
        pairs = [H[x] - H[y] for x, y in combinations(range(len(H)), 2)]
        wanted = max(elfving_value(A, h).kappa if h.any() else 0.0 for h in pairs)
        return [] if _close(alpha, wanted) else [f"α is {alpha:.12g}, but should be {wanted:.12g}"]
    if not 2.0 * (root - 1.0) ** 2 * (1 - 1e-6) <= alpha <= 4.0 * (1.0 + root) ** 2 * (1 + 1e-6):
        return [f"α = {alpha:.9g} is out of bounds for κ* = {exact:.9g}"]
    return []


def _minimax(table: Table, geometry: eh.geometry.BiasGeometry, exact: float) -> list[str]:
    """κ̃ within a factor two of κ_*, its certificate verified, its worst case exact for few."""
    design = eh.minimax_design(table.actions)
    complaints = []
    if not table.hard:  # the linear programs of the verification are not made for those
        complaints += [f"κ̃: {reason}" for reason in design.verify(table.actions.points).reasons]
    if not _close(geometry.kappa_minimax(), design.value):
        complaints.append(f"κ̃ is {geometry.kappa_minimax():.9g} and {design.value:.9g}")
    if exact_rank(table.counts) >= 2 and not (
        exact / 2 * (1 - 1e-6) <= design.value <= 2 * exact * (1 + 1e-6)
    ):
        complaints.append(f"κ̃ = {design.value:.9g} is out of bounds for κ* = {exact:.9g}")
    if (table.hard or len(table.counts) <= FEW) and design.value > 0:
        worst = worst_case_regret(table.counts, design.mass * design.weights)
        if not _close(design.value, worst):
            complaints.append(f"κ̃ is {design.value:.12g}, but its design costs {worst:.12g}")
    return complaints


def _gaps(table: Table, A: Floats, e: Floats) -> list[str]:
    """κ(Δ) where some options cost nothing."""
    gaps = np.arange(len(A)) % 4 / 4.0
    found, exact = eh.kappa(table.actions, gaps), elfving_value(A, e, gaps).kappa
    if not abs(found - exact) <= 1e-6 * exact + 1e-12:
        return [f"κ(Δ) is {found:.12g}, but should be {exact:.12g}"]
    return []


def _every_row(table: Table, A: Floats) -> list[str]:
    """Every option's own evaluation can be estimated, at no more than one evaluation of it."""
    complaints = []
    points = table.actions.points
    for x, point in enumerate(points):
        if not A[x].any():
            continue
        found = eh.c_optimal_design(points, point).value
        exact = elfving_value(A, [Fraction(float(v)) for v in A[x]]).kappa
        if not _close(found, exact):
            complaints.append(f"row {x} costs {found:.12g}, but should cost {exact:.12g}")
    return complaints
