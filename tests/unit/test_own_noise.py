"""Every option's own noise: Student's test, the definition, and hostile tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import evenhand as eh
import oracles
from evenhand.arrays import Floats
from rotation import nightly


def table(scores: Floats) -> pd.DataFrame:
    """(k, n) scores as a table, a row for each; NaN where there is none."""
    rows = [(f"o{i}", f"j{j}", float(y)) for i, row in enumerate(scores) for j, y in enumerate(row)]
    return pd.DataFrame(rows, columns=["option", "evaluator", "score"]).dropna()


def test_two_options_are_a_paired_t_test() -> None:
    """Between two options named beforehand, and of the better one: with a tolerance, one-sided."""
    rng = np.random.default_rng(3)
    for n in range(12):
        Y = rng.normal(size=(2, 9)) * np.array([[3.0], [0.2]]) + [[0.3 * n], [0.0]]
        expected, slack = stats.ttest_rel(*Y), float(rng.uniform(0.0, 2.0))
        answer = eh.decide(table(Y), tolerance=slack, next_n=0)
        low, high = expected.confidence_interval(0.95)
        two = answer.compare("o0", "o1")
        assert (two.low, two.high) == pytest.approx((low, high))
        d = abs(expected.statistic) * (Y[0] - Y[1]) / expected.statistic
        side = stats.ttest_1samp(d, -slack, alternative="greater").pvalue
        assert answer.sure == (min(side, expected.pvalue) < 0.05)


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_leads_are_what_the_definition_says(seed: int) -> None:
    """On panels with gaps and loud options, beside a hat matrix that is written out."""
    rng, k, n = np.random.default_rng(seed), 8, 6
    Y = rng.normal(size=(k, n)) * (1.0 + np.arange(k))[:, None]
    Y[rng.random((k, n)) < 0.2] = np.nan
    answer = eh.decide(table(Y), next_n=0)
    option, judge = np.nonzero(~np.isnan(Y))
    rows = np.hstack([np.eye(k)[option], np.eye(n)[judge][:, 1:]])
    one = np.ones(len(rows))
    reference = oracles.with_own_noise(rows, one, Y[option, judge], 0.0 * one, option)
    expected = reference.of_rows(np.eye(1, k + n - 1) - np.eye(k + n - 1)[1:k])
    for x in range(1, k):
        two = answer.compare("o0", f"o{x}")
        ratio = (two.value - two.low) / (two.value - two.at_least)
        freedom = optimize.brentq(
            lambda nu, ratio=ratio: stats.t.isf(0.025, nu) / stats.t.isf(0.05, nu) - ratio, 1.0, 1e6
        )
        error = (two.value - two.low) / stats.t.isf(0.025, freedom)
        assert two.value == pytest.approx(expected.estimates[x - 1])
        assert error**2 == pytest.approx(expected.variances[x - 1], rel=1e-5)


def test_what_a_judge_says_again_is_no_further_opinion() -> None:
    Y = np.random.default_rng(4).normal(size=(3, 6))
    once, twice = table(Y), pd.concat([table(Y + 0.1), table(Y - 0.1)])
    for rival in ("o1", "o2"):
        one, other = (
            eh.decide(scores, repeats=True, next_n=0).compare("o0", rival)
            for scores in (once, twice)
        )
        assert (other.low, other.high) == pytest.approx((one.low, one.high))


def test_units_and_a_constant_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(6, 7)) + np.arange(6)[:, None]
    plain = eh.decide(table(Y))
    for scale, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)):
        moved = eh.decide(table(scale * Y + shift))
        assert (moved.label, moved.sure) == (plain.label, plain.sure)
        assert moved.loss == pytest.approx(scale * plain.loss, rel=1e-5)


def loud(rng: np.random.Generator, k: int, n: int, times: float) -> Floats:
    """Two options that tie and are so many times as loud as the others, who are far behind."""
    sizes, values = np.ones(k), np.zeros(k)
    sizes[:2], values[2:] = times, -3.0 * (times + np.abs(rng.normal(size=k - 2)))
    return values[:, None] + rng.normal(size=n) + sizes[:, None] * rng.normal(size=(k, n))


def votes(rng: np.random.Generator, k: int, n: int, share: float) -> Floats:
    """Two options have a share of the votes, the others 2%."""
    shares = np.where(np.arange(k) < 2, share, 0.02)
    return (rng.random((k, n)) < shares[:, None]).astype(np.float64)


def marks(rng: np.random.Generator) -> Floats:
    """Marks from 1 to 5: two options in the middle, the others at the floor."""
    values = np.where(np.arange(10) < 2, 3.0, -1.0)
    return np.clip(np.rint(values[:, None] + rng.normal(size=(10, 10))), 1.0, 5.0)


@pytest.mark.parametrize(
    ("case", "settings"),
    [(loud, (10, 8, 1.0)), (loud, (10, 8, 4.0)), (votes, (10, 20, 0.5)), (marks, ())],
)
@pytest.mark.parametrize("n", [40, *nightly([80])])
def test_where_two_tie_hardly_anybody_is_sure(
    case: object, settings: tuple[float, ...], n: int
) -> None:
    """With one noise for all, a quarter to 42% were."""
    assert callable(case)
    rng = np.random.default_rng(6)
    sure = sum(eh.decide(table(case(rng, *settings)), next_n=0).sure for _ in range(n))
    assert sure <= stats.binom.isf(1e-3, n, 0.05)


@pytest.mark.parametrize("n", [30, *nightly([400])])
def test_what_is_called_good_enough_hardly_ever_loses_more(n: int) -> None:
    """Rivals of the best lose a little more than is allowed, alike or louder than it."""
    rng, wrong = np.random.default_rng(4), 0
    for behind, sd, slack in (([2.9] * 9, 1.0, 2.8), ([1.0, 4, 4, 4], 3.0, 0.9)):
        for _ in range(n):
            sds = np.append(1.0, np.full(len(behind), sd))[:, None]
            values = -np.append(0.0, behind)
            Y = values[:, None] + sds * rng.normal(size=(len(values), 5)) * math.sqrt(5.0)
            answer = eh.decide(table(Y), tolerance=slack, next_n=0)
            wrong += answer.sure and answer.label != "o0"
    assert wrong <= stats.binom.isf(1e-3, 2 * n, 0.05)


def test_where_one_leads_it_is_found() -> None:
    rng, n = np.random.default_rng(7), 40
    values = np.append(2.5, -np.linspace(0.0, 3.0, 9))
    found = 0
    for _ in range(n):
        Y = values[:, None] + rng.normal(size=5) + rng.normal(size=(10, 5))
        answer = eh.decide(table(Y), next_n=0)
        found += answer.sure and answer.label == "o0"
    assert found >= stats.binom.ppf(1e-3, n, 0.9)
