"""Policies that stop when they are sure: their stops and choices against plain linear algebra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from asking import played
from evenhand import families
from evenhand.arrays import Counts, Floats
from evenhand.policies import Ellipsoid
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.limits import characteristic_time
from evenhand.research.rivals.identification import IdentificationPolicy
from evenhand.research.rivals.lingape import LinGapE
from evenhand.research.rivals.track_and_stop import TrackAndStop

POLICIES = [LinGapE, TrackAndStop]
NAMES = [policy.name for policy in POLICIES]
ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1], labels=["A", "B", "C"])


def exactly(problem: BiasedLinearBandit, counts: Counts, scatter: float = 1.0) -> eh.Feedback:
    """Evaluations whose means are exact, with as much scatter about them as noise of 1 has."""
    means = problem.evaluations
    return eh.Feedback(counts, counts * means, counts * (means**2 + scatter))


class Twin:
    """The same evaluations in raw coordinates: normal equations, no frame, no updates."""

    def __init__(self, problem: BiasedLinearBandit) -> None:
        self.A, self.d = problem.actions.points, problem.actions.n_features
        self.counts, self.sums = np.zeros(len(self.A)), np.zeros(len(self.A))
        self.squares = 0.0

    def tell(self, feedback: eh.Feedback) -> None:
        self.counts = self.counts + feedback.counts
        self.sums = self.sums + feedback.sums
        self.squares += float(feedback.sums_of_squares.sum())

    @property
    def V(self) -> Floats:
        return np.asarray(self.A.T @ (self.counts[:, None] * self.A))

    @property
    def theta(self) -> Floats:
        return np.asarray(np.linalg.solve(self.V, self.A.T @ self.sums))

    def leads(self) -> tuple[int, Floats, Floats]:
        """x̂, the directions (x̂ − x; 0), and the leads."""
        values = self.A[:, : self.d] @ self.theta[: self.d]
        best = int(values.argmax())
        Y = self.A[best] - self.A
        Y[:, self.d :] = 0.0
        return best, Y, values[best] - values

    def spreads(self, Y: Floats, extra: Floats | None = None) -> Floats:
        """‖y‖ in the norm of the inverse of V, or of V + a aᵀ."""
        V = self.V if extra is None else self.V + np.outer(extra, extra)
        return np.asarray(np.sqrt(np.einsum("ij,ji->i", Y, np.linalg.solve(V, Y.T))))


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_usual_threshold_is_a_likelihood_ratio(policy: Any, tolerance: float) -> None:
    """Stops at the first t with (d_x + ε)²/(2σ²‖y_x‖²) ≥ log((1 + log t)/δ) for all rivals."""
    sigma, delta = 0.5, 0.1
    problem = families.random(12, 3, 4, noise_scale=sigma)
    judge, twin = eh.SimulatedEvaluations(problem, seed=2), Twin(problem)
    player: IdentificationPolicy = policy(
        problem.actions,
        at_most=20_000,
        confidence=1 - delta,
        tolerance=tolerance,
        threshold="usual",
        noise_scale=sigma,
    )
    looks = 0
    while True:
        m = problem.actions.points.shape[1]
        if np.count_nonzero(twin.counts) >= m and np.linalg.matrix_rank(twin.V) == m:
            best, Y, leads = twin.leads()
            others = np.arange(12) != best
            ratio = (leads + tolerance)[others] / (sigma * twin.spreads(Y[others]))
            sure = ratio.min() >= math.sqrt(2 * math.log((1 + math.log(twin.counts.sum())) / delta))
            looks += 1
            assert player.finished == sure
            assert player.recommend().option == best
        if player.finished:
            break
        feedback = judge.evaluate(player.ask())
        player.tell(feedback)
        twin.tell(feedback)
    assert looks > 10
    said = player.recommend()
    assert (said.level, said.loss, said.leads, said.certainty) == (0.0, math.inf, None, None)
    assert "proves nothing" in str(player.stopped_because)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_proved_threshold_is_the_certificate(policy: Any) -> None:
    """Stops at the first loss of 0, and then says leads that hold the true ones."""
    problem = families.random(12, 3, 4, noise_scale=0.5)
    judge = eh.SimulatedEvaluations(problem, seed=2)
    player: IdentificationPolicy = policy(problem.actions, at_most=20_000, noise_scale=0.5)
    while not player.finished:
        assert player.recommend().loss > 0.0
        assert player.stopped_because is None
        player.tell(judge.evaluate(player.ask()))
    said = player.recommend()
    assert (said.option, said.loss, said.level) == (problem.best, 0.0, 0.95)
    assert said.certainty == "features exact"
    assert said.leads is not None
    assert (said.leads[:, 1] <= problem.gaps + 1e-12).all()
    assert (problem.gaps <= said.leads[:, 2] + 1e-12).all()
    assert player.bias().covers(float(problem.omega))
    assert player.spent < 20_000
    fit = Ellipsoid(problem.actions, 20_000).fit(player.counts, player.sums)
    assert fit.leads(0.05, 0.5).loss == 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_without_the_noise_nothing_is_ever_sure(policy: Any) -> None:
    problem = families.random(6, 2, 4, noise_scale=0.01)
    player: IdentificationPolicy = policy(problem.actions, at_most=300)
    played(player, problem, 3)
    said = player.recommend()
    assert (player.spent, said.option, said.loss) == (300, problem.best, math.inf)
    assert not np.isfinite([player.bias().low, player.bias().high]).any()
    with pytest.raises(TypeError, match="its state is its own"):
        player.state()


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_ties_are_given_up_or_tolerated(policy: Any) -> None:
    problem = BiasedLinearBandit(ACTIONS, [0.5, 0.5], 0.3)
    exact: IdentificationPolicy = policy(ACTIONS, at_most=3_000, noise_scale=1.0)
    easy: IdentificationPolicy = policy(ACTIONS, horizon=3_000, noise_scale=1.0, tolerance=0.6)
    for player in (exact, easy):
        played(player, problem, 4)
    assert exact.spent == 3_000
    assert exact.stopped_because == "all 3,000 evaluations are spent"
    assert exact.recommend().loss > 0.0
    assert easy.spent < 3_000
    assert 0.0 < easy.recommend().loss <= 0.6
    label = easy.recommend().label
    assert easy.stopped_because == (
        f"{label} loses at most 0.6 with probability 0.95, if the features are exact"
    )


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_an_alarm_withdraws_what_was_said(policy: Any) -> None:
    """The noise is stated at a hundredth of what it is: that is seen, and nothing is sure."""
    problem = BiasedLinearBandit(ACTIONS, [0.9, 0.1], 0.3, noise_scale=10.0)
    judge = eh.SimulatedEvaluations(problem, seed=1)
    player: IdentificationPolicy = policy(ACTIONS, at_most=3_000, noise_scale=0.1, tolerance=1e-9)
    for i in range(60):
        player.observe(judge.evaluate(eh.Allocation(np.eye(3, dtype=np.int64)[i % 3], 0)))
    while not player.finished:
        player.tell(judge.evaluate(player.ask()))
    said = player.recommend()
    assert any(finding.alarm for finding in said.warnings)
    assert (said.loss, said.level, said.certainty) == (math.inf, 0.0, None)
    assert (player.bias().low, player.bias().high, player.bias().level) == (-np.inf, np.inf, 0.0)
    assert "an alarm says that it is not" in str(player.stopped_because)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_equal_options_need_no_evaluations(policy: Any) -> None:
    actions = eh.ActionSet([[1.0], [1.0], [1.0]], [1, -1, -1])
    assert policy(actions, 100).finished
    assert policy(actions, 100).recommend().loss == 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_how_many_there_may_be_is_said_once(policy: Any) -> None:
    with pytest.raises(eh.InputError, match="at_most must be a whole number"):
        policy(ACTIONS, at_most=0)
    with pytest.raises(eh.InputError, match="two names"):
        policy(ACTIONS, horizon=5, at_most=5)


@pytest.mark.parametrize("seed", range(3))
def test_lingape_shrinks_the_most_doubtful_lead_most(seed: int) -> None:
    problem = families.random(10, 3, seed)
    judge, twin = eh.SimulatedEvaluations(problem, seed=seed), Twin(problem)
    player = LinGapE(problem.actions, 10**5, noise_scale=1.0, threshold="usual")
    for step in range(120):
        asked = player.ask()
        if step > 0 and not player.finished:
            _, Y, leads = twin.leads()
            odds = 2 * math.log((1 + math.log(twin.counts.sum())) / 0.05)
            rival = int((math.sqrt(odds) * twin.spreads(Y) - leads).argmax())
            after = [float(twin.spreads(Y[rival : rival + 1], a)[0]) for a in twin.A]
            (option,) = np.flatnonzero(asked.counts)
            assert after[option] == pytest.approx(min(after), rel=1e-9)
            leverage = float(twin.A[option] @ np.linalg.solve(twin.V, twin.A[option]))
            assert asked.total == max(1, math.floor(0.04 / leverage))
        if player.finished:
            break
        feedback = judge.evaluate(asked)
        player.tell(feedback)
        twin.tell(feedback)


@pytest.mark.parametrize("seed", range(3))
def test_track_and_stop_tracks_the_optimal_proportions(seed: int) -> None:
    """With evaluations at their means the estimate is the truth, and n/t goes to the optimum."""
    problem = families.random(10, 3, seed)
    time = characteristic_time(problem)
    player = TrackAndStop(problem.actions, 10**6, noise_scale=1.0)
    while not player.finished:
        player.tell(exactly(problem, player.ask().counts))
    twin = Twin(problem)
    twin.tell(exactly(problem, player.counts))
    best, Y, leads = twin.leads()
    assert best == problem.best
    others = np.arange(10) != best
    needed = player.spent * 2 * (twin.spreads(Y[others]) / leads[others]).max() ** 2
    assert time.bound <= needed <= 1.15 * time.value
