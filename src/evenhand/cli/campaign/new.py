"""`evenhand campaign new`: begin a campaign from a table of options and one of evaluators."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evenhand.cli.campaign.store import CampaignName, StoreName, command
from evenhand.cli.options import AsJson, Seed
from evenhand.cli.panel_files import capacity_in, cells_in, label_of, named_in, numbers_in
from evenhand.cli.score_tables import scale_in
from evenhand.cli.terminal import console, names_in, print_json
from evenhand.errors import InputError, NotIdentifiableError

if TYPE_CHECKING:
    from evenhand.questions import Askable, Questions
    from evenhand.tables.sources import Source

_NOT_COMPARABLE = 3
_WHO, _SCORES, _END, _TICKETS = (
    "Who is asked, and about what",
    "What scores are",
    "When it ends",
    "How tickets are handed out",
)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def new(
    store: StoreName,
    name: CampaignName,
    options: Annotated[
        Path,
        typer.Argument(
            metavar="OPTIONS.csv",
            help="One line per option, with a header: CSV, Parquet or Excel.",
            show_default=False,
        ),
    ],
    *,
    evaluators: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGES.csv|A,B,…",
            help="Who can be asked: a file with one line each, or names, also NAME=GROUP,… "
            "Without it there is one evaluator, and options need features.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column with the group of options and evaluators, such as a nation: evaluators "
            "are partial to their own. If not given, nobody is partial.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    evaluator_group: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="That column of the evaluators, if it has another name.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column with the options' names; the first if not given.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    evaluator_label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column with the evaluators' names; the first otherwise.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns that value depends on.", rich_help_panel=_WHO),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns of the options that evaluators are shown, beside the name. Nothing else "
            "is.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    bias: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Whose bias it is: common to all, of each evaluator, or group; in comparisons "
            "common, or of each judge.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Evaluators say which of two options is better, and by how much.",
            rich_help_panel=_WHO,
        ),
    ] = False,
    position: Annotated[
        bool,
        typer.Option(
            "--position/--no-position",
            help="In comparisons: whether judges may favour what is named first.",
            rich_help_panel=_WHO,
        ),
    ] = True,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help="How often an evaluator may be asked the same; people once, if not given.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="N|COL",
            help="How much an evaluator may be asked in all: a number, or a column of the "
            "evaluators.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of the evaluators with the price of an answer.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    scores: Annotated[
        Literal["votes", "verdicts"] | None,
        typer.Option(
            metavar="KIND",
            help="'votes': 0 or 1. 'verdicts', in comparisons: first, second or tie.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="The lowest and highest score that can be given; others are refused.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Standard deviation of one score, if it is known.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
    deviation: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Standard deviation of what the features do not explain; 0: they are exact.",
            rich_help_panel=_SCORES,
        ),
    ] = None,
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks",
            help="Whether to spend some evaluations on checking the model.",
            rich_help_panel=_SCORES,
        ),
    ] = True,
    confidence: Annotated[
        float,
        typer.Option(metavar="P", help="How sure the choice is to be.", rich_help_panel=_END),
    ] = 0.95,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="What may be lost.", rich_help_panel=_END)
    ] = 0.0,
    at_most: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most evaluations in all.", rich_help_panel=_END),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="X", help="What may be spent, at these prices.", rich_help_panel=_END),
    ] = None,
    looks: Annotated[
        Literal["always", "once"] | None,
        typer.Option(
            metavar="WHEN",
            help="Where everything is asked once: look at the scores 'always', or 'once' in the "
            "end, which is sure more often.",
            rich_help_panel=_END,
        ),
    ] = None,
    lease: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long a ticket is somebody's, such as 20m, 8h or 3d. A score that comes later "
            "still counts, unless another came first.",
            rich_help_panel=_TICKETS,
        ),
    ] = "1d",
    retries: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="How often a ticket that failed is handed out again.",
            rich_help_panel=_TICKETS,
        ),
    ] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Begin a campaign: who is to be asked about what, until when.

    The store is made if it is not there. Nothing is asked yet.

    **Examples**

    `evenhand campaign new prize.db prize skaters.csv --evaluators judges.csv --group nation
    --show programme,video --scale 0,100`

    `evenhand campaign new prize.db prompts prompts.csv --evaluators models.csv --group family
    --compare --scores verdicts --prices price --budget 200`

    `evenhand campaign new prize.db solo skaters.csv --group side --label skater
    --features base_value,max_base,ability --at-most 500`

    **Exit codes**: 0 it was made; 2 what was given cannot be used; 3 no number of answers could
    tell the options apart.
    """
    from evenhand.campaigns import Campaign  # noqa: PLC0415 # loads sqlalchemy
    from evenhand.tables.opened import opened as opened_table  # noqa: PLC0415 # loads pyarrow

    what = opened_table(options)
    shown = _display(what, label, group, show)
    seconds = seconds_in(lease, "--lease")
    if evaluators is None:
        for flag, given in {
            "--compare": compare,
            "--capacity": capacity is not None,
            "--workload": workload is not None,
            "--prices": prices is not None,
            "--bias": bias is not None,
        }.items():
            if given:
                raise InputError(
                    f"{flag} is for several evaluators; say who they are: --evaluators."
                )
        asked = _alone(options, what, group, label, features)
    else:
        asked = _panel(
            what,
            evaluators,
            columns=(label, group, evaluator_label, evaluator_group),
            features=features,
            compare=compare,
            position=position,
            bias=bias,
            capacity=capacity,
            workload=workload,
            prices=prices,
        )
    try:
        made = Campaign.create(
            store,
            name,
            asked,
            confidence,
            tolerance,
            at_most,
            budget=budget,
            lease=seconds,
            retries=retries,
            noise_scale=noise,
            deviation=deviation,
            scores=scores,
            bounds=scale_in(scale),
            checks=checks,
            looks=looks,
            seed=seed,
            display=shown,
        )
    except NotIdentifiableError as error:
        if as_json:
            print_json({"comparable": False, "reason": str(error)})
        else:
            console().print(str(error), style="bold")
        raise typer.Exit(_NOT_COMPARABLE) from None
    made.close()
    _say(store, name, asked, shown, as_json)


def _say(
    store: str, name: str, asked: Askable, shown: dict[str, dict[str, str]], as_json: bool
) -> None:
    from evenhand.questions import Questions  # noqa: PLC0415 # with the rest

    questions = Questions.of(asked)
    columns = list(dict.fromkeys(column for own in shown.values() for column in own))
    if as_json:
        print_json(
            {
                "store": store,
                "campaign": name,
                "options": len(questions.options),
                "evaluators": list(questions.evaluators),
                "questions": len(questions),
                "shown": columns,
            }
        )
        return
    out = console()
    n = len(questions.evaluators)
    by = f", {n:,} evaluator{'s' * (n != 1)}" if n else ""
    out.print(
        f"Campaign {name!r} is in {store}: {len(questions.options):,} options{by}, "
        f"{len(questions):,} questions.",
        style="bold",
        soft_wrap=True,
    )
    beside = f" and {', '.join(columns)}" if columns else ""
    out.print(f"Evaluators see names{beside}, and nothing else.\n", soft_wrap=True)
    who = ["--evaluator", questions.evaluators[0]] if n else []
    out.print("Next, one at a time or ten on a sheet to print or mail:")
    out.print(f"  {command('ask', store, name, *who)}", soft_wrap=True)
    sheet = ["-n", "10", "--sheet", "sheet.csv"]
    out.print(f"  {command('ask', store, name, *who, *sheet)}", soft_wrap=True)


def _alone(
    path: Path, table: Source, group: str | None, label: str | None, features: str | None
) -> Askable:
    """Return options that one evaluator is asked about, by their features."""
    from evenhand.actions import ActionSet  # noqa: PLC0415 # with the rest

    if group is None or features is None:
        raise InputError(
            "one evaluator alone needs the group that scores may favour (--group) and features "
            "that say what options are worth (--features); or name several evaluators: "
            "--evaluators."
        )
    return ActionSet.from_csv(path, group, label_of(table, label, group), names_in(features))


def _panel(
    what: Source,
    evaluators: str,
    *,
    columns: tuple[str | None, str | None, str | None, str | None],
    features: str | None,
    compare: bool,
    position: bool,
    bias: str | None,
    capacity: str | None,
    workload: str | None,
    prices: str | None,
) -> Questions:
    """Return the questions to several evaluators."""
    import numpy as np  # noqa: PLC0415 # with the rest

    from evenhand.questions import Questions  # noqa: PLC0415 # with the rest

    label, group, evaluator_label, evaluator_group = columns
    options = named_in(what, label, "--label", group, "--group")
    judges, who = _evaluators(evaluators, evaluator_label, evaluator_group, group)
    more: dict[str, Any] = {"workload": None if workload is None else _workload(who, workload)}
    if capacity is not None:
        more["capacity"] = capacity_in(capacity)
    if prices is not None:
        more["prices"] = numbers_in(_needs(who, "--prices"), prices, "--prices", "a price")
    if compare:
        more["capacity"] = more.get("capacity", 1) if capacity is None else more["capacity"]
        if features is not None:
            raise InputError("--features is not used in comparisons (--compare); leave it out.")
        return Questions.comparisons(
            options,
            judges,
            position=position,
            bias={"evaluator": "judge"}.get(bias or "", bias),  # type: ignore[arg-type] # checked there
            **more,
        )
    known = None
    if (named := names_in(features)) is not None:
        known = np.column_stack(
            [numbers_in(what, c, "--features", "a feature", -np.inf) for c in named]
        )
    grouped = any(g is not None for g in (*options.values(), *judges.values()))
    return Questions.panel(
        options,
        judges,
        features=known,
        partial="same group" if grouped else None,
        bias=bias or "common",  # type: ignore[arg-type] # checked there
        **more,
    )


def _evaluators(
    given: str, label: str | None, column: str | None, group: str | None
) -> tuple[dict[str, str | None], Source | None]:
    """Return evaluators with their groups, and their table if they have one."""
    from evenhand.tables.opened import opened as opened_table  # noqa: PLC0415 # loads pyarrow

    if Path(given).suffix or os.path.exists(given):
        who = opened_table(Path(given))
        flag = "--evaluator-group" if column else "--group"
        return named_in(who, label, "--evaluator-label", column or group, flag), who
    judges: dict[str, str | None] = {}
    for one in names_in(given) or []:
        person, _, side = (part.strip() for part in one.partition("="))
        if not person or person in judges:
            raise InputError(
                f"--evaluators is a file, or different names such as P,Q or P=FRA,Q=ITA; got "
                f"{given!r}."
            )
        judges[person] = side or None
    return judges, None


def _needs(who: Source | None, flag: str) -> Source:
    if who is None:
        raise InputError(f"{flag} names a column of the evaluators; give --evaluators as a file.")
    return who


def _workload(who: Source | None, given: str) -> Any:
    try:
        return int(given)
    except ValueError:
        return numbers_in(_needs(who, "--workload"), given, "--workload", "a workload")


def _display(
    table: Source, label: str | None, group: str | None, show: str | None
) -> dict[str, dict[str, str]]:
    """Return what evaluators are shown of each option."""
    columns = names_in(show) or []
    if group is not None and group in columns:
        raise InputError(
            f"--show names the column of groups, {group!r}, and evaluators never see a group; "
            "leave it out."
        )
    named = label_of(table, label, group)
    names = cells_in(table, named, "--label")
    shown = {c: cells_in(table, c, "--show") for c in columns if c != named}
    return {
        name: {c: cells[row] or "" for c, cells in shown.items()}
        for row, name in enumerate(names)
        if name is not None and shown
    }


def seconds_in(text: str, flag: str) -> float:
    """Return a time as people write it, in seconds.

    Examples
    --------
    >>> seconds_in("90", "--lease"), seconds_in("1.5h", "--lease"), seconds_in("3d", "--lease")
    (90.0, 5400.0, 259200.0)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([smhdw]?)\s*", text)
    if not found or float(found[1]) == 0.0:
        raise InputError(f"{flag} is a time such as 90s, 20m, 8h, 3d or 2w; got {text!r}.")
    return float(found[1]) * _SECONDS[found[2]]
