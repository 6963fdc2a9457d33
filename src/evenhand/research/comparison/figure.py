"""The picture of a comparison: one panel per suite, one row per policy, one dot per instance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand.report.pictures import FAINT, INK, STYLES, frame, literal, new_figure, note_below
from evenhand.report.words import number
from evenhand.research.comparison.suites import Instance, short_power
from evenhand.research.comparison.table import ORACLE, Comparison, geometric_mean

_SUBJECT, _OTHERS = STYLES[1][0], STYLES[0][0]
_COLUMNS = 3  # panels beside each other


def draw_comparison(comparison: Comparison, axes: Axes | None = None) -> Figure:
    """Draw every suite; into axes of the user's, the first suite."""
    rows = comparison.instances()
    parts = [
        (suite, rows[rows["refusal"].isna() & (rows["suite"] == name)])
        for name, suite in comparison.played.items()
    ]
    if axes is not None:
        _draw_panel(axes, comparison, *parts[0], named=True)
        return axes.figure.figure
    columns = min(_COLUMNS, len(parts))
    lines = -(-len(parts) // columns)
    height = 1.5 + lines * (0.9 + 0.235 * len(comparison.ranking))
    figure = new_figure(2.6 + 3.5 * columns, height, comparison.verdict, wrap=44 * columns)
    for place, part in enumerate(figure.subplots(lines, columns, squeeze=False).flat):
        if place < len(parts):
            _draw_panel(part, comparison, *parts[place], named=place % columns == 0)
        else:
            part.set_visible(False)
    note_below(figure, _note(comparison), 58 * columns)
    return figure


def _note(comparison: Comparison) -> str:
    benchmark = comparison.benchmark
    longest = ", ".join(map(short_power, sorted({one.horizon for one in benchmark.instances})))
    counted = "number of evaluations until the stop"
    what = counted if comparison.counts_evaluations else "regret"
    note = (
        f"A dot is the mean {what} on one instance over {benchmark.replications:,} runs per "
        f"problem, T = {longest}; the diamond and the number are the geometric mean. The same "
        "noise for all."
    )
    if comparison.counts_evaluations:
        note += " Who is not sure in half of the runs, by a threshold that is proved, is no rival."
    if ORACLE in comparison.names:
        note += " Dashed: OFUL that is told the bias."
    return note


def _draw_panel(
    axes: Axes,
    comparison: Comparison,
    suite: Sequence[Instance],
    rows: pd.DataFrame,
    *,
    named: bool,
) -> None:
    """Draw the ratios of a suite: a dot per instance, a diamond for their geometric mean."""
    policies, subject = comparison.ranking, comparison.subject
    unit, column = (
        ("what no policy can be below", "over_limit")
        if all(one.binding for one in suite)
        else ("least of all policies", "over_best")
    )
    found = {str(name): own[column].to_numpy() for name, own in rows.groupby("policy")}
    oracle = geometric_mean(found.pop(ORACLE, ()))
    axes.set_xscale("log")
    axes.axvline(1.0, color=INK, lw=1.0, zorder=1)
    if oracle > 0:
        axes.axvline(oracle, color=FAINT, lw=1.1, ls=(0, (4, 3)), zorder=1)
    beside: dict[str, Any] = {"va": "center", "fontsize": 8.5}
    beside["transform"] = axes.get_yaxis_transform()
    for y, name in enumerate(policies):
        if name not in found:
            axes.text(1.02, y, "–", color=FAINT, **beside)
            continue
        ratios, mean = found[name], geometric_mean(found[name])
        colour = _SUBJECT if name == subject else _OTHERS
        axes.plot(ratios, np.full(len(ratios), y), "o", color=colour, ms=4.5, mew=0, alpha=0.35,
                  zorder=2)  # fmt: skip
        axes.plot([mean], [y], "D", color=colour, ms=7, mec="white", mew=0.8, zorder=3)
        bold: dict[str, Any] = {"color": INK}
        if name == subject:
            bold = {"color": colour, "weight": "bold"}
        digits = max(0, 2 - math.floor(math.log10(mean)))  # three of them
        axes.text(1.02, y, number(mean, digits), **beside, **bold)
    shown = np.concatenate([*found.values(), [oracle]])
    shown = shown[np.isfinite(shown) & (shown > 0)]
    low, high = min(0.9, float(shown.min(initial=1.0))), max(2.0, float(shown.max(initial=1.0)))
    room = (high / low) ** 0.05
    axes.set_xlim(low / room, high * room)
    ticks = ticks_between(low / room, high * room)
    axes.set_xticks(ticks, [f"{x:g}" if x < 1e4 else short_power(round(x)) for x in ticks])
    axes.minorticks_off()
    axes.set_title(suite[0].title, loc="left", fontsize=9.5, color=INK)
    axes.set_xlabel(f"{comparison.benchmark.counted} ÷ {unit}", fontsize=8.5, color=FAINT)
    axes.grid(True, axis="y", color="#eeeeee", lw=0.8)
    axes.set_axisbelow(True)
    frame(axes, names=True)
    axes.set_ylim(len(policies) - 0.4, -0.6)
    axes.set_yticks(range(len(policies)), policies if named else [""] * len(policies))
    for text in axes.get_yticklabels():
        literal(text)
        if text.get_text() == subject:
            text.set(color=_SUBJECT, weight="bold")


def ticks_between(low: float, high: float) -> list[float]:
    """Return at most six round numbers in a range: 1, 2, 5, 10, … or powers of ten, or some."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [sub * 10.0**e for e in exponents for sub in (1, 2, 5)]
    for choice in (fine, *([10.0**e for e in exponents if e % step == 0] for step in (1, 2, 3))):
        ticks = [x for x in choice if low <= x <= high]
        if len(ticks) <= 6:
            break
    return ticks
