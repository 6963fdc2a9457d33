from evenhand.arrays import Counts, Floats, Indices
from evenhand.policies._sequential import Regression

class Inquiry:
    n_options: int
    def __init__(
        self,
        starts: Indices,
        places: Indices,
        prices: Floats,
        opening: Indices,
        turn: Indices,
        width: int,
    ) -> None: ...
    def opens_with(self, counts: Counts) -> int: ...
    def chosen(
        self, option: int, target: Floats, regression: Regression, counts: Counts
    ) -> int: ...
