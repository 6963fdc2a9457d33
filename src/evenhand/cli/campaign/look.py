"""What a campaign has come to: `list`, `status`, `answer`, `verify` and `export`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from evenhand.campaigns import Campaign
from evenhand.campaigns.verification import verify_file
from evenhand.cli.campaign.environment import VARIABLE
from evenhand.cli.campaign.store import CampaignName, StoreName, looked_at, opened, say, seat
from evenhand.cli.options import AsJson, Shown, takes
from evenhand.cli.output import check_files, checked, print_json, show
from evenhand.errors import InputError
from evenhand.report.model import Table, table_lines

_NOT_VERIFIED = 1


def names(store: StoreName, *, as_json: AsJson = False) -> None:
    """Which campaigns are in a store, and how each stands.

    **Example**

    `evenhand campaign list prize.db`
    """
    found = Campaign.names(store)
    if as_json:
        print_json({"campaigns": found})
        return
    table = Table("", ["campaign", "status"], list(found.items()))
    said = "\n".join(table_lines(table, len(found)))
    say(said if found else "There is no campaign in this store.")


def status(store: StoreName, name: CampaignName, *, as_json: AsJson = False) -> None:
    """How a campaign stands: what came, what is out, who is there, what was found.

    **Example**

    `evenhand campaign status prize.db prize`

    By an evaluator's link: what is done, and what waits.
    """
    if (judge := seat(store)) is not None:
        own = judge.status()
        if as_json:
            print_json(asdict(own))
        else:
            say(f"{own.evaluator}: {own.done:,} done, {own.open:,} to go.")
        return
    with opened(store, name) as campaign:
        found = campaign.status()
    show(found, Shown(as_json=as_json))


@takes()
def answer(store: StoreName, name: CampaignName, *, shown: Shown) -> None:
    """Which option to choose by the evaluations so far, how sure that is, and why not surer.

    **Examples**

    `evenhand campaign answer prize.db prize --report prize.png`

    `evenhand campaign answer prize.db prize --json | jq .sure`

    **Exit codes**: 0 there is an answer, sure or not; 2 what was given cannot be used.
    """
    checked(shown)
    with looked_at(store, name) as campaign:
        found = campaign.answer()
    show(found, shown, comparable=found.comparable)


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

    The chain of seals is checked, tickets and evaluations are held against it, and every decision
    is computed again from the log before it. A whole history that was written anew is found only
    by `--seal`.

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
        with looked_at(store, name or "") as campaign:
            found = campaign.verify(seal)
    show(found, Shown(as_json=as_json))
    if not found:
        raise typer.Exit(_NOT_VERIFIED)


def export(
    store: StoreName,
    name: CampaignName,
    to: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="FILE.html for a report, FILE.csv for the evaluations, FILE.jsonl for all events, "
            "a folder for both.",
            show_default=False,
        ),
    ],
) -> None:
    """Write a report that a committee can read and print, or the record for others to check.

    **Examples**

    `evenhand campaign export prize.db prize prize.html`

    `evenhand campaign export prize.db prize record/`

    `evenhand campaign export prize.db prize scores.csv`
    """
    page = to.suffix.lower() in (".html", ".htm")
    check_files([to] if page else [])
    files = [to]
    with looked_at(store, name) as campaign:
        if not page:
            files = campaign.export(to)
        else:
            campaign.report(to)
    say(f"Written: {', '.join(map(str, files))}")
