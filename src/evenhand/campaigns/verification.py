"""Verification: is the record whole, do the tables follow from it, and the decision from both?

- Every event must have the seal that follows from the one before it; the campaign's row must end
  with the last.
- Tickets and evaluations in their tables must be what the events say.
- Estimates, intervals, alarms and the decision are derived again from the evaluations (`proof`), by
  code that shares nothing with what decided.

Who writes a whole new chain can be found out only by a seal that somebody has written down: give it
as ``seal``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from evenhand.campaigns import ledger
from evenhand.campaigns.events import START, TURNS, Event, events_in, seal
from evenhand.campaigns.following import Follower
from evenhand.campaigns.ledger import EvaluationRow, Page
from evenhand.campaigns.proof import Examination, examine
from evenhand.campaigns.stores.session import Session, Statement
from evenhand.campaigns.stores.tables import ticket
from evenhand.errors import InputError

_MOST = 20  # of what is wrong that is named
_PIECE = 4096  # rows that are read at once

# kinds of events that change tickets or evaluations for good
_CHANGING = frozenset(
    (
        "created",
        "proposed",
        "told",
        "late",
        "imported",
        "withdrawn",
        "failed",
        "left",
        "extended",
        "decided",
    )
)
_TICKET = ("number", "token", "question", "turn", "evaluator", "state")
_TICKETS = Statement(
    select(*(ticket.c[name] for name in _TICKET))
    .where(ticket.c.campaign == bindparam("id"))
    .order_by(ticket.c.number)
)


@dataclass(frozen=True)
class RecordVerification:
    """What came of verifying a record. It is false if something is wrong.

    Parameters
    ----------
    wrong
        What is wrong, in words; empty if nothing is.
    events, seal
        How many events there are, and the seal of the last.
    evaluations
        How many evaluations were read, and count.
    decided
        Whether there was a decision to derive again.
    derived, taken, close
        What was derived again from the evaluations, what was taken from the record, and what is too
        close to a bound to be held against it.

    Examples
    --------
    >>> import tempfile
    >>> import evenhand as eh
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
    ...     campaign = eh.Campaign.create(folder + "/prize.db", "prize", panel)
    ...     receipt = campaign.tell(campaign.ask("P"), 7.5)
    ...     found = campaign.verify()
    ...     campaign.close()
    >>> bool(found), found.evaluations, found.decided
    (True, 1, False)
    """

    wrong: tuple[str, ...]
    events: int
    seal: str
    evaluations: int
    decided: bool
    derived: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    close: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.wrong:
            lines = "".join(f"\n  - {text}" for text in self.wrong)
            return f"The record does not verify:{lines}"
        follows = "the decision follows from it" if self.decided else "nothing was decided yet"
        said = [
            f"The record is whole, and {follows}: {self.events:,} events, {self.evaluations:,} "
            "evaluations that count."
        ]
        said += [f"Derived again: {', '.join(self.derived)}."] if self.derived else []
        said += [f"Taken from the record: {'; '.join(self.taken)}."] if self.taken else []
        said += [f"Too close to tell: {'; '.join(self.close)}."] if self.close else []
        return "\n".join([*said, f"Seal of the last event: {self.seal}"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value, fit for JSON."""
        return {"verified": not self.wrong} | {
            name: list(part) if isinstance(part, tuple) else part
            for name, part in vars(self).items()
        }


def verify(follower: Follower, known: str | None = None) -> RecordVerification:
    """Return whether the record of a campaign is whole; see `Campaign.verify`."""

    def look(session: Session) -> tuple[list[Event], list[str]]:
        page = Page(session, follower.id, lock=False)
        events = list(_events(session, follower.id))
        last = events[-1].hash if events else START
        wrong = []
        if (len(events), last) != (page.head, page.hash):
            wrong.append(
                f"the campaign's row says {page.head:,} events, the last sealed {page.hash.hex()}; "
                f"there are {len(events):,}, the last sealed {last.hex()}"
            )
        wrong += [*_name(page, events), *_tables(session, page, events)]
        return events, wrong

    events, wrong = follower.store.read(look)
    return _verified(events, wrong, known)


def verify_file(path: str | os.PathLike[str], known: str | None = None) -> RecordVerification:
    """Return whether a record that was exported is whole, without any store.

    Parameters
    ----------
    path
        The file that `Campaign.export` wrote, events as lines of JSON.
    known
        A seal that was written down.
    """
    return _verified(list(events_in(path)), [], known)


def _verified(events: Sequence[Event], wrong: list[str], known: str | None) -> RecordVerification:
    wrong = [*_chain(events), *wrong]
    if known is not None and known.strip().lower() not in {event.hash.hex() for event in events}:
        wrong.append(f"no event has the seal {known.strip()!r}: the record is another one")
    found = _examined(events, wrong)
    if found is not None:
        wrong += found.wrong
    return RecordVerification(
        tuple(wrong[:_MOST]),
        len(events),
        events[-1].hash.hex() if events else "",
        0 if found is None else int((found.record.withdrawn < 0).sum()),
        found is not None and found.decided,
        () if found is None else found.derived,
        () if found is None else found.taken,
        () if found is None else found.close,
    )


def _examined(events: Sequence[Event], wrong: list[str]) -> Examination | None:
    """Return what follows from the evaluations; what cannot be read is wrong."""
    try:
        return examine((event.kind, event.content) for event in events)
    except InputError as error:
        wrong.append(str(error).rstrip("."))
    except Exception as error:  # whatever somebody wrote into it must not stop the verdict
        wrong.append(f"the record cannot be followed: {type(error).__name__}, {error}")
    return None


def _chain(events: Sequence[Event]) -> list[str]:
    """Return what is wrong with numbers and seals."""
    wrong, before = [], START
    for place, event in enumerate(events, start=1):
        if event.number != place:
            wrong.append(f"event {place} is missing; event {event.number} stands in its place")
            break
        if seal(before, event) != event.hash:
            wrong.append(f"event {event.number} ({event.kind}) or its seal was changed")
            break  # nothing after it can be told
        before = event.hash
    if not events:
        wrong.append("there are no events")
    elif events[0].kind != "created":
        wrong.append("the first event does not create the campaign")
    return wrong


def _name(page: Page, events: Sequence[Event]) -> list[str]:
    """Return what is wrong with the name under which a campaign is kept."""
    try:
        name = events[0].content["name"] if events else page.name
    except (InputError, KeyError):
        return []  # it is said what is wrong with that event
    return [f"the record is of {name!r}, and kept as {page.name!r}"] if name != page.name else []


def _events(session: Session, id: int) -> Iterator[Event]:
    after = 0
    while piece := ledger.events_after(session, id, after, _PIECE):
        yield from piece
        after = piece[-1].number


_BECOMES = {"paused": "paused", "resumed": "running", "decided": "finished"}
_REOPENS = ("extended", "withdrawn", "joined")


def _tables(session: Session, page: Page, events: Sequence[Event]) -> list[str]:
    """Return where the tables of tickets and evaluations are not what the events say."""
    told, tickets = _Told(), session.rows(_TICKETS, id=page.id)
    try:
        for event in events:
            told.read(event)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return [f"the events cannot be followed: {type(error).__name__}, {error}"]
    rows = {row.number: row for row in _evaluations(session, page.id)}
    wrong = _differences("evaluation", told.evaluations, {n: _plain(r) for n, r in rows.items()})
    kept = {int(n): (key, int(q), int(t), who, _waits(s)) for n, key, q, t, who, s in tickets}
    wrong += _differences("ticket", told.tickets, kept)
    counted = sum(row.standing == "counted" for row in rows.values())
    counts = (len(told.tickets), len(told.evaluations), counted)
    if (page.tickets, page.evaluations, page.counted) != counts:
        wrong.append("the campaign's row counts other tickets or evaluations than there are")
    if page.version != sum(event.kind in TURNS for event in events):
        wrong.append("the campaign's row counts other changes than there are")
    if page.status != told.status:
        wrong.append(f"the campaign's row says {page.status!r}, the events {told.status!r}")
    return wrong


def _differences(what: str, said: dict[int, Any], kept: dict[int, Any]) -> list[str]:
    return [
        f"{what} {number} is not what the events say"
        if number in said and number in kept
        else f"{what} {number} is in the {'events' if number in said else 'table'} alone"
        for number in sorted(said.keys() | kept.keys())
        if said.get(number) != kept.get(number)
    ][:_MOST]


def _evaluations(session: Session, id: int) -> Iterable[EvaluationRow]:
    after = 0
    while piece := ledger.evaluations_after(session, id, after, _PIECE):
        yield from piece
        after = piece[-1].number


def _plain(row: EvaluationRow) -> tuple[Any, ...]:
    return row.event, row.ticket, row.question, row.score, row.evaluator, row.key, row.standing


def _waits(state: str) -> str:
    """Return a state; whether a ticket that waits is somebody's at the moment is not looked at."""
    return "waits" if state in ("open", "leased") else state


class _Told:
    """What the events say of tickets and evaluations.

    Attributes
    ----------
    status
        "running", "paused" or "finished".
    tickets
        Token, question, turn, whom it is for and state, by number.
    evaluations
        Event, ticket, question, score, evaluator, key and standing, by number.
    """

    def __init__(self) -> None:
        self.status = "running"
        self.tickets: dict[int, tuple[str, int, int, str, str]] = {}
        self.evaluations: dict[int, tuple[Any, ...]] = {}
        self._waiting: set[int] = set()
        self._whose: dict[int, str] = {}  # evaluators, by the numbers of their questions

    def read(self, event: Event) -> None:
        """Take in an event."""
        kind = event.kind
        if kind in _BECOMES:
            self.status = _BECOMES[kind]
        elif kind in _REOPENS and self.status == "finished":
            self.status = "running"
        if kind not in _CHANGING:
            return
        content = event.content
        if kind == "created":
            placed, named = (content["policy"]["arguments"][name] for name in ("placed", "named"))
            self._ask(placed[0] if placed else named["actions"])
        elif kind == "extended" and content["questions"] is not None:
            self._ask(content["questions"], content["numbers"])
        elif kind == "proposed":
            for number, token, question, turn in content["tickets"]:
                whose = self._whose.get(question, "")
                self.tickets[number] = token, question, turn, whose, "waits"
                self._waiting.add(number)
        elif kind in ("told", "late", "imported"):
            standing = "late" if kind == "late" else "counted"
            for number, of, *rest in content["evaluations"]:
                self.evaluations[number] = (event.number, of, *rest, standing)
                if kind == "told":
                    self._settle(of, "done")
        elif kind == "withdrawn":
            number = content["evaluation"]
            self.evaluations[number] = (*self.evaluations[number][:-1], "withdrawn")
            if content["ticket"] is not None:
                self._settle(content["ticket"], "waits" if content["reopened"] else "void")
        elif kind == "failed" and content["given_up"]:
            self._settle(content["ticket"], "failed")
        elif kind == "left":
            for number in content["tickets"]:
                self._settle(number, "void")
        elif kind == "decided":
            for number in list(self._waiting):
                self._settle(number, "void")

    def _ask(self, given: Mapping[str, Any], numbers: Sequence[int] | None = None) -> None:
        """Take note of who is to answer what."""
        questions = given.get("questions")
        if questions is not None:
            names, whose = questions["evaluators"], questions["evaluator"]
            by_number = zip(range(len(whose)) if numbers is None else numbers, whose, strict=True)
            self._whose = {number: names[who] for number, who in by_number if who >= 0}

    def _settle(self, number: int, state: str) -> None:
        self.tickets[number] = (*self.tickets[number][:-1], state)
        if state == "waits":
            self._waiting.add(number)
        else:
            self._waiting.discard(number)
