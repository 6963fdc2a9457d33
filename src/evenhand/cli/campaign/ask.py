"""`evenhand campaign ask`: what is to be evaluated next, on the terminal or on sheets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from evenhand.campaigns import Campaign, NoTicket, Ticket
from evenhand.campaigns.sheets import WORKBOOK, sheet_of, write_sheet, write_sheets
from evenhand.cli.campaign.store import CampaignName, StoreName, command, opened, say, seat
from evenhand.cli.options import AsJson
from evenhand.cli.output import console, print_json
from evenhand.errors import InputError
from evenhand.report.model import Cell, Facts, Part, Table, part_text
from evenhand.report.words import counted, duration, short
from evenhand.tables.texts import listed

_NOTHING, _SHEETS = 4, (".csv", WORKBOOK)


def ask(
    store: StoreName,
    name: CampaignName,
    *,
    evaluator: Annotated[
        str | None,
        typer.Option(
            "--evaluator", "-e", metavar="WHO", help="Who is asked; not needed if there is one."
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            min=1,
            max=10_000,
            metavar="N",
            help="How many tickets at most; 1, on sheets for everybody 10 each, if not said.",
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Write a sheet to print or mail, .csv or .xlsx: filled in, it goes to "
            "`import`. In a folder, an Excel workbook for every evaluator; `import` takes the "
            "folder. Files that are there are not written over.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out what an evaluator is to evaluate next.

    Who asks again before the score is there gets the same ticket. The terminal and the sheet show
    the option's name and the columns that `new --column show=…` declared, and nothing else. In a
    workbook the cells of scores take what the scale allows.

    **Examples**

    `evenhand campaign ask prize.db prize --evaluator Paul`

    `evenhand campaign ask prize.db prize --evaluator Rosa -n 10 --sheet rosa.csv`

    `evenhand campaign ask prize.db prize --sheet round1/ -n 12`

    `evenhand campaign ask https://judging.example.org/enter/kq3v0VJmFz8yq1hX2l5Yc7`

    **Exit codes**: 0 there is something to evaluate; 2 what was given cannot be used; 4 there is
    nothing now: it says why, and when to come back.
    """
    if (judge := seat(store)) is not None:
        if evaluator is not None or n is not None or sheet is not None:
            raise InputError(
                "a link is an evaluator's, who is asked one thing at a time; leave out "
                "--evaluator, -n and --sheet."
            )
        one = judge.ask()
        found = {"": _handed(None, [one] if isinstance(one, Ticket) else one)}
        wanted = judge.wanted
    else:
        with opened(store, name) as campaign:
            found = _handed_out(campaign, evaluator, n, sheet)
            wanted = campaign._follower.reading.wanted()
    several = sheet is not None and sheet.suffix.lower() not in _SHEETS
    tickets = [ticket for got in found.values() for ticket in got.tickets]
    if as_json and several:
        print_json({"sheets": {who: got.as_dict() for who, got in found.items()}})
    elif as_json:
        ((_, nothing, _),) = found.values()
        why = {
            one: getattr(nothing, one)
            for one in ("reason", "why", "again_in")
            if nothing is not None
        }
        print_json({"tickets": [*map(_as_dict, tickets)], "sheet": sheet and str(sheet)} | why)
    else:
        if sheet is not None and tickets:
            _say_sheets(store, name, found, sheet, wanted)
        elif tickets:
            _show(store, name, tickets, wanted)
        for who, (_, nothing, _) in found.items():
            if nothing is not None:
                again = nothing.again_in
                later = f" Ask again in {duration(again)}." if again and again < math.inf else ""
                what = f"for {short(who)}" if several else "to evaluate"
                say(f"Nothing {what}: {nothing.why.rstrip('.')}.{later}")
    if not tickets:
        raise typer.Exit(_NOTHING)


class _Handed(NamedTuple):
    """What an evaluator was handed, and on which sheet; or why it is nothing."""

    tickets: Sequence[Ticket]
    nothing: NoTicket | None
    sheet: Path | None

    def as_dict(self) -> dict[str, Any]:
        why = "" if self.nothing is None else self.nothing.why
        return {"sheet": self.sheet and str(self.sheet), "tickets": len(self.tickets), "why": why}


def _handed(sheet: Path | None, got: Sequence[Ticket] | NoTicket) -> _Handed:
    return _Handed([], got, None) if isinstance(got, NoTicket) else _Handed(got, None, sheet)


def _handed_out(
    campaign: Campaign, evaluator: str | None, n: int | None, sheet: Path | None
) -> dict[str, _Handed]:
    """Hand tickets out to one evaluator or, on sheets in a folder, to all; return who got what."""
    if sheet is not None and sheet.suffix.lower() not in _SHEETS:
        if evaluator is not None:
            raise InputError(
                "--sheet FOLDER is for everybody, and --evaluator is one: leave it out, or say "
                "--sheet FILE.csv."
            )
        sheets = write_sheets(campaign, sheet, n or 10)
        return {
            who: _Handed([], one, None) if isinstance(one, NoTicket) else _handed(*one)
            for who, one in sheets.items()
        }
    names = campaign._followed().questions.evaluators
    if evaluator is None and len(names) > 1:  # a person has his own questions
        raise InputError(f"say who is asked, with --evaluator; there are {listed(list(names))}.")
    who = names[0] if evaluator is None and names else evaluator
    if sheet is None:
        return {who or "": _handed(None, campaign.ask(who, n=n or 1))}
    return {who or "": _handed(sheet, write_sheet(campaign, sheet, who, n or 1))}


def _say_sheets(
    store: str, name: str, found: Mapping[str, _Handed], place: Path, wanted: str
) -> None:
    handed_out = [ticket for got in found.values() for ticket in got.tickets]
    until = _when(min(one.until for one in handed_out))
    say(f"{counted(len(handed_out), 'ticket')} in {place}, until {until}.\n", style="bold")
    rows: list[list[Cell]] = [
        [short(who), got.sheet.name if got.sheet else "", len(got.tickets)]
        for who, got in found.items()
    ]
    _say_part(Table("", ["evaluator", "sheet", "tickets"], rows), len(rows))
    say(
        f"\nHave the column 'score' filled in, with {wanted}; what stays empty stays open. Then:\n"
        f"  {command('import', store, name, str(place))}"
    )


def _show(store: str, name: str, tickets: Sequence[Ticket], wanted: str) -> None:
    header, lines = sheet_of(tickets)
    until = min(one.until for one in tickets)
    whose = f" for {short(tickets[0].holder)}" if tickets[0].holder else ""
    rows = [line[:-2] for line in lines]  # without what is to be filled in
    alone = len(tickets) == 1
    title = f"Ticket {tickets[0].id}" if alone else f"{len(tickets)} tickets"
    say(f"{title}{whose}, until {_when(until)}\n", style="bold")
    facts = Facts("", dict(zip(header[1:-2], rows[0][1:], strict=True)))
    _say_part(facts if alone else Table("", header[:-2], rows), len(rows))
    say(f"\nThe score is {wanted}. When it is there:")
    say(f"  {command('tell', store, name, tickets[0].id if alone else 'TICKET', 'SCORE')}")


def _say_part(part: Part, rows: int) -> None:
    say(part_text(part, console().width, rows))


def _as_dict(ticket: Ticket) -> dict[str, Any]:
    """Return a ticket with what an evaluator may see."""
    return {
        "ticket": ticket.id,
        "labels": list(ticket.question.labels),
        "evaluator": ticket.holder or None,
        "shown": [dict(columns) for columns in ticket.shown],
        "attempt": ticket.attempt,
        "until": ticket.until,
    }


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
