"""Gives the tests of this folder the fixture ``judged``."""

from evenhand.judges.pytest_plugin import judged

__all__ = ["judged"]
