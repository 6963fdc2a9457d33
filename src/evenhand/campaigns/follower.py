"""A campaign as one process has it: its row in the store, and a replica that follows the log.

A process starts from the newest snapshot that can be used and folds in the events after it. A
snapshot is a cache, never the truth. One is written after so many events, with a proposal.
"""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from evenhand.answers.question import Question, ReplyScale
from evenhand.campaigns import ledger
from evenhand.campaigns.events import Event
from evenhand.campaigns.ledger import Page, TicketRow
from evenhand.campaigns.replica import Replica
from evenhand.campaigns.stores import Session, Store
from evenhand.campaigns.tickets import Ticket
from evenhand.errors import InputError, StoreError
from evenhand.tables.texts import listed

_PIECE = 4096  # events that are read at once
_EVERY = 1000  # events between two snapshots
_KEPT = 3  # snapshots that are kept, in case the newest cannot be used
_LOST = 5  # expired leases of a ticket, at least, before it is given up

T = TypeVar("T")


class Follower:
    """A campaign in a store, with a replica that follows its log."""

    # `lock` is held while the replica is used, `preparing` while a proposal is worked out and
    # written.

    def __init__(self, store: Store, id: int, name: str) -> None:
        self.store, self.id, self.name = store, id, name
        self.lock, self.preparing = threading.RLock(), threading.Lock()
        self._replica: Replica | None = None
        self._kept = 0  # the last event of the newest snapshot
        _FOLLOWERS.add(self)

    def write(self, work: Callable[[Page], T]) -> T:
        """Return what comes of work on the campaign's row, in one transaction with its events."""

        def transaction(session: Session) -> T:
            page = Page(session, self.id)
            result = work(page)
            page.close()
            return result

        return self.store.write(transaction)

    def read(self, look: Callable[[Page], T]) -> T:
        """Return what is seen of the campaign's row, without a lock."""
        return self.store.read(lambda session: look(Page(session, self.id, lock=False)))

    # ------------------------------------------------------------------ the replica

    def known(self) -> Replica:
        """Return the replica, perhaps without the newest events: enough to look a question up."""
        return self._replica or self.followed()

    def followed(self) -> Replica:
        """Return the replica with all events of the log in it."""
        with self.lock:
            try:
                replica = self._replica or self._loaded()
                while True:
                    seal, events = self.store.read(partial(self._news, replica.head))
                    if seal != replica.seal:  # a server lost in a crash what it had shown
                        replica = self._loaded()
                    elif not replica.fold(events):
                        replica = self._loaded(replica.withdrawn)
                    elif len(events) < _PIECE:
                        break
            except BaseException:
                self._replica = None  # it may have gone half-way
                raise
            self._replica = replica
            return replica

    def aside(self) -> Replica:
        """Return a copy of the replica as it is now, to look at for long while others go on."""
        with self.lock:
            return copy.deepcopy(self.followed())

    def _news(self, head: int, session: Session) -> tuple[str | None, list[Event]]:
        """Return the seal of an event, and the events after it."""
        seal = ledger.seal_of(session, self.id, head)
        return seal, ledger.events_after(session, self.id, head, _PIECE)

    def _loaded(self, withdrawn: Mapping[int, bool] | None = None) -> Replica:
        """Return the replica of the newest snapshot that can be used, or of the first event."""
        # Which evaluations are withdrawn is read from their rows first: folding them in would take
        # another fold when their withdrawal comes.
        rows, kept = self.store.read(
            lambda s: (ledger.withdrawn(s, self.id), ledger.snapshots(s, self.id))
        )
        withdrawn = rows | dict(withdrawn or {})
        for self._kept, body in kept:
            replica = self._revived(self._kept, body, withdrawn)
            if replica is not None:
                return replica
        self._kept = 0
        replica = Replica(withdrawn)
        first = self.store.read(lambda s: ledger.events_after(s, self.id, 0, 1))
        replica.fold(first)
        return replica

    def _revived(self, event: int, body: bytes, withdrawn: Mapping[int, bool]) -> Replica | None:
        """Return the replica of a snapshot; None if it is not what the log says now."""
        seal = self.store.read(lambda s: ledger.seal_of(s, self.id, event))
        try:
            replica = Replica.from_snapshot(body)
        except Exception:  # whatever is wrong with it: the log is the truth
            return None
        known, now = (
            {number: blind for number, blind in known.items() if number <= replica.evaluations}
            for known in (replica.withdrawn, withdrawn)
        )
        if (replica.head, replica.seal) != (event, seal) or known != now:
            return None
        replica.withdrawn |= withdrawn
        return replica

    # ------------------------------------------------------------------ snapshots

    def due_snapshot(self) -> Callable[[Session], None] | None:
        """If a snapshot is due, return what writes it in a session, else None; hold ``lock``."""
        replica = self._replica
        if replica is None or replica.head - self._kept < _EVERY:
            return None
        self._kept = head = replica.head
        try:
            body = replica.snapshot()
        except Exception:  # a policy that cannot say its state now: there is the log
            return None
        return lambda s: ledger.keep_snapshot(s, self.id, head, body, _KEPT)

    # ------------------------------------------------------------------ tickets

    @property
    def reading(self) -> ReplyScale:
        """Which scores are possible."""
        return self.known().reading

    @property
    def tries(self) -> int:
        """How often a ticket may fail, or its lease expire, before it is given up."""
        return max(_LOST, 1 + int(self.known().settings["retries"]))

    def evaluator(self, name: object) -> str:
        """Return the name of an evaluator, or say who there is."""
        if name not in self.known().questions.evaluators:  # perhaps one who was added meanwhile
            names = self.followed().questions.evaluators
            if name not in names:
                there = (
                    f"there are {listed(list(names))}" if names else "its questions are anybody's"
                )
                raise InputError(
                    f"there is no evaluator {name!r} in campaign {self.name!r}; {there}."
                )
        return str(name)

    def question(self, row: TicketRow) -> Question:
        """Return what a ticket asks."""
        replica = self.known()
        if not replica.knows(row.question):
            replica = self.followed()
        if not replica.knows(row.question):
            raise StoreError(f"ticket {row.number} asks a question that there is not; verify.")
        return replica.question(row.question, row.number, row.turn)

    def ticket(self, row: TicketRow) -> Ticket:
        """Return a ticket as its holder gets it."""
        question = self.question(row)
        display, order = self.known().display, self.known().settings["shown"]
        return Ticket(
            row.id,
            question,
            row.holder,
            row.worker,
            row.attempt,
            row.until,
            tuple(_arranged(display.get(label, {}), order) for label in question.labels),
        )

    def _after_fork(self) -> None:
        """Begin anew in a child, if a thread of the parent was at work on the replica."""
        self.preparing = threading.Lock()
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self.lock, self._replica = threading.RLock(), None


_FOLLOWERS: weakref.WeakSet[Follower] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for follower in list(_FOLLOWERS):
        follower._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _arranged(columns: Mapping[str, str], order: Sequence[str]) -> dict[str, str]:
    """Return columns in the order in which they were declared; the log has them by name."""
    places = {name: place for place, name in enumerate(order)}
    return {c: columns[c] for c in sorted(columns, key=lambda c: places.get(c, len(places)))}
