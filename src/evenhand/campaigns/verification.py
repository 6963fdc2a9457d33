"""Verification: is the record whole, and does the decision follow from it?

- Every event must have the seal that follows from the one before it, be of its form, and fit those
  before it: what counts was asked for, and counts once. The campaign's row must end with the last.
- *Replay*: every decision must be what this evenhand says when it is told the log before it. An
  error in evenhand itself is repeated, not found.

docs/research/records.md has a table of what is found, and what is not. A whole history that was
written anew, with new seals, is found only by a seal that somebody has written down elsewhere:
give it as ``seal``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.campaigns.course import Course
from evenhand.campaigns.events import START, Event, events_in, seal
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page, events_after
from evenhand.campaigns.state import State
from evenhand.campaigns.status import decision_of
from evenhand.campaigns.stores import Session
from evenhand.errors import EvenhandError
from evenhand.report.model import Report, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 20  # of what is wrong that is named
_SHARE = 1e-6  # by which a number of a decision may differ when it is replayed
_ROUNDED = 1e-3  # of the largest score: sizes below that count as that


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

    def look(session: Session) -> tuple[list[Event], Page]:
        events: list[Event] = []
        while piece := events_after(session, follower.id, len(events)):
            events += piece
        return events, Page(session, follower.id, lock=False)

    events, page = follower.store.read(look)
    return _verified(events, known, page)


def verify_file(path: str | os.PathLike[str], known: str | None = None) -> RecordVerification:
    """Return whether a record that was exported is whole, without any store."""
    # `known` is a seal that was written down.
    return _verified(list(events_in(path)), known)


def _verified(
    events: Sequence[Event], known: str | None, page: Page | None = None
) -> RecordVerification:
    wrong, state = _chain(events), State()
    if known is not None and known.strip().lower() not in {event.hash.hex() for event in events}:
        wrong.append(f"no event has the seal {known.strip()!r}: the record is another one")

    replayed = Course()
    try:
        for event in events:
            if event.kind == "decided" and not state.wrong:
                course = replayed.follow(state.view())
                wrong += _differences(decision_of(course), event, _rounded(state))
            state.fold([event])
        if missing := max(state.evaluations, default=0) - len(state.evaluations):
            state.wrong.append(f"{missing} evaluations are missing: their numbers are skipped")
    except EvenhandError as error:
        wrong.append(str(error).rstrip("."))
    except Exception as error:  # whatever somebody wrote must not stop the verdict
        wrong.append(f"the record cannot be followed: {type(error).__name__}, {error}")
    wrong += state.wrong
    if page is not None:
        wrong += _row(state, events, page)
    return RecordVerification(
        tuple(wrong[:_MOST]),
        len(events),
        events[-1].hash.hex() if events else "",
        state.counted,
        any(event.kind == "decided" for event in events),
        state.made_by,
        known is not None,
    )


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


def _differences(said: dict[str, Any], event: Event, least: float) -> list[str]:
    """Return in what a decision is not what this evenhand says after the events before it."""
    wrong = []
    now, stated = dict(_leaves(said)), dict(_leaves(event.content))
    for name in {**stated, **now}:
        if not _same(stated.get(name), now.get(name), least):
            both = f"{stated.get(name)!r:.80}, not {now.get(name)!r:.80}"
            wrong.append(f"event {event.number}:{name} is {both}")
    return wrong


def _rounded(state: State) -> float:
    """Return below which a number of a decision counts as if it were that large."""
    scores = (abs(one.said.score) for one in state.evaluations.values())
    return _ROUNDED * max(scores, default=0.0)


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Give the parts of a plain value, by where they are."""
    if not isinstance(value, dict | list | tuple) or not value:
        yield where, value
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value, start=1):
        yield from _leaves(part, f"{where} {name}")


def _same(stated: Any, said: Any, least: float) -> bool:
    """Tell whether parts are the same but for rounding."""
    if {type(stated), type(said)} in ({float}, {int, float}):
        off = abs(stated - said)
        return bool(off <= _SHARE * max(abs(stated), abs(said), least))
    return type(stated) is type(said) and bool(stated == said)


def _row(state: State, events: Sequence[Event], page: Page) -> list[str]:
    """Return where the campaign's row in a store is not what the events say."""
    wrong = []
    last = events[-1].hash if events else START
    if (len(events), last) != (page.head, page.hash):
        wrong.append(
            f"the campaign's row says {page.head:,} events, the last sealed {page.hash.hex()}; "
            f"there are {len(events):,}, the last sealed {last.hex()}"
        )
    if state.head and state.name != page.name:
        wrong.append(f"the record is of {state.name!r}, and kept as {page.name!r}")
    said, come_to = (page.status, page.counted), (state.status, state.counted)
    if state.head == len(events) and said != come_to:
        wrong.append(f"the campaign's row says {said!r}, the events {come_to!r}")
    return wrong
