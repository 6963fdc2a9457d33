"""Proof: a decision, derived again from the evaluations of a record.

Nothing here shares code with what decided: questions are read anew, least squares, evidence, tests
and alarms are worked out by other routes than the policies take (import-linter sees to it). So what
both say is right, or wrong in the mathematics that both follow: docs/certainty.md, docs/people.md,
docs/careful.md and docs/checks.md.
"""

from evenhand.campaigns.proof.derive import Conclusion, derive, disagreements
from evenhand.campaigns.proof.examine import Examination, examine
from evenhand.campaigns.proof.log import record_of
from evenhand.campaigns.proof.record import Derived, Plan, Record

__all__ = [
    "Conclusion",
    "Derived",
    "Examination",
    "Plan",
    "Record",
    "derive",
    "disagreements",
    "examine",
    "record_of",
]
