"""The contract of a policy, clause by clause; see `evenhand.testing`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from evenhand.arrays import Counts
from evenhand.errors import EvenhandError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.messages import Allocation, Feedback
from evenhand.policies.registry import restore
from evenhand.questions import Questions, limited
from evenhand.testing.cases import CASES, LIMITED_CASES, QUESTION_CASES, Case, drawn

PolicyFactory = Callable[..., Policy]
Check = Callable[[PolicyFactory, Case], None]

HORIZON = 2_000
"""Evaluations in an ordinary run."""

ROUNDS = 80
"""A run is broken off after so many rounds, for policies that ask for one evaluation at a time."""


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


def _run(
    policy: Policy,
    case: Case,
    *,
    seed: int = 1,
    scale: float = 1.0,
    noise: float = 1.0,
    meddle: Callable[[Policy], None] = lambda policy: None,
    look: bool = True,
) -> _Run:
    """Play to the end, or for `ROUNDS` rounds; ``meddle`` comes before each tell and at the end."""
    # Without ``look`` what the policy knows on the way is not written down, which is the larger
    # part of the work where it decides slowly.
    rng = np.random.default_rng(seed)
    run = _Run()
    while len(run.asks) < ROUNDS and not run.finished:
        if look:
            run.known.append(_knowledge(policy))
        allocation = policy.ask()
        feedback = drawn(allocation.counts, case, rng, scale, noise)
        meddle(policy)
        run.finished = allocation.total == 0
        if not run.finished:
            run.asks.append(allocation)
            run.told.append(feedback)
            policy.tell(feedback)
    return run


def _one_by_one(counts: Counts, case: Case, rng: np.random.Generator) -> list[Feedback]:
    """Draw single scores in random order; in 1024ths, so that any sum is exact."""
    asked = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    loud = np.broadcast_to(case.noise, case.evaluations.shape)[asked]
    scores = case.evaluations[asked] + loud * rng.standard_normal(len(asked))
    scores = np.round(scores * 1024.0) / 1024.0
    return [
        Feedback.from_scores(case.actions, [int(x)], [y])
        for x, y in zip(asked, scores, strict=True)
    ]


def _tell_some(policies: list[Policy], scores: list[Feedback]) -> Counts:
    """Tell the sum of some scores to all; return how many of each."""
    total = scores[0]
    for score in scores[1:]:
        total = total + score
    for policy in policies:
        policy.tell(total)
    return total.counts


def looking_and_asking_change_nothing(make: PolicyFactory, case: Case) -> None:
    """`recommend`, `bias` and asks that nobody acts on change nothing of what comes later.

    They work before, during and after a run, with any ``n`` and ``pending``. Tried in each of the
    first dozen rounds, and in every fourth of a policy that takes more.
    """
    clean = _run(make(case.actions, HORIZON), case, look=False)
    policy = make(case.actions, HORIZON)
    for i, feedback in enumerate([*clean.told, None]):
        if i < 12 or i % 4 == 0:
            known = _knowledge(policy)
            _ask_aside(policy)
            again = _knowledge(policy)
            assert known == again, f"round {i}: asked and looked at, it knows {again}, not {known}"
        if feedback is not None:
            asked, due = policy.ask().counts, clean.asks[i].counts
            assert np.array_equal(asked, due), (
                f"round {i}: asked and looked at before, it asks {_shown(asked)}, not {_shown(due)}"
            )
            policy.tell(feedback)


def _ask_aside(policy: Policy) -> None:
    """Ask for other numbers, and beside what these asks would put on their way."""
    # As far as the plan in force goes: who asks for more has the next one put in force.
    for n in (1, 3, 10**6):
        policy.ask(n)
    pending = policy.ask(3).counts
    for most in (2, None):
        if policy.plan(pending) is None:
            policy.ask(most, pending)
    if policy.plan(policy.limits.outstanding) is None:
        policy.ask(pending=policy.limits.outstanding)


def a_run_ends_when_all_is_spent(make: PolicyFactory, case: Case) -> None:
    """It asks for nothing when the horizon is spent and, unless ``spends_all = False``, not before.

    At horizons 1, 2, 3, k, 79, 10⁴ and 10¹². Once it is done it stays so.
    """
    for horizon in (1, 2, 3, len(case.actions), ROUNDS - 1, 10**4, 10**12):
        policy = make(case.actions, horizon)
        if not _run(policy, case, look=False).finished:
            assert horizon >= ROUNDS, f"{ROUNDS} rounds do not end horizon {horizon}"
            continue
        assert policy.spent == horizon or not policy.spends_all, (
            f"done after {policy.spent} of {horizon} evaluations; if that is meant, the policy "
            "must say spends_all = False"
        )
        assert policy.finished, "it wants more after it was done"


def a_run_depends_on_its_tells_alone(make: PolicyFactory, case: Case) -> None:
    """The same seed and the same tells give the same asks, recommendations and bias, to the bit.

    Whatever another policy does on the same options in between, and though who told overwrites his
    arrays afterwards.
    """
    seeds = (0, 7)
    alone = [_run(make(case.actions, HORIZON, seed=seed), case, seed=seed) for seed in seeds]
    policies = [make(case.actions, HORIZON, seed=seed) for seed in seeds]
    turns = [_Run(finished=run.finished) for run in alone]
    for i in range(max(len(run.told) for run in alone)):
        for run, turn, policy in zip(alone, turns, policies, strict=True):
            if i < len(run.told):
                turn.known.append(_knowledge(policy))
                turn.asks.append(policy.ask())
                parts = [part.copy() for part in run.told[i].parts]
                policy.tell(Feedback(*parts))
                for part in parts:
                    part.fill(7)
    for run, turn, policy in zip(alone, turns, policies, strict=True):
        difference = run.differs_from(turn)
        assert not difference, f"replayed beside another, it went another way: {difference}"
        assert policy.finished or not run.finished, "replayed to the end, it wants more"


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
        assert policy.spent == horizon or not run.finished or not policy.spends_all, (
            f"horizon {horizon}: done after {policy.spent} evaluations"
        )


def evaluators_may_work_side_by_side(make: PolicyFactory, case: Case) -> None:
    """Seven evaluators answer in any order, some not at all, some late: the run ends all the same.

    What is lost is asked for again; what comes late is taken.
    """
    horizon, evaluators = 100, 7
    policy, rng = make(case.actions, horizon), np.random.default_rng(4)
    pending = np.zeros(len(case.actions), dtype=np.int64)
    for _ in range(20 * horizon):
        free = evaluators - int(pending.sum())
        if free > 0:
            pending += policy.ask(free, pending).counts
            if not pending.any():
                break
        x, fate = int(rng.choice(np.repeat(np.arange(len(pending)), pending))), rng.random()
        (late,) = np.nonzero(policy.limits.outstanding > pending)
        if 0.1 <= fate < 0.3 and len(late) and policy.remaining > pending.sum():
            x = int(late[0])
        else:
            pending[x] -= 1
        if fate >= 0.1:  # else it is lost
            _tell_some([policy], _one_by_one(np.eye(len(pending), dtype=np.int64)[x], case, rng))
    assert not pending.any(), "it does not end"
    assert policy.finished, "with nothing pending it asked for nothing, and is not finished"
    assert policy.remaining == 0 or not policy.spends_all, (
        f"with nothing pending it asks for nothing, and {policy.remaining} remain"
    )


def what_is_said_can_be(make: PolicyFactory, case: Case) -> None:
    """It recommends an option by index and label; the interval of the bias holds its estimate.

    At any time, at any horizon. Before there is an estimate, the interval is all numbers.
    """
    options = Questions.of(case.actions).options

    def check(policy: Policy) -> None:
        decision, bias = policy.recommend(), policy.bias()
        assert isinstance(decision.option, int), f"index of type {type(decision.option).__name__}"
        assert 0 <= decision.option < len(options), f"there is no option {decision.option}"
        label = options.labels[decision.option]
        assert decision.label == label, f"calls option {label!r} {decision.label!r}"
        assert 0.0 <= bias.level <= 1.0, f"level {bias.level} is not a probability"
        everything = (bias.low, bias.high) == (-np.inf, np.inf)
        assert bias.low <= bias.value <= bias.high or (np.isnan(bias.value) and everything), (
            f"the estimate is not in its interval, or there is an interval without one: {bias}"
        )

    for horizon in (1, len(case.actions), HORIZON, 10**12):
        _run(make(case.actions, horizon), case, meddle=check, look=False)


def bias_intervals_cover(make: PolicyFactory, case: Case) -> None:
    """The true bias lies in the interval at the end of a run as often as the level says.

    Twenty-four runs; fails where so many misses have a probability below 10⁻⁶ at the stated level.
    """
    _holds_as_often_as_said(partial(make, noise_scale=1.0), case, runs=24)


def nothing_rests_on_a_guess(make: PolicyFactory, case: Case) -> None:
    """Not told how noisy evaluations are, a policy says nothing that more noise makes false.

    Noise is 64 times what it is elsewhere. Bias and loss must lie within what is said of them, as
    often as the level says, in sixteen runs.
    """
    _holds_as_often_as_said(make, case, runs=16, noise=64.0)


def _holds_as_often_as_said(make: PolicyFactory, case: Case, runs: int, noise: float = 1.0) -> None:
    misses: dict[str, list[bool]] = {"bias": [], "loss": []}
    levels: dict[str, list[float]] = {"bias": [], "loss": []}
    for seed in range(runs):
        policy = make(case.actions, HORIZON, seed=seed)
        _run(policy, case, seed=100 + seed, noise=noise, look=False)
        bias, decision = policy.bias(), policy.recommend()
        lost = case.values.max() - case.values[decision.option]
        misses["bias"].append(not bias.covers(case.bias))
        misses["loss"].append(bool(lost > decision.loss + 1e-9))
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


def observing_teaches_or_is_refused(make: PolicyFactory, case: Case) -> None:
    """Evaluations that nobody asked for are learnt from, or refused, which changes nothing.

    What is learnt shows: after 10⁹ evaluations of each option, the bias is known to 1%, unless the
    policy never says. That holds before the first evaluation that was asked for as after some.
    """
    for told in (3, 0):
        policy, rng = make(case.actions, HORIZON), np.random.default_rng(5)
        for _ in range(told):
            if not policy.finished:
                policy.tell(drawn(policy.ask().counts, case, rng))
        asked, said = policy.ask(), _knowledge(policy)
        plenty = np.full(len(case.actions), 10**9)
        try:
            policy.observe(drawn(plenty, case, rng))
        except InputError:
            assert np.array_equal(policy.ask().counts, asked.counts), "refusing, it asks otherwise"
            assert _knowledge(policy) == said, "a refusal changed what it knows"
            continue
        bias = policy.bias()
        near = abs(bias.value - case.bias) <= 0.01 * max(abs(case.bias), 1.0)
        assert np.isnan(bias.value) or (near and bias.covers(case.bias)), (
            f"the bias is {case.bias}; after 10⁹ evaluations of each option it says {bias}"
        )
        _run(policy, case)


def a_copy_goes_on_the_same(make: PolicyFactory, case: Case) -> None:
    """At every step, what `restore` makes of the state goes on as the policy would, to the bit.

    The state goes through JSON. A state without what the policy remembers is refused. Who says
    ``memory = None`` has none.
    """
    if getattr(make(case.actions, HORIZON), "memory", make) is None:
        return
    policy, rng = make(case.actions, HORIZON), np.random.default_rng(6)
    twin = _restored(policy)
    for i in range(ROUNDS // 4):
        allocation = policy.ask()
        n, pending = 1 + i % 4, allocation.counts // 2
        beside = policy.ask(n, pending)
        for a, b in ((allocation, twin.ask()), (beside, twin.ask(n, pending))):
            assert np.array_equal(a.counts, b.counts), (
                f"step {i}: it asks {_shown(b.counts)}, not {_shown(a.counts)}"
            )
        assert _knowledge(twin) == _knowledge(policy), f"step {i}: it knows something else"
        if allocation.total == 0:
            break
        if i % 2:  # with the asks of now handed out, or not
            twin = _restored(twin)
        _tell_some([policy, twin], _one_by_one(allocation.counts, case, rng)[: 1 + 7 * (i % 3)])
        if not i % 2:
            twin = _restored(twin)
    state = policy.state()
    try:
        restore(state | {"run": state["run"] | {"memory": {}}}, type(policy))
    except InputError:
        return
    raise AssertionError("a state without a memory is accepted")


def _restored(policy: Policy) -> Policy:
    return restore(json.loads(json.dumps(policy.state())), type(policy))


def a_plan_can_be_carried_over(make: PolicyFactory, case: Case) -> None:
    """`plan` changes nothing; two policies that begin the same plans, and are told the same, agree.

    Plans go through JSON, as a record has them.
    """
    policy, twin = (make(case.actions, HORIZON) for _ in range(2))
    rng, pending = np.random.default_rng(8), np.zeros(len(case.actions), dtype=np.int64)
    for i in range(ROUNDS // 4):
        for _ in range(ROUNDS):
            plan, said = policy.plan(pending), _knowledge(policy)
            if plan is None:
                break
            assert policy.plan(pending) == plan, f"step {i}: asked twice, it plans otherwise"
            assert _knowledge(policy) == said, f"step {i}: to plan changed what it knows"
            for each in (policy, twin):
                each.begin(json.loads(json.dumps(plan)))
        counts = policy.ask(5, pending).counts
        there = twin.ask(5, pending).counts
        assert np.array_equal(counts, there), (
            f"step {i}: by the same plans, it asks {_shown(there)}, not {_shown(counts)}"
        )
        pending = pending + counts
        if not pending.any():
            return
        back = _one_by_one(pending, case, rng)[: 1 + i % 5]
        pending = pending - _tell_some([policy, twin], back)
        assert _knowledge(twin) == _knowledge(policy), f"step {i}: by the same plans it differs"


def limits_are_kept(make: PolicyFactory, case: Case) -> None:
    """No question, evaluator or budget is asked for more than there is, told or on its way.

    Nobody who is away is asked, nor who is not available; who is away can come back. The run ends.
    """
    questions = Questions.of(case.actions)
    names, prices = questions.evaluators, questions.prices
    for budget in (None, float(prices.min()), 3.5 * float(prices.max())):
        policy, rng = make(case.actions, HORIZON, budget=budget), np.random.default_rng(7)
        told = np.zeros(len(questions), dtype=np.int64)
        pending = told.copy()
        away: str | None = None
        for i in range(ROUNDS):
            who = None if i % 3 else names[i // 3 % len(names)]
            if i in (2, 6):
                away = names[i % len(names)]
                policy.limits.leave(away)
            elif i in (4, 8) and away is not None:
                policy.limits.join(away)
                away = None
            for one in names if i < 6 else ():  # aside: nobody acts on it
                aside = np.flatnonzero(policy.ask(2, pending, [one]).counts).tolist()
                others = {questions.evaluator_of(x) for x in aside} - {one}
                assert not others, f"ask {i}: only {one} is available, not {others}"
            counts = policy.ask((1, 4, None)[i % 3], pending, None if who is None else [who]).counts
            _refuse_beyond_limits(questions, told + pending + counts, budget, f"ask {i}")
            asked = [questions.evaluator_of(x) for x in np.flatnonzero(counts).tolist()]
            assert away is None or away not in asked, f"ask {i}: {away} is away, and asked"
            assert who is None or set(asked) <= {who}, f"ask {i}: only {who} is free, not {asked}"
            pending += counts
            if pending.any() and (i % 4 or not counts.any()):  # some are waited for, some late
                x = int(rng.choice(np.flatnonzero(pending)))
                back = np.zeros_like(pending)
                back[x] = pending[x]
                policy.tell(drawn(back, case, rng))
                pending, told = pending - back, told + back
            elif who is None and away is None and not pending.any():
                break
        else:
            left = HORIZON - int(told.sum())
            assert left == 0 or not limited(questions), "it does not end, and asks for nothing"
        if away is None and not pending.any():
            assert policy.finished, "with nothing pending it asked for nothing, and is not finished"


def _refuse_beyond_limits(
    questions: Questions, asked: Counts, budget: float | None, at: str
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


QUESTION_CHECKS: tuple[Check, ...] = (
    looking_and_asking_change_nothing,
    a_run_ends_when_all_is_spent,
    never_fails_midway,
    evaluators_may_work_side_by_side,
    what_is_said_can_be,
    units_do_not_matter,
    observing_teaches_or_is_refused,
    a_copy_goes_on_the_same,
    a_plan_can_be_carried_over,
)
"""What is checked on `QUESTION_CASES`, too, of policies that play questions."""

CHECKS: tuple[Check, ...] = (
    *QUESTION_CHECKS,
    a_run_depends_on_its_tells_alone,
    bias_intervals_cover,
    nothing_rests_on_a_guess,
)
"""All checks; the name of each says what holds."""


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
    >>> asked_for(eh.FairPhasedElimination)
    []
    """
    policy = make(CASES[0].actions, HORIZON)
    if not policy.plays_questions:
        return []
    pairs = list(itertools.product(QUESTION_CHECKS, QUESTION_CASES))
    pairs.append((nothing_rests_on_a_guess, QUESTION_CASES[0]))
    return [*pairs, *((limits_are_kept, case) for case in LIMITED_CASES)]
