"""Comparisons as people write them: who won, in words or in numbers, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from evenhand.judges import Judge, comparisons

WON = [i % 10 == 0 for i in range(100)]  # 'weak' wins 10 of 100 against 'strong'


def battles(scores: list[Any], **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {"option": "weak", "rival": "strong", "item": range(len(scores)), "score": scores} | columns
    )


SIGNED = eh.decide(battles([2 * won - 1 for won in WON]))
WAYS = [
    (True, False), (1, 0), (1.0, 0.0), ("1", "0"), ("A", "B"), ("model_a", "model_b"),
    ("Model A", "Model B"), ("first", "Second"), ("left", "right"), ("option", "rival"),
    ("win", "loss"), ("win", "lose"), ("won", "lost"), ("True", "False"), ("weak", "strong"),
    ("yes", "no"),
]  # fmt: skip


@pytest.mark.parametrize(("win", "loss"), WAYS)
def test_a_win_is_a_win_however_it_is_written(win: Any, loss: Any) -> None:
    said = eh.decide(battles([win if won else loss for won in WON]))
    assert (said.label, said.sure) == ("strong", True)
    pd.testing.assert_frame_equal(said.standings, SIGNED.standings)


@pytest.mark.parametrize("tie", ["tie", "tie (bothbad)", "both", "both_bad", "Draw"])
def test_ties_are_in_the_middle(tie: str) -> None:
    words = [tie if i % 3 == 0 else "A" if i % 3 == 1 else "B" for i in range(30)]
    assert eh.read_scores(battles(words)).score.tolist() == [0.0, 1.0, -1.0] * 10
    halves = [{tie: 0.5, "A": 1.0, "B": 0.0}[word] for word in words]
    assert eh.read_scores(battles(halves)).score.tolist() == [0.0, 1.0, -1.0] * 10


def test_wins_and_ties_in_words_are_no_losses() -> None:
    assert eh.read_scores(battles(["A", "tie", "A"])).score.tolist() == [1.0, 0.0, 1.0]


def test_who_wins_every_time_leads() -> None:
    assert eh.decide(battles(["A"] * 20)).label == "weak"
    with pytest.raises(eh.InputError, match="nothing to compare"):
        eh.decide(battles(["tie"] * 20))


def test_0_is_a_tie_in_the_middle_of_a_stated_scale() -> None:
    for scale in ((-1, 1), (-3, 3)):
        assert eh.read_scores(battles([1, 0, 1]), scale=scale).score.tolist() == [1.0, 0.0, 1.0]
    assert eh.read_scores(battles([1, 0, 1]), scale=(0, 1)).score.tolist() == [1.0, -1.0, 1.0]
    assert eh.read_scores(battles([1, 0, 1]), scale=(0, 2)).score.tolist() == [0.0, -1.0, 0.0]


@pytest.mark.parametrize(
    "names",
    [("model_1", "model_2"), ("modelA", "modelB"), ("Model1", "Model2"), ("model-a", "model b")],
)
def test_two_models_are_found_by_their_columns(names: tuple[str, str]) -> None:
    table = battles(["A" if won else "B" for won in WON])
    table = table.rename(columns=dict(zip(("option", "rival"), names, strict=True)))
    assert eh.decide(table).label == "strong"


@pytest.mark.parametrize("scores", [[1, 2], [1, 5, 3], [0.2, 0.9], [0, 2], [-3, -1], [0, 0.7, 1]])
def test_numbers_that_never_change_sign_are_refused_with_what_to_say(scores: list[float]) -> None:
    table = battles(scores * 4)
    with pytest.raises(eh.InputError, match="first, second or tie") as error:
        eh.decide(table)
    low, high = min(scores), max(scores)
    assert error.value.problems[0].remedies[0][:2] == ("scale", (low, high))
    middle = eh.read_scores(table, scale=(low, high)).score
    np.testing.assert_allclose(middle, np.array(scores * 4) - 0.5 * (low + high))
    kept = eh.read_scores(table, scale=(-5, 5)).score  # what never happened could have
    assert kept.tolist() == scores * 4


@pytest.mark.parametrize("tie", ["½", "1/2", "0.5", "0,5", "tie", "draw"])
def test_ones_and_zeros_have_ties_beside_them(tie: str) -> None:
    assert eh.read_scores(battles(["1", "0", tie] * 4)).score.tolist() == [1.0, -1.0, 0.0] * 4


def test_options_called_0_and_1_win_by_their_names() -> None:
    table = battles(["0", "1", "0"] * 4, option="1", rival="0")
    assert eh.read_scores(table).score.tolist() == [-1.0, 1.0, -1.0] * 4


def test_what_an_error_says_leads_to_the_one_who_won() -> None:
    places = battles([1 if won else 2 for won in WON])  # 1: the first is better
    with pytest.raises(
        eh.InputError, match=r"scale=\(2, 1\) if 1.5 is a tie and 1 is for the first"
    ):
        eh.decide(places)
    assert eh.decide(places, scale=(2, 1)).label == "strong"
    lost = battles([0] * 20)
    assert eh.read_scores(lost, scale=(0, 1)).score.tolist() == [-0.5] * 20
    with pytest.raises(eh.InputError, match="which of two options is better"):
        eh.decide(battles([1 if won else 0 for won in WON]), scale=(1, 0))


def test_a_second_option_is_asked_for_where_its_column_is_not_known() -> None:
    pairs = [("x", "y"), ("y", "z"), ("z", "x"), ("x", "z"), ("y", "x"), ("z", "y")]
    table = pd.DataFrame(pairs, columns=["option", "against whom"])
    table = table.assign(evaluator="P", score=["A", "B", "tie"] * 2)
    with pytest.raises(eh.InputError, match="'rival': 'against whom'") as error:
        eh.decide(table)
    assert "grades" not in str(error.value)
    assert (
        eh.read_scores(table, columns={"rival": "against whom"}).score.tolist()
        == [1.0, -1.0, 0.0] * 2
    )
    one_hot = table.rename(columns={"option": "model_a", "against whom": "model_b"}).drop(
        columns="score"
    )
    one_hot = one_hot.assign(won_a=[1, 0, 0] * 2, won_b=[0, 1, 0] * 2)
    with pytest.raises(eh.InputError, match="no column 'score'"):
        eh.decide(one_hot)


def test_strengths_with_a_sign_stay_as_they_are() -> None:
    assert eh.read_scores(battles([2, -1, 0, 1])).score.tolist() == [2, -1, 0, 1]


@pytest.mark.parametrize("call", [eh.decide, eh.audit])
def test_grades_are_neither_taken_nor_offered(call: Any) -> None:
    table = battles(["good", "bad"] * 5, evaluator="P")
    with pytest.raises(eh.InputError, match="two are compared"):
        call(table, grades=["good", "bad"])
    with pytest.raises(eh.InputError, match="first, second or tie") as error:
        call(table)
    assert "grades" not in str(error.value)


def test_a_name_that_is_also_a_place_is_refused() -> None:
    table = pd.DataFrame([("B", "A", "A"), ("A", "B", "A")], columns=["option", "rival", "score"])
    with pytest.raises(eh.InputError, match="may be the option of that name"):
        eh.read_scores(table)
    assert eh.read_scores(table.iloc[1:]).score.tolist() == [1.0]


def test_both_orders_with_0_and_1_invent_no_bias_of_position() -> None:
    rng = np.random.default_rng(4)
    rows = [
        (*pair, judge, item, int(rng.random() < (0.8 if pair[0] == "strong" else 0.2)))
        for item in range(40) for judge in ("P", "Q", "R")
        for pair in (("strong", "weak"), ("weak", "strong"))
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["option", "rival", "evaluator", "item", "score"])
    signed = table.assign(score=2 * table["score"] - 1)
    assert str(eh.audit(table).bias) == str(eh.audit(signed).bias)
    assert eh.decide(table).label == "strong"


@pytest.mark.parametrize(
    ("first", "second", "sure"), [(10, 10, True), (3, 3, True), (2, 2, False), (19, 1, False)]
)
def test_verdicts_that_all_agree_are_sure_by_the_sign_test(
    first: int, second: int, sure: bool
) -> None:
    """2⁻ⁿ is below 2.5% from n = 6 on; who is always named first may win by that."""
    rows = [("Ann", "Bo", 1)] * first + [("Bo", "Ann", -1)] * second
    table = pd.DataFrame(rows, columns=["option", "rival", "score"])
    answer = eh.decide(table.assign(evaluator=[f"judge {i}" for i in range(len(rows))]))
    assert (answer.label, answer.sure) == ("Ann", sure)


def test_battles_of_an_arena_are_read_by_the_names_of_their_columns(tmp_path: Path) -> None:
    lines = ["question_id,model_a,model_b,winner"]
    lines += [f"q{i},haiku,opus,{'model_a' if i % 5 == 0 else 'model_b'}" for i in range(60)]
    (tmp_path / "battles.csv").write_text("\n".join(lines))
    done = CliRunner().invoke(app, ["decide", str(tmp_path / "battles.csv"), "--json"])
    assert done.exit_code == 0, done.output
    assert eh.decide(tmp_path / "battles.csv").label == "opus"


@pytest.mark.parametrize(("win", "loss"), [*WAYS[4:14], ("Ann", "Ann")])
def test_who_chooses_and_who_decides_read_the_same_words(win: str, loss: str) -> None:
    def compare(question: eh.Question) -> str:
        return win if question.labels[0] == "Ann" else loss

    asked = eh.Questions.comparisons(["Ann", "Bo"], ["P", "Q"])
    assert eh.choose(asked, compare, scores="verdicts", at_most=400).label == "Ann"
    if win != "Ann":  # a judge is not told whose the texts are
        judge = Judge(lambda first, second: win if first == "good" else loss, name="P")
        panel = comparisons({"Ann": "good", "Bo": "bad"}, [judge])
        assert panel.choose(at_most=200, progress=False).label == "Ann"
