"""`evenhand demo`: two decisions and an audit of real judges, as the functions print them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from evenhand.answers import Answer, decide
from evenhand.auditing import Audit, audit
from evenhand.cases.skating import scores
from evenhand.cli.output import console
from evenhand.files import make_folder

_PROGRAM = "ICE DANCE FREE DANCE"
_COLUMNS: dict[str, Any] = {
    "option": "skater",
    "evaluator": "judge",
    "option_group": "nation",
    "evaluator_group": "judge_nation",
}
_SOURCE = (
    "Skating data: BuzzFeed News (2016–17 season), CC BY 4.0, changed: aggregated, names replaced "
    "by ids, feature columns derived."
)
_MORE = """\
evenhand decide SCORES.csv   who is best, how sure, and what to ask next?
evenhand audit SCORES.csv    is there a bias, whose, and what does it decide?"""


def demo(
    *,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw pictures into this folder.")
    ] = None,
) -> None:
    """Real judges and their own nation: who is best, how sure is that, and where nobody can say.

    Nine judges at one event, nine at another that is too close to call, and what a whole season
    says about judges.

    **Examples**

    `evenhand demo`

    `evenhand demo --out out`
    """
    if out is not None:
        make_folder(out)
    season = scores()
    told: dict[str, tuple[str, str, Answer | Audit]] = {
        "settled": (
            "panel.png",
            "Who was best at the Rostelecom Cup 2016? Nine judges, ten couples (evenhand decide)",
            _decided(season, "ISU GP Rostelecom Cup 2016"),
        ),
        "close": (
            "tie.png",
            "And at Skate Canada 2016, where it is not sure?",
            _decided(season, "ISU GP 2016 Skate Canada International"),
        ),
        "season": (
            "season.png",
            f"One event, or all of them? The season, {len(season):,} scores (evenhand audit)",
            audit(season, columns={**_COLUMNS, "event": ["competition", "program"]}),
        ),
    }
    if out is not None:
        for picture, _, found in told.values():
            found.plot(out / picture)
    shown = console()
    for _, heading, found in told.values():
        shown.print(f"{heading}\n", style="bold underline", soft_wrap=True)
        shown.print(f"{found}\n", soft_wrap=True)
    shown.print("Your own scores\n", style="bold underline")
    shown.print(f"{_MORE}\n")
    shown.print(_SOURCE, style="dim")
    if out is not None:
        names = ", ".join(str(out / picture) for picture, _, _ in told.values())
        typer.echo(f"\nThe pictures: {names}.")


def _decided(season: pd.DataFrame, competition: str) -> Answer:
    """Return who is best in the free dance, by all judges."""
    there = (season["competition"] == competition) & (season["program"] == _PROGRAM)
    return decide(scores=season[there], columns=_COLUMNS)
