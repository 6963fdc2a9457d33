"""Policies: what to evaluate next. They see evaluations, never the truth."""

from evenhand.policies.base import Allocation, Decision, Estimate, Feedback, Policy
from evenhand.policies.fair_phased_elimination import FairPhasedElimination
from evenhand.policies.registry import policy, registered_policies
from evenhand.policies.uniform import Uniform

__all__ = [
    "Allocation",
    "Decision",
    "Estimate",
    "FairPhasedElimination",
    "Feedback",
    "Policy",
    "Uniform",
    "policy",
    "registered_policies",
]
