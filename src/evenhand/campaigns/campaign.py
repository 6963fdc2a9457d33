"""A campaign: evaluations by many people or models, over days, kept in a store.

Every operation is one transaction: one or more events at the end of the log, and the rows that they
change. Operations find their own traces, so doing one again after a fault does no harm: who asks
again gets the same ticket, who tells again the same receipt. What to ask next is worked out outside
of any transaction, by a `Replica` that follows the log, and put in only if nobody else put
something in meanwhile.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping
from typing import Any, Self, overload

from evenhand.answers.answer import Answer, answer_of
from evenhand.answers.choose import asked_of, notes_on, policy_for
from evenhand.answers.question import Failure, Question, question_of
from evenhand.answers.scores import Bounds, Kind, Scores, compares
from evenhand.campaigns import ledger
from evenhand.campaigns.ledger import EvaluationRow, Page, TicketRow
from evenhand.campaigns.replica import FORMAT, OutdatedError, Replica
from evenhand.campaigns.stores import Store, open_store
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.tickets import NoTicket, Receipt, Ticket, identifier, parsed
from evenhand.errors import ConflictError, InputError
from evenhand.policies.base import Policy
from evenhand.questions import Askable, Questions, checked_askable

_MOST_AHEAD = 256  # tickets that are made before anybody asks for them
_AHEAD = 1 / 32  # likewise, as a share of the evaluations so far
_PIECE = 4096  # events that are read at once
_SNAPSHOT = 512  # events between two snapshots


class Campaign:
    """Evaluations by many, over days, kept in a store.

    `create` begins one, `open` goes on with one, from any process.

    Attributes
    ----------
    name
        Its name in the store.
    store
        Where it is kept.

    Examples
    --------
    >>> import tempfile, os
    >>> import evenhand as eh
    >>> folder = tempfile.TemporaryDirectory()
    >>> panel = eh.Questions.panel({"Ann": "home", "Bo": "away"}, {"Paul": "home", "Quinn": "away"},
    ...                            capacity=None)
    >>> campaign = eh.Campaign.create(os.path.join(folder.name, "prize.db"), "prize", panel)
    >>> ticket = campaign.ask("Paul")
    >>> campaign.tell(ticket, 7.5).counted
    True
    >>> campaign.close()
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, name: str, id: int) -> None:
        self.store, self.name, self._id = store, name, id
        self._lock = threading.RLock()
        self._replica: Replica | None = None
        self._last_snapshot = 0

    # ------------------------------------------------------------------ beginning

    @classmethod
    def create(
        cls,
        store: str | os.PathLike[str] | Store,
        name: str,
        questions: Askable,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        at_most: int | None = None,
        *,
        budget: float | None = None,
        policy: Policy | None = None,
        lease: float = 3600.0,
        retries: int = 2,
        noise_scale: float | None = None,
        deviation: float | None = None,
        scores: Kind | None = None,
        bounds: Bounds | None = None,
        checks: bool = True,
        looks: Any = None,
        seed: int = 0,
        display: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Self:
        """Begin a campaign."""
        checked_askable(questions)
        asked = asked_of(questions, deviation)
        reading = Scores(scores, bounds, comparing=compares(Questions.of(asked)))
        if policy is None:
            settings: dict[str, Any] = {
                "at_most": at_most,
                "confidence": confidence,
                "tolerance": tolerance,
                "noise_scale": noise_scale,
                "bounds": reading.limits,
                "seed": seed,
            }
            policy = policy_for(asked, deviation, checks, looks, budget, settings)
        content = {
            "policy": policy.state(),
            "settings": {
                "confidence": confidence,
                "tolerance": tolerance,
                "lease": lease,
                "retries": retries,
                "deviation": deviation,
                "scores": scores,
                "bounds": None if bounds is None else list(bounds),
                "checks": checks,
                "seed": seed,
            },
            "display": {o: dict(columns) for o, columns in (display or {}).items()},
        }
        opened = open_store(store)

        def begin(session: Session) -> int:
            if ledger.find(session, name) is not None:
                raise ConflictError(
                    f"there is a campaign {name!r} in the store already; open it, or choose "
                    "another name."
                )
            page = Page.new(session, name)
            page.append("created", content)
            page.close()
            return page.id

        return cls(opened, name, opened.write(begin))

    @classmethod
    def open(cls, store: str | os.PathLike[str] | Store, name: str) -> Self:
        """Go on with a campaign."""
        opened = open_store(store, must_exist=True)
        id = opened.read(lambda session: ledger.find(session, name))
        if id is None:
            known = sorted(opened.read(ledger.names))
            raise InputError(f"there is no campaign {name!r} in the store; there are {known!r}.")
        return cls(opened, name, id)

    # ------------------------------------------------------------------ asking and telling

    @overload
    def ask(self, evaluator: str | None = None, *, worker: str = "") -> Ticket | NoTicket: ...

    @overload
    def ask(
        self, evaluator: str | None = None, *, worker: str = "", n: int
    ) -> list[Ticket] | NoTicket: ...

    def ask(
        self, evaluator: str | None = None, *, worker: str = "", n: int | None = None
    ) -> Ticket | list[Ticket] | NoTicket:
        """Return what an evaluator is to evaluate next: the open ticket again if there is one."""
        whom = self._whom(self._known(), evaluator)
        holder, want = evaluator or "", 1 if n is None else n
        while True:
            got = self.store.write(lambda s: self._handed_out(s, whom, holder, worker, want))
            if not got:
                got = self._proposed(whom, holder, worker, want)
            if isinstance(got, NoTicket):
                return got
            if got:
                tickets = [self._ticket(row) for row in got]
                return tickets[0] if n is None else tickets

    def _handed_out(
        self, session: Session, whom: str | None, holder: str, worker: str, want: int
    ) -> list[TicketRow] | NoTicket:
        """Return tickets that are held, or wait to be."""
        page = Page(session, self._id)
        if page.status != "running":
            return _nothing_now(page)
        got = self._leased(page, whom, holder, worker, want)
        page.close()
        return got

    def _leased(
        self, page: Page, whom: str | None, holder: str, worker: str, want: int
    ) -> list[TicketRow]:
        held = page.held(holder, worker, want)
        if len(held) == want:
            return held
        until = page.now + self._settings["lease"]
        new = page.lease(whom or "", holder, worker, until, want - len(held))
        if new:
            page.append(
                "leased",
                {
                    "tickets": [row.number for row in new],
                    "holder": holder,
                    "worker": worker,
                    "until": until,
                },
            )
        return held + new

    def _proposed(
        self, whom: str | None, holder: str, worker: str, want: int
    ) -> list[TicketRow] | NoTicket:
        """Have the policy say what to ask, and hand it out; [] to try again."""
        with self._lock:
            replica = self._followed()
            others = self.store.read(lambda s: Page(s, self._id, lock=False).at_work(whom or ""))
            ahead = min(_MOST_AHEAD, max(others, int(_AHEAD * replica.policy.spent)))
            wanted = replica.wanted(whom, want + ahead)
            version, head = replica.version, replica.head
            finished = not wanted and replica.policy.finished and not replica.has_news
            purpose: dict[str, Any] = {}

        def put_in(session: Session) -> list[TicketRow] | NoTicket:
            page = Page(session, self._id)
            if page.status != "running":
                return _nothing_now(page)
            if page.version != version:
                return []
            if wanted:
                made = page.issue(wanted)
                page.append("proposed", {"tickets": made, "seen": head, "purpose": purpose})
                page.version += 1
                got: list[TicketRow] | NoTicket = self._leased(page, whom, holder, worker, want)
            elif replica.has_news:
                page.append("looked", {"seen": head})
                page.version += 1
                got = []
            elif finished:
                self._decide(page)
                got = _nothing_now(page)
            else:
                got = _waiting(page)
            page.close()
            return got

        got = self.store.write(put_in)
        self._keep_snapshot()
        return got

    def _decide(self, page: Page) -> None:
        answer = self.answer()
        page.append(
            "decided",
            {"option": answer.label, "sure": answer.sure, "because": answer.stopped_because},
        )
        page.void()
        page.version += 1
        page.status = "finished"

    def tell(self, ticket: Ticket | str, score: object, *, key: str | None = None) -> Receipt:
        """Take the score of a ticket; once it is acknowledged, it is not lost."""
        id = ticket.id if isinstance(ticket, Ticket) else str(ticket)
        number, token = parsed(id)
        self._known()

        def work(session: Session) -> Receipt:
            page = Page(session, self._id)
            row = self._own(page, number, token, id)
            value = self._reading.read(self._question(row), score)
            who = ticket.holder if isinstance(ticket, Ticket) else row.holder
            said = id if key is None else key
            before = page.by_key(who, said)
            if before is not None:
                if before.ticket != number or before.score != value:
                    raise ConflictError(
                        f"{said!r} was told before, of ticket {before.ticket} with score "
                        f"{before.score!r}; now it is ticket {number} with {value!r}. Nothing was "
                        "changed; withdraw the first if it was a slip."
                    )
                return Receipt(before.number, before.standing == "counted", repeated=True)
            late = row.state not in ("open", "leased") or page.status == "finished"
            page.evaluations += 1
            entry = [page.evaluations, number, row.question, value, who, said]
            at = page.append("late" if late else "told", {"evaluations": [entry]})
            standing = "late" if late else "counted"
            page.enter([EvaluationRow(*entry, standing, at)])  # type: ignore[arg-type]
            if not late:
                page.counted += 1
                page.settle(row, "done")
            page.close()
            return Receipt(page.evaluations, not late)

        return self.store.write(work)

    def fail(self, ticket: Ticket | str, reason: str) -> None:
        """Give a ticket back that could not be answered; after some tries it is given up."""
        raise NotImplementedError

    # ------------------------------------------------------------------ the answer

    def answer(self) -> Answer:
        """Return what the evaluations so far say."""
        with self._lock:
            replica = self._followed()
            policy = replica.up_to_date()
            settings = replica.settings
            if policy.spent + policy.observed > 0:
                policy.checks.look()
            return answer_of(
                policy,
                confidence=settings["confidence"],
                tolerance=settings["tolerance"],
                features_exact=settings["deviation"] == 0,
                failures=[
                    Failure(question_of(policy.questions, x, number), reason, settings["retries"])
                    for x, number, reason in replica.given_up
                ],
                notes=notes_on(policy, settings["checks"]),
            )

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    # ------------------------------------------------------------------ following the log

    def _known(self) -> Replica:
        """Return the replica, whether or not it has the newest events: the questions are there."""
        return self._followed() if self._replica is None else self._replica

    def _followed(self) -> Replica:
        """Return the replica with all events of the log in it."""
        with self._lock:
            if self._replica is None:
                self._replica = self._loaded()
            try:
                self._follow(self._replica)
            except OutdatedError:
                self._replica = self._loaded()
                self._follow(self._replica)
            return self._replica

    def _follow(self, replica: Replica) -> None:
        while True:
            events = self.store.read(
                lambda s: ledger.events_after(s, self._id, replica.head, _PIECE)
            )
            replica.fold(events)
            if len(events) < _PIECE:
                return

    def _loaded(self) -> Replica:
        """Return the newest snapshot that can be used, or the beginning."""
        withdrawn, kept = self.store.read(
            lambda s: (ledger.withdrawn(s, self._id), ledger.snapshots(s, self._id))
        )
        for event, format, body, digest in kept:
            if format != FORMAT:
                continue
            try:
                replica = Replica.from_snapshot(body, digest)
            except ValueError:
                continue
            if replica.withdrawn == withdrawn and replica.head == event:
                self._last_snapshot = event
                self._made_of(replica)
                return replica
        replica = Replica(withdrawn)
        replica.fold(self.store.read(lambda s: ledger.events_after(s, self._id, 0, 1)))
        self._made_of(replica)
        return replica

    def _made_of(self, replica: Replica) -> None:
        settings = replica.settings
        bounds = settings["bounds"]
        self._settings = settings
        self._reading = Scores(
            settings["scores"],
            None if bounds is None else tuple(bounds),
            comparing=compares(replica.questions),
        )

    def _keep_snapshot(self) -> None:
        with self._lock:
            replica = self._replica
            if replica is None or replica.head - self._last_snapshot < _SNAPSHOT:
                return
            body, digest = replica.snapshot()
            head, before = replica.head, self._last_snapshot
            known = {
                event for event, *_ in self.store.read(lambda s: ledger.snapshots(s, self._id))
            }
            if head not in known:
                self.store.write(
                    lambda s: ledger.keep_snapshot(s, self._id, head, FORMAT, body, digest, before)
                )
            self._last_snapshot = head

    # ------------------------------------------------------------------ small things

    def _whom(self, replica: Replica, evaluator: str | None) -> str | None:
        """Return whose questions an evaluator answers; None where they are anybody's."""
        names = replica.questions.evaluators
        if not names:
            return None
        if evaluator not in names:
            raise InputError(f"there is no evaluator {evaluator!r}; there are {names!r}.")
        return evaluator

    def _own(self, page: Page, number: int, token: str, id: str) -> TicketRow:
        row = page.ticket(number)
        if row is None or row.token != token:
            raise InputError(
                f"there is no ticket {id!r} in campaign {self.name!r}; give what ask() returned."
            )
        return row

    def _question(self, row: TicketRow) -> Question:
        assert self._replica is not None
        return question_of(self._replica.questions, row.question, row.number, row.turn)

    def _ticket(self, row: TicketRow) -> Ticket:
        question = self._question(row)
        assert self._replica is not None
        display = self._replica.display
        return Ticket(
            identifier(row.number, row.token),
            question,
            row.holder,
            row.worker,
            row.attempt,
            row.until,
            tuple(display.get(label, {}) for label in question.labels),
        )


def _nothing_now(page: Page) -> NoTicket:
    if page.status == "finished":
        return NoTicket("finished", "the campaign is finished", math.inf)
    return NoTicket("paused", "the campaign is paused", None)


def _waiting(page: Page) -> NoTicket:
    out = page.waiting()
    again = None if out.first_until is None else max(0.0, out.first_until - page.now)
    if out.leased:
        return NoTicket("waiting", f"waiting for {out.leased} evaluations that are out", again)
    return NoTicket("not now", "nothing is to be asked of this evaluator now", None)
