"""`evenhand plan`: how many evaluations, of whom, at what price, before anything is spent?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.campaign.tables import PanelTables
from evenhand.cli.columns import BEST, OF_PANELS, takes
from evenhand.cli.options import (
    WANTED,
    Against,
    AsJson,
    Confidence,
    Figure,
    Tolerance,
    Top,
    numeric,
)
from evenhand.cli.tables import check_files, table_at
from evenhand.cli.terminal import end_untold, show
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.inference.target import Target
from evenhand.planning import plan as planned


@takes(*OF_PANELS, tables=PanelTables)
def plan(
    options: Annotated[
        Path,
        typer.Argument(metavar="OPTIONS.csv", help="One line per option, with a header."),
    ],
    *,
    tables: PanelTables,
    lead: Annotated[
        float | None,
        numeric("X", "For a certain choice, if the best leads all others by X."),
    ] = None,
    spread: Annotated[
        float | None,
        numeric("X", "Instead: if the options' values have a standard deviation of X."),
    ] = None,
    noise: Annotated[
        float | None,
        numeric(
            "X", "Standard deviation of one evaluation; if not given, it is the unit of all others."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    chance: Annotated[
        float,
        numeric("P", "Wanted probability of being certain after one look."),
    ] = 0.8,
    tolerance: Tolerance = 0.0,
    reviews: Annotated[
        float | None,
        numeric(
            "R",
            "For a hand-out: R evaluations of each option, each by another evaluator; 3.5 for "
            "three or four. As many as --workload allows, if not said.",
        ),
    ] = None,
    top: Top = None,
    bar: Annotated[
        float | None,
        numeric("X", "Instead: those worth X more than the average one.", WANTED),
    ] = None,
    against: Against = None,
    best: Annotated[str | None, BEST] = None,
    budget: Annotated[
        float | None,
        numeric("X", "What may be spent, at these prices."),
    ] = None,
    hand_out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write who evaluates what: a line for each pair."),
    ] = None,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """How many evaluations, of whom, at what price, before anything is spent?

    For a choice that is certain: --lead or --spread says what is assumed of the options. It answers
    'how many judges do we need?'. With --reviews, --top, --bar or --against it is a hand-out, in
    which everybody evaluates a part: who evaluates what, and how many will be called right. Names
    are in the first columns unless --column says otherwise; without its option_group nobody is
    partial.

    **Examples**

    `evenhand plan skaters.csv --evaluators judges.csv --column option_group=nation
    --lead 6 --noise 3`

    `evenhand plan answers.csv --evaluators models.csv --column option_group=family
    --column prices=price --spread 1 --noise 2 --capacity none --budget 200`

    `evenhand plan applications.csv --evaluators reviewers.csv
    --column option_group=university --reviews 3.5 --workload 12 --top 10 --spread 1.3 --noise 1.2
    --hand-out who-reads-what.csv`

    **Exit codes**: 0 there is a plan; 2 what was given cannot be used; 3 no number of evaluations
    will do; 4 what there is, is not enough (the plan says what would be).
    """
    check_files(figure, None, hand_out)
    if tables.evaluators is None:
        raise InputError("a plan needs to know who can be asked: --evaluators JUDGES.csv.")
    questions = tables.panel(table_at(options))
    if hand_out is not None and reviews is None and Target.of(top, bar, against) is None:
        raise InputError(
            "--hand-out writes the plan of a hand-out: say --reviews or --top, --bar or --against."
        )
    try:
        found = planned(
            questions,
            confidence,
            leads=lead,
            values=spread,
            noise_scale=noise,
            tolerance=tolerance,
            budget=budget,
            chance=chance,
            reviews=reviews,
            top=top,
            bar=bar,
            against=against,
            best=best,  # type: ignore[arg-type] # it is checked there
        )
    except NotIdentifiableError as error:
        end_untold(error, "identifiable", as_json=as_json)
    if hand_out is not None:
        pairs = found.to_frame().sort_values("evaluator", kind="stable")
        pairs[["evaluator", "option"]].to_csv(hand_out, index=False)
    show(found, figure, as_json=as_json, identifiable=True)
    if not found.enough:
        raise typer.Exit(4)
