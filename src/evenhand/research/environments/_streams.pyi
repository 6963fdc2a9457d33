import numpy as np
from numpy.typing import NDArray

class Streams:
    def __init__(
        self, seed: np.random.SeedSequence, means: NDArray[np.float64], noise_scale: float
    ) -> None: ...
    def evaluate(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None: ...
