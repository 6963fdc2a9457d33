"""`evenhand campaign tell` and `import`: scores come back, one by one or on sheets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.campaigns.imports import Imported
from evenhand.campaigns.sheets import score_in
from evenhand.cli.campaign.store import CampaignName, StoreName, opened, say, seat
from evenhand.cli.options import AsJson, Said, takes
from evenhand.cli.output import print_json, table_at
from evenhand.errors import EvenhandError, InputError
from evenhand.report.words import counted


def tell(
    store: StoreName,
    name: CampaignName,
    ticket: Annotated[
        str, typer.Argument(metavar="TICKET", help="Such as 17-9f3a2c.", show_default=False)
    ],
    score: Annotated[
        str,
        typer.Argument(
            metavar="SCORE",
            help="A number; in comparisons also first, second or tie; or a grade that `new` named.",
            show_default=False,
        ),
    ],
    *,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="What was said beside it; kept in the record.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Take the score of a ticket. Once this says so, it is on the disk.

    Telling the same again does no harm; telling another score for the same ticket is refused
    (`campaign set withdraw=…` takes a slip back).

    **Example**

    `evenhand campaign tell prize.db prize 17-9f3a2c 71.5`

    **Exit codes**: 0 it was taken; 2 it was refused, and nothing changed.
    """
    if (judge := seat(store)) is not None:
        receipt = judge.tell(ticket, score, note=note)
    else:
        with opened(store, name) as campaign:
            value = score_in(score, campaign._follower.reading)
            receipt = campaign.tell(ticket, value, note=note)
    said = f"Evaluation {receipt.evaluation}" if receipt.evaluation else f"Ticket {ticket}"
    if receipt.repeated:
        said += " was taken before"
    elif receipt.counted:
        said += " is taken"
    else:
        said += f" is kept as late, and does not count: {receipt.why}"
    if as_json:
        print_json(asdict(receipt))
    else:
        say(f"{said}.")


@takes(column=("option", "evaluator", "score", "rival", "key"), read=("decimal",))
def import_(
    store: StoreName,
    name: CampaignName,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A sheet that was filled in, a folder of them, or logged scores: CSV, Parquet or "
            "Excel; - reads a pipe.",
            show_default=False,
        ),
    ],
    *,
    column: Said,
    read: Said,
    as_json: AsJson = False,
) -> None:
    """Take the scores of a table: all of them, or none and what is wrong with each line.

    A sheet is known by its column 'ticket'; a line without a score stays open. Other tables are
    scores that were given without being asked for: an option, an evaluator and a score a line, and
    no other columns. The same file again changes nothing. Of a folder, every file is taken or
    refused by itself.

    **Examples**

    `evenhand campaign import prize.db prize rosa.csv`

    `evenhand campaign import prize.db prize old_scores.csv --column option=skater
    --column evaluator=judge --column score=points`

    **Exit codes**: 0 they were taken; 2 they were refused, and nothing changed.
    """
    several = Path(file).is_dir()
    refused = False
    said: dict[str, Any] = {}
    with opened(store, name) as campaign:
        for path in _files_in(Path(file)) if several else [file]:
            called = Path(path).name if several else ""
            try:
                taken = campaign.import_scores(table_at(path), **read, **column)
            except EvenhandError as error:
                if not several:
                    raise
                refused, said[called] = True, {"refused": str(error)}
                if not as_json:
                    say(f"{called}: refused. {error}")
            else:
                said[called] = taken.to_dict()
                if not as_json:
                    _say_taken(taken, f"{called}: " if several else "")
    if as_json:
        print_json({"files": said} if several else said[""])
    if refused:
        raise typer.Exit(2)


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder, but for hidden ones and what a spreadsheet has open."""
    found = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith((".", "~$"))
    ]
    if not found:
        raise InputError(f"the folder {str(folder)!r} has no files in it; give one with sheets.")
    return found


def _say_taken(taken: Imported, begin: str = "") -> None:
    parts = [
        f"{counted(taken.counted, 'score')} taken",
        f"{taken.repeated:,} known before" if taken.repeated else "",
        f"{taken.late:,} kept as late, which do not count" if taken.late else "",
        f"{len(taken.declined):,} declined" if taken.declined else "",
        f"{taken.unfilled:,} not filled in, which stay open" if taken.unfilled else "",
    ]
    said = "; ".join(part for part in parts if part)
    say(f"{begin}{said}.", style="bold")
    for ticket, note in taken.notes:
        say(f"Note on {ticket}: {note}")
    for ticket, note in taken.declined:
        say(f"Declined, and never asked again: {ticket}: {note}")
    for ticket, note in taken.lost_notes:
        say(f"Not kept, since no new score is beside it: note on {ticket}: {note}")
    if taken.lost_notes and taken.unfilled:
        say(
            "Who will not score, as for a conflict of interest, declines: evenhand campaign set "
            "STORE NAME decline=TICKET --because …"
        )
