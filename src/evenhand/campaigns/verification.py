"""Verification: is the record whole, do the tables follow from it, and the decision from both?

- Every event must have the seal that follows from the one before it, be of its form, and fit those
  before it: what counts was asked for, and counts once. The campaign's row must end with the last,
  and tickets and evaluations in their tables must be what the events say.
- *Replay*: every decision must be what this evenhand says when it is told the log before it. An
  error in evenhand itself is repeated, not found.

docs/research/records.md has a table of what is found, and what is not. A whole history that was
written anew, with new seals, is found only by a seal that somebody has written down elsewhere:
give it as ``seal``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.campaigns import ledger
from evenhand.campaigns.events import START, TURNS, Event, events_in, seal
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.replica import Replica
from evenhand.campaigns.status import decision_of
from evenhand.campaigns.stores import Session
from evenhand.errors import EvenhandError
from evenhand.report.model import Report, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 20  # of what is wrong that is named
_PIECE = 4096  # rows that are read at once
_SHARE = 1e-6  # by which a number of a decision may differ when it is replayed
_ROUNDED = 1e-3  # of the largest score: sizes below that count as that
_ROW = ("event", "ticket", "question", "score", "evaluator", "key", "standing")
_BECOMES = {"paused": "paused", "resumed": "running", "decided": "finished"}
_NUMBER = re.compile(r"[-+]?\d[\d,.]*(e[-+]?\d+)?")

Content = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class RecordVerification(Result):
    """What came of verifying a record. It is false if something is wrong.

    Parameters
    ----------
    wrong
        What is wrong, in words; empty if nothing is.
    events, seal
        How many events there are, and the seal of the last.
    evaluations
        How many evaluations count.
    decided
        Whether there was a decision to replay.
    made_by
        The version of evenhand that the record was begun with; another may round, or plan and
        decide, otherwise.
    known
        Whether it was held against a seal that was written down. If not, a whole history written
        anew is not found.

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
    made_by: str = ""
    known: bool = False

    def __bool__(self) -> bool:
        return not self.wrong

    def _report(self) -> Report:
        from evenhand.campaigns.sections import verification_report  # noqa: PLC0415 # it speaks of this

        return verification_report(self)

    def _record(self) -> dict[str, Any]:
        return {"verified": not self.wrong} | vars(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.campaigns.figure import draw_verification  # noqa: PLC0415 # loads matplotlib

        return draw_verification(self, axes)


def verify(follower: Follower, known: str | None = None) -> RecordVerification:
    """Return whether the record of a campaign is whole; see `Campaign.verify`."""

    def look(session: Session) -> tuple[list[Event], Page, dict[int, Any], dict[int, Any]]:
        page = Page(session, follower.id, lock=False)
        rows = _all(ledger.evaluations_after, session, page.id)
        evaluations = {row.number: tuple(getattr(row, name) for name in _ROW) for row in rows}
        tickets = {
            row.number: (row.token, row.question, row.turn, row.evaluator, _standing(row.state))
            for row in _all(ledger.tickets_after, session, page.id)
        }
        return list(_all(ledger.events_after, session, page.id)), page, tickets, evaluations

    events, page, tickets, evaluations = follower.store.read(look)
    return _verified(
        events, known, lambda books: _tables(books, events, page, tickets, evaluations)
    )


def verify_file(path: str | os.PathLike[str], known: str | None = None) -> RecordVerification:
    """Return whether a record that was exported is whole, without any store."""
    # `known` is a seal that was written down.
    return _verified(list(events_in(path)), known, lambda books: [])


def _standing(state: str) -> str:
    return "waits" if state in ("open", "leased") else state


def _all(read: Callable[..., list[Any]], session: Session, id: int) -> Iterator[Any]:
    after = 0
    while piece := read(session, id, after, _PIECE):
        yield from piece
        after = piece[-1].number


def _verified(
    events: Sequence[Event], known: str | None, tables: Callable[[_Books], list[str]]
) -> RecordVerification:
    wrong, books = _chain(events), _Books()
    log: list[tuple[str, Content]] = []
    if known is not None and known.strip().lower() not in {event.hash.hex() for event in events}:
        wrong.append(f"no event has the seal {known.strip()!r}: the record is another one")

    def read() -> list[str]:
        for event in events:
            log.append((event.kind, event.content))
            books.read(event.number, *log[-1])
        return [*books.closed(), *tables(books)]

    wrong += _attempted(read, wrong) or []
    decisions = [i for i, (kind, _) in enumerate(log) if kind == "decided"]
    if decisions and len(log) == len(events) and log[0][0] == "created":
        wrong += _attempted(lambda: _replayed(events, log, decisions), wrong) or []
    return RecordVerification(
        tuple(wrong[:_MOST]),
        len(events),
        events[-1].hash.hex() if events else "",
        len(books.counts),
        bool(decisions),
        log[0][1].get("evenhand", "") if log else "",
        known is not None,
    )


def _attempted(work: Callable[[], T], wrong: list[str]) -> T | None:
    """Return what comes of some work; whatever somebody wrote must not stop the verdict."""
    try:
        return work()
    except EvenhandError as error:
        wrong.append(str(error).rstrip("."))
    except Exception as error:
        wrong.append(f"the record cannot be followed: {type(error).__name__}, {error}")
    return None


def _chain(events: Sequence[Event]) -> list[str]:
    """Return what is wrong with numbers and seals."""
    before = START
    for place, event in enumerate(events, start=1):
        if event.number != place:
            return [f"event {place} is missing; event {event.number} stands in its place"]
        if seal(before, event) != event.hash:  # nothing after it can be told
            return [f"event {event.number} ({event.kind}) or its seal was changed"]
        before = event.hash
    first = events[0].kind if events else ""
    return [] if first == "created" else ["the first event does not create the campaign"]


# ---------------------------------------------------------------------- replay


def _replayed(
    events: Sequence[Event], log: Sequence[tuple[str, Content]], decisions: Sequence[int]
) -> list[str]:
    """Return in what decisions are not what this evenhand says after the events before them."""
    rows = [row for kind, c in log if kind in ("told", "imported") for row in c["evaluations"]]
    least = _ROUNDED * max((abs(row[3]) for row in rows), default=0.0)
    replica, wrong = Replica(), []
    for place in decisions:
        if not replica.fold(events[replica.head : place]):  # something was withdrawn since
            replica = Replica(replica.withdrawn)
            replica.fold(events[:place])
        said, stated = dict(_leaves(decision_of(replica))), dict(_leaves(log[place][1]))
        for name in {**stated, **said}:
            if not _same(stated.get(name), said.get(name), least):
                both = f"{stated.get(name)!r:.80}, not {said.get(name)!r:.80}"
                wrong.append(f"event {place + 1}:{name} is {both}")
    return wrong


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Give the parts of a plain value, by where they are."""
    if not isinstance(value, dict | list | tuple) or not value:
        yield where, value
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value, start=1):
        yield from _leaves(part, f"{where} {name}")


def _same(stated: Any, said: Any, least: float) -> bool:
    """Tell whether parts are the same but for rounding; numbers in words are rounded."""
    if isinstance(stated, str) and isinstance(said, str):
        return _NUMBER.sub("#", stated) == _NUMBER.sub("#", said)
    if {type(stated), type(said)} in ({float}, {int, float}):
        off = abs(stated - said)
        return bool(off <= _SHARE * max(abs(stated), abs(said), least))
    return type(stated) is type(said) and bool(stated == said)


# ---------------------------------------------------------------------- events and tables


class _Books:
    """Goes through the events: tickets and evaluations as they make them, and what does not fit."""

    # `tickets` and `evaluations` are by number, as the tables have them; `counts` has the tickets
    # of the evaluations that count.

    def __init__(self) -> None:
        self.status = "running"
        self.tickets: dict[int | None, tuple[Any, ...]] = {}
        self.evaluations: dict[int, tuple[Any, ...]] = {}
        self.counts: dict[int, int | None] = {}
        self._wrong: list[str] = []
        self._keys: set[tuple[str, str]] = set()
        self._whose: dict[int, str] = {}  # evaluators, by the numbers of their questions

    def closed(self) -> list[str]:
        """Return what does not fit."""
        missing = max(self.evaluations, default=0) - len(self.evaluations)
        if missing:
            self._wrong.append(f"{missing} evaluations are missing: their numbers are skipped")
        return self._wrong[:_MOST]

    def read(self, event: int, kind: str, content: Content) -> None:
        """Take in an event."""
        said = len(self._wrong)
        reopens = kind in ("extended", "withdrawn", "joined") and self.status == "finished"
        self.status = "running" if reopens else _BECOMES.get(kind, self.status)
        match kind:
            case "created":
                arguments = content["policy"].get("arguments", {})
                placed = arguments.get("placed")
                self._ask(placed[0] if placed else arguments.get("named", {}).get("actions"))
            case "extended" if content["questions"] is not None:
                self._ask(content["questions"], content["numbers"])
            case "proposed":
                for number, token, question, turn in content["tickets"]:
                    self._expect(number not in self.tickets, f"ticket {number} is made twice")
                    whose = self._whose.get(question, "")
                    self.tickets[number] = token, question, turn, whose, "waits"
            case "told" | "late" | "imported":
                for row in content["evaluations"]:
                    self._enter(event, kind, *row)
            case "withdrawn":
                self._withdraw(**content)
            case "failed" if content["given_up"]:
                self._settle("failed", content["ticket"])
            case "left" | "declined":
                self._settle("void", *content["tickets"])
            case "decided":
                self._settle("void", *(n for n, row in self.tickets.items() if row[4] == "waits"))
                n, counted = content["evaluations"], len(self.counts)
                self._expect(n == counted, f"it is decided by {n} evaluations, but {counted} count")
        self._wrong[said:] = [f"event {event}: {text}" for text in self._wrong[said:]]

    def _expect(self, right: bool, otherwise: str) -> None:
        if not right:
            self._wrong.append(otherwise)

    def _ask(self, given: Any, numbers: Sequence[int] | None = None) -> None:
        """Take note of who is to answer what."""
        questions = given.get("questions") if isinstance(given, dict) else None
        if questions is not None:
            names, whose = questions["evaluators"], questions["evaluator"]
            by_number = zip(range(len(whose)) if numbers is None else numbers, whose, strict=True)
            self._whose = {number: names[who] for number, who in by_number if who >= 0}

    def _enter(
        self, event: int, kind: str, number: int, of: int | None, question: int, *rest: Any
    ) -> None:
        """Take in an evaluation; the rest is its score, who gave it, and the key."""
        who, key = rest[1:]
        self._expect(number not in self.evaluations, f"evaluation {number} is entered twice")
        self._expect(
            (who, key) not in self._keys, f"evaluation {number} has the key of another one"
        )
        self._keys.add((who, key))
        standing = "late" if kind == "late" else "counted"
        self.evaluations[number] = event, of, question, *rest, standing
        if kind != "imported":
            asked, said = self.tickets.get(of), f"evaluation {number} answers what ticket {of} did"
            self._expect(asked is not None and asked[1] == question, f"{said} not ask")
            waits = kind == "late" or asked is None or asked[4] == "waits"
            self._expect(waits, f"ticket {of} is answered, and waits no more")
        if kind != "late":
            self.counts[number] = of
        if kind == "told":
            self._settle("done", of)

    def _withdraw(
        self, *, evaluation: int, ticket: int | None, reason: str, blind: bool, reopened: bool
    ) -> None:
        counts = evaluation in self.counts and self.counts[evaluation] == ticket
        self._expect(counts, f"evaluation {evaluation} is withdrawn, which does not count")
        if counts:
            del self.counts[evaluation]
            standing = ledger.BLIND if blind else "withdrawn"
            self.evaluations[evaluation] = (*self.evaluations[evaluation][:-1], standing)
            self._settle("waits" if reopened else "void", ticket)

    def _settle(self, state: str, *numbers: int | None) -> None:
        for number in numbers:
            if number in self.tickets:
                self.tickets[number] = (*self.tickets[number][:-1], state)
            else:
                self._expect(number is None, f"there is no ticket {number}")


def _tables(
    books: _Books,
    events: Sequence[Event],
    page: Page,
    tickets: Mapping[int, Any],
    evaluations: Mapping[int, Any],
) -> list[str]:
    """Return where the tables of a store are not what the events say, whoever holds a lease."""
    wrong = []
    last = events[-1].hash if events else START
    if (len(events), last) != (page.head, page.hash):
        wrong.append(
            f"the campaign's row says {page.head:,} events, the last sealed {page.hash.hex()}; "
            f"there are {len(events):,}, the last sealed {last.hex()}"
        )
    if events and events[0].content.get("name") != page.name:
        name = events[0].content.get("name")
        wrong.append(f"the record is of {name!r}, and kept as {page.name!r}")
    for what, said, kept in (
        ("evaluation", books.evaluations, evaluations),
        ("ticket", books.tickets, tickets),
    ):
        for number in sorted(n for n in {*said, *kept} if said.get(n) != kept.get(n))[:_MOST]:
            alone = f"is in the {'events' if number in said else 'table'} alone"
            both = number in said and number in kept
            wrong.append(f"{what} {number} {'is not what the events say' if both else alone}")
    counted = sum(row[-1] == "counted" for row in evaluations.values())
    counts = len(books.tickets), len(books.evaluations), counted
    if (page.tickets, page.evaluations, page.counted) != counts:
        wrong.append("the campaign's row counts other tickets or evaluations than there are")
    if page.version != sum(event.kind in TURNS for event in events):
        wrong.append("the campaign's row counts other changes than there are")
    if page.status != books.status:
        wrong.append(f"the campaign's row says {page.status!r}, the events {books.status!r}")
    return wrong
