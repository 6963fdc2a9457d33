"""Policies: what to evaluate next. They see evaluations, never the truth."""

from evenhand.policies.base import Allocation, Decision, Estimate, Feedback, Policy
from evenhand.policies.certified import Certified
from evenhand.policies.explore_then_commit import ExploreThenCommit
from evenhand.policies.fair_phased_elimination import FairPhasedElimination
from evenhand.policies.information_directed import (
    DirectedInformationSampling,
    InformationDirectedSampling,
)
from evenhand.policies.oful import OFUL, OFULDebiased, OFULEvaluation
from evenhand.policies.oracle import Oracle
from evenhand.policies.phased_elimination import PhasedElimination
from evenhand.policies.priced_exploration import BoundaryExploration, PricedExploration
from evenhand.policies.registry import policy, registered_policies
from evenhand.policies.sequential import SequentialPolicy
from evenhand.policies.thompson_sampling import ThompsonSampling
from evenhand.policies.uniform import Uniform

__all__ = [
    "OFUL",
    "Allocation",
    "BoundaryExploration",
    "Certified",
    "Decision",
    "DirectedInformationSampling",
    "Estimate",
    "ExploreThenCommit",
    "FairPhasedElimination",
    "Feedback",
    "InformationDirectedSampling",
    "OFULDebiased",
    "OFULEvaluation",
    "Oracle",
    "PhasedElimination",
    "Policy",
    "PricedExploration",
    "SequentialPolicy",
    "ThompsonSampling",
    "Uniform",
    "policy",
    "registered_policies",
]
