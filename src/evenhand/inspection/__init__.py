"""Can the bias be estimated here, at what price, and with which evaluations?"""

from evenhand.inspection.examination import inspect
from evenhand.inspection.inspection import Inspection

__all__ = ["Inspection", "inspect"]
