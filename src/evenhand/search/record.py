"""A record: what was asked and what came back. It is the whole state of a search for certainty.

Plans stand in it in the order in which they were made, each frozen before its scores. Several may
be open at once. A score counts for the first open plan that lacks its question; a plan is whole
when it lacks none, and only then it is known to those who plan and counts as evidence, in the order
in which plans became whole (`Record.finished`). So nothing that is made of some scores can depend
on others that belong to the same block, and a plan that never becomes whole is simply not there.

Scores that no open plan lacks stand beside the plans, as do those that nobody asked for: plans are
made by them, and they are no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, recalled, recalled_counts
from evenhand.policies.limits import nth
from evenhand.policies.messages import Feedback, dense, nothing, sparse
from evenhand.questions import Superset
from evenhand.search.evidence import BAR

Purpose = Literal["open", "compare", "check the model", "ask what was planned", "ask more"]
_MOST = 10**18
_NO_PAIRS: Indices = np.zeros((0, 2), dtype=np.intp)
_NO_HOPES: Floats = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class Plan:
    """What is asked next, frozen before any of its scores."""

    # "open" is a start that tests nothing, "compare" tests leads, "ask more" goes on with a plan
    # that was fixed before the first score (`one_look`)
    purpose: Purpose
    # (n,) questions in the order in which they are handed out; none: no more scores can come
    order: Indices
    times: int = 1  # how often that is repeated
    # (r, 2) options whose leads over others it tests, and these; `BAR` stands for the bar
    pairs: Indices = field(default_factory=lambda: _NO_PAIRS)
    # (r, 3) what these leads are expected to be, how far that may be off, and the noise they have
    hopes: Floats = field(default_factory=lambda: _NO_HOPES)
    at_most: int = _MOST  # evaluations that were allowed in all when it was made
    budget: float = math.inf  # and money
    forecast: float = math.nan  # evaluations that were expected to come
    among: Indices | None = None  # (n,) the options that there were, where others came since

    @property
    def number(self) -> int:
        """How many scores make it whole."""
        return len(self.order) * self.times

    @cached_property
    def asked(self) -> tuple[Indices, Counts]:
        """(u,) the questions that it asks, and how often."""
        used, counts = np.unique(self.order, return_counts=True)
        return used, counts.astype(np.int64) * self.times

    def next_ones(self, have: Counts) -> Indices:
        """Return questions that are next, in order, beside (u,) that are there or on their way: all
        that are left, or of a long plan about as many as the order has.
        """
        used, wanted = self.asked
        gone = min(self.times - 1, int((have // (wanted // self.times)).min(initial=_MOST)))
        twice, turn = self._places
        left = turn > (have - gone * (wanted // self.times))[twice]
        if gone == self.times - 1:
            left[len(self.order) :] = False
        return np.asarray(used[twice[left]])

    @cached_property
    def _places(self) -> tuple[Indices, Counts]:
        """The order twice, by places among `asked`, and which score of its question each is."""
        twice = np.tile(np.searchsorted(self.asked[0], self.order), 2)
        return twice, nth(twice)

    def moved(self, to: Superset) -> Self:
        """Return the plan by the places of its questions and options among more of them."""
        return replace(
            self,
            order=to.questions[self.order],
            pairs=np.where(self.pairs == BAR, BAR, to.options[self.pairs]),
            among=to.options if self.among is None else to.options[self.among],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        # flat, since an empty list has but one dimension
        return kept | {"pairs": self.pairs.reshape(-1), "hopes": self.hopes.reshape(-1)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int) -> Self:
        """Return the plan that `to_dict` was made of; `ValueError` if it is none of q questions."""
        kept = {name: given[name] for name in cls.__dataclass_fields__}
        kept["order"] = _places(kept, "order", (None,), q)
        kept["pairs"] = _places(kept, "pairs", (None,), k, BAR).reshape(-1, 2)
        kept["hopes"] = recalled(kept, "hopes", (3 * len(kept["pairs"]),)).reshape(-1, 3)
        if kept["among"] is not None:
            kept["among"] = _places(kept, "among", (None,), k)
        for name, least in (("times", 1), ("at_most", 0)):
            kept[name] = recalled(kept, name, (), int, least, _MOST)
        kept["forecast"], kept["budget"] = float(kept["forecast"]), float(kept["budget"])
        plan = cls(**kept)
        if not isinstance(plan.purpose, str) or plan.number > _MOST or not plan.budget > 0.0:
            raise ValueError(f"{plan.purpose!r:.80}, {plan.number} scores, {plan.budget} to spend")
        if len(plan.hopes) != len(plan.pairs) or (plan.hopes[:, 1:] <= 0.0).any():
            raise ValueError(f"{len(plan.pairs)} pairs, with hopes {plan.hopes!r:.80}")
        if (plan.pairs[:, 0] == plan.pairs[:, 1]).any():
            raise ValueError(f"pairs {plan.pairs!r:.80}")
        return plan


def _places(
    given: Mapping[str, Any], name: str, shape: tuple[int | None, ...], n: int, least: int = 0
) -> Indices:
    return np.asarray(recalled(given, name, shape, int, least, n - 1), dtype=np.intp)


@dataclass(frozen=True)
class Stop:
    """Why nothing more is planned."""

    # "certain"; "hopeless", where options cannot be told apart with what is left; "stuck", where
    # nobody who is there can compare them; "spent", "broke"; "alarm"
    reason: str
    options: tuple[int, ...] = ()  # those that it is about
    why: str = ""  # in words, where there is more to say


class Round:
    """A plan, and the scores that count for it: (u,) for each question that it asks."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.asked, self.wanted = plan.asked
        n = len(self.asked)
        self.counts, self.sums, self.squares = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
        self.closed = False  # whether it takes no more scores, though it may lack some

    @property
    def lacks(self) -> Counts:
        """(u,) how many scores of each question it lacks."""
        return self.wanted - self.counts

    @property
    def count(self) -> int:
        """How many scores there are."""
        return int(self.counts.sum())

    @property
    def whole(self) -> bool:
        """Whether the plan lacks no score."""
        return bool((self.counts == self.wanted).all())

    @property
    def open(self) -> bool:
        """Whether it takes scores."""
        return not self.closed and not self.whole

    @property
    def means(self) -> Floats:
        """(u,) means of the scores."""
        return self.sums / np.maximum(self.counts, 1)

    def take(self, left: Feedback) -> None:
        """Take of a feedback what the plan lacks, and leave the rest in it."""
        given = left.counts[self.asked]
        fits = (given > 0) & (given <= self.lacks)  # a sum of several scores cannot be divided
        some = self.asked[fits]
        self.counts[fits] += left.counts[some]
        self.sums[fits] += left.sums[some]
        self.squares[fits] += left.sums_of_squares[some]
        for part in left.parts:
            part[some] = 0

    def total(self, q: int) -> Feedback:
        """Return the scores, by all q questions."""
        return _spread(self.asked, (self.counts, self.sums, self.squares), q)

    def moved(self, to: Superset) -> Round:
        """Return the round of the moved plan."""
        new = Round(self.plan.moved(to))
        by = np.argsort(to.questions[self.asked], kind="stable")
        new.counts, new.sums, new.squares = self.counts[by], self.sums[by], self.squares[by]
        new.closed = self.closed
        return new

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        names = ("counts", "sums", "squares", "closed")
        return {"plan": self.plan.to_dict()} | {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int) -> Round:
        """Return the round that `to_dict` was made of; `ValueError` if it is none."""
        new = cls(Plan.from_dict(given["plan"], q, k))
        n = len(new.asked)
        new.counts = recalled_counts(given, "counts", n)
        new.sums = recalled(given, "sums", (n,))
        new.squares = recalled(given, "squares", (n,), least=0.0, most=math.inf)
        new.closed = recalled(given, "closed", kind=bool)
        if (new.lacks < 0).any() or (new.sums[new.counts == 0] != 0.0).any():
            raise ValueError("a plan has scores that it did not ask for")
        return new


class Record:
    """What was asked of q questions, by plans, and what came back."""

    def __init__(self, q: int, *, alone: bool = False) -> None:
        self.q = q
        self.alone = alone  # whether a plan ends those before it, which take no more scores
        self.rounds: list[Round] = []
        self.finished: list[int] = []  # plans that are whole, in the order in which they became so
        self.known = nothing(q)  # all scores by which plans may be made,
        self.everything = nothing(q)  # and all that there are
        self.beside = nothing(q)  # those that count for no plan
        self.observed = 0  # how many plans there were when scores came that nobody asked for, last

    @property
    def now(self) -> Round | None:
        """The last plan, with its scores; None before the first."""
        return self.rounds[-1] if self.rounds else None

    @property
    def open(self) -> list[Round]:
        """The plans that take scores, in the order in which they were made."""
        return [self.rounds[r] for r in self._open]

    def lacking(self, pending: Counts) -> int:
        """Return how many scores the open plans lack beside those on their way."""
        lacks = sum((round_.lacks.sum() for round_ in self.open), 0)
        return max(0, int(lacks) - int(pending.sum()))

    def begin(self, plan: Plan) -> None:
        """Put a plan in force."""
        if self.alone:
            for r in self._open:
                self.rounds[r].closed = True
        self._open = [r for r in self._open if self.rounds[r].open]
        self.rounds.append(Round(plan))
        if self.rounds[-1].whole:  # of no questions
            self.finished.append(len(self.rounds) - 1)
        else:
            self._open.append(len(self.rounds) - 1)

    def tell(self, feedback: Feedback) -> None:
        """Take scores that were asked for."""
        left = nothing(self.q) + feedback  # a copy: who told may reuse his arrays
        self.everything = self.everything + feedback
        for r in list(self._open):
            round_ = self.rounds[r]
            round_.take(left)
            if round_.whole:
                self._open.remove(r)
                self.finished.append(r)
                self.known = self.known + round_.total(self.q)
        self._put_beside(left)

    def observe(self, feedback: Feedback) -> None:
        """Take scores that nobody asked for."""
        self.observed = len(self.rounds)
        self.everything = self.everything + feedback
        self._put_beside(feedback)

    def _put_beside(self, feedback: Feedback) -> None:
        if feedback.counts.any():
            self.beside, self.known = self.beside + feedback, self.known + feedback

    @cached_property
    def _open(self) -> list[int]:
        return [r for r, round_ in enumerate(self.rounds) if round_.open]

    def moved(self, to: Superset, q: int) -> Record:
        """Return the record by the places of its questions among q of them."""
        new = Record(q, alone=self.alone)
        new.rounds = [round_.moved(to) for round_ in self.rounds]
        new.finished, new.observed = list(self.finished), self.observed
        for name in ("known", "everything", "beside"):
            setattr(new, name, _spread(to.questions, getattr(self, name).parts, q))
        return new

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        return {
            "rounds": [round_.to_dict() for round_ in self.rounds],
            "finished": np.array(self.finished, dtype=np.int64),
            "observed": self.observed,
        } | {name: sparse(getattr(self, name)) for name in ("known", "everything", "beside")}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int, *, alone: bool = False) -> Record:
        """Return the record that `to_dict` was made of; `ValueError` if it is none."""
        new = cls(q, alone=alone)
        new.rounds = [Round.from_dict(round_, q, k) for round_ in given["rounds"]]
        n = len(new.rounds)
        new.finished = recalled(given, "finished", (None,), int, 0, n - 1).tolist()
        new.observed = recalled(given, "observed", (), int, 0, n)
        if set(new.finished) != {r for r, one in enumerate(new.rounds) if one.whole}:
            raise ValueError("plans are said to be whole that are not")
        for name in ("known", "everything", "beside"):
            setattr(new, name, dense(given[name], q))
        counts = new.beside.counts + sum((one.total(q).counts for one in new.rounds), 0)
        if len(new.finished) != len(set(new.finished)) or (counts != new.everything.counts).any():
            raise ValueError("the scores of the plans are not those of the record")
        return new


def _spread(places: Indices, parts: tuple[Counts, Floats, Floats], q: int) -> Feedback:
    """Return a feedback of q questions that has these parts at some places."""
    found = nothing(q)
    for whole, part in zip(found.parts, parts, strict=True):
        whole[places] = part
    return found
