"""A report as HTML: one file to read, print and send on, or a block in a notebook or on a page.

Everything is in it: styles, pictures, numbers. Nothing in it runs, nothing is fetched, and the file
says so to the browser (its content security policy). All of it is written by one template,
`report.html`, which escapes what it is given; intervals are drawn in per cent of their column, and
coloured by class, so that they pass the policy of a service, too.
"""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evenhand.files import write_atomically
from evenhand.report.model import Chip, Kind, Picture, Report, Standing, cell
from evenhand.report.pictures import svg_text
from evenhand.report.words import number, short, visible

_HERE = Path(__file__).parent
_MOST_ON_PAGE, _MOST_IN_NOTEBOOK, _LONGEST_NAME = 100, 25, 200
_STANDINGS: Mapping[Standing, tuple[str, Kind]] = {
    "held": ("held", "in"),
    "contradicted": ("contradicted", "bad"),
    "noted": ("seen, but nothing is withdrawn", "at"),
    "not tested": ("not tested", "out"),
}


def environment(*folders: Path) -> Environment:
    """Return the templates of reports, and those of further folders, which may use them."""
    made = Environment(
        loader=FileSystemLoader([*folders, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "cell": cell, "visible": visible, "number": number, "finite": math.isfinite,
        "whole": lambda name: short(name, _LONGEST_NAME),
        "kind": lambda one: type(one).__name__, "drawn": _drawn,
        "standing": lambda one: Chip(*_STANDINGS[one]),
        "each": lambda entries: {name: [one] for name, one in entries.items()},
    }  # fmt: skip
    return made


@cache
def styles() -> str:
    """Return the style sheet of reports."""
    return (_HERE / "report.css").read_text("utf-8")


@cache
def _macros() -> Any:
    return environment().get_template("report.html").module


def _drawn(picture: Picture) -> str:
    """Return a figure of matplotlib as the address of a picture that holds all of itself."""
    figure = picture.draw()
    figure.suptitle("")  # the heading of the page says it
    return f"data:image/svg+xml;base64,{b64encode(svg_text(figure).encode()).decode()}"


def as_page(report: Report, title: str | None = None, made: date | None = None) -> str:
    """Return a report as a page of HTML that may neither run nor fetch anything."""
    title, day = report.title if title is None else title, _today() if made is None else made
    crumb = f"{title} · {day:%Y-%m-%d} · evenhand {version('evenhand')}"
    style = styles()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    body = _macros().report(report, file=True, most=_MOST_ON_PAGE, crumb=crumb)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(visible(title))}</title>
<style>{style}</style>
</head>
<body class="evenhand-file">
<main>
{body}</main>
</body>
</html>
"""


def _today() -> date:
    """The day, or the one that who builds things twice alike says (reproducible-builds.org)."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(said), UTC).date() if said.isdigit() else date.today()


def write_page(html: str, path: str | PathLike[str]) -> None:
    """Write a page to a file, whole or not at all."""
    with write_atomically(path, "the report") as draft:
        draft.write_text(html, encoding="utf-8")


def as_html(report: Report) -> str:
    """Return what notebooks show: nothing in it runs, all names are escaped."""
    block = _macros().report(report, level=3, most=_MOST_IN_NOTEBOOK)
    return f"<style>{styles()}</style>\n{block}"
