"""`python -m evenhand` is the command `evenhand`."""

from evenhand.cli import app

if __name__ == "__main__":
    app(prog_name="evenhand")
