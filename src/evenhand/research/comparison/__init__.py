"""The benchmarks: every policy on the same problems, and the picture of it.

Of regret, what is lost on the way; and of certainty, the evaluations until a policy is sure.

    instances ──→ measure ──→ table ──→ figure

- `instances`: what is played, as immutable data;
- `measure`: everything played, and the regrets or evaluations that came of it;
- `table`: mean, tails and ratios: to the limit, to the best rival;
- `figure`: the picture of it.
"""

from evenhand.research.comparison.instances import (
    FULL,
    FULL_CERTAIN,
    FULL_CLASSICAL,
    QUICK,
    QUICK_CERTAIN,
    QUICK_CLASSICAL,
    Benchmark,
    Instance,
    Suite,
    chosen,
)
from evenhand.research.comparison.measure import Outcome, entrants, measure, steps
from evenhand.research.comparison.table import Comparison

__all__ = [
    "FULL",
    "FULL_CERTAIN",
    "FULL_CLASSICAL",
    "QUICK",
    "QUICK_CERTAIN",
    "QUICK_CLASSICAL",
    "Benchmark",
    "Comparison",
    "Instance",
    "Outcome",
    "Suite",
    "chosen",
    "entrants",
    "measure",
    "steps",
]
