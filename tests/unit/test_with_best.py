"""Comparisons with the best: what may be lost, and which of two tests a tolerance takes."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import oracles
from evenhand.certainty.look import Look
from evenhand.certainty.models import Shared, Spread
from evenhand.certainty.winner import largest, largest_tail
from rotation import nightly


def look_at(
    estimates: np.ndarray, C: np.ndarray, slack: float, freedom: float = math.inf, scale: float = 1
) -> Look:
    """Return the look at options with these estimates, of a covariance that is C times scale²."""
    b = int(np.argmax(estimates))
    rivals = np.delete(np.arange(len(estimates)), b)
    D = np.eye(len(estimates))[b] - np.eye(len(estimates))[rivals]
    S = D @ C @ D.T
    own = np.full(len(S), 0.5 * max(np.linalg.eigvalsh(S)[0], 0.0))
    factor = np.linalg.cholesky(S - np.diag(own) + 1e-13 * np.eye(len(S)))
    fit: Any = SimpleNamespace(
        leads=lambda *_: Spread(D @ estimates, np.diag(S)),
        shared=lambda *_: Shared(factor, own),
        scatter=0.0 if math.isinf(freedom) else freedom * scale**2,
        freedom=freedom,
        own=None,
    )
    return Look.at(fit, b, rivals, slack, 0.05)


def some_covariance(rng: np.random.Generator, k: int) -> np.ndarray:
    """Return that of options with unequal noise, and something in common."""
    A = 0.4 * rng.standard_normal((k, 2))
    return np.asarray(np.diag(np.exp(1.5 * rng.standard_normal(k))) + A @ A.T)


def test_of_two_options_it_is_students_test() -> None:
    """A tolerance takes the one-sided test, the loss and the interval the two-sided one."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        d = rng.normal(0.0, 1.0, 12)
        mean, error = abs(d.mean()), d.std(ddof=1) / math.sqrt(12)
        slack = float(rng.uniform(0.0, 1.0))
        C = np.diag([1.0, 0.0])
        look = look_at(np.array([mean, 0.0]), C, slack, 11.0, error)
        side = stats.ttest_1samp(np.sign(d.mean()) * d, -slack, alternative="greater").pvalue
        assert look.chances == pytest.approx([min(side, 1.0)])
        low, high = stats.ttest_1samp(np.sign(d.mean()) * d, 0.0).confidence_interval(0.95)
        least, found_low, found_high = look.ends(2)[1]
        assert found_high == pytest.approx(high)
        loss = max(-low, 0.0)
        assert max(-least, 0.0) == pytest.approx(min(loss, slack) if look.certain else loss)
        assert found_low == pytest.approx(max(low, -slack) if look.certain else low)


@pytest.mark.parametrize("n", [700, *nightly([2_000])])
@pytest.mark.parametrize("freedom", [math.inf, 6.0])
def test_the_verdict_the_loss_and_the_intervals_say_the_same(freedom: float, n: int) -> None:
    """Whatever the noise: sure where the bound is within the tolerance, and nowhere else."""
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(n):
        k = int(rng.integers(2, 9))
        C = some_covariance(rng, k)
        slack = float(rng.choice([0.0, *np.exp(rng.normal(0.5, 1.0, 3))]))
        estimates = rng.standard_normal(k) + np.eye(k)[0] * rng.uniform(0.0, 8.0)
        look = look_at(estimates, C, slack, freedom)
        least, low, high = look.ends(k)[look.rivals].T
        loss = max(0.0, -least.min())
        assert look.certain == (loss <= slack)
        assert (low <= look.winner.leads).all()
        assert (look.winner.leads <= high).all()
        if look.certain:
            assert low.min() >= -loss
            assert loss == 0.0 or look.winner.chances().max() >= 0.05, "the best is the best"
        else:
            assert low.min() <= 0.0
        seen.add((look.certain, loss > 0.0, slack > 0.0))
    assert len(seen) == 5, (
        "(False, True) and (True, False) with and without a tolerance, and within"
    )


def test_the_stronger_test_is_taken() -> None:
    """With equal noise, each tolerance is certified if either test does."""
    rng = np.random.default_rng(3)
    taken = {False: 0, True: 0}
    for _ in range(1_500):
        k, slack = int(rng.integers(3, 12)), float(rng.uniform(0.1, 4.0))
        look = look_at(rng.standard_normal(k) + np.eye(k)[0] * 2.5, np.eye(k), slack)
        winner = look.winner
        other = largest_tail((winner.leads + slack) / winner.errors, k - 1, math.inf)
        either = winner.chances(-slack).max() < 0.05 or other.max() < 0.05
        assert look.certain == either
        taken[bool(look.chances.max() == other.max())] += either
    assert min(taken.values()) > 20


@pytest.mark.parametrize("freedom", [math.inf, 8.0])
@pytest.mark.parametrize(
    ("behind", "loud", "slack"),
    [
        ([2.9] * 9, 1.0, 2.8),  # nine that lose a little more than is allowed
        pytest.param([1.0] * 9, 1.0, 0.9, marks=pytest.mark.nightly),
        ([1.0, 4.0, 4.0, 4.0], 3.0, 0.9),  # of which the best rivals are loud
        ([0.3] + [4.0] * 8, 0.3, 0.2),
        pytest.param([2.0, 2.0, 9.0, 9.0], 0.2, 1.9, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("runs", [500, *nightly([1_500])])
def test_what_is_called_good_enough_hardly_ever_loses_more(
    behind: list[float], loud: float, slack: float, freedom: float, runs: int
) -> None:
    rng = np.random.default_rng(4)
    values = np.array([0.0, *(-x for x in behind)])
    sds = np.ones(len(values))
    sds[1:] *= loud
    C = np.diag(sds**2)
    wrong = lost = 0
    for _ in range(runs):
        scale = 1.0 if math.isinf(freedom) else math.sqrt(rng.chisquare(freedom) / freedom)
        look = look_at(values + sds * rng.standard_normal(len(values)), C, slack, freedom, scale)
        loses = -values[look.leader]
        wrong += look.certain and loses > slack
        least = look.ends(len(values))[look.rivals, 0].min()
        lost += not look.certain and loses > -least
    most = stats.binom.isf(1e-4, runs, 0.05)
    assert wrong <= most
    assert lost <= most


def test_the_interval_of_a_lead_holds_though_who_leads_was_looked_for() -> None:
    """Of ten alike, the lead over the last is overestimated; Student's interval fails too often."""
    rng, runs, k = np.random.default_rng(5), 3_000, 10
    missed = plain = 0
    for _ in range(runs):
        look = look_at(rng.standard_normal(k), np.eye(k), 0.0)
        if look.leader == k - 1:
            continue
        lead = look.winner.leads[-1]
        _, low, high = look.ends(k)[k - 1]
        missed += not low <= 0.0 <= high
        plain += lead > 1.96 * math.sqrt(2.0)
    assert missed <= stats.binom.isf(1e-4, runs, 0.05)
    assert plain > stats.binom.isf(1e-4, runs, 0.05)


@cache
def estimated(freedom: float) -> NDArray[np.float64]:
    """Noise as it is estimated where it is 1: quantiles, all with the same chance."""
    if math.isinf(freedom):
        return np.ones(1)
    return np.sqrt(stats.chi2.ppf((np.arange(200_000) + 0.5) / 200_000, freedom) / freedom)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 47, 500])
@pytest.mark.parametrize("freedom", [1.0, 3.6, 9.0, 60.0, 5e3, math.inf])
def test_the_largest_of_n_is_bounded_given_the_noise(n: int, freedom: float) -> None:
    """By averages over the distribution of the estimated noise, and by another integral."""
    c = largest(0.05, n, freedom)
    chance = np.minimum(1.0, n * stats.norm.sf(c * estimated(freedom))).mean()
    assert chance == pytest.approx(0.05, rel=2e-4)
    assert oracles.largest(n, freedom, 0.05) == pytest.approx(c, rel=1e-6)
    assert largest_tail(np.array([c, -1.0, 0.0]), n, freedom)[0] == pytest.approx(0.05)


def test_far_fewer_errors_will_do_than_bonferroni_has_where_little_is_known_of_the_noise() -> None:
    """Forty-eight options with three scores each: as many as they need, were they independent."""
    rng, nu, n = np.random.default_rng(6), 4.0, 47
    q = np.sqrt(rng.chisquare(nu, 40_000) / nu)
    most = rng.standard_normal((40_000, n)).max(axis=1) / q
    assert 0.04 < (most > largest(0.05, n, nu)).mean() < 0.05
    assert (most > stats.t.isf(0.05 / n, nu)).mean() < 0.03
