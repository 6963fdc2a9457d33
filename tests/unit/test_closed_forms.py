"""Small cases of the functions behind certainty, whose answers are known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.certainty import careful_plans, choice, one_look, one_look_plans, shares
from evenhand.certainty.any_design import by_any_design
from evenhand.certainty.by_items import by_items
from evenhand.certainty.dense import DenseModel, _deviation
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.look import difference_by, guess, plain_intervals
from evenhand.certainty.models import Shared, Spread
from evenhand.certainty.record import Plan, Record
from evenhand.certainty.winner import (
    BoundedLeads,
    bounded_intervals,
    largest,
    smallest_variance,
    stronger,
)

ONE, QUARTER = np.ones(1), np.full(1, 0.25)


def test_bounds_take_hoeffding_intervals():
    leads = np.array([0.45, 0.6])  # of two options, scored by 20 judges between 0 and 1: σ is ½
    found = BoundedLeads(leads / 0.5, np.full(2, 0.1), among=2).chances()
    assert found == pytest.approx(2.0 * np.exp(-2.0 * leads**2 * 10.0))
    half = 0.5 * math.sqrt(2.0 * math.log(2.0 / 0.05))
    assert bounded_intervals(Spread(ONE, QUARTER), 0.05)[0] == pytest.approx(
        [1.0, 1.0 - half, 1.0 + half]
    )


def test_intervals_of_known_noise_are_normal():
    found = plain_intervals(Spread(ONE, QUARTER), (0.0, math.inf), 0.05)
    assert found.round(2).tolist() == [[1.0, 0.02, 1.98]]
    panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    fit = DenseModel(panel).fit(eh.Feedback([2, 2], [4.0, 2.0], [8.0, 2.0]), 1.0)
    assert difference_by(fit, 0, 1, 0.05).round(2).tolist() == [1.0, -0.96, 2.96, -0.64]


def test_errors_by_items_are_those_of_their_differences():
    panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    scores = [5.0, 4.0, 9.0, 7.0, 4.0, 1.0, 3.0, 1.0]  # differences 1, 2, 3 and 2
    fit = ItemsFit(panel, [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3], scores)
    lead = fit.leads(0, np.array([1]))
    assert [*lead.estimates, *lead.variances, fit.freedom] == pytest.approx([2.0, 2 / 3 / 4, 3.0])


def test_scores_that_are_there_make_a_plain_lead_certain():
    panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    found = by_any_design(panel, [0, 1] * 40, [6.0, 1.0] * 40, noise_scale=1.0)
    assert (found.decision.label, found.decision.loss, found.spent) == ("Ann", 0.0, 80)
    rng = np.random.default_rng(1)
    items, which = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    scores = 3.0 * rng.normal(size=20)[items] - which + 0.5 * rng.normal(size=40)
    by, _ = by_items(panel, which.tolist(), items.tolist(), scores.tolist())
    assert (by.decision.label, by.decision.loss) == ("Ann", 0.0)


def test_deviation_solves_paule_and_mandel():
    assert _deviation(np.array([3.0, -3.0]), np.eye(2)) ** 2 == pytest.approx(8.0)  # 9/(1 + 8) each


def test_comparisons_with_the_best():
    assert [round(largest(0.05, n, 6.0), 2) for n in (1, 2, 47)] == [1.94, 2.45, 4.75]
    tests = [stronger(x, 1.0, 9, math.inf, 0.05) for x in (1.2, 1.3)]  # P(T > 1.22) = 1/9
    assert tests == [False, True]
    three = Shared(np.ones((2, 1)), np.array([2.0, 4.0]))  # options of variances 1, 2 and 4
    assert smallest_variance(three) == 3.0


def test_shares_of_the_level_by_looks():
    assert [round(one_look.used_by(t)[0], 3) for t in (0.3, 0.4, 0.5, 1.0)] == [
        0.03,
        0.184,
        0.194,
        1.0,
    ]
    assert round(one_look.last_share(), 3) == 0.324


def test_favour_for_a_group_is_withstood_up_to_the_lead_over_others():
    panel = eh.Questions.panel({"Ann": "a", "Bo": "b", "Cy": "a"}, {"P": "a", "Q": "b"})
    assert choice.withstood(panel, 0, np.array([0.0, 1.5, 0.25])) == 1.5


def test_plans_are_counted_within_what_may_be_asked():
    panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], workload=[2, 1])
    tries = ([1, 0, 1, 1], [0, 1, 0, 1])
    assert [one_look_plans.fits(panel, np.array(n), 3, 9.0) for n in tries] == [True, False]
    assert one_look_plans.all_there_is(eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])) == 4
    order = one_look_plans.in_turns(np.array([2, 1, 0]), np.array([2, 0, 1]), np.array([0, 1, 0]))
    assert order.tolist() == [0, 0, 1]


def test_shares_are_balanced_and_dealt_in_turn():
    def look(s):  # two means, the second of twice the variance
        return np.array([1.0 / s[0] + 2.0 / s[1]]), lambda dual: dual * [1.0, 2.0] / s**2

    found, worst = shares.balanced(look, np.array([0.5, 0.5]))
    assert found[1] / found[0] == pytest.approx(math.sqrt(2.0), rel=0.05)
    assert worst[0] == pytest.approx((1.0 + math.sqrt(2.0)) ** 2, rel=0.01)
    none, room = np.zeros(2, dtype=int), np.array([9, 9])
    turns = shares.in_turn(np.array([0.5, 0.25]), np.zeros(2), none, room, 6)
    assert turns.tolist() == [0, 1, 0, 0, 1, 0]


def test_counts_are_brought_to_their_shares():
    assert careful_plans.rounded(np.array([1.5, 0.2, 2.3]), 4).tolist() == [2, 0, 2]
    near = careful_plans.towards(np.array([0.5, 0.5, 0.0]), 4, np.array([4, 2, 2]))
    assert near.tolist() == [1, 3, 0]
    order, times = careful_plans.in_turn(np.array([4, 2, 0, 1]))
    assert (order.tolist(), times) == ([0, 1, 0, 3, 0, 1, 0], 1)
    order, times = careful_plans.in_turn(np.array([10**12, 10**12]))
    assert len(order) <= 4096
    assert len(order) * times <= 2 * 10**12


def test_a_score_beyond_a_whole_plan_counts_for_the_next():
    plan = Plan("open", np.array([2, 0, 2]), times=2)
    assert (plan.number, plan.wanted(3).tolist()) == (6, [2, 0, 4])
    assert plan.next_ones(np.array([1, 0, 2])).tolist() == [2, 0, 2]
    record = Record(2)
    record.begin(Plan("open", np.array([0, 1])))
    for score in (1.0, 2.0, 3.0):
        record.tell(eh.Feedback([1, 0], [score, 0.0], [score**2, 0.0]))
    assert record.now is not None
    assert (record.now.whole, record.now.total.sums.tolist()) == (True, [3.0, 0.0])
    assert len(record.early) == 1


def test_a_guess_is_by_own_scores():
    panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
    told = eh.Feedback([1, 0, 0, 1], [3.0, 0.0, 0.0, 5.0], [9.0, 0.0, 0.0, 25.0])
    assert guess(panel, told) == 1
