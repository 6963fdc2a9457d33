"""OFUL against a literal transcription: explicit inverses, in the user's own coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import evenhand as eh
from evenhand.errors import InputError
from evenhand.policies import OFUL, OFULDebiased, OFULEvaluation, Oracle
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.rivals.oful import OptimisticPolicy
from evenhand.research.rivals.ridge import feature_coordinates, joint_coordinates

Floats = NDArray[np.float64]
KINDS: tuple[type[OptimisticPolicy], ...] = (OFUL, OFULEvaluation, OFULDebiased, Oracle)
SIGMA, B, OMEGA_BOUND, DELTA = 0.7, 2.0, 5.0, 0.1


def problem(p: int, k: int = 12, d: int = 3) -> BiasedLinearBandit:
    rng = np.random.default_rng(p)
    x = rng.standard_normal((k, d)) * [1.0, 20.0, 0.3]
    gamma = rng.standard_normal(d) / [1.0, 20.0, 0.3]
    gamma *= 0.9 * B / np.abs(x @ gamma).max()
    if p == 1:
        actions = eh.ActionSet(x, np.where(x @ gamma > 0.5, -1, 1))
        return BiasedLinearBandit(actions, gamma, 1.5, SIGMA)
    z = rng.standard_normal((k, p))
    return BiasedLinearBandit(eh.ActionSet(x, attributes=z), gamma, [1.0] * p, SIGMA)


def made(kind: type[OptimisticPolicy], truth: BiasedLinearBandit, **options: Any) -> eh.Policy:
    settings: dict[str, Any] = {"noise_scale": SIGMA, "value_bound": B, "delta": DELTA}
    if issubclass(kind, OFULEvaluation):
        settings["bias_bound"] = OMEGA_BOUND
    if kind is Oracle:
        settings["omega"] = truth.omega
    return kind(truth.actions, 10**18, **settings | options)


class Literal:
    """The algorithm as its paper writes it; the penalty is λ‖θ‖² with ‖θ‖ ≤ S in coordinates that
    stay implicit: ‖γ‖² is r Σ π_x (x·γ)² for the G-optimal design π, likewise for the bias."""

    def __init__(self, kind: type[OptimisticPolicy], truth: BiasedLinearBandit) -> None:
        X, Z = truth.actions.features, truth.actions.attributes
        blind = kind in (OFUL, Oracle)
        self.A = X if blind else np.hstack([X, Z])
        self.H = self.A if kind is not OFULDebiased else np.hstack([X, 0 * Z])
        self.offset = Z @ np.atleast_1d(truth.omega) if kind is Oracle else np.zeros(len(X))
        m = self.A.shape[1]
        norm = np.zeros((m, m))
        for columns, rows, scale in (
            (slice(0, X.shape[1]), X, 1.0),
            (slice(X.shape[1], m), Z, (B / OMEGA_BOUND) ** 2),
        ):
            if rows is Z and blind:
                continue
            pi = eh.g_optimal_design(rows, tol=1e-9).weights
            norm[columns, columns] = scale * rows.shape[1] * (rows.T * pi) @ rows
        ridge = (SIGMA / B) ** 2 / m
        self.V0 = ridge * norm
        self.penalty = np.sqrt(ridge) * np.sqrt(m) * B
        self.n, self.s = np.zeros(len(X)), np.zeros(len(X))

    @property
    def V(self) -> Floats:
        return self.V0 + (self.A.T * self.n) @ self.A

    @property
    def theta(self) -> Floats:
        return np.linalg.solve(self.V, self.A.T @ (self.s - self.n * self.offset))

    @property
    def beta(self) -> float:
        ratio = np.linalg.slogdet(self.V)[1] - np.linalg.slogdet(self.V0)[1]
        return float(SIGMA * np.sqrt(2 * np.log(1 / DELTA) + ratio) + self.penalty)

    def leverages(self, rows: Floats) -> Floats:
        return np.einsum("xi,ij,xj->x", rows, np.linalg.inv(self.V), rows)

    def prefers(self, x: int) -> bool:
        """Tell whether option x has the largest index; at the start many are tied."""
        index = self.H @ self.theta + self.beta * np.sqrt(self.leverages(self.H))
        return bool(index[x] >= index.max() - 1e-8 * self.beta)


def played(policy: eh.Policy, truth: BiasedLinearBandit, rounds: int, seed: int = 1) -> Any:
    """Yield what is asked, and then what was told."""
    evaluations = SimulatedEvaluations(truth, seed)
    for _ in range(rounds):
        allocation = policy.ask()
        feedback = evaluations.evaluate(allocation)
        yield allocation.counts, feedback
        policy.tell(feedback)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_that_of_the_transcription(kind: type[OptimisticPolicy], p: int) -> None:
    truth = problem(p)
    policy, literal = made(kind, truth, switching=0.0), Literal(kind, truth)
    for counts, feedback in played(policy, truth, 400):
        assert counts.sum() == 1
        assert literal.prefers(int(np.argmax(counts)))
        literal.n += counts
        literal.s += feedback.sums


@pytest.mark.parametrize("kind", KINDS)
def test_a_decision_lasts_until_the_determinant_has_grown(kind: type[OptimisticPolicy]) -> None:
    truth, C = problem(1), 0.3
    policy, literal = made(kind, truth, switching=C), Literal(kind, truth)
    for counts, feedback in played(policy, truth, 60):
        x, n = int(np.argmax(counts)), int(counts.sum())
        assert literal.prefers(x)
        row = literal.A[x]
        grown = [
            np.linalg.slogdet(literal.V + i * np.outer(row, row))[1]
            - np.linalg.slogdet(literal.V)[1]
            for i in (n - 1, n)
        ]
        assert grown[0] <= np.log1p(C) * (1 + 1e-6)
        assert grown[1] > np.log1p(C) * (1 - 1e-6)
        literal.n += counts
        literal.s += feedback.sums


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_followed_does_not_drift(kind: type[OptimisticPolicy]) -> None:
    """Past several renewals, and just before one, everything is as if computed from scratch."""
    truth = problem(1)
    policy, literal = made(kind, truth, switching=0.0), Literal(kind, truth)
    for counts, feedback in played(policy, truth, 5_000):
        literal.n += counts
        literal.s += feedback.sums
    means, leverages = policy.stepper.indices
    np.testing.assert_allclose(means, literal.H @ literal.theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(leverages, literal.leverages(literal.H), rtol=1e-8)
    assert policy.stepper.beta == pytest.approx(literal.beta, rel=1e-9)
    estimate = literal.theta[: truth.actions.n_features]
    assert policy.recommend().option == np.argmax(truth.actions.features @ estimate)


def test_leverages_survive_batches_that_differ_by_ten_orders() -> None:
    truth = problem(1)
    policy, literal = made(OFULDebiased, truth), Literal(OFULDebiased, truth)
    rng = np.random.default_rng(3)
    for size in (1, 10**10, 1, 10**5, 10, 10**10):
        counts = np.zeros(12, dtype=np.int64)
        counts[rng.integers(12, size=2)] = size
        sums = counts * truth.evaluations
        policy.observe(eh.Feedback(counts, sums, sums * truth.evaluations + 1e-9 * counts))
        literal.n += counts
        literal.s += sums
    means, leverages = policy.stepper.indices
    np.testing.assert_allclose(leverages, literal.leverages(literal.H), rtol=1e-5)
    np.testing.assert_allclose(means, literal.H @ literal.theta, rtol=1e-5, atol=1e-6)


def test_rare_switching_is_every_step_while_leverages_are_larger() -> None:
    truth = problem(1)
    for kind in KINDS:
        runs = [
            [counts.tolist() for counts, _ in played(made(kind, truth, switching=C), truth, 300)]
            for C in (0.0, 1e-9)
        ]
        assert runs[0] == runs[1]


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_do_not_matter(kind: type[OptimisticPolicy]) -> None:
    """Other units and mixtures of features, one of them superfluous: the same indices."""
    truth = problem(1)
    x = truth.actions.features
    mixed = np.column_stack(
        [x @ np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]), x[:, 0]]
    )
    other = BiasedLinearBandit(
        eh.ActionSet(mixed, truth.actions.groups),
        np.linalg.lstsq(mixed, truth.values, rcond=None)[0],
        truth.omega,
        SIGMA,
    )
    feedback = SimulatedEvaluations(truth, 1).evaluate(eh.Allocation(np.arange(12), 0))
    policies = [made(kind, case) for case in (truth, other)]
    for _ in range(2):
        one, two = (np.concatenate(policy.stepper.indices) for policy in policies)
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)
        assert policies[0].stepper.beta == pytest.approx(policies[1].stepper.beta)
        for policy in policies:
            policy.observe(feedback)


def test_lengths_are_bounded_as_stated() -> None:
    """‖c_x‖ ≤ 1, and ‖θ‖ ≤ √m B for parameters whose values and bias keep their bounds."""
    for p in (1, 2):
        truth = problem(p)
        c = feature_coordinates(truth.actions)
        assert np.linalg.norm(c, axis=1).max() <= 1.0 + 1e-9
        a = joint_coordinates(truth.actions, OMEGA_BOUND / B)
        assert np.abs(truth.evaluations - truth.values).max() <= OMEGA_BOUND
        theta = np.linalg.lstsq(a, truth.evaluations, rcond=None)[0]
        np.testing.assert_allclose(a @ theta, truth.evaluations, atol=1e-12)
        assert np.linalg.norm(theta) <= np.sqrt(a.shape[1]) * B
        gamma = np.linalg.lstsq(c, truth.values, rcond=None)[0]
        assert np.linalg.norm(gamma) <= np.sqrt(c.shape[1]) * B


@pytest.mark.parametrize("runs", [40, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", [OFULEvaluation, OFULDebiased, Oracle])
def test_the_ellipsoid_holds_the_truth_at_all_times(
    kind: type[OptimisticPolicy], runs: int
) -> None:
    """Theorem 2, δ = 0.1; so many misses have a probability below 10⁻⁶ if it holds."""
    truth, misses = problem(1), 0
    for seed in range(runs):
        policy, literal = made(kind, truth), Literal(kind, truth)
        bias = [] if kind is Oracle else [truth.omega]
        theta = np.concatenate([truth.gamma, bias])
        missed = False
        for counts, feedback in played(policy, truth, 60, seed):
            error = literal.theta - theta
            missed |= bool(error @ literal.V @ error > literal.beta**2)
            literal.n += counts
            literal.s += feedback.sums
        misses += missed
    assert misses <= binom.isf(1e-6, runs, DELTA)


def test_what_is_played_most_is_what_is_maximised() -> None:
    """The best evaluation is in the favoured group, the best value is not."""
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    truth = BiasedLinearBandit(actions, [0.5, 0.75], 0.5, 0.1)
    for kind, option in ((OFUL, 0), (OFULEvaluation, 0), (Oracle, 1)):
        policy = made(kind, truth, noise_scale=0.1, value_bound=1.0)
        for _ in played(policy, truth, 200):
            pass
        assert np.argmax(policy.stepper.counts) == option


def test_the_blind_one_claims_nothing_about_the_bias() -> None:
    truth = problem(1)
    blind = made(OFUL, truth).bias()
    assert np.isnan(blind.value)
    assert (blind.low, blind.high) == (-np.inf, np.inf)


def test_a_hundred_thousand_options() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100_000, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    truth = BiasedLinearBandit(
        eh.ActionSet(x, np.where(x[:, 0] > 0, 1, -1)), [-0.9, 0.1, 0.1, 0.1], 0.3, 0.1
    )
    for kind in KINDS:
        policy = made(kind, truth, noise_scale=0.1, value_bound=1.0)
        for _ in played(policy, truth, 150):
            pass
        if kind is Oracle:
            assert truth.gaps[policy.recommend().option] < 0.1


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda a: OFUL(a, 10, delta=0.0), "delta"),
        (lambda a: OFUL(a, 10, delta=1.0), "delta"),
        (lambda a: OFUL(a, 10, ridge=0.0), "ridge"),
        (lambda a: OFUL(a, 10, switching=-0.1), "switching"),
        (lambda a: OFUL(a, 10, switching=np.inf), "switching"),
        (lambda a: OFULDebiased(a, 10, bias_bound=0.0), "bias_bound"),
        (lambda a: Oracle(a, 10, omega=[0.1, 0.2]), "omega"),
        (lambda a: Oracle(a, 10, omega=np.nan), "omega"),
        (lambda a: OFUL(eh.ActionSet([[0.0], [0.0]], [1, -1]), 10), "features"),
    ],
)
def test_nonsense_is_refused_by_name(make: Callable[[eh.ActionSet], eh.Policy], name: str) -> None:
    with pytest.raises(InputError, match=name):
        make(problem(1).actions)
