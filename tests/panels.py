"""Small panels for Hypothesis: groups, pairs ruled out, prices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import evenhand as eh


@st.composite
def panels(draw: st.DrawFn) -> eh.Questions:
    """Panels of a few options, evaluators, groups, pairs ruled out."""
    k, e = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    group = st.sampled_from(["a", "b", "c"])
    sides = st.sampled_from([{}, {"bias": "evaluator"}, {"bias": "group"}, {"leniency": False}])
    limits = draw(st.lists(st.integers(0, 2), min_size=k * e, max_size=k * e))
    return eh.Questions.panel(
        {f"o{i}": draw(group) for i in range(k)},
        {f"e{j}": draw(st.sampled_from(["a", "b", "neutral"])) for j in range(e)},
        capacity=np.array(limits).reshape(k, e),
        prices=draw(st.sampled_from([None, [1.0 + j for j in range(e)]])),
        noise=draw(st.sampled_from([None, {"e0": 0.5}])),
        workload=draw(st.sampled_from([None, 3, {"e0": 2}])),
        **draw(sides),
    )
