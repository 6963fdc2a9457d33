"""What a shell is told when somebody presses the tabulator: by the protocol of bash and of zsh."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "from evenhand.cli import app; app(prog_name='evenhand')"]


def completed(shell: str, words: str) -> list[str]:
    """What a shell gets for the last of some words."""
    typed = words.split(" ")
    asked = {
        "_EVENHAND_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
        "_TYPER_COMPLETE_ARGS": words,
    }
    got = subprocess.run(
        COMMAND, env=os.environ | asked, capture_output=True, text=True, check=True
    ).stdout
    return got.split() if shell == "bash" else got.split('"')[1::2]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("evenhand re", {"reproduce"}),
        ("evenhand campaign st", {"status"}),
        ("evenhand decide --req", {"--require"}),
        ("evenhand audit --column option", {"option=", "option_group="}),
        ("evenhand plan --target t", {"top=", "tolerance="}),
        ("evenhand campaign set p.db prize re", {"resume", "release="}),
    ],
)
def test_commands_options_and_their_keys_are_completed(
    shell: str, words: str, offered: set[str]
) -> None:
    assert {one.partition(":")[0] for one in completed(shell, words)} >= offered
    begun = words.rpartition(" ")[2]
    assert all(one.startswith(begun) for one in completed("bash", words))
