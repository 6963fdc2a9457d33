"""Options that several commands have, in the same words and with the same limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.terminal import typed_number, typed_whole

_MOST_WORKERS = 1024  # every one is a process with its own copy of the libraries, about 0.1 GB


def numeric(metavar: str, help: str, panel: str | None = None, *flags: str) -> Any:
    """Return an option that is a number, as people write it."""
    return typer.Option(
        *flags, parser=typed_number, metavar=metavar, help=help, rich_help_panel=panel
    )


def whole(metavar: str, help: str, panel: str | None = None) -> Any:
    """Return an option that is a whole number, as people write it."""
    return typer.Option(parser=typed_whole, metavar=metavar, help=help, rich_help_panel=panel)


Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Number all randomness comes from.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=_MOST_WORKERS, metavar="N", help="Processes; one per processor."),
]
Runs = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Keep the runs in this folder; what it holds already is not run again."
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the picture to FILE.png, .svg or .pdf."),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a report to read and print to FILE.html."),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is about, in your words.")]
Call = Annotated[
    str | None,
    typer.Option(
        metavar="NOUN=WORD,…",
        help="Nouns of your own: option=application,evaluator=reviewer,group=university.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Confidence = Annotated[float, numeric("P", "How sure it is to be.")]
Noise = Annotated[float | None, numeric("X", "Standard deviation of one score, if it is known.")]

WANTED = "What is wanted"
Top = Annotated[
    int | None,
    whole("M", "The M best, such as those to be funded; the best one if nothing is said.", WANTED),
]
Bar = Annotated[
    float | None,
    numeric("X", "Instead: those better than X, by the average evaluator.", WANTED),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Instead: those better than this option.",
        rich_help_panel=WANTED,
    ),
]
Tolerance = Annotated[
    float,
    numeric(
        "X",
        "What may be lost at each place; with --against or --bar, by how much it may be worse.",
        WANTED,
        "--tolerance",
        "--margin",
    ),
]
