"""Two answers of which one is by the lowest scores, the other by scores with the other sign."""

from __future__ import annotations

from typing import Any

import numpy as np

import evenhand as eh
from evenhand.best import direction


def alike(a: Any, b: Any, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), atol=atol, rtol=1e-9)


def are_mirrors(low: eh.Answer, high: eh.Answer, a: float) -> None:
    assert (low.best, high.best) == ("low", "high")
    for name in ("label", "sure", "certainty", "chosen", "inside", "outside", "undecided"):
        assert getattr(low, name) == getattr(high, name), name
    alike(low.loss, high.loss)
    drawn = 1e-9 if a == 0.0 else 0.03  # a constant moves rounding, and that the draws: 4,000
    alike(low.expected_loss, high.expected_loss, drawn)
    one, other = low.standings, high.standings
    assert one["option"].tolist() == other["option"].tolist()
    alike(one["lead"], other["lead"])
    for mine, theirs in (("raw", "raw"), ("value", "value"), ("low", "high"), ("high", "low")):
        alike(one[mine], a - other[theirs])
    if low.conclusion.target.top != 1:
        alike(one["chance"], other["chance"], drawn)
        alike(one[["rank_low", "rank_high"]], other[["rank_low", "rank_high"]])
    for b, c in zip(low.biases, high.biases, strict=True):
        alike([b.estimate, b.low, b.high, b.shrunk], [-c.estimate, -c.high, -c.low, -c.shrunk])
    alike(low.bias.value, -high.bias.value)
    assert low.raw_choice == high.raw_choice
    first, second = low.standings["option"][:2]
    two, mirror = low.compare(first, second), high.compare(first, second)
    alike(
        [two.value, two.low, two.high, two.at_least],
        [mirror.value, mirror.low, mirror.high, mirror.at_least],
    )
    assert [x.assumption for x in low.warnings] == [x.assumption for x in high.warnings]
    assert [x.alarm for x in low.warnings] == [x.alarm for x in high.warnings]
    assert [q.label for q in low.next_questions] == [q.label for q in high.next_questions]
    assert direction("low") in str(low)
    assert direction("high") in str(high)
    assert (low.to_dict()["best"], high.to_dict()["best"]) == ("low", "high")
    assert direction("low") in low._repr_html_()
