"""`evenhand campaign ask`: what somebody is to evaluate next, on the terminal or on a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evenhand.campaigns import Campaign, NoTicket, Ticket
from evenhand.campaigns.sheets import sheet_of, write_sheet
from evenhand.cli.campaign.store import CampaignName, StoreName, command, opened
from evenhand.cli.options import AsJson
from evenhand.cli.terminal import console, print_json
from evenhand.errors import InputError
from evenhand.report.model import Facts, Section, Table
from evenhand.report.result import section_text
from evenhand.report.words import counted, short
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
        int, typer.Option("-n", min=1, max=10_000, metavar="N", help="How many tickets at most.")
    ] = 1,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write a sheet to print or mail: filled in, it goes to `import`.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out what an evaluator is to evaluate next.

    Who asks again before the score is there gets the same ticket. The terminal and the sheet show
    the option's name and the columns that `new --show` declared, and nothing else.

    **Examples**

    `evenhand campaign ask prize.db prize --evaluator Paul`

    `evenhand campaign ask prize.db prize --evaluator Rosa -n 10 --sheet rosa.csv`

    **Exit codes**: 0 there is something to evaluate; 2 what was given cannot be used; 4 there is
    nothing now: it says why, and when to come back.
    """
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
        _say_sheet(console(), store, name, got, sheet, wanted)
    else:
        _show(console(), store, name, got, wanted)


def _who(campaign: Campaign, evaluator: str | None) -> str | None:
    """Return who is asked: a person has his own questions, and not those of the whole panel."""
    names = campaign._followed().questions.evaluators
    if evaluator is None and len(names) > 1:
        raise InputError(f"say who is asked, with --evaluator; there are {listed(list(names))}.")
    return names[0] if evaluator is None and names else evaluator


def _show(out: Console, store: str, name: str, tickets: Sequence[Ticket], wanted: str) -> None:
    header, lines = sheet_of(tickets)
    until = min(one.until for one in tickets)
    whose = f" for {short(tickets[0].holder)}" if tickets[0].holder else ""
    rows = [line[:-2] for line in lines]  # without what is to be filled in
    title, shown = f"{len(tickets)} tickets", Section("", [Table("", header[:-2], rows)])
    if len(tickets) == 1:
        title = f"Ticket {tickets[0].id}"
        shown = Section("", [Facts("", dict(zip(header[1:-2], rows[0][1:], strict=True)))])
    out.print(f"{title}{whose}, until {_when(until)}\n", style="bold", soft_wrap=True)
    out.print(section_text(shown, out.width, len(rows)), soft_wrap=True)
    ticket = tickets[0].id if len(tickets) == 1 else "TICKET"
    out.print(f"\nThe score is {wanted}. When it is there:", soft_wrap=True)
    out.print(f"  {command('tell', store, name, ticket, 'SCORE')}", soft_wrap=True)


def _say_sheet(
    out: Console, store: str, name: str, tickets: Sequence[Ticket], sheet: Path, wanted: str
) -> None:
    whose = f" for {short(tickets[0].holder)}" if tickets[0].holder else ""
    out.print(
        f"{counted(len(tickets), 'ticket')}{whose} in {sheet}, until "
        f"{_when(min(one.until for one in tickets))}.",
        style="bold",
        soft_wrap=True,
    )
    out.print(
        f"Have the column 'score' filled in, with {wanted}; what stays empty stays open. Then:",
        soft_wrap=True,
    )
    out.print(f"  {command('import', store, name, str(sheet))}", soft_wrap=True)


def _nothing(got: NoTicket, as_json: bool) -> None:
    if as_json:
        print_json({"tickets": [], "reason": got.reason, "why": got.why, "again_in": got.again_in})
        return
    later = ""
    if got.again_in is not None and got.again_in < float("inf"):
        later = f" Ask again in {duration(got.again_in)}."
    console().print(f"Nothing to evaluate: {got.why.rstrip('.')}.{later}", soft_wrap=True)


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


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(round(seconds / size), unit)
    return counted(max(1, round(seconds)), "second")
