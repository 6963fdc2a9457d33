"""Annotations of AlpacaEval (``annotations.json``): which of two answers a judge prefers.

``preference`` is 1 where the first answer is better, 2 where the second is, and between them where
the judge was not sure; 1.5, and in old files 0, is a tie. The second answer is of the model that is
evaluated, the first of the baseline. So the score is 2·preference − 3: 1 where the second is
better, −1 where the first is. AlpacaEval shows the two in random order and writes them down in a
fixed one, without saying which was shown first: a favour for the first place is not to be found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document, name_of, reach
from evenhand.readers.frame import LoggedScore, item_name, size_of
from evenhand.scores.grades import grade

NAME = "alpaca_eval"
WANTED = "annotations of AlpacaEval (annotations.json, with generator_1, generator_2, preference)"
_NEEDED = {"generator_1", "generator_2", "preference"}


def recognises(content: Any) -> bool:
    """Tell whether these are annotations of AlpacaEval."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(row, Mapping) and set(row) >= _NEEDED for row in content[:3])
    )


def records(document: Document) -> Iterator[LoggedScore]:
    """Yield the verdicts of annotations."""
    for number, row in enumerate(document.content, 1):
        baseline, model = (name_of(reach(row, f"generator_{place}")) for place in (1, 2))
        alone = baseline == model
        yield LoggedScore(
            None if alone else _verdict(reach(row, "preference")),
            item=item_name(reach(row, "instruction") or number),
            model=model,
            rival=baseline,
            judge=name_of(reach(row, "annotator")) or "annotator",
            metric="preference",
            where=f"{document.where}, annotation {number}",
            by_model=True,
            length=size_of(reach(row, "output_2")),
            rival_length=size_of(reach(row, "output_1")),
            trouble="a model against itself" if alone else "no preference",
        )


def notes(document: Document) -> list[str]:
    """Return what is to be said about places."""
    return [
        "AlpacaEval shows two answers in random order and does not write down in which: what "
        "'standing first' adds in its annotations is no favour for a place."
    ]


def _verdict(preference: Any) -> Any:
    """How much the second is better, −1 to 1; what is no preference stays a text."""
    try:
        number = grade(preference)
    except ValueError:
        return f"preference {preference}"
    if number == 0.0 or math.isnan(number):
        return number
    return 2.0 * number - 3.0 if 1.0 <= number <= 2.0 else f"preference {preference}"
