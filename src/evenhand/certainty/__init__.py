"""Certainty: which option is best, and how sure that is, by what was asked and told.

A policy, or a function behind it, is loaded when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.certainty._evidence import log_moment
    from evenhand.certainty.careful_choice import CarefulChoice
    from evenhand.certainty.certain_choice import CertainChoice
    from evenhand.certainty.e_process import StageReading, interval
    from evenhand.certainty.own_scores import Contrasts, DuelScores, OwnScores, deviations
    from evenhand.certainty.planned_choice import PlannedChoice

__all__ = [
    "CarefulChoice",
    "CertainChoice",
    "Contrasts",
    "DuelScores",
    "OwnScores",
    "PlannedChoice",
    "StageReading",
    "deviations",
    "interval",
    "log_moment",
]

_MODULES = {
    "_evidence": ("log_moment",),
    "careful_choice": ("CarefulChoice",),
    "certain_choice": ("CertainChoice",),
    "e_process": ("StageReading", "interval"),
    "own_scores": ("Contrasts", "DuelScores", "OwnScores", "deviations"),
    "planned_choice": ("PlannedChoice",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"evenhand.certainty.{module}"), name)
    raise AttributeError(f"module 'evenhand.certainty' has no attribute {name!r}")
