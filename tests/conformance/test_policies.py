"""Every registered policy keeps the contract; a new one is found here by itself.

Below, policies that break the contract, one way each: the suite must catch them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.policies import Play, policy_class
from evenhand.questions import UNLIMITED, limited
from evenhand.research.rivals.identification import IdentificationPolicy
from evenhand.testing import (
    CASES,
    CHECKS,
    LIMITED_CASES,
    QUESTION_CASES,
    QUESTION_CHECKS,
    Case,
    Check,
    asked_for,
    check_policy,
)
from evenhand.testing.checks import limits_are_kept, never_fails_midway, what_is_said_can_be
from rotation import nightly

NAMES = sorted({*eh.registered_policies()} - {"oracle"})
RIVALS = [name for name in NAMES if ".research." in policy_class(name).__module__]
OURS = sorted({*NAMES} - {*RIVALS})

# Also what must be caught: the short runs of the day are long enough for that.
pytestmark = pytest.mark.usefixtures("short_by_day")


def told_oracle(
    bias: float, actions: eh.ActionSet, horizon: int, value_bound: float = 1.0, **options: Any
) -> eh.Policy:
    """The oracle of a case: it is told the bias, which is in units of the value bound."""
    omega = bias * value_bound if isinstance(value_bound, float) else bias
    return eh.policy("oracle", actions, horizon, omega=omega, value_bound=value_bound, **options)


@pytest.mark.rotated("case", name=OURS, check=CHECKS, case=CASES)
def test_contract(name: str, check: Check, case: Case) -> None:
    check(partial(eh.policy, name), case)


@pytest.mark.rotated("check", name=RIVALS, check=CHECKS, case=CASES)
def test_contract_of_rivals(name: str, check: Check, case: Case) -> None:
    """By day every rival on every case, and every check with some rival on every case."""
    check(partial(eh.policy, name), case)


@pytest.mark.parametrize("name", NAMES)
def test_contract_on_questions(name: str, request: pytest.FixtureRequest) -> None:
    """On questions, if the policy says of itself that it plays them; by day on one case in turn."""
    make = partial(eh.policy, name)
    turn = PLAYERS.index(name) if name in PLAYERS else 0
    for check, case in asked_for(make):
        if request.config.getoption("--nightly") or in_turn(turn, check, case):
            check(make, case)


PLAYERS = [name for name in NAMES if policy_class(name).plays_questions]


def in_turn(turn: int, check: Check, case: Case) -> bool:
    """Whether a check is for this policy's turn on a case; all are on questions with limits."""
    if check not in QUESTION_CHECKS or case not in QUESTION_CASES:
        return True
    places = turn, QUESTION_CHECKS.index(check), QUESTION_CASES.index(case)
    return sum(places) % len(QUESTION_CASES) == 0


@pytest.mark.parametrize("case", [*QUESTION_CASES, *LIMITED_CASES], ids=lambda case: case.name)
@pytest.mark.parametrize("name", [*NAMES, "oracle"])
def test_questions_are_played_or_refused(name: str, case: Case) -> None:
    """By what the class says of itself; who plays them can do without an evaluator.

    Rivals that look for the best option play what may be asked at will.
    """
    cls, questions = policy_class(name), eh.Questions.of(case.actions)
    more = {"omega": 0.25} if name == "oracle" else {}
    bound = limited(questions) or np.ptp(questions.prices) or len(questions.evaluators)
    if issubclass(cls, IdentificationPolicy) and not bound and not questions.options.stand_alone:
        assert eh.policy(name, case.actions, 100).ask().counts.shape == (len(questions),)
        return
    if not cls.plays_questions:
        with pytest.raises(eh.InputError, match="Use certain-choice"):
            eh.policy(name, case.actions, 100, **more)
        return
    policy = eh.policy(name, case.actions, 100)
    if len(questions.evaluators):
        policy.limits.leave(questions.evaluators[0])
    with pytest.raises(eh.InputError, match="no evaluator 'nobody'"):
        policy.limits.leave("nobody")


# What evaluations cannot tell, the oracle still knows. By day every other of the rest.
OF_ORACLE = list(itertools.product([c for c in CHECKS if c is not never_fails_midway], CASES))
BY_DAY = [one for n, one in enumerate(OF_ORACLE) if (n + n // len(CASES)) % 2 == 0]


@pytest.mark.parametrize(
    ("check", "case"),
    [*BY_DAY, *nightly(one for one in OF_ORACLE if one not in BY_DAY)],
    ids=lambda one: one.name if isinstance(one, Case) else one.__name__,
)
def test_contract_of_the_oracle(check: Check, case: Case) -> None:
    check(partial(told_oracle, case.bias), case)


class Steady(eh.Policy):
    """A policy that keeps the contract: it evaluates seven options at a time, drawn at random."""

    name = "steady"

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon, **scales)
        self.sums = np.zeros(len(actions))
        self.counts = np.zeros(len(actions), dtype=np.int64)

    def play(self) -> Play:
        while self.remaining > 0:
            drawn = self._rng().integers(len(self.actions), size=min(7, self.remaining))
            feedback = yield np.bincount(drawn, minlength=len(self.actions)).astype(np.int64)
            self.take(feedback)

    def take(self, feedback: eh.Feedback) -> None:
        self.sums = self.sums + feedback.sums
        self.counts = self.counts + np.asarray(feedback.counts, dtype=np.int64)

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, int(np.argmax(self.sums)))

    def bias(self) -> eh.Estimate:
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)


class Stepping(Steady):
    """A policy that keeps the contract step by step: options in turn, all evaluations learnt."""

    name = "stepping"

    def propose(self, n: int | None, pending: Counts) -> Counts:
        first = int((self.counts + pending).sum())
        most = min(n or 5, self.remaining - int(pending.sum()))
        turns = np.arange(first, first + most) % len(self.actions)
        return np.bincount(turns, minlength=len(self.actions)).astype(np.int64)

    def learn(self, feedback: eh.Feedback) -> None:
        self._round += 1
        self.take(feedback)

    def take_in(self, feedback: eh.Feedback) -> bool:
        self.take(feedback)
        return True

    def memory(self) -> dict[str, Any]:
        return {"sums": self.sums, "counts": self.counts}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.sums = np.array(memory["sums"], dtype=np.float64)
        self.counts = np.array(memory["counts"], dtype=np.int64)


class Curious(Stepping):
    """Counts how often it was asked, and asks by that."""

    asked = 0

    def propose(self, n: int | None, pending: Counts) -> Counts:
        self.asked += 1
        most = min(n or 5, self.remaining - int(pending.sum()))
        return {self.asked % len(self.actions): most}


class Eager(Stepping):
    """Gives every evaluator as much as it likes."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        return super().propose(None, pending)


class Waiting(Stepping):
    """Waits for ever for what was lost."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        return super().propose(n, pending) * (not (self.limits.outstanding - pending).any())


class Polite(Stepping):
    """Takes in what it did not ask for, and learns nothing from it."""

    def take_in(self, feedback: eh.Feedback) -> bool:
        return True

    def bias(self) -> eh.Estimate:
        return eh.Estimate(float(self.sums.sum() * 1e-9), -np.inf, np.inf, 0.95)


class Greedy(Stepping):
    """Learns from what it refuses."""

    def take_in(self, feedback: eh.Feedback) -> bool:
        self.take(feedback)
        return False


class Amnesiac(Stepping):
    """Remembers its counts, not its sums."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.counts = np.array(memory["counts"], dtype=np.int64)


class Unmemorable(Stepping):
    """Puts something into its state that JSON does not carry."""

    def memory(self) -> dict[str, Any]:
        return super().memory() | {"self": object()}


class Memoryless(Steady):
    """Decides step by step, and has no memory."""

    propose, learn = Stepping.propose, Stepping.learn


class Obliging(Stepping):
    """Makes do with any memory."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        if isinstance(memory, Mapping) and "sums" in memory:
            super().recall(memory)


class Lavish(Steady):
    """Spends more than there is."""

    def play(self) -> Play:
        while self.remaining > 0:
            self.take((yield {0: 7}))


class Lazy(Steady):
    """Stops at half its horizon, and does not say so."""

    def play(self) -> Play:
        while self.remaining > self.horizon / 2:
            self.take((yield {0: 1}))


class Pausing(Steady):
    """Asks for nothing in the middle of a run."""

    def play(self) -> Play:
        yield {0: 1}
        yield {0: 0}
        yield {0: self.remaining}


class Borrowing(Stepping):
    """Keeps the arrays it was told, and reads them later."""

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon, **scales)
        self.told: list[eh.Feedback] = []

    def take(self, feedback: eh.Feedback) -> None:
        self.told.append(feedback)

    def recommend(self) -> eh.Decision:
        sums = sum((feedback.sums for feedback in self.told), np.zeros(len(self.actions)))
        return eh.Decision.of(self, int(np.argmax(np.floor(sums))))


class Unrepeatable(Steady):
    """Takes its randomness from nowhere."""

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng()


class Shared(Steady):
    """Learns for all runs at once."""

    everywhere: ClassVar[dict[int, Any]] = {}

    def take(self, feedback: eh.Feedback) -> None:
        super().take(feedback)
        self.everywhere[id(self.actions)] = self.everywhere.get(id(self.actions), 0.0) + self.sums

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(
            self, int(np.argmax(self.everywhere.get(id(self.actions), self.sums)))
        )


class Nervous(Steady):
    """Changes when it is looked at."""

    looks = 0

    def recommend(self) -> eh.Decision:
        self.looks += 1
        return eh.Decision.of(self, self.looks % len(self.actions))


class Watched(Steady):
    """Plays otherwise when it is looked at."""

    looks = 0

    def play(self) -> Play:
        while self.remaining > 0:
            option = (self.looks > self._round) % len(self.actions)
            self.take((yield {option: min(7, self.remaining)}))

    def bias(self) -> eh.Estimate:
        self.looks += 1
        return super().bias()


class Nameless(Steady):
    """Calls every option by the same name."""

    def recommend(self) -> eh.Decision:
        return replace(super().recommend(), label="?")


class Outside(Steady):
    """States an interval beside its estimate."""

    def bias(self) -> eh.Estimate:
        return eh.Estimate(0.0, 1.0, 2.0, 0.95)


class Boastful(Steady):
    """States an interval far too short."""

    def bias(self) -> eh.Estimate:
        return eh.Estimate(0.0, -1e-3, 1e-3, 0.95)


class Guessing(Stepping):
    """Takes the noise to be 1 where it was not told."""

    def bias(self) -> eh.Estimate:
        value = float(self.sums.sum() / max(self.counts.sum(), 1))
        return eh.Estimate(value, value - 10 * self.noise_scale, value + 10 * self.noise_scale, 0.9)


class Overclaiming(Stepping):
    """Is sure that it loses little, whatever it was told."""

    def recommend(self) -> eh.Decision:
        worst = int(np.argmin(self.sums / np.maximum(self.counts, 1)))
        return replace(eh.Decision.of(self, worst), loss=0.0, level=0.9)


class Unitary(Steady):
    """Compares evaluations with a number of no unit."""

    def play(self) -> Play:
        while self.remaining > 0:
            option = int(self.sums.max() > 3.0)
            self.take((yield {option: min(7, self.remaining)}))


class Surprised(Steady):
    """Finds out too late that the bias cannot be estimated."""

    def play(self) -> Play:
        self.take((yield {0: min(7, self.remaining)}))
        eh.bias_geometry(self.actions)
        yield from super().play()


class Headstrong(Unrepeatable):
    """Goes by plans of its own."""

    def begin(self, plan: Mapping[str, Any]) -> None:
        pass


class Undecided(Steady):
    """Plans otherwise each time it is asked to."""

    def plan(self, pending: ArrayLike | None = None) -> dict[str, Any] | None:
        self.seed += 1
        made = super().plan(pending)
        return None if made is None else made | {"seed": self.seed}


CAUGHT = {
    "looking_and_asking_change_nothing": (Curious, Eager, Nervous, Watched),
    "a_run_ends_when_all_is_spent": (Lavish, Lazy, Pausing),
    "a_run_depends_on_its_tells_alone": (Borrowing, Unrepeatable, Shared),
    "never_fails_midway": (Surprised,),
    "evaluators_may_work_side_by_side": (Waiting,),
    "what_is_said_can_be": (Nameless, Outside),
    "bias_intervals_cover": (Boastful,),
    "nothing_rests_on_a_guess": (Guessing, Overclaiming),
    "units_do_not_matter": (Unitary,),
    "observing_teaches_or_is_refused": (Polite, Greedy),
    "a_copy_goes_on_the_same": (Amnesiac, Unmemorable, Memoryless, Obliging),
    "a_plan_can_be_carried_over": (Headstrong, Undecided),
}


@pytest.mark.parametrize("own", [Steady, Stepping], ids=lambda own: own.__name__)
def test_a_policy_of_ones_own_can_pass(own: type[eh.Policy]) -> None:
    check_policy(own, cases=CASES[:2])


@pytest.mark.parametrize(
    ("broken", "by"), [(broken, by) for by, all_of in CAUGHT.items() for broken in all_of]
)
def test_the_suite_catches(broken: type[eh.Policy], by: str) -> None:
    """Each way to break the contract is found by the check that is about it, with the reason."""
    (check,) = (check for check in CHECKS if check.__name__ == by)
    with pytest.raises(AssertionError, match=f"^{check.__name__}, .+: .+"):
        check_policy(broken, checks=(check,))


class Frank(Lazy):
    """Stops at half its horizon, and says so."""

    spends_all = False


def test_a_policy_may_say_that_it_stops_early() -> None:
    check_policy(Frank, cases=CASES[:2])


class Asking(Stepping):
    """A policy that keeps the contract on questions: in turn those that it may ask."""

    name = "asking"
    plays_questions = True

    def propose(self, n: int | None, pending: Counts) -> Counts:
        counts = np.zeros(len(self.actions), dtype=np.int64)
        for _ in range(min(n or 5, self.remaining - int(pending.sum()))):
            (free,) = np.nonzero(self.limits.open(pending + counts))
            if len(free) == 0:
                break
            counts[free[np.argmin((self.counts + pending + counts)[free])]] += 1
        return counts

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)


class Confused(Asking):
    """Recommends a question."""

    def recommend(self) -> eh.Decision:
        best = len(self.actions) - 1
        return eh.Decision(best, self.actions.labels[best])


class Unlimited(Asking):
    """Says that it heeds limits, and does not."""

    propose = Stepping.propose


class Overworking(Asking):
    """Heeds the capacity of each question, not the workload that they share."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        left = self.limits.questions.capacity - self.counts - pending
        most = min(n or 5, self.remaining - int(pending.sum()))
        return np.diff(np.minimum(np.cumsum(np.clip(left, 0, UNLIMITED)), most), prepend=0)


class Calling(Asking):
    """Asks those who are away."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        self.limits.absent.clear()
        return super().propose(n, pending)


CAUGHT_ON_QUESTIONS = {
    Confused: (what_is_said_can_be, QUESTION_CASES),
    Unlimited: (limits_are_kept, LIMITED_CASES),
    Overworking: (limits_are_kept, LIMITED_CASES[1:]),
    Calling: (limits_are_kept, LIMITED_CASES),
}


def test_a_policy_of_ones_own_can_play_questions() -> None:
    for check, case in asked_for(Asking):
        check(Asking, case)


@pytest.mark.parametrize("broken", CAUGHT_ON_QUESTIONS, ids=lambda broken: broken.__name__)
def test_the_suite_catches_on_questions(broken: type[eh.Policy]) -> None:
    check, cases = CAUGHT_ON_QUESTIONS[broken]
    with pytest.raises(AssertionError, match=f"^{check.__name__}, .+: .+"):
        check_policy(broken, checks=(check,), cases=cases)
