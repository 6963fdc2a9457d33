"""Every option's own noise: closed forms, two algebras, the definition, and hostile tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import optimize, special, stats

import evenhand as eh
import oracles
from evenhand.arrays import Floats
from evenhand.certainty.arrow.model import ArrowModel
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import freedom_of, in_pairs, own_variances, with_own_noise
from evenhand.policies import Feedback
from rotation import nightly


def panel(k: int, n: int, *, capacity: int | None = 1, groups: bool = False) -> eh.Questions:
    """k options and n evaluators, of three groups if there are any."""
    options = {f"o{i}": "abc"[i % 3] if groups else None for i in range(k)}
    judges = {f"j{i}": "abcd"[i % 4] if groups else None for i in range(n)}
    if groups:
        return eh.Questions.panel(options, judges, capacity=capacity)
    return eh.Questions.panel(list(options), list(judges), capacity=capacity)


def told(scores: Floats, counts: NDArray[np.int64] | None = None) -> Feedback:
    """Scores of questions, each given once; NaN where there is none."""
    there = ~np.isnan(scores)
    y = np.where(there, scores, 0.0)
    return Feedback(there.astype(np.int64), y, y**2)


def table(scores: Floats) -> pd.DataFrame:
    """(k, n) scores as a table, a row for each; NaN where there is none."""
    rows = [(f"o{i}", f"j{j}", float(y)) for i, row in enumerate(scores) for j, y in enumerate(row)]
    return pd.DataFrame(rows, columns=["option", "evaluator", "score"]).dropna()


def test_a_whole_panel_has_the_closed_form() -> None:
    """s_o² = (S_o/(J − 1) − s²/k)/(1 − 2/k), drawn as `limma` does."""
    rng, k, n = np.random.default_rng(1), 9, 7
    Y = rng.normal(size=(k, n)) * np.repeat([3.0, 1.0, 0.3], 3)[:, None]
    e = Y - Y.mean(axis=1, keepdims=True) - Y.mean(axis=0) + Y.mean()
    S, nu = (e**2).sum(axis=1), (k - 1) * (n - 1)
    own = (S / (n - 1) - S.sum() / nu / k) / (1.0 - 2.0 / k)
    z = np.log(np.maximum(own, 0.05 * S / ((n - 1) * (1.0 - 1.0 / k))))
    excess = z.var(ddof=1) - special.polygamma(1, (n - 1) / 2)
    half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, 1e3)
    level = z - special.digamma((n - 1) / 2) + math.log((n - 1) / 2)
    s0 = math.exp(level.mean() + special.digamma(half) - math.log(half))
    drawn = (2 * half * s0 + (n - 1) * np.maximum(own, 0.0)) / (2 * half + n - 1)
    for model in (DenseModel(panel(k, n)), ArrowModel(panel(k, n))):
        left = model.fit(told(Y.ravel()), None).left_over(told(Y.ravel()))
        found, known, freedom, most, floors = own_variances(left)
        like = stats.f.sf(np.maximum(own, 0.0) / s0, n - 1, 2 * half)
        assert known == pytest.approx(n - 1 + like * (min(nu, 2 * half + n - 1) - n + 1), rel=1e-6)
        assert found == pytest.approx(np.maximum(own, drawn), rel=1e-6)
        assert freedom == pytest.approx(min(nu, 2 * half + n - 1), rel=1e-6)
        assert floors == pytest.approx(2 * half * s0 / (2 * half + n - 1), rel=1e-6)
        fit = with_own_noise(panel(k, n), model.fit(told(Y.ravel()), None), told(Y.ravel()))
        leads = fit.leads(0, np.arange(1, k)).variances
        assert leads == pytest.approx((found[0] + found[1:]) / n, rel=1e-6)
        welch = (found[0] + found[1:]) ** 2 / (
            found[0] ** 2 / known[0] + found[1:] ** 2 / known[1:]
        )
        assert freedom_of(fit, 0, np.arange(1, k)) == pytest.approx(np.minimum(welch, most))


@pytest.mark.parametrize("seed", range(6))
def test_both_algebras_do_what_the_definition_says(seed: int) -> None:
    """On panels with gaps, biases and repeats, beside a hat matrix that is written out."""
    rng = np.random.default_rng(seed)
    questions = panel(8, 6, capacity=None, groups=seed % 2 == 0)
    counts = rng.integers(0, 4, size=len(questions)) + (rng.random(len(questions)) < 0.5)
    y = [rng.normal(size=n) * (1.0 + x // 6) for x, n in enumerate(counts.tolist())]
    feedback = Feedback(counts, [one.sum() for one in y], [(one**2).sum() for one in y])
    rows = questions.points
    within = np.array([((one - one.mean()) ** 2).sum() if len(one) else 0.0 for one in y])
    parts = counts.astype(float), feedback.means, within
    reference = oracles.with_own_noise(rows, *parts, questions.about[:, 0])
    k = len(questions.options)
    directions = np.pad(np.eye(k)[:1] - np.eye(k)[1:], [(0, 0), (0, questions.n_attributes)])
    for model in (DenseModel(questions), ArrowModel(questions)):
        fit = with_own_noise(questions, model.fit(feedback, None), feedback)
        assert fit.freedom == pytest.approx(reference.freedom, rel=1e-6)
        expected = reference.of_rows(directions)
        found = fit.leads(0, np.arange(1, k))
        assert found.estimates == pytest.approx(expected.estimates, rel=1e-6, abs=1e-9)
        assert found.variances == pytest.approx(expected.variances, rel=1e-6)
        shared = fit.shared(0, np.arange(1, k)).some(np.arange(k - 1))
        factor = reference.factor(directions)
        assert shared == pytest.approx(factor @ factor.T, rel=1e-5, abs=1e-9)


def test_two_options_are_a_t_test_on_the_evaluators_differences() -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(2, 9)) * np.array([[5.0], [0.2]])
    pair = panel(2, 9)
    fit = with_own_noise(pair, DenseModel(pair).fit(told(Y.ravel()), None), told(Y.ravel()))
    lead = fit.leads(0, np.array([1]))
    expected = stats.ttest_rel(*Y)
    assert lead.estimates[0] / math.sqrt(lead.variances[0]) == pytest.approx(expected.statistic)
    assert fit.freedom == pytest.approx(8.0)


def test_what_a_judge_says_again_is_no_further_opinion() -> None:
    questions = panel(3, 4, capacity=None)
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 5, size=12)
    feedback = Feedback(counts, counts * 2.0, counts * 4.0 + 1.0)
    units = in_pairs(questions, feedback)
    assert (units.counts == 1).all()
    assert units.means == pytest.approx(feedback.means)
    alone = panel(3, 1, capacity=None)  # one judge alone: what is said is about this judge
    assert (
        in_pairs(alone, Feedback([2, 3, 1], [1.0, 2, 3], [1.0, 2, 9])).counts == [2, 3, 1]
    ).all()


def test_units_and_a_constant_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(6, 7)) + np.arange(6)[:, None]
    plain = eh.decide(table(Y))
    for scale, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)):
        moved = eh.decide(table(scale * Y + shift))
        assert (moved.label, moved.sure) == (plain.label, plain.sure)
        assert moved.loss == pytest.approx(scale * plain.loss, rel=1e-5)


def loud(rng: np.random.Generator, k: int, n: int, times: float) -> Floats:
    """Two options that tie and are so many times as loud as the others, who are far behind."""
    sizes, values = np.ones(k), np.zeros(k)
    sizes[:2], values[2:] = times, -3.0 * (times + np.abs(rng.normal(size=k - 2)))
    return values[:, None] + rng.normal(size=n) + sizes[:, None] * rng.normal(size=(k, n))


def votes(rng: np.random.Generator, k: int, n: int, share: float) -> Floats:
    """Two options have a share of the votes, the others 2%."""
    shares = np.where(np.arange(k) < 2, share, 0.02)
    return (rng.random((k, n)) < shares[:, None]).astype(np.float64)


def marks(rng: np.random.Generator) -> Floats:
    """Marks from 1 to 5: two options in the middle, the others at the floor."""
    values = np.where(np.arange(10) < 2, 3.0, -1.0)
    return np.clip(np.rint(values[:, None] + rng.normal(size=(10, 10))), 1.0, 5.0)


@pytest.mark.parametrize(
    ("case", "settings"),
    [(loud, (10, 8, 1.0)), (loud, (10, 8, 4.0)), (votes, (10, 20, 0.5)), (marks, ())],
)
@pytest.mark.parametrize("n", [40, *nightly([80])])
def test_where_two_tie_hardly_anybody_is_sure(
    case: object, settings: tuple[float, ...], n: int
) -> None:
    """With one noise for all, a quarter to 42% were."""
    assert callable(case)
    rng = np.random.default_rng(6)
    sure = sum(eh.decide(table(case(rng, *settings)), next_n=0).sure for _ in range(n))
    assert sure <= stats.binom.isf(1e-3, n, 0.05)


def test_where_one_leads_it_is_found() -> None:
    rng, n = np.random.default_rng(7), 40
    values = np.append(2.5, -np.linspace(0.0, 3.0, 9))
    found = 0
    for _ in range(n):
        Y = values[:, None] + rng.normal(size=5) + rng.normal(size=(10, 5))
        answer = eh.decide(table(Y), next_n=0)
        found += answer.sure and answer.label == "o0"
    assert found >= stats.binom.ppf(1e-3, n, 0.9)
