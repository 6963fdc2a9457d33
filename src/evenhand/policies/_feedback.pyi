"""Types of the compiled check."""

import numpy as np
from numpy.typing import NDArray

def first_misfit(
    most: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> int: ...
