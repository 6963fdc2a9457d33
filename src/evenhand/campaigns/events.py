"""Events: what happened, one after another, each sealed to all before it.

The hash of an event is SHA-256 over the hash before it, its number, its time, its kind and its
body. So whoever knows the last hash knows whether any event was changed, left out or put in.

Bodies are JSON in one canonical form: names in order, no spaces, numbers as Python writes them,
which gives every float back exactly. Numbers that are not finite have no place in them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.errors import InputError

Kind = Literal[
    "created",  # {policy, settings, display, evenhand, made}
    "planned",  # {plan}: in force from here on, before anything of it is handed out
    "proposed",  # {tickets: [[number, token, question, turn]], prices, purpose}
    "leased",  # {tickets, holder, worker, until}
    "told",  # {evaluations: [[number, ticket, question, score, evaluator, key]], notes}
    "late",  # {evaluations, notes: likewise}; notes, by number, if there are any
    "failed",  # {ticket, holder, reason, given_up}
    "released",  # {ticket, holder}
    "renewed",  # {ticket, holder, until}
    "withdrawn",  # {evaluation, ticket, reason, reopened}
    "imported",  # {evaluations: likewise, without tickets}
    "left",  # {evaluator, reason, tickets}
    "joined",  # {evaluator}
    "paused",  # {reason}
    "resumed",  # {}
    "extended",  # {at_most, budget, questions, numbers, display}
    "alarmed",  # {assumption, text}
    "decided",  # {answer, because, evaluations}
]

TURNS = frozenset(
    (
        "planned",
        "proposed",
        "failed",
        "withdrawn",
        "imported",
        "left",
        "joined",
        "resumed",
        "extended",
        "decided",
    )
)
"""Kinds that a proposal has to know of: each makes a new version of the campaign."""

START = b"\0" * 32  # what the first event is sealed to


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Parameters
    ----------
    number
        Its place in the log, from 1.
    at
        When, in seconds since 1970, by the database's clock: of no consequence for the order.
    kind
        What happened.
    body
        The particulars, in canonical JSON.
    hash
        The seal.

    Examples
    --------
    >>> first = sealed(START, 1, 0.0, "paused", {"reason": "lunch"})
    >>> first.content, first.hash == seal(START, first)
    ({'reason': 'lunch'}, True)
    """

    number: int
    at: float
    kind: str
    body: str
    hash: bytes

    @property
    def content(self) -> Any:
        """The particulars as a plain value."""
        return json.loads(self.body)


def sealed(before: bytes, number: int, at: float, kind: Kind, content: Mapping[str, Any]) -> Event:
    """Return a new event, sealed to the hash before it."""
    event = Event(number, at, kind, canonical(content), b"")
    try:
        return Event(number, at, kind, event.body, seal(before, event))
    except UnicodeEncodeError as error:
        near = event.body[max(0, error.start - 20) : error.end + 20]
        raise InputError(
            f"there is a character that is none in a text, in {near!r}; write it otherwise."
        ) from None


def seal(before: bytes, event: Event) -> bytes:
    """Return the hash that an event must have after the one before it."""
    line = f"\n{event.number}\n{event.at!r}\n{event.kind}\n{event.body}"
    return hashlib.sha256(before + line.encode()).digest()


def canonical(content: Any) -> str:
    """Return a plain value as JSON in its one canonical form.

    Examples
    --------
    >>> canonical({"b": [1, 0.5], "a": "é"})
    '{"a":"é","b":[1,0.5]}'
    """
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
