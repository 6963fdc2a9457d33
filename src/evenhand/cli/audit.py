"""`evenhand audit`: is there a bias in scores that exist, whose, and what would change?"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from evenhand.auditing import audit as audited
from evenhand.cli.columns import OF_SCORES, ScoreTable, takes
from evenhand.cli.options import (
    Against,
    AsJson,
    Bar,
    Call,
    Confidence,
    Figure,
    Report,
    Title,
    Tolerance,
    Top,
)
from evenhand.cli.tables import check_files
from evenhand.cli.terminal import NOT_IDENTIFIABLE, calls_in, show


@takes(*OF_SCORES, "reference", "attributes", table=ScoreTable)
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
    table: ScoreTable,
    confidence: Confidence = 0.95,
    top: Top = None,
    bar: Bar = None,
    against: Against = None,
    tolerance: Tolerance = 0.0,
    figure: Figure = None,
    report: Report = None,
    title: Title = None,
    call: Call = None,
    as_json: AsJson = False,
) -> None:
    """Is there a bias in these scores, whose, how large, how sure, and what would change?

    Columns called option, evaluator, score, rival, item, event, option_group, rival_group and
    evaluator_group are found by their names; --column names others, and says by 'none' that no
    column is. Nothing is written unless --figure or --report asks for it.

    **Examples**

    `evenhand audit scores.csv --column option=skater --column evaluator=judge
    --column option_group=nation --column evaluator_group=judge_nation
    --column event=competition,program`

    `evenhand audit scores.xlsx --column option=wine --column evaluator=taster
    --column partial=own_estate --scale 0,100`

    `evenhand audit jury.csv --wide all --column option=film --column option_group=country
    --column evaluator_group=Ann=FR,Bo=IT,Cy=FR`

    `evenhand audit log.json --metric llm-rubric --report audit.html`

    `cat scores.csv | evenhand audit - --json | jq .bias`

    **Exit codes**: 0 the bias was estimated; 2 what was given cannot be used; 3 these scores cannot
    tell the bias.
    """
    check_files(figure, report)
    nouns = calls_in(call)
    found = audited(
        table.at(scores),
        **table.parts(),
        confidence=confidence,
        top=top,
        bar=bar,
        against=against,
        tolerance=tolerance,
    )
    show(found, figure, report, as_json=as_json, title=title, call=nouns)
    if math.isnan(found.bias.value):
        raise typer.Exit(NOT_IDENTIFIABLE)
