"""`evenhand campaign`: evaluations by many, over days, kept in a store; one file per deed."""

from __future__ import annotations

from collections.abc import Callable

import typer

from evenhand.cli.campaign.ask import ask
from evenhand.cli.campaign.change import extend, fail, join, leave, pause, release, resume, withdraw
from evenhand.cli.campaign.look import answer, export, names, report, status, verify
from evenhand.cli.campaign.new import new
from evenhand.cli.campaign.store import StoreCommand
from evenhand.cli.campaign.tell import import_, tell

campaign = typer.Typer(
    name="campaign",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask people and models over days: tickets, scores, and a record that proves the choice.",
)
_DEEDS: dict[str, Callable[..., None]] = {
    "new": new,
    "ask": ask,
    "tell": tell,
    "import": import_,
    "status": status,
    "answer": answer,
    "report": report,
    "verify": verify,
    "export": export,
    "pause": pause,
    "resume": resume,
    "extend": extend,
    "withdraw": withdraw,
    "fail": fail,
    "release": release,
    "leave": leave,
    "join": join,
    "list": names,
}
for _name, _deed in _DEEDS.items():
    # a score may begin with a minus, which is no option
    _settings = {"ignore_unknown_options": _deed is tell}
    campaign.command(_name, cls=StoreCommand, context_settings=_settings)(_deed)
