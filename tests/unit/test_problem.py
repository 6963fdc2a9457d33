"""A problem: values, evaluations, gaps and who is best; bad input is named."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import evenhand as eh
from evenhand.research.environments.problem import BiasedLinearBandit
from reference import kappa_gaps, kappa_star

FEATURES = [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0], [0.5, 0.5]]
GROUPS = ["home", "away", "away", "home"]


def example(gamma: object = (0.5, 0.75), omega: object = 0.25) -> BiasedLinearBandit:
    return BiasedLinearBandit(eh.ActionSet(FEATURES, GROUPS), gamma, omega)  # type: ignore[arg-type]


def test_values_evaluations_and_gaps_by_hand() -> None:
    problem = example()
    assert problem.values.tolist() == pytest.approx([0.5, 0.75, -0.1, 0.625])
    # home sorts last, so it is +1 and gains from the bias
    assert problem.evaluations.tolist() == pytest.approx([0.75, 0.5, -0.35, 0.875])
    assert problem.gaps.tolist() == pytest.approx([0.25, 0.0, 0.85, 0.125])
    assert problem.best == 1
    assert problem.best_all.tolist() == [1]
    assert problem.delta_min == pytest.approx(0.125)
    assert problem.delta_neq == pytest.approx(0.125)
    assert problem.omega == 0.25


def test_delta_neq_looks_at_the_other_group_only() -> None:
    problem = example(gamma=(1.0, 0.0))
    assert problem.best == 0
    assert problem.delta_min == pytest.approx(0.5)  # option 4, of the same group
    assert problem.delta_neq == pytest.approx(1.0)


def test_kappas_are_those_of_the_options() -> None:
    problem = example()
    assert problem.kappa_star == pytest.approx(kappa_star(FEATURES, [1, -1, -1, 1]), rel=1e-9)
    expected = kappa_gaps(FEATURES, [1, -1, -1, 1], problem.gaps)
    assert problem.kappa == pytest.approx(expected, rel=1e-9)


def test_several_attributes() -> None:
    actions = eh.ActionSet([[1.0], [0.9], [0.4]], attributes=[[1.0, 2.0], [1.0, 2.0], [0.0, 2.0]])
    problem = BiasedLinearBandit(actions, [1.0], [0.5, -0.25])
    assert problem.evaluations.tolist() == pytest.approx([1.0, 0.9, -0.1])
    assert problem.delta_min == pytest.approx(0.1)
    assert problem.delta_neq == pytest.approx(0.6)  # option 2 has the attributes of the best
    with pytest.raises(eh.InputError, match="2 attributes"):
        BiasedLinearBandit(actions, [1.0], 0.5)


def test_one_attribute_has_a_price_and_several_have_to_be_named() -> None:
    features, z = [[1.0], [0.5], [-0.3]], [[2.0], [-1.0], [0.5]]
    problem = BiasedLinearBandit(eh.ActionSet(features, attributes=z), [1.0], 0.5)
    # κ_* = (min Σ|w|)² over Σ w_x (x; z_x) = (0; 1), at a vertex: two options
    assert problem.kappa_star == pytest.approx(elfving(features, z, np.ones(3)), rel=1e-9)
    assert problem.kappa == pytest.approx(elfving(features, z, problem.gaps), rel=1e-9)
    several = BiasedLinearBandit(
        eh.ActionSet(features, attributes=[[1.0, 2.0], [0.0, 1.0], [2.0, -1.0]]), [1.0], [0.5, 0.1]
    )
    with pytest.raises(eh.InputError, match=r"2 attributes .* bias_geometry\(problem.actions"):
        _ = several.kappa_star
    with pytest.raises(eh.InputError, match=r"2 attributes .* delta_optimal_design\(problem"):
        _ = several.kappa
    for one in (problem, several):
        with pytest.raises(eh.InputError, match="Theorem 1 is about two groups"):
            eh.limits.worst_case_upper(one.actions, 1e6)
        with pytest.raises(eh.InputError, match="Theorem 2 is about two groups"):
            eh.limits.gap_dependent_upper(one, 1e6)


def elfving(features: list[list[float]], z: list[list[float]], gaps: ArrayLike) -> float:
    """κ(Δ) of one feature and one attribute, (min Σ √Δ_x |w_x|)², by trying all pairs."""
    points, root = np.hstack([features, z]), np.sqrt(np.asarray(gaps))
    costs = [
        float(root[list(pair)] @ np.abs(np.linalg.solve(points[list(pair)].T, [0.0, 1.0])))
        for pair in itertools.combinations(range(len(points)), 2)
    ]
    return min(costs) ** 2


def test_no_other_attributes_and_no_other_values_are_infinitely_far() -> None:
    actions = eh.ActionSet([[1.0], [1.0]], attributes=[[3.0], [3.0]])
    problem = BiasedLinearBandit(actions, [0.7], 0.1)
    assert problem.delta_neq == math.inf
    assert problem.delta_min == math.inf
    assert problem.best_all.tolist() == [0, 1]


@given(
    st.integers(1, 6),
    st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=6, max_size=6),
    st.integers(0, 2**32 - 1),
)
def test_equal_options_are_tied_whatever_the_rounding(d: int, raw: list[float], seed: int) -> None:
    """Copies of the best option in both groups: gap 0 exactly, and Δ_≠ = 0."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((7, d))
    gamma = np.array(raw[:d])
    best = features[int(np.argmax(features @ gamma))]
    # The same value by another sum: one feature split in two.
    halves = np.hstack([features, np.zeros((7, 1))])
    split = np.append(best, 0.0)
    split[0], split[-1] = best[0] / 3, best[0] - best[0] / 3
    actions = eh.ActionSet(np.vstack([halves, split, split]), [1, -1, 1, -1, 1, -1, 1, 1, -1])
    problem = BiasedLinearBandit(actions, np.append(gamma, gamma[0]), 0.3)
    assert problem.delta_neq == 0.0
    assert {7, 8} <= set(problem.best_all.tolist())
    assert problem.best == problem.best_all[0]
    assert (problem.gaps >= 0).all()


def test_arrays_are_frozen_and_pickling_keeps_everything() -> None:
    gamma = np.array([0.5, 0.75])
    problem = example(gamma=gamma)
    gamma[0] = 99.0
    assert problem.gamma.tolist() == [0.5, 0.75]
    copy = pickle.loads(pickle.dumps(problem))
    for one in (problem, copy):
        for array in (one.gamma, one.values, one.evaluations, one.gaps):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
    assert copy.actions == problem.actions
    assert copy.evaluations.tolist() == problem.evaluations.tolist()
    with pytest.raises(AttributeError):
        problem.noise_scale = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("gamma", "omega", "noise_scale", "message"),
    [
        ([0.5], 0.1, 1.0, r"gamma must have shape \(2,\); got \(1,\)"),
        ([0.5, math.nan], 0.1, 1.0, r"gamma\[1\] is nan"),
        ([0.5, math.inf], 0.1, 1.0, r"gamma\[1\] is inf"),
        (["a", "b"], 0.1, 1.0, r"gamma\[0\] is 'a', which is not a number"),
        ([0.5, 0.1], math.nan, 1.0, r"omega\[0\] is nan"),
        ([0.5, 0.1], [0.1, 0.2], 1.0, r"omega must have shape \(1,\); got \(2,\)"),
        ([0.5, 0.1], 0.1, 0.0, "noise_scale must be larger than 0; got 0"),
        ([0.5, 0.1], 0.1, -1.0, "noise_scale must be larger than 0; got -1"),
        ([0.5, 0.1], 0.1, math.nan, "noise_scale.* is nan"),
        ([0.5, 0.1], 0.1, "loud", "'loud', which is not a number"),
    ],
)
def test_bad_parameters_are_named(
    gamma: object, omega: object, noise_scale: object, message: str
) -> None:
    with pytest.raises(eh.InputError, match=message):
        BiasedLinearBandit(eh.ActionSet(FEATURES, GROUPS), gamma, omega, noise_scale)  # type: ignore[arg-type]


def test_a_matrix_is_not_an_action_set() -> None:
    with pytest.raises(eh.InputError, match="must be an ActionSet; got a list"):
        BiasedLinearBandit(FEATURES, [0.5, 0.1], 0.1)  # type: ignore[arg-type]
