"""`evenhand inspect` as a user runs it: numbers, words, pictures, and what goes wrong."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sysconfig
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
import shell

run = partial(shell.run, "inspect")
answer = partial(shell.answer, "inspect")

ROOT = Path(__file__).parents[2]
SKATING = ROOT / "examples" / "skating" / "skate_america.csv"
FEATURES = ["base_value", "max_base", "ability"]
SIDES = "--column=option_group=side"
NAMED = (SIDES, "--column=option=name")
ARGUMENTS = (SIDES, "--column=option=skater", f"--column=features={','.join(FEATURES)}")


def skaters() -> list[dict[str, str]]:
    with SKATING.open() as file:
        return list(csv.DictReader(file))


def library(**choices: Any) -> eh.ActionSet:
    settings: dict[str, Any] = {"group": "side", "label": "skater", "features": FEATURES}
    return eh.ActionSet.from_table(SKATING, **settings | choices)


@pytest.mark.parametrize(
    ("flags", "choices", "wishes"),
    [
        ([], {}, {}),
        (["--assume", "standardize=no"], {"standardize": False}, {}),
        (["--assume", "intercept=no"], {"intercept": False}, {}),
        (["--at-most", "1000"], {}, {"evaluations": 1000}),
        (["--precision", "0.1"], {}, {"precision": 0.1}),
    ],
)
def test_the_command_is_the_library(
    flags: list[str], choices: dict[str, Any], wishes: dict[str, Any]
) -> None:
    found = eh.inspect(library(**choices), **wishes).to_dict()
    assert answer(SKATING, *ARGUMENTS, *flags) == json.loads(json.dumps(found))


def test_the_words_carry_the_numbers() -> None:
    result = run(SKATING, *ARGUMENTS)
    assert result.exit_code == 0
    assert result.stdout.startswith("Yes: the bias can be estimated, at a moderate price.")
    text = " ".join(result.stdout.split())
    found = answer(SKATING, *ARGUMENTS)
    for wanted in ("κ* = 5.45", "8 away and 3 home", "5 of 5"):
        assert wanted in text
    for item in found["design"]:
        assert f"{item['option']} {item['group']} {item['share']:.0%} {item['evaluations']}" in text
    assert result.stderr == ""


def test_the_first_lines_are_those_of_the_readme() -> None:
    printed = run(SKATING, *ARGUMENTS).stdout
    first, facts, *_ = (" ".join(part.split()) for part in printed.split("\n\n"))
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"```text\n(Yes:.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert " ".join(shown[1].split()) == f"{first} {facts}"


def test_what_is_assumed_is_said_where_it_matters(tmp_path: Path) -> None:
    table = tmp_path / "three.csv"
    table.write_text("name,side,size\nAnn,home,1\nBo,away,1.5\nCy,home,2\n")
    words = " ".join(run(table, *NAMED, "--assume", "intercept=no").stdout.split())
    found = answer(table, *NAMED, "--assume", "intercept=no")
    assert len(found["assumptions"]) == 3
    for sentence in found["assumptions"]:
        assert sentence in words
    assert "if values are linear in the features" in found["verdict"]
    with_constant = answer(SKATING, *ARGUMENTS)["assumptions"]
    assert with_constant == found["assumptions"][:1]
    without = answer(SKATING, *ARGUMENTS, "--assume", "intercept=no,standardize=no")["assumptions"]
    assert without[1:] == found["assumptions"][2:]  # enough options, and no constant


def test_which_group_is_positive_turns_the_hyperplane_and_nothing_else() -> None:
    home, away = (eh.inspect(library(positive=one)).to_dict() for one in ("home", "away"))
    assert home["kappa_star"] == pytest.approx(away["kappa_star"], rel=1e-12)
    for name, value in home["hyperplane"]["distance"].items():
        assert away["hyperplane"]["distance"][name] == pytest.approx(-value)
    assert [group["name"] for group in home["groups"]] == ["away", "home"]
    assert [group["name"] for group in away["groups"]] == ["home", "away"]


@pytest.mark.parametrize(
    ("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_picture_is_written_where_asked(kind: str, magic: bytes, tmp_path: Path) -> None:
    target = tmp_path / f"bias.{kind}"
    result = run(SKATING, *ARGUMENTS, "--report", target)
    assert result.exit_code == 0
    assert target.read_bytes().startswith(magic)
    assert str(target) in result.stdout.replace("\n", "")
    # with --json the object stays alone
    json.loads(run(SKATING, *ARGUMENTS, "--report", target, "--json").stdout)


def test_nothing_is_written_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(SKATING, *ARGUMENTS).exit_code == 0
    assert list(tmp_path.iterdir()) == []


CONFOUNDED = "name,side,x,y\na,home,1,4\nb,away,2,1\nc,away,3,0\nd,home,4,1\ne,home,2,3\n"


def test_an_impossible_bias_is_explained_and_the_advice_works(tmp_path: Path) -> None:
    table = tmp_path / "options.csv"
    table.write_text(CONFOUNDED)
    arguments = (table, *NAMED)
    result = run(*arguments, "--report", tmp_path / "bias.png")
    assert result.exit_code == 3
    assert not (tmp_path / "bias.png").exists()
    with pytest.raises(eh.NotIdentifiableError, match="equals"):
        eh.inspect(eh.ActionSet.from_table(table, "side", "name")).plot()
    text = " ".join(result.stdout.split())
    assert text.startswith("No: the bias cannot be estimated")
    assert "(home = 1, away = −1) equals x + y − 4" in text
    asked = run(*arguments, "--json")
    assert asked.exit_code == 3
    found = json.loads(asked.stdout)
    assert found["identifiable"] is False
    advice = found["confounding"]
    assert advice["combination"] == pytest.approx({"x": 1.0, "y": 1.0, "(constant)": -4.0})
    twin = next(row for row in csv.DictReader(CONFOUNDED.split()) if row["name"] == advice["twin"])
    table.write_text(f"{CONFOUNDED}new,{advice['twin_group']},{twin['x']},{twin['y']}\n")
    assert answer(*arguments)["kappa_star"] == pytest.approx(1.0)


ROWS = "side,x,y\nhome,1,2\naway,2,3\naway,3,5\nhome,4,1\n"
ATTRIBUTES = """name;nation;age;size
a;de;31;3,5
b;fr;45;4,25
c;it;50;1
d;de;38;2,5
e;fr;29;5
f;it;61;3,5
g;de;55;4
"""
AGE = "--column=attributes=age"


@pytest.mark.parametrize(("content", "arguments", "said"), [
    ("", [SIDES], "is empty; it needs a header line"),
    (None, [SIDES], "there is no file options.csv"),
    (ROWS, [SIDES, "--column=features=x,Y"], "did you mean 'y'?"),
    (ROWS, [SIDES, "--column=option=side"], "is named as group and as label"),
    (ROWS, [SIDES, "--column=prices=y"], "--column prices is for several evaluators"),
    (ROWS, [SIDES, "--report", "bias.jpg"], "must end in .html, .png, .svg, .pdf"),
    (ROWS, [SIDES, "--at-most", "0"], "evaluations is 0"),
    (ROWS, [SIDES, "--precision", "nan"], "--precision"),
    ("side,x\nhome,1\naway,2\n", [SIDES], "'x' tells the group"),
    (ATTRIBUTES, [], "say --column option_group=…"),
    (ATTRIBUTES, ["--column=option_group=nation", AGE], "say --column option_group=…"),
    (ATTRIBUTES, ["--column=attributes=age,Nation"], "did you mean 'nation'?"),
    (ATTRIBUTES, [AGE, "--read", "decimal=x"], "decimal is '.' or ','"),
    (ATTRIBUTES, [AGE, "--read", "decimal=."], "'3,5' is not plainly a number"),
])  # fmt: skip
def test_what_cannot_be_used_is_named(
    content: str | None, arguments: list[str], said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("options.csv").write_text(content)
    for more in ([], ["--json"]):
        result = run("options.csv", *arguments, *more)
        assert result.exit_code == 2, result.output
        assert said in result.stderr
        assert "Traceback" not in result.output
        assert result.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"options.csv"}


def test_names_are_printed_as_they_are(tmp_path: Path) -> None:
    table = tmp_path / "options.csv"
    table.write_text("name,side,x\n[red]a[/red],:smile:,1\n[/],[b]x,2\n$c$,:smile:,4\nd,[b]x,3.5\n")
    found = run(table, *NAMED, "--report", tmp_path / "bias.png")
    assert found.exit_code == 0, found.output
    names = {"[red]a[/red]", "[/]", "$c$", "d"}
    bought = {item["option"] for item in answer(table, *NAMED)["design"]}
    assert bought <= names
    assert all(name in found.stdout for name in bought)
    assert "2 :smile:" in found.stdout


def test_attributes_are_inspected_one_by_one(tmp_path: Path) -> None:
    table = tmp_path / "options.csv"
    table.write_text(ATTRIBUTES)
    arguments = (table, "--column=attributes=nation,age", "--column=option=name")
    found = answer(*arguments)
    assert found["identifiable"] is True
    assert [part["attribute"] for part in found["attributes"]] == ["nation=fr", "nation=it", "age"]
    actions = eh.ActionSet.from_table(table, attributes=["nation", "age"], label="name")
    assert found == json.loads(json.dumps(eh.inspect(actions).to_dict()))
    assert {part["decimal"] for part in found["attributes"]} == {","}
    text = " ".join(run(*arguments).stdout.split())
    assert "Decimals are read with a comma" in text
    for name in ("nation=fr", "nation=it", "age"):
        assert f"Yes: the bias of {name} can be estimated" in text
    assert "where nation is it instead of de" in text
    picture = tmp_path / "shares.svg"
    assert run(*arguments, "--report", picture).exit_code == 0
    assert picture.read_text().startswith("<?xml")
    assert "no margin and no separating hyperplane" in text


def test_an_attribute_that_cannot_be_told_does_not_hide_the_others(tmp_path: Path) -> None:
    table = tmp_path / "options.csv"
    table.write_text("x,z,w\n1,2,5\n2,4,1\n4,8,3\n5,10,4\n6,12,9\n")
    asked = run(table, "--column=attributes=z,w", "--json")
    assert asked.exit_code == 3
    found = json.loads(asked.stdout)
    assert found["identifiable"] is False
    assert [part["identifiable"] for part in found["attributes"]] == [False, True]
    words = run(table, "--column=attributes=z,w")
    assert words.exit_code == 3
    text = " ".join(words.stdout.split())
    assert "For every option, z equals" in text
    assert "Yes: the bias of w can be estimated" in text


def test_what_is_wrong_in_a_pipe_is_named() -> None:
    result = run("-", SIDES, input=b"")
    assert result.exit_code == 2
    assert "the standard input is empty" in result.stderr
    table = b"side,x\nhome,1\naway,\nhome,4\n"
    result = run("-", SIDES, input=table)
    assert "the standard input: line 3, column 'x' is empty" in result.stderr


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    script = Path(sysconfig.get_path("scripts")) / "evenhand"
    return subprocess.run(
        [script, *arguments], capture_output=True, check=False, env=environment or None, timeout=600
    )


def test_a_terminal_without_greek_letters_is_no_crash() -> None:
    """The installed command, which says the same as the one that tests call."""
    done = command("inspect", SKATING, *ARGUMENTS, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Yes: the bias can be estimated" in done.stdout
    done = command("inspect", SKATING, *ARGUMENTS, "--json")
    assert json.loads(done.stdout) == answer(SKATING, *ARGUMENTS)


def test_help_has_examples_and_exit_codes() -> None:
    done = run("--help", env={"TERM": "dumb", "COLUMNS": "100"})
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "evenhand inspect skaters.csv --column option_group=side" in text
    assert "Exit codes" in text
    version = shell.run("--version")
    assert version.stdout.startswith("evenhand 0.")
