"""The audit of a table of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.clusters import clustered, plain
from evenhand.auditing.decisions import Decisions, decisions
from evenhand.auditing.effects import Effects, two_way
from evenhand.readers import read_scores
from evenhand.scores.read import read_table

if TYPE_CHECKING:
    import pandas as pd


_LOGS = (".json", ".jsonl", ".eval")  # what is no table is a log of some tool


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
    """

    effects: Effects
    bias: BiasEstimate
    naive: BiasEstimate

    @cached_property
    def decisions(self) -> Decisions:
        """What the scores decide at every event, and what would change that."""
        return decisions(self.effects.scores, self.bias, self.effects.noise, self.effects.freedom)

    @cached_property
    def flips(self) -> pd.DataFrame:
        """Who wins at every event, by every rule: a row each; see `Decisions.flips`."""
        return self.decisions.flips()


def audit(
    table: Any,
    *,
    option: str = "option",
    evaluator: str | None = "evaluator",
    score: str = "score",
    rival: str | None = "rival",
    item: str | Sequence[str] | None = "item",
    event: str | Sequence[str] | None = "event",
    option_group: str | Mapping[str, str] | None = "option_group",
    rival_group: str | None = "rival_group",
    evaluator_group: str | Mapping[str, str] | None = "evaluator_group",
    partial: str | None = None,
    reference: str | None = None,
    attributes: Sequence[str] = (),
    time: str | None = None,
    scale: tuple[float, float] | None = None,
    wide: bool | Sequence[str] = False,
    repeats: bool = False,
    missing: Literal["refuse", "drop"] = "refuse",
    decimal: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """Tell whether scores that exist are biased, whose are, and which decisions would change."""
    scores = read_table(
        _table(table),
        option=option,
        score=score,
        evaluator=evaluator,
        rival=rival,
        item=item,
        event=event,
        option_group=option_group,
        rival_group=rival_group,
        evaluator_group=evaluator_group,
        partial=partial,
        reference=reference,
        attributes=attributes,
        time=time,
        scale=scale,
        wide=wide,
        repeats=repeats,
        missing=missing,
        decimal=decimal,
    )
    effects = two_way(scores)
    return Audit(effects, clustered(effects, confidence), plain(effects, confidence))


def _table(table: Any) -> Any:
    """Return a table as it is, and the scores of a log as one."""
    if not isinstance(table, str | PathLike):
        return table
    path = Path(table)
    return read_scores(path) if path.suffix.lower() in _LOGS or path.is_dir() else table
