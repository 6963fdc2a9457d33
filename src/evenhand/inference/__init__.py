"""What scores come to: a target, and the conclusion from one look at a fit."""

from evenhand.inference.conclusion import Conclusion, Verdict, conclude
from evenhand.inference.target import Target

__all__ = ["Conclusion", "Target", "Verdict", "conclude"]
