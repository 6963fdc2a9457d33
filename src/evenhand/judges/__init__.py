"""Judges: a model, or whoever else can be called, as an evaluator.

- `replies`: the score or the verdict in what a judge said, read strictly;
- `judge`: whom to call, at what price, how often again when it fails;
- `texts`: what the judges are shown of options, over items;
- `paired`: all options on the same items, and one look;
- `panel`: from options and judges to what `choose` takes.
"""

from evenhand.answers import Reply
from evenhand.judges.judge import Judge
from evenhand.judges.panel import JudgePanel, comparisons, panel
from evenhand.judges.replies import read_score, read_verdict

__all__ = ["Judge", "JudgePanel", "Reply", "comparisons", "panel", "read_score", "read_verdict"]
