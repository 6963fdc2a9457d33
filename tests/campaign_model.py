"""A campaign as plain lists in memory: who holds what until when, what counts, what is late.

Written from the rules, not from the code. It does not know what a policy will ask, or when it has
enough: `proposed` and `decided` tell it. All else it foretells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

SKEW = 5.0  # seconds by which the clock may go back and leave leases as they are


class RefusedError(Exception):
    """What the model refuses; nothing has changed."""


class ContradictionError(RefusedError):
    """What contradicts something said before; nothing has changed."""


@dataclass
class Slip:
    """A ticket."""

    token: str
    question: int
    evaluator: str
    state: str = "open"
    holder: str = ""
    worker: str = ""
    attempt: int = 0
    failures: int = 0
    leased: float = 0.0
    until: float = 0.0

    def live(self, now: float) -> bool:
        return self.state == "leased" and self.leased - SKEW <= now < self.until

    def waits(self, now: float) -> bool:
        return self.state == "open" or (self.state == "leased" and not self.live(now))


@dataclass
class Entry:
    """An evaluation."""

    ticket: int | None
    question: int
    score: float
    evaluator: str
    key: str
    standing: str


@dataclass
class Model:
    """A campaign, by its rules."""

    lease: float
    retries: int
    lost: int  # tries, at least, before a ticket that is lost with its holder is put aside
    status: str = "running"
    now: float = 0.0
    left: set[str] = field(default_factory=set)
    slips: dict[int, Slip] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def proposed(self, tickets: list[list[Any]], evaluator_of: list[str]) -> None:
        for number, token, question, _ in tickets:
            assert number == len(self.slips) + 1, "tickets are numbered from 1 on"
            self.slips[number] = Slip(token, question, evaluator_of[question])

    def decided(self) -> None:
        self.status = "finished"
        self._void(lambda slip: True)

    def _void(self, which: Callable[[Slip], bool]) -> None:
        for slip in self.slips.values():
            if slip.state in ("open", "leased") and which(slip):
                slip.state, slip.worker = "void", ""

    def held(self, holder: str, worker: str) -> list[int]:
        return [
            n
            for n, slip in self.slips.items()
            if slip.live(self.now) and (slip.holder, slip.worker) == (holder, worker)
        ]

    def free(self, whom: str) -> list[int]:
        return [
            n
            for n, slip in self.slips.items()
            if slip.waits(self.now)
            and not self._harmful(slip)
            and slip.evaluator == whom
            and self.status == "running"
        ]

    def _harmful(self, slip: Slip) -> bool:
        lost = slip.state == "leased" and not slip.live(self.now)
        return lost and slip.failures + 1 >= max(self.lost, self.retries + 1)

    def ask(self, whom: str, holder: str, worker: str, want: int) -> list[int]:
        """Hand out what there is: what is held first, then what waits, the oldest first."""
        if self.status != "running":
            return []
        held = self.held(holder, worker)[:want]
        new = self.free(whom)[: want - len(held)]
        for number in new:
            slip = self.slips[number]
            slip.failures += slip.state == "leased"  # who had it was lost
            slip.state, slip.holder, slip.worker = "leased", holder, worker
            slip.attempt += 1
            slip.leased, slip.until = self.now, self.now + self.lease
        if len(held + new) < want:  # then what is harmful is put aside, and more is asked for
            for slip in self.slips.values():
                if self._harmful(slip):
                    slip.failures += 1
                    self._give_back(slip, "failed")
        return held + new

    def tell(
        self, number: int, score: float, who: str | None, attempt: int | None, key: str | None
    ) -> tuple[int, bool, bool]:
        """Return the number of the evaluation, whether it counts, whether it was there before.

        Whoever gives a ticket's id alone (neither who nor which attempt) speaks for its holder, and
        repeats what he said at any attempt.
        """
        slip = self.slips[number]
        said = f"{number}-{slip.token}"
        names = [said, *(f"{said}.{n}" for n in range(2, slip.attempt + 1))]
        own = key
        if key is None:
            own = names[max(0, (slip.attempt if attempt is None else attempt) - 1)]
        who = (slip.holder or slip.evaluator) if who is None else who
        assert own is not None
        for name in names if key is None and attempt is None else [own]:
            for n, entry in enumerate(self.entries, start=1):
                if (entry.evaluator, entry.key) == (who, name):
                    same = (entry.ticket, entry.score) == (number, score)
                    if same:
                        return n, entry.standing == "counted", True
                    if name == own:
                        raise ContradictionError
        late = slip.state not in ("open", "leased") or self.status == "finished"
        standing = "late" if late else "counted"
        self.entries.append(Entry(number, slip.question, score, who, own, standing))
        if not late:
            slip.state, slip.holder = "done", who
        return len(self.entries), not late, False

    def known(self, scores: list[tuple[int, float, str, str]]) -> int:
        """Return how many of (question, score, evaluator, key) were told before."""
        told = {(e.evaluator, e.key): (e.question, e.score) for e in self.entries}
        known = 0
        for question, score, who, key in scores:
            if told.get((who, key), (question, score)) != (question, score):
                raise ContradictionError
            known += (who, key) in told
        return known

    def imported(self, scores: list[tuple[int, float, str, str]]) -> None:
        """Take logged scores, those that are new."""
        told = {(e.evaluator, e.key) for e in self.entries}
        self.entries += [
            Entry(None, question, score, who, key, "counted")
            for question, score, who, key in scores
            if (who, key) not in told
        ]

    def withdraw(self, evaluation: int) -> bool:
        """Return whether that is new; the ticket waits for another score."""
        if not 1 <= evaluation <= len(self.entries):
            raise RefusedError
        entry = self.entries[evaluation - 1]
        if entry.standing == "late":
            raise RefusedError
        if entry.standing == "withdrawn":
            return False
        entry.standing = "withdrawn"
        if entry.ticket is not None:
            slip = self.slips[entry.ticket]
            slip.attempt += 1
            self._give_back(slip, "void" if slip.evaluator in self.left else "open")
        self.reopen()
        return True

    def handle(self, how: str, number: int, attempt: int | None) -> bool:
        """Fail, release or renew a ticket; return whether it was the caller's."""
        slip = self.slips[number]
        if slip.state in ("done", "void") or attempt not in (None, slip.attempt):
            return False
        if slip.state != "leased":
            return how != "renew"
        if how == "renew":
            slip.leased, slip.until = self.now, self.now + self.lease
        else:
            slip.failures += how == "fail"
            given_up = how == "fail" and slip.failures > self.retries
            self._give_back(slip, "failed" if given_up else "open")
        return True

    def _give_back(self, slip: Slip, state: str) -> None:
        slip.state, slip.holder, slip.worker, slip.until = state, "", "", 0.0

    def pause(self) -> None:
        if self.status == "finished":
            raise RefusedError
        self.status = "paused"

    def resume(self) -> None:
        if self.status == "finished":
            raise RefusedError
        self.status = "running"

    def leave(self, evaluator: str) -> None:
        if evaluator not in self.left:
            self.left.add(evaluator)
            self._void(lambda slip: slip.evaluator == evaluator)

    def join(self, evaluator: str) -> None:
        if evaluator in self.left:
            self.left.remove(evaluator)
            self.reopen()

    def reopen(self) -> None:
        if self.status == "finished":
            self.status = "running"

    def count(self, **having: Any) -> int:
        """Return how many tickets or evaluations have these values."""
        ((name, value),) = having.items()
        rows: Any = self.entries if name == "standing" else self.slips.values()
        return sum(getattr(row, name) == value for row in rows)

    def tickets(self) -> dict[int, dict[str, Any]]:
        return {n: asdict(slip) for n, slip in self.slips.items()}

    def evaluations(self) -> dict[int, dict[str, Any]]:
        return {n: asdict(entry) for n, entry in enumerate(self.entries, start=1)}
