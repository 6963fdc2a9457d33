"""Paired items: every judge scores all options on the same items, and all is looked at once.

How items differ is most of what makes scores differ, and options that have the same items have it
in common. So which items, and how many, is fixed before the first score; each is judged as often as
any other, and `decide` compares options item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.answers import Answer, Question, Reply, choose, decide
from evenhand.answers.run import INTERRUPTED
from evenhand.arrays import is_number
from evenhand.judges.texts import Pool
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.identifiable import refuse_incomparable
from evenhand.search.planned_choice import PlannedChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

_ONLY_SEARCH = ("policy", "noise_scale", "deviation", "bar", "against")
_LEAST = 20  # items: of fewer, how they differ is known too badly


@dataclass(frozen=True)
class Answered:
    """One verdict, and what it was about."""

    question: Question
    item: str | None
    reply: Reply


@dataclass(frozen=True, eq=False)
class PairedItems:
    """Questions about each option by each judge, as often as there are items."""

    questions: Questions
    items: Pool  # in the order in which they are asked about
    scale: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        questions: Questions,
        pools: Sequence[Pool],
        seed: int,
        scale: tuple[float, float] | None,
        settings: Mapping[str, Any],
    ) -> PairedItems | str:
        """Return the design that is paid for, or why there is none."""
        if used := [one for one in _ONLY_SEARCH if settings.get(one) is not None]:
            return f"it takes no {used[0]}"
        shared = [item for item in pools[0] if item is not None and all(item in p for p in pools)]
        if questions.trusted is not None:
            return "some judges are trusted; they are asked where it counts"
        if (questions.workload < UNLIMITED).any():
            return "judges have workloads"
        n = len(shared)
        for limit, each in (("at_most", len(questions)), ("budget", questions.prices.sum())):
            if is_number(most := settings.get(limit)):
                n = min(n, int(most * (1.0 + 1e-12) // each))
        if n < _LEAST:
            return f"{_LEAST} items that all judges can be asked about are needed, not {max(n, 0)}"
        order = np.random.default_rng([seed, 3]).permutation(len(shared))[:n]
        paired = questions._changed(capacity=np.full(len(questions), n))
        return cls(paired, tuple(shared[i] for i in order.tolist()), scale)

    def run(
        self, evaluate: Callable[[Question], Any], confidence: float, settings: Mapping[str, Any]
    ) -> Answer:
        """Have all of it asked; the answer is one by options alone, without items."""
        refuse_incomparable(self.questions)
        policy = PlannedChoice(
            self.questions,
            confidence=confidence,
            budget=settings.get("budget"),
            seed=settings.get("seed", 0),
        )
        asked = {"at_most": None, "budget": None, "policy": policy, "top": 1, "tolerance": 0.0}
        return choose(self.questions, evaluate, confidence, **(dict(settings) | asked))

    def answer(
        self, ran: Answer, rows: Sequence[Answered], confidence: float, settings: Mapping[str, Any]
    ) -> Answer:
        """Return the answer of one look, item by item, after a run."""
        import pandas as pd  # noqa: PLC0415 # slow to load, and a search does without

        # `decide` does not see how answers came
        told = any(one.alarm and one.assumption == "attempts" for one in ran.warnings)
        if ran.stopped_because == INTERRUPTED or told or not rows:
            return ran
        table = pd.DataFrame(
            [(r.question.label, r.question.evaluator, r.item, r.reply.score) for r in rows],
            columns=["option", "evaluator", "item", "score"],
        )
        top = settings.get("top", 1)
        ends = (0.0, 1.0) if settings.get("scores") == "votes" else settings.get("bounds")
        found = decide(
            self.questions,
            table,
            confidence,
            settings.get("tolerance", 0.0),
            top=None if top == 1 else top,
            scale=self.scale if ends is None else tuple(ends),
            best=settings.get("best"),
            scope="these",
            repeats=True,
            next_n=0,
        )
        left = [one for one in ran.warnings if one.assumption == "attendance"]
        return replace(
            found,
            paid=ran.paid,
            failures=ran.failures,
            attempts=ran.attempts,
            warnings=(*found.warnings, *left),
        )
