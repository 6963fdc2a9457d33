"""The picture of a plan: who is asked about whom, beside what more reviews of each option buy.

`plan_picture` works out what to draw, `draw_plan_picture` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from evenhand.arrays import Counts, Floats
from evenhand.planning.page import verdict
from evenhand.planning.plan import Plan
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure
from evenhand.report.words import short

_MOST_ROWS, _MOST_COLUMNS = 60, 24
_LONGEST = 22

_LINE, _GOAL = STYLES[0][0], STYLES[1][0]


@dataclass(frozen=True, eq=False)
class PlanPicture:
    """What the picture of a plan shows."""

    title: str  # what it takes, in words
    reviews: Floats  # (n,) evaluations of each option
    right: Floats  # (n,) how many are expected to be right by them
    beyond: Counts  # (n,) whether workloads do not allow it
    axis: str  # what is drawn above
    at: float | None  # reviews of the plan; None if there is no curve
    rows: tuple[str, ...]  # options
    columns: tuple[str, ...]  # evaluators, as they are best added
    counts: Counts  # (rows, columns) evaluations
    partial: Counts  # (rows, columns)


def plan_picture(plan: Plan) -> PlanPicture:
    """Work out what to draw."""
    steps = plan.reviews_curve
    return PlanPicture(
        verdict(plan),
        np.array([step.reviews for step in steps]),
        np.array([step.right for step in steps]),
        np.array([not step.allowed for step in steps], dtype=np.int64),
        f"expected right, of {plan.calls}",
        None if plan.expected is None else plan.expected.reviews,
        *_who_about_whom(plan),
    )


def _who_about_whom(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...], Counts, Counts]:
    """Return names and counts of the matrix; a comparison counts for both of its options."""
    questions = plan.questions
    e = len(questions.evaluators)
    named = [questions.evaluators.index(name) for name in plan.chosen]
    order = [*named, *(j for j in range(e) if j not in named)] or [0]
    shape = (len(questions.items), max(e, 1))
    counts, partial = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    who = np.maximum(questions.evaluator, 0)
    for place in (0, 1):
        about = questions.about[:, place]
        there = about >= 0
        np.add.at(counts, (about[there], who[there]), plan.counts[there])
        partial[about[there & questions.partial], who[there & questions.partial]] = 1
    shown = np.arange(len(questions.items))
    if len(shown) > _MOST_ROWS:
        shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_ROWS])
    order = order[:_MOST_COLUMNS]
    columns = tuple(questions.evaluators[j] for j in order) if e else ("evaluations",)
    cells = np.ix_(shown, np.array(order))
    rows = tuple(questions.items[x] for x in shown.tolist())
    return rows, columns, counts[cells], partial[cells] if e else 0 * partial[cells]


def draw_plan_picture(picture: PlanPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, what more reviews buy if there is that."""
    n, m = picture.counts.shape
    has_curve = bool(len(picture.reviews))
    if axes is not None:
        (_draw_curve if has_curve else _draw_matrix)(axes, picture)
        return axes.figure.figure
    width = max(2.4 + 0.42 * max(m, 3) + (4.6 if has_curve else 0.0), 6.0)
    figure = new_figure(width, max(3.6, 1.9 + 0.24 * n), picture.title, wrap=int(10.0 * width))
    if has_curve:
        curve, matrix = figure.subplots(1, 2, width_ratios=(4.2, 1.6 + 0.42 * max(m, 3)))
        _draw_curve(curve, picture)
    else:
        matrix = figure.subplots()
    _draw_matrix(matrix, picture)
    return figure


def _draw_curve(axes: Axes, picture: PlanPicture) -> None:
    sizes, heights, beyond = picture.reviews, picture.right, picture.beyond.astype(bool)
    axes.plot(sizes, heights, color=_LINE, lw=1.6, alpha=0.6)
    axes.plot(sizes[~beyond], heights[~beyond], "o", color=_LINE, ms=6, label="within workloads")
    if beyond.any():
        axes.plot(
            sizes[beyond], heights[beyond], "o", color=_LINE, mfc="white", ms=6,
            label="beyond workloads",
        )  # fmt: skip
    if picture.at is not None and picture.at in sizes.tolist():
        at = heights[sizes.tolist().index(picture.at)]
        axes.plot([picture.at], [at], "o", ms=13, mfc="none", mec=_GOAL, mew=1.6, label="the plan")
    axes.set_ylim(0.0, 1.12 * float(heights.max(initial=1.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    axes.set_xlim(0.5, float(sizes.max()) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("evaluations of each option", fontsize=9, color=INK)
    axes.set_ylabel(picture.axis, fontsize=9, color=INK)
    axes.grid(True, color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8, loc="best")
    frame(axes)


def _draw_matrix(axes: Axes, picture: PlanPicture) -> None:
    n, m = picture.counts.shape
    most = max(int(picture.counts.max(initial=0)), 1)
    # cells and no image: a page may not load any
    axes.pcolormesh(picture.counts, cmap="Blues", vmin=0.0, vmax=2.2 * most)
    axes.invert_yaxis()
    if n * m <= _MOST_ROWS * _MOST_COLUMNS:
        for y in range(n):
            for x in range(m):
                if picture.counts[y, x]:
                    axes.text(
                        x + 0.5, y + 0.5, f"{picture.counts[y, x]:,}", ha="center", va="center",
                        fontsize=7.5, color=INK,
                    )  # fmt: skip
    for y, x in zip(*np.nonzero(picture.partial), strict=True):
        axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, fill=False, ec=_GOAL, lw=1.3))
    axes.set_yticks(np.arange(n) + 0.5)
    axes.set_xticks(np.arange(m) + 0.5)
    rotated = m > 1 and max(len(name) for name in picture.columns) > 3
    labels = [
        *axes.set_yticklabels([short(name, _LONGEST) for name in picture.rows]),
        *axes.set_xticklabels(
            [short(name, _LONGEST) for name in picture.columns],
            rotation=45 if rotated else 0,
            ha="right" if rotated else "center",
        ),
    ]
    for label in labels:
        literal(label)
    axes.tick_params(length=0, labelsize=8, labelcolor=INK)
    said = "who is asked about whom, how often" if m > 1 else "what is asked about, how often"
    if picture.partial.any():
        said += "\n(framed: the evaluator is partial)"
    axes.set_title(said, fontsize=8.5, color=FAINT, loc="left")
    for spine in axes.spines.values():
        spine.set_visible(False)
