"""The picture of a plan: who is asked about whom, beside what more reviews of each option buy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from evenhand.arrays import Counts
from evenhand.planning.page import verdict
from evenhand.planning.plan import Plan
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure
from evenhand.report.words import short

_MOST_ROWS, _MOST_COLUMNS = 60, 24
_LONGEST = 22
_LINE, _GOAL = STYLES[0][0], STYLES[1][0]


def draw(plan: Plan, axes: Axes | None) -> Figure:
    """Draw the picture; into axes of the user's, what more reviews buy if there is that."""
    rows, columns, counts, partial = _who_about_whom(plan)
    if axes is None:
        wide = 0.42 * max(len(columns), 3)
        width = max(2.4 + wide + (4.6 if plan.reviews_curve else 0.0), 6.0)
        figure = new_figure(width, max(3.6, 1.9 + 0.24 * len(rows)), verdict(plan), int(10 * width))
        if not plan.reviews_curve:
            axes = figure.subplots()
        else:
            curve, axes = figure.subplots(1, 2, width_ratios=(4.2, 1.6 + wide))
            _draw_curve(curve, plan)
        _draw_matrix(axes, rows, columns, counts, partial)
    elif plan.reviews_curve:
        _draw_curve(axes, plan)
    else:
        _draw_matrix(axes, rows, columns, counts, partial)
    return axes.figure.figure


def _who_about_whom(plan: Plan) -> tuple[list[str], list[str], Counts, Counts]:
    """Return options, evaluators, and (options, evaluators) how often they are asked, and whether
    they are partial; a comparison counts for both of its options.
    """
    questions, names = plan.questions, list(plan.questions.evaluators)
    order = [*plan.chosen, *(name for name in names if name not in plan.chosen)][:_MOST_COLUMNS]
    shape = (len(questions.options), max(len(names), 1))
    counts, partial = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    who = np.maximum(questions.evaluator, 0)
    for about in questions.about.T:
        there = about >= 0
        np.add.at(counts, (about[there], who[there]), plan.counts[there])
        favours = there & questions.partial & bool(names)
        partial[about[favours], who[favours]] = 1
    shown = np.arange(len(questions.options))
    if len(shown) > _MOST_ROWS:
        shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_ROWS])
    cells = np.ix_(shown, np.array([names.index(name) for name in order] or [0]))
    rows = [questions.options.labels[x] for x in shown.tolist()]
    return rows, order or ["evaluations"], counts[cells], partial[cells]


def _draw_curve(axes: Axes, plan: Plan) -> None:
    steps = plan.reviews_curve
    sizes, heights = (np.array([getattr(s, name) for s in steps]) for name in ("reviews", "right"))
    within = np.array([step.allowed for step in steps])
    axes.plot(sizes, heights, color=_LINE, lw=1.6, alpha=0.6)
    for some, fill, label in (
        (within, _LINE, "within workloads"),
        (~within, "white", "beyond workloads"),
    ):
        if some.any():
            axes.plot(sizes[some], heights[some], "o", color=_LINE, mfc=fill, ms=6, label=label)
    if plan.expected is not None:
        at = plan.expected.reviews, plan.expected.right
        axes.plot(*at, "o", ms=13, mfc="none", mec=_GOAL, mew=1.6, label="the plan")
    axes.set_ylim(0.0, 1.12 * float(heights.max(initial=1.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    axes.set_xlim(0.5, float(sizes.max()) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("evaluations of each option", fontsize=9, color=INK)
    axes.set_ylabel(f"expected right, of {plan.calls}", fontsize=9, color=INK)
    axes.grid(True, color="#ececec", lw=0.7)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8, loc="best")
    frame(axes)


def _draw_matrix(
    axes: Axes, rows: Sequence[str], columns: Sequence[str], counts: Counts, partial: Counts
) -> None:
    # cells and no image: a page may not load any
    axes.pcolormesh(counts, cmap="Blues", vmin=0.0, vmax=2.2 * max(int(counts.max(initial=0)), 1))
    axes.invert_yaxis()
    for y, x in np.argwhere(counts).tolist():
        where: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5, "color": INK}
        axes.text(x + 0.5, y + 0.5, f"{counts[y, x]:,}", **where)
    for y, x in np.argwhere(partial).tolist():
        axes.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, fill=False, ec=_GOAL, lw=1.3))
    axes.set_yticks(np.arange(len(rows)) + 0.5)
    axes.set_xticks(np.arange(len(columns)) + 0.5)
    turned = len(columns) > 1 and max(len(name) for name in columns) > 3
    aside: dict[str, Any] = {"rotation": 45, "ha": "right"} if turned else {}
    for label in (
        *axes.set_yticklabels([short(name, _LONGEST) for name in rows]),
        *axes.set_xticklabels([short(name, _LONGEST) for name in columns], **aside),
    ):
        literal(label)
    axes.tick_params(length=0, labelsize=8, labelcolor=INK)
    about = "who is asked about whom" if len(columns) > 1 else "what is asked about"
    framed = "\n(framed: the evaluator is partial)" if partial.any() else ""
    axes.set_title(f"{about}, how often{framed}", fontsize=8.5, color=FAINT, loc="left")
    axes.spines[:].set_visible(False)
