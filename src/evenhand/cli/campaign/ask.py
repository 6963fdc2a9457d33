"""`evenhand campaign ask`: what is to be evaluated next, on the terminal or on sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.campaigns import Campaign, NoTicket, Ticket
from evenhand.campaigns.remote import RemoteCampaign
from evenhand.campaigns.sheets import WORKBOOK, Sheet, sheet_of, write_sheet, write_sheets
from evenhand.cli.campaign.store import CampaignName, StoreName, command, opened, say, seat
from evenhand.cli.options import AsJson
from evenhand.cli.output import console, print_json
from evenhand.errors import InputError
from evenhand.report.model import Cell, Facts, Section, Table, section_text
from evenhand.report.words import counted, duration, short
from evenhand.tables.texts import listed

_NOTHING = 4


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
    if sheet is not None and sheet.suffix.lower() not in (".csv", WORKBOOK):
        if evaluator is not None:
            raise InputError(
                "--sheet FOLDER is for everybody, and --evaluator is one: leave it out, or say "
                "--sheet FILE.csv."
            )
        return _for_all(store, name, sheet, n or 10, as_json)
    n = n or 1
    got: list[Ticket] | NoTicket
    if (judge := seat(store)) is not None:
        got, wanted = _asked_by_link(judge, evaluator, n, sheet)
    else:
        with opened(store, name) as campaign:
            evaluator = _who(campaign, evaluator)
            wanted = campaign._follower.reading.wanted()
            if sheet is None:
                got = campaign.ask(evaluator, n=n)
            else:
                got = write_sheet(campaign, sheet, evaluator, n)
    if isinstance(got, NoTicket):
        _nothing(got, as_json)
        raise typer.Exit(_NOTHING)
    if as_json:
        print_json({"tickets": [_as_dict(one) for one in got], "sheet": sheet and str(sheet)})
    elif sheet is not None:
        _say_sheets(store, name, {got[0].holder: (sheet, got)}, sheet, wanted)
    else:
        _show(store, name, got, wanted)


def _asked_by_link(
    judge: RemoteCampaign, evaluator: str | None, n: int, sheet: Path | None
) -> tuple[list[Ticket] | NoTicket, str]:
    """Return what an evaluator's link has to evaluate, and what a score may be."""
    if evaluator is not None or n > 1 or sheet is not None:
        raise InputError(
            "a link is an evaluator's, who is asked one thing at a time; leave out --evaluator, -n "
            "and --sheet."
        )
    got = judge.ask()
    return ([got] if isinstance(got, Ticket) else got), judge.wanted


def _for_all(store: str, name: str, folder: Path, n: int, as_json: bool) -> None:
    """Write a sheet for every evaluator, and end with the code for nothing if there is none."""
    with opened(store, name) as campaign:
        found = write_sheets(campaign, folder, n)
        wanted = campaign._follower.reading.wanted()
    if as_json:
        print_json({"sheets": {who: _sheet_as_dict(one) for who, one in found.items()}})
    else:
        _say_sheets(store, name, found, folder, wanted)
    if not any(map(_tickets_of, found.values())):
        raise typer.Exit(_NOTHING)


def _tickets_of(one: Sheet | NoTicket) -> list[Ticket]:
    return [] if isinstance(one, NoTicket) else one[1]


def _sheet_as_dict(one: Sheet | NoTicket) -> dict[str, Any]:
    if isinstance(one, NoTicket):
        return {"sheet": None, "tickets": 0, "why": one.why}
    return {"sheet": str(one[0]), "tickets": len(one[1]), "why": ""}


def _say_sheets(
    store: str,
    name: str,
    found: Mapping[str, Sheet | NoTicket],
    place: Path,
    wanted: str,
) -> None:
    rows: list[list[Cell]] = [
        [short(who), "" if isinstance(one, NoTicket) else one[0].name, len(_tickets_of(one))]
        for who, one in found.items()
    ]
    handed_out = [ticket for one in found.values() for ticket in _tickets_of(one)]
    if handed_out:
        until = _when(min(one.until for one in handed_out))
        n = counted(len(handed_out), "ticket")
        say(f"{n} in {place}, until {until}.\n", style="bold")
    table = Table("", ["evaluator", "sheet", "tickets"], rows)
    _say_section(Section("", [table]), len(rows))
    for who, one in found.items():
        if isinstance(one, NoTicket):
            say(f"Nothing for {short(who)}: {one.why.rstrip('.')}.")
    if handed_out:
        said = f"with {wanted}; what stays empty stays open"
        say(f"\nHave the column 'score' filled in, {said}. Then:")
        say(f"  {command('import', store, name, str(place))}")


def _who(campaign: Campaign, evaluator: str | None) -> str | None:
    """Return who is asked: a person has his own questions, and not those of the whole panel."""
    names = campaign._followed().questions.evaluators
    if evaluator is None and len(names) > 1:
        raise InputError(f"say who is asked, with --evaluator; there are {listed(list(names))}.")
    return names[0] if evaluator is None and names else evaluator


def _say_section(section: Section, rows: int) -> None:
    say(section_text(section, console().width, rows))


def _show(store: str, name: str, tickets: Sequence[Ticket], wanted: str) -> None:
    header, lines = sheet_of(tickets)
    until = min(one.until for one in tickets)
    whose = f" for {short(tickets[0].holder)}" if tickets[0].holder else ""
    rows = [line[:-2] for line in lines]  # without what is to be filled in
    title, shown = f"{len(tickets)} tickets", Section("", [Table("", header[:-2], rows)])
    if len(tickets) == 1:
        title = f"Ticket {tickets[0].id}"
        shown = Section("", [Facts("", dict(zip(header[1:-2], rows[0][1:], strict=True)))])
    say(f"{title}{whose}, until {_when(until)}\n", style="bold")
    _say_section(shown, len(rows))
    ticket = tickets[0].id if len(tickets) == 1 else "TICKET"
    say(f"\nThe score is {wanted}. When it is there:")
    say(f"  {command('tell', store, name, ticket, 'SCORE')}")


def _nothing(got: NoTicket, as_json: bool) -> None:
    if as_json:
        print_json({"tickets": [], "reason": got.reason, "why": got.why, "again_in": got.again_in})
        return
    later = ""
    if got.again_in is not None and got.again_in < float("inf"):
        later = f" Ask again in {duration(got.again_in)}."
    say(f"Nothing to evaluate: {got.why.rstrip('.')}.{later}")


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
