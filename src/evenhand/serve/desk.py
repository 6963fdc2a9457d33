"""Where programs ask and tell: one thread does what has come meanwhile, all of it in one commit.

A commit waits for the disk, and threads for each other. So requests line up while the last commit
is under way, and the next takes them all. Whether their tokens are good is looked up in the same
transaction: a link that was revoked a moment ago, by whichever server, is worth nothing. Who finds
no ticket waiting has the policy asked, by another thread, and one at a time; the others then look
again.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from evenhand.campaigns import Campaign
from evenhand.campaigns.ask import refill
from evenhand.campaigns.stores import Store
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.tickets import Notice, Receipt
from evenhand.serve.access import known, still_good
from evenhand.serve.guard import NOT_KNOWN, RefusedError
from evenhand.serve.seat import Asked, Nothing, Seat, refusable

_MOST_SEATS = 10_000  # that are kept, so that who comes again is known at once


class Desk:
    """Takes asks and tells of evaluators' tokens over one store."""

    def __init__(self, store: Store, opened: Callable[[str], Campaign]) -> None:
        self._store, self._opened = store, opened
        self._seats: dict[str, Seat] = {}  # by token; whether that is still good, the store says
        self._line: list[_Errand] = []
        self._lock = threading.Lock()
        self._at_work = False
        self._clerk = ThreadPoolExecutor(1, "evenhand-desk")
        self._policy = ThreadPoolExecutor(4, "evenhand-policy")
        self._asked: dict[int, asyncio.Future[Any]] = {}  # of the policy, by campaign

    async def _seat(self, token: str) -> Seat:
        """Return whose token this is, as far as that does not change; or refuse."""
        seat = self._seats.get(token)
        if seat is None:
            loop = asyncio.get_running_loop()
            seat = await loop.run_in_executor(self._policy, self._new_seat, token)
            if len(self._seats) >= _MOST_SEATS:
                self._seats.clear()
            self._seats[token] = seat
        return seat

    def _new_seat(self, token: str) -> Seat:
        seat = Seat.of(known(self._store, token), self._opened)
        seat.follower.known()  # is loaded here, and not where others wait
        return seat

    async def ask(self, token: str) -> tuple[Seat, Asked | Nothing]:
        """Return who asks, and the ticket that is to be answered next."""
        seat, loop = await self._seat(token), asyncio.get_running_loop()
        follower = seat.follower
        while True:
            row = await self._done(token, seat.waiting)
            if row is not None:
                if row.number >= follower.refill_at:
                    follower.refill_at = math.inf
                    self._policy.submit(refill, follower)
                if not follower.known().knows(row.question):  # one that was added
                    await loop.run_in_executor(self._policy, follower.followed)
                return seat, seat.asked(follower.ticket(row))
            others = self._asked.get(follower.id)
            if others is None:
                asked = loop.run_in_executor(self._policy, seat.ask)
                self._asked[follower.id] = asked
                try:
                    return seat, await asked
                finally:
                    del self._asked[follower.id]
            await asyncio.wait([others])

    async def tell(
        self, token: str, ticket: str, score: float | str, note: str, attempt: int
    ) -> Receipt:
        """Take a score; the same again is the first receipt again."""
        seat = await self._seat(token)
        value = seat.typed(score) if isinstance(score, str) else score
        receipt: Receipt = await self._done(token, seat.telling(ticket, value, note, attempt))
        return receipt

    async def decline(self, token: str, ticket: str, reason: str) -> Notice:
        """Give a ticket back that the evaluator must not judge."""
        seat = await self._seat(token)
        notice: Notice = await self._done(token, seat.declining(ticket, reason))
        return notice

    async def progress(self, token: str) -> tuple[Seat, dict[str, int]]:
        """Return who asks, and how that evaluator stands."""
        loop = asyncio.get_running_loop()
        seat = await loop.run_in_executor(self._policy, self._new_seat, token)
        return seat, await loop.run_in_executor(self._policy, seat.progress)

    async def _done(self, token: str, work: Callable[[Session], Any]) -> Any:
        """Have work done in the next commit."""
        errand = _Errand(token, work, asyncio.get_running_loop().create_future())
        with self._lock:
            self._line.append(errand)
            begin, self._at_work = not self._at_work, True
        if begin:
            self._clerk.submit(self._serve)
        return await errand.outcome

    def _serve(self) -> None:
        """Do what is in the line, until nobody is."""
        while True:
            with self._lock:
                errands, self._line = self._line, []
                self._at_work = bool(errands)
            if not errands:
                return
            batch = _Batch(errands)
            try:
                _, *outcomes = self._store.write_all([batch.look, *batch.works()])
            except Exception as error:
                outcomes = [error] * len(errands)
            for loop in {errand.outcome.get_loop() for errand in errands}:
                with suppress(RuntimeError):  # it is over
                    loop.call_soon_threadsafe(_deliver, errands, outcomes, loop)


@dataclass(frozen=True)
class _Errand:
    token: str
    work: Callable[[Session], Any]
    outcome: asyncio.Future[Any]


class _Batch:
    """What is done in one commit, and which of its tokens are good."""

    def __init__(self, errands: list[_Errand]) -> None:
        self._errands, self._good = errands, set[str]()

    def look(self, session: Session) -> None:
        self._good = still_good(session, {errand.token for errand in self._errands})

    def works(self) -> Iterator[Callable[[Session], Any]]:
        for errand in self._errands:
            yield partial(self._run, errand)

    def _run(self, errand: _Errand, session: Session) -> Any:
        if errand.token not in self._good:
            return RefusedError(401, NOT_KNOWN)
        return refusable(errand.work, session)


def _deliver(errands: list[_Errand], outcomes: list[Any], loop: Any) -> None:
    for errand, outcome in zip(errands, outcomes, strict=True):
        future = errand.outcome
        if future.get_loop() is loop and not future.done():
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
