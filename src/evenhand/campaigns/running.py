"""A program that answers a campaign's questions: `choose` on a store.

Tickets are held by this run alone, under a name that says which process it is. A run that was killed
leaves its tickets behind; the next one on the same machine sees that the process is gone and takes
them back at once, one on another machine when their time is up. So running the same script again
goes on where it was.
"""

from __future__ import annotations

import os
import platform
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.answers.answer import Answer
from evenhand.answers.attendance import Available
from evenhand.answers.crews import Crew, Evaluate, Reply, crew_for, is_hopeless
from evenhand.answers.interrupts import Interrupts
from evenhand.answers.run import LEAST_PATIENCE, TICK, in_one_line
from evenhand.answers.watch import Progress, watching
from evenhand.campaigns.tickets import NoTicket, Ticket
from evenhand.errors import AbsentError, InputError

if TYPE_CHECKING:
    from evenhand.campaigns.campaign import Campaign

_LEASE = 120.0  # seconds that a run asks for; it renews its leases while it lives
_LOOK_AGAIN = 1.0  # seconds between two asks while others are at work
_SIGN = "run"


def run(
    campaign: Campaign,
    evaluate: Evaluate,
    parallel: int,
    *,
    at_once: int | None = None,
    available: Available | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Answer:
    """Answer a campaign's questions until it is finished; see `Campaign.run`."""
    give_back_of_the_dead(campaign)
    with watching(campaign.policy, progress) as watch:
        desk = _Desk(campaign, crew_for(evaluate, parallel), parallel, at_once, available)
        stopped = desk.work(lambda: watch(desk))
    answer = campaign.answer()
    return answer if stopped is None else replace(answer, stopped_because=stopped)


def name_of_this_run() -> str:
    """Return a worker's name that says which process it is, and no other run has."""
    return f"{_SIGN} {platform.node()} {os.getpid()} {secrets.token_hex(4)}"


def give_back_of_the_dead(campaign: Campaign) -> None:
    """Give back what runs of this machine hold whose process is gone."""
    for ticket in campaign.held_by_workers(_SIGN):
        _, _, rest = ticket.worker.partition(" ")
        node, _, rest = rest.rpartition(" ")[0].rpartition(" ")
        if node == platform.node() and not _alive(rest):
            campaign.release(ticket)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    return True


class _Desk:
    """Keeps track of the tickets of one run."""

    def __init__(
        self,
        campaign: Campaign,
        crew: Crew,
        parallel: int,
        at_once: int | None,
        available: Available | None,
    ) -> None:
        self._campaign, self._crew = campaign, crew
        self._parallel, self._at_once, self._available = parallel, at_once, available
        self._worker = name_of_this_run()
        self._out: dict[int, Ticket] = {}
        self._renewed: dict[int, float] = {}
        self._busy: Counter[str | None] = Counter()
        self._failed = 0  # in a row
        self._patience = max(LEAST_PATIENCE, 2 * parallel)
        self._not_before = 0.0
        self.failures: list[Any] = []
        self.stopped_because: str | None = None

    def work(self, watch: Callable[[], None]) -> str | None:
        """Work until there is nothing more to do; return why, if the campaign goes on."""
        try:
            with Interrupts() as interrupts:
                while not interrupts.seen and self._hand_out():
                    reply = None
                    with interrupts.allowed():
                        reply = self._next_reply()
                    if reply is not None:
                        self._take(reply)
                    self._renew()
                    watch()
                    if self.stopped_because is not None:
                        break
                if interrupts.seen:
                    self.stopped_because = "it was interrupted"
        finally:
            self._crew.close()
            for ticket in self._out.values():
                self._campaign.release(ticket)
        return self.stopped_because

    def _next_reply(self) -> Reply | None:
        if self._out:
            return self._crew.wait(TICK)
        time.sleep(TICK)
        return None

    def _hand_out(self) -> bool:
        """Take more tickets; return whether there is anything to wait for."""
        if len(self._out) >= self._parallel or time.monotonic() < self._not_before:
            return True
        among = self._free()
        got = self._campaign.ask(
            among, worker=self._worker, n=self._parallel if among is None else len(self._out) + 1
        )
        if isinstance(got, NoTicket):
            return self._nothing(got)
        new = [ticket for ticket in got if ticket.number not in self._out]
        for ticket in new:
            self._out[ticket.number] = ticket
            self._renewed[ticket.number] = time.monotonic()
            self._busy[ticket.question.evaluator] += 1
            self._crew.start(ticket.question)
        if not new:
            self._not_before = time.monotonic() + _LOOK_AGAIN
        return True

    def _free(self) -> Sequence[str] | None:
        """Return the evaluators who can be asked now; None if all."""
        if self._at_once is None and self._available is None:
            return None
        names: Sequence[str] = self._campaign.evaluators
        if self._available is not None:
            there = self._available()
            there = {there} if isinstance(there, str) else set(there)
            unknown = there.difference(names)
            if unknown:
                raise InputError(
                    f"available returned {min(map(str, unknown))!r}, who is no evaluator; there "
                    f"are {names!r}."
                )
            names = [name for name in names if name in there]
        if self._at_once is not None:
            names = [name for name in names if self._busy[name] < self._at_once]
        return names

    def _nothing(self, why: NoTicket) -> bool:
        """Return whether to wait though there is no ticket."""
        if why.reason == "finished":
            return False
        self._not_before = time.monotonic() + _LOOK_AGAIN
        if self._out or why.reason == "waiting":
            return True
        self.stopped_because = why.why
        return False

    def _take(self, reply: Reply) -> None:
        """Tell a score, or that there is none."""
        self._not_before = 0.0
        ticket, error = self._out.pop(reply.question.number), reply.error
        self._busy[ticket.question.evaluator] -= 1
        if error is not None and (is_hopeless(error) or isinstance(error, KeyboardInterrupt)):
            self._campaign.release(ticket)
            raise error
        if isinstance(error, AbsentError):
            self._part_with(ticket, in_one_line(error) or "not available")
            return
        if error is None:
            try:
                self._campaign.tell(ticket, reply.score)
            except InputError as refused:
                error = refused
            else:
                self._failed = 0
                return
        said = in_one_line(error)
        self._campaign.fail(ticket, said)
        self._failed += 1
        if self._failed >= self._patience * (1 + self._campaign.retries):
            self.stopped_because = f"evaluations failed {self._failed} times in a row, last: {said}"

    def _part_with(self, ticket: Ticket, why: str) -> None:
        self._campaign.release(ticket)
        if ticket.question.evaluator is None:
            self.stopped_because = f"the evaluator left: {why}"
        else:
            self._campaign.leave(ticket.question.evaluator, why)

    def _renew(self) -> None:
        """Renew the leases that have lasted a third of their time."""
        now = time.monotonic()
        for number, ticket in self._out.items():
            if now - self._renewed[number] > self._campaign.lease / 3.0:
                self._campaign.renew(ticket)
                self._renewed[number] = now
