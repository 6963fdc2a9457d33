"""Findings: faults that a table of scores, or the way answers came, shows; one level for all."""

from evenhand.findings.attempts import Attempts

__all__ = ["Attempts"]
