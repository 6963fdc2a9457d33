import numpy as np
from numpy.typing import NDArray

from evenhand.policies._inquiry import Inquiry
from evenhand.policies._sequential import Regression, Stepper

def best_mixture(
    gaps: NDArray[np.float64], information: NDArray[np.float64]
) -> tuple[int, int, float]: ...

class InformationStepper(Stepper):
    regression: Regression
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    gaps: NDArray[np.float64]
    information: NDArray[np.float64]
    taken: int
    def __init__(
        self,
        rows: NDArray[np.float64],
        values: NDArray[np.float64],
        ridge: float,
        *,
        directed: bool,
        all_pairs: bool,
        logarithmic: bool,
        factor: float,
        noise_scale: float,
        offset: float,
        switching: float,
        key: int,
        about: NDArray[np.intp] | None = None,
        inquiry: Inquiry | None = None,
    ) -> None: ...
