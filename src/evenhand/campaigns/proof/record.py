"""What a log says was asked, planned and answered, read by code of its own.

Which plan a score counts for is a matter of order and counts alone: the plan in force when it
arrives, as long as that lacks scores; else the next. A score that was withdrawn is left out, as if
it had never come; an imported one counts for no plan.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from evenhand.campaigns.proof.asked import (
    LARGEST,
    Asked,
    Indices,
    Truths,
    numbers,
    places,
)
from evenhand.campaigns.proof.squares import Fit, Scores, Spread

_MOST_LOOKS = 1_000  # at a plan
_PLANNED = ("certain-choice", "planned-choice", "careful-choice")


@dataclass(eq=False)
class Round:
    """A plan, by the places that questions and options have in the end, and its scores.

    Parameters
    ----------
    purpose, at_most
        What it is for, and how many evaluations were allowed when it was made.
    order, times, looks
        Its questions, how often they are asked, and at how many shares of its scores one looks.
    leader, rivals
        The option that it tests, −1 if none, and those it is tested against.
    expected, unit, freedom
        What was expected of the leads over the rivals, what the noise was taken to be, and by how
        many degrees of freedom.
    there
        (k,) the options that there were.
    over
        Whether no more scores can count for it.
    told
        Those that do: places of questions, and scores in units of the noise.
    """

    purpose: str
    at_most: float
    order: Indices
    times: int
    looks: int
    leader: int
    rivals: Indices
    expected: Spread
    unit: float
    freedom: float
    there: Truths
    over: bool = False
    told: list[tuple[int, float]] = field(default_factory=list)

    @property
    def number(self) -> int:
        """How many scores make it whole."""
        return len(self.order) * self.times

    @property
    def count(self) -> int:
        """How many scores it has."""
        return len(self.told)

    @cached_property
    def scores(self) -> Scores:
        """Its scores, in order."""
        return Scores.of(self.told)

    @cached_property
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
    withdrawn
        Whether something was.
    rounds
        The plans in order, with their scores; of policies without such plans, none.
    outside
        How many plans there were, and scores that came then and that nobody asked for.
    early
        Scores that came when the last plan was whole.
    """

    asked: Asked
    policy: str
    settings: Mapping[str, Any]
    stated: Mapping[str, Any]
    withdrawn: bool
    rounds: list[Round] = field(default_factory=list)
    outside: list[tuple[int, Scores]] = field(default_factory=list)
    early: deque[tuple[int, float]] = field(default_factory=deque)

    def setting(self, name: str, otherwise: float, most: float = LARGEST) -> float:
        """Return a number ≥ 0 that the policy was told; ``otherwise`` if it was told none."""
        value = self.settings.get(name)
        return otherwise if value is None else number(value, name, 0.0, most)

    @cached_property
    def delta(self) -> float:
        """Probability of being wrong that was allowed."""
        return max(1.0 - self.setting("confidence", 0.95, 1.0), 1e-16)

    @cached_property
    def bounds(self) -> float | None:
        """How far apart scores can be, where certainty rests on that; else None."""
        bounds = self.settings.get("bounds")
        if bounds is None or self.policy != "certain-choice":
            return None
        low, high = numbers(bounds, (2,), "bounds")
        return max(float(high - low), 1.0 / LARGEST)

    @cached_property
    def noise(self) -> float | None:
        """The noise where it is stated, or follows from bounds; else None."""
        if self.settings.get("noise_scale") is not None:
            return max(self.setting("noise_scale", 1.0), 1.0 / LARGEST)
        return None if self.bounds is None else 0.5 * self.bounds

    def fit(self, scores: Scores) -> Fit:
        """Return least squares on some scores."""
        return Fit.of(self.asked, *scores.means(len(self.asked.about)), self.noise is not None)

    def before(self, r: int) -> Scores:
        """Return all that was known when plan r was frozen."""
        told = [one.scores for one in self.rounds[:r]]
        return Scores.joined([*told, *(scores for at, scores in self.outside if at <= r)])

    @cached_property
    def everything(self) -> Scores:
        """All scores that count."""
        return Scores.joined([self.before(len(self.rounds)), Scores.of(self.early)])


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
    >>> record.policy, record.rounds[0].leader, record.rounds[0].scores.values
    ('certain-choice', -1, array([7.5]))
    """
    if events[0][0] != "created":
        raise ValueError("the log does not begin with how the campaign was made")
    created = events[0][1]
    arguments, policy = created["policy"]["arguments"], created["policy"]["policy"]
    named = dict(arguments["named"])
    first = arguments["placed"][0] if arguments["placed"] else named.pop("actions")
    grown = [c for kind, c in events if kind == "extended" and c["questions"] is not None]
    versions = deque([_asked(first, None), *(_asked(c["questions"], c["numbers"]) for c in grown)])
    (asked, ids), gone = (
        versions[-1],
        {c["evaluation"] for kind, c in events if kind == "withdrawn"},
    )
    place = {id: x for x, id in enumerate(ids.tolist())}
    record = Record(asked, policy, named, created["settings"], bool(gone))
    loud = (asked.noise * (record.noise or 1.0)).tolist()

    def scores(content: Mapping[str, Any]) -> Iterable[tuple[int, float]]:
        for evaluation, _, question, score, *_ in content["evaluations"]:
            if evaluation not in gone:
                x = place[question]
                yield x, number(score, "a score", -LARGEST, LARGEST) / loud[x]

    for kind, content in events[1:]:
        if kind == "extended" and content["questions"] is not None:
            versions.popleft()
        elif kind == "planned" and policy in _PLANNED:
            for before in record.rounds:
                before.over = True
            record.rounds.append(_round(content["plan"], record, place, *versions[0]))
        elif kind == "imported":
            record.outside.append((len(record.rounds), Scores.of(scores(content))))
        elif kind == "told":
            record.early.extend(scores(content))
        if record.rounds:
            last = record.rounds[-1]
            while record.early and last.count < last.number:
                last.told.append(record.early.popleft())
            last.over = last.count >= last.number
    return record


def _asked(given: Mapping[str, Any], ids: Any) -> tuple[Asked, Indices]:
    """Return questions, and the numbers that are theirs for good."""
    asked = Asked.of(given["actions"] if "actions" in given else given["questions"])
    q = len(asked.about)
    own = np.arange(q) if ids is None else places(ids, 10**12, "numbers of questions")
    if not len(np.unique(own)) == len(own) == q:
        raise ValueError(f"{q} questions have {len(own)} numbers")
    return asked, own


def _round(
    plan: Mapping[str, Any], record: Record, place: Mapping[int, int], then: Asked, ids: Indices
) -> Round:
    """Return a plan about the options and questions that there were then."""
    at = {name: x for x, name in enumerate(record.asked.labels)}
    now = np.array([at[name] for name in then.labels], dtype=np.intp)
    order = ids[places(plan["order"], len(ids), "order")]
    rivals, expected = places(plan["rivals"], len(now), "rivals"), plan["expected"]
    leader, said, unit, freedom = -1, Spread(np.zeros(0), np.zeros(0)), 1.0, math.inf
    if expected is not None:
        leader = int(now[places([plan["leader"]], len(now), "leader")[0]])
        said = Spread(*(numbers(expected[x], rivals.shape, x) for x in ("leads", "variances")))
        unit = number(expected["unit"], "unit", 1e-150, LARGEST)
        freedom = number(expected["freedom"], "freedom", 0.0, math.inf)
    # scores between bounds may have any distribution: they are looked at when a plan is whole
    looks = 1 if record.bounds else int(number(plan["looks"], "looks", 1.0, _MOST_LOOKS))
    return Round(
        str(plan["purpose"]),
        number(plan["at_most"], "at_most", 1.0, 1e18),
        np.array([place[id] for id in order.tolist()], dtype=np.intp),
        int(number(plan["times"], "times", 1.0, 1e18)),
        looks,
        leader,
        now[rivals],
        said,
        unit,
        freedom,
        np.isin(np.arange(len(at)), now),
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
