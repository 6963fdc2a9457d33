"""Every error evenhand raises on purpose; catch `EvenhandError` to catch them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

_MOST = 50  # problems that are said


class Remedy(NamedTuple):
    """What may help: an argument, what to give it, and when or what for.

    Each door says it in its own words, see `EvenhandError.told`; `str` is what Python says. The
    argument ``columns`` comes with the columns by their roles.

    Examples
    --------
    >>> import evenhand as eh
    >>> print(eh.errors.Remedy("columns", {"option": "wine"}, "if that is what was scored"))
    say columns={'option': 'wine'} if that is what was scored
    >>> print(eh.errors.Remedy("scale"))
    say scale=…
    """

    argument: str
    value: Any = ...  # which one, the user knows
    when: str = ""

    def __str__(self) -> str:
        return self.said(f"say {self.argument}={_python(self.value)}")

    def said(self, what: str) -> str:
        """Return what to do, with when or what for."""
        return f"{what} {self.when}".rstrip()


def _python(value: Any) -> str:
    """Return a value as Python writes it, and … for one that only the user knows."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_python(one)}' for key, one in value.items())}}}"
    return "…" if value is ... else repr(value)


Door: TypeAlias = Callable[[Remedy], str | None]
"""Says a remedy in the words of a command or a page; None where there is no such field."""


@dataclass(frozen=True)
class Problem:
    r"""What is wrong, where, and what may help.

    Parameters
    ----------
    message
        What is wrong.
    code
        Which kind of problem it is, in a word that stays: empty, number, repeats, columns, …
    row, column
        Of the table as it was opened, rows counted from 0; None where it is of no single one.
    remedies
        What may be said to help it.
    also
        Further cells with the same, row and column.
    where
        The place, in the user's words: "line 3, column 'score'".

    Examples
    --------
    >>> import io
    >>> import evenhand as eh
    >>> try:
    ...     eh.read_scores(io.StringIO("option,evaluator,score\nAnn,P,7\nBo,P,\n"))
    ... except eh.InputError as error:
    ...     one = error.problems[0]
    >>> one.code, one.row, one.column, one.remedies[0].argument
    ('empty', 1, 'score', 'missing')
    """

    message: str
    code: str = "input"
    row: int | None = None
    column: str | None = None
    remedies: tuple[Remedy, ...] = ()
    also: tuple[tuple[int, str], ...] = ()
    where: str = ""

    def told(self, door: Door = str) -> str:
        """Return what is wrong and what may help, in the words of a door."""
        said = [words for one in self.remedies if (words := door(one))]
        text = f"{self.where}{self.message}"
        if not said:
            return text
        ways = "; or ".join(said)
        ended = text.endswith((".", "?", "!"))
        return f"{text} {ways[0].upper()}{ways[1:]}." if ended else f"{text}; {ways}"


class EvenhandError(Exception):
    """Something evenhand cannot do, with the reason and what to do about it.

    Parameters
    ----------
    message
        What is wrong.
    remedies
        What may be said to help it.
    problems
        Instead of these: all that is wrong, one by one; the message goes before them.

    Examples
    --------
    >>> import evenhand as eh
    >>> try:
    ...     eh.g_optimal_design([[0.0, 0.0]])
    ... except eh.EvenhandError as error:
    ...     print(error)
    all points are zero; there is nothing to estimate.
    """

    def __init__(
        self, message: str = "", *remedies: Remedy, problems: Sequence[Problem] = ()
    ) -> None:
        self.head = message if problems else ""
        self.problems = tuple(problems) or (Problem(message, remedies=remedies),)
        super().__init__(self.told())

    def told(self, door: Door = str) -> str:
        """Return all that is wrong and what may help, in the words of a door."""
        said = [one.told(door) for one in self.problems]
        head = f"{self.head}: " if self.head else ""
        if len(said) == 1:
            return head + said[0]
        more = [f"… and {len(said) - _MOST} more"] if len(said) > _MOST else []
        lines = "".join(f"\n  - {one}" for one in [*said[:_MOST], *more])
        return f"{head}{len(said):,} things to correct:{lines}"


class InputError(EvenhandError, ValueError):
    """What was given is not what is needed; the message names it and says how to fix it.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.g_optimal_design([[1.0, float("nan")]])
    Traceback (most recent call last):
    evenhand.errors.InputError: points[0, 1] is nan; every entry must be finite. Fill it in...
    """


class AccuracyError(EvenhandError):
    """A solver could not reach the accuracy asked for; the message says what it reached.

    Examples
    --------
    >>> import evenhand as eh
    >>> issubclass(eh.errors.AccuracyError, eh.EvenhandError)
    True
    """


class AbsentError(EvenhandError):
    """An evaluator is not available: raise it in ``evaluate``, and `choose` goes on without him.

    The question is not tried again, and nothing more is asked of this evaluator.

    Examples
    --------
    >>> import evenhand as eh
    >>> questions = eh.Questions.panel(["Ann", "Bo"], ["P", "Q", "R"], capacity=None)
    >>> def evaluate(question):
    ...     if question.evaluator == "R":
    ...         raise eh.AbsentError("ill until Monday")
    ...     return 9.0 - question.option + 0.01 * (question.number % 3)
    >>> answer = eh.choose(questions, evaluate)
    >>> answer.label, answer.policy.limits.absent_names
    ('Ann', ('R',))
    """


@dataclass(frozen=True)
class Confounding:
    """Why a bias cannot be estimated, and what would help.

    Parameters
    ----------
    combination
        Coefficients, in the user's units, of a combination of features that equals the attribute
        for every option; "(constant)" is the constant term.
    twin
        Name of an option; another with the same features from ``twin_group`` would make the bias
        as easy to estimate as it can be (κ_* = 1).
    twin_group
        The group that the new option should belong to; None where there are no groups.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[2.0], [-2.0]], ["home", "away"], feature_names=["size"])
    >>> try:
    ...     eh.bias_geometry(actions)
    ... except eh.NotIdentifiableError as error:
    ...     why = error.confounding
    >>> why.combination, why.twin, why.twin_group
    ({'size': 0.5}, 'option 1', 'away')
    """

    combination: dict[str, float]
    twin: str
    twin_group: str | None


class NotIdentifiableError(EvenhandError):
    """No number of evaluations estimates the quantity asked for (κ = ∞).

    The evaluations of all options stay the same when the parameters move along some direction
    that the asked quantity feels. For a bias, ``confounding`` says which combination of features
    equals the group, and which new option would help.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.c_optimal_design([[1.0, 1.0]], direction=[0.0, 1.0])
    Traceback (most recent call last):
    evenhand.errors.NotIdentifiableError: no combination of the options' points gives this...
    """

    def __init__(self, message: str, confounding: Confounding | None = None) -> None:
        super().__init__(message)
        self.confounding = confounding


class StoreError(EvenhandError):
    """A store of campaigns cannot be read or written; what was acknowledged before is kept.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.Campaign.open("no/such/folder/prizes.db", "prize")
    Traceback (most recent call last):
    evenhand.errors.StoreError: there is no store at 'no/such/folder/prizes.db'...
    """


class ConflictError(EvenhandError):
    """The same thing was said before, and otherwise; nothing was changed.

    Examples
    --------
    >>> import evenhand as eh
    >>> issubclass(eh.errors.ConflictError, eh.EvenhandError)
    True
    """


class RequirementError(EvenhandError, AssertionError):
    """What was required of an answer does not hold, surely or as far as the scores can tell.

    Parameters
    ----------
    surely
        Whether it surely does not hold; else it cannot be told yet.

    Examples
    --------
    >>> import pandas as pd
    >>> import evenhand as eh
    >>> runs = pd.DataFrame({"option": ["new", "old"] * 3, "item": [1, 1, 2, 2, 3, 3],
    ...                      "score": [.7, .8, .5, .4, .9, .8]})
    >>> try:
    ...     eh.decide(runs, against="old").require("sure")
    ... except eh.errors.RequirementError as error:
    ...     print(error.surely, error)
    False cannot tell yet: whether 'new' is better than 'old'. Try 'new', 'old' on new items.
    """

    def __init__(self, message: str, surely: bool) -> None:
        super().__init__(message)
        self.surely = surely
