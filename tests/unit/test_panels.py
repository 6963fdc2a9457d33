"""Panels of skating judges, and random ones: who is asked what, and what comes back."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand import families
from evenhand.cases.panels import SkatingPanel, skating_panels


@pytest.fixture(scope="module")
def panels() -> list[SkatingPanel]:
    return list(skating_panels())


def test_the_questions_of_a_panel_are_its_table(panels: list[SkatingPanel]) -> None:
    for panel in panels[::17]:
        questions, (k, e) = panel.questions(), panel.table.shape
        assert (len(questions.options), len(questions.evaluators)) == (k, e)
        names, judges = list(panel.performances), list(panel.judges)
        for question in range(0, k * e, 7):
            o, j = divmod(question, e)
            assert questions.label(question) == f"{names[o]} by {judges[j]}"
            assert panel.scores[question] == panel.table[o, j]
            same = panel.performances[names[o]] == panel.judges[judges[j]]
            assert questions.points[question, k] == same


def test_the_bias_of_the_season_is_three_points(panels: list[SkatingPanel]) -> None:
    """Pooled over all panels, beside performances and judges: known from the whole table."""

    def beside(M: np.ndarray) -> np.ndarray:
        return M - M.mean(axis=0) - M.mean(axis=1)[:, None] + M.mean()

    S = [beside(panel.partial) for panel in panels]
    Y = [beside(panel.table) for panel in panels]
    beta = sum(np.vdot(s, y) for s, y in zip(S, Y, strict=True)) / sum(np.vdot(s, s) for s in S)
    assert beta == pytest.approx(3.305, abs=5e-4)
    left = sum(((y - beta * s) ** 2).sum() for s, y in zip(S, Y, strict=True))
    freedom = sum((s.shape[0] - 1) * (s.shape[1] - 1) for s in S)
    assert np.sqrt(left / freedom) == pytest.approx(2.998, abs=5e-4)


def test_a_random_panel_is_what_it_says() -> None:
    k, e = 9, 5
    problem = families.panel(k, e, seed=3, gap=0.4, bias=2.0)
    assert problem.delta_min == pytest.approx(0.4)
    answers = problem.evaluations.reshape(k, e)
    own = problem.questions.attributes[:, 0].reshape(k, e) == 1.0
    fair = answers - problem.values[:, None]
    for j in range(e):
        np.testing.assert_allclose(fair[own[:, j], j].mean() - fair[~own[:, j], j], 2.0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 1, "e": 3}, "at least 2 options"),
        ({"k": 3, "e": 3, "gap": -1.0}, "gap must be a finite number"),
    ],
)
def test_panels_that_cannot_be_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        families.panel(seed=1, **wrong)  # type: ignore[arg-type]
