"""Planning: how many evaluations, of whom, at what price, before anything is spent."""

from evenhand.planning.draw_up import plan
from evenhand.planning.plan import Plan
from evenhand.planning.reviews import ReviewStep

__all__ = ["Plan", "ReviewStep", "plan"]
