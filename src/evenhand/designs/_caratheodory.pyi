"""Types of the compiled support cut."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

def moment_tableau(Y: Floats, w: Floats) -> tuple[Indices, Indices, Floats, float]: ...
def empty_rows(T: Floats, basic: Floats, place: Indices) -> None: ...
