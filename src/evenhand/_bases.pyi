"""Types of the compiled choice of bases."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

def spanning_rows(
    points: Floats, sample: Indices, n_leading: int, tol: float
) -> tuple[Indices, int, Floats]: ...
def dominant_basis(P: Floats, basis: Indices, limit: float) -> None: ...
