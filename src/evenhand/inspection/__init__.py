"""Can the bias be estimated here, at what price, and with which evaluations?"""

from evenhand.inspection.inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
