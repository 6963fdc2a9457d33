"""Which column is what: names that people use, what the rows say, and advice that leads there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
import shell


def wines() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [
        (f"J{j}", "white" if w < 10 else "red", f"W{w}", w // 3 + rng.normal(), w % 2, j % 2)
        for j in range(9) for w in range(20)
    ]  # fmt: skip
    columns = ["judge", "flight", "wine", "score", "wine.amer", "judge.amer"]
    return pd.DataFrame(rows, columns=columns)


def dives() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    rows = [
        (f"D{d}", f"C{d % 4}", d, n, 1.5 + 0.1 * ((d + n) % 9), d / 3 + rng.normal(), f"K{j}",
         f"C{j % 5}")
        for d in range(12) for n in range(1, 7) for j in range(7)
    ]  # fmt: skip
    names = ["Diver", "Country", "Rank", "DiveNo", "Difficulty", "JScore", "Judge", "JCountry"]
    return pd.DataFrame(rows, columns=names)


def prompts(**called: str) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    rows = [(f"m{o}", f"j{j}", i, o + rng.normal()) for o in range(3) for j in range(3)
            for i in range(12)]  # fmt: skip
    return pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"]).rename(
        columns=called
    )


def advised(command: str, path: Path) -> list[str]:
    """Do as a command says until it refuses nothing; return what it was told by then."""
    said: list[str] = []
    for _ in range(4):
        done = shell.run(command, path, *said, env={"COLUMNS": "10000"})
        if done.exit_code != 2:
            return said
        found = re.findall(r"--column (\w+=\w+)", done.output.partition("say ")[2])
        new = [one for one in found if one not in said]
        assert new, done.output
        said += [word for one in new for word in ("--column", one)]
    raise AssertionError(said)


@pytest.mark.parametrize("command", ["audit", "decide"])
@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (wines, set()),
        (dives, {"item=DiveNo"}),
    ],
)
def test_the_advice_leads_to_the_right_columns(
    command: str, table: Any, parts: set[str], tmp_path: Path
) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    said = advised(command, tmp_path / "t.csv")
    assert set(said[1::2]) == parts


DIVE = {"option": "Diver", "score": "JScore", "item": "DiveNo"}


@pytest.mark.parametrize(("table", "parts", "groups"), [
    (wines, {}, ("wine.amer", "judge.amer")),
    (dives, DIVE, ("Country", "JCountry")),
])  # fmt: skip
def test_groups_are_known_beside_each_other(table: Any, parts: Any, groups: Any) -> None:
    called = eh.read_scores(table(), columns=parts).called
    assert (called["option_group"], called["evaluator_group"]) == groups
    torn = table().assign(**{groups[1]: lambda t: t.index % 3})
    found = eh.read_scores(torn, columns={**parts, "evaluator_group": None})
    assert "option_group" not in found.called


def remedies(call: Any, *given: Any, **settings: Any) -> list[Any]:
    """Return what helps a table that is refused."""
    with pytest.raises(eh.InputError) as error:
        call(*given, **settings)
    return [remedy[:2] for one in error.value.problems for remedy in one.remedies]


@pytest.mark.parametrize("call", [eh.audit, eh.decide])
def test_a_column_that_repeats_is_not_the_option(call: Any) -> None:
    found = remedies(call, wines(), columns={"option": "flight"})
    assert ("columns", {"option": "wine"}) in found


@pytest.mark.parametrize(("header", "called"), [
    ("userId,movieId,rating", "movieId userId rating"),
    ("Reviewer_Name,Paper ID,total_points", "Paper ID Reviewer_Name total_points"),
    ("rater,essay,holistic_score", "essay rater holistic_score"),
    ("Gutachter,Antrag,Punkte", "Antrag Gutachter Punkte"),
    ("Juror.No,Wine.Code,Final Mark", "Wine.Code Juror.No Final Mark"),
    ("annotator_id,output_id,label_value", "output_id annotator_id label_value"),
])  # fmt: skip
def test_three_columns_are_known_by_names_and_repeats(header: str, called: str) -> None:
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        rows = [(f"j{j}", 100 + o, 3 + (o + j) % 4) for j in range(4) for o in range(6)]
        table = pd.DataFrame(rows, columns=header.split(",")).iloc[:, order]
        found = eh.read_scores(table)
        roles = [found.called[role] for role in ("option", "evaluator", "score")]
        assert " ".join(roles) == called
        assert [note.assumption for note in found.notes] == ["column"]


@pytest.mark.parametrize("item", [
    "prompt_id", "question_id", "sample_id", "task_id", "item_id", "example_id", "doc_id",
    "instruction_id", "prompt", "Question", "id", "idx",
])  # fmt: skip
def test_items_are_known_by_their_names(item: str) -> None:
    scores = eh.read_scores(prompts(item=item))
    assert scores.called["item"] == item
    assert any(item in note.message and "read as" in note.message for note in scores.notes)
    assert eh.decide(prompts(item=item)).loss == eh.decide(prompts()).loss


@pytest.mark.parametrize("judge", [
    "judge_model", "grader_model", "evaluator_model", "grader", "scorer", "labeler", "labeller",
    "annotator", "rater", "reviewer", "taster", "juror", "voter",
])  # fmt: skip
def test_judges_are_known_by_their_names(judge: str) -> None:
    scores = eh.read_scores(prompts(evaluator=judge))
    assert (scores.called["evaluator"], len(scores.evaluator or ())) == (judge, 3)


def test_a_number_of_the_row_is_no_item() -> None:
    numbered = prompts(item="round").assign(id=range(108))
    assert eh.read_scores(numbered).item is None


@pytest.mark.parametrize("call", [eh.audit, eh.decide, eh.read_scores])
def test_columns_that_compete_are_both_named(call: Any) -> None:
    both = prompts(item="question").assign(task=lambda t: t["question"] % 5)
    either = [("columns", {"item": "question"}), ("columns", {"item": "task"})]
    assert remedies(call, both) == either
    judges = prompts(evaluator="judge").assign(rater=lambda t: t["item"] % 2)
    assert remedies(call, judges)[1] == ("columns", {"evaluator": "rater"})
    same = prompts(item="prompt_id").assign(prompt=lambda t: "text " + t["prompt_id"].astype(str))
    assert len(call(same).item if call is eh.read_scores else [1])


@pytest.mark.parametrize("column", ["my_reviewer", "llm_judge", "who", "subject"])
@pytest.mark.parametrize("call", [eh.decide, eh.audit, eh.read_scores])
def test_who_may_have_scored_is_asked_and_not_pooled(call: Any, column: str) -> None:
    rows = [(f"m{o}", q, f"w{j}", o + j % 2) for o in range(3) for q in range(4) for j in range(3)]
    table = pd.DataFrame(rows, columns=["model", "prompt_id", column, "score"])
    assert ("columns", {"evaluator": column}) in remedies(call, table)
    assert eh.read_scores(table, columns={"evaluator": column}).evaluator is not None
    assert eh.read_scores(table, columns={"evaluator": None}).evaluator is None
    assert eh.read_scores(table[table[column] == "w0"]).evaluator is None


def test_epochs_that_are_said_to_be_repeats_are_no_evaluators() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"o{o}", f"i{i}", str(epoch), 2.0 * o + rng.normal())
        for o in range(2)
        for i in range(20)
        for epoch in range(3)
    ]
    table = pd.DataFrame(rows, columns=["option", "item", "epoch", "score"])
    assert eh.decide(table, repeats=True).label == "o1"
    with pytest.raises(eh.InputError, match="epoch"):
        eh.decide(table)


def reviews() -> pd.DataFrame:
    """Return four papers by three reviewers, with marks on two criteria."""
    rows = [(f"P{p}", f"R{r}", 3 + p + (r + p) % 2, 6 - p + r % 2)
            for p in range(4) for r in range(3)]  # fmt: skip
    return pd.DataFrame(rows, columns=["paper", "reviewer", "novelty", "method"])


WEIGHTS = {"novelty": 2, "method": 1}


@pytest.mark.parametrize("call", [eh.read_scores, eh.audit, eh.decide])
def test_criteria_are_one_score_wide_or_long(call: Any) -> None:
    wide = reviews()
    long = wide.melt(["paper", "reviewer"], var_name="criterion", value_name="mark")
    mean = wide.assign(score=(2 * wide["novelty"] + wide["method"]) / 3)
    mean = mean[["paper", "reviewer", "score"]]
    for table in (wide, long):
        if call is eh.read_scores:
            found = call(table, criteria=WEIGHTS)
            np.testing.assert_allclose(found.score, mean["score"], rtol=1e-15)
            np.testing.assert_array_equal(found.criteria["method"], wide["method"])
            assert (found.item, found.weights) == (None, WEIGHTS)
        elif call is eh.audit:
            one, other = call(table, criteria=WEIGHTS), call(mean)
            pd.testing.assert_frame_equal(one.evaluators, other.evaluators)
        else:
            one, other = call(table, criteria=WEIGHTS), call(mean)
            assert (one.label, one.sure) == (other.label, other.sure)
            assert one.loss == pytest.approx(other.loss)


def test_criteria_are_asked_for_and_never_taken_for_items() -> None:
    long = reviews().melt(["paper", "reviewer"], var_name="criterion", value_name="mark")
    equal = ("criteria", {"novelty": 1, "method": 1})
    assert remedies(eh.decide, reviews())[0] == equal
    assert remedies(eh.decide, long)[0] == equal
    items = eh.read_scores(reviews(), wide=["novelty", "method"])
    assert items.item is not None
    assert len(items) == 24


@pytest.mark.parametrize("wide", [True, False])
def test_reviews_that_lack_a_criterion_are_refused_or_dropped_whole(wide: bool) -> None:
    table = reviews().astype({"method": float})
    table.loc[4, "method"] = np.nan
    if not wide:
        table = table.melt(["paper", "reviewer"], var_name="criterion", value_name="mark").dropna()
    assert remedies(eh.read_scores, table, criteria=WEIGHTS) == [("missing", "drop")]
    assert len(eh.read_scores(table, criteria=WEIGHTS, missing="drop")) == 11


@pytest.mark.parametrize("criteria", [
    {"novelty": 0}, {"novelty": -1}, {"novelty": "2"}, {"novelty": 1, "charm": 1},
])  # fmt: skip
def test_criteria_with_no_weight_or_no_column_are_refused(criteria: Any) -> None:
    remedies(eh.read_scores, reviews(), criteria=criteria)


def test_criteria_on_scales_of_their_own_are_refused() -> None:
    table = reviews().assign(method=lambda t: 10 * t["method"])
    assert remedies(eh.read_scores, table, criteria=WEIGHTS) == [("scale", ...)]
    assert len(eh.read_scores(table, criteria=WEIGHTS, scale=(0, 100))) == 12


@pytest.mark.parametrize("call", [eh.read_scores, eh.decide])
def test_nobody_known_gave_the_scores_of_a_wide_table_either(call: Any) -> None:
    wide = pd.DataFrame({"option": ["a", "b", "c"], "1": [3, 1, 1], "2": [4, 2, 1], "3": [4, 2, 2]})
    long = wide.melt("option", value_name="score").drop(columns="variable")
    found, same = (call(t, columns={"evaluator": None}) for t in (wide, long))
    if call is eh.read_scores:
        assert (found.evaluator, found.item, len(found)) == (None, None, 9)
        assert eh.read_scores(wide, wide="item").item is not None
    else:
        assert (found.label, found.loss) == (same.label, same.loss)


def test_each_criterion_is_fitted_alone_beside_the_score(tmp_path: Path) -> None:
    groups = {"option_group": dict.fromkeys(["P0", "P1"], "x") | dict.fromkeys(["P2", "P3"], "y"),
              "evaluator_group": {"R0": "x", "R1": "y", "R2": "y"}}  # fmt: skip
    audit = eh.audit(reviews(), criteria=WEIGHTS, columns=groups)
    answer = eh.decide(reviews(), criteria=WEIGHTS, columns=groups)
    assert audit.criteria is not None
    for name, bias in zip(audit.criteria["criterion"], audit.criteria["bias"], strict=True):
        alone = reviews()[["paper", "reviewer", name]].rename(columns={name: "score"})
        assert bias == pytest.approx(eh.audit(alone, columns=groups).bias.value)
        by_it = eh.decide(alone, columns=groups)
        assert answer.criteria[name].ranking[0].value == pytest.approx(by_it.ranking[0].value)
    for result in (answer, audit):
        result.report(tmp_path / "page.html")
        assert "On each criterion" in (tmp_path / "page.html").read_text("utf-8")
    assert {*audit.to_dict()["criteria"][0]} >= {"criterion", "weight", "bias"}
    assert [*answer.to_dict()["criteria"]] == ["novelty", "method"]


def test_who_scored_is_asked_where_only_an_aspect_beside_it_tells_scores_apart() -> None:
    rows = [(f"m{o}", f"w{j}", a, o + j % 2)
            for o in range(3) for j in range(5) for a in "xy"]  # fmt: skip
    table = pd.DataFrame(rows, columns=["model", "subject", "aspect", "score"])
    for name in ("subject", "who"):
        found = remedies(eh.decide, table.rename(columns={"subject": name}))
        assert ("columns", {"evaluator": name}) in found
        assert ("columns", {"evaluator": None}) in found
    worker = eh.read_scores(table.assign(worker_id=table["subject"]), columns={"item": "aspect"})
    assert worker.called["evaluator"] == "worker_id"


@pytest.mark.parametrize("thing", ["turn", "year", "subcriterionID"])
def test_what_is_called_as_a_thing_is_never_offered_as_evaluator(thing: str) -> None:
    rows = [(f"m{o}", t, o + t % 2) for o in range(3) for t in range(4)]
    found = remedies(eh.decide, pd.DataFrame(rows, columns=["model", thing, "score"]))
    assert found == [("columns", {"item": thing}), ("columns", {"evaluator": None})]


def test_judges_that_are_counted_hold_scores_and_name_nobody() -> None:
    rows = [
        (d, f"D{d}", 1 + d % 3, 7.5 + d % 2, 8.0, 6.5 + d % 3, 30.0 + 1.5 * d) for d in range(9)
    ]
    columns = ["Order", "Person", "Round_Number", "Judge1", "Judge2", "Judge3", "Difficulty"]
    table = pd.DataFrame(rows, columns=columns)
    wide = ("wide", ["Judge1", "Judge2", "Judge3"])
    assert remedies(eh.decide, table) == [wide]
    said = {"option": "Person", "evaluator": "Judge1", "score": "Difficulty"}
    assert wide in remedies(eh.decide, table, columns=said)
    summed = table.rename(columns={"Person": "diver", "Difficulty": "Round_Score"})
    assert remedies(eh.decide, summed) == [wide, ("columns", {"evaluator": None})]


def test_rows_of_a_wide_table_that_come_again_are_asked_about() -> None:
    rows = [(f"c{v}", f"s{o}", o + v % 2, 3 + o % 2, o) for v in range(5) for o in range(4)]
    columns = ["from whom", "place", "juror_0", "juror_1", "juror_2"]
    table = pd.DataFrame(rows, columns=columns)
    assert remedies(eh.decide, table) == [("columns", {"option": ...})]
    item, who = (("columns", {role: "from whom"}) for role in ("item", "evaluator"))
    assert remedies(eh.decide, table, columns={"option": "place"}) == [item]
    plain = table.rename(columns={f"juror_{j}": f"mark {j}" for j in range(3)})
    assert remedies(eh.decide, plain, columns={"option": "place"}) == [who, item]


def test_words_whose_order_nobody_knows_are_not_put_in_one() -> None:
    table = prompts().assign(score=lambda t: np.where(t["score"] > 1, "Minor", "Major"))
    assert remedies(eh.decide, table) == [("grades", ...)]
    winners = prompts().assign(score=lambda t: t["option"].shift(1, fill_value="m1"))
    assert remedies(eh.decide, winners) == []


@pytest.mark.parametrize("number", ["rownames", "order_id"])
def test_numbers_of_rows_are_no_evaluators(number: str) -> None:
    table = pd.DataFrame({"wine": list("abcd"), number: [1, 2, 3, 4], "P": [3, 5, 6, 2],
                          "Q": [4, 4, 7, 1]})  # fmt: skip
    scores = eh.read_scores(table, wide=True)
    assert scores.evaluator is not None
    assert scores.evaluator.names == ("P", "Q")
    assert any("'P', 'Q'" in note.message and number in note.message for note in scores.notes)
    ranks = pd.DataFrame({"wine": list("abcd"), "P": [1, 2, 3, 4], "Q": [2, 1, 4, 3]})
    assert len(eh.read_scores(ranks, wide=True, best="low")) == 8


def test_scores_go_from_those_who_give_to_those_who_get() -> None:
    rows = [(1990 + e, f"c{j}", f"c{o}", o + j, j)
            for e in range(2) for j in range(4) for o in range(4)]  # fmt: skip
    columns = ["edition", "from_country", "to_country", "tele_points", "jury_points"]
    found = remedies(eh.decide, pd.DataFrame(rows, columns=columns))
    assert found == [
        ("columns", {"evaluator": "from_country", "option": "to_country", "score": ...})
    ]


def test_what_tells_scores_apart_is_named_whole_and_is_no_number_of_a_row() -> None:
    rows = [(f"j{j}", f"s{o}", n, d, o + n) for j in range(3) for o in range(4)
            for n in range(2) for d in range(2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["judge", "song", "night", "dance", "score"])
    table.insert(0, "line no", range(len(table)))
    both = ("columns", {"item": ["night", "dance"]})
    assert both in remedies(eh.decide, table)
    assert both in remedies(eh.decide, table, columns={"item": "night"})


def test_a_participant_is_scored_where_somebody_else_judges() -> None:
    table = prompts(option="participant", evaluator="judge_id")
    assert eh.read_scores(table).called["option"] == "participant"
    asked = prompts(option="song", evaluator="participant")
    assert ("columns", {"evaluator": "participant"}) in remedies(eh.decide, asked)
