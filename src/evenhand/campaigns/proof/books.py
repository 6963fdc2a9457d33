"""Whether the events of a log fit each other: what counts was asked for, and counts once.

A chain of hashes shows that a log was not changed since it was written. Who writes a whole new
chain has to make its events fit, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_MOST = 20  # misfits that are named


class Books:
    """Goes through the events, and takes down what does not fit.

    Attributes
    ----------
    wrong
        What does not fit, in words; the first twenty.
    counted
        How many evaluations count.

    Examples
    --------
    >>> books = Books()
    >>> books.read(1, "proposed", {"tickets": [[1, "ab", 5, 0]]})
    >>> books.read(2, "told", {"evaluations": [[1, 1, 5, 7.5, "P", "k"]]})
    >>> books.read(3, "told", {"evaluations": [[2, 1, 5, 7.5, "P", "l"]]})
    >>> books.wrong
    ['event 3: ticket 1 is answered twice']
    """

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.counted = 0
        self._asked: dict[int, int] = {}  # questions of tickets
        self._open: set[int] = set()  # tickets that may be answered
        self._numbers: set[int] = set()
        self._counts: dict[int, int | None] = {}  # tickets of evaluations that count
        self._keys: set[tuple[str, str]] = set()

    def read(self, event: int, kind: str, content: Mapping[str, Any]) -> None:
        """Take in an event."""
        wrong = len(self.wrong)
        read = getattr(self, f"_{kind}", None)
        if read is not None:
            read(content)
        self.wrong[wrong:] = [f"event {event}: {text}" for text in self.wrong[wrong:]]
        del self.wrong[_MOST:]

    def close(self) -> None:
        """See whether an evaluation is missing."""
        gaps = len(self._numbers) - max(self._numbers, default=0)
        if gaps and len(self.wrong) < _MOST:
            self.wrong.append(f"{-gaps} evaluations are missing: their numbers are skipped")

    def _proposed(self, content: Mapping[str, Any]) -> None:
        for number, _, question, _ in content["tickets"]:
            if number in self._asked:
                self.wrong.append(f"ticket {number} is made twice")
            self._asked[number] = question
            self._open.add(number)

    def _told(self, content: Mapping[str, Any]) -> None:
        for number, ticket, question, score, evaluator, key in content["evaluations"]:
            self._entered(number, score, evaluator, key)
            if self._asked.get(ticket) != question:
                self.wrong.append(f"evaluation {number} answers what ticket {ticket} did not ask")
            elif ticket not in self._open:
                self.wrong.append(f"ticket {ticket} is answered twice")
            self._open.discard(ticket)
            self._counts[number] = ticket
            self.counted += 1

    def _late(self, content: Mapping[str, Any]) -> None:
        for number, ticket, question, score, evaluator, key in content["evaluations"]:
            self._entered(number, score, evaluator, key)
            if self._asked.get(ticket) != question:
                self.wrong.append(f"evaluation {number} answers what ticket {ticket} did not ask")

    def _imported(self, content: Mapping[str, Any]) -> None:
        for number, _, _, score, evaluator, key in content["evaluations"]:
            self._entered(number, score, evaluator, key)
            self._counts[number] = None
            self.counted += 1

    def _entered(self, number: int, score: float, evaluator: str, key: str) -> None:
        if number in self._numbers:
            self.wrong.append(f"evaluation {number} is entered twice")
        if (evaluator, key) in self._keys:
            self.wrong.append(f"evaluation {number} has the key {key!r} of another one")
        if not math.isfinite(score):
            self.wrong.append(f"evaluation {number} has the score {score!r}")
        self._numbers.add(number)
        self._keys.add((evaluator, key))

    def _withdrawn(self, content: Mapping[str, Any]) -> None:
        number = content["evaluation"]
        if number not in self._counts:
            self.wrong.append(f"evaluation {number} is withdrawn, which does not count")
            return
        self.counted -= 1
        ticket = self._counts.pop(number)
        if ticket is not None and content["reopened"]:
            self._open.add(ticket)

    def _failed(self, content: Mapping[str, Any]) -> None:
        if content["given_up"]:
            self._open.discard(content["ticket"])

    def _left(self, content: Mapping[str, Any]) -> None:
        self._open.difference_update(content["tickets"])

    def _decided(self, content: Mapping[str, Any]) -> None:
        self._open.clear()
        if content["evaluations"] != self.counted:
            self.wrong.append(
                f"it is decided by {content['evaluations']} evaluations, but {self.counted} count"
            )
