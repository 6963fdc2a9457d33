"""What an evaluator is asked, and what becomes of a question that nobody could answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenhand.questions import Questions


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


def question_of(questions: Questions, index: int, number: int, turn: int = 0) -> Question:
    """Return a question as an evaluator is asked it.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"], prices=[1.0, 4.0])
    >>> asked = question_of(panel, index=3, number=1)
    >>> asked, asked.price, asked.index
    (Question(option=1, label='Bo', number=1, evaluator='Q'), 4.0, 3)
    """
    items = questions.options_of(index)
    names = tuple(questions.items[x] for x in items)
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
        who = "" if asked.evaluator is None else f" by {asked.evaluator}"
        return f"{asked.label}{who} (question {asked.number}, tried {times}): {self.error}"
