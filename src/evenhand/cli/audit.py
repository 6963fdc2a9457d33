"""`evenhand audit`: is there a bias in scores that exist, whose, and what would change?"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from evenhand.auditing import audit as audited
from evenhand.cli.options import AsJson, Figure, Seed
from evenhand.cli.score_tables import (
    READING,
    TABLE,
    Decimal,
    EvaluatorColumn,
    EvaluatorGroup,
    Families,
    LogFormat,
    Metric,
    Missing,
    OptionColumn,
    OptionGroup,
    Partial,
    Report,
    RivalColumn,
    Scale,
    ScoreColumn,
    Wide,
    check_files,
    column_in,
    columns_in,
    groups_in,
    missing_in,
    scale_in,
    scores_at,
)
from evenhand.cli.terminal import console, names_in, print_json
from evenhand.report.terminal import print_result

_NOT_IDENTIFIABLE = 3


def audit(
    scores: Annotated[
        str,
        typer.Argument(
            metavar="SCORES.csv",
            help="One line per score, with a header: CSV, Parquet or Excel; or the log of an "
            "evaluation tool. - reads a pipe.",
        ),
    ],
    *,
    option: OptionColumn = "option",
    evaluator: EvaluatorColumn = "evaluator",
    score: ScoreColumn = "score",
    rival: RivalColumn = "rival",
    item: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="What the option was tried on: a prompt, a programme.",
            rich_help_panel=TABLE,
        ),
    ] = "item",
    event: Annotated[
        str,
        typer.Option(
            metavar="A,B,…",
            help="Where options compete; an evaluator may be severe at one and lenient at another.",
            rich_help_panel=TABLE,
        ),
    ] = "event",
    option_group: OptionGroup = "option_group",
    evaluator_group: EvaluatorGroup = "evaluator_group",
    rival_group: Annotated[
        str,
        typer.Option(
            metavar="COL",
            help="In comparisons: groups of the second options.",
            rich_help_panel=TABLE,
        ),
    ] = "rival_group",
    partial: Partial = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="What the score should have been, where something impartial knows.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Numbers that scores may react to and value does not, such as a length.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Numbers that value depends on, where nobody says who gave which score.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="When the score was given: drift shows.", rich_help_panel=TABLE
        ),
    ] = None,
    scale: Scale = None,
    wide: Wide = False,
    wide_columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help="Instead: which columns these are.", rich_help_panel=READING
        ),
    ] = None,
    repeats: Annotated[
        bool,
        typer.Option(
            "--repeats",
            help="An evaluator may have scored the same thing several times.",
            rich_help_panel=READING,
        ),
    ] = False,
    missing: Missing = "refuse",
    decimal: Decimal = None,
    log_format: LogFormat = None,
    metric: Metric = None,
    families: Families = None,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Confidence of the intervals.")
    ] = 0.95,
    seed: Seed = 0,
    figure: Figure = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Is there a bias in these scores, whose, how large, how sure, and what would change?

    Columns called option, evaluator, score, rival, item, event, option_group, rival_group and
    evaluator_group are found by their names; others are named, and 'none' says that no column is.
    Nothing is written unless --figure or --report asks for it.

    **Examples**

    `evenhand audit scores.csv --option skater --evaluator judge --option-group nation
    --evaluator-group judge_nation --event competition,program`

    `evenhand audit scores.xlsx --option wine --evaluator taster --partial own_estate --scale 0,100`

    `evenhand audit jury.csv --wide --option film --option-group country
    --evaluator-group Ann=FR,Bo=IT,Cy=FR`

    `evenhand audit log.json --metric llm-rubric --report audit.html`

    `cat scores.csv | evenhand audit - --json | jq .bias`

    **Exit codes**: 0 the bias was estimated; 2 what was given cannot be used; 3 these scores cannot
    tell the bias.
    """
    check_files(figure, report)
    found = audited(
        scores_at(scores, log_format, metric or None, families),
        option=option,
        evaluator=column_in(evaluator),
        score=score,
        rival=column_in(rival),
        item=columns_in(item),
        event=columns_in(event),
        option_group=groups_in(option_group),
        rival_group=column_in(rival_group),
        evaluator_group=groups_in(evaluator_group),
        partial=partial,
        reference=reference,
        attributes=names_in(attributes) or (),
        features=names_in(features) or (),
        time=time,
        scale=scale_in(scale),
        wide=names_in(wide_columns) or wide,
        repeats=repeats,
        missing=missing_in(missing),
        decimal=decimal,
        confidence=confidence,
        seed=seed,
    )
    if figure is not None:
        found.plot(figure)
    if report is not None:
        found.report(report)
    if as_json:
        print_json(found.to_dict())
    else:
        print_result(console(), found)
        for what, path in (("picture", figure), ("report", report)):
            if path is not None:
                typer.echo(f"\nThe {what} is in {path}.")
    if math.isnan(found.bias.value):
        raise typer.Exit(_NOT_IDENTIFIABLE)
