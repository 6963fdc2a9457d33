"""Audits: is there a bias in scores that exist, whose, how large, how sure, what would change?

The bias is that of the one fit of a table (`inference.TableFit`), as `decide` has it.

- `identified`: where these scores cannot tell the bias, why not and whom to ask;
- `placebo`: permutation test, the same bias with groups dealt out at random;
- `each`: that of each evaluator, and towards each group, and how much they differ;
- `decisions`: each event as a small panel, with biases taken off: which winners, and who else is
  wanted, would change by which rule;
- `agreement`: variance components, reliability, Krippendorff's α, agreement with trusted people;
- `audit`: all of it together;
- `page`, `figure`: what is said, in sentences, tables and a record, and drawn.
"""

from evenhand.auditing.agreement import Agreement
from evenhand.auditing.audit import Audit, audit
from evenhand.auditing.decisions import Decisions, decisions
from evenhand.auditing.each import BiasSpread
from evenhand.auditing.placebo import Placebo
from evenhand.inference.biases import BiasEstimate

__all__ = [
    "Agreement",
    "Audit",
    "BiasEstimate",
    "BiasSpread",
    "Decisions",
    "Placebo",
    "audit",
    "decisions",
]
