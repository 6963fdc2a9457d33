"""Types of the compiled evidence."""

from evenhand.arrays import Floats

def log_moment(nu: float, y: float) -> float: ...
def log_evidence(
    S: Floats, J: Floats, q: Floats, nu: Floats, eta: Floats, log_prior: Floats, out: Floats
) -> None: ...
