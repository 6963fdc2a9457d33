"""Biases by name, and how the poorly known are drawn towards the others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.answers.biases import Biases, NamedBias, shrunk
from evenhand.answers.difference import Difference
from evenhand.answers.least_squares import _OfPanel, _OfRows
from evenhand.answers.scale import ReplyScale, Scale
from evenhand.answers.withdrawn import Withdrawal, Withdrawals
from evenhand.answers.words import biases_in_words, evaluators_in_words
from evenhand.checks import Checks

numbers = st.floats(-5.0, 5.0).map(lambda x: round(x, 3))
sizes = st.floats(0.01, 4.0).map(lambda x: round(x, 3))


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, sizes), min_size=2, max_size=9))
def test_estimates_are_drawn_as_far_as_their_scatter_does_not_exceed_their_noise(
    given_ones: list[tuple[float, float]],
) -> None:
    """Paule and Mandel's condition, solved for τ² from what came out."""
    b, v = np.array(given_ones).T
    drawn = shrunk(b, v)

    def excess(tau: float, mean: float) -> float:
        return float(((b - mean) ** 2 / (tau + v)).sum()) - (len(b) - 1)

    plain = float(np.average(b, weights=1.0 / v))
    if excess(0.0, plain) <= 0.0:
        np.testing.assert_allclose(drawn, plain, atol=1e-9)
        return
    low, high = 0.0, 1e4  # an independent search for τ²
    for _ in range(200):
        tau = (low + high) / 2
        mean = float(np.average(b, weights=1.0 / (tau + v)))
        low, high = (tau, high) if excess(tau, mean) > 0.0 else (low, tau)
    np.testing.assert_allclose(drawn, mean + tau / (tau + v) * (b - mean), atol=1e-6)
    assert (np.abs(drawn - mean) <= np.abs(b - mean) + 1e-9).all()


def test_what_is_not_known_is_left_alone() -> None:
    b, v = np.array([1.0, math.nan, 3.0, 7.0]), np.array([4.0, math.nan, 4.0, math.nan])
    drawn = shrunk(b, v)
    np.testing.assert_allclose(drawn, [2.0, math.nan, 2.0, 7.0])
    np.testing.assert_array_equal(shrunk(b[:1], v[:1]), b[:1])
    exact = np.array([1.0, 2.0])
    np.testing.assert_array_equal(shrunk(exact, np.zeros(2)), exact)


def favour(name: str, by: float, low: float = -math.inf, high: float = math.inf) -> NamedBias:
    return NamedBias(name, "bias", None, None, by, low, high, by)


def test_the_largest_biases_come_first_and_the_rest_is_counted() -> None:
    many = [favour(f"own group of {name}", by, by - 1.0, by + 1.0) for name, by in
            (("P", 2.0), ("Q", -3.0), ("R", 0.5), ("S", 1.5), ("T", 0.25))]  # fmt: skip
    assert biases_in_words(Biases([*many, favour("own group of U", math.nan)])) == (
        "3.0 too little for the own group of Q (2.0 to 4.0); 2.0 too much for the own group of P "
        "(1.0 to 3.0); 1.5 too much for the own group of S (0.5 to 2.5); 2 smaller ones in "
        "answer.biases; 1 not known."
    )


def test_where_there_is_nothing_to_say_nothing_is_said() -> None:
    assert biases_in_words(Biases()) == ""
    assert evaluators_in_words(Biases([favour("own group", 1.0)])) == ""


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
        ("verdicts", "Ann", "must be 'first', 'second', 'tie' or a number; got 'Ann'"),
        ("verdicts", None, "'Ann against Bo' must be 'first'"),
        ("verdicts", 2.0, r"must lie in \[-1, 1\]; got 2"),
        ("votes", 0.5, "must be 0 or 1; got 0.5"),
        (None, True, "must be a finite number; got True"),
    ],
)
def test_what_is_no_verdict_is_refused(kind: str | None, reply: object, message: str) -> None:
    with pytest.raises(eh.InputError, match=message):
        ReplyScale(kind, None, comparing=True).read(ASKED, reply)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [None, [1.0, 2.0, 0.5]])
@pytest.mark.parametrize("route", ["panel", "rows"])
def test_least_squares_is_that_of_the_textbook(route: str, noise: list[float] | None) -> None:
    """On single scores, one row each: (AᵀA)⁻¹Aᵀy and s²(AᵀA)⁻¹, in units of the relative noise."""
    options = {f"o{x}": "abc"[x % 3] for x in range(6)}
    panel = eh.Questions.panel(options, {"P": "a", "Q": "b", "R": "d"}, noise=noise)
    rng = np.random.default_rng(3)
    asked = rng.integers(0, len(panel), 60)
    loud = np.ones(len(panel)) if panel.noise is None else panel.noise
    A = panel.points[asked] / loud[asked, None]
    y = (panel.points @ rng.standard_normal(9))[asked] / loud[asked] + rng.standard_normal(60)
    checks = Checks(panel)
    for question, score in zip(asked, y, strict=True):
        one = (np.arange(len(panel)) == question).astype(np.int64)
        checks.take(one, one * score, one * score**2)
    inverse = np.linalg.inv(A.T @ A)
    theta = inverse @ A.T @ y
    s2 = float(((y - A @ theta) ** 2).sum()) / (60 - 9)
    told = checks.counts, checks.means, float(checks.scatters.sum())
    fit = _OfPanel(panel, *told) if route == "panel" else _OfRows(panel, *told)
    rows = rng.standard_normal((4, 3))
    found, wide = fit.attributes(rows)
    np.testing.assert_allclose(found, rows @ theta[6:], atol=1e-9)
    expected = s2 * np.einsum("ij,jk,ik->i", rows, inverse[6:, 6:], rows)
    np.testing.assert_allclose(wide, expected, rtol=1e-9)
    targets = np.hstack([np.eye(6), np.tile([0.0, 1 / 3, 1 / 3], (6, 1))])
    found, wide = fit.values()
    np.testing.assert_allclose(found, targets @ theta, atol=1e-9)
    np.testing.assert_allclose(wide, s2 * np.diagonal(targets @ inverse @ targets.T), rtol=1e-9)


def test_values_end_where_the_scale_does_unless_they_are_not_known() -> None:
    marks = Scale(1.0, 10.0)
    assert marks.most == 9.0
    assert marks.cut([11.0, 9.5, math.inf], 1.0, 10.0).tolist() == [10.0, 9.5, math.inf]


def test_evaluators_are_told_what_to_write() -> None:
    assert ReplyScale("verdicts", None, comparing=True).wanted() == "first, second or tie"
    assert ReplyScale(None, (0, 10), comparing=False).wanted() == "a number from 0 to 10"
    votes = ReplyScale("votes", None, comparing=True)
    assert votes.reply(votes.read(eh.Question(0, "Ann against Bo", 1), 1)) == 1.0


def test_differences_and_withdrawals_are_said_in_a_sentence() -> None:
    lead = str(Difference("Ann", "Bo", 0.01, -0.05, 0.07, -0.04, 0.95))
    assert lead == (
        "Ann is better than Bo by 0.010 (−0.050 to 0.070); not worse by more than 0.04. "
        "Each is 95% sure."
    )
    slip = Withdrawal(3, "Ann", "P", 75.0, "a slip", blind=True)
    assert str(Withdrawals((slip,))).startswith("1 score: Ann by P, 75 (a slip, blindly).")
