"""Whether evaluators favour their own by as much as each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand import families
from evenhand.certainty import PlannedChoice

PANEL = {"A": "x", "B": "y", "C": "z", "D": "x"}, {"P": "x", "Q": "y", "R": "z", "S": "x"}


def told(questions: eh.Questions, scores: np.ndarray) -> eh.Feedback:
    return eh.Feedback(np.ones(len(questions)), scores, scores**2)


@pytest.mark.parametrize("known", [True, False])
def test_the_chance_is_that_of_two_nested_regressions(known: bool) -> None:
    common, own = (
        eh.Questions.panel(*PANEL, bias=bias)  # type: ignore[arg-type]
        for bias in ("common", "evaluator")
    )
    theta = 10.0 * (np.arange(own.points.shape[1]) % 5)
    scores = own.points @ theta + np.random.default_rng(2).normal(size=16)
    r0, r1 = (
        ((scores - A @ np.linalg.lstsq(A, scores, rcond=None)[0]) ** 2).sum()
        for A in (common.points, own.points)
    )
    ranks = [np.linalg.matrix_rank(questions.points) for questions in (common, own)]
    more, freedom = ranks[1] - ranks[0], 16 - ranks[1]
    exact = stats.f.sf((r0 - r1) / more / (r1 / freedom), more, freedom)
    policy = PlannedChoice(common, noise_scale=0.5 if known else None)
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, counts * scores, counts * scores**2))
    (finding,) = [found for found in policy.findings() if found.assumption == "alike"]
    chance = stats.chi2.sf((r0 - r1) / 0.25, more) if known else exact
    assert finding.p_value == pytest.approx(chance, rel=1e-6)


def test_who_differs_is_told_and_withdraws_what_does_not_stand() -> None:
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
    policy.tell(eh.Feedback(counts, counts * scores, counts * scores**2))
    (finding,) = [found for found in policy.findings() if found.assumption == "alike"]
    assert finding.alarm
    assert policy.recommend().loss > 0.0
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
    policy.tell(eh.Feedback(counts, counts * scores, counts * scores**2))
    (finding,) = [found for found in policy.findings() if found.assumption == "alike"]
    assert finding.alarm
    assert "favours nobody" in finding.message
    assert policy.recommend().loss == np.inf
