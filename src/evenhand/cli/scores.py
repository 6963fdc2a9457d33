"""What commands on scores that exist share: how their table is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.cli.options import Criteria, Said, Scale, names_in, scale_in, switch
from evenhand.cli.output import table_at
from evenhand.scores.criteria import typed_criteria

_NOTHING = "none"
_SEVERAL = ("item", "event", "cluster", "option")
_GROUPS = ("option_group", "evaluator_group", "within")


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """What is said about a table of scores: options of a command."""

    column: Said
    read: Said
    scale: Scale = None
    criteria: Criteria = None

    def at(self, scores: str | Sequence[str]) -> Any:
        """Return what to read."""
        return scores_at(scores, self.read)

    def how(self) -> dict[str, Any]:
        """Return how it is read, as `audit` and `decide` take it."""
        read = self.read
        how: dict[str, Any] = {
            key: read[key] for key in ("missing", "copies", "decimal") if key in read
        }
        parts = {role: _columns(role, name) for role, name in self.column.items()}
        own = {role: parts.pop(role) for role in ("wide", "within") if role in parts}
        criteria = None if self.criteria is None else typed_criteria(self.criteria)
        repeats = switch(read, "--read", "repeats", False)
        how |= {"repeats": repeats, "criteria": criteria, "columns": parts}
        return how | scale_in(self.scale) | own


def scores_at(scores: str | Sequence[str], read: Said) -> Any:
    """Return what to read; "-" is the standard input."""
    if scores == "-":
        return table_at("-")
    metric, families = names_in(read.get("metric")), read.get("families")
    if metric is None and families is None:
        return scores
    from evenhand.readers import read_scores  # noqa: PLC0415 - see evenhand.tables

    return read_scores(scores, metric=metric, families=families)


def _columns(role: str, name: str) -> Any:
    """Return a column as a function takes it, or several, or groups written out."""
    if role == "attributes":
        return () if name == _NOTHING else names_in(name)
    if name == _NOTHING:
        return None
    if role == "wide":
        return name == "all" or names_in(name)
    if role in _SEVERAL:  # a column's name may have ", " in it
        return names_in(name) if "," in name and (role != "option" or ", " not in name) else name
    pairs = names_in(name) or []
    if role in _GROUPS and all("=" in pair for pair in pairs):
        return {one.strip(): group.strip() for one, group in (p.split("=", 1) for p in pairs)}
    return name
