"""Docstrings are written to be read in an editor; this makes them markup for the site."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(``.*?``|`.*?`)")


def _escape(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let bars be bars, |x|, and no names of substitutions; what is code stays as it is."""
    for number, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...")):
            parts = _CODE.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have every docstring pass by, after its sections were read."""
    app.connect("autodoc-process-docstring", _escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
