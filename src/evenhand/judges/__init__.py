"""Judges: a model, or whoever else can be called, as an evaluator.

- `replies`: the score or the verdict in what a judge said, read strictly;
- `judge`: whom to call, at what price, how often again when it fails;
- `texts`: what the judges are shown of options, over items;
- `panel`: from options and judges to what `choose` takes.
"""

from evenhand.judges.judge import Judge
from evenhand.judges.panel import JudgePanel, comparisons, panel
from evenhand.judges.replies import read_score, read_verdict

__all__ = ["Judge", "JudgePanel", "comparisons", "panel", "read_score", "read_verdict"]
