"""The record of a campaign as rows: its log, and the state that this comes to."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from evenhand.campaigns import Campaign
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.stores import Store

Row = dict[str, Any]


class Record:
    """A campaign's log, and its tickets and evaluations by that, as they stand at one moment."""

    def __init__(self, store: Store, name: str) -> None:
        def look(page: Page) -> tuple[Row, list[Row], list[Row]]:
            state, head = page.state, page.head
            return (
                {"name": page.name, "status": page.status, "head": head, "counted": state.counted},
                [one._asdict() for one in state.tickets.values()],
                [
                    one.said._asdict() | {"standing": one.standing, "event": one.event}
                    for one in state.evaluations.values()
                ],
            )

        self.campaign = Campaign.open(store, name)
        follower = self.campaign._follower
        self.row, self.tickets, self.evaluations = follower.read(look)
        statement = "SELECT number, at, kind, body, hash FROM event WHERE campaign = :id AND "
        rows = store.read(
            lambda session: session.rows(
                f"{statement} number <= :head ORDER BY number",
                id=follower.id,
                head=self.row["head"],
            )
        )
        names = ("number", "at", "kind", "body", "hash")
        self.events: list[Row] = [dict(zip(names, row, strict=True)) for row in rows]
        for row in self.events:
            row["content"] = json.loads(row["body"])

    def of(self, *kinds: str) -> list[Row]:
        """Return what the events of some kinds say, in their order."""
        return [row["content"] for row in self.events if row["kind"] in kinds]

    def told(self) -> list[list[Any]]:
        """Return the evaluations that counted when they came: number, ticket, question, score, …"""
        return [one for said in self.of("told") for one in said["evaluations"]]

    def complaints(self) -> list[str]:
        """Return what is wrong by the log: what does not fit it, ticket or key counted twice."""
        gone = {said["evaluation"] for said in self.of("withdrawn")}
        every = [one for said in self.of("told", "late", "imported") for one in said["evaluations"]]
        counting = [ticket for number, ticket, *_ in self.told() if number not in gone]
        keys = [(who, key) for *_, who, key in every]
        wrong = [f"ticket {n} counts twice" for n in _doubled([n for n in counting if n])]
        wrong += [f"{who!r} told {key!r} twice" for who, key in _doubled(keys)]
        return [*wrong, *self.campaign.verify().wrong]


def _doubled(values: list[Any]) -> list[Any]:
    return sorted(value for value, n in Counter(values).items() if n > 1)
