"""What commands on tables of scores share: their options, what people write there, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from evenhand.cli.panel_files import table_at
from evenhand.cli.terminal import names_in
from evenhand.errors import InputError

_NOTHING = "none"

TABLE, READING = "What the columns are", "How the table is read"
"""What groups of options are called in the help."""

OptionColumn = Annotated[
    str, typer.Option(metavar="COL", help="What was scored.", rich_help_panel=TABLE)
]
EvaluatorColumn = Annotated[
    str, typer.Option(metavar="COL", help="Who gave the score.", rich_help_panel=TABLE)
]
ScoreColumn = Annotated[str, typer.Option(metavar="COL", help="The scores.", rich_help_panel=TABLE)]
RivalColumn = Annotated[
    str,
    typer.Option(
        metavar="COL",
        help="In comparisons: the option that stands second. The score then says by how much "
        "the first is better.",
        rich_help_panel=TABLE,
    ),
]
OptionGroup = Annotated[
    str,
    typer.Option(
        metavar="COL",
        help="Groups of options: evaluators may favour their own. Also NAME=GROUP,…",
        rich_help_panel=TABLE,
    ),
]
EvaluatorGroup = Annotated[
    str,
    typer.Option(
        metavar="COL", help="Groups of evaluators. Also NAME=GROUP,…", rich_help_panel=TABLE
    ),
]
Partial = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Instead of groups: how partial the evaluator is to the option, from 0 to 1.",
        rich_help_panel=TABLE,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="The lowest and highest score that can be given.",
        rich_help_panel=READING,
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="A line for each option and a column for each evaluator.",
        rich_help_panel=READING,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="Lines with an empty cell: 'refuse' the table, or 'drop' them.",
        rich_help_panel=READING,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=". or ,",
        help="What stands before decimals; found out if not said.",
        rich_help_panel=READING,
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Which tool wrote the log; found out if not said.",
        rich_help_panel=READING,
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Which metric of a log; needed where it has several. May be given again.",
        rich_help_panel=READING,
    ),
]
Families = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Families of models in a log, beside those known: a CSV file (name, family) or a "
        "JSON file.",
        rich_help_panel=READING,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a report to read and print to FILE.html."),
]


def scores_at(
    scores: str,
    log_format: str | None = None,
    metric: list[str] | None = None,
    families: Path | None = None,
) -> Any:
    """Return what to read; "-" is the standard input."""
    if scores == "-":
        return table_at(scores)
    if log_format is None and metric is None and families is None:
        return scores
    from evenhand.readers import read_scores  # noqa: PLC0415 - see evenhand.tables

    return read_scores(scores, log_format, metric=metric, families=families)


def column_in(text: str) -> str | None:
    """Return a column; None where 'none' says that there is none."""
    return None if text == _NOTHING else text


def columns_in(text: str) -> str | list[str] | None:
    """Return a column, or several that are separated by commas; None for 'none'."""
    return names_in(text) if "," in text else column_in(text)


def groups_in(text: str) -> Any:
    """Return a column, or groups by name where they are written out.

    Examples
    --------
    >>> groups_in("nation"), groups_in("P=FRA, Q=ITA")
    ('nation', {'P': 'FRA', 'Q': 'ITA'})
    """
    pairs = names_in(text) or []
    if not pairs or not all("=" in pair for pair in pairs):
        return column_in(text)
    return {name.strip(): group.strip() for name, group in (p.split("=", 1) for p in pairs)}


def scale_in(text: str | None) -> tuple[float, float] | None:
    """Return the lowest and the highest score."""
    if text is None:
        return None
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise InputError(
            f"--scale is the lowest and the highest score, such as 0,10; got {text!r}."
        ) from None
    return low, high


def missing_in(text: str) -> Literal["refuse", "drop"]:
    """Return what becomes of rows with empty cells."""
    return text  # type: ignore[return-value] # checked where it is used


def check_files(figure: Path | None, report: Path | None) -> None:
    """Refuse files that cannot be written before any work."""
    if figure is not None:
        from evenhand.report.bias_figure import checked_format  # noqa: PLC0415 - loads matplotlib

        checked_format(figure)
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report writes a page: FILE.html; got {str(report)!r}.")
    for path in (figure, report):
        if path is not None and not path.parent.is_dir():
            raise InputError(
                f"there is no folder {str(path.parent)!r}; make it, or choose another."
            )
