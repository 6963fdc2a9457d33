"""Environments: where evaluations come from. They know the truth; policies do not."""

from evenhand.environments.simulated import SimulatedEvaluations

__all__ = ["SimulatedEvaluations"]
