"""`evenhand campaign`: evaluations by many, over days, kept in a store; one file per deed."""

from __future__ import annotations

import typer

from evenhand.cli.campaign.environment import StoreCommand
from evenhand.cli.commands import LateCommands

_HERE = "evenhand.cli.campaign"


class _Deeds(LateCommands):
    """What can be done with a campaign."""

    homes = {  # noqa: RUF012 - read only
        "new": f"{_HERE}.new:new",
        "ask": f"{_HERE}.ask:ask",
        "tell": f"{_HERE}.tell:tell",
        "import": f"{_HERE}.tell:import_",
        "status": f"{_HERE}.look:status",
        "answer": f"{_HERE}.look:answer",
        "verify": f"{_HERE}.look:verify",
        "export": f"{_HERE}.look:export",
        "set": f"{_HERE}.change:set_",
        "extend": f"{_HERE}.change:extend",
        "list": f"{_HERE}.look:names",
    }
    kind = StoreCommand
    settings = {"tell": {"ignore_unknown_options": True}}  # noqa: RUF012 - a score may begin with a minus


campaign = typer.Typer(
    cls=_Deeds,
    name="campaign",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask people and models over days: tickets, scores, and a record that proves the choice.",
)
