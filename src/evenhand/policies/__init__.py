"""Policies: what to evaluate next. They see evaluations, never the truth."""

from evenhand.policies.base import Allocation, Decision, Estimate, Feedback, Policy
from evenhand.policies.fair_phased_elimination import FairPhasedElimination
from evenhand.policies.information_directed import (
    DirectedInformationSampling,
    InformationDirectedSampling,
)
from evenhand.policies.oful import OFUL, OFULDebiased, OFULEvaluation
from evenhand.policies.oracle import Oracle
from evenhand.policies.priced_exploration import PricedExploration
from evenhand.policies.registry import policy, registered_policies
from evenhand.policies.thompson_sampling import ThompsonSampling
from evenhand.policies.uniform import Uniform

__all__ = [
    "OFUL",
    "Allocation",
    "Decision",
    "DirectedInformationSampling",
    "Estimate",
    "FairPhasedElimination",
    "Feedback",
    "InformationDirectedSampling",
    "OFULDebiased",
    "OFULEvaluation",
    "Oracle",
    "Policy",
    "PricedExploration",
    "ThompsonSampling",
    "Uniform",
    "policy",
    "registered_policies",
]
