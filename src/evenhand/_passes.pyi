"""Types of the compiled passes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def squared_norms_into(rows: Floats, W: Floats, out: Floats) -> None: ...
def products_into(rows: Floats, u: Floats, out: Floats) -> None: ...
def spanning_rows(
    U: Floats, n_leading: int, tol: float
) -> tuple[NDArray[np.intp], int]: ...
