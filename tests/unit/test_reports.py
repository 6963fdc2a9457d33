"""Reports are whole, harmless, readable, and say what is known."""

from __future__ import annotations

import html
import itertools
import math
import re
from base64 import b64decode
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import evenhand as eh
from asking import Wants
from evenhand.report import words
from evenhand.report.html import as_page
from evenhand.report.model import (
    Assumptions,
    Chance,
    Facts,
    Picture,
    Points,
    Report,
    Rounded,
    Section,
    Share,
    Standing,
    Table,
    as_text,
    became,
    cell,
    first_places,
    frame_table,
    plain,
    table_lines,
)
from evenhand.report.pictures import ForestRow, forest_ends
from pages import DocumentReader, read_document

DAY = date(2026, 11, 16)
EVIL = '</title></style><script>alert("1")</script> $x$ id="a" url(#b) -->'


def page_of(*sections: Section) -> str:
    return as_page(Report("T", "V", sections=sections))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as the accessibility guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_letters_stand_out_from_the_paper_in_both_palettes_of_the_page() -> None:
    styles = read_document(page_of()).styles
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", root))
        for root in re.findall(r"\{([^{}]*--ground[^{}]*--bad-ground[^{}]*)\}", styles)
    )
    assert set(light) == set(dark) >= set(re.findall(r"var\(--([a-z-]+)\)", styles))
    for palette in (light, dark):
        for name in set(palette) - {"paper", "ground", "line", "edge"}:
            own = {"ground", "paper", f"{name}-ground"} & set(palette)
            for ground in own if not name.endswith("-ground") else ():
                assert contrast(palette[name], palette[ground]) >= 4.5, (name, ground)
        assert contrast(palette["ink"], palette["bad-ground"]) >= 4.5


def test_texts_of_users_are_texts() -> None:
    parts = [EVIL, Table(EVIL, [EVIL, "n"], [[EVIL, 1.5]]), Points([EVIL])]
    said = Report(EVIL, EVIL, [(EVIL, EVIL)], [Section(EVIL, parts, "brief"), Section(EVIL, parts)])
    reader = read_document(as_page(said, made=DAY))
    # title twice, verdict, the fact under its title, and six in each section
    assert reader.text.count(EVIL) == 17
    assert reader.cells == [EVIL, "n", EVIL, "1.5"] * 2
    assert "2026-11-16" in reader.text


def test_what_was_decided_stands_first_then_tables_then_pictures_then_what_it_rests_on() -> None:
    drawn = Picture("one", lambda: drawing("P"), "Shown.")
    sections = [
        Section("Table", [Table("", ["x"], [[1.0]])], "brief"),
        Section("Drawn", [drawn], "file"),
        Section("Deep", ["deep"]),
        Section("Nothing", ["", None, Facts("", {})]),
    ]
    facts = [("A", "first")] + [("B", "word " * 40) for _ in range(5)]
    said = Report("T", "V", facts, sections, rests=[("C", "last")])
    page = as_page(said)
    seen = [page.index(f">{one}<") for one in ("V", "First", "Table", "Drawn")]
    assert seen == sorted(seen)
    below = page.index("<details")
    assert page.index("<svg" if "<svg" in page else "<img") < below
    assert all(page.index(f">{one}<") > below for one in ("Last", "Deep", "deep"))
    assert "Nothing" not in page
    lines = as_text(said).split("\n\nWhat this rests on\n")
    assert len([line for line in lines[0].splitlines() if line]) <= 10
    assert (lines[1][:7], lines[1][-7:]) == ("B  word", "C  last")


def test_what_became_of_assumptions_stands_in_words_and_not_in_colours_alone() -> None:
    standings: list[Standing] = ["held", "contradicted", "noted", "not tested"]
    page = page_of(Section("", [Assumptions([(f"{one}.", one, "<b>") for one in standings])]))
    assert re.findall(r'<span class="chip ([a-z]+)">(.*?)<', page) == [
        ("in", "held"),
        ("bad", "contradicted"),
        ("at", "seen, but nothing is withdrawn"),
        ("out", "not tested"),
    ]
    assert "&lt;b&gt;" in page


def drawing(title: str) -> Figure:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0.0, 1.0], [0.0, 2.0], marker="o")
    axes.set_title(title, parse_math=False)
    return figure


def test_pictures_keep_their_letters_and_are_told_to_whoever_cannot_see_them() -> None:
    for title in (EVIL, "陈伟"):  # the font lacks the second; a browser has it
        shown = Picture("one", lambda title=title: drawing(title), f"Shows {title}")
        (image,) = read_document(page_of(Section("", [shown], "file"))).all("img")
        assert image["alt"] == f"Shows {title}"
        svg = b64decode(str(image["src"]).partition(",")[2]).decode()
        assert html.escape(title, quote=False) in svg


def panel(names: list[str], capacity: int | None = None) -> eh.Questions:
    groups = itertools.cycle(["a", "b"])
    judges = {"P": "a", "Q": "b", EVIL: None}
    return eh.Questions.panel(dict(zip(names, groups, strict=False)), judges, capacity=capacity)


def scores(question: eh.Question) -> float:
    """Give the third option the best scores, with a little noise that depends on the number."""
    own = (question.option % 2 == 0) == (question.evaluator == "P")
    noise = math.sin(12.9898 * question.number) * 0.2
    return 5.0 - abs(question.option - 2) + 0.5 * own + noise


@pytest.fixture(scope="module")
def answers() -> dict[str, eh.Answer]:
    actions = eh.ActionSet(
        [[1.0, x] for x in (1.0, 2.0, 3.0, 4.0)], ["a", "b"] * 2, [EVIL, "B", "C", "D"]
    )
    compared = eh.Questions.comparisons(["A", EVIL, "C"], ["J", "K"])

    def drifting(question: eh.Question) -> float:
        return scores(question) + 0.1 * question.number

    def broken(question: eh.Question) -> float:
        raise ConnectionError(EVIL)

    alone = eh.ActionSet([[1.0]], attributes=[[1.0]], labels=["only"])
    many = panel([f"option {x}" for x in range(2_000)], 1)
    some = (np.arange(len(many)) % 3 == 0).astype(int)
    return {
        "panel": eh.choose(panel(["A", "B", "C", EVIL]), scores),
        "actions": eh.choose(actions, scores, at_most=60),
        "comparisons": eh.choose(
            compared, lambda q: q.options[1] - q.options[0] + 0.1 * math.sin(9.1 * q.number)
        ),
        "drift": eh.choose(
            panel(["A", "B", "C"]), drifting, policy=Wants(panel(["A", "B", "C"]), 9)
        ),
        "nobody": eh.choose(actions, broken),
        "alone": eh.choose(alone, scores),
        "many": eh.choose(many, scores, policy=Wants(many, some)),
    }


def page(answer: eh.Answer) -> str:
    return as_page(answer._report(), made=DAY)


def report(answer: eh.Answer) -> DocumentReader:
    return read_document(page(answer))


KINDS = ["panel", "actions", "comparisons", "drift", "nobody", "alone", "many"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_has_a_report(answers: dict[str, eh.Answer], kind: str) -> None:
    answer = answers[kind]
    written = page(answer)
    reader = read_document(written)
    assert len(written.encode()) < 2_000_000
    assert str(answer).split("\n\n")[0].replace("\n", " ") in " ".join(reader.text.split())
    assert f"{answer.policy.name}, seed {answer.policy.seed}" in reader.text
    assert page(answer) == written


@pytest.mark.parametrize("kind", ["panel", "actions", "comparisons"])
def test_the_tables_have_what_the_frames_have(answers: dict[str, eh.Answer], kind: str) -> None:
    answer = answers[kind]
    (table,) = (
        part
        for section in answer._report().sections
        for part in section.filled
        if isinstance(part, Table) and "scores" in part.header
    )
    cells = report(answer).cells
    header = cells[cells.index("option") :][: len(table.header)]
    assert [one for one in header if "drawn" not in one] == [one for one in table.header if one]
    frame = answer.standings.rename(columns={"raw": "mean score", "evaluations": "scores"})
    shown = [name for name in table.header if name in frame.columns and name != "chance"]
    assert {"option", "mean score", "value", "low", "high", "scores"} <= {*shown}
    for cells_of, (_, row) in zip(table.rows, frame.iterrows(), strict=True):
        for name in shown:
            seen, number = cells_of[table.header.index(name)], row[name]
            if isinstance(number, float) and not math.isfinite(number):
                assert seen is None
            else:
                assert seen == number


def test_many_options_are_cut_and_said_to_be(answers: dict[str, eh.Answer]) -> None:
    reader = report(answers["many"])
    answer = answers["many"]
    assert answer.raw_choice is not None
    assert "1,900 more" in reader.text
    named = [cell for cell in reader.cells if cell.startswith("option ")]
    assert len(named) == 100
    last = [answer.label, answer.options.labels[answer.raw_choice]]
    assert set(last) <= set(named)
    assert named[:90] == [one.option for one in answer.ranking[:90]]


def test_an_alarm_stands_at_the_top_and_beside_its_assumption(
    answers: dict[str, eh.Answer],
) -> None:
    answer = answers["drift"]
    assert "drift" in {one.assumption for one in answer.alarms}
    written = page(answer)
    warned = r'</h1>\s*<dl class="facts"><div class="alarm"><dt>WARNING</dt><dd>(<p>[^<]*</p>)*?'
    assert re.search(rf"{warned}<p>Scores rise", written)
    assert re.search(r"with time\. <span class=\"chip bad\">.*?<dd>Scores rise", written)
    assert "Nothing tells how far off" in written


def test_what_could_not_be_checked_is_not_said_to_have_held(answers: dict[str, eh.Answer]) -> None:
    once = panel(["A", "B", "C"], 1)
    written = page(eh.choose(once, scores, policy=Wants(once, 1)))
    assert ">held<" not in written
    assert ">not tested<" in written
    assert ">held<" in page(answers["drift"])


def test_what_raw_scores_would_lose_is_the_lead_over_their_choice() -> None:
    """B's scores are higher by a favour; A is worth 1 more."""
    questions = eh.Questions.panel({"A": "a", "B": "b"}, {"P": "b", "Q": None}, capacity=None)

    def favours(question: eh.Question) -> float:
        own = 60.0 if (question.option, question.evaluator) == (1, "P") else 0.0
        return 3.0 - question.option + own + 0.05 * math.sin(9.1 * question.number)

    answer = eh.choose(questions, favours)
    assert (answer.label, answer.raw_choice) == ("A", 1)
    said = re.search(r"would have chosen B, and lost ([\d.]+) \(", report(answer).text)
    assert said is not None
    assert float(said[1]) == pytest.approx(1.0, abs=4 * 0.05 + 0.05)  # of noise, and rounding


def test_reports_are_written_whole_or_not_at_all(
    answers: dict[str, eh.Answer], tmp_path: Path
) -> None:
    answers["alone"].report(tmp_path / "a.html", title="The prize", made=DAY)
    text = (tmp_path / "a.html").read_text("utf-8")
    assert text == as_page(answers["alone"]._report(), "The prize", DAY)
    assert '<p class="crumb">The prize · 2026-11-16 · evenhand ' in text
    with pytest.raises(eh.InputError, match="the report cannot be written"):
        answers["alone"].report(tmp_path / "nowhere" / "a.html")


def test_a_decision_by_scores_that_exist_says_what_is_assumed_and_what_to_ask_next() -> None:
    rows = [("A", "P", 7.0), ("B", "P", 5.0), ("A", "Q", 6.0), ("B", "Q", 5.5), ("A", "R", 8.0)]
    answer = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]))
    assert not answer.sure
    reader = report(answer)
    assert " ".join(answer.assumed.split()) in " ".join(reader.text.split())
    assert "5 scores." in reader.text
    start = reader.cells.index("question")
    width = 6  # question, rival, error and chance before and then
    asked = [one.label for one in answer.next_questions]
    assert asked
    assert reader.cells[start + width :: width][: len(asked)] == asked


def test_numbers_in_words() -> None:
    values = (0.123456, 12345.6, -2.0, 3e9, 7, math.inf, math.nan)
    assert [words.number(x) for x in values] == ["0.123", "12,346", "−2", "3e+09", "7", "∞", "–"]
    assert (words.number(-1234.5, 2), words.number(-0.001, 1)) == ("−1,234.50", "0.0")
    assert words.interval(eh.Estimate(1.5849, 0.917, 2.31, 0.95)) == "1.58 (0.92 to 2.31)"
    assert words.interval(eh.Estimate(1.5849, -math.inf, math.inf, 0.95)) == "1.58"
    assert words.interval(eh.Estimate(0.4, 0.0034, 0.8, 0.95)) == "0.40 (0.003 to 0.80)"  # not 0
    assert (words.percent(0.95), words.percent(0.999)) == ("95%", "99.9%")
    assert (words.p_value(0.00021), words.p_value(1e-30)) == ("p = 0.0002", "p < 1e-12")
    assert (words.counted(1, "score"), words.counted(1_200, "score")) == ("1 score", "1,200 scores")


def test_names_in_words() -> None:
    assert words.short("two\nlines") == "two lines"
    assert (len(words.short("x" * 1000)), words.short("\x1b[2J")) == (40, "\\x1b[2J")
    long = "Grand Prix of Figure Skating Final 2016, Ladies Short"
    assert words.abridged(long) == "Grand Prix of Figur… 2016, Ladies Short"
    assert (words.joined(list("abc")), words.joined(list("abc"), 2)) == (
        "a, b and c",
        "a, b and 1 more",
    )
    assert words.listed(["Ann", "Bo"]) == "Ann and Bo"
    assert words.listed(list("abcdef")) == "a, b, c, d and 2 more"
    assert words.sentence("perhaps none.") == "Perhaps none."


def test_cells_tables_and_axes() -> None:
    cells = (12_000, Rounded(-0.5, 2), None, np.int64(7), Share(0.333), Share(0.004))
    assert [cell(x) for x in cells] == ["12,000", "−0.50", "–", "7", "33%", "0.4%"]
    assert (cell(Chance(0.0456)), cell(Chance(0.0004))) == ("0.046", "< 0.001")
    assert first_places(9, {1, 7}, 4) == [0, 1, 2, 7]
    frame = pd.DataFrame({"judge": ["P", "Q"], "bias": [1.0, 0.25], "found": [True, False]})
    table = frame_table("Judges", frame, {"judge": "who", "bias": "bias"})
    assert table.rows == [("P", 1.0), ("Q", 0.25)]
    lines = table_lines(Table("", ["option", "value"], [["Ann", 1.5], ["Bo", 12.0]]), 20)
    assert list(lines) == ["  option  value", "  Ann       1.5", "  Bo         12"]
    rows = [ForestRow("a", 1.0, -1e9, 1.5), ForestRow("b", 2.0, 1.5, 2.5, beside=3.0)]
    assert forest_ends(rows) == (-0.64, 3.14)
    values = {"a": np.float64(1.5), "b": [math.nan, -math.inf], "c": np.bool_(True)}
    assert plain(values) == {"a": 1.5, "b": [None, None], "c": True}


def test_what_became_of_an_assumption() -> None:
    drift, said = eh.Finding("drift", "Scores rise."), "Scores do not drift."
    assert became([drift], said, ["drift"], True, "") == (said, "contradicted", "Scores rise.")
    unseen = became([], said, ["drift"], False, "No times were given.")
    assert unseen == (said, "not tested", "No times were given.")
