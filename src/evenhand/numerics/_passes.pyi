"""Types of the compiled passes."""

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats

def squared_norms_into(rows: Floats, W: Floats, out: Floats) -> None: ...
def products_into(rows: Floats, u: Floats, out: Floats) -> None: ...
def rows_beyond(rows: Floats, u: Floats, s: Floats | None) -> tuple[NDArray[np.intp], Floats]: ...
