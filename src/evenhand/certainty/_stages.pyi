"""Types of the compiled designs of stages."""

from evenhand.arrays import Counts, Floats, Indices

def minimax_weights(P: Floats, U: Floats, w: Floats, steps: int, tol: float) -> float: ...
def dealt(
    P: Floats,
    inverse: Floats,
    S: Floats,
    f: Floats,
    lever: Floats,
    share: Floats,
    price: Floats,
    have: Counts,
    room: Counts,
    group: Indices,
    length: int,
    greedy: int,
    stays: float,
) -> Indices: ...
