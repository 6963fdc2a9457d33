"""Own scores: contrasts, what is known of τ, and leads within a group, each by another route."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.stats import binom, multivariate_normal, norm, t

import evenhand as eh
from evenhand.search import Contrasts, DuelScores, OwnScores, deviations

RNG = np.random.default_rng(5)
K, R = 9, 4
POINTS = np.column_stack([np.ones(K), RNG.standard_normal((K, R - 1))])
MEANS = RNG.normal(0.0, 2.0, K)
COUNTS = np.array([4, 7, 16, 5, 4, 30, 9, 4, 6])


def known(scale: float = 1.0) -> OwnScores:
    return OwnScores(COUNTS, MEANS, np.zeros(K), np.full(K, scale), np.inf)


def pair(i: int, j: int) -> np.ndarray:
    own = np.zeros((1, K))
    own[0, i], own[0, j] = 1.0, -1.0
    return own


def test_a_contrast_is_own_scores_less_what_weighted_least_squares_explains() -> None:
    tau, direction = 0.7, np.array([0.0, 0.0, 0.0, 2.0])
    scores = known(1.3)
    V = 1.3**2 / COUNTS
    root = 1.0 / np.sqrt(tau**2 + V)
    # the row h of least squares, column by column
    h = np.array(
        [
            direction @ np.linalg.lstsq(POINTS * root[:, None], root * e, rcond=None)[0]
            for e in np.eye(K)
        ]
    )
    c = pair(2, 5)[0] - h
    posterior = deviations(POINTS, MEANS, scores.variances, tau)
    assert posterior is not None
    found = Contrasts.of(scores, posterior, pair(2, 5), direction[None, :])
    assert found.estimates[0, 0] == pytest.approx(c @ MEANS)
    assert found.noise[0, 0] == pytest.approx((c**2 * V).sum())
    assert found.unexplained[0, 0] == pytest.approx(tau**2 * (h**2).sum())
    # with τ known and noise allowed for by the same number of deviations, it is plain Gaussian
    value, low, high = found.interval(-norm.ppf(0.04), 0.04)[0]
    sd = math.sqrt((c**2 * V).sum() + tau**2 * (h**2).sum())
    assert [value, low, high] == pytest.approx(
        [c @ MEANS, c @ MEANS + norm.ppf(0.04) * sd, c @ MEANS - norm.ppf(0.04) * sd], rel=1e-6
    )


def test_the_posterior_of_tau_is_that_of_the_residual_contrasts() -> None:
    V = 1.0 / COUNTS
    posterior = deviations(POINTS, MEANS, V)
    assert posterior is not None
    rest = null_space(POINTS.T)  # contrasts in which γ and ω do not occur
    log_density = [
        multivariate_normal(np.zeros(K - R), rest.T @ np.diag(square + V) @ rest).logpdf(
            rest.T @ MEANS
        )
        + math.log(square / (square + V.mean()))
        for square in posterior.squares
    ]
    weights = np.exp(np.array(log_density) - max(log_density))
    assert posterior.weights == pytest.approx(weights / weights.sum(), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("failure", [0.05, 0.01])
def test_without_noise_a_lead_is_students(failure: float) -> None:
    """k − r degrees of freedom: the textbook interval of a least squares estimate."""
    scores = OwnScores(COUNTS * 10**9, MEANS, np.zeros(K), np.ones(K), np.inf)
    direction = np.array([[0.0, 0.0, 0.0, 2.0]])
    posterior = deviations(POINTS, MEANS, scores.variances)
    assert posterior is not None
    found = Contrasts.of(scores, posterior, pair(0, 1), direction)
    h = direction[0] @ np.linalg.pinv(POINTS)
    residual = MEANS - POINTS @ np.linalg.pinv(POINTS) @ MEANS
    sd = math.sqrt(residual @ residual / (K - R) * (h @ h))
    value, low, high = found.interval(3.0, failure)[0]
    assert value == pytest.approx(MEANS[0] - MEANS[1] - h @ MEANS, rel=1e-6)
    width = t.isf(failure, K - R) * sd
    assert value - low == pytest.approx(width, rel=5e-3)
    assert high - value == pytest.approx(width, rel=5e-3)


def test_as_many_options_as_parameters_say_nothing_of_tau() -> None:
    assert deviations(POINTS[:R], MEANS[:R], np.ones(R)) is None
    assert deviations(POINTS[:R], MEANS[:R], np.ones(R), known=0.5) is not None
    unseen = np.where(np.arange(K) < R, 1.0, np.inf)
    assert deviations(POINTS, MEANS, unseen) is None


def test_noise_is_the_largest_of_pooled_group_and_own_scatter() -> None:
    """Two scores each at ±1, ±1 and ±3: variances 2, 2 and 18; groups {0, 1} and {2}."""
    told = eh.Feedback([2, 2, 2], [0.0, 0.0, 0.0], [2.0, 2.0, 18.0])
    found = OwnScores.of(told, np.array([0, 0, 1]))
    pooled = 22.0 / 3.0
    assert found.freedom == 3.0
    assert found.scales[:2] ** 2 == pytest.approx(pooled)
    assert found.scales[2] ** 2 == pytest.approx((18.0 + 8.0 * pooled) / 9.0)
    stated = OwnScores.of(told, np.array([0, 0, 1]), noise_scale=10.0)
    assert (stated.scales == 10.0).all()
    assert stated.freedom == math.inf


def test_scores_that_never_differ_leave_the_noise_unknown() -> None:
    found = OwnScores.of(eh.Feedback([4, 4], [8.0, 4.0], [16.0, 4.0]), np.array([0, 1]))
    assert found.quantile(0.01) == math.inf


# ---------------------------------------------------------------- leads within a group


def mixture(S: float, v: float, rho: float) -> float:
    """∫ exp(λS − λ²v/2) over λ = |N(0, 1/ρ)|, by quadrature."""
    density = norm(scale=1.0 / math.sqrt(rho)).pdf
    value, _ = quad(
        lambda x: 2.0 * density(x) * math.exp(x * S - x * x * v / 2.0),
        0.0,
        20.0 / math.sqrt(rho),
        points=[S / (v + rho)],
    )
    return float(value)


def test_a_lead_ends_where_its_martingale_reaches_one_in_delta() -> None:
    duels = DuelScores.none(3).after(np.array([4, 4, 0]), np.array([3.0, 1.0, 0.0]))
    duels = duels.after(np.array([10, 2, 5]), np.array([2.5, 1.5, 9.0]))
    scales = np.array([1.5, 2.0, 1.0])
    # by hand: w = 4·4/8 = 2 and 10·2/12 = 5/3; the variance of a difference of means is σ²/n
    w = np.array([2.0, 5.0 / 3.0])
    S = w @ np.array([2.0, 1.0])
    v = w**2 @ (1.5**2 / np.array([4.0, 10.0]) + 2.0**2 / np.array([4.0, 2.0]))
    value, low, high = duels.leads(0, scales, 0.01)[1]
    assert value == pytest.approx(S / w.sum())
    assert high - value == pytest.approx(value - low)
    at_low = mixture(S - w.sum() * low, v, 2.0 * 1.5 * 2.0)
    assert 100.0 <= at_low <= 102.5  # not below 1/δ, and hardly above: Φ(2) stands in for Φ
    assert duels.leads(1, scales, 0.01)[0] == pytest.approx([-value, -high, -low])


def test_batches_without_one_of_the_two_say_nothing() -> None:
    duels = DuelScores.none(2).after(np.array([5, 0]), np.array([1.0, 0.0]))
    assert duels.leads(0, np.ones(2), 0.05)[1].tolist()[1:] == [-math.inf, math.inf]


def test_leads_of_equals_hold_at_all_times_whoever_is_asked_next() -> None:
    """An enemy asks more about whoever lags, and stops when a lead looks proved."""
    failure, runs, wrong = 0.05, 400, 0
    rng = np.random.default_rng(8)
    for _ in range(runs):
        duels, counts = DuelScores.none(2), np.array([4, 4])
        for _ in range(25):
            means = rng.standard_normal(2) / np.sqrt(counts)
            duels = duels.after(counts, means)
            if duels.leads(0, np.ones(2), failure)[1, 1] > 0.0:
                wrong += 1
                break
            counts = np.where(means > means.mean(), [3, 3], [9, 9])
    assert wrong <= binom.isf(1e-4, runs, failure)
