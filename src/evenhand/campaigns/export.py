"""The record in files that others can read: evaluations as a table, events as lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evenhand.answers.question import compares
from evenhand.campaigns.events import as_line
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page, all_events
from evenhand.campaigns.tell import row_of
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
        for event in all_events(follower.store, follower.id):
            file.write(as_line(event) + "\n")


def _write_evaluations(follower: Follower, path: Path) -> None:
    state = follower.state()
    given = list(state.evaluations.values())
    costly = any(one.said.cost is not None for one in given)
    low = ["low"] * (state.settings["best"] == "low")  # for who reads the table
    about = ["first", "second"] if compares(state.questions) else ["option"]

    def rows() -> Iterator[list[object]]:
        for said, standing, _, came in given:
            labels = state.question(said.question).labels
            at = datetime.fromtimestamp(came, UTC).isoformat(timespec="milliseconds")
            padding = [""] * (len(about) - len(labels))
            row = [said.evaluator, said.score, standing, at, said.key, said.note]
            ticket = None if said.ticket is None else state.tickets[said.ticket].id
            yield [said.number, ticket, *labels, *padding, *row, *([said.cost] * costly), *low]

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
    state = follower.state()
    newest = min(before - 1, len(state.evaluations))
    found = []
    for number in range(newest, max(newest - most, 0), -1):
        said, standing, _, at = state.evaluations[number]
        labels, score = state.question(said.question).labels, state.reading.word(said.score)
        found.append(Given(number, labels, said.evaluator, score, at, standing, said.note))
    return found, newest > most


def evaluation_of(follower: Follower, said: str) -> int:
    """Return the number of an evaluation that somebody names by it, or by its ticket."""
    # Of a ticket, that is the score that counts; if none does, the one that was withdrawn last.
    if said.strip().isdecimal():
        return int(said)

    def look(page: Page) -> int:
        number = page.state.answers.get(row_of(page, said).number)
        if number is None:
            raise InputError(f"there is no score for ticket {said} that counts.")
        return number

    return follower.read(look)
