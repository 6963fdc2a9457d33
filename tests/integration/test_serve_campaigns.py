"""The owner's pages of a campaign: who has what, the bias over time, scores, reminders."""

from __future__ import annotations

import base64
import csv
import html
import io
import itertools
import re
from urllib.parse import unquote

import httpx
import numpy as np
import pytest

import evenhand as eh
from evenhand.campaigns import Ticket
from evenhand.campaigns.holdings import due_of, holdings_of
from evenhand.campaigns.stores import Store
from evenhand.serve.access import grant, known, renew
from pages import word_of

pytestmark = pytest.mark.usefixtures("hasty")

OPTIONS = {"Ann": "a", "Bo": "b", "Cy": "a", "Di": "c"}
JUDGES = {"Paul": "a", "Rosa": "b", "Sven": "c"}
PANEL = eh.Questions.panel(OPTIONS, JUDGES)


def marks(question: eh.Question) -> float:
    own = OPTIONS[question.label] == JUDGES[str(question.evaluator)]
    noise = float(np.random.default_rng((question.index, question.turn)).normal())
    return round(min(max(6.0 - question.option + own + 0.3 * noise, 0.0), 10.0), 1)


def begun(store: Store, **more: object) -> eh.Campaign:
    panel = more.pop("panel", PANEL)
    return eh.Campaign.create(store, "Cup", panel, bounds=(0, 10), **more)  # type: ignore[arg-type]


def answered(campaign: eh.Campaign, evaluator: str, n: int) -> None:
    for _ in range(n):
        ticket = campaign.ask(evaluator)
        assert isinstance(ticket, Ticket)
        campaign.tell(ticket, marks(ticket.question), note=f"<b>{ticket.question.label}</b>")


def test_nothing_is_shown_before_scores_may_be_looked_at(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, looks="once")
    answered(campaign, "Paul", 3)
    page, given = http.get("/campaigns/1").text, http.get("/campaigns/1/scores").text
    for shown in (page, given):
        assert not re.search(r"\b\d\.\d\b", shown)
        assert "<b>Ann" not in html.unescape(shown)
    assert given.count('type="radio"') == 3
    assert ">Score</th>" not in given
    for who in JUDGES:
        answered(campaign, who, 4 - (3 if who == "Paul" else 0))
    campaign.ask("Paul")
    assert campaign.status().status == "finished"
    given = http.get("/campaigns/1/scores").text
    assert ">Score</th>" in given
    assert "&lt;b&gt;Ann&lt;/b&gt;" in given


def test_who_has_what_since_when_and_what_is_still_to_do(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, looks="once")
    answered(campaign, "Paul", 2)
    ticket = campaign.ask("Rosa")
    assert isinstance(ticket, Ticket)
    now, holdings = holdings_of(campaign._follower)
    (held,) = holdings["Rosa"].held
    assert held.label == ticket.question.label
    assert 0.0 <= now - held.since < 60.0
    assert held.until == ticket.until
    assert holdings["Rosa"].last is None
    assert holdings["Paul"].held == ()
    assert 0.0 <= now - (holdings["Paul"].last or 0.0) < 60.0
    assert "Sven" not in holdings
    assert due_of(campaign) == {"Paul": 2, "Rosa": 4, "Sven": 4}
    row = re.search(r"<tr><td>Rosa</td>.*?</tr>", http.get("/campaigns/1/live").text, re.S)
    assert row
    assert f"{ticket.question.label}, handed out" in row[0]
    campaign.leave("Sven", "ill")
    assert due_of(campaign).get("Sven", 0) == 0


def test_who_is_behind_is_reminded_and_gets_a_new_link(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, looks="once", panel=eh.Questions.panel(["Ann", "Bo"], ["=Eve", "Rosa"]))
    old = renew(store, "Cup", "=Eve")
    first = campaign.ask("Rosa", n=2)
    assert isinstance(first, list)
    campaign.tell_many([(one, 5.0, None) for one in first])
    page = http.get("/campaigns/1/remind").text
    letters = [unquote(html.unescape(one)) for one in re.findall(r'href="(mailto:[^"]*)"', page)]
    assert len(letters) == 1
    assert letters[0].startswith("mailto:?subject=Reminder: Cup&body=Dear =Eve,")
    assert "2 of your evaluations for Cup are still open" in letters[0]
    assert known(store, old) is not None
    refused = http.post("/campaigns/1/remind", data={"csrf": "x"})
    assert refused.status_code == 403
    assert known(store, old) is not None
    made = http.post("/campaigns/1/remind", data={"csrf": word_of(http)}).text
    assert known(store, old) is None
    table = re.search(r"data:text/csv;base64,([\w+/=]+)", made)
    assert table
    text = base64.b64decode(table[1]).decode("utf-8-sig")
    (line,) = csv.DictReader(io.StringIO(text))
    assert (line["evaluator"], line["done"], line["to do"]) == ("'=Eve", "0", "2")
    access = known(store, line["link"].rsplit("/", 1)[1])
    assert access is not None
    assert access.evaluator == "=Eve"
    watcher = httpx.Client(base_url=http.base_url, headers={"Accept": "text/html"}, timeout=60)
    with watcher:
        watcher.get(f"/enter/{grant(store, 'viewer', 'Cup')}")
        for path in ("remind", "links"):
            assert watcher.get(f"/campaigns/1/{path}").status_code == 403
        for path in ("", "/live", "/scores"):
            shown = watcher.get(f"/campaigns/1{path}")
            assert shown.status_code == 200
            assert "<form" not in shown.text


def test_a_score_is_withdrawn_from_the_list(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, looks=None)
    answered(campaign, "Paul", 3)
    data = {
        "csrf": word_of(http),
        "what": "withdraw",
        "whom": "2",
        "reason": "a slip",
        "blind": "1",
    }
    done = http.post("/campaigns/1/do", data=data | {"csrf": word_of(http)})
    assert "The score counts no more." in done.text
    (gone,) = campaign.answer().withdrawn.scores
    assert (gone.evaluation, gone.reason, gone.blind) == (2, "a slip", True)
    given = http.get("/campaigns/1/scores").text
    assert "withdrawn blind" in given
    assert 'value="2" required' not in given
    older = http.get("/campaigns/1/scores", params={"before": 2}).text
    assert re.findall(r'<td class="n">(\d+)</td><td>', older) == ["1"]


def test_grades_are_named_beside_values(store: Store, http: httpx.Client) -> None:
    panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Rosa", "Sven"])
    campaign = eh.Campaign.create(
        store, "Cup", panel, grades=["Good", "Fair", "Poor"], looks="once"
    )
    grades = {"Ann": "Good", "Bo": "Poor"}
    for who in ("Paul", "Rosa", "Sven"):
        while ticket := campaign.ask(who):
            assert isinstance(ticket, Ticket)
            campaign.tell(ticket, grades[ticket.question.label])
    page = http.get("/campaigns/1").text
    header = re.findall(r"<th[^>]*>([^<]*)</th>", page)
    assert "nearest grade" in header
    for name, grade in grades.items():
        row = re.search(rf'<tr><th scope="row"[^>]*>(<b>)?{name}(</b>)?</th>.*?</tr>', page, re.S)
        assert row
        assert f">{grade}</td>" in row[0]
    assert '<td class="n">Poor</td>' in http.get("/campaigns/1/scores").text
    assert "nearest grade" in http.get("/campaigns/1/report.html").text
    assert "Good = 3, Fair = 2, Poor = 1" in page


def test_lines_without_a_score_are_left_out_if_that_is_ticked(http: httpx.Client) -> None:
    rows = "".join(f"{p},{r},{i + j}\n" for i, p in enumerate("ABC") for j, r in enumerate("xyz"))
    table = f"proposal,reviewer,mark\n{rows}C,w,\n".encode()
    kept = http.post("/scores", data={"csrf": word_of(http)}, files={"table": ("marks.csv", table)})
    columns = {"option": "proposal", "evaluator": "reviewer", "score": "mark"}
    wrong = http.get(f"{kept.url.path}/answer", params=columns)
    assert wrong.status_code == 400
    assert re.search(r'line 11</td>.*?<span class="why">is empty', wrong.text, re.S)
    assert "tick ‘Leave out lines without a score’" in html.unescape(wrong.text)
    assert "missing=" not in html.unescape(wrong.text)
    said = http.get(f"{kept.url.path}/answer", params=columns | {"missing": "drop"})
    assert "marks.csv: 9 scores" in said.text


def test_people_are_added_on_the_page_invited_and_asked(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, looks="once")
    answered(campaign, "Paul", 1)
    where, csrf = f"/campaigns/{campaign._follower.id}", word_of(http)
    add = {"what": "add", "csrf": csrf, "evaluators": "Uma, a\nVic", "conflicts": "Bo, Uma"}
    said = http.post(f"{where}/do", data=add).text
    assert "They are in." in said
    assert [e.evaluator for e in campaign.status().evaluators] == [*JUDGES, "Uma", "Vic"]
    links = http.post(f"{where}/links", data={"csrf": csrf, "what": "make"}).text
    assert "Code of the link for Uma" in links
    assert {one.question.label for one in campaign.ask("Uma", n=9)} == {"Ann", "Cy", "Di"}
    before = campaign.status().hash
    for wrong, why in (
        ({"evaluators": ""}, "nobody is named"),
        ({"evaluators": "Uma, b"}, "was of group 'a'"),
        ({"evaluators": "Zoe, b, 7"}, "3 cells"),
    ):
        refused = http.post(f"{where}/do", data=add | {"conflicts": ""} | wrong)
        assert refused.status_code == 400
        assert why in html.unescape(refused.text)
        assert html.escape(wrong["evaluators"]) in refused.text  # what was typed is still there
    assert campaign.status().hash == before


def test_nobody_joins_what_one_look_decided_but_a_new_form_is_filled_in(
    store: Store, http: httpx.Client
) -> None:
    campaign = begun(store, looks="once", display={"Ann": {"piece": "Air, in D"}})
    for name in JUDGES:
        answered(campaign, name, 4)
    campaign.ask("Paul")  # there is nothing more to ask, and so it is decided
    assert campaign.status().status == "finished"
    where, csrf = f"/campaigns/{campaign._follower.id}", word_of(http)
    page = http.get(where).text
    assert "Add them" not in page
    refused = http.post(f"{where}/do", data={"what": "add", "csrf": csrf, "evaluators": "Uma, a"})
    assert refused.status_code == 400
    assert "looked at once" in refused.text
    like = re.search(r'href="(/campaigns/new\?like=\d+)"', page)
    assert like
    form = html.unescape(http.get(like[1]).text)
    given = {
        "name": "Cup, again", "csrf": csrf, "do": "begin", "scale": "0, 10",
        "capacity": "1",
    } | {
        field: re.search(rf'id="{field}".*?>(.*?)</textarea>', form, re.S)[1]  # type: ignore[index]
        for field in ("options", "evaluators")
    }  # fmt: skip
    given["evaluators"] += "Uma,a\n"
    assert http.post("/campaigns/new", data=given, files={"x": b""}).status_code == 200
    again = eh.Campaign.open(store, "Cup, again")._follower.known()
    assert list(again.questions.evaluators) == [*JUDGES, "Uma"]
    assert again.questions.options.groups == tuple(OPTIONS.values())
    assert again.display["Ann"] == {"piece": "Air, in D"}


@pytest.mark.parametrize("close", [False, True])
def test_more_scores_are_refused_where_one_look_decided(
    store: Store, http: httpx.Client, close: bool
) -> None:
    campaign = begun(store, looks="once")
    rng = np.random.default_rng(3)
    for name in JUDGES:
        for ticket in campaign.ask(name, n=9):  # type: ignore[union-attr] # a list
            campaign.tell(ticket, round(5 + rng.random(), 1) if close else marks(ticket.question))
    where, more = f"/campaigns/{campaign._follower.id}", {"what": "extend", "whom": "20"}
    for _ in range(2):  # before somebody asks, by which it is written down as decided, and after
        before = campaign.status()
        refused = http.post(f"{where}/do", data=more | {"csrf": word_of(http)})
        assert refused.status_code == 400
        assert "could make nothing surer. Begin a new campaign" in refused.text
        assert campaign.status().hash == before.hash
        campaign.ask("Paul")
    assert campaign.status().status == "finished"
    page = http.get(where).text
    assert "Extend" not in page
    assert "Begin a new one with these" in page


def test_nothing_is_allowed_where_it_is_certain_already(store: Store, http: httpx.Client) -> None:
    panel = eh.Questions.panel(OPTIONS, JUDGES, capacity=None)
    campaign = begun(store, panel=panel, looks=None, at_most=600)
    rng = np.random.default_rng(8)
    while tickets := [t for who in JUDGES for t in campaign.ask(who, n=5) or []]:  # type: ignore[union-attr]
        for ticket in tickets:
            campaign.tell(ticket, 8.0 - 2.0 * ticket.question.option + rng.uniform(-0.5, 0.5))
    before = campaign.status()
    assert campaign.answer().sure
    more = {"what": "extend", "whom": "900", "csrf": word_of(http)}
    refused = http.post(f"/campaigns/{campaign._follower.id}/do", data=more)
    assert refused.status_code == 400
    assert "certain already: nothing more would be asked" in refused.text
    assert campaign.status().hash == before.hash


def test_the_seal_is_shown_as_it_is(store: Store, http: httpx.Client) -> None:
    campaign = begun(store, panel=eh.Questions.panel(OPTIONS, JUDGES, capacity=None))
    changes = itertools.cycle((campaign.pause, campaign.resume))  # each has a seal of its own
    while campaign.status().hash[0] not in "abcdef":
        next(changes)()
    seal = campaign.status().hash
    assert seal in http.get(f"/campaigns/{campaign._follower.id}/verify").text
    assert seal in str(campaign.verify())


def test_who_was_invited_need_not_be(store: Store, http: httpx.Client) -> None:
    where = f"/campaigns/{begun(store)._follower.id}"
    mark = r'data-mark="(.*?)"'
    before = http.get(f"{where}/live").text
    assert "Next: invite the evaluators" in before  # in the part that is fetched again and again
    http.post(f"{where}/links", data={"csrf": word_of(http), "what": "make"})
    after = http.get(f"{where}/live").text
    assert "Next: invite" not in after
    assert "Next: invite" not in http.get(where).text
    assert re.findall(mark, before)[0].split(".")[3] != re.findall(mark, after)[0].split(".")[3]


def test_what_is_wrong_with_a_campaign_is_said_of_its_fields(
    store: Store, http: httpx.Client
) -> None:
    form = {"name": "x", "options": "Ann\nBo", "evaluators": "P\nQ", "top": "2", "do": "begin"}
    new = http.post("/campaigns/new", data=form | {"csrf": word_of(http)}, files={"x": b""})
    assert new.status_code == 400
    assert "‘How many are wanted’ must be less than" in new.text
    where = f"/campaigns/{begun(store, at_most=9)._follower.id}/do"
    less = http.post(where, data={"what": "extend", "whom": "4", "csrf": word_of(http)})
    assert "‘Evaluations at most’ must be a whole number, and at least the 9" in less.text
