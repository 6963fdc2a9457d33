"""The record in files that others can read: evaluations as a table, events as lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evenhand.answers.question import compares
from evenhand.campaigns import ledger
from evenhand.campaigns.events import as_line, evaluations_in
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.log import Log, events_of
from evenhand.campaigns.stores import Session
from evenhand.campaigns.tell import row_of
from evenhand.campaigns.tickets import parsed
from evenhand.errors import InputError
from evenhand.files import make_folder, write_atomically
from evenhand.tables.written import write_csv

EVALUATIONS, EVENTS = "evaluations.csv", "events.jsonl"
"""What files of a whole export are called."""


def export(follower: Follower, path: str | os.PathLike[str]) -> list[Path]:
    """Write the record to files; see `Campaign.export`."""
    to = Path(path)
    if to.suffix.lower() == ".csv":
        _write_evaluations(follower, to)
        return [to]
    if to.suffix.lower() in (".jsonl", ".ndjson"):
        _write_events(follower, to)
        return [to]
    if to.suffix and not to.is_dir():
        raise InputError(
            f"export writes a folder, evaluations to FILE.csv or events to FILE.jsonl; got "
            f"{str(path)!r}."
        )
    make_folder(to)
    _write_evaluations(follower, to / EVALUATIONS)
    _write_events(follower, to / EVENTS)
    return [to / EVALUATIONS, to / EVENTS]


def _write_events(follower: Follower, path: Path) -> None:
    with write_atomically(path, "the record") as draft, draft.open("w", encoding="utf-8") as file:
        for event in events_of(follower):
            file.write(as_line(event) + "\n")


def _write_evaluations(follower: Follower, path: Path) -> None:
    replica, log = follower.followed(), Log.of(follower)
    costly = any(said.cost is not None for _, said in log.said.values())
    low = ["low"] * (replica.settings["best"] == "low")  # for who reads the table
    about = ["first", "second"] if compares(replica.questions) else ["option"]

    def rows() -> Iterator[list[object]]:
        for number, (came, said) in log.said.items():
            labels = replica.question(said.question).labels
            at = datetime.fromtimestamp(came, UTC).isoformat(timespec="milliseconds")
            padding = [""] * (len(about) - len(labels))
            standing = log.evaluations[number].standing
            row = [said.evaluator, said.score, standing, at, said.key, said.note]
            ticket = None if said.ticket is None else log.tickets[said.ticket].id
            yield [number, ticket, *labels, *padding, *row, *([said.cost] * costly), *low]

    header = ["evaluation", "ticket", *about]
    header += ["evaluator", "score", "standing", "at", "key", "note"]
    header += ["cost"] * costly + ["best"] * len(low)
    write_csv(path, header, rows(), "the evaluations")


@dataclass(frozen=True)
class Given:
    """A score as it was given: of what, by whom, when, how it stands, and what was said beside."""

    number: int
    labels: tuple[str, ...]
    evaluator: str
    score: str
    at: float
    standing: str
    note: str


def given_scores(follower: Follower, before: int, most: int) -> tuple[list[Given], bool]:
    """Return the newest scores with a lower number, and whether there are more."""
    rows, events = follower.store.read(
        lambda session: ledger.evaluations_before(session, follower.id, before, most + 1)
    )
    replica, found = follower.followed(), list[Given]()
    notes = {
        (event.number, one.number): one.note
        for event in events.values()
        for one in evaluations_in(event.content)
    }
    for row in rows[:most]:
        labels = replica.question(row.question).labels
        score = follower.reading.word(row.score)
        note = notes.get((row.event, row.number), "")
        at = events[row.event].at
        found.append(Given(row.number, labels, row.evaluator, score, at, row.standing, note))
    return found, len(rows) > most


def evaluation_of(follower: Follower, said: str) -> int:
    """Return the number of an evaluation that somebody names by it, or by its ticket."""
    # Of a ticket, that is the score that counts; if none does, the one that was withdrawn last.
    if said.strip().isdecimal():
        return int(said)
    number, _ = parsed(said)

    def look(session: Session) -> int:
        row_of(Page(session, follower.id, lock=False), said)
        found = ledger.evaluation_of_ticket(session, follower.id, number)
        if found is None:
            raise InputError(f"there is no score for ticket {said} that counts.")
        return found.number

    return follower.store.read(look)
