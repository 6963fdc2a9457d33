"""Certainty: which option is best, and how sure that is, by what was asked and told."""

from evenhand.certainty.careful_choice import CarefulChoice
from evenhand.certainty.certain_bias import CertainBias
from evenhand.certainty.certain_choice import CertainChoice
from evenhand.certainty.planned_choice import PlannedChoice

__all__ = ["CarefulChoice", "CertainBias", "CertainChoice", "PlannedChoice"]
