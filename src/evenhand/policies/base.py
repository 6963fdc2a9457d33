"""The protocol between a policy and whoever has the evaluations: ask, tell, recommend.

A policy is written as a generator, `play`, that yields how often to evaluate each option and gets
back the sums of those evaluations; so its file reads like pseudo-code. `Policy` turns it into
ask and tell:

- `ask` may be repeated: until it is told, it answers the same.
- `tell` takes the feedback of the allocation that was asked for, and nothing else. A feedback
  that does not fit is refused and changes nothing.
- What a policy asks depends only on its arguments, its seed and what it was told, so telling
  the same again brings it back to the same state (replay).
- A policy sees evaluations only. The true parameters cannot reach it.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet, checked_actions
from evenhand.arrays import Counts, Floats, unmasked
from evenhand.errors import InputError
from evenhand.policies._feedback import first_misfit
from evenhand.policies._sequential import Stepper

Play = Generator[Counts, "Feedback", None]

_SCALES = (1e-60, 1e60)  # so that (σ/B)² κ_* T, up to 10^(240 + 20 + 18), is a number


@dataclass(frozen=True, eq=False)
class Allocation:
    """How many evaluations of each option a policy wants next.

    Parameters
    ----------
    counts
        (k,) numbers of evaluations; all zero when the policy is done.
    round
        How many feedbacks the policy had been told when it asked.
    total
        Number of evaluations wanted.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"])
    >>> allocation = eh.policy("uniform", actions, horizon=10).ask()
    >>> allocation.counts, allocation.total, allocation.round
    (array([1, 1]), 2, 0)
    """

    counts: Counts
    round: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", int(self.counts.sum()))


@dataclass(frozen=True, eq=False)
class Feedback:
    """What the evaluations of an allocation came to.

    Parameters
    ----------
    counts
        (k,) numbers of evaluations, as they were asked for.
    sums, sums_of_squares
        (k,) sums of the evaluations and of their squares, per option.

    Examples
    --------
    >>> Feedback([2, 0], [3.0, 0.0], [5.0, 0.0]).means
    array([1.5, 0. ])
    """

    counts: Counts
    sums: Floats
    sums_of_squares: Floats

    def __init__(self, counts: ArrayLike, sums: ArrayLike, sums_of_squares: ArrayLike) -> None:
        parts = {"counts": counts, "sums": sums, "sums_of_squares": sums_of_squares}
        for name, values in parts.items():
            kind = np.int64 if name == "counts" else np.float64
            if type(values) is np.ndarray and values.dtype == kind and values.flags.c_contiguous:
                object.__setattr__(self, name, values)
                continue
            array = unmasked(values, f"feedback.{name}")
            if array.dtype.kind not in "fiu":
                raise InputError(f"feedback.{name} must be numbers; got dtype {array.dtype}.")
            if name == "counts" and not (np.isfinite(array) & (array == np.floor(array))).all():
                raise InputError("feedback.counts must be whole numbers.")
            object.__setattr__(self, name, np.ascontiguousarray(array, dtype=kind))

    @property
    def means(self) -> Floats:
        """Mean evaluation of each option; 0 where there is none."""
        return np.asarray(self.sums / np.maximum(self.counts, 1))


@dataclass(frozen=True, repr=False)
class Decision:
    """The option a policy would choose if it had to choose now, and how sure that is.

    Decisions are equal if they choose the same option, however sure they are. Only a policy with
    anytime-valid intervals (`Certified`) says how sure it is: with probability at least
    ``level``, all it ever says about loss and leads holds at all times at once.

    Parameters
    ----------
    option, label
        Index and name of the option.
    loss
        What the option loses at most; infinite if the policy does not say.
    level
        Probability that what is said here holds; 0 if the policy does not say.
    withstands
        How large a true difference in value between groups may be, which evaluations cannot tell
        from bias, for the option to be the best all the same: value may be x·γ + z·τ with
        any |τ| ≤ ``withstands``. With several attributes, the largest |τ_j|. 0 claims nothing.
    leads
        (k, 3) the option's lead over every option, with its interval: estimate, low, high. None
        if the policy does not say.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"], labels=["Ann", "Bo"])
    >>> eh.policy("uniform", actions, horizon=10).recommend()
    Decision(option=0, label='Ann')
    >>> sure = Decision(0, "Ann", 0.25, 0.95, 0.125, np.array([[0, 0, 0], [0.5, 0.25, 0.75]]))
    >>> sure
    Decision(option=0, label='Ann', loss=0.25, level=0.95, withstands=0.125)
    >>> sure.lead_over(1)
    Estimate(value=0.5, low=0.25, high=0.75, level=0.95)
    """

    option: int
    label: str
    loss: float = field(default=np.inf, compare=False)
    level: float = field(default=0.0, compare=False)
    withstands: float = field(default=0.0, compare=False)
    leads: Floats | None = field(default=None, compare=False)

    def lead_over(self, option: int) -> Estimate:
        """Return by how much the decision's option leads another, given by its index."""
        if self.leads is None:
            return Estimate(np.nan, -np.inf, np.inf, self.level)
        value, low, high = self.leads[option].tolist()
        return Estimate(value, low, high, self.level)

    def __repr__(self) -> str:
        shown = ["option", "label"]
        if self.leads is not None:
            shown += ["loss", "level", "withstands"]
        return f"Decision({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


@dataclass(frozen=True)
class Estimate:
    """A number with an interval that holds it with probability at least ``level``.

    Before anything is known the value is NaN and the interval is everything.

    Examples
    --------
    >>> Estimate(value=1.6, low=1.1, high=2.1, level=0.95).covers(1.585)
    True
    """

    value: float
    low: float
    high: float
    level: float

    def covers(self, truth: float) -> bool:
        """Tell whether the interval holds the given number."""
        return self.low <= truth <= self.high


class Settings(TypedDict, total=False):
    """What every policy can be told beside its options and horizon; see `Policy`."""

    noise_scale: float
    value_bound: float
    seed: int


class Policy(ABC):
    """A way of choosing what to evaluate next, over a given number of evaluations.

    Parameters
    ----------
    actions
        The options.
    horizon
        Number of evaluations in all, T ≥ 1.
    noise_scale
        Standard deviation σ of one evaluation.
    value_bound
        Largest magnitude B of an option's value.
    seed
        Where the policy's own randomness starts, if it has any.

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
    >>> First(eh.ActionSet([[1.0], [1.0]], ["a", "b"]), horizon=7).ask().counts
    array([7, 0])
    """

    name: ClassVar[str]
    spends_all: bool = True
    """Whether the policy always asks until the horizon is spent."""
    noise_known: bool = True
    """Whether ``noise_scale`` is what it says; a policy that estimates it says no."""
    told: ClassVar[tuple[str, ...]] = ("noise_scale",)
    """What a simulation tells the policy of the problem; only an oracle is told more."""

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        noise_scale: float = 1.0,
        value_bound: float = 1.0,
        seed: int = 0,
    ) -> None:
        if not is_number(horizon) or not 1 <= horizon <= 10**18 or horizon != int(horizon):
            raise InputError(f"horizon must be a whole number from 1 to 10¹⁸; got {horizon!r}.")
        for label, scale in (("noise_scale", noise_scale), ("value_bound", value_bound)):
            if not is_number(scale) or not _SCALES[0] <= scale <= _SCALES[1]:
                raise InputError(
                    f"{label} must be a positive number, from {_SCALES[0]:g} to {_SCALES[1]:g}; "
                    f"got {scale!r}."
                )
        self.actions = checked_actions(actions)
        self.horizon = int(horizon)
        self.noise_scale = float(noise_scale)
        self.value_bound = float(value_bound)
        self.seed = seed
        self._game: Play | None = None
        self._pending: Allocation | None = None
        self._failure: Exception | None = None
        self._round = 0
        self._spent = 0

    @abstractmethod
    def play(self) -> Play:
        """Yield counts of evaluations, receive their feedback, until the horizon is spent."""

    @abstractmethod
    def recommend(self) -> Decision:
        """Return the option to choose by what is known now."""

    @abstractmethod
    def bias(self) -> Estimate:
        """Return the estimate of the bias, with an interval."""

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

    def rng(self) -> np.random.Generator:
        """Return the randomness of the present round: it depends on seed and round only."""
        return np.random.default_rng([self.seed, self._round])

    def ask(self) -> Allocation:
        """Return what to evaluate next; the same until it is told."""
        if self._failure is not None:
            raise self._failure
        if self._game is None:
            self._game = self.play()
            self._receive(next(self._game, None))
        assert self._pending is not None
        return self._pending

    def tell(self, feedback: Feedback) -> None:
        """Take the feedback of the allocation that was asked for."""
        allocation = self.ask()
        refuse_impossible(feedback, len(self.actions), allocation.counts)
        if allocation.total == 0:
            raise InputError("the policy is done: it asks for no evaluations and takes none.")
        assert self._game is not None
        self._spent += allocation.total
        self._round += 1
        self._pending = None
        try:
            counts: Counts | None = self._game.send(feedback)
        except StopIteration:
            counts = None
        except Exception as error:
            self._failure = error  # so that a broken policy does not look like one that is done
            raise
        self._receive(counts)

    def observe(self, feedback: Feedback) -> None:
        """Take evaluations that the policy did not ask for; most can make no use of them.

        Who learns from them calls this first: it refuses what cannot be right.
        """
        refuse_impossible(feedback, len(self.actions))

    @property
    def compiled(self) -> Stepper | None:
        """The compiled steps that a simulation may run in place of ask and tell, from here on."""
        return None

    def caught_up(self, rounds: int, evaluations: int) -> None:
        """Take note that a simulation ran `compiled` for so many rounds and evaluations."""
        self._round += rounds
        self._spent += evaluations
        self._forget_pending()

    def elapse(self, evaluations: int) -> None:
        """Take note that so many evaluations of the horizon went to what was not asked for."""
        self._spent += evaluations

    def _forget_pending(self) -> None:
        """Drop what was asked and not told; `play` starts again with what is known now."""
        self._game = None
        self._pending = None

    def decision(self, option: int) -> Decision:
        """Return the decision for an option, by its index."""
        return Decision(int(option), self.actions.labels[int(option)])

    def single(self, option: int, n: int) -> Counts:
        """Return counts with n evaluations of one option."""
        counts = np.zeros(len(self.actions), dtype=np.int64)
        counts[option] = n
        return counts

    def _receive(self, counts: Counts | None) -> None:
        if counts is None:
            counts = np.zeros(len(self.actions), dtype=np.int64)
        counts.flags.writeable = False
        allocation = Allocation(counts, self._round)
        if counts.min() < 0 or allocation.total > self.remaining:
            raise RuntimeError(
                f"policy {self.name!r} asked for {allocation.total} evaluations with "
                f"{self.remaining} left"
            )
        self._pending = allocation


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether the value is a finite real number (a bool is not meant as one)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return False
    return bool(np.isfinite(float(value)))


def checked_failure(delta: object, *, sure: bool = False) -> float:
    """Return a probability of failure δ in (0, 1), or (0, 1] where ``sure`` to fail is allowed."""
    if not is_number(delta) or not 0.0 < delta <= 1.0 or (delta == 1.0 and not sure):
        raise InputError(f"delta must lie in (0, 1{']' if sure else ')'}; got {delta!r}.")
    return float(delta)


def refuse_impossible(feedback: Feedback, k: int, asked: Counts | None = None) -> None:
    """Raise `InputError` unless k options can have this feedback; of ``asked``, if given."""
    if not isinstance(feedback, Feedback):
        raise InputError(f"a Feedback is needed; got {type(feedback).__name__}.")
    counts, sums, squares = feedback.counts, feedback.sums, feedback.sums_of_squares
    for name, values in (("counts", counts), ("sums", sums), ("sums_of_squares", squares)):
        if values.shape != (k,):
            raise InputError(f"feedback.{name} must have shape ({k},); got {values.shape}.")
    x = first_misfit(counts if asked is None else asked, counts, sums, squares)
    if x < 0:
        return
    if asked is not None and counts[x] != asked[x]:
        raise InputError(
            f"this feedback is not of the allocation that was asked for: option {x} has "
            f"{counts[x]} evaluations, {asked[x]} were asked for."
        )
    raise InputError(
        f"feedback for option {x} cannot be right: {counts[x]} evaluations with sum {sums[x]} "
        f"and sum of squares {squares[x]}. There must be 0 or more of them; both sums finite, 0 "
        "without evaluations; and the sum of squares at least sum² / count."
    )
