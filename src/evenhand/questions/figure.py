"""The picture of a panel: who may be asked about whom, who favours whom, and a start.

`panel_picture` works out what to draw, `draw_panel_picture` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.questions.check import Check
from evenhand.report.pictures import FAINT, INK, literal, new_figure
from evenhand.report.words import short

_MOST_ITEMS, _MOST_EVALUATORS = 40, 30  # drawn; more cannot be read
_LONGEST_NAME = 24
_NOT, _MAY, _FAVOURS = 0, 1, 2
_COLOURS = ["#FFFFFF", "#BBD6E8", "#F0A35E"]  # told apart by all kinds of colour vision


@dataclass(frozen=True, eq=False)
class PanelPicture:
    """What the picture of a panel shows."""

    cells: NDArray[np.int64]  # (items, evaluators) 0 may not be asked, 1 may, 2 may and is partial
    start: NDArray[np.bool_]  # (items, evaluators) whether a start asks it
    items: list[str]  # names, with groups
    evaluators: list[str]  # names, with groups
    part: list[int]  # (items,) class of the option; −1 for other items
    title: str  # what was found
    note: str  # what was left out


def panel_picture(check: Check) -> PanelPicture:
    """Work out what to draw; a comparison is about both of its options."""
    questions = check.questions
    if not check.drawable:
        raise InputError("the picture shows who is asked about whom: a panel of evaluators.")
    i, e = len(questions.items), len(questions.evaluators)
    biased = [questions.n_features + j for j, c in enumerate(questions.columns) if c.kind == "bias"]
    compared = (questions.about[:, 1] >= 0).any()
    favour: Floats = np.zeros(len(questions))
    if biased:
        shown = questions.matrix[:, biased]
        favour = np.asarray(
            (shown if compared else abs(shown)).sum(axis=1), dtype=np.float64
        ).reshape(-1)
    cells, start = np.zeros((i, e), dtype=np.int64), np.zeros((i, e), dtype=np.bool_)
    first = np.zeros(len(questions), dtype=np.bool_)
    first[[] if check.start is None else check.start] = True
    for place, sign in ((0, 1.0), (1, -1.0)):
        there = (questions.about[:, place] >= 0) & (questions.evaluator >= 0)
        at = questions.about[there, place], questions.evaluator[there]
        own = favour[there] * sign > 0.0
        may = questions.may_ask[there]
        np.maximum.at(cells, at, np.where(may, np.where(own, _FAVOURS, _MAY), _NOT))
        start[at[0][first[there]], at[1][first[there]]] = True
    number = {name: n for n, names in enumerate(check.classes) for name in names}
    part = [number.get(name, -1) for name in questions.items]
    options = questions.options
    groups = [options.group_of(x) if x < len(options) else None for x in range(i)]
    sides = questions.evaluator_groups or (None,) * e
    by = [(p < 0, p, g or "~", x) for x, (p, g) in enumerate(zip(part, groups, strict=True))]
    rows = _evenly([x for *_, x in sorted(by)], _MOST_ITEMS)
    ordered = sorted((g or "~", j) for j, g in enumerate(sides))
    columns = _evenly([j for _, j in ordered], _MOST_EVALUATORS)
    drawn = [f"{len(rows)} of {i:,} items"] * (len(rows) < i)
    drawn += [f"{len(columns)} of {e:,} evaluators"] * (len(columns) < e)
    return PanelPicture(
        cells[np.ix_(rows, columns)],
        start[np.ix_(rows, columns)],
        [_named(questions.items[x], groups[x]) for x in rows],
        [_named(questions.evaluators[j], sides[j]) for j in columns],
        [part[x] for x in rows],
        " ".join(check.sentences[:2]),
        f"Drawn are {' and '.join(drawn)}." if drawn else "",
    )


def draw_panel_picture(picture: PanelPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture, into axes of the user's if there are any."""
    n, e = picture.cells.shape
    own = axes is None
    if axes is None:
        width = max(5.6, 2.6 + 0.42 * e)
        figure = new_figure(width, 2.2 + 0.28 * n, picture.title, wrap=int(11.0 * width))
        axes = figure.subplots()
    else:
        figure = axes.figure.figure
    colours = ListedColormap(_COLOURS)
    axes.pcolormesh(picture.cells, cmap=colours, vmin=0, vmax=2, edgecolors="#FFFFFF", lw=1.5)
    for y, x in np.argwhere(picture.cells == _NOT).tolist():
        axes.plot(x + 0.5, y + 0.5, marker="x", color=FAINT, ms=4, mew=0.8)
    for y, x in np.argwhere(picture.start).tolist():
        axes.plot(x + 0.5, y + 0.5, marker="o", color=INK, ms=4.5)
    for y in range(1, n):
        if picture.part[y] != picture.part[y - 1]:
            axes.axhline(y, color=INK, lw=1.4)
    axes.invert_yaxis()
    axes.set_aspect("equal" if e > 3 else "auto")
    axes.set_yticks(np.arange(n) + 0.5, picture.items, fontsize=8)
    axes.set_xticks(np.arange(e) + 0.5, picture.evaluators, fontsize=8, rotation=90)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for name in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        literal(name)
    marks = [
        Patch(color=_COLOURS[_FAVOURS], label="may be asked, and may favour"),
        Patch(color=_COLOURS[_MAY], label="may be asked"),
        Line2D([], [], ls="", marker="x", color=FAINT, ms=5, label="may not be asked"),
        Line2D([], [], ls="", marker="o", color=INK, ms=5, label="a cheap start"),
    ]
    if len(set(picture.part) - {-1}) > 1:
        marks.append(Line2D([], [], color=INK, lw=1.4, label="cannot be compared across"))
    look = {"fontsize": 8, "frameon": False, "title": picture.note or None, "title_fontsize": 8}
    if own:
        figure.legend(handles=marks, loc="outside lower left", ncols=2, **look)
    else:
        axes.legend(handles=marks, loc="upper left", bbox_to_anchor=(0.0, -0.02), **look)
    return figure


def _evenly(places: list[int], most: int) -> list[int]:
    """Return so many at most, evenly spaced."""
    kept = np.linspace(0, len(places) - 1, min(len(places), most))
    return [places[x] for x in kept.astype(np.intp).tolist()]


def _named(name: str, group: str | None) -> str:
    called = short(name, _LONGEST_NAME)
    return called if group is None else f"{called} ({short(group, _LONGEST_NAME)})"
