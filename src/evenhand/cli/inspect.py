"""`evenhand inspect`: can the bias be estimated from these options, and at what price?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evenhand.actions import ActionSet
from evenhand.cli.options import (
    OF_PANELS,
    PANELS,
    AtMost,
    Said,
    Shown,
    at_most_in,
    names_in,
    numeric,
    switch,
    takes,
)
from evenhand.cli.output import NOT_IDENTIFIABLE, checked, show, table_at
from evenhand.cli.panels import Panel
from evenhand.cli.scores import scores_at
from evenhand.errors import InputError
from evenhand.inspection import Inspection
from evenhand.inspection import inspect as inspected
from evenhand.questions import Check, Questions
from evenhand.scores.roles import ROLES


@takes(
    column=(*OF_PANELS, "attributes", "categorical"),
    read=("decimal",),
    ask=PANELS,
    assume=("bias", "position", "intercept", "standardize"),
)
def inspect(
    options: Annotated[
        Path | None,
        typer.Argument(
            metavar="OPTIONS.csv", help="One line per option, with a header; - reads a pipe."
        ),
    ] = None,
    *,
    panel: Panel,
    read: Said,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORES.csv",
            help="Instead of both files: past scores, one line each. What they can tell is said.",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        numeric(
            "P",
            "Know the bias to ±P (95%), in standard deviations of one evaluation's noise; "
            "0.5 if nothing is given.",
        ),
    ] = None,
    at_most: AtMost = None,
    shown: Shown,
) -> None:
    """Can the bias be estimated from these options, at what price, and by which evaluations?

    The answer comes in words, with the numbers behind it, the reason, and the best options to
    evaluate; with --at-most, how to divide so many. Without features all columns that play no other
    part are. Nothing is written unless --report asks for it.

    **Examples**

    `evenhand inspect skaters.csv --column option_group=side --column option=skater
    --column features=base_value,ability`

    `evenhand inspect skaters.csv --column option_group=side --report bias.png --at-most 100`

    `cat skaters.csv | evenhand inspect - --column attributes=nation,age --json`

    `evenhand inspect skaters.csv --evaluators judges.csv --column option_group=nation`

    `evenhand inspect --scores scores.csv --column option=skater --column evaluator=judge`

    **Exit codes**: 0 it can be estimated; 2 what was given cannot be used; 3 it cannot be estimated
    by any number of evaluations (with attributes: one of the biases cannot; of a panel: options
    cannot be compared, or a bias cannot be told).
    """
    checked(shown)
    column, assume = panel.column, panel.assume
    n, _ = at_most_in(at_most, "N")
    if panel.evaluators is not None or scores is not None:
        strange = [f"--column {one}" for one in ("attributes", "features") if one in column]
        strange += ["--precision"] * (precision is not None) + ["--at-most"] * (n is not None)
        found: Inspection | Check = inspected(_asked(options, panel, scores, strange))
    else:
        if options is None:
            raise InputError(
                "OPTIONS.csv is missing: a file with one line per option, or --scores."
            )
        panel.refuse("prices", *PANELS, "bias")
        actions = ActionSet.from_table(
            table_at(options),
            group=column.get("option_group"),
            label=column.get("option"),
            features=names_in(column.get("features")),
            intercept=switch(assume, "--assume", "intercept", True),
            standardize=switch(assume, "--assume", "standardize", True),
            attributes=names_in(column.get("attributes")),
            categorical=names_in(column.get("categorical")) or (),
            decimal=read.get("decimal"),
        )
        found = inspected(actions, precision=precision, evaluations=n)
    drawn = isinstance(found, Check) or found.told
    show(found, shown if drawn else replace(shown, report=None))
    if not found.identifiable:
        raise typer.Exit(NOT_IDENTIFIABLE)


def _asked(
    options: Path | None, panel: Panel, scores: Path | None, strange: list[str]
) -> Questions:
    """Return the panel of two tables, or behind scores, where what was not scored may not be
    asked; refuse what has no meaning for a panel, or contradicts itself.
    """
    if scores is not None and (options is not None or panel.evaluators is not None):
        raise InputError(
            "--scores has options and evaluators in it; leave OPTIONS.csv and --evaluators out."
        )
    if scores is None and options is None:
        raise InputError("--evaluators says who is asked; OPTIONS.csv, about whom, is missing.")
    if strange:
        raise InputError(f"{', '.join(strange)} is about options without a panel; leave it out.")
    if options is not None:
        return panel.questions(table_at(options))
    panel.refuse("prices", *PANELS)
    column = panel.column
    return Questions.from_scores(
        scores_at(str(scores), {}),
        columns={role: name for role, name in column.items() if role in ROLES},
        only_seen=True,
        bias=panel.assume.get("bias", "common"),
    )
