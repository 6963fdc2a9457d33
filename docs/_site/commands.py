"""Sphinx directive `commands`: every command of evenhand with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from evenhand.cli import app as evenhand


class Commands(SphinxDirective):
    """All commands as sections, read from the program itself."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        text = "\n".join(_pages("evenhand", typer.main.get_command(evenhand)))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _pages(name: str, command: Any) -> Iterator[str]:
    """Yield Markdown for a command, and for those below it."""
    command = command.loaded() if hasattr(command, "loaded") else command
    context = command.make_context(name, [], resilient_parsing=True)
    below = command.list_commands(context) if hasattr(command, "list_commands") else []
    if not below:
        yield from _page(name, command, context)
    for one in below:
        yield from _pages(f"{name} {one}", command.get_command(context, one))


def _page(name: str, command: Any, context: Any) -> Iterator[str]:
    yield f"## {name}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{name} {usage}\n```\n"
    yield _plain(command.help or "") + "\n"
    records = [one.get_help_record(context) for one in command.params]
    rows = [record for record in records if record and record[0] != "--help"]
    if rows:
        yield "| | |\n| --- | --- |"
        for words, help_text in rows:
            yield f"| `{_cell(words)}` | {_cell(_plain(help_text))} |"
        yield ""
    if command.epilog:
        yield _plain(command.epilog) + "\n"


def _plain(text: str) -> str:
    """Text of a help page as Markdown: the form feed ends it, and brackets are no links."""
    return re.sub(r"\[(?=default|required)", r"\\[", text.partition("\f")[0].strip())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
