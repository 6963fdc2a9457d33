"""Pages: templates filled in, with the word that forms carry."""

from __future__ import annotations

import math
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment

from evenhand.report.html import environment
from evenhand.report.words import duration, number, visible
from evenhand.serve.access import Access

_JUST_NOW = 60.0  # seconds


@cache
def _templates() -> Environment:
    made = environment(Path(__file__).parent / "templates")
    made.filters |= {"lines": lines, "bound": bound, "when": when, "ago": ago}
    return made


def bound(value: float) -> str:
    """Return an end of an interval; a dash where nothing is known."""
    return number(value, 2) if math.isfinite(value) else "–"


def when(at: float) -> str:
    """Return a point in time by the clock of this machine, with its zone."""
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M %Z}"


def ago(seconds: float) -> str:
    """Return how long ago something was, as people say it."""
    return "just now" if seconds < _JUST_NOW else f"{duration(seconds)} ago"


def lines(text: str) -> str:
    """Return a text of several lines as it stands, with control characters made visible."""
    return "\n".join(
        line[: len(line) - len(line.lstrip(" "))] + _aligned(line.strip(" "))
        for line in text.splitlines()
    )


def _aligned(line: str) -> str:
    return line if line.isprintable() else visible(line)


def page(
    request: Request, template: str, access: Access | None = None, code: int = 200, **filled: Any
) -> HTMLResponse:
    """Return a template as an answer."""
    text = (
        _templates()
        .get_template(template)
        .render(access=access, csrf=access.csrf if access else "", path=request.url.path, **filled)
    )
    return HTMLResponse(text, code)


def wants_page(request: Request) -> bool:
    """Tell whether a person asks, by a browser, and not a program."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(
        "/api/"
    )


def said(request: Request, status: int, words: str) -> Response:
    """Say why something was not done: on a page to people, and as JSON to programs."""
    words = words.strip()
    if wants_page(request):
        return page(request, "said.html", code=status, words=words)
    return JSONResponse({"error": words}, status)
