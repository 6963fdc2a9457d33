"""The statements of the paper, run and drawn.

    experiments ──→ measurements ──→ statements ──→ figures ──→ page
                            audit ─┘

- `experiments`: what is run, as immutable data;
- `audit`: runs of Fair Phased Elimination looked into, step by step;
- `measurements`: the experiments run, and curves made of them;
- `statements`: the paper's claims beside what was measured;
- `figures`, `page`: what people look at.
"""

from evenhand.research.reproduction.experiments import FULL, QUICK, Programme
from evenhand.research.reproduction.measurements import Measurements, measure, steps
from evenhand.research.reproduction.statements import Statement, statements

__all__ = [
    "FULL",
    "QUICK",
    "Measurements",
    "Programme",
    "Statement",
    "measure",
    "statements",
    "steps",
]
