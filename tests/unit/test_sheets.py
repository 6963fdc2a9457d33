"""Sheets and tables of campaigns: what is written is read back, once, and all of it or none."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers import ReplyScale
from evenhand.campaigns.sheets import (
    decimal_of,
    name_in,
    read_sheet,
    score_in,
    shown_as,
    write_sheet,
)
from evenhand.tables.opened import open_table
from evenhand.tables.written import guarded, unguarded, write_csv

ANY = ReplyScale(None, None, comparing=False)
SIGNS = "=+-@\t\r\n＝＋－＠'"
TEXTS = st.text(st.sampled_from(SIGNS + 'aé,;" 1'), max_size=6)
ODD = ("=1+1", "'=1+1", "-x", "@you", "'tis", "a,b;c", 'q"u"', "Ünï", "two\nlines", "+5", "5")


@given(TEXTS)
def test_no_text_is_a_formula_and_every_text_comes_back(text: str) -> None:
    safe = guarded(text)
    assert safe[:1] not in tuple("=+-@\t\r\n＝＋－＠")
    assert unguarded(safe) == text


def test_a_table_of_odd_texts_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_csv(tmp_path / "odd.csv", ["=name", "score"], [[text, -1.5] for text in ODD])
    table = open_table(tmp_path / "odd.csv")
    assert table.columns == ("'=name", "score")
    assert [unguarded(text or "") for text in table.texts("'=name")] == list(ODD)
    assert table.texts("score") == ["-1.5"] * len(ODD)


@given(st.floats(-1e6, 1e6))
def test_scores_are_read_as_people_write_them(score: float) -> None:
    plain = repr(score)
    assert score_in(plain, ANY) == score
    assert score_in(plain.replace(".", ","), ANY, decimal=",") == score
    assert score_in(f" {plain.replace('-', '−')} ", ANY) == score
    # of 1,250 and 1250 one is refused, or the scale says which
    if 1.0 <= abs(score) < 1000.0 and score != int(score):
        thousandths = f"{score:.3f}".replace(".", ",")
        with pytest.raises(eh.InputError, match="can be"):
            score_in(thousandths, ANY)
        small = ReplyScale(None, (-1000.0, 1000.0), comparing=False)
        assert score_in(thousandths, small) == round(score, 3)


def panel() -> eh.Questions:
    return eh.Questions.panel(list(ODD), ["-P", "Q;R"], capacity=None)


def test_odd_names_survive_sheets_logs_and_exports(tmp_path: Path) -> None:
    rows = [(option, who, 0.25 * n) for n, option in enumerate(ODD) for who in ("-P", "Q;R")]
    write_csv(tmp_path / "log.csv", ["option", "evaluator", "score"], rows)
    with eh.Campaign.create(tmp_path / "odd.db", "=odd", panel()) as campaign:
        assert campaign.import_scores(tmp_path / "log.csv").counted == len(rows)
        (file,) = campaign.export(tmp_path / "out.csv")
        ticket = campaign.ask("-P")
        assert isinstance(ticket, eh.campaigns.Ticket)
        about = [guarded(label) for label in ticket.question.labels]
        sheet = pd.DataFrame({"ticket": [ticket.id], "option": about, "score": ["3"]})
        assert campaign.import_scores(sheet).counted == 1
    table = open_table(file)
    columns = [table.texts(name) for name in ("option", "evaluator", "score")]
    read = [
        (unguarded(o or ""), unguarded(e or ""), float(s or "nan"))
        for o, e, s in zip(*columns, strict=True)
    ]
    assert read == rows
    assert set(table.texts("standing")) == {"counted"}


LINES = st.lists(
    st.tuples(
        st.sampled_from(ODD[:2]), st.sampled_from(["-P", "Q;R"]), st.sampled_from([1.0, 2.0])
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=12, deadline=None)
@given(logs=st.lists(LINES, min_size=2, max_size=3))
def test_logs_that_overlap_count_once(
    logs: list[list[tuple[str, str, float]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Equal lines are told apart by their number: so what counts is the larger number of each."""
    folder = tmp_path_factory.mktemp("logs")
    expected: Counter[tuple[str, str, float]] = Counter()
    with eh.Campaign.create(folder / "logs.db", "logs", panel()) as campaign:
        for log in logs:
            frame = pd.DataFrame(log, columns=["option", "evaluator", "score"])
            before, expected = expected.total(), expected | Counter(log)
            taken = campaign.import_scores(frame)
            assert taken.counted == expected.total() - before
            assert taken.repeated == len(log) - taken.counted
        answer = campaign.answer()
    assert answer.policy.observed == expected.total()
    assert answer.policy.spent == 0


def test_a_key_counts_once_and_another_score_under_it_is_a_conflict(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"option": ODD[:2], "evaluator": "-P", "score": [1.0, 1.0], "id": ["a", "b"]}
    )
    with eh.Campaign.create(tmp_path / "keys.db", "keys", panel()) as campaign:
        assert campaign.import_scores(frame, key="id").counted == 2
        assert campaign.import_scores(frame, key="id").repeated == 2
        seal = campaign.status().hash
        with pytest.raises(eh.errors.ConflictError, match=r"row 1: 'b' was told before"):
            campaign.import_scores(frame.assign(score=[1.0, 3.0]), key="id")
        with pytest.raises(eh.InputError, match="stands on a line above"):
            campaign.import_scores(frame.assign(id="c"), key="id")
        for score in (math.nan, math.inf, None):
            with pytest.raises(eh.InputError, match="row 1"):
                campaign.import_scores(frame.assign(score=[1.0, score]), key="id")
        assert campaign.status().hash == seal


def test_logs_come_before_what_is_asked_or_say_why_not(tmp_path: Path) -> None:
    frame = pd.DataFrame({"option": ["=1+1"], "evaluator": ["-P"], "score": [1.0]})
    once = eh.Questions.panel(list(ODD), ["-P", "Q;R"])
    with eh.Campaign.create(tmp_path / "once.db", "once", once) as campaign:
        tickets = campaign.ask("-P", n=len(ODD))
        assert isinstance(tickets, list)
        asked = {ticket.question.label: ticket for ticket in tickets}
        seal = campaign.status().hash
        # the one question there is about it is out with a ticket
        with pytest.raises(eh.InputError, match="as often as it may be"):
            campaign.import_scores(frame)
        assert campaign.status().hash == seal
        sheet = pd.DataFrame({"ticket": [asked["=1+1"].id], "score": [1.0]})
        assert campaign.import_scores(sheet).counted == 1


def test_a_sheet_in_a_spreadsheet_may_have_empty_lines(tmp_path: Path) -> None:
    text = "ticket;option;score;note;\r\n\r\n1-abcdef;Ann;7,5;;\r\n;;;;\r\n2-abcdef;Bo;;ill;\r\n"
    (tmp_path / "sheet.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    lines = read_sheet(open_table(tmp_path / "sheet.csv"), [])
    assert [(line.ticket, line.score, line.note, line.labels) for line in lines] == [
        ("1-abcdef", "7,5", "", ("Ann",)),
        ("2-abcdef", None, "ill", ("Bo",)),
    ]


def test_a_guarded_name_is_read_by_the_names_there_are() -> None:
    both = ["=Ann", "'=Ann"]
    assert name_in("'=Ann", ["=Ann"], file=False) == "=Ann"
    assert name_in("'=Ann", ["'=Ann"], file=True) == "'=Ann"
    assert [name_in("'=Ann", both, file=file) for file in (False, True)] == ["'=Ann", "=Ann"]


def test_columns_that_are_shown_never_have_the_name_of_a_sheets_own() -> None:
    assert shown_as(["option"], ["title", "score"]) == ["title", "score (shown)"]
    assert shown_as(["first", "second"], ["title"]) == ["first: title", "second: title"]


def test_a_comma_is_a_decimal_one_where_another_can_be_nothing_else() -> None:
    assert [decimal_of(texts) for texts in (["7,5", "1,250"], ["1,250"])] == [",", None]


GRADES = ["Excellent", "good", "fair", "Poor"]


def graded(path: Path, **more: object) -> eh.Campaign:
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"])
    return eh.Campaign.create(path, "it", panel, **{"grades": GRADES} | more)  # type: ignore[arg-type]


def scores_of(campaign: eh.Campaign, folder: Path) -> list[float]:
    (file,) = campaign.export(folder / "scores.csv")
    return pd.read_csv(file)["score"].tolist()


def test_grades_come_back_as_words_by_tell_and_on_sheets(tmp_path: Path) -> None:
    """Four words are the steps 4, 3, 2, 1 in the record, whichever way they come."""
    with graded(tmp_path / "it.db") as campaign:
        log = pd.DataFrame({"option": ["Cy"], "evaluator": ["P"], "score": ["poor"]})
        assert campaign.import_scores(log).counted == 1
        ticket = campaign.ask("P")
        assert campaign.tell(ticket, "good").counted
        assert campaign.tell(ticket, " GOOD ").repeated
        write_sheet(campaign, tmp_path / "q.csv", "Q")
        sheet = pd.read_csv(tmp_path / "q.csv", dtype=str)
        sheet.assign(score=["excellent", "Poor", "Fair"]).to_csv(tmp_path / "q.csv", index=False)
        assert campaign.import_scores(tmp_path / "q.csv").counted == 3
        write_sheet(campaign, tmp_path / "r.xlsx", "R")
        book = openpyxl.load_workbook(tmp_path / "r.xlsx")
        (rule,) = book.active.data_validations.dataValidation
        assert (rule.type, rule.formula1) == ("list", '"Excellent,good,fair,Poor"')
        assert "Excellent, good, fair or Poor" in str(list(book["Read me"].values))
        at = next(cell.column for cell in book.active[1] if cell.value == "score")
        for row, word in enumerate(["Poor", "fair", "Excellent"], start=2):
            book.active.cell(row, at).value = word
        book.save(tmp_path / "r.xlsx")
        assert campaign.import_scores(tmp_path / "r.xlsx").counted == 3
        assert scores_of(campaign, tmp_path) == [1, 3, 4, 1, 2, 1, 2, 4]
        said = "Grades are read as equally spaced: Excellent = 4, good = 3, fair = 2, Poor = 1."
        assert said in campaign.status().grades
        assert said in " ".join(f"{campaign.status()}".split())
        assert said in " ".join(f"{campaign.answer()}".split())
        campaign.report(tmp_path / "it.html")
        assert said in (tmp_path / "it.html").read_text(encoding="utf-8")
        assert campaign.verify()
    with eh.Campaign.open(tmp_path / "it.db", "it") as again:
        assert again._follower.reading.wanted() == "Excellent, good, fair or Poor"
        assert again._follower.reading.limits == (1.0, 4.0)


def test_what_is_no_grade_is_refused_with_its_line_and_the_words(tmp_path: Path) -> None:
    with graded(tmp_path / "it.db") as campaign:
        ticket = campaign.ask("P")
        write_sheet(campaign, tmp_path / "q.csv", "Q")
        seal = campaign.status().hash
        for reply in ("B", 3.0, True, None, ""):
            with pytest.raises(eh.InputError, match="must be Excellent, good, fair or Poor; got"):
                campaign.tell(ticket, reply)
        sheet = pd.read_csv(tmp_path / "q.csv", dtype=str).assign(score=["good", "gud", "3"])
        sheet.to_csv(tmp_path / "q.csv", index=False)
        with pytest.raises(eh.InputError) as refused:
            campaign.import_scores(tmp_path / "q.csv")
        for line, word in (("line 3", "'gud'"), ("line 4", "'3'")):
            said = f"{line}: column 'score': {word} is none of the grades, which are Excellent, "
            assert said in str(refused.value)
        assert campaign.status().hash == seal


def test_grades_that_are_digits_are_words_with_the_numbers_that_were_stated(tmp_path: Path) -> None:
    """Where 1 is the best mark, a spreadsheet's number 1 is that word, and no number."""
    with graded(tmp_path / "it.db", grades={"1": 10, "2": 7, "6": 0}) as campaign:
        write_sheet(campaign, tmp_path / "q.xlsx", "Q")
        book = openpyxl.load_workbook(tmp_path / "q.xlsx")
        at = next(cell.column for cell in book.active[1] if cell.value == "score")
        for row, mark in enumerate([1, 6, 2], start=2):
            book.active.cell(row, at).value = mark
        book.save(tmp_path / "q.xlsx")
        assert campaign.import_scores(tmp_path / "q.xlsx").counted == 3
        assert scores_of(campaign, tmp_path) == [10, 0, 7]
        said = "Grades are numbers as you stated them: 1 = 10, 2 = 7, 6 = 0."
        assert campaign.status().grades == said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"bounds": (0, 4)}, r"leave out bounds=\(0\.0, 4\.0\)"),
        ({"scores": "votes"}, "leave out scores='votes'"),
        ({"grades": ["A", "a"]}, "names a grade twice"),
        ({"grades": {"A": 1, "a ": 2}}, "names a grade twice"),
        ({"grades": ["A"]}, "two grades or more"),
        ({"grades": {"A": 1, "B": 1}}, "must differ"),
        ({"grades": ["yes, surely", "no"]}, "'yes, surely' cannot be a grade"),
        ({"grades": ["yes", "n/a"]}, "'n/a' cannot be a grade"),
        ({"grades": ["A" * 200, "B" * 200]}, "use shorter words"),
    ],
)
def test_grades_that_no_sheet_could_bring_back_are_refused(
    more: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(eh.InputError, match=message):
        graded(tmp_path / "it.db", **more)
    pairs = eh.Questions.comparisons(["Ann", "Bo"], ["P"])
    with pytest.raises(eh.InputError, match="two are compared"):
        eh.Campaign.create(tmp_path / "it.db", "it", pairs, grades=GRADES)
    assert not (tmp_path / "it.db").exists()
