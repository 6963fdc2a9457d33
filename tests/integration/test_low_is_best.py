"""Campaigns where the lowest scores are the best: each agrees with its mirror image, everywhere."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openpyxl
import pandas as pd
import pytest

import evenhand as eh
import shell
from evenhand.campaigns import Ticket
from evenhand.campaigns.stores import Store, open_store
from evenhand.serve import make_app
from evenhand.serve.access import grant
from mirrors import are_mirrors
from pages import word_of
from served import serving

OPTIONS = {"Ann": "a", "Bo": "b", "Cy": "a", "Di": "b"}
JUDGES = {"Paul": "a", "Rosa": "b", "Sven": None, "Tom": "a"}


def mark(question: eh.Question) -> float:
    """Return a mark from 1 to 5, of which 5 is the best, always the same."""
    own = OPTIONS[question.label] == JUDGES[str(question.evaluator)]
    at = [*OPTIONS].index(question.label), [*JUDGES].index(str(question.evaluator)), question.turn
    noise = float(np.random.default_rng(at).normal())
    return round(min(max(4.2 - 0.9 * at[0] + 0.4 * own + 0.3 * noise, 1.0), 5.0), 2)


def mirrored(question: eh.Question) -> float:
    return round(6.0 - mark(question), 2)


def panel(**more: Any) -> eh.Questions:
    return eh.Questions.panel(OPTIONS, JUDGES, **more)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "one look": ({}, {"looks": "once"}, {}),
    "one look, a scale": ({}, {"looks": "once", "bounds": (5, 1)}, {"bounds": (1, 5)}),
    "two of them": ({}, {"looks": "once", "top": 2}, {}),
    "a bar": ({}, {"looks": "once", "bar": 2.5}, {"bar": 3.5}),
    "against": ({}, {"looks": "once", "against": "Cy"}, {}),
    "four times each": ({"capacity": 4}, {}, {}),
    "until certain": ({"capacity": None}, {"at_most": 120}, {}),
    "until certain, two": ({"capacity": None}, {"at_most": 150, "top": 2}, {}),
    "a tolerance": ({"capacity": None}, {"at_most": 120, "tolerance": 0.3}, {}),
    "until certain, a bar": ({"capacity": None}, {"at_most": 150, "bar": 3.0}, {"bar": 3.0}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_campaign_agrees_with_its_mirror_image(name: str, tmp_path: Path) -> None:
    asked, settings, other = CASES[name]
    low = {"best": "low"} if settings.get("bounds") is None else {}  # (5, 1) says it
    answers = []
    for best, given, evaluate in (
        ("low", settings | low, mirrored),
        ("high", settings | other, mark),
    ):
        with eh.Campaign.create(tmp_path / f"{best}.db", "c", panel(**asked), **given) as campaign:
            before = campaign.status()
            answers.append(campaign.run(evaluate))
            assert campaign.verify().wrong == ()
            assert (before.best, campaign.status().best) == (best, best)
            if "bar" in given:
                side = "below" if best == "low" else "above"
                assert before.wanted == f"{side} {given['bar']:g}"
            campaign.report(tmp_path / f"{best}.html")
            campaign.export(tmp_path / best)
    are_mirrors(*answers, 6.0)
    assert "Lower is better." in str(answers[0])
    assert "Lower is better." in (tmp_path / "low.html").read_text("utf-8")
    tables = [pd.read_csv(tmp_path / best / "evaluations.csv") for best in ("low", "high")]
    assert tables[0]["score"].tolist() == pytest.approx((6.0 - tables[1]["score"]).tolist())
    told = [
        row[3]
        for line in (tmp_path / "low" / "events.jsonl").read_text("utf-8").splitlines()
        if (event := json.loads(line))["kind"] == "told"
        for row in event["body"]["evaluations"]
    ]
    assert told == tables[0]["score"].tolist()  # the log has what evaluators gave
    for best in ("low", "high"):
        assert eh.read_scores(tmp_path / best / "evaluations.csv").best == best


def test_a_vote_for_an_option_is_one_for_it(store: Store, http: httpx.Client) -> None:
    eh.Campaign.create(store, "faults", panel(), scores="votes", best="low").close()
    with httpx.Client(base_url=http.base_url, headers={"Accept": "text/html"}) as judge:
        judge.get(f"/enter/{grant(store, 'evaluator', 'faults', 'Paul')}")
        page = judge.get("/judge").text
    assert re.findall(r'value="([01])" required><span>([A-Z]\w+) it', page) == [
        ("0", "For"),
        ("1", "Against"),
    ]


def test_what_was_withdrawn_is_mirrored_too(tmp_path: Path) -> None:
    answers = []
    for best, evaluate in (("low", mirrored), ("high", mark)):
        with eh.Campaign.create(
            tmp_path / f"{best}.db", "c", panel(), looks="once", best=best
        ) as campaign:
            campaign.run(evaluate)
            campaign.withdraw(3, "a slip")
            answers.append(campaign.run(evaluate))
            assert campaign.verify().wrong == ()
    are_mirrors(*answers, 6.0)
    (gone,), (other,) = (answer.withdrawn.scores for answer in answers)
    assert gone.score == pytest.approx(6.0 - other.score)


def test_choose_on_a_store_and_on_a_server_says_the_same_as_without(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"bounds": (5, 1)}
    alone = eh.choose(panel(), mirrored, **settings)
    here = eh.choose(panel(), mirrored, store=tmp_path / "here.db", **settings)
    assert here.to_dict()["ranking"] == alone.to_dict()["ranking"]
    store = open_store(tmp_path / "served.db")
    with serving(make_app(store)) as address:
        link = f"{address}/enter/{grant(store, 'owner')}"
        there = eh.choose(panel(), mirrored, store=link, **settings)
    store.close()
    assert there.to_dict() == here.to_dict()
    are_mirrors(here, eh.choose(panel(), mark, bounds=(1, 5)), 6.0)


def run(*arguments: str) -> str:
    result = shell.run("campaign", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_sheets_imports_and_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks are typed on sheets, 1 the best; a log of them is taken in."""
    monkeypatch.chdir(tmp_path)
    judges = {"judge": list(JUDGES), "group": [group or "-" for group in JUDGES.values()]}
    pd.DataFrame(judges).to_csv("j.csv", index=False)
    pd.DataFrame({"option": list(OPTIONS), "group": list(OPTIONS.values())}).to_csv(
        "o.csv", index=False
    )
    made = ["o.csv", "--evaluators", "j.csv", "--scale", "1,5", "--scale", "low"]
    run("new", "s.db", "c", *made)
    assert "Lower is better." in run("status", "s.db", "c")
    run("ask", "s.db", "c", "--sheet", "sheets")
    rows = []
    for path in sorted(Path("sheets").glob("*.xlsx")):
        book = openpyxl.load_workbook(path)
        sheet = book.worksheets[0]
        header = [cell.value for cell in sheet[1]]
        words = " ".join(str(c.value) for row in book.worksheets[1].iter_rows() for c in row)
        assert "lower is better" in words
        for row in sheet.iter_rows(min_row=2):
            option = row[header.index("option")].value
            score = float(1 + [*OPTIONS].index(option))
            row[header.index("score")].value = score
            rows.append((option, path.stem, score))
        book.save(path)
        run("import", "s.db", "c", str(path))
    answer = json.loads(run("answer", "s.db", "c", "--json"))
    assert (answer["option"], answer["best"]) == ("Ann", "low")
    assert [line["value"] for line in answer["ranking"]] == pytest.approx([1.0, 2.0, 3.0, 4.0])
    with eh.Campaign.create(
        "log.db", "c", panel(capacity=None), at_most=99, best="low"
    ) as campaign:
        table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
        campaign.import_scores(table[table["evaluator"].isin(JUDGES)])
        assert campaign.answer().ranking[0].option == "Ann"


def typed(groups: dict[str, str | None]) -> str:
    return "\n".join(f"{name}, {group or '-'}" for name, group in groups.items())


def begun(http: httpx.Client, store: Store, name: str, **form: str) -> eh.Campaign:
    given = {"options": typed({**OPTIONS}), "evaluators": typed(JUDGES), "do": "begin"}
    given |= {"name": name, "csrf": word_of(http), "kind": "scores"}
    page = http.post("/campaigns/new", data=given | form)
    assert page.status_code == 200, page.text
    assert "Lower is better." in page.text or name == "high"
    return eh.Campaign.open(store, name)


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ({"scale": "1, 5", "best": "low"}, "from 1 (the best) to 5"),
        ({"scale": "5 to 1", "best": ""}, "from 1 (the best) to 5"),
        ({"scale": "0, 100", "best": "low"}, "0 (the best)"),
    ],
)
def test_a_campaign_of_the_page_agrees_with_its_mirror_image(
    form: dict[str, str], shown: str, store: Store, http: httpx.Client
) -> None:
    low = begun(http, store, "low", **form)
    high = begun(http, store, "high", scale="1, 5", best="high")
    judge = httpx.Client(base_url=http.base_url, headers={"Accept": "text/html"})
    with judge:
        judge.get(f"/enter/{grant(store, 'evaluator', 'low', 'Paul')}")
        page = judge.get("/judge").text
        assert shown in page
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        (label,) = re.findall(r"<article><h1>([^<]*)", page)
        told = eh.Question([*OPTIONS].index(label), label, 0, "Paul", labels=(label,), index=0)
        answer = judge.post("/judge/tell", data=hidden | {"score": str(mirrored(told))})
        assert answer.status_code == 303
    answers = [campaign.run(by) for campaign, by in ((low, mirrored), (high, mark))]
    if form["scale"] != "0, 100":
        are_mirrors(*answers, 6.0)
    assert answers[0].best == "low"
    page = http.get("/campaigns/1").text
    assert "Lower is better." in page
    assert "Lower is better." in http.get("/campaigns/1/report.html").text
    body = io.BytesIO(http.get("/campaigns/1/record.zip").content)
    with zipfile.ZipFile(body) as archive:
        first = json.loads(archive.read("events.jsonl").splitlines()[0])
        assert first["body"]["settings"]["best"] == "low"


@pytest.mark.parametrize("said", [{"best": "low"}, {"scale": "5 to 1"}, {}])
def test_a_table_on_the_page_is_read_the_way_its_owner_says(
    said: dict[str, str], http: httpx.Client
) -> None:
    rows = [
        f"{option},{judge},{i + 1 + j % 2 / 2}"
        for i, option in enumerate(OPTIONS)
        for j, judge in enumerate(JUDGES)
    ]
    files = {"table": ("marks.csv", "\n".join(["option,judge,score", *rows]).encode())}
    columns = http.post("/scores", data={"csrf": word_of(http)}, files=files)
    assert re.findall(r'type="radio" name="best" value="(\w+)"', columns.text) == ["high", "low"]
    answer = http.get(f"{columns.url.path}/answer", params=said)
    best, name = ("Lower", "Ann") if said else ("Higher", "Di")
    assert answer.text.count(f"{best} is better.") >= 2  # the decision and the audit
    verdicts = re.findall(r'class="verdict">(.*?)</', answer.text)
    assert name in verdicts[0]
    report = http.get(f"{columns.url.path}/decision.html", params=said).text
    assert f"{best} is better." in report


def test_a_table_that_says_that_1_is_the_best_is_asked_about_on_the_page(
    http: httpx.Client,
) -> None:
    table = b"option,judge,rank\nA,P,1\nB,P,2\nA,Q,1\nB,Q,2\n"
    columns = http.post("/scores", data={"csrf": word_of(http)}, files={"table": ("t.csv", table)})
    asked = http.get(f"{columns.url.path}/answer", params={"score": "rank"})
    assert asked.status_code == 400
    assert "Lower is better" in re.findall(r"<pre>(.*?)</pre>", asked.text, re.DOTALL)[0]
    told = http.get(f"{columns.url.path}/answer", params={"score": "rank", "best": "low"})
    assert told.status_code == 200


def test_what_contradicts_itself_is_refused(tmp_path: Path) -> None:
    for wrong in ({"best": "lowest"}, {"bounds": (5, 1), "best": "high"}, {"bounds": (1, 1)}):
        with pytest.raises(eh.InputError):
            eh.Campaign.create(tmp_path / "x.db", "x", panel(), **wrong)  # type: ignore[arg-type]
    with pytest.raises(eh.InputError, match="grades"):
        eh.Campaign.create(tmp_path / "x.db", "x", panel(), grades=["A", "B"], best="low")


def test_in_comparisons_of_numbers_the_lower_side_is_for_the_first(tmp_path: Path) -> None:
    asked = eh.Questions.comparisons(["A", "B", "C"], ["P", "Q", "R"], capacity=1)
    with eh.Campaign.create(
        tmp_path / "x.db", "x", asked, looks="once", bounds=(-5, 5), best="low"
    ) as campaign:
        while isinstance(ticket := campaign.ask(None), Ticket):
            first, second = ticket.question.labels
            campaign.tell(ticket, float("ABC".index(first) - "ABC".index(second)))
        assert campaign.answer().label == "A"
        assert campaign.verify()
