"""Types of the compiled support cut."""

from evenhand.arrays import Floats, Indices

def moment_tableau(Y: Floats, w: Floats, dependent: float) -> tuple[Indices, Indices, Floats]: ...
def empty_rows(
    T: Floats, weights: Floats, place: Indices, others: Floats, growth: float
) -> None: ...
