"""Killed processes, and many at once: small counts of what `make torture` does in full."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def run(program: str, *arguments: str) -> str:
    """Run one of the programs beside the tests: they fork, so each has a process of its own."""
    done = subprocess.run(
        [sys.executable, str(TESTS / program), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_nothing_is_lost_doubled_or_stuck_when_processes_are_killed(store: str) -> None:
    said = run("torture.py", "--store", store, "--kills", "25", "--seed", "13")
    (total,) = [int(n) for n in re.findall(r"(\d+) killed in all", said)]
    assert total >= 25


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_sixteen_processes_share_a_campaign(store: str) -> None:
    said = run("crowd.py", "--store", store, "--processes", "16", "--evaluations", "160")
    assert "16 processes" in said
