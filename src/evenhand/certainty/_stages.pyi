"""Types of the compiled order of questions."""

from evenhand.arrays import Counts, Floats, Indices

def dealt(
    P: Floats,
    inverse: Floats,
    S: Floats,
    f: Floats,
    lever: Floats,
    share: Floats,
    price: Floats,
    asked: Counts,
    left: Counts,
    peers: Indices,
    length: int,
    lean: float,
    stays: float,
) -> Indices: ...
