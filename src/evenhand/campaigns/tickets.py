"""What an ask comes to: a ticket, or nothing and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evenhand.answers.question import Question
from evenhand.errors import InputError

Reason = Literal["waiting", "not now", "left", "blocked", "finished", "paused"]


@dataclass(frozen=True)
class Ticket:
    """One evaluation that somebody is asked for, held until ``until``.

    Parameters
    ----------
    id
        How to name it when the score comes back, such as "17-9f3a2c".
    question
        What is asked.
    holder, worker
        Who has it, and for which of the holder's tickets at once.
    attempt
        How often it was handed out, this time included.
    until
        When it may go to somebody else, in seconds since 1970 by the database's clock. A score
        that comes later still counts unless another came first.
    shown
        What the evaluator is shown of the option beside its name; of two, of each.

    Examples
    --------
    >>> Ticket("17-9f3a2c", Question(2, "Cy", 17, "Paul"), "Paul", "", attempt=1, until=0.0).number
    17
    """

    id: str
    question: Question
    holder: str
    worker: str = field(repr=False)
    attempt: int = field(repr=False)
    until: float = field(repr=False)
    shown: tuple[Mapping[str, str], ...] = field(default=(), repr=False)

    @property
    def number(self) -> int:
        """Running number of the ticket in its campaign, from 1."""
        return parsed(self.id)[0]


@dataclass(frozen=True)
class NoTicket:
    """Nothing to do, why, and when to come back. It is false, where a ticket is true.

    Parameters
    ----------
    reason
        "waiting" for evaluations that are out, "not now" (others are to be asked, not this
        evaluator), "left" (this evaluator has), "blocked" (nothing can be asked until somebody
        mends it), "finished" or "paused".
    why
        The same in words.
    again_in
        Seconds after which asking may help; None if nobody can say, infinite if never.

    Examples
    --------
    >>> nothing = NoTicket("paused", "the campaign is paused", None)
    >>> bool(nothing), nothing.why
    (False, 'the campaign is paused')
    """

    reason: Reason
    why: str
    again_in: float | None

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Receipt:
    """What became of a score that was told.

    Parameters
    ----------
    evaluation
        Number of the evaluation in its campaign, to `Campaign.withdraw` it by.
    counted
        Whether it counts. One that comes after another for the same ticket, or after the decision,
        is kept and does not.
    repeated
        Whether it had been told before; then this is the first receipt again.
    why
        Why it does not count; "" if it does.

    Examples
    --------
    >>> Receipt(17, counted=True)
    Receipt(evaluation=17, counted=True, repeated=False, why='')
    """

    evaluation: int
    counted: bool
    repeated: bool = False
    why: str = ""


@dataclass(frozen=True)
class Notice:
    """What became of a ticket that was given back. It is false if nothing was done.

    Parameters
    ----------
    done
        Whether the ticket was the caller's to give back.
    why
        What became of it, in words.

    Examples
    --------
    >>> bool(Notice(False, "it was answered")), Notice(True, "it waits for the next try").why
    (False, 'it waits for the next try')
    """

    done: bool
    why: str

    def __bool__(self) -> bool:
        return self.done


def identifier(number: int, token: str) -> str:
    """Return the id of a ticket, as `parsed` reads it."""
    return f"{number}-{token}"


def parsed(id: object) -> tuple[int, str]:
    """Return number and token of a ticket's id, or say that it is none."""
    number, dash, token = str(id).strip().partition("-")
    if not (dash and number.isascii() and number.isdigit() and len(number) < 19 and token):
        raise InputError(f"a ticket looks like 17-9f3a2c; got {id!r}. Give what `ask` said.")
    return int(number), token
