"""Fair Phased Elimination against a second transcription of it; its lemmas: test_reproduce.py.

`detailed_algorithm` is the paper's pseudo-code written down line by line, as the package reads it
where it is open. It shares nothing with the policy: sums over options, pseudo-inverses, HiGHS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog

import evenhand as eh
from instances import separated
from reference import Floats

Problem = eh.BiasedLinearBandit
gap_dependent, worst_case = eh.families.gap_dependent, eh.families.worst_case


def scattered(k: int, d: int, seed: int, omega: float = 0.3) -> Problem:
    """Return random options with a margin between the groups, values within ±1."""
    x, z = separated(k, d, 0.2, seed)
    gamma = np.random.default_rng(seed).standard_normal(d)
    return Problem(eh.ActionSet(x, z), gamma / np.abs(x @ gamma).max(), omega)


def small(features: list[list[float]], z: list[int], gamma: list[float]) -> Problem:
    return Problem(eh.ActionSet(features, z), gamma, 0.4)


@dataclass
class Explored:
    """What one step of the transcription is, for comparison with the policy's story."""

    counts: Floats
    kappa: float | None = None
    omega: float | None = None
    removed: tuple[int, ...] = ()


def delta_optimal(points: Floats, gaps: Floats) -> tuple[Floats, float]:
    """Return μ and κ(Δ) by Lemma 9: min Σ √Δ |w| with Σ w a = e, and μ = |w|√κ/√Δ."""
    k, m = points.shape
    e = np.eye(m)[-1]
    costs = np.sqrt(np.concatenate([gaps, gaps]))
    found = linprog(costs, A_eq=np.hstack([points.T, -points.T]), b_eq=e, method="highs-ds")
    assert found.status == 0, found.message
    w = found.x[:k] - found.x[k:]
    support = np.flatnonzero(np.abs(w) > 1e-9 * np.abs(w).max())
    w = np.zeros(k)
    w[support] = np.linalg.lstsq(points[support].T, e, rcond=None)[0]
    kappa = float((np.sqrt(gaps) * np.abs(w)).sum() ** 2)
    return np.abs(w) * math.sqrt(kappa) / np.sqrt(gaps), kappa


def g_optimal(points: Floats) -> Floats:
    """Return a G-optimal design: 1/r each on independent rows; else the library's own.

    With several optima the paper leaves the choice open, so no second solver could agree.
    """
    if np.linalg.matrix_rank(points) == len(points):
        return np.full(len(points), 1.0 / len(points))
    return eh.g_optimal_design(points).weights


def up(x: float) -> int:
    """Round up, but take nine digits of a whole number for it: the last ones are the machine's."""
    return round(x) if abs(x - round(x)) <= 1e-9 * x else math.ceil(x)


def detailed_algorithm(
    a: Floats, z: Floats, T: int, delta: float, sigma: float = 1.0, B: float = 1.0
) -> Generator[tuple[Floats, Explored], Floats, None]:
    """Algorithm FPE (detailed version); yields counts, receives sums of evaluations."""
    k, d = len(a), a.shape[1] - 1
    t, l = 0, 1  # noqa: E741  # the paper's name
    z_star = {1: 0}
    X = {(1, s): [x for x in range(k) if z[x] == s] for s in (-1, 1)}
    Delta = {1: np.full(k, 2.0 * B)}
    theta: dict[int, Floats] = {}  # the last θ̂ of a group
    omega: float | None = None  # ω̂ of the phase before

    def empirical_best(options: list[int]) -> int:
        if int(z[options[0]]) not in theta:  # before any estimate
            return options[0]
        correction = 0.0 if omega is None else omega
        scores = [float(a[x] @ theta[int(z[x])]) - z[x] * correction for x in options]
        return options[scores.index(max(scores))]

    def all_on(x: int) -> Floats:
        counts = np.zeros(k)
        counts[x] = T - t
        return counts

    while t < T:
        eps = B * 2.0 ** (2 - l)
        z_star[l + 1], Delta[l + 1] = z_star[l], Delta[l].copy()
        for s in (-1, 1):
            X[l + 1, s] = X[l, s]
        for s in (-1, 1):
            if s == -z_star[l]:
                continue
            pi = g_optimal(a[X[l, s]])
            mu = np.zeros(k)
            for x, weight in zip(X[l, s], pi, strict=True):
                size = 2 * (d + 1) * weight / (eps / sigma) ** 2
                mu[x] = up(size * math.log(k * l * (l + 1) / delta))
            if t + mu.sum() > T:
                if t < T:
                    counts = all_on(empirical_best(X[l, s]))
                    yield counts, Explored(counts)
                return
            step = Explored(mu)
            y = yield mu, step
            V = sum(mu[x] * np.outer(a[x], a[x]) for x in X[l, s])
            theta[s] = np.linalg.pinv(V, rcond=1e-12, hermitian=True) @ sum(
                y[x] * a[x] for x in X[l, s]
            )
            X[l + 1, s] = [
                x
                for x in X[l, s]
                if max(float((a[other] - a[x]) @ theta[s]) for other in X[l, s]) <= 3 * eps
            ]
            step.removed = tuple(x for x in X[l, s] if x not in X[l + 1, s])
            t += int(mu.sum())
        if z_star[l] == 0:
            mu_hat, kappa = delta_optimal(a, Delta[l])
            both = sorted(X[l + 1, -1] + X[l + 1, 1])
            # the price of information grows by σ²; the paper has σ = 1
            if eps <= (kappa * sigma**2 * math.log(T) / T) ** (1 / 3):
                if t < T:
                    counts = all_on(empirical_best(both))
                    yield counts, Explored(counts, kappa)
                return
            mu = np.array([
                up(2 * mass / (eps / sigma) ** 2 * math.log(l * (l + 1) / delta))
                for mass in mu_hat
            ])  # fmt: skip
            if t + mu.sum() > T:
                if t < T:
                    counts = all_on(empirical_best(both))
                    yield counts, Explored(counts, kappa)
                return
            step = Explored(mu.astype(np.float64), kappa)
            y = yield step.counts, step
            V = sum(mu[x] * np.outer(a[x], a[x]) for x in range(k))
            full = np.linalg.pinv(V, rcond=1e-12, hermitian=True)
            omega = step.omega = float((full @ sum(y[x] * a[x] for x in range(k)))[-1])
            m = {x: float(a[x] @ theta[int(z[x])]) - z[x] * omega for x in both}
            for x in both:
                Delta[l + 1][x] = min(max(m.values()) - m[x] + 4 * eps, 2 * B)
            for s in (-1, 1):
                mine = max(m[x] for x in X[l + 1, s])
                theirs = max(m[x] for x in X[l + 1, -s])
                if mine - 2 * eps >= theirs + 2 * eps:
                    z_star[l + 1] = s
            t += int(mu.sum())
        l += 1  # noqa: E741


@dataclass(frozen=True, eq=False)
class Run:
    policy: eh.FairPhasedElimination
    told: list[tuple[Floats, Floats]]  # counts and sums of every step
    pulls: Floats


def play(
    problem: Problem,
    horizon: int,
    rng: np.random.Generator,
    *,
    delta: float | None = None,
    sigma: float = 1.0,
    bound: float = 1.0,
    on_ask: Callable[[Floats], None] = lambda counts: None,
) -> Run:
    """Run the policy on a problem; ``on_ask`` sees each allocation."""
    policy = eh.FairPhasedElimination(
        problem.actions, horizon, delta=delta, noise_scale=sigma, value_bound=bound
    )
    policy.checked = False  # evaluations are drawn from the model, many times over
    told, means = [], problem.evaluations
    while (allocation := policy.ask()).total:
        n = allocation.counts.astype(np.float64)
        on_ask(n)
        sums = n * means + sigma * np.sqrt(n) * rng.standard_normal(len(n))
        squares = sums**2 / np.maximum(n, 1.0) + sigma**2 * np.maximum(n - 1.0, 0.0)
        policy.tell(eh.Feedback(allocation.counts, sums, squares))
        told.append((n, sums))
    return Run(policy, told, np.sum([n for n, _ in told], axis=0))


def regret(problem: Problem, run: Run) -> float:
    return float(run.pulls @ problem.gaps)


SMALL_SETS = [
    small([[1.0], [0.5]], [1, -1], [0.5]),
    small([[1.0, 0.5], [-0.5, 1.0], [1.0, -1.0]], [-1, 1, 1], [0.4, 0.1]),
    small(  # a group of rank one
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.5, 0.5, 1.0], [-1.0, -1.0, 0.25]],
        [1, -1, -1, -1],
        [0.5, -0.25, 0.25],
    ),
    small([[4.0, 0, 4.0, 0], [-2.0, 0, -2.0, 0]], [1, -1], [0.125, 0.0, 0.0, 0.0]),  # k below m
]

COMPARED: list[tuple[Problem, int]] = [
    *((p, T) for T in (10**3, 10**6, 10**9) for p in worst_case(2, 1.0, T, 3.0)),
    *((p, T) for T in (150, 10**7) for p in worst_case(3, 16.0, T, 1.0)),
    *((p, T) for T in (10**6, 10**12) for p in worst_case(5, 4.0, T, 3.0)),
    *((p, 10**6) for p in gap_dependent(4, 2.0, 0.1, 0.1)),
    *((gap_dependent(7, 4.0, 0.15, 0.5)[i], 10**7) for i in (0, 2, 3)),
    *((p, T) for p in SMALL_SETS for T in (1, 7, 50, 10**4, 10**8)),
    *((scattered(k, d, seed), 10**6) for k, d, seed in ((8, 2, 1), (12, 3, 2), (25, 4, 3))),
    (scattered(15, 2, 4, omega=-2.0), 10**9),
]


@pytest.mark.parametrize(
    ("problem", "horizon"),
    COMPARED,
    ids=[f"k={len(p.actions)}, d={p.actions.n_features}, T={T:g}" for p, T in COMPARED],
)
def test_policy_and_transcription_agree_in_every_step(problem: Problem, horizon: int) -> None:
    """Told the same, both ask the same counts to the last, remove the same, estimate the same."""
    for seed, (delta, sigma, bound) in enumerate(
        [(None, 1.0, 1.0), (0.2, 1.0, 1.0), (0.05, 0.5, 2.0), (None, 3.0, 1.5)]
    ):
        run = play(
            problem, horizon, np.random.default_rng(seed), delta=delta, sigma=sigma, bound=bound
        )
        failure = 1.0 / horizon if delta is None else delta
        paper = detailed_algorithm(
            problem.actions.points, problem.actions.groups, horizon, failure, sigma, bound
        )
        steps = []
        counts, step = next(paper)
        for i, (asked, sums) in enumerate(run.told):
            np.testing.assert_array_equal(asked, counts, err_msg=f"step {i} of seed {seed}")
            steps.append(step)
            following = next_or_none(paper, sums)
            if following is None:
                assert i == len(run.told) - 1, f"the paper is done after step {i}"
                break
            counts, step = following
        else:
            pytest.fail(f"the policy is done, the paper wants {counts}")
        story = [record for record in run.policy.history if record.counts.any()]
        for record, step in zip(story, steps, strict=True):
            assert record.eliminated == step.removed
            assert (record.kappa is None) == (step.kappa is None)
            if step.kappa is not None:
                assert record.kappa == pytest.approx(step.kappa, rel=1e-6)
            if step.omega is not None:
                assert record.bias.value == pytest.approx(step.omega, rel=1e-7, abs=1e-9)


def next_or_none(
    paper: Generator[tuple[Floats, Explored], Floats, None], sums: Floats
) -> tuple[Floats, Explored] | None:
    try:
        return paper.send(sums)
    except StopIteration:
        return None


@pytest.mark.parametrize(
    ("d", "kappa", "c", "measured", "runs"),
    [(2, 1.0, 1.0, 31544.0, 20), (2, 1.0, 3.0, 41544.0, 20), (5, 4.0, 3.0, 46455.0, 150)],
)
def test_worst_case_regret_as_measured(
    d: int, kappa: float, c: float, measured: float, runs: int
) -> None:
    """As an earlier program had it, T = 10⁶, mean of both: within four standard errors.

    For d = 2 all runs go the same way, so the regret is one number.
    """
    means, variances = [], []
    for problem in worst_case(d, kappa, 10**6, c):
        rng = np.random.default_rng(d)
        regrets = [regret(problem, play(problem, 10**6, rng)) for _ in range(runs)]
        means.append(np.mean(regrets))
        variances.append(np.var(regrets, ddof=1) / runs)
    error = math.sqrt(sum(variances)) / 2
    assert abs(np.mean(means) - measured) <= 4 * error + 1.0


@pytest.mark.parametrize("exponent", range(13))
def test_horizons_from_one_to_a_million_millions(exponent: int) -> None:
    """Every evaluation is spent, in at most 1 ∨ log₄ T phases that were completed."""
    horizon = 10**exponent
    for problem in (*worst_case(2, 4.0, max(horizon, 10**3), 1.0), SMALL_SETS[0]):
        for T in {horizon, horizon + 1, 3 * horizon}:
            run = play(problem, T, np.random.default_rng(T))
            assert run.policy.finished
            assert int(run.pulls.sum()) == run.policy.spent == T
            complete = [h.phase for h in run.policy.history if h.step == "estimate bias"]
            assert len(complete) <= max(1.0, math.log(T, 4))


def test_delta_is_one_over_the_horizon_unless_given() -> None:
    """First phase by hand: ε = 2, d = 1, k = 2; 2·2/4·log(2·2/δ) evaluations, δ = 1/100."""
    policy = eh.FairPhasedElimination(SMALL_SETS[0].actions, 100)
    assert policy.ask().counts.tolist() == [0, math.ceil(math.log(400))]
    policy = eh.FairPhasedElimination(SMALL_SETS[0].actions, 100, delta=1.0)
    assert policy.ask().counts.tolist() == [0, math.ceil(math.log(4))]


def test_a_budget_below_the_first_phase_goes_to_the_first_option_of_group_minus_one() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]], ["yes", "no", "no"])
    for horizon in (1, 2, 5):
        policy = eh.FairPhasedElimination(actions, horizon)
        assert policy.ask().counts.tolist() == [0, horizon, 0]
        assert policy.history[0].step == "exploit"
        assert policy.history[0].group == "no"


def test_a_budget_that_ends_in_the_second_group_goes_to_that_group() -> None:
    """The group whose phase does not fit plays its best, though nothing is resolved."""
    actions = eh.ActionSet([[1.0, 0.0], [0.5, 0.25], [0.0, 1.0]], [1, 1, -1])
    policy = eh.FairPhasedElimination(actions, 10, delta=1.0)
    first = policy.ask()
    assert first.counts.tolist() == [0, 0, 3]  # ⌈2·3/4·log(3·2)⌉
    policy.tell(eh.Feedback(first.counts, [0, 0, 30.0], [0, 0, 300.0]))
    assert policy.ask().counts.tolist() == [2, 2, 0]
    policy = eh.FairPhasedElimination(actions, 6, delta=1.0)
    policy.tell(eh.Feedback(first.counts, [0, 0, 30.0], [0, 0, 300.0]))
    assert policy.ask().counts.tolist() == [3, 0, 0]
    assert [h.group for h in policy.history] == ["-1", "1"]


def test_a_horizon_that_ends_with_a_phase_leaves_no_empty_step() -> None:
    """The story holds what was evaluated: no step without evaluations."""
    actions = eh.ActionSet([[1.0, 0.0], [0.5, 0.25], [0.0, 1.0]], [1, 1, -1])
    policy = eh.FairPhasedElimination(actions, 3, delta=1.0)
    policy.tell(eh.Feedback([0, 0, 3], [0, 0, 3.0], [0, 0, 3.0]))
    assert policy.finished
    assert policy.spent == 3
    assert all(h.counts.sum() > 0 for h in policy.history)


def test_noise_and_bound_change_sample_sizes_as_their_square_ratio() -> None:
    """ε_l = B·2^{2−l}, so the sizes are the paper's times (σ/B)²."""
    problem = worst_case(2, 4.0, 10**6, 1.0)[0]
    sizes = {}
    for sigma, bound in ((64.0, 1.0), (128.0, 1.0), (128.0, 2.0), (256.0, 4.0)):
        policy = eh.FairPhasedElimination(
            problem.actions, 10**9, noise_scale=sigma, value_bound=bound, delta=0.01
        )
        sizes[sigma, bound] = policy.ask().total
    assert sizes[128.0, 2.0] == sizes[64.0, 1.0] == sizes[256.0, 4.0]
    assert sizes[128.0, 1.0] == pytest.approx(4 * sizes[64.0, 1.0], abs=8)


def test_ties_are_kept_and_the_first_of_a_group_stands_for_them() -> None:
    """Equal options stay or go together; within a group the first of them is chosen."""
    actions = eh.ActionSet([[1.0], [1.0], [1.0], [0.5]], [-1, -1, 1, 1])
    policy = eh.FairPhasedElimination(actions, 10**5)
    while (counts := policy.ask().counts).any():  # without noise: value 0.5·x, bias 0.2
        means = np.array([0.3, 0.3, 0.7, 0.45])
        policy.tell(eh.Feedback(counts, counts * means, counts * means**2 * (1 + 1e-12)))
    gone = {x for h in policy.history for x in h.eliminated}
    assert gone <= {3}
    assert policy.recommend().option in {0, 2}  # tied across the groups: rounding decides
    assert policy.bias().value == pytest.approx(0.2)


def test_groups_are_needed() -> None:
    actions = eh.ActionSet([[1.0], [2.0], [3.0]], attributes=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    with pytest.raises(eh.InputError, match="two groups"):
        eh.FairPhasedElimination(actions, 100)


def test_a_bias_that_can_hardly_be_told_is_given_up_at_once() -> None:
    """κ_* is about 4·10¹⁸: the Δ-optimal counts exceed all whole numbers, but are never needed."""
    actions = eh.ActionSet([[1.0, 0.0], [-1.0 + 1e-9, 0.0], [0.0, 1.0]], [1, -1, -1])
    problem = Problem(actions, np.ones(2) / 2, 0.1)
    run = play(problem, 10**6, np.random.default_rng(1))
    assert [h.step for h in run.policy.history] == ["evaluate group"] * 2 + ["recovery"]
    assert run.policy.spent == 10**6


def test_noise_beyond_any_budget_leaves_the_first_option() -> None:
    """σ/B = 10¹⁸ would take more evaluations than can be counted: the first phase doesn't fit."""
    policy = eh.FairPhasedElimination(
        SMALL_SETS[0].actions, 10**12, noise_scale=1e9, value_bound=1e-9
    )
    assert policy.ask().counts.tolist() == [0, 10**12]
