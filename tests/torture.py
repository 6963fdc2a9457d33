"""Kill what runs a campaign, at every moment, and see that nothing is lost, doubled or stuck.

    python tests/torture.py --kills 1000 --seed 7
    python tests/torture.py --kills 50 --store postgres

Workers of campaign after campaign are killed with `kill -9`: with a ticket in their hands, before,
within and after a commit, or at any time; on PostgreSQL also the server's processes, and the server
itself, which is started again. In the end of each campaign

- every evaluation that was acknowledged is in the store, once;
- no ticket counts twice, none went out twice at a time, and none is stuck: the campaign ends;
- the log is sealed, the rows are what it says, and the record verifies;
- the decision is that of the same evaluations told without faults.

The exit code is 1 if something of this is false.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

import evenhand as eh
from campaign_record import Record
from deadly import PLACES, Fate, Outbox, work
from evenhand.campaigns import ledger
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.stores import Session, open_store
from postgres_server import own_server, revive

LEASE = 1.0  # seconds
CREW = 6  # workers at a time
PAUSE = 0.004  # seconds that an evaluation takes, on average
PATIENCE = 180.0  # seconds after which a campaign is taken to be stuck
BACKENDS, SERVERS = 0.15, 0.03  # shares of the kills that strike the server, and all of it

JUDGES = {"Paul": "home", "Quinn": "away", "Rosa": "home", "Sam": "away"}
OPTIONS = {"Ann": "home", "Bo": "away", "Cy": "home", "Di": "away"}
VALUES = {"Ann": 6.0, "Bo": 5.2, "Cy": 5.0, "Di": 4.0}
PLANE = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.2, 0.9], [-0.5, 0.1]]


def panel_until_sure(store: Any, name: str, seed: int) -> eh.Campaign:
    panel = eh.Questions.panel(OPTIONS, JUDGES, capacity=None)
    return eh.Campaign.create(
        store, name, panel, at_most=200, tolerance=0.3, noise_scale=1.0, lease=LEASE, seed=seed
    )


def panel_once_each(store: Any, name: str, seed: int) -> eh.Campaign:
    panel = eh.Questions.panel(OPTIONS, JUDGES)
    return eh.Campaign.create(store, name, panel, noise_scale=1.0, lease=LEASE, seed=seed)


def anybody_in_steps(store: Any, name: str, seed: int) -> eh.Campaign:
    options = eh.ActionSet(PLANE, ["a", "b", "a", "b", "a"])
    policy = eh.PricedExploration(options, horizon=150, noise_scale=1.0, seed=seed)
    return eh.Campaign.create(store, name, options, policy=policy, lease=LEASE, seed=seed)


def anybody_in_rounds(store: Any, name: str, seed: int) -> eh.Campaign:
    options = eh.ActionSet(PLANE, ["a", "b", "a", "b", "a"])
    policy = eh.FairPhasedElimination(options, horizon=150, noise_scale=1.0, seed=seed)
    return eh.Campaign.create(store, name, options, policy=policy, lease=LEASE, seed=seed)


KINDS = (panel_until_sure, panel_once_each, anybody_in_steps, anybody_in_rounds)


def score(question: eh.Question, rng: random.Random) -> float:
    value = VALUES.get(question.label, math.sin(1.0 + question.option))
    lenient = sum(map(ord, question.evaluator or "")) % 7 / 7
    return value + lenient + rng.gauss(0.0, 1.0)


class Torture:
    """Campaigns on one store, and who kills their workers."""

    def __init__(self, address: str, folder: Path, seed: int, server: Server | None = None) -> None:
        self.address, self.folder, self.server = address, folder, server
        self.rng = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.evaluations = self.late = 0

    def run(self, kills: int) -> None:
        """Torture campaign after campaign, until so many were killed."""
        n = 0
        while self.kills.total() < kills and not self.wrong:
            kind, n = KINDS[n % len(KINDS)], n + 1
            name = f"{kind.__name__} {n}"
            kind(self.address, name, seed=self.rng.getrandbits(32)).close()
            outboxes = self._run(name, kills)
            if not self.wrong:
                self.wrong += [f"{name}: {text}" for text in self._complaints(name, outboxes)]
            print(f"{self.kills.total():5d} kills, {name}", flush=True)

    def _run(self, name: str, kills: int) -> list[Outbox]:
        """Run a campaign to its end, and kill on the way."""
        crew: dict[int, Slot] = {}
        slots = [
            Slot(worker, None if name.startswith("anybody") else list(JUDGES)[worker % 4])
            for worker in range(CREW)
        ]
        for slot in slots:
            crew[self._start(name, slot, kills)] = slot
        outboxes = {slot.outbox(self.folder, name) for slot in slots}
        end = time.monotonic() + PATIENCE
        while crew:
            time.sleep(self.rng.uniform(0.0, 0.02))
            for pid, slot in list(crew.items()):
                found, status = os.waitpid(pid, os.WNOHANG)
                if found == 0:
                    continue
                del crew[pid]
                if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                    self.kills[slot.fate.place or "any time"] += 1
                    if self.rng.random() < 0.5:  # somebody else comes, and the ticket waits
                        slot.life += 1
                    crew[self._start(name, slot, kills)] = slot
                    outboxes.add(slot.outbox(self.folder, name))
                elif status != 0:
                    self.wrong.append(f"{name}: {slot} failed; see above")
            if self.kills.total() < kills and crew:
                self._strike(list(crew.items()))
            if time.monotonic() > end or self.wrong:
                for pid in crew:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                if not self.wrong:
                    self.wrong.append(f"{name}: not finished after {PATIENCE:g} s")
                break
        return [Outbox(path) for path in outboxes]

    def _strike(self, crew: list[tuple[int, Slot]]) -> None:
        """Kill from outside: a worker whose fate that is, or a part of the server."""
        pid, slot = self.rng.choice(crew)
        if slot.fate.place == "any time" and self.rng.random() < 0.2:
            os.kill(pid, signal.SIGKILL)
        if self.server is not None:
            total = self.kills.total()
            if self.kills["the server"] < SERVERS * total:
                self.kills["the server"] += self.server.kill()
            elif self.kills["a backend"] < BACKENDS * total:
                self.kills["a backend"] += self.server.kill_backend(self.rng)

    def _start(self, name: str, slot: Slot, kills: int) -> int:
        """Start a worker, with a fate as long as there is to be killed."""
        slot.fate = Fate()
        if self.kills.total() < kills:
            place = self.rng.choice(PLACES)
            delay = self.rng.uniform(1e-5, 4e-3) if place == "within a commit" else 0.0
            slot.fate = Fate(place, self.rng.randint(1, 6), delay)
        path, seed = slot.outbox(self.folder, name), self.rng.getrandbits(32)
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            holder = slot.evaluator or f"somebody {slot.number}"
            outbox, fate = Outbox(path), slot.fate
            work(self.address, name, holder, slot.worker, outbox, fate, seed, PAUSE, score)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _complaints(self, name: str, outboxes: list[Outbox]) -> Iterator[str]:
        with open_store(self.address) as store:
            record = Record(store, name)
            kept = [
                {n: row[n] for n in ("number", "at", "kind", "content")} for row in record.events
            ]
            (self.folder / "record.json").write_text(json.dumps(kept))
            campaign = eh.Campaign.open(store, name)
            now = campaign.answer()
        yield from record.complaints()
        self.evaluations += record.row["counted"]
        self.late += len(record.evaluations) - record.row["counted"]
        if record.row["status"] != "finished":
            yield f"it is {record.row['status']}"
        waiting = [row["number"] for row in record.tickets if row["state"] in ("open", "leased")]
        if waiting:
            yield f"tickets {waiting} still wait"
        by_key = {row["key"]: row for row in record.evaluations}
        if len(by_key) < len(record.evaluations):
            yield "an evaluation is there twice, under two names"
        token = {row["number"]: row["token"] for row in record.tickets}
        for outbox in outboxes:
            for receipt in outbox.receipts():
                row = by_key.get(receipt["key"])
                if row is None:
                    yield f"lost: {receipt}"
                    continue
                id = f"{row['ticket']}-{token[row['ticket']]}"
                said = id, row["number"], row["score"], row["standing"] == "counted"
                if said != tuple(receipt[n] for n in ("ticket", "evaluation", "score", "counted")):
                    yield f"acknowledged {receipt}, but there is {row}"
        (decided,) = record.of("decided")
        for how, answer in (
            ("the answer now", now),
            ("the same evaluations, told without faults", untroubled(record, self.folder)),
        ):
            told = answer.to_dict()
            for part in ("option", "sure", "scores", "loses_at_most"):
                yield from differences(decided["answer"][part], told[part], f"{how}: {part}")
            for part in ("ranking", "biases"):
                kept, full = (map(unworded, one[part]) for one in (decided["answer"], told))
                yield from differences([*kept], [*full], f"{how}: {part}")


def unworded(row: dict[str, Any]) -> dict[str, Any]:
    """Return what of a row of an answer is no word of ours, as the record has it."""
    return {name: part for name, part in row.items() if name not in ("verdict", "name")}


def differences(one: Any, other: Any, where: str) -> Iterator[str]:
    """Return where two values differ by more than rounding, and how."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for n, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{where}, {n}")
    elif isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from differences(one[name], other[name], f"{where}, {name}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{where} was {one!r}, is {other!r}"
    elif one != other:
        yield f"{where} was {one!r}, is {other!r}"


@dataclass
class Slot:
    """A place in the crew; who fills it next has the same name or another."""

    number: int
    evaluator: str | None
    life: int = 0
    fate: Fate = None  # type: ignore[assignment] # told before it starts

    @property
    def worker(self) -> str:
        return f"worker {self.number}.{self.life}"

    def outbox(self, folder: Path, name: str) -> Path:
        return folder / f"{name} {self.worker}.jsonl"


def untroubled(record: Record, folder: Path) -> eh.Answer:
    """Have one client tell the same evaluations in a campaign of its own; return its answer.

    What to ask is what was asked, so that the evaluations are the same.
    """
    path = folder / "untroubled.db"
    with open_store(path) as store:

        def begin(session: Session) -> int:
            page = Page(session, ledger.new(session, "again"))
            page.catch_up(None)
            page.append("created", record.of("created")[0])
            page.close()
            return page.id

        store.write(begin)
        campaign = eh.Campaign.open(store, "again")
        tokens: dict[int, str] = {}
        for row in record.events:
            content = row["content"]
            if row["kind"] in ("planned", "proposed") or content.get("given_up"):
                campaign._follower.write(partial(_appended, row["kind"], content))
            if row["kind"] == "proposed":
                tokens |= {number: token for number, token, *_ in content["tickets"]}
            elif row["kind"] == "told":
                for _, ticket, _, said, _, key in content["evaluations"]:
                    campaign.tell(f"{ticket}-{tokens[ticket]}", said, key=key)
        answer = campaign.answer()
    for leftover in folder.glob("untroubled.db*"):
        leftover.unlink()
    return answer


def _appended(kind: Any, content: Any, page: Page) -> None:
    page.append(kind, content)


class Server:
    """A PostgreSQL server that is killed, in part or whole."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def address(self) -> str:
        return str(self._server.get_uri())

    def kill_backend(self, rng: random.Random) -> int:
        """Kill the process of somebody's connection; the server then restarts by itself."""
        try:
            with psycopg.connect(self.address, autocommit=True) as connection:
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                    "AND pid <> pg_backend_pid()"
                ).fetchall()
        except psycopg.OperationalError:  # it is coming back from the last time
            return 0
        if not rows:
            return 0
        with suppress(ProcessLookupError):
            os.kill(rng.choice(rows)[0], signal.SIGKILL)
            return 1
        return 0

    def kill(self) -> int:
        """Kill the server, and start it again."""
        process = self._server.get_postmaster_info().process
        process.kill()
        process.wait(60)
        revive(self._server)
        return 1


@contextmanager
def sqlite_victim(folder: Path) -> Iterator[tuple[str, None]]:
    yield str(folder / "torture.db"), None


@contextmanager
def postgres_victim(folder: Path) -> Iterator[tuple[str, Server]]:
    with own_server() as server:
        yield server.get_uri(), Server(server)


VICTIMS: dict[str, Callable[[Path], Any]] = {"sqlite": sqlite_victim, "postgres": postgres_victim}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500, help="on each store")
    parser.add_argument("--seed", type=int, default=None, help="a fresh one if not given")
    parser.add_argument("--store", choices=sorted(VICTIMS), action="append")
    asked = parser.parse_args(argv)
    seed = random.SystemRandom().getrandbits(32) if asked.seed is None else asked.seed
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # of connections that are lost, it warns
    wrong: list[str] = []
    for kind in asked.store or sorted(VICTIMS):
        print(f"{kind}, seed {seed}", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="evenhand-torture-"))
        began = time.monotonic()
        with VICTIMS[kind](folder) as (address, server):
            torture = Torture(address, folder, seed, server)
            torture.run(asked.kills)
        for place, n in sorted(torture.kills.items()):
            print(f"  {n:5d} killed: {place}")
        print(f"  {torture.kills.total():5d} killed in all")
        print(
            f"  {torture.evaluations} evaluations counted, {torture.late} late, "
            f"in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        wrong += torture.wrong
        if torture.wrong:
            print(*torture.wrong, f"what is left is in {folder}", sep="\n  ! ", flush=True)
        else:
            shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
