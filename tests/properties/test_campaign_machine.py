"""Anything may happen to a campaign in any order: it stays what a plain model says that it is.

The model foretells who gets which ticket, what counts and what is late. After every step its
tickets and evaluations are those of the store, the log is sealed, and the rows are what it says.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import evenhand as eh
from campaign_model import ContradictionError, Model, RefusedError
from campaign_record import Record
from evenhand.campaigns import Campaign, NoTicket, Ticket, follower
from evenhand.campaigns.stores import Session
from evenhand.errors import ConflictError, InputError
from evenhand.questions import names_about

LEASE, RETRIES, LOST, AT_MOST = 60.0, 1, 2, 12
GROUPS = {"Ann": "home", "Bo": "away", "Çem": "home"}
JUDGES = {"Paul": "home", "Quinn": "away", "R. 'S'; --": "home"}
PLACES = {
    "panel": lambda: eh.Questions.panel(GROUPS, JUDGES, capacity=None),
    "once each": lambda: eh.Questions.panel(GROUPS, JUDGES),
    "anybody": lambda: eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 1.0]], ["a", "b", "a", "b"]
    ),
}
NAMES = itertools.count()

workers = st.sampled_from(["", "second"])
judges = st.integers(0, 2)
picks = st.integers(0, 10**6)  # one of what there is, by its remainder
scores = st.sampled_from([0.0, 1.0, 2.5, -3.0])
bad_scores = st.sampled_from([math.nan, math.inf, -math.inf, "many", None, [], True])


class Clock:
    """The time of every database, as the test says: all spans of time are whole seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1e9
        monkeypatch.setattr(Session, "time", lambda session, clock: self.now)


class Machine(RuleBasedStateMachine):
    """Two clients of one campaign, and the model."""

    def __init__(self, address: str, clock: Clock) -> None:
        super().__init__()
        self.address, self.clock = address, clock
        self.clients: list[Campaign] = []

    @initialize(place=st.sampled_from(sorted(PLACES)))
    def begin(self, place: str) -> None:
        self.name = f"{place} №{next(NAMES)}"
        asked = PLACES[place]()
        made = Campaign.create(
            self.address, self.name, asked, at_most=AT_MOST, lease=LEASE, retries=RETRIES
        )
        self.clients = [made, Campaign.open(self.address, self.name)]
        questions = eh.Questions.of(asked)
        self.names = list(questions.evaluators)
        self.labels = [names_about(questions, x)[0] for x in range(len(questions))]
        self.evaluator_of = [questions.evaluator_of(x) or "" for x in range(len(questions))]
        self.model = Model(LEASE, RETRIES, LOST, now=self.clock.now)
        self.tickets: list[Ticket] = []  # all that were ever handed out
        self.seen = 0

    def teardown(self) -> None:
        try:
            if self.clients:
                self.finish()
        finally:
            for client in self.clients:
                client.close()

    @rule(client=st.integers(0, 1), judge=judges, worker=workers, n=st.sampled_from([None, 1, 3]))
    def ask(self, client: int, judge: int, worker: str, n: int | None) -> None:
        holder = self.names[judge] if self.names else f"judge {judge}"
        whom = holder if self.names else ""
        want = 1 if n is None else n
        status = self.model.status
        got = self.clients[client].ask(holder, worker=worker, n=n)
        expected = self.model.ask(whom, holder, worker, want)
        self.follow(lambda: len(expected) < want)
        expected = self.model.ask(whom, holder, worker, want)
        tickets = [] if isinstance(got, NoTicket) else got if isinstance(got, list) else [got]
        assert [ticket.number for ticket in tickets] == expected
        self.tickets += [ticket for ticket in tickets if ticket not in self.tickets]
        for ticket in tickets:
            slip = self.model.slips[ticket.number]
            assert ticket.id == f"{ticket.number}-{slip.token}"
            assert (ticket.holder, ticket.worker) == (holder, worker)
            assert (ticket.attempt, ticket.until) == (slip.attempt, slip.until)
            assert (ticket.question.evaluator or "") == whom
        if isinstance(got, NoTicket):
            assert not got
            if status != "running":
                assert got.reason == status
            assert (got.reason == "finished") == (self.model.status == "finished")

    @rule(client=st.integers(0, 1), judge=judges)
    def be_lost(self, client: int, judge: int) -> None:
        """Take tickets and never be heard of again, as often as it takes to be feared."""
        for _ in range(LOST + 1):
            self.ask(client, judge, "", 3)
            self.the_store_is_what_the_model_says()
            self.wait(2 * LEASE)

    @precondition(lambda self: self.tickets)
    @rule(
        client=st.integers(0, 1),
        pick=picks,
        score=scores,
        key=st.sampled_from([None, None, "first", "zweiter Schlüssel"]),
        by_id=st.booleans(),
    )
    def tell(self, client: int, pick: int, score: float, key: str | None, by_id: bool) -> None:
        ticket, who, attempt = self.picked(pick, by_id)
        given = ticket.id if by_id else ticket
        try:
            expected = self.model.tell(ticket.number, score, who, attempt, key)
        except ContradictionError:
            with pytest.raises(ConflictError):
                self.clients[client].tell(given, score, key=key)
            return
        receipt = self.clients[client].tell(given, score, key=key)
        assert (receipt.evaluation, receipt.counted, receipt.repeated) == expected
        assert bool(receipt.why) != receipt.counted

    @precondition(lambda self: self.tickets)
    @rule(
        client=st.integers(0, 1),
        pick=picks,
        by_id=st.booleans(),
        how=st.sampled_from(["fail", "release", "renew"]),
    )
    def give_back_or_keep(self, client: int, pick: int, by_id: bool, how: str) -> None:
        ticket, _, attempt = self.picked(pick, by_id)
        expected = self.model.handle(how, ticket.number, attempt)
        more = ["it rains"] if how == "fail" else []
        got = getattr(self.clients[client], how)(ticket.id if by_id else ticket, *more)
        assert bool(got) == expected
        if isinstance(got, Ticket):
            slip = self.model.slips[got.number]
            assert (got.until, got.holder) == (slip.until, slip.holder)
            self.tickets.append(got)
        self.follow(lambda: False)

    @precondition(lambda self: self.model.entries)
    @rule(client=st.integers(0, 1), evaluation=st.integers(0, AT_MOST))
    def withdraw(self, client: int, evaluation: int) -> None:
        try:
            new = self.model.withdraw(evaluation)
        except RefusedError:
            with pytest.raises(InputError):
                self.clients[client].withdraw(evaluation, "a slip")
            return
        receipt = self.clients[client].withdraw(evaluation, "a slip")
        assert (receipt.counted, receipt.repeated) == (False, not new)

    @rule(client=st.integers(0, 1), how=st.sampled_from(["pause", "resume"]))
    def pause_or_resume(self, client: int, how: str) -> None:
        try:
            getattr(self.model, how)()
        except RefusedError:
            with pytest.raises(InputError):
                getattr(self.clients[client], how)()
            return
        getattr(self.clients[client], how)()

    @rule(client=st.integers(0, 1), judge=judges, how=st.sampled_from(["leave", "join"]))
    def leave_or_join(self, client: int, judge: int, how: str) -> None:
        if not self.names:
            with pytest.raises(InputError):
                getattr(self.clients[client], how)("judge 0")
            return
        getattr(self.model, how)(self.names[judge])
        getattr(self.clients[client], how)(self.names[judge])

    @rule(client=st.integers(0, 1), more=st.integers(1, 4))
    def extend(self, client: int, more: int) -> None:
        """Whether a policy can do with more is its own affair; if so, the campaign goes on."""
        with contextlib.suppress(InputError):
            self.clients[client].extend(at_most=AT_MOST + more)
        self.follow(lambda: False)

    @rule(client=st.integers(0, 1))
    def status(self, client: int) -> None:
        status, model = self.clients[client].status(), self.model
        leased = sum(slip.live(model.now) for slip in model.slips.values())
        waits = sum(slip.waits(model.now) for slip in model.slips.values())
        assert status.status == model.status
        assert status.evaluations == model.count(standing="counted")
        assert status.late == model.count(standing="late")
        assert status.withdrawn == model.count(standing="withdrawn")
        assert (status.open, status.leased) == (waits, leased)
        assert status.done == model.count(state="done")
        assert status.given_up == model.count(state="failed")
        assert status.void == model.count(state="void")
        assert {e.evaluator for e in status.evaluators if e.left is not None} == model.left

    @rule(
        client=st.integers(0, 1),
        lines=st.lists(st.tuples(picks, scores), min_size=1, max_size=2),
        key=st.sampled_from(["a", "b", "c"]),
    )
    def import_scores(self, client: int, lines: list[tuple[int, float]], key: str) -> None:
        """Whether a policy takes logged scores is its own affair; if not, none is taken."""
        chosen = [(pick % len(self.evaluator_of), score) for pick, score in lines]
        logged = [
            (x, score, self.evaluator_of[x], f"{key}{n}") for n, (x, score) in enumerate(chosen)
        ]
        try:
            known = self.model.known(logged)
        except ContradictionError:
            with pytest.raises(ConflictError):
                self.clients[client].import_scores(self.frame(logged), key="key")
            return
        try:
            imported = self.clients[client].import_scores(self.frame(logged), key="key")
        except InputError:
            assert known < len(logged)
            return
        assert (imported.counted, imported.repeated) == (len(logged) - known, known)
        self.model.imported(logged)

    @rule(client=st.integers(0, 1), pick=picks, how=st.sampled_from(["NaN", "missing", "extra"]))
    def import_what_cannot_be(self, client: int, pick: int, how: str) -> None:
        x = pick % len(self.evaluator_of)
        frame = self.frame(
            [(x, 1.0, self.evaluator_of[x], "k"), (x, 2.0, self.evaluator_of[x], "l")]
        )
        if how == "NaN":
            frame["score"] = [1.0, math.nan]
        elif how == "missing":
            del frame["option"]
        else:
            frame["colour"] = "red"
        with pytest.raises(InputError):
            self.clients[client].import_scores(frame, key="key")

    @precondition(lambda self: self.tickets)
    @rule(client=st.integers(0, 1), pick=picks, score=bad_scores)
    def tell_what_is_no_score(self, client: int, pick: int, score: object) -> None:
        with pytest.raises(InputError):
            self.clients[client].tell(self.tickets[pick % len(self.tickets)], score)

    @rule(client=st.integers(0, 1), number=st.integers(0, 30), token=st.sampled_from(["", "x"]))
    def tell_of_a_foreign_ticket(self, client: int, number: int, token: str) -> None:
        with pytest.raises(InputError):
            self.clients[client].tell(f"{number}-{token}", 1.0)

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE, 86400.0, -3.0, -86400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds
        self.model.now = self.clock.now

    @rule(client=st.integers(0, 1))
    def open_again(self, client: int) -> None:
        self.clients[client].close()
        self.clients[client] = Campaign.open(self.address, self.name)

    @rule(client=st.integers(0, 1))
    def answer(self, client: int) -> None:
        counted = sum(entry.standing == "counted" for entry in self.model.entries)
        answer = self.clients[client].answer()
        assert answer.spent + answer.policy.observed == counted

    def frame(self, logged: list[tuple[int, float, str, str]]) -> pd.DataFrame:
        """Return logged scores as a table."""
        frame = pd.DataFrame(
            {
                "option": [self.labels[x] for x, *_ in logged],
                "evaluator": [who for _, _, who, _ in logged],
                "score": [score for _, score, *_ in logged],
                "key": [key for *_, key in logged],
            }
        )
        return frame if self.names else frame.drop(columns="evaluator")

    def picked(self, pick: int, by_id: bool) -> tuple[Ticket, str | None, int | None]:
        """Return a ticket of before, and what telling of it says of who has it."""
        ticket = self.tickets[pick % len(self.tickets)]
        return (ticket, None, None) if by_id else (ticket, ticket.holder, ticket.attempt)

    def follow(self, short: Callable[[], bool]) -> None:
        """Let the model know what only a policy can: what it asks, only where too little waited."""
        record = Record(self.clients[0].store, self.name)
        for row in record.events[self.seen :]:
            content = row["content"]
            if row["kind"] == "proposed":
                assert short(), "a proposal though enough was waiting"
                self.model.proposed(content["tickets"], self.evaluator_of)
            elif row["kind"] == "decided":
                assert short()
                self.model.decided()
            elif row["kind"] == "extended":
                self.model.reopen()
            elif row["kind"] == "left" and content.get("code") == "failing":
                self.model.leave(content["evaluator"])
            elif row["kind"] == "paused" and "code" in content:
                self.model.pause()

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        if not self.clients:
            return
        record = Record(self.clients[0].store, self.name)
        assert record.complaints() == []
        self.seen = len(record.events)
        assert record.row["status"] == self.model.status
        for rows, expected in (
            (record.tickets, self.model.tickets()),
            (record.evaluations, self.model.evaluations()),
        ):
            found = {row["number"]: row for row in rows}
            assert found.keys() == expected.keys()
            for number, values in expected.items():
                assert {name: found[number][name] for name in values} == values

    def finish(self) -> None:
        """Nobody is stuck: once all are back and all leases over, it comes to an end."""
        self.wait(86400.0 * 3)
        client = self.clients[0]
        for name in sorted(self.model.left):
            client.join(name)
        if client.status().status == "paused":
            client.resume()
        for _ in range(6 * AT_MOST):
            for holder in self.names or ["anybody"]:
                got = client.ask(holder, worker="last")
                if got:
                    score = math.sin(got.number)
                    client.tell(got, score, key=f"last {got.id}.{got.attempt}")
                elif got.reason == "paused":  # many tickets were lost before, and are given up now
                    assert "in a row" in got.why
                    client.resume()
                elif got.reason == "finished":
                    assert Record(client.store, self.name).complaints() == []
                    return
        raise AssertionError(f"the campaign does not end: {got}")


def test_whatever_happens_the_model_says_it(
    store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(follower, "_LOST", LOST)
    run_state_machine_as_test(
        lambda: Machine(store_address, clock),
        settings=settings(
            max_examples=max(1, settings().max_examples // 4), stateful_step_count=30
        ),
    )
