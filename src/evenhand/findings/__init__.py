"""Findings: faults that a table of scores, or the way answers came, shows; one level for all.

- `table`: all that is asked of a table (`findings_of`): noise, drift, ends of the scale;
- `outliers`: typing errors; `copies`: evaluators who copied another;
- `clusters`: columns that nobody named, by which scores hang together;
- `residuals`: residuals in equal units, and what the fit took off;
- `attempts`: failures of questions in a run.
"""

from evenhand.findings.attempts import Attempts
from evenhand.findings.clusters import FEW_CLUSTERS
from evenhand.findings.table import findings_of

__all__ = ["FEW_CLUSTERS", "Attempts", "findings_of"]
