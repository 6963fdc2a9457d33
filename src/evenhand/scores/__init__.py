"""Scores that exist: who scored what, and how, from tables that people have.

- `factor`: a column of names as numbers;
- `scores`: the table of scores, with the parts that its columns play;
- `read`: from a frame or a file to scores, and every defect of it by row and column.
"""

from evenhand.scores.factor import Factor
from evenhand.scores.scores import Scores

__all__ = ["Factor", "Scores"]
