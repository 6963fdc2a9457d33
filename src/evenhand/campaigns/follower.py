"""A campaign as one process has it: its state, folded once, and what its policy makes of that."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from evenhand.answers.question import ReplyScale
from evenhand.campaigns.course import Course
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.state import State, TicketState
from evenhand.campaigns.stores import Session, Store
from evenhand.campaigns.tickets import Ticket
from evenhand.errors import InputError
from evenhand.tables.texts import listed

_LOST = 5  # expired leases of a ticket, at least, before it is given up

T = TypeVar("T")


class Follower:
    """A campaign in a store, with a state that follows its log."""

    # `_lock` is held while the state changes, until what changed it is committed: who holds it
    # writes nothing else. `preparing` is held while a proposal is worked out and written,
    # `_planning` while the policy is used.

    def __init__(self, store: Store, id: int, name: str) -> None:
        self.store, self.id, self.name = store, id, name
        self._begin_anew()
        _FOLLOWERS.add(self)

    def _begin_anew(self) -> None:
        self._lock, self._planning = threading.RLock(), threading.RLock()
        self.preparing = threading.Lock()
        self._state: State | None = None
        self._course = Course()

    def write(self, work: Callable[[Page], T]) -> T:
        """Return what comes of work on the campaign, in one transaction with its events."""

        def transaction(session: Session) -> tuple[Any, Exception | None]:
            self._lock.acquire()
            session.at_end.append(self._ended)
            page = self._page(session, lock=True)
            try:
                result = work(page)
            except self.store.errors:
                raise
            except Exception as error:
                if page.added:
                    raise
                return None, error  # what others write in the same transaction stands
            page.close()
            return result, None

        result, error = self.store.write(transaction)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return] # of the work

    def read(self, look: Callable[[Page], T]) -> T:
        """Return what is seen of the campaign, as it is now; nothing may be written meanwhile."""
        with self._lock:
            return self.store.read(lambda session: look(self._page(session, lock=False)))

    def _page(self, session: Session, *, lock: bool) -> Page:
        page = Page(session, self.id, lock=lock)
        state, self._state = self._state, None  # a fold may go half-way
        self._state = page.catch_up(state)
        return page

    def _ended(self, kept: bool) -> None:
        """Take note that a transaction has ended, and whether what it wrote is there."""
        if not kept:
            self._state = None
        self._lock.release()

    def known(self) -> State:
        """Return the state, perhaps without the newest events: enough to look a question up."""
        return self._state or self.state()

    def state(self) -> State:
        """Return a view of the state with all events of the log."""
        return self.read(lambda page: page.state.view())

    @contextmanager
    def course(self, *, now: bool = True) -> Iterator[Course]:
        """Lend what the policy makes of all events, or of those seen last unless it must be now."""
        with self._planning:
            if now or not self._course.begun:
                course, self._course = self._course, Course()
                self._course = course.follow(self.state())
            yield self._course

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
            names = self.state().questions.evaluators
            if name not in names:
                there = (
                    f"there are {listed(list(names))}" if names else "its questions are anybody's"
                )
                raise InputError(
                    f"there is no evaluator {name!r} in campaign {self.name!r}; {there}."
                )
        return str(name)

    def ticket(self, row: TicketState) -> Ticket:
        """Return a ticket as its holder gets it."""
        state = self.known()
        question = state.asked(row)
        display, order = state.display, state.settings["shown"]
        return Ticket(
            row.id,
            question,
            row.holder,
            row.worker,
            row.attempt,
            row.until,
            tuple(_arranged(display.get(label, {}), order) for label in question.labels),
        )


_FOLLOWERS: weakref.WeakSet[Follower] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for follower in list(_FOLLOWERS):
        follower._begin_anew()  # a thread of the parent may have been at work


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _arranged(columns: Mapping[str, str], order: Sequence[str]) -> dict[str, str]:
    """Return columns in the order in which they were declared; the log has them by name."""
    places = {name: place for place, name in enumerate(order)}
    return {c: columns[c] for c in sorted(columns, key=lambda c: places.get(c, len(places)))}
