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
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.campaigns import ledger
from evenhand.campaigns.events import START, Event, events_in, seal
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.log import Log
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
        kinds: tuple[Any, ...] = ledger.TicketRow, ledger.EvaluationRow
        tickets, evaluations = (
            {row.number: row for row in _all(partial(ledger.rows_after, session, kind, page.id))}
            for kind in kinds
        )
        events = list(_all(partial(ledger.events_after, session, page.id)))
        return events, page, tickets, evaluations

    events, page, tickets, evaluations = follower.store.read(look)
    return _verified(events, known, lambda log: _tables(log, events, page, tickets, evaluations))


def verify_file(path: str | os.PathLike[str], known: str | None = None) -> RecordVerification:
    """Return whether a record that was exported is whole, without any store."""
    # `known` is a seal that was written down.
    return _verified(list(events_in(path)), known, lambda log: [])


def _all(read: Callable[[int, int], list[Any]]) -> Iterator[Any]:
    after = 0
    while piece := read(after, _PIECE):
        yield from piece
        after = piece[-1].number


def _verified(
    events: Sequence[Event], known: str | None, tables: Callable[[Log], list[str]]
) -> RecordVerification:
    wrong, log = _chain(events), Log()
    said: list[tuple[str, Content]] = []
    if known is not None and known.strip().lower() not in {event.hash.hex() for event in events}:
        wrong.append(f"no event has the seal {known.strip()!r}: the record is another one")

    def read() -> list[str]:
        said.extend((event.kind, log.take(event)) for event in events)
        missing = max(log.evaluations, default=0) - len(log.evaluations)
        if missing:
            log.wrong.append(f"{missing} evaluations are missing: their numbers are skipped")
        return [*log.wrong[:_MOST], *tables(log)]

    wrong += _attempted(read, wrong) or []
    decisions = [i for i, (kind, _) in enumerate(said) if kind == "decided"]
    if decisions and len(said) == len(events) and said[0][0] == "created":
        wrong += _attempted(lambda: _replayed(events, said, decisions), wrong) or []
    return RecordVerification(
        tuple(wrong[:_MOST]),
        len(events),
        events[-1].hash.hex() if events else "",
        log.counted,
        bool(decisions),
        said[0][1].get("evenhand", "") if said else "",
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


# ---------------------------------------------------------------------- tables


def _tables(
    log: Log,
    events: Sequence[Event],
    page: Page,
    tickets: Mapping[int, Any],
    evaluations: Mapping[int, Any],
) -> list[str]:
    """Return where the tables of a store are not what the events say."""
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
        ("evaluation", log.evaluations, evaluations),
        ("ticket", log.tickets, tickets),
    ):
        for number in sorted(n for n in {*said, *kept} if said.get(n) != kept.get(n))[:_MOST]:
            alone = f"is in the {'events' if number in said else 'table'} alone"
            both = number in said and number in kept
            wrong.append(f"{what} {number} {'is not what the events say' if both else alone}")
    counts = len(log.tickets), len(log.evaluations), log.counted
    if (page.tickets, page.evaluations, page.counted) != counts:
        wrong.append("the campaign's row counts other tickets or evaluations than there are")
    if page.version != log.version:
        wrong.append("the campaign's row counts other changes than there are")
    if page.status != log.status:
        wrong.append(f"the campaign's row says {page.status!r}, the events {log.status!r}")
    return wrong
