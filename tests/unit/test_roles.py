"""Which column is what: names that people use, what the rows say, and advice that leads there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app


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
        done = CliRunner().invoke(app, [command, str(path), *said], env={"COLUMNS": "10000"})
        if done.exit_code != 2:
            return said
        found = re.findall(r"--column (\w+=\w+)", done.output.partition("say ")[2])
        new = [one for one in found if one not in said]
        assert new, done.output
        said += [word for one in new for word in ("--column", one)]
    raise AssertionError(said)


@pytest.mark.parametrize("command", ["audit", "decide"])
@pytest.mark.parametrize(("table", "parts"), [
    (wines, {"evaluator=judge", "option=wine"}),
    (dives, {"evaluator=Judge", "option=Diver", "score=JScore", "item=DiveNo",
             "option_group=Country", "evaluator_group=JCountry"}),
])  # fmt: skip
def test_the_advice_leads_to_the_right_columns(
    command: str, table: Any, parts: set[str], tmp_path: Path
) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    said = advised(command, tmp_path / "t.csv")
    assert set(said[1::2]) == parts


@pytest.mark.parametrize(("table", "parts", "groups"), [
    (wines, {"option": "wine"}, ("wine.amer", "judge.amer")),
    (dives, {"option": "Diver", "score": "JScore", "item": "DiveNo"}, ("Country", "JCountry")),
])  # fmt: skip
def test_groups_are_known_beside_each_other(table: Any, parts: Any, groups: Any) -> None:
    called = eh.read_scores(table(), **parts).called
    assert (called["option_group"], called["evaluator_group"]) == groups
    torn = table().assign(**{groups[1]: lambda t: t.index % 3})
    assert "option_group" not in eh.read_scores(torn, evaluator_group=None, **parts).called


@pytest.mark.parametrize("call", [eh.audit, eh.decide])
def test_a_column_that_repeats_is_not_the_option(call: Any) -> None:
    with pytest.raises(eh.InputError, match="say option='wine'"):
        call(wines(), option="flight")


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
    with pytest.raises(eh.InputError, match="item='question' or item='task'"):
        call(both)
    judges = prompts(evaluator="judge").assign(rater=lambda t: t["item"] % 2)
    with pytest.raises(eh.InputError, match="evaluator='judge' or evaluator='rater'"):
        call(judges)
    same = prompts(item="prompt_id").assign(prompt=lambda t: "text " + t["prompt_id"].astype(str))
    assert len(call(same).item if call is eh.read_scores else [1])


@pytest.mark.parametrize("column", ["reviewer_name", "llm_judge", "critic", "worker"])
@pytest.mark.parametrize("call", [eh.decide, eh.audit, eh.read_scores])
def test_who_may_have_scored_is_asked_and_not_pooled(call: Any, column: str) -> None:
    rows = [(f"m{o}", q, f"w{j}", o + j % 2) for o in range(3) for q in range(4) for j in range(3)]
    table = pd.DataFrame(rows, columns=["model", "prompt_id", column, "score"])
    with pytest.raises(eh.InputError, match=f"evaluator='{column}'"):
        call(table)
    assert eh.read_scores(table, evaluator=column).evaluator is not None
    assert eh.read_scores(table, evaluator=None).evaluator is None
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
