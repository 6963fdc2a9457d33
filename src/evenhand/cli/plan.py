"""`evenhand plan`: how many evaluations, of whom, at what price, before anything is spent?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from evenhand.cli.options import (
    OF_PANELS,
    PANELS,
    TARGETS,
    AtMost,
    Confidence,
    Said,
    Scale,
    Tabled,
    at_most_in,
    number,
    scale_in,
    takes,
    target_in,
)
from evenhand.cli.output import checked, end_untold, show, table_at
from evenhand.cli.panels import Panel
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.planning import plan as planned


@takes(
    column=OF_PANELS,
    ask=(*PANELS, "reviews"),
    assume=("lead", "spread", "noise", "bias", "position"),
    target=(*TARGETS, "chance"),
)
def plan(
    options: Annotated[
        Path,
        typer.Argument(metavar="OPTIONS.csv", help="One line per option, with a header."),
    ],
    *,
    panel: Panel,
    scale: Scale = None,
    target: Said,
    confidence: Confidence = 0.95,
    at_most: AtMost = None,
    shown: Tabled,
) -> None:
    """How many evaluations, of whom, at what price, before anything is spent?

    For a choice that is certain: --assume lead=X or spread=X of the options. It answers 'how many
    judges do we need?'. With --ask reviews=R, or a --target other than the best, it is a hand-out,
    in which everybody evaluates a part: who evaluates what (--report FILE.csv has a line for each
    pair), and how many will be called right. Names are in the first columns unless --column says
    otherwise; without its option_group nobody is partial.

    **Examples**

    `evenhand plan skaters.csv --evaluators judges.csv --column option_group=nation
    --assume lead=6,noise=3`

    `evenhand plan answers.csv --evaluators models.csv --column option_group=family
    --column prices=price --assume spread=1,noise=2 --ask capacity=none --at-most cost=200`

    `evenhand plan applications.csv --evaluators reviewers.csv --column option_group=university
    --ask reviews=3.5,workload=12 --target top=10 --assume spread=1.3,noise=1.2
    --report who-reads-what.csv`

    **Exit codes**: 0 there is a plan; 2 what was given cannot be used; 3 no number of evaluations
    will do; 4 what there is, is not enough (the plan says what would be).
    """
    checked(shown, table=True)
    if panel.evaluators is None:
        raise InputError("a plan needs to know who can be asked: --evaluators JUDGES.csv.")
    questions = panel.questions(table_at(options))
    ask, assume = panel.ask, panel.assume
    wanted, said = target_in(target), scale_in(scale)
    low, high = said.get("scale", (0.0, 1.0))
    by_parts = "reviews" in ask or any(
        wanted[kind] is not None for kind in ("top", "bar", "against")
    )
    if not by_parts and any(path.suffix.lower() == ".csv" for path in shown.report or ()):
        raise InputError(
            "--report FILE.csv is the table of a hand-out: say --ask reviews, or a --target of "
            "top, bar or against."
        )
    try:
        found = planned(
            questions,
            confidence,
            chance=0.8 if (chance := number(target, "--target", "chance")) is None else chance,
            leads=number(assume, "--assume", "lead"),
            values=number(assume, "--assume", "spread"),
            noise_scale=number(assume, "--assume", "noise"),
            budget=at_most_in(at_most, "cost")[1],
            reviews=number(ask, "--ask", "reviews"),
            best=said.get("best", "low" if low > high else None),
            **wanted,
        )
    except NotIdentifiableError as error:
        end_untold(error, "identifiable", as_json=shown.as_json)

    def pairs() -> pd.DataFrame:
        table = found.to_frame().sort_values("evaluator", kind="stable")
        return table[["evaluator", "option"]]

    show(found, shown, pairs, identifiable=True)
    if not found.enough:
        raise typer.Exit(4)
