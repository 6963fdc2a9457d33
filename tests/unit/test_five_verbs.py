"""Every result prints, shows itself in notebooks, draws, writes pages and JSON, names and all."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import evenhand as eh
from evenhand.questions import Check
from evenhand.report.html import as_html
from evenhand.report.model import (
    Picture,
    Points,
    Report,
    Result,
    Section,
    as_text,
    print_result,
)
from evenhand.research.comparison import Comparison, chosen, entrants, measure
from pages import read, read_document

EVIL = "A\x1b[31m\u202e<b>$x$"  # red, from right to left, bold, mathematics
SEEN = "A\\x1b[31m\\u202e<b>$x$"


def options(**more: object) -> eh.ActionSet:
    X = [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.3, 0.4]]
    names = [EVIL, "Bo", "Cy", "Di"]
    if not more:
        more = {"groups": [EVIL, "away", "away", "away"], "feature_names": [f"{EVIL} 1", "v"]}
    return eh.ActionSet(X, labels=names, **more)  # type: ignore[arg-type]  # either kind


def panel(capacity: int | None = 1) -> eh.Questions:
    judges = {f"{EVIL}!": "fr", "Q": "it"}
    return eh.Questions.panel({EVIL: "fr", "Bo": "it", "Cy": "us"}, judges, capacity=capacity)


def results() -> eh.Results:
    problem = eh.BiasedLinearBandit(options(), [0.5, 0.2], 0.1)
    return eh.simulate(problem, ["uniform", "oful"], [50, 100], replications=2, progress=False)


def comparison() -> Comparison:
    small = dataclasses.replace(chosen(["skating"]).over([1000]), replications=2)
    return Comparison(small, 0, measure(small, entrants(["uniform", "explore-then-commit"])))


def decided() -> eh.Answer:
    """Return an answer by scores, one short of what compares all options well."""
    rows = [
        (option, judge, 5.0 + i + 0.3 * math.sin(7.0 * i + 3.0 * j))
        for i, option in enumerate([EVIL, "Bo", "Cy"])
        for j, judge in enumerate([f"{EVIL}!", "Q", "$R$"])
    ]
    return eh.decide(pd.DataFrame(rows[:-1], columns=["option", "evaluator", "score"]))


def campaign(what: Callable[[eh.Campaign], Result]) -> Result:
    """Return what a campaign says that has a few scores, and is paused."""
    with (
        tempfile.TemporaryDirectory() as folder,
        eh.Campaign.create(Path(folder) / "prize.db", "prize", panel()) as made,
    ):
        made.tell(made.ask(f"{EVIL}!"), 7.0)
        made.leave("Q", reason=EVIL)
        made.pause(reason=EVIL)  # which stands in the verdict
        return what(made)


def audited(by_column: bool) -> eh.Audit:
    """Return an audit of two events, by groups or by a column that says who is partial."""
    rng = np.random.default_rng(1)
    rows = [
        (f"{EVIL} {e}", f"{EVIL} {o}", f"{EVIL}! {j}", f"{EVIL} {o % 2}", f"{EVIL} {j % 3}",
         2.0 * o + (o % 2 == j % 3) + rng.standard_normal())
        for e in range(2) for o in range(4) for j in range(4)
    ]  # fmt: skip
    columns = ["event", "option", "evaluator", "option_group", "evaluator_group", "score"]
    frame = pd.DataFrame(rows, columns=columns)
    if not by_column:
        return eh.audit(frame)
    frame[EVIL] = (frame["option_group"] == frame["evaluator_group"]).astype(float)
    return eh.audit(frame.drop(columns=columns[3:5]), columns={"partial": EVIL})


ATTRIBUTES = [[0.1, 0.0], [0.7, 1.0], [0.3, 1.0], [0.9, 0.0]]
RESULTS: dict[str, Callable[[], Result]] = {
    "a plan": lambda: eh.plan(panel(), leads=1.0),
    "a plan until certain": lambda: eh.plan(panel(None), leads=1.0, tolerance=0.1),
    "a plan of options": lambda: eh.plan(options(), leads=1.0),
    "two groups": lambda: eh.inspect(options()),
    "attributes": lambda: eh.inspect(
        options(attributes=ATTRIBUTES, attribute_names=[EVIL, "late"])
    ),
    "a panel": lambda: eh.inspect(panel()),
    "comparisons": lambda: eh.inspect(eh.Questions.comparisons([EVIL, "b", "c"], ["J", "K"])),
    "a check": lambda: panel().check(),
    "a simulation": results,
    "a comparison": comparison,
    "an answer": decided,
    "a difference": lambda: decided().compare(EVIL, "Bo"),
    "a status": lambda: campaign(lambda made: made.status()),
    "a verification": lambda: campaign(lambda made: made.verify()),
    "a forged record": lambda: campaign(lambda made: made.verify("0" * 64)),
    "an audit by groups": lambda: audited(False),
    "an audit by a column": lambda: audited(True),
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
    report = result._report()
    titles = [section.title for section in report.sections]
    assert len(titles) == len(set(titles))
    told = [fact for facts in report.split() for fact in facts]
    assert len(told) == len(set(told))
    for table in (p for s in report.sections for p in s.filled if hasattr(p, "rows")):
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
    parts = [part for section in result._report().sections for part in section.filled]
    assert bool(reader.all("figure")) == any(isinstance(part, Picture) for part in parts)


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
    axes, other = mine.subplots(1, 2)
    assert result.plot(ax=axes) is mine
    assert axes.has_data()
    assert not other.has_data()
    assert mine.axes == [axes, other]
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
    with pytest.raises(eh.InputError, match="attribute= is about options"):
        eh.inspect(panel(), "age")


def test_whatever_a_room_says_is_made_visible() -> None:
    said = Report(
        EVIL, EVIL, [(EVIL, EVIL)], [Section(EVIL, [EVIL, Points([EVIL]), EVIL], "print")]
    )
    assert is_harmless(as_text(said))
    assert as_text(said).count(SEEN) == 7  # all but the title, which print leaves out
    assert is_harmless(as_html(said))
