"""The winner test: truncated normal and Student laws, far tails, and what it costs to lead."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import oracles
from evenhand.certainty import Shared, Winner, largest, largest_tail, leader_is_certain
from evenhand.numerics import log_mass, log_normal_tail, log_student_tail


def winner_of(
    leads: np.ndarray, S: np.ndarray, scatter: float = 0.0, freedom: float = math.inf
) -> Winner:
    """Return the winner of leads with this covariance, taken apart in some way."""
    own = np.full(len(S), 0.5 * np.linalg.eigvalsh(S)[0])
    shared = Shared(np.linalg.cholesky(S - np.diag(own)), own)
    return Winner.of(leads, shared, scatter, freedom)


Z = float(stats.norm.ppf(0.975))
COVARIANCE = np.array([[2.0, 1.0, -0.3], [1.0, 2.0, 0.2], [-0.3, 0.2, 1.5]])


@pytest.mark.parametrize("freedom", [1.0, 3.5, 40.0, 900.0])
@pytest.mark.parametrize("t", [0.0, 1e-6, 1.0, 30.0, 1e8, 1e40])
def test_student_tails_agree_with_many_digits(t: float, freedom: float) -> None:
    with mpmath.workdps(60):
        f = mpmath.mpf(freedom) / (freedom + mpmath.mpf(t) ** 2)
        exact = mpmath.log(mpmath.betainc(freedom / 2, 0.5, 0, f, regularized=True) / 2)
        found = log_student_tail(np.array([float(f)]), freedom)[0]
    if float(f) == 0.0:
        assert found == -np.inf
    else:
        assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-1.0, 2.0),
        (30.0, 31.0),
        (-31.0, -30.0),
        (45.0, np.inf),
        (-np.inf, np.inf),
        (-np.inf, -40.0),
    ],
)
def test_masses_agree_with_many_digits(low: float, high: float) -> None:
    with mpmath.workdps(800):
        exact = mpmath.log(mpmath.ncdf(high) - mpmath.ncdf(low))
    found = log_mass(log_normal_tail, np.array([low]), np.array([high]))[0]
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-15)


def test_nothing_lies_between_equal_ends() -> None:
    ends = np.array([-2.0, 0.0, 3.0, np.inf])
    assert (log_mass(log_normal_tail, ends, ends) == -np.inf).all()


def test_the_ends_are_where_the_winner_changes() -> None:
    """A lead moved along, with what is independent of it kept, leads up to lo and hi only."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        A = rng.standard_normal((3, 3))
        S, L = A @ A.T, np.abs(rng.standard_normal(3))
        winner = winner_of(L, S)
        for j in range(3):
            c = S[:, j] / S[j, j]

            def least(x: float, j: int = j, c: np.ndarray = c, L: np.ndarray = L) -> float:
                return float((L + c * (x - L[j])).min())

            lo, hi = winner.low[j], winner.high[j]
            assert lo >= -1e-12  # the lead over j itself is one of them
            assert least(lo) == pytest.approx(0.0, abs=1e-9)
            assert least(lo - 1e-6) < 0.0 <= least(0.5 * (lo + L[j])) + 1e-9
            if math.isfinite(hi):
                assert least(hi) == pytest.approx(0.0, abs=1e-9)
                assert least(hi + 1e-6) < 0.0


def test_chances_are_those_of_a_truncated_normal() -> None:
    L = np.array([1.2, 2.0, 0.4])
    winner = winner_of(L, COVARIANCE)
    for null in (0.0, -0.7, 0.3):
        for j in range(3):
            sd = math.sqrt(COVARIANCE[j, j])
            a, b = (winner.low[j] - null) / sd, (winner.high[j] - null) / sd
            exact = stats.truncnorm.sf(L[j], a, b, loc=null, scale=sd)
            assert winner.chances(null)[j] == pytest.approx(exact, rel=1e-8)


def test_chances_are_those_of_students_law_given_the_sphere() -> None:
    """With σ unknown: by numerical integration of the density of L given R + L²/S."""
    L, R, nu = np.array([1.2, 2.0, 0.4]), 5.0, 7.0
    winner = winner_of(L, COVARIANCE, R, nu)
    for null in (0.0, -0.7):
        for j in range(3):
            s = COVARIANCE[j, j]
            Q = R + (L[j] - null) ** 2 / s

            def density(x: float, null: float = null, s: float = s, Q: float = Q) -> float:
                left = 1.0 - (x - null) ** 2 / (s * Q)
                return max(left, 0.0) ** (nu / 2 - 1)  # L and R are independent, R is σ²χ²_ν

            ends = null - math.sqrt(s * Q), null + math.sqrt(s * Q)
            a, b = max(winner.low[j], ends[0]), min(winner.high[j], ends[1])
            exact = float(mpmath.quad(density, [L[j], b]) / mpmath.quad(density, [a, b]))
            assert winner.chances(null)[j] == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("freedom", [math.inf, 12.0])
def test_chances_are_uniform_given_who_leads(freedom: float) -> None:
    """All values equal: given that the first leads, p over each rival is uniform."""
    rng, n = np.random.default_rng(5), 3_000
    X = rng.standard_normal((40_000, 4)) * [1.0, 0.7, 1.3, 1.0]
    X = X[(X[:, 0] > X[:, 1:].max(axis=1))][:n]
    S = np.diag([0.49, 1.69, 1.0]) + 1.0
    scatter = rng.chisquare(freedom, n) if math.isfinite(freedom) else np.zeros(n)
    p = np.array(
        [winner_of(x[0] - x[1:], S, r, freedom).chances() for x, r in zip(X, scatter, strict=True)]
    )
    for j in range(3):
        assert stats.kstest(p[:, j], "uniform").pvalue > 1e-4


@pytest.mark.parametrize("freedom", [math.inf, 12.0])
def test_ends_of_intervals_are_where_the_chance_is_the_failure(freedom: float) -> None:
    winner = winner_of(np.array([1.2, 2.0, 0.4]), COVARIANCE, 9.0, freedom)
    low = winner.at_least(0.05)
    assert (low < winner.leads).all()
    assert winner.chances(low) == pytest.approx(0.05, rel=0.02)
    assert (winner.chances(low) <= 0.05 + 1e-9).all(), "the end is on the safe side"


def test_far_leads_are_numbers() -> None:
    for size in (30.0, 1e3, 1e8):
        for freedom in (math.inf, 20.0):
            p = winner_of(np.array([size, 2 * size]), np.eye(2) + 1.0, 20.0, freedom).chances()
            assert (p >= 0.0).all()
            assert (p < 1e-8).all()


def test_a_tie_at_the_top_certifies_nobody() -> None:
    for freedom in (math.inf, 20.0):
        p = winner_of(np.array([0.0, 3.0]), np.eye(2) + 1.0, 20.0, freedom).chances()
        assert p[0] == 1.0
        assert np.isfinite(p).all()


def test_without_scatter_nothing_is_known_of_the_noise() -> None:
    for scatter, freedom in ((0.0, 10.0), (1.0, 0.0)):
        winner = winner_of(np.array([5.0]), np.eye(1), scatter, freedom)
        assert winner.chances().tolist() == [1.0]
        assert winner.at_least(0.05).tolist() == [-np.inf]


def taken_apart(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A half of the least variance as the options' own, and a root of the rest."""
    own = 0.5 * np.linalg.eigvalsh(C)[0] * np.ones(len(C))
    return np.sqrt(own), np.linalg.cholesky(C - np.diag(own))


def test_under_a_null_few_leaders_are_certain() -> None:
    """All options are as good: whoever leads is certified in at most 5%, with any covariance."""
    n = 4000
    rng = np.random.default_rng(5)
    B = rng.standard_normal((6, 6))
    for C in (np.eye(6), B @ B.T, COVARIANCE):
        draws = rng.multivariate_normal(np.zeros(len(C)), C, size=n, method="cholesky")
        share = leader_is_certain(draws, *taken_apart(C), 0.05).mean()
        assert share <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / n)


def test_two_options_are_a_two_sided_test() -> None:
    C = np.array([[2.0, 0.3], [0.3, 1.0]])
    sd = math.sqrt(2.0 + 1.0 - 0.6)
    estimates = np.array([[0.0, -1.0001 * Z * sd], [0.0, -0.9999 * Z * sd], [-3.2, 0.0]])
    certain = leader_is_certain(estimates, *taken_apart(C), 0.05)
    assert certain.tolist() == [True, False, Z * sd < 3.2]
    # with a tolerance: P(T ≥ t | T ≥ 0) where T has mean −ε
    t, eps = 2.5, 0.7
    p = stats.norm.sf((t + eps) / sd) / stats.norm.sf(eps / sd)
    one = np.array([[t, 0.0]])
    assert leader_is_certain(one, *taken_apart(C), 1.001 * p, eps)[0]
    assert not leader_is_certain(one, *taken_apart(C), 0.999 * p, eps)[0]


def test_the_runner_up_of_independent_options_decides() -> None:
    """For equal variances T_j given the rest lies above max(x_j, second): a closed form."""
    x = np.array([3.0, 1.0, 0.2])
    # x_0 − x_j given x_0 + x_j and the rest: x_0 ≥ both means T_j ≥ 0 and T_j ≥ 2·x_l − (x_0 + x_j)
    p = []
    for j, rest in ((1, 2), (2, 1)):
        low = max(0.0, 2 * x[rest] - x[0] - x[j])
        p.append(stats.norm.sf((x[0] - x[j]) / math.sqrt(2)) / stats.norm.sf(low / math.sqrt(2)))
    worst = max(p)
    assert leader_is_certain(x[None], *taken_apart(np.eye(3)), 1.0001 * worst)[0]
    assert not leader_is_certain(x[None], *taken_apart(np.eye(3)), 0.9999 * worst)[0]


def test_it_is_the_test_that_policies_make() -> None:
    """Two routes: one draw at a time, by leads and their covariance."""
    rng = np.random.default_rng(2)
    B = rng.standard_normal((5, 5))
    C = 0.3 * np.eye(5) + 0.05 * B @ B.T
    draws = rng.multivariate_normal(0.8 * rng.standard_normal(5), C, size=300, method="cholesky")
    for tolerance in (0.0, 0.4):
        apart = []
        for row in draws:
            i = int(np.argmax(row))
            D = np.delete(np.eye(5)[i] - np.eye(5), i, axis=0)
            shared = Shared(D @ np.linalg.cholesky(C), np.zeros(len(D)))
            chances = Winner.of(D @ row, shared).chances(-tolerance)
            apart.append(float(chances.max()) <= 0.05)
        together = leader_is_certain(draws, *taken_apart(C), 0.05, tolerance)
        assert 30 < together.sum() < 270
        assert together.tolist() == apart


# ---------------------------------------------------------------- comparisons with the best


def estimated(freedom: float) -> np.ndarray:
    """Noise as it is estimated where it is 1: quantiles, all with the same chance."""
    if math.isinf(freedom):
        return np.ones(1)
    return np.sqrt(stats.chi2.ppf((np.arange(100_000) + 0.5) / 100_000, freedom) / freedom)


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
