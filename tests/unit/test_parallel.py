"""Evaluators side by side: who is busy when, what is told when, and how long all of it takes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import evenhand as eh
from evenhand.policies import Play
from evenhand.research.environments import Latency, SimulatedEvaluations
from evenhand.research.simulation import Parallel, simulate
from evenhand.research.simulation.experiment import play_out, policy_for
from rotation import nightly

PROBLEM = eh.families.random(12, 2, 3, noise_scale=0.5)
GAPS = PROBLEM.gaps
K = len(PROBLEM.actions)
SLOW = Latency.lognormal(median=2.0, sigma=1.0)
Told = list[tuple[list[int], list[float]]]
SOME = ("certain-choice", "fair-phased-elimination", "lingape", "oful-debiased", "uniform")
OTHERS = sorted({*eh.registered_policies()} - {*SOME})


@dataclass(frozen=True)
class Noted(Latency):
    """A latency that takes down what it drew."""

    drawn: list[float] = field(default_factory=list, compare=False)

    def times(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        times = super().times(rng, n)
        self.drawn.extend(times.tolist())
        return times


class Rounds(eh.Policy):
    """Asks round by round what it was given."""

    name = "rounds"

    def __init__(self, actions: eh.ActionSet, horizon: int, script: Iterable[list[int]]) -> None:
        super().__init__(actions, horizon)
        self.script = script

    def play(self) -> Play:
        for counts in self.script:
            yield np.array(counts, dtype=np.int64)

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.9)


def asked(**counts: int) -> eh.Allocation:
    every = np.zeros(K, dtype=np.int64)
    for name, n in counts.items():
        every[int(name[1:])] = n
    return eh.Allocation(every, 0)


def finish(evaluations: SimulatedEvaluations) -> list[tuple[float, int, float]]:
    """Wait for everything: (time, option, score) in the order of return."""
    back = []
    while evaluations.n_pending:
        for _, feedback in evaluations.wait():
            option = int(feedback.counts.argmax())
            back.append((evaluations.clock, option, float(feedback.sums[option])))
    return back


# ---------------------------------------------------------------- how long an answer takes


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_times_are_lognormal(sigma: float) -> None:
    evaluations = SimulatedEvaluations(PROBLEM, 7, Latency.lognormal(median=3.0, sigma=sigma))
    evaluations.start(asked(x0=4000))
    times = [time for time, _, _ in finish(evaluations)]
    assert times == sorted(times)
    assert stats.kstest(times, "lognorm", args=(sigma, 0.0, 3.0)).pvalue > 1e-5
    # medians of 4000: log(time / 3)/σ is off by 1.25/√4000 = 0.02
    assert abs(np.log(np.median(times) / 3.0)) < 5 * 0.02 * sigma


def test_pending_is_what_was_started_and_is_not_back() -> None:
    evaluations = SimulatedEvaluations(PROBLEM, 1, SLOW)
    evaluations.start(asked(x3=2, x6=1))
    expected = asked(x3=2, x6=1).counts.copy()
    while expected.any():
        assert evaluations.pending.tolist() == expected.tolist()
        assert evaluations.n_pending == expected.sum()
        for allocation, feedback in evaluations.wait():
            assert allocation.total == 1
            assert allocation.counts.tolist() == feedback.counts.tolist()
            expected -= feedback.counts
    with pytest.raises(eh.InputError, match="nothing is on its way"):
        evaluations.wait()
    for wrong, said in (([1], "must count 12 options"), ([0] * 11 + [-2], "counts -2 evaluat")):
        with pytest.raises(eh.InputError, match=said):
            evaluations.start(eh.Allocation(np.array(wrong), 0))
    assert evaluations.n_pending == 0
    with pytest.raises(eh.InputError, match="say how long they take"):
        SimulatedEvaluations(PROBLEM, 1).start(asked(x0=1))


# ---------------------------------------------------------------- the loop


def heard(
    name: str, horizon: int, latency: Latency, parallel: Parallel
) -> tuple[Told, list[float], float]:
    policy = policy_for(PROBLEM, name, horizon, seed=2)
    evaluations = SimulatedEvaluations(PROBLEM, 4, latency)
    told: Told = []

    def watch(policy: eh.Policy, allocation: eh.Allocation, feedback: eh.Feedback) -> None:
        told.append((feedback.counts.tolist(), feedback.sums.tolist()))
        assert policy.spent == len(told)
        assert evaluations.n_pending < parallel.evaluators

    regret = play_out(policy, evaluations, GAPS, [5, horizon], watch=watch, parallel=parallel)
    assert regret.spent == policy.spent == len(told)
    return told, regret.curve().tolist(), evaluations.clock


@pytest.mark.parametrize(
    ("rounds", "latency"),
    [
        (False, SLOW),
        (True, Latency.constant(1.5)),
        *nightly((rounds, Latency.constant(0.0)) for rounds in (False, True)),
        *nightly([(False, Latency.constant(1.5)), (True, SLOW)]),
    ],
)
@pytest.mark.parametrize("name", [*SOME, *nightly(OTHERS)])
def test_a_single_evaluator_is_asked_one_by_one(name: str, rounds: bool, latency: Latency) -> None:
    horizon = 150
    noted = Noted(latency.median, latency.sigma)
    told, curve, clock = heard(name, horizon, noted, Parallel(1, rounds=rounds))
    policy = policy_for(PROBLEM, name, horizon, seed=2)
    plain = SimulatedEvaluations(PROBLEM, 4)
    by_hand: Told = []
    lost = [0.0]
    while not policy.finished:
        feedback = plain.evaluate(policy.ask(1))
        policy.tell(feedback)
        by_hand.append((feedback.counts.tolist(), feedback.sums.tolist()))
        lost.append(lost[-1] + float(GAPS[feedback.counts.argmax()]))
    assert told == by_hand
    assert curve == pytest.approx([lost[5], lost[-1]], rel=1e-12)
    assert clock == pytest.approx(sum(noted.drawn))
    assert len(noted.drawn) == policy.spent
    assert policy.spent == horizon or not policy.spends_all


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("name", [*SOME, *nightly(OTHERS)])
def test_every_policy_spends_its_horizon(name: str, rounds: bool) -> None:
    horizon = 400
    latency = Noted(SLOW.median, SLOW.sigma)
    told, _, clock = heard(name, horizon, latency, Parallel(7, rounds=rounds))
    assert len(told) == len(latency.drawn) <= horizon
    assert len(told) == horizon or not policy_for(PROBLEM, name, horizon).spends_all
    assert all(sum(counts) == 1 for counts, _ in told)
    # nobody does more than one thing at a time; somebody is busy all the time
    assert sum(latency.drawn) / 7 <= clock <= sum(latency.drawn)
    # nothing is heard twice or lost: what each option said is the start of its own stream
    plain = SimulatedEvaluations(PROBLEM, 4)
    counts, sums = (np.array([part[i] for part in told]).sum(axis=0) for i in (0, 1))
    for option in np.flatnonzero(counts):
        single = eh.Allocation(np.eye(K, dtype=np.int64)[option], 0)
        own = sum(plain.evaluate(single).sums[option] for _ in range(counts[option]))
        assert sums[option] == pytest.approx(own, abs=1e-9)


def test_who_is_free_is_busy_at_once() -> None:
    """The clock is that of list scheduling, and in rounds that of the slowest of each."""
    horizon = 100
    clocks = {}
    for rounds in (False, True):
        latency = Noted(SLOW.median, SLOW.sigma)
        policy = Rounds(PROBLEM.actions, horizon, [[horizon] + [0] * (K - 1)])
        evaluations = SimulatedEvaluations(PROBLEM, 1, latency)
        play_out(policy, evaluations, GAPS, parallel=Parallel(7, rounds=rounds))
        clocks[rounds] = evaluations.clock
    free = [0.0] * 7
    for time in latency.drawn:
        heapq.heapreplace(free, free[0] + time)
    assert clocks[False] == pytest.approx(max(free))
    slowest = [max(latency.drawn[i : i + 7]) for i in range(0, horizon, 7)]
    assert clocks[True] == pytest.approx(sum(slowest))


def test_a_policy_that_asks_for_nothing_is_waited_for() -> None:
    """The second round begins when the first is whole, though evaluators are free before."""
    latency = Noted(SLOW.median, SLOW.sigma)
    script = [[1, 2] + [0] * (K - 2), [0, 0, 3] + [0] * (K - 3)]
    policy = Rounds(PROBLEM.actions, 6, script)
    evaluations = SimulatedEvaluations(PROBLEM, 1, latency)
    rounds = []
    play_out(
        policy,
        evaluations,
        GAPS,
        watch=lambda _, allocation, __: rounds.append(allocation.round),
        parallel=7,
    )
    assert rounds == [0, 0, 0, 1, 1, 1]
    assert evaluations.clock == pytest.approx(max(latency.drawn[:3]) + max(latency.drawn[3:]))


# ---------------------------------------------------------------- simulated and stored


def test_simulations_of_evaluators_side_by_side_are_the_same_whoever_runs_them() -> None:
    players = ["priced-exploration", "uniform"]
    one = simulate(PROBLEM, players, 200, 4, seed=3, parallel=6)
    with ThreadPoolExecutor(2) as pool:
        two = simulate(PROBLEM, players, 200, 4, 3, pool, piece_size=1, parallel=Parallel(6))
    assert one.outcomes().equals(two.outcomes())
    assert (one.outcomes()["clock"] > 200 / 6 * 0.5).all()
    row = one.summary().iloc[0]
    assert row["mean_spent"] == 200
    assert row["mean_clock"] == pytest.approx(one.runs[0].clock.mean())


def test_evaluations_that_take_no_time_have_no_clock() -> None:
    results = simulate(PROBLEM, "uniform", 200, 2)
    assert results.outcomes()["clock"].tolist() == [0.0, 0.0]
    assert not {"mean_clock", "mean_spent"} & set(results.summary())
