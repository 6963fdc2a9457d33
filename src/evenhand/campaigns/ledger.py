"""The ledger: a campaign's row in a store and its events, in one transaction.

A `Page` is a campaign as it is in a transaction: its state, with all events of the log and those
that this transaction adds. Writers of a campaign take turns, so what they see is what there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from evenhand.campaigns.events import START, Event, Kind, read, sealed
from evenhand.campaigns.state import State, TicketState
from evenhand.campaigns.stores import Session, Store
from evenhand.errors import InputError

_PIECE = 4096  # events that are read at once
_LOOK = "SELECT name, @clock, status, head, hash, counted FROM campaign WHERE id = :id"
_NEW = """
    INSERT INTO campaign (name, status, head, hash, counted)
    VALUES (:name, 'running', 0, :hash, 0) RETURNING id
"""
_TURN = """
    UPDATE campaign SET status = :status, head = :head, hash = :hash, counted = :counted
    WHERE id = :id
"""
_EVENTS = """
    SELECT number, at, kind, body, hash FROM event
    WHERE campaign = :id AND number > :after ORDER BY number LIMIT :most
"""
_ADD = "INSERT INTO event VALUES (:id, :number, :at, :kind, :body, :hash)"


def find(session: Session, name: str) -> int | None:
    """Return the id of the campaign of that name, or None."""
    row = session.row("SELECT id FROM campaign WHERE name = :name", name=name)
    return None if row is None else int(row[0])


def names(session: Session) -> dict[str, str]:
    """Return the campaigns of a store, and their status."""
    return dict(session.rows("SELECT name, status FROM campaign ORDER BY id"))


def new(session: Session, name: str) -> int:
    """Make the row of a new campaign; return its id."""
    return int(session.row(_NEW, name=name, hash=START)[0])


def events_after(session: Session, id: int, after: int, most: int = _PIECE) -> list[Event]:
    """Return the next events after a number, so many at most."""
    return [read(*row) for row in session.rows(_EVENTS, id=id, after=after, most=most)]


def all_events(store: Store, id: int) -> Iterator[Event]:
    """Give all events of a campaign, a piece at a time."""
    after = 0
    while events := store.read(partial(events_after, id=id, after=after)):
        yield from events
        after = events[-1].number


class Page:
    """A campaign in a transaction: `now` is the time, by the database's clock."""

    def __init__(self, session: Session, id: int, *, lock: bool = True) -> None:
        row = session.row(f"{_LOOK} @for_update" if lock else _LOOK, id=id)
        if row is None:
            raise InputError("the campaign is no longer in the store.")
        self.session, self.id = session, id
        self.name, clock, self.status, self.head, self.hash, self.counted = row
        self.now, self.hash = session.time(clock), bytes(self.hash)
        self.added: list[Event] = []

    def catch_up(self, state: State | None) -> State:
        """Have the state as the log is now, beginning with one that was there."""
        self.state = state or State()
        while (self.state.head, self.state.seal) != (self.head, self.hash):
            # A server may show what it then loses in a crash: nobody was told that it is kept, but
            # somebody may have looked. So the last event that was seen is looked at again.
            seen = self.state.head
            events = events_after(self.session, self.id, max(seen - 1, 0))
            if seen and not (events and events[0].hash == self.state.seal):
                self.state = State()
                continue
            new = events[1 if seen else 0 :]
            if not new:  # the row says more; see `verify`
                break
            self.state.fold(new)
        return self.state

    def follows(self, origin: object, version: int) -> bool:
        """Tell whether the campaign is where it was when a proposal was worked out."""
        return self.state.origin is origin and self.state.version == version

    def append(self, kind: Kind, content: Mapping[str, Any]) -> int:
        """Add an event; return its number."""
        added = sealed(self.state.seal, self.state.head + 1, self.now, kind, content)
        self.added.append(added)
        self.state.fold([added])
        return added.number

    def close(self) -> None:
        """Write the events and the row."""
        if self.added:
            self.session.run_many(_ADD, [vars(one) | {"id": self.id} for one in self.added])
            now = self.state
            row = {"status": now.status, "head": now.head, "hash": now.seal, "counted": now.counted}
            self.session.run(_TURN, id=self.id, **row)

    def ticket(self, number: int) -> TicketState | None:
        """Return a ticket by its number."""
        return self.state.tickets.get(number)
