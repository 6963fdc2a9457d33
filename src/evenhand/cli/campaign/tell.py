"""`evenhand campaign tell` and `import`: scores come back, one by one or on sheets."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.campaign.store import CampaignName, StoreName, opened
from evenhand.cli.options import AsJson
from evenhand.cli.terminal import console, print_json


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
            help="A number; in comparisons also first, second or tie.",
            show_default=False,
        ),
    ],
    *,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="A name for this score: telling it twice counts once. The ticket if not given.",
        ),
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="What was said beside it; kept in the record.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Take the score of a ticket. Once this says so, it is on the disk.

    Telling the same again does no harm; telling another score for the same ticket is refused
    (`withdraw` takes a slip back).

    **Example**

    `evenhand campaign tell prize.db prize 17-9f3a2c 71.5`

    **Exit codes**: 0 it was taken; 2 it was refused, and nothing changed.
    """
    from evenhand.campaigns.sheets import score_in  # noqa: PLC0415 # slow to load

    value = score_in(score)
    with opened(store, name) as campaign:
        receipt = campaign.tell(ticket, value, key=key, note=note)
    if as_json:
        print_json(
            {
                "evaluation": receipt.evaluation,
                "counted": receipt.counted,
                "repeated": receipt.repeated,
                "why": receipt.why,
            }
        )
        return
    said = f"Evaluation {receipt.evaluation}"
    if receipt.repeated:
        said += " was taken before"
    elif receipt.counted:
        said += " is taken"
    else:
        said += f" is kept as late, and does not count: {receipt.why}"
    console().print(f"{said}.", soft_wrap=True)
