"""Ordinary files as offices write them: what is read of them, and that refusals lead on."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
import shell

FILMS, JUDGES = list("ABCDEFGH"), ["Anna", "Bert", "Cleo", "Dora", "Emil"]
MARKS = pd.DataFrame(
    np.random.default_rng(4).normal(6.0, 1.0, (8, 5)).round(1), columns=JUDGES, index=FILMS
)
WEIGHTS = [0.3, 0.3, 0.2, 0.1, 0.1]
DERIVED = {
    "Weighted total": MARKS @ WEIGHTS,
    "House view": MARKS @ WEIGHTS,
    "Panel score": MARKS.mean(axis=1),
    "Final": MARKS.median(axis=1),
    "Best of all": MARKS.max(axis=1),
    "Range": MARKS.max(axis=1) - MARKS.min(axis=1),
    "SD": MARKS.std(axis=1),
    "Rank": MARKS.sum(axis=1).rank(),
    "Max": MARKS.max(axis=1),
    "N": MARKS.count(axis=1),
}
LINES = {
    "Average": MARKS.mean(),
    "Std dev": MARKS.std(),
    "Spannweite": MARKS.max() - MARKS.min(),
    "Max": MARKS.max(),
    "Minimum": MARKS.min(),
    "Count": MARKS.count(),
    "Total": MARKS.sum(),
}


def names(scores: eh.Scores) -> tuple[list[str], list[str]]:
    assert scores.evaluator is not None
    return list(scores.option.names), list(scores.evaluator.names)


def refusal(table: Any, **reading: Any) -> str:
    with pytest.raises(eh.InputError) as caught:
        eh.decide(table, **reading)
    return str(caught.value)


def listed(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text.replace(" ", "\n")))


@pytest.mark.parametrize("corner", ["option", "film", "", "Proposal"])
def test_no_judge_is_lost_whatever_the_first_column_is_called(corner: str, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    MARKS.to_csv(path, index_label=corner)
    assert names(eh.read_scores(path)) == (FILMS, JUDGES)
    assert names(eh.read_scores(path, wide=True)) == (FILMS, JUDGES)
    long = MARKS.stack().reset_index().set_axis([corner or "option", "evaluator", "score"], axis=1)
    assert eh.read_scores(path).score.tolist() == long["score"].tolist()


@pytest.mark.parametrize("word", ["x", "not scored"])
def test_marks_among_words_do_not_vanish(word: str) -> None:
    table = MARKS.astype(object).reset_index(names="film")
    table.loc[:5, "Bert"] = word
    assert f"column 'Bert': {word!r}" in refusal(table)


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("place", [1, 6])
def test_what_is_worked_out_of_judges_is_none(name: str, place: int) -> None:
    table = MARKS.reset_index(names="film")
    table.insert(place, name, DERIVED[name].round(2).to_numpy())
    for wide in (False, True) if name != "Rank" else (False,):
        assert names(eh.read_scores(table, wide=wide)) == (FILMS, JUDGES)
    assert any(f"'{name[:5]}" in str(note) for note in eh.read_scores(table).notes)


def test_judges_are_not_worked_out_of_others() -> None:
    assert names(eh.read_scores(MARKS.rename(columns={"Emil": "Max"}).reset_index(names="film")))[
        1
    ] == [*JUDGES[:4], "Max"]
    for judge in ("Bert", "Emil"):  # a copy, and who gives what another does and one more
        for more in (0.0, 1.0):
            table = MARKS.assign(**{judge: MARKS["Anna"] + more}).reset_index(names="film")
            assert names(eh.read_scores(table))[1] == JUDGES
    alike = pd.DataFrame({j: np.arange(8) + k for k, j in enumerate(JUDGES)}, index=FILMS)
    assert names(eh.read_scores(alike.reset_index(names="film") * 1, wide=True))[1] == JUDGES


def test_a_mean_alone_is_not_read_beside_its_marks() -> None:
    table = MARKS.assign(Score=MARKS.mean(axis=1).round(1)).reset_index(names="Project")
    assert "wide=True" in refusal(table)
    assert names(eh.read_scores(table, wide=True)) == (FILMS, JUDGES)


@pytest.mark.parametrize("last", [[name] for name in LINES] + [list(LINES)])
def test_lines_of_statistics_are_no_options(last: list[str]) -> None:
    lines = pd.DataFrame({name: LINES[name] for name in last}).T.round(2)
    scores = eh.read_scores(pd.concat([MARKS, lines]).reset_index(names="film"))
    assert names(scores) == (FILMS, JUDGES)
    assert any(last[-1] in str(note) for note in scores.notes)


def test_unknown_lines_between_totals_are_none_and_films_called_max_are() -> None:
    lines = pd.DataFrame([MARKS.mean(), MARKS.std(), MARKS.sum()], ["Mean", "Streuung", "Total"])
    table = pd.concat([MARKS, lines.round(2)]).reset_index(names="film")
    assert names(eh.read_scores(table)) == (FILMS, JUDGES)
    few = pd.DataFrame({"P": [1, 4, 2, 4], "Q": [3, 3, 1, 3], "R": [2, 3, 3, 1]})
    few.index = ["A", "B", "C", "Max"]  # each mark is the most, the least or the number of others
    assert "Max" in eh.read_scores(few.reset_index(names="film")).option.names
    for at in (3, 7):
        films = [*FILMS[:at], "Max", *FILMS[at + 1 :]]
        assert names(eh.read_scores(MARKS.set_axis(films).reset_index(names="film")))[0] == films


FORM = (
    "Timestamp,Address,A,B,C 2024-03-01,a@x.org,4,6,8 2024-03-02,b@x.org,5,6,9 "
    "2024-03-03,c@x.org,4,8,7"
)
PAPERS = "paper_id,reviewer_id,overall 11,1,4 11,2,5 12,1,3 12,2,5 13,1,2 13,2,3"
EPOCHS = "model,judge,question_id,epoch,score " + " ".join(
    f"{m},J,{q},{e},{(3 * i + q * e) % 7}"
    for i, m in enumerate("ab")
    for q in (1, 2)
    for e in (1, 2)
)
VOTES = "left,right,preferred A,B,left B,C,right A,C,left C,B,left"
RANKS = "film,P,Q,R a,1,2,1 b,2,1,3 c,3,4,2 d,4,3,4"


@pytest.mark.parametrize(
    ("text", "advice", "more"),
    [
        (FORM, {"columns": {"evaluator": "Address"}}, {}),
        (FORM.replace("Timestamp,Address", "Address,Name"), {"columns": {"option": "Address"}}, {}),
        (PAPERS, {}, {}),
        (EPOCHS, {}, {}),
        (EPOCHS.replace("judge", "other"), {"repeats": True}, {}),
        (VOTES, {"columns": {"option": "left", "rival": "right", "score": "preferred"}}, {}),
        (RANKS, {"best": "low"}, {}),
        (RANKS.replace("film", "Film_(ranked)"), {"best": "low"}, {}),
        ("option,evaluator,finish a,P,1 b,P,2 a,Q,1 b,Q,3", {"best": "low"}, {}),
        (
            "film,R0_Novelty,R0_Rigour,R1_Novelty,R1_Rigour A,3,4,3,5 B,2,4,5,3 C,1,2,2,5",
            {"wide": ["R0_Novelty", "R1_Novelty"]},
            {},
        ),
    ],
)
def test_what_a_refusal_advises_works(text: str, advice: Any, more: Any) -> None:
    table = listed(text)
    if advice:
        with pytest.raises(eh.InputError) as caught:
            eh.decide(table, **more)
        ways = [remedy[:2] for one in caught.value.problems for remedy in one.remedies]
        assert {*map(repr, advice.items())} <= {*map(repr, ways)}
        assert ("columns", {"item": "epoch"}) not in ways
    assert len(eh.decide(table, **advice, **more).options.labels) > 1


def test_an_item_of_questions_and_epochs_is_refused() -> None:
    said = refusal(listed(EPOCHS), columns={"item": ["question_id", "epoch"]})
    assert "'item': 'question_id'} and that evaluators were asked again (repeats)" in said
    eh.decide(listed(EPOCHS), columns={"item": "question_id"}, repeats=True)


def test_a_judge_whose_order_is_that_of_the_rows_is_one() -> None:
    assert names(eh.read_scores(listed(RANKS), best="low"))[1] == ["P", "Q", "R"]


def test_columns_of_budgets_are_no_judges() -> None:
    table = MARKS.reset_index(names="Project")
    table.insert(1, "Budget (€)", [28000, 18000, 17000, 19000, 21000, 9000, 8000, 12000])
    assert names(eh.read_scores(table)) == (FILMS, JUDGES)


def test_who_stood_aside_is_kept_and_not_asked() -> None:
    table = MARKS.astype(object).reset_index(names="film")
    table.loc[0, "Anna"], table.loc[3, "Cleo"] = "COI", "recused"
    table.loc[0, "Bert"], table.loc[3, "Dora"] = None, None
    scores = eh.read_scores(table)
    asked = [(*one.options, one.evaluator) for one in eh.decide(table, top=4).next_questions]
    assert set(asked) <= {("A", "Bert"), ("D", "Dora")}
    assert asked
    assert scores.barred == (("A", "Anna"), ("D", "Cleo"))
    assert eh.read_scores(scores, repeats=False, telling=True).barred == scores.barred


def test_groups_that_are_one_number_are_one_group() -> None:
    text = "option,option_group,evaluator,evaluator_group,score a,1,P,1.0,3 b,2,P,1.0,4 a,1,Q,2.0,5"
    scores = eh.read_scores(io.StringIO(text.replace(" ", "\n")))
    assert scores.groups == ("1", "2")
    assert scores.partial is not None
    assert scores.partial.tolist() == [1.0, 0.0, 0.0]


def test_the_command_speaks_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("option,rival,evaluator,score\nA,B,P,1\nA,B,Q,5\nB,C,P,3\n")
    said = shell.run("decide", path).output
    assert "--scale 1,5" in said
    assert "--scale -5,5" in said
    assert shell.run("decide", path, "--scale", "1,5").exit_code != 2
