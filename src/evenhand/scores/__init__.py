"""Scores that exist: who scored what, and how, from tables that people have.

- `scores`: the table of scores, with the roles of its columns, and where scores lie;
- `roles`: the roles that columns have, and how tables are read: each declared once;
- `find`: which column has which role; `layout`: wide or long, and what is no row;
- `grades`: scores as people write them: grades, verdicts, percentages; `criteria`: their mean;
- `read`: the whole way from a table to scores; `problems`: what is wrong, and worth knowing.
"""

from evenhand.scores.scores import Factor, Finding, Scores

__all__ = ["Factor", "Finding", "Scores"]
