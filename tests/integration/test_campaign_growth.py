"""An ask and a tell do the same work however long a campaign runs: steps are counted, not time."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.campaigns.stores import SqliteStore


class CountingStore(SqliteStore):
    """Counts the instructions that SQLite carries out in writes, while ``counts`` is true."""

    counts, steps = False, 0

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.set_progress_handler(self._count, 1)
        return connection

    def _count(self) -> int:
        self.steps += self.counts
        return 0  # go on


def tell_more(campaign: eh.Campaign, n: int, rng: np.random.Generator) -> None:
    while n > 0:
        tickets = campaign.ask("a judge", n=n)  # perhaps fewer: the policy wants to learn first
        campaign.tell_many([(ticket, float(rng.standard_normal()), None) for ticket in tickets])
        n -= len(tickets)


def steps_of_a_pair(store: CountingStore, campaign: eh.Campaign, rng: np.random.Generator) -> int:
    """Return the steps that most pairs take: the others hand in proposals."""
    found = []
    for _ in range(15):
        store.steps, store.counts = 0, True
        ticket = campaign.ask("a judge")
        campaign.tell(ticket, float(rng.standard_normal()))
        store.counts = False
        found.append(store.steps)
    return int(np.median(found))


def test_steps_of_ask_and_tell_do_not_grow(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    store = CountingStore(tmp_path / "store.db")
    actions = eh.ActionSet(rng.standard_normal((8, 2)), ["home", "away"] * 4)
    campaign = eh.Campaign.create(store, "long", actions, at_most=10**6, noise_scale=1.0)
    tell_more(campaign, 200, rng)
    early = steps_of_a_pair(store, campaign, rng)
    tell_more(campaign, 3_600, rng)
    assert early > 0
    assert steps_of_a_pair(store, campaign, rng) <= 1.2 * early
    campaign.close()
