"""What goes to and fro between a policy and whoever has the evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import (
    Counts,
    Floats,
    as_vector,
    recalled,
    recalled_counts,
    unmasked,
)
from evenhand.errors import InputError
from evenhand.policies._sequential import first_misfit
from evenhand.questions import Askable
from evenhand.scores import Finding as Finding  # noqa: PLC0414 # found beside decisions, too

if TYPE_CHECKING:
    from evenhand.policies.base import Policy


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

    def __neg__(self) -> Self:
        return replace(self, value=-self.value, low=-self.high, high=-self.low)

    @classmethod
    def without_interval(cls, value: float = math.nan, level: float = 0.0) -> Estimate:
        """Return a number that may be anything, or one of which nothing is known."""
        return Estimate(value, -math.inf, math.inf, level)


@dataclass(frozen=True, eq=False)
class Allocation:
    """How many evaluations of each option a policy wants next.

    Parameters
    ----------
    counts
        (k,) numbers of evaluations; all zero when there is nothing to ask for now.
    round
        How many rounds the policy had learnt from when it asked.
    whole
        Whether these are (a part of) a round that the policy learns from only when all of it was
        told, as its proof needs it. Other evaluations are learnt from one by one, as they come.
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
    whole: bool = False
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", int(self.counts.sum()))


@dataclass(frozen=True, eq=False)
class Feedback:
    """What evaluations came to, added up per option.

    Parameters
    ----------
    counts
        (k,) numbers of evaluations.
    sums, sums_of_squares
        (k,) sums of the evaluations and of their squares, per option.
    cost
        What they really cost; None: what the questions' prices say.

    Examples
    --------
    >>> Feedback([2, 0], [3.0, 0.0], [5.0, 0.0]).means
    array([1.5, 0. ])
    """

    counts: Counts
    sums: Floats
    sums_of_squares: Floats
    cost: float | None = None

    def __init__(
        self,
        counts: ArrayLike,
        sums: ArrayLike,
        sums_of_squares: ArrayLike,
        *,
        cost: float | None = None,
    ) -> None:
        object.__setattr__(self, "cost", cost)
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

    @classmethod
    def from_scores(
        cls, actions: Askable, labels: Sequence[object] | ArrayLike, scores: ArrayLike
    ) -> Self:
        """Return the feedback of single scores, one label and one score per evaluation.

        Parameters
        ----------
        actions
            The options, or the questions.
        labels
            (n,) whose score it is: names of options (or questions), or their numbers from 0.
        scores
            (n,) what was given.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"], labels=["Ann", "Bo"])
        >>> feedback = eh.Feedback.from_scores(actions, ["Bo", "Ann", "Bo"], [7.5, 8.0, 6.5])
        >>> feedback.counts, feedback.sums
        (array([1, 2]), array([ 8., 14.]))
        """
        names = list(np.asarray(labels).tolist() if hasattr(labels, "__array__") else labels)  # type: ignore[arg-type]
        values = as_vector(scores, len(names), "scores")
        places = {name: x for x, name in enumerate(actions.labels)}
        options = np.empty(len(names), dtype=np.intp)
        for row, name in enumerate(names):
            if isinstance(name, str) and name in places:
                options[row] = places[name]
            elif type(name) is int and 0 <= name < len(actions):
                options[row] = name
            else:
                raise InputError(
                    f"labels[{row}] is {name!r}, which is no option; there are "
                    f"{len(actions)} of them: {actions.labels!r}."
                )
        k = len(actions)
        return cls(
            np.bincount(options, minlength=k),
            np.bincount(options, values, minlength=k),
            np.bincount(options, values**2, minlength=k),
        )

    @property
    def parts(self) -> tuple[Counts, Floats, Floats]:
        """Counts, sums and sums of squares."""
        return self.counts, self.sums, self.sums_of_squares

    @property
    def means(self) -> Floats:
        """Mean evaluation of each option; 0 where there is none."""
        return np.asarray(self.sums / np.maximum(self.counts, 1))

    def __add__(self, other: Feedback) -> Feedback:
        return Feedback(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))


Certainty = Literal["own scores", "one judge's scores", "features exact"]


@dataclass(frozen=True)
class Selection:
    """Which options are chosen where several are wanted, and of whom it is certain, by index."""

    chosen: tuple[int, ...]  # those that look wanted, the best first
    inside: tuple[int, ...] = ()  # certainly wanted: among the best, above a bar, or better
    outside: tuple[int, ...] = ()  # certainly not
    wrong_at_most: int | None = None  # how many of the chosen are not; None: nobody can say


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
    certainty
        What is taken for granted where ``loss`` is said: "own scores" if options were compared by
        their own scores, "features exact" if values were taken to be x·γ exactly. None if nothing
        certain is said.
    warnings
        What the evaluations say about the assumptions. After an alarm nothing certain is said.
    selection
        Where several options are wanted: which are chosen, and who is certainly in or out.
        ``option`` is then the one of them that looks best, and ``loss`` what any of them is worse
        than any other at most. None where one is wanted.

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
    certainty: Certainty | None = field(default=None, compare=False)
    warnings: tuple[Finding, ...] = field(default=(), compare=False)
    selection: Selection | None = field(default=None, compare=False)

    @classmethod
    def of(cls, policy: Policy, option: int) -> Self:
        """Return a policy's decision for an option, with what the checks have found.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [1.0]], ["a", "b"], labels=["Ann", "Bo"])
        >>> eh.Decision.of(eh.policy("uniform", actions, horizon=10), 1)
        Decision(option=1, label='Bo')
        """
        label = policy.options.labels[int(option)]
        return cls(int(option), label, warnings=policy.findings())

    def lead_over(self, option: int) -> Estimate:
        """Return by how much the decision's option leads another, given by its index."""
        if self.leads is None:
            return Estimate.without_interval(level=self.level)
        value, low, high = self.leads[option].tolist()
        return Estimate(value, low, high, self.level)

    def __repr__(self) -> str:
        shown = ["option", "label"]
        if self.leads is not None:
            shown += ["loss", "level", "withstands"]
        return f"Decision({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def refuse_impossible(feedback: Feedback, k: int, outstanding: Counts | None = None) -> None:
    """Raise `InputError` unless k options can have this feedback, out of what is outstanding."""
    if not isinstance(feedback, Feedback):
        raise InputError(f"a Feedback is needed; got {type(feedback).__name__}.")
    counts, sums, squares = feedback.parts
    for name, values in (("counts", counts), ("sums", sums), ("sums_of_squares", squares)):
        if values.shape != (k,):
            raise InputError(f"feedback.{name} must have shape ({k},); got {values.shape}.")
    x = first_misfit(counts if outstanding is None else outstanding, counts, sums, squares)
    if x < 0:
        return
    if outstanding is not None and counts[x] > outstanding[x]:
        raise InputError(
            f"option {x} has {counts[x]} evaluations, but only {outstanding[x]} were asked for and "
            "not told yet. What nobody asked for goes to observe()."
        )
    raise InputError(
        f"feedback for option {x} cannot be right: {counts[x]} evaluations with sum {sums[x]} "
        f"and sum of squares {squares[x]}. There must be 0 or more of them; both sums finite, 0 "
        "without evaluations; and the sum of squares at least sum² / count."
    )


def refuse_beyond(
    feedback: Feedback, bounds: tuple[float, float], label: Callable[[int], str]
) -> None:
    """Raise `InputError` if some of these evaluations must lie outside the bounds.

    For scores in [a, b] the mean lies there, and Σ (y − a)(b − y) ≥ 0; both are needed, and for
    single scores they are all.
    """
    (counts, sums, squares), (low, high) = feedback.parts, bounds
    room = (high - low) * 1e-9
    means = feedback.means
    inside = (low + high) * sums - squares - counts * (low * high)
    size = counts * max(abs(low), abs(high)) ** 2
    wrong: NDArray[np.bool_] = (counts > 0) & (
        (means < low - room) | (means > high + room) | (inside < -1e-9 * size)
    )
    if wrong.any():
        x = int(np.flatnonzero(wrong)[0])
        what = f"{sums[x]:g}" if counts[x] == 1 else f"one of {counts[x]} with mean {means[x]:g}"
        raise InputError(
            f"a score of {label(x)!r} lies outside the bounds, from {low:g} to {high:g}: {what}. "
            "Nothing was taken. Mend the score, or give other bounds."
        )


def nothing(k: int) -> Feedback:
    """Return the feedback of no evaluations of k options."""
    return Feedback(np.zeros(k, dtype=np.int64), np.zeros(k), np.zeros(k))


def counts_of(k: int, wanted: Mapping[int, int]) -> Counts:
    """Return (k,) counts, given by option."""
    counts = np.zeros(k, dtype=np.int64)
    for option, n in wanted.items():
        counts[option] = n
    return counts


def sparse(feedback: Feedback) -> dict[str, Any]:
    """Return a feedback by the options it has evaluations of."""
    (options,) = np.nonzero(feedback.counts)
    named = zip(("counts", "sums", "squares"), feedback.parts, strict=True)
    return {"options": options} | {name: part[options] for name, part in named}


def dense(kept: Mapping[str, Any], k: int) -> Feedback:
    """Return the feedback of k options that `sparse` was made of; ValueError if there is none."""
    feedback = nothing(k)
    options = recalled(kept, "options", (None,), int, 0, k - 1)
    n = len(options)
    counts, sums = recalled_counts(kept, "counts", n), recalled(kept, "sums", (n,))
    squares = recalled(kept, "squares", (n,), least=0.0, most=math.inf)  # those of huge scores
    if len(np.unique(options)) < n or (counts == 0).any():
        raise ValueError("options are there twice, or without evaluations")
    if (np.abs(sums) > np.sqrt(squares) * np.sqrt(counts) * (1.0 + 1e-9)).any():
        raise ValueError("sums are larger than the squares allow")
    feedback.counts[options] = counts
    feedback.sums[options] = sums
    feedback.sums_of_squares[options] = squares
    return feedback


def counts_in(plan: Mapping[str, Any], k: int) -> Counts:
    """Return (k,) counts of a plan, by ``questions`` and ``counts``; else `ValueError`."""
    places = recalled(plan, "questions", (None,), int, 0, k - 1)
    found = np.zeros(k, dtype=np.int64)
    np.add.at(found, places, recalled_counts(plan, "counts", len(places)))
    return found
