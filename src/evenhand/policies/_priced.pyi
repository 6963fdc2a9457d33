"""Types of the compiled steps of priced exploration."""

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.policies._sequential import RegressionStepper

class Boundary:
    values: Floats
    first_log: float
    log_step: float
    def __init__(self, values: Floats, first_log: float, log_step: float) -> None: ...

class PricedSteps(RegressionStepper):
    @property
    def estimates(self) -> Floats: ...
    @property
    def noise(self) -> float: ...
    def __init__(
        self,
        points: Floats,
        values: Floats,
        start: NDArray[np.intp],
        boundary: Boundary,
        *,
        noise_scale: float,
        worst_gap: float,
        worth: float,
        anytime: bool,
        batch: int,
        repeat: float,
    ) -> None: ...
    def toward(self, option: int, rival: int, price: Floats, most: int) -> tuple[int, int]: ...
