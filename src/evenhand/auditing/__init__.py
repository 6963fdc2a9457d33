"""Audits: is there a bias in scores that exist, whose, how large, how sure, what would change?

- `effects`: scores less what options and evaluators explain, in one pass after another;
- `clusters`: how sure a bias is when evaluators and options come back;
- `placebo`: the same bias with groups dealt out at random;
- `spread`: how much evaluators differ in their biases, each with its own, drawn to the mean;
- `decisions`: which winners would change under which rule;
- `diagnosis`: what scores say about the model;
- `audit`: all of it together;
- `words`, `figure`, `page`: what is said, drawn and written.
"""

from evenhand.auditing.audit import Audit, audit
from evenhand.auditing.bias import BiasEstimate

__all__ = ["Audit", "BiasEstimate", "audit"]
