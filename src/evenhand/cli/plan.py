"""`evenhand plan`: how many evaluations, of whom, at what price, before anything is spent?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from evenhand.cli.columns import EVALUATOR, EVALUATOR_GROUP, OPTION, OPTION_GROUP, PRICES
from evenhand.cli.options import AsJson, Figure
from evenhand.cli.tables import capacity_in, check_files, named_in, table_at
from evenhand.cli.terminal import console, print_json, show
from evenhand.errors import NotIdentifiableError
from evenhand.planning import plan as planned
from evenhand.questions import Questions

_NOT_IDENTIFIABLE = 3


def plan(
    options: Annotated[
        Path, typer.Argument(metavar="OPTIONS.csv", help="One line per option, with a header.")
    ],
    *,
    evaluators: Annotated[
        Path,
        typer.Option(
            metavar="JUDGES.csv", help="One line per evaluator who can be asked, with a header."
        ),
    ],
    option: Annotated[str | None, OPTION] = None,
    evaluator: Annotated[str | None, EVALUATOR] = None,
    option_group: Annotated[str | None, OPTION_GROUP] = None,
    evaluator_group: Annotated[str | None, EVALUATOR_GROUP] = None,
    prices: Annotated[str | None, PRICES] = None,
    lead: Annotated[
        float | None,
        typer.Option(metavar="X", help="For a certain choice, if the best leads all others by X."),
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Instead: if the options' values have a standard deviation of X."
        ),
    ] = None,
    precision: Annotated[
        float | None, typer.Option(metavar="P", help="To know the bias to ±P, too, or only.")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Standard deviation of one evaluation; if not given, it is the unit of all "
            "others.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Of the choice, or of the interval of the bias.")
    ] = 0.95,
    chance: Annotated[
        float,
        typer.Option(metavar="P", help="Wanted probability of being certain after one look."),
    ] = 0.8,
    tolerance: Annotated[float, typer.Option(metavar="X", help="What may be lost.")] = 0.0,
    bias: Annotated[
        Literal["common", "evaluator", "group"],
        typer.Option(
            metavar="KIND", help="Whose bias it is: common to all, of each evaluator, or group."
        ),
    ] = "common",
    capacity: Annotated[
        str,
        typer.Option(
            metavar="N|none",
            help="How often an evaluator may be asked about the same option; people once.",
        ),
    ] = "1",
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="What may be spent, at these prices.")
    ] = None,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """How many evaluations, of whom, at what price, before anything is spent?

    For a choice that is certain (--lead or --spread says what is assumed of the options), for a
    bias of given precision, or for both. It answers 'how many judges do we need?': what each more
    evaluator buys, whom to add first, what a neutral one saves. Names are in the first columns
    unless --option or --evaluator says otherwise; without --option-group nobody is partial.

    **Examples**

    `evenhand plan skaters.csv --evaluators judges.csv --option-group nation --lead 6 --noise 3`

    `evenhand plan answers.csv --evaluators models.csv --option-group family --spread 1 --noise 2
    --capacity none --prices price --budget 200`

    `evenhand plan skaters.csv --evaluators judges.csv --option-group nation --precision 1.5
    --noise 3 --figure plan.png`

    **Exit codes**: 0 there is a plan; 2 what was given cannot be used; 3 no number of evaluations
    will do; 4 what there is, is not enough (the plan says what would be).
    """
    check_files(figure)
    what, who = table_at(options), table_at(evaluators)
    questions = Questions.panel(
        named_in(what, option, "--option", option_group, "--option-group"),
        named_in(who, evaluator, "--evaluator", evaluator_group or option_group,
               "--evaluator-group" if evaluator_group else "--option-group"),
        partial=None if option_group is None else "same group",
        bias=bias,
        capacity=capacity_in(capacity),
        prices=None if prices is None else who.numbers(prices, "--prices", above=0.0),
    )  # fmt: skip
    try:
        found = planned(
            questions,
            confidence,
            precision=precision,
            leads=lead,
            values=spread,
            noise_scale=noise,
            tolerance=tolerance,
            budget=budget,
            chance=chance,
        )
    except NotIdentifiableError as error:
        if as_json:
            print_json({"identifiable": False, "reason": str(error)})
        else:
            console().print(str(error), style="bold")
        raise typer.Exit(_NOT_IDENTIFIABLE) from None
    show(found, figure, as_json=as_json, identifiable=True)
    if not found.enough:
        raise typer.Exit(4)
