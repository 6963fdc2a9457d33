"""Logs that people have: evaluation logs of many tools, each as the same frame of scores.

Columns of the frame: option, evaluator, item, score; in comparisons also rival (the option that
stands second; the score then says by how much the first is better); option_group, rival_group and
evaluator_group (families of models); length and rival_length where answers are there.

- `documents`: files, by their first bytes: JSON, lines of it, archives; and what a format is;
- `inspect_logs`, `promptfoo`, `deepeval`, `pairwise` (AlpacaEval, MT-bench, arena-hard): formats;
- `families`: whose model it is, by its name;
- `frame`: a score as a log has it; which metric, what is an option, what an item;
- `read`: all of it together.
"""

from evenhand.readers.documents import is_log
from evenhand.readers.families import family
from evenhand.readers.read import read_scores

__all__ = ["family", "is_log", "read_scores"]
