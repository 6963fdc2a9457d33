"""Scores that exist: who scored what, and how, from tables that people have.

- `factor`: a column of names as numbers;
- `scores`: the table of scores, with the parts that its columns play, and where scores lie;
- `parts`: which column plays which part;
- `layouts`: wide tables as long ones, those of campaigns, and scores as a table again;
- `grades`: letters and words as numbers;
- `columns`: the columns, with what is wrong in them;
- `defects`, `notes`: what is wrong, and what is worth knowing, in words;
- `read`: the whole way from a frame or a file to scores.
"""

from evenhand.scores.factor import Factor
from evenhand.scores.finding import Finding
from evenhand.scores.scores import Scores

__all__ = ["Factor", "Finding", "Scores"]
