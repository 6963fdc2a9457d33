"""Every result prints, shows itself in notebooks, draws, writes pages and JSON, names and all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from rich.console import Console

import evenhand as eh
from evenhand.questions import Check
from evenhand.report.html import as_html
from evenhand.report.model import Note, Points, Report, Result, Section, as_text, print_result
from evenhand.research.comparison import QUICK, Comparison, entrants, measure
from pages import read, read_document

EVIL = "A\x1b[31m\u202e<b>$x$"  # red, from right to left, bold, mathematics
SEEN = "A\\x1b[31m\\u202e<b>$x$"


def options(**more: object) -> eh.ActionSet:
    X = [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.3, 0.4]]
    names = [EVIL, "Bo", "Cy", "Di"]
    if not more:
        more = {"groups": [EVIL, "away", "away", "away"], "feature_names": [f"{EVIL} 1", "v"]}
    return eh.ActionSet(X, labels=names, **more)  # type: ignore[arg-type]  # either kind


def panel() -> eh.Questions:
    return eh.Questions.panel({EVIL: "fr", "Bo": "it", "Cy": "us"}, {f"{EVIL}!": "fr", "Q": "it"})


def results() -> eh.Results:
    problem = eh.BiasedLinearBandit(options(), [0.5, 0.2], 0.1)
    return eh.simulate(problem, ["uniform", "oful"], [50, 100], replications=2, progress=False)


def comparison() -> Comparison:
    small = dataclasses.replace(QUICK.only(["skating"]).over([1000]), replications=2)
    return Comparison(small, 0, measure(small, entrants(["uniform", "explore-then-commit"])))


ATTRIBUTES = [[0.1, 0.0], [0.7, 1.0], [0.3, 1.0], [0.9, 0.0]]
RESULTS: dict[str, Callable[[], Result]] = {
    "a plan": lambda: eh.plan(panel(), leads=1.0),
    "two groups": lambda: eh.inspect(options()),
    "attributes": lambda: eh.inspect(
        options(attributes=ATTRIBUTES, attribute_names=[EVIL, "late"])
    ),
    "a panel": lambda: eh.inspect(panel()),
    "comparisons": lambda: eh.inspect(eh.Questions.comparisons([EVIL, "b", "c"], ["J", "K"])),
    "a check": lambda: panel().check(),
    "the geometry of groups": lambda: eh.bias_geometry(options()),
    "the geometry of a panel": lambda: eh.bias_geometry(panel()),
    "a design": lambda: eh.c_optimal_design([[1.0, 1.0], [2.0, -1.0]], [0.0, 1.0]),
    "a minimax design": lambda: eh.minimax_design(options()),
    "a simulation": results,
    "a comparison": comparison,
}


@pytest.fixture(params=RESULTS, scope="module")
def result(request: pytest.FixtureRequest) -> Result:
    return RESULTS[request.param]()


def has_picture(result: Result) -> bool:
    """Tell whether there is one: not of what questions can tell."""
    return not isinstance(getattr(result, "check", result), Check)


def is_harmless(text: str) -> bool:
    return "\x1b" not in text and "\u202e" not in text


def test_it_is_printed_in_words(result: Result) -> None:
    text = str(result)
    assert is_harmless(text)
    verdict = result._report().verdict
    assert " ".join(text.split()).startswith(" ".join(verdict.split())[:20].split("\x1b")[0])
    out = StringIO()
    print_result(Console(file=out, width=80, markup=False, emoji=False, highlight=False), result)
    assert is_harmless(out.getvalue())
    for table in (p for s in result._report().sections for p in s.filled if hasattr(p, "rows")):
        rows = [tuple(map(str, row)) for row in table.rows]
        assert len(set(rows)) == len(rows), "a row stands twice"
        assert all(len(row) == len(table.header) for row in rows)


def test_it_shows_itself_in_a_notebook(result: Result) -> None:
    page = result._repr_html_()
    assert is_harmless(page)
    assert read(page).text


def test_it_is_a_page_that_holds_everything(result: Result, tmp_path: Path) -> None:
    result.report(tmp_path / "page.html", title=EVIL)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert is_harmless(text)
    reader = read_document(text)
    assert SEEN in reader.text
    assert bool(reader.all("figure")) == has_picture(result)


def test_it_is_json(result: Result) -> None:
    written = json.dumps(result.to_dict(), allow_nan=False)
    assert json.loads(written) == result.to_dict()


def test_it_is_drawn_into_a_file_or_into_axes_that_are_given(
    result: Result, tmp_path: Path
) -> None:
    if not has_picture(result):
        with pytest.raises(eh.InputError, match="no picture"):
            result.plot()
        return
    result.plot(tmp_path / "picture.svg")
    drawn = (tmp_path / "picture.svg").read_text("utf-8")
    assert is_harmless(drawn)
    ElementTree.fromstring(drawn)
    mine = Figure()
    axes = mine.subplots()
    assert result.plot(ax=axes) is mine
    assert axes.has_data()
    assert mine.axes == [axes]
    with pytest.raises(eh.InputError, match=r"\.png, \.svg, \.pdf"):
        result.plot(tmp_path / "picture.gif")


def test_what_cannot_be_told_has_a_page_and_words_and_no_picture(tmp_path: Path) -> None:
    found = eh.inspect(eh.ActionSet([[1.0], [-1.0]], ["home", "away"]))
    assert not found.identifiable
    assert str(found).startswith("No: the bias cannot be estimated")
    found.report(tmp_path / "page.html")
    reader = read_document((tmp_path / "page.html").read_text("utf-8"))
    assert "What helps: leave out one of these features" in reader.text
    assert reader.all("figure") == []
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["identifiable"] is False


def test_what_is_about_options_is_refused_of_questions() -> None:
    with pytest.raises(eh.InputError, match="precision= is about options"):
        eh.inspect(panel(), precision=0.5)
    with pytest.raises(eh.InputError, match="no bias 'age'; there are: own group"):
        eh.inspect(panel(), "age")


def test_whatever_a_room_says_is_made_visible() -> None:
    said = Report(
        EVIL, EVIL, [(EVIL, EVIL)], [Section(EVIL, [EVIL, Points([EVIL]), Note(EVIL)], "print")]
    )
    assert is_harmless(as_text(said))
    assert as_text(said).count(SEEN) == 7  # all but the title, which print leaves out
    assert is_harmless(as_html(said))
