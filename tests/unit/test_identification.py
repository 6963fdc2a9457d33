"""Policies that stop when they are sure: their stops and choices against plain linear algebra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import families
from evenhand.arrays import Counts, Floats
from evenhand.policies.confidence import Ellipsoid
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.limits import characteristic_time
from evenhand.research.rivals.identification import IdentificationPolicy, apportioned, within
from evenhand.research.rivals.lingape import LinGapE, observed
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


# ---------------------------------------------------------------- when they stop


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
    assert player.forecast() == 0.0


@pytest.mark.parametrize("noise", [None, 0.5])
@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_proved_threshold_is_the_certificate(policy: Any, noise: float | None) -> None:
    """Stops at the first loss of 0, and then says leads that hold the true ones."""
    problem = families.random(12, 3, 4, noise_scale=0.5)
    judge = eh.SimulatedEvaluations(problem, seed=2)
    player: IdentificationPolicy = policy(problem.actions, at_most=20_000, noise_scale=noise)
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
    if noise is not None:
        fit = Ellipsoid(problem.actions, 20_000).fit(player.ledger.counts, player.ledger.sums)
        assert fit.leads(0.05, noise).loss == 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_an_unknown_noise_is_estimated_by_the_residuals(policy: Any) -> None:
    problem = families.random(12, 3, 4, noise_scale=0.5)
    judge, twin = eh.SimulatedEvaluations(problem, seed=3), Twin(problem)
    player: IdentificationPolicy = policy(
        problem.actions, at_most=300, threshold="usual", confidence=1 - 1e-12
    )
    for _ in range(30):
        feedback = judge.evaluate(player.ask(3))
        player.tell(feedback)
        twin.tell(feedback)
        spare = twin.counts.sum() - 4
        if spare < 15:
            assert math.isinf(player.noise)
            continue
        residual = twin.squares - twin.sums @ (twin.A @ twin.theta)
        expected = math.sqrt(residual / spare) * (1 + 1 / math.sqrt(spare))
        assert player.noise == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_ties_are_given_up_or_tolerated(policy: Any) -> None:
    problem = BiasedLinearBandit(ACTIONS, [0.5, 0.5], 0.3)
    exact: IdentificationPolicy = policy(ACTIONS, at_most=3_000, noise_scale=1.0)
    easy: IdentificationPolicy = policy(ACTIONS, horizon=3_000, noise_scale=1.0, tolerance=0.6)
    for player in (exact, easy):
        judge = eh.SimulatedEvaluations(problem, seed=4)
        while not player.finished:
            player.tell(judge.evaluate(player.ask()))
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
def test_what_comes_late_does_not_undo_a_certificate(policy: Any) -> None:
    problem = BiasedLinearBandit(ACTIONS, [0.9, 0.1], 0.3)
    judge = eh.SimulatedEvaluations(problem, seed=4)
    player: IdentificationPolicy = policy(ACTIONS, at_most=3_000, noise_scale=1.0)
    while not player.finished:
        player.tell(judge.evaluate(player.ask()))
    said = player.recommend()
    low = float(problem.evaluations[0]) - 1.0  # nine scores of A, whose mean is three sd too low
    player.observe(eh.Feedback([9, 0, 0], [9 * low, 0.0, 0.0], [9 * (low**2 + 1), 0.0, 0.0]))
    assert player.leads.loss > 0.0, "by now it would not be sure any more"
    assert player.recommend() == said
    assert player.recommend().loss == said.loss == 0.0
    assert player.finished


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
def test_the_forecast_is_that_of_widths_that_shrink(policy: Any) -> None:
    """With evaluations at their means leads stay: at the end little is still expected."""
    problem = BiasedLinearBandit(ACTIONS, [0.9, 0.1], 0.3)
    player: IdentificationPolicy = policy(ACTIONS, at_most=10**6, noise_scale=1.0)
    assert math.isnan(player.forecast())
    expected = []
    while not player.finished:
        player.tell(exactly(problem, player.ask().counts))
        expected.append((player.spent, player.forecast()))
    assert expected[-1] == (player.spent, 0.0)
    for spent, rest in expected[len(expected) // 2 :]:
        assert abs(spent + rest - player.spent) <= 0.35 * player.spent


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_a_setting_that_it_does_not_have_is_refused(policy: Any) -> None:
    with pytest.raises(TypeError, match="'tolerence'"):
        policy(ACTIONS, 100, tolerence=0.1)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_equal_options_need_no_evaluations(policy: Any) -> None:
    actions = eh.ActionSet([[1.0], [1.0], [1.0]], [1, -1, -1])
    assert policy(actions, 100).finished
    assert policy(actions, 100).recommend().loss == 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"at_most": 0}, "at_most must be a whole number"),
        ({"horizon": 5, "at_most": 5}, "two names"),
        ({"at_most": 5, "confidence": 1.0}, "confidence must lie"),
        ({"at_most": 5, "confidence": "high"}, "confidence must lie"),
        ({"at_most": 5, "tolerance": -1.0}, "tolerance must be"),
        ({"at_most": 5, "threshold": "bold"}, "'proved' or 'usual'"),
        ({"at_most": 0}, "whole number"),
    ],
)
def test_arguments_that_cannot_be(policy: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        policy(ACTIONS, **wrong)


# ---------------------------------------------------------------- what they evaluate


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


def test_lingape_side_by_side_looks_at_several_things() -> None:
    """What is on its way counts as made, so that the next ask is about what remains in doubt."""
    problem = families.random(10, 3, 1)
    player = LinGapE(problem.actions, 10**5, noise_scale=1.0)
    player.tell(exactly(problem, player.ask().counts))
    together = player.ask(12).counts
    assert together.sum() == 12
    assert np.count_nonzero(together) > 2
    pending = np.zeros_like(together)
    for _ in range(12):
        pending = pending + player.ask(1, pending).counts
    np.testing.assert_array_equal(pending, together)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 10**6))
def test_a_square_root_follows_what_is_observed(seed: int, r: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    S, a = rng.standard_normal((r, r)) + 3 * np.eye(r), rng.standard_normal(r)
    V = np.linalg.inv(S @ S.T) + n * np.outer(a, a)
    T = observed(S, a, n)
    np.testing.assert_allclose(T @ T.T @ V, np.eye(r), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_track_and_stop_tracks_the_optimal_proportions(seed: int) -> None:
    """With evaluations at their means the estimate is the truth, and n/t goes to the optimum."""
    problem = families.random(10, 3, seed)
    time = characteristic_time(problem)
    player = TrackAndStop(problem.actions, 10**6, noise_scale=1.0)
    while not player.finished:
        player.tell(exactly(problem, player.ask().counts))
    twin = Twin(problem)
    twin.tell(exactly(problem, player.ledger.counts))
    best, Y, leads = twin.leads()
    assert best == problem.best
    others = np.arange(10) != best
    needed = player.spent * 2 * (twin.spreads(Y[others]) / leads[others]).max() ** 2
    assert time.bound <= needed <= 1.15 * time.value


def test_track_and_stop_never_lets_a_direction_starve() -> None:
    """The least eigenvalue of V stays above c √t, up to a round of the options that span."""
    problem = families.random(10, 3, 2)
    player = TrackAndStop(problem.actions, 20_000, noise_scale=1.0)
    frame = player.frame
    rows = frame.points[frame.basis]
    c = float(np.linalg.eigvalsh(rows.T @ rows)[0]) / math.sqrt(frame.rank)
    while not player.finished:
        counts = player.ask().counts
        player.tell(exactly(problem, counts))
        P, n = frame.points, player.ledger.counts
        least = float(np.linalg.eigvalsh(P.T @ (n[:, None] * P))[0])
        assert least >= c * (math.sqrt(player.spent) - 2.0 * frame.rank)


# ---------------------------------------------------------------- whole numbers


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=30), st.integers(1, 10**6))
def test_whole_numbers_in_proportion(wanted: list[float], n: int) -> None:
    shares = np.array(wanted) + 1e-3
    counts = apportioned(shares, n)
    assert counts.sum() == n
    assert (np.abs(counts - n * shares / shares.sum()) < 1.0 + 1e-6).all()
    assert within(counts, n) is counts
    cut = within(counts, max(1, n // 2))
    assert cut.sum() == max(1, n // 2)
    assert (cut <= counts).all()
