"""A program that answers a campaign's questions: `choose` on a store.

Tickets are held by one run alone, under a name that says which process it is, for a short time that
is renewed while the run lives. A run that was killed leaves its tickets behind; the next one on the
same machine sees that the process is gone and takes them back at once, one on another machine when
their time is up. So running the same script again goes on where it was.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from evenhand.answers.answer import Answer
from evenhand.answers.attendance import Available
from evenhand.answers.crews import Crew, Evaluate, Reply, crew_for, is_hopeless
from evenhand.answers.interrupts import Interrupts
from evenhand.answers.question import Failure
from evenhand.answers.run import LEAST_PATIENCE, TICK, Run, in_one_line
from evenhand.answers.watch import Progress, watching
from evenhand.campaigns import asking, changing, telling, tending
from evenhand.campaigns.deciding import answer_from
from evenhand.campaigns.following import Follower
from evenhand.campaigns.given import checked_count
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.tickets import NoTicket, Ticket
from evenhand.errors import AbsentError, EvenhandError, InputError
from evenhand.policies.messages import Decision
from evenhand.policies.sayings import forecast_of
from evenhand.tables.names import listed

_LEASE = 60.0  # seconds for which a run holds tickets; it renews them while it lives
_LOOK_AGAIN = 0.5  # seconds between two asks while others are at work
_MOST_PARALLEL = 10_000
_SIGN = "run "
_A_RUN = re.compile(_SIGN + r"(?P<node>.*) (?P<pid>[0-9]{1,18}) [0-9a-f]{8}", re.DOTALL)


def run(
    follower: Follower,
    evaluate: Evaluate,
    parallel: int,
    *,
    at_once: int | None = None,
    available: Available | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Answer:
    """Answer a campaign's questions until it is finished; see `Campaign.run`."""
    if not callable(evaluate):
        raise InputError(f"evaluate must be a function of a question; got {evaluate!r}.")
    if available is not None and not callable(available):
        raise InputError(
            f"available must be a function that returns names of evaluators; got {available!r}."
        )
    checked_count(parallel, "parallel", 1, _MOST_PARALLEL)
    if at_once is not None:
        checked_count(at_once, "at_once", 1, _MOST_PARALLEL)
    _take_back_from_the_dead(follower)
    asking.give_another_chance(follower)
    with watching(_Watched(follower), progress) as watch:
        desk = _Desk(follower, crew_for(evaluate, parallel), parallel, at_once, available, watch)
        ran = desk.work()
    with follower.lock:
        answer = answer_from(follower.followed())
    if ran.stopped_because is None or follower.known().status == "finished":
        return answer
    return replace(answer, stopped_because=ran.stopped_because)


class _Watched:
    """The policy of a campaign as it stands, for whoever watches the progress."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    @property
    def spent(self) -> int:
        return self._follower.known().policy.spent

    @property
    def horizon(self) -> int:
        return self._follower.known().policy.horizon

    def forecast(self) -> float:
        with self._follower.lock:
            return forecast_of(self._follower.known().policy)

    def recommend(self) -> Decision:
        with self._follower.lock:
            return self._follower.known().policy.recommend()


def _name_of_this_run() -> str:
    """Return a worker's name that says which process it is, and that no other run has."""
    return f"{_SIGN}{platform.node()[:100]} {os.getpid()} {secrets.token_hex(4)}"


def _take_back_from_the_dead(follower: Follower) -> None:
    """End the leases of runs of this machine whose process is gone."""
    rows = follower.store.read(
        lambda session: Page(session, follower.id, lock=False).held_by_workers(_SIGN)
    )
    for row in rows:
        run = _A_RUN.fullmatch(row.worker)  # somebody else may have called a worker "run 2"
        if run and run["node"] == platform.node()[:100] and not _alive(int(run["pid"])):
            tending.end_lease(follower, follower.ticket(row))


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


class _Desk:
    """Keeps track of the tickets of one run."""

    def __init__(
        self,
        follower: Follower,
        crew: Crew,
        parallel: int,
        at_once: int | None,
        available: Available | None,
        watch: Callable[[Run], None],
    ) -> None:
        self._follower, self._crew, self._watch = follower, crew, watch
        self._parallel, self._at_once, self._available = parallel, at_once, available
        self._worker = _name_of_this_run()
        self._out: dict[int, Ticket] = {}  # by number
        self._busy: Counter[str | None] = Counter()  # tickets out, by evaluator
        self._failed = 0  # in a row
        self._patience = max(LEAST_PATIENCE, 2 * parallel)
        self._not_before = 0.0
        self._over = threading.Event()
        self._run = Run()

    def work(self) -> Run:
        """Work until there is nothing more to do."""
        threading.Thread(target=self._renew, name="renews leases", daemon=True).start()
        try:
            with Interrupts() as interrupts:
                while not interrupts.seen and self._hand_out():
                    reply = None
                    with interrupts.allowed():
                        reply = self._next_reply()
                    if reply is not None:
                        self._take(reply)
                    self._watch(self._run)
                    if self._run.stopped_because is not None:
                        break
                if interrupts.seen:
                    self._run.stopped_because = "it was interrupted"
        finally:
            self._over.set()
            self._crew.close()
            tending.release_all(self._follower, self._out.values())
        return self._run

    def _next_reply(self) -> Reply | None:
        if self._out:
            return self._crew.wait(TICK)
        time.sleep(TICK)
        return None

    # ------------------------------------------------------------------ handing out

    def _hand_out(self) -> bool:
        """Take more tickets; return whether there is anything to wait for."""
        while len(self._out) < self._parallel and time.monotonic() >= self._not_before:
            among = self._free()
            if among is not None and not among:
                return bool(self._out) or self._nobody()
            has = len(self._out) if among is None else sum(self._busy[x] for x in (*among, None))
            # one by one where who is free changes with every ticket
            more = self._parallel - len(self._out) if self._at_once is None else 1
            got = asking.ask(self._follower, among, self._worker, has + more, _LEASE)
            if isinstance(got, NoTicket):
                return self._nothing(got)
            assert isinstance(got, list)
            new = [ticket for ticket in got if ticket.number not in self._out]
            for ticket in new:
                self._out[ticket.number] = ticket
                self._busy[ticket.question.evaluator] += 1
                self._crew.start(ticket.question)
            if not new:
                self._not_before = time.monotonic() + _LOOK_AGAIN
        return True

    def _free(self) -> Sequence[str] | None:
        """Return the evaluators who can be asked now; None if all, or if there are none."""
        names: Sequence[str] = self._follower.known().questions.evaluators
        if not names or (self._at_once is None and self._available is None):
            return None
        if self._available is not None:
            there = self._available()
            there = {there} if isinstance(there, str) else set(there)
            unknown = there.difference(names)
            if unknown:
                raise InputError(
                    f"available returned {min(map(str, unknown))!r}, who is no evaluator; there "
                    f"are {listed(list(names))}."
                )
            names = [name for name in names if name in there]
        if self._at_once is not None:
            names = [name for name in names if self._busy[name] < self._at_once]
        return names

    def _nobody(self) -> bool:
        self._run.stopped_because = "nobody who could be asked is available; run() goes on later"
        return False

    def _nothing(self, why: NoTicket) -> bool:
        """Return whether to wait though there is no ticket."""
        if why.reason == "finished":
            return False
        self._not_before = time.monotonic() + _LOOK_AGAIN
        if self._out or why.reason == "waiting":
            return True
        self._run.stopped_because = why.why
        return False

    # ------------------------------------------------------------------ taking back

    def _take(self, reply: Reply) -> None:
        """Tell a score, or that there is none."""
        self._not_before = 0.0
        error = reply.error
        if isinstance(error, KeyboardInterrupt):
            self._run.stopped_because = "it was interrupted"
            return
        if error is not None and is_hopeless(error):
            raise error
        ticket = self._out.pop(reply.question.number)
        self._busy[ticket.question.evaluator] -= 1
        if isinstance(error, AbsentError):
            self._part_with(ticket, in_one_line(error) or "not available")
            return
        if error is None:
            try:
                telling.tell(self._follower, [(ticket, reply.score, None)])
            except InputError as refused:
                error = refused
            else:
                self._failed = 0
                return
        self._fail(ticket, in_one_line(error))

    def _fail(self, ticket: Ticket, said: str) -> None:
        tending.fail(self._follower, ticket, said)
        self._run.failures.append(Failure(ticket.question, said, ticket.attempt))
        self._failed += 1
        known = self._follower.known()
        tries = 1 + known.settings["retries"]
        # each evaluator may fail so often, and leave, while there are others
        if self._failed >= tries * self._patience * max(1, len(known.questions.evaluators)):
            self._run.stopped_because = (
                f"evaluations failed {self._failed} times in a row, last with: {said}"
            )

    def _part_with(self, ticket: Ticket, why: str) -> None:
        tending.release(self._follower, ticket)
        if ticket.question.evaluator is None:
            self._run.stopped_because = f"the evaluator left: {why}"
        else:
            away = f"{asking.AWAY}: {why}"
            changing.leave(self._follower, ticket.question.evaluator, away)

    def _renew(self) -> None:
        """Renew leases while the run lives, in a thread of its own: evaluations may take long."""
        while not self._over.wait(_LEASE / 3.0):
            for ticket in list(self._out.values()):
                with contextlib.suppress(EvenhandError):  # whoever tells the score will say it
                    tending.renew(self._follower, ticket, _LEASE)
