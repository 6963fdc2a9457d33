"""A panel as somebody types it in or uploads it: who is judged by whom, and what it would take.

Tables are lines of cells between commas, as a spreadsheet saves them. Without a header, a line is a
name and its group. With one, its first column is called ``name``; ``group`` is never shown to
evaluators; other columns of options are shown, and evaluators may have ``price`` and ``most``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.errors import InputError
from evenhand.questions import Questions
from evenhand.questions.tables import newcomers_in, panel_of, people_in
from evenhand.report.model import Report
from evenhand.scores.grades import typed_scores
from evenhand.tables.columns import GROUP_WORDS, Table
from evenhand.tables.opened import of_rows, open_table
from evenhand.tables.texts import number_in, whole_in

GIVEN = {
    "name": "",
    "options": "",
    "evaluators": "",
    "conflicts": "",
    "kind": "scores",
    "scale": "0, 10",
    "best": "",
    "capacity": "1",
    "workload": "",
    "top": "1",
    "at_most": "",
    "budget": "",
    "lead": "",
    "noise": "",
}
"""What a form of a new campaign has, and with what it begins."""

EXAMPLE = {
    "name": "An example: the young artists' prize",
    "options": "name, group, piece\n"
    "Ann, Lyon, A waltz for two pianos\nBo, Milan, Tango\nCy, Lyon, Three polkas\n"
    "Di, Malmö, Songs without words",
    "evaluators": "Paul, Lyon\nRosa, Milan\nSven, Malmö\nTeresa, Porto",
    "lead": "1.5",
    "noise": "1",
}
"""What a form is filled in with for who wants to see an example."""

_MOST_LINES, _MOST_COLUMNS, _MOST_IN_CELL = 5_000, 40, 20_000
_NAMES = ("name", "option", "evaluator")
_ROLES = {"option": "name", "option_group": "group",
          "evaluator": "name", "evaluator_group": "group"}  # fmt: skip


def questions(given: Mapping[str, str]) -> eh.Questions:
    """Return what can be asked, or say what is wrong with what was given."""
    options, evaluators = _rows(given, "options"), _rows(given, "evaluators")
    if len(options) < 2 or not evaluators:
        raise InputError("give at least two options and one evaluator, one on each line.")
    often, each = given["capacity"].strip(), given["workload"].strip()
    workload = whole_in(each, "how many for each") if each else None
    usual = {"price": "1", "most": str(workload or len(options))}  # where a cell is empty
    usual = {c: text for c, text in usual.items() if any(row.get(c) for row in evaluators)}
    people = [usual | {c: text for c, text in row.items() if text} for row in evaluators]
    barred = _rows(given, "conflicts", ("option", "evaluator"))
    return panel_of(
        _table(options, "options"),
        _table(people, "evaluators"),
        _roles(people),
        capacity=whole_in(often, "how often") if often else None,
        workload="most" if "most" in usual else workload,
        conflicts=of_rows(barred, "conflicts", "line") if barred else None,
        compare=given["kind"] == "pairs",
    )


def arguments(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what else a campaign begins with."""
    verdicts = given["kind"] == "pairs"
    typed = {} if verdicts or not given["scale"].strip() else typed_scores(given["scale"])
    words = verdicts or "grades" in typed  # which say themselves what is better
    return {
        "scores": "verdicts" if verdicts else None,
        "bounds": typed.pop("scale", None),
        "best": None if words else given["best"].strip() or None,
        **typed,
        "top": wanted(given["top"], len(_rows(given, "options"))) or 1,
        **more(given["at_most"], given["budget"]),
        "display": _shown(_rows(given, "options")) or None,
    }


def newcomers(given: Mapping[str, str], known: Collection[str]) -> dict[str, Any]:
    """Return who comes in addition to those known, as `Campaign.extend` takes it."""
    options, evaluators = _rows(given, "options"), _rows(given, "evaluators")
    found: dict[str, Any] = {}
    if options:
        found["options"] = people_in(_table(options, "options"), "option", _ROLES)
    if evaluators:
        most = "most" if any(row.get("most") for row in evaluators) else None
        people = _table(evaluators, "evaluators")
        found |= newcomers_in(people, _roles(evaluators), most, known)
    if not found:
        raise InputError("nobody is named: write who comes in addition, one on each line.")
    barred = _rows(given, "conflicts", ("option", "evaluator"))
    pairs = [(row["option"], row["evaluator"]) for row in barred]
    shown = _shown(options)
    return found | ({"display": shown} if shown else {}) | ({"conflicts": pairs} if pairs else {})


def like(campaign: Questions, display: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return a form that is filled in with the panel of a campaign."""
    columns = list(dict.fromkeys(c for own in display.values() for c in own))
    names, judges = campaign.options.labels, campaign.evaluators
    groups = campaign.options.groups or [None] * len(names)
    sides = campaign.evaluator_groups or [None] * len(judges)
    options = (
        [name, side or "", *(display.get(name, {}).get(c, "") for c in columns)]
        for name, side in zip(names, groups, strict=True)
    )
    evaluators = ([name, side or ""] for name, side in zip(judges, sides, strict=True))
    return {
        "options": _written(["name", "group", *columns], options),
        "evaluators": _written(["name", "group"], evaluators),
        "kind": "pairs" if bool((campaign.about >= 0).all()) else "scores",
    }


def _written(header: list[str], rows: Iterable[list[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()


def _shown(options: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return what is shown of options beside their names, where something is."""
    shown = {
        row["name"]: {c: text for c, text in row.items() if c not in ("name", "group") and text}
        for row in options
    }
    return shown if any(shown.values()) else {}


def more(at_most: str, budget: str) -> dict[str, Any]:
    """Return what a campaign may have more of, as it was typed in."""
    return {
        "at_most": whole_in(at_most, "evaluations at most") if at_most.strip() else None,
        "budget": _decimal(budget, "the budget") if budget.strip() else None,
    }


def wanted(typed: str, n: int) -> int | None:
    """Return how many of n options are wanted, as it was typed in."""
    called = "‘How many are wanted’"
    top = whole_in(typed, called) if typed.strip() else None
    if top is not None and top >= n > 1:
        raise InputError(f"{called} must be less than there are, {n - 1} at most; got {top}.")
    return top


def forecast(panel: eh.Questions, given: Mapping[str, str]) -> list[Report]:
    """Return what can be told by a panel, and what it takes."""
    said = [panel.check()._report()]
    if given["lead"].strip():
        top = wanted(given["top"], len(panel.options)) or 1
        found = eh.plan(
            panel,
            leads=_decimal(given["lead"], "by how much the best leads"),
            noise_scale=_decimal(given["noise"] or "1", "how far two scores differ"),
            top=top if top > 1 else None,
        )
        said.append(found._report())
    return said


def from_table(path: Path, name: str) -> str:
    """Return an uploaded table as it would be typed in, with its header."""
    source = open_table(path, name=name)
    header = [column.strip() for column in source.columns]
    if not header or len(header) > _MOST_COLUMNS:
        raise InputError(f"{name}: a table has 1 to {_MOST_COLUMNS} columns; got {len(header)}.")
    columns = [source.texts(column) for column in source.columns]
    if len(columns[0]) > _MOST_LINES:
        raise InputError(
            f"{name}: at most {_MOST_LINES:,} lines are taken; got {len(columns[0]):,}."
        )
    called = ["name", *header[1:]]
    group = next(
        (i for i, c in enumerate(called) if i and any(w in c.lower() for w in GROUP_WORDS)), None
    )
    if group is not None:
        called[group] = "group"
    return _written(called, ([cell or "" for cell in row] for row in zip(*columns, strict=True)))


def _table(rows: list[dict[str, str]], which: str) -> Table:
    return of_rows([{"group": "", **row} for row in rows], which, "line")


def _roles(evaluators: list[dict[str, str]]) -> dict[str, str]:
    priced = any(row.get("price") for row in evaluators)
    return _ROLES | ({"prices": "price"} if priced else {})


def _rows(
    given: Mapping[str, str], which: str, header: Sequence[str] = ("name", "group")
) -> list[dict[str, str]]:
    """Return what was typed as rows by column."""
    try:
        found = list(csv.reader(io.StringIO(given[which]), skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise InputError(f"{which}: {error}; a name with a comma stands in quotes.") from None
    lines = [[cell.strip() for cell in line] for line in found if any(c.strip() for c in line)]
    if len(lines) > _MOST_LINES + 1:
        raise InputError(f"{which}: at most {_MOST_LINES:,} lines are taken; got {len(lines):,}.")
    if lines and lines[0][0].lower() in _NAMES and len(lines[0]) > 1:
        more = [c.lower() if c.lower() == "group" else c for c in lines.pop(0)[1:]]
        header = (header[0], *more)
    if len(set(header)) < len(header) or len(header) > _MOST_COLUMNS:
        raise InputError(f"{which}: columns need different names, {_MOST_COLUMNS} at most.")
    for number, line in enumerate(lines, 1):
        if len(line) > len(header):
            raise InputError(
                f"{which}, line {number}: {len(line)} cells, where there are {len(header)} columns "
                f"({', '.join(header)}); a text with a comma stands in quotes."
            )
        if any(len(cell) > _MOST_IN_CELL for cell in line):
            raise InputError(f"{which}, line {number}: a cell has more than 20,000 characters.")
    return [dict(zip_longest(header, line, fillvalue="")) for line in lines]


def _decimal(text: str, what: str) -> float:
    try:
        number = number_in(text)
    except InputError:
        number = -1.0
    if not 0.0 < number < 1e12:
        raise InputError(f"{what}: a number above 0 is needed; got {text[:40]!r}.")
    return number
