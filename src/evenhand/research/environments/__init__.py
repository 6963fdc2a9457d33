"""Environments: problems whose truth is known, and evaluations drawn from them."""

from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.simulated import SimulatedEvaluations

__all__ = ["BiasedLinearBandit", "SimulatedEvaluations"]
