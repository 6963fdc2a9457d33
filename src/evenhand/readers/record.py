"""A score as a log has it: who was scored on what, by whom, and where that stands."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One score of a log.

    Parameters
    ----------
    value
        The score as it stands there: a number, a letter, a word; None where there is none.
    item
        What the model was tried on.
    model
        Who answered; in comparisons, whose answer stands first. None where the log does not say.
    judge
        Who gave the score: a model, or the name of what scored.
    metric
        What was scored, such as 'correctness'.
    where
        File and place in it, for messages.
    by_model
        Whether the judge is a model, which has a family.
    task
        The task that the item is of; matters where a log has several.
    rival
        In comparisons, whose answer stands second.
    settings
        What else may have been tried against one another, such as prompts.
    length, rival_length
        Characters of the answers.
    repeat
        Which time it was, where the same was tried several times.
    identity
        What no other score has, where the tool gives such a thing: a retried run has the scores of
        the run before in it.
    known_as
        Names of models or judges that say less than another name does, with that other name.
    trouble
        Why there is no score, where there is none.
    """

    value: Any
    item: str
    model: str | None
    judge: str
    metric: str
    where: str
    by_model: bool = False
    task: str = ""
    rival: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    rival_length: int | None = None
    repeat: int = 1
    identity: str | None = None
    known_as: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None


def short(text: Any, most: int = 80) -> str:
    r"""Return a text on one line, cut where it is long.

    Examples
    --------
    >>> short("one line\nand the next"), short("abcdef", most=4)
    ('one line and the next', 'abc…')
    """
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def item_name(text: Any, most: int = 200) -> str:
    """Return what an item is called by its text; a long one is cut, and ends with a checksum.

    Examples
    --------
    >>> item_name("Why does ice float?"), item_name("ab " * 9, most=20)
    ('Why does ice float?', 'ab ab ab … #bf79c5f8')
    """
    line = " ".join(str(text).split())
    if len(line) <= most:
        return line
    checksum = f" #{zlib.crc32(line.encode()):08x}"
    return short(line, most - len(checksum)) + checksum


def size_of(text: Any) -> int | None:
    """Return the characters of a text; None for what is no text.

    Examples
    --------
    >>> size_of("naïve"), size_of(None)
    (5, None)
    """
    return len(text) if isinstance(text, str) else None
