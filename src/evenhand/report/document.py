"""A report as one HTML file, to read on a screen, to print and to send on.

Everything is in the file: styles, pictures, numbers. Nothing in it runs, nothing is fetched, and
the file says so to the browser (its content security policy). Texts are escaped; what is HTML
already is `Markup`, which only the functions of this package return.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from io import StringIO
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from evenhand import html
from evenhand.files import write_atomically
from evenhand.html import Markup
from evenhand.report.phrases import short
from evenhand.scores.finding import Finding

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_LONGEST_NAME = 120  # in a table, where names go on in the next line

Standing = Literal["held", "contradicted", "noted", "not checked"]

LIGHT = {
    "ink": "#1f2328", "faint": "#5c636b", "paper": "#ffffff", "box": "#f3f5f7", "rule": "#d5dadf",
    "link": "#00588a", "held": "#00664a", "contradicted": "#a33b00", "not-checked": "#5c636b",
    "noted": "#765000",
}  # fmt: skip
DARK = {
    "ink": "#e6e8ea", "faint": "#a9b0b7", "paper": "#16181b", "box": "#212529", "rule": "#3b4249",
    "link": "#7cc4f0", "held": "#5fd0aa", "contradicted": "#ff9d66", "not-checked": "#a9b0b7",
    "noted": "#f0c05a",
}  # fmt: skip

_STYLE = """
:root { color-scheme: light dark; %(light)s }
@media screen and (prefers-color-scheme: dark) { :root { %(dark)s } }
* { box-sizing: border-box; }
body { font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--paper); max-width: 58rem; margin: 0 auto;
  padding: 2.2rem 1.1rem 3rem; overflow-wrap: break-word; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.4rem 0 .6rem; padding-top: .9rem;
  border-top: 1px solid var(--rule); }
p, ul, dl { margin: .6rem 0; }
li { margin: .25rem 0; }
a { color: var(--link); }
.made, .note, figcaption, caption, footer { color: var(--faint); font-size: .88rem; }
.verdict { background: var(--box); border-left: .3rem solid var(--link); font-size: 1.12rem;
  font-weight: 600; padding: .8rem 1rem; margin: 1.1rem 0; }
nav { font-size: .92rem; }
nav ol { columns: 2; padding-left: 1.4rem; margin: .4rem 0; }
.scroll { overflow-x: auto; margin: .8rem 0; }
.scroll table { border-collapse: collapse; font-size: .88rem; line-height: 1.45;
  font-variant-numeric: tabular-nums; }
.scroll td, .scroll th { border-bottom: 1px solid var(--rule); vertical-align: baseline; }
.scroll td:first-child { white-space: normal !important; min-width: 6rem; }
caption { text-align: left; caption-side: top; padding-bottom: .3rem; }
figure { margin: 1rem 0; }
figure svg { display: block; max-width: 100%%; height: auto; background: #ffffff; }
dt { font-weight: 600; margin-top: .7rem; }
dd { margin: .1rem 0 0; }
.held { color: var(--held); } .contradicted { color: var(--contradicted); }
.not-checked { color: var(--not-checked); } .noted { color: var(--noted); }
.held, .contradicted, .not-checked, .noted { font-weight: 600; white-space: nowrap; }
code { font-size: .92em; }
footer { margin-top: 2.6rem; border-top: 1px solid var(--rule); padding-top: .6rem; }
@media (max-width: 40rem) {
  body { padding-top: 1.2rem; }
  nav ol { columns: 1; }
  figure svg { max-width: none; width: 44rem; }
}
@media print {
  @page { margin: 16mm; }
  :root { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.4rem; }
  thead { display: table-header-group; }
  caption, thead, dt { break-after: avoid; }
  .note, figcaption { break-before: avoid; }
  tr, li, figure, .verdict { break-inside: avoid; }
  .scroll { overflow: visible; }
  .scroll td, .scroll th { padding-right: .7em !important; }
  p, li, dd { orphans: 2; widows: 2; }
}
"""


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading of its own.

    Parameters
    ----------
    title
        The heading.
    parts
        What stands below it: sentences, or `Markup` such as tables and pictures. "" and None are
        left out; so is a section without any.

    Examples
    --------
    >>> Section("Notes", ("Ann left.", "", None)).filled
    ('Ann left.',)
    """

    title: str
    parts: Sequence[str | None]

    @property
    def filled(self) -> tuple[str, ...]:
        """The parts that say something."""
        return tuple(part for part in self.parts if part)


def document(
    title: str, verdict: str, sections: Iterable[Section], made: date | None = None
) -> str:
    """Return a report as HTML.

    Parameters
    ----------
    title
        What it is about.
    verdict
        What the reader came for, in a sentence or two; it stands at the top.
    sections
        The rest, in order.
    made
        The day that the report is of; today if not given.

    Examples
    --------
    >>> page = document("R&D", "Choose <Ann>.", [Section("Why", ["She is the best."])])
    >>> "<h1>R&amp;D</h1>" in page, "Choose &lt;Ann&gt;." in page
    (True, True)
    """
    said = [(f"part-{i}", one) for i, one in enumerate((s for s in sections if s.filled), 1)]
    day = date.today() if made is None else made
    contents = "".join(f'<li><a href="#{name}">{html.text(s.title)}</a></li>' for name, s in said)
    body = "".join(_section(name, one) for name, one in said)
    return page(
        title,
        f"<header><h1>{html.text(title)}</h1>\n"
        f'<p class="made">{day:%Y-%m-%d}, by evenhand {html.text(version("evenhand"))}</p>\n'
        f'<p class="verdict">{html.text(verdict)}</p></header>\n'
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>\n<main>\n{body}</main>\n',
        _STYLE % {"light": _colours(LIGHT), "dark": _colours(DARK)},
    )


def page(title: str, body: str, style: str) -> str:
    """Return a whole HTML page that may neither run nor fetch anything.

    Examples
    --------
    >>> page("A & B", "<p>Hello.</p>", "p { margin: 0 }").count("A &amp; B")
    1
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.text(title)}</title>
<style>{style}</style>
</head>
<body>
{body}</body>
</html>
"""


def write_page(text: str, path: str | PathLike[str]) -> None:
    """Write a page to a file, whole or not at all."""
    with write_atomically(path, "the report") as draft:
        draft.write_text(text, encoding="utf-8")


def table(
    caption: str, header: Sequence[object], rows: Iterable[Sequence[object]], left_out: int = 0
) -> Markup:
    """Return a table with a caption; where it is wider than the screen it scrolls by itself.

    Examples
    --------
    >>> "<caption>Scores</caption>" in table("Scores", ["option", "value"], [["Ann", 1.5]])
    True
    """
    return scrolling(caption, html.table(header, rows, left_out))


def scrolling(caption: str, drawn: Markup) -> Markup:
    """Return a table of `evenhand.html` under a caption, in a box of its own.

    Examples
    --------
    >>> scrolling("Cost", html.facts({"evaluations": 12})).count("<caption>")
    1
    """
    said = html.text(caption)
    opening, rest = drawn.split(">", 1)
    return Markup(
        f'<div class="scroll" role="region" aria-label="{said}" tabindex="0">'
        f"{opening}><caption>{said}</caption>{rest}</div>\n"
    )


def frame_table(
    caption: str, frame: pd.DataFrame, most: int, names: Mapping[str, str] | None = None
) -> Markup:
    """Return the first rows of a data frame as a table; "" if it has none.

    Parameters
    ----------
    caption
        What it shows.
    frame
        The rows.
    most
        How many of them.
    names
        The columns to show, and what they are called; all of them if not given.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"judge": ["P", "Q"], "bias": [1.0, 0.25], "found": [True, False]})
    >>> shown = frame_table("Judges", frame, most=1, names={"judge": "who", "bias": "bias"})
    >>> "1.00" in shown, "1 more" in shown, "found" in shown
    (True, True, False)
    """
    called = {str(name): str(name).replace("_", " ") for name in frame.columns}
    called = called if names is None else {k: v for k, v in names.items() if k in called}
    if frame.empty or not called:
        return Markup("")
    columns = [_cells(frame[name].tolist(), most) for name in called]
    rows = list(zip(*columns, strict=True))
    return table(caption, list(called.values()), rows, left_out=len(frame) - len(rows))


def _cells(values: Sequence[object], most: int) -> list[object]:
    """Return the first values of a column, numbers with the same decimals."""
    shown = values[:most]
    sizes = [abs(x) for x in shown if isinstance(x, float) and math.isfinite(x) and x != 0.0]
    digits = max(0, 2 - math.floor(math.log10(median(sizes)))) if sizes else 2
    return [_cell(x, digits) for x in shown]


def _cell(value: object, digits: int) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return html.Rounded(value, digits) if math.isfinite(value) else value
    return short(value, _LONGEST_NAME) if isinstance(value, str) else value


def facts(caption: str, entries: Mapping[str, object]) -> Markup:
    """Return a table of two columns, what and how much, with a caption.

    Examples
    --------
    >>> facts("Cost", {"evaluations": 12_000}).count("<tr")
    1
    """
    return scrolling(caption, html.facts(entries))


def points(sentences: Iterable[str]) -> Markup:
    r"""Return sentences as a list; "" without any.

    Examples
    --------
    >>> points(["One & two.", "Three."])
    '<ul><li>One &amp; two.</li><li>Three.</li></ul>\n'
    """
    entries = "".join(f"<li>{html.text(one)}</li>" for one in sentences if one)
    return Markup(f"<ul>{entries}</ul>\n" if entries else "")


def note(sentence: str) -> Markup:
    r"""Return a sentence that stands back behind the others, such as how to read a table.

    Examples
    --------
    >>> note("Longer is better.")
    '<p class="note">Longer is better.</p>\n'
    """
    return Markup(f'<p class="note">{html.text(sentence)}</p>\n' if sentence else "")


def checked(entries: Iterable[tuple[str, Standing, str]]) -> Markup:
    """Return assumptions, each with what became of it and what was seen.

    Examples
    --------
    >>> checked([("The noise is the same at all times.", "held", "")]).count("held</span>")
    1
    """
    lines = "".join(
        f'<dt>{html.text(assumption)} <span class="{standing.replace(" ", "-")}">'
        f"{_STANDINGS[standing]}</span></dt><dd>{html.text(seen)}</dd>"
        for assumption, standing, seen in entries
    )
    return Markup(f"<dl>{lines}</dl>\n" if lines else "")


_STANDINGS: dict[Standing, str] = {
    "held": "✓ held",
    "contradicted": "✗ contradicted",
    "noted": "! seen, but nothing is withdrawn",
    "not checked": "? could not be checked",
}


def became(
    findings: Sequence[Finding], assumption: str, names: Sequence[str], seen: bool, lacking: str
) -> tuple[str, Standing, str]:
    """Return an assumption with what became of it, and what was seen, for `checked`.

    Parameters
    ----------
    findings
        What was seen, of all assumptions.
    assumption
        What is assumed, in a sentence.
    names
        What findings about it are called.
    seen
        Whether it could be checked.
    lacking
        Why not, if it could not.

    Examples
    --------
    >>> drift = Finding("drift", "Scores rise.")
    >>> became([drift], "Scores do not drift.", ["drift"], True, "")
    ('Scores do not drift.', 'contradicted', 'Scores rise.')
    >>> became([], "Scores do not drift.", ["drift"], False, "No times were given.")
    ('Scores do not drift.', 'not checked', 'No times were given.')
    """
    found = [finding for finding in findings if finding.assumption in names]
    said = " ".join(" ".join(finding.message.split()) for finding in found)
    if any(finding.alarm for finding in found):
        return assumption, "contradicted", said
    if not seen:
        return assumption, "not checked", said or lacking
    return assumption, "noted" if found else "held", said


def picture(figure: Figure, name: str, description: str, caption: str = "") -> Markup:
    """Return a figure of matplotlib as part of a page.

    Parameters
    ----------
    figure
        What was drawn.
    name
        A name that no other picture of the page has.
    description
        What it shows, for those who cannot see it.
    caption
        How to read it.
    """
    import matplotlib  # noqa: PLC0415 # slow to load, and not every page has a picture

    drawn = StringIO()
    with (
        matplotlib.rc_context({"svg.hashsalt": "evenhand", "svg.fonttype": "none"}),
        warnings.catch_warnings(),
    ):
        # a browser has letters that matplotlib's font lacks
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    said = f"<figcaption>{html.text(caption)}</figcaption>" if caption else ""
    return Markup(
        f'<figure><div class="scroll" role="region" aria-label="Picture" tabindex="0">'
        f"{inline_svg(drawn.getvalue(), name, description)}</div>{said}</figure>\n"
    )


def inline_svg(text: str, name: str, description: str = "") -> Markup:
    """Return an SVG file as part of a page: no prologue, and names that no other picture has.

    Examples
    --------
    >>> text = '<?xml version="1.0"?><svg><metadata>x</metadata><g id="a"/><use href="#a"/></svg>'
    >>> inline_svg(text, "one")
    '<svg role="img" stroke-linejoin="round"><g id="one-a" /><use href="#one-a" /></svg>'
    """
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):  # a style would be the whole page's
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(key): value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({key: _renamed(key, x, name) for key, x in attributes.items()})
    shape = {"viewBox": root.get("viewBox"), "width": root.get("width"), "role": "img"}
    root.attrib.clear()
    root.attrib.update({key: value for key, value in shape.items() if value is not None})
    root.set("stroke-linejoin", "round")
    if description:
        root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode").strip())


def _local(tag: str) -> str:
    """Return a name without its namespace, which HTML knows by itself."""
    return tag.rsplit("}", 1)[-1]


def _renamed(key: str, value: str, name: str) -> str:
    """Return an attribute with names that are this picture's own."""
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return re.sub(r"^#", f"#{name}-", value)
    return re.sub(r"url\(#", f"url(#{name}-", value)


def _section(name: str, section: Section) -> str:
    parts = "".join(
        part if isinstance(part, Markup) else f"<p>{html.text(part)}</p>\n"
        for part in section.filled
    )
    return f'<section id="{name}">\n<h2>{html.text(section.title)}</h2>\n{parts}</section>\n'


def _colours(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())
