"""Types of the compiled simplex."""

import numpy as np
from numpy.typing import NDArray

def elfving_basis(
    P: NDArray[np.float64],
    g: NDArray[np.float64],
    basis: NDArray[np.intp],
    u: NDArray[np.float64],
    tol: float,
    max_steps: int,
) -> int: ...
