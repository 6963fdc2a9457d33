"""Planning: how many evaluations, of whom, at what price, before anything is spent."""

from evenhand.planning.draw_up import plan
from evenhand.planning.one_look import ReviewStep
from evenhand.planning.plan import Plan

__all__ = ["Plan", "ReviewStep", "plan"]
