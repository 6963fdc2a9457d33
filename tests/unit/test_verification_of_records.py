"""Records that were changed are found out: in the log, in the campaign's row, in a file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaigns.verification import verify_file
from evenhand.plain import canonical


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a campaign that was decided, and had everything happen on the way."""
    store = tmp_path_factory.mktemp("record") / "prize.db"
    panel = eh.Questions.panel({"Ann": "a", "Bo": "b", "Cy": "a"}, {"P": "a", "Q": "b", "R": "c"})
    rng = np.random.default_rng(3)
    with eh.Campaign.create(store, "prize", panel) as campaign:
        ticket = campaign.ask("P")
        assert isinstance(ticket, eh.campaigns.Ticket)
        campaign.fail(ticket, "no sound")
        campaign.pause("lunch")
        campaign.resume()
        campaign.run(lambda question: 9.0 - 2.0 * question.option + 0.1 * rng.normal())
        late = campaign.tell(ticket, 1.0, key="late")
        assert not late.counted
        assert campaign.status().status == "finished"
    return store


@pytest.fixture
def store(played: Path, tmp_path: Path) -> Path:
    with (
        closing(sqlite3.connect(played)) as one,
        closing(sqlite3.connect(tmp_path / "c.db")) as two,
    ):
        one.backup(two)
    eh.Campaign.open(
        tmp_path / "c.db", "prize"
    ).close()  # a copy is looked at when it is first opened
    return tmp_path / "c.db"


def change(store: Path, statement: str) -> eh.campaigns.RecordVerification:
    """Change a store behind the campaign's back."""
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()
    with eh.Campaign.open(store, "prize") as campaign:
        return campaign.verify()


def test_what_nobody_touched_verifies_in_the_store_and_in_a_file(store: Path) -> None:
    with eh.Campaign.open(store, "prize") as campaign:
        found, status = campaign.verify(), campaign.status()
        seal = status.hash
        assert found, str(found)
        assert (found.seal, found.decided, found.evaluations) == (seal, True, status.evaluations)
        assert campaign.verify(seal)
        assert not campaign.verify("0" * 64)
        (file,) = campaign.export(store.with_suffix(".jsonl"))
    assert verify_file(file, seal).seal == seal
    assert "whole" in str(verify_file(file))


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE event SET body = replace(body, 'lunch', 'tea') WHERE kind = 'paused'", "paused"),
        ("UPDATE event SET at = at + 1 WHERE kind = 'decided'", "decided"),
        ("UPDATE event SET kind = 'resumed' WHERE kind = 'paused'", "resumed"),
        ("DELETE FROM event WHERE kind = 'failed'", "missing"),
        ("DELETE FROM event WHERE number = (SELECT max(number) FROM event)", "row says"),
        ("UPDATE campaign SET counted = counted - 1", "the events ('finished', 9)"),
        ("UPDATE campaign SET status = 'paused'", "the events ('finished', 9)"),
        ("UPDATE event SET body = replace(body, 'prize', 'x') WHERE number = 1", "is of 'x'"),
    ],
)  # fmt: skip
def test_every_change_is_found(store: Path, statement: str, found: str) -> None:
    verdict = change(store, statement)
    assert not verdict
    assert found in str(verdict)


def test_campaigns_that_exchange_their_names_do_not_verify(store: Path) -> None:
    with eh.Campaign.create(store, "other", eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])) as other:
        assert other.verify()
    with closing(sqlite3.connect(store)) as connection:
        for old, new in (("prize", "x"), ("other", "prize"), ("x", "other")):
            connection.execute("UPDATE campaign SET name = ? WHERE name = ?", (new, old))
        connection.commit()
    for kept, of in (("prize", "other"), ("other", "prize")):
        with eh.Campaign.open(store, kept) as campaign:
            assert campaign.verify().wrong == (f"the record is of {of!r}, and kept as {kept!r}",)


def test_a_file_that_was_changed_is_found_out(store: Path, tmp_path: Path) -> None:
    with eh.Campaign.open(store, "prize") as campaign:
        (file,) = campaign.export(tmp_path / "events.jsonl")
    lines = file.read_text("utf-8").splitlines()
    told = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == "told")
    changed = json.loads(lines[told])
    changed["body"]["evaluations"][0][3] += 1.0
    for forged in (
        [*lines[:told], canonical(changed), *lines[told + 1 :]],
        lines[1:],
        [*lines[:3], *lines[4:]],
        [*lines[:2], lines[3], lines[2], *lines[4:]],
    ):
        file.write_text("\n".join(forged) + "\n", "utf-8")
        assert not verify_file(file)
    # what is cut off at the end is a shorter record; the seal that was written down tells
    file.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    assert not verify_file(file, json.loads(lines[-1])["hash"])
    file.write_text("not an event\n", "utf-8")
    with pytest.raises(eh.InputError, match="line 1"):
        verify_file(file)


@pytest.mark.parametrize("score", [0.0, 1.0, 7.3, -1e6])
def test_scores_that_are_all_alike_verify(tmp_path: Path, score: float) -> None:
    """What is left of their differences is rounding, by either route: the first of equals leads."""
    panel = eh.Questions.panel(
        {"Ann": "home", "Bo": "away", "Cy": "home"},
        {"Paul": "home", "Quinn": "away", "Rita": "nowhere"},
        capacity=None,
    )
    with eh.Campaign.create(tmp_path / "ties.db", "ties", panel, at_most=12) as campaign:
        assert campaign.run(lambda question: score).label == "Ann"
        assert campaign.verify().wrong == ()
