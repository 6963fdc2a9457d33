"""`evenhand campaign import`: scores come back on sheets, or from a log."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from evenhand.cli.campaign.store import CampaignName, StoreName, opened
from evenhand.cli.options import AsJson
from evenhand.cli.score_tables import (
    TABLE,
    Decimal,
    EvaluatorColumn,
    OptionColumn,
    RivalColumn,
    ScoreColumn,
)
from evenhand.cli.terminal import console, print_json


def import_(
    store: StoreName,
    name: CampaignName,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A sheet that was filled in, or logged scores: CSV, Parquet or Excel; - reads a "
            "pipe.",
            show_default=False,
        ),
    ],
    *,
    option: OptionColumn = "option",
    evaluator: EvaluatorColumn = "evaluator",
    score: ScoreColumn = "score",
    rival: RivalColumn = "rival",
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Of a log: what a score is known by, so that it counts once. Its line if not "
            "given.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Take the scores of a table: all of them, or none and what is wrong with each line.

    A sheet is known by its column 'ticket'; a line without a score stays open. Other tables are
    scores that were given without being asked for: an option, an evaluator and a score a line, and
    no other columns. The same file again changes nothing.

    **Examples**

    `evenhand campaign import prize.db prize rosa.csv`

    `evenhand campaign import prize.db prize old_scores.csv --option skater --evaluator judge
    --score points`

    **Exit codes**: 0 they were taken; 2 they were refused, and nothing changed.
    """
    with opened(store, name) as campaign:
        taken = campaign.import_scores(
            _table(file),
            option=option,
            evaluator=evaluator,
            score=score,
            rival=rival,
            key=key,
            decimal=decimal,
        )
    if as_json:
        print_json(taken.to_dict())
        return
    out = console()
    parts = [
        f"{taken.counted:,} score{'s' * (taken.counted != 1)} taken",
        f"{taken.repeated:,} known before" if taken.repeated else "",
        f"{taken.late:,} kept as late, which do not count" if taken.late else "",
        f"{taken.unfilled:,} not filled in, which stay open" if taken.unfilled else "",
    ]
    out.print(f"{'; '.join(part for part in parts if part)}.", style="bold", soft_wrap=True)
    for ticket, note in taken.notes:
        out.print(f"Note on {ticket}: {note}", soft_wrap=True)
    for ticket, note in taken.lost_notes:
        out.print(
            f"Not kept, since no new score is beside it: note on {ticket}: {note}", soft_wrap=True
        )


def _table(file: str) -> Any:
    from evenhand.tables.sources import CsvFile  # noqa: PLC0415 - see evenhand.tables

    if file == "-":
        return CsvFile(typer.get_binary_stream("stdin"), "the standard input")
    return file
