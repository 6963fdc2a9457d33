"""The oracle: OFUL in a world without bias."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.policies import OFUL, Oracle
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit

RNG = np.random.default_rng(8)
X, Z = RNG.uniform(-0.7, 0.7, (10, 2)), RNG.normal(size=(10, 2))


@pytest.mark.parametrize(
    ("actions", "omega"),
    [
        (eh.ActionSet(X, np.where(X[:, 0] > 0, 1, -1)), 0.5),
        (eh.ActionSet(X, attributes=Z), [0.5, -2.0]),
    ],
    ids=["two groups", "two attributes"],
)
def test_it_plays_as_if_there_were_no_bias(actions: eh.ActionSet, omega: object) -> None:
    """The noise of both runs is the same, so sums less the bias agree up to rounding."""
    biased = BiasedLinearBandit(actions, [0.6, 0.4], omega)
    fair = BiasedLinearBandit(actions, [0.6, 0.4], np.zeros(actions.n_attributes))
    oracle = Oracle(actions, 10**9, omega=omega)
    blind = OFUL(actions, 10**9)
    there, here = SimulatedEvaluations(biased, 1), SimulatedEvaluations(fair, 1)
    for _ in range(150):
        np.testing.assert_array_equal(oracle.ask().counts, blind.ask().counts)
        oracle.tell(there.evaluate(oracle.ask()))
        blind.tell(here.evaluate(blind.ask()))
        assert oracle.recommend() == blind.recommend()
    assert oracle.bias().value == np.ravel(omega)[0]
    assert oracle.bias().level == 1.0


def test_it_plays_on_where_nobody_could_tell_the_bias() -> None:
    """The group is a feature too: hopeless for all who are not told."""
    groups = np.where(X[:, 0] > 0, 1, -1)
    actions = eh.ActionSet(np.column_stack([X, groups]), groups)
    problem = BiasedLinearBandit(actions, [0.1, 0.2, -0.5], 0.75, 0.1)
    with pytest.raises(eh.NotIdentifiableError):
        eh.bias_optimal_design(actions)
    results = eh.simulate(problem, ["oracle", "oful"], horizon=20_000, replications=5, seed=1)
    correct = results.outcomes().groupby("policy")["correct"].all().to_dict()
    assert correct == {"oracle": True, "oful": False}
