"""Tables: from what the user has, files, frames or arrays, to the matrix of an action set and back.

- `texts`: names, groups, numbers and dates as people write them;
- `arrays`: options that come as arrays instead of tables, and what is wrong with those;
- `encoding`: how the user's columns become features, and results go back into the user's units;
- `columns`: which column plays which part, and what is wrong in which row and column;
- `cells`: the cells of one column as texts, categories, numbers, dates; what is in them;
- `sources`: frames, rows and Parquet files as a `SourceTable`, whose columns are read whole and
  whose rows have places; `opened` tells which it is, and reads CSV and Excel files;
- `matrix`: the whole way to the matrix of an action set;
- `written`: tables that are written.

`cells`, `sources`, `opened` and `matrix` work with pyarrow, which takes longer to import than most
answers take to find; import them where a table is read, not at the top.
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
from evenhand.tables.texts import Names, listed

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
