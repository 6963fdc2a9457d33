"""Look for small tables about which something false is said, for as long as you like.

    python tests/fuzz.py --seconds 60 --seed 7

Prints each table with its complaints; the exit code is 1 if there were any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np

from small_tables import check, check_g, small_tables


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="a fresh one if not given")
    parser.add_argument("--tables", type=int, default=None, help="stop after so many tables")
    parser.add_argument("--without-g", action="store_true", help="leave G-optimal designs out")
    asked = parser.parse_args()
    seed = asked.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"seed {seed}", flush=True)
    checks = [check] if asked.without_g else [check, check_g]
    end = time.monotonic() + asked.seconds
    seen, wrong = Counter(), Counter()
    for n, table in enumerate(small_tables(seed)):
        if time.monotonic() > end or n == asked.tables:
            break
        seen[table.kind] += 1
        complaints = []
        for ask in checks:
            try:
                complaints += ask(table)
            except Exception as error:  # whatever is raised is what we look for
                complaints.append(f"{type(error).__name__}: {error}")
        if complaints:
            wrong[table.kind] += 1
            print(f"\ntable {n}: {table}", *complaints, sep="\n  ! ", flush=True)
    print(f"\n{sum(wrong.values())} of {sum(seen.values())} tables wrong (seed {seed})")
    for kind in sorted(seen):
        print(f"  {kind}: {wrong[kind]} of {seen[kind]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
