"""Options that several commands have, in the same words and with the same limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.terminal import typed_number, typed_whole

_MOST_WORKERS = 1024  # every one is a process with its own copy of the libraries, about 0.1 GB

Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Number all randomness comes from.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: its scheduler's address, such as tcp://10.0.0.1:8786, or "
        'scheduler file. Needs pip install "evenhand\\[dask]".',
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=_MOST_WORKERS, metavar="N", help="Processes; one per processor."),
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

WANTED = "What is wanted"
Top = Annotated[
    int | None,
    typer.Option(
        parser=typed_whole,
        metavar="M",
        help="The M best, such as those to be funded; the best one if nothing is said.",
        rich_help_panel=WANTED,
    ),
]
Bar = Annotated[
    float | None,
    typer.Option(
        parser=typed_number,
        metavar="X",
        help="Instead: those better than X, by the average evaluator.",
        rich_help_panel=WANTED,
    ),
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
    typer.Option(
        "--tolerance",
        "--margin",
        parser=typed_number,
        metavar="X",
        help="What may be lost at each place; with --against or --bar, by how much it may be "
        "worse.",
        rich_help_panel=WANTED,
    ),
]
