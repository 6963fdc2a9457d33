"""evenhand: the right choice from unfair evaluations."""

from evenhand import limits
from evenhand.actions import ActionSet
from evenhand.designs import (
    Certificate,
    Design,
    Verification,
    c_optimal_design,
    g_optimal_design,
)
from evenhand.environments import BiasedLinearBandit, SimulatedEvaluations, families
from evenhand.errors import (
    AccuracyError,
    Confounding,
    EvenhandError,
    InputError,
    NotIdentifiableError,
)
from evenhand.geometry import (
    BiasGeometry,
    bias_geometry,
    bias_optimal_design,
    delta_optimal_design,
    kappa,
    minimax_design,
)
from evenhand.policies import (
    Allocation,
    Certified,
    Decision,
    Estimate,
    FairPhasedElimination,
    Feedback,
    Policy,
    PricedExploration,
    policy,
    registered_policies,
)
from evenhand.simulation import Results, simulate

__all__ = [
    "AccuracyError",
    "ActionSet",
    "Allocation",
    "BiasGeometry",
    "BiasedLinearBandit",
    "Certificate",
    "Certified",
    "Confounding",
    "Decision",
    "Design",
    "Estimate",
    "EvenhandError",
    "FairPhasedElimination",
    "Feedback",
    "InputError",
    "NotIdentifiableError",
    "Policy",
    "PricedExploration",
    "Results",
    "SimulatedEvaluations",
    "Verification",
    "bias_geometry",
    "bias_optimal_design",
    "c_optimal_design",
    "delta_optimal_design",
    "families",
    "g_optimal_design",
    "kappa",
    "limits",
    "minimax_design",
    "policy",
    "registered_policies",
    "simulate",
]
