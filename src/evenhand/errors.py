"""Every error evenhand raises on purpose; catch `EvenhandError` to catch them all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple


class EvenhandError(Exception):
    """Something evenhand cannot do, with the reason and what to do about it.

    Examples
    --------
    >>> import evenhand as eh
    >>> try:
    ...     eh.g_optimal_design([[0.0, 0.0]])
    ... except eh.EvenhandError as error:
    ...     print(error)
    all points are zero; there is nothing to estimate.
    """


class WrongCell(NamedTuple):
    """A cell of a table that cannot be used: its row, counted from 0, its column, and why.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.errors.WrongCell(3, "score", "'n/a' is not a number").column
    'score'
    """

    row: int
    column: str
    why: str


class InputError(EvenhandError, ValueError):
    """What was given is not what is needed; the message names it and says how to fix it.

    Parameters
    ----------
    cells
        Where in a table it stands, for those who show it there.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.g_optimal_design([[1.0, float("nan")]])
    Traceback (most recent call last):
    evenhand.errors.InputError: points[0, 1] is nan; every entry must be finite. Fill it in...
    """

    def __init__(self, message: str = "", cells: Iterable[WrongCell] = ()) -> None:
        super().__init__(message)
        self.cells = tuple(cells)


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


class Argument(NamedTuple):
    """An argument that a message speaks of as Python has it, such as ``missing='drop'``."""

    name: str
    # without quotes; of a list or two numbers, with commas between; "True"; "none"; empty for none
    value: str
    told: bool  # whether it is told to be given: 'say missing='drop''


_ARGUMENT = re.compile(
    r"\b(say )?([a-z][a-z_]+)=(?:'([^']*)'|\[([^\]]*)\]|(True|None)\b|\(([^()]*, [^()]*)\))?"
)


def reworded(message: str, said: Callable[[Argument], str | None]) -> str:
    """Return a message whose arguments are in the words of a door: options of a command, fields of
    a page; an argument stays where the door has no words for it (None).

    Examples
    --------
    >>> from evenhand.errors import reworded
    >>> reworded("say missing='drop' to leave it out", lambda argument: f"tick {argument.name!r}")
    "tick 'missing' to leave it out"
    """

    def replaced(found: re.Match[str]) -> str:
        names = found[4] and re.sub(r"'(, )?'?", lambda mark: "," * bool(mark[1]), found[4])
        word, ends = found[5] and found[5].replace("None", "none"), found[6] and found[6]
        ends = ends and ends.replace(" ", "")
        value = next((v for v in (found[3], names, word, ends) if v is not None), "")
        words = said(Argument(found[2], value, found[1] is not None))
        return found[0] if words is None else words

    return _ARGUMENT.sub(replaced, message)
