"""Kill `evenhand serve` under load, again and again, and see that nothing is lost or doubled.

    python tests/killed_server.py --kills 30
    python tests/killed_server.py --kills 30 --store postgres --servers 2

Evaluators judge over HTTP by `eh.connect`, each in a thread, and write down what was acknowledged.
A server is killed with `kill -9` at any moment and started again; evaluators do the same again
until it is acknowledged. With several servers on one PostgreSQL they are spread over all. Then

- every score that was acknowledged is in the store, once, as it was told, and counts if that was
  said; nothing is there that nobody sent;
- no ticket counts twice; the log is sealed, the rows are what it says, and the record verifies.

The exit code is 1 if something of this is false.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evenhand as eh
from campaign_record import Record
from evenhand.campaigns.stores import open_store
from evenhand.campaigns.tell import key_of
from evenhand.serve.access import grant
from postgres_server import some_server
from served import Server

NAME = "killed"
EVALUATORS = {f"evaluator {i}": ("home", "away")[i % 2] for i in range(16)}
OPTIONS = {f"option {i}": ("home", "away")[i % 2] for i in range(6)}
PATIENCE = 120.0  # seconds for a server to come up
PAUSE = 0.05  # seconds after which an evaluator tries again
LOAD = 5  # scores of each that are acknowledged between two kills, on average


@dataclass
class Judge:
    """An evaluator who notes what is sent, and what was acknowledged, by key."""

    name: str
    url: str
    token: str
    sent: dict[str, float] = field(default_factory=dict)
    acknowledged: dict[str, bool] = field(default_factory=dict)  # whether it counts
    again: int = 0  # acknowledged as told before
    wrong: list[str] = field(default_factory=list)

    def judge(self, over: threading.Event) -> None:
        rng, seat = random.Random(self.name), eh.connect(self.url, self.token)
        while not over.is_set():
            ticket = self._until_it_works(over, seat.ask)
            if not ticket:
                time.sleep(PAUSE)
                continue
            score, key = rng.gauss(5.0, 1.0), key_of(ticket.id, ticket.attempt)
            self.sent[key] = score
            receipt = self._until_it_works(over, lambda t=ticket, s=score: seat.tell(t, s))
            if receipt is not None:
                self.acknowledged[key] = receipt.counted
                self.again += receipt.repeated

    def _until_it_works(self, over: threading.Event, call: Any) -> Any:
        while not over.is_set():
            try:
                return call()
            except eh.StoreError:  # it does not answer
                time.sleep(PAUSE)
            except eh.EvenhandError as error:
                self.wrong.append(f"{self.name} was refused: {error}")
                over.set()
        return None


def torture(store: str, kills: int, n_servers: int, rng: random.Random) -> list[Judge]:
    """Have evaluators judge while servers are killed; return what they noted."""
    panel = eh.Questions.panel(OPTIONS, EVALUATORS, capacity=None)
    with open_store(store) as opened:
        eh.Campaign.create(opened, NAME, panel, at_most=10**6, noise_scale=1.0)
        tokens = {who: grant(opened, "evaluator", NAME, who) for who in EVALUATORS}
    servers = [Server(store) for _ in range(n_servers)]
    judges = [
        Judge(who, servers[i % n_servers].address, token)
        for i, (who, token) in enumerate(tokens.items())
    ]
    over = threading.Event()
    threads = [threading.Thread(target=judge.judge, args=(over,)) for judge in judges]
    for thread in threads:
        thread.start()
    try:
        for n in range(kills):
            before = _acknowledged(judges)
            end = time.monotonic() + PATIENCE
            while _acknowledged(judges) < before + LOAD * len(judges) and not over.is_set():
                assert time.monotonic() < end, "nothing is acknowledged any more"
                time.sleep(0.02)
            time.sleep(rng.uniform(0.0, 0.3))
            victim = rng.choice(servers)
            victim.kill()
            victim.start()
            print(f"{n + 1:3d} kills, {_acknowledged(judges)} acknowledged", flush=True)
    finally:
        time.sleep(0.5)
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
        for server in servers:
            server.close()
    return judges


def _acknowledged(judges: list[Judge]) -> int:
    return sum(len(judge.acknowledged) for judge in judges)


def complaints(store: str, judges: list[Judge]) -> Iterator[str]:
    """Return what is wrong in the store, by what was acknowledged."""
    with open_store(store) as opened:
        record = Record(opened, NAME)
        verified = eh.Campaign.open(opened, NAME).verify()
    yield from record.complaints()
    yield from (f"it does not verify: {text}" for text in verified.wrong)
    rows = {(row["evaluator"], row["key"]): row for row in record.evaluations}
    for judge in judges:
        yield from judge.wrong
        for key, counted in judge.acknowledged.items():
            row = rows.get((judge.name, key))
            if row is None:
                yield f"lost: {judge.name} told {key}"
            elif (row["score"], row["standing"] == "counted") != (judge.sent[key], counted):
                yield f"{judge.name} told {key}, {judge.sent[key]}; there is {row}"
    sent = {(judge.name, key) for judge in judges for key in judge.sent}
    yield from (f"nobody sent {key}" for key in rows.keys() - sent)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield str(folder / "killed.db")
    else:
        with some_server() as server:
            yield server.fresh()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None, help="a fresh one if not given")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    asked = parser.parse_args(argv)
    seed = random.SystemRandom().getrandbits(32) if asked.seed is None else asked.seed
    print(f"{asked.store}, seed {seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="evenhand-killed-") as folder,
        place(asked.store, Path(folder)) as store,
    ):
        judges = torture(store, asked.kills, asked.servers, random.Random(seed))
        wrong = list(complaints(store, judges))
    sent, again = sum(len(judge.sent) for judge in judges), sum(judge.again for judge in judges)
    print(f"{asked.kills} killed in all; {sent} sent, {_acknowledged(judges)} acknowledged, "
          f"{again} of them when sent again")  # fmt: skip
    for text in wrong:
        print(f"  ! {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
