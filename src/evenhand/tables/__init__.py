"""Tables: from what the user has, files, frames or arrays, to the matrix of an action set and back.

A table is read twice in blocks, so that a file of any length needs the memory of the final matrix.
The modules follow the data:

    numerals ──→ cells ──→ sources ──→ scan ──→ complaints ──→ matrix
                                        recipe ────┘  encoding ───┘
    numerals, names, groups ──→ arrays

- `numerals`: texts that are numbers, or numbers written in another way;
- `names`: what options are called, and names in messages;
- `groups`: the user's two groups as −1 and +1;
- `arrays`: options that come as arrays instead of tables, and what is wrong with those;
- `encoding`: how the user's columns become features, and results go back into the user's units;
- `recipe`: which column plays which part;
- `cells`: a few cells of one column as texts, as categories, as numbers;
- `sources`, `parquet`, `workbooks`: CSV files, data frames, Parquet and Excel files as streams of
  columns; `opened` tells which it is;
- `dates`: dates and times, and numbers that a spreadsheet made of them;
- `scan`: the first reading: which columns are numbers and which are categories, mean and spread,
  every defect and its row;
- `complaints`: what is wrong with a table, in words that say what to do;
- `matrix`: the whole way, with the second reading, which writes the matrix.

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
from evenhand.tables.encoding import EncodedColumn, Encoding, linear_rule
from evenhand.tables.names import Names, listed
from evenhand.tables.recipe import Recipe

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
