"""Types of the compiled choice of bases."""

from evenhand.arrays import Floats, Indices

def spanning_rows(
    points: Floats, sample: Indices, n_leading: int, tol: float
) -> tuple[Indices, int, Floats]: ...
def dominant_basis(P: Floats, basis: Indices, limit: float) -> None: ...
