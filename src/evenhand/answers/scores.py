"""What a reply is worth: the score in it, or what is wrong with it.

In a comparison the first of two is to be the better one by a score above 0, and the second by one
below: what `Questions.comparisons` takes a score to be. Verdicts are +1 for the first, −1 for the
second and 0 for a tie. Votes, and scores between bounds, are measured from the middle: a vote of 1
for the first counts ½, one of 0 counts −½.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from evenhand.answers.question import Question
from evenhand.arrays import is_number
from evenhand.certainty.choice import checked_bounds
from evenhand.errors import InputError
from evenhand.questions import Questions

Kind = Literal["votes", "verdicts"]
Bounds = tuple[float, float]

_ENDS: dict[str, Bounds] = {"votes": (0.0, 1.0), "verdicts": (-1.0, 1.0)}
_LARGEST = 1e150  # the squares of a hundred million such scores still have a sum
_VERDICTS: dict[object, float] = {"first": 1.0, "second": -1.0, "tie": 0.0}


class Scores:
    """Which scores are possible, and how to read one."""

    # `kind` is "votes" (0 or 1), "verdicts" ('first', 'second', 'tie', a truth value or a number
    # from −1 to 1) or None (any number); `limits` bound the scores that a policy is told.

    def __init__(
        self, kind: Kind | None, bounds: Sequence[float] | None, *, comparing: bool
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
        self.kind, self._comparing = kind, comparing
        self._ends = checked_bounds(bounds) if kind is None else _ENDS[kind]
        self._middle = 0.0
        if comparing and self._ends is not None:
            self._middle = 0.5 * (self._ends[0] + self._ends[1])

    @property
    def limits(self) -> Bounds | None:
        """Lowest and highest score that a policy is told; None if nobody says."""
        if self._ends is None:
            return None
        return self._ends[0] - self._middle, self._ends[1] - self._middle

    def read(self, question: Question, reply: object) -> float:
        """Return the score in a reply, or raise `InputError` with what is wrong with it."""
        if self.kind == "verdicts" and isinstance(reply, str) and reply in _VERDICTS:
            return _VERDICTS[reply]
        if self.kind is not None and isinstance(reply, bool | np.bool_):
            reply = float(reply) if self.kind == "votes" else 2.0 * float(reply) - 1.0
        about = repr(question.label)
        if not is_number(reply):
            kind = "" if reply is None else f", of {type(reply).__name__}"
            what = "'first', 'second', 'tie' or a" if self.kind == "verdicts" else "a finite"
            raise InputError(f"the score of {about} must be {what} number; got {reply!r}{kind}.")
        score = float(reply)
        if abs(score) > _LARGEST:
            raise InputError(
                f"the score of {about} must lie between −{_LARGEST:g} and {_LARGEST:g}, so that "
                f"sums of squares can be worked out; got {score:g}."
            )
        if self.kind == "votes" and score not in (0.0, 1.0):
            raise InputError(
                f"the vote on {about} must be 0 or 1; got {score:g}. For scores in between say "
                "bounds=(0, 1) instead of scores='votes'."
            )
        if self._ends is not None and not self._ends[0] <= score <= self._ends[1]:
            raise InputError(
                f"the score of {about} must lie in [{self._ends[0]:g}, {self._ends[1]:g}]; got "
                f"{score:g}."
            )
        return score - self._middle

    def allows(self, number: float) -> bool:
        """Tell whether a number can be a reply, by the ends that were stated."""
        return self._ends is None or self._ends[0] <= number <= self._ends[1]

    @property
    def cells(self) -> Bounds | tuple[str, ...] | None:
        """What a cell of a sheet may be filled in with: ends, or words; None for any number."""
        return ("first", "second", "tie") if self.kind == "verdicts" else self._ends

    def wanted(self) -> str:
        """Return in words what evaluators are to write."""
        if self.kind == "verdicts":
            return "first, second or tie"
        ends = "" if self._ends is None else f" from {self._ends[0]:g} to {self._ends[1]:g}"
        what = "0 or 1" if self.kind == "votes" else f"a number{ends}"
        if not self._comparing:
            return what
        even = f"{self._middle:g}"
        return f"{what}: the more it is above {even}, the better is the first of the two"

    def reply(self, score: float) -> float:
        """Return the number that was replied, of a score that was read."""
        return score + self._middle


def compares(questions: Questions) -> bool:
    """Tell whether all questions are about two options each."""
    return bool((questions.about >= 0).all())
