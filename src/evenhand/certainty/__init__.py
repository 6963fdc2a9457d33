"""Certainty: which option is best, and how sure that is, by what was asked and told.

A policy is loaded when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.certainty.careful_choice import CarefulChoice
    from evenhand.certainty.certain_choice import CertainChoice
    from evenhand.certainty.planned_choice import PlannedChoice

__all__ = ["CarefulChoice", "CertainChoice", "PlannedChoice"]


def __getattr__(name: str) -> object:
    for module in ("careful_choice", "certain_choice", "planned_choice"):
        if name == module.title().replace("_", ""):
            return getattr(import_module(f"evenhand.certainty.{module}"), name)
    raise AttributeError(f"module 'evenhand.certainty' has no attribute {name!r}")
