"""Tables: from what the user has, files, frames or arrays, to the matrix of an action set and back.

    limits ──→ sources, csv_files ──→ opened ──→ scan ──→ complaints ──→ matrix
    numerals ──→ cells ───┘             recipe ────┘  encoding ───┘
    numerals, names, groups ──→ arrays

- `numerals`: texts that are numbers, or numbers written in another way;
- `names`: what options are called, and names in messages;
- `groups`: the user's two groups as −1 and +1;
- `arrays`: options that come as arrays instead of tables, and what is wrong with those;
- `encoding`: how the user's columns become features, and results go back into the user's units;
- `recipe`: which column plays which part;
- `cells`: the cells of one column as texts, as categories, as numbers, as dates;
- `limits`: what files begin with, and how much of them is read;
- `sources`, `csv_files`: frames, rows, Parquet and CSV files as a `Table`, whose columns are read
  whole and whose rows have places; `opened` tells which it is, and reads Excel files;
- `scan`: which columns are numbers and which are categories, mean and spread, every defect;
- `complaints`: what is wrong with a table, in words that say what to do;
- `matrix`: the whole way to the matrix;
- `written`: tables that are written.

The modules from `cells` on work with pyarrow, which takes longer to import than most answers take
to find; import them where a table is read, not at the top. What stands here does without.
"""

from evenhand.tables.arrays import (
    check_length,
    column_names,
    group_signs,
    option_names,
    option_positions,
    texts_or_none,
)
from evenhand.tables.encoding import EncodedColumn, Encoding, Recipe, linear_rule
from evenhand.tables.names import Names, listed

__all__ = [
    "EncodedColumn",
    "Encoding",
    "Names",
    "Recipe",
    "check_length",
    "column_names",
    "group_signs",
    "linear_rule",
    "listed",
    "option_names",
    "option_positions",
    "texts_or_none",
]
