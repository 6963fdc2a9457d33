"""Random comparisons: judges lead astray in known ways, and what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import families


@given(st.integers(3, 8), st.integers(1, 3), st.integers(0, 10**6), st.sampled_from([0.0, 0.15]))
def test_judges_lead_astray_in_known_ways(k: int, n: int, seed: int, family: float) -> None:
    problem = families.comparisons(k, n, seed, family=family)
    best, second = np.sort(problem.values)[::-1][:2]
    assert best - second == pytest.approx(0.2)
    assert problem.values.min() >= best - 0.6 - 1e-12
    questions, groups = problem.questions, problem.questions.options.groups
    omega = np.atleast_1d(problem.omega)
    for column, size in zip(questions.columns, omega, strict=True):
        assert (size == family) if column.kind == "bias" else (0.1 <= size <= 0.3)
    if family:
        assert groups is not None
        assert groups[problem.best] is None
        # one judge alone cannot be told from values
        assert questions.check().comparable == (n > 1)
    else:
        assert questions.check().identifiable
    # the mean verdict of 'a against b' is the lead and what the judge adds
    a, b = questions.about[0].tolist()
    row = questions.points[0]
    lead = problem.values[a] - problem.values[b]
    assert problem.evaluations[0] == pytest.approx(lead + row[k:] @ omega)


def test_comparisons_that_cannot_be_are_refused() -> None:
    with pytest.raises(eh.InputError, match="two options and a judge"):
        families.comparisons(1, 1, 1)
    with pytest.raises(eh.InputError, match="gap must be"):
        families.comparisons(4, 1, 1, gap=-1.0)
    with pytest.raises(eh.InputError, match="position must be two numbers"):
        families.comparisons(4, 1, 1, position=(0.3, 0.1))
