"""What a campaign has come to: `list`, `status`, `answer`, `report`, `verify` and `export`."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evenhand.answers.words import to_come
from evenhand.campaigns import Campaign, Status
from evenhand.campaigns.verification import verify_file
from evenhand.cli.answers import print_answer
from evenhand.cli.campaign.environment import VARIABLE
from evenhand.cli.campaign.store import CampaignName, StoreName, opened, say
from evenhand.cli.options import AsJson, Figure
from evenhand.cli.score_tables import check_files
from evenhand.cli.tables import number_table, print_table
from evenhand.cli.terminal import console, print_json
from evenhand.errors import InputError

_NOT_VERIFIED = 1
_MOST_ROWS = 40  # of a table in the terminal; --json has all
_MOST_PUT_ASIDE = 3  # that are named; --json has more


def names(store: StoreName, *, as_json: AsJson = False) -> None:
    """Which campaigns are in a store, and how each stands.

    **Example**

    `evenhand campaign list prize.db`
    """
    found = Campaign.names(store)
    if as_json:
        print_json({"campaigns": found})
        return
    table = number_table()
    table.add_column("campaign")
    table.add_column("status")
    for name, status in found.items():
        table.add_row(name, status)
    if found:
        print_table(console(), table)
    else:
        console().print("There is no campaign in this store.")


def status(store: StoreName, name: CampaignName, *, as_json: AsJson = False) -> None:
    """How a campaign stands: what came, what is out, who is there, what was found.

    **Example**

    `evenhand campaign status prize.db prize`
    """
    with opened(store, name) as campaign:
        found = campaign.status()
    if as_json:
        print_json(found.to_dict())
    else:
        _print_status(console(), found)


def _print_status(out: Console, found: Status) -> None:
    why = f": {found.why}" if found.why else ""
    out.print(f"Campaign {found.name!r} is {found.status}{why}", style="bold", soft_wrap=True)
    more = [f"{found.late:,} came late"] if found.late else []
    more += [f"{found.withdrawn:,} withdrawn"] if found.withdrawn else []
    beside = f" ({', '.join(more)})" if more else ""
    money = "" if math.isinf(found.budget) else f", for {found.paid:g} of {found.budget:g}"
    out.print(
        f"{_counted(found.evaluations, 'evaluation', 'counts', 'count')}{beside}, of at most "
        f"{found.at_most:,}{money}; {_counted(found.leased, 'ticket', 'is', 'are')} out, "
        f"{found.open:,} {'waits' if found.open == 1 else 'wait'}.",
        soft_wrap=True,
    )
    if found.status != "finished" and found.forecast == 0.0:
        out.print("Nothing more has to be asked: see `answer`.")
    elif found.status != "finished" and math.isfinite(found.forecast):
        text = to_come(found.forecast, found.looks_once, found.chance)
        out.print(f"{text}.", soft_wrap=True)
    for text in [found.trouble] if found.trouble else []:
        out.print(f"STUCK: {text}", style="bold", soft_wrap=True)
    for text in found.alarms:
        out.print(f"WARNING: {' '.join(text.split())}", style="bold", soft_wrap=True)
    for text in found.put_aside[:_MOST_PUT_ASIDE]:
        out.print(f"Given up, and asked anew if it is wanted: {text}", soft_wrap=True)
    if found.evaluators:
        _print_evaluators(out, found)
    out.print(f"\nRecord: {found.events:,} events, the last sealed {found.hash}", soft_wrap=True)


def _counted(n: int, what: str, one: str, more: str) -> str:
    return f"{n:,} {what} {one}" if n == 1 else f"{n:,} {what}s {more}"


def _print_evaluators(out: Console, found: Status) -> None:
    out.print()
    table = number_table()
    table.add_column("evaluator")
    counts = ("evaluations", "out", "waiting", "late", "withdrawn", "given up")
    for title in counts:
        table.add_column(title, justify="right")
    table.add_column("")
    for one in found.evaluators[:_MOST_ROWS]:
        numbers = (one.evaluations, one.leased, one.open, one.late, one.withdrawn, one.given_up)
        left = "" if one.left is None else f"left{': ' * bool(one.left)}{one.left}"
        table.add_row(one.evaluator or "(nobody named)", *(f"{n:,}" for n in numbers), left)
    if len(found.evaluators) > _MOST_ROWS:
        table.add_row(f"… and {len(found.evaluators) - _MOST_ROWS} more: --json has all")
    print_table(out, table)


def answer(
    store: StoreName, name: CampaignName, *, figure: Figure = None, as_json: AsJson = False
) -> None:
    """Which option to choose by the evaluations so far, how sure that is, and why not surer.

    **Examples**

    `evenhand campaign answer prize.db prize --figure prize.png`

    `evenhand campaign answer prize.db prize --json | jq .sure`

    **Exit codes**: 0 there is an answer, sure or not; 2 what was given cannot be used.
    """
    check_files(figure, None)
    with opened(store, name) as campaign:
        found = campaign.answer()
    if figure is not None:
        found.plot(figure)
    if as_json:
        print_json({"comparable": found.comparable} | found.to_dict())
    else:
        print_answer(console(), found, figure)


def report(
    store: StoreName,
    name: CampaignName,
    file: Annotated[
        Path, typer.Argument(metavar="FILE.html", help="The page to write.", show_default=False)
    ],
    *,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the report is called.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report that a committee can read and print, with the record and how to check it.

    **Example**

    `evenhand campaign report prize.db prize prize.html --title "The prize of the season"`
    """
    check_files(None, file)
    with opened(store, name) as campaign:
        campaign.report(file, title)
    say(as_json, f"The report is in {file}.", file=str(file))


def verify(
    first: Annotated[
        str,
        typer.Argument(
            metavar="STORE NAME | EVENTS.jsonl",
            help="A campaign, or the record that `export` wrote of one: that needs no store.",
            show_default=False,
        ),
    ],
    second: Annotated[str | None, typer.Argument(metavar="", hidden=True)] = None,
    *,
    seal: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="A seal that was written down, from `status` or a report: it must be in the "
            "record.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Is the record whole, and does the decision follow from it?

    The chain of seals is checked, tickets and evaluations are held against it, decisions are
    replayed, and the last is confirmed from plans and scores alone, by code that shares no
    mathematics with what decided.

    **Examples**

    `evenhand campaign verify prize.db prize`

    `evenhand campaign verify record/events.jsonl --seal 9f3a…`

    **Exit codes**: 0 it verifies; 1 something is wrong, and it says what; 2 what was given cannot
    be used; 5 the store cannot be read.
    """
    store, name = (first, second) if second else (os.environ.get(VARIABLE), first)
    if second is None and first.lower().endswith((".jsonl", ".ndjson")):
        found = verify_file(first, seal)
    elif store is None:
        raise InputError("verify needs a store and the name of a campaign, or EVENTS.jsonl.")
    else:
        with opened(store, name or "") as campaign:
            found = campaign.verify(seal)
    say(as_json, str(found), **found.to_dict())
    if not found:
        raise typer.Exit(_NOT_VERIFIED)


def export(
    store: StoreName,
    name: CampaignName,
    *,
    to: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="FILE.csv for the evaluations, FILE.jsonl for all events, a folder for both.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Write the record to files that others can read.

    **Examples**

    `evenhand campaign export prize.db prize --to record/`

    `evenhand campaign export prize.db prize --to scores.csv`
    """
    with opened(store, name) as campaign:
        files = campaign.export(to)
    written = [str(file) for file in files]
    say(as_json, f"Written: {', '.join(written)}", files=written)
