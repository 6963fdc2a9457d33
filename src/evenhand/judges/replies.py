"""The score or the verdict in what a judge said.

Nothing is guessed: a reply says one thing in one of the ways below, or it is refused, and the judge
is asked again.

    the reply as a whole        A   first   tie   A>B   7   7.5   7/10   7 out of 10   Score: 7
    a mark in a longer text     … so the first is better. [[A]]      Rating: [[7]]
    JSON, fenced or not         {"reasoning": "…", "verdict": "A"}   {"score": 7}

A text with two different marks, a JSON object with both a score and a rating, or a number out of
ten where the scale ends at five is refused.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.scores.grades import verdict_in
from evenhand.tables.texts import number_in

_VERDICT_KEYS = ("verdict", "winner", "preference", "better", "choice")
_SCORE_KEYS = ("score", "rating", "grade")

_MARK = re.compile(r"\[\[\s*([^\[\]]+?)\s*\]\]")
_FENCED = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)
_SCORE = re.compile(
    r"(?:(?:score|rating|grade)\s*[:=]\s*)?([+\-\u2212]?[0-9.,]*[0-9])"
    r"(?:\s*(?:/|out of)\s*([0-9]+(?:\.[0-9]+)?))?\.?",
    re.IGNORECASE,
)
_SHOWN = 60  # characters of a reply that messages show


def read_verdict(reply: object) -> float:
    """Return the verdict in a reply: 1 for the first, −1 for the second, 0 for a tie.

    Marks of five grades, as in A>>B and A>B, are 1, ½, 0, −½ and −1. A number from −1 to 1 stands
    for itself.

    Examples
    --------
    >>> [read_verdict(reply) for reply in ("A", "[[B]]", "Both are fine. [[C]]", "tie")]
    [1.0, -1.0, 0.0, 0.0]
    >>> read_verdict('{"reasoning": "clear and short", "winner": "B"}')
    -1.0
    >>> read_verdict("I like A, but B is good, too.")
    Traceback (most recent call last):
    evenhand.errors.InputError: no verdict can be read in 'I like A, but B is good, too.'; ...
    """
    if isinstance(reply, bool | np.bool_):
        return 1.0 if reply else -1.0
    if is_number(reply):
        if not -1.0 <= reply <= 1.0:
            raise InputError(f"a verdict is a number from −1 to 1; got {reply!r}.")
        return float(reply)
    said = _said(reply, _VERDICT_KEYS)
    if isinstance(said, str):
        if (found := verdict_in(said)) is not None:
            return found
    elif said is not None:
        return read_verdict(said)
    raise InputError(
        f"no verdict can be read in {_shown(reply)}; have the judge answer 'A', 'B' or 'tie', or "
        "end with [[A]], [[B]] or [[C]], or give a parse= of your own."
    )


def read_score(reply: object, scale: tuple[float, float] | None = None) -> float:
    """Return the score in a reply.

    Parameters
    ----------
    reply
        A number, or a text.
    scale
        The lowest and highest score that there is; others are refused. '7 out of 10' is 7 if the
        scale ends at 10, and refused if nobody says where it ends.

    Examples
    --------
    >>> [read_score(reply) for reply in (7, "7.5", "Rating: [[7]]", '{"score": 7}')]
    [7.0, 7.5, 7.0, 7.0]
    >>> read_score("7/10", scale=(1, 10))
    7.0
    >>> read_score("4/5", scale=(1, 10))
    Traceback (most recent call last):
    evenhand.errors.InputError: '4/5' is out of 5, and the scale ends at 10.
    """
    if is_number(reply) and not isinstance(reply, bool | np.bool_):
        return _checked(float(reply), reply, scale)
    said = _said(reply, _SCORE_KEYS)
    if isinstance(said, str):
        if (match := _SCORE.fullmatch(said.strip())) is not None:
            if (most := match[2]) is not None and (scale is None or float(most) != scale[1]):
                ends = f"nobody said where the scale ends; say scale=(lowest, {most})"
                ends = ends if scale is None else f"the scale ends at {scale[1]:g}"
                raise InputError(f"{said!r} is out of {most}, and {ends}.")
            number = number_in(match[1], possible=lambda x: _is_in(x, scale))
            return _checked(number, reply, scale)
    elif said is not None:
        return read_score(said, scale)
    raise InputError(
        f"no score can be read in {_shown(reply)}; have the judge answer with a number, with "
        '{"score": number}, or end with [[number]], or give a parse= of your own.'
    )


def _said(reply: object, keys: tuple[str, ...]) -> Any:
    """Return the one mark of a reply, its one entry in JSON, or all of it; else None."""
    if isinstance(reply, str):
        text = reply.strip()
        fenced = _FENCED.search(text)
        if fenced is None and not text.startswith("{"):
            # [[C]] is a tie in the prompts that have it
            marks = {"tie" if mark.lower() == "c" else mark.lower() for mark in _MARK.findall(text)}
            return reply if not marks else marks.pop() if len(marks) == 1 else None
        try:
            reply = json.loads(text if fenced is None else fenced[1])
        except ValueError:
            return None
    content = reply if isinstance(reply, dict) else {}
    found = [value for key, value in content.items() if str(key).lower() in keys]
    return found[0] if len(found) == 1 and isinstance(found[0], str | int | float) else None


def _is_in(score: float, scale: tuple[float, float] | None) -> bool:
    return math.isfinite(score) and (scale is None or scale[0] <= score <= scale[1])


def _checked(score: float, reply: object, scale: tuple[float, float] | None) -> float:
    if not _is_in(score, scale):
        ends = "are finite numbers" if scale is None else f"go from {scale[0]:g} to {scale[1]:g}"
        raise InputError(f"scores {ends}; {_shown(reply)} is {score:g}.")
    return score


def _shown(reply: object) -> str:
    text = repr(reply)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
