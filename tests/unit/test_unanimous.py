"""Juries that agree to the last digit: compared, and decided where the scale and numbers allow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.certainty.unanimous import agreement


def panel(leads: list[float], judges: int, items: int = 0) -> pd.DataFrame:
    """Return scores of options so far behind the first, by judges who differ in leniency only."""
    rows = [
        (f"o{o}", f"J{j}", f"i{i}", 9.0 - lead - 0.25 * (j % 2))
        for o, lead in enumerate([0.0, *leads])
        for j in range(judges)
        for i in range(max(items, 1))
    ]
    frame = pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])
    return frame if items else frame.drop(columns="item")


def duels(judges: int) -> pd.DataFrame:
    """Return verdicts of judges who all prefer a, whichever is named first."""
    rows = [
        (x, y, f"J{j}", 1.0 if x == "a" else -1.0)
        for x, y in (("a", "b"), ("b", "a"))
        for j in range(judges)
    ]
    return pd.DataFrame(rows, columns=["option", "rival", "evaluator", "score"])


@pytest.mark.parametrize("lead", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("k", [2, 4])
def test_as_many_judges_as_a_two_point_law_needs(lead: float, k: int) -> None:
    """The worst case that leaves the mean lead at 0: L with chance W/(L + W), else −W."""
    q = 10.0 / (lead + 10.0)
    for judges in range(2, 50):
        answer = eh.decide(panel([lead] * (k - 1), judges), scale=(0, 10))
        certain = min(k * q**judges, q ** (judges - 1)) <= 0.05
        assert answer.sure == certain
        assert answer.comparable
        assert answer.decision.leads[1, 0] == pytest.approx(lead)
        if certain:
            assert answer.loss == 0.0
            break
        assert 0.0 < answer.loss < 10.0
        assert "judges who all agree would settle it" in answer.stopped_because
    else:
        pytest.fail("no number of judges was enough")
    few = eh.decide(panel([lead] * (k - 1), 2), scale=(0, 10))
    assert f"{judges} judges" in few.stopped_because


def test_six_votes_are_the_sign_test() -> None:
    assert [eh.decide(duels(n), scale=(-1, 1)).sure for n in (5, 6)] == [False, True]
    assert not eh.decide(duels(6), scale=(-1, 1), scope="these").sure


@pytest.mark.parametrize("assigned", ["before", "adaptively"])
@pytest.mark.parametrize("frame", [duels(6), panel([1.0, 2.0], 40), panel([1.0], 2)])
def test_without_a_scale_nothing_is_sure_and_all_is_there(
    frame: pd.DataFrame, assigned: str
) -> None:
    answer = eh.decide(frame, assigned=assigned)  # type: ignore[arg-type]
    assert (answer.comparable, answer.sure, answer.loss) == (True, False, np.inf)
    assert np.isfinite([[one.value, one.lead] for one in answer.ranking]).all()
    assert answer.decision.leads[1, 0] == pytest.approx(1.0)
    assert "agree to the last digit" in answer.stopped_because
    assert answer.next_questions == ()
    assert "Ask further evaluators" in str(answer)


def test_two_tied_options_are_called_sure_no_more_often_than_allowed() -> None:
    """Votes of a fair coin: 2 · ½⁶ of all juries of six agree."""
    rng = np.random.default_rng(21)
    n, sure = 400, 0
    for _ in range(n):
        votes = rng.integers(0, 2, 6)
        if len(set(votes.tolist())) == 1:  # others scatter, and are not decided by agreement
            frame = panel([1.0], 6).assign(score=[*votes, *(1 - votes)])
            sure += eh.decide(frame, scale=(0, 1)).sure
    chance = 2 * 0.5**6
    assert abs(sure - n * chance) < 3.0 * np.sqrt(n * chance)


def test_who_favours_one_of_two_tells_nothing_of_them() -> None:
    sides = {"Ann": "a", "Bo": "b", "Cy": "b"}
    asked = eh.Questions.panel(sides, {"P": "a", "Q": "b", "R": "c", "S": "c"})
    found = agreement(asked, np.ones(len(asked), dtype=np.int64), 1, (0.0, 10.0))
    assert found.judges.tolist() == [2, 0, 4]  # over Ann: those of neither side
    assert not found.together
    assert found.width.tolist() == [10.0, 0.0, 10.0]


def test_verdicts_count_in_both_orders_or_where_order_is_nothing() -> None:
    asked = eh.Questions.comparisons(["a", "b"], ["P", "Q"])
    counts = np.zeros(len(asked), dtype=np.int64)
    counts[asked.find([("a", "b"), ("b", "a"), ("a", "b")], ["P", "P", "Q"])] = 1
    assert agreement(asked, counts, 0, (-1.0, 1.0)).judges.tolist() == [0, 1]
    plain = eh.Questions.comparisons(["a", "b"], ["P", "Q"], position=False)
    found = agreement(plain, counts, 0, (-1.0, 3.0))
    assert (found.judges.tolist(), found.width.tolist()) == ([0, 2], [0.0, 2.0])


def test_three_judges_do_not_speak_for_others_however_many_items() -> None:
    frame = panel([1.0], 3, items=300)
    answers = [eh.decide(frame, scale=(0, 10), scope=scope) for scope in ("like these", "these")]  # type: ignore[arg-type]
    assert [answer.sure for answer in answers] == [False, True]
    assert "judges" in answers[0].next_questions.advice
    unstated = eh.decide(frame)
    assert not unstated.sure
    assert "scale" in unstated.next_questions.advice
