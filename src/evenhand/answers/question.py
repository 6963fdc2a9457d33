"""What an evaluator is asked, and what becomes of a question that nobody could answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.questions import Questions, names_about
from evenhand.report.words import visible


@dataclass(frozen=True)
class Question:
    """One evaluation that is wanted: what `choose` hands to ``evaluate``.

    It names the option and who is asked, and nothing else: evaluators see neither groups nor the
    features that the choice is made by, nor what others said.

    Parameters
    ----------
    option, label
        Index and name of the option to evaluate. In a comparison, the index of the first of the
        two, and 'Ann against Bo'.
    number
        Running number of the question, from 1. A question that is tried again keeps it.
    evaluator
        Who is asked; None where there is one evaluator.
    options, labels
        Indices and names of what the question is about: one, or in a comparison two, of which the
        first is to be named first. Items that cannot be chosen come after the options.
    price
        What an answer costs.
    index
        Which of the `Questions` it is; the option's index where each is its own question.
    turn
        Running number among the questions of the same ``index``, from 0: no two answers of a run
        have the same, and a question that may be asked n times has those below n.

    Examples
    --------
    >>> Question(option=2, label="Cy", number=1)
    Question(option=2, label='Cy', number=1, evaluator=None)
    >>> Question(0, "Ann against Bo", 7, "judge 1", (0, 1), ("Ann", "Bo")).labels
    ('Ann', 'Bo')
    """

    option: int
    label: str
    number: int
    evaluator: str | None = None
    options: tuple[int, ...] = field(default=(), repr=False)
    labels: tuple[str, ...] = field(default=(), repr=False)
    price: float = field(default=1.0, repr=False)
    index: int = field(default=-1, repr=False)
    turn: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if not self.options:
            object.__setattr__(self, "options", (self.option,))
        if not self.labels:
            object.__setattr__(self, "labels", (self.label,))
        if self.index < 0:
            object.__setattr__(self, "index", self.option)


@dataclass(frozen=True)
class Reply:
    """A score with what it really cost, and what was said beside it: what ``evaluate`` may return.

    Parameters
    ----------
    score
        The score, as without a reply around it; of a `Judge`, what it said.
    cost
        What the answer cost, such as tokens times their price; None: the price of the question. A
        budget pays this, and so does the answer count; plans are made by prices.
    said
        What was said, word for word: a store keeps it beside the score.

    Examples
    --------
    >>> Reply(7.5, cost=0.0031)
    Reply(score=7.5, cost=0.0031)
    """

    score: Any
    cost: float | None = None
    said: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.cost is not None and not (is_number(self.cost) and self.cost >= 0.0):
            raise InputError(
                f"the cost of a reply must be a number ≥ 0, or None; got {self.cost!r}."
            )

    @classmethod
    def of(cls, given: object) -> Reply:
        """Return what an evaluator returned as a reply."""
        return given if isinstance(given, Reply) else cls(given)


def question_of(questions: Questions, index: int, number: int, turn: int = 0) -> Question:
    """Return a question as an evaluator is asked it."""
    items = tuple(x for x in questions.about[index].tolist() if x >= 0)
    names = names_about(questions, index)
    return Question(
        items[0] if items else -1,
        " against ".join(names) or f"question {index + 1}",
        number,
        questions.evaluator_of(index),
        items,
        names,
        float(questions.prices[index]),
        index,
        turn,
    )


class Turns:
    """Turns of questions: unique among those answered or open; unanswered ones come again last."""

    # `issued` counts turns by question; `returned` has those that came back unanswered.

    def __init__(
        self,
        issued: Mapping[int, int] | None = None,
        returned: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.issued = dict(issued or {})
        self.returned = {x: list(turns) for x, turns in (returned or {}).items()}

    def next(self, question: int, most: int) -> int:
        """Return the next turn of a question that may have so many, and take note of it."""
        turn, spare = self.issued.get(question, 0), self.returned.get(question)
        turn = spare[0] if turn >= most and spare else turn
        self.take(question, turn)
        return turn

    def take(self, question: int, turn: int) -> None:
        """Take note that a turn was handed out."""
        if turn == self.issued.get(question, 0):
            self.issued[question] = turn + 1
        else:
            self.returned[question].remove(turn)

    def give_back(self, question: int, turn: int) -> None:
        """Take note that nobody answers a turn."""
        self.returned.setdefault(question, []).append(turn)


@dataclass(frozen=True)
class Failure:
    """A question that was given up.

    Parameters
    ----------
    question
        Which one.
    error
        What went wrong the last time, in words.
    attempts
        How often it was tried.

    Examples
    --------
    >>> print(Failure(Question(2, "Cy", 7), "TimeoutError: no answer", attempts=3))
    Cy (question 7, tried 3 times): TimeoutError: no answer
    >>> print(Failure(Question(2, "Cy", 7, "judge 1"), "TimeoutError: no answer", attempts=1))
    Cy by judge 1 (question 7, tried once): TimeoutError: no answer
    """

    question: Question
    error: str
    attempts: int

    def __str__(self) -> str:
        asked = self.question
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        who = "" if asked.evaluator is None else f" by {visible(asked.evaluator)}"
        return f"{visible(asked.label)}{who} (question {asked.number}, tried {times}): {self.error}"
