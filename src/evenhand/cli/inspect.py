"""`evenhand inspect`: can the bias be estimated from these options, and at what price?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.report.hyperplane import unit_of_distance
from evenhand.report.inspection import (
    Inspection,
    confounding_in_words,
    confounding_to_dict,
    inspect_options,
)
from evenhand.tables import listed
from evenhand.tables.cells import read_numbers
from evenhand.tables.sources import CsvFile

_NOT_IDENTIFIABLE = 3
_MOST_ROWS = 20  # of a table in the terminal; --json has all


def inspect(
    options: Annotated[
        Path, typer.Argument(metavar="OPTIONS.csv", help="One line per option, with a header.")
    ],
    *,
    group: Annotated[
        str, typer.Option(metavar="COL", help="Column with the two groups.", show_default=False)
    ],
    label: Annotated[
        str | None, typer.Option(metavar="COL", help="Column with the names of the options.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns that value depends on, separated by commas. If not given: all columns "
            "without another part. Leave scores out: they are evaluations, not features.",
        ),
    ] = None,
    categorical: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns that are categories though they are numbers."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Group that a positive bias favours; last by name."),
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Whether values may share a constant.")] = True,
    standardize: Annotated[
        bool, typer.Option(help="Whether to measure features in standard deviations.")
    ] = True,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Know the bias to ±P (95%), in standard deviations of one evaluation's noise; "
            "0.5 if nothing is given.",
        ),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(metavar="N", help="Instead: divide N evaluations.")
    ] = None,
    gaps: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column with what an evaluation costs, for κ(Δ)."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Work out α and κ̃ for large sets, too: it may take long.")
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the picture to FILE.png, .svg or .pdf."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Can the bias be estimated from these options, at what price, and by which evaluations?

    The answer comes in words, with the numbers behind it, the reason, and the best options to
    evaluate. Nothing is written unless --figure asks for a picture.

    **Examples**

    `evenhand inspect skaters.csv --group side --label skater --features base_value,ability`

    `evenhand inspect skaters.csv --group side --figure bias.png --evaluations 100`

    `evenhand inspect skaters.csv --group side --json | jq .kappa_star`

    **Exit codes**: 0 it can be estimated; 2 what was given cannot be used; 3 it cannot be estimated
    by any number of evaluations.
    """
    write_picture = None if figure is None else _picture_writer(figure)
    actions = ActionSet.from_csv(
        options,
        group=group,
        label=label,
        features=_feature_columns(options, features, group, label, gaps),
        intercept=intercept,
        standardize=standardize,
        positive=positive,
        categorical=_names(categorical) or (),
    )
    try:
        found = inspect_options(
            actions,
            precision=precision,
            evaluations=evaluations,
            gaps=None if gaps is None else _costs(options, gaps, label),
            full=full,
        )
    except NotIdentifiableError as error:
        if as_json:
            _print_json(confounding_to_dict(error, actions))
        else:
            _print_paragraphs(confounding_in_words(error, actions))
        raise typer.Exit(_NOT_IDENTIFIABLE) from None
    if write_picture is not None:
        write_picture(found)
    if as_json:
        _print_json(found.to_dict())
        return
    _print_inspection(found)
    if figure is not None:
        typer.echo(f"\nThe picture is in {figure}.")


def _picture_writer(path: Path) -> Callable[[Inspection], None]:
    """Return what writes the picture; a file that cannot be is refused before any work."""
    # Drawing takes longer to import than most answers take to find.
    from evenhand.report import bias_figure  # noqa: PLC0415

    bias_figure.checked_format(path)

    def write(found: Inspection) -> None:
        picture = bias_figure.bias_picture(found.geometry)
        bias_figure.save_figure(bias_figure.draw_bias_picture(picture), path)

    return write


def _names(text: str | None) -> list[str] | None:
    """Split a list of columns; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _feature_columns(
    path: Path, features: str | None, group: str, label: str | None, gaps: str | None
) -> list[str] | None:
    """Return the columns to use; the cost of an evaluation is not a feature unless named as one."""
    if features is not None or gaps is None:
        return _names(features)
    return [name for name in CsvFile(path).columns if name and name not in (group, label, gaps)]


def _costs(path: Path, column: str, label: str | None) -> Floats:
    """Return what an evaluation of each option costs."""
    table = CsvFile(path)
    if column not in table.columns:
        raise InputError(
            f"{path} has no column {column!r}, named by --gaps; its columns are "
            f"{listed(table.columns, 30)}"
        )
    costs = np.concatenate([read_numbers(block[0]) for block in table.blocks([column])])
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))
    if wrong.size:
        place = table.places([int(wrong[0])], label)[0]
        raise InputError(
            f"{path}: {place}, column {column!r} is not a finite number of at least 0 "
            f"({wrong.size} of {len(costs)} rows are not); what an evaluation costs must be one: "
            "correct the cell or remove the row"
        )
    return costs


def _print_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values, indent=2, allow_nan=False))


def _console() -> Console:
    # The user's names are printed as they are, whatever brackets and colons they hold.
    return Console(markup=False, emoji=False, highlight=False)


def _print_paragraphs(paragraphs: list[str]) -> None:
    console = _console()
    console.print(paragraphs[0], style="bold")
    for paragraph in paragraphs[1:]:
        console.print(f"\n{paragraph}")


def _print_inspection(found: Inspection) -> None:
    console = _console()
    console.print(found.verdict, style="bold")
    console.print(f"\n{found.price}\n")
    _print_numbers(console, found)
    _print_hyperplane(console, found)
    _print_design(console, found)


def _print_numbers(console: Console, found: Inspection) -> None:
    geometry = found.geometry
    certificate = geometry.design.certificate
    plane = found.hyperplane
    sizes = " and ".join(f"{size:,} {name}" for name, size in found.group_sizes.items())
    rows = [
        ("κ*", f"{geometry.kappa_star:.6g}", "variance of the bias per evaluation; 1 is the least"),
        ("proven", f"≥ {certificate.bound:.6g}", f"by certificate; gap {certificate.gap:.1g}"),
    ]
    if plane is not None:
        unit = unit_of_distance(geometry.actions)
        rows += [
            ("margin", f"{plane.margin:.4g}", "from the hyperplane to the nearest option"),
            ("radius", f"{plane.radius:.4g}", f"to the farthest option, in {unit}"),
            ("margin/radius", f"{plane.margin / plane.radius:.4g}", "(√κ* − 1) / (√κ* + 1)"),
        ]
    if found.alpha is not None:
        rows.append(("α", f"{found.alpha:.6g}", "worst-case alignment"))
    if found.kappa_minimax is not None:
        rows.append(("κ̃", f"{found.kappa_minimax:.6g}", "regret of estimating, worst parameter"))
    if found.kappa_gaps is not None:
        rows.append(("κ(Δ)", f"{found.kappa_gaps:.6g}", "cost of estimating, with the given gaps"))
    names = geometry.actions.feature_names
    rows += [
        ("options", f"{len(geometry.actions):,}", sizes),
        ("features", str(len(names)), ", ".join(names[:8]) + (", …" if len(names) > 8 else "")),
        ("rank", f"{found.rank} of {found.dimension}", "of features and group"),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _print_hyperplane(console: Console, found: Inspection) -> None:
    if found.hyperplane is None:
        return
    negative, positive = found.group_sizes
    importance = found.to_dict()["hyperplane"]["importance"]
    console.print(
        f"\nWhat separates them: this sum is above 0 for {positive} and below for {negative}",
        style="bold",
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("feature")
    table.add_column("coefficient", justify="right")
    table.add_column("importance", justify="right")
    terms = list(found.hyperplane_in_user_units.items())
    constant = [term for term in terms if term[0] == "(constant)"]
    others = [term for term in terms if term[0] != "(constant)"]
    for name, value in others[:_MOST_ROWS] + constant:
        share = f"{importance[name]:.0%}" if name in importance else ""
        table.add_row(name, f"{value:+.4g}", share)
    if len(others) > _MOST_ROWS:
        table.add_row(f"… and {len(others) - _MOST_ROWS} more: --json has all")
    console.print(table)


def _print_design(console: Console, found: Inspection) -> None:
    counts = [purchase.evaluations or 0 for purchase in found.design]
    rounded = f", rounded up to {sum(counts):,}" if sum(counts) > found.evaluations else ""
    console.print(
        f"\nThe best {found.evaluations:,} evaluations to buy{rounded} (±{found.precision:.3g})",
        style="bold",
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("option")
    table.add_column("group")
    table.add_column("share", justify="right")
    table.add_column("evaluations", justify="right")
    for purchase in found.design[:_MOST_ROWS]:
        count = "" if purchase.evaluations is None else f"{purchase.evaluations:,}"
        table.add_row(purchase.option, purchase.group, f"{purchase.share:.1%}", count)
    if len(found.design) > _MOST_ROWS:
        table.add_row(f"… and {len(found.design) - _MOST_ROWS} more: --json has all")
    console.print(table)
