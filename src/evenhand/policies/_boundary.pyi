"""Types of the compiled boundary."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def boundary(log_eta: Floats, widest: float, n: int) -> Floats: ...
