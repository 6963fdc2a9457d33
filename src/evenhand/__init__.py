"""evenhand: the right choice from unfair evaluations."""

from evenhand.actions import ActionSet
from evenhand.designs import (
    Certificate,
    Design,
    Verification,
    c_optimal_design,
    g_optimal_design,
)
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

__all__ = [
    "AccuracyError",
    "ActionSet",
    "BiasGeometry",
    "Certificate",
    "Confounding",
    "Design",
    "EvenhandError",
    "InputError",
    "NotIdentifiableError",
    "Verification",
    "bias_geometry",
    "bias_optimal_design",
    "c_optimal_design",
    "delta_optimal_design",
    "g_optimal_design",
    "kappa",
    "minimax_design",
]
