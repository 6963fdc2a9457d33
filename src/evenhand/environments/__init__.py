"""Environments: problems whose truth is known, and evaluations drawn from them."""

from evenhand.environments.problem import BiasedLinearBandit
from evenhand.environments.simulated import Latency, SimulatedEvaluations

__all__ = ["BiasedLinearBandit", "Latency", "SimulatedEvaluations"]
