"""Plans of questions: the order inside a plan, by the dense rows of its questions."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.shares import proportions
from evenhand.designs.joint import joint_design
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.row_space import identifying
from evenhand.policies import OptionFrame
from evenhand.questions import UNLIMITED
from evenhand.research.environments.skating import skate_canada


def largest_variance(
    model: DenseModel, asked: np.ndarray, leader: int, rivals: np.ndarray
) -> float:
    """Return the largest variance of a lead after these questions, infinite if one is unknown."""
    counts = np.bincount(asked, minlength=len(model.frame.points))
    told = eh.Feedback(counts, np.zeros(len(counts)), np.zeros(len(counts)))
    return float(model.fit(told, 1.0).leads(leader, rivals).variances.max())


@pytest.mark.parametrize("d", [10, 20, 40])
def test_an_order_goes_on_where_rivals_tie(d: int) -> None:
    """Soare, Lazaric and Munos' instance: all rivals but one tie, and no question tells two.

    The best option alone tells of all of them, and must not be all that is asked.
    """
    X = np.vstack([np.eye(d), np.cos(0.1) * np.eye(1, d) + np.sin(0.1) * np.eye(1, d, 1)])
    model = DenseModel(eh.ActionSet(X, attributes=np.zeros((d + 1, 1))))
    rivals, none = np.arange(1, d + 1), np.zeros(d + 1, dtype=np.int64)
    plan = model.plan(0, rivals, np.ones(d), 8 * d, none, np.full(d + 1, UNLIMITED))
    for times, most in ((2, 1.8), (3, 1.4), (8, 1.2)):
        found = largest_variance(model, plan.order[: times * d], 0, rivals)
        assert found * times * d <= most * plan.variances.max()


@pytest.mark.parametrize("k", [2, 3, 4])
def test_questions_without_a_limit_are_not_taken_for_used_up(k: int) -> None:
    """So many times the largest capacity is beyond 64 bits."""
    rng = np.random.default_rng(k)
    model = DenseModel(eh.ActionSet(rng.normal(size=(12, k - 1)), ["a", "b"] * 6))
    q, none = 12, np.zeros(12, dtype=np.int64)
    for leader in range(q):
        rival = np.array([(leader + 1) % q])
        free, enough = (
            model.plan(leader, rival, np.ones(1), 100, none, np.full(q, left)).order
            for left in (UNLIMITED, 100)
        )
        np.testing.assert_array_equal(free, enough)


def test_a_direction_needs_its_small_parts_and_no_rounding() -> None:
    """Of a lead over a near twin, parts are small beside those of other leads, and needed."""
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    twins, apart, alike = [1e-7, -1e-7, 0.0], [0.0, 0.0, 1.0], [1e-17, 0.0, 0.0]
    assert identifying(rows, np.array([apart, twins]), np.arange(3)).tolist() == [0, 1, 2]
    assert identifying(rows, np.array([apart, alike]), np.arange(3)).tolist() == [2]


@pytest.mark.parametrize(("k", "d", "seed"), [(5, 2, 1), (20, 3, 2), (40, 5, 3)])
def test_proportions_are_those_of_the_joint_design(k: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions = eh.ActionSet(rng.standard_normal((k, d)), np.where(np.arange(k) % 2, 1, -1))
    frame = OptionFrame.of(actions)
    U = (frame.values[0] - frame.values[1:]) / rng.uniform(0.3, 2.0, k - 1)[:, None]
    weights, f = proportions(frame.points, U)
    exact = joint_design(frame.points, U).value
    assert exact * (1 - 1e-4) <= f.max() <= 1.03 * exact
    np.testing.assert_allclose(f, Gram.of(frame.points, weights).variances(U), rtol=1e-3)


def test_a_start_tells_the_bias_even_if_leads_do_not_need_it() -> None:
    """Of single options; a panel's start need not."""
    actions = skate_canada().problem.actions
    model = DenseModel(actions)
    left, none = np.full(len(actions), UNLIMITED), np.zeros(len(actions))
    for length in (1, 2 * model.rank):
        counts = np.bincount(model.start(length, left), minlength=len(actions))
        fit = model.fit(eh.Feedback(counts, none, none), 1.0)
        assert np.isfinite(fit.leads(0, np.arange(len(actions))).variances).all()
        assert np.isfinite(fit.attributes(np.eye(1)).variances).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_start_heeds_what_is_there_and_what_may_be_asked(seed: int) -> None:
    """Of a panel: with what was made, it identifies all leads that can be, and no more."""
    rng = np.random.default_rng(seed)
    panel = eh.Questions.panel(
        {f"o{i}": "ab"[i % 2] for i in range(7)},
        {f"e{i}": "ab"[i % 2] for i in range(4)},
        capacity=None,
        prices=rng.uniform(1.0, 3.0, 4).tolist(),
    )
    model, q = DenseModel(panel), len(panel)
    left, made = rng.integers(0, 3, q), rng.integers(0, 2, q) * (rng.random(q) < 0.3)
    options = np.arange(7)
    (may,) = np.nonzero(left + made > 0)
    able = np.isfinite(model.lead_variances(0, options, may))
    for length in (0, model.rank, 100):
        order = model.start(length, left, made)
        assert (np.bincount(order, minlength=q) <= left).all()
        asked = np.concatenate([order, np.repeat(np.arange(q), made)])
        found = np.isfinite(model.lead_variances(0, options, asked))
        assert np.array_equal(found, able)
        assert len(order) <= max(length, model.rank)
        assert len(order) >= min(length, left.sum())
