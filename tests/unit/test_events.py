"""Records of strangers: what is not an event of the form that is known is refused in words."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand import plain
from evenhand.campaigns import events
from evenhand.campaigns.events import KINDS, START, Event, as_line, events_in, sealed
from evenhand.campaigns.verification import verify_file
from evenhand.cli import app

PAUSED = as_line(sealed(START, 1, 0.0, "paused", {"reason": "lunch"}))
DEEP = "[" * 100_000


def panel() -> eh.Questions:
    return eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=None)


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "deep": (DEEP, "lists in lists"),
        "deep and closed": (DEEP + "]" * 100_000, "lists in lists"),
        "deep in a body": (PAUSED.replace('"lunch"', "[" * 60 + "]" * 60), "body: .*50 deep"),
        "infinite": ('{"number":1e400}', "1e400 is too large"),
        "huge": (f'{{"number":{"9" * 5000}}}', "the number 9{40}… is too large"),
        "of 65 bits": (PAUSED.replace('"number":1', f'"number":{2**64}'), "is too large"),
        "of 64 bits": (PAUSED.replace('"number":1', f'"number":{2**63}'), "number: a whole"),
        "not whole": (PAUSED.replace('"number":1', '"number":1.5'), "a whole number.*got 1.5"),
        "whole and a float": (PAUSED.replace('"number":1', '"number":1.0'), "got 1.0"),
        "true": (PAUSED.replace('"number":1', '"number":true'), "number: a whole.*got True"),
        "no number": (PAUSED.replace('"at":0.0', '"at":NaN'), "NaN is no number"),
        "no time": (PAUSED.replace('"at":0.0', '"at":1e300'), "at of an event cannot be"),
        "written otherwise": (PAUSED.replace('"at":0.0', '"at":0'), "or it is written otherwise"),
        "more keys": (PAUSED[:-1] + ',"note":"unsealed"}', "'note' is not known"),
        "keys twice": ('{"at":1.0,' + PAUSED[1:], "more in it than what is sealed"),
        "fewer keys": ('{"at":0.0}', "is missing"),
        "no hash": (PAUSED.replace('"hash":"', '"hash":"x'), "hash: .* is none"),
        "a list": ("[1,2]", "values by name is needed"),
        "no JSON": ("not an event", "no JSON: Expecting value at character 1"),
        "nothing": ("", "no JSON"),
        "half": (PAUSED[:-20], "no JSON"),
    }.values(),
)
def test_an_odd_line_is_refused_in_words(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(f"{line}\n", "utf-8")
    with pytest.raises(eh.InputError, match=f"line 1 is no event: .*{said}.*Give what `export`"):
        verify_file(file)
    result = CliRunner().invoke(app, ["campaign", "verify", str(file)])
    assert (result.exit_code, "Traceback" in result.output) == (2, False)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "LARGEST", 1000)
    monkeypatch.setattr(events, "LARGEST", 1000)
    file = tmp_path / "events.jsonl"
    file.write_text(PAUSED + "\n" + '"' + "x" * 10_000, "utf-8")
    with pytest.raises(eh.InputError, match="line 2 is no event: it has more than 1,000 char"):
        list(events_in(file))
    with pytest.raises(eh.InputError, match=r"1,01\d characters of the record, where 1,000 are"):
        sealed(START, 1, 0.0, "paused", {"reason": "x" * 1000})


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("paused", '{"reason":7}', "reason: a text is needed; got 7"),
        ("paused", "{}", "'reason' is missing"),
        ("paused", '{"reason":"","more":1}', "'more' is not known"),
        ("leased", '{"tickets":[1,"2"],"holder":"","worker":"","until":1.0}', "tickets.1: a whole"),
        ("told", '{"evaluations":[[1,1,5,7.5,"P"]]}', "evaluations.0: a list of 6 is needed"),
        ("told", '{"evaluations":[[1,1,5,"7",null,"k"]]}', "evaluations.0.3: a number is needed"),
        ("told", '{"evaluations":[[1,1,5,7,null,"k"]]}', "evaluations.0.4: a text is needed"),
        ("extended", DEEP, "lists in lists"),
        ("stolen", "{}", "knows no such kind"),
        ("", "{}", "knows no such kind"),
    ],
)
def test_the_content_of_an_event_is_of_its_kind(kind: str, body: str, said: str) -> None:
    with pytest.raises(eh.InputError, match=rf"event 5 \('{kind}'\) of the record.*: .*{said}"):
        _ = Event(5, 0.0, kind, body, START).content


@pytest.mark.parametrize(
    ("column", "value"),
    [("hash", 10**12), ("hash", "text"), ("body", b"\0"), ("kind", b"x"), ("at", 1e300)],
)
@pytest.mark.parametrize("which", [1, 4])
def test_a_store_whose_columns_were_changed_says_so(
    tmp_path: Path, column: str, value: Any, which: int
) -> None:
    path = tmp_path / "store.db"
    with eh.Campaign.create(path, "prize", panel()) as campaign:
        campaign.tell(campaign.ask("Paul"), 7.0)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE event SET {column} = ? WHERE number = ?", (value, which))
        connection.commit()
    with (
        eh.Campaign.open(path, "prize") as campaign,
        pytest.raises(eh.EvenhandError, match=rf"{column} of an event cannot be .* changed"),
    ):
        campaign.status()


def test_a_campaign_writes_events_of_every_kind_in_their_forms(tmp_path: Path, hasty: None) -> None:
    path = tmp_path / "store.db"
    with eh.Campaign.create(path, "prize", panel(), at_most=40, lease=60.0) as campaign:
        campaign.import_scores(
            pd.DataFrame({"option": ["Ann"], "evaluator": ["Paul"], "score": [5.0]})
        )
        campaign.pause("lunch")
        campaign.resume()
        ticket = campaign.ask("Paul")
        campaign.renew(ticket)
        campaign.release(ticket)
        campaign.fail(campaign.ask("Paul"), "no pen")
        told = campaign.tell(campaign.ask("Paul"), 7.0)
        campaign.withdraw(told, "a slip")
        ticket = campaign.ask("Quinn")
        campaign.leave("Quinn", "ill")
        campaign.join("Quinn")
        assert not campaign.tell(ticket, 5.0).counted
        campaign.decline(campaign.ask("Quinn"), "a friend")
        campaign.extend(at_most=50)
        campaign.run(lambda question: 5.0 + question.option)
        assert campaign.verify()
        (file,) = campaign.export(tmp_path / "events.jsonl")
    written = list(events_in(file))
    assert [as_line(event) for event in written] == file.read_text("utf-8").splitlines()
    assert all(event.content == json.loads(event.body) for event in written)
    # a look of its own comes where all that is out was answered, and no ticket is wanted yet
    assert {event.kind for event in written} >= set(KINDS) - {"looked"}
