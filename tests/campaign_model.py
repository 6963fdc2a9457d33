"""A campaign as plain lists in memory: who holds what until when, what counts, what is late.

Written from the rules, not from the code. It does not know what a policy will ask, or when it has
enough: `proposed` and `decided` tell it. All else it foretells.
"""

from __future__ import annotations

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
    status: str = "running"
    now: float = 0.0
    slips: dict[int, Slip] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    # ------------------------------------------------------------------ what a policy says

    def proposed(self, tickets: list[list[Any]], evaluator_of: list[str]) -> None:
        for number, token, question, _ in tickets:
            assert number == len(self.slips) + 1, "tickets are numbered from 1 on"
            self.slips[number] = Slip(token, question, evaluator_of[question])

    def decided(self) -> None:
        self.status = "finished"
        for slip in self.slips.values():
            if slip.state in ("open", "leased"):
                slip.state, slip.worker = "void", ""

    # ------------------------------------------------------------------ asking

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
            if slip.waits(self.now) and slip.evaluator == whom and self.status == "running"
        ]

    def ask(self, whom: str, holder: str, worker: str, want: int) -> list[int]:
        """Hand out what there is: what is held first, then what waits, the oldest first."""
        if self.status != "running":
            return []
        held = self.held(holder, worker)[:want]
        new = self.free(whom)[: want - len(held)]
        for number in new:
            slip = self.slips[number]
            slip.state, slip.holder, slip.worker = "leased", holder, worker
            slip.attempt += 1
            slip.leased, slip.until = self.now, self.now + self.lease
        return held + new

    # ------------------------------------------------------------------ telling

    def tell(self, number: int, score: float, who: str | None, key: str) -> tuple[int, bool, bool]:
        """Return the number of the evaluation, whether it counts, whether it was there before."""
        slip = self.slips[number]
        who = slip.holder if who is None else who
        for n, entry in enumerate(self.entries, start=1):
            if (entry.evaluator, entry.key) == (who, key):
                if (entry.ticket, entry.score) != (number, score):
                    raise ContradictionError
                return n, entry.standing == "counted", True
        late = slip.state not in ("open", "leased") or self.status == "finished"
        self.entries.append(
            Entry(number, slip.question, score, who, key, "late" if late else "counted")
        )
        if not late:
            slip.state, slip.until = "done", 0.0
        return len(self.entries), not late, False

    # ------------------------------------------------------------------ what rows should say

    def tickets(self) -> dict[int, dict[str, Any]]:
        return {n: asdict(slip) for n, slip in self.slips.items()}

    def evaluations(self) -> dict[int, dict[str, Any]]:
        return {n: asdict(entry) for n, entry in enumerate(self.entries, start=1)}
