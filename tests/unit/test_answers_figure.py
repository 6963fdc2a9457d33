"""The picture of a panel: values beside raw means, and every bias in a row with its name."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import evenhand as eh
from asking import Wants
from evenhand.report.pictures import ForestRow, draw_forest

K, E = 20, 12


def answered(groups: int = 6, judges: int = E, seed: int = 0) -> eh.Answer:
    options = {f"a rather long name of option {x}": f"nation {x % groups}" for x in range(K)}
    evaluators = {f"evaluator number {j}": f"nation {j % groups}" for j in range(judges)}
    questions = eh.Questions.panel(options, evaluators, capacity=None, bias="evaluator")
    rng = np.random.default_rng(seed)
    values, lenience = 10.0 + rng.standard_normal(K), rng.standard_normal(judges)

    def evaluate(question: eh.Question) -> float:
        judge = list(evaluators).index(str(question.evaluator))
        own = options[question.label] == evaluators[str(question.evaluator)]
        return float(values[question.option] + lenience[judge] + own + rng.standard_normal())

    return eh.choose(questions, evaluate, policy=Wants(questions, 1))


def names_of(axes: Axes) -> list[Bbox]:
    boxes = [text.get_window_extent() for text in axes.get_yticklabels() if text.get_text()]
    return sorted(boxes, key=lambda box: box.y0)


def test_nothing_covers_anything_else_with_many_options_and_evaluators() -> None:
    figure = answered().plot()
    figure.canvas.draw()
    options, biases = figure.axes
    for axes in (options, biases):
        assert all(below.y1 <= above.y0 for below, above in pairwise(names_of(axes)))
    boxes = [axes.get_tightbbox() for axes in (options, biases)]
    assert not boxes[0].overlaps(boxes[1])
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1


def test_every_bias_stands_in_a_row_with_its_name() -> None:
    partial = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]])
    questions = eh.Questions.panel(
        list("ABC"), list("PQRS"), partial=partial, bias="evaluator", capacity=None
    )
    rng = np.random.default_rng(0)
    wanted = np.where(questions.attributes[:, 3] == 1.0, 0, 2)  # nobody asks S about the favourite
    answer = eh.choose(questions, lambda q: rng.normal(), policy=Wants(questions, wanted))
    _, axes = answer.plot().axes
    named = {
        text.get_text(): float(y)
        for text, y in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    }
    points = {
        (round(float(x), 9), float(y))
        for line in axes.get_lines()
        for x, y in np.asarray(line.get_xydata())
    }
    low, high = axes.get_xlim()
    assert set(named) == {one.name for one in answer.biases}
    for one in answer.biases:
        if one.known:
            assert (round(one.estimate, 9), named[one.name]) in points
            assert low < one.estimate < high
    assert low < 0.0 < high
    assert [one.name for one in answer.biases if not one.known] == ["own group of S"]
    assert sum(text.get_text() == "not known" for text in axes.texts) == 1


def test_an_unbounded_interval_runs_from_side_to_side_and_none_is_not_drawn() -> None:
    axes = Figure().subplots()
    rows = [(1.0, 0.5, 1.5), (2.0, -math.inf, math.inf), (3.0, math.nan, math.nan)]
    draw_forest(axes, [ForestRow("abc"[i], *row) for i, row in enumerate(rows)])
    spans = {
        float(line.get_ydata()[0]): [float(x) for x in line.get_xdata()]
        for line in axes.get_lines()
        if len(line.get_xdata()) == 2
    }
    assert spans == {0.0: [0.5, 1.5], 1.0: [0.0, 1.0]}  # the second in shares of the width


def test_comparisons_are_drawn_from_the_chosen_option(tmp_path: Path) -> None:
    questions = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["J", "$K$"])
    rng = np.random.default_rng(0)

    def evaluate(question: eh.Question) -> float:
        a, b = question.options
        return float(b - a + 0.5 + 0.1 * rng.standard_normal())

    answer = eh.choose(questions, evaluate)
    figure = answer.plot(tmp_path / "answer.png")
    assert "Ann" in figure.axes[0].get_xlabel()
    drawn = {round(float(x), 9) for line in figure.axes[0].get_lines() for x in line.get_xdata()}
    gap = answer.standing(1).raw - answer.standing(0).raw
    assert {0.0, round(gap, 9)} <= drawn
    assert (tmp_path / "answer.png").stat().st_size > 10_000
