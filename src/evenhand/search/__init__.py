"""Certainty: which option is best, and how sure that is, by what was asked and told.

A policy, or a function behind it, is loaded when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.search.careful_choice import CarefulChoice
    from evenhand.search.certain_choice import CertainChoice
    from evenhand.search.planned_choice import PlannedChoice

__all__ = [
    "CarefulChoice",
    "CertainChoice",
    "PlannedChoice",
]

_MODULES = {
    "careful_choice": ("CarefulChoice",),
    "certain_choice": ("CertainChoice",),
    "planned_choice": ("PlannedChoice",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"evenhand.search.{module}"), name)
    raise AttributeError(f"module 'evenhand.search' has no attribute {name!r}")
