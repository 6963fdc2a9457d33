"""Findings: faults that a table of scores, or the way answers came, shows; one level for all.

- `table`: all that is asked of a table (`findings_of`), and ends of the scale;
- `residuals`: typing errors, noise and drift, by what the fit leaves over;
- `alike`: evaluators who copied another, and columns by which scores hang together;
- `watch`: the assumptions while scores come in (`Checks`), by the statistics of `sequence`;
- `attempts`: failures of questions in a run.
"""

from evenhand.findings.alike import FEW_CLUSTERS
from evenhand.findings.attempts import Attempts
from evenhand.findings.sequence import FEWEST, LackOfFit, residuals
from evenhand.findings.table import findings_of, unlinked
from evenhand.findings.watch import Checks

__all__ = [
    "FEWEST",
    "FEW_CLUSTERS",
    "Attempts",
    "Checks",
    "LackOfFit",
    "findings_of",
    "residuals",
    "unlinked",
]
