"""Pages: templates filled in, with the word that forms carry."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evenhand.report.words import number, visible
from evenhand.serve.access import Access


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"visible": visible, "lines": lines, "number": number}
    return made


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
