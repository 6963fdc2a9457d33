"""Types of the compiled choice of bases."""

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices

def dominant_basis(P: Floats, basis: Indices, limit: float) -> None: ...
def equilibrated(points: Floats, sample: Indices) -> tuple[Floats | None, NDArray[np.intc]]: ...
def eliminate(
    S: Floats, n_rows: int, least: float, rows: Indices, columns: Indices, taken: int
) -> tuple[int, float]: ...
