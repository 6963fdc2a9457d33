"""Tables of scores as people have them: what is read, and what is refused with row and column."""

from __future__ import annotations

import datetime
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import first_repeated
from score_tables import read_table, scored

LONG = """skater,judge,score,nation,from,cup,segment
Ann,P,7.5,FRA,FRA,Nice,SP
Bo,P,5.25,ITA,FRA,Nice,SP
Ann,Q,6.5,FRA,ITA,Nice,SP
Bo,Q,6,ITA,ITA,Nice,SP
Ann,P,8,FRA,FRA,Oslo,FS
Cy,Q,4,,ITA,Oslo,FS
"""
PARTS: dict[str, Any] = {
    "option": "skater",
    "evaluator": "judge",
    "option_group": "nation",
    "evaluator_group": "from",
    "event": ["cup", "segment"],
}


def read(text: str, **parts: Any) -> Scores:
    return read_table(io.StringIO(text), **parts)


def refused(table: Any, **parts: Any) -> str:
    with pytest.raises(eh.InputError) as error:
        read_table(io.StringIO(table) if isinstance(table, str) else table, **parts)
    return str(error.value)


def names(factor: Factor | None) -> list[str]:
    assert factor is not None
    return [factor.names[code] for code in factor.codes]


def messages(scores: Scores) -> str:
    return "\n".join(str(note) for note in scores.notes)


def by_hand() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(LONG))


def same_as_by_hand(scores: Scores) -> None:
    frame = by_hand()
    np.testing.assert_array_equal(scores.score, frame["score"])
    assert names(scores.option) == list(frame["skater"])
    assert names(scores.evaluator) == list(frame["judge"])
    assert names(scores.event) == [f"{c}, {s}" for c, s in zip(frame["cup"], frame["segment"])]  # noqa: B905
    assert scores.partial is not None
    np.testing.assert_array_equal(scores.partial, frame["nation"] == frame["from"])


def test_columns_are_found_by_their_names_and_none_says_there_is_none() -> None:
    text = "option,evaluator,score,item,event,option_group,evaluator_group\n"
    text += "a,P,1,i,e,x,x\nb,P,2,i,e,y,x\n"
    scores = read(text)
    assert names(scores.item) == ["i", "i"]
    assert names(scores.event) == ["e", "e"]
    assert scores.partial is not None
    assert scores.partial.tolist() == [1.0, 0.0]
    without = read(text, item=None, event=None, option_group=None, evaluator=None)
    assert (without.item, without.event, without.partial, without.evaluator) == (None,) * 4
    # a column that was named for something else is not taken for what it is called
    named = read(text, option="item", evaluator="option", option_group=None)
    assert named.item is None
    assert names(named.option) == ["i", "i"]


def test_comparisons_share_names_and_take_differences() -> None:
    text = (
        "option,rival,evaluator,score,option_group,rival_group,evaluator_group,length,rival_length\n"
        "a,b,J,1,x,y,x,10,4\nb,c,J,0,y,x,x,4,9\na,c,K,1,x,x,y,10,9\nb,a,J,1,y,x,x,4,10\n"
    )
    scores = read(text, attributes=["length"])
    assert scores.option.names == ("a", "b", "c")
    assert scores.rival is not None
    assert scores.rival.tolist() == [1, 2, 2, 0]
    assert scores.attributes["length"].tolist() == [6.0, -5.0, 1.0, -6.0]
    assert scores.partial is not None
    assert scores.partial.tolist() == [1.0, -1.0, 0.0, -1.0]
    torn = text.replace("b,a,J,1,y,x", "b,a,J,1,y,y")
    words = "column 'rival_group': option 'a' is of the group 'x' and, in line 5, of 'y'"
    assert words in refused(torn)


def test_times_may_be_numbers_or_dates() -> None:
    head = "option,evaluator,score,when\n"
    days = [(datetime.date(2016, 12, 30) - datetime.date(1970, 1, 1)).days + d for d in (0, 3)]
    for first, second in (("2016-12-30", "2017-01-02"), ("20161230", "20170102")):
        scores = read(f"{head}a,P,1,{first}\nb,P,2,{second}\n", time="when")
        assert scores.time is not None
        assert scores.time.tolist() == days
    assert read(f"{head}a,P,1,3\nb,P,2,1.5\n", time="when").time.tolist() == [3.0, 1.5]  # type: ignore[union-attr]
    stamps = pd.DataFrame({"option": ["a", "b"], "evaluator": "P", "score": [1, 2]})
    stamps["when"] = pd.to_datetime(["2016-12-30", "2017-01-02"])
    np.testing.assert_array_equal(read_table(stamps, columns={"time": "when"}).time, days)
    said = refused(f"{head}a,P,1,Jan 5\nb,P,2,Jan 6\n", time="when")
    assert "line 2 ('a'), column 'when': 'Jan 5' is a date or a time" in said


def test_truths_are_numbers() -> None:
    for cells in (["True", "False"], ["true", "FALSE"], [True, False]):
        frame = pd.DataFrame({"option": ["a", "b"], "evaluator": "P", "score": cells})
        assert read_table(frame).score.tolist() == [1.0, 0.0]


def test_groups_may_be_written_out() -> None:
    scores = read(LONG, **PARTS | {"evaluator_group": {"P": "FRA", "Q": "ITA"}})
    same_as_by_hand(scores)
    assert "names no evaluator" in refused(LONG, **PARTS | {"evaluator_group": {"X": "FRA"}})


def test_wide_tables_are_long_ones() -> None:
    wide = "skater,nation,P,Q,R\nAnn,FRA,7,8,\nBo,ITA,5,,6.5\n"
    long = "option,evaluator,score,nation\nAnn,P,7,FRA\nAnn,Q,8,FRA\nBo,P,5,ITA\nBo,R,6.5,ITA\n"
    groups: dict[str, Any] = {"option_group": "nation", "evaluator_group": {"P": "ITA", "R": "ITA"}}
    right = read(long, **groups)
    for given in (True, ["P", "Q", "R"]):
        for table in (io.StringIO(wide), pd.read_csv(io.StringIO(wide))):
            found = read_table(table, wide=given, columns={"option": "skater"}, **groups)
            np.testing.assert_array_equal(found.score, right.score)
            assert names(found.option) == names(right.option)
            assert names(found.evaluator) == names(right.evaluator)
            np.testing.assert_array_equal(found.partial, right.partial)
    some = read(wide, wide=["P", "Q"], option="skater")
    assert names(some.evaluator) == ["P", "Q", "P"]


def test_columns_of_a_wide_table_are_what_has_no_column() -> None:
    across = read("judge,Ann,Bo\nP,7,5\nQ,8,\n", wide=True, evaluator="judge")
    assert (names(across.option), names(across.evaluator)) == (
        ["Ann", "Bo", "Ann"],
        ["P", "P", "Q"],
    )
    tasks = read(
        "model,judge,t1,t2\nm,J,1,0\nn,J,,1\n", wide=True, option="model", evaluator="judge"
    )
    assert (names(tasks.item), names(tasks.option)) == (["t1", "t2", "t2"], ["m", "m", "n"])
    assert tasks.score.tolist() == [1.0, 0.0, 1.0]


def test_a_wide_table_given_as_long_is_recognised() -> None:
    wide = "skater,P,Q,R\nAnn,7.5,8,9\nBo,5.5,4,6\n"
    plain = read(wide, option="skater")
    assert (len(plain), plain.evaluator.names) == (6, ("P", "Q", "R"))
    assert "columns 'P', 'Q', 'R' hold numbers and are read as the scores" in messages(plain)
    paid = wide.replace("R\n", "R,funds\n").replace("9\n", "9,9000\n").replace("6\n", "6,70\n")
    said = refused(paid, option="skater")  # which of these are scores nobody can tell
    assert "wide=True if 'P', 'Q', 'R', 'funds' hold the scores of an evaluator each" in said
    assert "wide=True" in refused(wide, option="skater", evaluator="P", score="Q")
    assert "'P', 'Q', 'R' are evaluators, say that the table is wide" in messages(
        read(wide, option="skater", score="P")
    )
    cell = refused(wide.replace(",4,", ",x,"), wide=True)
    assert "line 3 ('Bo'), column 'Q': 'x' is not a number" in cell
    indexed = pd.DataFrame({"P": [7, 5], "Q": [6, 4]}, index=["Ann", "Bo"])
    assert "'P' comes first and holds numbers" in refused(indexed, wide=True)
    unnamed = refused("skater,P,Q\nAnn,,7\nBo,5,\n,4,8\n", wide=True)
    assert "line 4, column 'skater' is empty" in unnamed
    assert "two columns of scores" in refused("skater,P\nAnn,7\nBo,5\n", wide=True)
    assert "nothing to turn" in refused(LONG, **PARTS, item="cup", wide=True)


SMALL = "option,evaluator,score\na,P,7\nb,P,5\na,Q,6.5\nb,Q,6\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("7", "", "line 2 ('a'), column 'score' is empty (1 of 4 rows are)"),
        ("7", "n/a", "line 2 ('a'), column 'score' is empty or 'n/a' (1 of 4 rows are)"),
        ("7", "nan", "line 2 ('a'), column 'score' is empty or 'nan' (1 of 4 rows are)"),
        ("7", "inf", "line 2 ('a'), column 'score': inf is not a finite number"),
        ("7", "good", "line 2 ('a'), column 'score': 'good' is not a number"),
        ("7", '"7,5"', "line 2 ('a'), column 'score': '7,5' is not plainly a number"),
        ("7", "70%", "line 2 ('a'), column 'score': '70%' is not plainly a number"),
        ("7", "Jan 5", "line 2 ('a'), column 'score': 'Jan 5' is a date or a time"),
        ("7", "2016-01-05", "line 2 ('a'), column 'score': '2016-01-05' is a date or a time"),
        ("7", "12:30", "line 2 ('a'), column 'score': '12:30' is a date or a time"),
        ("7", "42374", "line 2 ('a'), column 'score': 42374 looks like a date (2016-01-05)"),
        ("b,P", ",P", "line 3, column 'option' is empty (1 of 4 rows are)"),
        ("b,P", "b,", "line 3 ('b'), column 'evaluator' is empty (1 of 4 rows are)"),
        ("b,Q", "a,Q", "line 4, line 5, column 'score': one evaluator scored the same thing twice"),
    ],
)
def test_a_bad_cell_is_named(old: str, new: str, words: str) -> None:
    assert words in refused(SMALL.replace(old, new, 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("option,evaluator,score", "has a header but no rows"),
        ("option,evaluator,score\n", "has a header but no rows"),
        ("option,evaluator,score\na,P,7\n", "one score only (line 2 ('a'), column 'score')"),
        (
            "option,evaluator,score\na,P,7\nb,P,7.0\n",
            "from line 2 ('a'), column 'score' on every score is 7: nothing",
        ),
        (
            "option,evaluator,score\na,P,\nb,P,\n",
            "column 'score' is empty in every row; name another",
        ),
        ("option,evaluator,score\na,P,20160105\nb,P,20160212\n", "20160105 looks like a date"),
        ("option,evaluator,score\na,P,42374\nb,P,42381\n", "42374 looks like a date (2016-01-05)"),
        ("option,evaluator,score\na,P,x\nb,P,y\n", "no cell of the column is; say grades="),
        ("option;evaluator;score\na;P;1.200\nb;P;800\n", "'1.200' may be 1200 or 1.2"),
    ],
)
def test_a_table_that_tells_nothing_is_refused(text: str, words: str) -> None:
    assert words in refused(text)


def test_numbers_of_the_size_of_dates_are_none_where_some_cannot_be() -> None:
    for one, other in ((20161305, 20161306), (35_000, 42_500)):
        text = f"option,evaluator,score\na,P,{one}\nb,P,{other}\n"
        assert read(text).score.tolist() == [one, other]


def test_points_are_what_the_user_says_they_are() -> None:
    text = "option;evaluator;score\na;P;1.200\nb;P;800\n"
    assert read(text, decimal=".").score.tolist() == [1.2, 800.0]
    assert read(text.replace(".", ","), decimal=",").score.tolist() == [1.2, 800.0]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    text = "option,evaluator,score,nation\na,P,7,x\n,P,inf,x\nb,,n/a,y\na,Q,abc,y\n"
    said = refused(text, option_group="nation")
    assert "6 things to correct" in said
    for words in (
        "line 3, column 'option' is empty",
        "line 4 ('b'), column 'evaluator' is empty",
        "line 4 ('b'), column 'score' is empty",
        "line 5 ('a'), column 'score': 'abc' is not a number",
        "line 3, column 'score': inf",
        "column 'nation': option 'a' is of the group 'x' and, in line 5, of 'y'",
    ):
        assert words in said


def test_rows_with_empty_cells_can_be_left_out() -> None:
    scores = read(
        "option,evaluator,score\na,P,7\nc,P,\n,Q,5\nb,,4\na,Q,n/a\nb,Q,3\n", missing="drop"
    )
    assert scores.score.tolist() == [7.0, 3.0]
    assert names(scores.option) == ["a", "b"]
    assert scores.option.names == ("a", "b")  # nothing is left of c
    assert "4 rows were left out" in messages(scores)
    late = "option,evaluator,score\na,P,\na,P,7\nb,P,8\nb,P,9\n"
    assert "line 4, line 5, column 'score'" in refused(late, missing="drop")  # rows of the file


def test_repeats_can_be_allowed_and_columns_that_tell_them_apart_are_named() -> None:
    text = "option,evaluator,score,round\na,P,7,1\na,P,8,2\nb,P,5,1\n"
    said = refused(text)
    assert "line 2, line 3" in said
    assert "option 'a', evaluator 'P'" in said
    assert "repeats=True" in said
    assert "('round' may)" in said
    runs = read(text.replace("round", "run"))  # which counts them
    for scores in (read(text, repeats=True), runs):
        assert "1 score was given again" in messages(scores)
    assert len(read(text, item="round")) == 3
    assert len(read(text, evaluator=None)) == 3  # then it may have been two


def test_scores_keep_to_a_stated_scale() -> None:
    assert read(SMALL, scale=(5, 7)).scale == (5.0, 7.0)
    said = refused(SMALL, scale=(0, 6))
    assert "line 2 ('a'), column 'score': 7 is outside the scale from 0 to 6 (2 of 4" in said
    dates = "option,evaluator,score\na,P,42374\nb,P,42381\n"
    assert read(dates, scale=(0, 100_000)).score.tolist() == [42374.0, 42381.0]
    for scale in ((7, 7), (0,), "wide", (0, float("nan"))):
        assert "scale=" in refused(SMALL, scale=scale)


def test_columns_that_are_not_there_are_named_with_the_nearest() -> None:
    said = refused(LONG, option="skatr", evaluator="Judges", score="score")
    assert "no column 'skatr'; did you mean 'skater'?" in said
    assert "no column 'Judges'; did you mean 'judge'?" in said
    assert "'skater' is named as option and as evaluator" in refused(
        LONG, option="skater", evaluator="skater"
    )
    assert "'judge' is named as" in refused(
        LONG, option="skater", evaluator="judge", item=["judge"]
    )
    for wrong in (["skater"], 3, None):
        assert "must be the name of a column" in refused(LONG, option=wrong)
    same_as_by_hand(read_table(by_hand().set_index("skater"), **PARTS))
    for wrong in ([1, 2], {"option": "a"}, None, 3):
        assert "must be a frame of pandas, polars or pyarrow" in refused(wrong)
    assert "there is no file" in refused(Path("nowhere.csv"))
    assert "missing is" in refused(SMALL, missing="ignore")
    assert "decimal is" in refused(SMALL, decimal=";")


def test_groups_that_never_meet_are_told() -> None:
    text = "option,evaluator,score,nation,from\na,P,7,FRA,{0}\nb,P,5,ITA,{0}\na,Q,6,FRA,{1}\n"
    groups = {"option_group": "nation", "evaluator_group": "from"}
    assert "No evaluator is of a group" in messages(read(text.format("SUI", "GER"), **groups))
    assert not messages(read(text.format("FRA", "ITA") + "b,Q,4,ITA,ITA\n", **groups))


def test_dates_in_columns_of_frames_are_no_scores() -> None:
    frame = pd.DataFrame({"option": ["a", "b"], "evaluator": "P"})
    frame["score"] = pd.to_datetime(["2016-01-05", "2016-01-06"])
    for table in (frame, pl.from_pandas(frame)):
        said = refused(table)
        assert "column 'score' holds dates or times, timestamp" in said


def test_workbooks_are_read_as_they_look(tmp_path: Path) -> None:
    import openpyxl  # noqa: PLC0415 # an extra

    path = tmp_path / "scores.xlsx"
    by_hand().to_excel(path, index=False)
    same_as_by_hand(read_table(path, **PARTS))
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    rows: list[list[Any]] = [
        [],
        ["option", "evaluator", "score", None],
        ["a", 1, 7],
        [],
        ["b", 1, datetime.datetime(2016, 5, 1)],
        ["b", 2, 8.5],
    ]
    for row in rows:
        sheet.append(row)
    book.save(path)
    said = refused(path)
    assert "row 5 ('b'), column 'score': '2016-05-01' is a date" in said
    sheet.cell(5, 3).value, sheet.cell(5, 3).number_format = 5.1, "General"
    book.save(path)
    scores = read_table(path)
    assert scores.score.tolist() == [7.0, 5.1, 8.5]
    assert names(scores.evaluator) == ["1", "1", "2"]
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert "old Excel workbook" in refused(path)
    path.write_bytes(b"PAR1")
    assert "cannot be read as Parquet" in refused(path)


def test_workbooks_are_read_without_openpyxl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand().to_excel(tmp_path / "scores.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    read = eh.read_scores(tmp_path / "scores.xlsx", columns=PARTS)
    assert read.to_dict() == eh.read_scores(by_hand(), columns=PARTS).to_dict()


def test_what_a_log_says_is_told() -> None:
    frame = pd.read_csv(io.StringIO(SMALL))
    frame.attrs["notes"] = ["3 samples were not graded."]
    assert messages(read_table(frame)) == "3 samples were not graded."


def test_what_is_worth_knowing_is_told() -> None:
    assert messages(read(SMALL)) == ""
    assert "one score only (1 of 3: 'R')" in messages(read(SMALL + "a,R,5\n"))
    assert "Nobody says who gave the scores" in messages(read(SMALL, evaluator=None))
    for cells, words in (("1111", "is 1 in every row"), ("0030", "runs from 0 to 3"), ("0100", "")):
        lines = SMALL.splitlines()
        text = "\n".join(
            [f"{lines[0]},own", *(f"{row},{c}" for row, c in zip(lines[1:], cells, strict=True))]
        )
        said = messages(read(text, partial="own"))
        assert words in said
        assert bool(said) == bool(words)


def test_more_combinations_than_a_number_can_hold_are_told_apart() -> None:
    # 5 columns of 2^20 names: 2^100 combinations
    top = np.int32(2**20 - 1)
    columns = [np.array([0, top, 0, top], dtype=np.int32) for _ in range(5)]
    columns[4] = np.array([0, top, 1, top], dtype=np.int32)
    found = first_repeated(*columns)
    assert found is not None
    assert found[0].tolist() == [1, 3]
    columns[0] = np.array([0, top, 0, 5], dtype=np.int32)
    assert first_repeated(*columns) is None


HALF = pd.Series(["a\ud800"] * 12, dtype=object)  # of a character


def jury(**changed: Any) -> pd.DataFrame:
    """Return four options and three judges, whose scores are whole numbers."""
    marks = 10 - 2 * np.arange(4)[:, None] + np.random.default_rng(4).integers(0, 3, (4, 3))
    return scored(marks).astype({"score": int}).assign(**changed)


@pytest.mark.parametrize("offset", [10**6, 10**12, 2**52])
def test_whole_numbers_keep_their_digits_at_any_level(offset: int) -> None:
    frame = jury()
    plain, raised = eh.decide(frame), eh.decide(frame.assign(score=frame["score"] + offset))
    assert (raised.label, raised.sure, raised.loss) == (plain.label, plain.sure, plain.loss)
    np.testing.assert_allclose(raised.conclusion.leads, plain.conclusion.leads, rtol=1e-9)
    np.testing.assert_allclose(
        [one.value - offset for one in raised.ranking],
        [one.value for one in plain.ranking],
        atol=1.0 if offset > 10**12 else 1e-3,
    )


@pytest.mark.parametrize(("scores", "words"), [
    (lambda y: y / 3.0 + 1e12, "rounded to 0.00012.*is lost"),
    (lambda y: y * 1e-200, "in another unit"), (lambda y: y * 1e200, "in another unit"),
    (lambda y: [2**60 + int(x) for x in y], "numbers of that size are rounded to"),
])  # fmt: skip
@pytest.mark.parametrize("what", [eh.decide, eh.audit])
def test_scores_that_lost_their_digits_are_refused_by_name(
    what: Any, scores: Any, words: str
) -> None:
    frame = jury()
    with pytest.raises(eh.InputError, match=f"column 'score'.*{words}"):
        what(frame.assign(score=scores(frame["score"])))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"evaluator": HALF}, "column 'evaluator'.*half of a character"),
        ({"score": jury()["score"] + 1j}, "is not a number"),
        ({"score": pd.period_range("2020-01", periods=12, freq="M")}, "'2020-01' is not a number"),
        ({"score": [10**400, *range(11)]}, "not a finite number"),
    ],
)
@pytest.mark.parametrize("what", [eh.decide, eh.audit])
def test_cells_that_no_table_should_have_are_refused_in_words(
    what: Any, changed: dict[str, Any], words: str
) -> None:
    with pytest.raises(eh.InputError, match=words):
        what(jury(**changed))


@pytest.mark.parametrize("what", [eh.decide, eh.audit])
@pytest.mark.parametrize(
    "settings", [{"wide": 5}, {"confidence": None}, {"confidence": [0.9]}, {"scale": (0, 10**400)}]
)
def test_settings_of_the_wrong_kind_are_named(what: Any, settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(eh.InputError, match=name):
        what(jury(), **settings)


def test_numbers_of_any_size_and_periods_are_names() -> None:
    huge = jury(option=[10**30 + x // 3 for x in range(12)])
    months = jury(option=pd.PeriodIndex([f"2020-0{1 + x // 3}" for x in range(12)], freq="M"))
    assert eh.decide(huge).label == str(10**30)
    assert eh.decide(months).label == "2020-01"


def test_cells_that_are_no_plain_numbers() -> None:
    blanks = "option,evaluator,score\na,P,n/a\nb,P, \na,Q,6.5\nb,Q,6\n"
    assert read(blanks, missing="drop").score.tolist() == [6.5, 6.0]
    words = "option,evaluator,score\na,P,C\nb,P,p\na,Q,0.25\nb,Q,I\n"
    assert read(words).score.tolist() == [1.0, 0.5, 0.25, 0.0]


LETTERS = "option,evaluator,score\na,P,A\nb,P,b\nc,P,C-\na,Q,B\nb,Q,B\nc,Q,C−\n"


def test_grades_are_numbers_by_their_declared_order() -> None:
    scores = read(LETTERS, grades=["A", "B", "C", "C-"])
    assert scores.score.tolist() == [4.0, 3.0, 1.0, 3.0, 3.0, 1.0]
    assert scores.scale == (1.0, 4.0)
    assert "equally spaced: A = 4, B = 3, C = 2, C- = 1" in messages(scores)
    stated = read(LETTERS, grades={"C-": 0.5, "A": 4, "B": 3.5})
    assert stated.score.tolist() == [4.0, 3.5, 0.5, 3.5, 3.5, 0.5]
    assert list(stated.grades) == ["A", "B", "C-"]
    assert "as you stated them" in messages(stated)
    numbers = read("option,evaluator,score\na,P,1\nb,P,2\n", grades=["1", "2"])  # 1 is the best
    assert numbers.score.tolist() == [2.0, 1.0]


def test_what_is_no_grade_is_refused_with_the_nearest() -> None:
    said = refused(LETTERS.replace("a,Q,B", "a,Q,very good"), grades=["A", "B", "C-", "Very poor"])
    assert "line 5 ('a'), column 'score': 'very good' is none of the grades" in said
    assert "did you mean" in refused(LETTERS.replace("A", "AA"), grades=["AA+", "B", "C-"])
    assert "grades=['A', 'B', 'C−']" in refused(LETTERS)
    for wrong in ("A,B", ["A"], ["A", "a"], {"A": np.nan, "B": 1}, {"A": 1}, [1, 2]):
        assert "grades" in refused(LETTERS, grades=wrong)


def test_letters_of_tools_are_read_only_where_all_are() -> None:
    tool = read("option,evaluator,score\na,P,C\nb,P,I\na,Q,C\nb,Q,P\n")
    assert tool.score.tolist() == [1.0, 0.0, 1.0, 0.5]
    assert "if these are grades" in refused("option,evaluator,score\na,P,C\nb,P,A\na,Q,C\nb,Q,B\n")


@pytest.mark.parametrize("other", ["ANN", "ann", "Ann.", "\uff21nn", "An n"])
def test_names_that_differ_in_spelling_only_are_refused_in_all_layouts(other: str) -> None:
    taken = other != "An n"
    names = ["Ann", "Bo", other]
    long = [
        (x, y, (3 * i + i * j + 2 * j) % 5)
        for i, x in enumerate(names)
        for j, y in enumerate("PQR")
    ]
    columns = ["option", "evaluator", "score"]
    tables = [
        (pd.DataFrame(long, columns=columns), "option"),
        (pd.DataFrame(long, columns=["evaluator", "option", "score"]), "evaluator"),
        (pd.DataFrame(long, columns=columns).pivot_table("score", "option", "evaluator")
         .reset_index(), "option"),
        (pd.DataFrame(long, columns=columns).pivot_table("score", "evaluator", "option")
         .reset_index().rename(columns={"evaluator": "option"}), other),
    ]  # fmt: skip
    for table, column in tables:
        if taken:
            with pytest.raises(eh.InputError) as error:
                eh.read_scores(table)
            (cell,) = error.value.problems
            assert cell.column in ({other, "Ann"} if column == other else {column})
        else:
            assert len(eh.read_scores(table)) == 9


@pytest.mark.parametrize("groups", [["Lyon", "LYON"], ["Lyon", "lyon "], ["Lyon", "Lyon."]])
def test_groups_that_differ_in_spelling_only_are_refused_in_all_layouts(groups: list[str]) -> None:
    ours, theirs = {"a": groups[0], "b": "Nice"}, {"P": groups[1], "Q": "Nice"}
    wide = pd.DataFrame({"option": ["a", "b"], "P": [3, 1], "Q": [2, 4]})
    long = wide.melt("option", var_name="evaluator", value_name="score")
    for table in (wide, long):
        with pytest.raises(eh.InputError, match="differ in capitals"):
            eh.read_scores(table, columns={"option_group": ours, "evaluator_group": theirs})
    both = long.assign(option_group=long["option"].map(ours),
                       evaluator_group=long["evaluator"].map(theirs))  # fmt: skip
    with pytest.raises(eh.InputError, match="differ in capitals"):
        eh.read_scores(both)


def test_no_column_of_a_wide_table_is_lost_where_options_are_called_so() -> None:
    wide = pd.DataFrame({"option": ["a", "b"], "P": [3, 1], "Q": [2, 4], "R": [2, 5]})
    assert eh.read_scores(wide).evaluator.names == ("P", "Q", "R")  # type: ignore[union-attr]
    unknown = eh.read_scores(wide, columns={"evaluator": None})
    assert unknown.evaluator is None
    assert unknown.item is None
    assert eh.read_scores(wide, wide="item").item.names == ("P", "Q", "R")  # type: ignore[union-attr]


def test_copies_are_dropped_on_request() -> None:
    text = SMALL + "a,P,7\na,P,7\n"
    assert "copies='drop'" in refused(text)
    scores = read(text, copies="drop")
    assert len(scores) == 4
    assert "2 rows are copies of another in every cell" in messages(scores)
    assert "'refuse' or 'drop'" in refused(text, copies="keep")
    differing = SMALL + "a,P,8\n"  # another score is no copy
    assert "scored the same thing twice" in refused(differing, copies="drop")


def test_a_line_of_totals_is_one_only_if_it_adds_up() -> None:
    wide = "film,P,Q,R\nx,7,5,6\ny,3,2,4\n"
    assert len(read(wide + "Mean,5,3.5,5\n", wide=True, option="film")) == 6
    kept = read(wide + "Total,9,9.5,9\n", wide=True, option="film")  # a film of that name
    assert "Total" in kept.option.names
    long = read(SMALL + "Average,,6.1\n")
    assert "taken for totals" in messages(long)
    assert len(long) == 4


def test_who_stands_aside_gives_no_score() -> None:
    scores = read(SMALL.replace("b,Q,6", "b,Q,COI"))
    assert len(scores) == 3
    assert "1 cell with 'COI' is taken for no score" in messages(scores)
    both = SMALL.replace("b,Q,6", "b,Q,COI").replace("b,P,5", "b,P,")
    assert "line 3 ('b'), column 'score' is empty (1 of 4 rows are)" in refused(both)


def test_columns_of_numbers_are_evaluators_and_never_ages() -> None:
    wide = "nr,applicant,age,P,Q\n1,Ann,31,70,65\n2,Bo,45,50,40\n3,Cy,38,60,66\n"
    scores = read(wide)
    assert (scores.option.names, scores.evaluator.names) == (("Ann", "Bo", "Cy"), ("P", "Q"))


def test_findings_are_equal_when_they_say_the_same_whichever_nan_they_hold() -> None:
    """From Python 3.13 on, a dataclass with a NaN is not even equal to its copy."""
    one, other = (eh.Finding("fit", "It bends.", p_value=float("nan")) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != eh.Finding("fit", "It bends.", p_value=0.5)


def test_rules_of_a_table_are_no_scores_of_ones_own() -> None:
    """Countries that give themselves 0: dropped; where they judge themselves, they favour."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(8)]
    rows = [(a, b, 0.0 if a == b else rng.integers(0, 12)) for a in names for b in names]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    scores = eh.read_scores(table)
    assert len(scores) == 56
    assert any("8 scores that evaluators gave themselves are all 0" in str(n) for n in scores.notes)
    assert len(eh.read_scores(table, best="low")) == 64  # the best that one can give oneself
    table.loc[0, "score"] = 1.0
    assert len(eh.read_scores(table)) == 64
    table.loc[table["option"] == table["evaluator"], "score"] = 12.0
    assert len(eh.read_scores(table)) == 64
    table["score"] = np.where(table["option"] == table["evaluator"], 1.0, rng.random(64) < 0.9)
    assert len(eh.read_scores(table)) == 64  # by chance, perhaps
