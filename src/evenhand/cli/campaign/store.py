"""What every command on campaigns begins with: which store, which campaign."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from evenhand.campaigns import Campaign
from evenhand.campaigns.remote import RemoteCampaign, RemoteRecord, connect
from evenhand.cli.campaign.environment import VARIABLE, is_link
from evenhand.cli.output import console
from evenhand.errors import InputError

StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help=f"A file, or postgresql://…; may be left out where {VARIABLE} says it. An evaluator's "
        "link, https://…/enter/…, needs no NAME: for ask, tell, set decline=TICKET and status; "
        "the owner's does for answer, export and verify.",
        show_default=False,
    ),
]
CampaignName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the campaign.", show_default=False)
]


@contextmanager
def opened(store: str, name: str) -> Iterator[Campaign]:
    """Give a campaign for as long as a command works with it."""
    if is_link(store):
        raise InputError(
            "by an evaluator's link one can ask, tell, decline and see the status; by the owner's, "
            "with a NAME, there are answer, export and verify. For this, name the store "
            "itself, or open the page of the campaign."
        )
    campaign = Campaign.open(store, name)
    try:
        yield campaign
    finally:
        campaign.close()


@contextmanager
def looked_at(store: str, name: str) -> Iterator[Campaign | RemoteRecord]:
    """Give a campaign to look at, also of a server."""
    if is_link(store):
        yield RemoteRecord(store, name)
        return
    with opened(store, name) as campaign:
        yield campaign


def seat(store: str) -> RemoteCampaign | None:
    """Return an evaluator's seat, where the store is a link to a server."""
    return connect(store) if is_link(store) else None


def command(deed: str, store: str, name: str, *more: str) -> str:
    """Return what to type; a store that the environment names is left out."""
    where = [] if store == os.environ.get(VARIABLE) else [store]
    which = [name] if name else []  # a link is of one campaign
    return " ".join(["evenhand campaign", deed, *map(shlex.quote, (*where, *which, *more))])


def say(text: str, style: str | None = None) -> None:
    """Print a text whose lines the terminal may wrap, and nothing else."""
    console().print(text, style=style, soft_wrap=True)
