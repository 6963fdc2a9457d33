"""Research: what measures policies against problems whose truth is known, and against the limits.

The product never imports from here; the registry finds the rivals by their names.
"""
