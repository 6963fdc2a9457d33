"""What a log says was asked, planned and answered, score by score.

Questions, settings and plans are read and checked as everywhere (`restore`, `Plan`). Which plan a
score counts for is a matter of order and counts alone: the plan in force when it arrives, as long
as that lacks scores; else the next. A score that was withdrawn is left out, as if it had never
come; an imported one counts for no plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.campaigns.proof.squares import Fit, Scores, Truths
from evenhand.certainty.biases import named_biases
from evenhand.certainty.record import Plan
from evenhand.policies.state import as_it_was, restore
from evenhand.questions import Questions, Superset

MOST_COLUMNS, MOST_NUMBERS = 2_000, 10_000_000
"""Columns of a model, and numbers in its rows, up to which records are confirmed."""
_LARGEST = 1e100  # size of an entry or a score: its square is a number, too


class TooLargeError(Exception):
    """The model of a record is too large to be solved here."""


@dataclass(eq=False)
class Round:
    """A plan, by the places that questions and options have in the end, and its scores.

    Parameters
    ----------
    plan, there
        The plan, and (k,) the options that there were.
    over
        Whether no more scores can count for it.
    told
        Those that do: places of questions, and scores in units of the noise.
    """

    plan: Plan
    there: Truths
    over: bool = False
    told: list[tuple[int, float]] = field(default_factory=list)

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
    """What was asked and what came back.

    Parameters
    ----------
    policy, questions
        What asked, as it was at first; all that can be asked in the end.
    withdrawn
        Whether something was.

    Attributes
    ----------
    rows, options, neutral
        (q, m) those of the questions, over their relative noise; (k, m) those of the options; (m,)
        that of an impartial question to an evaluator of average leniency.
    biases, bias_rows
        What scores react to, leniencies as deviations from the mean of all evaluators; (n, m) rows.
    rounds, outside
        The plans in order, with their scores; how many plans there were, and scores that came then
        and that nobody asked for.
    """

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
        self.neutral = np.pad(questions.neutral, before[1:])
        self.biases, rows = named_biases(questions)
        self.bias_rows = np.pad(rows, before)
        self.rounds: list[Round] = []
        self.outside: list[tuple[int, Scores]] = []

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
        if getattr(self.policy, "bounds", None) is not None:
            # scores between bounds may have any distribution: they are looked at when it is whole
            plan = replace(plan, looks=1)
        everybody = np.arange(len(self.labels))
        self.rounds.append(
            Round(plan, np.isin(everybody, everybody if plan.among is None else plan.among))
        )


def record_of(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Record:
    """Return the record that the events of a campaign come to: kinds and particulars, in order.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> policy = eh.CertainChoice(panel, at_most=50)
    >>> told = {"evaluations": [[1, 1, 2, 7.5, "P", "a"]]}
    >>> record = record_of([("created", {"policy": policy.state()}),
    ...                     ("planned", {"plan": policy.plan()}), ("told", told)])
    >>> record.policy.name, record.rounds[0].plan.leader, record.rounds[0].scores.values
    ('certain-choice', -1, array([7.5]))
    """
    policy = restore(events[0][1]["policy"])
    grown = [c for kind, c in events if kind == "extended" and c["questions"] is not None]
    versions = [policy.actions, *(as_it_was(content["questions"]) for content in grown)]
    gone = {content["evaluation"] for kind, content in events if kind == "withdrawn"}
    record = Record(policy, Questions.of(versions[-1]), bool(gone))
    q, unit = len(record.questions), record.noise or 1.0
    place = {number: x for x, number in enumerate(grown[-1]["numbers"] if grown else range(q))}
    if sorted(place) != list(range(q)):
        raise ValueError(f"{q} questions have {len(place)} numbers")

    def scores(content: Mapping[str, Any]) -> Iterator[tuple[int, float]]:
        for evaluation, _, question, score, *_ in content["evaluations"]:
            if not abs(score) <= _LARGEST:
                raise ValueError(f"evaluation {evaluation} is {score!r:.80}")
            if evaluation not in gone:
                yield place[question], float(score) / (unit * record.loud[place[question]])

    early: deque[tuple[int, float]] = deque()  # scores that came when the last plan was whole
    for kind, content in events[1:]:
        if kind == "extended" and content["questions"] is not None:
            versions.pop(0)
        elif kind == "planned":
            then = Questions.of(versions[0])
            plan = Plan.from_dict(as_it_was(content["plan"]), len(then), len(then.options))
            if len(versions) > 1:
                plan = plan.moved(Superset.of(versions[0], versions[-1]))
            record.begin(plan)
        elif kind == "imported":
            record.outside.append((len(record.rounds), Scores.of(scores(content))))
        elif kind == "told":
            early.extend(scores(content))
        for last in record.rounds[-1:]:
            while early and len(last.told) < last.plan.number:
                last.told.append(early.popleft())
            last.over = len(last.told) >= last.plan.number
    return record
