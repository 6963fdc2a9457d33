"""Asking: tickets that the asker holds, tickets that wait, and what the policy wants asked next.

The first two are one short transaction. Only where no ticket waits is the policy asked, outside of
any transaction; its proposal is written if the campaign is still at the version that it was made
for. It has somewhat more tickets than are wanted now, so that the next to ask find one waiting. A
plan that is due is written first, in a transaction of its own, before anything of it is handed out.

Of many threads that find no ticket at the same time, one prepares a proposal and the others look
again when it is written. Who then finds none even so is the next to prepare one.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evenhand.arrays import whole_number
from evenhand.campaigns.arguments import checked_name, checked_seconds
from evenhand.campaigns.course import Course
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.lifecycle import mend
from evenhand.campaigns.state import State, TicketState, Waiting, said
from evenhand.campaigns.status import decision_of, ended, finding_of
from evenhand.campaigns.tickets import NoTicket, Ticket
from evenhand.errors import InputError
from evenhand.report.words import joined

_MOST_AT_ONCE = 10_000
_MOST_AHEAD = 256  # tickets that wait for whoever asks next
_AHEAD = 1 / 32  # likewise, as a share of the evaluations so far, or of the options
_NAMED = 5  # evaluators that a message names
_FOR_OTHERS = "for others"  # whose hand it is that passes questions on, if it has no name


@dataclass(frozen=True)
class _Asker:
    """Who asks, and for how many."""

    evaluators: tuple[str, ...] | None  # whose questions; None where that does not matter
    holder: str | None  # None: each ticket is held by whom it is for
    worker: str
    want: int
    lease: float | None = None

    @property
    def evaluator(self) -> str | None:
        """The one evaluator who asks; None if it is several, or anybody."""
        alone = self.evaluators is not None and len(self.evaluators) == 1
        return self.evaluators[0] if alone and self.evaluators else None


@dataclass(frozen=True)
class _Proposal:
    """What to put into the log, and what the campaign must be like for it to be right."""

    known: tuple[object, int]  # see `Page.follows`
    evaluations: int  # so many there were
    plan: dict[str, Any] | None = None  # if one is due; then nothing else
    wanted: list[tuple[int, int]] = field(default_factory=list)
    why: dict[str, Any] = field(default_factory=dict)  # purpose and prices
    alarms: list[dict[str, Any]] = field(default_factory=list)
    decision: dict[str, Any] | None = None
    nothing: NoTicket | None = None  # why there is nothing to ask, whatever waits


def ask(
    follower: Follower,
    evaluator: str | Sequence[str] | None,
    worker: str,
    n: int | None,
    lease: float | None = None,
) -> Ticket | list[Ticket] | NoTicket:
    """Return what an evaluator is to evaluate next, or why there is nothing."""
    asker = _asker(follower, evaluator, worker, n, lease)
    waited = False  # for somebody else's proposal
    while True:
        rows = follower.write(lambda page: _handed_out(page, follower, asker))
        if rows is not None and len(rows) < asker.want:
            if not follower.preparing.acquire(blocking=waited):
                with follower.preparing:
                    waited = True
                continue
            try:
                more = _propose(follower, asker)
            finally:
                follower.preparing.release()
            waited = False
            if more is None:
                continue
            if not isinstance(more, NoTicket):
                rows = more
            elif not rows:
                return more
        if rows is None:
            with follower.course() as course:
                if course.state.status == "running":  # again, by now
                    continue
                return _not_running(course)
        tickets = [follower.ticket(row) for row in rows]
        return tickets[0] if n is None else tickets


def _asker(follower: Follower, evaluator: Any, worker: Any, n: Any, lease: Any) -> _Asker:
    want = 1 if n is None else whole_number("n", n, 1, _MOST_AT_ONCE)
    checked_name(worker, "worker", empty=True)
    span = None if lease is None else checked_seconds(lease)
    if not follower.known().questions.evaluators:
        holder = "" if evaluator is None else checked_name(evaluator, "evaluator", empty=True)
        return _Asker(None, holder, worker, want, span)
    if evaluator is None:
        return _Asker(None, None, worker or _FOR_OTHERS, want, span)
    if isinstance(evaluator, str):
        name = follower.evaluator(evaluator)
        return _Asker((name,), name, worker, want, span)
    if not isinstance(evaluator, Iterable) or not (given := list(evaluator)):
        raise InputError(
            "evaluator must be a name, several names, or None for what there is for anybody; got "
            f"{evaluator!r}."
        )
    names = tuple(follower.evaluator(name) for name in given)
    return _Asker(names, None, worker or _FOR_OTHERS, want, span)


def _handed_out(page: Page, follower: Follower, asker: _Asker) -> list[TicketState] | None:
    """Return tickets that are held, or wait to be; None if the campaign does not run."""
    return _leased(page, follower, asker) if page.state.status == "running" else None


def _leased(page: Page, follower: Follower, asker: _Asker) -> list[TicketState]:
    state, now = page.state, page.now
    rows = state.held(asker.holder, asker.worker, now)
    if asker.holder is None and asker.evaluators is not None:  # who passes questions on
        rows = [row for row in rows if row.evaluator in (*asker.evaluators, "")]
    rows = rows[: asker.want]
    span = state.settings["lease"] if asker.lease is None else asker.lease
    for whom in _whose(state, asker):
        found = state.free(whom, now, asker.want - len(rows), follower.tries)
        by_holder: dict[str, list[int]] = {}
        for row in found:
            holder = row.evaluator if asker.holder is None else asker.holder
            by_holder.setdefault(holder, []).append(row.number)
        for name, numbers in by_holder.items():
            who = {"holder": name, "worker": asker.worker}
            page.append("leased", {"tickets": numbers, **who, "until": now + span})
        rows += [state.tickets[row.number] for row in found]
    return rows


def _whose(state: State, asker: _Asker) -> list[str | None]:
    """Return for whom a ticket may be that somebody gets; None if that does not matter."""
    if asker.evaluators is not None:
        return [*asker.evaluators, *([""] if state.has_anybodys else [])]
    return [None if asker.holder is None else ""]


def _propose(follower: Follower, asker: _Asker) -> list[TicketState] | NoTicket | None:
    """Have the policy say what to ask, and hand it out; None to look again."""
    tries = follower.tries
    while True:
        with follower.course() as course:
            state = course.state
            if state.status != "running":
                return None
            out = follower.read(lambda page: page.state.waiting(page.now, tries))
            sound = state.broken() is None and state.hopeless() is None
            if sound and not out.harmful:
                proposal = _proposal(course, asker, out)
        if out.harmful:
            follower.write(partial(_give_up, tries))
            return None
        if not sound:
            mend(follower)
            return None
        if proposal.plan is None:
            break
        follower.write(partial(_put_in_force, proposal))

    def put_in(page: Page) -> list[TicketState] | NoTicket | None:
        state = page.state
        if state.status != "running":
            return None
        if not page.follows(*proposal.known):
            rows = _leased(page, follower, asker)  # somebody else was faster, perhaps for all
            return rows if len(rows) == asker.want else None
        for alarm in proposal.alarms:
            page.append("alarmed", alarm)
        if proposal.wanted:
            wanted = enumerate(proposal.wanted, len(state.tickets) + 1)
            made = [[number, secrets.token_hex(3), *asked] for number, asked in wanted]
            page.append("proposed", {"tickets": made} | proposal.why)
            rows = _leased(page, follower, asker)
            return rows if len(rows) == asker.want else None
        moved_on = len(state.evaluations) != proposal.evaluations
        if proposal.decision is not None:
            if not moved_on:
                page.append("decided", proposal.decision)
            return None
        if proposal.nothing is not None:
            return proposal.nothing
        nothing = _nothing(state.waiting(page.now, tries), page.now, asker)
        # what was waited for may have come meanwhile
        return None if nothing.reason == "not now" and moved_on else nothing

    return follower.write(put_in)


def _put_in_force(proposal: _Proposal, page: Page) -> None:
    """Write a plan down, unless the campaign has moved on: then another may be due."""
    if page.state.status == "running" and page.follows(*proposal.known):
        page.append("planned", {"plan": proposal.plan})


def look(follower: Follower) -> None:
    """Have the scores that are in looked at, if who is there can be asked nothing more."""
    with follower.course() as course:
        if course.state.status != "running" or course.trouble:
            return
        plan = course.due_plan(course.pending)
        proposal = _Proposal(course.known, 0, plan=plan)
    if plan is not None and plan.get("order") == []:
        follower.write(partial(_put_in_force, proposal))


def _proposal(course: Course, asker: _Asker, out: Waiting) -> _Proposal:
    state, nothing = course.state, None
    proposal = partial(_Proposal, course.known, state.length_of_scores)
    if asker.evaluator in state.left:
        why = state.left[asker.evaluator]
        text = f"{asker.evaluator} left{': ' if why else ''}{why}; `join` lets him in again"
        nothing = NoTicket("left", text, None)
    try:
        wanted: list[tuple[int, int]] = []
        if nothing is None:
            there = asker.evaluators
            if there is not None:
                there = tuple(name for name in there if name not in state.left)
            plan = course.due_plan(course.pending, there)
            if plan is not None:
                return proposal(plan=plan)
            waiting, leased = out.open.total(), out.leased.total()
            share = int(_AHEAD * max(state.counted, len(course.policy.options)))
            ahead = min(max(leased, share, 0 if waiting else 1), _MOST_AHEAD)
            wanted = course.wanted(asker.evaluators, asker.want, ahead, _MOST_AHEAD - waiting)
            if not wanted and (plan := course.due_plan(course.pending)) is not None:
                return proposal(plan=plan)  # for others
        return proposal(
            wanted=wanted,
            why=_why(course, wanted) if wanted else {},
            alarms=[
                finding_of(found)
                for found in course.policy.findings()
                if found.alarm and found.assumption not in state.alarms
            ],
            decision=decision_of(course) if not wanted and course.finished else None,
            nothing=nothing,
        )
    except Exception as error:  # a policy that breaks must not break the campaign
        nothing = NoTicket("blocked", f"nothing can be asked now: {said(error)}", None)
        return proposal(nothing=nothing)


def _give_up(tries: int, page: Page) -> None:
    """Give up tickets whose leases expired so often: they may be what made their holders die."""
    if page.state.status != "running":
        return
    waiting = sorted(page.state.waiting_for())
    for row in [row for row in waiting if row.is_harmful(page.now, tries)]:
        why = {"reason": "", "code": "lapsed", "times": row.failures + 1}
        entry = {"ticket": row.number, "holder": row.holder, "given_up": True}
        page.append("failed", entry | why)


def _why(course: Course, wanted: list[tuple[int, int]]) -> dict[str, Any]:
    """Return what the record says of why something is asked, and at which price."""
    places = course.places[[number for number, _ in wanted]]
    prices = course.questions.prices[places].tolist()
    say = getattr(course.asks, "purpose", lambda: {"what": "explore"})
    return {"prices": prices, "purpose": say()}


def _not_running(course: Course) -> NoTicket:
    if course.state.status == "finished":
        return NoTicket("finished", f"the campaign is finished: {ended(course)}", math.inf)
    why = course.state.why
    return NoTicket("paused", f"the campaign is paused{': ' if why else ''}{why}", None)


def _nothing(out: Waiting, now: float, asker: _Asker) -> NoTicket:
    """Return why there is nothing for somebody, by the tickets that wait."""
    again = None if out.first_until is None else max(0.0, out.first_until - now)
    own = asker.evaluators or ()
    others = {name for name in out.open if name and name not in own}
    if out.leased:
        n = out.leased.total()
        whose = joined(sorted(filter(None, out.leased)), _NAMED)
        out_ones = "an evaluation that is" if n == 1 else f"{n} evaluations that are"
        text = f"waiting for {out_ones} out{f', of {whose}' if whose else ''}"
        if others:
            text += f"; and {joined(sorted(others), _NAMED)} must be asked"
        return NoTicket("waiting", text, again)
    if others:
        first = joined(sorted(others), _NAMED)
        text = f"others must be asked first: {first}; `leave` goes on without them"
        return NoTicket("not now", text, None)
    return NoTicket("not now", "there is nothing to ask now", None)
