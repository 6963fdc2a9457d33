"""Every registered policy keeps the contract; a new one is found here by itself.

Below, policies that break the contract, one way each: the suite must catch them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.certainty.allowance import Allowance
from evenhand.policies.base import Play
from evenhand.questions import UNLIMITED
from evenhand.testing import (
    CASES,
    CHECKS,
    LIMITED_CASES,
    QUESTION_CASES,
    Case,
    Check,
    absence_is_heeded_or_refused,
    asked_for,
    check_policy,
    limits_are_kept,
    never_fails_midway,
    questions_are_played_or_refused,
    recommends_an_option,
)


def told_oracle(
    bias: float, actions: eh.ActionSet, horizon: int, value_bound: float = 1.0, **options: Any
) -> eh.Policy:
    """The oracle of a case: it is told the bias, which is in units of the value bound."""
    omega = bias * value_bound if isinstance(value_bound, float) else bias
    return eh.policy("oracle", actions, horizon, omega=omega, value_bound=value_bound, **options)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted({*eh.registered_policies()} - {"oracle"}))
def test_contract(name: str, check: Check, case: Case) -> None:
    check(partial(eh.policy, name), case)


@pytest.mark.parametrize("name", sorted({*eh.registered_policies()} - {"oracle"}))
def test_contract_on_questions(name: str) -> None:
    """On questions, by what the policy says of itself: it plays them, heeds limits, or refuses."""
    make = partial(eh.policy, name)
    for check, case in asked_for(make):
        check(make, case)


@pytest.mark.parametrize("case", [*QUESTION_CASES, *LIMITED_CASES], ids=lambda case: case.name)
def test_the_oracle_refuses_questions(case: Case) -> None:
    questions_are_played_or_refused(partial(told_oracle, case.bias), case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "check",
    # what evaluations cannot tell, the oracle still knows
    [check for check in CHECKS if check is not never_fails_midway],
    ids=lambda check: check.__name__,
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
            drawn = self.rng().integers(len(self.actions), size=min(7, self.remaining))
            feedback = yield np.bincount(drawn, minlength=len(self.actions)).astype(np.int64)
            self.take(feedback)

    def take(self, feedback: eh.Feedback) -> None:
        self.sums = self.sums + feedback.sums
        self.counts = self.counts + np.asarray(feedback.counts, dtype=np.int64)

    def recommend(self) -> eh.Decision:
        return self.decision(int(np.argmax(self.sums)))

    def bias(self) -> eh.Estimate:
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)


class Stepping(Steady):
    """A policy that keeps the contract step by step: options in turn, all evaluations learnt."""

    name = "stepping"

    def propose(self, n: int | None, pending: Counts) -> Counts:
        first = int((self.counts + pending).sum())
        turns = np.arange(first, first + min(n or 5, self.room(pending))) % len(self.actions)
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


class Forgetful(Steady):
    """Draws anew at every ask."""

    def ask(self, n: int | None = None, pending: ArrayLike | None = None) -> eh.Allocation:
        self._game, self._wanted = None, None
        self._answers.clear()
        return super().ask(n, pending)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


class Scribbled(Steady):
    """Hands out counts that can be written to."""

    def ask(self, n: int | None = None, pending: ArrayLike | None = None) -> eh.Allocation:
        allocation = super().ask(n, pending)
        allocation.counts.flags.writeable = True
        return allocation


class Fractional(Steady):
    """Asks for whole numbers of the wrong type."""

    def ask(self, n: int | None = None, pending: ArrayLike | None = None) -> eh.Allocation:
        allocation = super().ask(n, pending)
        return replace(allocation, counts=allocation.counts.astype(np.float64))


class Curious(Stepping):
    """Counts how often it was asked, and asks by that."""

    asked = 0

    def propose(self, n: int | None, pending: Counts) -> Counts:
        self.asked += 1
        return self.single(self.asked % len(self.actions), min(n or 5, self.room(pending)))


class Eager(Stepping):
    """Gives every evaluator as much as it likes."""

    def ask(self, n: int | None = None, pending: ArrayLike | None = None) -> eh.Allocation:
        return super().ask(None, pending)


class Impatient(Steady):
    """Says that its rounds are whole, and learns from parts of them."""

    def tell(self, feedback: eh.Feedback) -> None:
        super().tell(feedback)
        self.sums = self.sums + feedback.sums


class Miscounting(Stepping):
    """Forgets what is outstanding with every tell."""

    def learn(self, feedback: eh.Feedback) -> None:
        super().learn(feedback)
        self._outstanding[:] = 0


class Heedless(Stepping):
    """Takes no account of what is on its way."""

    def room(self, pending: Counts) -> int:
        return self.remaining


class Waiting(Stepping):
    """Waits for ever for what was lost."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        return super().propose(n, pending) * (not (self._outstanding - pending).any())


class Welcoming(Stepping):
    """Thinks that anything may be pending."""

    def _checked_pending(self, pending: ArrayLike | None) -> Counts:
        return np.zeros(len(self.actions), dtype=np.int64)


class Polite(Stepping):
    """Takes in what it did not ask for, and learns nothing from it."""

    def take_in(self, feedback: eh.Feedback) -> bool:
        return True

    def bias(self) -> eh.Estimate:
        return eh.Estimate(float(self.sums.sum() * 1e-9), -np.inf, np.inf, 0.95)


class Uncounted(Stepping):
    """Learns from what it did not ask for, and does not say how much that was."""

    @property
    def observed(self) -> int:
        return 0


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
            self.take((yield self.single(0, 7)))


class Lazy(Steady):
    """Stops at half its horizon, and does not say so."""

    def play(self) -> Play:
        while self.remaining > self.horizon / 2:
            self.take((yield self.single(0, 1)))


class Pausing(Steady):
    """Asks for nothing in the middle of a run."""

    def play(self) -> Play:
        yield self.single(0, 1)
        yield self.single(0, 0)
        yield self.single(0, self.remaining)


class Trusting(Steady):
    """Takes whatever it is told."""

    def tell(self, feedback: eh.Feedback) -> None:
        good = np.array(self.ask().counts)
        zeros = np.zeros(len(good))
        super().tell(eh.Feedback(good, zeros, zeros))


class Hasty(Steady):
    """Learns from a feedback before it is looked at."""

    def tell(self, feedback: eh.Feedback) -> None:
        if isinstance(feedback, eh.Feedback) and feedback.sums.shape == self.sums.shape:
            self.sums = self.sums + np.nan_to_num(feedback.sums) + 1.0
        super().tell(feedback)


class Borrowing(Stepping):
    """Keeps the arrays it was told, and reads them later."""

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon, **scales)
        self.told: list[eh.Feedback] = []

    def take(self, feedback: eh.Feedback) -> None:
        self.told.append(feedback)

    def recommend(self) -> eh.Decision:
        sums = sum((feedback.sums for feedback in self.told), np.zeros(len(self.actions)))
        return self.decision(int(np.argmax(np.floor(sums))))


class Unrepeatable(Steady):
    """Takes its randomness from nowhere."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng()


class Shared(Steady):
    """Learns for all runs at once."""

    everywhere: ClassVar[dict[int, Any]] = {}

    def take(self, feedback: eh.Feedback) -> None:
        super().take(feedback)
        self.everywhere[id(self.actions)] = self.everywhere.get(id(self.actions), 0.0) + self.sums

    def recommend(self) -> eh.Decision:
        return self.decision(int(np.argmax(self.everywhere.get(id(self.actions), self.sums))))


class Nervous(Steady):
    """Changes when it is looked at."""

    looks = 0

    def recommend(self) -> eh.Decision:
        self.looks += 1
        return self.decision(self.looks % len(self.actions))


class Watched(Steady):
    """Plays otherwise when it is looked at."""

    looks = 0

    def play(self) -> Play:
        while self.remaining > 0:
            option = (self.looks > self._round) % len(self.actions)
            self.take((yield self.single(option, min(7, self.remaining))))

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
        return replace(self.decision(worst), loss=0.0, level=0.9)


class Unitary(Steady):
    """Compares evaluations with a number of no unit."""

    def play(self) -> Play:
        while self.remaining > 0:
            option = int(self.sums.max() > 3.0)
            self.take((yield self.single(option, min(7, self.remaining))))


class Credulous(Steady):
    """Takes any scale."""

    def __init__(self, actions: eh.ActionSet, horizon: int, **scales: Any) -> None:
        super().__init__(actions, horizon)


class Surprised(Steady):
    """Finds out too late that the bias cannot be estimated."""

    def play(self) -> Play:
        self.take((yield self.single(0, min(7, self.remaining))))
        eh.bias_geometry(self.actions)
        yield from super().play()


class Deriving(Steady):
    """Takes no note of what was handed out."""

    def hand_out(self, counts: ArrayLike, pending: ArrayLike | None = None) -> None:
        pass


class Expecting(Steady):
    """Takes what its round does not ask for."""

    def expects(self, feedback: eh.Feedback) -> bool:
        return True


class Headstrong(Steady):
    """Adopts no plan, and does not say so."""

    def adopt(self, plan: Mapping[str, Any]) -> None:
        pass


class Improvising(Stepping):
    """Says that it has a plan, and has none."""

    @property
    def plan_id(self) -> int | None:
        return self._round


class Restarting(Steady):
    """Forgets what it was told when there is more to ask."""

    def extended(self, actions: Any) -> eh.Policy:
        return Restarting(actions, self.horizon)


CAUGHT = {
    Deriving: "a_record_is_enough",
    Expecting: "a_record_is_enough",
    Headstrong: "a_record_is_enough",
    Improvising: "a_record_is_enough",
    Restarting: "extending_keeps_what_was_told",
    Forgetful: "asking_again_changes_nothing",
    Scribbled: "asking_again_changes_nothing",
    Fractional: "counts_are_affordable",
    Lavish: "counts_are_affordable",
    Lazy: "asks_nothing_only_at_the_end",
    Pausing: "asks_nothing_only_at_the_end",
    Trusting: "malformed_feedback_is_refused",
    Hasty: "malformed_feedback_is_refused",
    Borrowing: "what_was_told_is_kept",
    Unrepeatable: "replay_gives_the_same",
    Shared: "runs_are_independent",
    Nervous: "looking_changes_nothing",
    Watched: "looking_changes_nothing",
    Nameless: "recommends_an_option",
    Outside: "bias_lies_in_its_interval",
    Boastful: "bias_intervals_cover",
    Guessing: "nothing_rests_on_a_guess",
    Overclaiming: "nothing_rests_on_a_guess",
    Unitary: "units_do_not_matter",
    Credulous: "bad_arguments_are_refused",
    Surprised: "never_fails_midway",
    Curious: "asking_aside_changes_nothing",
    Eager: "asking_aside_changes_nothing",
    Impatient: "any_part_may_be_told",
    Miscounting: "any_part_may_be_told",
    Heedless: "evaluators_may_work_side_by_side",
    Waiting: "evaluators_may_work_side_by_side",
    Welcoming: "evaluators_may_work_side_by_side",
    Polite: "observing_teaches_or_is_refused",
    Uncounted: "observing_teaches_or_is_refused",
    Greedy: "observing_teaches_or_is_refused",
    Amnesiac: "a_copy_goes_on_the_same",
    Unmemorable: "a_copy_goes_on_the_same",
    Memoryless: "a_copy_goes_on_the_same",
    Obliging: "bad_states_are_refused",
}


@pytest.mark.parametrize("own", [Steady, Stepping], ids=lambda own: own.__name__)
def test_a_policy_of_ones_own_can_pass(own: type[eh.Policy]) -> None:
    check_policy(own, cases=CASES[:2])


@pytest.mark.parametrize("broken", CAUGHT, ids=lambda broken: broken.__name__)
def test_the_suite_catches(broken: type[eh.Policy]) -> None:
    """Each way to break the contract is found by the check that is about it, with the reason."""
    (check,) = (check for check in CHECKS if check.__name__ == CAUGHT[broken])
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
    heeds_limits = True

    def propose(self, n: int | None, pending: Counts) -> Counts:
        counts, allowance = np.zeros(len(self.actions), dtype=np.int64), Allowance(self, pending)
        have = self.counts + pending
        for _ in range(min(n or 5, self.room(pending))):
            (free,) = np.nonzero(allowance.open)
            if len(free) == 0:
                break
            x = int(free[np.argmin((have + counts)[free])])
            allowance.take(x, 1)
            counts[x] += 1
        return counts

    def recommend(self) -> eh.Decision:
        return self.decision(0)


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

    def workload_left(self, pending: Counts) -> Counts:
        return np.full(len(self.questions.evaluators), UNLIMITED)


class Spendthrift(Asking):
    """Spends more than it was given."""

    def _affordable(self, counts: Counts, pending: Counts) -> Counts:
        return counts

    propose = Stepping.propose

    def ask(self, *args: Any, **options: Any) -> eh.Allocation:
        self.money = np.inf
        return super().ask(*args, **options)


class Calling(Asking):
    """Asks those who are away."""

    def leave(self, evaluator: str) -> None:
        pass


class Unhearing(Asking):
    """Asks everybody, whoever is available."""

    def left(self, pending: Counts) -> Counts:
        self._available = None
        return super().left(pending)


class Overconfident(Steady):
    """Does not tell questions from options, and does not say so."""

    def _refuse_what_it_cannot_play(self) -> None:
        pass


class Aloof(Asking):
    """Says that it heeds limits, and refuses that somebody leaves."""

    def leave(self, evaluator: str) -> None:
        raise eh.InputError("nobody may leave")


CAUGHT_ON_QUESTIONS = {
    Confused: (recommends_an_option, QUESTION_CASES),
    Overconfident: (questions_are_played_or_refused, QUESTION_CASES),
    Aloof: (absence_is_heeded_or_refused, QUESTION_CASES[:1]),
    Unlimited: (limits_are_kept, LIMITED_CASES),
    Overworking: (limits_are_kept, LIMITED_CASES),
    Spendthrift: (limits_are_kept, QUESTION_CASES[:1]),
    Calling: (limits_are_kept, LIMITED_CASES),
    Unhearing: (limits_are_kept, LIMITED_CASES),
}


def test_a_policy_of_ones_own_can_play_questions() -> None:
    for check, case in asked_for(Asking):
        check(Asking, case)


@pytest.mark.parametrize("broken", CAUGHT_ON_QUESTIONS, ids=lambda broken: broken.__name__)
def test_the_suite_catches_on_questions(broken: type[eh.Policy]) -> None:
    check, cases = CAUGHT_ON_QUESTIONS[broken]
    with pytest.raises(AssertionError, match=f"^{check.__name__}, .+: .+"):
        check_policy(broken, checks=(check,), cases=cases)
