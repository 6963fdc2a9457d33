"""Policies that stop before their horizon, in simulations; and what a simulation tells a policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.policies import Play
from evenhand.research.simulation import Results, simulate

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1]], [1, -1, -1])
# values .5, .75, −.025: gaps .25, 0, .775
PROBLEM = eh.BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.75], omega=0.25, noise_scale=0.5)


class Satisfied(eh.Policy):
    """Evaluates the first option ten times, and the last where its seed is odd; then it stops."""

    name = "satisfied"
    spends_all = False
    first = 10

    def play(self) -> Play:
        yield {0: min(self.first, self.horizon)}
        if self.seed % 2 and self.remaining:
            yield {2: min(self.first, self.remaining)}

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 1 if self.seed % 2 else 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)


class Distant(Satisfied):
    """Stops after more evaluations than 32 bits count."""

    first = 10**11


class Immediate(Satisfied):
    """Has seen enough before it has seen anything."""

    def play(self) -> Play:
        yield from ()


def odd(results: Results) -> np.ndarray:
    """Which runs had an odd seed: they recommend option 1."""
    return results.runs[0].option == 1


def test_after_a_stop_nothing_is_lost() -> None:
    results = simulate(PROBLEM, {"mine": Satisfied}, 1000, 12, checkpoints=[5, 10, 15, 20, 999])
    late = odd(results)
    assert set(late) == {True, False}
    for run, regret in zip(late, results.runs[0].regret, strict=True):
        more = [0.5, 1.0, 1.0, 1.0] if run else [0.0, 0.0, 0.0, 0.0]
        expected = np.array([1.25, 2.5, *(2.5 + 7.75 * np.array(more))])
        np.testing.assert_allclose(regret, expected, rtol=1e-14)


def test_what_was_spent_is_told() -> None:
    results = simulate(PROBLEM, {"mine": Satisfied, "uniform": "uniform"}, [12, 10**12], 12)
    outcomes = results.outcomes()
    assert list(outcomes.columns[:5]) == ["policy", "horizon", "replication", "regret", "spent"]
    mine = outcomes[outcomes["policy"] == "mine"]
    late = mine["option"] == 1
    ends = {12: (10, 12), 10**12: (10, 20)}
    expected = [ends[T][later] for T, later in zip(mine["horizon"], late, strict=True)]
    assert mine["spent"].tolist() == expected
    others = outcomes[outcomes["policy"] == "uniform"]
    assert (others["spent"] == others["horizon"]).all()


def test_counts_are_long() -> None:
    results = simulate(PROBLEM, {"mine": Distant}, 10**12, 12)
    spent = results.runs[0].spent
    assert spent.dtype == np.int64
    np.testing.assert_array_equal(spent, np.where(odd(results), 2 * 10**11, 10**11))


def test_a_policy_may_stop_before_it_starts() -> None:
    (runs,) = simulate(PROBLEM, {"mine": Immediate}, 100, 3).runs
    assert runs.spent.tolist() == [0, 0, 0]
    assert not runs.regret.any()


# ---------------------------------------------------------------- on disk


def test_what_was_spent_is_kept(tmp_path: Path) -> None:
    fresh = simulate(PROBLEM, {"mine": Satisfied}, 1000, 12, store=tmp_path)
    again = simulate(PROBLEM, {"mine": Satisfied}, 1000, 12, store=tmp_path)
    np.testing.assert_array_equal(again.runs[0].spent, fresh.runs[0].spent)
