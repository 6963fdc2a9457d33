"""Least squares on tables of scores: the design, its fit, and errors of every contrast."""

from evenhand.linear.design import Design
from evenhand.linear.errors import Spread
from evenhand.linear.fit import Fit

__all__ = ["Design", "Fit", "Spread"]
