"""The record of a campaign read on its own: is the chain whole, and are the rows what the log says?

Nothing here is shared with the campaign but the tables: the seal is worked out anew, and the log is
folded into tickets and evaluations by the meaning of its events alone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from evenhand.campaigns.stores import Store

Row = dict[str, Any]

_COLUMNS = {
    "campaign": "id name status head hash version tickets evaluations counted",
    "ticket": "number token question turn evaluator state holder worker attempt failures leased "
    "until",
    "evaluation": "number ticket question score evaluator key standing event",
    "event": "number at kind body hash",
}
_SKEW = 5.0  # seconds by which a clock may go back and leave leases as they are
_GONE = {"holder": "", "worker": "", "until": 0.0}  # of a ticket that nobody has


class Record:
    """A campaign's rows and its log, as they stand in a store at one moment."""

    def __init__(self, store: Store, name: str) -> None:
        def rows(session: Any) -> list[list[Row]]:
            (own,) = _rows(session, "campaign", "name = :name", name=name)
            return [[own]] + [
                _rows(session, table, "campaign = :id ORDER BY number", id=own["id"])
                for table in ("ticket", "evaluation", "event")
            ]

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
        """Return what is wrong: broken seals, and rows that are not what the log says."""
        return self._of_the_chain() + self._of_the_rows() + self._of_the_evaluations()

    def _of_the_chain(self) -> list[str]:
        wrong, before = [], bytes(32)
        for n, row in enumerate(self.events, start=1):
            said = f"\n{n}\n{row['at']!r}\n{row['kind']}\n{row['body']}"
            before = hashlib.sha256(before + said.encode()).digest()
            if row["number"] != n or bytes(row["hash"]) != before:
                wrong.append(f"event {n} is not sealed to those before it")
        if self.row["head"] != len(self.events) or bytes(self.row["hash"]) != before:
            wrong.append(f"the log ends at {len(self.events)}, the row says {self.row['head']}")
        return wrong

    def _of_the_rows(self) -> list[str]:
        fold = Fold()
        for row in self.events:
            fold.take(row)
        wrong = fold.wrong
        for name, have, want in (
            ("ticket", self.tickets, fold.tickets),
            ("evaluation", self.evaluations, fold.evaluations),
        ):
            if [row["number"] for row in have] != sorted(want):
                wrong.append(f"{name}s are {[row['number'] for row in have]}, not {sorted(want)}")
                continue
            for row in have:
                should = want[row["number"]]
                differ = {k: (row[k], v) for k, v in should.items() if row[k] != v}
                if differ:
                    wrong.append(f"{name} {row['number']} (row, log): {differ}")
        counted = sum(row["standing"] == "counted" for row in fold.evaluations.values())
        for name, value in (
            ("status", fold.status),
            ("tickets", len(fold.tickets)),
            ("evaluations", len(fold.evaluations)),
            ("counted", counted),
        ):
            if self.row[name] != value:
                wrong.append(f"{name} is {self.row[name]!r} in the row and {value!r} by the log")
        return wrong

    def _of_the_evaluations(self) -> list[str]:
        """No ticket counts twice, and no key was told twice."""
        on_time = [r for r in self.evaluations if r["standing"] == "counted"]
        counting = [r["ticket"] for r in on_time if r["ticket"] is not None]
        keys = [(r["evaluator"], r["key"]) for r in self.evaluations]
        wrong = [f"ticket {n} counts twice" for n in _doubled(counting)]
        return wrong + [f"{who!r} told {key!r} twice" for who, key in _doubled(keys)]


class Fold:
    """Tickets and evaluations as the log makes them."""

    def __init__(self) -> None:
        self.status = "running"
        self.tickets: dict[int, Row] = {}
        self.evaluations: dict[int, Row] = {}
        self.wrong: list[str] = []

    def take(self, row: Row) -> None:
        take: Callable[[Row, Any], None] = getattr(self, f"_{row['kind']}")
        take(row, row["content"])

    def _created(self, row: Row, content: Any) -> None:
        pass

    _planned = _alarmed = _created

    def _proposed(self, row: Row, content: Any) -> None:
        for number, token, question, turn in content["tickets"]:
            self.tickets[number] = {
                "token": token,
                "question": question,
                "turn": turn,
                "state": "open",
                "attempt": 0,
                "failures": 0,
                "leased": 0.0,
                **_GONE,
            }

    def _leased(self, row: Row, content: Any) -> None:
        for number in content["tickets"]:
            held = self.tickets[number]
            if held["state"] != "open" and not (
                held["state"] == "leased"
                and not held["leased"] - _SKEW <= row["at"] < held["until"]
            ):
                self.wrong.append(f"ticket {number} went out at event {row['number']}, but {held}")
            held["attempt"] += 1
            held["failures"] += held["state"] == "leased"  # who had it was lost
            held |= {"state": "leased", "leased": row["at"]}
            held |= {name: content[name] for name in ("holder", "worker", "until")}

    def _told(self, row: Row, content: Any) -> None:
        self._enter(row, content, "counted")
        for _, number, _, _, evaluator, _ in content["evaluations"]:
            done = self.tickets[number]
            if done["state"] not in ("open", "leased"):
                self.wrong.append(f"ticket {number} was told at event {row['number']}, but {done}")
            done |= {"state": "done", "holder": evaluator}

    def _late(self, row: Row, content: Any) -> None:
        self._enter(row, content, "late")

    def _imported(self, row: Row, content: Any) -> None:
        self._enter(row, content, "counted")

    def _enter(self, row: Row, content: Any, standing: str) -> None:
        for number, of, question, score, evaluator, key in content["evaluations"]:
            if number != len(self.evaluations) + 1:
                self.wrong.append(f"evaluation {number} is out of order")
            self.evaluations[number] = {
                "ticket": of,
                "question": question,
                "score": score,
                "evaluator": evaluator,
                "key": key,
                "standing": standing,
                "event": row["number"],
            }

    def _failed(self, row: Row, content: Any) -> None:
        failed = self.tickets[content["ticket"]]
        failed["failures"] += 1
        failed |= {"state": "failed" if content["given_up"] else "open", **_GONE}

    def _released(self, row: Row, content: Any) -> None:
        self.tickets[content["ticket"]] |= {"state": "open", **_GONE}

    def _renewed(self, row: Row, content: Any) -> None:
        self.tickets[content["ticket"]] |= {"leased": row["at"], "until": content["until"]}

    def _withdrawn(self, row: Row, content: Any) -> None:
        standing = "withdrawn blind" if content["blind"] else "withdrawn"
        self.evaluations[content["evaluation"]]["standing"] = standing
        if content["ticket"] is not None:
            spoilt = self.tickets[content["ticket"]]
            spoilt["attempt"] += 1
            spoilt |= {"state": "open" if content["reopened"] else "void", **_GONE}
        self._reopen()

    def _left(self, row: Row, content: Any) -> None:
        self._void(content["tickets"])

    _declined = _left

    def _joined(self, row: Row, content: Any) -> None:
        self._reopen()

    _extended = _joined

    def _paused(self, row: Row, content: Any) -> None:
        self.status = "paused"

    def _resumed(self, row: Row, content: Any) -> None:
        self.status = "running"

    def _decided(self, row: Row, content: Any) -> None:
        self.status = "finished"
        waiting = [n for n, one in self.tickets.items() if one["state"] in ("open", "leased")]
        self._void(waiting)

    def _void(self, numbers: list[int]) -> None:
        for number in numbers:
            self.tickets[number] |= {"state": "void", "worker": ""}

    def _reopen(self) -> None:
        if self.status == "finished":
            self.status = "running"


def _rows(session: Any, table: str, which: str, **given: Any) -> list[Row]:
    names = _COLUMNS[table].split()
    rows = session.rows(f"SELECT {', '.join(names)} FROM {table} WHERE {which}", **given)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _doubled(values: list[Any]) -> list[Any]:
    return sorted(value for value, n in Counter(values).items() if n > 1)
