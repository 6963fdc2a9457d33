"""`evenhand decide` as a user runs it: answers, words, pictures, and what goes wrong."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
import shell
from evenhand.cases.panels import skating_panels
from evenhand.cli.decide import _two_of

run = partial(shell.run, "decide")

COLUMNS = ("--column=option=skater", "--column=evaluator=judge", "--column=score=points")
GROUPS = ("--column=option_group=nation", "--column=evaluator_group=judge_nation")
NAMES = {"option": "skater", "evaluator": "judge", "score": "points"}


@pytest.fixture(autouse=True)
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    panel = list(skating_panels())[5]
    rows = [
        (o, j, y, panel.performances[o], panel.judges[j])
        for o, given in zip(panel.performances, panel.table.tolist(), strict=True)
        for j, y in zip(panel.judges, given, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["skater", "judge", "points", "nation", "judge_nation"])
    frame = frame.drop(index=range(0, 54, 4)).reset_index(drop=True)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    frame[["skater", "nation"]].drop_duplicates().to_csv(tmp_path / "skaters.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frame


def test_the_command_is_the_library(scores: pd.DataFrame) -> None:
    result = run("scores.csv", *COLUMNS, *GROUPS, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    groups = {"option_group": "nation", "evaluator_group": "judge_nation"}
    answer = eh.decide(scores, columns=NAMES | groups)
    assert (found["option"], found["sure"]) == (answer.label, answer.sure)
    assert found["loses_at_most"] == pytest.approx(answer.loss)
    asked = [question["label"] for question in found["next_questions"]]
    assert asked == [question.label for question in answer.next_questions]
    assert len(asked) == 5
    assert [one["option"] for one in found["ranking"]] == [one.option for one in answer.ranking]
    # the options in a file of their own, with a picture and a report
    files = "--report", "choice.png", "--report", "choice.html"
    result = run("skaters.csv", "scores.csv", *COLUMNS, *GROUPS, *files)
    assert result.exit_code == 0, result.output
    assert answer.label in result.stdout
    assert "Ask next" in result.stdout
    assert Path("choice.png").read_bytes().startswith(b"\x89PNG")
    assert answer.label in Path("choice.html").read_text("utf-8")


def test_a_pipe_and_groups_by_name_are_read() -> None:
    text = "option,evaluator,score\nAnn,P,8\nBo,P,5\nAnn,Q,6\nBo,Q,5.2\nAnn,R,7\nBo,R,6.5\n"
    groups = "--column=option_group=Ann=fr,Bo=it", "--column=evaluator_group=P=fr,Q=it"
    result = run("-", *groups, "--json", input=text)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [bias["name"] for bias in found["biases"] if bias["kind"] == "bias"] == ["own group"]
    assert found["ranking"][0] | {"option": "Ann", "group": "fr"} == found["ranking"][0]


def test_scores_that_do_not_compare_have_an_exit_code(tmp_path: Path) -> None:
    Path("apart.csv").write_text("option,evaluator,score\nAnn,P,7\nBo,P,5\nCy,Q,6\nDi,Q,3\n")
    result = run("apart.csv")
    assert result.exit_code == 3
    assert "fall into 2 parts" in result.stdout
    found = json.loads(run("apart.csv", "--json").stdout)
    assert found["comparable"] is False
    assert found["sure"] is False
    assert found["next_questions"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.csv", *COLUMNS), "none.csv"),
        (("scores.csv", *COLUMNS, "--assume", "assigned=later"), "assigned must be"),
        (("scores.csv", *COLUMNS, "--report", "choice.doc"), ".html, .png"),
        (("scores.csv", *COLUMNS, "--report", "there/is/none.png"), "no folder"),
        (("scores.csv", *COLUMNS, "--confidence", "2"), "confidence"),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_writes_nothing(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_whom_it_is_about_and_what_hangs_together_can_be_said(tmp_path: Path) -> None:
    rows = [
        (f"o{o}", f"j{j}", f"i{g}", f"t{g % 4}", 3.0 * o + 0.1 * ((7 * g + 3 * j + 5 * o) % 11))
        for o in range(2)
        for j in range(3)
        for g in range(12)
    ]
    names = ["option", "evaluator", "item", "template", "score"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "tried.csv", index=False)
    said = {}
    for scope in ("these", "like these"):
        result = run("tried.csv", "--column=cluster=template", f"--assume=scope={scope}", "--json")
        assert result.exit_code == 0, result.output
        said[scope] = json.loads(result.stdout)
    assert said["these"]["scope"] == "these judges, items like these"
    assert said["like these"]["scope"] == "judges and items like these"
    assert "errors are by judges and clusters" in said["like these"]["assumed"]
    assert "errors are by clusters" in said["these"]["assumed"]
    result = run("tried.csv", "--assume", "scope=everybody")
    assert result.exit_code == 2
    assert "'these' or 'like these'" in result.output


def test_two_options_are_compared_by_name(scores: pd.DataFrame) -> None:
    first, second = scores["skater"].unique()[:2]
    asked = ("scores.csv", *COLUMNS, "--compare", f"{first},{second}")
    answer = eh.decide(scores, columns=NAMES)
    said = " ".join(str(answer.compare(first, second)).split())
    assert said in " ".join(run(*asked).stdout.split())
    found = json.loads(run(*asked, "--json").stdout)["compared"]
    assert found == answer.compare(first, second).to_dict()
    for wrong in (first, f"{first},nobody"):
        result = run("scores.csv", *COLUMNS, "--compare", wrong)
        assert result.exit_code == 2


def test_names_to_be_compared_may_have_commas_of_their_own() -> None:
    assert _two_of("Bo, Jr.,Ann", ["Ann", "Bo, Jr."]) == ("Bo, Jr.", "Ann")


def test_targets_are_those_of_the_library(scores: pd.DataFrame) -> None:
    first = scores["skater"].iloc[0]
    scores["kind"] = scores["skater"].map(lambda name: "odd" if ord(name[-1]) % 2 else "even")
    scores.to_csv("scores.csv", index=False)
    for given, wanted in (
        (("--column=within=kind",), {"within": "kind"}),
        (("--target", "top=2"), {"top": 2}),
        (("--target", "bar=60"), {"bar": 60.0}),
        (
            ("--target", f"against={first}", "--target", "margin=2"),
            {"against": first, "tolerance": 2.0},
        ),
    ):
        answer = eh.decide(scores, columns=NAMES, **wanted)
        found = json.loads(run("scores.csv", *COLUMNS, *given, "--json").stdout)["target"]
        assert found == answer.to_dict()["target"]
        shown = run("scores.csv", *COLUMNS, *given, "--report", "line.html").stdout
        assert answer._report().verdict.split()[0] in shown
        assert ("<svg" if "within" not in wanted else "odd") in Path("line.html").read_text()
    for bad, said in (
        (("--target", "top=6"), "which is 6"),
        (("--target", "top=2", "--target", "bar=1"), "top and bar"),
    ):
        refused = run("scores.csv", *COLUMNS, *bad)
        assert refused.exit_code == 2
        assert said in " ".join(refused.output.split())


def test_a_gate_has_codes_of_its_own_and_says_why_on_one_line(scores: pd.DataFrame) -> None:
    first = scores["skater"].iloc[0]
    best = eh.decide(scores, columns=NAMES)
    plain = run("scores.csv", *COLUMNS)
    for required, code, said in (
        (("--target", "top=1", "--require", "probable"), None, ""),
        (("--require", "sure"), 0 if best.sure else 4, "the best"),
        (("--target", "bar=0", "--require", "sure"), 0, "above 0"),
        (("--target", "bar=500", "--require", f"sure={first}"), 1, "surely not so"),
        (("--target", f"against={first}", "--require", "sure"), None, ""),
        (("--require", "certain"), 2, "sure, probable or sure=NAME"),
        (("--require", "sure=nobody"), 2, "no option 'nobody'"),
    ):
        result = run("scores.csv", *COLUMNS, *required)
        assert result.exit_code == code if code is not None else result.exit_code in (0, 1, 4)
        assert said in " ".join(result.stderr.split())
        assert result.stderr.count("evenhand: ") == 1
        if required == ("--require", "sure"):
            assert result.stdout == plain.stdout


def test_titles_and_nouns_are_those_of_the_user(scores: pd.DataFrame) -> None:
    call = ("--call", "title=Worlds 2026", "--call", "option=skater,evaluator=official")
    plain = run("scores.csv", *COLUMNS, "--json")
    more = ["--target", "top=2", "--report", "page.html", "--report", "p.svg"]
    shown = run("scores.csv", *COLUMNS, *call, *more)
    assert shown.stdout.startswith("Worlds 2026")
    for text in (shown.stdout, Path("page.html").read_text(), Path("p.svg").read_text()):
        assert "skaters" in text
        assert "options" not in text.replace("<!--", "")
    assert run("scores.csv", *COLUMNS, *call, "--json").stdout == plain.stdout
    assert "officials" in shell.run("audit", "scores.csv", *COLUMNS, *GROUPS, *call).stdout
    assert run("scores.csv", *COLUMNS, "--call", "colour=red").exit_code == 2
