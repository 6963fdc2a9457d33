"""An answer as HTML, for notebooks: the same words, standings and biases with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer, Standing
from evenhand.answers.words import facts, verdict
from evenhand.report import markup as html
from evenhand.report.words import decimals, short

_MOST_ROWS = 25


def as_html(answer: Answer) -> str:
    """Return the answer as one block of HTML: nothing in it runs, all names are escaped."""
    said: dict[str, list[html.Markup]] = {}
    for title, text in facts(answer):
        said.setdefault(title, []).append(html.text(text))
    below = {title: html.Markup("<br>".join(texts)) for title, texts in said.items()}
    biases = [] if isinstance(answer.options, ActionSet) else [biases_table(answer)]
    return html.block(verdict(answer), html.facts(below), standings_table(answer), *biases)


def standings_table(answer: Answer, most: int = _MOST_ROWS) -> html.Markup:
    """Return the first standings as a table, the chosen option in bold."""
    shown = first_standings(answer, most)
    intervals = [(one.value, one.low, one.high) for one in shown]
    ends, written = _ends(intervals), _alike(intervals)
    header = ["option", "group", "mean score", "value", "low", "high", "", "behind", "evaluations"]
    rows = [
        [
            _name(standing, bold=standing.index == answer.option),
            standing.group,
            written(standing.raw),
            written(standing.value),
            written(standing.low),
            written(standing.high),
            html.interval(standing.value, standing.low, standing.high, ends),
            written(standing.lead),
            standing.evaluations,
        ]
        for standing in shown
    ]
    if answer.questions.options.groups is None:
        header, rows = header[:1] + header[2:], [row[:1] + row[2:] for row in rows]
    return html.table(header, rows, left_out=len(answer.ranking) - len(shown))


def first_standings(answer: Answer, most: int) -> tuple[Standing, ...]:
    """Return the first options, and with them the chosen one and that of the highest scores."""
    must = {answer.option, answer.raw_choice}
    late = [one for one in answer.ranking[most:] if one.index in must]
    early = list(answer.ranking[:most])
    for one in reversed(early) if late else ():
        if len(early) + len(late) > most and one.index not in must:
            early.remove(one)
    return (*early, *late)


def biases_table(answer: Answer, most: int = _MOST_ROWS) -> html.Markup:
    """Return what evaluators add to their scores, as a table."""
    shown = answer.biases[:most]
    intervals = [(one.estimate, one.low, one.high) for one in shown]
    ends, written = _ends(intervals), _alike(intervals)
    rows = [
        [
            html.text(short(one.name)),
            one.kind,
            written(one.estimate),
            written(one.low),
            written(one.high),
            html.interval(one.estimate, one.low, one.high, ends),
            written(one.shrunk),
        ]
        for one in shown
    ]
    header = ["bias", "kind", "estimate", "low", "high", "", "towards the mean"]
    return html.table(header, rows, left_out=len(answer.biases) - len(shown))


def _alike(intervals: Sequence[tuple[float, float, float]]) -> Callable[[float], float | None]:
    """Return what gives the numbers of a table the same decimals, and leaves out infinite ones."""
    widths = [0.5 * (high - low) for _, low, high in intervals if math.isfinite(high - low)]
    values = [value for value, _, _ in intervals if math.isfinite(value)]
    spread = 0.1 * (max(values) - min(values)) if values else 0.0
    digits = decimals(median(widths) if widths else spread)
    return lambda x: html.Rounded(x, digits) if math.isfinite(x) else None


def _name(standing: Standing, *, bold: bool) -> html.Markup:
    name = html.text(short(standing.option))
    return html.Markup(f"<b>{name}</b>") if bold else name


def _ends(intervals: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the ends of the axis that the intervals are drawn on."""
    places = [x for one in intervals for x in one if math.isfinite(x)] or [0.0]
    return min(places), max(places)
