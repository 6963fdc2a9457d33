"""`evenhand serve`: everything without a command line, for the owner and for those who judge."""

from evenhand.serve.app import make_app

__all__ = ["make_app"]
