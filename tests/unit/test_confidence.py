"""Intervals that hold at all times: their widths by another route, and how often they fail."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.policies import Ellipsoid, OptionFrame, confidence
from rotation import nightly

Floats = np.ndarray


def scattered(k: int, d: int, seed: int) -> eh.ActionSet:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((k, d))
    return eh.ActionSet(x, np.where(x[:, 0] + rng.standard_normal(k) > 0, 1, -1))


def brute_force_width(
    points: Floats, counts: Floats, v: Floats, horizon: int, failure: float, n_favourites: int
) -> float:
    """The least width over the mixture, by determinants and inverses of dense matrices."""
    weights = eh.g_optimal_design(points).weights
    k = len(points)
    V = points.T @ (counts[:, None] * points)
    G = points.T @ (weights[:, None] * points)
    n_scales = 1 + math.floor(math.log(horizon) / math.log(8))
    favourites = np.argsort(-counts, kind="stable")[:n_favourites]
    best = math.inf
    for j, x in itertools.product(range(n_scales), [None, *favourites]):
        R, weight = 8.0**j * G, 1.0 / (2 * n_scales)
        if x is not None:
            R = R + horizon / 100 * np.outer(points[x], points[x])
            weight /= k
        b2 = 2 * math.log(1 / (failure * weight))
        b2 += np.linalg.slogdet(V + R)[1] - np.linalg.slogdet(R)[1]
        inverse = np.linalg.pinv(V, rcond=1e-10, hermitian=True)
        best = min(best, b2 * float(v @ inverse @ (V + R) @ inverse @ v))
    return math.sqrt(best)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("failure", [0.5, 1e-4])
@pytest.mark.parametrize("chunk", [5, 8192])
def test_widths_are_those_of_the_mixture(
    seed: int, failure: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where options are more than one chunk: then useless components are left out."""
    monkeypatch.setattr(confidence, "_CHUNK", chunk)
    actions = scattered(k=12, d=3, seed=seed)
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 2 ** rng.integers(1, 14, size=12))
    counts[:6] += 1
    horizon = int(10 ** rng.integers(3, 8))
    fit = Ellipsoid(actions, horizon).fit(counts, 0.3 * counts)
    leads = fit.leads(failure)
    for x in range(12):
        v = np.append(actions.features[leads.option] - actions.features[x], 0.0)
        expected = brute_force_width(actions.points, counts, v, horizon, failure, 3)
        assert leads.widths[x] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    e = np.array([0.0, 0.0, 0.0, 1.0])
    expected = brute_force_width(actions.points, counts, e, horizon, failure, 3)
    bias = fit.bias(failure)
    assert bias.high - bias.value == pytest.approx(expected, rel=1e-9)
    assert bias.value - bias.low == pytest.approx(expected, rel=1e-9)
    assert bias.level == 1.0 - failure


def test_estimates_are_least_squares() -> None:
    actions = scattered(k=20, d=4, seed=0)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 50, size=20)
    means = rng.standard_normal(20)
    fit = Ellipsoid(actions, 1000).fit(counts, counts * means)
    root = np.sqrt(counts)
    theta, *_ = np.linalg.lstsq(root[:, None] * actions.points, root * means, rcond=None)
    values = actions.features @ theta[:-1]
    leads = fit.leads(0.1)
    assert leads.option == int(np.argmax(values))
    np.testing.assert_allclose(leads.leads, values.max() - values, atol=1e-12)
    assert fit.bias(0.1).value == pytest.approx(theta[-1], abs=1e-12)


def test_too_few_evaluations_leave_everything_open() -> None:
    actions = scattered(k=8, d=3, seed=0)
    counts = np.zeros(8, dtype=np.int64)
    counts[:3] = 10**9  # three options for four parameters
    fit = Ellipsoid(actions, 10**10).fit(counts, 1.0 * counts)
    assert not fit.identified
    assert math.isinf(fit.leads(0.1).loss)
    assert np.isinf(fit.leads(0.1).gaps).all()
    bias = fit.bias(0.1)
    assert math.isnan(bias.value)
    assert (bias.low, bias.high) == (-math.inf, math.inf)


def test_equal_options_are_tied_for_certain() -> None:
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 1.0]], [1, -1, 1, -1])
    counts = np.array([5, 5, 5, 5])
    leads = Ellipsoid(actions, 100).fit(counts, np.array([9.0, 9.0, 0.0, 0.0])).leads(0.1)
    assert leads.option == 0
    assert leads.leads[1] == leads.widths[1] == 0.0
    noisy = Ellipsoid(actions, 100).fit(counts, np.zeros(4)).leads(0.1, math.inf)
    assert noisy.widths[noisy.option] == 0.0
    assert math.isinf(noisy.loss)


@pytest.mark.parametrize("runs", [40, *nightly([100])])
def test_intervals_hold_under_adaptive_sampling(runs: int) -> None:
    """Failures at any of many times and in any direction, against a sampler that knows the truth.

    It leaves alone the options whose means are far off (or, every other run, too high), and
    evaluates those that are right (or too low), so that errors stay. Binomial tolerance 10⁻⁶.
    """
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5], [0.5, 0.25]], [1, -1, -1, 1])
    theta = np.array([0.5, 0.4, -0.3])
    means = actions.points @ theta
    worth = actions.features @ theta[:2]
    failed, narrowest = {0.5: 0, 0.1: 0}, math.inf
    ellipsoid = Ellipsoid(actions, 3000)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        counts = np.ones(4, dtype=np.int64)
        sums = means + rng.standard_normal(4)
        missed = set()
        while counts.sum() < 3000:
            fit = ellipsoid.fit(counts, sums)
            for failure in failed:
                leads, bias = fit.leads(failure), fit.bias(failure)
                off = np.abs(leads.leads - (worth[leads.option] - worth))
                if (off > leads.widths + 1e-12).any() or not bias.covers(theta[2]):
                    missed.add(failure)
                else:  # a miss of the gaps' bounds is a miss of some interval
                    assert (worth.max() - worth <= leads.gaps + 1e-12).all()
                narrowest = min(narrowest, float(np.min(leads.widths[leads.widths > 0])))
            residual = sums / counts - means
            x = int(np.argmin(residual if seed % 2 else np.abs(residual)))
            n = max(1, int(counts.sum()) // 8)
            counts[x] += n
            sums[x] += n * means[x] + math.sqrt(n) * rng.standard_normal()
        for failure in missed:
            failed[failure] += 1
    for failure, times in failed.items():
        assert times <= binom.isf(1e-6, runs, failure)
    assert narrowest < 1.0  # the intervals did say something


def test_values_differ_by_features_only() -> None:
    """Differences of the value rows are (x − y; 0), in the coordinates of the points."""
    rng = np.random.default_rng(0)
    actions = eh.ActionSet(rng.standard_normal((9, 2)), attributes=rng.standard_normal((9, 2)))
    frame = OptionFrame.of(actions)
    theta = rng.standard_normal(4)
    phi, *_ = np.linalg.lstsq(frame.points, actions.points @ theta, rcond=None)
    worth = actions.features @ theta[:2]
    shift = frame.values @ phi - worth
    np.testing.assert_allclose(shift, shift[0], atol=1e-10)


def test_what_cannot_be_compared_is_named() -> None:
    """Attribute w is feature s at the same time, so no evaluations tell Ann from Cy."""
    s = np.array([0.0, 0.0, 1.0, 1.0])
    x = np.column_stack([np.ones(4), s])
    actions = eh.ActionSet(
        x, attributes=np.column_stack([s, [0, 1, 0, 1]]), labels=["Ann", "Bo", "Cy", "Di"]
    )
    with pytest.raises(eh.NotIdentifiableError, match="'Ann' and 'Cy' cannot be compared"):
        Ellipsoid(actions, 100)
    groups = eh.ActionSet([[2.0], [-2.0]], ["home", "away"])
    with pytest.raises(eh.NotIdentifiableError, match="equals"):
        Ellipsoid(groups, 100)


def test_a_bias_may_stay_unknown_where_the_decision_does_not() -> None:
    """Intercept and an attribute for every group: leads can be told, the first bias cannot."""
    rng = np.random.default_rng(0)
    groups = np.arange(12) % 3
    x = np.column_stack([np.ones(12), rng.standard_normal((12, 2))])
    actions = eh.ActionSet(x, attributes=np.eye(3)[groups])
    counts = np.full(12, 100)
    fit = Ellipsoid(actions, 10_000).fit(counts, rng.standard_normal(12))
    assert np.isfinite(fit.leads(0.1).gaps).all()
    assert math.isnan(fit.bias(0.1).value)


@pytest.mark.parametrize("failure", [0.0, 1.0, -0.1, float("nan")])
def test_a_failure_that_is_no_probability_is_refused(failure: float) -> None:
    actions = scattered(k=6, d=2, seed=0)
    fit = Ellipsoid(actions, 100).fit(np.full(6, 3), np.zeros(6))
    with pytest.raises(eh.InputError, match="probability of failure"):
        fit.leads(failure)
