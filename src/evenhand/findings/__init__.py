"""Findings: faults that a table of scores, or the way answers came, shows; one level for all.

- `table`: all that is asked of a table (`findings_of`), and ends of the scale;
- `residuals`: typing errors, noise and drift, by what the fit leaves over;
- `alike`: evaluators who copied another, and columns by which scores hang together;
- `attempts`: failures of questions in a run.
"""

from evenhand.findings.alike import FEW_CLUSTERS
from evenhand.findings.attempts import Attempts
from evenhand.findings.table import findings_of, unlinked

__all__ = ["FEW_CLUSTERS", "Attempts", "findings_of", "unlinked"]
