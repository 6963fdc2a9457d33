"""A program that answers a campaign's questions, and `choose` on a store.

A run holds its tickets under a worker's name that says which process it is, with short leases that
it renews while it lives. A run that was killed leaves its tickets behind: the next one on the same
machine sees that the process is dead and ends their leases at once, one on another machine waits
until they expire. So running the same script again goes on where it was.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.answers.answer import Answer
from evenhand.answers.crews import Evaluate, checked_functions, crew_for
from evenhand.answers.question import Failure, Question
from evenhand.answers.run import LEAST_PATIENCE, Available, Run, those_available, work
from evenhand.answers.watch import Progress, watching
from evenhand.arrays import whole_number
from evenhand.campaigns.ask import ask
from evenhand.campaigns.course import Course
from evenhand.campaigns.create import first_event, insert
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page, events_after, find
from evenhand.campaigns.lifecycle import extend, give_another_chance, leave
from evenhand.campaigns.state import State, TicketState
from evenhand.campaigns.status import answer_from
from evenhand.campaigns.stores import Store, open_store
from evenhand.campaigns.tell import end_lease, fail, release, renew, tell
from evenhand.campaigns.tickets import NoTicket, Ticket
from evenhand.errors import ConflictError, EvenhandError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.registry import restore
from evenhand.questions import Askable

LEASE = 60.0
"""Seconds for which a run holds tickets; it renews them while it lives."""
SIGN = "run "
"""So begin names of workers that are runs."""
_LOOK_AGAIN = 0.5  # seconds between two asks while others are at work
_MOST_PARALLEL = 10_000
_NOBODY = "nobody who could be asked is available; run() goes on later"
_A_RUN = re.compile(SIGN + r"(?P<node>.*) (?P<pid>[0-9]{1,18}) [0-9a-f]{8}", re.DOTALL)

CHOICE = "choice"
"""Name of the campaign that `choose` keeps in a store."""


class TicketOffice:
    """Where a run gets its tickets and hands scores in: a store, or a server that has one."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    def known(self) -> State:
        """Return the campaign as it was seen last."""
        return self._follower.known()

    def course(self, *, now: bool = True) -> contextlib.AbstractContextManager[Course]:
        """Lend the campaign's policy, as it is or as it was seen last."""
        return self._follower.course(now=now)

    @contextlib.contextmanager
    def policy(self) -> Iterator[Policy]:
        """Lend the policy as it was seen last."""
        with self.course(now=False) as course:
            yield course.policy

    def begin(self) -> None:
        """End the leases of dead runs of this machine; who failed has another chance."""
        for row in self._follower.read(held_by_runs):
            if is_of_the_dead(row.worker):
                end_lease(self._follower, self._follower.ticket(row))
        give_another_chance(self._follower)

    def ask(self, among: Sequence[str] | None, worker: str, n: int) -> list[Ticket] | NoTicket:
        """Return tickets of a worker, so many at most; those that it holds are among them."""
        got = ask(self._follower, among, worker, n, LEASE)
        return [got] if isinstance(got, Ticket) else got

    def tell(self, ticket: Ticket, score: object) -> None:
        """Hand a score in."""
        tell(self._follower, [(ticket, score, None)])

    def fail(self, ticket: Ticket, why: str) -> None:
        """Give a ticket back that could not be answered."""
        fail(self._follower, ticket, why)

    def release(self, tickets: Sequence[Ticket]) -> None:
        """Give tickets back unanswered."""
        release(self._follower, *tickets)

    def renew(self, ticket: Ticket) -> None:
        """Hold a ticket for longer."""
        renew(self._follower, ticket, LEASE)

    def leave(self, evaluator: str, why: str) -> None:
        """Go on without an evaluator who is away."""
        leave(self._follower, evaluator, why, code="away")


def held_by_runs(page: Page) -> list[TicketState]:
    """Return the tickets that runs have, on whatever machine."""
    return [row for row in page.state.leased(page.now) if row.worker.startswith(SIGN)]


def run(
    office: TicketOffice,
    evaluate: Evaluate,
    parallel: int,
    *,
    available: Available | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Answer:
    """Answer a campaign's questions until it is finished; see `Campaign.run`."""
    checked_functions(evaluate, available)
    whole_number("parallel", parallel, 1, _MOST_PARALLEL)
    office.begin()
    with watching(office.policy, progress) as watch:
        desk = _TicketDesk(office, parallel, available)
        ran = work(desk, crew_for(evaluate, parallel), parallel, watch)
    with office.course() as course:
        answer = answer_from(course)
    if ran.stopped_because is None or office.known().status == "finished":
        return answer
    return replace(answer, stopped_because=ran.stopped_because)


def _name_of_this_run() -> str:
    """Return a worker's name that says which process it is, and that no other run has."""
    return f"{SIGN}{platform.node()[:100]} {os.getpid()} {secrets.token_hex(4)}"


def is_of_the_dead(worker: str) -> bool:
    """Tell whether a worker is a run of this machine whose process is dead."""
    run = _A_RUN.fullmatch(worker)  # somebody else may have called a worker "run 2"
    return bool(run and run["node"] == platform.node()[:100] and not _alive(int(run["pid"])))


def _alive(pid: int) -> bool:
    if sys.platform == "win32":  # where this signal is an interrupt; leases end by themselves
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return True


class _TicketDesk:
    """Keeps track of the tickets of one run."""

    def __init__(
        self,
        office: TicketOffice,
        parallel: int,
        available: Available | None,
    ) -> None:
        self._office, self._available = office, available
        self._worker = _name_of_this_run()
        self._out: dict[int, Ticket] = {}  # by number
        self._busy: Counter[str | None] = Counter()  # tickets out, by evaluator
        self._failed = 0  # in a row
        self._patience = max(LEAST_PATIENCE, 2 * parallel)
        self._not_before = 0.0
        self._over = threading.Event()
        self.run = Run()
        threading.Thread(target=self._renew, name="renews leases", daemon=True).start()

    def next(self, room: int) -> Sequence[Question] | None:
        """Take more tickets."""
        if time.monotonic() < self._not_before:
            return []
        among = self._free()
        if among is not None and not among:
            if not self._out:
                self.run.stopped_because = _NOBODY
            return [] if self._out else None
        has = len(self._out) if among is None else sum(self._busy[x] for x in (*among, None))
        got = self._office.ask(among, self._worker, has + room)
        if isinstance(got, NoTicket):
            return self._nothing(got)
        new = [ticket for ticket in got if ticket.number not in self._out]
        for ticket in new:
            self._out[ticket.number] = ticket
            self._busy[ticket.question.evaluator] += 1
        if not new:
            self._not_before = time.monotonic() + _LOOK_AGAIN
        return [ticket.question for ticket in new]

    def _free(self) -> Sequence[str] | None:
        """Return the evaluators who can be asked now; None if all, or if there are none."""
        names: Sequence[str] = self._office.known().questions.evaluators
        if not names or self._available is None:
            return None
        there = those_available(self._available, names)
        return [name for name in names if name in there]

    def _nothing(self, why: NoTicket) -> Sequence[Question] | None:
        """Wait though there is no ticket, or say why that is all."""
        self._not_before = time.monotonic() + _LOOK_AGAIN
        if why.reason != "finished" and (self._out or why.reason == "waiting"):
            return []
        if why.reason != "finished":
            self.run.stopped_because = why.why
        return None

    def tell(self, question: Question, score: object) -> None:
        """Tell the campaign a score."""
        self._office.tell(self._out[question.number], score)
        self._closed(question)
        self._failed = 0

    def fail(self, question: Question, said: str) -> bool:
        """Give a ticket back that could not be answered: the campaign knows how often to try."""
        ticket = self._closed(question)
        self._office.fail(ticket, said)
        self.run.failures.append(Failure(question, said, ticket.attempt))
        self._failed += 1
        known = self._office.known()
        tries = 1 + known.settings["retries"]
        # each evaluator may fail so often, and leave, while there are others
        if self._failed >= tries * self._patience * max(1, len(known.questions.evaluators)):
            self.run.stopped_because = (
                f"evaluations failed {self._failed} times in a row, last with: {said}"
            )
        return False

    def part_with(self, question: Question, why: str) -> None:
        """Go on without an evaluator, until he is asked in another run."""
        self._office.release([self._closed(question)])
        if question.evaluator is None:
            self.run.stopped_because = f"the evaluator left: {why}"
        else:
            self._office.leave(question.evaluator, why)

    def close(self) -> None:
        """Give back what is out."""
        self._over.set()
        self._office.release(list(self._out.values()))

    def _closed(self, question: Question) -> Ticket:
        """Take a ticket off the list of those that are out."""
        self._not_before = 0.0
        self._busy[question.evaluator] -= 1
        return self._out.pop(question.number)

    def _renew(self) -> None:
        """Renew leases while the run lives, in a thread of its own: evaluations may take long."""
        while not self._over.wait(LEASE / 3.0):
            for ticket in list(self._out.values()):
                with contextlib.suppress(EvenhandError):  # whoever tells the score will say it
                    self._office.renew(ticket)


@dataclass(frozen=True)
class StoreWithTexts:
    """A store for `choose`, and by name what judges are shown and told: a hash of each is kept, and
    a choice that was begun with other texts is not gone on with.
    """

    store: str | os.PathLike[str] | Store
    texts: Mapping[str, str]


def choose_on(
    store: str | os.PathLike[str] | Store | StoreWithTexts,
    options: Askable,
    made: dict[str, Any],
    how: dict[str, Any],
) -> Answer:
    """Have options evaluated, on a store: begin the campaign of this call, or go on with it."""
    # `made` is for `create.first_event`, `how` for `run`.
    if isinstance(store, StoreWithTexts):
        made = made | {"texts": store.texts}
        store = store.store
    if isinstance(store, str) and store.startswith(("https://", "http://")):
        from evenhand.campaigns.remote import choose_there  # noqa: PLC0415 # it runs by this

        return choose_there(store, options, made, how)
    content = first_event(CHOICE, options, **made)
    with _opened(store) as opened:
        office = TicketOffice(begun(opened, content, given_limits(made, content)))
        return run(office, **how)


def given_limits(made: dict[str, Any], content: dict[str, Any]) -> list[str]:
    """Return the limits that a call gives; where each costs 1, a budget is a number of them."""
    given = [name for name in ("at_most", "budget") if made.get(name) is not None]
    if "budget" in given and math.isinf(_limits(restore(content["policy"]))["budget"]):
        return ["at_most"]
    return given


def begun(store: Store, content: dict[str, Any], given: Sequence[str]) -> Follower:
    """Return the campaign of a call: a new one, or the one of that name, if it is the same.

    Of limits that are ``given``, the one that is there takes what is more.
    """
    name = content["name"]
    try:
        return Follower(store, insert(store, name, content), name)
    except ConflictError:
        id = store.read(lambda session: find(session, name))
        assert id is not None  # there is one, which nothing deletes
    (first,) = store.read(lambda session: events_after(session, id, 0, 1))
    _refuse_other_texts(store, first.content.get("texts", {}), content.get("texts", {}))
    differs = _difference(first.content, content)
    if differs is not None:
        raise InputError(
            f"{store.name!r} holds a choice that was begun with {differs}; give another store, or "
            "the same again. Only at_most and budget may grow."
        )
    began, now = (_limits(restore(event["policy"])) for event in (first.content, content))
    follower = Follower(store, id, name)
    with follower.course() as course:
        there, more = _limits(course.policy), dict.fromkeys(now)
    for limit in given:
        if now[limit] < began[limit]:
            raise InputError(
                f"{store.name!r} holds a choice that was begun with {limit}={began[limit]:,g}, "
                f"where {now[limit]:,g} is given now: it may grow, and not shrink. Give another "
                "store, or as much again."
            )
        if now[limit] > there[limit]:
            more[limit] = now[limit]
    if any(more.values()):
        extend(follower, **more, questions=None, display=None, in_vain=True)
    return follower


def _refuse_other_texts(store: Store, before: dict[str, str], now: dict[str, str]) -> None:
    """Raise `InputError` where a text is not what it was when the choice was begun."""
    other = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    if not other:
        return
    edited = sorted(name for name in other if name in before and name in now)
    kind, names = ("was another then", edited) if edited else ("was not there then", sorted(other))
    if not edited and names[0] not in now:
        kind = "is missing now"
    more = f" (and {len(other) - 1:,} more)" if len(other) > 1 else ""
    raise InputError(
        f"{store.name!r} holds a choice that was begun with other texts: {names[0]}{more} {kind}. "
        "Scores of both must not be mixed: give another store, or the texts as they were."
    )


@dataclass(frozen=True)
class Told:
    """A score of a choice in a store, with its question; what was said beside it, and its cost."""

    question: Question
    score: float
    said: str
    cost: float


def told_in(store: str | os.PathLike[str] | Store) -> list[Told]:
    """Return all scores that count of the choice that a store holds, in order."""
    with _opened(store) as opened:
        id = opened.read(lambda session: find(session, CHOICE))
        if id is None:
            return []
        state, told = Follower(opened, id, CHOICE).state(), []
        for said, standing, *_ in state.evaluations.values():
            if said.ticket is not None and standing == "counted":
                asked = state.asked(state.tickets[said.ticket])
                cost = asked.price if said.cost is None else said.cost
                told.append(Told(asked, said.score, said.note, cost))
        return told


@contextlib.contextmanager
def _opened(store: str | os.PathLike[str] | Store) -> Iterator[Store]:
    """Open a store that is named, for a while."""
    opened = open_store(store)
    try:
        yield opened
    finally:
        if opened is not store:
            opened.close()


def _limits(policy: Policy) -> dict[str, Any]:
    return {"at_most": policy.horizon, "budget": policy.limits.money}


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return what a choice was begun with that is not given now; None if that is all the same."""

    def differing(was: dict[str, Any], is_: dict[str, Any]) -> str | None:
        for name in (was.keys() | is_.keys()) - {"at_most", "budget"}:
            if was.get(name) != is_.get(name):
                return f"{name}={was.get(name)!r}, where {is_.get(name)!r} is given now"
        return None

    old, new = before["policy"], now["policy"]
    if differs := differing(before["settings"], now["settings"]):
        return differs
    if old["policy"] != new["policy"]:
        return f"the policy {old['policy']!r}, where {new['policy']!r} is given now"
    if old["arguments"]["placed"] != new["arguments"]["placed"]:
        return "other options or questions"
    return differing(old["arguments"]["named"], new["arguments"]["named"])
