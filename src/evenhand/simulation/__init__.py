"""Simulation: policies against problems whose truth is known, many times over."""

from evenhand.simulation.experiment import Parallel
from evenhand.simulation.results import Results, Runs
from evenhand.simulation.run import simulate

__all__ = ["Parallel", "Results", "Runs", "simulate"]
