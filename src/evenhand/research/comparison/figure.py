"""The picture of a comparison: one panel per suite, one row per policy, one dot per instance.

`comparison_picture` works out what to draw, `draw_comparison_picture` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand.arrays import Floats
from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure, note_below
from evenhand.report.words import number
from evenhand.research.comparison.instances import Counted, Suite, short_power
from evenhand.research.comparison.measure import ORACLE
from evenhand.research.comparison.sections import ranking, subject_of, verdict
from evenhand.research.comparison.table import Comparison, geometric_mean

_SUBJECT, _OTHERS = STYLES[1][0], STYLES[0][0]
_COLUMNS = 3  # panels beside each other


@dataclass(frozen=True, eq=False)
class Row:
    """A policy in a panel: its ratio on every instance, and their geometric mean."""

    ratios: Floats
    mean: float


@dataclass(frozen=True, eq=False)
class PicturePanel:
    """One suite."""

    title: str  # what was played
    unit: str  # what the regret or the evaluations are divided by
    rows: Mapping[str, Row]  # by policy; who did not take part has none
    oracle: float | None  # geometric mean of who knows the bias, if that was run


@dataclass(frozen=True, eq=False)
class ComparisonPicture:
    """What the picture shows, in numbers."""

    title: str  # the finding
    note: str  # how to read the picture
    subject: str  # the policy that the title speaks of
    # from the one that needs least to the one that needs most, without the oracle
    policies: tuple[str, ...]
    panels: tuple[PicturePanel, ...]  # one per suite


def comparison_picture(comparison: Comparison) -> ComparisonPicture:
    """Work out what to draw."""
    frame = comparison.instances()
    played = frame[frame["refusal"].isna()]
    suites = [suite for suite in comparison.benchmark.suites if suite.name in set(played["suite"])]
    counted = comparison.benchmark.counted
    panels = tuple(
        _panel(suite, played[played["suite"] == suite.name], counted) for suite in suites
    )
    policies = ranking(comparison)
    subject = subject_of(comparison)
    return ComparisonPicture(verdict(comparison), _note(comparison), subject, policies, panels)


def draw_comparison_picture(picture: ComparisonPicture, axes: Axes | None = None) -> Figure:
    """Draw the picture; into axes of the user's, the first suite."""
    if axes is not None:
        _draw_panel(axes, picture, picture.panels[0])
        _name_rows(axes, picture, shown=True)
        return axes.figure.figure
    n = len(picture.panels)
    columns = min(_COLUMNS, n)
    lines = -(-n // columns)
    rows = len(picture.policies)
    height = 1.5 + lines * (0.9 + 0.235 * rows)
    figure = new_figure(2.6 + 3.5 * columns, height, picture.title, wrap=44 * columns)
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, part in enumerate(grid.flat):
        if place >= n:
            part.set_visible(False)
            continue
        _draw_panel(part, picture, picture.panels[place])
        _name_rows(part, picture, shown=place % columns == 0)
    note_below(figure, picture.note, 58 * columns)
    return figure


def _panel(suite: Suite, rows: pd.DataFrame, counted: Counted) -> PicturePanel:
    unit, column = (
        ("what no policy can be below", "over_limit")
        if suite.bounded
        else ("least of all policies", "over_best")
    )
    found = {
        str(name): Row(own[column].to_numpy(), geometric_mean(own[column]))
        for name, own in rows.groupby("policy", sort=False)
    }
    oracle = found.pop(ORACLE, None)
    mean = None if oracle is None else oracle.mean
    return PicturePanel(suite.title, f"{counted} ÷ {unit}", found, mean)


def _note(comparison: Comparison) -> str:
    benchmark = comparison.benchmark
    horizons = sorted({horizon for suite in benchmark.suites for horizon in suite.horizons})
    longest = ", ".join(short_power(horizon) for horizon in horizons)
    what = "regret" if benchmark.counted == "regret" else "number of evaluations until the stop"
    note = (
        f"A dot is the mean {what} on one instance over {benchmark.replications:,} runs per "
        f"problem, T = {longest}; the diamond and the number are the geometric mean. The same "
        "noise for all."
    )
    if benchmark.counted == "evaluations":
        note += " Who is not sure in half of the runs, by a threshold that is proved, is no rival."
    if ORACLE in comparison.names:
        note += " Dashed: OFUL that is told the bias."
    return note


def _draw_panel(axes: Axes, picture: ComparisonPicture, panel: PicturePanel) -> None:
    axes.set_xscale("log")
    axes.axvline(1.0, color=INK, lw=1.0, zorder=1)
    if panel.oracle is not None and panel.oracle > 0:
        axes.axvline(panel.oracle, color=FAINT, lw=1.1, ls=(0, (4, 3)), zorder=1)
    right = axes.get_yaxis_transform()
    for y, name in enumerate(picture.policies):
        row = panel.rows.get(name)
        subject = name == picture.subject
        if row is None:
            axes.text(1.02, y, "–", transform=right, va="center", fontsize=8.5, color=FAINT)
            continue
        colour = _SUBJECT if subject else _OTHERS
        axes.plot(row.ratios, np.full(len(row.ratios), y), "o", color=colour, ms=4.5, mew=0,
                  alpha=0.35, zorder=2)  # fmt: skip
        axes.plot([row.mean], [y], "D", color=colour, ms=7, mec="white", mew=0.8, zorder=3)
        axes.text(
            1.02,
            y,
            number(row.mean, max(0, 2 - math.floor(math.log10(row.mean)))),  # three digits
            transform=right,
            va="center",
            fontsize=8.5,
            color=colour if subject else INK,
            weight="bold" if subject else "normal",
        )
    _scale(axes, panel)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=INK)
    axes.set_xlabel(panel.unit, fontsize=8.5, color=FAINT)
    axes.grid(True, axis="y", color="#eeeeee", lw=0.8)
    axes.set_axisbelow(True)
    frame(axes, names=True)


def _name_rows(axes: Axes, picture: ComparisonPicture, shown: bool) -> None:
    axes.set_ylim(len(picture.policies) - 0.4, -0.6)
    names = picture.policies if shown else [""] * len(picture.policies)
    axes.set_yticks(range(len(names)), names)
    for text in axes.get_yticklabels():
        literal(text)
        if text.get_text() == picture.subject:
            text.set(color=_SUBJECT, weight="bold")


def _scale(axes: Axes, panel: PicturePanel) -> None:
    """Choose the range, so that everything is in it, and few ticks."""
    shown = np.concatenate([row.ratios for row in panel.rows.values()])
    if panel.oracle is not None:
        shown = np.append(shown, panel.oracle)
    shown = shown[np.isfinite(shown) & (shown > 0)]
    low, high = min(0.9, float(shown.min(initial=1.0))), max(2.0, float(shown.max(initial=1.0)))
    room = (high / low) ** 0.05
    axes.set_xlim(low / room, high * room)
    ticks = ticks_between(low / room, high * room)
    axes.set_xticks(ticks, [f"{x:g}" if x < 1e4 else short_power(round(x)) for x in ticks])
    axes.minorticks_off()


def ticks_between(low: float, high: float) -> list[float]:
    """Return at most six round numbers in a range: 1, 2, 5, 10, … or powers of ten, or some."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [sub * 10.0**e for e in exponents for sub in (1, 2, 5)]
    for choice in (fine, *([10.0**e for e in exponents if e % step == 0] for step in (1, 2, 3))):
        ticks = [x for x in choice if low <= x <= high]
        if len(ticks) <= 6:
            break
    return ticks
