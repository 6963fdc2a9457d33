from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.policies._sequential import Stepper
from evenhand.research.environments._streams import Streams

class Regret:
    spent: int
    lost: float
    def __init__(self, gaps: NDArray[np.float64], stops: Sequence[int]) -> None: ...
    def pay(self, counts: NDArray[np.int64]) -> None: ...
    def curve(self) -> NDArray[np.float64]: ...

def advance(stepper: Stepper, streams: Streams, regret: Regret, horizon: int) -> int: ...
