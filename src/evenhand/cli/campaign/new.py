"""`evenhand campaign new`: begin a campaign from a table of options and one of evaluators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from evenhand.best import checked_best
from evenhand.campaigns import Campaign
from evenhand.cli.campaign.store import CampaignName, StoreName, command, say
from evenhand.cli.campaign.tables import NewTables
from evenhand.cli.columns import BEST, GRADES, OF_PANELS, SCALE, SCORES, takes
from evenhand.cli.options import (
    Against,
    Bar,
    Confidence,
    Noise,
    Seed,
    Tolerance,
    Top,
    numeric,
    whole,
)
from evenhand.cli.tables import grades_in
from evenhand.cli.terminal import end_untold
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.questions import Askable, HandOut, Questions
from evenhand.report.words import counted
from evenhand.scores.grades import typed_scale

_END = "When it ends"
_TICKETS = "How tickets are handed out"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@takes(*OF_PANELS, tables=NewTables)
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
    tables: NewTables,
    scores: Annotated[
        Literal["votes", "verdicts"] | None,
        typer.Option(
            metavar="KIND",
            help="'votes': 0 or 1. 'verdicts', in comparisons: first, second or tie.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    scale: Annotated[str | None, SCALE] = None,
    best: Annotated[str | None, BEST] = None,
    grades: Annotated[str | None, GRADES] = None,
    noise: Noise = None,
    deviation: Annotated[
        float | None,
        numeric(
            "X",
            "Standard deviation of what the features do not explain; 0: they are exact.",
            SCORES,
        ),
    ] = None,
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks",
            help="Whether to spend some evaluations on checking the model.",
            rich_help_panel=SCORES,
        ),
    ] = True,
    confidence: Confidence = 0.95,
    tolerance: Tolerance = 0.0,
    top: Top = None,
    bar: Bar = None,
    against: Against = None,
    at_most: Annotated[
        int | None,
        whole("N", "Most evaluations in all.", _END),
    ] = None,
    budget: Annotated[
        float | None,
        numeric("X", "What may be spent, at these prices.", _END),
    ] = None,
    lease: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long a ticket is somebody's, such as 20m, 8h or 3d. A score that comes later "
            "still counts, unless another came first.",
            rich_help_panel=_TICKETS,
        ),
    ] = "1d",
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="How often a ticket that failed is handed out again.",
            rich_help_panel=_TICKETS,
        ),
    ] = 2,
    seed: Seed = 0,
) -> None:
    """Begin a campaign: who is to be asked about what, until when.

    The store is made if it is not there. Nothing is asked yet. Names are in the first columns
    unless --column says otherwise; without its option_group nobody is partial.

    **Examples**

    `evenhand campaign new prize.db prize skaters.csv --evaluators judges.csv
    --column option_group=nation --show programme,video --scale 0,100`

    `evenhand campaign new prize.db prompts prompts.csv --evaluators models.csv
    --column option_group=family --column prices=price --compare --scores verdicts --budget 200`

    `evenhand campaign new prize.db solo skaters.csv --column option_group=side
    --column option=skater --column features=base_value,max_base,ability --at-most 500`

    **Exit codes**: 0 it was made; 2 what was given cannot be used; 3 no number of answers could
    tell the options apart.
    """
    asked, shown = tables.read(options)
    try:
        made = Campaign.create(
            store,
            name,
            asked,
            confidence,
            tolerance,
            at_most,
            budget=budget,
            lease=seconds_in(lease, "--lease"),
            retries=retries,
            noise_scale=noise,
            deviation=deviation,
            scores=scores,
            bounds=None if scale is None else typed_scale(scale),
            grades=grades_in(grades),
            checks=checks,
            seed=seed,
            display=shown,
            top=1 if top is None else top,
            bar=bar,
            against=against,
            best=checked_best(best, "--best"),
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


def seconds_in(text: str, flag: str) -> float:
    """Return a time as people write it, in seconds."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([smhdw]?)\s*", text)
    if not found or float(found[1]) == 0.0:
        raise InputError(f"{flag} is a time such as 90s, 20m, 8h, 3d or 2w; got {text!r}.")
    return float(found[1]) * _SECONDS[found[2]]
