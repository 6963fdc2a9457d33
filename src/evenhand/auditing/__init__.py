"""Audits: is there a bias in scores that exist, whose, how large, how sure, what would change?

- `effects`: scores less what options and evaluators explain, in one pass after another;
- `clusters`: how sure a bias is when evaluators and options come back;
- `leverage`: small-sample corrections of cluster-robust variances;
- `placebo`: permutation test, the same bias with groups dealt out at random;
- `own`: the bias of each evaluator, and towards each group;
- `spread`: how much biases differ, and each shrunken to the mean;
- `each`: evaluators and groups one by one, as tables;
- `contests`, `rules`, `levels`, `fair`: who competes where, and what options are worth by a rule;
- `decisions`: which winners would change under which rule, and at which bias;
- `diagnosis`, `pairs`: what scores say about the model;
- `unseen`: what no score can tell;
- `audit`: all of it together;
- `words`, `sections`, `figure`: what is said, in which tables, and drawn.
"""

from evenhand.auditing.audit import Audit, audit
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.placebo import Placebo
from evenhand.auditing.spread import Spread

__all__ = ["Audit", "BiasEstimate", "Placebo", "Spread", "audit"]
