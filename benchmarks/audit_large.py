"""The audit of millions of scores: time per score, and memory beside the size of the file.

Options of twenty groups and evaluators of the same, each of whom scores options at random and adds
a point to the own group. The table is written to a temporary file; `eh.audit` reads it in a process
of its own, finds the bias with its interval, and says so. Nobody else should be busy meanwhile.

    seconds     per million scores, reading included, loading of modules not; and their ratio to
                those of the first size
    reading     share of the seconds that reading takes
    memory      peak resident memory of the process over the size of the file
    bias        what was found, with the interval; 1 is true

A chain is the other extreme: each option is scored by two evaluators, who share no other option.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

SIZES = ((100_000, 2_000, 100), (1_000_000, 20_000, 1_000), (5_000_000, 100_000, 5_000))
TINY = ((2_000, 200, 20),)
GROUPS = 20
_BLOCK = 500_000  # rows written in one go

_PROGRAM = """
import json, resource, sys, time
import evenhand as eh
from evenhand.scores.read import read_table

def audited(path):
    start = time.process_time()
    scores = read_table(path)
    read = time.process_time()
    found = eh.audit(scores)
    told, text = found.identified.told, str(found)
    return found.bias, told, start, read, time.process_time()

audited(sys.argv[2])  # what takes time to load is loaded
bias, told, start, read, end = audited(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": end - start, "reading": (read - start) / (end - start), "peak": peak,
                  "bias": [bias.low, bias.value, bias.high], "told": told}))
"""


class Measured(NamedTuple):
    n: int
    seconds: float
    reading: float
    memory: float
    bias: tuple[float, float, float]


def write_scores(path: Path, n: int, k: int, e: int, rng: np.random.Generator) -> None:
    """Write n scores of k options by e evaluators, as a CSV file."""
    values, leniencies = rng.normal(70.0, 10.0, k), rng.normal(0.0, 3.0, e)
    # nobody scores an option twice: each has its own first evaluator, and its own stride
    strides = np.flatnonzero(np.gcd(np.arange(e), e) == 1)
    first, stride = rng.integers(0, e, k), rng.choice(strides, k)
    with path.open("w", encoding="utf-8") as file:
        file.write("option,evaluator,option_group,evaluator_group,score\n")
        for start in range(0, n, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, n))
            option = rows % k
            evaluator = (first[option] + rows // k * stride[option]) % e
            own = option % GROUPS == evaluator % GROUPS
            score = values[option] + leniencies[evaluator] + own + rng.normal(0.0, 3.0, len(rows))
            file.writelines(
                f"o{o},e{j},g{o % GROUPS},g{j % GROUPS},{y:.2f}\n"
                for o, j, y in zip(option.tolist(), evaluator.tolist(), score.tolist(), strict=True)
            )


def write_chain(path: Path, n: int, rng: np.random.Generator) -> None:
    """Write n scores in which every evaluator shares one option with the next."""
    links = n // 2
    with path.open("w", encoding="utf-8") as file:
        file.write("option,evaluator,option_group,evaluator_group,score\n")
        for o in range(links):
            for j in (o, (o + 1) % links):
                score = 70.0 + float(o % 3 == j % 2) + rng.normal(0.0, 3.0)
                file.write(f"o{o},e{j},g{o % 3},g{j % 2},{score:.2f}\n")


def measure(path: Path, n: int, warm: Path) -> Measured:
    """Audit a file in a process of its own, after a small one."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path), str(warm)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    found = json.loads(run.stdout)
    memory = found["peak"] / path.stat().st_size
    return Measured(n, found["seconds"], found["reading"], memory, tuple(found["bias"]))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="small tables: to see that it runs")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    rng = np.random.default_rng(arguments.seed)
    shown = Table(box=None, pad_edge=False)
    for title in ("scores", "s per 1e6", "ratio", "reading", "memory ÷ file", "MB", "bias"):
        shown.add_column(title, justify="right")
    first = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path, warm = Path(folder) / "scores.csv", Path(folder) / "warm.csv"
        write_scores(warm, 500, 50, 10, rng)
        for n, k, e in TINY if arguments.tiny else SIZES:
            write_scores(path, n, k, e, rng)
            one = measure(path, n, warm)
            first = first or one.seconds / n
            shown.add_row(*_cells(one, path, first, f"{n:,}"))
        n = 2_000 if arguments.tiny else 200_000
        write_chain(path, n, rng)
        shown.add_row(*_cells(measure(path, n, warm), path, first, f"{n:,} in a chain"))
    Console(width=120).print(shown)


def _cells(one: Measured, path: Path, first: float, title: str) -> list[str]:
    per = one.seconds / one.n
    low, value, high = one.bias
    return [
        title,
        f"{1e6 * per:.2f}",
        f"{per / first:.2f}",
        f"{one.reading:.0%}",
        f"{one.memory:.2f}",
        f"{path.stat().st_size / 1e6:.0f}",
        f"{value:.3f} [{low:.3f}, {high:.3f}]",
    ]


if __name__ == "__main__":
    main()
