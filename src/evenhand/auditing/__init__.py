"""Audits: is there a bias in scores that exist, whose, how large, how sure, what would change?

- `projections`, `effects`: scores less what options and evaluators explain, and the bias beside;
- `identified`: can these scores tell the bias, and whom to ask if not;
- `bias`: how sure a bias is when evaluators and options come back (cluster-robust);
- `pairs`: variance components, what an evaluator sees in an option and noise;
- `placebo`: permutation test, the same bias with groups dealt out at random;
- `individual_biases`: that of each evaluator, and towards each group, and how much they differ;
- `rules`, `leads`: what options are worth by a rule, and how sure a lead is;
- `decisions`: which winners would change under which rule, and at which bias;
- `diagnosis`, `dependence`: what scores say about the model;
- `audit`: all of it together;
- `page`, `figure`: what is said, in sentences, tables and a record, and drawn.
"""

from evenhand.auditing.audit import Audit, audit
from evenhand.auditing.bias import BiasEstimate, clustered, leverage
from evenhand.auditing.decisions import Decisions, decisions
from evenhand.auditing.effects import Effects, two_way
from evenhand.auditing.individual_biases import BiasSpread
from evenhand.auditing.placebo import Placebo

__all__ = [
    "Audit",
    "BiasEstimate",
    "BiasSpread",
    "Decisions",
    "Effects",
    "Placebo",
    "audit",
    "clustered",
    "decisions",
    "leverage",
    "two_way",
]
