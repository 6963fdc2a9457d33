"""Tables: from what the user has, files, frames or arrays, to the matrix of an action set and back.

A table is read twice in blocks, so that a file of any length needs the memory of the final matrix.
The modules follow the data:

    cells ──→ sources ──→ scan ──────→ complaints ──→ matrix
      └─────→ groups ──────┘  recipe ──────┘  encoding ──┘
    cells, names, groups ──→ arrays

- `names`: what options are called, and names in messages;
- `cells`: a few cells of one column as texts, as categories, as numbers;
- `sources`: CSV files and data frames as streams of columns;
- `groups`: the user's two groups as −1 and +1;
- `scan`: the first reading: which columns are numbers and which are categories, mean and spread,
  every defect and its row;
- `recipe`: which column plays which part;
- `complaints`: what is wrong with a table, in words that say what to do;
- `encoding`: how the user's columns become features, and results go back into the user's units;
- `matrix`: the whole way, with the second reading, which writes the matrix;
- `arrays`: options that come as arrays instead of tables, and what is wrong with those.
"""

from evenhand.tables.arrays import (
    check_finite,
    check_length,
    column_names,
    group_signs,
    number_matrix,
    option_names,
    option_positions,
)
from evenhand.tables.cells import read_numbers
from evenhand.tables.encoding import EncodedColumn, Encoding, linear_rule
from evenhand.tables.matrix import EncodedTable, encode
from evenhand.tables.names import Names, listed
from evenhand.tables.recipe import Recipe
from evenhand.tables.sources import CsvFile, Frame

__all__ = [
    "CsvFile",
    "EncodedColumn",
    "EncodedTable",
    "Encoding",
    "Frame",
    "Names",
    "Recipe",
    "check_finite",
    "check_length",
    "column_names",
    "encode",
    "group_signs",
    "linear_rule",
    "listed",
    "number_matrix",
    "option_names",
    "option_positions",
    "read_numbers",
]
