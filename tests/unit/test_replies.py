"""Replies are read as the scores of a question, and what is none is refused."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.answers import ReplyScale

ASKED = eh.Question(0, "Ann against Bo", 1, "J", (0, 1), ("Ann", "Bo"))


@pytest.mark.parametrize(
    ("kind", "bounds", "reply", "score"),
    [
        ("verdicts", None, "second", -1.0),
        ("verdicts", None, True, 1.0),
        ("verdicts", None, np.False_, -1.0),
        ("verdicts", None, 0, 0.0),
        ("verdicts", None, 0.25, 0.25),
        ("votes", None, 1, 0.5),
        ("votes", None, False, -0.5),
        (None, (0, 1), 0.5, 0.0),
        (None, (0, 10), 10, 5.0),
        (None, None, 3.5, 3.5),
    ],
)
def test_a_comparison_is_measured_from_a_tie(
    kind: str | None, bounds: tuple[float, float] | None, reply: object, score: float
) -> None:
    reading = ReplyScale(kind, bounds, comparing=True)  # type: ignore[arg-type]
    assert reading.read(ASKED, reply) == score
    if reading.limits is not None:
        assert reading.limits[0] == -reading.limits[1]
        assert abs(score) <= reading.limits[1]


@pytest.mark.parametrize(
    ("kind", "reply", "message"),
    [
        ("verdicts", "Cy", "'Cy'"),
        ("verdicts", None, "'Ann against Bo'"),
        ("verdicts", 2.0, "2"),
        ("votes", 0.5, "0.5"),
        (None, True, "True"),
    ],
)
def test_what_is_no_verdict_is_refused(kind: str | None, reply: object, message: str) -> None:
    with pytest.raises(eh.InputError, match=message):
        ReplyScale(kind, None, comparing=True).read(ASKED, reply)  # type: ignore[arg-type]


def test_evaluators_are_told_what_to_write() -> None:
    assert ReplyScale("verdicts", None, comparing=True).wanted() == "first, second or tie"
    marks = ReplyScale(None, (0, 10), comparing=False)
    assert marks.wanted() == "a number from 0 to 10 (higher is better)"
    votes = ReplyScale("votes", None, comparing=True)
    assert votes.word(votes.replied(eh.Question(0, "Ann against Bo", 1), True)) == "1"
    assert votes.told(1.0) == 0.5
