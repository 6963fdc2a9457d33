"""The benchmark of regret: every policy on the same problems, and the picture of it.

    instances ──→ measure ──→ table ──→ figure

- `instances`: what is played, as immutable data;
- `measure`: everything played, and the regrets that came of it;
- `table`: mean, tails and ratios: to the limit, to the best rival;
- `figure`: the picture of it.
"""

from evenhand.comparison.instances import FULL, QUICK, Benchmark, Instance, Suite
from evenhand.comparison.measure import Outcome, entrants, measure, steps
from evenhand.comparison.table import Comparison

__all__ = [
    "FULL",
    "QUICK",
    "Benchmark",
    "Comparison",
    "Instance",
    "Outcome",
    "Suite",
    "entrants",
    "measure",
    "steps",
]
