"""CertainChoice: stages are read right, false answers are rare, and it ends in plain words."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.arrays import Counts, Floats
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import Fit
from evenhand.certainty.stages import Stage, reading, with_looks
from evenhand.environments.skating import skate_canada

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


# ---------------------------------------------------------------------- stages


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
    for _ in range(12):  # the first stage has six
        pending += policy.ask(1, pending).counts
    assert pending.sum() == 12
    assert (pending >= 2 * np.bincount(policy._stage.order, minlength=3)).all()


def test_a_long_stage_repeats_its_order() -> None:
    stage = Stage(0, np.array([1]), np.array([0, 1, 0]), times=3)
    have = np.zeros(3, dtype=np.int64)
    handed = []
    while len(left := stage.next_ones(have)):
        handed.append(np.bincount(left[:4], minlength=3).tolist())
        have += handed[-1]
    assert (have == stage.wanted(3)).all()
    assert handed == [[3, 1, 0], [2, 2, 0], [1, 0, 0]]
    assert sorted(stage.beyond(have, 3).tolist()) == [0, 0, 1]


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


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_answers_are_rare_in_a_tie(noise_scale: float | None) -> None:
    """Either of two equal options is rejected with probability δ at most; here δ = 0.2."""
    runs, false, problem = 60, 0, problem_of(0.0)
    for seed in range(runs):
        policy = eh.CertainChoice(THREE, at_most=90, confidence=0.8, noise_scale=noise_scale)
        played(policy, problem, seed)
        false += bool(policy._rejected[:2].any())
    assert false <= int(binom.isf(1e-4, runs, 0.2))


def test_losses_that_are_stated_hold() -> None:
    """At every stage of every run: one loss below the truth in all of them is a false one."""
    runs, false = 30, 0
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


class Turns(eh.CertainChoice):
    """The first two options lead in turn, whatever the scores are."""

    name = "turns"

    def _leading(self, fit: Fit) -> int:
        return len(self._history) % 2


def evidence(policy: eh.CertainChoice, rival: int, option: int = -1, loss: float = 0.0) -> float:
    """Return the most log W against a rival at the end of a stage, or now; by the formula.

    The loss moves the evidence of the stages that the option led, and of no others.
    """
    total, most = 0.0, -math.inf
    for stage, told in [*policy._history, (policy._stage, policy._of_stage)]:
        if rival in stage.rivals and told.counts.any() and stage.before is not None:
            fits = policy.model.fit(told, 1.0, stage.before), stage.before
            said, expected = (fit.leads(stage.leader, np.array([rival])) for fit in fits)
            one = reading(fits[0], said, expected, 1.0)
            (effects,), (log_prior,) = one.prior()
            J = float(one.information[0])
            S = J * (float(one.estimates[0]) + (loss if stage.leader == option else 0.0))
            total += math.log(np.exp(log_prior + effects * S - effects**2 * J / 2).sum())
        most = max(most, total)
    return most


@pytest.mark.parametrize("gamma", [-2.0, 2.0])
def test_rivals_are_rejected_by_enough_evidence_and_losses_count_in_own_stages(
    gamma: float,
) -> None:
    """The third option is better than both leaders, or worse: 0.1 γ against γ."""
    policy = Turns(THREE, at_most=4_000, noise_scale=1.0)
    rng, needed = np.random.default_rng(3), math.log(1.0 / 0.05)
    means = eh.BiasedLinearBandit(THREE, [gamma, gamma], 0.4).evaluations
    reached = np.zeros(3, dtype=np.bool_)
    for _ in range(120):
        policy.tell(evaluated(policy.ask(5).counts, means, rng))
        reached |= [evidence(policy, x) >= needed for x in range(3)]
        np.testing.assert_array_equal(policy._rejected, reached)
    policy._of_stage = eh.Feedback([0, 0, 0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert {stage.leader for stage, _ in policy._history} == {-1, 0, 1}
    assert bool(policy._rejected[2]) == (gamma > 0.0)
    for option in (0, 1):
        loss, others = policy._loss(option), policy._open(option).tolist()
        assert 0.0 < loss < math.inf
        assert min(evidence(policy, x, option, loss) for x in others) >= needed - 1e-6
        assert min(evidence(policy, x, option, 0.5 * loss) for x in others) < needed


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
        while len(policy._history) < 3:
            counts = policy.ask(1_000).counts
            scores = evaluated(counts, problem.evaluations, rng)
            for x in np.flatnonzero(counts)[:: -1 if reverse else 1]:
                at = np.arange(3) == x
                parts = (scores.counts, scores.sums, scores.sums_of_squares)
                policy.tell(eh.Feedback(*(np.where(at, part, 0) for part in parts)))
        wealth.append(policy._wealth)
    assert wealth[0] == pytest.approx(wealth[1], rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------------- bounds, bias, arguments


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
    whole = np.bincount(policy._stage.order, minlength=3)
    assert (policy._of_stage.counts >= whole).all()


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_is_there_a_bias(noise_scale: float | None) -> None:
    for omega, tolerance, words in ((0.9, 0.3, "larger than 0.3"), (0.1, 0.8, "no larger than")):
        policy = eh.CertainChoice(
            THREE, at_most=4_000, target="bias", tolerance=tolerance, noise_scale=noise_scale
        )
        played(policy, problem_of(0.1, omega), seed=2)
        assert policy.spent < 2_000
        assert words in str(policy.stopped_because)
        assert policy.bias().covers(omega)


def test_a_bias_by_a_fixed_design_is_as_narrow_as_planned() -> None:
    """3.04 standard deviations at the budget: σ√(κ*/T) is one."""
    policy = eh.CertainChoice(THREE, at_most=400, target="bias", noise_scale=2.0, tolerance=0.0)
    problem = eh.BiasedLinearBandit(THREE, gamma=[0.5, 0.5], omega=0.0, noise_scale=2.0)
    played(policy, problem, seed=1, n=50)
    bias = policy.bias()
    sd = 2.0 * math.sqrt(eh.bias_optimal_design(THREE).value / 400)
    assert (bias.high - bias.value) / sd == pytest.approx(3.04, abs=0.05)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"looks": 0.9}, "looks"),
        ({"target": "worst"}, "target"),
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
    assert policy._told.counts.min() >= 2


def test_it_can_be_simulated() -> None:
    results = eh.simulate(problem_of(0.6), ["certain-choice"], 2_000, replications=3, seed=1)
    assert (results.summary()["n"] == 3).all()
