"""`evenhand inspect`: can the bias be estimated from these options, and at what price?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.cli.columns import (
    ATTRIBUTES,
    DECIMAL,
    EVALUATOR,
    EVALUATOR_GROUP,
    FEATURES,
    OPTION,
    OPTION_GROUP,
    PRICES,
)
from evenhand.cli.inspect_panel import panel_of_files, panel_of_scores, show_panel
from evenhand.cli.options import AsJson, Figure
from evenhand.cli.terminal import console, names_in, print_json
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
_PANELS = "Panels of evaluators"
_MOST_ROWS = 20  # of a table in the terminal; --json has all


def inspect(
    options: Annotated[
        Path | None,
        typer.Argument(
            metavar="OPTIONS.csv", help="One line per option, with a header; - reads a pipe."
        ),
    ] = None,
    *,
    option: Annotated[str | None, OPTION] = None,
    evaluator: Annotated[str | None, EVALUATOR] = None,
    option_group: Annotated[str | None, OPTION_GROUP] = None,
    evaluator_group: Annotated[str | None, EVALUATOR_GROUP] = None,
    attributes: Annotated[str | None, ATTRIBUTES] = None,
    features: Annotated[str | None, FEATURES] = None,
    prices: Annotated[str | None, PRICES] = None,
    categorical: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns that are categories though they are numbers."),
    ] = None,
    decimal: Annotated[str | None, DECIMAL] = None,
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
    evaluators: Annotated[
        Path | None,
        typer.Option(
            metavar="JUDGES.csv",
            help="A panel: one line per evaluator, names in the first column. Options stand for "
            "themselves, no features are needed.",
            rich_help_panel=_PANELS,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORES.csv",
            help="Instead of both files: past scores, one line each. What they can tell is said.",
            rich_help_panel=_PANELS,
        ),
    ] = None,
    bias: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="common: all favour their own group by as much; evaluator: each by its own; "
            "group: those of each group by their own.",
            rich_help_panel=_PANELS,
        ),
    ] = "common",
    full: Annotated[
        bool, typer.Option("--full", help="Work out α and κ̃ for large sets, too: it may take long.")
    ] = False,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Can the bias be estimated from these options, at what price, and by which evaluations?

    The answer comes in words, with the numbers behind it, the reason, and the best options to
    evaluate. Without --features all columns that play no other part are features. Nothing is
    written unless --figure asks for a picture.

    **Examples**

    `evenhand inspect skaters.csv --option-group side --option skater --features base_value,ability`

    `evenhand inspect skaters.csv --option-group side --figure bias.png --evaluations 100`

    `evenhand inspect skaters.csv --option-group side --json | jq .kappa_star`

    `cat skaters.csv | evenhand inspect - --attributes nation,age --option skater`

    `evenhand inspect skaters.csv --evaluators judges.csv --option-group nation --figure panel.png`

    `evenhand inspect --scores scores.csv --option skater --evaluator judge`

    **Exit codes**: 0 it can be estimated; 2 what was given cannot be used; 3 it cannot be estimated
    by any number of evaluations (with attributes: one of the biases cannot; of a panel: options
    cannot be compared, or a bias cannot be told).
    """
    if evaluators is not None or scores is not None:
        strange: dict[str, object] = {
            "--attributes": attributes,
            "--features": features,
            "--gaps": gaps,
            "--precision": precision,
            "--evaluations": evaluations,
        }
        _refuse_for_panels(options, evaluators, scores, strange)
        if scores is not None:
            panel = panel_of_scores(scores, option, evaluator, option_group, evaluator_group, bias)
        else:
            assert options is not None
            assert evaluators is not None
            table = CsvFile(*_opened(options))
            panel = panel_of_files(
                table, evaluators, option, option_group, evaluator_group, prices, bias
            )
        if not show_panel(panel, full=full, figure=figure, as_json=as_json):
            raise typer.Exit(_NOT_IDENTIFIABLE)
        return
    if options is None:
        raise InputError("OPTIONS.csv is missing: a file with one line per option, or --scores.")
    if figure is not None and attributes is not None:
        raise InputError(
            "--figure draws what separates two groups, and attributes have no such picture; leave "
            "it out, or name two groups with --option-group."
        )
    write_picture = None if figure is None else _picture_writer(figure)
    table = CsvFile(*_opened(options))
    reacting = names_in(attributes)
    actions = ActionSet.from_csv(
        table,
        group=option_group,
        label=option,
        features=_feature_columns(table, features, gaps, [option_group, option, *(reacting or [])]),
        intercept=intercept,
        standardize=standardize,
        positive=positive,
        attributes=reacting,
        categorical=names_in(categorical) or (),
        decimal=decimal,
    )
    assert actions.encoding is not None
    costs = None if gaps is None else _costs(table, gaps, option, actions.encoding.decimal)
    asked = [None] if actions.group_names is not None else list(actions.attribute_names)
    answers = [
        _inspected(actions, attribute, precision, evaluations, costs, full) for attribute in asked
    ]
    if write_picture is not None and isinstance(answers[0], Inspection):
        write_picture(answers[0])
    if as_json:
        print_json(_to_dict(actions, answers))
    else:
        _print_answers(actions, answers)
        if figure is not None and isinstance(answers[0], Inspection):
            typer.echo(f"\nThe picture is in {figure}.")
    if not all(isinstance(answer, Inspection) for answer in answers):
        raise typer.Exit(_NOT_IDENTIFIABLE)


def _refuse_for_panels(
    options: Path | None, evaluators: Path | None, scores: Path | None, strange: dict[str, object]
) -> None:
    """Refuse what has no meaning for a panel, or contradicts itself."""
    if scores is not None and (options is not None or evaluators is not None):
        raise InputError(
            "--scores has options and evaluators in it; leave OPTIONS.csv and --evaluators out."
        )
    if scores is None and options is None:
        raise InputError("--evaluators says who is asked; OPTIONS.csv, about whom, is missing.")
    given = [name for name, value in strange.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} is about options without a panel; leave it out.")


def _opened(options: Path) -> tuple[Path | IO[bytes], str | None]:
    """Return what to read and what messages call it; "-" is the standard input."""
    if str(options) == "-":
        return typer.get_binary_stream("stdin"), "the standard input"
    return options, None


def _inspected(
    actions: ActionSet,
    attribute: str | None,
    precision: float | None,
    evaluations: int | None,
    costs: Floats | None,
    full: bool,
) -> Inspection | NotIdentifiableError:
    """Return what is found about one bias, or why no evaluations tell it."""
    try:
        return inspect_options(
            actions,
            attribute,
            precision=precision,
            evaluations=evaluations,
            gaps=costs,
            full=full,
        )
    except NotIdentifiableError as error:
        return error


def _to_dict(
    actions: ActionSet, answers: Sequence[Inspection | NotIdentifiableError]
) -> dict[str, Any]:
    found = [
        answer.to_dict() if isinstance(answer, Inspection) else confounding_to_dict(answer, actions)
        for answer in answers
    ]
    if actions.group_names is not None:
        return found[0]
    return {
        "identifiable": all(part["identifiable"] for part in found),
        "attributes": [
            {"attribute": name} | part
            for name, part in zip(actions.attribute_names, found, strict=True)
        ],
    }


def _picture_writer(path: Path) -> Callable[[Inspection], None]:
    """Return what writes the picture; a file that cannot be is refused before any work."""
    # Drawing takes longer to import than most answers take to find.
    from evenhand.report import bias_figure  # noqa: PLC0415

    bias_figure.checked_format(path)

    def write(found: Inspection) -> None:
        picture = bias_figure.bias_picture(found.geometry)
        bias_figure.save_figure(bias_figure.draw_bias_picture(picture), path)

    return write


def _feature_columns(
    table: CsvFile, features: str | None, gaps: str | None, others: Sequence[str | None]
) -> list[str] | None:
    """Return the columns to use; the cost of an evaluation is not a feature unless named as one."""
    if features is not None or gaps is None:
        return names_in(features)
    return [name for name in table.columns if name and name not in (gaps, *others)]


def _costs(table: CsvFile, column: str, label: str | None, decimal: str) -> Floats:
    """Return what an evaluation of each option costs."""
    if column not in table.columns:
        raise InputError(
            f"{table.name} has no column {column!r}, named by --gaps; its columns are "
            f"{listed(table.columns, 30)}"
        )
    costs = np.concatenate([read_numbers(block[0], decimal) for block in table.blocks([column])])
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))
    if wrong.size:
        place = table.places([int(wrong[0])], label)[0]
        raise InputError(
            f"{table.name}: {place}, column {column!r} is not a finite number of at least 0 "
            f"({wrong.size} of {len(costs)} rows are not); what an evaluation costs must be one: "
            "correct the cell or remove the row"
        )
    return costs


def _print_answers(
    actions: ActionSet, answers: Sequence[Inspection | NotIdentifiableError]
) -> None:
    out = console()
    if actions.encoding is not None and actions.encoding.decimal == ",":
        out.print("Decimals are read with a comma (--decimal . reads points).\n", style="dim")
    said = False
    for number, answer in enumerate(answers):
        if number:
            out.print()
        if isinstance(answer, Inspection):
            _print_inspection(out, answer, with_assumptions=not said)
            said = True
        else:
            first, *others = confounding_in_words(answer, actions)
            out.print(first, style="bold")
            for paragraph in others:
                out.print(f"\n{paragraph}")
    if actions.group_names is None:
        out.print(
            "\nAttributes have no margin, no separating hyperplane and no picture: these compare "
            "two groups (--option-group).",
            style="dim",
        )


def _print_inspection(console: Console, found: Inspection, *, with_assumptions: bool) -> None:
    console.print(found.verdict, style="bold")
    if with_assumptions:  # they are the same for every attribute
        console.print("\n" + " ".join(found.assumptions))
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
        (
            "κ*",
            f"{geometry.kappa_star:.6g}",
            "variance of the bias per evaluation" + ("" if found.attribute else "; 1 is the least"),
        ),
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
        (
            "rank",
            f"{found.rank} of {found.dimension}",
            f"of features and {'attributes' if found.attribute else 'group'}",
        ),
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
    if found.attribute is None:
        table.add_column("group")
    table.add_column("share", justify="right")
    table.add_column("evaluations", justify="right")
    for purchase in found.design[:_MOST_ROWS]:
        count = "" if purchase.evaluations is None else f"{purchase.evaluations:,}"
        group = [] if purchase.group is None else [purchase.group]
        table.add_row(purchase.option, *group, f"{purchase.share:.1%}", count)
    if len(found.design) > _MOST_ROWS:
        table.add_row(f"… and {len(found.design) - _MOST_ROWS} more: --json has all")
    console.print(table)
