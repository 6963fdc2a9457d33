"""Whether evaluators favour their own by as much as each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand import families
from evenhand.certainty import aim as aims
from evenhand.certainty.alike import chance_of_difference, with_own_biases
from evenhand.certainty.planned_choice import PlannedChoice
from evenhand.policies import Feedback
from rotation import nightly

PANEL = {"A": "x", "B": "y", "C": "z", "D": "x"}, {"P": "x", "Q": "y", "R": "z", "S": "x"}


def told(questions: eh.Questions, scores: np.ndarray) -> Feedback:
    return Feedback(np.ones(len(questions)), scores, scores**2)


def test_a_bias_for_each_is_what_the_panel_says() -> None:
    for bias in ("common", "group"):
        apart = with_own_biases(eh.Questions.panel(*PANEL, bias=bias))  # type: ignore[arg-type]
        assert apart is not None
        own = eh.Questions.panel(*PANEL, bias="evaluator")
        biases = [column.evaluator for column in apart.columns if column.kind == "bias"]
        assert sorted(map(str, biases)) == ["P", "Q", "R", "S"]
        order = [apart.n_features + biases.index(name) for name in "PQRS"]
        kept = [*range(4), *order, *range(apart.n_features + 4, apart.rows.shape[1])]
        assert (apart.points[:, kept] == own.points).all()
    assert with_own_biases(eh.Questions.panel(*PANEL, bias="evaluator")) is None
    assert with_own_biases(eh.Questions.panel(["A", "B"], ["P", "Q"])) is None


@pytest.mark.parametrize("n", [150, *nightly([400])])
@pytest.mark.parametrize("noise_scale", [2.0, None])
def test_the_chance_is_uniform_where_they_are_alike(noise_scale: float | None, n: int) -> None:
    problem = families.panel(k=6, e=5, seed=1, bias=3.0, leniency=5.0, noise_scale=2.0)
    rng = np.random.default_rng(4)
    chances = [
        chance_of_difference(
            problem.questions,
            told(problem.questions, problem.evaluations + 2.0 * rng.standard_normal(30)),
            noise_scale,
        )
        for _ in range(n)
    ]
    assert stats.kstest(chances, "uniform").pvalue > 1e-3


def test_the_chance_is_that_of_two_nested_regressions(monkeypatch: pytest.MonkeyPatch) -> None:
    common, own = (
        eh.Questions.panel(*PANEL, bias=bias)  # type: ignore[arg-type]
        for bias in ("common", "evaluator")
    )
    scores = np.random.default_rng(2).standard_normal(16)
    r0, r1 = (
        ((scores - A @ np.linalg.lstsq(A, scores, rcond=None)[0]) ** 2).sum()
        for A in (common.points, own.points)
    )
    ranks = [np.linalg.matrix_rank(questions.points) for questions in (common, own)]
    more, freedom = ranks[1] - ranks[0], 16 - ranks[1]
    exact = stats.f.sf((r0 - r1) / more / (r1 / freedom), more, freedom)
    assert chance_of_difference(common, told(common, scores), None) == pytest.approx(exact)
    monkeypatch.setattr(aims, "_LARGE", 0)  # as on large panels
    assert chance_of_difference(common, told(common, scores), None) == pytest.approx(exact)
    known = stats.chi2.sf((r0 - r1) / 0.25, more)
    assert chance_of_difference(common, told(common, scores), 0.5) == pytest.approx(known)


def test_who_differs_is_told_and_only_withdraws_what_does_not_stand() -> None:
    """Five judges of whom two favour nobody: with a bias for each, the choice stands or falls."""
    problem = families.panel(
        k=6, e=6, seed=1, n_groups=3, gap=4.0, bias=8.0, bias_spread=6.0, noise_scale=0.5
    )
    groups = problem.questions.options.groups or ()
    options = dict(zip(problem.questions.options.labels, groups, strict=True))
    sides = problem.questions.evaluator_groups
    judges = dict(zip(problem.questions.evaluators, sides or (), strict=True))
    common = eh.Questions.panel(options, judges)
    noise = 0.5 * np.random.default_rng(1).standard_normal(36)
    scores = problem.evaluations + noise
    policy = PlannedChoice(common, noise_scale=None)
    counts = policy.ask().counts
    policy.tell(Feedback(counts, counts * scores, counts * scores**2))
    (finding,) = [found for found in policy.findings() if found.assumption == "alike"]
    own = PlannedChoice(problem.questions)
    own.ask()
    own.tell(Feedback(counts, counts * scores, counts * scores**2))
    stands = own.recommend().loss == 0.0 and own.recommend().option == policy.inference.certain
    assert finding.alarm == (not stands)
    assert (policy.recommend().loss == 0.0) == stands
    assert finding.p_value < 0.01


def test_where_biases_cannot_be_told_apart_the_advice_is_to_ask_a_neutral_one() -> None:
    """Two groups, a bias for each judge: not to be told from a difference of the groups."""
    two = {"A": "x", "B": "y", "C": "x", "D": "y"}, {"P": "x", "Q": "y", "R": "x", "S": "y"}
    questions = eh.Questions.panel(*two)
    rng = np.random.default_rng(3)
    own = np.array([9.0, -9.0, 5.0, -5.0])
    same = np.array([[a == b for b in two[1].values()] for a in two[0].values()])
    scores = (np.array([9.0, 0, 0, 0])[:, None] + own * same).ravel() + rng.standard_normal(16)
    policy = PlannedChoice(questions, noise_scale=1.0)
    counts = policy.ask().counts
    policy.tell(Feedback(counts, counts * scores, counts * scores**2))
    (finding,) = [found for found in policy.findings() if found.assumption == "alike"]
    assert finding.alarm
    assert "favours nobody" in finding.message
    assert policy.recommend().loss == np.inf
