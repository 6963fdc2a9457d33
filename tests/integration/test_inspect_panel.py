"""`evenhand inspect` for panels, as a user runs it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import evenhand as eh
import shell

run = partial(shell.run, "inspect")

SKATERS = "skater,nation\nAnn,fr\nBo,it\nCy,us\n"
JUDGES = "judge,group,fee\nP,fr,1\nQ,it,1\nN,,20\n"
SCORES = """skater,nation,judge,from
Ann,fr,P,fr
Bo,it,P,fr
Cy,us,Q,it
Di,us,Q,it
"""


WHO = ("--evaluators", "judges")
NATION = "--column=option_group=nation"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for name, text in (("skaters", SKATERS), ("judges", JUDGES), ("scores", SCORES)):
        made[name] = tmp_path / f"{name}.csv"
        made[name].write_text(text)
    return made


def test_a_panel_of_two_files_says_what_the_library_says(files: dict[str, Path]) -> None:
    arguments = [files["skaters"], "--evaluators", files["judges"], "--column=option_group=nation"]
    arguments += ["--column=prices=fee"]
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    panel = eh.Questions.panel(
        {"Ann": "fr", "Bo": "it", "Cy": "us"},
        {"P": "fr", "Q": "it", "N": None},
        prices=[1.0, 1.0, 20.0],
    )
    found = eh.inspect(panel)
    assert json.loads(result.stdout) == json.loads(json.dumps(found.to_dict()))
    words = " ".join(run(*arguments).stdout.split())
    for sentence in found.to_dict()["words"]:
        assert " ".join(sentence.removeprefix("What helps: ").split()) in words


def test_scores_that_link_nothing_exit_with_3_and_advice_that_cures(
    files: dict[str, Path], tmp_path: Path
) -> None:
    arguments = ["--scores", files["scores"], "--column=option=skater", "--column=evaluator=judge"]
    arguments += ["--column=option_group=nation", "--column=evaluator_group=from"]
    result = run(*arguments, "--json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    # P favours Ann, so that Ann and Bo stand apart; Q favours neither of its two
    assert found["classes"] == [["Ann"], ["Bo"], ["Cy", "Di"]]
    nations = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "us"}
    more = [
        f"{ask['about'][0]},{nations[ask['about'][0]]},{ask['evaluator']},"
        f"{ {'P': 'fr', 'Q': 'it'}[ask['evaluator']] }\n"
        for advice in found["advice"]
        for ask in advice["add"]
    ]
    files["scores"].write_text(SCORES + "".join(more))
    assert run(*arguments).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "OPTIONS.csv is missing"),
        (["--evaluators", "judges"], "OPTIONS.csv, about whom, is missing"),
        (["skaters", "--scores", "scores"], "leave OPTIONS.csv and --evaluators out"),
        (["--scores", "scores", "--column=option=dancer"], "no column 'dancer'"),
        (["--scores", "scores", "--column=features=age"], "--column features is about options"),
        (["--scores", "scores", "--ask", "workload=3"], "--ask workload is for several evaluators"),
        (
            ["skaters", "--column=option_group=nation", "--ask", "pairs"],
            "--ask pairs is for several",
        ),
        (["skaters", *WHO, "--column=option_group=town"], "no column 'town'"),
        (
            ["skaters", *WHO, NATION, "--assume", "bias=mine"],
            "bias must be 'common', 'evaluator' or",
        ),
        (["skaters", *WHO, NATION, "--column=prices=judge"], "column 'judge': 'P' is not a"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(
    files: dict[str, Path], arguments: list[str], words: str
) -> None:
    result = run(*(files.get(word, word) for word in arguments))
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())
