"""States that were changed at random do no harm: a few of what `tests/mutants.py` tries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import evenhand as eh

PROGRAM = Path(__file__).parents[1] / "mutants.py"


def test_a_changed_state_is_refused_in_words_or_works() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--number", "80", "--seed", "20"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert set(eh.registered_policies()) <= set(rows)
    refused, *_, works = map(int, rows["all"])
    assert refused > 25
    assert works > 4
