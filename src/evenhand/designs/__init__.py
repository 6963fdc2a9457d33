"""Optimal designs: how to divide evaluations among points. Knows nothing of bandits."""

from evenhand.designs.design import Certificate, Design, Mixture
from evenhand.designs.elfving import c_optimal_design
from evenhand.designs.g_optimal import g_optimal_design
from evenhand.designs.joint import joint_design
from evenhand.designs.verification import Verification

__all__ = [
    "Certificate",
    "Design",
    "Mixture",
    "Verification",
    "c_optimal_design",
    "g_optimal_design",
    "joint_design",
]
