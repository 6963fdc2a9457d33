"""Types of the compiled boundary."""

from evenhand.arrays import Floats

def boundary(log_eta: Floats, widest: float, n: int) -> Floats: ...
