"""The proof: every part by another route, whole decisions against the policies, and forgeries."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import evenhand as eh
from evenhand.answers.answer import answer_of
from evenhand.campaigns.proof import Plan, Record, derive, disagreements
from evenhand.campaigns.proof.asked import Asked
from evenhand.campaigns.proof.evidence import (
    Reading,
    log_evidence,
    log_moment,
    most_evidence,
    one_sided,
)
from evenhand.campaigns.proof.lack_of_fit import lack_of_fit
from evenhand.campaigns.proof.squares import Fit, Sums
from evenhand.campaigns.proof.walk import walk
from evenhand.campaigns.proof.winner import Winner
from evenhand.certainty.model_choice import model_of
from evenhand.certainty.stages import reading
from records import changed, played


def panel(capacity: int | None = None, **more: Any) -> eh.Questions:
    options = {"Ann": "a", "Bo": "b", "Cy": "c", "Di": "a"}
    return eh.Questions.panel(
        options, {"P": "a", "Q": "b", "R": None, "S": "c"}, capacity=capacity, **more
    )


def options() -> eh.ActionSet:
    rng = np.random.default_rng(5)
    features = np.column_stack([np.ones(8), rng.standard_normal(8)])
    return eh.ActionSet(features, ["home", "away"] * 4)


def truth(asked: eh.ActionSet | eh.Questions, seed: int, size: float = 1.0) -> Any:
    points = asked.points
    return points @ (size * np.random.default_rng(seed).standard_normal(points.shape[1]))


# ------------------------------------------------------------------ parts


@pytest.mark.parametrize("nu", [0, 1, 2, 7, 30, 400])
@pytest.mark.parametrize("y", [-20.0, -3.0, -0.1, 0.0, 0.5, 4.0, 40.0])
def test_moments_are_those_of_chi(nu: int, y: float) -> None:
    with mpmath.workdps(30):
        mode = 0.5 * (y + math.sqrt(y * y + 4.0 * nu)) if nu else max(y, 0.0)
        cuts = [0, max(mode - 9, 0) / 2, max(mode - 9, 0), mode, mode + 9, mpmath.inf]
        cuts = sorted(set(cuts))

        def integrand(r: Any) -> Any:
            return r**nu * mpmath.exp(-r * r / 2 + r * y)

        norm = mpmath.mpf(2) ** ((nu - 1) / mpmath.mpf(2)) * mpmath.gamma((nu + 1) / mpmath.mpf(2))
        exact = float(mpmath.log(mpmath.quad(integrand, cuts) / norm))
    said = float(log_moment(np.array([float(nu)]), np.array([y]))[0])
    assert said == pytest.approx(exact, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("freedom", [math.inf, 3.0, 40.0])
def test_no_prior_has_more_evidence_than_the_bound(freedom: float) -> None:
    rng = np.random.default_rng(0)
    beta, J, R = rng.normal(0.3, 1.0, 50), rng.uniform(0.1, 30.0, 50), rng.uniform(1.0, 9.0, 50)
    effects, logs = one_sided(rng.normal(0.5, 1.0, 50), rng.uniform(0.1, 1.0, 50), 1.0, 9.0, 0.0)
    had = log_evidence(beta, J, R, freedom, effects, logs)
    assert (had <= most_evidence(beta, J, R, freedom) + 1e-9).all()
    # and one effect that is right has nearly all of it where the noise is known
    best = np.maximum(beta, 1e-9)[:, None]
    alone = log_evidence(beta, J, R, math.inf, best, np.zeros((50, 1)))
    assert alone[beta > 0] == pytest.approx(most_evidence(beta, J, R, math.inf)[beta > 0])


@pytest.mark.parametrize("policy", [True, False])
def test_what_is_left_of_equal_scores_is_no_evidence(policy: bool) -> None:
    """Rounded scores have a noise of exactly 0 at times; then rounding would be certain."""
    asked = panel()
    q = len(asked)
    counts = np.full(q, 2)
    alike, apart = np.full(q, 3.1), np.where(asked.about[:, 0] == 1, 4.1, 3.1)
    for scores, says in ((alike, False), (apart, True)):
        if policy:
            model = model_of(asked)
            told = eh.Feedback(counts, counts * scores, counts * scores**2)
            before = model.fit(eh.Feedback(counts, 0.7 * counts, counts.astype(float)), None)
            fit = model.fit(told, None, before)
            leads = fit.leads(1, np.array([0, 2, 3]))
            information = reading(fit, leads, leads, 1.0).information
        else:
            own = Asked.of(asked.to_dict())
            H = own.span.coordinates(own.options)
            fitted = Fit.of(own, Sums(counts, scores, np.zeros(q)), False)
            said = fitted.along(H[1] - H[[0, 2, 3]])
            information = Reading.of(fitted, said, fitted, said).information
        assert (information > 0.0).all() == says
        assert (information == 0.0).all() == (not says)


@pytest.mark.parametrize("known", [True, False])
def test_a_walk_is_least_squares_after_every_answer(known: bool) -> None:
    asked = Asked.of(panel(noise={"P": 2.0}).to_dict())
    rng = np.random.default_rng(1)
    questions, scores = rng.integers(16, size=300), rng.normal(5.0, 1.0, 300)
    H = asked.span.coordinates(asked.options)
    D = H[0] - H[1:]
    at, looked = 0, np.ones(300, dtype=np.bool_)
    for stretch in walk(asked, questions, scores, D, known, looked):
        for i in range(0, len(stretch.places), 7):
            n = int(stretch.places[i])
            fit = Fit.of(asked, Sums.of(questions[:n], scores[:n], 16), known)
            said = fit.along(D)
            assert stretch.estimates[i] == pytest.approx(said.estimates, abs=1e-9)
            assert stretch.information[i] == pytest.approx(1.0 / said.variances)
            assert stretch.scatter[i] == pytest.approx(fit.scatter, abs=1e-8)
            assert stretch.freedom[i] == fit.freedom
        at += len(stretch.places)
    assert at == 300


@pytest.mark.parametrize("freedom", [math.inf, 6.0])
def test_the_winner_test_is_a_ratio_of_areas(freedom: float) -> None:
    rng = np.random.default_rng(2)
    factor, leads, R = rng.normal(size=(3, 4)), np.array([0.4, 1.7, 3.0]), 2.5
    winner = Winner(leads, factor, 0.0 if math.isinf(freedom) else R, freedom)
    S, null = factor @ factor.T, -0.3
    for j, chance in enumerate(winner.chances(null)):
        rooms = leads * S[j, j] / S[j]
        low = leads[j] - rooms[rooms > 0].min()
        high = leads[j] - rooms[rooms < 0].max(initial=-np.inf)
        root = math.sqrt(S[j, j])
        x, a, b = ((end - null) / root for end in (leads[j], low, high))
        if math.isinf(freedom):
            area, reach = stats.norm.pdf, 40.0
        else:
            Q = R + x**2
            reach = math.sqrt(Q)

            def area(z: float, Q: float = Q) -> float:
                return float((Q - z * z) ** (freedom / 2 - 1))

        a, b = max(a, -reach), min(b, reach)
        part, whole = (integrate.quad(area, begin, b)[0] for begin in (x, a))
        assert chance == pytest.approx(part / whole, rel=1e-6)
    for end, upper in ((winner.ends(0.02, upper=False), False), (winner.ends(0.02, True), True)):
        for j, null in enumerate(end):
            chance = float(winner.chances(float(null))[j])
            assert (1.0 - chance if upper else chance) == pytest.approx(0.02, rel=1e-6)


def test_lack_of_fit_is_the_ratio_of_brown_and_forsythe() -> None:
    rng = np.random.default_rng(3)
    A, n = rng.normal(size=(7, 3)), np.array([2, 3, 5, 2, 9, 4, 3])
    means, within = rng.normal(size=7), rng.uniform(1.0, 3.0, 7) * (n - 1)
    root = np.diag(np.sqrt(n))
    H = root @ A @ np.linalg.inv(A.T @ np.diag(n) @ A) @ A.T @ root
    left = np.eye(7) - H
    nu, pooled = n - 1.0, within.sum() / (n - 1.0).sum()
    for panel_ in (False, True):
        weights = n / n.mean() if panel_ else np.ones(7)
        sigma = np.diag(weights * (within + 0.5 * pooled) / (nu + 0.5))
        D = np.trace(left @ sigma)
        y = left @ root @ means
        f = D**2 / np.trace(left @ sigma @ left @ sigma)
        g = D**2 / ((np.diag(left) * np.diag(sigma)) ** 2 / (nu + 0.5)).sum()
        p = stats.f.sf(weights @ y**2 / D, f, min(g, nu.sum()))
        assert lack_of_fit(A, n, means, within, None, panel_).p_value == pytest.approx(p)


# ------------------------------------------------------------------ whole decisions

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "panel": (panel(), {"at_most": 120}),
    "panel, bounded": (panel(), {"at_most": 150, "bounds": (-12.0, 12.0)}),
    "panel, tolerance": (panel(), {"at_most": 90, "tolerance": 0.4, "noise_scale": 1.0}),
    "prices and noise": (
        panel(prices={"R": 4.0}, noise={"P": 0.5}),
        {"at_most": 200, "budget": 150.0, "together": 4},
    ),
    "features help": (panel(features=[[0.0], [1.0], [2.0], [4.0]]), {"at_most": 60, "together": 3}),
    "limited": (panel(6), {"stop": 50, "together": 2}),
    "comparisons": (eh.Questions.comparisons(["A", "B", "C"], ["P", "Q"]), {"at_most": 100}),
    "features exact": (options(), {"at_most": 150, "deviation": 0, "noise": 0.4}),
    "once": (panel(1), {"looks": "once", "noise": 0.3}),
    "always": (panel(2), {"looks": "always", "noise": 0.5, "together": 5}),
    "careful": (options(), {"at_most": 300, "noise": 0.3}),
    "careful, stated": (
        options(),
        {"at_most": 200, "noise": 0.3, "noise_scale": 0.3, "tolerance": 0.2, "together": 3},
    ),
    "σ too small": (panel(), {"at_most": 300, "noise_scale": 0.4}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_policy_says_follows_from_its_evaluations(name: str) -> None:
    asked, settings = CASES[name]
    record, answer = played(asked, truth(asked, 1), 1, **settings)
    found = derive(record)
    assert disagreements(record, found, answer) == []
    assert ("scale" in found.derived.alarms) == (name == "σ too small")


@pytest.fixture(scope="module")
def certain() -> tuple[Record, dict[str, Any]]:
    record, answer = played(panel(), truth(panel(), 2, 2.0), 4, noise_scale=1.0, at_most=400)
    assert answer["sure"]
    assert disagreements(record, derive(record), answer) == []
    return record, answer


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (["option"], "Di"),
        (["sure"], False),
        (["certainty"], "features exact"),
        (["loses_at_most"], 0.5),
        (["withstands"], 99.0),
        (["warnings"], [{"assumption": "drift", "alarm": True, "message": ""}]),
        (["ranking", 0, "value"], 17.0),
        (["ranking", 1, "low"], -1e-9),
        (["ranking", 2, "high"], 99.0),
        (["ranking", 3, "lead"], 0.0),
        (["ranking", 0, "raw"], 0.0),
        (["ranking", 0, "evaluations"], 1),
        (["biases", 0, "estimate"], 0.123),
        (["biases", 1, "low"], 0.0),
    ],
)
def test_a_decision_that_was_changed_is_seen(
    certain: tuple[Record, dict[str, Any]], where: list[Any], to: Any
) -> None:
    record, answer = certain
    assert disagreements(record, derive(record), changed(answer, where, to))


def test_evaluations_that_were_changed_are_seen(certain: tuple[Record, dict[str, Any]]) -> None:
    record, answer = certain
    n = record.total

    def seen(**parts: Any) -> bool:
        forged = dataclasses.replace(record, **parts)
        return bool(disagreements(forged, derive(forged), answer))

    scores = record.scores.copy()
    scores[n // 2] += 1e-3
    assert seen(scores=scores)
    swapped = record.questions.copy()
    swapped[[3, n - 1]] = swapped[[n - 1, 3]]
    assert (swapped != record.questions).any()
    assert seen(questions=swapped)
    withdrawn = record.withdrawn.copy()
    withdrawn[n // 3] = n
    assert seen(withdrawn=withdrawn)
    assert seen(settings={**record.settings, "confidence": 0.999999})
    assert seen(settings={**record.settings, "noise_scale": 1.1})


def test_plans_that_were_changed_are_seen(certain: tuple[Record, dict[str, Any]]) -> None:
    """A prior that knew the outcome would make evidence of anything."""
    record, answer = certain
    at = next(i for i, plan in enumerate(record.plans) if plan.content["leader"] >= 0)
    plan = record.plans[at]
    expected = plan.content["expected"]
    better = {**plan.content, "expected": {**expected, "leads": [3.0] * len(expected["leads"])}}
    later = plan.at + 2
    for forged in (Plan(plan.at, better), Plan(later, plan.content)):
        plans = [forged if i == at else old for i, old in enumerate(record.plans)]
        other = dataclasses.replace(record, plans=plans)
        assert any("expected" in line for line in disagreements(other, derive(other), answer))


def test_of_other_policies_what_was_counted_is_checked() -> None:
    asked = options()
    rng = np.random.default_rng(0)
    questions = np.tile(np.arange(8), 3)
    scores = truth(asked, 1)[questions] + 0.1 * rng.standard_normal(24)
    none = np.zeros(24, dtype=np.bool_)
    record = Record(asked.to_dict(), "uniform", {}, questions, scores, none, np.full(24, -1))
    policy = eh.policy("uniform", asked, horizon=24)
    for x, score in zip(questions, scores, strict=True):
        policy.ask(24)
        policy.tell(eh.Feedback.from_scores(asked, [int(x)], [score]))
    policy.checks.look()
    answer = answer_of(policy, confidence=0.95, tolerance=0.0, features_exact=False).to_dict()
    found = derive(record, asked.labels.index(answer["option"]))
    assert "'uniform' is not derived again" in found.derived.taken[0]
    assert disagreements(record, found, answer) == []
    assert disagreements(record, found, changed(answer, ["ranking", 1, "raw"], 0.0))
