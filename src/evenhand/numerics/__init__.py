"""The numerically delicate primitives: row spaces, passes over all rows, accurate solves."""
