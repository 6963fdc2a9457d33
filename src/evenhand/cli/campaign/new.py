"""`evenhand campaign new`: begin a campaign from a table of options and one of evaluators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from evenhand.campaigns import Campaign
from evenhand.cli.campaign.store import CampaignName, StoreName, command, say
from evenhand.cli.options import (
    OF_PANELS,
    PANELS,
    TARGETS,
    AtMost,
    Confidence,
    Said,
    Scale,
    Seed,
    at_most_in,
    number,
    scale_in,
    switch,
    takes,
    target_in,
)
from evenhand.cli.output import end_untold
from evenhand.cli.panels import Panel
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.questions import Askable, HandOut, Questions
from evenhand.report.words import counted

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@takes(
    column=(*OF_PANELS, "show"),
    ask=(*PANELS, "checks", "lease", "retries"),
    assume=("bias", "position", "noise", "deviation"),
    target=TARGETS,
)
def new(
    store: StoreName,
    name: CampaignName,
    options: Annotated[
        Path,
        typer.Argument(
            metavar="OPTIONS.csv",
            help="One line per option, with a header: CSV, Parquet or Excel.",
            show_default=False,
        ),
    ],
    *,
    panel: Panel,
    scale: Scale = None,
    target: Said,
    confidence: Confidence = 0.95,
    at_most: AtMost = None,
    seed: Seed = 0,
) -> None:
    """Begin a campaign: who is to be asked about what, until when.

    The store is made if it is not there. Nothing is asked yet. Names are in the first columns
    unless --column says otherwise; without its option_group nobody is partial. Scores can also be
    --scale votes, 0 or 1, or of pairs verdicts: first, second or tie.

    **Examples**

    `evenhand campaign new prize.db prize skaters.csv --evaluators judges.csv
    --column option_group=nation --column show=programme,video --scale 0,100`

    `evenhand campaign new prize.db prompts prompts.csv --evaluators models.csv
    --column option_group=family --column prices=price --ask pairs --scale verdicts
    --at-most cost=200`

    `evenhand campaign new prize.db solo skaters.csv --column option_group=side
    --column option=skater --column features=base_value,max_base,ability --at-most 500`

    **Exit codes**: 0 it was made; 2 what was given cannot be used; 3 no number of answers could
    tell the options apart.
    """
    asked, shown = panel.read(options)
    wanted, scores = target_in(target), scale_in(scale, "votes", "verdicts")
    n, cost = at_most_in(at_most, "N", "cost")
    ask, assume = panel.ask, panel.assume
    retries = ask.get("retries", "2")
    if not retries.isdecimal():
        raise InputError(f"--ask retries is a whole number from 0 on; got {retries!r}.")
    try:
        made = Campaign.create(
            store,
            name,
            asked,
            confidence,
            at_most=n,
            budget=cost,
            lease=seconds_in(ask.get("lease", "1d")),
            retries=int(retries),
            noise_scale=number(assume, "--assume", "noise"),
            deviation=number(assume, "--assume", "deviation"),
            checks=switch(ask, "--ask", "checks", True),
            seed=seed,
            display=shown,
            bounds=scores.pop("scale", None),
            **scores,
            **wanted | {"top": 1 if wanted["top"] is None else wanted["top"]},
        )
    except NotIdentifiableError as error:
        end_untold(error, "comparable")
    planned = made.hand_out()
    made.close()
    _say(store, name, asked, shown, planned)


def _say(
    store: str,
    name: str,
    asked: Askable,
    shown: dict[str, dict[str, str]],
    planned: HandOut | None,
) -> None:
    questions = Questions.of(asked)
    columns = list(dict.fromkeys(column for own in shown.values() for column in own))
    n = len(questions.evaluators)
    by = f", {counted(n, 'evaluator')}" if n else ""
    say(
        f"Campaign {name!r} is in {store}: {len(questions.options):,} options{by}, "
        f"{len(questions):,} questions.",
        style="bold",
    )
    if planned is not None and n:
        say(f"Planned: {planned.words}")
    beside = f" and {', '.join(columns)}" if columns else ""
    say(f"Evaluators see names{beside}, and nothing else.\n")
    who = ["--evaluator", questions.evaluators[0]] if n else []
    sheet = ["-n", "10", "--sheet", "sheet.csv"]
    say("Next, one at a time or ten on a sheet to print or mail:")
    say(f"  {command('ask', store, name, *who)}\n  {command('ask', store, name, *who, *sheet)}")


def seconds_in(text: str) -> float:
    """Return a time as people write it, in seconds."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([smhdw]?)\s*", text)
    if not found or float(found[1]) == 0.0:
        raise InputError(f"--ask lease is a time such as 90s, 20m, 8h, 3d or 2w; got {text!r}.")
    return float(found[1]) * _SECONDS[found[2]]
