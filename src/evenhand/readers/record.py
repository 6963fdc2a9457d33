"""A score as a log has it: who was scored on what, by whom, and where that stands."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One score of a log."""

    value: Any  # as it stands there: a number, a letter, a word; None where there is none
    item: str  # what the model was tried on
    # who answered; in comparisons, whose answer stands first; None: the log does not say
    model: str | None
    judge: str  # who gave the score: a model, or the name of what scored
    metric: str  # what was scored, such as 'correctness'
    where: str  # file and place in it, for messages
    by_model: bool = False  # whether the judge is a model, which has a family
    task: str = ""  # that the item is of; matters where a log has several
    rival: str | None = None  # in comparisons, whose answer stands second
    # what else may have been tried, such as prompts
    settings: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None  # characters of the answer
    rival_length: int | None = None
    repeat: int = 1  # which time it was, where the same was tried several times
    # what no other score has, if the tool gives it: a retried run has the scores of the run before
    identity: str | None = None
    # names that say less, with the other name
    known_as: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None  # why there is no score, where there is none


def short(text: Any, most: int = 80) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def item_name(text: Any, most: int = 200) -> str:
    """Return what an item is called by its text; a long one is cut, and ends with a checksum."""
    line = " ".join(str(text).split())
    if len(line) <= most:
        return line
    checksum = f" #{zlib.crc32(line.encode()):08x}"
    return short(line, most - len(checksum)) + checksum


def size_of(text: Any) -> int | None:
    """Return the characters of a text; None for what is no text."""
    return len(text) if isinstance(text, str) else None
