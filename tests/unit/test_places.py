"""The m best: places never claim more than all sets one by one, and are right on ties."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import evenhand as eh
from evenhand.arrays import Floats, Indices
from evenhand.certainty.aim import Aim
from evenhand.certainty.arrow import ArrowModel
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import Fit
from evenhand.certainty.places import Places, SetEvidence, SetInference
from evenhand.certainty.record import Record
from evenhand.certainty.stage_plans import SetPlanner
from evenhand.certainty.targets import Target

ENOUGH = math.log(20.0)


class Sets:
    """All sets of m of k options, each with its own evidence: the rule by its definition."""

    def __init__(self, k: int, m: int) -> None:
        self.m, self.W = m, {frozenset(T): 0.0 for T in itertools.combinations(range(k), m)}

    def tested(self, order: Indices, T: frozenset[int]) -> tuple[int, int] | None:
        """Return the places, from 0, of the first left out inside and the last taken in outside."""
        left = [p for p, x in enumerate(order[: self.m].tolist()) if x not in T]
        taken = [q for q, x in enumerate(order[self.m :].tolist()) if x in T]
        return (left[0], taken[-1]) if left else None

    def add(self, order: Indices, log_e: Floats) -> None:
        for T, so_far in self.W.items():
            at = self.tested(order, T)
            if at is not None:
                total = so_far + log_e[at]
                self.W[T] = math.inf if total >= ENOUGH else total

    @property
    def open(self) -> list[frozenset[int]]:
        return [T for T, log_w in self.W.items() if log_w < math.inf]


def after(places: Places, log_e: Floats) -> Places:
    total = places.wealth + log_e
    return places.with_wealth(np.where(total >= ENOUGH, math.inf, total))


def random_run(k: int, m: int, seed: int, stages: int) -> list[tuple[Places, Sets]]:
    rng = np.random.default_rng(seed)
    places, sets = Places.start(np.arange(k), m, np.arange(k)), Sets(k, m)
    seen = []
    for _ in range(stages):
        order = places.order.copy()
        if rng.random() < 0.7:  # a few neighbours, or all of them
            for at in rng.integers(k - 1, size=rng.integers(1, 4)):
                order[[at, at + 1]] = order[[at + 1, at]]
        elif rng.random() < 0.5:
            order = rng.permutation(k)
        places = places.arranged(order)
        log_e = rng.normal(0.5, 1.5, (m, k - m))
        places = after(places, log_e)
        sets.add(order, log_e)
        seen.append((places, Sets(k, m)))
        seen[-1][1].W = dict(sets.W)
    return seen


@settings(max_examples=60, deadline=None)
@given(k=st.integers(2, 7), data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_places_are_never_more_generous_than_all_sets(
    k: int, data: st.DataObject, seed: int
) -> None:
    """w[p, q] ≤ log W_T for every T of p and q, after any stages and changes of places."""
    m = data.draw(st.integers(1, k - 1))
    for places, sets in random_run(k, m, seed, stages=8):
        first = frozenset(places.order[:m].tolist())
        for T, log_w in sets.W.items():
            at = sets.tested(places.order, T)
            bound = places.own if at is None else places.wealth[at]
            assert bound <= log_w + 1e-9
        left = [T for T in sets.open if first != T]
        for x in places.inside.tolist():
            assert all(x in T for T in left)
        for x in places.outside.tolist():
            assert not any(x in T for T in left)
        assert max((len(first - T) for T in left), default=0) <= places.wrong_at_most


@settings(max_examples=40, deadline=None)
@given(k=st.integers(2, 7), last=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_nothing_is_lost_where_one_is_wanted_or_one_is_not(k: int, last: bool, seed: int) -> None:
    """With m = 1, and with k − m = 1, each place stands for one set: w is log W_T itself."""
    m = k - 1 if last else 1
    for places, sets in random_run(k, m, seed, stages=8):
        for T, log_w in sets.W.items():
            at = sets.tested(places.order, T)
            assert (places.own if at is None else places.wealth[at]) == pytest.approx(log_w)


def test_without_changes_of_places_each_set_has_its_pair() -> None:
    rng, sets = np.random.default_rng(3), Sets(6, 3)
    places = Places.start(np.arange(6), 3, np.arange(6))
    for _ in range(5):
        log_e = rng.normal(0.0, 1.0, (3, 3))
        places = after(places, log_e)
        sets.add(places.order, log_e)
    for T, log_w in sets.W.items():
        at = sets.tested(places.order, T)
        assert at is None or places.wealth[at] == pytest.approx(log_w)


def test_what_is_certain_by_hand() -> None:
    """Five options, two inside: what is left of the rows and columns says who is in and out."""
    w = np.full((2, 3), math.inf)
    places = Places.start(np.arange(5), 2, np.arange(5))
    said = places.with_wealth(w)
    assert (said.inside.tolist(), said.outside.tolist()) == ([0, 1], [2, 3, 4])
    assert said.wrong_at_most == 0
    w[1, 0] = 0.0  # the second may be worse than the third
    said = places.with_wealth(w)
    assert (said.inside.tolist(), said.outside.tolist(), said.wrong_at_most) == ([0], [3, 4], 1)
    w[0, 1] = 0.0  # the first and second may be left out for the third and fourth
    said = places.with_wealth(w)
    assert (said.inside.tolist(), said.outside.tolist(), said.wrong_at_most) == ([], [4], 2)


def test_more_options_come_last_and_nothing_is_known_against_them() -> None:
    rng = np.random.default_rng(1)
    old = after(Places.start(np.arange(4), 2, np.arange(4)), rng.normal(size=(2, 2)))
    new = Places.start(np.arange(6), 2, np.arange(6)).arranged(np.array([3, 1, 0, 2]))
    assert new.order.tolist() == [3, 1, 0, 2, 4, 5]
    grown = new.with_wealth(np.hstack([old.wealth, np.zeros((2, 2))]))
    moved = grown.arranged(np.array([1, 3, 4, 0, 2, 5]))
    assert (moved.wealth[:, 0] == 0.0).all()  # whoever takes in only the new one was not tested


# ---------------------------------------------------------------------- on records

SIX = eh.ActionSet(
    [[1.0, 0.0], [0.0, 1.0], [0.7, 0.3], [-0.2, 0.3], [0.1, -0.6], [0.5, 0.5]],
    [1, -1, 1, -1, 1, -1],
)


def played(policy: eh.CertainChoice, problem: eh.BiasedLinearBandit, seed: int) -> eh.CertainChoice:
    answers = eh.SimulatedEvaluations(problem, seed=seed)
    while not policy.finished:
        policy.tell(answers.evaluate(policy.ask()))
    return policy


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_one_wanted_is_the_rule_for_the_best(noise_scale: float | None) -> None:
    """The same plans, read as places with m = 1, have the same evidence to the last digit."""
    problem = eh.BiasedLinearBandit(SIX, gamma=[0.4, 0.3], omega=0.4)
    policy = played(eh.CertainChoice(SIX, at_most=400, noise_scale=noise_scale), problem, 2)
    record, everybody = Record(policy.record.q), np.arange(6)
    for round_ in policy.record.rounds:
        plan = round_.plan
        if plan.leader >= 0:
            rest = everybody[everybody != plan.leader]
            leaders = np.full(len(plan.rivals), plan.leader)
            places = np.concatenate([[plan.leader], rest])
            plan = replace(plan, places=places, leaders=leaders)
        record.begin(plan)
        for block in round_.blocks:
            told = np.zeros((3, record.q))
            told[:, block["options"]] = block["counts"], block["sums"], block["squares"]
            record.tell(eh.Feedback(told[0].astype(np.int64), told[1], told[2]))
    one = policy.inference.evidence()
    said = SetInference(replace(policy.aim, top=1), record).evidence()
    assert sum(round_.plan.leader >= 0 for round_ in record.rounds) >= 3
    leader = int(said.places.order[0])
    assert said.answer == one.answer
    for x, log_w in zip(said.places.order[1:].tolist(), said.places.wealth[0], strict=True):
        assert (log_w == math.inf) == one.rejected[x]
        assert one.rejected[x] or log_w == one.wealth[x]
    assert one.rejected[leader] or said.places.own == one.wealth[leader]


def test_of_options_that_are_alike_any_will_do() -> None:
    """Two with the same features at the line: the set with the first of them is certain."""
    X = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-0.5, 0.3], [0.3, -0.4]]
    actions = eh.ActionSet(X, [1, -1, 1, -1, 1])
    problem = eh.BiasedLinearBandit(actions, gamma=[1.5, 1.0], omega=0.3)
    policy = played(eh.CertainChoice(actions, at_most=4_000, top=2, noise_scale=1.0), problem, 1)
    said = policy.recommend()
    assert said.loss == 0.0
    assert said.selection is not None
    assert said.selection.chosen == (0, 1)
    assert said.selection.wrong_at_most == 0


def test_all_alike_is_certain_at_once() -> None:
    actions = eh.ActionSet([[1.0, 0.5]] * 4, [1, -1, 1, -1])
    aim = Aim(eh.certainty.certain_choice.model_of(actions), 0.95, top=2)
    assert SetInference(aim, Record(4)).evidence().answer == 0


class Restless(SetPlanner):
    """An enemy: other places in every plan, at random."""

    def arranged(self, guess: Fit, now: SetEvidence) -> Places:
        rng = np.random.default_rng([self.seed, len(self.inference.record.rounds)])
        return now.places.arranged(rng.permutation(len(now.places.order)))


class RestlessChoice(eh.CertainChoice):
    """Plans as `Restless` does."""

    name = "restless"
    set_planner = Restless


@pytest.mark.parametrize("runs", [15, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("choice", [eh.CertainChoice, RestlessChoice])
@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_claims_are_rare_where_the_line_is_a_tie(
    choice: type[eh.CertainChoice], noise_scale: float | None, runs: int
) -> None:
    """Of two that tie at the line, each fixed true set is contradicted with probability δ at most.

    Here δ = 0.2, options 1 and 2 tie for the second place, and the true set is {0, 1}.
    """
    actions = eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-0.5, 0.2]], [1, -1, -1, 1], labels=list("ABCD")
    )
    problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.5], omega=0.4)  # 0, 1 and 2 tie
    false = 0
    for seed in range(runs):
        policy = choice(
            actions, at_most=90, confidence=0.8, noise_scale=noise_scale, top=2, seed=seed
        )
        said = played(policy, problem, seed).recommend().selection
        assert said is not None
        false += bool({0, 1} & set(said.outside)) or bool({2, 3} & set(said.inside))
    assert false <= int(binom.isf(1e-4, runs, 0.2))


@pytest.mark.parametrize("seed", range(4))
def test_a_panel_finds_its_three_best(seed: int) -> None:
    """By own scores, with leniencies and favours, and says so before it is over."""
    values = dict(zip("ABCDEFG", [1.0, 0.0, 2.0, -0.5, 1.5, -1.0, 0.2], strict=True))
    groups = dict(zip(values, ["fr", "it", "fr", "it", "us", "us", "fr"], strict=True))
    panel = eh.Questions.panel(groups, {"P": "fr", "Q": "it", "R": "us"}, capacity=None)
    truth = eh.BiasedLinearBandit(panel, gamma=list(values.values()), omega=[0.8, -0.5, 0.5])
    policy = played(eh.CertainChoice(panel, top=3, seed=seed), truth, seed)
    said = policy.recommend()
    assert said.selection is not None
    assert said.certainty == "own scores"
    assert {panel.options.labels[x] for x in said.selection.chosen} == {"C", "E", "A"}
    assert said.loss == 0.0
    assert said.selection.wrong_at_most == 0
    assert set(said.selection.inside) == set(said.selection.chosen)
    assert len(said.selection.outside) == 4
    assert "better than any of the 3 best, '" in str(policy.stopped_because)


def test_losses_across_the_line_hold_at_all_times() -> None:
    problem = eh.BiasedLinearBandit(SIX, gamma=[0.4, 0.3], omega=0.4)
    false = 0
    for seed in range(8):
        policy = eh.CertainChoice(SIX, at_most=200, confidence=0.8, top=3)
        answers, wrong = eh.SimulatedEvaluations(problem, seed=seed), False
        while not policy.finished:
            policy.tell(answers.evaluate(policy.ask(10)))
            said = policy.recommend()
            assert said.selection is not None
            inside = np.isin(np.arange(6), said.selection.chosen)
            lost = float(problem.values[~inside].max() - problem.values[inside].min())
            wrong |= said.loss < lost - 1e-9
        false += wrong
    assert false <= int(binom.isf(1e-4, 8, 0.2))


def test_a_search_goes_on_from_its_state_and_with_more_options() -> None:
    problem = eh.BiasedLinearBandit(SIX, gamma=[0.4, 0.3], omega=0.4)
    policy = played(eh.CertainChoice(SIX, at_most=150, top=2, noise_scale=1.0), problem, 5)
    before = policy.inference.evidence().places
    again = eh.restore(policy.state())
    assert isinstance(again, eh.CertainChoice)
    assert (again.inference.evidence().places.wealth == before.wealth).all()
    more = eh.ActionSet(np.vstack([SIX.features, [[0.2, 0.2]]]), [1, -1, 1, -1, 1, -1, 1])
    grown = again.extended(more)
    after_it = grown.inference.evidence().places
    assert after_it.order.tolist() == [*before.order.tolist(), 6]
    assert after_it.wealth[:, :-1] == pytest.approx(before.wealth)
    assert (after_it.wealth[:, -1] == 0.0).all()
    grown.allow(4_000)
    wider = eh.BiasedLinearBandit(more, gamma=[0.4, 0.3], omega=0.4)
    found = played(grown, wider, 6).recommend().selection
    assert found is not None
    assert len(found.chosen) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 6}, "top must be less than the number of options, which is 6; got 6"),
        ({"top": 0}, "top must be a whole number of options that are wanted"),
        ({"top": 2.5}, "top must be a whole number of options that are wanted"),
        ({"top": 2, "bar": 1.0}, "say one of top .* got top and bar"),
    ],
)
def test_what_cannot_be_wanted_is_said(given: dict[str, float], said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        eh.CertainChoice(SIX, **given)


# ---------------------------------------------------------------------- campaigns

GROUPS = dict(zip("ABCDEF", ["fr", "it", "fr", "it", "us", "us"], strict=True))
PANEL = eh.Questions.panel(GROUPS, {"P": "fr", "Q": "it", "R": "us"}, capacity=None)
WORTH = dict(zip("ABCDEF", [1.0, 0.4, 2.0, -0.5, 1.3, -1.0], strict=True))


def test_a_campaign_finds_the_best_few_and_verifies(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def evaluate(question: eh.Question) -> float:
        return WORTH[question.label] + float(0.5 * rng.standard_normal())

    with eh.Campaign.create(tmp_path / "grants.db", "grants", PANEL, top=3) as campaign:
        answer = campaign.run(evaluate)
        assert sorted(answer.chosen) == ["A", "C", "E"]
        assert answer.sure
        assert answer.undecided == ()
        assert answer.target == Target(top=3)
        assert sorted(answer.to_dict()["target"]["chosen"]) == ["A", "C", "E"]
        assert campaign.verify()
        assert str(answer).startswith("Choose ")
        assert "they are the best 3 of 6 options. That is 95% sure" in str(answer)


def test_an_answer_says_who_is_at_the_line() -> None:
    rng = np.random.default_rng(8)

    def evaluate(question: eh.Question) -> float:
        close = {"B": 0.95, "A": 1.0}.get(question.label, WORTH[question.label])
        return close + float(0.5 * rng.standard_normal())

    answer = eh.choose(PANEL, evaluate, top=3, at_most=250, progress=False)
    assert not answer.sure
    assert set(answer.inside) == {"C", "E"}
    assert set(answer.undecided) == {"A", "B"}
    assert set(answer.outside) == {"D", "F"}
    assert answer.wrong_at_most == 1
    assert 0.0 < answer.loss < math.inf
    text = " ".join(str(answer).split())
    assert "but that is not sure. At most 1 of them may be wrong" in text
    assert "At the line" in text
    assert "Surely in" in text
    chances = answer.standings.set_index("option")["chance"]
    assert chances[["C", "E"]].min() > chances[["A", "B"]].max() > chances[["D", "F"]].max()


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        (SIX, {"top": 2}, "or by features that tell values exactly"),
        (PANEL, {"top": 2, "bar": 1.0}, "say one of top .* got top and bar"),
        (PANEL, {"against": "Z"}, "against must be the name of an option"),
        (
            PANEL,
            {"top": 2, "policy": eh.CertainChoice(PANEL)},
            "finds which are the best, where top=2",
        ),
        (
            PANEL,
            {"bar": 2, "policy": eh.CertainChoice(PANEL, bar=1)},
            "finds which are above 1, where bar=2",
        ),
        (
            eh.Questions.panel(GROUPS, {"P": "fr", "Q": "it", "R": "us"}),
            {"top": 2, "looks": "always"},
            "which are the best 2 is found by one look at all answers",
        ),
    ],
)
def test_what_choose_cannot_want_is_said_before_anything_is_asked(
    options: eh.ActionSet | eh.Questions, given: dict[str, Any], said: str
) -> None:
    def evaluate(question: eh.Question) -> float:
        raise AssertionError("nothing is to be asked")

    with pytest.raises(eh.InputError, match=said):
        eh.choose(options, evaluate, **given)


def test_people_who_are_asked_once_find_the_best_few() -> None:
    """With capacity 1 all is asked, and looked at once: as `decide` does with the same scores."""
    judges = dict.fromkeys("PQRSTUVW")
    rng, asked = np.random.default_rng(4), []

    def evaluate(question: eh.Question) -> float:
        asked.append((question.label, question.evaluator, float(rng.normal(scale=0.3))))
        return WORTH[question.label] + asked[-1][2]

    panel = eh.Questions.panel(list(GROUPS), judges)
    answer = eh.choose(panel, evaluate, top=3, progress=False)
    assert len({row[:2] for row in asked}) == len(asked) == 48
    assert sorted(answer.chosen) == ["A", "C", "E"]
    assert answer.sure
    assert answer.wrong_at_most == 0
    assert "better than any of the 3 best" in answer.stopped_because
    table = pd.DataFrame(
        [(x, who, WORTH[x] + noise) for x, who, noise in asked],
        columns=["option", "evaluator", "score"],
    )
    decided = eh.decide(table, top=3)
    assert (decided.inside, decided.outside) == (answer.inside, answer.outside)
    early = eh.CertainChoice(PANEL, top=3).recommend().selection
    assert early is not None
    assert (early.inside, early.outside, early.wrong_at_most) == ((), (), 3)


def test_people_who_are_asked_once_may_leave_some_at_the_line() -> None:
    rng = np.random.default_rng(4)
    panel = eh.Questions.panel(list(GROUPS), list("PQRSTUV"))
    answer = eh.choose(
        panel, lambda question: WORTH[question.label] + float(rng.normal()), top=3, progress=False
    )
    assert not answer.sure
    assert answer.undecided
    assert 0.0 < answer.loss < math.inf
    assert "all 42 answers are in, and of the 3 that look best" in answer.stopped_because


# ---------------------------------------------------------------------- large panels


def test_large_panels_plan_across_the_line_as_dense_ones_do() -> None:
    """The same panel by both algebras: leads, their variances, and shares that are as good."""
    names, judges = [f"o{i}" for i in range(14)], {f"j{i}": "ab"[i % 2] for i in range(6)}
    groups = {name: "abc"[i % 3] for i, name in enumerate(names)}
    panel = eh.Questions.panel(groups, judges, capacity=None)
    rng, q = np.random.default_rng(0), len(panel)
    dense, arrow = DenseModel(panel), ArrowModel(panel)
    counts = rng.integers(1, 4, q)
    told = eh.Feedback(counts, counts * rng.normal(size=q), counts * 9.0)
    x, y = np.repeat(np.arange(3), 11), np.tile(np.arange(3, 14), 3)
    one, other = (model.fit(told, None).leads(x, y) for model in (dense, arrow))
    assert one.estimates == pytest.approx(other.estimates)
    assert one.variances == pytest.approx(other.variances)
    weights = rng.uniform(0.5, 3.0, len(x))
    free = np.full(q, 10_000)
    plans = [model.plan(x, y, weights, 400, 0 * counts, free) for model in (dense, arrow)]
    worst = [float((weights**2 * plan.variances).max()) for plan in plans]
    assert worst[1] <= 1.3 * worst[0]
    made = [dense.lead_variances(x, y, plan.order) * len(plan.order) for plan in plans]
    reached = [float((weights**2 * variances).max()) for variances in made]
    assert reached[1] <= 1.5 * reached[0]
