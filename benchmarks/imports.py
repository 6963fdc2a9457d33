"""How long imports take, in units of `import numpy, scipy.linalg`.

Each program runs in fresh interpreters, in turn with the others so that all meet the same machine;
the least of several runs counts, less that of an interpreter that imports nothing.

    import       `import evenhand`
    first use    an action set from arrays, its bias geometry and a policy
    everything   every public name, including what simulates and draws
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

UNIT = "import numpy, scipy.linalg"
PROGRAMS = {
    "import": "import evenhand",
    "first use": """
import evenhand as eh
actions = eh.ActionSet([[1.0], [2.0], [3.0]], [0, 1, 1])
eh.bias_geometry(actions)
eh.PricedExploration(actions, horizon=1000, noise_scale=1.0, value_bound=3.0)
""",
    "everything": "from evenhand import *",
}


def seconds(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="interpreters for each program")
    runs = parser.parse_args(argv).runs

    programs = ["", UNIT, *PROGRAMS.values()]
    rounds = [[seconds(program) for program in programs] for _ in range(runs)]
    bare, unit, *least = (min(times) for times in zip(*rounds, strict=True))
    print(f"{UNIT}: {1e3 * (unit - bare):.0f} ms; in units of it")
    for name, best in zip(PROGRAMS, least, strict=True):
        print(f"  {name:<12} {(best - bare) / (unit - bare):.2f}")


if __name__ == "__main__":
    main()
