"""The statements of the paper, run and drawn."""
