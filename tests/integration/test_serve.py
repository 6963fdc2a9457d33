"""Pages over HTTP: the whole way of an owner and of evaluators, and what is refused."""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import logging
import re
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import evenhand as eh
from campaign_record import Record
from evenhand.campaigns import remote
from evenhand.campaigns.stores import Store, open_store
from evenhand.campaigns.tell import withdraw
from evenhand.campaigns.tickets import Ticket
from evenhand.cli import serve as command
from evenhand.serve import make_app, uploads
from evenhand.serve.access import grant, invited, known, renew, revoke
from evenhand.serve.guard import RefusedError
from served import serving

pytestmark = pytest.mark.usefixtures("hasty")

SECRETS = ("FRA", "ITA", "SWE", "Paul", "Rosa", "Sven", "Quinn", "0.37", "estimate", "bias")
SCRIPT = "<script>alert(1)</script>"


def mark(worth: int, own: bool, i: int, j: int) -> float:
    return 5 + worth + own + 0.37 * ((i * 7 + j * 5) % 3 - 1)


TABLE = "skater,judge,score,skater nation,judge nation\n" + "\n".join(
    f"{skater},{judge},{mark(worth, nation == home, i, j)},{nation},{home}"
    for i, (skater, nation, worth) in enumerate(
        [("Ann", "FRA", 3), ("Bo", "ITA", 1), ("Cy", "FRA", 0), ("Di", "SWE", 2)]
    )
    for j, (judge, home) in enumerate([("Paul", "FRA"), ("Rosa", "ITA"), ("Sven", "SWE")])
)
COLUMNS = {
    "option": "skater",
    "evaluator": "judge",
    "score": "score",
    "option_group": "skater nation",
    "evaluator_group": "judge nation",
}
CUP = {
    "name": "Cup",
    "options": "name, group, piece\nAnn, FRA, a waltz\nBo, ITA, a tango\nCy, FRA, a polka",
    "evaluators": "Paul, FRA\nRosa, ITA\nSven, SWE",
    "scale": "0, 10",
}


class Owner:
    """A browser of the owner's."""

    def __init__(self, app: str, store: Store) -> None:
        self.store, self.app = store, app
        self.http = browser(app)
        assert self.http.get(f"/enter/{grant(store, 'owner')}").status_code == 200
        self.csrf = word_in(self.http.get("/scores"))

    def post(self, path: str, files: Any = None, **data: str) -> httpx.Response:
        return self.http.post(path, data={"csrf": self.csrf} | data, files=files)

    def begin(self, **more: str) -> int:
        """Begin a campaign; return its number."""
        answer = self.post("/campaigns/new", **CUP | {"do": "begin"} | more)
        assert answer.status_code == 200, answer.text
        return int(answer.url.path.rsplit("/", 1)[1])

    def paul(self, **more: str) -> Judge:
        """Begin a campaign; return one of its evaluators."""
        return Judge(self.app, self.links(self.begin(**more))["Paul"])

    def links(self, number: int) -> dict[str, str]:
        """Make links; return them by evaluator."""
        text = self.post(f"/campaigns/{number}/links", what="make").text
        found = re.findall(r"<b>([^<]*)</b><br><a href=\"http://[^/]*([^\"]*)\"", text)
        return dict(found)


class Judge:
    """A browser of an evaluator's, which keeps all that it was sent."""

    def __init__(self, app: str, link: str) -> None:
        self.http = browser(app)
        self.got: list[httpx.Response] = []
        self.http.event_hooks = {"response": [self.got.append]}
        assert self.http.get(link).status_code == 200
        self.token = link.rsplit("/", 1)[1]

    def asked(self) -> dict[str, str] | None:
        """Return the fields of the form that is shown, with the option's name; None at the end."""
        return fields_of(self.http.get("/judge"))

    def form(self) -> dict[str, str]:
        """Return the fields of the form that is shown; there is one."""
        form = self.asked()
        assert form is not None
        return form

    def tell(self, form: dict[str, str], score: str) -> httpx.Response:
        return self.http.post("/judge/tell", data=sendable(form) | {"score": score})

    def program(self, verb: str, **body: object) -> httpx.Response:
        """Speak as a program does."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        path = f"/api/v1/{verb}"
        if verb == "status":
            return self.http.get(path, headers=headers)
        return self.http.post(path, json=body, headers=headers)


def browser(address: str) -> httpx.Client:
    headers = {"Accept": "text/html"}
    opened = httpx.Client(base_url=address, headers=headers, follow_redirects=True, timeout=60)
    BROWSERS.append(opened)
    return opened


BROWSERS: list[httpx.Client] = []


@pytest.fixture(autouse=True)
def close_browsers() -> Iterator[None]:
    yield
    while BROWSERS:
        BROWSERS.pop().close()


def word_in(answer: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', answer.text)
    assert found, answer.text
    return found[1]


def fields_of(answer: httpx.Response) -> dict[str, str] | None:
    if 'id="judge"' not in answer.text:
        return None
    form = answer.text[answer.text.index('id="judge"') :]
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    return fields | {"label": re.findall(r"<article><h1>([^<]*)", form)[0]}


def sendable(form: dict[str, str]) -> dict[str, str]:
    return {name: form[name] for name in ("csrf", "ticket", "attempt")}


@pytest.fixture
def owner(store: Store, address: str) -> Owner:
    return Owner(address, store)


SCORE = {"Ann": "9", "Bo": "4", "Cy": "2"}


def judged(owner: Owner, link: str) -> Judge:
    """Have an evaluator judge all there is."""
    judge = Judge(owner.app, link)
    while (form := judge.asked()) is not None:
        assert judge.tell(form, SCORE[form["label"]]).status_code == 200
    return judge


def test_a_form_without_a_file_is_refused(owner: Owner) -> None:
    for files in (None, {"table": ("empty.csv", b"")}):
        answer = owner.post("/scores", files=files)
        assert answer.status_code == 400
        assert "Choose a file" in answer.text


def test_a_table_becomes_two_reports(owner: Owner) -> None:
    answer = owner.post("/scores", files={"table": ("ice.csv", TABLE.encode())})
    assert answer.status_code == 200
    assert "Ann" in answer.text
    taken = {
        part: re.search(r'<option value="([^"]*)" selected', rest)[1]  # type: ignore[index]
        for part, rest in re.findall(r'<select name="(\w+)"(.*?)</select>', answer.text, re.S)
    }
    assert taken == COLUMNS | {"item": "?", "event": "?", "decimal": ""}
    where = answer.url.path
    said = owner.http.get(f"{where}/answer", params=taken)
    assert said.status_code == 200
    decided = eh.decide(eh.read_scores(pd.read_csv(io.StringIO(TABLE)), columns=COLUMNS))
    assert decided.label == "Ann"
    assert str(decided).split("\n\n")[0] in html.unescape(said.text)
    for which in ("audit", "decision"):
        report = owner.http.get(f"{where}/{which}.html", params=taken)
        assert report.status_code == 200
        assert "default-src 'none'" in report.headers["Content-Security-Policy"]
        assert "Ann" in report.text


def test_who_was_asked_again_is_said_by_a_tick(owner: Owner) -> None:
    rows = ["option,evaluator,score"]
    rows += [f"{o},{j},{5 + i + 0.3 * t * (-1) ** i}" for i, o in enumerate("AB") for j in "PQR"
             for t in range(2)]  # fmt: skip
    sent = owner.post("/scores", {"table": ("again.csv", "\n".join(rows).encode())})
    refused = owner.http.get(f"{sent.url.path}/answer")
    assert refused.status_code == 400
    assert "repeats=" not in refused.text
    assert 'name="repeats"' in refused.text
    assert owner.http.get(f"{sent.url.path}/answer?repeats=True").status_code == 200


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("empty.csv", b""),
        ("../../etc/passwd", b"\x00\x01\x02"),
        (f"{SCRIPT}.csv", b"a;b\n1\n2;3;4\n"),
        ("bomb.xlsx", b"PK\x03\x04 this is no workbook"),
        ("x" * 5_000 + ".parquet", b"PAR1"),
    ],
)
def test_malformed_uploads_are_refused_in_words(owner: Owner, name: str, body: bytes) -> None:
    answer = owner.post("/scores", files={"table": (name, body)})
    if answer.status_code == 200:  # it is kept, and nothing can be made of it
        answer = owner.http.get(f"{answer.url.path}/answer")
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert SCRIPT not in answer.text
    assert "Traceback" not in answer.text
    assert not re.search(r"/tmp/|site-packages", answer.text)


def test_too_much_is_refused_before_it_is_read(owner: Owner) -> None:
    host, port = owner.http.base_url.host, owner.http.base_url.port
    with socket.create_connection((host, port), 10) as line:
        line.sendall(
            f"POST /scores HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Content-Length: {33 * 2**20}\r\n\r\n".encode()
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 413")
    endless = owner.http.post("/scores", content=iter([b"x"]))
    assert endless.status_code == 411


def packed(name: str, megabytes: int) -> bytes:
    """Return a small file that unpacks to so much."""
    body, zeros = io.BytesIO(), b"0" * 2**20
    if name.endswith(".gz"):
        with gzip.open(body, "wb", compresslevel=9) as lines:
            lines.write(b"option,evaluator,score\n")
            for _ in range(megabytes):
                lines.write(zeros)
        return body.getvalue()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in ("xl/workbook.xml", "xl/worksheets/sheet1.xml", "header.json"):
            with archive.open(member, "w", force_zip64=True) as lines:
                for _ in range(megabytes):
                    lines.write(zeros)
    return body.getvalue()


@pytest.mark.parametrize("name", ["bomb.xlsx", "bomb.eval", "bomb.csv.gz"])
def test_archives_that_expand_are_refused_in_words(owner: Owner, name: str) -> None:
    body = packed(name, 400)
    assert len(body) < 2 * 2**20
    answer = owner.post("/scores", files={"table": (name, body)})
    if answer.status_code == 200:
        answer = owner.http.get(f"{answer.url.path}/answer")
    assert answer.status_code == 400, answer.text
    assert 'role="alert"' in answer.text
    given = CUP | {"options": "", "do": "check"}
    answer = owner.post("/campaigns/new", files={"options_table": (name, body)}, **given)
    assert answer.status_code == 400
    assert eh.Campaign.names(owner.store) == {}


def test_formulas_are_texts_wherever_they_come_out(owner: Owner) -> None:
    formula = '=HYPERLINK("http://x.test")'
    table = TABLE.replace("Ann", f'"{formula.replace(chr(34), chr(34) * 2)}"')
    where = owner.post("/scores", files={"table": ("ice.csv", table.encode())}).url.path
    said = owner.http.get(f"{where}/answer", params=COLUMNS)
    assert said.status_code == 200
    assert html.escape(formula) in said.text.replace("&#34;", "&quot;")
    quoted = formula.replace('"', '""')
    number = owner.begin(options=f'name\n"{quoted}"\n@Bo\n+Cy\n', evaluators="-Paul\nRosa")
    for link in owner.links(number).values():
        judge = Judge(owner.app, link)
        while (form := judge.asked()) is not None:
            assert judge.tell(form, "5").status_code == 200
    record = owner.http.get(f"/campaigns/{number}/record.zip")
    with zipfile.ZipFile(io.BytesIO(record.content)) as archive:
        tables = [name for name in archive.namelist() if name.endswith(".csv")]
        rows = [
            cell
            for name in tables
            for row in csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig")))
            for cell in row
        ]
    assert any(formula in cell for cell in rows)
    run = [cell for cell in rows if re.match(r"[=+@-]", cell) and not re.match(r"-[\d.]", cell)]
    assert run == []  # a spreadsheet would run these


def test_a_campaign_from_its_beginning_to_its_record(owner: Owner) -> None:
    checked = owner.post("/campaigns/new", **CUP | {"do": "check", "lead": "1", "noise": "1"})
    assert "can be compared" in checked.text
    plan = re.sub(r' (data-label|scope)="[^"]*"', "", checked.text)
    assert 'Paul</th><td class="n">3</td><td class="n">33%</td>' in plan
    assert eh.Campaign.names(owner.store) == {}  # nothing has begun
    number = owner.begin()
    page = owner.http.get(f"/campaigns/{number}")
    assert "Scores are looked at once" in page.text
    links = owner.links(number)
    assert set(links) == {"Paul", "Rosa", "Sven"}
    judges = [judged(owner, link) for link in links.values()]
    assert "Thank you" in judges[-1].http.get("/judge").text
    campaign = eh.Campaign.open(owner.store, "Cup")
    assert campaign.status().status == "finished"
    page = owner.http.get(f"/campaigns/{number}")
    assert "Ann" in page.text
    assert campaign.answer().label == "Ann"
    report = owner.http.get(f"/campaigns/{number}/report.html")
    assert campaign.status().hash in report.text
    record = owner.http.get(f"/campaigns/{number}/record.zip")
    with zipfile.ZipFile(io.BytesIO(record.content)) as archive:
        assert any(name.endswith(".csv") for name in archive.namelist())
    verified = owner.http.get(f"/campaigns/{number}/verify")
    assert str(campaign.verify()).split("\n")[0] in verified.text
    assert campaign.verify()


def test_evaluators_receive_nothing_but_what_they_judge(owner: Owner) -> None:
    """Every header and body of every answer, of pages and of the API, whatever they try."""
    number = owner.begin()
    for who, link in owner.links(number).items():
        judge = Judge(owner.app, link)
        first = judge.form()
        judge.tell(first, "77")  # refused
        judge.tell(first, "not a number")
        judge.tell(first, "3")
        judge.tell(first, "3")
        judge.tell(first, "4")  # another than before
        for path in ("/", "/scores", f"/campaigns/{number}", f"/campaigns/{number}/live"):
            assert judge.http.get(path).status_code in (401, 403)
            bearer = {"Authorization": f"Bearer {judge.token}"}
            assert judge.http.get(path, headers=bearer).status_code == 403
            stolen = {"Cookie": f"evenhand_owner={judge.token}"}
            assert judge.http.get(path, headers=stolen).status_code == 403
        for verb in ("ask", "status"):
            assert judge.program(verb).status_code == 200
        ticket = judge.program("ask").json()["ticket"]
        judge.program("tell", ticket=ticket, score=99)
        judge.program("tell", ticket="1-abc", score=1)
        judge.program("decline", ticket=ticket, reason="conflict of interest")
        while (form := judge.asked()) is not None:
            judge.tell(form, "5")
        judge.program("ask")  # nothing: why must not say who is waited for
        for answer in judge.got:
            answer.read()
            seen = answer.text + "".join(f"{k}: {v}\n" for k, v in answer.headers.items())
            seen = seen.replace(judge.token, "")  # its letters may spell anything
            told = [secret for secret in SECRETS if secret != who and secret in seen]
            assert not told, (who, told, answer.request.url, seen)


def test_telling_twice_counts_once(owner: Owner) -> None:
    judge = owner.paul()
    form = judge.form()
    assert "0 done, 3 to go" in judge.http.get("/judge").text
    for _ in range(3):
        assert "1 done, 2 to go" in judge.tell(form, "6").text
    campaign = eh.Campaign.open(owner.store, "Cup")
    assert campaign.status().evaluations == 1
    other = judge.tell(form, "7")
    assert other.status_code == 400
    assert "that stands" in other.text
    assert campaign.status().evaluations == 1
    ticket = judge.program("ask").json()
    told = {"ticket": ticket["ticket"], "attempt": ticket["attempt"], "score": 8}
    receipts = [judge.program("tell", **told).json() for _ in range(2)]
    assert [receipt["repeated"] for receipt in receipts] == [False, True]
    assert campaign.status().evaluations == 2


def test_grades_are_buttons_and_words_for_programs(owner: Owner) -> None:
    judge = owner.paul(scale="Good, Fair, <Poor>")
    shown = judge.http.get("/judge").text
    buttons = re.findall(r'type="radio" name="score" value="([^"]*)"', shown)
    assert buttons == ["Good", "Fair", "&lt;Poor&gt;"]
    form = judge.form()
    wrong = judge.tell(form, "2")
    assert (wrong.status_code, "Good, Fair or" in wrong.text) == (400, True)
    assert "1 done, 2 to go" in judge.tell(form, "<Poor>").text
    ticket = judge.program("ask").json()
    assert ticket["scale"]["kind"] == "grade"
    assert ticket["scale"]["steps"] == ["Good", "Fair", "<Poor>"]
    assert ticket["scale"]["wanted"] == "Good, Fair or <Poor>"
    told = {"ticket": ticket["ticket"], "attempt": ticket["attempt"]}
    assert judge.program("tell", **told, score="Bad").status_code == 400
    assert judge.program("tell", **told, score="good").json()["counted"]
    campaign = eh.Campaign.open(owner.store, "Cup")
    assert campaign.status().evaluations == 2
    assert campaign.verify()


def test_the_last_score_can_be_undone_and_given_again(owner: Owner) -> None:
    judge = owner.paul()
    form = judge.form()
    shown = judge.tell(form, "6")
    assert "Undo it" in shown.text
    undo = {"csrf": form["csrf"], "ticket": form["ticket"]}
    again = fields_of(judge.http.post("/judge/undo", data=undo))
    assert again is not None
    assert (again["ticket"], again["label"]) == (form["ticket"], form["label"])
    campaign = eh.Campaign.open(owner.store, "Cup")
    assert (campaign.status().evaluations, campaign.status().withdrawn) == (0, 1)
    assert judge.http.post("/judge/undo", data=undo).status_code == 409  # it is undone
    judge.tell(form, "6")  # the first form, from a page that is still open: the same as before
    assert campaign.status().evaluations == 0
    judge.tell(again, "6")  # the same score, meant anew
    assert campaign.status().evaluations == 1
    assert campaign.verify()


def test_a_score_that_something_rests_on_stays(owner: Owner) -> None:
    judge = owner.paul(capacity="")
    form = judge.form()
    for _ in range(40):
        asked = judge.asked() or form
        judge.tell(asked, SCORE[asked["label"]])
    undo = {"csrf": form["csrf"], "ticket": form["ticket"]}
    answer = judge.http.post("/judge/undo", data=undo)
    assert answer.status_code == 409
    assert "cannot be taken back" in answer.text


def test_what_rests_on_a_score_by_the_time_it_is_undone_keeps_it(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = owner.paul(capacity="")
    form = judge.form()
    assert judge.tell(form, "6").status_code == 200
    campaign = eh.Campaign.open(owner.store, "Cup")

    def others_are_asked_first(*given: Any, **more: Any) -> Any:
        kinds = len(Record(owner.store, "Cup").of("proposed"))
        while len(Record(owner.store, "Cup").of("proposed")) == kinds:
            ticket = campaign.ask("Rosa")
            assert isinstance(ticket, Ticket)
            campaign.tell(ticket, 5.0)
        return withdraw(*given, **more)

    monkeypatch.setattr("evenhand.serve.seat.withdraw", others_are_asked_first)
    undo = {"csrf": form["csrf"], "ticket": form["ticket"]}
    answer = judge.http.post("/judge/undo", data=undo)
    assert answer.status_code == 409
    assert campaign.status().withdrawn == 0
    assert campaign.verify()


def test_a_conflict_is_declined_and_others_are_asked(owner: Owner) -> None:
    judge = owner.paul()
    form = judge.form()
    given = sendable(form) | {"reason": "conflict of interest", "more": "my pupil"}
    assert judge.http.post("/judge/decline", data=given).status_code == 200
    later = judge.form()
    assert later["label"] != form["label"]
    status = eh.Campaign.open(owner.store, "Cup").status()
    assert {one.evaluator: one.declined for one in status.evaluators}["Paul"] == 1


def test_pictures_links_and_texts_are_shown_as_declared(owner: Owner) -> None:
    table = (
        "name,nation,picture,page,words\n"
        'Ann,FRA,https://x.test/a.PNG,https://x.test/a,"one, two"\n'
        f"Bo,ITA,javascript:alert(1),http://x.test/b,{SCRIPT}\n"
    )
    given = CUP | {"options": "", "do": "check"}
    files = {"options_table": ("../opt.csv", table.encode())}
    shown = owner.post("/campaigns/new", files=files, **given)
    assert "name,group,picture,page,words" in shown.text
    options = table.replace("nation", "group", 1)
    number = owner.begin(options=options, evaluators="Paul,FRA\nRosa,ITA")
    texts = {}
    judge = Judge(owner.app, owner.links(number)["Paul"])
    while (form := judge.asked()) is not None:
        texts[form["label"]] = judge.got[-1].text
        judge.tell(form, "5")
    assert '<img src="https://x.test/a.PNG"' in texts["Ann"]
    assert '<a href="https://x.test/a"' in texts["Ann"]
    assert "one, two" in texts["Ann"]
    assert 'href="javascript' not in texts["Bo"]
    assert SCRIPT not in texts["Bo"]
    assert "FRA" not in texts["Ann"]


def test_limits_conflicts_and_prices_are_heeded(owner: Owner) -> None:
    more = {
        "evaluators": "name, group, price, most\nPaul, FRA, 1, 2\nRosa, ITA, 3,\nSven, SWE,,",
        "conflicts": "Bo, Rosa",
        "top": "2",
    }
    owner.begin(**more)
    course = eh.Campaign.open(owner.store, "Cup")._followed()
    questions = course.questions
    barred = [questions.label(q) for q in range(len(questions)) if questions.capacity[q] == 0]
    assert barred == ["Bo by Rosa"]
    assert sorted(set(questions.prices.tolist())) == [1.0, 3.0]
    assert questions.workload.tolist() == [2, 3, 3]
    assert course.state.settings["top"] == 2


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("options", "Ann, FRA", "at least two options"),
        ("options", "Ann\nAnn", "stands in 2 rows (line 1, line 2)"),
        ("options", "Ann, FRA, more\nBo", "3 cells"),
        ("evaluators", "Paul\nRosa", "evaluators have none"),
        ("conflicts", "Ann", "line 1: there is no evaluator"),
        ("conflicts", "Ann, Nobody", "Nobody"),
        ("scale", "zero to ten", "two numbers"),
        ("top", "many", "whole number"),
        ("budget", "-3", "above 0"),
        ("name", "", "name"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_begins(
    owner: Owner, field: str, value: str, words: str
) -> None:
    answer = owner.post("/campaigns/new", **CUP | {"do": "begin", field: value})
    assert answer.status_code == 400
    assert words in answer.text
    assert "a waltz" in answer.text or field == "options"  # what was typed is still there
    assert eh.Campaign.names(owner.store) == {}


def test_names_that_look_like_paths_scripts_and_formulas(owner: Owner) -> None:
    names = ["../../etc", SCRIPT, "=1+1", '"><img src=x>', "a/b?c#d"]
    options = "\n".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)
    number = owner.begin(name="../" + SCRIPT, options=options, evaluators=options, capacity="")
    pages = [
        owner.http.get("/"),
        owner.http.get(f"/campaigns/{number}"),
        owner.http.get(f"/campaigns/{number}/live"),
        owner.http.get(f"/campaigns/{number}/verify"),
        owner.http.get(f"/campaigns/{number}/report.html"),
        owner.post(f"/campaigns/{number}/links", what="make"),
    ]
    for page in pages:
        assert page.status_code == 200
        assert SCRIPT not in page.text
        assert "<img src=x" not in page.text
    assert "&#39;=1+1,http" in pages[-1].text  # a spreadsheet does not run it
    links = re.findall(r'<a href="http://[^/]*(/enter/[^"]*)"', pages[-1].text)
    assert len(links) == len(names)
    assert Judge(owner.app, links[0]).asked() is not None


def test_the_owner_pauses_extends_and_withdraws(owner: Owner) -> None:
    number = owner.begin()
    campaign = eh.Campaign.open(owner.store, "Cup")
    judge = Judge(owner.app, owner.links(number)["Paul"])
    form = judge.form()
    judge.tell(form, "6")
    do = f"/campaigns/{number}/do"
    owner.post(do, what="pause", reason="a break")
    assert campaign.status().status == "paused"
    assert "paused" in judge.http.get("/judge").text
    assert "a break" not in judge.http.get("/judge").text
    owner.post(do, what="resume")
    assert campaign.status().status == "running"
    owner.post(do, what="withdraw", whom="1", reason="a slip")
    assert campaign.status().withdrawn == 1
    owner.post(do, what="leave", whom="Sven", reason="ill")
    assert [e.left for e in campaign.status().evaluators] == [None, None, "ill"]
    owner.post(do, what="join", whom="Sven")
    assert campaign.status().evaluators[2].left is None
    before = campaign.status().hash
    for wrong in ({"what": "withdraw", "whom": "99", "reason": "x"}, {"what": "burn"}):
        assert owner.post(do, **wrong).status_code == 400
    assert campaign.status().hash == before


def test_wrong_expired_revoked_and_foreign_tokens(owner: Owner) -> None:
    number = owner.begin()
    other = owner.begin(name="Other")
    mine, theirs = owner.links(number), owner.links(other)
    stranger = browser(owner.app)
    for token in ("", "short", "x" * 43, "x" * 5_000, "../../x"):
        assert stranger.get(f"/enter/{token}").status_code in (401, 404)
    assert stranger.get("/judge").status_code == 401
    assert stranger.post("/api/v1/ask").status_code == 401
    over = grant(owner.store, "evaluator", "Cup", "Paul", seconds=-1.0)
    assert known(owner.store, over) is None
    assert stranger.get(f"/enter/{over}").status_code == 401
    judge, foreign = Judge(owner.app, mine["Paul"]), Judge(owner.app, theirs["Rosa"])
    form = judge.form()
    stolen = sendable(form) | {"csrf": (foreign.asked() or {})["csrf"], "score": "1"}
    assert foreign.http.post("/judge/tell", data=stolen).status_code == 403
    assert foreign.program("tell", ticket=form["ticket"], score=1).status_code == 403
    colleague = Judge(owner.app, mine["Rosa"])
    assert colleague.program("tell", ticket=form["ticket"], score=1).status_code == 403
    assert colleague.program("decline", ticket=form["ticket"], reason="x").status_code == 403
    revoke(owner.store, "Cup", "Paul")
    assert judge.http.get("/judge").status_code == 401
    assert judge.program("ask").status_code == 401
    owner.post(f"/campaigns/{number}/links", what="renew", evaluator="Rosa")
    assert colleague.http.get("/judge").status_code == 401
    assert foreign.asked() is not None  # only the one campaign's
    assert eh.Campaign.open(owner.store, "Cup").status().evaluations == 0


def test_programs_lose_a_revoked_token_at_once(owner: Owner) -> None:
    judge = owner.paul()
    ticket = judge.program("ask").json()["ticket"]
    assert judge.program("status").status_code == 200
    campaign = eh.Campaign.open(owner.store, "Cup")
    before = campaign.status().hash
    revoke(owner.store, "Cup", "Paul")  # the server has answered it, and is not told
    refused = [
        judge.program("tell", ticket=ticket, score=5),
        judge.program("decline", ticket=ticket, reason="x"),
        judge.program("ask"),
        judge.program("status"),
    ]
    assert [answer.status_code for answer in refused] == [401] * 4
    assert {tuple(answer.json()) for answer in refused} == {("error",)}
    assert campaign.status().hash == before
    short = grant(owner.store, "evaluator", "Cup", "Paul", seconds=1.0)
    judge.token = short
    assert judge.program("ask").status_code == 200
    time.sleep(1.1)
    assert judge.program("tell", ticket=ticket, score=5).status_code == 401
    assert campaign.status().evaluations == 0


def test_a_form_of_a_link_that_was_renewed_is_worth_nothing(owner: Owner) -> None:
    judge = owner.paul()
    form = judge.form()
    again = Judge(owner.app, f"/enter/{renew(owner.store, 'Cup', 'Paul')}")
    for one in (judge, again):  # by the old cookie, and by the new one with the word of the old
        code = one.http.post("/judge/tell", data=sendable(form) | {"score": "5"}).status_code
        assert code == (401 if one is judge else 403)
    assert eh.Campaign.open(owner.store, "Cup").status().evaluations == 0
    fresh = again.form()
    assert fresh["ticket"] == form["ticket"]  # nothing is lost with the link
    assert again.tell(fresh, "5").status_code == 200


def test_a_viewer_sees_one_campaign_and_changes_nothing(owner: Owner) -> None:
    number, other = owner.begin(capacity=""), owner.begin(name="Other")
    text = owner.post(f"/campaigns/{number}/links", what="look").text
    link = re.findall(r'<a href="http://[^/]*(/enter/[^"]*)"', text)[0]
    viewer = browser(owner.app)
    assert f"/campaigns/{number}" in viewer.get(link).text
    token = link.rsplit("/", 1)[1]
    access = known(owner.store, token)
    assert access is not None
    for page in ("", "/live", "/report.html", "/record.zip", "/verify"):
        assert viewer.get(f"/campaigns/{number}{page}").status_code == 200
        assert viewer.get(f"/campaigns/{other}{page}").status_code == 403
    for page in ("/", "/scores", "/campaigns/new", f"/campaigns/{number}/links"):
        assert viewer.get(page).status_code == 403
    given = {"csrf": access.csrf, "what": "pause"}
    assert viewer.post(f"/campaigns/{number}/do", data=given).status_code == 403
    assert viewer.post("/campaigns/new", data=CUP | given | {"do": "begin"}).status_code == 403
    assert eh.Campaign.open(owner.store, "Cup").status().status == "running"


@pytest.mark.parametrize("word", ["", "0" * 64, "another's"])
def test_forms_need_a_word_of_their_sender(owner: Owner, word: str) -> None:
    number = owner.begin()
    judge = Judge(owner.app, owner.links(number)["Paul"])
    form = judge.form()
    word = owner.csrf if word == "another's" else word
    data = sendable(form) | {"csrf": word, "score": "5", "reason": "x"}
    for path in ("/judge/tell", "/judge/decline", "/judge/undo"):
        assert judge.http.post(path, data=data).status_code == 403
    word = form["csrf"] if word == owner.csrf else word
    before = eh.Campaign.open(owner.store, "Cup").status().hash
    for path, given in (
        (f"/campaigns/{number}/do", {"what": "pause"}),
        (f"/campaigns/{number}/links", {"what": "make"}),
        ("/campaigns/new", CUP | {"do": "begin", "name": "more"}),
    ):
        assert owner.http.post(path, data=given | {"csrf": word}).status_code == 403
    files = {"table": ("a.csv", b"a")}
    assert owner.http.post("/scores", data={"csrf": word}, files=files).status_code == 403
    assert eh.Campaign.open(owner.store, "Cup").status().hash == before
    assert list(eh.Campaign.names(owner.store)) == ["Cup"]


def test_other_hosts_and_origins_are_refused(store: Store) -> None:
    with serving(make_app(store, ["here.test"])) as address:
        here = browser(address)
        token = grant(store, "owner")
        here.headers.update({"Host": "here.test", "Authorization": f"Bearer {token}"})
        assert here.get("/").status_code == 200
        assert here.get("/", headers={"Host": "evil.test"}).status_code == 400
        access = known(store, token)
        assert access is not None
        given = CUP | {"csrf": access.csrf, "do": "check"}
        for origin in ("http://evil.test", "null", "http://here.test.evil.test"):
            answer = here.post("/campaigns/new", data=given, headers={"Origin": origin})
            assert answer.status_code == 403
        origin = "http://here.test"
        answer = here.post("/campaigns/new", data=given, headers={"Origin": origin})
        assert answer.status_code == 200


def test_answers_say_what_may_be_loaded(owner: Owner) -> None:
    number = owner.begin()
    for path in ("/", "/scores", "/campaigns/new", f"/campaigns/{number}", "/static/htmx.min.js"):
        answer = owner.http.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", answer.text)
        assert not re.search(r"\son\w+=|style=", answer.text) or "static" in path
        assert "http://" not in answer.text or "static" in path
    answer = browser(owner.app).get(f"/enter/{grant(owner.store, 'owner')}")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    with serving(make_app(owner.store, secure=True)) as address:
        answer = browser(address).get(f"/enter/{grant(owner.store, 'owner')}")
        assert "Secure" in answer.headers["Set-Cookie"]


def test_tokens_are_neither_logged_nor_kept(
    owner: Owner, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    number = owner.begin()
    links = owner.links(number)
    judge = judged(owner, links["Paul"])
    judge.program("ask")
    tokens = [link.rsplit("/", 1)[1] for link in links.values()]
    logged = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("evenhand"))
    assert "/enter/…" in logged
    assert not [token for token in tokens if token in logged]
    owner.store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert not [token for token in tokens if token.encode() in kept]


def test_health_metrics_and_the_document_of_the_api(owner: Owner) -> None:
    owner.begin()
    assert owner.http.get("/healthz").text == "ok\n"
    assert 'evenhand_campaigns{status="running"} 1' in owner.http.get("/metrics").text
    paths = owner.http.get("/openapi.json").json()["paths"]
    assert set(paths) == {f"/api/v1/{verb}" for verb in ("ask", "tell", "decline", "status")}


def test_errors_carry_no_trace(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the house")

    monkeypatch.setattr("evenhand.serve.uploads.kept", broken)
    answer = owner.http.get("/scores/abc")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    for path in (
        "/scores/abc%2F..%2F..",
        "/campaigns/99",
        "/campaigns/1e9",
        "/campaigns/" + "9" * 40,
    ):
        assert 400 <= owner.http.get(path).status_code <= 500


def test_both_stores_keep_tokens_and_uploads(store_address: str) -> None:
    store = open_store(store_address)
    panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Rosa"])
    eh.Campaign.create(store, "Cup", panel)
    first = grant(store, "evaluator", "Cup", "Paul")
    other = grant(store, "evaluator", "Cup", "Rosa")
    access = known(store, first)
    assert access is not None
    assert (access.role, access.campaign, access.evaluator) == ("evaluator", "Cup", "Paul")
    assert [one.evaluator for one in invited(store, "Cup")] == ["Paul", "Rosa"]
    second = renew(store, "Cup", "Paul")
    assert known(store, first) is None
    assert known(store, second) is not None
    assert known(store, other) is not None
    assert uploads.kept(store, uploads.keep(store, "a.csv", b"\x00a")) == ("a.csv", b"\x00a")
    with pytest.raises(RefusedError, match="gone"):
        uploads.kept(store, "another")
    store.close()


def test_who_asks_too_often_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.serve.guard._MOST_STRANGERS", 5)
    monkeypatch.setattr("evenhand.serve.guard._MOST_REQUESTS", 9)
    with serving(make_app(store)) as address:
        links = [f"/enter/{grant(store, 'owner')}" for _ in range(8)]
        owners = [browser(address) for _ in links]  # more than strangers, from one place
        assert [one.get(link).status_code for one, link in zip(owners, links, strict=True)] == (
            [200] * 8
        )
        stranger = browser(address)
        shown = ["", "x" * 43, "y" * 43, "", "z" * 43, "", "u" * 43]  # guessed, or none at all
        codes = [
            stranger.get(
                "/judge", headers={"Authorization": f"Bearer {token}"} if token else {}
            ).status_code
            for token in shown
        ]
        assert codes == [401] * 5 + [429] * 2
        assert [owners[0].get("/").status_code for _ in range(10)] == [200] * 8 + [429] * 2
        assert owners[1].get("/").status_code == 200
        assert stranger.get("/healthz").status_code == 200


def test_the_command_says_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = str(tmp_path / "pages.db")
    with pytest.raises(eh.InputError, match="--public"):
        command.serve(store, host="0.0.0.0", browser=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(eh.InputError, match="say another --port"):
            command.serve(str(tmp_path / "other.db"), port=port, browser=False)
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    with pytest.raises(eh.InputError, match=r"pip install 'evenhand\[serve\]'"):
        command.serve(store, browser=False)
    assert not Path(store).exists()


NASTY = [
    None, True, "", "x", -1, 0, 2**64, 1e308, 0.5, [], {}, [[]], "9" * 200, "1-" + "a" * 90, "\x00",
    "\ud800", "１-é", "1-", "-", "9999999999999999999-ab", "../..", SCRIPT,
]  # fmt: skip


def test_no_request_of_an_evaluator_makes_a_fault(owner: Owner) -> None:
    """On pages; what programs send is in `test_serve_fuzz.py`."""
    judge = owner.paul()
    form = judge.form()
    program = {"Authorization": f"Bearer {judge.token}", "Content-Type": "application/json"}
    for wrong in ({"score": True}, {"score": "0" * 101}, {"score": 5, "attempt": "1"}):
        text = json.dumps({"ticket": form["ticket"], **wrong})  # are not taken for what they mean
        assert judge.http.post("/api/v1/tell", content=text, headers=program).status_code == 422
    form_like = program | {"Content-Type": "text/plain"}
    before = eh.Campaign.open(owner.store, "Cup").status().hash
    text = json.dumps({"ticket": form["ticket"], "score": 5})
    assert judge.http.post("/api/v1/tell", content=text, headers=form_like).status_code == 415
    assert eh.Campaign.open(owner.store, "Cup").status().hash == before
    for value in filter(lambda one: isinstance(one, str), NASTY):
        text = str(value).encode("utf-8", "replace").decode()
        for name in ("ticket", "last", "late"):
            assert judge.http.get("/judge", params={name: text}).status_code < 500
        for path in ("tell", "decline", "undo"):
            data = sendable(form) | {"ticket": text, "score": text, "reason": text}
            assert judge.http.post(f"/judge/{path}", data=data).status_code < 500
        assert owner.http.get("/scores/x/answer", params={"top": text}).status_code < 500


def test_viewers_share_one_look_and_the_owner_sees_what_he_does(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = f"/campaigns/{owner.begin()}/live"
    viewers = [browser(owner.app) for _ in range(5)]
    for n, viewer in enumerate(viewers):
        token = grant(owner.store, "viewer", "Cup", seconds=1e6 - n)
        viewer.headers["Authorization"] = f"Bearer {token}"
    looks, look = [], eh.Campaign.status
    monkeypatch.setattr(eh.Campaign, "status", lambda self: looks.append(1) or look(self))
    seen = [viewer.get(where) for viewer in viewers]
    assert {(answer.status_code, answer.text) for answer in seen} == {(200, seen[0].text)}
    assert len(looks) == 1
    eh.Campaign.open(owner.store, "Cup").pause("lunch at noon")
    assert "lunch at noon" in owner.http.get(where).text
    owner.store.write(lambda s: s.run("UPDATE access SET until = 0 WHERE role = 'viewer'"))
    assert [viewer.get(where).status_code for viewer in viewers] == [401] * 5


def test_two_servers_share_one_postgres(postgres_address: str) -> None:
    with (
        open_store(postgres_address) as one,
        open_store(postgres_address) as two,
        serving(make_app(one)) as first,
        serving(make_app(two)) as second,
    ):
        owner = Owner(first, one)
        number = owner.begin()
        links = owner.links(number)
        judges = {who: [Judge(at, link) for at in (first, second)] for who, link in links.items()}
        told = 0
        while told < 9:  # whoever it is, at either server, in turns
            for seats in judges.values():
                at, other = seats if told % 2 else seats[::-1]
                form = at.program("ask").json()
                assert other.program("ask").json()["ticket"] == form["ticket"]
                given = {"ticket": form["ticket"], "attempt": form["attempt"]}
                given |= {"score": SCORE[form["things"][0]["name"]]}
                receipts = [seat.program("tell", **given).json() for seat in (at, other)]
                assert [r["repeated"] for r in receipts] == [False, True]
                told += 1
        for seats in judges.values():
            assert [seat.program("status").json()["done"] for seat in seats] == [3, 3]
            assert [seat.program("ask").json()["reason"] for seat in seats] == ["finished"] * 2
        revoke(one, "Cup", "Paul")
        assert [seat.program("ask").status_code for seat in judges["Paul"]] == [401, 401]
        campaign = eh.Campaign.open(two, "Cup")
        assert (campaign.answer().label, campaign.status().evaluations) == ("Ann", 9)
        assert campaign.verify()


def test_a_model_judges_from_another_machine(owner: Owner) -> None:
    links = owner.links(owner.begin())
    campaign = eh.Campaign.open(owner.store, "Cup")
    for who, link in links.items():
        judge = eh.connect(f"{owner.app}{link}")
        n = 0
        while ticket := judge.ask():
            assert judge.ask() == ticket
            assert ticket.question.evaluator == who
            assert set(ticket.shown[0]) == {"piece"}
            assert judge.tell(ticket, float(SCORE[ticket.question.label]), note="well").counted
            assert judge.tell(ticket, float(SCORE[ticket.question.label]), note="well").repeated
            n += 1
        assert judge.status().done == n == 3
    assert judge.ask().reason == "finished"  # type: ignore[union-attr]
    assert (campaign.answer().label, campaign.status().evaluations) == ("Ann", 9)
    assert campaign.verify()


def test_what_is_lost_on_the_way_is_sent_again_and_counts_once(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = eh.connect(owner.app, owner.links(owner.begin())["Paul"].rsplit("/", 1)[1])
    ticket = judge.ask()
    assert isinstance(ticket, Ticket)
    tries = 0

    class Lossy:
        """Sends everything, and loses the first two answers."""

        def open(self, request: Any, timeout: float) -> Any:
            nonlocal tries
            tries += 1
            answer = opener.open(request, timeout=timeout)
            if tries <= 2:
                answer.close()
                raise ConnectionResetError("lost")
            return answer

    opener = remote._OPENER
    monkeypatch.setattr(remote, "_OPENER", Lossy())
    monkeypatch.setattr(remote, "_PAUSES", (0.0, 0.0))
    receipt = judge.tell(ticket, 7.0)
    assert (receipt.counted, receipt.repeated, tries) == (True, True, 3)
    assert eh.Campaign.open(owner.store, "Cup").status().evaluations == 1
    with pytest.raises(eh.InputError, match=r"must lie in \[0, 10\]; got 70"):
        judge.tell(judge.ask(), 70.0)  # type: ignore[arg-type]
    with pytest.raises(eh.InputError, match="finite number"):
        judge.tell(judge.ask(), float("nan"))  # type: ignore[arg-type]
    with pytest.raises(eh.InputError, match="refuses: This needs the link"):
        eh.connect(owner.app, "x" * 43).ask()
    with pytest.raises(eh.StoreError, match="does not answer, after 3 tries"):
        eh.connect("http://127.0.0.1:9", "x" * 43).ask()


def test_a_score_can_be_given_again_after_it_was_withdrawn(owner: Owner) -> None:
    judge = eh.connect(f"{owner.app}{owner.links(owner.begin())['Paul']}")
    campaign = eh.Campaign.open(owner.store, "Cup")
    ticket = judge.ask()
    assert isinstance(ticket, Ticket)
    judge.tell(ticket, 7.0)
    campaign.withdraw(1, "the wrong form", blind=True)
    while again := judge.ask():
        assert judge.tell(again, 7.0).counted  # the same score of the same judge, asked anew
    assert judge.status().done == 3
