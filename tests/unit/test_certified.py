"""The certified envelope: what it lets through, what it guarantees, what it says."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from asking import Scripted, played
from evenhand.policies import Certified, Play
from evenhand.policies import core as core_module
from evenhand.policies.confidence import noise_room
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.rivals.uniform import Uniform
from evenhand.testing import CASES, CHECKS, Case, Check
from rotation import nightly

HORIZON = 10**6


class Pooled(eh.Policy):
    """Plays one option of those that least squares knows, a hundredth more of all each time."""

    name = "pooled"
    wants: Callable[[np.ndarray], int]

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon, **scales)
        self.counts = np.zeros(len(actions), dtype=np.int64)
        self.sums = np.zeros(len(actions))

    def play(self) -> Play:
        while self.remaining > 0:
            counts = np.zeros(len(self.actions), dtype=np.int64)
            if not self.counts.all():
                counts[np.argmin(self.counts)] = 1
            else:
                n = max(1, int(self.counts.sum()) // 100)
                counts[type(self).wants(self.values())] = min(n, self.remaining)
            self.take_in((yield counts))

    def take_in(self, feedback: eh.Feedback) -> bool:
        self.counts = self.counts + feedback.counts
        self.sums = self.sums + feedback.sums
        return True

    def values(self) -> np.ndarray:
        root = np.sqrt(self.counts)
        A, d = root[:, None] * self.actions.points, self.actions.n_features
        theta, *_ = np.linalg.lstsq(A, self.sums / root, rcond=None)
        return np.asarray(self.actions.features @ theta[:d])

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(math.nan, -math.inf, math.inf, 0.95)


class Hostile(Pooled):
    """Always plays what it knows to be the worst option."""

    name = "hostile"
    wants = staticmethod(np.argmin)


class Greedy(Pooled):
    """Always plays what looks best."""

    name = "greedy"
    wants = staticmethod(np.argmax)


class Unsure(Uniform):
    """Does not know the noise."""

    name = "unsure"

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon, **scales)
        self.stated_noise = None


def worst_case(d: int, kappa: float, c: float) -> tuple[eh.BiasedLinearBandit, ...]:
    return eh.families.worst_case(d, kappa, HORIZON, c)


def guarantee(kappa: float, horizon: float) -> float:
    """G_T for B = σ = 1."""
    return 3.0 * (4.0 * kappa * math.log(horizon)) ** (1 / 3) * horizon ** (2 / 3)


def core_guarantee(
    kappa: float, horizon: float, k: int, m: int, failures: tuple[float, float]
) -> float:
    """The bound A_T of the core's own regret for two groups and B = σ = 1, written out."""
    eta, zeta = core_module.ETA, core_module.ZETA
    log_1, log_2 = (2 * math.log(n / f) for n, f in zip((1, k), failures, strict=True))
    ell = 1.1 * (log_1 + math.log(1 + horizon / kappa))
    ell_k = 1.1 * (log_2 + math.log(1 + 10 * horizon / (2 * m)))
    blocks = 1 / zeta + 2 + math.log(horizon) / math.log(1 + zeta)
    leading = 3 * (1 + zeta) * (2 * kappa * (1 + eta) ** 2 * ell) ** (1 / 3) * horizon ** (2 / 3)
    next_ = 2 * (1 + math.sqrt(2)) * 2 * (1 + 1 / eta) * math.sqrt(m * ell_k * horizon)
    rest = 60 * kappa + (6 * (1 + zeta) * m + m * (m + 1)) * blocks + 4 * m
    return leading + next_ + rest


def around(
    inner: str, actions: eh.ActionSet, horizon: int, *, anytime: bool = False, **scales: Any
) -> eh.Policy:
    policy = eh.policy(inner, actions, horizon, **scales)
    return Certified(policy, budget=0.3, anytime=anytime)


QUICK = [check for check in CHECKS if check.__name__ != "bias_intervals_cover"]
"""Checks that need few runs. How often intervals fail is tested below, at all times."""


ENVELOPES: dict[str, Callable[..., eh.Policy]] = {
    "uniform, horizon unknown": partial(around, "uniform", anytime=True),
    "uniform, noise unknown": lambda *of, **scales: Certified(Unsure(*of, **scales), budget=0.3),
    "oful-debiased": partial(around, "oful-debiased"),
}


@pytest.mark.usefixtures("short_by_day")
@pytest.mark.rotated("case", envelope=[*ENVELOPES], check=QUICK, case=CASES)
def test_contract(envelope: str, check: Check, case: Case) -> None:
    check(ENVELOPES[envelope], case)


@pytest.mark.parametrize(
    ("c", "d", "kappa"), [(1.0, 2, 1.0), *nightly([(3.0, 2, 1.0), (3.0, 5, 4.0)])]
)
def test_a_hostile_policy_loses_no_more_than_its_budget(c: float, d: int, kappa: float) -> None:
    """Alone it would lose the largest gap every time; inside, (χ + ¼)G_T plus the core's bound."""
    G = guarantee(kappa, HORIZON)
    for problem in worst_case(d, kappa, c):
        policy = Certified(Hostile(problem.actions, HORIZON, noise_scale=1.0), budget=1.0)
        assert policy.kappa == pytest.approx(kappa, rel=1e-9)
        assert policy.guarantee(HORIZON, 1.0) == pytest.approx(G, rel=1e-9)
        counts = played(policy, problem, 0)
        assert counts.sum() == HORIZON
        by_policy = policy.ledger.pulls @ problem.gaps
        by_core = (counts - policy.ledger.pulls) @ problem.gaps
        assert (problem.gaps <= policy.ledger.bounds).all()  # the certificates held
        assert by_policy <= policy.ledger.pulls @ policy.ledger.bounds <= G * (1 + 1e-12)
        failures = policy._epoch.failures[1:3]
        assert by_core <= core_guarantee(kappa, HORIZON, d + 1, d + 1, failures)
        assert by_policy > 0.5 * G  # it did what it could
        assert problem.gaps.max() * HORIZON > 2 * (by_policy + by_core)


@pytest.mark.parametrize("runs", [4, pytest.param(12, marks=pytest.mark.nightly)])
def test_certificates_hold(runs: int) -> None:
    """Δ ≤ D at the end, and so at all times: as often as the failures allow. Tolerance 10⁻⁶."""
    failed, total = 0, 0.0
    for seed in range(runs):
        problem = eh.families.random(15, 3, seed)
        policy = Certified(Greedy(problem.actions, 10**5), budget=0.3)
        played(policy, problem, seed)
        failed += bool((problem.gaps > policy.ledger.bounds).any())
        total = max(total, sum(policy._epoch.failures))
        assert policy.ledger.pulls.sum() < 10**5  # the core had its turn
    assert total < 0.1
    assert failed <= binom.isf(1e-6, runs, total)


def test_a_budget_for_everything_changes_nothing() -> None:
    """χG_T ≥ 2BT: the envelope never binds."""
    problem = worst_case(2, 1.0, 3.0)[0]
    T = 2000
    assert 10.0 * guarantee(1.0, T) > 2.0 * T
    inside, alone = Certified(Hostile(problem.actions, T)), Hostile(problem.actions, T)
    evaluations = [SimulatedEvaluations(problem, 0) for _ in range(2)]
    while not alone.finished:
        np.testing.assert_array_equal(inside.ask().counts, alone.ask().counts)
        inside.tell(evaluations[0].evaluate(inside.ask()))
        alone.tell(evaluations[1].evaluate(alone.ask()))
    assert inside.finished
    np.testing.assert_array_equal(inside.ledger.bounds, 2.0)  # never looked at


def test_with_an_unknown_horizon_the_budget_holds_at_every_time() -> None:
    problem = worst_case(2, 1.0, 3.0)[0]
    policy = Certified(Hostile(problem.actions, 10**5), budget=0.3, anytime=True)
    evaluations = SimulatedEvaluations(problem, 1)
    epoch, epochs, levels = policy._epoch.horizon, 1, {}
    while not policy.finished:
        fit, failure, _ = policy._reading()
        assert levels.setdefault(fit.ellipsoid.extra, failure) == failure
        allocation = policy.ask()
        before, ledger = policy.spent, policy.ledger
        pulls = ledger.pulls.copy()
        if before >= epoch:
            epoch, epochs = 2 * epoch, epochs + 1
        assert before + allocation.total <= epoch  # none runs past the end of its epoch
        assert policy._epoch.horizon == epoch
        policy.tell(evaluations.evaluate(allocation))
        if (ledger.pulls > pulls).any():  # it was the policy's turn
            lost = float(ledger.pulls @ problem.gaps)
            assert lost <= 0.3 * guarantee(policy.kappa, policy.spent) * (1 + 1e-9)
    assert policy.spent == 10**5
    assert epochs > 8
    assert len(levels) == epochs
    assert sum(levels.values()) <= policy.delta  # what the user is told holds in all epochs
    assert policy.ledger.pulls.sum() < 10**5


def test_bounds_start_anew_in_every_epoch() -> None:
    """What an early epoch is sure of, at its level, is not carried into later ones."""
    problem = eh.families.random(10, 2, 0)
    inner = Greedy(problem.actions, 10**5, noise_scale=1.0)
    policy = Certified(inner, budget=0.05, anytime=True)
    evaluations = SimulatedEvaluations(problem, 1)
    grown, failures = 0, [sum(policy._epoch.failures)]
    while not policy.finished:
        before, epoch = policy.ledger.bounds.copy(), policy._epoch
        allocation = policy.ask()
        if policy._block is not None:  # the core knows all that is known
            assert (epoch.core.bounds <= policy.ledger.bounds).all()
        policy.tell(evaluations.evaluate(allocation))
        rise = bool((policy.ledger.bounds > before).any())
        assert not rise or policy._epoch is not epoch
        grown += rise
        if policy._epoch is not epoch:
            failures.append(sum(policy._epoch.failures))
    assert grown > 0
    assert (np.diff(failures) <= 0).all()


def test_failures_add_up_to_a_quarter_of_the_guarantee() -> None:
    actions = worst_case(5, 4.0, 3.0)[0].actions
    policy = Certified(Hostile(actions, HORIZON, noise_scale=0.5, value_bound=2.0))
    G = 3.0 * (4.0 * 2.0 * 0.25 * 4.0 * math.log(HORIZON)) ** (1 / 3) * HORIZON ** (2 / 3)
    assert policy.guarantee(HORIZON, 0.5) == pytest.approx(G, rel=1e-9)
    assert 2.0 * 2.0 * HORIZON * sum(policy._epoch.failures) == pytest.approx(G / 4, rel=1e-9)
    assert policy.ledger.limit == pytest.approx(10.0 * G, rel=1e-9)


class Shown(Scripted):
    """Keeps what it was shown, too, and recommends the third option."""

    name = "shown"

    def __init__(self, actions: eh.ActionSet, horizon: int, script: list[list[int]]) -> None:
        super().__init__(actions, horizon, script)
        self.shown: list[list[int]] = []

    def take_in(self, feedback: eh.Feedback) -> bool:
        self.shown.append(feedback.counts.tolist())
        return True

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 2)


THREE = eh.BiasedLinearBandit(
    eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1]), [0.5, 0.4], 0.25
)


def test_a_policy_that_stops_is_followed_by_the_core() -> None:
    inner = Shown(THREE.actions, 500, [[1, 1, 1], [2, 0, 0]])
    total = played(Certified(inner), THREE, 0)
    assert total.sum() == 500
    assert [told.counts.tolist() for told in inner.told] == [[1, 1, 1], [2, 0, 0]]
    assert np.sum(inner.shown) == 500 - 5
    assert inner.remaining == 0


@pytest.mark.parametrize(("anytime", "runs"), [(False, 6), *nightly([(False, 30), (True, 30)])])
def test_decisions_hold_at_all_times(anytime: bool, runs: int) -> None:
    """Loss, leads and bias, looked at some sixty times in a run. Tolerance 10⁻⁶."""
    failed, delta, said = 0, 0.2, 0
    for seed in range(runs):
        problem = eh.families.random(8, 2, seed, noise_scale=0.5)
        inner = Greedy(problem.actions, 2000, noise_scale=0.5)
        policy = Certified(inner, budget=0.2, delta=delta, anytime=anytime)
        evaluations = SimulatedEvaluations(problem, seed)
        wrong, looked = False, 0
        while not policy.finished:
            policy.tell(evaluations.evaluate(policy.ask()))
            if policy.spent < 1.1 * looked:
                continue
            looked = policy.spent
            decision, bias = policy.recommend(), policy.bias()
            assert decision.level == bias.level == 1.0 - delta
            true = problem.values[decision.option] - problem.values
            wrong |= problem.gaps[decision.option] > decision.loss
            wrong |= not bias.covers(float(problem.omega))
            low, high = decision.leads[:, 1], decision.leads[:, 2]
            wrong |= bool(((true < low - 1e-12) | (true > high + 1e-12)).any())
            said += decision.loss < 2.0
        failed += wrong
    assert said > runs  # losses below the trivial 2B were claimed
    assert failed <= binom.isf(1e-6, runs, delta)


def test_before_there_is_an_estimate_the_policy_inside_recommends() -> None:
    policy = Certified(Shown(THREE.actions, 500, [[5, 5, 0]]))
    for _ in range(2):
        decision = policy.recommend()
        assert (decision.option, decision.loss, decision.withstands) == (2, math.inf, 0.0)
        assert decision.lead_over(0).low == -math.inf
        if policy.spent == 0:
            policy.tell(eh.Feedback([5, 5, 0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]))


def test_leads_are_said_where_they_are_known() -> None:
    """Two options of one group compare by their own evaluations; a third is not known at all."""
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, -1, 1])
    policy = Certified(Shown(actions, 10**6, [[50_000, 50_000, 0, 0]]))
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, counts * [0.75, 0.25, 0, 0], counts * [1.0, 1.0, 0, 0]))
    decision = policy.recommend()
    assert decision.option == 2  # what the policy inside says: not all can be compared
    assert decision.loss == math.inf
    assert np.isinf(decision.leads[[0, 1, 3], 1:]).all()
    known = policy._reading()[0].leads(0.05, 1.0, option=0)
    assert known.leads.tolist() == pytest.approx([0.0, 0.5, 0.0, 0.0])
    assert np.isfinite(known.widths).tolist() == [True, True, False, False]
    assert 0.0 < known.widths[1] < 0.05


def test_unknown_noise_is_bounded_and_pays_the_budget() -> None:
    problem = eh.BiasedLinearBandit(THREE.actions, THREE.gamma, THREE.omega, noise_scale=0.3)
    T, misses = 50_000, 0
    for seed in range(10):
        policy = Certified(Unsure(problem.actions, T), budget=0.5)
        assert policy.bias().high == math.inf
        played(policy, problem, seed)
        bound = policy._epoch.noise
        misses += not (policy.bias().covers(0.25) and bound >= 0.3)
        assert bound < 0.4
        assert policy.ledger.limit <= 0.5 * policy.guarantee(T, bound) * (1 + 1e-12)
        assert policy.ledger.pulls.sum() < T
        assert policy.ledger.charge <= policy.ledger.limit * (1 + 1e-12)
    assert misses <= binom.isf(1e-6, 10, 0.05 + sum(policy._epoch.failures))


class Little(Hostile):
    """Evaluates the worst option a little at a time, and does not know how noisy it is."""

    def __init__(self, actions: eh.ActionSet, horizon: int, at_once: int = 1) -> None:
        super().__init__(actions, horizon)
        self.stated_noise = None
        self.at_once = at_once

    def play(self) -> Play:
        while self.remaining > 0:
            known = self.counts.all()
            x = int(np.argmin(self.values())) if known else int(np.argmin(self.counts))
            self.take_in((yield {x: min(self.at_once, self.remaining)}))

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 1)


@pytest.mark.parametrize(("noise", "chi", "at_once"), [(1.0, 0.5, 1), *nightly([(0.1, 1.0, 2)])])
@pytest.mark.parametrize("anytime", [False, True])
def test_scatter_is_asked_for_where_there_is_too_little(
    noise: float, chi: float, at_once: int, anytime: bool
) -> None:
    """Before the noise is bounded a policy may lose χg_t; after it, χ max(G_t(σ̄), g_t).

    Few evaluations show little of it; the envelope then asks for a batch of what the policy would
    recommend, once in an epoch, and not charged.
    """
    problem = eh.BiasedLinearBandit(THREE.actions, THREE.gamma, THREE.omega, noise_scale=noise)
    T = 8_000
    policy = Certified(Little(THREE.actions, T, at_once), budget=chi, anytime=anytime)
    evaluations = SimulatedEvaluations(problem, 0)
    batches: list[object] = []
    first = 0
    while not policy.finished:
        allocation = policy.ask()
        ledger, epoch = policy.ledger, policy._epoch
        deaf, pulls = math.isinf(epoch.noise), ledger.pulls.copy()
        enough = noise_room(epoch.failures[3], epoch.horizon)
        assert deaf or ledger.room[0] >= enough
        t = policy.spent + allocation.total if anytime else T
        g = 2.0 * (3 + t ** (1 / 3))
        if deaf and policy._block is not None:
            room = min(T, epoch.horizon) - policy.spent
            lacking = math.ceil((enough - ledger.room[0]) / math.log(math.sqrt(3.0))) + 1
            assert allocation.counts[1] == allocation.total == min(lacking, room)
            assert epoch.core is None
            batches.append(epoch)
            first = first or policy.spent
        elif policy._block is not None:
            assert epoch.core.noise_scale == epoch.noise  # as it is known now
        policy.tell(evaluations.evaluate(allocation))
        if (ledger.pulls > pulls).any():  # it was the policy's turn
            unit = 0.0 if deaf else policy.guarantee(t, epoch.noise)
            assert ledger.pulls @ problem.gaps <= chi * max(unit, g) * (1 + 1e-12)
            assert deaf or epoch.noise >= noise
    assert 0 < len(batches) == len({id(epoch) for epoch in batches})
    assert anytime or len(batches) == 1
    assert 2.0 * first <= chi * 2.0 * (3 + T ** (1 / 3))  # charged at 2B each until then
    assert policy._epoch.noise < 1.2 * noise
    lost = policy.ledger.counts @ problem.gaps
    assert lost < 0.5 * problem.gaps.max() * T


def test_evaluations_without_noise() -> None:
    """σ̄ = 0: the policy keeps χg_T. Of an evaluator who repeats himself nothing sure is said."""
    means = THREE.actions.points @ np.append(THREE.gamma, THREE.omega)
    policy = Certified(Little(THREE.actions, 3000), budget=0.5)
    while not policy.finished:
        counts = policy.ask().counts
        policy.tell(eh.Feedback(counts, counts * means, counts * means**2))
    assert policy._epoch.noise < 1e-6
    assert policy.ledger.pulls @ THREE.gaps <= 0.5 * 2.0 * (3 + 3000 ** (1 / 3))
    assert policy.recommend().option == THREE.best
    fit, failure, noise = policy._reading()
    assert fit.leads(failure, noise, None).loss < 1e-6  # so sure it would be
    decision = policy.recommend()
    assert decision.loss == math.inf
    assert [finding.assumption for finding in decision.warnings if finding.alarm] == ["repeats"]


FAMILIES = {
    "worst case": lambda seed: eh.families.worst_case(2, 1.0, 20_000, 1.0)[seed % 2],
    "gaps": lambda seed: eh.families.gap_dependent(4, 2.0, 0.1, 0.2)[seed % 3],
    "random": lambda seed: eh.families.random(12, 3, seed),
}


@pytest.mark.parametrize("noise_known", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_priced_exploration_says_at_the_end(family: str, noise_known: bool) -> None:
    """Loss, leads and bias fail in no more than δ of the runs, δ = .1 and .01. Tolerance 10⁻⁶."""
    made: list[eh.PricedExploration] = []

    def make(actions: eh.ActionSet, horizon: int, seed: int) -> eh.Policy:
        made.append(
            eh.PricedExploration(actions, horizon, noise_scale=1.0 if noise_known else None)
        )
        return made[-1]

    runs, failed = 45, {0.1: 0, 0.01: 0}
    for seed in range(3):
        problem = FAMILIES[family](seed)
        made.clear()
        with ThreadPoolExecutor(1) as here:
            eh.simulate(problem, [("x", make)], 20_000, runs // 3, seed=seed, executor=here)
        ran = [policy for policy in made if policy.spent > 0]
        assert len(ran) == runs // 3
        for policy in ran:
            for delta in failed:
                policy.delta = delta  # what is played does not depend on it
                decision, bias = policy.recommend(), policy.bias()
                assert decision.level == bias.level == 1.0 - delta
                true = problem.values[decision.option] - problem.values
                _, low, high = decision.leads.T
                held = ((low - 1e-12 <= true) & (true <= high + 1e-12)).all()
                held &= problem.gaps[decision.option] <= decision.loss
                held &= bias.covers(float(problem.omega))
                # with a true difference τ of the size it withstands, for or against its group
                if decision.withstands > 0.0:
                    for tau in (decision.withstands, -decision.withstands):
                        values = problem.values + tau * problem.actions.groups
                        held &= values[decision.option] >= values.max() - 1e-12
                failed[delta] += not held
    for delta, times in failed.items():
        assert times <= binom.isf(1e-6, runs, delta)


def test_several_attributes() -> None:
    """Four groups, the best option disfavoured: the envelope saves a policy that is taken in."""
    rng = np.random.default_rng(5)
    group = np.arange(20) % 4
    x = np.column_stack([np.ones(20), rng.uniform(-1, 1, (20, 2))])
    actions = eh.ActionSet(x, attributes=np.eye(4)[group])
    gamma = np.array([0.0, 0.5, 0.4])
    omega = np.zeros(4)
    omega[group[np.argmax(x @ gamma)]] = -1.0
    problem = eh.BiasedLinearBandit(actions, gamma, omega)
    T = 10**5
    policy = Certified(Hostile(actions, T), budget=0.2)
    counts = played(policy, problem, 0)
    assert (problem.gaps <= policy.ledger.bounds).all()
    assert policy.ledger.pulls @ problem.gaps <= 0.2 * guarantee(policy.kappa, T) * (1 + 1e-9)
    assert counts.sum() == T
    assert policy.ledger.pulls.sum() < T
    decision = policy.recommend()
    assert problem.gaps[decision.option] <= decision.loss < 0.5
    assert math.isnan(policy.bias().value)  # intercept and all four groups: ω itself stays open


def test_what_is_no_envelope_is_refused() -> None:
    actions = THREE.actions
    with pytest.raises(eh.InputError, match="around a Policy; got str"):
        Certified("uniform")  # type: ignore[arg-type]
    for budget in (0.0, -1.0, math.nan, "much"):
        with pytest.raises(eh.InputError, match="budget must be a positive number"):
            Certified(eh.policy("uniform", actions, 10), budget=budget)  # type: ignore[arg-type]
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(eh.InputError, match=r"delta must lie in \(0, 1\)"):
            Certified(eh.policy("uniform", actions, 10), delta=delta)
    begun = eh.policy("uniform", actions, 10)
    begun.tell(eh.Feedback([1, 1, 1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]))
    with pytest.raises(eh.InputError, match="fresh policy; this one was told 3"):
        Certified(begun)


def test_blocks_of_the_core_are_asked_for_whole() -> None:
    """What the proof needs whole is marked so, also in parts; the policy's own looks are not."""
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    policy = eh.policies.Certified(eh.policy("uniform", actions, 10**6), budget=1e-9)
    problem = eh.BiasedLinearBandit(actions, [0.5, 0.4], 0.25)
    evaluations = eh.SimulatedEvaluations(problem, 1)
    seen = set()
    for _ in range(40):
        allocation = policy.ask(n=1)
        assert allocation.whole == (policy.turn == "core")
        seen.add(allocation.whole)
        policy.tell(evaluations.evaluate(allocation))
    assert True in seen
    assert eh.FairPhasedElimination(actions, 1_000).ask().whole
    assert not eh.policy("uniform", actions, 1_000).ask().whole
