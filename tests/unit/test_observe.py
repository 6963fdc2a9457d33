"""What was not asked for is checked like what was: bad feedback is refused and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.research.environments import BiasedLinearBandit, SimulatedEvaluations
from evenhand.research.simulation.experiment import Contender

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1], [0.5, 0.5]], [1, -1, -1, 1])
PROBLEM = BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.75], omega=0.25)
GOOD = ([2, 0, 1, 3], [1.0, 0.0, 0.5, -1.0], [1.5, 0.0, 0.25, 4.0])


def put(values: list[Any], x: int, value: Any) -> list[Any]:
    return [value if i == x else old for i, old in enumerate(values)]


COUNTS, SUMS, SQUARES = GOOD
BAD: dict[str, tuple[Any, Any, Any]] = {
    "too few options": (COUNTS[:3], SUMS[:3], SQUARES[:3]),
    "too many options": ([*COUNTS, 1], [*SUMS, 1.0], [*SQUARES, 1.0]),
    "sums of too few": (COUNTS, SUMS[:2], SQUARES),
    "squares of too many": (COUNTS, SUMS, [*SQUARES, 1.0]),
    "a matrix": ([COUNTS], [SUMS], [SQUARES]),
    "nothing": ([], [], []),
    "a sum that is not a number": (COUNTS, put(SUMS, 0, np.nan), SQUARES),
    "an infinite sum": (COUNTS, put(SUMS, 3, np.inf), SQUARES),
    "squares that are not numbers": (COUNTS, SUMS, put(SQUARES, 2, np.nan)),
    "squares that are too small": (COUNTS, SUMS, put(SQUARES, 0, 0.1)),
    "a sum of nothing": (COUNTS, put(SUMS, 1, 1.0), SQUARES),
    "less than no evaluation": (put(COUNTS, 1, -1), SUMS, SQUARES),
}


def state(policy: eh.Policy) -> list[Any]:
    bias = policy.bias()
    decision = policy.recommend()
    ask = policy.ask()
    said = [ask.counts.tolist(), ask.round, policy.spent, decision.option, decision.loss]
    return [*said, repr(bias), decision.leads is None or decision.leads.tolist()]


@pytest.mark.parametrize("name", eh.registered_policies())
def test_bad_feedback_is_refused_and_changes_nothing(name: str) -> None:
    plain = Contender(name, name).policy(PROBLEM, 1000, seed=1)
    for policy in (
        plain,
        eh.policies.Certified(Contender(name, name).policy(PROBLEM, 1000, seed=1)),
    ):
        policy.tell(SimulatedEvaluations(PROBLEM, 3).evaluate(policy.ask()))
        before = state(policy)
        for case, parts in BAD.items():
            with pytest.raises(eh.InputError, match=r"shape|cannot be right"):
                policy.observe(eh.Feedback(*parts))
            assert state(policy) == before, case
        with pytest.raises(eh.InputError, match="a Feedback is needed; got tuple"):
            policy.observe(GOOD)  # type: ignore[arg-type]
        with pytest.raises(eh.InputError, match="no evaluations"):
            policy.observe(eh.Feedback([0] * 4, [0.0] * 4, [0.0] * 4))
        if not hasattr(policy, "take_in") or policy.name == "careful-choice":
            with pytest.raises(eh.InputError, match=f"'{name}' learns only from evaluations that"):
                policy.observe(eh.Feedback(*GOOD))
            assert state(policy) == before
        elif policy.name == "planned-choice":
            with pytest.raises(eh.InputError, match="come before the first answer"):
                policy.observe(eh.Feedback(*GOOD))
            assert state(policy) == before
        else:
            policy.observe(eh.Feedback(*GOOD))
            assert policy.observed == sum(COUNTS)


def test_observing_is_learning_for_an_envelope() -> None:
    policy = eh.PricedExploration(ACTIONS, 10**6)
    policy.observe(SimulatedEvaluations(PROBLEM, 1).evaluate(eh.Allocation(np.full(4, 10**9), 0)))
    assert policy.bias().value == pytest.approx(0.25, abs=1e-3)
    assert policy.recommend().option == PROBLEM.best
