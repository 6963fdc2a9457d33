"""What a log says was asked, planned and answered, score by score.

Questions, settings and plans are read and checked as everywhere (`restore`, `Plan`). Which plan a
score counts for is a matter of order and counts alone: the plan in force when it arrives, as long
as that lacks scores; else the next. A score that was withdrawn is left out, as if it had never
come; an imported one counts for no plan, and neither does one that stands for a score that was
withdrawn, unless blindly, and that counted for an earlier plan.

The record *as it was given* has, of every ticket, the first score that was not withdrawn blindly.
One that came while a plan was whole here, and the campaign still lacked what it had withdrawn of
it, counts for none: the next plan was made with it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.campaigns.proof.squares import Fit, Scores, Truths
from evenhand.certainty.record import Plan
from evenhand.policies.state import as_it_was, restore
from evenhand.questions import Column, Questions, Superset
from evenhand.questions.options import named_biases

MOST_COLUMNS, MOST_NUMBERS = 2_000, 10_000_000
"""Columns of a model, and numbers in its rows, up to which records are confirmed."""
_LARGEST = 1e100  # size of an entry or a score: its square is a number, too


class TooLargeError(Exception):
    """The model of a record is too large to be solved here."""


@dataclass(eq=False)
class Round:
    """A plan, by the places that questions and options have in the end, and its scores."""

    plan: Plan
    there: Truths  # (k,) options that there were
    over: bool = False  # no more scores can count for it
    told: list[tuple[int, float]] = field(default_factory=list)  # question, score in noise

    @cached_property
    def scores(self) -> Scores:
        """Its scores, in order."""
        return Scores.of(self.told)

    def looked(self, n: int) -> int:
        """Return how many scores were in at the last look after n: fixed shares of its number."""
        number = self.plan.number
        looks = min(self.plan.looks, number)
        return -(-(n * looks // number) * number // looks) if number else 0


class Record:
    """What was asked and what came back."""

    # `rows` are (q, m) those of the questions, over their relative noise, `options` (k, m) those of
    # the options; `rounds` are the plans in order, with their scores; `outside` has scores that
    # nobody asked for, each with how many plans there were then.

    def __init__(self, policy: Any, questions: Questions, withdrawn: bool) -> None:
        self.policy, self.questions, self.withdrawn = policy, questions, withdrawn
        (q, m), k = questions.rows.shape, len(questions.options)
        if m > MOST_COLUMNS or max(q, k) * m > MOST_NUMBERS:
            raise TooLargeError(f"{q:,} questions with {m:,} parameters")
        self.labels, self.noise = tuple(questions.options.labels), policy.stated_noise
        self.loud = np.ones(q) if questions.noise is None else questions.noise
        self.rows = questions.points / self.loud[:, None]
        if not np.abs(self.rows).max(initial=0.0) <= _LARGEST:
            raise ValueError(f"rows of questions have numbers of more than {_LARGEST:g}")
        before = [(0, 0), (questions.n_features, 0)]
        self.options = np.pad(questions.options.features, [(0, 0), (0, questions.n_attributes)])
        self._pad = before
        self.rounds: list[Round] = []
        self.outside: list[tuple[int, Scores]] = []

    @cached_property
    def _impartial(self) -> Floats:
        """(p,) attributes of an impartial question to the average of those who answered; of all,
        where options are held against a bar by stages.
        """
        if self.policy.name == "certain-choice" and self.policy.target.bar is not None:
            return self.questions.neutral
        told = Scores.joined(one.scores for one in self.rounds)
        return self.questions.neutral_among(told.means(len(self.loud))[0])

    @property
    def neutral(self) -> Floats:
        """(m,) the row of such a question."""
        return np.pad(self._impartial, self._pad[1:])

    @cached_property
    def _named(self) -> tuple[list[Column], Floats]:
        return named_biases(self.questions, self._impartial)

    @property
    def biases(self) -> list[Column]:
        """What scores react to."""
        return self._named[0]

    @property
    def bias_rows(self) -> Floats:
        """(n, m) the rows of biases; leniencies from the mean of those who answered."""
        return np.pad(self._named[1], self._pad)

    def fit(self, scores: Scores) -> Fit:
        """Return least squares on some scores."""
        return Fit.of(self.rows, *scores.means(len(self.loud)), self.noise is not None)

    def before(self, r: int) -> Scores:
        """Return all that was known when plan r was frozen."""
        told = [one.scores for one in self.rounds[:r]]
        return Scores.joined([*told, *(scores for at, scores in self.outside if at <= r)])

    def begin(self, plan: Plan) -> None:
        """Put a plan in force; the one before is closed with what it has."""
        for before in self.rounds[-1:]:
            before.over = True
        bounds = getattr(self.policy, "bounds", None)
        if bounds is not None and self.policy.name != "planned-choice":
            # what is multiplied over looks inside a plan takes noise to be Gaussian
            plan = replace(plan, looks=1)
        everybody = np.arange(len(self.labels))
        self.rounds.append(
            Round(plan, np.isin(everybody, everybody if plan.among is None else plan.among))
        )


def record_of(
    events: Sequence[tuple[str, Mapping[str, Any]]], as_given: int | None = None
) -> Record:
    """Return the record of the events of a campaign, kinds and particulars, in order."""
    # With a number `as_given`, that of so many plans with scores as they were first given.
    policy = restore(events[0][1]["policy"])
    grown = [c for kind, c in events if kind == "extended" and c["questions"] is not None]
    versions = [policy.actions, *(as_it_was(content["questions"]) for content in grown)]
    blind = {c["evaluation"]: bool(c["blind"]) for kind, c in events if kind == "withdrawn"}
    record = Record(policy, Questions.of(versions[-1]), bool(blind))
    q, unit = len(record.questions), record.noise or 1.0
    place = {number: x for x, number in enumerate(grown[-1]["numbers"] if grown else range(q))}
    if sorted(place) != list(range(q)):
        raise ValueError(f"{q} questions have {len(place)} numbers")

    def score_in(row: Sequence[Any]) -> tuple[int, float]:
        evaluation, _, question, score, *_ = row
        if not abs(score) <= _LARGEST:
            raise ValueError(f"evaluation {evaluation} is {score!r:.80}")
        return place[question], float(score) / (unit * record.loud[place[question]])

    sorts = _AsGiven(record, blind) if as_given is not None else _Kept(record, blind)
    for kind, content in events[1:]:
        if kind == "extended" and content["questions"] is not None:
            versions.pop(0)
        elif kind == "planned":
            if len(record.rounds) == as_given:
                break
            then = Questions.of(versions[0])
            plan = Plan.from_dict(as_it_was(content["plan"]), len(then), len(then.options))
            if len(versions) > 1:
                plan = plan.moved(Superset.of(versions[0], versions[-1]))
            record.begin(plan)
            sorts.fill()
        elif kind == "imported":
            kept = [score_in(row) for row in content["evaluations"] if not sorts.gone(row[0])]
            record.outside.append((len(record.rounds), Scores.of(kept)))
        elif kind == "told":
            for evaluation, ticket, *rest in content["evaluations"]:
                sorts.take(evaluation, ticket, score_in([evaluation, ticket, *rest]))
        elif kind == "withdrawn":
            sorts.withdrawn(content["evaluation"], content["ticket"])
    return record


class _Kept:
    """Sorts scores into plans, without those that are ever withdrawn (`blind`: blindly or not)."""

    def __init__(self, record: Record, blind: Mapping[int, bool]) -> None:
        self.record, self.blind = record, blind
        self.early: deque[tuple[int, float]] = deque()  # they came when the last plan was whole
        self.first: dict[Any, int] = {}  # plans of scores that somebody withdrew, by ticket

    def gone(self, evaluation: int) -> bool:
        """Tell whether a score is left out."""
        return evaluation in self.blind

    @property
    def whole(self) -> bool:
        """Whether the plan in force takes no more scores; so it is before the first."""
        return all(one.over for one in self.record.rounds[-1:])

    @property
    def plan(self) -> int:
        """For which plan the next score counts."""
        return len(self.record.rounds) - (not self.whole)

    def fill(self, *more: tuple[int, float]) -> None:
        """Put scores into the plan in force, as long as it lacks some."""
        self.early.extend(more)
        for last in self.record.rounds[-1:]:
            while self.early and len(last.told) < last.plan.number:
                last.told.append(self.early.popleft())
            last.over = len(last.told) >= last.plan.number

    def take(self, evaluation: int, ticket: Any, score: tuple[int, float]) -> None:
        """Take a score that answers a ticket."""
        again = ticket in self.first
        if evaluation not in self.blind:
            staged = self.record.policy.name == "certain-choice"  # others take none so
            if again and staged and self.first[ticket] != self.plan:
                self.record.outside.append((len(self.record.rounds), Scores.of([score])))
            else:
                self.fill(score)
        elif not again and not self.blind[evaluation]:
            self.first[ticket] = self.plan

    def withdrawn(self, evaluation: int, ticket: Any) -> None:
        """Take note of a withdrawal."""


class _AsGiven(_Kept):
    """Sorts scores into plans as they were first given."""

    def __init__(self, record: Record, blind: Mapping[int, bool]) -> None:
        super().__init__(record, blind)
        self.lacking: Counter[int] = Counter()  # of plans: what the campaign lacks

    def gone(self, evaluation: int) -> bool:
        """Tell whether a score is left out."""
        return self.blind.get(evaluation, False)

    def take(self, evaluation: int, ticket: Any, score: tuple[int, float]) -> None:
        """Take a score that answers a ticket."""
        now = len(self.record.rounds) - 1
        known = self.whole and self.lacking[now] > 0 and self.record.policy.name != "planned-choice"
        if ticket in self.first:
            self.lacking[now] -= self.first[ticket] == now
        elif not self.gone(evaluation):
            if evaluation in self.blind:
                self.first[ticket] = now if known else self.plan
            if known:
                self.lacking[now] -= 1
            else:
                self.fill(score)

    def withdrawn(self, evaluation: int, ticket: Any) -> None:
        """Take note of a withdrawal."""
        if ticket in self.first and not self.blind[evaluation]:
            self.lacking[self.first[ticket]] += 1
