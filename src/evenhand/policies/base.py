"""The protocol between a policy and whoever has the evaluations: ask, tell, observe, recommend.

Evaluators work side by side, answer in any order and sometimes not at all. So

- `ask(n, pending)` answers with at most n evaluations more, given those that are on their way.
  Until something is told or observed, the same question has the same answer.
- `tell` takes any part of what is outstanding: asked for, and not told yet. More than that, or what
  cannot be right, is refused and changes nothing. An evaluation that is lost is simply no longer
  pending; if it comes after all, and was not asked for again, it may still be told.
- `observe` takes evaluations nobody asked for, such as logged scores.
- Learning never plans. A policy that plans ahead freezes a plan when it is asked for more than the
  plan in force has; `plan` returns it as a plain value that a record can keep, and `begin` puts one
  in force, from `plan` or from a record. Nothing that was planned is ever derived again, so it does
  not matter that machines round differently.
- `state` is all of it as a plain value, from which `restore` goes on anywhere.
- What a policy asks depends only on its arguments, its seed and what it was told.
- A policy sees evaluations only. The true parameters cannot reach it.

A policy is written in one of two ways. One that works in rounds is a generator, `play`, that
yields how often to evaluate each option and gets back the sums of those evaluations; so its file
reads like pseudo-code. Its rounds are its plans: handed out in parts, learnt when whole
(`evenhand.policies.rounds`). One that decides step by step has `propose` and `learn` instead, and
no plans. `Policy` says what each of them is given.

All this assumes that how long an answer takes does not depend on what it is: evaluations that come
back sooner because they are high would mislead every policy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import Counts, is_number, whole_number
from evenhand.errors import InputError
from evenhand.findings import Checks
from evenhand.policies._sequential import Stepper
from evenhand.policies.limits import MOST, Limits, checked_budget, whole_counts
from evenhand.policies.messages import (
    Allocation,
    Decision,
    Estimate,
    Feedback,
    counts_in,
    counts_of,
    refuse_beyond,
    refuse_impossible,
)
from evenhand.policies.registry import IN_MEMORY, as_it_was, plain, revived, snapshot_of, state_of
from evenhand.policies.rounds import Rounds
from evenhand.questions import Askable, Questions, checked_askable, limited
from evenhand.scores import Finding

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

    A policy of your own has a ``name``, `recommend` and `bias`, and one of

    - ``play()``, a generator: yields counts of evaluations, an array or ``{option: n}``, gets their
      `Feedback`, and ends when it is done;
    - ``propose(n, pending)``, which returns such counts beside what is on its way, at most n, with
      None as many as it likes, and changes nothing; and ``learn(feedback)``, which takes any part
      of what was asked for, in any order.

    It may have ``take_in(feedback)``, to learn from evaluations that it did not ask for and return
    whether it did; and must have, unless whole rounds are all it learns from, ``memory()`` and
    ``recall(memory)``: all that was learnt, as arrays, numbers and texts by name, and back.

    It may use ``actions``, ``questions``, ``options``, ``horizon``, ``seed``, ``limits``, `spent`
    and `remaining`; ``noise_scale`` and ``value_bound`` for what it asks, and for what it says
    ``stated_noise``, None if σ is not known, and ``stated_bound``, infinite if B is not.
    ``observed`` counts evaluations that nobody asked for. Whoever runs it may set ``bounds``,
    outside of which scores are refused, and ``checked`` to False, for scores that are drawn from
    the model.

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
    ...         yield {0: self.remaining}
    ...     def recommend(self):
    ...         return eh.Decision.of(self, 0)
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
    plays_questions: ClassVar[bool] = False
    """Whether it tells what can be asked from what can be chosen, and keeps to ``limits``."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # by place, and by name

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class known by its name, for `restore`."""
        super().__init_subclass__(**options)
        IN_MEMORY.add(cls)

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
        self.horizon = whole_number("horizon", horizon, 1, MOST)
        for label, scale in (("noise_scale", noise_scale), ("value_bound", value_bound)):
            if scale is None:
                continue
            if not is_number(scale) or not _SCALES[0] <= scale <= _SCALES[1]:
                raise InputError(
                    f"{label} must be a positive number, from {_SCALES[0]:g} to {_SCALES[1]:g}; "
                    f"got {scale!r}. Leave it out if it is not known."
                )
        money = checked_budget(budget)
        self.actions: Any = checked_askable(actions)  # an ActionSet, unless it plays questions
        self.questions = Questions.of(self.actions)
        self.options = self.questions.options
        self._refuse_what_it_cannot_play()
        self.limits = Limits(self.questions, money)
        self.spends_all = self.spends_all and budget is None and not limited(self.questions)
        self.noise_scale = _UNIT if noise_scale is None else float(noise_scale)
        self.value_bound = _UNIT if value_bound is None else float(value_bound)
        self.stated_noise = None if noise_scale is None else self.noise_scale
        self.stated_bound = math.inf if value_bound is None else self.value_bound
        self.seed = seed
        self.bounds: tuple[float, float] | None = None  # others are refused, if somebody said
        self.checked = True  # whether what is told is checked against the model
        self.observed = 0
        self._spent = 0
        self._round = 0  # how often it has learnt
        self._nothing: Counts = np.zeros(len(self.actions), dtype=np.int64)
        self._nothing.flags.writeable = False
        self._answers: dict[object, Allocation] = {}
        self._answers_of = 0  # the version of the limits
        self._failure: Exception | None = None
        self._checks: Checks | None = None
        self._rounds = Rounds(self) if hasattr(self, "play") else None
        self._on_ask, self._on_tell = self._hook("propose"), self._hook("learn")
        if self._on_ask is None or self._on_tell is None:
            raise TypeError(
                f"{type(self).__name__} has neither play() nor propose() and learn(); write one of "
                "them."
            )

    @abstractmethod
    def recommend(self) -> Decision:
        """Return the option to choose by what is known now."""

    @abstractmethod
    def bias(self) -> Estimate:
        """Return the estimate of the bias, with an interval."""

    def findings(self) -> tuple[Finding, ...]:
        """Return what the evaluations so far say about the assumptions, alarms first.

        Of evaluations that were told or observed: compiled loops of a simulation are not checked.
        """
        return () if self._checks is None else self._checks.findings()

    @property
    def spent(self) -> int:
        """Evaluations told so far."""
        return self._spent

    @property
    def remaining(self) -> int:
        """Evaluations left."""
        return self.horizon - self._spent

    @property
    def finished(self) -> bool:
        """Tell whether there is nothing left to ask."""
        return self.ask().total == 0

    def ask(
        self,
        n: int | None = None,
        pending: ArrayLike | None = None,
        available: Sequence[str] | None = None,
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
            Names of evaluators who can be asked just now; everybody, if not given.

        Returns
        -------
        Allocation
            Evaluations beside those pending. None at all means to wait for some of them; if
            nothing is pending, that the policy is done.
        """
        if self._failure is not None:
            raise self._failure
        if self._answers_of != self.limits.version:
            self._changed()
        who = None
        if n is None and pending is None and available is None:
            key: object = None
            on_its_way = self._nothing
        else:
            n = None if n is None else whole_number("n", n, 1, MOST)
            on_its_way = self._checked_pending(pending)
            who = self._checked_available(available)
            key = n, on_its_way.tobytes(), None if who is None else who.tobytes()
        allocation = self._answers.get(key)
        if allocation is None:
            counts, room = self._nothing, self.remaining - int(on_its_way.sum())
            self.limits.available = who
            try:
                plan = self._next_plan(on_its_way)
                while plan is not None:  # of no questions, it is whole at once
                    self._begin(plan)
                    plan = self._next_plan(on_its_way) if self._is_whole else None
                if room > 0:
                    wanted = self._on_ask(None if n is None else min(n, room), on_its_way)
                    counts = self._checked_counts(wanted, room if n is None else min(n, room))
                    counts = self.limits.affordable(counts, on_its_way)
            finally:
                self.limits.available = None
            allocation = Allocation(counts, self._round, self._asks_whole)
            self._answers[key] = allocation
            out = self.limits.outstanding
            np.maximum(out, on_its_way + counts, out=out)
        return allocation

    def plan(
        self, pending: ArrayLike | None = None, available: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        """Return the plan that must come into force before more is asked, fit for JSON.

        None while the plan in force goes on, and where there is nothing more to plan. It changes
        nothing: `begin` puts the plan in force, which `ask` does by itself where nobody else did.

        Parameters
        ----------
        pending
            (k,) evaluations that are on their way, as for `ask`.
        available
            Names of evaluators who can be asked just now; everybody, if not given.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["home", "away", "away"])
        >>> policy = eh.policy("phased-elimination", actions, horizon=100)
        >>> there = eh.policy("phased-elimination", actions, horizon=100)
        >>> there.begin(policy.plan())                        # as a record has it
        >>> there.plan() is None, policy.plan() is None
        (True, False)
        """
        if self._failure is not None:
            raise self._failure
        on_its_way = self._checked_pending(pending)
        self.limits.available = self._checked_available(available)
        try:
            plan = self._next_plan(on_its_way)
        finally:
            self.limits.available = None
        return None if plan is None else plain(self._plan_to_dict(plan))

    def begin(self, plan: Mapping[str, Any]) -> None:
        """Put a plan in force that `plan` returned, here or on another machine.

        What is told from now on counts for it; the plan before it is closed with what it has.
        """
        if self._failure is not None:
            raise self._failure
        try:
            made = self._plan_from_dict(as_it_was(plan))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"this is no plan of {self.name!r}, as plan() returns it: {error!r}."
            ) from error
        self._begin(made)
        self._changed()

    def tell(self, feedback: Feedback) -> None:
        """Take evaluations that were asked for, any part of them."""
        if self._failure is not None:
            raise self._failure
        outstanding = self.limits.outstanding
        done = not outstanding.any() and self.ask().total == 0
        refuse_impossible(feedback, len(self.actions), outstanding)
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
        cost, feedback = feedback.cost, self._weighted(feedback)
        if self.checked:
            self._watch.take(*feedback.parts)
        outstanding -= feedback.counts
        self._spent += total
        self.limits.asked += feedback.counts
        self.limits.pay(feedback.counts, cost)
        self._changed()
        self._guarded(self._on_tell, feedback)

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
        feedback = self._weighted(feedback)
        self.limits.asked += feedback.counts  # who plans by them must know what may still be asked
        if not self._guarded(self._take_in, feedback):
            self.limits.asked -= feedback.counts
            raise InputError(self._why_not_observed)
        if self.checked:
            self._watch.take(*feedback.parts)
        self.observed += int(feedback.counts.sum())
        self._changed()

    def state(self) -> dict[str, Any]:
        """Return everything as a plain value of texts, numbers and lists, fit for JSON.

        `evenhand.restore` makes the policy of it again, on any machine, with the plan in force.
        """
        return state_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return revived, (type(self), *snapshot_of(self))

    def _hook(self, name: str) -> Any:
        """Return what the author wrote under a name, or else what rounds have; None if neither."""
        return getattr(self, name, None) or getattr(self._rounds, name, None)

    def _take_in(self, feedback: Feedback) -> bool:
        """Learn from evaluations that were not asked for; return whether it did."""
        # A policy whose proof rests on its own evaluations alone leaves them aside.
        take_in = self._hook("take_in")
        return take_in is not None and bool(take_in(feedback))

    @property
    def _why_not_observed(self) -> str:
        """Why what was not asked for is left aside, and what to do instead."""
        return (
            f"{self.name!r} learns only from evaluations that it asked for: what it says rests on "
            "that. Use a policy that decides step by step, such as priced-exploration, or "
            "certain-choice, which plans by them; decide() says what scores alone tell."
        )

    def _memory(self) -> dict[str, Any]:
        """Return all that was learnt, for `state`."""
        memory = self._hook("memory")
        by_rounds = self._rounds is not None and not hasattr(self, "take_in")
        if memory is None or not (hasattr(self, "memory") or by_rounds):
            raise TypeError(
                f"{type(self).__name__} learns from more than whole rounds, so its state is its "
                "own: write memory() and recall()."
            )
        return dict(memory())

    def _next_plan(self, pending: Counts) -> Any:
        """Return the plan that is due, as `_begin` takes it; None if none is."""
        return None if self._rounds is None else self._rounds.next_plan()

    @property
    def _is_whole(self) -> bool:
        """Whether the plan in force lacks no score."""
        return self._rounds is not None and self._rounds.whole

    @property
    def _asks_whole(self) -> bool:
        """Whether what is asked for now is learnt only when all of it was told."""
        return self._rounds is not None

    def _begin(self, plan: Any) -> None:
        """Put a plan in force: of a policy that works in rounds, (k,) how often it asks each."""
        if self._rounds is None:
            raise InputError(f"{self.name!r} has no plans: it decides step by step.")
        self._rounds.begin(plan)

    def _plan_to_dict(self, plan: Any) -> dict[str, Any]:
        (used,) = np.nonzero(plan)
        return {"questions": used, "counts": plan[used]}

    def _plan_from_dict(self, plan: Mapping[str, Any]) -> Any:
        counts = counts_in(plan, len(self.actions))
        if int(counts.sum()) > self.remaining:
            raise ValueError(f"{int(counts.sum())} evaluations, with {self.remaining} left")
        counts.flags.writeable = False
        return counts

    def _changed(self) -> None:
        """Forget what was worked out before something was told, or somebody left."""
        self._answers.clear()
        self._answers_of = self.limits.version

    @property
    def _watch(self) -> Checks:
        """What watches the evaluations for what contradicts the assumptions."""
        if self._checks is None:
            self._checks = Checks(self.questions, noise_scale=self.stated_noise)
        return self._checks

    def _rng(self) -> np.random.Generator:
        """Return the randomness of the present round: it depends on seed and round only."""
        return np.random.default_rng([self.seed, self._round])

    def _elapse(self, evaluations: int) -> None:
        """Take note that so many evaluations of the horizon went to what was not asked for."""
        self._spent += evaluations
        self._answers.clear()

    @property
    def _compiled(self) -> Stepper | None:
        """The compiled steps that may be run in place of ask and tell; None if there are none."""
        return None

    def _catch_up(self, rounds: int, evaluations: int) -> None:
        """Take note that the compiled steps were run for so many rounds and evaluations."""
        self._round += rounds
        self._elapse(evaluations)
        self.limits.outstanding[:] = 0

    def _refuse_what_it_cannot_play(self) -> None:
        if self.actions is self.questions and not self.plays_questions:
            raise InputError(
                f"{self.name!r} takes every option to be its own question, and cannot play "
                f"{self.questions!r}. Use certain-choice or planned-choice."
            )

    def _weighted(self, feedback: Feedback) -> Feedback:
        """Return what came back in units of each question's relative noise, if bounds allow it."""
        noise = self.questions.noise
        if self.bounds is not None:
            refuse_beyond(feedback, self.bounds, self.questions.label)
        if noise is None:
            return feedback
        return Feedback(feedback.counts, feedback.sums / noise, feedback.sums_of_squares / noise**2)

    def _checked_available(self, available: Any) -> NDArray[np.bool_] | None:
        """Return (q,) which questions may be asked just now; None if all."""
        if available is None:
            return None
        if not self.plays_questions:
            raise InputError(
                f"{self.name!r} asks about every option, whoever is available. Use certain-choice "
                "or planned-choice."
            )
        names = [available] if isinstance(available, str) else list(available)
        who = [self.limits.place(name) for name in names]
        return np.isin(self.questions.evaluator, [-1, *who])

    def _guarded(self, call: Any, *args: Any) -> Any:
        """Call; a policy that breaks stays broken, and does not look like one that is done."""
        if self._failure is not None:
            raise self._failure
        try:
            return call(*args)
        except Exception as error:
            self._failure = error
            raise

    def _checked_counts(self, counts: Any, most: int) -> Counts:
        """Return what an author's code asks for, read-only, or say what is wrong with it."""
        k = len(self.actions)
        if isinstance(counts, Mapping):
            counts = counts_of(k, counts)
        if not (isinstance(counts, np.ndarray) and counts.dtype == np.int64):
            kind = counts.dtype if isinstance(counts, np.ndarray) else type(counts).__name__
            raise TypeError(
                f"policy {self.name!r} must ask with an array of {k} whole numbers (np.int64), or "
                f"with {{option: n}}; it asked with {kind}."
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
        whole = whole_counts(pending, len(self._nothing), "pending")
        outstanding = self.limits.outstanding
        beyond = np.flatnonzero(whole > outstanding)
        if len(beyond):
            x = int(beyond[0])
            raise InputError(
                f"pending has {whole[x]} evaluations of option {x}, but only "
                f"{outstanding[x]} were asked for and not told yet."
            )
        return whole


def checked_failure(delta: object, *, sure: bool = False) -> float:
    """Return a probability of failure δ in (0, 1), or (0, 1] where ``sure`` to fail is allowed."""
    if not is_number(delta) or not 0.0 < delta <= 1.0 or (delta == 1.0 and not sure):
        raise InputError(f"delta must lie in (0, 1{']' if sure else ')'}; got {delta!r}.")
    return float(delta)


def said_by(policy: object, what: str, *args: Any) -> Any:
    """Return what a policy says of something, by the name of a method or an attribute; None if it
    does not say.
    """
    said = getattr(policy, what, None)
    return said(*args) if callable(said) else said


def forecast_of(policy: object) -> float:
    """Return how many evaluations are still expected to come; NaN if the policy cannot say."""
    said = said_by(policy, "forecast")
    return math.nan if said is None else float(said)


def checks_of(policy: Policy) -> Checks:
    """Return what watches a policy's evaluations for what contradicts the assumptions."""
    return policy._watch
