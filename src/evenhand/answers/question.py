"""What an evaluator is asked, what a reply is worth, and questions that nobody could answer.

In a comparison the first of two is to be the better one by a score above 0, and the second by one
below: what `Questions.comparisons` takes a score to be. Verdicts are +1 for the first, −1 for the
second and 0 for a tie. Votes, and scores between bounds, are measured from the middle: a vote of 1
for the first counts ½, one of 0 counts −½. Grades are the numbers of words that were declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evenhand.arrays import is_number
from evenhand.best import Best, direction, oriented, sign, turned
from evenhand.errors import InputError
from evenhand.questions import Questions, names_about
from evenhand.report.words import visible
from evenhand.scores.grades import VERDICTS, grades_in, verdict_in
from evenhand.tables.texts import is_absent, spelled


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


Kind = Literal["votes", "verdicts"]
Bounds = tuple[float, float]

_ENDS: dict[str, Bounds] = {"votes": (0.0, 1.0), "verdicts": (-1.0, 1.0)}
_LARGEST = 1e150  # the squares of a hundred million such scores still have a sum
_MOST_LETTERS = 240  # of all grades, in the rule of a spreadsheet's cells


class ReplyScale:
    """Which scores are possible, and how a policy is told one: turned where the lowest are best."""

    # `kind` is "votes" (0 or 1), "verdicts" ('first', 'second', 'tie', a truth value or a number
    # from −1 to 1) or None (any number, or one of the words in `grades`); `limits` bound the scores
    # that a policy is told.

    def __init__(
        self,
        kind: Kind | None,
        bounds: Sequence[float] | None,
        *,
        comparing: bool,
        grades: Mapping[str, float] | None = None,
        best: Best = "high",
    ) -> None:
        if kind not in (None, "votes", "verdicts"):
            raise InputError(f"scores must be 'votes', 'verdicts' or None; got {kind!r}.")
        if kind is not None and bounds is not None:
            what = "votes are 0 or 1" if kind == "votes" else "verdicts lie between −1 and 1"
            raise InputError(f"{what}; leave out bounds, which is {bounds!r}.")
        if kind == "verdicts" and not comparing:
            raise InputError(
                "verdicts say which of two options is better, but here questions are about one; "
                "use Questions.comparisons(...), or leave out scores='verdicts'."
            )
        if best == "low" and (kind == "verdicts" or grades):
            what = "grades name the best first" if grades else "verdicts say who is better"
            raise InputError(f"{what}; leave out best='low', which is for numbers.")
        self.best, self._sign = best, sign(best)
        other = f"bounds={bounds!r}" * (bounds is not None) if kind is None else f"scores={kind!r}"
        self.grades = _checked_grades(grades, other, comparing) if grades else {}
        self._words = VERDICTS if kind == "verdicts" else self.grades
        if self.grades:
            bounds = (min(self.grades.values()), max(self.grades.values()))
        self.kind, self._comparing = kind, comparing
        self._ends = oriented(bounds, "high", "bounds")[0] if kind is None else _ENDS[kind]
        self._middle = 0.0
        if comparing and self._ends is not None:
            self._middle = 0.5 * (self._ends[0] + self._ends[1])

    @property
    def limits(self) -> Bounds | None:
        """Lowest and highest score that a policy is told; None if nobody says."""
        if self._ends is None:
            return None
        return turned((self._ends[0] - self._middle, self._ends[1] - self._middle), self.best)

    def read(self, question: Question, reply: object) -> float:
        """Return the score in a reply as a policy is told it, or raise `InputError`."""
        return self.told(self.replied(question, reply))

    def told(self, number: float) -> float:
        """Return a number that was replied as a policy is told it."""
        return self._sign * (number - self._middle)

    def replied(self, question: Question, reply: object) -> float:
        """Return the number in a reply, or raise `InputError` with what is wrong with it."""
        if isinstance(reply, str) and (known := self._worth(reply, *question.labels)) is not None:
            return known
        if self.kind is not None and isinstance(reply, bool | np.bool_):
            reply = float(reply) if self.kind == "votes" else 2.0 * float(reply) - 1.0
        about = repr(question.label)
        if self.grades:
            raise InputError(f"the grade of {about} must be {self.wanted()}; got {reply!r}.")
        if not is_number(reply):
            kind = "" if reply is None else f", of {type(reply).__name__}"
            what = "'first', 'second', 'tie' or a" if self.kind == "verdicts" else "a finite"
            raise InputError(f"the score of {about} must be {what} number; got {reply!r}{kind}.")
        score, (low, high) = float(reply), self._ends or (-_LARGEST, _LARGEST)
        if self.kind == "votes" and score not in (0.0, 1.0):
            raise InputError(
                f"the vote on {about} must be 0 or 1; got {score:g}. For scores in between say "
                "bounds=(0, 1) instead of scores='votes'."
            )
        if not low <= score <= high:
            raise InputError(
                f"the score of {about} must lie in [{low:g}, {high:g}]; got {score:g}."
            )
        return score

    def knows(self, word: str) -> bool:
        """Tell whether a text is one of the words that are replies."""
        return self._worth(word) is not None

    def _worth(self, word: str, *about: str) -> float | None:
        """Return what a word counts as a reply on options of these names; None for no reply."""
        if self.kind == "verdicts":
            return verdict_in(word, *about)
        return next((at for one, at in self.grades.items() if spelled(one) == spelled(word)), None)

    def allows(self, number: float) -> bool:
        """Tell whether a number can be a reply, by the ends that were stated."""
        return self._ends is None or self._ends[0] <= number <= self._ends[1]

    @property
    def cells(self) -> Bounds | tuple[str, ...] | None:
        """What a cell of a sheet may be filled in with: ends, or words; None for any number."""
        return tuple(self._words) or self._ends

    def wanted(self) -> str:
        """Return in words what evaluators are to write."""
        if self._words:
            *words, last = self._words
            return f"{', '.join(words)} or {last}"
        ends = "" if self._ends is None else f" from {self._ends[0]:g} to {self._ends[1]:g}"
        what = "0 or 1" if self.kind == "votes" else f"a number{ends}"
        if not self._comparing:
            plain = self.kind == "votes" and self.best == "high"
            return what if plain else f"{what} ({direction(self.best)[:-1].lower()})"
        even = f"{self._middle:g}"
        side = "above" if self.best == "high" else "below"
        return f"{what}: the more it is {side} {even}, the better is the first of the two"

    def word(self, number: float) -> str:
        """Return what was replied as people say it: a grade, a verdict, or a number."""
        return next((word for word, at in self._words.items() if at == number), f"{number:g}")


def _checked_grades(
    grades: Mapping[str, float], leave_out: str, comparing: bool
) -> dict[str, float]:
    """Return grades, the best first, if they can be all that is replied, also on sheets."""
    if leave_out:
        raise InputError(f"grades are all that can be given; leave out {leave_out}.")
    if comparing:
        raise InputError(
            "grades say how good one option is, but here two are compared; use scores='verdicts', "
            "or leave out grades."
        )
    found = grades_in(grades)
    if min(found.values()) == max(found.values()):
        raise InputError(f"grades must differ in their numbers; all are {min(found.values()):g}.")
    if odd := [word for word in found if "," in word or '"' in word or is_absent(word)]:
        raise InputError(
            f"{odd[0]!r} cannot be a grade here, as a sheet would read it as an empty cell, or as "
            "several; choose another word, without commas and quotation marks."
        )
    if (n := len(", ".join(found))) > _MOST_LETTERS:
        raise InputError(
            f"grades of {n} letters in all are too long for a spreadsheet's cells, which have room "
            f"for {_MOST_LETTERS}; use shorter words."
        )
    return found


def compares(questions: Questions) -> bool:
    """Tell whether all questions are about two options each."""
    return bool((questions.about >= 0).all())
