"""Types of the compiled ascent."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def multiplicative(B: Floats, w: Floats, d: Floats, steps: int) -> float: ...
def newton(B: Floats, w: Floats, d: Floats, tol: float, cap: int, max_steps: int) -> float: ...
