"""Tables: from what the user has, files, frames or arrays, to the matrix of an action set and back.

- `texts`: names, groups, numbers and dates as people write them;
- `columns`: a `Table`: which column plays which part, what is wrong in which row and column;
- `opened`: `open_table`, from whatever a table is kept in: frames, rows, Parquet;
- `delimited`: text whose cells stand between commas and the like; encodings, stray quotes;
- `books`: workbooks of Excel and OpenDocument;
- `office`: titles, headers of two lines, totals, 8/10, 85%, conflicts of interest;
- `cells`: the cells of one column as texts, categories, numbers, dates; what is in them;
- `encoding`: how the user's columns become features, and results go back into the user's units;
- `matrix`: the whole way to the matrix of an action set;
- `written`: tables that are written.

`cells`, `opened`, `delimited` and `matrix` work with pyarrow, which takes longer to import than
most answers take to find; import them where a table is read, not at the top.
"""

from evenhand.tables.encoding import EncodedColumn, Encoding, Recipe, linear_rule
from evenhand.tables.texts import (
    Names,
    check_length,
    column_names,
    group_signs,
    listed,
    option_names,
    option_positions,
    texts_or_none,
)

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
