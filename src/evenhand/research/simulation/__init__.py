"""Simulation: policies against problems whose truth is known, many times over."""

from evenhand.research.simulation.results import Results, Runs
from evenhand.research.simulation.run import simulate

__all__ = ["Results", "Runs", "simulate"]
