import numpy as np
from numpy.typing import NDArray

from evenhand.policies._sequential import RegressionStepper

def best_mixture(
    gaps: NDArray[np.float64], information: NDArray[np.float64]
) -> tuple[int, int, float]: ...

class InformationStepper(RegressionStepper):
    gaps: NDArray[np.float64]
    information: NDArray[np.float64]
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
    ) -> None: ...
