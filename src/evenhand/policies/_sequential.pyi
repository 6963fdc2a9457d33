import numpy as np
from numpy.typing import NDArray

class Regression:
    k: int
    m: int
    log_det: float
    @property
    def estimate(self) -> NDArray[np.float64]: ...
    @property
    def square_root(self) -> NDArray[np.float64]: ...
    def __init__(self, rows: NDArray[np.float64], root: NDArray[np.float64]) -> None: ...

class Ledger:
    bounds: NDArray[np.float64]
    pulls: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    scatter: float
    degrees: int
    spent: int
    charge: float
    limit: float
    scale: float
    until: float
    def __init__(self, k: int, bound: float, limit: float = ..., scale: float = ...) -> None: ...
    def admits(self, counts: NDArray[np.int64]) -> bool: ...
    def record(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
        charged: bool,
    ) -> None: ...
    def tighten(self, bounds: NDArray[np.float64]) -> None: ...

class Stepper:
    k: int
    ledger: Ledger | None
    def ask(self, remaining: int) -> NDArray[np.int64]: ...
    def tell(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None: ...
