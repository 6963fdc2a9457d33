"""The statements of the paper, run and drawn.

    experiments ──→ measurements ──→ statements ──→ reproduction
                  audit, geometry ─┘

- `experiments`: what is run, as data;
- `audit`: runs of Fair Phased Elimination looked into, step by step;
- `geometry`: the lemmas on designs and prices, tried on random and hostile sets of options;
- `tally`: how often a statement was checked, and how close it came to being false;
- `measurements`: the experiments run, and curves made of them;
- `statements`: the paper's claims beside what was measured;
- `reproduction`, with `figures`: what people look at.
"""

from evenhand.research.reproduction.experiments import Programme, programme
from evenhand.research.reproduction.measurements import Measurements, measure, steps
from evenhand.research.reproduction.reproduction import Reproduction
from evenhand.research.reproduction.statements import Statement, statements

__all__ = [
    "Measurements",
    "Programme",
    "Reproduction",
    "Statement",
    "measure",
    "programme",
    "statements",
    "steps",
]
