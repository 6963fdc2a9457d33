"""Commands as README, pages and help show them can be typed: arguments, options and their keys."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from evenhand.cli import app
from evenhand.cli.options import said_by

ROOT = Path(__file__).parents[2]
TOP: Any = typer.main.get_command(app)
SHOWN = re.compile(r"(?:^|[`$(;|]\s*)evenhand ((?:[a-z]+)(?: [^`\n#|]*)?)", re.MULTILINE)
PLACEHOLDERS = ("COMMAND", "SCORES.csv", "…", "DIR", "FILE")


def helps(command: Any, path: str) -> list[tuple[str, str]]:
    """The help of every command."""
    if hasattr(command, "commands"):
        return [
            one for name, sub in command.commands.items() for one in helps(sub, f"{path} {name}")
        ]
    return [(path, re.sub(r"\n(?=--)", " ", re.sub(r"\n +", " ", command.loaded().help or "")))]


PAGES = [
    *((str(p.relative_to(ROOT)), p.read_text("utf-8")) for p in (ROOT / "docs").rglob("*.md")),
    ("README.md", (ROOT / "README.md").read_text("utf-8")),
    *helps(TOP, "evenhand"),
]
CASES = sorted(
    {
        (page, words.strip())
        for page, text in PAGES
        for words in SHOWN.findall(re.sub(r"\\\n\s*", " ", text))
        if words.split()[0] in TOP.commands and not any(one in words for one in PLACEHOLDERS)
    }
)


def test_there_are_many() -> None:
    assert len(CASES) > 60
    assert {page for page, _ in CASES} >= {"README.md", "evenhand audit", "evenhand campaign new"}


@pytest.mark.parametrize(("page", "words"), CASES, ids=[words[:50] for _, words in CASES])
def test_it_can_be_typed(page: str, words: str) -> None:
    arguments = shlex.split(words)
    command = TOP
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command = command.loaded()
    given = command.make_context("evenhand", arguments).params if arguments else {}
    known: dict[str, list[str]] = {}
    for option in getattr(command.callback, "says", {}).values():
        name, _, key = option.removeprefix("--").partition(" ")
        known.setdefault(name, []).append(key)
    for name, keys in known.items():
        said_by(name, given.get(name), keys)
