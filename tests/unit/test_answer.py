"""What an answer says is what is known: in words, in HTML and in the picture."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import evenhand as eh
from asking import Says
from evenhand.answers import Failure, answer_of
from evenhand.policies import checks_of
from evenhand.report.model import WIDTH, as_text

NAN, INF = float("nan"), float("inf")


def three(
    labels: tuple[str, ...] = ("Ann", "Bo", "Cy"),
    groups: tuple[str, ...] = ("away", "home", "home"),
) -> eh.ActionSet:
    return eh.ActionSet([[1.0, 3.0], [1.0, 2.0], [1.0, 1.0]], groups, labels)


LEADS = np.array([[0.0, 0.0, 0.0], [1.5, 0.75, 2.25], [4.0, 3.0, 5.0]])
VALUES = np.array([[7.0, 6.0, 8.0], [5.5, 5.0, 6.0], [3.0, 2.0, 4.0]])
TOLD = eh.Feedback([40, 40, 40], [40 * 6.0, 40 * 6.5, 40 * 4.0], [4e4, 4e4, 4e4])
DRIFT = eh.Finding("drift", "Scores rise by 0.2 per 100 evaluations. Ask in another order.")


def answered(
    actions: eh.ActionSet | None = None,
    told: eh.Feedback = TOLD,
    *,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    exact: bool = False,
    stopped: str | None = None,
    failures: tuple[Failure, ...] = (),
    **said: Any,
) -> eh.Answer:
    policy = Says(three() if actions is None else actions, 300, **said)
    policy._spent = said.get("spent", 120)
    policy.limits.paid = float(policy.spent)
    checks_of(policy).take(told.counts, told.sums, told.sums_of_squares)
    return answer_of(
        policy,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=exact,
        stopped_because=stopped,
        failures=failures,
    )


def sure(**changes: Any) -> eh.Answer:
    said: dict[str, Any] = {
        "loss": 0.0,
        "certainty": "own scores",
        "leads": LEADS,
        "values": VALUES,
        "bias": (1.25, 0.5, 2.0),
        "because": "Ann leads everybody for certain",
    }
    return answered(**(said | changes))


@pytest.mark.parametrize(
    ("said", "is_sure"),
    [
        ({}, True),
        ({"loss": 0.25}, False),
        ({"loss": 0.25, "tolerance": 0.5}, True),
        ({"loss": INF}, False),
        ({"certainty": None}, False),
        ({"certainty": "features exact"}, False),  # unless the user said so
        ({"certainty": "features exact", "exact": True}, True),
        ({"certainty": "features exact", "loss": 0.25}, False),
        ({"warnings": (DRIFT,)}, False),
        ({"spent": 0, "loss": INF}, False),
        ({"spent": 0}, True),
    ],
)
def test_it_is_sure_by_own_scores_or_features_that_are_said_to_be_exact(
    said: dict[str, Any], is_sure: bool
) -> None:
    answer = sure(**said)
    assert answer.sure is is_sure
    assert str(answer).startswith("Choose ") or not is_sure
    assert "\nNext " not in str(answer) or not is_sure


def test_an_alarm_withdraws_what_was_certain() -> None:
    note = eh.Finding("range", "All scores are whole numbers.", alarm=False)
    answer = sure(warnings=(note, DRIFT))
    assert (answer.sure, answer.certainty, answer.loss) == (False, None, INF)
    assert answer.warnings == (DRIFT, note)
    assert answer.alarms == (DRIFT,)
    assert (answer.bias.value, answer.bias.low, answer.bias.high) == (1.25, -INF, INF)
    assert answer.conclusion.leads[1].tolist() == [1.5, -INF, INF]
    assert [(one.value, one.low, one.high) for one in answer.ranking] == [
        (value, -INF, INF) for value in (7.0, 5.5, 3.0)
    ]
    assert str(answer).endswith(note.message)
    kept = sure(warnings=(note,))
    assert (kept.sure, kept.loss) == (True, 0.0)


def test_one_option_needs_no_choice() -> None:
    actions = eh.ActionSet([[1.0]], attributes=[[2.0]], labels=["Ann"])
    answer = answered(actions, eh.Feedback([0], [0.0], [0.0]), spent=0, leads=np.zeros((1, 3)))
    assert str(answer).startswith("Choose Ann: there is no other option.\n")
    assert "Rival" not in str(answer)
    assert answer.raw_choice is None
    answer.plot()


def test_standings_are_a_frame_by_value() -> None:
    values = VALUES[[1, 0, 2]]
    frame = sure(values=values, option=1, leads=-LEADS[:, [0, 2, 1]]).standings
    assert frame.columns.tolist() == [
        "option", "group", "raw", "value", "low", "high", "lead", "evaluations", "verdict",
        "chance", "rank_low", "rank_high",
    ]  # fmt: skip
    assert frame["option"].tolist() == ["Bo", "Ann", "Cy"]
    assert frame["group"].tolist() == ["home", "away", "home"]
    assert frame["value"].is_monotonic_decreasing
    np.testing.assert_array_equal(frame[["value", "low", "high"]], values[[1, 0, 2]])
    assert frame["raw"].tolist() == [6.5, 6.0, 4.0]
    assert frame["lead"].tolist() == [-1.5, 0.0, -4.0]


def test_a_policy_that_says_no_values_gets_those_of_least_squares() -> None:
    """Means without noise are reproduced; a value that nothing shows is not made up."""
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 2.0]], ["a", "a", "b", "b"])
    values = actions.features @ [2.0, 0.5]
    means = values - 0.75 * np.asarray(actions.groups)
    n = np.array([5, 7, 3, 1])
    answer = answered(actions, eh.Feedback(n, n * means, n * means**2 + 1.0))
    found = np.array([answer.standing(x).value for x in range(4)])
    np.testing.assert_allclose(found, values)
    assert answer.raw_choice == int(np.argmax(means))
    n = np.array([5, 0, 3, 0])
    answer = answered(actions, eh.Feedback(n, n * means, n * means**2 + n))
    assert all(math.isnan(one.value) for one in answer.ranking)
    assert math.isnan(answer.standing(1).raw)


def test_exact_features_give_values_to_options_without_scores() -> None:
    """Three options determine the line and the bias; the fourth is what the line says."""
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 2.0]], ["a", "a", "b", "b"])
    values = actions.features @ [2.0, 0.5]
    means = values - 0.75 * np.asarray(actions.groups)
    n = np.array([2, 2, 2, 0])
    told = eh.Feedback(n, n * means, n * means**2 + n)
    said = np.column_stack([values, values - 1.0, values + 1.0])
    said[3] = [NAN, -INF, INF]
    found = answered(actions, told, values=said, certainty="features exact", loss=0.0)
    assert found.standing(3).value == pytest.approx(values[3])
    assert (found.standing(2).value, found.standing(2).low) == (values[2], values[2] - 1.0)
    assert math.isnan(answered(actions, told, values=said).standing(3).value)


def test_an_answer_survives_pickling() -> None:
    answer = answered(bias=(1.0, 0.5, 1.5), values=None)
    again = pickle.loads(pickle.dumps(answer))
    assert str(again) == str(answer)
    assert (
        repr(again)
        == repr(answer)
        == ("Answer(option=0, label='Ann', sure=False, certainty=None, loss=inf, spent=120)")
    )


@settings(max_examples=25)
@given(
    st.lists(st.text(min_size=1, max_size=150), min_size=3, max_size=3, unique=True),
    st.text(max_size=400),
)
def test_no_line_is_too_long_whatever_things_are_called(names: list[str], message: str) -> None:
    try:
        actions = three(tuple(names), ("away from here" * 5, "home", "home"))
    except eh.InputError:  # blank names are refused
        return
    failure = Failure(eh.Question(1, names[1], 7), message, 3)
    answer = sure(actions=actions, failures=(failure,), warnings=(eh.Finding("fit", message),))
    said = as_text(replace(answer._report(), sections=()))  # tables may be wider
    assert all(len(line) <= WIDTH for line in said.split("\n"))


def many(k: int, labels: ArrayLike | None = None) -> eh.Answer:
    rng = np.random.default_rng(k)
    features = np.c_[np.ones(k), rng.standard_normal(k)]
    names = None if labels is None else np.asarray(labels)
    actions = eh.ActionSet(features, np.where(np.arange(k) % 2, "home", "away"), names)
    values = 50 + 5 * features[:, 1]
    wide = 1 + rng.random(k)
    n = rng.integers(5, 50, k)
    raw = values + 2 * np.asarray(actions.groups)
    return sure(
        actions=actions,
        told=eh.Feedback(n, n * raw, n * raw**2 + 1.0),
        option=int(np.argmax(values)),
        values=np.c_[values, values - wide, values + wide],
        leads=None,
        spent=int(n.sum()),
    )


@pytest.mark.parametrize("k", [3, 11, 60])
def test_the_picture_shows_options_raw_scores_and_bias(k: int) -> None:
    answer = many(k)
    options, bias = answer.plot().axes
    rows = answer.ranking[: min(k, 24)]  # of many, the last is the one with the best raw score
    low, high = options.get_xlim()
    assert all(low < min(one.value, one.raw) <= max(one.value, one.raw) < high for one in rows)
    drawn = [line.get_xydata() for line in options.get_lines()]
    for y, one in enumerate(rows):
        interval, value, raw = drawn[3 * y : 3 * y + 3]
        np.testing.assert_array_equal(interval, [[one.low, y], [one.high, y]])
        np.testing.assert_array_equal(value, [[one.value, y]])
        assert np.asarray(raw)[0, 0] == one.raw
    low, high = bias.get_xlim()
    assert low < min(0.0, answer.bias.low) < max(0.0, answer.bias.high) < high


def test_the_best_raw_score_is_drawn_even_if_its_option_is_far_down() -> None:
    answer = many(60)
    last = answer.ranking[-1]
    counts = (np.arange(60) == last.index).astype(np.int64)
    checks_of(answer.policy).take(counts, 1e5 * counts, 1e10 * counts)
    again = answer_of(answer.policy, confidence=0.95, tolerance=0.0, features_exact=False)
    names = [label.get_text() for label in again.plot().axes[0].get_yticklabels()]
    assert len(names) == 40
    assert last.option in names[-1]
    assert again.raw_choice == last.index
