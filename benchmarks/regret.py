"""Every policy on every problem: `evenhand compare --full`, kept in out/regret.

What was run is not run again, so this may be stopped and started; arguments are added to the
command's, such as `--suite gaps` or `--policies oful,uniform`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores

import argparse
from collections.abc import Sequence
from pathlib import Path

from evenhand.cli import app

TINY = ("--suite", "gaps", "--horizon", "300", "--replications", "2", "--workers", "1")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for all there is")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    arguments, more = parser.parse_known_args(argv)
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    files = (
        "--store",
        out / "regret",
        "--report",
        out / "compare.csv",
        "--report",
        out / "compare.png",
    )
    size = TINY if arguments.tiny else ("--full",)
    app(["compare", *size, *map(str, files), *more])


if __name__ == "__main__":
    main()
