"""Proof: the certificate of a decision, and its intervals, confirmed from plans and scores alone.

Questions, settings and plans are read as everywhere; all that is made of them is not: which plan a
score counts for, least squares, evidence and tests are worked out by other routes than the policies
take (import-linter sees to it). So what both say is right, or wrong in the mathematics that both
follow: docs/research/certainty.md and docs/research/one_look.md. Plans are taken as they are in the
log, which is what the proofs need; looks, and what an answer ended, as the certificate has them,
which replay confirms.
"""

from evenhand.campaigns.proof.examine import Examination, examine

__all__ = ["Examination", "examine"]
