"""Campaigns on another machine: `eh.choose` and the command line by a link, with a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.answers import Reply
from evenhand.campaigns import Ticket
from evenhand.campaigns.ledger import all_events
from evenhand.campaigns.stores import Store
from evenhand.cli import app as commands
from evenhand.serve.access import grant
from served import Server

pytestmark = pytest.mark.usefixtures("hasty")

PANEL = eh.Questions.panel(
    {"Ann": "a", "Bo": "b", "Cy": "a"}, {"P": "a", "Q": "b", "R": "c"}, capacity=None
)


def worth(question: eh.Question) -> float:
    """A score with noise that is the same whenever the same is asked."""
    rng = np.random.default_rng((question.index, question.turn))
    return float(5.0 - question.option + 0.1 * rng.normal())


def test_a_choice_there_is_the_same_as_one_here(address: str, store: Store, tmp_path: Path) -> None:
    link = f"{address}/enter/{grant(store, 'owner')}"
    settings: dict[str, Any] = {"noise_scale": 0.2, "seed": 3, "parallel": 2}
    there = eh.choose(PANEL, worth, store=link, **settings)
    here = eh.choose(PANEL, worth, store=tmp_path / "here.db", noise_scale=0.2, seed=3)
    assert there.label == here.label == "Ann"
    assert there.sure
    with eh.Campaign.open(store, "choice") as campaign:
        assert campaign.answer().to_dict() == there.to_dict()
        assert campaign.verify()

    def never(question: eh.Question) -> float:
        raise AssertionError("it is decided already")

    assert eh.choose(PANEL, never, store=link, **settings).to_dict() == there.to_dict()
    with pytest.raises(eh.InputError, match="begun with noise_scale"):
        eh.choose(PANEL, worth, store=link, noise_scale=0.3, seed=3)
    eh.choose(PANEL, worth, store=f"{link}#the%20second", noise_scale=0.2)
    assert set(eh.Campaign.names(store)) == {"choice", "the second"}


def test_failures_absences_and_costs_reach_the_record(address: str, store: Store) -> None:
    link = f"{address}/enter/{grant(store, 'owner')}"
    failed: Counter[tuple[int, int]] = Counter()

    def evaluate(question: eh.Question) -> Reply:
        if question.evaluator == "R":
            raise eh.AbsentError("on leave")
        failed[question.index, question.turn] += 1
        if failed[question.index, question.turn] == 1 and question.option == 2:
            raise ValueError("a fault that passes")
        return Reply(worth(question), cost=0.25, said="so it is")

    answer = eh.choose(PANEL, evaluate, store=link, noise_scale=0.2)
    assert answer.label == "Ann"
    with eh.Campaign.open(store, "choice") as campaign:
        status = campaign.status()
        gone = {one.evaluator: one.left for one in status.evaluators if one.left is not None}
        assert list(gone) == ["R"], gone
        assert "on leave" in str(gone["R"])
        assert status.paid == pytest.approx(0.25 * status.evaluations)
        assert campaign.verify()
    assert answer.attempts.tries > status.evaluations


def test_a_server_is_killed_in_the_middle_of_a_choice(tmp_path: Path) -> None:
    server = Server(tmp_path / "server.db")
    link, calls = server.link, Counter[tuple[int, int]]()
    killed = threading.Event()

    def restarted() -> None:
        time.sleep(1.0)
        server.start()

    def evaluate(question: eh.Question) -> float:
        calls[question.index, question.turn] += 1
        if sum(calls.values()) == 5:
            server.kill()
            threading.Thread(target=restarted).start()
            killed.set()
        return worth(question)

    try:
        answer = eh.choose(PANEL, evaluate, store=link, noise_scale=0.2)
    finally:
        server.close()
    assert killed.is_set()
    assert answer.label == "Ann"
    assert max(calls.values()) == 1  # what was evaluated before it died was told after
    with eh.Campaign.open(tmp_path / "server.db", "choice") as campaign:
        assert campaign.status().evaluations == sum(calls.values()) == answer.spent
        assert campaign.verify()


KILLED = """
import os, signal, sys
import evenhand as eh
from evenhand.answers import Reply
panel = eh.Questions.panel({"Ann": "a", "Bo": "b", "Cy": "a"}, {"P": "a", "Q": "b", "R": "c"},
                           capacity=None)
n = 0
def evaluate(question):
    global n
    n += 1
    if n == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return 5.0 - question.option
eh.choose(panel, evaluate, store=sys.argv[1], noise_scale=0.2)
"""


def test_a_run_that_was_killed_goes_on_at_once(address: str, store: Store) -> None:
    link = f"{address}/enter/{grant(store, 'owner')}"
    died = subprocess.run(
        [sys.executable, "-c", KILLED, link], check=False, timeout=120, env=dict(os.environ)
    )
    assert died.returncode == -9
    with eh.Campaign.open(store, "choice") as campaign:
        assert campaign.status().evaluations == 3
    answer = eh.choose(PANEL, worth, store=link, noise_scale=0.2)
    assert answer.label == "Ann"
    with eh.Campaign.open(store, "choice") as campaign:
        assert campaign.status().evaluations == answer.spent
        assert campaign.verify()
        kinds = [event.kind for event in all_events(campaign.store, campaign._follower.id)]
        third = [i for i, kind in enumerate(kinds) if kind == "told"][2]
        # the lease of the dead was ended before anything else came in
        assert "renewed" in kinds[third : kinds.index("told", third + 1)]


def test_runs_are_the_owners_alone(address: str, store: Store) -> None:
    eh.Campaign.create(store, "Cup", PANEL).close()
    tokens = [grant(store, "viewer", "Cup"), grant(store, "evaluator", "Cup", "P"), "x" * 43]
    first = {"content": {"name": "other"}}
    for token in tokens:
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            at = f"{address}/api/v1/runs"
            assert http.post(at, json=first).status_code in (401, 403)
            assert http.get(f"{at}/1/events").status_code in (401, 403)
            for verb in ("held", "begin", "ask", "tell", "fail", "release", "renew", "leave"):
                assert http.post(f"{at}/1/{verb}", json=_body(verb)).status_code in (401, 403)
        with pytest.raises(eh.InputError, match="refuses"):
            eh.choose(PANEL, worth, store=f"{address}/enter/{token}")
    assert eh.Campaign.names(store) == {"Cup": "running"}


def _body(verb: str) -> dict[str, Any]:
    ticket = {"id": "1-abcdef", "holder": "P", "worker": "w", "attempt": 1}
    bodies: dict[str, dict[str, Any]] = {
        "held": {}, "begin": {"dead": []}, "release": {"tickets": [ticket]},
        "ask": {"worker": "w", "n": 1, "lease": 60}, "tell": ticket | {"score": 1},
        "fail": ticket | {"why": ""}, "renew": ticket | {"lease": 60},
        "leave": {"evaluator": "P", "why": ""},
    }  # fmt: skip
    return bodies[verb]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"name": "x"},
        {"name": "x", "policy": {}, "settings": {}, "display": {}, "evenhand": "0"},
        {"name": "../x", "policy": {"policy": "os.system"}, "settings": {}, "display": {}},
        {"name": None, "policy": [], "settings": "", "display": 1, "more": 2},
    ],
)
def test_a_first_event_that_cannot_be_followed_begins_nothing(
    address: str, store: Store, content: dict[str, Any]
) -> None:
    headers = {"Authorization": f"Bearer {grant(store, 'owner')}"}
    answer = httpx.post(f"{address}/api/v1/runs", json={"content": content}, headers=headers)
    assert answer.status_code == 400
    assert "cannot be begun" in answer.json()["error"]
    assert eh.Campaign.names(store) == {}


ODD: tuple[Any, ...] = (
    None, "", "x" * 500, "\x00", "../..", "1-abcdef", "999999-ffffff", [], {}, [None], -1, 0, 1e300,
    2**63, True, "run ", {"id": 1}, "\ud800",
)  # fmt: skip


def test_no_request_of_an_owners_program_makes_a_fault(address: str, store: Store) -> None:
    """Every verb with odd values in every place: refused in words, or done; the record is whole."""
    with eh.Campaign.create(store, "Cup", PANEL, bounds=(0, 10)) as campaign:
        headers = {"Authorization": f"Bearer {grant(store, 'owner')}"}
        ticket = campaign.ask("P")
        assert isinstance(ticket, Ticket)
        verbs = ("held", "begin", "ask", "tell", "fail", "release", "renew", "leave")
        rng = np.random.default_rng(0)
        with httpx.Client(base_url=f"{address}/api/v1/runs", headers=headers, timeout=60) as http:
            for i in range(400):
                verb = verbs[i % len(verbs)]
                body = _body(verb) | ({"id": ticket.id} if "id" in _body(verb) else {})
                places = [*body, "more"]
                body[places[int(rng.integers(len(places)))]] = ODD[int(rng.integers(len(ODD)))]
                number = ("1", "0", "77", "x", str(2**60))[0 if i % 5 else int(rng.integers(5))]
                sent = json.dumps(body).encode()
                answer = http.post(f"/{number}/{verb}", content=sent)
                assert answer.status_code < 500, (verb, body, answer.text)
                said = answer.json()
                assert ("error" in said) == (answer.status_code != 200), (verb, body, said)
            for after in ("-1", "x", str(2**62), "5", ""):
                assert http.get("/1/events", params={"after": after}).status_code < 500
        assert campaign.verify()


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(commands, ["campaign", *words])
    return done.exit_code, done.output


def test_an_evaluator_judges_on_the_command_line_by_a_link(
    address: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q"])
    display = {name: {"text": f"about {name}"} for name in ("Ann", "Bo", "Cy")}
    campaign = eh.Campaign.create(
        store, "Cup", panel, bounds=(0, 10), looks="once", display=display
    )
    link = f"{address}/enter/{grant(store, 'evaluator', 'Cup', 'P')}"
    monkeypatch.delenv("EVENHAND_STORE", raising=False)
    assert said("status", link) == (0, "P: 0 done, 3 to go.\n")
    code, shown = said("ask", link)
    assert code == 0
    assert "about " in shown
    assert "a number from 0 to 10" in shown
    ticket = re.findall(r"Ticket (\S+) for P", shown)[0]
    assert f"tell {link} {ticket} SCORE" in " ".join(shown.split())
    assert said("tell", link, ticket, "11")[0] == 2
    assert said("tell", link, ticket, "7.5") == (0, f"Ticket {ticket} is taken.\n")
    assert said("tell", link, ticket, "7.5") == (0, f"Ticket {ticket} was taken before.\n")
    assert said("tell", link, ticket, "8")[0] == 2
    monkeypatch.setenv("EVENHAND_STORE", link)
    following = json.loads(said("ask", "--json")[1])["tickets"][0]
    assert following["labels"][0] in ("Ann", "Bo", "Cy")
    assert said("set", f"decline={following['ticket']}", "--because", "my pupil")[0] == 0
    last = json.loads(said("ask", "--json")[1])["tickets"][0]
    assert said("tell", last["ticket"], "-0")[0] == 0
    assert said("ask")[0] == 4
    assert json.loads(said("status", "--json")[1])["done"] == 2
    code, refused = said("set", link, "Cup", "pause")
    assert code == 2
    assert "name the store itself" in " ".join(refused.split())
    assert said("answer", link, "Cup")[0] == 2  # an evaluator has no answer
    assert said("ask", link, "-n", "2")[0] == 2
    assert campaign.status().evaluations == 2
    (own, _) = campaign.status().evaluators
    assert (own.evaluator, own.declined) == ("P", 1)
    campaign.close()


def test_an_owner_looks_at_a_campaign_by_a_link(
    address: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVENHAND_STORE", raising=False)
    with eh.Campaign.create(store, "The cup", PANEL, noise_scale=0.2) as campaign:
        answer, seal = campaign.run(worth), campaign.status().hash
    link = f"{address}/enter/{grant(store, 'owner')}"
    code, shown = said("answer", link, "The cup", "--json")
    assert code == 0
    assert json.loads(shown).items() >= json.loads(json.dumps(answer.to_dict())).items()
    assert said("verify", link, "The cup", "--seal", seal)[0] == 0
    assert said("verify", link, "The cup", "--seal", "0" * 64)[0] == 1
    assert said("export", link, "The cup", str(tmp_path / "record"))[0] == 0
    with eh.Campaign.open(store, "The cup") as campaign:
        for file in campaign.export(tmp_path / "here"):
            assert (tmp_path / "record" / file.name).read_bytes() == file.read_bytes()
    assert said("export", link, "The cup", str(tmp_path / "cup.html"))[0] == 0
    assert seal in (tmp_path / "cup.html").read_text("utf-8")
    code, refused = said("answer", link, "no such cup")
    assert code == 2
    assert "no campaign" in refused
