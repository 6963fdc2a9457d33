"""Random panels and comparisons: the trap is there, everything can be told, seeds repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import families


@given(
    st.integers(3, 9), st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 2.0])
)
def test_the_mean_scores_of_a_panel_put_a_wrong_option_first(
    k: int, e: int, seed: int, lead: float
) -> None:
    problem = families.misleading_panel(k, e, seed, lead=lead)
    means = problem.evaluations.reshape(k, e).mean(axis=1)
    wrong = int(means.argmax())
    assert wrong != problem.best
    assert means[wrong] - means[problem.best] == pytest.approx(lead)
    groups = problem.questions.options.groups
    assert groups is not None
    assert groups[problem.best] not in (problem.questions.evaluator_groups or ())
    assert problem.questions.check().fine
    assert np.abs(problem.values).max() == pytest.approx(1.0)


def test_a_panel_has_what_is_asked_for() -> None:
    problem = families.misleading_panel(
        6, 5, 2, bias="evaluator", spread=0.3, leniency=0.0, n_neutral=2, prices=[1, 1, 1, 1, 20],
        capacity=1, noise_scale=0.3,
    )  # fmt: skip
    questions = problem.questions
    assert questions.evaluator_groups is not None
    assert questions.evaluator_groups[3:] == (None, None)
    assert questions.capacity.tolist() == [1] * 30
    omega = np.asarray(problem.omega)
    assert len(set(omega[:3].tolist())) == 3
    assert omega[3:].tolist() == [0.0] * 4
    again = families.misleading_panel(6, 5, 2, leniency=0.0)
    assert (again.values == problem.values).all()
    assert families.misleading_panel(6, 5, 3).values.tolist() != problem.values.tolist()


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
        assert questions.check().fine
    # the mean verdict of 'a against b' is the lead and what the judge adds
    a, b = questions.about[0].tolist()
    row = questions.points[0]
    lead = problem.values[a] - problem.values[b]
    assert problem.evaluations[0] == pytest.approx(lead + row[k:] @ omega)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_groups": 1}, "n_groups must be at least 2"),
        ({"n_groups": 9}, "n_groups must be at least 2, and k at least n_groups"),
        ({"n_neutral": 4}, "n_neutral must be from 0 to 3"),
        ({"spread": -1.0}, "spread must be a finite number ≥ 0"),
        ({"leniency": np.inf}, "leniency must be a finite number ≥ 0"),
        ({"lead": 0.0}, "lead must be a finite number > 0"),
        ({"bias": "mine"}, "bias must be"),
    ],
)
def test_panels_that_cannot_be_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(eh.InputError, match=words):
        families.misleading_panel(6, 4, 1, **arguments)


def test_comparisons_that_cannot_be_are_refused() -> None:
    with pytest.raises(eh.InputError, match="two options and a judge"):
        families.comparisons(1, 1, 1)
    with pytest.raises(eh.InputError, match="gap must be"):
        families.comparisons(4, 1, 1, gap=-1.0)
    with pytest.raises(eh.InputError, match="position must be two numbers"):
        families.comparisons(4, 1, 1, position=(0.3, 0.1))
