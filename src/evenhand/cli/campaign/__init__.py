"""`evenhand campaign`: evaluations by many, over days, kept in a store; one file per deed."""

from __future__ import annotations

import typer

from evenhand.cli.campaign.ask import ask
from evenhand.cli.campaign.new import new
from evenhand.cli.campaign.store import StoreCommand
from evenhand.cli.campaign.tell import tell

campaign = typer.Typer(
    name="campaign",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask people and models over days: tickets, scores, and a record that proves the choice.",
)
for _deed in (new, ask):
    campaign.command(cls=StoreCommand)(_deed)
# a score may begin with a minus, which is no option
campaign.command(cls=StoreCommand, context_settings={"ignore_unknown_options": True})(tell)
