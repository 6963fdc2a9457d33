"""`evenhand decide`: who is best by scores that exist, how sure that is, and what to ask next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.answers import decide as decided
from evenhand.answers.page import WAYS, required
from evenhand.cli.options import (
    CALLS,
    OF_SCORES,
    READING,
    TARGETS,
    Called,
    Confidence,
    Said,
    Trusted,
    number,
    switch,
    takes,
    target_in,
)
from evenhand.cli.output import NOT_IDENTIFIABLE, checked, end_untold, show, table_at
from evenhand.cli.scores import ScoreTable
from evenhand.errors import InputError, NotIdentifiableError, RequirementError
from evenhand.questions.inputs import named
from evenhand.readers import is_log

_SURELY_NOT, _CANNOT_TELL = 1, 4


@takes(
    column=(*OF_SCORES, "cluster", "within", "attributes"),
    read=READING,
    assume=("scope", "assigned", "position", "noise"),
    target=TARGETS,
    call=CALLS,
)
def decide(
    first: Annotated[
        str,
        typer.Argument(
            metavar="[OPTIONS.csv] SCORES.csv | LOG…",
            help="One line per option, if there are more than were scored; and one line per score: "
            "CSV, Parquet or Excel; - reads a pipe. Or logs of an evaluation tool, or folders of "
            "them, which are read together.",
            show_default=False,
        ),
    ],
    others: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
    *,
    table: ScoreTable,
    assume: Said,
    trusted: Trusted = None,
    target: Said,
    confidence: Confidence = 0.95,
    compare: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="By how much A is better than B, and not worse than it."),
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(
            metavar="sure|probable[=NAME]",
            help="A gate: exit 0 only if what is wanted is sure (or has a chance of --confidence); "
            "of this option, if named, else of all.",
        ),
    ] = None,
    shown: Called,
) -> None:
    """Who is best by these scores, how sure is that, and what should be asked next?

    Columns called option, evaluator, score, rival, item, cluster, option_group and evaluator_group
    are found by their names; --column names others, and says by 'none' that no column is. Nothing
    is asked, and nothing is written unless --report asks for it.

    **Examples**

    `evenhand decide scores.csv --column option=skater --column evaluator=judge
    --column option_group=nation --column evaluator_group=judge_nation`

    `evenhand decide wines.csv scores.csv --column option=wine --column evaluator=taster
    --target tolerance=0.5`

    `evenhand decide reviews.csv --target top=10 --scale 1,10 --report funded.html`

    `evenhand decide reviews.csv --target top=3 --column within=category --scale 1,10`

    `evenhand decide runs.csv --target against=baseline,margin=0.02 --require sure`

    `evenhand decide log.json --report choice.html`

    `evenhand decide old.eval new.eval --report compared.html`

    **Exit codes**: 0 there is an answer, sure or not; with --require, it passes; 2 what was given
    cannot be used; 3 these scores do not compare the options (the answer says what to ask). With
    --require also: 1 surely not; 4 these scores are not enough to tell.
    """
    checked(shown)
    how, _, whom = (require or "").partition("=")
    if require is not None and how not in WAYS:
        raise InputError(f"--require is sure, probable or sure=NAME; got {require!r}.")
    options, scores, two_logs = _files(first, others or [])
    try:
        answer = decided(
            None if options is None else _options(options, table.column),
            table.at(scores),
            confidence,
            **target_in(target),
            **table.how(),
            scope=assume.get("scope", "like these"),  # type: ignore[arg-type] # it is checked there
            trusted=None if trusted is None else trusted.split(","),
            position=switch(assume, "--assume", "position", True),
            assigned=assume.get("assigned", "before"),  # type: ignore[arg-type] # likewise
            noise_scale=number(assume, "--assume", "noise"),
        )
    except NotIdentifiableError as error:
        end_untold(error, "comparable", as_json=shown.as_json)
    more: dict[str, Any] = {"comparable": answer.comparable}
    if compare is not None:
        more["compared"] = answer.compare(*_two_of(compare, answer.options.labels))
    elif two_logs and len(answer.options) == 2 and answer.comparable:
        more["compared"] = answer.compare(*(one.option for one in answer.ranking))
    show(answer, shown, **more)
    if not answer.comparable:
        raise typer.Exit(NOT_IDENTIFIABLE)
    if how:
        try:
            typer.echo(f"evenhand: {required(answer, how, whom or None)}", err=True)
        except RequirementError as error:
            typer.echo(f"evenhand: {error}", err=True)
            raise typer.Exit(_SURELY_NOT if error.surely else _CANNOT_TELL) from None


def _files(first: str, others: Sequence[str]) -> tuple[str | None, str | list[str], bool]:
    """Return the options, if they have a file, the scores, and whether these are several logs."""
    if not others:
        return None, first, False
    if first != "-" and is_log(Path(first)):
        return None, [first, *others], True
    if len(others) > 1:
        said = "several tables are options and scores, or else one folder"
        raise InputError(f"{first!r} is no log; {said}.")
    return first, others[0], False


def _two_of(given: str, labels: Sequence[str]) -> tuple[str, str]:
    """Return the two names in 'A,B'; a name may have commas of its own."""
    commas = [i for i, letter in enumerate(given) if letter == ","]
    pairs = [(given[:i].strip(), given[i + 1 :].strip()) for i in commas]
    if not pairs:
        raise InputError(f"--compare needs two options, such as A,B; got {given!r}.")
    return next((pair for pair in pairs if set(pair) <= set(labels)), pairs[0])


def _options(path: str, columns: Said) -> Any:
    """Return the options of a file, with their groups where it has them."""
    table = table_at(path)
    option, group = (
        column if (column := columns.get(role, role)) in table.columns else None
        for role in ("option", "option_group")
    )
    return named(table, table.name, label=option, group=group)
