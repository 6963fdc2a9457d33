"""What an evaluator is asked, and what becomes of a question that nobody could answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """One evaluation that is wanted: what `choose` hands to ``evaluate``.

    It names the option and nothing else: evaluators see neither the group nor the features that
    the choice is made by, nor what others said.

    Parameters
    ----------
    option, label
        Index and name of the option to evaluate.
    number
        Running number of the question, from 1. A question that is tried again keeps it.
    evaluator
        Who is asked; None where there is one evaluator.

    Examples
    --------
    >>> Question(option=2, label="Cy", number=1)
    Question(option=2, label='Cy', number=1, evaluator=None)
    """

    option: int
    label: str
    number: int
    evaluator: str | None = None


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
    """

    question: Question
    error: str
    attempts: int

    def __str__(self) -> str:
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        return (
            f"{self.question.label} (question {self.question.number}, tried {times}): {self.error}"
        )
