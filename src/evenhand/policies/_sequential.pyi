from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError

NOISE_GRID: int
FLAT: float

def lost(what: str) -> InputError: ...
def first_misfit(
    most: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> int: ...

class Regression:
    k: int
    m: int
    log_det: float
    @property
    def estimate(self) -> NDArray[np.float64]: ...
    @property
    def square_root(self) -> NDArray[np.float64]: ...
    def __init__(self, rows: NDArray[np.float64], root: NDArray[np.float64]) -> None: ...
    def memory(self) -> dict[str, Any]: ...
    def checked(self, memory: Mapping[str, Any]) -> dict[str, Any]: ...
    def recall(self, memory: Mapping[str, Any]) -> None: ...

class Ledger:
    bounds: NDArray[np.float64]
    pulls: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    scatter: float
    room: NDArray[np.float64]
    regression: Regression | None
    spent: int
    charge: float
    limit: float
    scale: float
    until: float
    def __init__(
        self,
        k: int,
        bound: float,
        limit: float = ...,
        scale: float = ...,
        rows: NDArray[np.float64] | None = None,
    ) -> None: ...
    def memory(self) -> dict[str, Any]: ...
    def recall(self, memory: Mapping[str, Any]) -> None: ...
    def observe(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None: ...
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
    def memory(self) -> dict[str, Any]: ...
    def checked(self, memory: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def recall(self, memory: Mapping[str, Any]) -> None: ...
    def ask(self, remaining: int) -> NDArray[np.int64]: ...
    def ask_beside(
        self, remaining: int, most: int, pending: NDArray[np.int64]
    ) -> NDArray[np.int64]: ...
    def tell(
        self,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None: ...

class RegressionStepper(Stepper):
    regression: Regression
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    told: int
