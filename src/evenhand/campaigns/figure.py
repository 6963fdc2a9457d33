"""Pictures of campaigns: what came of every evaluator; what is wrong with a record."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evenhand.campaigns.status import Status
from evenhand.campaigns.verification import RecordVerification
from evenhand.report.pictures import INK, STYLES, frame, literal, new_figure
from evenhand.report.words import short

_MOST_ROWS = 40
_HELD, _WRONG = STYLES[2], STYLES[1]


def draw_status(status: Status, axes: Axes | None = None) -> Figure:
    """Draw how many evaluations of every evaluator count, are out, and wait."""
    shown = status.evaluators[:_MOST_ROWS]
    if axes is None:
        title = f"Campaign {status.name!r} is {status.status}"
        axes = new_figure(7.5, 1.9 + 0.3 * max(len(shown), 2), title, 80).subplots()
    counts = {
        "count": [one.evaluations for one in shown],
        "are out": [one.leased for one in shown],
        "wait": [one.open for one in shown],
    }
    left = [0] * len(shown)
    for (label, widths), (colour, _) in zip(counts.items(), STYLES, strict=False):
        axes.barh(range(len(shown)), widths, left=left, color=colour, height=0.7, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    names = [short(one.evaluator or "(nobody named)") for one in shown]
    for tick in axes.set_yticks(range(len(shown)), names):
        literal(tick.label1)
    axes.set_ylim(max(len(shown), 2) - 0.4, -0.6)
    axes.set_xlim(0.0, 1.05 * max([*left, 1]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("evaluations", fontsize=9, color=INK)
    frame(axes, names=True)
    axes.legend(frameon=False, fontsize=8.5, loc="best")
    return axes.figure.figure


def draw_verification(found: RecordVerification, axes: Axes | None = None) -> Figure:
    """Draw what is wrong or, if nothing is, what fits together."""
    rows = [(text, _WRONG) for text in found.wrong] or [
        ("seals, events and tables fit together", _HELD),
        *([("the decision follows from the log", _HELD)] if found.decided else []),
    ]
    if axes is None:
        title = "The record does not verify" if found.wrong else "The record is whole"
        axes = new_figure(8.0, 1.0 + 0.3 * max(len(rows), 2), title, 80).subplots()
    for place, (text, (colour, marker)) in enumerate(rows):
        axes.plot([0.0], [place], marker=marker, color=colour, ms=7.0, ls="")
        literal(axes.text(0.02, place, short(text, 90), va="center", fontsize=8.5, color=INK))
    axes.set_xlim(-0.02, 1.0)
    axes.set_ylim(max(len(rows), 2) - 0.4, -0.6)
    axes.set_axis_off()
    return axes.figure.figure
