"""Types of the compiled record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

CAPACITY: int
BLOCK: int

class Record:
    counts: NDArray[np.int64]
    means: NDArray[np.float64]
    scatters: NDArray[np.float64]
    evaluations: int
    entries: int
    alike: int
    different: int
    stride: int
    def __init__(self, k: int) -> None: ...
    @property
    def rows(self) -> NDArray[np.float64]: ...
    def take(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None: ...
    def memory(self) -> dict[str, Any]: ...
    def recall(self, memory: Mapping[str, Any]) -> None: ...
