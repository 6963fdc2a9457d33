"""A campaign, examined: does what was decided follow from what was evaluated?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.campaigns.proof.books import Books
from evenhand.campaigns.proof.derive import Conclusion, derive, disagreements
from evenhand.campaigns.proof.log import record_of
from evenhand.campaigns.proof.record import Record
from evenhand.errors import InputError


@dataclass(frozen=True, eq=False)
class Examination:
    """What came of an examination.

    Parameters
    ----------
    wrong
        What does not fit, or does not follow, in words; empty if all does.
    derived
        What was derived again from the evaluations.
    taken
        What was taken from the record, and could not be derived.
    close
        What is so close to a bound that rounding could decide it; what rests on it was not held
        against the record.
    decided
        Whether there was a decision to compare with.
    record, conclusion
        What was read, and what follows from it.
    """

    wrong: tuple[str, ...]
    derived: tuple[str, ...]
    taken: tuple[str, ...]
    close: tuple[str, ...]
    decided: bool
    record: Record
    conclusion: Conclusion

    def __str__(self) -> str:
        n = self.record.total
        parts = [f"{n:,} evaluations were read, and derived again: {', '.join(self.derived)}."]
        if self.taken:
            parts.append(f"Taken from the record: {'; '.join(self.taken)}.")
        if self.close:
            parts.append(f"Too close to tell: {'; '.join(self.close)}.")
        if self.wrong:
            parts.append("It does not agree: " + "; ".join(self.wrong) + ".")
        elif self.decided:
            parts.append("The decision follows from them.")
        else:
            parts.append("Nothing was decided yet.")
        return "\n".join(parts)


def examine(events: Iterable[tuple[str, Mapping[str, Any]]]) -> Examination:
    """Read the events of a campaign, kinds and particulars in order, and derive its decision.

    That is the last one that was made. Without one, what follows so far.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> policy = eh.CertainChoice(panel, at_most=50)
    >>> created = {"policy": policy.state(), "settings": {"tolerance": 0.0}}
    >>> asked = {"tickets": [[1, "ab", 2, 0]], "plan": policy.plan()}
    >>> told = {"evaluations": [[1, 1, 3, 7.5, "P", "a"]]}
    >>> examine([("created", created), ("proposed", asked), ("told", told)]).wrong
    ('event 3: evaluation 1 answers what ticket 1 did not ask',)
    """
    log = list(events)
    last = max((i for i, (kind, _) in enumerate(log) if kind == "decided"), default=None)
    books = Books()
    for number, (kind, content) in enumerate(log, start=1):
        books.read(number, kind, content)
    books.close()
    try:
        record = record_of(log if last is None else log[: last + 1])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the record cannot be read: {type(error).__name__}, {error}.") from error
    answer = None if last is None else log[last][1]["answer"]
    option = None
    if answer is not None and answer["option"] in record.asked.labels:
        option = record.asked.labels.index(answer["option"])
    conclusion = derive(record, option)
    wrong = list(books.wrong)
    if answer is not None:
        wrong += disagreements(record, conclusion, answer)
    found = conclusion.derived
    return Examination(
        tuple(wrong),
        tuple(found.derived),
        tuple(found.taken),
        tuple(found.close),
        answer is not None,
        record,
        conclusion,
    )
