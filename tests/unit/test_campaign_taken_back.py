"""What was seen may be taken back: a server that crashes, or a copy that is put in its place.

PostgreSQL shows what is committed before it is on the disk. Nobody was told that it is kept; but a
client who looked has it in mind, and must find out that it never was.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from campaign_record import Record
from evenhand.campaigns import ask, follower
from evenhand.campaigns.stores import Session, Store, open_store
from evenhand.campaigns.stores.schema import TABLES


def all_rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    return store.read(
        lambda session: {table: session.rows(f"SELECT * FROM {table}") for table in TABLES}
    )


def take_back(store: Store, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    """Make a store what it was."""

    def work(session: Session) -> None:
        for table in reversed(TABLES):
            session.run(f"DELETE FROM {table}")
        for table in TABLES:
            for row in rows[table]:
                given = {f"value{place}": value for place, value in enumerate(row)}
                values = ", ".join(f":{name}" for name in given)
                session.run(f"INSERT INTO {table} VALUES ({values})", **given)

    store.write(work)


@pytest.fixture
def store(store_address: str) -> Any:
    with open_store(store_address) as opened:
        yield opened


@pytest.fixture
def campaign(store: Store) -> eh.Campaign:
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["Paul", "Quinn"], capacity=None)
    return eh.Campaign.create(store, "prize", panel, noise_scale=1.0, at_most=40)


def test_an_answer_is_that_of_the_log_though_other_scores_were_seen(
    store: Store, campaign: eh.Campaign
) -> None:
    ticket = campaign.ask("Paul")
    before = all_rows(store)
    campaign.tell(ticket, 7.0)
    assert campaign.answer().spent == 1
    take_back(store, before)
    assert campaign.answer().spent == 0
    other = eh.Campaign.open(store, "prize")
    other.tell(ticket, 3.0)
    said = repr(campaign.answer().to_dict())
    assert said == repr(eh.Campaign.open(store, "prize").answer().to_dict())
    assert "3.0" in said
    assert "7.0" not in said
    assert Record(store, "prize").complaints() == []


def test_nothing_is_proposed_or_changed_on_the_strength_of_what_was_taken_back(
    store: Store, campaign: eh.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail is lost after the policy was asked, and before what it said is put in."""
    tickets = [campaign.ask("Paul"), campaign.ask("Quinn")]
    before = all_rows(store)
    seen, known = [], []
    write, work_out = follower.Follower.write, ask._proposal

    def noting(*given: Any) -> Any:
        proposal = work_out(*given)
        known.append(proposal.known)
        return proposal

    def lost_meanwhile(self: follower.Follower, work: Any) -> Any:
        if "put_in" in repr(work) and not seen:
            seen.append(work)
            take_back(self.store, before)
        return write(self, work)

    for ticket in tickets:
        campaign.tell(ticket, 5.0)
    monkeypatch.setattr(ask, "_proposal", noting)
    monkeypatch.setattr(follower.Follower, "write", lost_meanwhile)
    campaign.ask("Paul", n=5)
    assert seen
    record = Record(store, "prize")
    assert record.complaints() == []
    assert len(known) > 1  # what the first was worked out from is gone, and so is it
    assert len({origin for origin, _ in known}) == 2
