"""Killed processes: by day few, and small counts of what `make torture` does."""

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


NIGHT = [pytest.param(store, 25, marks=pytest.mark.nightly) for store in ("sqlite", "postgres")]


@pytest.mark.parametrize(("store", "kills"), [("sqlite", 3), ("postgres", 2), *NIGHT])
def test_nothing_is_lost_doubled_or_stuck_when_processes_are_killed(store: str, kills: int) -> None:
    said = run("torture.py", "--store", store, "--kills", str(kills), "--seed", "13")
    (total,) = [int(n) for n in re.findall(r"(\d+) killed in all", said)]
    assert total >= kills


@pytest.mark.parametrize(
    ("store", "servers", "kills"),
    [
        ("sqlite", 1, 2),
        pytest.param("sqlite", 1, 30, marks=pytest.mark.nightly),
        pytest.param("postgres", 2, 30, marks=pytest.mark.nightly),
    ],
)
def test_nothing_acknowledged_is_lost_when_servers_are_killed(
    store: str, servers: int, kills: int
) -> None:
    words = "--store", store, "--servers", str(servers), "--kills", str(kills), "--seed", "13"
    said = run("killed_server.py", *words)
    assert f"{kills} killed in all" in said
