"""Priced exploration: its steps against its notes taken at their word, and what it promises."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import evenhand as eh
from asking import course, played, without_compiled
from evenhand.policies import (
    BoundaryExploration,
    Ellipsoid,
    OptionFrame,
    PricedExploration,
    exploration_boundary,
)
from evenhand.policies._priced import PricedSteps
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from rotation import nightly

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

LOOK_AT, TIME_PRICE = 12, 0.5  # what the notes leave to be said
CERTAIN = 9.0  # a lead of so many standard deviations: a rival that does not count
SLACK = 0.08
TIE = 1e-9  # what is closer than that may be ranked either way
REPEAT = 0.0213  # given to the steps as it is; n of them are never nearly whole


@dataclass
class Setting:
    """What the steps are told beside the options."""

    noise_scale: float = 1.0  # NaN: to be estimated
    value_bound: float = 1.0
    worth: float = math.nan  # NaN: a look costs its gap
    anytime: bool = False
    batch: int = 0  # as many as a decision stands for
    repeat: float = REPEAT

    def steps(self, actions: eh.ActionSet) -> PricedSteps:
        frame = OptionFrame.of(actions)
        return PricedSteps(
            frame.points,
            frame.values,
            np.resize(frame.basis, frame.rank + (15 if math.isnan(self.noise_scale) else 0)),
            exploration_boundary(),
            noise_scale=self.noise_scale,
            worst_gap=2.0 * self.value_bound,
            worth=self.worth,
            anytime=self.anytime,
            batch=self.batch,
            repeat=self.repeat,
        )


def Z(u: Floats) -> Floats:
    Z = exploration_boundary()
    values, first, step = Z.values, Z.first_log, Z.log_step
    grid = first + step * np.arange(len(values))
    return np.asarray(np.interp(2.0 * np.log(u), grid, values))


@dataclass
class Written:
    """The notes at their word: V from the counts, its inverse, and ρ of every rival."""

    actions: eh.ActionSet
    setting: Setting
    n: Floats = field(init=False)
    sums: Floats = field(init=False)
    squares: float = 0.0
    is_open: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.sums = np.zeros(len(self.actions)), np.zeros(len(self.actions))

    def tell(self, counts: Counts, sums: Floats, squares: Floats) -> None:
        self.n = self.n + counts
        self.sums = self.sums + sums
        self.squares += float(squares.sum())

    @property
    def theta(self) -> Floats:
        root = np.sqrt(self.n[self.n > 0])
        A, y = self.actions.points[self.n > 0], self.sums[self.n > 0]
        return np.asarray(np.linalg.lstsq(root[:, None] * A, y / root, rcond=None)[0])

    @property
    def sigma(self) -> float:
        if not math.isnan(self.setting.noise_scale):
            return self.setting.noise_scale
        A = self.actions.points
        degrees = float(self.n.sum()) - np.linalg.matrix_rank(A)
        residual = self.squares - float(self.sums @ A @ self.theta)
        return math.sqrt(residual / degrees) * (1.0 + 1.0 / math.sqrt(degrees))

    def acceptable(
        self, remaining: int, grown: Floats, stay_open: NDArray[np.bool_] | None = None
    ) -> tuple[dict[int, int], bool]:
        """Return options that may be chosen with how often, and whether the notes leave no choice.

        Within a batch ``grown`` are counts that V knows of beside those that were told, and
        ``stay_open`` are the rivals that were open at its start. Rivals are looked at in
        the order of how steep they can be, by a bound that is known to a part in SLACK. Where the
        steepest may be beyond those, any will do that is no less steep than what was looked at.
        """
        P, d, setting = self.actions.points, self.actions.n_features, self.setting
        H = np.where(np.arange(P.shape[1]) < d, P, 0.0)
        inverse = np.linalg.inv(P.T @ ((self.n + grown)[:, None] * P))
        leverage = np.einsum("xi,ij,xj->x", P, inverse, P)
        value = H @ self.theta
        leader = int(np.argmax(value))
        v = H[leader] - H
        lead, s = (
            value[leader] - value,
            self.sigma * np.sqrt(np.einsum("xi,ij,xj->x", v, inverse, v)),
        )
        known = s <= 1e-9 * s.max()
        u = np.where(known, np.inf, lead / np.where(known, 1.0, s))
        L = np.where(known, 0.0, s * (norm.pdf(u) - np.where(known, 0.0, u) * norm.sf(u)))
        R, unit_price = float(remaining), not math.isnan(setting.worth)
        if setting.anytime:
            R = min(R, 2.0 * float(self.n.sum()))
        if unit_price:
            R = setting.worth
        price = np.minimum(lead, 2.0 * setting.value_bound) + TIME_PRICE * L.max()
        if unit_price:
            price = np.ones(len(P))
        gains = (P @ inverse @ v.T) ** 2 / price[:, None]  # of option a for rival x
        rho = gains.max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa = s**4 / (self.sigma**2 * rho)
            self.is_open = (lead < s * Z(s / np.cbrt(kappa / R))) & ~known
        if stay_open is None:
            stay_open = self.is_open
        stay_open = stay_open & (u < CERTAIN)
        if not stay_open.any():
            alone = {leader: self.times(setting.repeat, leverage[leader], remaining)}
            return ({} if unit_price else alone), True
        slope = np.where(stay_open, norm.pdf(u) / np.where(known, 1.0, s) * rho, 0.0)
        most = norm.pdf(u) * s * (leverage / price).max() / self.sigma**2
        certain = np.count_nonzero((1.0 + SLACK) * most > slope.max()) <= LOOK_AT
        within = np.ones(len(P), dtype=bool)
        if not certain:
            within = most > (1.0 + SLACK) * np.sort(most)[-LOOK_AT - 1]
        rivals = stay_open & (slope >= (1.0 - TIE) * slope[within].max(initial=0.0))
        (options,) = np.nonzero((gains >= (1.0 - TIE) * rho)[:, rivals].any(axis=1))
        times = {int(a): self.times(setting.repeat, leverage[a], remaining) for a in options}
        return times, certain

    @staticmethod
    def times(share: float, leverage: float, most: int) -> int:
        return max(1, min(math.floor(share / leverage), most))


def random_problem(k: int, d: int, seed: int, p: int = 1, sigma: float = 1.0) -> BiasedLinearBandit:
    """Two groups where p is 1, else attributes on a scale; values of the order of 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(k, d)) / math.sqrt(d)
    gamma, omega = rng.normal(size=d) / 2.0, rng.normal(size=p)
    if p == 1:
        z = np.where(x[:, 0] + 0.3 * rng.normal(size=k) > 0.0, 1, -1)
        z[:2] = 1, -1
        return BiasedLinearBandit(eh.ActionSet(x, z), gamma, float(omega[0]), sigma)
    return BiasedLinearBandit(
        eh.ActionSet(x, attributes=rng.normal(size=(k, p))), gamma, omega, sigma
    )


GRID = np.linspace(-1.0, 1.0, 60)
PROBLEMS = {
    "three": BiasedLinearBandit(
        eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1]], [1, -1, -1]), [0.5, 0.45], 0.3
    ),
    "worst case": eh.families.worst_case(5, 4.0, 10**6, 3.0)[1],
    "k=9": random_problem(9, 2, 0, sigma=0.6),
    "k=11": random_problem(11, 3, 2, sigma=0.5),
    "k=12": random_problem(12, 4, 1),
    "k=40": random_problem(40, 6, 2, sigma=0.5),
    "trap": eh.families.random(30, 3, 3),
    "attributes": random_problem(15, 2, 4, p=2, sigma=0.8),
    "curve": BiasedLinearBandit(
        eh.ActionSet(np.column_stack([GRID**0, GRID, GRID**2]), np.where(GRID > 0.2, 1, -1)),
        [0.2, 0.1, -0.3],
        0.3,
    ),
}
MODES: dict[str, dict[str, Any]] = {
    "gap": {},
    "evaluation": {"worth": 3e4},
    "unknown noise": {"noise_scale": math.nan},
    "anytime": {"anytime": True},
    "evaluation, unknown noise": {"worth": 3e4, "noise_scale": math.nan},
    "other units": {"value_bound": 3.0},
}


def evaluated(evaluations: SimulatedEvaluations, counts: Counts) -> eh.Feedback:
    return evaluations.evaluate(eh.Allocation(counts, 0))


def follow(
    problem: BiasedLinearBandit, setting: Setting, horizon: int, most: int, seed: int
) -> None:
    """Play as the steps say, so many of them at most, and compare."""
    steps, written = setting.steps(problem.actions), Written(problem.actions, setting)
    evaluations = SimulatedEvaluations(problem, seed)
    remaining, start = horizon, n_start(problem, setting)
    certain = 0
    for step in range(1 + most):
        counts = steps.ask(remaining)
        if step == 0:
            assert counts.sum() == start
        else:
            options, sure = written.acceptable(remaining, np.zeros(len(counts)))
            asked = {int(x): int(counts[x]) for x in np.flatnonzero(counts)}
            assert len(asked) == min(1, len(options))
            assert asked.items() <= options.items()
            certain += sure
        if counts.sum() == 0:
            break
        feedback = evaluated(evaluations, counts)
        for each in (steps, written):
            each.tell(counts, feedback.sums, feedback.sums_of_squares)
        remaining -= int(counts.sum())
        if remaining == 0:
            break
    assert step > 0
    assert certain == step or len(problem.actions) > LOOK_AT
    x, d = problem.actions.features, problem.actions.n_features
    leads = (x[0] - x) @ written.theta[:d]
    np.testing.assert_allclose(steps.estimates[0] - steps.estimates, leads, rtol=1e-6, atol=1e-8)


def n_start(problem: BiasedLinearBandit, setting: Setting) -> int:
    rank = int(np.linalg.matrix_rank(problem.actions.points))
    return rank + (15 if math.isnan(setting.noise_scale) else 0)


@pytest.mark.rotated("mode", name=[*PROBLEMS], mode=[*MODES], seed=["7", "8"])
def test_every_step_is_the_one_of_the_notes(name: str, mode: str, seed: str) -> None:
    problem = PROBLEMS[name]
    setting = Setting(**({"noise_scale": problem.noise_scale} | MODES[mode]))
    follow(problem, setting, 10**6, most=120, seed=int(seed))


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("k=11", 400),
        *nightly([("k=11", 2), ("k=11", 30), ("k=12", 2), ("k=12", 30), ("k=12", 400)]),
    ],
)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_a_batch_keeps_the_estimate_and_the_open_rivals(
    name: str, mode: dict[str, Any], batch: int
) -> None:
    """Only V grows. The whole batch is asked for, and no more."""
    problem = PROBLEMS[name]
    setting = Setting(**({"noise_scale": problem.noise_scale, "batch": batch} | mode))
    steps, written = setting.steps(problem.actions), Written(problem.actions, setting)
    evaluations = SimulatedEvaluations(problem, 8)
    remaining, k, start = 50_000, len(problem.actions), n_start(problem, setting)
    for _ in range(min(60, 2_000 // batch)):
        counts = steps.ask(remaining)
        if 50_000 - remaining < start:
            assert counts.sum() == min(batch, start - (50_000 - remaining))
        else:
            expected, stopped, stay_open = np.zeros(k), False, None
            while expected.sum() < min(batch, remaining):
                most = min(batch, remaining) - int(expected.sum())
                options, sure = written.acceptable(remaining, expected, stay_open)
                assert sure
                stay_open = written.is_open if stay_open is None else stay_open
                if stopped := not options:
                    break
                ((option, n),) = options.items()
                expected[option] += min(n, most)
            np.testing.assert_array_equal(counts, expected)
            assert stopped or counts.sum() == min(batch, remaining)
        if counts.sum() == 0:
            break
        feedback = evaluated(evaluations, counts)
        for each in (steps, written):
            each.tell(counts, feedback.sums, feedback.sums_of_squares)
        remaining -= int(counts.sum())


RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch": {"batch": 16},
    "horizon unknown": {"horizon_known": False},
    "horizon unknown, batch": {"horizon_known": False, "batch": 16},
    "noise unknown": {"noise": None},
    "noise unknown, batch": {"noise": None, "batch": 16},
    "both unknown": {"noise": None, "horizon_known": False, "batch": 3},
    "evaluation": {"cost": "evaluation", "worth": 2e4},
    "evaluation, batch": {"cost": "evaluation", "worth": 2e4, "batch": 16},
}


@pytest.mark.rotated(
    "name", name=["k=9", "attributes"], cls=[BoundaryExploration, PricedExploration], run=[*RUNS]
)
def test_a_compiled_run_is_the_run_that_is_asked_and_told(
    name: str, cls: type[eh.Policy], run: str
) -> None:
    problem, horizon, stops = PROBLEMS[name], 8_011, [1, 2, 50, 1_000, 7_777, 8_011]
    options = dict(RUNS[run])
    options["noise_scale"] = options.pop("noise", problem.noise_scale)
    if cls is PricedExploration and "cost" not in options:
        options["budget"] = 0.5  # so that the core has its turns
    compiled, asked = (
        course(each(problem.actions, horizon, **options), problem, stops)
        for each in (cls, without_compiled(cls))
    )
    assert compiled == asked
    assert (compiled[0] < horizon) == ("cost" in options)


EASY = BiasedLinearBandit(
    eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1], [0.3, 0.3]], [1, -1, -1, 1]),
    [0.8, 0.1],
    -0.6,
)


def test_where_looks_cost_one_it_stops_by_itself() -> None:
    policy = PricedExploration(EASY.actions, 10**6, cost="evaluation", worth=1e4)
    assert not policy.spends_all
    assert PricedExploration(EASY.actions, 10**6).spends_all
    counts = played(policy, EASY, 0)
    assert policy.spent == counts.sum() < 10**4
    assert policy.recommend().option == EASY.best
    assert policy.ask().total == 0


@pytest.mark.parametrize("worth", [1e3, 1e18])
def test_options_of_equal_features_need_no_looks(worth: float) -> None:
    """Whatever evaluations say: what differs is the group only, so nothing can be lost."""
    for k, d in ((2, 1), (7, 1), (33, 1), (1001, 1)):
        x = np.full((k, d), 1.0 / 3.0)
        actions = eh.ActionSet(x, np.where(np.arange(k) % 2, 1, -1))
        problem = BiasedLinearBandit(actions, np.full(d, 0.7), 0.4)
        policy = PricedExploration(actions, 10**18, cost="evaluation", worth=worth, noise_scale=1.0)
        played(policy, problem, 1)
        assert policy.spent == 2
        assert policy.recommend().loss == 0.0


def test_unknown_noise_is_that_of_least_squares() -> None:
    """√(RSS/(n − rank)) and a margin of 1/√(n − rank), from single evaluations."""
    rng = np.random.default_rng(0)
    for problem in PROBLEMS.values():
        steps = Setting(noise_scale=math.nan).steps(problem.actions)
        A = problem.actions.points
        rank, k = np.linalg.matrix_rank(A), len(A)
        assert steps.noise == math.inf
        rows, ys = [], []
        for _ in range(30):
            counts = rng.integers(0, 4, size=k)
            counts[rng.integers(k)] += 5
            batch = [
                0.4 * rng.normal(size=n) + problem.evaluations[x] for x, n in enumerate(counts)
            ]
            rows += [A[x] for x in range(k) for _ in range(counts[x])]
            ys += np.concatenate(batch).tolist()
            steps.tell(counts, *(np.array([(y**i).sum() for y in batch]) for i in (1, 2)))
        theta, *_ = np.linalg.lstsq(np.array(rows), np.array(ys), rcond=None)
        degrees = len(ys) - rank
        rss = float(np.sum((np.array(ys) - np.array(rows) @ theta) ** 2))
        assert steps.noise == pytest.approx(
            math.sqrt(rss / degrees) * (1.0 + 1.0 / math.sqrt(degrees)), rel=1e-7
        )


@pytest.mark.parametrize("cost", ["gap", "evaluation"])
@pytest.mark.parametrize("batch", [None, 16])
def test_evaluations_without_noise(batch: int | None, cost: Any) -> None:
    """All of one option are the same, or even all of all: nothing breaks, and the best is found."""
    for means in (EASY.evaluations, np.zeros(4), np.full(4, 0.25) * EASY.actions.groups):
        horizon = 10**6 if batch is None else 10**4
        policy = PricedExploration(EASY.actions, horizon, cost=cost, batch=batch)
        while not policy.finished:
            n = policy.ask().counts
            sums = n * means
            squares = np.where(n > 0, sums**2 / np.maximum(n, 1), 0.0) * (1.0 + 1e-15)
            policy.tell(eh.Feedback(n, sums, squares))
        if means is EASY.evaluations:
            assert policy.recommend().option == EASY.best
        if cost == "evaluation":
            assert policy.spent < 1_000


@pytest.mark.parametrize("name", ["three", "k=12", "attributes", *nightly(["k=40", "curve"])])
def test_what_is_said_of_a_decision(name: str) -> None:
    """Leads, loss and what it withstands, worked out from the ellipsoid in plain sight."""
    problem = PROBLEMS[name]
    actions, d = problem.actions, problem.actions.n_features
    policy = PricedExploration(actions, 10**5, noise_scale=problem.noise_scale, delta=0.1)
    counts, sums = np.zeros(len(actions), dtype=np.int64), np.zeros(len(actions))
    evaluations = SimulatedEvaluations(problem, 2)
    while not policy.finished:
        allocation = policy.ask()
        feedback = evaluations.evaluate(allocation)
        policy.tell(feedback)
        counts, sums = counts + feedback.counts, sums + feedback.sums
    said = policy.recommend()
    used = counts > 0
    root = np.sqrt(counts[used])
    theta, *_ = np.linalg.lstsq(root[:, None] * actions.points[used], sums[used] / root, rcond=None)
    values = actions.features @ theta[:d]
    assert said.option == int(np.argmax(values))
    assert said.leads is not None
    np.testing.assert_allclose(said.leads[:, 0], values.max() - values, atol=1e-8)
    fit, values_ = Ellipsoid(actions, 10**5).fit(counts, sums), OptionFrame.of(actions).values
    for x in range(len(actions)):
        width = float(fit.widths((values_[said.option] - values_[x])[None, :], 0.1)[0])
        estimate = said.lead_over(x)
        assert estimate.level == 0.9
        assert estimate.high - estimate.value == pytest.approx(problem.noise_scale * width)
        assert estimate.value - estimate.low == pytest.approx(problem.noise_scale * width)
        true = problem.values[said.option] - problem.values[x]
        assert estimate.low - 1e-12 <= true <= estimate.high + 1e-12
    low, z = said.leads[:, 1], actions.attributes
    assert said.loss == pytest.approx(min(2.0, max(0.0, -low.min())))
    assert problem.gaps[said.option] <= said.loss + 1e-12
    # by brute force: τ at all corners of growing cubes, against the lower ends of all leads
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * z.shape[1])).reshape(z.shape[1], -1).T
    shift = (z - z[said.option]) @ corners.T

    def stands(t: float) -> bool:
        return bool((low[:, None] - t * shift >= -1e-12).all())

    if said.withstands > 0.0:
        assert stands(said.withstands * (1.0 - 1e-9))
    if np.isfinite(said.withstands):
        assert not stands(said.withstands * (1.0 + 1e-6) + 1e-9)


@pytest.mark.parametrize("horizon", [10**18 - 1, *nightly([10**12, 10**18])])
def test_long_horizons_and_many_options(horizon: int) -> None:
    """Few rounds whatever the horizon, and not one evaluation more than it."""
    problem = eh.families.random(1_000, 4, 1)
    policy = PricedExploration(problem.actions, horizon)
    counts = played(policy, problem, 1)
    assert int(counts.sum()) == policy.spent == horizon
    assert policy.recommend().option == problem.best
    assert counts @ problem.gaps < 1e-3 * horizon


@pytest.mark.parametrize("repeat", [0.3, 5.0, 1e9])
def test_never_more_than_remains(repeat: float) -> None:
    """Also where what remains is not a float: 2⁵⁹ + 1 would be rounded down, 2⁶⁰ − 1 up."""
    for remaining in (2**53 + 1, 2**59 + 1, 2**60 - 1, 10**18 - 1):
        for batch in (0, 1, 5):
            setting = Setting(noise_scale=1e-3, repeat=repeat, batch=batch)
            steps = setting.steps(EASY.actions)
            n = np.full(4, 10**15)
            sums = n * EASY.evaluations
            steps.tell(n, sums, sums**2 / n)
            asked = int(steps.ask(remaining).sum())
            assert 0 < asked <= remaining
            assert asked == (batch or remaining) or (repeat < 1e9 and batch == 0)
            option, times = steps.toward(0, 1, np.ones(4), remaining)
            assert 0 <= option < 4
            assert 1 <= times <= remaining


SMALL = {
    "one feature": (eh.ActionSet([[1.0], [1.0], [0.5]], [1, -1, 1]), [0.5], 0.2),
    "fewer options than parameters": (
        eh.ActionSet([[1.0, 0.0, 2.0], [1.0, 0.0, 2.0]], ["a", "b"]),
        [0.2, 0.7, 0.1],
        0.3,
    ),
    "duplicates": (
        eh.ActionSet([[1.0, 0.2]] * 3 + [[0.1, 1.0]] * 3 + [[-0.3, 0.3]] * 2, [1, -1, 1, -1] * 2),
        [0.4, 0.5],
        -0.2,
    ),
    "a zero row": (eh.ActionSet([[0.0], [1.0], [1.0], [0.4]], [1, 1, -1, -1]), [-0.5], 0.1),
    "two attributes": (
        eh.ActionSet([[1.0], [1.0], [0.3], [0.7]], attributes=[[0, 1], [1, 0.0], [0, 0], [2, 2]]),
        [0.5],
        [0.2, -0.1],
    ),
}


@pytest.mark.parametrize("horizon", [1, 3, *nightly([2, 20, 500])])
@pytest.mark.parametrize("small", SMALL.values(), ids=SMALL.keys())
def test_odd_options_and_horizons_shorter_than_the_start(
    small: tuple[eh.ActionSet, Any, Any], horizon: int
) -> None:
    problem = BiasedLinearBandit(*small)
    ways: tuple[dict[str, Any], ...] = ({}, {"cost": "evaluation"}, {"horizon_known": False})
    for noise, batch, options in itertools.product((1.0, None), (None, 1, 4), ways):
        scales: dict[str, Any] = {"noise_scale": noise, "value_bound": 1.0, "batch": batch}
        policy = PricedExploration(problem.actions, horizon, **scales, **options)
        counts = played(policy, problem, 5)
        if "cost" in options:
            assert 0 < counts.sum() <= horizon
        else:
            assert counts.sum() == horizon
        said = policy.recommend()
        assert problem.gaps[said.option] <= said.loss
        assert said.loss <= 2.0


@pytest.mark.parametrize("block", [None, 10**11])
def test_leverages_do_not_drift_while_counts_grow(block: int | None) -> None:
    """A tenth more each time, as in a rest; or much more at once, as another may have it.

    How often a look is repeated is the whole part of a share over the leverage: many digits of it.
    """
    problem, share = PROBLEMS["k=12"], 1e5
    steps, rng = Setting(repeat=share).steps(problem.actions), np.random.default_rng(0)
    A, k = problem.actions.points, len(problem.actions)
    n = np.zeros(k, dtype=np.int64)
    for step in range(300 if block is None else 130):
        counts, x = np.zeros(k, dtype=np.int64), int(rng.integers(k))
        counts[x] = block if block is not None and step >= 100 else 1 + n.sum() // 10
        sums = counts * problem.evaluations
        steps.ask(10**6)
        steps.tell(counts, sums, sums**2 / np.maximum(counts, 1))
        n += counts
        if step < 10:
            continue
        price = np.full(k, 1e30)
        price[x] = 1e-6  # so cheap that it is the one to look at
        option, times = steps.toward(0, 1, price, 2**62)
        assert option == x
        R = np.linalg.qr(np.sqrt(n)[:, None] * A, mode="r")
        leverage = float(np.sum(np.linalg.solve(R.T, A[x]) ** 2))
        assert times == pytest.approx(share / leverage, rel=1e-7, abs=1.0)
        assert times < 2**62


def test_frugal_looks_are_admitted_and_lower_the_charge() -> None:
    """Where the budget binds, a few looks within it make room for what was refused."""
    problem, horizon = eh.families.gap_dependent(4, 1.0, 0.1, 0.2)[0], 10**6
    policy = PricedExploration(problem.actions, horizon, noise_scale=1.0, budget=0.4)
    evaluations = SimulatedEvaluations(problem, 1)
    looks, made_room, refused = 0, 0, math.inf  # the charge when the first of some looks was asked
    while not policy.finished:
        allocation, charge = policy.ask(), policy.ledger.charge
        if policy._frugal:
            assert np.count_nonzero(allocation.counts) == 1
            assert policy.ledger.admits(allocation.counts)
            refused = min(refused, charge)
            looks += allocation.total
        elif policy._block is None and refused < math.inf:
            made_room += charge < refused
            refused = math.inf
        policy.tell(evaluations.evaluate(allocation))
        assert policy.ledger.charge <= policy.ledger.limit
    assert made_room > 0
    assert 0 < looks < 0.01 * horizon
    assert policy.ledger.pulls.sum() > 0.99 * horizon  # and not the core
    assert policy.recommend().option == problem.best


def test_what_makes_no_sense_is_refused() -> None:
    actions = EASY.actions
    for cls in (BoundaryExploration, PricedExploration):
        with pytest.raises(eh.InputError, match="cost must be 'gap' or 'evaluation'; got 'time'"):
            cls(actions, 10, cost="time")
        for worth in (0.0, -1.0, math.nan, "much"):
            with pytest.raises(eh.InputError, match="worth must be a positive number"):
                cls(actions, 10, cost="evaluation", worth=worth)
        with pytest.raises(eh.InputError, match=r"only with cost='evaluation'; got 5\.0"):
            cls(actions, 10, worth=5.0)
        for batch in (0, 1.5, -3, 10**7, True):
            with pytest.raises(eh.InputError, match="batch must be a whole number from 1 to"):
                cls(actions, 10, batch=batch)
        for delta in (0.0, 1.0, math.nan):
            with pytest.raises(eh.InputError, match=r"delta must lie in \(0, 1\)"):
                cls(actions, 10, delta=delta)
