"""Proof: what a decision states, confirmed from the plans and scores of a record alone.

Questions, settings and plans are read as everywhere; all that is made of them is not: which plan a
score counts for, least squares, evidence and tests are worked out by other routes than the policies
take (import-linter sees to it). So what both say is right, or wrong in the mathematics that both
follow: docs/certainty.md, docs/people.md and docs/careful.md. Plans are taken as they are in the
log, which is what the proofs need; when they ended follows from counts.
"""

from evenhand.campaigns.proof.examine import Examination, examine

__all__ = ["Examination", "examine"]
