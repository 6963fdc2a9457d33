"""Checks of the model while it is used: what the evaluations say about the assumptions."""

from evenhand.checks.statistics import LackOfFit, residuals
from evenhand.checks.watch import Checks
from evenhand.scores.scores import Finding

__all__ = ["Checks", "Finding", "LackOfFit", "residuals"]
