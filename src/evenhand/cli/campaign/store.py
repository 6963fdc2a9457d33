"""What every command on campaigns begins with: which store, which campaign."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from evenhand.campaigns import Campaign
from evenhand.cli.campaign.environment import VARIABLE
from evenhand.cli.terminal import console

StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help=f"A file, or postgresql://…; may be left out where {VARIABLE} says it.",
        show_default=False,
    ),
]
CampaignName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the campaign.", show_default=False)
]
Because = Annotated[
    str, typer.Option("--because", metavar="TEXT", help="Why; it is kept in the record.")
]


@contextmanager
def opened(store: str, name: str) -> Iterator[Campaign]:
    """Give a campaign for as long as a command works with it."""
    campaign = Campaign.open(store, name)
    try:
        yield campaign
    finally:
        campaign.close()


def command(deed: str, store: str, name: str, *more: str) -> str:
    """Return what to type; a store that the environment names is left out."""
    where = [] if store == os.environ.get(VARIABLE) else [store]
    return " ".join(["evenhand campaign", deed, *map(shlex.quote, (*where, name, *more))])


def say(text: str) -> None:
    """Say what was done."""
    console().print(text, soft_wrap=True)
