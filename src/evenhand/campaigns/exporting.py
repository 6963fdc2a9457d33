"""The record in files that others can read: evaluations as a table, events as lines of JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from evenhand.answers.scores import compares
from evenhand.campaigns import ledger
from evenhand.campaigns.events import Event, as_line, evaluations_in
from evenhand.campaigns.following import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.telling import own
from evenhand.campaigns.tickets import identifier, parsed
from evenhand.errors import InputError
from evenhand.files import write_atomically
from evenhand.tables.written import write_csv

EVALUATIONS, EVENTS = "evaluations.csv", "events.jsonl"
"""What files of a whole export are called."""

_PIECE = 4096  # events that are read at once
_STANDING = -4  # where it is in a row of the table


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
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {str(path)!r} cannot be made: {error.strerror or error}."
        ) from error
    _write_evaluations(follower, to / EVALUATIONS)
    _write_events(follower, to / EVENTS)
    return [to / EVALUATIONS, to / EVENTS]


def events_of(follower: Follower) -> Iterator[Event]:
    """Give all events of a campaign, a piece at a time."""
    after = 0
    while True:
        piece = partial(ledger.events_after, id=follower.id, after=after, most=_PIECE)
        events = follower.store.read(piece)
        yield from events
        if len(events) < _PIECE:
            return
        after = events[-1].number


def _write_events(follower: Follower, path: Path) -> None:
    with write_atomically(path, "the record") as draft, draft.open("w", encoding="utf-8") as file:
        for event in events_of(follower):
            file.write(as_line(event) + "\n")


def _write_evaluations(follower: Follower, path: Path) -> None:
    comparing = compares(follower.followed().questions)
    header = ["evaluation", "ticket", *(["first", "second"] if comparing else ["option"])]
    header += ["evaluator", "score", "standing", "at", "key", "note"]
    write_csv(path, header, _rows(follower, comparing), "the evaluations")


def _rows(follower: Follower, comparing: bool) -> Iterable[list[object]]:
    """Return a row for every evaluation that the log tells of, in its order."""
    replica, reading = follower.followed(), follower.reading
    tokens: dict[int, str] = {}
    about: dict[int, list[str]] = {}
    rows: dict[int, list[object]] = {}
    width = 2 if comparing else 1
    for event in events_of(follower):
        content = event.content
        if event.kind == "proposed":
            tokens.update((number, token) for number, token, *_ in content["tickets"])
        elif event.kind in ("told", "late", "imported"):
            at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
            for one in evaluations_in(content):
                if one.question not in about:
                    labels = replica.question(one.question).labels
                    about[one.question] = [*labels, *[""] * (width - len(labels))]
                rows[one.number] = [
                    one.number,
                    None if one.ticket is None else identifier(one.ticket, tokens[one.ticket]),
                    *about[one.question],
                    one.evaluator,
                    reading.reply(one.score),
                    "late" if event.kind == "late" else "counted",
                    at,
                    one.key,
                    one.note,
                ]
        elif event.kind == "withdrawn":
            rows[content["evaluation"]][_STANDING] = "withdrawn"
    return rows.values()


def evaluation_of(follower: Follower, said: str) -> int:
    """Return the number of an evaluation that somebody names by it, or by its ticket.

    Of a ticket, that is the score that counts; if none does, the one that was withdrawn last.
    """
    if said.strip().isdecimal():
        return int(said)
    number, token = parsed(said)

    def look(session: Session) -> int:
        own(Page(session, follower.id, lock=False), number, token, said, follower.name)
        found = ledger.evaluation_of_ticket(session, follower.id, number)
        if found is None:
            raise InputError(f"there is no score for ticket {said} that counts.")
        return found.number

    return follower.store.read(look)
