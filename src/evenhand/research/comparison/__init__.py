"""The benchmarks: every policy on the same problems, and the picture of it.

Of regret, what is lost on the way; and of certainty, the evaluations until a policy is sure.

    suites ──→ measure ──→ table ──→ figure

- `suites`: what is played, as immutable data;
- `measure`: everything played, and the regrets or evaluations that came of it;
- `table`: mean, tails and ratios, to the limit and to the best rival; and what they say;
- `figure`: the picture of it.
"""

from evenhand.research.comparison.measure import Outcome, entrants, measure, steps
from evenhand.research.comparison.suites import Benchmark, Instance, chosen
from evenhand.research.comparison.table import Comparison

__all__ = [
    "Benchmark",
    "Comparison",
    "Instance",
    "Outcome",
    "chosen",
    "entrants",
    "measure",
    "steps",
]
