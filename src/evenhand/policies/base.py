"""The protocol between a policy and whoever has the evaluations: ask, tell, observe, recommend.

Evaluators work side by side, answer in any order and sometimes not at all. So

- `ask(n, pending)` answers with at most n evaluations more, given those that are on their way. It
  changes nothing: until something is told or observed, the same question has the same answer.
- `tell` takes any part of what is outstanding: asked for, and not told yet. More than that, or what
  cannot be right, is refused and changes nothing. An evaluation that is lost is simply no longer
  pending; if it comes after all, and was not asked for again, it may still be told.
- `observe` takes evaluations nobody asked for, such as logged scores.
- `state` is all of it as a plain value, from which `restore` goes on anywhere.
- A record of a run is enough to have the policy again, too, on any machine: `hand_out` what was
  asked for, `adopt` the plan that was in force (`plan`), and `tell` what came back. Nothing of that
  is derived twice, so it does not matter that machines round differently. `extended` goes on with
  more options, evaluators or capacity.
- What a policy asks depends only on its arguments, its seed and what it was told.
- A policy sees evaluations only. The true parameters cannot reach it.

A policy is written in one of two ways. One that works in rounds is a generator, `play`, that
yields how often to evaluate each option and gets back the sums of those evaluations; so its file
reads like pseudo-code. Such a round is handed out in parts and learnt when it is whole. One that
decides step by step has `propose` and `learn` instead.

Where a plan waits for its last answers, whoever is free may be asked more of the same meanwhile
(``beyond``), if the proof allows for it: what is asked then depends on who is free, never on what
was answered since the plan was made.

All this assumes that how long an answer takes does not depend on what it is: evaluations that come
back sooner because they are high would mislead every policy.
"""

from __future__ import annotations

import contextlib
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, TypedDict, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Counts, Floats, Indices
from evenhand.checks import Checks, Finding, refuse_beyond
from evenhand.errors import InputError
from evenhand.policies._sequential import Stepper
from evenhand.policies.messages import (
    Allocation,
    Decision,
    Estimate,
    Feedback,
    counts_in,
    dense,
    nothing,
    refuse_impossible,
    sparse,
)
from evenhand.questions import UNLIMITED, Askable, Column, Questions, checked_askable

Play = Generator[Counts, Feedback, None]

_UNIT = 1.0  # the paper's noise scale and value bound, to work with where none is given
_SCALES = (1e-60, 1e60)  # so that (σ/B)² κ_* T, up to 10^(240 + 20 + 18), is a number


class Settings(TypedDict, total=False):
    """What every policy can be told beside its options and horizon; see `Policy`."""

    noise_scale: float | None
    value_bound: float | None
    seed: int
    budget: float | None


class Policy(ABC):
    """A way of choosing what to evaluate next, over a given number of evaluations.

    A policy of your own has a ``name``, `recommend` and `bias`, and either `play` (rounds) or
    `propose` and `learn` (step by step). It may use ``actions``, ``points``, ``n_features``,
    ``horizon``, ``noise_scale``, ``value_bound``, ``remaining`` and `rng`. One that tells questions
    from options says so with ``plays_questions``, and uses ``questions``, ``options`` and `left`.

    Parameters
    ----------
    actions
        The options, or the questions that can be asked about them.
    horizon
        Number of evaluations in all, T ≥ 1.
    noise_scale
        Standard deviation σ of one evaluation, if it is known. If not, a policy estimates it, or
        works with 1, the paper's unit: that shapes what it asks, and nothing that it says.
    value_bound
        Largest magnitude B of an option's value, if it is known. If not, policies work with 1, and
        nothing that they say rests on it.
    seed
        Where the policy's own randomness starts, if it has any.
    budget
        How much money may be spent, at the questions' prices; as much as it takes if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> class First(eh.Policy):
    ...     name = "first"
    ...     def play(self):
    ...         yield self.single(0, self.remaining)
    ...     def recommend(self):
    ...         return self.decision(0)
    ...     def bias(self):
    ...         return eh.Estimate(float("nan"), -np.inf, np.inf, 0.95)
    >>> policy = First(eh.ActionSet([[1.0], [1.0]], ["a", "b"]), horizon=7)
    >>> policy.ask().counts
    array([7, 0])
    >>> policy.tell(eh.Feedback([3, 0], [1.5, 0.0], [2.0, 0.0]))       # a part of it
    >>> policy.ask(n=10, pending=[2, 0]).counts                        # two are on their way
    array([2, 0])
    """

    name: ClassVar[str]
    spends_all: bool = True
    """Whether the policy always asks until the horizon is spent."""
    noise_known: bool = True
    """Whether ``noise_scale`` is what it says; not where none was given, or it is estimated."""
    bound_known: bool = True
    """Whether ``value_bound`` is what it says; not where none was given."""
    bounds: tuple[float, float] | None = None
    """Between what scores must lie; others are refused. None if nobody said."""
    checked: bool = True
    """Whether what is told is checked against the model. A simulation, which draws evaluations from
    the model, leaves that out for policies that do not heed the checks."""
    heeds_checks: ClassVar[bool] = False
    """Whether what the policy asks depends on what the checks find."""
    plays_questions: ClassVar[bool] = False
    """Whether the policy tells what can be asked from what can be chosen."""
    heeds_limits: ClassVar[bool] = False
    """Whether it can do with questions that may be asked only so often."""
    goes_beyond: ClassVar[bool] = False
    """Whether a round may have more evaluations than it wants, in the same proportions, which come
    while the last of it are waited for."""
    rules: int = 2
    """By which rules plans follow one another, so that records of older ones can be gone on with:
    by 1, `CertainChoice` waits for all of a stage, whatever others have made up for."""
    told: ClassVar[tuple[str, ...]] = ("noise_scale",)
    """What a simulation tells the policy of the problem; only an oracle is told more."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # by place, and by name

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Take down what the policy is made of, for `state`."""
        policy = super().__new__(cls)
        policy._arguments = args, options
        return policy

    def __init__(
        self,
        actions: Askable,
        horizon: int,
        *,
        noise_scale: float | None = None,
        value_bound: float | None = None,
        seed: int = 0,
        budget: float | None = None,
    ) -> None:
        if not isinstance(getattr(self, "name", None), str):
            raise TypeError(f"{type(self).__name__} has no name; give the class a text `name`.")
        if not is_number(horizon) or not 1 <= horizon <= 10**18 or horizon != int(horizon):
            raise InputError(f"horizon must be a whole number from 1 to 10¹⁸; got {horizon!r}.")
        for label, scale in (("noise_scale", noise_scale), ("value_bound", value_bound)):
            if scale is None:
                continue
            if not is_number(scale) or not _SCALES[0] <= scale <= _SCALES[1]:
                raise InputError(
                    f"{label} must be a positive number, from {_SCALES[0]:g} to {_SCALES[1]:g}; "
                    f"got {scale!r}. Leave it out if it is not known."
                )
        if budget is not None and (not is_number(budget) or budget <= 0.0):
            raise InputError(f"budget must be a number larger than 0, or None; got {budget!r}.")
        self.actions: Any = checked_askable(actions)  # an ActionSet, unless it plays questions
        self.questions = Questions.of(self.actions)
        self.options = self.questions.options
        self._refuse_what_it_cannot_play()
        self.n_features = self.questions.n_features
        self.money = math.inf if budget is None else float(budget)
        self.spends_all = self.spends_all and budget is None and not self.questions.limited
        self.horizon = int(horizon)
        self.noise_scale = _UNIT if noise_scale is None else float(noise_scale)
        self.value_bound = _UNIT if value_bound is None else float(value_bound)
        self.noise_known = self.noise_known and noise_scale is not None
        self.bound_known = self.bound_known and value_bound is not None
        self.seed = seed
        k = len(self.actions)
        self._asked: Counts = np.zeros(k, dtype=np.int64)  # told or observed, by question
        self._paid = 0.0
        self._absent: set[int] = set()  # evaluators who cannot be asked now
        self._available: NDArray[np.bool_] | None = None  # what may be asked just now; None: all
        self._beyond = False  # whether to ask beyond the plan just now
        self._nothing: Counts = np.zeros(k, dtype=np.int64)
        self._nothing.flags.writeable = False
        self._outstanding: Counts = np.zeros(k, dtype=np.int64)
        self._answers: dict[object, Allocation] = {}
        self._failure: Exception | None = None
        self._checks: Checks | None = None
        self._round = 0
        self._plan_number = 0  # made since the first
        self._held = False  # to the plans of a record
        self._spent = 0
        self._observed = 0
        # of policies that work in rounds:
        self._game: Play | None = None
        self._wanted: Counts | None = None  # the present round; None before the first
        self._gathered = nothing(k)
        self._log: list[dict[str, Any]] = []  # the rounds before, and what was spent then
        self._start_spent = 0

    # ------------------------------------------------------------------ what an author writes

    def play(self) -> Play:
        """Yield counts of evaluations, receive their feedback, until the horizon is spent."""
        raise TypeError(
            f"{type(self).__name__} has neither play() nor propose() and learn(); write one of "
            "them."
        )

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Return (k,) counts of what to evaluate next, beside what is on its way.

        At most n; with None as many as the policy would like, within what `room` says. Must change
        nothing. A policy that works in rounds has this from `play`.
        """
        if self._wanted is None:
            self._start()
        assert self._wanted is not None
        have = self._gathered.counts + pending
        left = np.maximum(self._wanted - have, 0)
        if self.goes_beyond:
            n = min(int(self._wanted.sum()) if n is None else n, self.room(pending))
            if self._beyond and self._wanted.any() and not left.any():
                left = more_of(self._wanted, have, n)
        return left if n is None else first_of(left, n)

    def learn(self, feedback: Feedback) -> None:
        """Learn from evaluations that were asked for: a part of them, in any order.

        A policy that works in rounds has this from `play`: it gathers until the round is whole.
        """
        if self._wanted is None:
            self._start()
        assert self._wanted is not None
        self._gathered = self._gathered + feedback
        told, wanted = self._gathered.counts, self._wanted
        whole = bool((told == wanted).all())
        if self.goes_beyond:  # which may have taken what is left, too
            whole = bool(wanted.any() and ((told >= wanted).all() or self.remaining == 0))
        if whole:
            self._end_round()

    def expects(self, feedback: Feedback) -> bool:
        """Tell whether these evaluations are among those that `propose` asked for.

        What is not expected is refused by `tell`: a round would never be whole with it.
        """
        if not self.in_rounds or self.goes_beyond:
            return True
        if self._wanted is None:
            self._start()
        assert self._wanted is not None
        return bool((self._gathered.counts + feedback.counts <= self._wanted).all())

    def take_in(self, feedback: Feedback) -> bool:
        """Learn from evaluations that the policy did not ask for; return whether it did.

        A policy whose proof rests on its own evaluations alone leaves them aside: returns False.
        """
        return False

    @property
    def why_not_observed(self) -> str:
        """Why `take_in` leaves aside what was not asked for, and what to do instead."""
        return (
            f"{self.name!r} learns only from evaluations that it asked for: what it says rests on "
            "that. Use a policy that decides step by step, such as priced-exploration, or "
            "certain-choice, which plans by them; decide() says what scores alone tell."
        )

    def frozen(self) -> dict[str, Any] | None:
        """Return the plan in force, as arrays, numbers and texts by name; see `plan`.

        Of a policy that works in rounds: how often each question is asked in this one.
        """
        if not self.in_rounds:
            return None
        if self._wanted is None:
            self._start()
        assert self._wanted is not None
        (used,) = np.nonzero(self._wanted)
        return {"questions": used, "counts": self._wanted[used]}

    def freeze(self, plan: Mapping[str, Any]) -> None:
        """Put a plan in force that `frozen` returned; arrays may have become lists on the way."""
        if self._wanted is None:
            self._start()
        k, told = len(self.actions), self._gathered.counts
        whole = counts_in(plan, k)
        lacking = np.maximum(whole - told, 0)
        if (whole < told).any() and not self.goes_beyond:
            raise ValueError(f"{int(told.sum())} are told, and {int(whole.sum())} were wanted")
        if int(lacking.sum()) > self.remaining:
            raise ValueError(f"{int(told.sum())} are told, and {self.remaining} are left")
        whole.flags.writeable = False
        self._wanted = whole
        if told.any() and not lacking.any():
            self.learn(nothing(k))  # nothing is lacking: the round is whole

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked, as a plain value for the record.

        Returns
        -------
        dict
            ``what`` is done: "explore", "open" (a start that tests nothing), "compare", "check the
            model", "measure the bias", "ask what was planned"; ``stage``, the number of the plan;
            and of comparisons ``for`` whom they are made, the name of the option that leads, and
            ``against`` whom, the names of its rivals, the closest first (of more than twelve, the
            first twelve; ``others`` is how many more there are).

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.CertainChoice(eh.ActionSet([[1.0], [0.5]], ["a", "b"]))
        >>> policy.purpose()
        {'what': 'open', 'stage': 0}
        """
        return {"what": "explore", "stage": self._plan_number}

    @abstractmethod
    def recommend(self) -> Decision:
        """Return the option to choose by what is known now."""

    @abstractmethod
    def bias(self) -> Estimate:
        """Return the estimate of the bias, with an interval."""

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return all biases with their intervals, leniencies as deviations from the panel's mean.

        None of those that the policy does not say.
        """
        return []

    def values(self) -> Floats | None:
        """Return (k, 3) the value of every option with its interval: estimate, low, high.

        An option of which nothing is known is NaN, between −∞ and ∞. None if the policy does not
        say.
        """
        return None

    def findings(self) -> tuple[Finding, ...]:
        """Return what the evaluations so far say about the assumptions, alarms first.

        Of evaluations that were told or observed: compiled loops of a simulation are not checked.
        """
        return () if self._checks is None else self._checks.findings()

    def forecast(self) -> float:
        """Return how many evaluations are still expected to come; NaN if the policy cannot say."""
        return math.nan

    @property
    def stopped_because(self) -> str | None:
        """Why the policy is done, in plain words; None while it is not, or if it does not say."""
        return None

    def memory(self) -> dict[str, Any]:
        """Return all that was learnt, as arrays, numbers and texts by name; see `state`.

        Policies that work in rounds remember the rounds, and replay them.
        """
        if not self.in_rounds or type(self).take_in is not Policy.take_in:
            raise TypeError(
                f"{type(self).__name__} learns from more than whole rounds, so its state is its "
                "own: write memory() and recall()."
            )
        return {
            "start": self._start_spent,
            "rounds": self._log.copy(),
            "wanted": self._wanted,
            "gathered": sparse(self._gathered),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned; arrays may have become lists on the way."""
        k, spent = len(self.actions), self._spent
        self._game, self._wanted, self._log, self._round, self._plan_number = None, None, [], 0, 0
        if memory["wanted"] is not None:
            self._spent = memory["start"]
            self._start()
        for kept in memory["rounds"]:
            # what was asked for is not derived again: the round is the one that was told
            self._spent, feedback = kept["spent"], dense(kept, k)
            self._log.append({"spent": self._spent} | sparse(feedback))
            self._continue(feedback)
        if memory["wanted"] is not None:
            self._wanted = np.array(memory["wanted"], dtype=np.int64)
        self._gathered = dense(memory["gathered"], k)
        self._spent = spent

    def allow(self, at_most: int) -> None:
        """Let the policy ask for more evaluations: so many in all, those before included.

        Most policies are made for their horizon, and refuse.
        """
        raise InputError(
            f"{self.name!r} was made for {self.horizon:,} evaluations in all, which cannot become "
            f"{at_most!r}; make a new one."
        )

    def rng(self) -> np.random.Generator:
        """Return the randomness of the present round: it depends on seed and round only."""
        return np.random.default_rng([self.seed, self._round])

    def room(self, pending: Counts) -> int:
        """Return how many evaluations are left beside those on their way."""
        return max(0, self.remaining - int(pending.sum()))

    def left(self, pending: Counts) -> Counts:
        """Return (q,) how many more evaluations of every question may be asked for now.

        As far as capacities, evaluators' workloads and who is available allow; what is on its way
        counts as asked. `UNLIMITED` where nothing limits it.
        """
        questions = self.questions
        left = np.full(len(questions), UNLIMITED, dtype=np.int64)
        if questions.limited:
            have = self._asked + pending
            left = np.maximum(questions.capacity - have, 0)
            left[questions.capacity == UNLIMITED] = UNLIMITED
            who = questions.evaluator
            if (questions.workload < UNLIMITED).any():
                free = self.workload_left(pending)
                left[who >= 0] = np.minimum(left[who >= 0], free[who[who >= 0]])
        if self._absent:
            left[np.isin(questions.evaluator, list(self._absent))] = 0
        if self._available is not None:
            left[~self._available] = 0
        return left

    def workload_left(self, pending: Counts) -> Counts:
        """Return (e,) how much every evaluator may still be asked; `UNLIMITED` where no limit is.

        What is on its way counts as asked.
        """
        questions = self.questions
        who, have = questions.evaluator, self._asked + pending
        done = np.bincount(who[who >= 0], have[who >= 0], len(questions.evaluators))
        free = np.maximum(questions.workload - done.astype(np.int64), 0)
        return np.where(questions.workload == UNLIMITED, UNLIMITED, free)

    def allowed(self, order: Indices, pending: Counts) -> Indices:
        """Return what of an order of questions may be asked now, from its beginning on."""
        questions = self.questions
        if not (questions.limited or self._absent or self._available is not None):
            return order
        order = order[nth(order) <= self.left(pending)[order]]
        if (questions.workload < UNLIMITED).any():
            who = questions.evaluator[order]
            order = order[(who < 0) | (nth(who) <= self.workload_left(pending)[who])]
        return order

    def leave(self, evaluator: str) -> None:
        """Take note that an evaluator cannot be asked any more, until `join`."""
        self._absent.add(self._evaluator(evaluator))
        self._answers.clear()
        self.attendance_changed()

    def join(self, evaluator: str) -> None:
        """Take note that an evaluator can be asked, again or from now on."""
        self._absent.discard(self._evaluator(evaluator))
        self._answers.clear()
        self.attendance_changed()

    @property
    def absent(self) -> tuple[str, ...]:
        """The evaluators who left."""
        return tuple(self.questions.evaluators[e] for e in sorted(self._absent))

    def attendance_changed(self) -> None:  # noqa: B027 # most have nothing to plan anew
        """Plan anew, if need be, since an evaluator has joined or left."""

    def _evaluator(self, name: str) -> int:
        self._refuse_absence()
        names = self.questions.evaluators
        if name not in names:
            raise InputError(f"there is no evaluator {name!r}; there are {names!r}.")
        return names.index(name)

    def decision(self, option: int) -> Decision:
        """Return the decision for an option, by its index, with what the checks have found."""
        label = self.options.labels[int(option)]
        return Decision(int(option), label, warnings=self.findings())

    @cached_property
    def points(self) -> Floats:
        """(q, m) the rows of the questions, over their relative noise."""
        return self.questions.weighted_points

    @property
    def stated_noise(self) -> float | None:
        """σ, for what is said; None where ``noise_scale`` only stands in for it."""
        return self.noise_scale if self.noise_known else None

    @property
    def stated_bound(self) -> float:
        """B, for what is said; infinite where ``value_bound`` only stands in for it."""
        return self.value_bound if self.bound_known else math.inf

    def single(self, option: int, n: int) -> Counts:
        """Return counts with n evaluations of one option."""
        counts = np.zeros(len(self.actions), dtype=np.int64)
        counts[option] = n
        return counts

    # ------------------------------------------------------------------ what a user calls

    @property
    def spent(self) -> int:
        """Evaluations told so far."""
        return self._spent

    @property
    def observed(self) -> int:
        """Evaluations that nobody asked for; they are no part of the horizon."""
        return self._observed

    @property
    def remaining(self) -> int:
        """Evaluations left."""
        return self.horizon - self._spent

    @property
    def paid(self) -> float:
        """What the evaluations told so far have cost, at the questions' prices."""
        return self._paid

    @property
    def outstanding(self) -> Counts:
        """(k,) evaluations that were asked for and not told yet, a copy."""
        return self._outstanding.copy()

    @property
    def checks(self) -> Checks:
        """What watches the evaluations for what contradicts the assumptions."""
        if self._checks is None:
            noise_scale = self.noise_scale if self.noise_known else None
            self._checks = Checks(self.questions, noise_scale=noise_scale)
        return self._checks

    @property
    def finished(self) -> bool:
        """Tell whether there is nothing left to ask."""
        return self.ask().total == 0

    def ask(
        self,
        n: int | None = None,
        pending: ArrayLike | None = None,
        available: Sequence[str] | ArrayLike | None = None,
        *,
        beyond: bool | None = None,
    ) -> Allocation:
        """Return what to evaluate next; the same until something is told or observed.

        Parameters
        ----------
        n
            Most evaluations wanted, for so many evaluators that are free; as many as the policy
            likes if not given.
        pending
            (k,) evaluations that are on their way: asked for, and neither told nor lost.
        available
            Who can be asked just now: names of evaluators, or (q,) truth values, one per question.
            Everybody, if not given.
        beyond
            Whether to ask for more than the plan in force, where all of it is on its way and the
            policy knows what to do with more; so nobody need wait for the last. If not given, as
            long as something is pending.

        Returns
        -------
        Allocation
            Evaluations beside those pending. None at all means to wait for some of them; if
            nothing is pending, that the policy is done.
        """
        if self._failure is not None:
            raise self._failure
        who = None
        if n is None and pending is None and available is None and not beyond:
            key: object = None
            on_its_way, beyond = self._nothing, False
        else:
            n, on_its_way = _checked_number(n), self._checked_pending(pending)
            who = self._checked_available(available)
            beyond = bool(on_its_way.any()) if beyond is None else beyond
            key = n, on_its_way.tobytes(), None if who is None else who.tobytes(), beyond
        allocation = self._answers.get(key)
        if allocation is None:
            room = self.remaining if on_its_way is self._nothing else self.room(on_its_way)
            if room == 0:
                counts = self._nothing
            else:
                self._available, self._beyond = who, beyond
                try:
                    wanted = self.propose(None if n is None else min(n, room), on_its_way)
                finally:
                    self._available, self._beyond = None, False
                counts = self._checked_counts(wanted, room if n is None else min(n, room))
                counts = self._affordable(counts, on_its_way)
            allocation = Allocation(counts, self._round, self.asks_whole)
            self._answers[key] = allocation
            np.maximum(self._outstanding, on_its_way + counts, out=self._outstanding)
        return allocation

    def hand_out(self, counts: ArrayLike, pending: ArrayLike | None = None) -> None:
        """Take note that these evaluations were asked for, by a record and not by deriving them.

        They are outstanding from now on: they may be told, and count as pending.

        Parameters
        ----------
        counts
            (k,) evaluations that were handed out.
        pending
            (k,) those that were on their way then, as `ask` was told: where some were lost and
            asked for again, no more may come than that. If not given, they come beside all that is
            outstanding.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
        >>> policy = eh.policy("uniform", actions, horizon=10)
        >>> policy.hand_out([2, 1])                     # as the record says
        >>> policy.tell(eh.Feedback([1, 0], [0.5, 0.0], [0.25, 0.0]))
        >>> policy.outstanding
        array([1, 1])
        """
        more = self._checked_whole(counts, "counts")
        if pending is None:
            self._outstanding = self._outstanding + more
        else:
            there = self._checked_whole(pending, "pending")
            self._outstanding = np.maximum(self._outstanding, there + more)

    @property
    def plan_id(self) -> int | None:
        """The number of the plan in force, which changes when the plan does; None if none is."""
        return self._plan_number if self.in_rounds else None

    def plan(self) -> dict[str, Any] | None:
        """Return the plan in force as a plain value, fit for JSON; None if nothing is frozen.

        It has all that was frozen before the evaluations it asks for, and that another machine
        might round otherwise: ``id`` (see `plan_id`) and, for a policy in rounds, ``questions``
        and ``counts``, how often each is asked in this round. `CertainChoice.frozen` and
        `PlannedChoice.frozen` say what theirs have.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["home", "away", "away"])
        >>> eh.CarefulChoice(actions, at_most=600).plan()
        {'id': 0, 'questions': [0, 1, 2], 'counts': [4, 4, 4]}
        """
        from evenhand.policies.state import plain  # noqa: PLC0415 # it knows all policies

        frozen = self.frozen()
        if frozen is None:
            return None
        value: dict[str, Any] = plain({"id": self._plan_number} | frozen)
        return value

    def adopt(self, plan: Mapping[str, Any]) -> None:
        """Make a plan the one in force that `plan` returned, perhaps on another machine.

        It must be the plan of now, told the same: its ``id`` is `plan_id`. So two machines ask the
        same however they round.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["home", "away", "away"])
        >>> here, there = (eh.CarefulChoice(actions, at_most=600) for _ in range(2))
        >>> there.adopt(here.plan())
        """
        from evenhand.policies.state import as_it_was  # noqa: PLC0415 # as above

        if self._failure is not None:
            raise self._failure
        if self.plan_id is None or not isinstance(plan, Mapping) or "id" not in plan:
            raise InputError(
                f"this is no plan of {self.name!r}, as plan() returns it: {plan!r:.200}."
            )
        if plan["id"] != self.plan_id:
            raise InputError(
                f"plan {plan['id']!r} cannot be adopted while plan {self.plan_id} is in force; "
                "first tell what was told before it."
            )
        try:
            self.freeze(as_it_was(plan))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"this plan of {self.name!r} is not whole, or was changed: {error!r}. Give what "
                "plan() returned."
            ) from error
        self._answers.clear()

    def hold(self, held: bool) -> None:
        """Go over from plan to plan where a record says (`go_over`), and not by what is told.

        So that what was evaluated by a plan stays evidence for what that plan tested, though some
        of it was withdrawn since.
        """
        self._held = held

    def go_over(self, plan: Mapping[str, Any], *, goes_on: bool = False) -> None:
        """Put a plan in force that a record has at this place, as `plan` returned it then.

        Parameters
        ----------
        plan
            It may have been made when something counted that is not told any more.
        goes_on
            Whether it goes on with the round under way, since there was more to ask or to spend.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
        >>> there, here = (eh.CertainChoice(actions, at_most=10) for _ in range(2))
        >>> there.allow(500)
        >>> here.go_over(there.plan())
        >>> here.plan_id
        1
        """
        from evenhand.policies.state import as_it_was  # noqa: PLC0415 # as above

        self.follow(as_it_was(plan), goes_on)
        self._answers.clear()

    def follow(self, plan: Mapping[str, Any], goes_on: bool) -> None:
        """Do what `go_over` says; the plan of now is adopted, where it is that."""
        if self.plan_id == plan["id"] - 1:
            self.attendance_changed()
        if self.plan_id == plan["id"]:
            with contextlib.suppress(InputError):
                self.adopt(plan)

    def extended(self, actions: Askable) -> Policy:
        """Return the policy with more options, evaluators or capacity, and all that it was told.

        Most policies are made for their questions, and refuse.
        """
        raise InputError(
            f"{self.name!r} was made for its questions, and cannot go on with others; make a new "
            "one, and observe() what was told. Certain-choice, planned-choice and careful-choice "
            "can be extended."
        )

    def tell(self, feedback: Feedback) -> None:
        """Take evaluations that were asked for, any part of them."""
        done = not self._outstanding.any() and self.ask().total == 0
        refuse_impossible(feedback, len(self.actions), self._outstanding)
        total = int(feedback.counts.sum())
        if done:
            raise InputError("the policy is done: it asks for no evaluations and takes none.")
        if total == 0:
            raise InputError("this feedback has no evaluations; tell those that came back.")
        if total > self.remaining:
            raise InputError(
                f"{total} evaluations are more than the {self.remaining} that are left of the "
                "horizon. What comes too late goes to observe()."
            )
        if not self.expects(feedback):
            raise InputError(
                f"{self.name!r} does not ask for these evaluations now, or not for so many; keep "
                "them, and tell them if it asks for them later."
            )
        self._refuse_beyond_bounds(feedback)
        feedback = self._weighted(feedback)
        if self.checked:
            self.checks.take(feedback.counts, feedback.sums, feedback.sums_of_squares)
        self._outstanding -= feedback.counts
        self._spent += total
        self._asked += feedback.counts
        self._paid += float(feedback.counts @ self.questions.prices)
        self._answers.clear()
        self._guarded(self.learn, feedback)

    def observe(self, feedback: Feedback) -> None:
        """Take evaluations that nobody asked for, such as logged scores, and learn from them.

        They are no part of the horizon. What decided which were made must not have looked at the
        noise in evaluations that came later.
        """
        if self._failure is not None:
            raise self._failure
        refuse_impossible(feedback, len(self.actions))
        if not feedback.counts.any():
            raise InputError("this feedback has no evaluations; observe what there is.")
        self._refuse_beyond_bounds(feedback)
        feedback = self._weighted(feedback)
        self._asked += feedback.counts  # who plans by them must know what may still be asked
        if not self._guarded(self.take_in, feedback):
            self._asked -= feedback.counts
            raise InputError(self.why_not_observed)
        if self.checked:
            self.checks.take(feedback.counts, feedback.sums, feedback.sums_of_squares)
        self._observed += int(feedback.counts.sum())
        self._answers.clear()

    @property
    def asks_whole(self) -> bool:
        """Tell whether what is asked for now is learnt only when all of it was told."""
        return self.in_rounds

    @property
    def in_rounds(self) -> bool:
        """Tell whether the policy learns from whole rounds only."""
        return type(self).learn is Policy.learn

    @property
    def compiled(self) -> Stepper | None:
        """The compiled steps that a simulation may run in place of ask and tell, from here on."""
        return None

    def caught_up(self, rounds: int, evaluations: int) -> None:
        """Take note that a simulation ran `compiled` for so many rounds and evaluations."""
        self._round += rounds
        self.elapse(evaluations)
        self._outstanding[:] = 0

    def elapse(self, evaluations: int) -> None:
        """Take note that so many evaluations of the horizon went to what was not asked for."""
        self._spent += evaluations
        self._answers.clear()

    def state(self) -> dict[str, Any]:
        """Return everything as a plain value of texts, numbers and lists, fit for JSON.

        `evenhand.restore` makes the policy of it again, on any machine: with what was asked for,
        which is not derived again.
        """
        from evenhand.policies.state import state_of  # noqa: PLC0415 # it knows all policies

        return state_of(self)

    def _repr_html_(self) -> str:
        from evenhand.policies.page import page_of  # noqa: PLC0415 # only notebooks need it

        return page_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from evenhand.policies.state import revived, snapshot_of  # noqa: PLC0415 # likewise

        return revived, (type(self), *snapshot_of(self))

    # ------------------------------------------------------------------ how rounds are played

    def _start(self) -> None:
        self._game, self._start_spent = self.play(), self._spent
        self._receive(self._guarded(next, self._game, None))

    def _end_round(self) -> None:
        whole, self._gathered = self._gathered, nothing(len(self.actions))
        self._log.append({"spent": self._spent} | sparse(whole))
        self._continue(whole)

    def _continue(self, whole: Feedback) -> None:
        """Tell the generator what came of its round, and take the next."""
        assert self._game is not None
        self._round += 1
        self._plan_number += 1
        try:
            counts: Counts | None = self._game.send(whole)
        except StopIteration:
            counts = None
        self._receive(counts)

    def _receive(self, counts: Counts | None) -> None:
        self._wanted = (
            self._nothing if counts is None else self._checked_counts(counts, self.remaining)
        )

    def _refuse_what_it_cannot_play(self) -> None:
        given = self.questions
        if self.actions is given and not self.plays_questions:
            raise InputError(
                f"{self.name!r} takes every option to be its own question, and cannot play "
                f"{given!r}. Use certain-choice."
            )
        if given.limited and not self.heeds_limits:
            raise InputError(
                f"{self.name!r} asks questions as often as it likes, but here they may be asked "
                "only so often. Use certain-choice, or say capacity=None."
            )

    def _refuse_absence(self) -> None:
        if not self.heeds_limits:
            raise InputError(
                f"{self.name!r} asks whom it likes, and cannot do without some. Use certain-choice "
                "or greedy-questions."
            )

    def _weighted(self, feedback: Feedback) -> Feedback:
        """Return what came back in units of each question's relative noise."""
        noise = self.questions.noise
        if noise is None:
            return feedback
        return Feedback(feedback.counts, feedback.sums / noise, feedback.sums_of_squares / noise**2)

    def _affordable(self, counts: Counts, pending: Counts) -> Counts:
        """Return the first of these evaluations that the budget pays for, beside those pending."""
        if math.isinf(self.money):
            return counts
        prices = self.questions.prices
        money = (self.money - self._paid - float(pending @ prices)) * (1.0 + 1e-12)
        if float(counts @ prices) <= money:
            return counts
        (wanted,) = np.nonzero(counts)
        within = np.zeros_like(counts)
        for x in wanted[np.argsort(prices[wanted], kind="stable")]:
            within[x] = min(int(counts[x]), int(money // prices[x]))
            money -= within[x] * prices[x]
        within.flags.writeable = False
        return within

    def _checked_available(self, available: Any) -> NDArray[np.bool_] | None:
        """Return (q,) which questions may be asked just now; None if all."""
        if available is None:
            return None
        self._refuse_absence()
        q = len(self.questions)
        if isinstance(available, np.ndarray) and available.dtype == np.bool_:
            if available.shape != (q,):
                raise InputError(
                    f"available must hold one truth value for each of {q} questions; got shape "
                    f"{available.shape}."
                )
            return available
        names = [available] if isinstance(available, str) else list(available)
        who = [self._evaluator(name) for name in names]
        return np.isin(self.questions.evaluator, who)

    def _refuse_beyond_bounds(self, feedback: Feedback) -> None:
        if self.bounds is not None:
            parts = feedback.counts, feedback.sums, feedback.sums_of_squares
            refuse_beyond(*parts, self.bounds, self.questions.label)

    def _guarded(self, call: Any, *args: Any) -> Any:
        """Call; a policy that breaks stays broken, and does not look like one that is done."""
        try:
            return call(*args)
        except Exception as error:
            self._failure = error
            raise

    def _checked_counts(self, counts: Any, most: int) -> Counts:
        """Return what an author's code asks for, read-only, or say what is wrong with it."""
        k = len(self.actions)
        if not (isinstance(counts, np.ndarray) and counts.dtype == np.int64):
            kind = counts.dtype if isinstance(counts, np.ndarray) else type(counts).__name__
            raise TypeError(
                f"policy {self.name!r} must ask with an array of {k} whole numbers "
                f"(np.int64), such as self.single(option, n); it asked with {kind}."
            )
        if counts.shape != (k,):
            raise TypeError(
                f"policy {self.name!r} must ask with one count for each of {k} options; it asked "
                f"with an array of shape {counts.shape}."
            )
        if counts.min() < 0 or counts.sum() > most:
            raise RuntimeError(
                f"policy {self.name!r} asked for {counts.sum()} evaluations with {most} left"
            )
        if counts.flags.writeable:
            counts.flags.writeable = False
        return counts

    def _checked_pending(self, pending: ArrayLike | None) -> Counts:
        if pending is None:
            return self._nothing
        whole = self._checked_whole(pending, "pending")
        beyond = np.flatnonzero(whole > self._outstanding)
        if len(beyond):
            x = int(beyond[0])
            raise InputError(
                f"pending has {whole[x]} evaluations of option {x}, but only "
                f"{self._outstanding[x]} were asked for and not told yet."
            )
        return whole

    def _checked_whole(self, given: ArrayLike, name: str) -> Counts:
        """Return (k,) counts that a user gave, or say what is wrong with them."""
        counts = np.asarray(given)
        if counts.shape != self._nothing.shape or counts.dtype.kind not in "iuf":
            raise InputError(
                f"{name} must be {len(self._nothing)} counts, one for each option; got {given!r}."
            )
        if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
            raise InputError(f"{name} must be whole numbers ≥ 0; got {given!r}.")
        if counts.max(initial=0) > 10**18:
            raise InputError(f"{name} must be counts of at most 10¹⁸; got {given!r}.")
        return np.ascontiguousarray(counts, dtype=np.int64)


def nth(values: Indices) -> Counts:
    """Return (n,) how often each value has come up to its place, itself included.

    Examples
    --------
    >>> nth(np.array([3, 5, 3, 3]))
    array([1, 1, 2, 3])
    """
    by_value = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[by_value], values[by_value])
    nth = np.empty(len(values), dtype=np.int64)
    nth[by_value] = np.arange(len(values)) - starts + 1
    return nth


def first_of(counts: Counts, n: int) -> Counts:
    """Return the first n of so many evaluations, in the order of the options.

    Examples
    --------
    >>> first_of(np.array([2, 3, 1]), 4)
    array([2, 2, 0])
    """
    return np.diff(np.minimum(np.cumsum(counts), n), prepend=0)


def more_of(wanted: Counts, have: Counts, n: int) -> Counts:
    """Return n evaluations more, such that all there are stay near the proportions wanted.

    Examples
    --------
    >>> more_of(np.array([4, 2, 0]), np.array([4, 3, 1]), 3)
    array([3, 0, 0])
    """
    length = int(wanted.sum())
    times, rest = divmod(n, length)
    counts: Counts = times * wanted
    total = int((have + counts)[wanted > 0].sum())
    for i in range(1, rest + 1):
        lacking = wanted / length * (total + i) - have - counts
        counts[np.argmax(np.where(wanted > 0, lacking, -np.inf))] += 1
    return counts


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether the value is a finite real number (a bool is not meant as one)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def checked_failure(delta: object, *, sure: bool = False) -> float:
    """Return a probability of failure δ in (0, 1), or (0, 1] where ``sure`` to fail is allowed."""
    if not is_number(delta) or not 0.0 < delta <= 1.0 or (delta == 1.0 and not sure):
        raise InputError(f"delta must lie in (0, 1{']' if sure else ')'}; got {delta!r}.")
    return float(delta)


def _checked_number(n: object) -> int | None:
    if n is None:
        return None
    if not is_number(n) or n < 1 or n != int(n):
        raise InputError(f"n must be a whole number ≥ 1; got {n!r}.")
    return int(n)
