"""Policies: what to evaluate next. They see evaluations, never the truth.

Every registered policy can be imported from here, though only those that the package itself builds
on are listed: the others are found when they are asked for. A type checker sees those in their own
modules, such as `evenhand.research.rivals.oful`.
"""

from typing import Any

from evenhand.policies.base import Policy, checks_of
from evenhand.policies.certified import Certified
from evenhand.policies.confidence import Ellipsoid, noise_bound
from evenhand.policies.core import Core
from evenhand.policies.fair_phased_elimination import FairPhasedElimination
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Allocation, Decision, Estimate, Feedback, Finding
from evenhand.policies.phase_designs import AttributePlan
from evenhand.policies.priced_exploration import (
    BoundaryExploration,
    PricedExploration,
    exploration_boundary,
)
from evenhand.policies.registry import (
    built_in_policies,
    policy,
    policy_class,
    registered_policies,
    restore,
)
from evenhand.policies.rounds import Play
from evenhand.policies.sequential import SequentialPolicy

__all__ = [
    "Allocation",
    "AttributePlan",
    "BoundaryExploration",
    "Certified",
    "Core",
    "Decision",
    "Ellipsoid",
    "Estimate",
    "FairPhasedElimination",
    "Feedback",
    "Finding",
    "OptionFrame",
    "Play",
    "Policy",
    "PricedExploration",
    "SequentialPolicy",
    "checks_of",
    "exploration_boundary",
    "noise_bound",
    "policy",
    "policy_class",
    "registered_policies",
    "restore",
]


def _classes() -> dict[str, type[Policy]]:
    return {cls.__name__: cls for cls in built_in_policies().values()}


def __getattr__(name: str) -> Any:
    # modules and dunders are not policies, and must not set off the search for them
    classes = _classes() if name[:1].isupper() else {}
    if name not in classes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return classes[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_classes()})
