"""`evenhand audit` as a user runs it: numbers, words, files, pipes, and what goes wrong."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import evenhand as eh
import shell

run = partial(shell.run, "audit")

NATIONS = ("FRA", "ITA", "USA")
FROM = ("FRA",) * 5 + ("ITA",) * 2 + ("USA",) * 2  # of nine tasters
NAMED = ("--column=option=wine", "--column=evaluator=taster", "--column=event=year,colour")
GROUPS = ("--column=option_group=country", "--column=evaluator_group=from")
PARTS: dict[str, Any] = {
    "option": "wine",
    "evaluator": "taster",
    "event": ["year", "colour"],
    "option_group": "country",
    "evaluator_group": "from",
}


def tasting(favour: float = 3.0) -> pd.DataFrame:
    """Nine tasters from three countries score twelve wines at two events."""
    rng = np.random.default_rng(11)
    rows = [
        (f"W{w}", f"T{t}", "1976", colour, NATIONS[w % 3], FROM[t])
        for colour in ("red", "white")
        for w in range(12)
        for t in range(9)
    ]
    table = pd.DataFrame(rows, columns=["wine", "taster", "year", "colour", "country", "from"])
    values = {f"W{w}": 60.0 + 2.0 * w for w in range(12)}
    own = table["country"] == table["from"]
    table["score"] = (table["wine"].map(values) + favour * own).to_numpy() + rng.normal(
        size=len(table)
    )
    table["score"] = table["score"].round(2)
    return table


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tasting().to_csv(tmp_path / "scores.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ((), {}),
        (("--target", "bar=70"), {"bar": 70.0}),
        (("--target", "against=W5", "--target", "margin=1"), {"against": "W5", "tolerance": 1.0}),
    ],
)
def test_the_command_is_the_library(flags: tuple[str, ...], wanted: dict[str, Any]) -> None:
    found = shell.answer("audit", "scores.csv", *NAMED, *GROUPS, *flags)
    audit = eh.audit(tasting(), columns=PARTS, **wanted)
    assert found == json.loads(json.dumps(audit.to_dict()))
    assert audit.bias.low < 3.0 < audit.bias.high
    assert (audit.shortlist is not None) == bool(wanted)


def test_words_and_tables_say_who_and_what() -> None:
    result = run("scores.csv", *NAMED, *GROUPS)
    assert result.exit_code == 0, result.output
    audit = eh.audit(tasting(), columns=PARTS)
    verdict, *_ = str(audit).split("\n\n")
    assert " ".join(verdict.split()) in said(result)
    assert "Whose bias is how large" in result.output
    table = result.output.split("Whose bias is how large")[1]
    for taster in range(9):
        assert f"T{taster} " in table
    assert table.count(" yes\n") == audit.evaluators["flagged"].sum()


def test_winners_that_change_are_listed() -> None:
    table = tasting(favour=30.0)
    table.to_csv("partial.csv", index=False)
    audit = eh.audit(table, columns=PARTS)
    flips = audit.flips.pivot(index="event", columns="rule", values="winner")
    flipped = audit.flips[audit.flips["flipped"]]
    assert len(flipped)
    result = run("partial.csv", *NAMED, *GROUPS)
    listed = said(result).split("Winners that change event")[1]
    for row in flipped.itertuples():
        unbiased, fair = flips.loc[row.event]
        assert f"{row.event} {row.baseline} {unbiased} {fair}" in listed


def test_a_picture_and_a_report_are_written() -> None:
    result = run("scores.csv", *NAMED, *GROUPS, "--report", "a.svg", "--report", "a.html")
    assert result.exit_code == 0, result.output
    assert Path("a.svg").read_text().startswith("<?xml")
    assert "</html>" in Path("a.html").read_text()
    assert "The picture is in a.svg." in result.output
    assert "The report is in a.html." in result.output


def test_wide_tables_with_groups_written_out() -> None:
    frame = tasting()
    red = frame[frame["colour"] == "red"]
    wide = red.pivot_table(index=["wine", "country"], columns="taster", values="score", sort=False)
    wide.reset_index().to_csv("wide.csv", index=False)
    groups = ",".join(f"T{t}={FROM[t]}" for t in range(9))
    named = ("--column=option=wine", GROUPS[0], f"--column=evaluator_group={groups}")
    result = run("wide.csv", "--column", "wide=all", *named, "--json")
    assert result.exit_code == 0, result.output
    long = eh.audit(red, columns=PARTS | {"event": None})
    assert json.loads(result.stdout)["bias"]["value"] == pytest.approx(long.bias.value, abs=1e-9)
    given = run("wide.csv", "--column=option=wine")
    assert given.exit_code == 3  # nobody said of which groups they are
    assert "are read as the scores of an evaluator each" in said(given)


def test_columns_of_the_usual_names_need_no_words() -> None:
    usual = {"wine": "option", "taster": "evaluator", "country": "option_group"}
    frame = tasting().rename(columns=usual | {"from": "evaluator_group", "colour": "event"})
    frame.to_csv("usual.csv", index=False)
    plain = json.loads(run("usual.csv", "--json").stdout)
    right = eh.audit(tasting(), columns=PARTS | {"event": "colour"})
    assert plain["bias"]["value"] == right.bias.value
    unsaid = run("usual.csv", "--column=evaluator=none")
    assert unsaid.exit_code == 2
    assert "--column evaluator" in said(unsaid)
    assert "ActionSet" in said(unsaid)


@pytest.mark.parametrize(("arguments", "words"), [
    (("--column=option=whine",), "no column 'whine'; did you mean 'wine'?"),
    (("--column=option=wine", "--column=evaluator=tasters"), "did you mean 'taster'?"),
    (("--column=option=wine", "--column=evaluator=taster"),
     "line 2, line 110, column 'score': one evaluator scored the same thing twice"),
    ((*NAMED, *GROUPS, "--scale", "0,70"), "is outside the scale from 0 to 70"),
    ((*NAMED, *GROUPS, "--scale", "ten"), "scale is the lowest and the highest"),
    ((*NAMED, *GROUPS, "--confidence", "95"), "confidence must lie between"),
    ((*NAMED, *GROUPS, "--report", "a.doc"), "must end in .html, .png"),
    ((*NAMED, *GROUPS, "--report", "no/a.html"), "there is no folder 'no'"),
    ((*NAMED, *GROUPS, "--read", "missing=guess"), "missing is 'refuse' or 'drop'"),
    ((*NAMED, "--column=option_group=country", "--column=partial=score"), "as partial"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused_in_words(arguments: tuple[str, ...], words: str) -> None:
    result = run("scores.csv", *arguments)
    assert result.exit_code == 2, result.output
    assert words in said(result)
    assert {path.name for path in Path().iterdir()} == {"scores.csv"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,P,7,x,x\nb,P,5,y,x\nc,P,4,y,x\n", "There is one evaluator, 'P'"),
        ("a,P,7,x,z\nb,P,5,y,z\na,Q,6,x,w\nb,Q,4,y,w\n", "No evaluator is of a group"),
        ("a,P,7,x,x\nb,P,5,x,x\na,Q,6,x,x\nb,Q,4,x,x\n", "can't tell whether there is a bias"),
        ("a,P,7,,\nb,P,5,,\n", "can't tell whether there is a bias"),
    ],
)
def test_what_scores_cannot_tell_is_said_with_its_own_exit_code(text: str, words: str) -> None:
    head = "option,evaluator,score,option_group,evaluator_group\n"
    Path("small.csv").write_text(head + text)
    for arguments in ((), ("--json",), ("--report", "a.html"), ("--report", "a.png")):
        result = run("small.csv", *arguments)
        assert result.exit_code == 3, (arguments, result.output, result.exception)
    assert words in said(run("small.csv"))


def test_models_are_compared_with_people_who_are_trusted(tmp_path: Path) -> None:
    marks = {"Ann": "7586", "GPT": "7587", "Llama": "5678"}
    rows = [(o, e, int(y)) for e, own in marks.items() for o, y in zip("abcd", own, strict=True)]
    path = tmp_path / "marks.csv"
    pd.DataFrame(rows, columns=["option", "evaluator", "score"]).to_csv(path, index=False)
    found = json.loads(run(path, "--trusted", "Ann", "--json").stdout)
    beside = {row["evaluator"]: row["accuracy"] for row in found["agreement"]["beside_trusted"]}
    assert beside == {"GPT": 0.75, "Llama": 0.0}
