"""How fast the design solvers are, in units of one pass over the same data.

Absolute times say more about the machine than about the program. So every time is divided by
something measured in the same run on the same data, on one thread:

    pass        one fused leverage pass, a_xᵀV⁻¹a_x for all x, by the package's own kernel
    numpy pass  the same in blocks with NumPy and BLAS, what one would write by hand
    inv         one numpy.linalg.inv of an m × m matrix, for tiny problems

Beside them: SciPy's HiGHS on the same linear programs and CVXPY with Clarabel on the same
log-determinant problems, on the sizes they can do. `--quick` leaves those out.
"""

from __future__ import annotations

import argparse
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

import evenhand as eh
from evenhand.numerics import leverages

Floats = NDArray[np.float64]

CLOUDS = ("Gaussian", "sphere", "0.99-equicorrelated")
DEGENERATE = ("Gaussian + group", "sphere + group", "±1", "one-hot + group", "near-sphere + group")
LARGE = ((1_000_000, 21), (100_000, 31))
TINY = (200, 6)
SMALL = ((3_000, 5),)  # instead of the large ones, just to see that it runs
TARGETS = {(1_000_000, 21): (3, 2), (100_000, 31): (6, 4), (200, 6): (100, 40)}


def cloud(kind: str, k: int, m: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((k, m))
    if kind == "sphere":
        X /= np.linalg.norm(X, axis=1)[:, None]
    if kind == "0.99-equicorrelated":
        X = 0.1 * X + np.sqrt(0.99) * rng.standard_normal((k, 1))
    return X


def ordinary(kind: str, k: int, m: int, seed: int = 0) -> Floats:
    """Points as tables have them: dummies, signs, a ±1 group column; moments are dependent."""
    rng = np.random.default_rng(seed + 1)
    group = rng.choice([-1.0, 1.0], (k, 1))
    if kind == "±1":
        return rng.choice([-1.0, 1.0], (k, m))
    if kind == "one-hot + group":  # attributes of up to eleven levels, one of them the baseline
        widths = [10] * ((m - 1) // 10) + [(m - 1) % 10] * ((m - 1) % 10 > 0)
        dummies = [rng.integers(0, c + 1, (k, 1)) == np.arange(c) for c in widths]
        return np.hstack([*dummies, group]).astype(np.float64)
    X = cloud("Gaussian" if kind == "Gaussian + group" else "sphere", k, m - 1, seed)
    if kind == "near-sphere + group":
        X *= 1.0 + 1e-5 * rng.standard_normal((k, 1))
    return np.hstack([X, group])


def separated(kind: str, k: int, m: int) -> tuple[Floats, Floats]:
    """Two groups half a standard deviation off a random hyperplane, and gaps of a random γ."""
    X = cloud(kind, k, m - 1)
    rng = np.random.default_rng(1)
    normal = rng.standard_normal(m - 1)
    normal /= np.linalg.norm(normal)
    along = X @ normal
    z = np.where(along > 0, 1.0, -1.0)
    X += (0.5 * along.std() * z)[:, None] * normal
    values = X @ rng.standard_normal(m - 1)
    return np.column_stack([X, z]), values.max() - values


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of several runs: the one least disturbed by the rest of the machine."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_pass(A: Floats, W: Floats) -> Floats:
    out = np.empty(len(A))
    for start in range(0, len(A), 2048):
        block = A[start : start + 2048] @ W.T
        np.einsum("ij,ij->i", block, block, out=out[start : start + 2048])
    return out


def extra_memory(call: Callable[[], Any], A: Floats) -> float:
    """Return the peak of what a call allocates, as a share of the input."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / A.nbytes


def our_times(console: Console, sizes: Sequence[tuple[int, int]]) -> None:
    for k, m in (*sizes, TINY):
        tiny = (k, m) == TINY
        g_target, c_target = TARGETS.get((k, m), ("none", "none"))
        unit_name = "inv" if tiny else "passes"
        table = Table(
            title=f"{k:,} × {m}: {unit_name} (numpy passes), targets {g_target} and {c_target}"
        )
        for column in ("points", "G-optimal", "bias-optimal", "Δ-optimal", "memory G / c"):
            table.add_column(column, justify="right")
        for kind in CLOUDS:
            A = cloud(kind, k, m)
            B, gaps = separated(kind, k, m)
            e = np.eye(m)[-1]
            calls = {
                "G": lambda A=A: eh.g_optimal_design(A),
                "bias": lambda B=B, e=e: eh.c_optimal_design(B, e),
                "delta": lambda B=B, e=e, gaps=gaps: eh.c_optimal_design(B, e, gaps),
            }
            W = np.linalg.inv(np.linalg.cholesky(A.T @ A / k))
            repeats = 300 if tiny else 7
            times = {name: seconds(call, repeats) for name, call in calls.items()}
            if tiny:
                M = A[:m] + np.eye(m)
                unit = seconds(lambda M=M: np.linalg.inv(M), 3000)
                cells = [f"{t / unit:.0f}" for t in times.values()]
            else:
                unit = seconds(lambda A=A, W=W: leverages(A, W), repeats)
                plain = seconds(lambda A=A, W=W: numpy_pass(A, W), repeats)
                cells = [f"{t / unit:.2f} ({t / plain:.2f})" for t in times.values()]
            memory = [extra_memory(calls[name], A) for name in ("G", "bias")]
            gap = calls["G"]().certificate.gap
            assert gap <= 1e-6, gap
            table.add_row(kind, *cells, f"{memory[0]:.2f} / {memory[1]:.2f}")
        console.print(table)


def ordinary_times(console: Console, sizes: Sequence[tuple[int, int]]) -> None:
    """G-optimal designs where all points are nearly optimal and the weights are not unique."""
    for k, m in sizes:
        table = Table(title=f"{k:,} × {m}: G-optimal on degenerate points")
        for column in ("points", "passes", "support", "gap"):
            table.add_column(column, justify="right")
        for kind in DEGENERATE:
            A = ordinary(kind, k, m)
            W = np.linalg.inv(np.linalg.cholesky(A.T @ A / k))
            time_taken = seconds(lambda A=A: eh.g_optimal_design(A), 3)
            unit = seconds(lambda A=A, W=W: leverages(A, W), 7)
            design = eh.g_optimal_design(A)
            assert design.certificate.gap <= 1e-6, design.certificate.gap
            table.add_row(
                kind,
                f"{time_taken / unit:.1f}",
                str(len(design.support)),
                f"{design.certificate.gap:.0e}",
            )
        console.print(table)


def highs(B: Floats, c: Floats) -> float:
    result = linprog(np.ones(2 * len(B)), A_eq=np.hstack([B.T, -B.T]), b_eq=c, method="highs")
    return float(result.fun) ** 2


def clarabel_d_optimal(A: Floats) -> float:
    w = cp.Variable(len(A), nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(A.T @ cp.diag(w) @ A)), [cp.sum(w) == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    weights = np.maximum(w.value, 0)
    V = A.T @ (A * weights[:, None])
    return float(np.einsum("ij,jk,ik->i", A, np.linalg.inv(V), A).max())


def rivals(console: Console) -> None:
    table = Table(title="How many times longer others take (Gaussian points, separated groups)")
    for column in ("problem", "solver", "times evenhand", "agreement"):
        table.add_column(column, justify="right")
    for k, m in (TINY, (10_000, 11), (100_000, 31)):
        B, _ = separated("Gaussian", k, m)
        e = np.eye(m)[-1]
        ours = seconds(lambda B=B, e=e: eh.c_optimal_design(B, e), 5)
        value = eh.c_optimal_design(B, e).value
        start = time.perf_counter()
        theirs = highs(B, e)
        ratio = (time.perf_counter() - start) / ours
        table.add_row(
            f"bias {k:,} × {m}", "SciPy HiGHS", f"{ratio:,.0f}", f"{abs(theirs / value - 1):.0e}"
        )
    for k, m in (TINY, (1_000, 8)):
        A = cloud("Gaussian", k, m)
        ours = seconds(lambda A=A: eh.g_optimal_design(A), 5)
        clarabel_d_optimal(A)
        start = time.perf_counter()
        reached = clarabel_d_optimal(A)
        ratio = (time.perf_counter() - start) / ours
        table.add_row(
            f"G {k:,} × {m}", "CVXPY + Clarabel", f"{ratio:,.0f}", f"{reached / m - 1:.0e}"
        )
    console.print(table)


def alignment(console: Console) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 10))
    actions = eh.ActionSet(X, np.where(X[:, 0] > 0, 1, -1))
    start = time.perf_counter()
    alpha = eh.bias_geometry(actions).alpha()
    console.print(f"α for k = 500, d = 10: {alpha:.6g} in {time.perf_counter() - start:.2f} s")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave the other solvers out")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    sizes = SMALL if arguments.tiny else LARGE
    console = Console(width=110)
    with threadpool_limits(1):
        our_times(console, sizes)
        ordinary_times(console, sizes)
        if arguments.tiny:
            return
        alignment(console)
        if not arguments.quick:
            rivals(console)


if __name__ == "__main__":
    main()
