"""The model is checked while it is used."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.findings import Checks, residuals
from evenhand.policies import checks_of
from evenhand.scores import Finding

Stream = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def told(k: int, *scores: tuple[int, list[float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one tell: scores of some options."""
    counts, sums, squares = np.zeros(k, dtype=np.int64), np.zeros(k), np.zeros(k)
    for x, ys in scores:
        counts[x], sums[x], squares[x] = len(ys), sum(ys), sum(y * y for y in ys)
    return counts, sums, squares


def singles(k: int, options: Any, scores: Any) -> Stream:
    return [told(k, (int(x), [float(y)])) for x, y in zip(options, scores, strict=True)]


def options_with(k: int, *, constant: bool = True, seed: int = 0) -> eh.ActionSet:
    x = np.random.default_rng(seed).standard_normal((k, 2))
    features = np.column_stack([x, np.ones(k)]) if constant else x
    groups = ["home" if i % 2 else "away" for i in range(k)]
    return eh.ActionSet(features, groups, labels=[f"option-{i}" for i in range(k)])


def linear_means(actions: eh.ActionSet, level: float = 0.0) -> np.ndarray:
    theta = np.array([1.0, -0.5, level, 0.4])
    return actions.points @ theta


def even_order(k: int, rounds: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(k) for _ in range(rounds)])


def watched(actions: eh.ActionSet, options: Any, scores: Any, **settings: Any) -> Checks:
    checks = Checks(actions, **settings)
    for tell in singles(len(actions), options, scores):
        checks.take(*tell)
    return checks


def alarms(checks: Checks) -> dict[str, Finding]:
    return {found.assumption: found for found in checks.findings() if found.alarm}


def notes(checks: Checks) -> dict[str, Finding]:
    return {found.assumption: found for found in checks.findings() if not found.alarm}


def test_lack_of_fit_is_the_analysis_of_variance_where_all_is_alike() -> None:
    """One constant for all, as many of each and of one variance: Fisher's F."""
    rng = np.random.default_rng(8)
    k, n = 7, 5
    noise = rng.standard_normal((k, n))
    noise -= noise.mean(axis=1, keepdims=True)
    noise /= np.sqrt((noise**2).sum(axis=1, keepdims=True))
    scores = noise + 0.3 * rng.standard_normal((k, 1))
    scatters = ((scores - scores.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    lack = residuals(np.ones((k, 1)), np.full(k, n), scores.mean(axis=1), scatters).lack
    F, p = stats.f_oneway(*scores)
    assert lack.df == k - 1
    assert lack.statistic == pytest.approx(F, rel=1e-9)
    assert lack.p_value == pytest.approx(p, rel=1e-6)


def test_residuals_are_those_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(9)
    points = np.column_stack([rng.standard_normal((9, 2)), np.ones(9), np.ones(9)])  # rank 3
    counts = rng.integers(2, 9, 9)
    means = 1e3 + rng.standard_normal(9)
    found = residuals(points, counts, means, np.ones(9))
    theta, *_ = np.linalg.lstsq(points * np.sqrt(counts)[:, None], means * np.sqrt(counts))
    np.testing.assert_allclose(found.raw, means - points @ theta, atol=1e-9)
    assert found.lack.df == 6


def test_with_single_evaluations_the_stated_noise_judges_the_fit() -> None:
    """Q/σ² is χ² then; without a stated noise nothing can be said."""
    rng = np.random.default_rng(10)
    points, means = rng.standard_normal((12, 3)), rng.standard_normal(12)
    once = np.ones(12, dtype=np.int64)
    theta, *_ = np.linalg.lstsq(points, means)
    Q = ((means - points @ theta) ** 2).sum()
    lack = residuals(points, once, means, np.zeros(12), 0.8).lack
    assert lack.p_value == pytest.approx(stats.chi2(9).sf(Q / 0.64), rel=1e-6)
    assert math.isnan(residuals(points, once, means, np.zeros(12)).lack.p_value)


def test_noise_that_differs_by_option_is_no_lack_of_fit() -> None:
    """At 5% and 1%, with 4 evaluations each and σ from ½ to 2; by four standard errors."""
    rng = np.random.default_rng(11)
    runs, k, n = 1500, 10, np.full(10, 4)
    p = np.empty(runs)
    for run in range(runs):
        points = np.column_stack([rng.standard_normal((k, 2)), np.ones(k)])
        sigma = 2.0 ** rng.uniform(-1, 1, k)
        means = sigma * rng.standard_normal(k) / 2.0
        p[run] = residuals(points, n, means, sigma**2 * rng.chisquare(3, k)).lack.p_value
    for a in (0.05, 0.01):
        assert (p <= a).sum() <= a * runs + 4 * math.sqrt(a * runs)


def test_what_was_told_is_added_up() -> None:
    rng, k = np.random.default_rng(1), 5
    checks, scores = Checks(options_with(k)), [list[float]() for _ in range(k)]
    for _ in range(200):
        parts = []
        for x in rng.choice(k, rng.integers(1, 4), replace=False):
            ys = (1e4 + rng.standard_normal(rng.integers(1, 5))).tolist()
            scores[x] += ys
            parts.append((x, ys))
        checks.take(*told(k, *parts))
    np.testing.assert_array_equal(checks.counts, [len(ys) for ys in scores])
    np.testing.assert_allclose(checks.means, [np.mean(ys) for ys in scores], rtol=1e-12)
    np.testing.assert_allclose(checks.scatters, [np.var(ys) * len(ys) for ys in scores], rtol=1e-6)


def test_asking_again_what_looked_good_and_unequal_noise_are_no_dependence() -> None:
    actions, wrong = options_with(40), {"luck": 0, "noise": 0}
    for run in range(100):
        rng = np.random.default_rng([21, run])
        n, total = np.ones(40), rng.normal(size=40)
        x, y = list(range(40)), total.tolist()
        for _ in range(120):  # always the one whose mean is highest: by luck, so that it falls back
            x.append(int(np.argmax(total / n)))
            y.append(float(rng.normal()))
            n[x[-1]] += 1.0
            total[x[-1]] += y[-1]
        wrong["luck"] += "dependence" in alarms(watched(actions, x, y))
        both = np.repeat(even_order(40, 1, run), 3)
        loud = np.where(both % 2, 1.0, 4.0) * rng.standard_normal(len(both))
        wrong["noise"] += "dependence" in alarms(watched(actions, both, loud))
    assert max(wrong.values()) <= 2  # its share of the level is less than 1%


def test_the_scale_is_held_against_what_is_stated_and_not_within_what_is_tolerated() -> None:
    actions, seen = options_with(10), {1.0: 0, 1.1: 0, 2.0: 0}
    for run in range(40):
        noise = np.random.default_rng([4, run]).standard_normal(200)
        x = even_order(10, 20, run)
        for size in seen:
            found = alarms(watched(actions, x, size * noise, noise_scale=1.0))
            seen[size] += "scale" in found
    assert seen[1.0] + seen[1.1] <= 3
    assert seen[2.0] == 40


def test_all_is_well() -> None:
    actions = options_with(10)
    rng = np.random.default_rng(12)
    x = even_order(10, 40, 12)
    y = linear_means(actions, 20.0)[x] + rng.standard_normal(len(x))
    assert watched(actions, x, y, noise_scale=1.0).findings() == ()
    assert watched(actions, x, y).findings() == ()


def test_each_broken_assumption_is_named() -> None:
    actions = options_with(10)
    rng = np.random.default_rng(13)
    x = even_order(10, 60, 13)
    n = len(x)
    xi = rng.standard_normal(n)
    good = linear_means(actions, 20.0)[x] + xi
    assert set(alarms(watched(actions, x, good, noise_scale=0.5))) == {"scale"}
    odd = np.where(x == 3, good + 2.0, good)
    found = alarms(watched(actions, x, odd))
    assert set(found) == {"fit"}
    assert found["fit"].options[0] == 3
    assert "option-3" in found["fit"].message
    assert found["fit"].p_value < 1e-6
    found = alarms(watched(actions, x, good - np.arange(n) / 200.0))
    assert "drift" in found
    assert "0.5" in found["drift"].message  # by 100 scores
    ar = np.zeros(n)
    for t in range(1, n):
        ar[t] = 0.9 * ar[t - 1] + math.sqrt(0.19) * xi[t]
    assert "dependence" in alarms(watched(actions, x, good - xi + ar))
    typed = np.arange(7, n, 25)
    wrong = good.copy()
    wrong[typed] /= 10.0
    found = alarms(watched(actions, x, wrong))
    assert set(found) == {"outliers"}
    assert found["outliers"].options == tuple(np.unique(x[typed[typed < 561]]))


def test_a_missing_intercept_is_told_from_other_lack_of_fit() -> None:
    actions = options_with(10, constant=False)
    rng = np.random.default_rng(14)
    x = even_order(10, 12, 14)
    means = actions.points @ [1.0, -0.5, 0.4]
    found = alarms(watched(actions, x, 5.0 + means[x] + rng.standard_normal(len(x))))
    assert set(found) == {"intercept"}
    assert "intercept=True" in found["intercept"].message
    bent = np.where(np.arange(10) == 4, 8.0, 0.0)
    found = alarms(watched(actions, x, (means + bent)[x] + rng.standard_normal(len(x))))
    assert set(found) == {"fit"}


def test_an_evaluator_who_repeats_himself() -> None:
    """Found before the first look; gone once scores of an option differ."""
    actions = options_with(6)
    checks = Checks(actions)
    scores = np.array([7.1, 6.3, 0.1, 8.8, 5.9, 0.7])
    for _ in range(2):
        checks.take(np.full(6, 3), 3 * scores, 3 * scores**2)
    assert set(alarms(checks)) == {"repeats"}
    assert "30" in alarms(checks)["repeats"].message
    checks.take(*told(6, (2, [0.4])))
    assert not alarms(checks)


def test_one_suspicious_score_is_a_note_with_its_influence() -> None:
    actions = options_with(6)
    rng = np.random.default_rng(15)
    x = even_order(6, 10, 15)
    y = 20.0 + rng.standard_normal(len(x))
    stray = int(np.flatnonzero(x == 2)[3])
    y[stray] = 2.0
    checks = watched(actions, x, y)
    checks.look()  # at all of it
    assert not alarms(checks)
    note = notes(checks)["outliers"]
    assert note.options == (2,)
    own = x == 2
    rest = own & (np.arange(len(x)) != stray)
    assert f"option-2: 2 (mean {y[own].mean():.4g}, {y[rest].mean():.4g} without" in note.message


def test_notes_withdraw_nothing() -> None:
    actions = options_with(8)
    rng = np.random.default_rng(16)
    x = even_order(8, 20, 16)
    xi = rng.standard_normal(len(x))
    means = linear_means(actions)
    large = watched(actions, x, means[x] + xi, noise_scale=3.0)
    assert set(notes(large)) == {"scale"}
    coarse = watched(actions, x, 2.5 * np.round((means[x] + xi) / 2.5))
    assert set(notes(coarse)) == {"rounding"}
    few = np.tile([0, 1, 2, 3], 20)  # as many options as parameters
    unseen = watched(actions, few, means[few] + xi[:80])
    assert set(notes(unseen)) == {"looks"}
    assert not any(map(alarms, (large, coarse, unseen)))


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150])
@pytest.mark.parametrize("told_at_once", [1, 3])
def test_no_scores_break_a_look(size: float, told_at_once: int) -> None:
    """A tell that the policy accepts is never stopped by what is made of it here."""
    rng = np.random.default_rng(21)
    actions = options_with(5)
    checks = Checks(actions, noise_scale=1.0)
    for x in even_order(5, 20, 21):
        checks.take(*told(5, (x, (size * rng.standard_normal(told_at_once)).tolist())))
    checks.look()
    assert checks.counts.sum() == 100 * told_at_once
    checks = watched(actions, np.zeros(60, dtype=int), [size, *[0.0] * 59])  # one option, one score
    assert checks.counts[0] == 60


def test_what_checks_remember_goes_through_json() -> None:
    actions = options_with(7)
    rng = np.random.default_rng(17)
    x = even_order(7, 500, 17)  # more than the record holds
    y = linear_means(actions)[x] + rng.standard_normal(len(x)) + np.arange(len(x)) / 500
    stream = singles(7, x, y)
    whole = Checks(actions, noise_scale=0.3)
    for tell in stream[:2500]:
        whole.take(*tell)
    policy = eh.policy("uniform", actions, horizon=10)  # carries the checks in its state
    policy._checks = whole
    again = checks_of(eh.restore(json.loads(json.dumps(policy.state()))))
    again.noise_scale = whole.noise_scale
    assert {"drift", "scale"} <= set(alarms(whole))
    for tell in stream[2500:]:
        whole.take(*tell)
        again.take(*tell)
    assert str(again.memory()) == str(whole.memory())
    assert again.findings() == whole.findings()


def test_pooled_scatter_is_the_variance_within_options() -> None:
    actions = options_with(4)
    rng = np.random.default_rng(18)
    checks = Checks(actions)
    assert checks.lack_of_fit().df == 0
    assert math.isnan(checks.pooled_scatter()[0])
    groups = [rng.standard_normal(n).tolist() for n in (5, 1, 3, 4)]
    checks.take(*told(4, *enumerate(groups)))
    variance, df = checks.pooled_scatter()
    assert df == 9
    assert variance == pytest.approx(sum(len(g) * np.var(g) for g in groups) / 9)
    np.testing.assert_allclose(checks.means, [np.mean(g) for g in groups])


def test_every_policy_warns() -> None:
    actions = options_with(6)
    policy = eh.policy("uniform", actions, horizon=100)
    assert policy.recommend().warnings == ()
    for _ in range(3):
        policy.tell(eh.Feedback(np.ones(6), np.arange(6.0), np.arange(6.0) ** 2))
    assert [found.assumption for found in policy.recommend().warnings] == ["repeats"]


def logged(actions: eh.ActionSet, means: np.ndarray, n: int, seed: int) -> eh.Feedback:
    rng = np.random.default_rng(seed)
    k = len(actions)
    scores = means[:, None] + rng.standard_normal((k, n))
    return eh.Feedback(np.full(k, n), scores.sum(axis=1), (scores**2).sum(axis=1))


@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_an_alarm_withdraws_what_was_certain(noise_scale: float | None) -> None:
    actions = options_with(8)
    means = linear_means(actions)
    policy = eh.PricedExploration(actions, horizon=10_000, noise_scale=noise_scale, value_bound=5.0)
    policy.observe(logged(actions, means, 200, 19))
    sure = policy.recommend()
    assert sure.certainty == "features exact"
    assert sure.level == 0.95
    assert sure.loss < 10.0
    assert policy.findings() == sure.warnings == ()
    bent = means + np.where(np.arange(8) == 5, 3.0, 0.0)
    policy.observe(logged(actions, bent, 200, 20))
    decision = policy.recommend()
    assert "fit" in {found.assumption for found in decision.warnings if found.alarm}
    assert decision.warnings == policy.findings()
    assert (decision.loss, decision.level, decision.withstands) == (math.inf, 0.0, 0.0)
    assert decision.certainty is None
    np.testing.assert_array_equal(decision.leads[:, 1:], [[-math.inf, math.inf]] * 8)
    bias = policy.bias()
    assert (bias.low, bias.high, bias.level) == (-math.inf, math.inf, 0.0)
    assert math.isfinite(bias.value)
    again = eh.restore(json.loads(json.dumps(policy.state())))
    assert again.recommend().warnings == decision.warnings


def asked_all(questions: eh.Questions, times: int, means: np.ndarray, seed: int) -> Checks:
    """Every question so often, in random order, noise of 1."""
    x = even_order(len(questions), times, seed)
    noise = np.random.default_rng(seed).standard_normal(len(x))
    checks = Checks(questions)
    for i, question in enumerate(x):
        checks.take(*told(len(questions), (int(question), [float(means[question] + noise[i])])))
    return checks


def test_in_a_panel_findings_name_the_pair() -> None:
    """One judge sees one option with other eyes; else values, leniency and favours explain all."""
    options = {f"o{x}": "abc"[x % 3] for x in range(5)}
    panel = eh.Questions.panel(options, {"P": "a", "Q": "b", "R": "d"}, capacity=None)
    means = panel.points @ np.arange(1.0, 9.0)
    assert not alarms(asked_all(panel, 8, means, 1))
    (pair,) = panel.find(["o3"], ["Q"])
    means[pair] += 6.0
    found = alarms(asked_all(panel, 8, means, 1))["fit"]
    assert found.options[0] == pair
    assert "o3 by Q" in found.message
    assert "bias='evaluator'" in found.message


def test_a_favour_for_the_first_that_nobody_allowed_for_is_named() -> None:
    worth = np.array([1.0, 0.5, 0.0, -1.0, 0.25])
    names = [f"o{x}" for x in range(5)]
    plain = eh.Questions.comparisons(names, ["J"], position=False)
    means = worth[plain.about[:, 0]] - worth[plain.about[:, 1]] + 2.0
    found = alarms(asked_all(plain, 6, means, 2))
    assert set(found) == {"intercept"}
    assert "position=True" in found["intercept"].message
    allowed = eh.Questions.comparisons(names, ["J"])
    assert not alarms(asked_all(allowed, 6, means, 2))


def test_what_was_not_checked_of_a_panel_is_said_of_questions() -> None:
    for capacity in (1, None):
        names = [f"o{x}" for x in range(8)]
        panel = eh.Questions.panel(names, ["P", "Q", "R", "S"], capacity=capacity)
        once = asked_all(panel, 1, panel.points @ np.ones(11), 3)
        once.look()
        assert "looks" in notes(once)


def test_effects_that_stay_are_weighed_by_how_often_they_were_seen() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([np.ones(7), np.arange(7.0)])
    counts = np.array([1, 2, 3, 12, 5, 2, 9])
    scores = [rng.normal(size=n) for n in counts]
    means = np.array([y.mean() for y in scores])
    scatters = np.array([((y - y.mean()) ** 2).sum() for y in scores])
    found = residuals(rows, counts, means, scatters, persistent=True).lack
    # the same by matrices: squares weighed by n, over what they are expected to be
    root = np.sqrt(counts)
    H = (A := rows * root[:, None]) @ np.linalg.solve(A.T @ A, A.T)
    left = (np.eye(7) - H) @ (root * means)
    pooled = scatters.sum() / (counts - 1).sum()
    variances = pooled * (scatters / pooled + 0.5) / (counts - 1 + 0.5)
    expected = float((counts * (1.0 - np.diag(H))) @ variances)
    assert found.statistic == pytest.approx(float(counts @ left**2) / expected)
    same = np.full(7, 4)
    even = residuals(rows, same, means, scatters, persistent=True).lack
    assert even == pytest.approx(residuals(rows, same, means, scatters).lack)


def test_a_panel_has_a_last_look_of_its_own() -> None:
    """Effects of the pair that are too small for a look in turn are seen when all is in."""
    names = ["Ann", "Bo", "Cy", "Di"]
    panel = eh.Questions.panel(names, ["P", "Q", "R"], partial=None, capacity=None)
    checks = Checks(panel)
    n = np.full(len(panel), 3)
    effect = 1.55 * np.array([1, -1, 0, -1, 1, 0, 0, 0, 0, 0, 0, 0])  # no row, no column has a sum
    checks.take(n, n * effect, n * effect**2 + 2.0)  # of variance 1 within pairs
    p = checks.lack_of_fit().p_value
    assert 0.03 * 0.4 * 10 / (10 * 11) < p < 0.005  # between the levels of both
    assert not any(finding.assumption == "fit" for finding in checks.findings())
    checks.look()
    assert any(finding.assumption == "fit" and finding.alarm for finding in checks.findings())


def test_what_a_check_found_is_found_once_after_a_restart() -> None:
    """A lack of fit that a constant explains is the check of the fit, and not one of its own."""
    actions = eh.ActionSet([[1.0], [2.0], [3.0], [-1.0], [-2.0], [0.5]], ["a", "b"] * 3)
    policy = eh.policy("uniform", actions, 600, noise_scale=1.0)
    counts = policy.ask(60).counts
    policy.tell(eh.Feedback(counts, 5.0 * counts, 26.0 * counts))
    assert "intercept" in [finding.assumption for finding in policy.findings() if finding.alarm]
    again = eh.restore(policy.state())
    assert checks_of(again)._alarms.keys() == checks_of(policy)._alarms.keys() == {"fit"}


@pytest.mark.parametrize(("lasts", "alarms"), [(0.0, 0), (0.7, 18)])
def test_what_lasts_from_one_answer_to_the_next_is_seen_in_a_panel(
    lasts: float, alarms: int
) -> None:
    """Five options and four judges, six answers each: how far one is the answer before."""
    panel = eh.Questions.panel(list("ABCDE"), list("PQRS"), capacity=None)
    seen = 0
    for seed in range(20):
        rng, checks = np.random.default_rng(seed), Checks(panel)
        last = rng.standard_normal(20)
        for _ in range(6):
            for x in rng.permutation(20).tolist():
                last[x] = lasts * last[x] + np.sqrt(1.0 - lasts**2) * rng.standard_normal()
                at = np.eye(1, 20, x, dtype=np.int64)[0]
                score = last[x] + x // 4 - 0.5 * (x % 4)
                checks.take(at, score * at, score**2 * at)
        checks.look()
        seen += "dependence" in {finding.assumption for finding in checks.findings()}
    assert abs(seen - alarms) <= 2
