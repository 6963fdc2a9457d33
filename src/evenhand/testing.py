"""What every policy must do, as checks that anyone can run on a policy of their own.

    from evenhand.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy)

A check is a function of a factory, called as `Policy` is, and a `Case`; its docstring is the part
of the contract that it checks, and it raises `AssertionError` where that is broken. No test runner
is needed. With pytest, parametrise over `CHECKS` and `CASES` to see each by its name.

A policy that may stop before its horizon is spent says so by ``spends_all = False``. One that
decides step by step has `Policy.memory` and `Policy.recall`, so that its state can be kept. One
that says ``plays_questions`` must keep the contract on `QUESTION_CASES`, too, where what is asked
is told from what is chosen; any other must refuse them. One that says ``heeds_limits`` must keep to
capacities, workloads, a budget and who is there; any other must refuse those.
"""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import EvenhandError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.messages import Allocation, Feedback
from evenhand.policies.state import restore
from evenhand.questions import Ask, Askable, Questions, Superset

PolicyFactory = Callable[..., Policy]

HORIZON = 2_000
"""Evaluations in an ordinary run."""

ROUNDS = 80
"""A run is broken off after so many rounds, for policies that ask for one evaluation at a time."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem that every policy must cope with: options, and how they are evaluated on average.

    Parameters
    ----------
    name
        What is special about it.
    actions
        The options, in two groups; or questions about options.
    evaluations
        (q,) mean evaluations of all that can be asked; values lie within ±1.
    bias
        What is added to evaluations in group +1 and taken off in group −1; of questions, what the
        first attribute does.
    values
        (k,) values of the options.
    hopeless
        The same, in such a way that no evaluations show the bias.
    """

    name: str
    actions: Askable
    evaluations: Floats
    bias: float
    values: Floats
    hopeless: Askable

    @cached_property
    def noise(self) -> Floats | float:
        """Relative noise of what is asked."""
        noise = Questions.of(self.actions).noise
        return 1.0 if noise is None else noise


Check = Callable[[PolicyFactory, Case], None]


def _case(
    name: str, features: ArrayLike, groups: ArrayLike, gamma: ArrayLike, bias: float = 0.25
) -> Case:
    x, z = np.asarray(features, dtype=np.float64), np.asarray(groups)
    values = x @ np.asarray(gamma)
    hopeless = ActionSet(np.column_stack([x, z]), z)  # the group is also a feature
    return Case(name, ActionSet(x, z), values + z * bias, bias, values, hopeless)


def _scattered(k: int, d: int) -> Case:
    rng = np.random.default_rng(k)
    x = rng.standard_normal((k, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gamma = rng.standard_normal(d)
    gamma /= np.linalg.norm(gamma)
    return _case(f"{k} options", x, np.where(x @ gamma > 0.1, -1, 1), gamma)


CASES: tuple[Case, ...] = (
    _case("three options", [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1], [0.5, 0.4]),
    _case("one option in each group", [[1.0], [0.5]], [1, -1], [0.75]),
    _case(
        "one option against three",
        [[0.5, 1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]],
        [-1, 1, 1, 1],
        [0.5, 0.25],
    ),
    _case(
        "ties within and across groups",
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]],
        [1, 1, -1, -1, -1, 1],
        [0.5, 0.5],
    ),
    _case(
        "fewer options than dimensions",
        [[4.0, 0.0, 4.0, 0.0], [-2.0, 0.0, -2.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
        [1, -1, 1],
        [0.0625, 0.25, 0.125, 0.0],
    ),
    _case(
        "a group on a line",
        [[1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]],
        [1, 1, 1, -1, -1],
        [0.5, -0.25, 0.75],
    ),
    _case("a large bias", [[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]], [1, 1, -1], [0.5, 0.25], -40.0),
    _scattered(30, 3),
)
"""The problems that `check_policy` tries."""


def _asked(
    name: str, questions: Questions, gamma: ArrayLike, omega: ArrayLike, hopeless: Questions
) -> Case:
    worth, bias = np.asarray(gamma, dtype=np.float64), np.asarray(omega, dtype=np.float64)
    means = np.asarray(questions.rows @ np.concatenate([worth, bias]))
    values = np.asarray(questions.options.features @ worth)
    return Case(name, questions, means, float(bias[0]), values, hopeless)


def _panel(**more: Any) -> Questions:
    options = {"Ann": "fr", "Bo": "it", "Cy": "fr", "Di": "us"}
    evaluators = {"P": "fr", "Q": "it", "R": "us"}
    return Questions.panel(options, evaluators, **({"capacity": None} | more))


def _one_judge() -> Questions:
    return Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"}, capacity=None)


def _comparisons(k: int) -> Questions:
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    unit = np.eye(k)
    differences = [unit[a] - unit[b] for a, b in pairs]
    return Questions(options=unit, features=differences, attributes=np.ones((len(pairs), 1)))


def _calibrated() -> Questions:
    """Two options and an item that cannot be chosen, each by two evaluators, one partial to it."""
    items = np.repeat(np.eye(3), 2, axis=0)
    attributes = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    return Questions(
        options=np.eye(3)[:2],
        features=items,
        attributes=attributes,
        evaluator=["P", "Q"] * 3,
        noise=[1.0, 2.0] * 3,
    )


QUESTION_CASES: tuple[Case, ...] = (
    _asked(
        "a panel with tied options and prices",
        _panel(prices=[1.0, 1.0, 4.0], noise=[1.0, 1.0, 0.5]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
    _asked("comparisons", _comparisons(3), [0.25, 0.5, -0.5], [0.25], _one_judge()),
    _asked(
        "an item that cannot be chosen", _calibrated(), [0.25, 0.5, 1.0], [0.5, 0.25], _one_judge()
    ),
)
"""Questions about options, for policies that tell the two apart."""

LIMITED_CASES: tuple[Case, ...] = (
    _asked(
        "a panel asked once each",
        _panel(capacity=1, prices=[1.0, 2.0, 3.0]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
    _asked(
        "evaluators with little time",
        _panel(capacity=3, workload=[5, 2, 9]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
)
"""Questions that may be asked only so often."""


@dataclass
class _Run:
    """What a policy did: its asks, and what it knew before each of them and after the last."""

    asks: list[Allocation] = field(default_factory=list)
    told: list[Feedback] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    finished: bool = False

    def differs_from(self, other: _Run) -> str:
        """Say in words where two runs part; "" if they don't."""
        for i, (a, b) in enumerate(zip(self.asks, other.asks, strict=False)):
            if not np.array_equal(a.counts, b.counts):
                return f"ask {i} was {_shown(a.counts)} and then {_shown(b.counts)}"
        for i, (known, also) in enumerate(zip(self.known, other.known, strict=False)):
            if known != also:
                return f"after {i} feedbacks it knew {known} and then {also}"
        if (len(self.asks), self.finished) != (len(other.asks), other.finished):
            return f"it asked {len(self.asks)} times and then {len(other.asks)} times"
        return ""


def _shown(counts: NDArray[np.int64]) -> str:
    return np.array2string(counts, threshold=12)


def _knowledge(policy: Policy) -> str:
    """Return what a policy says now, to the last bit."""
    return f"{policy.recommend()!r}, {policy.bias()!r}"


def _evaluate(
    counts: NDArray[np.int64],
    case: Case,
    rng: np.random.Generator,
    scale: float = 1.0,
    noise: float = 1.0,
) -> Feedback:
    """Draw the feedback of an allocation: deviation ``noise``, and everything times ``scale``."""
    n = counts.astype(np.float64)
    loud = noise * case.noise
    sums = n * case.evaluations + loud * np.sqrt(n) * rng.standard_normal(len(n))
    within = 2.0 * loud**2 * rng.standard_gamma(np.maximum(n - 1.0, 0.0) / 2.0)
    squares = sums**2 / np.maximum(n, 1.0) + within
    return Feedback(counts.copy(), scale * sums, scale**2 * squares)


def _run(
    policy: Policy,
    case: Case,
    *,
    seed: int = 1,
    scale: float = 1.0,
    noise: float = 1.0,
    meddle: Callable[[Policy, Feedback], None] = lambda policy, feedback: None,
    look: bool = True,
) -> _Run:
    """Play to the end, or for `ROUNDS` rounds; ``meddle`` comes before each tell and at the end.

    Without ``look`` what the policy knows on the way is not written down, which is the larger part
    of the work where it decides slowly.
    """
    rng = np.random.default_rng(seed)
    run = _Run()
    while len(run.asks) < ROUNDS and not run.finished:
        if look:
            run.known.append(_knowledge(policy))
        allocation = policy.ask()
        feedback = _evaluate(allocation.counts, case, rng, scale, noise)
        meddle(policy, feedback)
        run.finished = allocation.total == 0
        if not run.finished:
            run.asks.append(allocation)
            run.told.append(feedback)
            policy.tell(feedback)
    return run


def asking_again_changes_nothing(make: PolicyFactory, case: Case) -> None:
    """Until it is told, a policy asks the same, however often; its answer can't be scribbled on."""
    clean = _run(make(case.actions, HORIZON), case)

    def ask_and_scribble(policy: Policy, _: Feedback) -> None:
        first = policy.ask()
        before, spent = first.counts.copy(), policy.spent
        try:
            first.counts[0] += 1
        except ValueError:
            pass  # read-only, as it should be
        else:
            raise AssertionError("the counts of an allocation can be written to")
        again = policy.ask()
        assert np.array_equal(again.counts, before), (
            f"asked twice, it answered {_shown(before)} and then {_shown(again.counts)}"
        )
        assert again.round == first.round, "asking again moved the round on"
        assert policy.spent == spent, "asking alone spent evaluations"

    difference = clean.differs_from(
        _run(make(case.actions, HORIZON), case, meddle=ask_and_scribble)
    )
    assert not difference, f"asking several times changed the run: {difference}"


def counts_are_affordable(make: PolicyFactory, case: Case) -> None:
    """Counts are whole numbers ≥ 0, one for each option, and no more in all than remain.

    At horizons 1, 2, 3, k, 10⁴ and 10¹². ``spent`` is what was told, ``remaining`` the rest.
    """
    k = len(case.actions)
    for horizon in (1, 2, 3, k, 10**4, 10**12):
        policy = make(case.actions, horizon)
        told = 0
        for i, allocation in enumerate(_allocations(policy, case)):
            counts, at = allocation.counts, f"horizon {horizon}, ask {i}"
            assert counts.shape == (k,), f"{at}: shape {counts.shape} for {k} options"
            assert np.issubdtype(counts.dtype, np.integer), f"{at}: counts are {counts.dtype}"
            assert counts.min() >= 0, f"{at}: negative counts {_shown(counts)}"
            assert policy.spent == told, f"{at}: {told} were told, spent is {policy.spent}"
            assert policy.remaining == horizon - told, f"{at}: remaining is {policy.remaining}"
            total = sum(int(n) for n in counts)
            assert allocation.total == total, f"{at}: total is {allocation.total}, not {total}"
            assert total <= horizon - told, f"{at}: wants {total}, {horizon - told} remain"
            assert allocation.round == i, f"{at}: it says that this is round {allocation.round}"
            told += total


def _allocations(policy: Policy, case: Case) -> Iterator[Allocation]:
    """Yield what a policy asks, the zeros at the end included, and tell it what comes of it."""
    rng = np.random.default_rng(2)
    for _ in range(ROUNDS):
        allocation = policy.ask()
        yield allocation
        if allocation.total == 0:
            return
        policy.tell(_evaluate(allocation.counts, case, rng))


def asks_nothing_only_at_the_end(make: PolicyFactory, case: Case) -> None:
    """An allocation of zeros means that the policy is done: it stays so, and takes no more.

    Then the horizon is spent, unless the policy says ``spends_all = False``.
    """
    for horizon in (1, 2, 3, len(case.actions), ROUNDS - 1, 10**4, 10**12):
        policy = make(case.actions, horizon)
        total = 0
        for total in (allocation.total for allocation in _allocations(policy, case)):
            assert policy.finished == (total == 0), f"finished with {total} evaluations wanted"
        assert total == 0 or horizon >= ROUNDS, f"{ROUNDS} rounds do not end horizon {horizon}"
        if total > 0:
            continue  # broken off
        assert policy.spent == horizon or not getattr(policy, "spends_all", True), (
            f"done after {policy.spent} of {horizon} evaluations; if that is meant, the policy "
            "must say spends_all = False"
        )
        for _ in range(2):
            zeros = np.zeros(len(case.actions))
            _must_refuse(policy, "a feedback after the end", (policy.ask().counts, zeros, zeros))
            assert policy.ask().total == 0, "it wants more after it was done"


Parts = tuple[ArrayLike, ArrayLike, ArrayLike]


def malformed(good: Feedback) -> dict[str, Parts | None]:
    """Return what `Feedback` would be made of if it were wrong, each in one way; None is none."""
    counts, sums, squares = good.counts, good.sums, good.sums_of_squares
    x = int(np.argmax(counts))
    at = np.eye(len(counts), dtype=np.int64)[x]

    def put(values: Floats, index: int, value: float) -> Floats:
        changed = values.copy()
        changed[index] = value
        return changed

    wrong: dict[str, Parts | None] = {
        "no feedback at all": None,
        "an option too few": (counts[:-1], sums[:-1], squares[:-1]),
        "an option too many": (np.append(counts, 0), np.append(sums, 0), np.append(squares, 0)),
        "a table of counts": (counts[:, None], sums, squares),
        "a table of sums": (counts, sums[None, :], squares),
        "sums of squares of one option": (counts, sums, squares[x]),
        "an evaluation too many": (counts + at, sums, squares),
        "half an evaluation too many": (counts + 0.5 * at, sums, squares),
        "counts below zero": (counts - 2 * counts.max(), sums, squares),
        "words for counts": (["one"] * len(counts), sums, squares),
        "words for sums": (counts, ["one"] * len(counts), squares),
        "a sum that is not a number": (counts, put(sums, x, np.nan), squares),
        "an infinite sum": (counts, put(sums, x, -np.inf), squares),
        "an infinite sum of squares": (counts, sums, put(squares, x, np.inf)),
        "a sum of squares that is not a number": (counts, sums, put(squares, x, np.nan)),
        "a sum of squares below zero": (counts, put(sums, x, 0.0), put(squares, x, -1.0)),
        "a sum of squares smaller than the sum allows": (
            counts,
            put(sums, x, 2.0 * counts[x]),
            put(squares, x, 3.9 * counts[x]),
        ),
        "a sum too large to square": (counts, put(sums, x, 1e200), put(squares, x, 1e300)),
    }
    if counts.max() > 0:
        wrong["nothing evaluated"] = (0 * counts, 0.0 * sums, 0.0 * squares)
    if counts.max() == 1:  # else it would be a part of what was asked for
        wrong["a score that is not counted"] = (counts - at, sums, squares)
    for idle in np.flatnonzero(counts == 0)[:1]:
        wrong["a sum without evaluations"] = (counts, put(sums, idle, 1.0), squares)
        wrong["squares without evaluations"] = (counts, sums, put(squares, idle, 1.0))
    return wrong


def _must_refuse(
    policy: Policy,
    what: str,
    parts: Parts | None,
    tell: Callable[[Feedback], None] | None = None,
) -> None:
    """Fail unless `Feedback` or `tell` raises `InputError`."""
    try:
        (tell or policy.tell)(None if parts is None else Feedback(*parts))  # type: ignore[arg-type] # on purpose
    except InputError:
        return
    except Exception as error:
        raise AssertionError(
            f"{what}: refused by {type(error).__name__} ({error}), not by InputError"
        ) from error
    raise AssertionError(f"{what}: accepted")


def malformed_feedback_is_refused(make: PolicyFactory, case: Case) -> None:
    """A feedback that is no part of the allocation raises `InputError` and leaves no trace.

    At every round, the last included; what follows is as if nothing had happened.
    """
    clean = _run(make(case.actions, HORIZON), case)
    earlier: list[Feedback] = []

    def tell_wrongly(policy: Policy, good: Feedback) -> None:
        round_, spent = policy.ask().round, policy.spent
        wrong = malformed(good)
        if earlier and (earlier[-1].counts > policy.outstanding).any():
            old = earlier[-1]
            wrong["the feedback of the round before"] = (old.counts, old.sums, old.sums_of_squares)
        for what, parts in wrong.items():
            _must_refuse(policy, f"round {round_}, {what}", parts)
            assert (policy.ask().round, policy.spent) == (round_, spent), f"{what}: counted"
        earlier.append(good)

    difference = clean.differs_from(_run(make(case.actions, HORIZON), case, meddle=tell_wrongly))
    assert not difference, f"a refused feedback left a trace: {difference}"


def whole_numbers_are_counts(make: PolicyFactory, case: Case) -> None:
    """Counts may come back as floats or lists, as JSON would bring them: taken as they are."""
    clean = _run(make(case.actions, HORIZON), case)
    for kind in (np.float64, np.int32, np.uint64):
        policy, run = make(case.actions, HORIZON), _Run(finished=clean.finished)
        for good in clean.told:
            run.known.append(_knowledge(policy))
            run.asks.append(policy.ask())
            policy.tell(
                Feedback(good.counts.astype(kind), list(good.sums), list(good.sums_of_squares))
            )
        difference = clean.differs_from(run)
        assert not difference, f"counts told as {kind.__name__} made a difference: {difference}"


def what_was_told_is_kept(make: PolicyFactory, case: Case) -> None:
    """Who told may reuse the arrays: to overwrite them afterwards changes nothing."""
    clean = _run(make(case.actions, HORIZON), case)
    used: list[Feedback] = []

    def overwrite(policy: Policy, feedback: Feedback) -> None:
        for old in used:
            for values in (old.counts, old.sums, old.sums_of_squares):
                if values.flags.writeable:
                    values.fill(7)
        used[:] = [feedback]

    difference = clean.differs_from(_run(make(case.actions, HORIZON), case, meddle=overwrite))
    assert not difference, f"overwriting an old feedback changed the run: {difference}"


def replay_gives_the_same(make: PolicyFactory, case: Case) -> None:
    """The same seed and the same tells give the same asks, recommendations and bias, to the bit."""
    for seed in (0, 7):
        first = _run(make(case.actions, HORIZON, seed=seed), case)
        policy, again = make(case.actions, HORIZON, seed=seed), _Run()
        for feedback in first.told:
            again.known.append(_knowledge(policy))
            again.asks.append(policy.ask())
            policy.tell(feedback)
        if first.finished:
            again.known.append(_knowledge(policy))
        again.finished = policy.finished
        assert again.finished or not first.finished, "replayed to the end, it wants more"
        again.finished = first.finished
        difference = first.differs_from(again)
        assert not difference, f"replay with seed {seed} went another way: {difference}"


def runs_are_independent(make: PolicyFactory, case: Case) -> None:
    """Two policies on the same options, told in turns, do as each would alone."""
    seeds = (1, 2)
    alone = [_run(make(case.actions, HORIZON), case, seed=seed) for seed in seeds]
    policies = [make(case.actions, HORIZON) for _ in seeds]
    turns = [_Run(finished=run.finished) for run in alone]
    for i in range(max(len(run.told) for run in alone)):
        for run, turn, policy in zip(alone, turns, policies, strict=True):
            if i < len(run.told):
                turn.known.append(_knowledge(policy))
                turn.asks.append(policy.ask())
                policy.tell(run.told[i])
    for run, turn in zip(alone, turns, strict=True):
        difference = run.differs_from(turn)
        assert not difference, f"another run in between made a difference: {difference}"


def looking_changes_nothing(make: PolicyFactory, case: Case) -> None:
    """`recommend` and `bias` work before, during and after a run, and never change it."""
    policy, rng = make(case.actions, HORIZON), np.random.default_rng(1)
    for watched in _run(make(case.actions, HORIZON), case).asks:
        counts = policy.ask().counts
        assert np.array_equal(counts, watched.counts), (
            f"it asks {_shown(watched.counts)} when looked at and {_shown(counts)} when not"
        )
        policy.tell(_evaluate(counts, case, rng))

    def look_twice(policy: Policy, _: Feedback) -> None:
        first, again = _knowledge(policy), _knowledge(policy)
        assert first == again, f"looked at twice, it says {first} and then {again}"

    _run(make(case.actions, HORIZON), case, meddle=look_twice, look=False)
    fresh = make(case.actions, HORIZON)
    before_ask = _knowledge(fresh)
    fresh.ask()
    assert _knowledge(fresh) == before_ask, "asking alone changed what it knows"


def recommends_an_option(make: PolicyFactory, case: Case) -> None:
    """A recommendation is the index of an option, with its label; at any time, any horizon."""
    options = Questions.of(case.actions).options

    def check(policy: Policy, _: Feedback) -> None:
        decision = policy.recommend()
        assert isinstance(decision.option, int), f"index of type {type(decision.option).__name__}"
        assert 0 <= decision.option < len(options), f"there is no option {decision.option}"
        label = options.labels[decision.option]
        assert decision.label == label, f"calls option {label!r} {decision.label!r}"

    for horizon in (1, len(case.actions), HORIZON):
        _run(make(case.actions, horizon), case, meddle=check, look=False)


def bias_lies_in_its_interval(make: PolicyFactory, case: Case) -> None:
    """The interval of the bias holds its estimate; before there is one it is all numbers."""

    def check(policy: Policy, _: Feedback) -> None:
        bias = policy.bias()
        assert 0.0 <= bias.level <= 1.0, f"level {bias.level} is not a probability"
        if np.isnan(bias.value):
            assert (bias.low, bias.high) == (-np.inf, np.inf), (
                f"no estimate, but an interval: {bias}"
            )
        else:
            assert bias.low <= bias.value <= bias.high, (
                f"the estimate is not in its interval: {bias}"
            )

    for horizon in (1, len(case.actions), HORIZON, 10**12):
        _run(make(case.actions, horizon), case, meddle=check, look=False)


def bias_intervals_cover(make: PolicyFactory, case: Case) -> None:
    """The true bias lies in the interval at the end of a run as often as the level says.

    Twenty-four runs; fails where so many misses have a probability below 10⁻⁶ at the stated level.
    """
    _holds_as_often_as_said(make, case, runs=24, noise_scale=1.0)


def nothing_rests_on_a_guess(make: PolicyFactory, case: Case) -> None:
    """Not told how noisy evaluations are, a policy says nothing that more noise makes false.

    Noise is 64 times what it is elsewhere. Bias and loss must lie within what is said of them, as
    often as the level says, in sixteen runs.
    """
    _holds_as_often_as_said(make, case, runs=16, noise=64.0)


def _holds_as_often_as_said(
    make: PolicyFactory, case: Case, runs: int, noise: float = 1.0, **settings: float
) -> None:
    values = case.values
    misses: dict[str, list[bool]] = {"bias": [], "loss": []}
    levels: dict[str, list[float]] = {"bias": [], "loss": []}
    for seed in range(runs):
        policy = make(case.actions, HORIZON, seed=seed, **settings)
        _run(policy, case, seed=100 + seed, noise=noise, look=False)
        bias, decision = policy.bias(), policy.recommend()
        misses["bias"].append(not bias.covers(case.bias))
        misses["loss"].append(values.max() - values[decision.option] > decision.loss + 1e-9)
        levels["bias"].append(bias.level)
        levels["loss"].append(decision.level)
    for said, missed in misses.items():
        level = min(levels[said])
        allowed = int(binom.isf(1e-6, runs, 1.0 - level))
        assert sum(missed) <= allowed, (
            f"{sum(missed)} of {runs} statements of level {level} about the {said} do not hold; "
            f"{allowed} might by chance"
        )


def units_do_not_matter(make: PolicyFactory, case: Case) -> None:
    """Evaluations, ``noise_scale`` and ``value_bound`` in other units give the same asks.

    The units are powers of two, so that floats scale exactly; the bias scales along.
    """
    plain = make(case.actions, HORIZON, noise_scale=1.0, value_bound=1.0)
    run, bias = _run(plain, case, look=False), plain.bias()  # what it knows is in other units
    for unit in (2.0**-10, 4.0, 2.0**20):
        scaled = make(case.actions, HORIZON, noise_scale=unit, value_bound=unit)
        difference = run.differs_from(_run(scaled, case, scale=unit, look=False))
        assert not difference, f"in units of {1 / unit:g}, {difference}"
        assert scaled.recommend() == plain.recommend(), f"other recommendation, unit {1 / unit:g}"
        for name in ("value", "low", "high"):
            a, b = getattr(bias, name) * unit, getattr(scaled.bias(), name)
            assert np.isclose(a, b, rtol=1e-9, atol=1e-9 * unit, equal_nan=True), (
                f"bias().{name} is {b} in units of {1 / unit:g}; {a} was due"
            )


def bad_arguments_are_refused(make: PolicyFactory, case: Case) -> None:
    """A horizon that is no whole number ≥ 1, or a scale not above 0, raises `InputError`."""
    nonsense: dict[str, tuple[object, ...]] = {
        "horizon": (0, -1, 2.5, np.nan, np.inf, True, "many"),
        "noise_scale": (0.0, -1.0, np.nan, np.inf, "loud"),
        "value_bound": (0.0, -1.0, np.nan, np.inf, "high"),
    }
    for name, values in nonsense.items():
        for value in values:
            refusal = _refusal(make, case, {"horizon": 10, name: value})
            assert refusal is not None, f"{name}={value!r} was accepted"
            assert isinstance(refusal, InputError), (
                f"{name}={value!r} raises {type(refusal).__name__} ({refusal}), not InputError"
            )
            assert name in str(refusal), f"{name}={value!r}: {str(refusal)!r} does not say {name}"


def _refusal(make: PolicyFactory, case: Case, arguments: dict[str, object]) -> Exception | None:
    """Return the error that these arguments raise; None if they are accepted."""
    try:
        make(case.actions, **arguments)
    except Exception as error:
        return error
    return None


def never_fails_midway(make: PolicyFactory, case: Case) -> None:
    """Where no evaluations can show the bias, a policy says so at the start, or plays on.

    If it plays, it ends as always, and its interval for the bias stays unbounded. Here the group
    is also a feature, so that value and bias cannot be told apart; or there is one partial judge.
    """
    means = np.resize(case.evaluations, len(case.hopeless))
    hopeless = replace(case, actions=case.hopeless, evaluations=means)
    for horizon in (1, HORIZON, 10**12):
        try:
            policy = make(hopeless.actions, horizon)
        except EvenhandError:
            continue
        try:
            run = _run(policy, hopeless)
        except EvenhandError as error:
            raise AssertionError(
                f"horizon {horizon}: {type(error).__name__} after {policy.spent} evaluations "
                f"({error}); it was known at the start"
            ) from error
        bias = policy.bias()
        assert bias.level == 0.0 or not np.isfinite([bias.low, bias.high]).any(), (
            f"horizon {horizon}: the bias cannot be estimated, but the interval is {bias}"
        )
        spent = policy.spent
        assert spent == horizon or not run.finished or not getattr(policy, "spends_all", True), (
            f"horizon {horizon}: done after {spent} evaluations"
        )


def _ask_aside(policy: Policy) -> None:
    """Ask for other numbers, and beside what these asks would put on their way."""
    for n in (1, 3, 10**6):
        allocation = policy.ask(n)
        assert allocation.total <= n, f"asked for {n} at most, it wants {allocation.total}"
    pending = policy.ask(3).counts
    for most in (2, None):
        beside = policy.ask(most, pending).total
        assert beside <= policy.remaining - pending.sum(), (
            f"it wants {beside} beside {pending.sum()} pending; {policy.remaining} remain"
        )
    policy.ask(pending=policy.outstanding)


def asking_aside_changes_nothing(make: PolicyFactory, case: Case) -> None:
    """To ask with any ``n`` and ``pending``, and not act on it, changes nothing that comes later.

    An ask for n gives no more than n, and no more than remain beside what is pending. Tried in each
    of the first dozen rounds, and in every fourth of a policy that takes more.
    """
    clean = _run(make(case.actions, HORIZON), case)
    policy, run = make(case.actions, HORIZON), _Run(finished=clean.finished)
    for i, feedback in enumerate(clean.told):
        aside = i < 12 or i % 4 == 0
        if aside:
            _ask_aside(policy)
        run.known.append(_knowledge(policy))
        run.asks.append(policy.ask())
        if aside:
            _ask_aside(policy)
        policy.tell(feedback)
    difference = clean.differs_from(run)
    assert not difference, f"asks that nobody acted on changed the run: {difference}"


def _single_scores(
    counts: NDArray[np.int64], case: Case, rng: np.random.Generator
) -> list[Feedback]:
    """Draw evaluations one by one, in random order; in 1024ths, so that any sum is exact."""
    options = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    loud = np.broadcast_to(case.noise, case.evaluations.shape)[options]
    drawn = case.evaluations[options] + loud * rng.standard_normal(len(options))
    scores = np.round(drawn * 1024.0) / 1024.0
    return [
        Feedback.from_scores(case.actions, [int(x)], [y])
        for x, y in zip(options, scores, strict=True)
    ]


def _total(parts: list[Feedback]) -> Feedback:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def any_part_may_be_told(make: PolicyFactory, case: Case) -> None:
    """What was asked for may be told in parts or one by one, in any order.

    ``spent`` and ``outstanding`` follow. Of a round that is learnt whole (`Allocation.whole`) the
    rest is asked for until it is. If all rounds are, nothing is learnt before, and then as if it
    had been told at once.
    """
    horizon = 200
    at_once, in_parts = make(case.actions, horizon), make(case.actions, horizon)
    rng = np.random.default_rng(3)
    for i in range(ROUNDS // 3):
        allocation = in_parts.ask()
        if in_parts.in_rounds:
            assert allocation.whole or allocation.total == 0, f"ask {i} is not marked as whole"
            due = at_once.ask().counts
            assert np.array_equal(allocation.counts, due), (
                f"told in parts, ask {i} is {_shown(allocation.counts)}, not {_shown(due)}"
            )
            assert _knowledge(in_parts) == _knowledge(at_once), f"ask {i}: parts taught it more"
        if allocation.total == 0:
            break
        scores = _single_scores(allocation.counts, case, rng)
        if i % 2:  # not one by one, but in three parts
            cuts = np.sort(rng.integers(0, len(scores) + 1, 2)).tolist()
            pairs = pairwise([0, *cuts, len(scores)])
            parts = [_total(scores[a:b]) for a, b in pairs if a < b]
        else:
            parts = scores
        before, left, spent = _knowledge(in_parts), allocation.counts.copy(), in_parts.spent
        for part in parts:
            if allocation.whole:
                assert np.array_equal(in_parts.ask().counts, left), (
                    f"with {_shown(left)} left of a round, it asks {_shown(in_parts.ask().counts)}"
                )
            if in_parts.in_rounds:
                assert _knowledge(in_parts) == before, "it learnt before the round was whole"
            in_parts.tell(part)
            left, spent = left - part.counts, spent + int(part.counts.sum())
            assert in_parts.spent == spent, f"{spent} were told, spent is {in_parts.spent}"
            assert np.array_equal(in_parts.outstanding, left), (
                f"{_shown(left)} are outstanding, it says {_shown(in_parts.outstanding)}"
            )
        if in_parts.in_rounds:
            at_once.tell(_total(scores))


def evaluators_may_work_side_by_side(make: PolicyFactory, case: Case) -> None:
    """Seven evaluators answer in any order, some not at all, some late: the run ends all the same.

    At all times an ask gives no more than are free and than remain beside what is pending; what is
    lost is asked for again; what comes late is taken as long as it is outstanding, and more than
    that, or pending beyond it, is refused and changes nothing.
    """
    horizon, evaluators = 100, 7
    policy, rng = make(case.actions, horizon), np.random.default_rng(4)
    k = len(case.actions)
    pending, outstanding = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)

    def tell(x: int) -> None:
        (score,) = _single_scores(np.eye(k, dtype=np.int64)[x], case, rng)
        spent = policy.spent
        policy.tell(score)
        outstanding[x] -= 1
        assert policy.spent == spent + 1, f"one was told, spent went from {spent} to {policy.spent}"
        assert policy.remaining == horizon - policy.spent, f"remaining is {policy.remaining}"

    for _ in range(20 * horizon):
        free = evaluators - int(pending.sum())
        if free > 0:
            allocation = policy.ask(free, pending)
            wanted, on_its_way = allocation.total, int(pending.sum())
            assert wanted <= free, f"{free} evaluators are free, it wants {wanted}"
            assert on_its_way + wanted <= policy.remaining, (
                f"it wants {wanted} beside {on_its_way} pending; {policy.remaining} remain"
            )
            pending += allocation.counts
            np.maximum(outstanding, pending, out=outstanding)
            assert np.array_equal(policy.outstanding, outstanding), (
                f"{_shown(outstanding)} are outstanding, it says {_shown(policy.outstanding)}"
            )
            if not pending.any():
                break
        x, fate = int(rng.choice(np.repeat(np.arange(k), pending))), rng.random()
        late = np.flatnonzero(outstanding > pending)
        if fate < 0.1:  # lost
            pending[x] -= 1
        elif fate < 0.3 and len(late) and policy.remaining > pending.sum():
            tell(int(late[0]))
        else:
            pending[x] -= 1
            tell(x)
        if fate > 0.8:
            _refuses_what_is_not_outstanding(policy, case)
    assert not pending.any(), "it does not end"
    assert policy.finished, "with nothing pending it asked for nothing, and is not finished"
    assert policy.remaining == 0 or not getattr(policy, "spends_all", True), (
        f"with nothing pending it asks for nothing, and {policy.remaining} remain"
    )


def _refuses_what_is_not_outstanding(policy: Policy, case: Case) -> None:
    outstanding, said = policy.outstanding, _knowledge(policy)
    x = int(np.argmax(outstanding))
    beyond = outstanding.copy()
    beyond[x] += 1
    wrong: tuple[tuple[object, object], ...] = (
        (None, beyond),
        (None, outstanding - beyond),
        (None, outstanding + 0.5),
        (None, outstanding[:-1]),
        (None, ["one"] * len(outstanding)),
        (None, np.full(len(outstanding), np.nan)),
        *((n, None) for n in (0, -1, 1.5, np.nan, True, "many")),
    )
    for n, pending in wrong:
        try:
            policy.ask(n, pending)  # type: ignore[arg-type] # on purpose
        except InputError:
            continue
        raise AssertionError(f"ask({n!r}, pending={pending!r}) was accepted")
    if outstanding.any():  # else to tell is also to ask
        zeros = np.zeros(len(beyond))
        _must_refuse(policy, "more than is outstanding", (beyond, zeros, zeros))
    assert np.array_equal(policy.outstanding, outstanding), "a refusal changed what is outstanding"
    assert _knowledge(policy) == said, "a refusal changed what it knows"


def observing_teaches_or_is_refused(make: PolicyFactory, case: Case) -> None:
    """Evaluations that nobody asked for are counted apart and learnt from, or refused.

    Whatever cannot be right is refused. A refusal changes nothing. What is learnt shows: after
    10⁹ evaluations of each option, the bias is known to 1%, unless the policy never says. That
    holds before the first evaluation that was asked for as after some.
    """
    for told in (3, 0):
        _observe(make, case, told)


def _observe(make: PolicyFactory, case: Case, told: int) -> None:
    policy, rng = make(case.actions, HORIZON), np.random.default_rng(5)
    for _ in range(told):
        if not policy.finished:
            policy.tell(_evaluate(policy.ask().counts, case, rng))
    asked, said, spent = policy.ask(), _knowledge(policy), policy.spent
    plenty = np.full(len(case.actions), 10**9)
    scores = _evaluate(plenty, case, rng)
    for what, parts in malformed(scores).items():
        if "too many" in what and "option" not in what:
            continue  # nobody asked: none is too many
        _must_refuse(policy, f"observed, {what}", parts, tell=policy.observe)
    try:
        policy.observe(scores)
    except InputError:
        learnt = False
    else:
        learnt = True
    assert policy.spent == spent, f"what was not asked for was spent: {policy.spent}, not {spent}"
    if not learnt:
        assert policy.observed == 0, f"refused, but {policy.observed} are counted as observed"
        assert np.array_equal(policy.ask().counts, asked.counts), "a refusal changed what it asks"
        assert _knowledge(policy) == said, "a refusal changed what it knows"
        return
    assert policy.observed == plenty.sum(), f"observed is {policy.observed}, not {plenty.sum()}"
    bias = policy.bias()
    assert np.isnan(bias.value) or abs(bias.value - case.bias) <= 0.01 * max(abs(case.bias), 1.0), (
        f"the bias is {case.bias}; after 10⁹ evaluations of each option it says {bias}"
    )
    assert np.isnan(bias.value) or bias.covers(case.bias), f"{bias} does not cover {case.bias}"
    _run(policy, case)


def _through_json(policy: Policy) -> Policy:
    return restore(json.loads(json.dumps(policy.state())), type(policy))


def _through_pickle(policy: Policy) -> Policy:
    again = pickle.loads(pickle.dumps(policy))
    assert isinstance(again, Policy)
    return again


def a_copy_goes_on_the_same(make: PolicyFactory, case: Case) -> None:
    """At every step, what `restore` makes of the state goes on as the policy would, to the bit.

    The state goes through JSON; copies and pickles do the same. What was asked for is part of it.
    """
    ways: tuple[Callable[[Policy], Policy], ...] = (
        _through_json,
        copy.copy,
        copy.deepcopy,
        _through_pickle,
    )
    rng = np.random.default_rng(6)
    policy = make(case.actions, HORIZON)
    copies = [way(policy) for way in ways]
    for i in range(ROUNDS // 4):
        allocation = policy.ask()
        parts = _single_scores(allocation.counts, case, rng)[: 1 + 7 * (i % 3)]
        n, pending = 1 + i % 4, allocation.counts // 2
        beside = policy.ask(n, pending)
        for way, twin in zip(ways, copies, strict=True):
            at = f"step {i}, {way.__name__.strip('_').replace('_', ' ')}"
            for a, b in ((allocation, twin.ask()), (beside, twin.ask(n, pending))):
                assert np.array_equal(a.counts, b.counts), (
                    f"{at}: it asks {_shown(b.counts)}, not {_shown(a.counts)}"
                )
                assert (a.round, a.whole) == (b.round, b.whole), f"{at}: another round"
            due = (policy.spent, policy.observed, policy.remaining, policy.outstanding.tolist())
            has = (twin.spent, twin.observed, twin.remaining, twin.outstanding.tolist())
            assert due == has, f"{at}: spent, observed, remaining, outstanding are {has}, not {due}"
            assert _knowledge(twin) == _knowledge(policy), f"{at}: it knows something else"
        if allocation.total == 0:
            return
        if i % 2:  # with the asks of now handed out, or not
            copies = [way(twin) for way, twin in zip(ways, copies, strict=True)]
        for each in (policy, *copies):
            each.tell(_total(parts))
        if not i % 2:
            copies = [way(twin) for way, twin in zip(ways, copies, strict=True)]


def a_record_is_enough(make: PolicyFactory, case: Case) -> None:
    """What was handed out may be told to a policy that did not derive it, and it knows the same.

    That is what a record of a run has: counts that were handed out, the plan in force, and what
    came back. Evaluations that were not handed out, or are not expected, are refused; so are plans
    that are none. A refusal changes nothing.
    """
    policy, twin = (make(case.actions, HORIZON) for _ in range(2))
    rng, pending = np.random.default_rng(8), np.zeros(len(case.actions), dtype=np.int64)
    for i in range(ROUNDS // 4):
        plan = json.loads(json.dumps(policy.plan()))
        assert (plan is None) == (policy.plan_id is None), f"step {i}: plan_id and plan() disagree"
        if plan is not None:
            assert plan["id"] == policy.plan_id == twin.plan_id, f"step {i}: another plan"
            twin.adopt(plan)
            again = json.loads(json.dumps(twin.plan()))
            assert again == plan, f"step {i}: it adopted {plan}, and has {again}"
        _refuses_other_plans(twin, plan)
        counts = policy.ask(5, pending).counts
        if not counts.any() and not pending.any():
            assert twin.finished, f"step {i}: it is finished, by the record it is not"
            return
        assert json.loads(json.dumps(policy.purpose())) == twin.purpose(), f"step {i}: the purpose"
        twin.hand_out(counts, pending)
        pending = pending + counts
        assert (twin.outstanding >= pending).all(), f"step {i}: what was handed out is lost"
        back = _single_scores(pending, case, rng)[: 1 + i % 5]
        for each in (policy, twin):
            each.tell(_total(back))
        pending = pending - _total(back).counts
        assert _knowledge(twin) == _knowledge(policy), f"step {i}: by the record it knows otherwise"
    _refuses_what_is_not_expected(twin, case)


def _refuses_other_plans(policy: Policy, plan: Any) -> None:
    said, before = _knowledge(policy), json.dumps(policy.plan())
    wrong: list[Any] = [None, 7, "plan", [], {}, {"id": policy.plan_id}]
    if plan is not None:
        wrong += [plan | {"id": plan["id"] + 1}, *(plan | {n: "?"} for n in plan)]
        wrong += [{n: v for n, v in plan.items() if n != name} for name in plan]
    for other in wrong:
        try:
            policy.adopt(other)
        except InputError:
            continue
        raise AssertionError(f"adopted as a plan: {other!r}")
    for counts in (policy.outstanding[:-1], policy.outstanding - 1.5, ["?"], -1):
        try:
            policy.hand_out(counts)
        except InputError:
            continue
        raise AssertionError(f"handed out: {counts!r}")
    assert _knowledge(policy) == said, "a refusal changed what it knows"
    assert json.dumps(policy.plan()) == before, "a refusal changed its plan"


def _refuses_what_is_not_expected(policy: Policy, case: Case) -> None:
    """Tell one evaluation more of each option than is wanted: it is taken, or refused cleanly."""
    wanted, rng = policy.ask().counts, np.random.default_rng(9)
    beyond = wanted + 1
    policy.hand_out(beyond, np.zeros_like(beyond))
    said, asked, spent = _knowledge(policy), policy.ask().counts, policy.spent
    try:
        policy.tell(_evaluate(beyond, case, rng))
    except InputError:
        assert _knowledge(policy) == said, "a refusal changed what it knows"
        assert policy.spent == spent, "a refusal spent evaluations"
        assert np.array_equal(policy.ask().counts, asked), "a refusal changed what it asks"
        assert not wanted.any() or policy.expects(_evaluate(wanted, case, rng)), "it is stuck"
    else:
        assert policy.spent == spent + beyond.sum(), "what was told is not spent"
        goes_on = not policy.finished or policy.remaining == 0 or not policy.spends_all
        assert goes_on, "it took what it does not expect, and is stuck"


def grown_of(actions: Askable) -> Askable:
    """Return what was there and more: one option before all others, or a further evaluator.

    Examples
    --------
    >>> len(grown_of(CASES[0].actions)), len(CASES[0].actions)
    (4, 3)
    """
    if not isinstance(actions, ActionSet):
        return actions.adding([Ask((name,), "somebody new") for name in actions.options.labels])
    X, Z = actions.features, actions.attributes
    return ActionSet(
        np.vstack([X.mean(axis=0), X]),
        actions.groups[[0, *range(len(X))]] if actions.group_names else None,
        ["a new one", *actions.labels],
        attributes=None if actions.group_names else np.vstack([Z[:1], Z]),
    )


def extending_keeps_what_was_told(make: PolicyFactory, case: Case) -> None:
    """With more options or evaluators, a policy goes on with all that it was told, or refuses.

    Questions that are missing, or not what they were, are refused. The old policy does not change.
    """
    policy, rng = make(case.actions, HORIZON), np.random.default_rng(10)
    more = grown_of(case.actions)
    for i in range(8):
        state = json.dumps(policy.state())
        try:
            new = policy.extended(more)
        except InputError:
            assert json.dumps(policy.state()) == state, "a refusal changed it"
            return
        assert json.dumps(policy.state()) == state, f"step {i}: extending changed the old one"
        assert new.spent == policy.spent, f"step {i}: {policy.spent} were told, not {new.spent}"
        assert new.outstanding.sum() == policy.outstanding.sum(), f"step {i}: something is lost"
        assert new.checks.counts.sum() == policy.checks.counts.sum(), f"step {i}: the checks forgot"
        _through_json(new)
        try:
            new.extended(case.actions)
        except InputError:
            pass
        else:
            raise AssertionError(f"step {i}: extended to less than there was")
        if policy.finished:
            break
        policy.tell(_evaluate(policy.ask(9).counts, case, rng))
    wide = _widened(case, more)
    _run(new, wide)
    assert new.spent > 0, "it does not go on"


def _widened(case: Case, more: Askable) -> Case:
    """Return the case with more options or evaluators, who favour nobody."""
    to, asked = Superset.of(case.actions, more), Questions.of(more)
    values = np.full(len(asked.options), case.values.mean())
    values[to.options] = case.values
    bias = case.evaluations[0] - case.values[0] if isinstance(more, ActionSet) else 0.0
    evaluations = values[asked.about[:, 0] % len(values)] + bias
    evaluations[to.questions] = case.evaluations
    return replace(case, actions=more, evaluations=evaluations, values=values)


def bad_states_are_refused(make: PolicyFactory, case: Case) -> None:
    """`restore` refuses a state of another version, of another policy, or none at all."""
    policy = make(case.actions, HORIZON)
    state = policy.state()
    wrong: dict[str, object] = {
        "None": None,
        "a text": "state",
        "a list": [state],
        "nothing": {},
        "another version": state | {"evenhand": "none"},
        "another policy": state | {"policy": "another"},
        **{f"no {part}": {n: v for n, v in state.items() if n != part} for part in state},
        **{f"nonsense for {part}": state | {part: [7]} for part in state},
        "an empty run": state | {"run": {}},
        "an empty memory": state | {"run": state["run"] | {"memory": {}}},
        "more spent than there is": state | {"run": state["run"] | {"spent": HORIZON + 1}},
        "outstanding of other options": state | {"run": state["run"] | {"outstanding": [1]}},
    }
    for what, value in wrong.items():
        try:
            restore(value, type(policy))  # type: ignore[arg-type] # on purpose
        except InputError:
            continue
        except Exception as error:
            raise AssertionError(
                f"{what}: refused by {type(error).__name__} ({error}), not by InputError"
            ) from error
        raise AssertionError(f"{what}: accepted as a state")


def questions_are_played_or_refused(make: PolicyFactory, case: Case) -> None:
    """A policy that does not tell questions from options, or knows no limits, refuses them."""
    if _refusal(make, CASES[0], {"horizon": HORIZON}) is not None:
        return
    policy = make(CASES[0].actions, HORIZON)
    limited = Questions.of(case.actions).limited
    plays = policy.plays_questions and (policy.heeds_limits or not limited)
    refusal = _refusal(make, case, {"horizon": HORIZON})
    if plays:
        assert refusal is None, f"it says that it plays them, and raises {refusal!r}"
        return
    assert refusal is not None, "it accepts what it says it does not play"
    assert isinstance(refusal, InputError), f"refused by {refusal!r}, not by InputError"


def _budgets(case: Case) -> tuple[float | None, ...]:
    prices = Questions.of(case.actions).prices
    return None, float(prices.min()), 3.5 * float(prices.max())


def limits_are_kept(make: PolicyFactory, case: Case) -> None:
    """No question, evaluator or budget is asked for more than there is, told or on its way.

    Nobody who is away is asked, nor who is not available; who is away can come back. The run ends.
    """
    questions = Questions.of(case.actions)
    for budget in _budgets(case):
        policy, rng = make(case.actions, HORIZON, budget=budget), np.random.default_rng(7)
        told = np.zeros(len(questions), dtype=np.int64)
        pending = told.copy()
        away: str | None = None
        for i in range(ROUNDS):
            who = None if i % 3 else questions.evaluators[i // 3 % len(questions.evaluators)]
            if i in (2, 6):
                away = questions.evaluators[i % len(questions.evaluators)]
                policy.leave(away)
            elif i in (4, 8) and away is not None:
                policy.join(away)
                away = None
            for one in questions.evaluators if i < 6 else ():  # aside: nobody acts on it
                aside = np.flatnonzero(policy.ask(2, pending, [one]).counts).tolist()
                others = {questions.evaluator_of(x) for x in aside} - {one}
                assert not others, f"ask {i}: only {one} is available, not {others}"
            n = (1, 4, None)[i % 3]
            counts = policy.ask(n, pending, None if who is None else [who]).counts
            _refuse_beyond_limits(questions, told + pending + counts, budget, f"ask {i}")
            names = [questions.evaluator_of(x) for x in np.flatnonzero(counts).tolist()]
            assert away is None or away not in names, f"ask {i}: {away} is away, and asked"
            assert who is None or set(names) <= {who}, f"ask {i}: only {who} is free, not {names}"
            pending += counts
            if pending.any() and (i % 4 or not counts.any()):  # some are waited for, some late
                x = int(rng.choice(np.flatnonzero(pending)))
                back = np.zeros_like(pending)
                back[x] = pending[x]
                policy.tell(_evaluate(back, case, rng))
                pending, told = pending - back, told + back
            elif who is None and away is None and not pending.any():
                break
        else:
            left = HORIZON - int(told.sum())
            assert left == 0 or not questions.limited, "it does not end, and asks for nothing"
        if away is None and not pending.any():
            assert policy.finished, "with nothing pending it asked for nothing, and is not finished"


def _refuse_beyond_limits(
    questions: Questions, asked: NDArray[np.int64], budget: float | None, at: str
) -> None:
    x = int(np.argmax(asked - questions.capacity))
    assert asked[x] <= questions.capacity[x], (
        f"{at}: {questions.label(x)} is asked {asked[x]} times, it may be {questions.capacity[x]}"
    )
    work = np.bincount(questions.evaluator, asked, len(questions.evaluators))
    assert (work <= questions.workload).all(), (
        f"{at}: evaluators are asked {work}, they may be {questions.workload}"
    )
    paid = float(asked @ questions.prices)
    assert budget is None or paid <= budget * (1.0 + 1e-9), f"{at}: {paid} of {budget} is spent"


def absence_is_heeded_or_refused(make: PolicyFactory, case: Case) -> None:
    """Who can't do without an evaluator says so when one leaves, or only some are available."""
    questions = Questions.of(case.actions)
    if _refusal(make, case, {"horizon": HORIZON}) is not None or not len(questions.evaluators):
        return
    policy = make(case.actions, HORIZON)
    name = questions.evaluators[0]
    calls: dict[str, Callable[[], object]] = {
        "leave": lambda: policy.leave(name),
        "available": lambda: policy.ask(available=[name]),
    }
    for what, call in calls.items():
        try:
            call()
        except InputError:
            assert not policy.heeds_limits, f"it heeds limits, and refuses {what}"
        else:
            assert policy.heeds_limits, f"it does not heed limits, and accepts {what}"
    try:
        policy.leave("nobody of that name")
    except InputError:
        return
    raise AssertionError("an evaluator that there is not may leave")


CHECKS: tuple[Check, ...] = (
    asking_again_changes_nothing,
    asking_aside_changes_nothing,
    counts_are_affordable,
    asks_nothing_only_at_the_end,
    malformed_feedback_is_refused,
    whole_numbers_are_counts,
    what_was_told_is_kept,
    replay_gives_the_same,
    runs_are_independent,
    looking_changes_nothing,
    recommends_an_option,
    bias_lies_in_its_interval,
    bias_intervals_cover,
    nothing_rests_on_a_guess,
    units_do_not_matter,
    bad_arguments_are_refused,
    never_fails_midway,
    any_part_may_be_told,
    evaluators_may_work_side_by_side,
    observing_teaches_or_is_refused,
    a_copy_goes_on_the_same,
    a_record_is_enough,
    extending_keeps_what_was_told,
    bad_states_are_refused,
)
"""All checks; the name of each says what holds."""

QUESTION_CHECKS: tuple[Check, ...] = (
    questions_are_played_or_refused,
    absence_is_heeded_or_refused,
    asking_again_changes_nothing,
    asking_aside_changes_nothing,
    counts_are_affordable,
    asks_nothing_only_at_the_end,
    recommends_an_option,
    units_do_not_matter,
    never_fails_midway,
    any_part_may_be_told,
    evaluators_may_work_side_by_side,
    observing_teaches_or_is_refused,
    a_copy_goes_on_the_same,
    a_record_is_enough,
    extending_keeps_what_was_told,
)
"""What is checked on `QUESTION_CASES`; all but the first only of policies that play questions."""

LIMIT_CHECKS: tuple[Check, ...] = (questions_are_played_or_refused, limits_are_kept)
"""What is checked on `LIMITED_CASES`; all but the first only of policies that heed limits."""


def check_policy(
    make: PolicyFactory,
    *,
    checks: tuple[Check, ...] | None = None,
    cases: tuple[Case, ...] | None = None,
) -> None:
    """Raise `AssertionError` with the check, the case and the reason, unless a policy keeps all.

    Parameters
    ----------
    make
        A policy class, or a function with the same arguments: actions, horizon, noise_scale,
        value_bound, seed, budget.
    checks, cases
        What to check, and on which problems. If neither is said, questions and limits follow.

    Examples
    --------
    >>> import evenhand as eh
    >>> check_policy(eh.FairPhasedElimination, cases=CASES[:1])
    """
    everything = checks is None and cases is None
    pairs = list(itertools.product(checks or CHECKS, cases or CASES))
    if everything:
        pairs += asked_for(make)
    for check, case in pairs:
        try:
            check(make, case)
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            raise AssertionError(f"{check.__name__}, {case.name}: {kind}{error}") from error


def asked_for(make: PolicyFactory) -> list[tuple[Check, Case]]:
    """Return the checks on questions that a policy must keep, by what it says of itself.

    Examples
    --------
    >>> import evenhand as eh
    >>> {check.__name__ for check, _ in asked_for(eh.FairPhasedElimination)}
    {'questions_are_played_or_refused'}
    """
    policy = make(CASES[0].actions, HORIZON)
    plays, heeds = policy.plays_questions, policy.plays_questions and policy.heeds_limits
    played = QUESTION_CHECKS if plays else QUESTION_CHECKS[:1]
    limited = LIMIT_CHECKS if heeds else LIMIT_CHECKS[:1]
    pairs = list(itertools.product(played, QUESTION_CASES))
    if plays:
        pairs.append((nothing_rests_on_a_guess, QUESTION_CASES[0]))
    return pairs + list(itertools.product(limited, LIMITED_CASES))
