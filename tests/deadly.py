"""A worker of a campaign that dies of `kill -9` at a chosen place, and what it leaves behind.

A worker keeps an outbox, as a careful client would: before it tells a score it writes down what it
will say, and afterwards what it was told in return, each time on the disk before it goes on. Who
takes its place tells again what had no answer, under the same key.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from evenhand.campaigns import Campaign
from evenhand.campaigns.stores import Session, SqliteStore, Store
from evenhand.errors import ConflictError

PLACES = (
    "holding a ticket",
    "before a commit",  # all is written, COMMIT is not sent
    "within a commit",  # some while after COMMIT was sent
    "after a commit",  # it is durable, and the worker does not know
    "after the receipt",  # and before it is written down
    "any time",  # from outside, whatever it does
)


@dataclass
class Fate:
    """Where a worker dies, and at which of the times that it comes there; nowhere if empty."""

    place: str = ""
    turn: int = 1
    delay: float = 0.0

    def at(self, place: str) -> None:
        """Die, if this is the place and the time."""
        if place == self.place:
            self.turn -= 1
            if self.turn == 0:
                self.strike()

    def strike(self) -> None:
        if self.delay == 0.0:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            threading.Timer(self.delay, os.kill, (os.getpid(), signal.SIGKILL)).start()


class _Deadly(Store):
    """A store that may be the end of its process, around its commits."""

    fate: Fate

    def _begin_anew(self) -> None:
        super()._begin_anew()
        sa.event.listen(self.engine, "commit", self._about_to_commit)

    def _about_to_commit(self, _: sa.Connection) -> None:
        self.fate.at("before a commit")
        self.fate.at("within a commit")

    def _committed(self, works: Sequence[Callable[[Session], Any]]) -> list[Any]:
        results = super()._committed(works)
        self.fate.at("after a commit")
        return results


class DeadlySqlite(_Deadly, SqliteStore):
    """A file."""


def deadly(address: str, fate: Fate, patience: float) -> Store:
    """Return the store at an address, with somebody's fate in it."""
    store: Any
    if address.startswith("postgresql:"):
        from evenhand.campaigns.stores.postgres import PostgresStore  # noqa: PLC0415 # optional

        class DeadlyPostgres(_Deadly, PostgresStore):
            """A server."""

        store = DeadlyPostgres(address, patience=patience)
    else:
        store = DeadlySqlite(address, patience=patience)
    store.fate = fate
    return store  # type: ignore[no-any-return] # as made above


class Outbox:
    """What a worker is about to tell, and what it was told in return: a line each, on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **what: Any) -> None:
        with self.path.open("ab") as file:
            file.write(b"\n" + json.dumps(what).encode())  # a line that was cut short stays alone
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        lines = []
        for line in self.path.read_bytes().split(b"\n"):
            try:
                lines.append(json.loads(line))
            except ValueError:  # the worker died while it wrote
                continue
        return lines

    def receipts(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if "evaluation" in line]

    def unanswered(self) -> list[dict[str, Any]]:
        """Return what was about to be told, and has neither receipt nor refusal."""
        answered = {line["key"] for line in self.lines() if "answered" in line}
        return [ln for ln in self.lines() if "answered" not in ln and ln["key"] not in answered]


def work(
    address: str,
    name: str,
    evaluator: str | None,
    worker: str,
    outbox: Outbox,
    fate: Fate,
    seed: int,
    pause: float,
    score: Callable[[Any, random.Random], float],
    patience: float = 60.0,
) -> None:
    """Ask and tell until the campaign is finished, or fate strikes."""
    rng = random.Random(seed)
    with deadly(address, fate, patience) as store:
        campaign = Campaign.open(store, name)
        for line in outbox.unanswered():
            _tell(campaign, outbox, fate, line)
        while True:
            ticket = campaign.ask(evaluator, worker=worker)
            if not ticket:
                if ticket.reason == "finished":
                    return
                time.sleep(min(0.05, ticket.again_in or 0.05))
                continue
            fate.at("holding a ticket")
            time.sleep(rng.uniform(0.0, 2.0 * pause))
            whim = rng.random()
            if whim < 0.05:
                campaign.fail(ticket, "out of coffee")
                continue
            if whim < 0.1:
                campaign.release(ticket)
                continue
            if whim < 0.15:
                campaign.renew(ticket)
            said = {
                "ticket": ticket.id,
                "score": score(ticket.question, rng),
                "key": f"{worker}/{ticket.id}/{rng.getrandbits(40):x}",
            }
            outbox.write(**said)
            _tell(campaign, outbox, fate, said)
            if whim > 0.9:
                _tell(campaign, outbox, fate, said)


def _tell(campaign: Campaign, outbox: Outbox, fate: Fate, said: dict[str, Any]) -> None:
    try:
        receipt = campaign.tell(said["ticket"], said["score"], key=said["key"])
    except ConflictError as error:
        outbox.write(answered=str(error), **said)
        return
    fate.at("after the receipt")
    outbox.write(answered="kept", evaluation=receipt.evaluation, counted=receipt.counted, **said)
