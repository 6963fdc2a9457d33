"""Every policy on every problem: `evenhand compare --full`, kept in out/regret.

What was run is not run again, so this may be stopped and started; arguments are added to the
command's, such as `--suite gaps` or `--policies oful,uniform`.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded: processes share the cores

import sys
from pathlib import Path

from evenhand.cli import app

OUT = Path("out")
FILES = ("--store", OUT / "regret", "--csv", OUT / "compare.csv", "--figure", OUT / "compare.png")

if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    app(["compare", "--full", "--details", *map(str, FILES), *sys.argv[1:]])
