"""The audit of a table of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.clusters import clustered, plain
from evenhand.auditing.each import Each, of_evaluators, of_favoured
from evenhand.auditing.effects import Effects, two_way
from evenhand.auditing.placebo import Placebo, placebo
from evenhand.auditing.spread import Spreads
from evenhand.scores.read import read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What a table of scores says about the bias of those who gave them.

    Parameters
    ----------
    effects
        The scores, less what options and evaluators explain.
    bias
        How much evaluators add to what they are partial to; the interval allows for evaluators and
        options that come back.
    naive
        The same with an interval as if all scores were independent: too short.
    seed
        Where random dealings of the placebo come from.
    """

    effects: Effects
    bias: BiasEstimate
    naive: BiasEstimate
    seed: int = 0

    @cached_property
    def placebo(self) -> Placebo:
        """The bias with groups dealt out to evaluators at random."""
        return placebo(self.effects, self.seed)

    @cached_property
    def spread(self) -> Spreads:
        """How much biases differ: among evaluators, and among those whom they favour."""
        return Spreads(self._of_evaluators.spread, self._of_favoured.spread)

    @property
    def evaluators(self) -> pd.DataFrame:
        """Evaluators one by one; see `Each.frame`."""
        return self._of_evaluators.frame

    @property
    def groups(self) -> pd.DataFrame:
        """Those who are favoured, one by one: groups, or options where there are none."""
        return self._of_favoured.frame

    @cached_property
    def _of_evaluators(self) -> Each:
        return of_evaluators(self.effects, self.bias.level)

    @cached_property
    def _of_favoured(self) -> Each:
        return of_favoured(self.effects, self.bias.level)


def audit(
    table: Any,
    *,
    option: str = "option",
    evaluator: str | None = "evaluator",
    score: str = "score",
    rival: str | None = None,
    item: str | Sequence[str] | None = None,
    event: str | Sequence[str] | None = None,
    option_group: str | None = None,
    evaluator_group: str | None = None,
    partial: str | None = None,
    reference: str | None = None,
    attributes: Sequence[str] = (),
    time: str | None = None,
    scale: tuple[float, float] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Tell whether scores that exist are biased, whose are, and which decisions would change."""
    scores = read_table(
        table,
        option=option,
        score=score,
        evaluator=evaluator,
        rival=rival,
        item=item,
        event=event,
        option_group=option_group,
        evaluator_group=evaluator_group,
        partial=partial,
        reference=reference,
        attributes=attributes,
        time=time,
        scale=scale,
    )
    effects = two_way(scores)
    return Audit(effects, clustered(effects, confidence), plain(effects, confidence), seed)
