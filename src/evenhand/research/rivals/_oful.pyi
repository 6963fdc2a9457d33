from evenhand.arrays import Floats
from evenhand.policies._sequential import RegressionStepper

class Ridge(RegressionStepper): ...

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
    ) -> None: ...
    @property
    def drawn(self) -> Floats: ...
