"""Events: what happened, one after another, each sealed to all before it.

The hash of an event is SHA-256 over the hash before it, its number, its time, its kind and its
body. So whoever knows the last hash knows whether any event was changed, left out or put in.

Bodies are JSON in one canonical form (`plain.canonical`). A record may come from a stranger: an
event's content is of the form that `KINDS` says, or refused in words.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from evenhand.errors import InputError
from evenhand.plain import LARGEST, Form, canonical, decoded, shown

Kind = Literal[
    "created",
    "planned",
    "proposed",
    "leased",
    "told",
    "late",
    "failed",
    "released",
    "renewed",
    "withdrawn",
    "imported",
    "declined",
    "left",
    "joined",
    "paused",
    "resumed",
    "extended",
    "alarmed",
    "decided",
]

_TICKETS = list[tuple[int, str, int, int]]  # number, token, question, turn
# number, ticket (none if it was imported), question, score, evaluator, key; by number what was
# said beside it, and what it cost if that is not its price
_SCORES = {
    "evaluations": list[tuple[int, int | None, int, float, str, str]],
    "notes?": dict[str, str],
    "costs?": dict[str, float],
}
# what somebody said; where nobody did, a code, with what it is about and how many times
_REASON = {"reason": str, "code?": str, "about?": str, "times?": int}
_SHOWN = dict[str, dict[str, str]]  # of options: texts by column
_SETTINGS = {
    "confidence": float,
    "tolerance": float,
    "lease": float,
    "retries": int,
    "noise_scale": float | None,
    "deviation": float | None,
    "scores": str | None,
    "bounds": tuple[float, float] | None,
    "grades": dict[str, float] | None,  # words that are scores
    "checks": bool,
    "seed": int,
    "looks": str | None,
    "top": int | None,  # how many options are wanted; None where those are
    "bar": float | None,  # that are worth more than this,
    "against": str | None,  # or than this one
    "best": str,  # which scores are: "high" or "low"; scores, bounds and bar are as users give them
    "shown": list[str],
}
KINDS: Mapping[Kind, Mapping[str, Any]] = {
    "created": {
        "name": str,
        "policy": dict[str, Any],
        "settings": _SETTINGS,
        "display": _SHOWN,
        "evenhand": str,
        "made": str,
        "texts?": dict[str, str],  # hashes of what evaluators are shown and told, by name
    },
    "planned": {"plan": dict[str, Any]},  # in force from here on; nothing of it was handed out
    "proposed": {"tickets": _TICKETS, "prices": list[float], "purpose": dict[str, Any]},
    "leased": {"tickets": list[int], "holder": str, "worker": str, "until": float},
    "told": _SCORES,
    "late": _SCORES,
    "imported": _SCORES,
    "failed": {"ticket": int, "holder": str, "given_up": bool} | _REASON,
    "released": {"ticket": int, "holder": str},
    "renewed": {"ticket": int, "holder": str, "until": float},
    "withdrawn": {
        "evaluation": int,
        "ticket": int | None,
        "blind": bool,  # decided without the score
        "reopened": bool,
    }
    | _REASON,
    # never to be asked again: a conflict of interest
    "declined": {"question": int, "holder": str, "reason": str, "tickets": list[int]},
    "left": {"evaluator": str, "tickets": list[int]} | _REASON,
    "joined": {"evaluator": str},
    "paused": _REASON,
    "resumed": {},
    "extended": {
        "at_most": int | None,
        "budget": float | None,
        "questions": dict[str, Any] | None,
        "numbers": list[int] | None,
        "display": _SHOWN,
    },
    "alarmed": {  # a finding without its message
        "assumption": str,
        "alarm": bool,
        "options": list[int],
        "concerns": list[str],
        "p_value": float | None,
    },
    "decided": {"answer": dict[str, Any], "because": str, "evaluations": int},  # numbers and codes
}
"""What an event of each kind says; see `plain.Form`. No sentence of ours is in it, only numbers,
codes, names, and what people said: words may be improved, and a record stays what it was.
"""

_FORMS: Mapping[str, Form] = {kind: Form(form) for kind, form in KINDS.items()}
_EVENT = (("number", int), ("at", float), ("kind", str), ("body", str), ("hash", bytes))
_LINE = Form({"at": float, "body": Any, "hash": str, "kind": str, "number": int})

TURNS = frozenset(
    (
        "planned",
        "proposed",
        "failed",
        "withdrawn",
        "imported",
        "declined",
        "left",
        "joined",
        "resumed",
        "extended",
        "decided",
    )
)
"""Kinds that a proposal has to know of: each makes a new version of the campaign."""

START = b"\0" * 32  # what the first event is sealed to
_LAST = 250_000_000_000.0  # seconds from 1970 to before the year 10,000


class Evaluation(NamedTuple):
    """A score as events tell it."""

    number: int  # in the campaign, from 1
    ticket: int | None  # the number of the ticket it answers; None if imported
    question: int  # its number
    score: float
    evaluator: str
    key: str  # what the message is known by
    note: str = ""  # what the evaluator said beside it
    cost: float | None = None  # what it really cost; None: its price


_IN_ROW = 6  # parts of an evaluation that events have in a row


def evaluations_to(evaluations: Iterable[Evaluation]) -> dict[str, Any]:
    """Return scores as an event says them."""
    given = list(evaluations)
    beside = {
        "notes": {str(one.number): one.note for one in given if one.note},
        "costs": {str(one.number): float(one.cost) for one in given if one.cost is not None},
    }
    said = {name: by_number for name, by_number in beside.items() if by_number}
    return {"evaluations": [list(one[:_IN_ROW]) for one in given]} | said


def evaluations_in(content: Mapping[str, Any]) -> list[Evaluation]:
    """Return the scores in what an event says."""
    notes, costs = content.get("notes", {}), content.get("costs", {})
    return [
        Evaluation._make((*row, notes.get(str(row[0]), ""), costs.get(str(row[0]))))
        for row in content["evaluations"]
    ]


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    number: int  # place in the log, from 1
    at: float  # seconds since 1970, by the database's clock: of no consequence for the order
    kind: str
    body: str  # the particulars, in canonical JSON
    hash: bytes  # the seal

    @property
    def content(self) -> Any:
        """The particulars as a plain value, of the form that `KINDS` says."""
        form = _FORMS.get(self.kind)
        try:
            if form is None:
                raise InputError("this evenhand knows no such kind.")
            content = decoded(self.body)
            form.check(content)
        except InputError as error:
            raise InputError(
                f"event {self.number} ({shown(self.kind)}) of the record cannot be read: "
                f"{str(error).rstrip('.')}; it may have been changed."
            ) from None
        return content


def read(number: Any, at: Any, kind: Any, body: Any, hash: Any) -> Event:
    """Return an event that comes from a store or a file, or say which part of it cannot be."""
    event = Event(number, at, kind, body, hash)
    for name, needed in _EVENT:
        if type(value := getattr(event, name)) is not needed:
            raise _changed(name, value)
    if not 0.0 <= at < _LAST:
        raise _changed("at", at)
    return event


def _changed(name: str, value: Any) -> InputError:
    return InputError(f"the {name} of an event cannot be {shown(value)}; it may have been changed.")


def sealed(before: bytes, number: int, at: float, kind: Kind, content: Mapping[str, Any]) -> Event:
    """Return a new event, sealed to the hash before it."""
    body = canonical(content)
    if len(body) > LARGEST:
        raise InputError(
            f"this takes {len(body):,} characters of the record, where {LARGEST:,} are possible; "
            "give less at once, or fewer questions."
        )
    try:
        return Event(number, at, kind, body, _hash(before, number, at, kind, body))
    except UnicodeEncodeError as error:
        near = body[max(0, error.start - 20) : error.end + 20]
        raise InputError(
            f"there is a character that is none in a text, in {near!r}; write it otherwise."
        ) from None


def seal(before: bytes, event: Event) -> bytes:
    """Return the hash that an event must have after the one before it."""
    return _hash(before, event.number, event.at, event.kind, event.body)


def _hash(before: bytes, number: int, at: float, kind: str, body: str) -> bytes:
    return hashlib.sha256(before + f"\n{number}\n{at!r}\n{kind}\n{body}".encode()).digest()


def as_line(event: Event) -> str:
    """Return an event as a line of JSON; its body is as it was sealed."""
    return (
        f'{{"at":{event.at!r},"body":{event.body},"hash":"{event.hash.hex()}",'
        f'"kind":{canonical(event.kind)},"number":{event.number}}}'
    )


def from_line(line: str) -> Event:
    """Return the event of a line that `as_line` wrote; refuse any other."""
    one = decoded(line)
    _LINE.check(one)
    try:
        hash = bytes.fromhex(one["hash"])
    except ValueError:
        raise InputError(f"hash: {shown(one['hash'])} is none.") from None
    event = read(one["number"], float(one["at"]), one["kind"], canonical(one["body"]), hash)
    if as_line(event) != line:
        raise InputError("there is more in it than what is sealed, or it is written otherwise.")
    return event


def events_in(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Give the events of a file that `Campaign.export` wrote, or say what is wrong with it."""
    name, number = os.fspath(path), 0
    try:
        with open(path, encoding="utf-8") as file:
            while text := file.readline(LARGEST + 1):
                number += 1
                yield from_line(text.removesuffix("\n"))
    except InputError as error:
        said = str(error).rstrip(".")
        raise InputError(
            f"{name}: line {number} is no event: {said}. Give what `export` wrote."
        ) from None
    except (OSError, UnicodeError) as error:
        raise InputError(f"{name} cannot be read: {error}.") from error
