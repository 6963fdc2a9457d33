"""Designs over points that are read by blocks: the same optimum as in memory, in a few passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import evenhand as eh
from evenhand.designs import blockwise
from evenhand.designs.blockwise import Kept, highest_rows
from evenhand.designs.elfving import PricedProblem
from evenhand.designs.g_optimal import Ellipsoid, LeverageProblem
from evenhand.designs.screen import factor
from evenhand.numerics.row_space import row_space
from evenhand.tables import blocks as reading
from reference import Floats
from rotation import nightly

KINDS = (
    "Gaussian",
    "heavy-tailed",
    "sphere",
    "near-sphere",
    "lattice",
    "signs",
    "deficient",
    "badly scaled",
    "duplicates",
    "small first",
    "near-sphere, sorted",
    "sorted dummies",
    "intercept",
)
SOURCES = ("memory map", "npy", "Parquet", "Parquet folder", "dataset", "Dask")


def cloud(kind: str, k: int, m: int, seed: int) -> Floats:
    rng = np.random.default_rng([seed, k, m])
    X = rng.standard_normal((k, m))
    if kind == "heavy-tailed":
        X = rng.standard_t(1.5, (k, m))
    if kind in ("sphere", "near-sphere", "near-sphere, sorted"):
        X /= np.linalg.norm(X, axis=1)[:, None]
    if kind == "near-sphere":
        X *= 1.0 + 1e-4 * rng.standard_normal((k, 1))
    if kind == "near-sphere, sorted":
        X *= 1.0 + 1e-5 * np.sort(rng.standard_normal((k, 1)), axis=0)
    if kind == "lattice":
        X = rng.integers(-2, 3, (k, m)).astype(np.float64)
    if kind == "signs":
        X = rng.choice([-1.0, 1.0], (k, m))
    if kind == "deficient":
        X[:, -2:] = X[:, :2] @ rng.standard_normal((2, 2))
    if kind == "badly scaled":
        X *= 10.0 ** np.linspace(-8, 8, m)
    if kind == "duplicates":
        X = X[rng.integers(0, k // 50, k)]
    if kind == "small first":
        X = X[np.argsort(np.linalg.norm(X, axis=1))]
    if kind == "sorted dummies":
        X = (np.sort(rng.integers(0, m, k))[:, None] == np.arange(m)).astype(np.float64)
    if kind == "intercept":
        X[:, 0] = 1.0
    return np.ascontiguousarray(X)


def stored(source: str, A: Floats, folder: Path) -> Any:
    """The points as somebody has them who cannot hold them in memory."""
    if source in ("memory map", "npy"):
        np.save(folder / "points.npy", A)
        path = folder / "points.npy"
        return path if source == "npy" else np.load(path, mmap_mode="r")
    if source == "Dask":
        return da.from_array(A, chunks=(len(A) // 7, A.shape[1] - 1))
    table = pa.table({f"x{j}": column for j, column in enumerate(A.T)})
    if source == "Parquet":
        pq.write_table(table, folder / "points.parquet", row_group_size=len(A) // 9)
        return str(folder / "points.parquet")
    for part in range(3):
        rows = table.slice(part * (len(A) // 3), len(A) // 3 if part < 2 else None)
        pq.write_table(rows, folder / f"{part}.parquet", row_group_size=len(A) // 5)
    return folder if source == "Parquet folder" else ds.dataset(folder)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 300 rows of 6, and few of them kept: as hard as millions are."""
    monkeypatch.setattr(reading, "BYTES", 300 * 6 * 8)
    monkeypatch.setattr(blockwise, "POOL", 400)
    monkeypatch.setattr(blockwise, "_LEAST", 8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, *nightly(range(1, 10))])
def test_g_optimal_designs_are_those_of_memory(kind: str, seed: int, tmp_path: Path) -> None:
    A = cloud(kind, 20_000, 6, seed)
    source = SOURCES[(KINDS.index(kind) + seed) % len(SOURCES)]
    points = stored(source, A, tmp_path)
    design = eh.g_optimal_design(points)
    assert design.value == pytest.approx(eh.g_optimal_design(A).value, rel=2e-6)
    assert design.certificate.gap <= 1e-6
    assert design.verify(A)
    assert design.verify(points)
    assert 1.0 <= design.passes <= 6.0
    rank = round(design.certificate.bound)
    assert len(design.support) <= rank * (rank + 1) // 2


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("seed", [0, *nightly(range(1, 10))])
def test_c_optimal_designs_are_those_of_memory(
    kind: str, priced: bool, seed: int, tmp_path: Path
) -> None:
    A = cloud(kind, 20_000, 6, seed)
    rng = np.random.default_rng(seed)
    direction = np.array([1.0, -2.1, 0.3]) @ A[rng.integers(0, len(A), 3)] + 1.7 * A[-1]
    costs = rng.uniform(0.1, 3.0, len(A)) if priced else None
    source = SOURCES[(KINDS.index(kind) + seed + 3) % len(SOURCES)]
    points = stored(source, A, tmp_path)
    design = eh.c_optimal_design(points, direction, costs)
    assert design.value == pytest.approx(eh.c_optimal_design(A, direction, costs).value, rel=1e-8)
    assert design.certificate.gap <= 1e-8
    assert design.verify(A)
    assert design.verify(points)
    assert 1.0 <= design.passes <= 6.0


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("source", SOURCES)
def test_options_of_cost_zero_are_free_wherever_they_are(source: str, tmp_path: Path) -> None:
    A = cloud("Gaussian", 6_000, 4, 3)
    A[[17, 2_345, 5_999], 2:] = 0.0  # three in a plane, two of which span it
    costs = np.random.default_rng(1).uniform(0.5, 2.0, len(A))
    costs[[17, 2_345, 5_999]] = 0.0
    points = stored(source, A, tmp_path)
    for direction in ([0.0, 0.0, 1.0, -2.0], [1.0, 1.0, 0.0, 1.0], [1.0, 2.0, 0.0, 0.0]):
        design = eh.c_optimal_design(points, direction, costs)
        expected = eh.c_optimal_design(A, direction, costs)
        assert design.value == pytest.approx(expected.value, rel=1e-8, abs=1e-12)
        assert design.verify(points)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("source", SOURCES)
def test_rows_keep_their_numbers(source: str, tmp_path: Path) -> None:
    """Elfving on the line: the farthest point alone; G in the plane: the two far ones."""
    A = np.full((5_000, 2), 1e-3)
    A[:, 1] *= np.sin(np.arange(5_000.0))
    A[[4_321, 777]] = [[1.0, 0.0], [0.0, -1.0]]
    points = stored(source, A, tmp_path)
    assert eh.g_optimal_design(points).support.tolist() == [777, 4_321]
    design = eh.c_optimal_design(points, [0.0, 1.0])
    assert design.support.tolist() == [777]
    assert design.value == pytest.approx(1.0, rel=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_a_block_is_read_again_only_where_it_may_matter(tmp_path: Path) -> None:
    """What heavy tails leave inside the ellipsoid is never looked at twice."""
    A = cloud("heavy-tailed", 30_000, 6, 1)
    design = eh.g_optimal_design(stored("memory map", A, tmp_path))
    assert design.passes < 1.5


def test_the_highest_rows_leave_their_copies_and_know_the_next() -> None:
    rng = np.random.default_rng(4)
    distinct = rng.standard_normal((400, 3))
    which = rng.integers(0, 400, 9_000)
    rows = distinct[which] * rng.choice([-1.0, 1.0], (9_000, 1))
    level = np.linalg.norm(rows, axis=1) * rng.uniform(0.9, 1.0, 9_000)  # copies of other costs
    best = np.array([level[which == x].max(initial=0.0) for x in range(400)])
    chosen, left = highest_rows(level, rows, 25)
    order = np.argsort(-best)
    assert sorted(which[chosen]) == sorted(order[:25])
    assert sorted(level[chosen]) == pytest.approx(np.sort(best)[-25:], rel=0)
    assert left == best[order[25]]


def test_the_bound_of_leverages_holds_and_is_attained() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((40, 3))
    space = row_space(A, np.arange(40))
    old, new = (
        Ellipsoid(Kept(np.arange(40), A), w, factor(space, A, w))
        for w in rng.dirichlet(np.ones(40), 2)
    )
    problem = LeverageProblem(space, 1e-6)
    before, after = (problem.levels(e, slice(0, 40), A) for e in (old, new))
    change = problem.change(old, new)
    assert (after <= problem.bound(change, 1.0, 0.0) * before).all()
    _, _, right = np.linalg.svd(new.factor.W @ old.factor.U)
    worst = np.ascontiguousarray((old.factor.U @ right[0])[None])
    (level,) = problem.levels(old, slice(0, 1), worst)
    (now,) = problem.levels(new, slice(0, 1), worst)
    assert now == pytest.approx(problem.bound(change, level, 0.0), rel=1e-9)


@pytest.mark.parametrize("priced", [False, True])
def test_the_bound_of_products_holds_and_knows_what_was_left(priced: bool) -> None:
    rng = np.random.default_rng(6)
    A = rng.standard_normal((60, 3))
    s = rng.uniform(0.5, 2.0, 60) if priced else None
    pool = Kept(np.arange(60), A)
    problem = PricedProblem(rng.standard_normal(3), s, pool, row_space(A, np.arange(3)))
    some = Kept(np.arange(20), A[:20])
    old, new = problem.solve(some), problem.solve(pool)
    before, after = (problem.levels(e, slice(0, 60), A) for e in (old, new))
    reach = problem.reach(slice(0, 60), A)
    change = problem.change(old, new)
    assert after.max() <= problem.bound(change, before.max(), reach)
    assert problem.bound(problem.change(old, old), 0.7, reach) == 0.7
    for x in range(60):  # row by row, where it is tighter
        own = problem.reach(slice(x, x + 1), A[x : x + 1])
        assert after[x] <= problem.bound(change, before[x], own)


def test_in_memory_nothing_is_said_of_passes() -> None:
    assert eh.g_optimal_design(np.eye(3)).passes is None


# ------------------------------------------------------------------ errors


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ["Gaussian", "deficient"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_named_by_its_row(
    source: str, kind: str, wrong: float, tmp_path: Path
) -> None:
    A = cloud(kind, 4_000, 6, 0)
    A[3_456, 4] = wrong
    points = stored(source, A, tmp_path)
    for solve in (eh.g_optimal_design, lambda p: eh.c_optimal_design(p, np.ones(6))):
        with pytest.raises(eh.InputError, match=r"points\[3456, 4\].* is (nan|inf)"):
            solve(points)


def test_a_missing_number_is_named_by_its_row_and_column(tmp_path: Path) -> None:
    table = pa.table({"height": [1.0, 2.0, 3.0], "age": pa.array([1, None, 3])})
    pq.write_table(table, tmp_path / "points.parquet")
    with pytest.raises(eh.InputError, match=r"points\[1, 1\] \('age'\) is nan"):
        eh.g_optimal_design(tmp_path / "points.parquet")


def test_columns_have_to_be_numbers(tmp_path: Path) -> None:
    table = pa.table({"name": ["Ann", "Bo"], "age": [1, 2]})
    pq.write_table(table, tmp_path / "points.parquet")
    with pytest.raises(eh.InputError, match="column 'name' of points is of type string"):
        eh.g_optimal_design(tmp_path / "points.parquet")
    some = ds.dataset(tmp_path / "points.parquet").replace_schema(pa.schema([("age", pa.int64())]))
    assert eh.g_optimal_design(some).support.tolist() == [1]
    pq.write_table(table.select(["name"]), tmp_path / "names.parquet")
    with pytest.raises(eh.InputError, match="no numeric column among 'name'"):
        eh.g_optimal_design(tmp_path / "names.parquet")


def test_points_have_to_be_a_matrix(tmp_path: Path) -> None:
    for shape in [(4,), (2, 2, 2)]:
        np.save(tmp_path / "points.npy", np.ones(shape))
        for points in (tmp_path / "points.npy", da.ones(shape)):
            with pytest.raises(eh.InputError, match="two dimensions"):
                eh.g_optimal_design(points)
    np.save(tmp_path / "points.npy", np.ones((0, 3)))
    with pytest.raises(eh.InputError, match="at least one option"):
        eh.g_optimal_design(tmp_path / "points.npy")
    np.save(tmp_path / "points.npy", np.ones((4, 3)))
    with pytest.raises(eh.InputError, match=r"direction must have shape \(3,\)"):
        eh.c_optimal_design(tmp_path / "points.npy", [1.0, 2.0])
    unknown = da.ones((10, 3), chunks=5)
    with pytest.raises(eh.InputError, match="compute_chunk_sizes"):
        eh.g_optimal_design(unknown[unknown[:, 0] > 0.0])


def test_a_path_has_to_lead_to_points(tmp_path: Path) -> None:
    with pytest.raises(eh.InputError, match="there is no file"):
        eh.g_optimal_design(tmp_path / "points.parquet")
    for name in ("points.parquet", "points.npy"):
        (tmp_path / name).write_text("a, b\n1, 2\n")
        with pytest.raises(eh.InputError, match="cannot be read as points"):
            eh.g_optimal_design(tmp_path / name)


def test_zero_points_and_directions_out_of_reach_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", np.zeros((50, 3)))
    with pytest.raises(eh.InputError, match="all points are zero"):
        eh.g_optimal_design(tmp_path / "points.npy")
    np.save(tmp_path / "points.npy", np.ones((50, 3)))
    with pytest.raises(eh.NotIdentifiableError):
        eh.c_optimal_design(tmp_path / "points.npy", [1.0, 0.0, 0.0])


def test_a_private_map_keeps_what_was_changed_in_it(tmp_path: Path) -> None:
    np.save(tmp_path / "points.npy", np.eye(3))
    points = np.load(tmp_path / "points.npy", mmap_mode="c")
    points[2, 2] = 2.0
    eh.g_optimal_design(points)
    assert points[2, 2] == 2.0
