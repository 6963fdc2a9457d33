"""OFUL against a literal transcription: explicit inverses, in the user's own coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evenhand as eh
from asking import rounds
from evenhand.errors import InputError
from evenhand.policies import OFUL, OFULDebiased, Oracle
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.rivals.oful import OptimisticPolicy

Floats = NDArray[np.float64]
KINDS: tuple[type[OptimisticPolicy], ...] = (OFUL, OFULDebiased, Oracle)
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
    if kind is OFULDebiased:
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


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_that_of_the_transcription(kind: type[OptimisticPolicy], p: int) -> None:
    truth = problem(p)
    policy, literal = made(kind, truth, switching=0.0), Literal(kind, truth)
    for counts, feedback in rounds(policy, truth, 400):
        assert counts.sum() == 1
        assert literal.prefers(int(np.argmax(counts)))
        literal.n += counts
        literal.s += feedback.sums
    if kind is Oracle:  # as OFUL in a world without bias, which it is told
        assert policy.recommend().option == np.argmax(literal.H @ literal.theta)
        assert (policy.bias().value, policy.bias().level) == (np.ravel(truth.omega)[0], 1.0)


def test_what_is_played_most_is_what_is_maximised() -> None:
    """The best evaluation is in the favoured group, the best value is not."""
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    truth = BiasedLinearBandit(actions, [0.5, 0.75], 0.5, 0.1)
    for kind, option in ((OFUL, 0), (Oracle, 1)):
        policy = made(kind, truth, noise_scale=0.1, value_bound=1.0)
        for _ in rounds(policy, truth, 200):
            pass
        assert np.argmax(policy.stepper.counts) == option


def test_features_that_are_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="features"):
        OFUL(eh.ActionSet([[0.0], [0.0]], [1, -1]), 10)


def test_the_oracle_plays_on_where_nobody_could_tell_the_bias() -> None:
    """The group is a feature too: hopeless for all who are not told."""
    x = np.random.default_rng(8).uniform(-0.7, 0.7, (10, 2))
    groups = np.where(x[:, 0] > 0, 1, -1)
    actions = eh.ActionSet(np.column_stack([x, groups]), groups)
    hopeless = BiasedLinearBandit(actions, [0.1, 0.2, -0.5], 0.75, 0.1)
    with pytest.raises(eh.NotIdentifiableError):
        eh.bias_optimal_design(actions)
    results = eh.simulate(hopeless, ["oracle", "oful"], horizon=20_000, replications=5, seed=1)
    correct = results.outcomes().groupby("policy")["correct"].all().to_dict()
    assert correct == {"oracle": True, "oful": False}
