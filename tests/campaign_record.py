"""The record of a campaign as rows of its tables, held against its log."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from evenhand.campaigns import Campaign
from evenhand.campaigns.stores import Store

Row = dict[str, Any]

_COLUMNS = {
    "campaign": "id name status head hash version tickets evaluations counted",
    "ticket": "number token question turn evaluator state holder worker attempt failures leased "
    "until",
    "evaluation": "number ticket question score evaluator key standing event",
    "event": "number at kind body hash",
}


class Record:
    """A campaign's rows and its log, as they stand in a store at one moment."""

    def __init__(self, store: Store, name: str) -> None:
        def rows(session: Any) -> list[list[Row]]:
            (own,) = _rows(session, "campaign", "name = :name", name=name)
            return [[own]] + [
                _rows(session, table, "campaign = :id ORDER BY number", id=own["id"])
                for table in ("ticket", "evaluation", "event")
            ]

        self._store = store
        (self.row,), self.tickets, self.evaluations, self.events = store.read(rows)
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
        counting = [r["ticket"] for r in self.evaluations if r["standing"] == "counted"]
        keys = [(r["evaluator"], r["key"]) for r in self.evaluations]
        wrong = [f"ticket {n} counts twice" for n in _doubled([n for n in counting if n])]
        wrong += [f"{who!r} told {key!r} twice" for who, key in _doubled(keys)]
        return [*wrong, *Campaign.open(self._store, self.row["name"]).verify().wrong]


def _rows(session: Any, table: str, which: str, **given: Any) -> list[Row]:
    names = _COLUMNS[table].split()
    rows = session.rows(f"SELECT {', '.join(names)} FROM {table} WHERE {which}", **given)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _doubled(values: list[Any]) -> list[Any]:
    return sorted(value for value, n in Counter(values).items() if n > 1)
