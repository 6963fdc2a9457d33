"""Evidence of a stage: exact means under the null, and the ends of intervals."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import oracles
from evenhand.arrays import Floats
from evenhand.certainty import StageReading, interval, log_moment
from evenhand.numerics import planned_interval


def reading(
    estimate: float, J: float, scatter: float = 0.0, freedom: float = math.inf, centre: float = 0.3
) -> StageReading:
    parts = (estimate, J, scatter, freedom, centre, 0.25, 1.0)
    return StageReading(*(np.array([part], dtype=np.float64) for part in parts))


def exact_log_moment(nu: int, y: float) -> float:
    def integral(y: float) -> mpmath.mpf:
        top = max(4.0, abs(y)) + 4 * math.sqrt(nu + 1)
        return mpmath.quad(
            lambda r: r**nu * mpmath.exp(-r * r / 2 + r * y), [0, 1, top / 2, top, mpmath.inf]
        )

    return float(mpmath.log(integral(y) / integral(0.0)))


@pytest.mark.parametrize("nu", [0, 1, 2, 3, 8, 12, 13, 30, 200])
@pytest.mark.parametrize("y", [-12.0, -3.0, -0.4, 0.05, 0.7, 3.0, 12.0])
def test_the_moment_is_never_too_large(nu: int, y: float) -> None:
    exact, ours = exact_log_moment(nu, y), log_moment(nu, y)
    assert ours <= exact + 1e-12 * abs(exact)
    if y > 0 or nu >= 2:
        assert ours >= exact - 0.1 / max(nu, 1) ** 2


@pytest.mark.parametrize("J", [0.5, 4.0, 60.0])
def test_evidence_has_mean_one_where_the_noise_is_known(J: float) -> None:
    prior = reading(0.0, J).prior()

    def term(z: float) -> float:
        value = reading(z / math.sqrt(J), J).evidence(prior)[0]
        return math.exp(value + stats.norm.logpdf(z))

    top = float(prior[0].max()) * math.sqrt(J)
    mean = integrate.quad(term, -12, 12 + top, points=[0, top], limit=200)[0]
    assert mean == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 6, 20])
@pytest.mark.parametrize("J", [0.5, 10.0])
def test_evidence_has_mean_one_at_most_where_the_noise_is_not_known(freedom: int, J: float) -> None:
    """z/|z| is uniform on the sphere: its part along v has density ∝ (1 − c²)^{(ν−2)/2}."""
    prior = reading(0.0, J).prior()

    def term(angle: float) -> float:
        c = math.cos(angle)
        one = reading(c / math.sqrt(J), J, 1.0 - c * c, freedom)
        return math.exp(one.evidence(prior)[0]) * math.sin(angle) ** (freedom - 1)

    whole = integrate.quad(lambda angle: math.sin(angle) ** (freedom - 1), 0, math.pi)[0]
    mean = integrate.quad(term, 0, math.pi, limit=200)[0] / whole
    assert mean <= 1.0 + 1e-7
    assert mean > 0.9


@pytest.mark.parametrize("freedom", [math.inf, 9.0])
def test_evidence_grows_as_the_null_goes_down(freedom: float) -> None:
    one = reading(0.2, 30.0, 25.0, freedom)
    said = [one.evidence(one.prior(), null)[0] for null in (0.5, 0.2, 0.0, -0.3, -1.0)]
    assert (np.diff(said) > 0).all()


@pytest.mark.parametrize("freedom", [math.inf, 12.0])
def test_an_interval_ends_where_the_evidence_is_enough(freedom: float) -> None:
    stages = [reading(0.31, 20.0, 14.0, freedom), reading(0.2, 45.0, 11.0, freedom, centre=0.28)]
    middle, low, high = interval(stages, 0.05)
    assert middle == pytest.approx((20 * 0.31 + 45 * 0.2) / 65)

    def total(null: Floats) -> float:
        return float(sum(stage.against_equality(null)[0] for stage in stages))

    for end in (low, high):
        assert total(end) >= math.log(20.0)
        assert total(end) == pytest.approx(math.log(20.0), rel=1e-7)
        assert total(middle + (1.0 - 1e-8) * (end - middle)) < math.log(20.0)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-12, 1e-100])
def test_a_noise_that_was_not_heard_makes_no_evidence(unit: float) -> None:
    """Answers that fit by chance, as whole numbers do, let a lead look like any number of noises.

    One answer that is left when all others are used up says z or −z: evidence of 2 at most.
    """
    for estimate in (0.7, 1.0, 3.1):
        said = StageReading(*(np.array([x]) for x in (estimate, 0.5, 0.0, 0.0, 1.0, 1.0, unit)))
        assert said.evidence(said.prior(0.0, 2.0))[0] <= math.log(2.0) + 1e-6
        assert said.against_equality(np.zeros(1))[0] <= math.log(2.0) + 1e-6


def test_an_interval_without_information_is_everything() -> None:
    _, low, high = interval([reading(0.0, 0.0)], 0.05)
    assert (low[0], high[0]) == (-math.inf, math.inf)


def test_a_fixed_design_pays_what_a_mixture_does() -> None:
    """3.04 sd where planned, and at most 3.34 from a quarter to sixteen times that."""
    for J in (25.0, 100.0, 1600.0):
        _, high = planned_interval(0.0, J, 0.0, math.inf, plan=100.0, failure=0.05)
        assert 3.0 < high * math.sqrt(J) < 3.35


def test_a_fixed_design_with_unknown_noise_ends_where_its_evidence_is_enough() -> None:
    """The closed form against the mixture itself, by quadrature over effects."""
    J, R, nu, plan = 50.0, 30.0, 14.0, 80.0
    _, high = planned_interval(0.0, J, R, nu, plan, 0.05)
    tau = math.sqrt(1 / (0.15 * plan))
    q = R + J * high**2

    def term(eta: float) -> float:
        y = eta * J * high / math.sqrt(q)
        return math.exp(exact_log_moment(14, y) - eta**2 * J / 2) * stats.norm.pdf(eta, scale=tau)

    nodes, weights = np.polynomial.legendre.leggauss(24)
    value = sum(
        w * 1.5 * term(1.5 * x) for x, w in zip(nodes.tolist(), weights.tolist(), strict=True)
    )
    assert value == pytest.approx(20.0, rel=1e-3)


@pytest.mark.parametrize("freedom", [math.inf, 4.0, 40.0])
def test_intervals_of_two_plans_end_where_the_oracle_has_enough(freedom: float) -> None:
    """The oracle has the exact moment, where evidence here is by a lower bound."""
    rng = np.random.default_rng(0)
    n, scatter, failure = 20, 0.0 if math.isinf(freedom) else 1.3 * freedom, 0.03
    stages, plans = [], []
    for _ in range(2):
        J, spread, unit = rng.uniform(0.5, 30.0, n), rng.uniform(0.1, 2.0, n), 1.1
        at, centre = rng.normal(size=n) / np.sqrt(J), spread * rng.normal(size=n)
        ones = np.ones(n)
        stages.append(
            StageReading(at, J, scatter * ones, freedom * ones, centre, spread, unit * ones)
        )
        plans.append(oracles.Reading(at, J, scatter, freedom, centre, spread, unit))
    middle, low, high = interval(stages, failure)
    for end in (low, high):
        far = np.isinf(end)
        had = oracles.against_equality(plans, np.where(far, middle, end))[~far]
        assert (had >= math.log(1.0 / failure) - 1e-7).all()
        near = np.where(far, middle, end - 1e-3 * (end - middle))
        assert (oracles.against_equality(plans, near)[~far] < math.log(1.0 / failure)).all()
