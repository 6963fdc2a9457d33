"""What a log says was asked, planned and answered, read by code of its own.

Which plan a score counts for is a matter of order and counts alone: the plan in force when it
arrives, as long as that lacks scores; else the next. A score that was withdrawn is left out, as if
it had never come; an imported one counts for no plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from evenhand.campaigns.proof.asked import (
    LARGEST,
    UNREADABLE,
    Asked,
    Indices,
    Truths,
    numbers,
    places,
)
from evenhand.campaigns.proof.squares import Fit, Scores, Spread
from evenhand.errors import InputError

NO_SCORES = Scores.joined([])
_MOST_LOOKS = 1_000  # at a plan
_PLANNED = ("certain-choice", "planned-choice", "careful-choice")
_Told = tuple[int, float]  # the number of a question, and a score


@dataclass(eq=False)
class Round:
    """A plan, by the places that questions and options have in the end, and its scores.

    Parameters
    ----------
    content
        The plan as it was written.
    order, times
        Its questions, and how often they are asked.
    looks
        At how many shares of its scores it is looked at.
    leader, rivals
        The option that it tests, −1 if none, and those it is tested against.
    expected, unit, freedom
        What was expected of the leads over the rivals, what the noise was taken to be, and by how
        many degrees of freedom.
    there
        (k,) the options that there were.
    scores
        Those that count for it, in order.
    over
        Whether no more can.
    """

    content: Mapping[str, Any]
    order: Indices
    times: int
    looks: int
    leader: int
    rivals: Indices
    expected: Spread
    unit: float
    freedom: float
    there: Truths
    scores: Scores
    over: bool

    @property
    def number(self) -> int:
        """How many scores make it whole."""
        return len(self.order) * self.times

    @property
    def count(self) -> int:
        """How many scores it has."""
        return len(self.scores.values)

    @property
    def looked(self) -> list[int]:
        """After how many scores it was looked at: when a further share of them had come."""
        looks = min(self.looks, self.number)
        shares = (-(-j * self.number // looks) for j in range(1, looks + 1))
        return list(takewhile(lambda n: n <= self.count, shares))


@dataclass(frozen=True, eq=False)
class Record:
    """What was asked and what came back.

    Parameters
    ----------
    asked
        The questions.
    policy, settings, stated
        What asked and what it was told by name; what the campaign was asked for.
    rounds
        The plans in order, with their scores; of policies without such plans, none.
    outside
        How many plans there were, and scores that came then and that nobody asked for.
    early
        Scores that came when the last plan was whole.
    withdrawn
        Whether something was.
    """

    asked: Asked
    policy: str
    settings: Mapping[str, Any]
    stated: Mapping[str, Any]
    rounds: Sequence[Round] = ()
    outside: Sequence[tuple[int, Scores]] = ()
    early: Scores = NO_SCORES
    withdrawn: bool = False

    def setting(self, name: str, otherwise: float, most: float = LARGEST) -> float:
        """Return a number ≥ 0 that the policy was told; ``otherwise`` if it was told none."""
        value = self.settings.get(name)
        return otherwise if value is None else number(value, name, 0.0, most)

    @property
    def delta(self) -> float:
        """Probability of being wrong that was allowed."""
        return max(1.0 - self.setting("confidence", 0.95, 1.0), 1e-16)

    @property
    def noise(self) -> float | None:
        """The noise where it is stated, or follows from bounds; else None."""
        bounds = self.settings.get("bounds")
        if self.settings.get("noise_scale") is not None:
            return max(self.setting("noise_scale", 1.0), 1.0 / LARGEST)
        if bounds is None or self.policy != "certain-choice":
            return None
        low, high = numbers(bounds, (2,), "bounds")
        return max(0.5 * float(high - low), 1.0 / LARGEST)

    def fit(self, scores: Scores) -> Fit:
        """Return least squares on some scores."""
        return Fit.of(self.asked, *scores.means(len(self.asked.about)), self.noise is not None)

    def before(self, r: int) -> Scores:
        """Return all that was known when plan r was frozen."""
        told = [one.scores for one in self.rounds[:r]]
        return Scores.joined([*told, *(scores for at, scores in self.outside if at <= r)])

    @property
    def everything(self) -> Scores:
        """All scores that count."""
        return Scores.joined([self.before(len(self.rounds)), self.early])


def record_of(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Record:
    """Return the record that the events of a campaign come to: kinds and particulars, in order.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> policy = eh.CertainChoice(panel, at_most=50)
    >>> created = {"policy": policy.state(), "settings": {"tolerance": 0.0}}
    >>> told = {"evaluations": [[1, 1, 2, 7.5, "P", "a"]]}
    >>> record = record_of([("created", created), ("planned", {"plan": policy.plan()}),
    ...                     ("told", told)])
    >>> record.policy, record.rounds[0].number, record.rounds[0].scores.values
    ('certain-choice', 6, array([7.5]))
    """
    try:
        if events[0][0] != "created":
            raise ValueError("the log does not begin with how the campaign was made")
        return _Reader(events).record()
    except UNREADABLE as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"the record cannot be read: {what}.") from error


class _Reader:
    """Goes through the events."""

    def __init__(self, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        created = events[0][1]
        state, self.stated = created["policy"], created["settings"]
        placed, named = state["arguments"]["placed"], dict(state["arguments"]["named"])
        self.policy = state["policy"]
        self._ask(placed[0] if placed else named.pop("actions"), None)
        self.settings = named | ({"horizon": placed[1]} if len(placed) > 1 else {})
        self.gone = {c["evaluation"] for kind, c in events if kind == "withdrawn"}
        # plans with the names of options and numbers of questions as they were, and their scores
        self.plans: list[tuple[Mapping[str, Any], tuple[str, ...], Indices, int, list[_Told]]] = []
        self.outside: list[tuple[int, list[_Told]]] = []
        early: deque[_Told] = deque()
        for kind, content in events[1:]:
            if kind == "extended" and content["questions"] is not None:
                self._ask(content["questions"], content["numbers"])
            elif kind == "planned" and self.policy in _PLANNED:
                self._plan(content["plan"])
            elif kind == "imported":
                self.outside.append((len(self.plans), list(self._scores(content))))
            elif kind == "told":
                early += self._scores(content)
            while early and self.plans and len(self.plans[-1][4]) < self._number:
                self.plans[-1][4].append(early.popleft())
        self.early = early

    def _ask(self, given: Mapping[str, Any], ids: Any) -> None:
        self.asked = Asked.of(given["actions"] if "actions" in given else given["questions"])
        q = len(self.asked.about)
        self.ids = np.arange(q) if ids is None else places(ids, 10**12, "numbers of questions")
        if len(np.unique(self.ids)) != q or len(self.ids) != q:
            raise ValueError(f"{q} questions have {len(self.ids)} numbers")

    def _plan(self, plan: Mapping[str, Any]) -> None:
        order = self.ids[places(plan["order"], len(self.ids), "order")]
        times = int(number(plan["times"], "times", 1.0, 1e18))
        self.plans.append((plan, self.asked.labels, order, times, []))
        self._number = len(order) * times

    def _scores(self, content: Mapping[str, Any]) -> Iterator[_Told]:
        for evaluation, _, question, score, *_ in content["evaluations"]:
            if evaluation not in self.gone:
                yield question, number(score, "a score", -LARGEST, LARGEST)

    def record(self) -> Record:
        """Return the record, by the places of the end."""
        asked = self.asked
        bare = Record(asked, self.policy, self.settings, self.stated)
        unit, at = bare.noise or 1.0, {id: x for x, id in enumerate(self.ids.tolist())}

        def placed(told: Iterable[_Told]) -> Scores:
            pairs = list(told)
            where = np.array([at[question] for question, _ in pairs], dtype=np.intp)
            return Scores(where, np.array([s for _, s in pairs]) / asked.noise[where] / unit)

        rounds = []
        for plan, labels, order, times, told in self.plans:
            where = np.array([at[id] for id in order.tolist()], dtype=np.intp)
            rounds.append(self._round(plan, labels, where, times, placed(told)))
        for one in rounds[:-1]:
            one.over = True
        return Record(
            asked,
            self.policy,
            self.settings,
            self.stated,
            rounds,
            [(n, placed(told)) for n, told in self.outside],
            placed(self.early),
            bool(self.gone),
        )

    def _round(
        self,
        plan: Mapping[str, Any],
        labels: tuple[str, ...],
        order: Indices,
        times: int,
        scores: Scores,
    ) -> Round:
        at = {name: x for x, name in enumerate(self.asked.labels)}
        now = np.array([at[name] for name in labels], dtype=np.intp)
        rivals, expected = places(plan["rivals"], len(now), "rivals"), plan["expected"]
        leader, said, unit, freedom = -1, Spread(np.zeros(0), np.zeros(0)), 1.0, math.inf
        if expected is not None:
            leader = int(now[places([plan["leader"]], len(now), "leader")[0]])
            parts = (numbers(expected[x], rivals.shape, x) for x in ("leads", "variances"))
            said = Spread(*parts)
            unit = number(expected["unit"], "unit", 1e-150, LARGEST)
            freedom = number(expected["freedom"], "freedom", 0.0, math.inf)
        # scores between bounds may have any distribution: they are looked at when a plan is whole
        bounded = self.policy == "certain-choice" and self.settings.get("bounds") is not None
        looks = 1 if bounded else int(number(plan["looks"], "looks", 1.0, _MOST_LOOKS))
        there = np.isin(np.arange(len(at)), now)
        over = len(scores.values) >= len(order) * times
        return Round(
            plan, order, times, looks, leader, now[rivals], said, unit, freedom, there, scores, over
        )


def number(stated: Any, what: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a number as records write it: those that are not finite by name, or as None.

    Examples
    --------
    >>> number({"number": "inf"}, "freedom"), number(0.5, "confidence", 0.0, 1.0)
    (inf, 0.5)
    """
    if isinstance(stated, Mapping):
        stated = stated.get("number")
    stated = float(stated) if stated in ("nan", "inf", "-inf") else stated
    stated = math.nan if stated is None else stated
    anything = least == -math.inf and most == math.inf
    if type(stated) not in (int, float) or not (anything or least <= stated <= most):
        raise ValueError(f"{what} must be a number from {least:g} to {most:g}; got {stated!r:.80}")
    return float(stated)
