"""What scores come to: a target, and the conclusion from one look at a fit."""

from evenhand.inference.conclusion import Conclusion, Verdict, capped, conclude
from evenhand.inference.designs import biases_by, design_of_answers, design_of_feedback
from evenhand.inference.target import Target

__all__ = [
    "Conclusion",
    "Target",
    "Verdict",
    "biases_by",
    "capped",
    "conclude",
    "design_of_answers",
    "design_of_feedback",
]
