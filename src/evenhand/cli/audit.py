"""`evenhand audit`: is there a bias in scores that exist, whose, and what would change?"""

from __future__ import annotations

import math
from typing import Annotated

import typer

from evenhand.auditing import audit as audited
from evenhand.cli.options import (
    CALLS,
    OF_SCORES,
    READING,
    TARGETS,
    Called,
    Confidence,
    Said,
    Trusted,
    takes,
    target_in,
)
from evenhand.cli.output import NOT_IDENTIFIABLE, checked, show
from evenhand.cli.scores import ScoreTable


@takes(column=(*OF_SCORES, "reference", "attributes"), read=READING, target=TARGETS, call=CALLS)
def audit(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES.csv…",
            help="One line per score, with a header: CSV, Parquet or Excel; - reads a pipe. Or "
            "logs of an evaluation tool, or folders of them, which are read together.",
        ),
    ],
    *,
    table: ScoreTable,
    trusted: Trusted = None,
    target: Said,
    confidence: Confidence = 0.95,
    shown: Called,
) -> None:
    """Is there a bias in these scores, whose, how large, how sure, and what would change?

    Columns called option, evaluator, score, rival, item, event, option_group, rival_group and
    evaluator_group are found by their names; --column names others, and says by 'none' that no
    column is. Nothing is written unless --report asks for it.

    **Examples**

    `evenhand audit scores.csv --column option=skater --column evaluator=judge
    --column option_group=nation --column evaluator_group=judge_nation
    --column event=competition,program`

    `evenhand audit scores.xlsx --column option=wine --column evaluator=taster
    --column partial=own_estate --scale 0,100`

    `evenhand audit jury.csv --column wide=all --column option=film --column option_group=country
    --column evaluator_group=Ann=FR,Bo=IT,Cy=FR`

    `evenhand audit log.json --read metric=llm-rubric --report audit.html`

    `cat scores.csv | evenhand audit - --json | jq .bias`

    **Exit codes**: 0 the bias was estimated; 2 what was given cannot be used; 3 these scores cannot
    tell the bias.
    """
    checked(shown)
    found = audited(
        table.at(scores if len(scores) > 1 else scores[0]),
        **table.how(),
        **target_in(target),
        trusted=None if trusted is None else trusted.split(","),
        confidence=confidence,
    )
    show(found, shown)
    if math.isnan(found.bias.value):
        raise typer.Exit(NOT_IDENTIFIABLE)
