import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.policies._inquiry import Inquiry
from evenhand.policies._sequential import Regression, Stepper

class Ridge(Stepper):
    regression: Regression
    counts: NDArray[np.int64]
    sums: Floats
    inquiry: Inquiry | None

class Optimism(Ridge):
    def __init__(
        self,
        rows: Floats,
        targets: Floats,
        offsets: Floats,
        ridge: float,
        switching: float,
        noise_scale: float,
        failure: float,
        penalty: float,
        inquiry: Inquiry | None = None,
    ) -> None: ...
    @property
    def beta(self) -> float: ...
    @property
    def indices(self) -> tuple[Floats, Floats]: ...

class PosteriorSampling(Ridge):
    def __init__(
        self,
        rows: Floats,
        targets: Floats,
        offsets: Floats,
        ridge: float,
        switching: float,
        deviation: float,
        seed: int,
        inquiry: Inquiry | None = None,
    ) -> None: ...
    @property
    def drawn(self) -> Floats: ...
