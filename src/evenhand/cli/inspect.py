"""`evenhand inspect`: can the bias be estimated from these options, and at what price?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.actions import ActionSet
from evenhand.cli.campaign.tables import OF_SEVERAL, WHO, PanelTables
from evenhand.cli.columns import DECIMAL, OF_PANELS, takes
from evenhand.cli.options import AsJson, Figure, numeric, whole
from evenhand.cli.tables import check_files, scores_at, table_at
from evenhand.cli.terminal import NOT_IDENTIFIABLE, names_in, show
from evenhand.errors import InputError
from evenhand.inspection import Inspection
from evenhand.inspection import inspect as inspected
from evenhand.questions import Check, Questions


@takes(*OF_PANELS, "attributes", tables=PanelTables)
def inspect(
    options: Annotated[
        Path | None,
        typer.Argument(
            metavar="OPTIONS.csv", help="One line per option, with a header; - reads a pipe."
        ),
    ] = None,
    *,
    tables: PanelTables,
    categorical: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns that are categories though they are numbers."),
    ] = None,
    decimal: Annotated[str | None, DECIMAL] = None,
    intercept: Annotated[bool, typer.Option(help="Whether values may share a constant.")] = True,
    standardize: Annotated[
        bool, typer.Option(help="Whether to measure features in standard deviations.")
    ] = True,
    precision: Annotated[
        float | None,
        numeric(
            "P",
            "Know the bias to ±P (95%), in standard deviations of one evaluation's noise; "
            "0.5 if nothing is given.",
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        whole("N", "Instead: divide N evaluations."),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORES.csv",
            help="Instead of both files: past scores, one line each. What they can tell is said.",
            rich_help_panel=WHO,
        ),
    ] = None,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Can the bias be estimated from these options, at what price, and by which evaluations?

    The answer comes in words, with the numbers behind it, the reason, and the best options to
    evaluate. Without features all columns that play no other part are. Nothing is written unless
    --figure asks for a picture.

    **Examples**

    `evenhand inspect skaters.csv --column option_group=side --column option=skater
    --column features=base_value,ability`

    `evenhand inspect skaters.csv --column option_group=side --figure bias.png --evaluations 100`

    `cat skaters.csv | evenhand inspect - --column attributes=nation,age --json`

    `evenhand inspect skaters.csv --evaluators judges.csv --column option_group=nation`

    `evenhand inspect --scores scores.csv --column option=skater --column evaluator=judge`

    **Exit codes**: 0 it can be estimated; 2 what was given cannot be used; 3 it cannot be estimated
    by any number of evaluations (with attributes: one of the biases cannot; of a panel: options
    cannot be compared, or a bias cannot be told).
    """
    check_files(figure)
    if tables.evaluators is not None or scores is not None:
        strange: dict[str, object] = {
            "--column attributes": tables.columns.get("attributes"),
            "--column features": tables.columns.get("features"),
            "--precision": precision,
            "--evaluations": evaluations,
        }
        _show(inspected(_panel(options, tables, scores, strange)), figure, as_json)
        return
    if options is None:
        raise InputError("OPTIONS.csv is missing: a file with one line per option, or --scores.")
    if "prices" in tables.columns:
        raise InputError("--column prices is of a panel's evaluators; leave it out.")
    tables.refuse(*OF_SEVERAL)
    table = table_at(options)
    columns = tables.columns
    actions = ActionSet.from_table(
        table,
        group=columns.get("option_group"),
        label=columns.get("option"),
        features=names_in(columns.get("features")),
        intercept=intercept,
        standardize=standardize,
        attributes=names_in(columns.get("attributes")),
        categorical=names_in(categorical) or (),
        decimal=decimal,
    )
    found = inspected(actions, precision=precision, evaluations=evaluations)
    _show(found, figure, as_json)


def _show(found: Inspection | Check, figure: Path | None, as_json: bool) -> None:
    """Print what was found, draw it, and exit with 3 if something cannot be told."""
    drawn = isinstance(found, Check) or found.told
    show(found, figure if drawn else None, as_json=as_json)
    if not found.identifiable:
        raise typer.Exit(NOT_IDENTIFIABLE)


def _panel(
    options: Path | None, tables: PanelTables, scores: Path | None, strange: dict[str, object]
) -> Questions:
    """Return the panel of two tables, or behind scores, where what was not scored may not be
    asked; refuse what has no meaning for a panel, or contradicts itself.
    """
    if scores is not None and (options is not None or tables.evaluators is not None):
        raise InputError(
            "--scores has options and evaluators in it; leave OPTIONS.csv and --evaluators out."
        )
    if scores is None and options is None:
        raise InputError("--evaluators says who is asked; OPTIONS.csv, about whom, is missing.")
    given = [name for name, value in strange.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} is about options without a panel; leave it out.")
    if options is not None and tables.evaluators is not None:
        return tables.panel(table_at(options))
    tables.refuse("prices", *OF_SEVERAL[:-1])
    return Questions.from_scores(
        scores_at(str(scores)),
        *(tables.columns.get(role, role) for role in ("option", "evaluator")),
        option_group=tables.columns.get("option_group", "option_group"),
        evaluator_group=tables.columns.get("evaluator_group", "evaluator_group"),
        only_seen=True,
        bias=tables.bias or "common",
    )
