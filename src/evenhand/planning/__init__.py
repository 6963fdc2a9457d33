"""Planning: how many evaluations, of whom, at what price, before anything is spent."""

from evenhand.planning.curve import Step
from evenhand.planning.draw_up import plan
from evenhand.planning.plan import Plan

__all__ = ["Plan", "Step", "plan"]
