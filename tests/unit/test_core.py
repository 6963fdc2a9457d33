"""The provable core: its designs, its streams and its choices, each by another route."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.policies import AttributePlan, Core
from evenhand.policies import core as module

Floats = np.ndarray
FAILURES = (0.01, 0.02)


def in_four_groups(seed: int) -> eh.ActionSet:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(24), rng.standard_normal((24, 2))])
    return eh.ActionSet(x, attributes=np.eye(4)[np.arange(24) % 4])


def with_numbers(seed: int) -> eh.ActionSet:
    rng = np.random.default_rng(seed)
    return eh.ActionSet(rng.standard_normal((15, 2)), attributes=rng.standard_normal((15, 2)))


SETS = {
    "two groups": eh.families.random(12, 3, 0).actions,
    "four groups": in_four_groups(0),
    "numbers": with_numbers(0),
}


def evaluate(counts: Floats, means: Floats, rng: np.random.Generator) -> eh.Feedback:
    sums = counts * means + np.sqrt(counts) * rng.standard_normal(len(counts))
    within = 2.0 * rng.standard_gamma(np.maximum(counts - 1.0, 0.0) / 2.0)
    return eh.Feedback(counts, sums, sums**2 / np.maximum(counts, 1) + within)


def centred(actions: eh.ActionSet) -> Floats:
    """The directions (0; z − c) of all options, by numpy alone."""
    z = actions.attributes
    v = np.zeros_like(actions.points)
    v[:, actions.n_features :] = z - np.unique(z, axis=0).mean(axis=0)
    return v


@pytest.mark.parametrize("name", SETS)
def test_a_block_for_the_bias_tells_all_attributes(name: str) -> None:
    """Every direction (0; z − c) has at most unit variance, at the stated price."""
    actions = SETS[name]
    costs = np.random.default_rng(1).uniform(0.1, 2.0, len(actions))
    mu, price = AttributePlan.of(actions).pulls(costs)
    assert mu @ costs == pytest.approx(price, rel=1e-9)
    used = mu > 0
    A = np.sqrt(mu[used])[:, None] * actions.points[used]
    for v in centred(actions):
        w, *_ = np.linalg.lstsq(A.T, v, rcond=1e-12)
        np.testing.assert_allclose(A.T @ w, v, atol=1e-9)
        assert w @ w <= 1.0 + 1e-6


def test_the_price_for_two_groups_is_that_of_the_bias() -> None:
    actions = SETS["two groups"]
    plan = AttributePlan.of(actions)
    assert plan.price == pytest.approx(eh.bias_optimal_design(actions).value, rel=1e-9)
    costs = np.random.default_rng(2).uniform(0.1, 2.0, len(actions))
    assert plan.pulls(costs)[1] == pytest.approx(eh.kappa(actions, costs), rel=1e-9)
    assert len(plan.directions) == 1  # ±ω is one quantity
    np.testing.assert_array_equal(plan.sign * plan.directions[0, -1], actions.groups)


@pytest.mark.parametrize("name", SETS)
def test_the_price_falls_with_the_costs(name: str) -> None:
    plan = AttributePlan.of(SETS[name])
    costs = np.random.default_rng(3).uniform(0.1, 2.0, len(SETS[name]))
    costly = plan.pulls(costs)[1]
    assert plan.pulls(0.5 * costs)[1] == pytest.approx(0.5 * costly, rel=1e-9)
    costs[::2] *= 0.3
    assert plan.pulls(costs)[1] <= costly * (1.0 + 1e-9)


class Transcript:
    """The core's certificates once more: tables of all pairs, from what was evaluated."""

    def __init__(self, actions: eh.ActionSet) -> None:
        self.actions = actions
        self.v = centred(actions)
        distinct = {tuple(np.round(s * v, 9)) for v in self.v for s in (1, -1) if v.any()}
        k, self.m = actions.points.shape
        self.odds = (
            2 * math.log(len(distinct) / 2 / FAILURES[0]),
            2 * math.log(k / FAILURES[1]),
        )
        self.sums = np.zeros((2, k))  # of the bias, of evaluations
        self.precision = np.zeros((2, k))
        self.alive = np.ones(k, dtype=bool)
        self.bounds = np.full(k, 2.0)
        self.cost = 0.0

    def purpose(self, remaining: int) -> str:
        """What the next block is for."""
        C = np.flatnonzero(self.alive)
        b, r = (max(self.radius(row, x) for x in C) for row in (1, 0))
        alike = bool((self.actions.attributes[C] == self.actions.attributes[C[0]]).all())
        if len(C) == 1:
            return "exploit"
        if not alike and r < math.inf and remaining * self.bounds.min() <= 2 * self.cost:
            return "exploit"
        return "evaluations" if alike or b > module.ETA * r or b == math.inf else "bias"

    def learn(self, feedback: eh.Feedback, for_bias: bool) -> None:
        if for_bias:
            r = max(self.radius(0, x) for x in np.flatnonzero(self.alive))
            self.cost += feedback.counts @ np.minimum(2.0, np.maximum(self.bounds, r / 2))
        used = feedback.counts > 0
        root = np.sqrt(feedback.counts[used])
        A = root[:, None] * self.actions.points[used]
        targets = self.v if for_bias else self.actions.points
        row = 0 if for_bias else 1
        for x in np.flatnonzero(self.alive) if not for_bias else range(len(targets)):
            w, *_ = np.linalg.lstsq(A.T, targets[x], rcond=1e-12)
            if w @ w > 0:
                self.sums[row, x] += (w @ (feedback.sums[used] / root)) / (w @ w)
                self.precision[row, x] += 1.0 / (w @ w)
        self.certify()

    def radius(self, row: int, x: int) -> float:
        lam, rho = self.precision[row, x], (1.0, 0.2)[row]
        if row == 0 and not self.v[x].any():
            return 0.0
        if lam == 0:
            return math.inf
        return math.sqrt((1 + rho / lam) * (self.odds[row] + math.log(1 + lam / rho)) / lam)

    def certify(self) -> None:
        k, z = len(self.v), self.actions.attributes
        est = self.sums[1] / np.maximum(self.precision[1], 1e-300)
        est = est - self.sums[0] / np.maximum(self.precision[0], 1e-300)
        r, b = ([self.radius(row, x) for x in range(k)] for row in (0, 1))
        W = np.empty((k, k))
        for x in range(k):
            for y in range(k):
                W[x, y] = b[x] + b[y] + (0.0 if (z[x] == z[y]).all() else r[x] + r[y])
        C = np.flatnonzero(self.alive)
        dropped = [x for x in C if any(est[y] - est[x] > W[x, y] for y in C if y != x)]
        self.alive[dropped] = False
        for x in range(k):
            rivals = [est[y] - est[x] + W[x, y] for y in np.flatnonzero(self.alive) if y != x]
            self.bounds[x] = min(self.bounds[x], max([0.0, *rivals]))


@pytest.mark.parametrize("name", SETS)
def test_certificates_by_tables_of_pairs(name: str) -> None:
    actions = SETS[name]
    rng = np.random.default_rng(7)
    theta = rng.standard_normal(actions.points.shape[1])
    theta[: actions.n_features] /= np.abs(actions.features @ theta[: actions.n_features]).max()
    means = actions.points @ theta
    core = Core(actions, value_bound=1.0, noise_scale=1.0, failures=FAILURES)
    again = Transcript(actions)
    purposes = set()
    for _ in range(150):
        counts = core.next_block(remaining=10**6)
        np.testing.assert_array_equal(counts, core.next_block(remaining=10**6))
        purpose = core._block.purpose
        assert purpose == again.purpose(10**6)
        if purpose == "exploit":
            break
        purposes.add(purpose)
        feedback = evaluate(counts, means, rng)
        core.learn(feedback)
        again.learn(feedback, purpose == "bias")
        np.testing.assert_allclose(core.bounds, again.bounds, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(core.candidates, np.flatnonzero(again.alive))
    assert purpose == "exploit"
    assert purposes == {"evaluations", "bias"}
    assert len(core.candidates) < len(actions)


def test_blocks_grow_as_they_should() -> None:
    """First 2m evaluations, then λ = 10 for the bias; from then on ζ times what there is."""
    actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    rng = np.random.default_rng(0)
    core = Core(actions, value_bound=1.0, noise_scale=1.0, failures=FAILURES)
    evaluated = precision = 0.0
    for _ in range(60):
        counts = core.next_block(remaining=10**12)
        # two equal rows: half of the evaluations each; (a − b)/2 has variance (¼ + ¼)/n
        if core._block.purpose == "evaluations":
            size = max(4.0, module.ZETA * evaluated)
            evaluated += size
            assert counts.tolist() == [math.ceil(size / 2)] * 2
        else:
            lam = max(10.0, module.ZETA * precision)
            precision += lam
            # one evaluation less of each would not have been enough
            assert (0.25 / counts).sum() <= (1.0 + 1e-9) / lam < (0.25 / (counts - 1)).sum()
        core.learn(evaluate(counts, np.array([0.5, -0.5]), rng))
        if core.bounds.min() == 0.0:
            break
    assert precision > 0


def test_what_the_horizon_cannot_hold_is_not_begun() -> None:
    actions = SETS["two groups"]
    core = Core(actions, value_bound=1.0, noise_scale=1.0, failures=FAILURES)
    core.tighten(np.where(np.arange(len(actions)) == 5, 0.5, 2.0))
    counts = core.next_block(remaining=3)
    assert counts.sum() == counts[5] == 3  # the option that is certain to lose least
    core.learn(eh.Feedback(counts, 0.1 * counts, 1.0 * counts))
    core.tighten(np.where(np.arange(len(actions)) == 2, 0.25, 2.0))
    counts = core.next_block(remaining=10**6)  # room or not: the bound counts on no more blocks
    assert np.flatnonzero(counts).tolist() == [2]


def test_bounds_are_of_the_noise_as_it_is_known() -> None:
    """U ≤ 2b + 2r at all times, so also when a lower bound of the noise shrinks b and r."""
    actions = SETS["two groups"]
    rng = np.random.default_rng(3)
    means = np.linspace(-0.1, 0.1, len(actions))
    core = Core(actions, value_bound=1.0, noise_scale=50.0, failures=FAILURES)
    for _ in range(2):
        core.learn(evaluate(core.next_block(10**6), means, rng))
    np.testing.assert_array_equal(core.bounds, 2.0)
    for noise in (1.0, 3.0, 0.1):
        core.hear(noise)
        b, r = (float(radii[core.candidates].max()) for radii in core._radii())
        assert core.bounds.min() <= 2 * b + 2 * r
    assert core.noise_scale == 0.1
    assert core.bounds.min() < 1.0


def test_unknown_noise_is_waited_for() -> None:
    """Without a bound of the noise nothing is concluded, and blocks for evaluations go on."""
    actions = SETS["two groups"]
    rng = np.random.default_rng(0)
    core = Core(actions, value_bound=1.0, noise_scale=math.inf, failures=FAILURES)
    for _ in range(3):
        core.learn(evaluate(core.next_block(10**6), np.linspace(-9, 9, len(actions)), rng))
    assert len(core.candidates) == len(actions)
    np.testing.assert_array_equal(core.bounds, 2.0)
    core.hear(1.0)
    assert len(core.candidates) < len(actions)


def test_certificates_hold() -> None:
    """Gaps stay below their bounds, in as many runs as the failures allow: tolerance 10⁻⁶."""
    runs, failed = 40, 0
    for seed in range(runs):
        problem = eh.families.random(10, 3, seed)
        rng = np.random.default_rng(1000 + seed)
        core = Core(problem.actions, value_bound=1.0, noise_scale=1.0, failures=(0.05, 0.05))
        for _ in range(25):
            core.learn(evaluate(core.next_block(10**6), problem.evaluations, rng))
        held = bool((problem.gaps <= core.bounds).all()) and problem.best in core.candidates
        failed += not held
    assert failed <= binom.isf(1e-6, runs, 0.1)
