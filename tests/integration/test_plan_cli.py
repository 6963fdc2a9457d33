"""`evenhand plan` as a user runs it: numbers, words, pictures, and what goes wrong."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import evenhand as eh
import shell

SKATERS = "skater,nation\nAnn,fr\nBo,it\nCy,us\nDi,fr\nEva,\n"
JUDGES = "judge,country,price\nP,fr,1\nQ,it,1\nR,us,2\nS,,4\n"


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "skaters.csv").write_text(SKATERS)
    (tmp_path / "judges.csv").write_text(JUDGES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TABLES = "skaters.csv --evaluators judges.csv"


def run(words: str) -> Result:
    """Plan of the two tables with these words, as a shell takes them apart."""
    own = "" if "evaluator_group" in words else "--column=evaluator_group=country"
    return shell.run("plan", *shlex.split(f"{TABLES} --column=option_group=nation {own} {words}"))


def answer(words: str) -> dict[str, Any]:
    result = run(f"{words} --json")
    assert result.exit_code in (0, 4), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def questions(**more: Any) -> eh.Questions:
    skaters = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr", "Eva": None}
    judges = {"P": "fr", "Q": "it", "R": "us", "S": None}
    return eh.Questions.panel(skaters, judges, **more)


def test_the_command_is_the_library() -> None:
    found = answer("--assume lead=9 --assume noise=2 --target chance=0.9")
    plan = eh.plan(questions(), leads=9.0, noise_scale=2.0, chance=0.9)
    assert found["by_evaluator"] == plan.by_evaluator
    assert found["probability"] == plan.probability
    assert found["enough"] is True
    words = "--assume spread=2 --ask capacity=none --column=prices=price --at-most cost=9"
    priced = answer(words)
    free = questions(capacity=None, prices=[1.0, 1.0, 2.0, 4.0])
    plan = eh.plan(free, values=2.0, budget=9.0)
    assert priced["evaluations"] == plan.evaluations
    assert priced["price"] == plan.price
    assert priced["evaluations_range"] == list(plan.evaluations_range)
    assert priced["enough"] is False


def test_people_read_it(tables: Path) -> None:
    result = run("--assume lead=9 --assume noise=2 --report plan.png")
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    plan = eh.plan(questions(), leads=9.0, noise_scale=2.0)
    assert f"at {plan.evaluations} evaluations" in shown
    assert "plan.png" in shown
    assert (tables / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_exit_codes(tables: Path) -> None:
    assert run("--assume lead=9").exit_code == 0
    short = run("--assume lead=1")
    assert short.exit_code == 4
    assert "not enough" in short.stdout
    (tables / "judges.csv").write_text("judge,country\nP,fr\n")
    never = run("--assume lead=1")
    assert never.exit_code == 3
    assert "a neutral evaluator" in " ".join(never.stdout.split())
    assert json.loads(run("--assume lead=1 --json").stdout)["identifiable"] is False


def test_without_a_group_nobody_is_partial() -> None:
    assert shell.answer("plan", *TABLES.split(), "--assume", "lead=9")["enough"] is True


LEAD = "--assume lead=1"


@pytest.mark.parametrize(("change", "arguments", "words"), [
    ({}, "", "say what the plan is for"),
    ({}, f"{LEAD} --column=option=name", "no column 'name', which is to be option"),
    ({}, f"{LEAD} --column=evaluator_group=land", "no column 'land', which is to be"),
    ({}, f"{LEAD} --column=prices=cost", "no column 'cost', which is to be prices"),
    ({}, f"{LEAD} --column=prices=judge", "line 2, column 'judge': 'P' is not a number"),
    ({}, f"{LEAD} --ask capacity=often", "--ask capacity must be a whole number"),
    ({}, "--assume lead=0", "a lead of 0 is never certain"),
    ({}, f"{LEAD} --report plan.doc", "must end in"),
    ({"skaters.csv": "skater,nation\nAnn,fr\nAnn,it\n"}, LEAD, "stands in 2 rows (line 2, line 3)"),
    ({"skaters.csv": "skater,nation\n,fr\nBo,it\n"}, LEAD, "line 2, column 'skater' is empty"),
    ({"judges.csv": "judge,country\n"}, LEAD, "no lines below its header"),
])  # fmt: skip
def test_refusals(tables: Path, change: dict[str, str], arguments: str, words: str) -> None:
    for name, content in change.items():
        (tables / name).write_text(content)
    result = run(arguments)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())
    assert not (tables / "plan.doc").exists()


def test_a_hand_out_is_written(tables: Path) -> None:
    (tables / "conflicts.csv").write_text("option,evaluator\nAnn,S\nBo,Q\n")
    words = "--ask reviews=2 --ask workload=3 --target top=2"
    found = answer(f"{words} --ask conflicts=conflicts.csv --report who.csv")
    lines = (tables / "who.csv").read_text().splitlines()
    assert lines[0] == "evaluator,option"
    pairs = [tuple(line.split(",")) for line in lines[1:]]
    assert len(pairs) == len(set(pairs)) == found["evaluations"] == 10
    assert not {("S", "Ann"), ("Q", "Bo")} & {*pairs}
    plan = eh.plan(questions(workload=3).barring([("Ann", "S"), ("Bo", "Q")]), reviews=2, top=2)
    assert found["expected"]["right"] == plan.expected.right  # type: ignore[union-attr] # is there
    refused = run("--assume lead=9 --report other.csv")
    assert refused.exit_code == 2
    assert "say --ask reviews" in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("--target bar=0.5", {"bar": 0.5}),
        ("--target against=Bo --target margin=0.2", {"against": "Bo", "tolerance": 0.2}),
    ],
)
def test_a_hand_out_for_a_bar_or_against_one(
    tables: Path, words: str, target: dict[str, Any]
) -> None:
    found = answer(f"--ask reviews=4 --assume spread=2 {words} --report who.csv")
    plan = eh.plan(questions(), reviews=4, values=2.0, **target)
    assert found["target"] == plan.target.to_dict()
    assert found["expected"]["sure"] == plan.expected.sure  # type: ignore[union-attr] # is there
    assert (tables / "who.csv").exists()
    refused = run(f"--ask reviews=4 --target top=2 {words}")
    assert refused.exit_code == 2
    assert "say one of top" in " ".join(refused.stderr.split())


def test_conflicts_may_stand_in_a_column_of_the_options(tables: Path) -> None:
    named = "skater,nation,not by\nAnn,fr,S; R\nBo,it,\nCy,us,\nDi,fr,S\nEva,,\n"
    (tables / "skaters.csv").write_text(named)
    words = "--ask reviews=2 --ask workload=4 --target top=2 --ask 'conflicts=not by'"
    answer(f"{words} --report who.csv")
    pairs = {*(tables / "who.csv").read_text().splitlines()}
    assert not {"S,Ann", "R,Ann", "S,Di"} & pairs
    assert len(pairs) == 11
    (tables / "skaters.csv").write_text(named.replace("S; R", "S; Nobody"))
    refused = run(words)
    assert refused.exit_code == 2
    assert "line 2" in refused.stderr
    assert "Nobody" in refused.stderr
