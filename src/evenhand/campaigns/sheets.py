"""Sheets: tickets as a table that people fill in and give back.

A sheet has a line for each ticket: what to evaluate, what the evaluator is shown of it, and an
empty cell for the score. Nothing else is on it: no group, no score, no price, nobody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from evenhand.answers.question import ReplyScale
from evenhand.campaigns.arguments import checked_reason
from evenhand.campaigns.tickets import NoTicket, Ticket
from evenhand.errors import InputError
from evenhand.tables.columns import found_columns
from evenhand.tables.texts import listed, may_be_thousands, number_in
from evenhand.tables.written import openpyxl_module, unguarded, write_csv, write_workbook

if TYPE_CHECKING:
    from evenhand.campaigns.campaign import Campaign
    from evenhand.tables.columns import Table

Sheet: TypeAlias = tuple[Path, list[Ticket]]
"""A sheet that was written, and what is on it."""
TICKET, SCORE, NOTE = "ticket", "score", "note"
WORKBOOK = ".xlsx"
_ONE, _TWO = ("option",), ("first", "second")
_LONGEST = 80  # letters of a file's name


def write_sheet(
    campaign: Campaign,
    path: str | os.PathLike[str],
    evaluator: str | None = None,
    n: int = 10,
    worker: str = "",
    title: str = "",
) -> list[Ticket] | NoTicket:
    """Hand out tickets on a sheet to print or mail, and to give back filled in: an Excel workbook
    if its name ends so, else a CSV file.
    """
    # A file that is there is not written over: somebody may have filled it in.
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {str(path.parent)!r} for the sheet; make it, or choose another."
        )
    if os.path.exists(path):
        raise InputError(
            f"there is a file {str(path)!r}, and it may have scores in it; give the sheet another "
            "name, or remove the file."
        )
    as_workbook = path.suffix.lower() == WORKBOOK
    if as_workbook:
        openpyxl_module()  # before anything is handed out
    tickets = campaign.ask(evaluator, worker=worker, n=n)
    if isinstance(tickets, NoTicket):
        return tickets
    header, lines = sheet_of(tickets)
    if not as_workbook:
        write_csv(path, header, lines, what="the sheet")
        return tickets
    reading = campaign._follower.reading
    words = [
        title or f"Scores for {campaign.name}",
        f"Evaluator: {tickets[0].holder}" if tickets[0].holder else "",
        f"Please fill in the column 'score' of the first sheet, with {reading.wanted()}, and give "
        "this file back. What stays empty stays open. Leave the column 'ticket' as it is.",
        "What you must not judge, for a conflict of interest, leave empty, and say so.",
    ]
    write_workbook(
        path,
        header,
        lines,
        filled_in={SCORE: reading.cells, NOTE: None},
        words=[text for text in words if text],
        what="the sheet",
    )
    return tickets


def write_sheets(
    campaign: Campaign,
    folder: str | os.PathLike[str],
    n: int = 10,
    *,
    title: str = "",
    ending: str = WORKBOOK,
) -> dict[str, Sheet | NoTicket]:
    """Hand out tickets to every evaluator who is there, each on a sheet in a folder, which is made;
    return what each got.
    """
    state = campaign._follower.state()
    names = [name for name in state.questions.evaluators if name not in state.left]
    if not names:
        raise InputError(
            f"campaign {campaign.name!r} has no evaluators by name, for whom there would be sheets."
        )
    folder = Path(folder)
    files = {name: folder / f"{stem}{ending}" for name, stem in _stems(names).items()}
    there = [str(path) for path in files.values() if path.exists()]
    if there:
        raise InputError(
            f"there are sheets that may have scores in them: {listed(there)}; import them and "
            "remove them, or choose another folder."
        )
    if ending == WORKBOOK:
        openpyxl_module()
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Sheet | NoTicket] = {}
    for name, path in files.items():
        got = write_sheet(campaign, path, name, n, title=title)
        found[name] = got if isinstance(got, NoTicket) else (path, got)
    return found


def _stems(names: Sequence[str]) -> dict[str, str]:
    """Return names of files for people: letters, digits, dots and dashes, each different."""
    stems: dict[str, str] = {}
    for number, name in enumerate(names, start=1):
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:_LONGEST] or f"evaluator-{number}"
        taken = {one.casefold() for one in stems.values()}
        stems[name] = f"{stem}-{number}" if stem.casefold() in taken else stem
    return stems


def sheet_of(tickets: Sequence[Ticket]) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of a sheet."""
    names = _ONE if all(len(one.question.labels) == 1 for one in tickets) else _TWO
    shown = list(dict.fromkeys(c for one in tickets for columns in one.shown for c in columns))
    header = [TICKET, *names, *shown_as(names, shown), SCORE, NOTE]
    lines = []
    for one in tickets:
        told = [columns.get(c, "") for columns in one.shown for c in shown]
        told += [""] * (len(names) * len(shown) - len(told))
        labels = [*one.question.labels, *[""] * (len(names) - len(one.question.labels))]
        lines.append([one.id, *labels, *told, "", ""])
    return header, lines


def shown_as(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return what the columns that evaluators are shown are called on a sheet."""
    if len(names) > 1:
        return [f"{name}: {column}" for name in names for column in columns]
    taken = (TICKET, *names, SCORE, NOTE)
    return [f"{column} (shown)" if column in taken else column for column in columns]


@dataclass(frozen=True)
class SheetLine:
    """One line of a sheet that came back."""

    row: int
    ticket: str
    score: str | None  # None if nothing is written
    note: str  # in one line
    labels: tuple[str, ...]  # what it says that it is about; () if it does not


def is_sheet(source: Table) -> bool:
    """Tell whether a table is a sheet of tickets."""
    return TICKET in source.columns


def read_sheet(source: Table, shown: Sequence[str]) -> list[SheetLine]:
    """Return the lines of a sheet; refuse columns that are missing or neither its own nor shown."""
    names = _TWO if _TWO[0] in source.columns else _ONE
    needed = {name: name for name in (TICKET, SCORE)}
    found_columns(
        source, needed, hint=lambda: f"A sheet needs {listed(list(needed))}, as `ask` wrote it."
    )
    cells = {name: source.texts(name) for name in source.columns if name}
    known = {TICKET, SCORE, NOTE, *names, *shown_as(names, shown)}
    strange = [name for name in cells if name not in known and unguarded(name) not in known]
    if strange:
        raise InputError(
            f"{source.name} has columns that no sheet of this campaign has: {listed(strange)}; "
            "remove them. Scores that were given without a ticket go into a table of their own, "
            "without a column 'ticket'."
        )
    n = len(cells[TICKET])
    empty: list[str | None] = [None] * n
    about = [cells[name] for name in names if name in cells]
    rows = [
        row
        for row in range(n)
        if any(column[row] is not None for column in cells.values())  # a spreadsheet's empty lines
    ]
    return [
        SheetLine(
            row,
            cells[TICKET][row] or "",
            cells[SCORE][row],
            checked_reason(cells.get(NOTE, empty)[row] or "", "note"),
            tuple(text for column in about if (text := column[row]) is not None),
        )
        for row in rows
    ]


def name_in(text: str, known: Container[str], *, file: bool) -> str:
    """Return which name a cell has: as it stands, or without the apostrophe of `guarded`."""
    # In a file names may have been guarded, in a frame not.
    bare = unguarded(text)
    first, second = (bare, text) if file else (text, bare)
    return second if first not in known and second in known else first


def decimal_of(texts: Sequence[str | None]) -> str | None:
    """Return "," if one of the numbers can only be read with a decimal comma."""
    return (
        ","
        if any(t and "," in t and "." not in t and not may_be_thousands(t) for t in texts)
        else None
    )


def score_in(text: str, reading: ReplyScale, decimal: str | None = None) -> float | str:
    """Return the score that somebody wrote: a number, with a point or a comma, or a word."""
    bare = unguarded(text.strip())
    if reading.knows(bare):
        return bare
    if reading.grades:
        raise InputError(f"{text.strip()!r} is none of the grades, which are {reading.wanted()}")
    try:
        return number_in(bare, decimal, reading.allows)
    except InputError:
        if reading.kind != "verdicts":
            raise
        words = "neither first, second, tie nor a number"
        raise InputError(f"{text.strip()!r} is {words}") from None
