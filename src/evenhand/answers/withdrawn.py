"""Scores that were withdrawn: an answer names them, and says only what holds with them put back.

Of two records, without and with the scores, an answer states the lesser: an option is certain if
both say so, what it loses is the larger, intervals are as wide as both together. So it is wrong no
more often than the record as it was given, which nobody chose (`evenhand.campaigns.course`).
Scores that were withdrawn blindly, without regard to any score, are put back in neither.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.inference import Conclusion, Verdict, capped
from evenhand.inference.conclusion import unbounded
from evenhand.report.words import counted, listed, short

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer, Standing
    from evenhand.arrays import Floats

_MOST_NAMED = 5


@dataclass(frozen=True)
class Withdrawal:
    """A score that was withdrawn."""

    evaluation: int  # its number in the campaign
    about: str
    evaluator: str  # "" if nobody is named
    score: float
    reason: str
    blind: bool  # decided without regard to any score, as was said for the record

    def __str__(self) -> str:
        by = f" by {short(self.evaluator)}" if self.evaluator else ""
        blind = ", blindly" if self.blind else ""
        return f"{short(self.about)}{by}, {self.score:g} ({self.reason}{blind})"


@dataclass(frozen=True, eq=False)
class Withdrawals:
    """All withdrawn scores, and what the record says with those put back that count."""

    scores: tuple[Withdrawal, ...] = ()  # in the order in which they were withdrawn
    put_back: Answer | None = None  # with those not withdrawn blindly; None if none, or not known
    sure_without: bool = False  # by the other scores alone

    def __str__(self) -> str:
        n = len(self.scores)
        if n == 0:
            return ""
        more = f"; … and {n - _MOST_NAMED:,} more" if n > _MOST_NAMED else ""
        named = "; ".join(str(one) for one in self.scores[:_MOST_NAMED])
        return f"{counted(n, 'score')}: {named}{more}. {self._then()}"

    def _then(self) -> str:
        """Return what follows from it."""
        one = len(self.scores) == 1
        them, are = ("it", "it is") if one else ("them", "they are")
        if all(one.blind for one in self.scores):
            return (
                "That was decided without regard to any score, as was said for the record: "
                f"{are} left out."
            )
        if self.put_back is None:
            return f"What the record would say with {them} put back cannot be told."
        name, sure = short(self.put_back.label), self.put_back.sure
        if len(self.put_back.chosen) > 1:
            names = listed(self.put_back.chosen)
            return f"With {them} put back, {names} {'are' if sure else 'lead, but are not'} sure."
        return f"With {them} put back, {name} {'is' if sure else 'leads, but is not'} sure."

    def to_dict(self) -> dict[str, Any] | None:
        """Return it as a plain value; None if nothing was withdrawn."""
        if not self.scores:
            return None
        back = self.put_back
        return {
            "scores": [asdict(one) for one in self.scores],
            "sure_without": self.sure_without,
            "put_back": None
            if back is None
            else {"option": back.label, "sure": back.sure, "loses_at_most": back.loss},
        }


def with_put_back(
    answer: Answer, scores: tuple[Withdrawal, ...], put_back: Answer | None
) -> Answer:
    """Return what of an answer also holds with the withdrawn scores put back."""
    found = Withdrawals(scores, put_back, answer.sure)
    if all(one.blind for one in scores):
        return replace(answer, withdrawn=found)
    said = _of_both(answer.conclusion, None if put_back is None else put_back.conclusion)
    known: dict[str, Any] = {"withstands": 0.0, "certainty": None, "sure": False}
    beside = put_back  # whose values are measured alike: in comparisons, from the same option
    if put_back is not None:
        known["withstands"] = min(answer.withstands, put_back.withstands)
        known["certainty"] = put_back.certainty and answer.certainty
        known["sure"] = (
            answer.sure and put_back.sure and {*said.chosen} == {*put_back.conclusion.chosen}
        )
        if answer.scale.compared and put_back.option != answer.option:
            beside = None
    return replace(
        answer,
        withdrawn=found,
        conclusion=said,
        loss=said.loss,
        biases=answer.biases.widened(None if put_back is None else put_back.biases),
        ranking=tuple(_wider(one, beside) for one in answer.ranking),
        **known,
    )


def _of_both(one: Conclusion, other: Conclusion | None) -> Conclusion:
    """Return a conclusion that says what two of them say; where they differ, the first's choice."""
    verdicts: list[Verdict] = ["itself" if one == "itself" else "open" for one in one.verdicts]
    leads, loss = _joined(one.leads, None), math.inf
    if other is not None and set(other.chosen) == set(one.chosen):
        pairs = zip(one.verdicts, other.verdicts, strict=True)
        verdicts = [ours if ours == theirs else "open" for ours, theirs in pairs]
        same = one.chosen[:1] == other.chosen[:1]
        leads, loss = _joined(one.leads, other.leads if same else None), max(one.loss, other.loss)
    said = replace(one, verdicts=tuple(verdicts), leads=leads, loss=loss)
    return replace(said, chances=capped(said, one.chances))


def _joined(ours: Floats, theirs: Floats | None) -> Floats:
    """Return (k, 3) estimates with intervals as wide as both together."""
    theirs = unbounded(ours[:, 0]) if theirs is None else theirs
    low, high = np.fmin(ours[:, 1], theirs[:, 1]), np.fmax(ours[:, 2], theirs[:, 2])
    return np.column_stack([ours[:, 0], low, high])


def _wider(one: Standing, beside: Answer | None) -> Standing:
    """Return a standing with an interval as wide as both together."""
    if beside is None:
        return replace(one, low=-math.inf, high=math.inf)
    other = beside.standing(one.index)
    return replace(one, low=min(one.low, other.low), high=max(one.high, other.high))
