"""Where the lowest scores are the best: said once, and true in every answer."""

from __future__ import annotations

import pytest

from evenhand.best import direction, oriented, sign
from evenhand.errors import InputError


def test_a_scale_from_high_to_low_says_that_low_is_best() -> None:
    assert oriented((5, 1)) == ((1.0, 5.0), "low")
    assert oriented((5, 1), "low") == ((1.0, 5.0), "low")
    assert oriented((1, 5), "low") == ((1.0, 5.0), "low")
    assert oriented((1, 5)) == ((1.0, 5.0), None)
    assert (sign("low"), sign("high"), sign(None)) == (-1, 1, 1)
    assert direction("low") != direction("high")


@pytest.mark.parametrize(
    ("scale", "best"),
    [((5, 1), "high"), ((1, 1), None), ((1,), None), ("ab", None), (None, "lowest"), (None, 1)],
)
def test_what_contradicts_itself_is_refused(scale: object, best: object) -> None:
    with pytest.raises(InputError):
        oriented(scale, best)
