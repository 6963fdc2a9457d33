"""`evenhand inspect`: can the bias be estimated from these options, and at what price?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.actions import ActionSet
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
from evenhand.cli.options import AsJson, Figure, numeric, whole
from evenhand.cli.tables import check_files, scores_at, table_at
from evenhand.cli.terminal import names_in, show
from evenhand.errors import InputError
from evenhand.inspection import Inspection
from evenhand.inspection import inspect as inspected
from evenhand.questions import Questions
from evenhand.questions.inputs import named

if TYPE_CHECKING:
    from evenhand.tables.columns import Table


def panel_of_files(
    options: Table,
    evaluators: Path,
    label: str | None,
    option_group: str | None,
    evaluator_group: str | None,
    prices: str | None,
    bias: str,
) -> Questions:
    """Return the panel of a table of options and one of evaluators."""
    judges = table_at(evaluators)
    if evaluator_group is None and option_group in judges.columns:
        evaluator_group = option_group
    costs = None if prices is None else judges.numbers(prices, "--prices", above=0.0)
    return Questions.panel(
        named(options, options.name, label=label, group=option_group),
        named(judges, str(evaluators), group=evaluator_group),
        bias=bias,  # type: ignore[arg-type] # checked there
        prices=costs,
    )


def panel_of_scores(
    scores: Path,
    option: str | None,
    evaluator: str | None,
    option_group: str | None,
    evaluator_group: str | None,
    bias: str,
) -> Questions:
    """Return the panel behind a table of scores; what was not scored may not be asked."""
    return Questions.from_scores(
        scores_at(str(scores)),
        option or "option",
        evaluator or "evaluator",
        option_group=option_group or "option_group",
        evaluator_group=evaluator_group or "evaluator_group",
        only_seen=True,
        bias=bias,
    )


_NOT_IDENTIFIABLE = 3
_PANELS = "Panels of evaluators"


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
    intercept: Annotated[bool, typer.Option(help="Whether values may share a constant.")] = True,
    standardize: Annotated[
        bool, typer.Option(help="Whether to measure features in standard deviations.")
    ] = True,
    precision: Annotated[
        float | None,
        numeric(
            "P",
            "Know the bias to ±P (95%), in standard deviations of one evaluation's noise; "
            "0.5 if nothing is given.",
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        whole("N", "Instead: divide N evaluations."),
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

    `evenhand inspect skaters.csv --evaluators judges.csv --option-group nation`

    `evenhand inspect --scores scores.csv --option skater --evaluator judge`

    **Exit codes**: 0 it can be estimated; 2 what was given cannot be used; 3 it cannot be estimated
    by any number of evaluations (with attributes: one of the biases cannot; of a panel: options
    cannot be compared, or a bias cannot be told).
    """
    check_files(figure)
    if evaluators is not None or scores is not None:
        strange: dict[str, object] = {
            "--attributes": attributes,
            "--features": features,
            "--precision": precision,
            "--evaluations": evaluations,
        }
        _refuse_for_panels(options, evaluators, scores, strange)
        if scores is not None:
            panel = panel_of_scores(scores, option, evaluator, option_group, evaluator_group, bias)
        else:
            assert options is not None
            assert evaluators is not None
            table = table_at(options)
            panel = panel_of_files(
                table, evaluators, option, option_group, evaluator_group, prices, bias
            )
        _show(inspected(panel, full=full), figure, as_json)
        return
    if options is None:
        raise InputError("OPTIONS.csv is missing: a file with one line per option, or --scores.")
    table = table_at(options)
    reacting = names_in(attributes)
    actions = ActionSet.from_csv(
        table,
        group=option_group,
        label=option,
        features=_feature_columns(
            table, features, prices, [option_group, option, *(reacting or [])]
        ),
        intercept=intercept,
        standardize=standardize,
        attributes=reacting,
        categorical=names_in(categorical) or (),
        decimal=decimal,
    )
    assert actions.encoding is not None
    costs = None
    if prices is not None:
        decimal = actions.encoding.decimal
        costs = table.numbers(prices, "--prices", least=0.0, label=option, decimal=decimal)
    found = inspected(actions, precision=precision, evaluations=evaluations, gaps=costs, full=full)
    _show(found, figure, as_json)


def _show(found: Inspection, figure: Path | None, as_json: bool) -> None:
    """Print what was found, draw it, and exit with 3 if something cannot be told."""
    drawn = found.check is not None or found.told
    show(found, figure if drawn else None, as_json=as_json)
    if not found.identifiable:
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


def _feature_columns(
    table: Table, features: str | None, prices: str | None, others: Sequence[str | None]
) -> list[str] | None:
    """Return the columns to use; the cost of an evaluation is not a feature unless named as one."""
    if features is not None or prices is None:
        return names_in(features)
    return [name for name in table.columns if name and name not in (prices, *others)]
