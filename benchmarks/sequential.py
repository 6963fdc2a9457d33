"""How fast policies that decide step by step are, in units of a loop that does nothing else.

The yardstick is a bare compiled loop, measured in the same run on the same options: Sherman and
Morrison's update, one normal number, and one pass that follows the indices of all options. The
policies run as in a simulation, with the noise of each option from its own stream, a square root
that stays positive, the width β_t, and the regret counted. One thread.

    steps       decisions per second with `switching=0`, one evaluation each
    ratio       time per step, in units of the bare loop
    evaluations evaluations per second with the policy's own switching, over the longer horizon
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from Cython.Build import cythonize
from rich.console import Console
from rich.table import Table
from setuptools import Distribution, Extension

import evenhand as eh
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.rivals.ridge import feature_coordinates
from evenhand.research.simulation._loop import Regret, advance
from evenhand.research.simulation.experiment import policy_for

NAMES = (
    "oful",
    "oful-debiased",
    "oracle",
    "thompson-sampling",
    "ids",
    "ids-directed",
)
TARGETS = {"oful": "≤ 2", "ids": "≥ 10⁴/s", "ids-directed": "≥ 10⁴/s"}


def problem(k: int, d: int) -> BiasedLinearBandit:
    """Unit vectors in two groups, the best of them in the disfavoured one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((k, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gamma = rng.standard_normal(d)
    gamma /= np.linalg.norm(gamma)
    return BiasedLinearBandit(eh.ActionSet(x, np.where(x @ gamma > 0.1, -1, 1)), gamma, 0.25)


def built() -> Callable[..., Any]:
    """Compile the bare loop as setup.py compiles the policies, and return it."""
    flags = ["math-errno", "trapping-math", "signed-zeros"]
    kernel = Extension(
        "bare",
        [str(Path(__file__).with_name("bare.pyx"))],
        include_dirs=[*eh.__path__, np.get_include()],
        libraries=["npyrandom"],
        library_dirs=[str(Path(np.get_include(), "..", "..", "random", "lib").resolve())],
        extra_compile_args=["-O3", *(f"-fno-{flag}" for flag in flags), "-fassociative-math"],
    )
    unchecked = {"boundscheck": False, "wraparound": False, "cdivision": True}
    with tempfile.TemporaryDirectory() as folder:
        kernels = cythonize(
            kernel,
            build_dir=folder,
            quiet=True,
            language_level=3,
            compiler_directives=unchecked | {"initializedcheck": False},
        )
        build = Distribution({"ext_modules": kernels}).get_command_obj("build_ext")
        build.build_lib = build.build_temp = folder
        build.ensure_finalized()
        build.run()
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("bare").bare_steps  # type: ignore[no-any-return]
        finally:
            sys.path.remove(folder)


def fastest(run: Callable[[], float], repeats: int) -> float:
    return min(run() for _ in range(repeats))


def bare(bare_steps: Callable[..., Any], truth: BiasedLinearBandit, steps: int) -> float:
    """Return the seconds that a bare step takes."""
    rows = feature_coordinates(truth.actions)
    start = time.perf_counter()
    bare_steps(rows, truth.evaluations, steps, 5.0, seed=1)
    return (time.perf_counter() - start) / steps


def compiled(name: str, truth: BiasedLinearBandit, horizon: int, **options: float) -> float:
    """Return the seconds that an evaluation takes."""
    policy = policy_for(truth, name, horizon, seed=1, **options)
    streams = SimulatedEvaluations(truth, 1).streams
    regret = Regret(truth.gaps, [horizon])
    stepper = policy._compiled
    assert stepper is not None
    start = time.perf_counter()
    advance(stepper, streams, regret, horizon)
    assert regret.spent == horizon
    return (time.perf_counter() - start) / horizon


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--horizon", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments = parser.parse_args(argv)
    if arguments.tiny:
        arguments.steps, arguments.horizon, arguments.repeats = 50, 1000, 1
    console, bare_steps = Console(), built()
    for k, d in ((100, 10), (10_000, 10)):
        truth = problem(k, d)
        steps = arguments.steps if k == 100 else max(1, arguments.steps // 50)
        yardstick = fastest(lambda t=truth, n=steps: bare(bare_steps, t, n), arguments.repeats)
        table = Table(title=f"{k} options, {d} features; bare loop: {1 / yardstick:,.0f} steps/s")
        for column in ("policy", "steps/s", "ratio", "target", "evaluations/s"):
            table.add_column(column, justify="left" if column == "policy" else "right")
        for name in (name for name in NAMES if name in eh.registered_policies()):
            few = max(1, steps // (30 if name.startswith("ids") else 1))
            step = fastest(
                lambda n=name, t=truth, h=few: compiled(n, t, h, switching=0.0), arguments.repeats
            )
            long = compiled(name, truth, arguments.horizon)
            target = TARGETS.get(name, "") if k == 100 else ""
            table.add_row(
                name, f"{1 / step:,.0f}", f"{step / yardstick:.2f}", target, f"{1 / long:,.0f}"
            )
        console.print(table)


if __name__ == "__main__":
    main()
