"""Scores that exist: who scored what, and how, from tables that people have.

- `scores`: the table of scores, with the parts that its columns play, and where scores lie;
- `layouts`: wide tables as long ones, those of campaigns, scores as a table again; the columns,
  with what is wrong in them;
- `defects`: what is wrong, and what is worth knowing, in words;
- `read`: which column plays which part; the whole way from a frame or a file to scores.
"""

from evenhand.scores.scores import Factor, Finding, Scores

__all__ = ["Factor", "Finding", "Scores"]
