"""`evenhand campaign` as people run it: a whole campaign, sheets and logs, and what goes wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import app
from evenhand.cli.campaign.new import seconds_in
from evenhand.report.words import duration

WORTH = {"Ann": 71.0, "Bo": 69.5, "=Cy": 68.0, "Dí": 69.0, "Ed": 75.0}
NATION = {"Ann": "FRA", "Bo": "ITA", "=Cy": "FRA", "Dí": "USA", "Ed": "JPN"}
JUDGES = {"Paul": "FRA", "Rosa": "ITA", "Sven": "SWE", "Tom": "USA"}
LENIENT = {"Paul": 1.0, "Rosa": -0.5, "Sven": 0.0, "Tom": 0.25}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_STORE", raising=False)
    skaters = pd.DataFrame(
        {
            "skater": list(WORTH),
            "nation": list(NATION.values()),
            "worth": list(WORTH.values()),
            "music": ["Boléro", "@work", "Carmen", "-", "a;b"],
        }
    )
    skaters.to_csv("skaters.csv", index=False)
    judges = pd.DataFrame({"judge": list(JUDGES), "nation": list(JUDGES.values()), "price": 20.0})
    judges.to_csv("judges.csv", index=False)


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(app, ["campaign", *arguments], **more)


def said(*arguments: str) -> str:
    """What a command that must work prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def found(*arguments: str) -> Any:
    return json.loads(said(*arguments, "--json"))


def refused(*arguments: str) -> str:
    """What a command says that must not work; nothing may change."""
    before = snapshot()
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert snapshot() == before
    return " ".join(result.stderr.split())


def snapshot() -> Any:
    """Every event there is, of every campaign in the store."""
    if not Path("p.db").exists():
        return None
    names = eh.Campaign.names("p.db")
    events = {}
    for name in names:
        with eh.Campaign.open("p.db", name) as campaign:
            events[name] = campaign.status().hash
    return events


def new(*more: str) -> str:
    panel = "--evaluators", "judges.csv", "--column=option_group=nation"
    return said("new", "p.db", "prize", "skaters.csv", *panel, "--column", "show=music", *more)


def score_of(judge: str, skater: str) -> float:
    favour = 3.0 * (JUDGES[judge] == NATION[skater])
    noise = 0.1 * ((3 * list(WORTH).index(skater) + 5 * list(JUDGES).index(judge)) % 7 - 3)
    return WORTH[skater] + LENIENT[judge] + favour + noise


def sheet_of(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill_in(path: str, judge: str, **changes: str) -> None:
    """Fill a sheet in as somebody with a German spreadsheet would."""
    rows = sheet_of(path)
    for row in rows:
        skater = row["option"].removeprefix("'")
        row["score"] = changes.get(skater, f"{score_of(judge, skater):.3f}").replace(".", ",")
    with open(path, "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def test_a_campaign_of_sheets_from_the_first_ticket_to_the_report() -> None:
    told = new("--scale", "0,100")
    assert "5 options, 4 evaluators, 20 questions" in told
    assert "evenhand campaign ask p.db prize --evaluator Paul" in told
    for judge in JUDGES:
        told = said("ask", "p.db", "prize", "-e", judge, "-n", "9", "--sheet", f"{judge}.csv")
        assert f"evenhand campaign import p.db prize {judge}.csv" in told
        fill_in(f"{judge}.csv", judge)
        taken = found("import", "p.db", "prize", f"{judge}.csv")
        assert (taken["counted"], taken["repeated"], taken["unfilled"]) == (5, 0, 0)
        again = found("import", "p.db", "prize", f"{judge}.csv")
        assert (again["counted"], again["repeated"]) == (0, 5)
    over = run("ask", "p.db", "prize", "-e", "Paul")
    assert over.exit_code == 4
    assert "finished" in over.stdout
    # the answer is that of the same scores in a table
    scores = pd.DataFrame(
        [(o, j, score_of(j, o), NATION[o], JUDGES[j]) for o in WORTH for j in JUDGES],
        columns=["option", "evaluator", "score", "option_group", "evaluator_group"],
    )
    decided = eh.decide(scores)
    answer = found("answer", "p.db", "prize")
    assert (answer["option"], answer["sure"]) == (decided.label, decided.sure) == ("Ed", True)
    values = {one["option"]: one["value"] for one in answer["ranking"]}
    for one in decided.ranking:
        assert values[one.option] == pytest.approx(one.value, abs=2e-3)
    status = found("status", "p.db", "prize")
    assert (status["status"], status["evaluations"], status["late"]) == ("finished", 20, 0)
    assert "Ed" in said("answer", "p.db", "prize", "--report", "prize.png")
    said("export", "p.db", "prize", "prize.html")
    page = Path("prize.html").read_text("utf-8")
    assert status["hash"] in page
    assert "evenhand campaign verify p.db prize" in page
    assert "Boléro" not in page
    # anybody can check the record, with the store or without it
    verdict = found("verify", "p.db", "prize", "--seal", status["hash"])
    assert (verdict["verified"], verdict["decided"], verdict["seal"]) == (
        True,
        True,
        status["hash"],
    )
    said("export", "p.db", "prize", "events.jsonl")
    assert "whole" in said("verify", "events.jsonl")
    lines = Path("events.jsonl").read_text("utf-8").splitlines()
    Path("events.jsonl").write_text("\n".join(lines[:5] + lines[6:]), "utf-8")
    forged = run("verify", "events.jsonl")
    assert forged.exit_code == 1
    assert "event 6 is missing" in forged.stdout
    assert found("list", "p.db") == {"campaigns": {"prize": "finished"}}


def test_workbooks_for_everybody_go_out_and_come_back_in_a_folder() -> None:
    Path("conflicts.csv").write_text("option,evaluator\nAnn,Paul\n", "utf-8")
    new("--scale", "0,100", "--ask", "conflicts=conflicts.csv")
    round_ = "--sheet", "round", "-n", "9"
    told = found("ask", "p.db", "prize", *round_)["sheets"]
    assert {who: one["tickets"] for who, one in told.items()} == {
        judge: 4 if judge == "Paul" else 5 for judge in JUDGES
    }
    refused("ask", "p.db", "prize", "--sheet", "round")  # they may have scores in them
    for judge in JUDGES:
        book = openpyxl.load_workbook(told[judge]["sheet"])
        sheet, words = book.worksheets
        assert words["A1"].value == "Scores for prize"
        (rule,) = sheet.data_validations.dataValidation
        assert (rule.type, rule.formula1, rule.formula2) == ("decimal", "0", "100")
        header = [cell.value for cell in sheet[1]]
        for row in range(2, sheet.max_row + 1):
            skater = sheet.cell(row, header.index("option") + 1).value
            assert (judge, skater) != ("Paul", "Ann")
            sheet.cell(row, header.index("score") + 1).value = score_of(judge, skater)
        assert str(rule.sqref) == f"{'ABCDEFG'[header.index('score')]}2:D{sheet.max_row}"
        if judge == "Paul":
            sheet.cell(2, header.index("score") + 1).value = 777
        book.save(told[judge]["sheet"])
    first = run("import", "p.db", "prize", "round", "--json")
    assert first.exit_code == 2
    files = json.loads(first.stdout)["files"]
    assert "777" in files["Paul.xlsx"]["refused"]
    others = [one["counted"] for name, one in files.items() if name != "Paul.xlsx"]
    assert others == [5] * (len(JUDGES) - 1)
    book = openpyxl.load_workbook("round/Paul.xlsx")
    book.worksheets[0]["D2"].value = 50.0
    book.save("round/Paul.xlsx")
    Path("round/~$Paul.xlsx").write_text("a spreadsheet has it open")
    again = found("import", "p.db", "prize", "round")["files"]
    assert [(one["counted"], one["repeated"]) for one in again.values()] == [
        (4, 0) if name == "Paul.xlsx" else (0, 5) for name in again
    ]
    assert found("status", "p.db", "prize")["evaluations"] == 5 * len(JUDGES) - 1


def test_sheets_show_what_was_declared_and_nothing_else() -> None:
    new("--column=prices=price", "--at-most", "cost=1000")
    said("ask", "p.db", "prize", "-e", "Rosa", "-n", "5", "--sheet", "rosa.csv")
    rows = sheet_of("rosa.csv")
    assert list(rows[0]) == ["ticket", "option", "music", "score", "note"]
    assert {row["option"] for row in rows} == {"Ann", "Bo", "'=Cy", "Dí", "Ed"}
    assert {row["music"] for row in rows} == {"Boléro", "'@work", "Carmen", "'-", "a;b"}
    # the groups, the prices and what was given for the worth are nowhere on it
    text = " ".join(cell for row in rows for name, cell in row.items() if name != "ticket")
    for secret in (*JUDGES, *NATION.values(), "20", "75", "71"):
        assert secret not in text
    # what a terminal and a machine are shown is no more than that
    shown = found("ask", "p.db", "prize", "-e", "Paul")["tickets"][0]
    assert set(shown) == {"ticket", "labels", "evaluator", "shown", "attempt", "until"}
    assert "group" in refused(
        "new", "p.db", "two", "skaters.csv", "--evaluators", "judges.csv",
        "--column=option_group=nation", "--column", "show=music,nation",
    )  # fmt: skip


def test_columns_are_shown_in_the_order_in_which_they_were_declared() -> None:
    judges = "--evaluators", "P,Q"
    for name, order in (("a", ["worth", "music"]), ("b", ["music", "worth"])):
        said("new", "p.db", name, "skaters.csv", *judges, "--column", "show=" + ",".join(order))
        said("ask", "p.db", name, "-e", "P", "-n", "5", "--sheet", f"{name}.csv")
        assert list(sheet_of(f"{name}.csv")[0])[2:4] == order
        shown = found("ask", "p.db", name, "-e", "P")["tickets"][0]["shown"]
        assert list(shown[0]) == order


def test_a_sheet_with_mistakes_names_every_line_and_takes_nothing() -> None:
    new("--scale", "0,100")
    said("ask", "p.db", "prize", "-e", "Tom", "-n", "5", "--sheet", "tom.csv")
    assert "may have scores" in refused(
        "ask", "p.db", "prize", "-e", "Tom", "-n", "5", "--sheet", "tom.csv"
    )
    good = sheet_of("tom.csv")

    def given(change: dict[int, dict[str, str]], drop: str = "", **extra: str) -> str:
        rows = [row | {"score": "50"} | change.get(n, {}) | extra for n, row in enumerate(good)]
        frame = pd.DataFrame(rows).drop(columns=[drop] if drop else [])
        frame.to_csv("bad.csv", index=False)
        return refused("import", "p.db", "prize", "bad.csv")

    told = given(
        {0: {"score": "abc"}, 1: {"score": "101"}, 2: {"ticket": "99-abcdef"}, 3: {"score": "nan"}}
    )
    assert "4 things to correct" in told
    assert "Nothing was taken" in told
    for line, wrong in ((2, "'abc'"), (3, "[0, 100]"), (4, "'99-abcdef'"), (5, "'nan'")):
        assert f"line {line}: column" in told
        assert wrong in told
    assert "sorted" in given({0: {"option": "Ed"}, 1: {"option": "Ed"}})
    assert "'score'" in given({}, drop="score")
    assert "'nation'" in given({}, nation="FRA")
    twice = good[1] | {"score": "51"}
    assert "on line 2 it has 51; leave one of them" in given({0: twice})
    assert "column 'ticket': it is empty" in given({2: {"ticket": ""}})
    # what is empty stays open; what is there counts, and stays as it was told first
    rows = [row | {"score": "50", "note": "late start"} for row in good[:2]]
    pd.DataFrame(rows + good[2:]).to_csv("half.csv", index=False)
    told = said("import", "p.db", "prize", "half.csv")
    assert "2 scores taken; 3 not filled in" in told
    assert "late start" in told
    assert "told before" in given({0: {"score": "60"}})
    assert found("status", "p.db", "prize")["evaluations"] == 2


def test_notes_on_a_sheet_are_kept_in_the_record() -> None:
    new()
    said("ask", "p.db", "prize", "-e", "Tom", "-n", "5", "--sheet", "tom.csv")
    rows = sheet_of("tom.csv")
    notes = ["=fell()", "two\nlines", "", "", "no sound"]
    scores = ["50", "51", "52", "53", ""]  # the last could not be evaluated
    filled = [
        row | {"score": score, "note": note}
        for row, score, note in zip(rows, scores, notes, strict=True)
    ]
    pd.DataFrame(filled).to_csv("tom.csv", index=False)
    ids = [row["ticket"] for row in rows]
    kept, lost = {ids[0]: "=fell()", ids[1]: "two lines"}, {ids[4]: "no sound"}
    taken = found("import", "p.db", "prize", "tom.csv")
    assert (taken["counted"], taken["notes"], taken["lost_notes"]) == (4, kept, lost)
    filled[2]["note"] = "an afterthought"  # the score was taken without it
    pd.DataFrame(filled).to_csv("tom.csv", index=False)
    again = found("import", "p.db", "prize", "tom.csv")
    assert (again["repeated"], again["notes"]) == (4, kept)
    assert again["lost_notes"] == lost | {ids[2]: "an afterthought"}
    told = said("import", "p.db", "prize", "tom.csv")
    assert f"Not kept, since no new score is beside it: note on {ids[2]}: an afterthought" in told
    assert "evenhand campaign set STORE NAME decline=TICKET" in told

    assert f"Note on {ids[0]}: =fell()" in told
    said("tell", "p.db", "prize", ids[4], "54", "--note", "with <sound>")
    said("set", "p.db", "prize", f"withdraw={ids[1]}", "--because", "a slip", "--blind")
    said("export", "p.db", "prize", "scores.csv")
    told = {row["ticket"]: (row["note"], row["standing"]) for row in sheet_of("scores.csv")}
    counted = "counted"
    assert told == {
        ids[0]: ("'=fell()", counted), ids[1]: ("two lines", "withdrawn blind"),
        ids[2]: ("", counted), ids[3]: ("", counted), ids[4]: ("with <sound>", counted),
    }  # fmt: skip
    assert found("verify", "p.db", "prize")["verified"]
    said("export", "p.db", "prize", "prize.html")
    page = Path("prize.html").read_text("utf-8")
    assert "with &lt;sound&gt;" in page
    assert "an afterthought" not in page


def test_a_conflict_of_interest_on_a_sheet_is_a_decline() -> None:
    new()
    said("ask", "p.db", "prize", "-e", "Tom", "-n", "5", "--sheet", "tom.csv")
    rows = sheet_of("tom.csv")
    filled = [row | {"score": "50", "note": ""} for row in rows]
    filled[1] |= {"score": "", "note": "Conflict of interest: I supervised him"}
    filled[3] |= {"score": "COI"}
    pd.DataFrame(filled).to_csv("tom.csv", index=False)
    taken = found("import", "p.db", "prize", "tom.csv")
    aside = {rows[1]["ticket"]: filled[1]["note"], rows[3]["ticket"]: "COI"}
    assert (taken["counted"], taken["unfilled"], taken["declined"]) == (3, 0, aside)
    again = found("import", "p.db", "prize", "tom.csv")
    assert (again["repeated"], again["declined"]) == (3, aside)
    tom = next(e for e in found("status", "p.db", "prize")["evaluators"] if e["evaluator"] == "Tom")
    assert tom["declined"] == 2
    assert found("verify", "p.db", "prize")["verified"]


def test_withdrawing_twice_does_no_harm_by_number_or_by_ticket() -> None:
    new()
    ticket = found("ask", "p.db", "prize", "-e", "Tom")["tickets"][0]["ticket"]
    assert "no score" in refused(
        "set", "p.db", "prize", f"withdraw={ticket}", "--because", "a slip"
    )
    first = found("tell", "p.db", "prize", ticket, "50")["evaluation"]
    for name, repeated in ((ticket, False), (ticket, True), (str(first), True)):
        done = said("set", "p.db", "prize", f"withdraw={name}", "--because", "a slip")
        assert done.startswith(f"Evaluation {first} was withdrawn{' before' * repeated}. ")
    second = found("tell", "p.db", "prize", ticket, "60")["evaluation"]
    done = said("set", "p.db", "prize", f"withdraw={ticket}", "--because", "again")
    assert done.startswith(f"Evaluation {second} was withdrawn. ")
    assert found("status", "p.db", "prize")["withdrawn"] == 2


def test_logged_scores_open_a_campaign_once() -> None:
    new("--ask", "capacity=none")
    log = [
        ("Ann", "Paul", "74.1"),
        ("Ed", "Sven", "75,2"),
        ("Ed", "Sven", "75,2"),
        ("Bo", "Tom", "70"),
    ]
    columns = ["skater", "judge", "points"]
    pd.DataFrame(log, columns=columns).to_csv("log.csv", index=False, sep=";")
    names = "--column=option=skater", "--column=evaluator=judge", "--column=score=points"
    taken = found("import", "p.db", "prize", "log.csv", *names)
    assert (taken["counted"], taken["repeated"]) == (4, 0)
    pd.DataFrame([*log, ("Ann", "Tom", "70")], columns=columns).to_csv("log.csv", index=False)
    taken = found("import", "p.db", "prize", "log.csv", *names)
    assert (taken["counted"], taken["repeated"]) == (1, 4)
    assert found("status", "p.db", "prize")["evaluations"] == 5
    said("export", "p.db", "prize", "scores.csv")
    assert sorted(row["score"] for row in sheet_of("scores.csv")) == [
        "70.0", "70.0", "74.1", "75.2", "75.2",
    ]  # fmt: skip
    # every wrong line is named, and none is taken
    wrong = [("Zoe", "Paul", "1"), ("Ann", "Zed", "2"), ("Ann", "Paul", ""), ("Ann", "Paul", "x")]
    pd.DataFrame(wrong, columns=columns).to_csv("bad.csv", index=False)
    told = refused("import", "p.db", "prize", "bad.csv", *names)
    for part in ("line 2", "'Zoe'", "line 3", "'Zed'", "line 4", "empty", "line 5", "'x'"):
        assert part in told
    assert "no column" in refused("import", "p.db", "prize", "log.csv")
    pd.DataFrame(log, columns=columns).assign(day=1).to_csv("more.csv", index=False)
    assert "'day'" in refused("import", "p.db", "prize", "more.csv", *names)
    assert "no file" in refused("import", "p.db", "prize", "none.csv")


def test_one_ticket_at_a_time_with_the_store_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new("--scale", "verdicts", "--ask", "pairs")
    monkeypatch.setenv("EVENHAND_STORE", "p.db")
    shown = said("ask", "prize", "-e", "Paul")
    assert "evenhand campaign tell prize" in shown
    ticket = found("ask", "prize", "-e", "Paul")["tickets"][0]
    assert ticket["ticket"] in shown
    assert len(ticket["labels"]) == 2
    assert "[-1, 1]" in refused("tell", "prize", ticket["ticket"], "2")
    wrong = refused("tell", "prize", ticket["ticket"], "better")
    assert "neither first, second, tie nor a number" in wrong
    Path("sheet.csv").write_text(f"ticket,score\n{ticket['ticket']},C\n")
    wanted = "'C' is neither first, second, tie nor a number"
    assert wanted in refused("import", "p.db", "prize", "sheet.csv")
    assert found("tell", "prize", ticket["ticket"], "second")["counted"]
    assert found("tell", "p.db", "prize", ticket["ticket"], "-1")["repeated"]
    assert "told before" in refused("tell", "prize", ticket["ticket"], "-0.5")
    again = found("ask", "prize", "-e", "Paul")["tickets"][0]
    assert again["ticket"] != ticket["ticket"]
    said("set", "prize", f"withdraw={ticket['ticket']}", "--because", "a slip")
    assert found("status", "prize")["withdrawn"] == 1


def test_changes_on_the_way() -> None:
    new("--ask", "capacity=none", "--at-most", "19")
    said("set", "p.db", "prize", "pause", "--because", "lunch")
    nothing = run("ask", "p.db", "prize", "-e", "Paul", "--json")
    assert nothing.exit_code == 4
    assert json.loads(nothing.stdout)["reason"] == "paused"
    said("set", "p.db", "prize", "resume")
    ticket = found("ask", "p.db", "prize", "-e", "Paul")["tickets"][0]["ticket"]
    said("set", "p.db", "prize", f"release={ticket}")
    ticket = found("ask", "p.db", "prize", "-e", "Paul")["tickets"][0]["ticket"]
    said("set", "p.db", "prize", f"fail={ticket}", "--because", "no sound")
    said("set", "p.db", "prize", "leave=Tom", "--because", "ill")
    nothing = run("ask", "p.db", "prize", "-e", "Tom")
    assert nothing.exit_code == 4
    assert nothing.stdout.startswith("Nothing to evaluate: Tom left: ill; ")  # as he is written
    said("set", "p.db", "prize", "join=Tom")
    assert "at most 20 evaluations" in said("extend", "p.db", "prize", "--at-most", "20")
    assert found("status", "p.db", "prize")["at_most"] == 20
    skaters, judges = pd.read_csv("skaters.csv"), pd.read_csv("judges.csv")
    skaters.loc[len(skaters)] = ["Flo", "GBR", 70.0, "Vals"]
    judges.loc[len(judges)] = ["Uma", "GBR", 20.0]
    skaters.to_csv("more.csv", index=False)
    judges.to_csv("more_judges.csv", index=False)
    panel = "--evaluators", "more_judges.csv", "--column=option_group=nation"
    more = "--options", "more.csv", *panel
    assert "music" in refused("extend", "p.db", "prize", "--options", "judges.csv", *panel)
    skaters[1:].to_csv("fewer.csv", index=False)
    assert "missing" in refused("extend", "p.db", "prize", "--options", "fewer.csv", *panel)
    said("extend", "p.db", "prize", *more)
    status, answer = found("status", "p.db", "prize"), found("answer", "p.db", "prize")
    assert {one["evaluator"] for one in status["evaluators"]} == {*JUDGES, "Uma"}
    assert "nobody is new" in refused("extend", "p.db", "prize", "--evaluators", "Uma=GBR")
    assert {one["option"] for one in answer["ranking"]} == {*WORTH, "Flo"}
    said("export", "p.db", "prize", "prize.html")
    page = Path("prize.html").read_text("utf-8")
    for told in (
        "Paused: lunch", "no sound", "Tom left: ill", "Tom came back",
        "extended: at most 20 evaluations.", "extended: option Flo, evaluator Uma.",
    ):  # fmt: skip
        assert told in page
    said("export", "p.db", "prize", "record")
    lines = [
        json.loads(line) for line in Path("record/events.jsonl").read_text("utf-8").splitlines()
    ]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["hash"] == found("status", "p.db", "prize")["hash"]


def test_a_score_of_who_left_is_withdrawn_and_nobody_is_asked_for_another() -> None:
    new()
    for who, then in (("Paul", "; its ticket waits for another score."), ("Tom", ".")):
        ticket = found("ask", "p.db", "prize", "-e", who)["tickets"][0]["ticket"]
        number = found("tell", "p.db", "prize", ticket, "70")["evaluation"]
        if who == "Tom":
            said("set", "p.db", "prize", "leave=Tom")
        withdrawn = said("set", "p.db", "prize", f"withdraw={number}", "--because", "a slip")
        assert withdrawn == f"Evaluation {number} was withdrawn. It counts no more{then}\n"
    assert "Tom left and was not asked again\n" in said("answer", "p.db", "prize")


def test_options_with_features_are_extended_in_the_units_that_they_had() -> None:
    skaters = pd.read_csv("skaters.csv").assign(
        side=["home", "away"] * 2 + ["home"], base=[10.0, 12.0, 9.0, 15.0, 11.0], style="plain"
    )
    skaters.loc[1, "style"] = "quick"
    skaters.to_csv("skaters.csv", index=False)
    # which column has the names is known from those before
    more = "--column=option_group=side", "--column=features=base,style"
    alone = *more, "--column=option=skater"
    said("new", "p.db", "solo", "skaters.csv", *alone, "--at-most", "100")
    ticket = found("ask", "p.db", "solo")["tickets"][0]["ticket"]
    said("tell", "p.db", "solo", ticket, "5")
    new = skaters.iloc[[0]].assign(skater="Flo", base=1000.0)  # far from all before
    pd.concat([new, skaters]).to_csv("more.csv", index=False)
    odd = new.assign(style="another")  # nothing was said of its value before
    pd.concat([skaters, odd]).to_csv("odd.csv", index=False)
    assert "style=another" in refused("extend", "p.db", "solo", "--options", "odd.csv", *more)
    said("extend", "p.db", "solo", "--options", "more.csv", *more)
    rng = np.random.default_rng(0)
    with eh.Campaign.open("p.db", "solo") as campaign:
        answer = campaign.run(lambda question: 5.0 - question.option + 0.1 * rng.normal())
        options = answer.policy.actions
    assert 1 < answer.spent <= 100
    assert found("verify", "p.db", "solo")["verified"]
    assert isinstance(options, eh.ActionSet)
    assert list(options.labels) == ["Flo", *WORTH]
    assert options.describe("Flo") == {"base": 1000.0, "style": "plain"}
    assert options.describe("Bo") == {"base": 12.0, "style": "quick"}
    before = skaters["base"].to_numpy()
    np.testing.assert_allclose(options.features[1:, 1], (before - before.mean()) / before.std())


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("ask", "p.db", "prizes"), "prizes"),
        (("ask", "p.db", "prize", "-n", "3", "--sheet", "all.csv"), "--evaluator"),
        (("ask", "p.db", "prize", "-e", "Zed"), "Zed"),
        (("tell", "p.db", "prize", "17", "3"), "17-9f3a2c"),
        (("tell", "p.db", "prize", "17-000000", "3"), "no ticket"),
        (("set", "p.db", "prize", "withdraw=5", "--because", "x"), "no evaluation 5"),
        (("set", "p.db", "prize", "leave"), "leave=WHO"),
        (("set", "p.db", "prize", "pause=Tom"), "got 'pause=Tom'"),
        (("set", "p.db", "prize", "fail=17-9f3a2c"), "say why, with --because"),
        (("set", "p.db", "prize", "resume", "--because", "x"), "resume has no --because"),
        (("set", "p.db", "prize", "decline=1", "--because", "x", "--blind"), "no --blind"),
        (("ask", "p.db", "prize", "--sheet", "new", "-e", "Tom"), "--sheet FOLDER"),
        (("export", "p.db", "prize", "record.xml"), "FILE.csv"),
        (("new", "p.db", "prize", "skaters.csv", "--evaluators", "judges.csv"), "already"),
        (("new", "p.db", "b", "skaters.csv"), "--evaluators"),
        (("new", "p.db", "b", "skaters.csv", "--evaluators", "P,P"), "P,P"),
        (("new", "p.db", "b", "skaters.csv", "--evaluators=P,Q", "--target=top=5"), "less than"),
        (("new", "p.db", "b", "skaters.csv", "--evaluators=P,Q", "--ask=lease=soon"), "a time"),
        (("new", "p.db", "b", "skaters.csv", "--evaluators=P,Q", "--column=prices=x"), "prices"),
        (("new", "p.db", "b", "skaters.csv", "--evaluators=P,Q", "--column=show=x"), "show"),
        (
            ("new", "p.db", "b", "skaters.csv", "--evaluators=P,Q", "--column=option_group=nation"),
            "evaluators have none",
        ),
        (("new", "p.db", "b", "skaters.csv", "--evaluators", "none.csv"), "no file none.csv"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_what_to_do(
    arguments: tuple[str, ...], needed: str
) -> None:
    new()
    told = refused(*arguments)
    assert needed in told
    assert "here; names in a list" not in told  # of options that these commands do not have


def test_names_of_evaluators_may_have_dots() -> None:
    said("new", "p.db", "b", "skaters.csv", "--evaluators", "gpt-4.1, claude-3.5")
    there = [one["evaluator"] for one in found("status", "p.db", "b")["evaluators"]]
    assert there == ["gpt-4.1", "claude-3.5"]


def test_times_are_written_and_read_as_people_do() -> None:
    said = [duration(seconds) for seconds in (0.2, 90, 7200, 200_000)]
    assert said == ["1 second", "90 seconds", "2 hours", "2 days"]
    assert [seconds_in(text) for text in ("90", "1.5h", "3d")] == [90, 5400, 259_200]


@pytest.mark.parametrize(
    ("wanted", "words", "inside", "outside"),
    [
        (["--target", "bar=70"], "above 70", {"Ann", "Ed"}, {"Bo", "=Cy", "Dí"}),
        (
            ["--target", "against=Ann", "--target", "margin=1"],
            "no more than 1 worse than 'Ann'",
            {"Ed"},
            {"=Cy"},
        ),
        (["--target", "top=2", "--target", "tolerance=1"], "the best 2", {"Ed"}, {"=Cy"}),
    ],
)
def test_a_campaign_for_a_target_says_what_is_wanted_and_of_whom_it_is_certain(
    wanted: list[str], words: str, inside: set[str], outside: set[str]
) -> None:
    panel = ["--evaluators", "judges.csv", "--column=option_group=nation", "--ask", "capacity=none"]
    said("new", "p.db", "prize", "skaters.csv", *panel, *wanted)
    assert f"Those that are {words}. Certain so far: 0 are, 0 are not." in " ".join(
        said("status", "p.db", "prize").split()
    )
    rng = np.random.default_rng(2)

    def evaluate(question: eh.Question) -> float:
        assert question.evaluator is not None
        own = NATION[question.label] == JUDGES[question.evaluator]
        score = WORTH[question.label] + LENIENT[question.evaluator] + 0.5 * own
        return float(score - 0.1875 + 0.3 * rng.standard_normal())  # the mean of the leniencies

    with eh.Campaign.open("p.db", "prize") as campaign:
        campaign.run(evaluate)
    answer = found("answer", "p.db", "prize")
    assert answer["sure"]
    assert set(answer["target"]["inside"]) >= inside
    assert set(answer["target"]["outside"]) >= outside
    status = found("status", "p.db", "prize")
    assert (status["wanted"], status["inside"]) == (words, len(answer["target"]["inside"]))
    assert found("verify", "p.db", "prize")["verified"]
    refused("new", "p.db", "other", "skaters.csv", *panel, "--target", "bar=1,top=2")


def test_grades_are_told_by_their_words() -> None:
    made = ("new", "prize.db", "prize", "skaters.csv", "--evaluators", "judges.csv")
    said(*made, "--scale", "A=10,B=9,C=5")
    ticket = found("ask", "prize.db", "prize", "-e", "Rosa")["tickets"][0]["ticket"]
    assert "A, B or C" in said("ask", "prize.db", "prize", "-e", "Rosa")
    assert "'D' is none of the grades, which are A, B or C" in refused(
        "tell", "prize.db", "prize", ticket, "D"
    )
    said("tell", "prize.db", "prize", ticket, "b")
    said("ask", "prize.db", "prize", "-e", "Paul", "--sheet", "p.csv", "-n", "2")
    sheet = pd.read_csv("p.csv", dtype=str).assign(score=["C", "A"])
    sheet.to_csv("paul.csv", index=False)
    assert found("import", "prize.db", "prize", "paul.csv")["counted"] == 2
    said("export", "prize.db", "prize", "scores.csv")
    assert pd.read_csv("scores.csv")["score"].tolist() == [9, 5, 10]
    stated = "Grades are numbers as you stated them: A = 10, B = 9, C = 5."
    assert stated in " ".join(said("status", "prize.db", "prize").split())
    assert stated in " ".join(said("answer", "prize.db", "prize").split())
    assert "whole" in said("verify", "prize.db", "prize")
