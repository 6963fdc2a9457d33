"""CertainChoice: stages are read right, false answers are rare, and it ends in plain words."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.arrays import Counts, Floats
from evenhand.certainty import intervals
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import Fit
from evenhand.certainty.record import Plan
from evenhand.certainty.stage_plans import StagePlanner, with_looks
from evenhand.certainty.stages import Evidence, Inference, reading
from evenhand.research.environments.skating import skate_canada

THREE = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3]], [1, -1, -1], labels=["A", "B", "C"])


def evaluated(
    counts: Counts, means: Floats, rng: np.random.Generator, noise: float = 1.0
) -> eh.Feedback:
    options = np.repeat(np.arange(len(counts)), counts)
    scores = means[options] + noise * rng.standard_normal(len(options))
    k = len(counts)
    return eh.Feedback(
        counts.copy(),
        np.bincount(options, scores, minlength=k),
        np.bincount(options, scores**2, minlength=k),
    )


def played(
    policy: eh.Policy, problem: eh.BiasedLinearBandit, seed: int, n: int | None = None
) -> eh.Policy:
    rng = np.random.default_rng(seed)
    while not policy.finished:
        counts = policy.ask(n).counts
        policy.tell(evaluated(counts, problem.evaluations, rng, problem.noise_scale))
    return policy


def problem_of(gap: float, omega: float = 0.4) -> eh.BiasedLinearBandit:
    return eh.BiasedLinearBandit(THREE, gamma=[0.5 + gap, 0.5], omega=omega)


# ---------------------------------------------------------------------- plans


def test_a_stage_is_read_as_least_squares_on_its_evaluations() -> None:
    rng = np.random.default_rng(1)
    actions = eh.ActionSet(rng.standard_normal((6, 2)), [1, -1, 1, -1, 1, -1])
    model, means, rivals = DenseModel(actions), rng.standard_normal(6) + 50.0, np.arange(1, 6)
    before = model.fit(evaluated(np.array([1, 1, 1, 1, 0, 0]), means, rng), None)
    told = evaluated(np.array([3, 1, 0, 4, 2, 0]), means, rng)
    fit = model.fit(told, None, before)
    said = reading(fit, fit.leads(0, rivals), before.leads(0, rivals), before.unit)
    rows = np.repeat(actions.points, told.counts, axis=0)
    d = np.zeros((5, 3))
    d[:, :2] = actions.features[0] - actions.features[1:]
    covariance = np.linalg.inv(rows.T @ rows)
    sums = actions.points.T @ told.sums
    assert said.estimates == pytest.approx(d @ covariance @ sums)
    assert said.information == pytest.approx(1 / np.einsum("ij,jk,ik->i", d, covariance, d))
    assert said.scatter == pytest.approx(told.sums_of_squares.sum() - sums @ covariance @ sums)
    assert said.freedom == pytest.approx(10 - 3)


def test_a_stage_says_nothing_of_what_it_does_not_span() -> None:
    told = evaluated(np.array([5, 5, 0]), np.ones(3), np.random.default_rng(0))
    said = DenseModel(THREE).fit(told, 1.0).leads(0, np.array([1, 2]))
    assert np.isinf(said.variances).all()
    assert (said.estimates == 0.0).all()


def test_looks_go_to_those_evaluated_least() -> None:
    order = np.zeros(100, dtype=np.int64)
    told, left = np.array([50, 3, 3, 0, 3]), np.full(5, 2**62)
    mixed = with_looks(order, 0.1, told, left, np.random.default_rng(0))
    counts = np.bincount(mixed, minlength=5)
    assert counts[0] == 90
    assert counts[1:].sum() == 10
    assert counts[3] >= 4  # level with the others, and then evenly
    assert set(np.array([3, 3, 0, 3]) + counts[1:]) <= {4, 5}


def test_evaluators_need_not_wait_for_the_end_of_a_stage() -> None:
    policy = eh.CertainChoice(THREE, at_most=500, noise_scale=1.0)
    pending = np.zeros(3, dtype=np.int64)
    for _ in range(12):  # the start has six
        pending += policy.ask(1, pending).counts
    assert pending.sum() == 12
    now = policy.record.now
    assert now is not None
    assert now.plan.number == 6
    assert (pending >= 2 * now.plan.wanted(3)).all()


def test_a_long_plan_repeats_its_order() -> None:
    plan = Plan("compare", np.array([0, 1, 0]), times=3)
    have = np.zeros(3, dtype=np.int64)
    handed = []
    while len(left := plan.next_ones(have)):
        handed.append(np.bincount(left[:4], minlength=3).tolist())
        have += handed[-1]
    assert (have == plan.wanted(3)).all()
    assert handed == [[3, 1, 0], [2, 2, 0], [1, 0, 0]]


def test_scores_count_for_the_plan_in_force_and_then_for_the_next() -> None:
    """Six scores make the start whole, whichever they are; what is out then is the next plan's."""
    policy, rng = eh.CertainChoice(THREE, at_most=500, noise_scale=1.0), np.random.default_rng(1)
    pending = np.zeros(3, dtype=np.int64)
    asked = []
    for _ in range(10):
        asked.append(int(np.argmax(policy.ask(1, pending).counts)))
        pending[asked[-1]] += 1
    for x in asked[:9]:
        policy.tell(evaluated(np.eye(3, dtype=np.int64)[x], np.zeros(3), rng))
        pending[x] -= 1
    start = policy.record.rounds[0]
    assert (start.count, len(policy.record.early)) == (6, 3)
    known = policy.record.known_to(1)
    policy.ask(1, pending)
    assert len(policy.record.rounds) == 2
    assert policy.record.rounds[1].count == 3
    assert not policy.record.early
    plan = policy.record.rounds[1].plan  # made without the three
    assert plan.expected is not None
    guess = policy.aim.guess(known).leads(plan.leader, plan.rivals)
    np.testing.assert_array_equal(plan.expected.leads, guess.estimates)


def test_a_plan_of_a_record_is_not_derived_again() -> None:
    """Two policies go by one plan, though one of them would have made another."""
    here, there = (eh.CertainChoice(THREE, at_most=500, noise_scale=1.0) for _ in range(2))
    plan = json.loads(json.dumps(here.plan()))
    plan["order"] = plan["order"][::-1][:4]
    for policy in (here, there):
        policy.begin(plan)
        assert policy.plan() is None
        assert policy.ask(10).counts.sum() == 4
    rng = np.random.default_rng(1)
    told = evaluated(here.ask(10).counts, np.ones(3), rng)
    for policy in (here, there):
        policy.tell(told)
    assert here.plan() == there.plan()
    assert here.plan() is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": [0, 3]},
        {"order": [0.5]},
        {"times": 0},
        {"leader": 3},
        {"leader": 0},
        {"expected": {"leads": [1.0], "variances": [1.0], "unit": 1.0, "freedom": 1.0}},
    ],
)
def test_a_plan_that_is_none_is_refused_and_changes_nothing(wrong: dict[str, object]) -> None:
    policy = eh.CertainChoice(THREE)
    plan = policy.plan()
    assert plan is not None
    with pytest.raises(eh.InputError, match="no plan of 'certain-choice'"):
        policy.begin(plan | wrong)
    assert policy.record.now is None


# ---------------------------------------------------------------------- answers


def test_it_answers_rightly_and_says_how_sure_it_is() -> None:
    problem = problem_of(0.6)
    policy = played(eh.CertainChoice(THREE, at_most=5_000, noise_scale=1.0), problem, seed=1)
    decision = policy.recommend()
    assert decision.label == "A"
    assert (decision.loss, decision.level) == (0.0, 0.95)
    assert decision.certainty == "features exact"
    assert policy.spent < 5_000
    assert "'A'" in str(policy.stopped_because)
    assert policy.forecast() == 0.0
    truth = problem.values[0] - problem.values
    assert decision.leads is not None
    assert (decision.leads[:, 1] <= truth).all()
    assert (truth <= decision.leads[:, 2]).all()
    values = policy.values()
    assert values is not None
    assert (values[:, 1] <= problem.values).all()
    assert (problem.values <= values[:, 2]).all()


@pytest.mark.parametrize("runs", [20, pytest.param(60, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_answers_are_rare_in_a_tie(noise_scale: float | None, runs: int) -> None:
    """Either of two equal options is rejected with probability δ at most; here δ = 0.2."""
    false, problem = 0, problem_of(0.0)
    for seed in range(runs):
        policy = eh.CertainChoice(THREE, at_most=90, confidence=0.8, noise_scale=noise_scale)
        played(policy, problem, seed)
        false += bool(policy.inference.evidence().rejected[:2].any())
    assert false <= int(binom.isf(1e-4, runs, 0.2))


@pytest.mark.parametrize("runs", [10, pytest.param(30, marks=pytest.mark.nightly)])
def test_losses_that_are_stated_hold(runs: int) -> None:
    """At every stage of every run: one loss below the truth in all of them is a false one."""
    false = 0
    problem = eh.BiasedLinearBandit(THREE, gamma=[0.5, 0.7], omega=-0.3)
    for seed in range(runs):
        policy = eh.CertainChoice(THREE, at_most=90, confidence=0.8, tolerance=0.1)
        rng, wrong = np.random.default_rng(seed), False
        while not policy.finished:
            policy.tell(evaluated(policy.ask(5).counts, problem.evaluations, rng))
            decision = policy.recommend()
            wrong |= bool(decision.loss < problem.gaps[decision.option] - 1e-9)
        false += wrong
    assert false <= int(binom.isf(1e-4, runs, 0.2))


def evidence(policy: eh.CertainChoice, rival: int, option: int = -1, loss: float = 0.0) -> float:
    """Return the most log W against a rival at the end of a plan, or now; by the formula.

    The loss moves the evidence of the plans that the option led, and of no others.
    """
    total, most = 0.0, -math.inf
    for r, round_ in enumerate(policy.record.rounds):
        plan = round_.plan
        if rival in plan.rivals and round_.count:
            before = policy.aim.guess(policy.record.known_to(r))
            fit = policy.aim.model.fit(round_.total, 1.0, before)
            said, expected = (one.leads(plan.leader, np.array([rival])) for one in (fit, before))
            one = reading(fit, said, expected, 1.0)
            (effects,), (log_prior,) = one.prior()
            J = float(one.information[0])
            S = J * (float(one.estimates[0]) + (loss if plan.leader == option else 0.0))
            total += math.log(np.exp(log_prior + effects * S - effects**2 * J / 2).sum())
        most = max(most, total)
    return most


@pytest.mark.parametrize("gamma", [-2.0, 2.0])
def test_rivals_are_rejected_by_enough_evidence_and_losses_count_in_own_plans(
    gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third option is better than both leaders, or worse: 0.1 γ against γ.

    The first two lead in turn, whatever the scores are.
    """

    def in_turn(self: StagePlanner, guess: Fit, now: Evidence) -> int:
        return len(self.inference.record.rounds) % 2

    monkeypatch.setattr(StagePlanner, "leading", in_turn)
    policy = eh.CertainChoice(THREE, at_most=4_000, noise_scale=1.0)
    rng, needed = np.random.default_rng(3), math.log(1.0 / 0.05)
    means = eh.BiasedLinearBandit(THREE, [gamma, gamma], 0.4).evaluations
    reached = np.zeros(3, dtype=np.bool_)
    for _ in range(300):
        now = policy.record.now
        policy.tell(evaluated(policy.ask(1).counts, means, rng))
        if now is not None and now.looked == len(now.blocks) and not now._since.counts.any():
            reached |= [evidence(policy, x) >= needed for x in range(3)]
            np.testing.assert_array_equal(policy.inference.evidence().rejected, reached)
    while not policy.record.rounds[-1].whole:
        policy.tell(evaluated(policy.ask(1).counts, means, rng))
    assert {round_.plan.leader for round_ in policy.record.rounds} == {-1, 0, 1}
    now_ = policy.inference.evidence()
    assert bool(now_.rejected[2]) == (gamma > 0.0)
    for option in (0, 1):
        loss = intervals.loss(policy.inference, option)
        others = policy.inference.open(now_, option).tolist()
        assert 0.0 < loss < math.inf
        assert min(evidence(policy, x, option, loss) for x in others) >= needed - 1e-6
        assert min(evidence(policy, x, option, 0.5 * loss) for x in others) < needed


def test_an_option_that_was_rejected_by_bad_luck_may_still_be_the_answer() -> None:
    """An answer is wrong only if the best was rejected: who answers may have been rejected, too."""
    policy, rng = eh.CertainChoice(THREE, at_most=20_000, noise_scale=1.0), np.random.default_rng(1)
    unlucky = eh.BiasedLinearBandit(THREE, gamma=[-0.6, -3.0], omega=0.4)  # B is the worst by far
    while not policy.inference.evidence().rejected[1]:
        policy.tell(evaluated(policy.ask(1).counts, unlucky.evaluations, rng))
    assert policy.inference.evidence().answer is None
    really = eh.BiasedLinearBandit(THREE, gamma=[0.5, 1.5], omega=0.4)  # B is the best by 1
    while not policy.finished:
        policy.tell(evaluated(policy.ask(1).counts, really.evaluations, rng))
    assert policy.inference.evidence().answer == 1
    assert policy.inference.evidence().rejected.all()


def test_a_plan_that_an_answer_ended_adds_no_evidence_to_those_after_it() -> None:
    """Its scores decided where it ended; more options are tested without it."""
    few = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3]], [1, -1, -1], labels=list("ABC"))
    more = eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.3], [0.9, 0.4]], [1, -1, -1, 1], labels=list("ABCD")
    )
    policy = eh.CertainChoice(few, at_most=5_000, noise_scale=1.0)
    played(policy, problem_of(0.6), seed=1, n=1)
    ended = policy.inference.evidence()
    assert ended.cut == {len(policy.record.rounds) - 1}
    longer = policy.extended(more)
    assert longer.inference.evidence().answer is None
    longer.ask()
    again = longer.inference.evidence()
    assert again.wealth[:3] == pytest.approx(ended.wealth)
    assert again.rejected[:3].tolist() == ended.rejected.tolist()


def test_a_tolerance_ends_sooner_and_is_what_may_be_lost() -> None:
    problem = problem_of(0.15)
    strict, easy = (
        played(eh.CertainChoice(THREE, at_most=20_000, tolerance=tolerance), problem, seed=3)
        for tolerance in (0.0, 0.4)
    )
    assert easy.spent < 0.5 * strict.spent
    assert easy.recommend().loss <= 0.4
    assert "by more than 0.4" in str(easy.stopped_because)


def test_what_cannot_be_told_apart_is_said_and_more_may_be_allowed() -> None:
    problem = problem_of(0.0)
    policy = eh.CertainChoice(THREE, at_most=2_000, noise_scale=1.0)
    played(policy, problem, seed=3)
    assert isinstance(policy, eh.CertainChoice)
    assert policy.spent < 2_000
    reason = str(policy.stopped_because)
    assert "'A'" in reason
    assert "'B'" in reason
    spent = policy.spent
    policy.allow(10_000)
    assert policy.stopped_because is None
    assert not policy.finished
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert again.horizon == 10_000
    assert (again.ask().counts == policy.ask().counts).all()
    played(policy, problem, seed=4)
    assert policy.spent > spent


def test_options_with_equal_features_are_the_same_choice() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1, -1, 1, -1])
    problem = eh.BiasedLinearBandit(actions, gamma=[1.0, 0.0], omega=0.5)
    policy = played(eh.CertainChoice(actions, at_most=2_000), problem, seed=1)
    decision = policy.recommend()
    assert decision.option in (0, 1)
    assert decision.loss == 0.0
    assert decision.leads is not None
    assert (decision.leads[:2] == 0.0).all()


def test_nothing_is_asked_where_all_options_are_alike() -> None:
    policy = eh.CertainChoice(eh.ActionSet([[1.0], [1.0]], ["a", "b"]))
    assert policy.finished
    assert policy.recommend().loss == 0.0


def test_the_order_in_which_a_stage_comes_back_does_not_matter() -> None:
    """Whoever is told first: the evidence of the whole stage is the same."""
    problem, wealth = problem_of(0.2), []
    for reverse in (False, True):
        policy = eh.CertainChoice(THREE, at_most=500, noise_scale=1.0)
        rng = np.random.default_rng(5)
        while len(policy.record.rounds) < 4:
            counts = policy.ask(1_000).counts
            scores = evaluated(counts, problem.evaluations, rng)
            for x in np.flatnonzero(counts)[:: -1 if reverse else 1]:
                at = np.arange(3) == x
                parts = (scores.counts, scores.sums, scores.sums_of_squares)
                policy.tell(eh.Feedback(*(np.where(at, part, 0) for part in parts)))
        wealth.append(policy.inference._after[3].wealth)
    assert wealth[0] == pytest.approx(wealth[1], rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------------- bounds and arguments


def test_scores_beyond_the_bounds_are_refused_and_change_nothing() -> None:
    policy = eh.CertainChoice(THREE, at_most=500, bounds=(0.0, 1.0))
    counts = policy.ask(1).counts
    x = int(np.argmax(counts))
    before = json.dumps(policy.state())
    for score in (1.5, -0.1):
        with pytest.raises(eh.InputError, match="bounds, from 0 to 1"):
            policy.tell(eh.Feedback.from_scores(THREE, [x], [score]))
    often = np.arange(3) == np.argmax(policy.ask(6).counts)
    with pytest.raises(eh.InputError, match="bounds"):  # −1 and 2, say: the sum alone is possible
        policy.tell(eh.Feedback(2 * often, 1.0 * often, 5.0 * often))
    assert policy.spent == 0
    fresh = json.loads(before)["run"]["memory"]
    assert json.loads(json.dumps(policy.state()))["run"]["memory"] == fresh


def test_votes_are_looked_at_when_a_stage_is_whole() -> None:
    problem = eh.BiasedLinearBandit(THREE, gamma=[0.75, 0.2], omega=0.1)
    policy, rng = (
        eh.CertainChoice(THREE, at_most=5_000, bounds=(-1.0, 1.0)),
        np.random.default_rng(1),
    )
    while not policy.finished:
        counts = policy.ask(7).counts
        options = np.repeat(np.arange(3), counts)
        votes = np.where(rng.random(len(options)) < 0.5 + 0.5 * problem.evaluations[options], 1, -1)
        policy.tell(eh.Feedback.from_scores(THREE, options.tolist(), votes))
    assert policy.recommend().option == problem.best
    assert all(round_.plan.looks == 1 and round_.whole for round_ in policy.record.rounds)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"looks": 0.9}, "looks"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"bounds": (0.0, 1.0), "noise_scale": 1.0}, "noise_scale"),
        ({"at_most": 0}, "at_most"),
        ({"at_most": 5, "horizon": 5}, "two names"),
    ],
)
def test_bad_arguments_are_named(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(eh.InputError, match=words):
        eh.CertainChoice(THREE, **wrong)  # type: ignore[arg-type] # on purpose


def test_a_thousand_evaluations_per_option_if_nothing_is_said() -> None:
    assert eh.CertainChoice(THREE).horizon == 3_000


def test_looks_reach_every_option() -> None:
    problem = skate_canada().problem
    policy = eh.CertainChoice(problem.actions, at_most=400, looks=0.2, seed=3)
    played(policy, problem, seed=1, n=4)
    assert policy.record.everything.counts.min() >= 2


def test_it_can_be_simulated() -> None:
    results = eh.simulate(problem_of(0.6), ["certain-choice"], 2_000, replications=3, seed=1)
    assert (results.summary()["n"] == 3).all()


def test_a_copy_has_what_was_worked_out_and_says_the_same_to_the_last_digit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, rng = problem_of(0.05), np.random.default_rng(3)
    policy = eh.CertainChoice(THREE, at_most=30_000, noise_scale=1.0)
    while policy.spent < 1_500:  # one by one, and plans with more scores than looks
        policy.tell(evaluated(policy.ask(1).counts, problem.evaluations, rng))
    anew = eh.restore(json.loads(json.dumps(policy.state())))
    for live, read in zip(policy.record.rounds, anew.record.rounds, strict=True):
        assert live.total.sums.tobytes() == read.total.sums.tobytes()
        assert live.total.sums_of_squares.tobytes() == read.total.sums_of_squares.tobytes()
    policy.inference.evidence()
    looks, look = [], Inference._look
    monkeypatch.setattr(Inference, "_look", lambda *given: looks.append(1) or look(*given))
    copies = [copy.copy(policy), copy.deepcopy(policy)]
    for one in copies:
        found = one.inference.evidence()
        assert one.inference.record is one.record is not policy.record
        assert not looks
        plain = anew.inference.evidence()
        assert looks  # what is read from a file is worked out again, and comes to the same
        looks.clear()
        assert found.wealth.tobytes() == plain.wealth.tobytes()
        assert one.recommend() == anew.recommend()
        anew = eh.restore(json.loads(json.dumps(policy.state())))
    before = policy.inference.evidence()
    while copies[0].spent < 1_700:  # what a copy learns is the copy's
        copies[0].tell(evaluated(copies[0].ask(7).counts, problem.evaluations, rng))
        copies[0].inference.evidence()
    assert policy.spent < 1_600
    assert policy.inference.evidence().wealth.tobytes() == before.wealth.tobytes()
    assert copies[1].inference.evidence().wealth.tobytes() == before.wealth.tobytes()
