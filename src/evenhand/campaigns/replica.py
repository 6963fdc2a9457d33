"""The replica: a policy as the log makes it, the same in every process.

A replica is a fold over the events. What was handed out is taken from the log and never derived
again; what was told is learnt in the order of the log. To learn is work, so a policy learns from
several evaluations at once where there are many already: when the share `_SHARE` of those before
has come. Where that falls depends on the log alone.

What is withdrawn was learnt before: then the fold begins anew, without it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from evenhand.arrays import Counts
from evenhand.campaigns.events import Event, canonical
from evenhand.policies.base import Policy
from evenhand.policies.messages import Feedback
from evenhand.policies.state import restore
from evenhand.policies.terms import afford_more
from evenhand.questions import Questions

FORMAT = 1
_SHARE = 1 / 32  # evaluations that are learnt together, of those learnt before


class OutdatedError(Exception):
    """An event takes back what was learnt: the fold must begin anew."""


class Replica:
    """What a campaign has come to.

    Parameters
    ----------
    withdrawn
        Numbers of the evaluations that do not count, though the log will tell them.

    Attributes
    ----------
    policy
        What asks.
    settings
        How the campaign was made.
    display
        What evaluators are shown of an option, by its name.
    head
        The last event that was folded in.
    version
        How many of the events were such that a proposal must know of them.
    pending
        (q,) evaluations on their way: in tickets, or told and not learnt yet.
    """

    policy: Policy
    settings: dict[str, Any]
    display: dict[str, dict[str, str]]

    def __init__(self, withdrawn: Iterable[int] = ()) -> None:
        self.withdrawn = set(withdrawn)
        self.head = self.version = 0
        self.status = "running"
        self.alarms: list[list[str]] = []
        self.given_up: list[list[Any]] = []
        self._out: dict[int, tuple[int, int]] = {}  # question and turn of unanswered tickets
        self._new: list[list[Any]] = []  # event, evaluation, question, score: told, not learnt
        self._held: list[list[Any]] = []  # likewise, learnt when the policy expects them
        self._learnt = 0

    # ------------------------------------------------------------------ the fold

    def fold(self, events: Iterable[Event]) -> None:
        """Take in the next events of the log."""
        for event in events:
            if event.number != self.head + 1:
                raise AssertionError(f"event {event.number} after {self.head}")
            getattr(self, f"_{event.kind}")(event, event.content)
            self.head = event.number

    def _created(self, event: Event, content: Any) -> None:
        self.policy = restore(content["policy"])
        self.settings, self.display = content["settings"], content["display"]
        q = len(self.policy.questions)
        self.pending: Counts = np.zeros(q, dtype=np.int64)
        self._issued: Counts = np.zeros(q, dtype=np.int64)
        self._returned: dict[int, list[int]] = {}  # turns that nobody answered, by question

    def _proposed(self, event: Event, content: Any) -> None:
        self.version += 1
        counts = np.zeros_like(self.pending)
        for number, _, question, turn in content["tickets"]:
            self._out[number] = question, turn
            counts[question] += 1
            if turn == self._issued[question]:
                self._issued[question] += 1
            else:
                self._returned[question].remove(turn)
        self.pending += counts
        _hand_out(self.policy, self.pending)

    def _told(self, event: Event, content: Any) -> None:
        for number, ticket, question, score, *_ in content["evaluations"]:
            out = self._out.pop(ticket)
            if number in self.withdrawn:
                self._return(*out)
            else:
                self._new.append([event.number, number, question, score])
        if len(self._new) >= 1 + int(self._learnt * _SHARE):
            self._learn()

    def _imported(self, event: Event, content: Any) -> None:
        self.version += 1
        self._learn()
        kept = [row for row in content["evaluations"] if row[0] not in self.withdrawn]
        if kept:
            self.policy.observe(self._feedback([row[2] for row in kept], [row[3] for row in kept]))

    def _withdrawn(self, event: Event, content: Any) -> None:
        self.version += 1
        if content["evaluation"] not in self.withdrawn:
            raise OutdatedError

    def _failed(self, event: Event, content: Any) -> None:
        if content["given_up"]:
            self.version += 1
            question, turn = self._out.pop(content["ticket"])
            self._return(question, turn)
            self.given_up.append([question, content["ticket"], content["reason"]])

    def _looked(self, event: Event, content: Any) -> None:
        self.version += 1
        self._learn(content["seen"])

    def _left(self, event: Event, content: Any) -> None:
        self.version += 1
        self._learn()
        self.policy.leave(content["evaluator"])

    def _joined(self, event: Event, content: Any) -> None:
        self.version += 1
        self._learn()
        self.policy.join(content["evaluator"])

    def _paused(self, event: Event, content: Any) -> None:
        self.status = "paused"

    def _resumed(self, event: Event, content: Any) -> None:
        self.status = "running"

    def _extended(self, event: Event, content: Any) -> None:
        self.version += 1
        self.status = "running"
        self._learn()
        if content.get("at_most") is not None:
            self.policy.allow(content["at_most"])
        if content.get("budget") is not None:
            afford_more(self.policy, content["budget"])

    def _alarmed(self, event: Event, content: Any) -> None:
        self.alarms.append([content["assumption"], content["text"]])

    def _decided(self, event: Event, content: Any) -> None:
        self.version += 1
        self.status = "finished"
        self._learn()
        for question, turn in self._out.values():
            self._return(question, turn)
        self._out.clear()

    def _leased(self, event: Event, content: Any) -> None:
        pass

    _released = _renewed = _late = _leased

    def _return(self, question: int, turn: int) -> None:
        """Take note that a ticket will not be answered."""
        self.pending[question] -= 1
        self._returned.setdefault(question, []).append(turn)

    # ------------------------------------------------------------------ learning

    def _learn(self, seen: int | None = None) -> None:
        """Have the policy learn what came, up to some event."""
        ready = [row for row in self._new if seen is None or row[0] <= seen]
        self._new = self._new[len(ready) :]
        if not ready:
            return
        self._learnt += len(ready)
        feedback = self._feedback([row[2] for row in ready], [row[3] for row in ready])
        if not self._held and self.policy.expects(feedback):
            self.policy.tell(feedback)
            self.pending -= feedback.counts
            return
        self._held += ready
        self._learn_held()

    def _learn_held(self) -> None:
        """Offer what the policy did not expect, as long as it takes some of it."""
        taken = True
        while taken and self._held:
            taken, rest = False, []
            for row in self._held:
                one = self._feedback([row[2]], [row[3]])
                if self.policy.expects(one):
                    self.policy.tell(one)
                    self.pending -= one.counts
                    taken = True
                else:
                    rest.append(row)
            self._held = rest

    def _feedback(self, questions: list[int], scores: list[float]) -> Feedback:
        q, values = len(self.pending), np.asarray(scores, dtype=np.float64)
        return Feedback(
            np.bincount(questions, minlength=q),
            np.bincount(questions, values, minlength=q),
            np.bincount(questions, values**2, minlength=q),
        )

    # ------------------------------------------------------------------ what to ask

    @property
    def has_news(self) -> bool:
        """Whether there are evaluations that the policy has not learnt."""
        return bool(self._new)

    def wanted(self, evaluator: str | None, n: int) -> list[tuple[int, int, str]]:
        """Return question, turn and evaluator of what to ask next, n at most, in a random order."""
        questions = self.policy.questions
        if evaluator is None:
            counts = self.policy.ask(n, self.pending).counts
        else:
            counts = self.policy.ask(n, self.pending, available=[evaluator]).counts
        (chosen,) = np.nonzero(counts)
        order = np.repeat(chosen, counts[chosen])
        rng = np.random.default_rng([self.settings["seed"], self.version])
        rng.shuffle(order)
        issued: dict[int, int] = {}
        returned: dict[int, list[int]] = {}
        wanted = []
        for x in order.tolist():
            turn = issued.get(x, int(self._issued[x]))
            spare = returned.setdefault(x, list(self._returned.get(x, ())))
            if turn >= questions.capacity[x] and spare:
                turn = spare.pop(0)
            else:
                issued[x] = turn + 1
            wanted.append((x, turn, questions.evaluator_of(x) or ""))
        return wanted

    # ------------------------------------------------------------------ the answer and snapshots

    def up_to_date(self) -> Policy:
        """Return the policy with all that came learnt; a copy if that is more than the log says."""
        if not self._new:
            return self.policy
        kept = Replica.from_snapshot(*self.snapshot())
        kept._learn()
        return kept.policy

    def snapshot(self) -> tuple[bytes, bytes]:
        """Return the replica as bytes, and their digest."""
        content = {
            "policy": self.policy.state(),
            "settings": self.settings,
            "display": self.display,
            "withdrawn": sorted(self.withdrawn),
            "head": self.head,
            "version": self.version,
            "status": self.status,
            "alarms": self.alarms,
            "given_up": self.given_up,
            "out": [[number, *out] for number, out in self._out.items()],
            "new": self._new,
            "held": self._held,
            "learnt": self._learnt,
            "pending": _sparse(self.pending),
            "issued": _sparse(self._issued),
            "returned": [[x, turns] for x, turns in self._returned.items() if turns],
        }
        body = zlib.compress(canonical(content).encode(), 1)
        return body, hashlib.sha256(body).digest()

    @classmethod
    def from_snapshot(cls, body: bytes, digest: bytes) -> Replica:
        """Return the replica that a snapshot was taken of; ValueError if it was changed."""
        if hashlib.sha256(body).digest() != digest:
            raise ValueError("the snapshot was changed")
        content = json.loads(zlib.decompress(body))
        replica = cls(content["withdrawn"])
        replica.policy = restore(content["policy"])
        for name in ("settings", "display", "head", "version", "status", "alarms", "given_up"):
            setattr(replica, name, content[name])
        replica._out = {number: (question, turn) for number, question, turn in content["out"]}
        replica._new, replica._held = content["new"], content["held"]
        replica._learnt = content["learnt"]
        q = len(replica.policy.questions)
        replica.pending, replica._issued = (
            _dense(content["pending"], q),
            _dense(content["issued"], q),
        )
        replica._returned = {x: turns for x, turns in content["returned"]}
        return replica

    @property
    def questions(self) -> Questions:
        """What can be asked."""
        return self.policy.questions


def _hand_out(policy: Policy, pending: Counts) -> None:
    """Take note in a policy of what is on its way by the record."""
    np.maximum(policy._outstanding, pending, out=policy._outstanding)
    policy._answers.clear()


def _sparse(counts: Counts) -> list[list[int]]:
    (where,) = np.nonzero(counts)
    return [where.tolist(), counts[where].tolist()]


def _dense(kept: list[list[int]], q: int) -> Counts:
    counts: Counts = np.zeros(q, dtype=np.int64)
    counts[kept[0]] = kept[1]
    return counts
