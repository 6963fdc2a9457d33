"""Who is asked about what, from tables: the options of commands that make questions, and how."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.actions import ActionSet
from evenhand.answers.question import compares
from evenhand.cli.columns import Columns
from evenhand.cli.tables import table_at, table_of
from evenhand.cli.terminal import names_in
from evenhand.errors import InputError
from evenhand.questions import UNLIMITED, Askable, Questions
from evenhand.questions.inputs import GROUP, label_in
from evenhand.questions.tables import newcomers_in, panel_of
from evenhand.tables.texts import whole_in

if TYPE_CHECKING:
    from evenhand.tables.columns import Table

_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet", ".gz", ".zst", ".bz2")

OF_SEVERAL = ("compare", "conflicts", "capacity", "workload", "bias")
"""Options that are for several evaluators."""

WHO = "Who is asked, and about what"
"""What these options are called in the help."""


def _option(*flags: str, metavar: str | None = None, help: str) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=WHO)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What the user says about tables of options and evaluators: options of a command."""

    columns: Columns
    evaluators: Annotated[
        str | None,
        _option(
            metavar="JUDGES.csv|A,B,…",
            help="Who can be asked: a file with one line each, or names, also NAME=GROUP,… "
            "Without it there is one evaluator, and options need features.",
        ),
    ] = None
    bias: Annotated[
        str | None,
        _option(
            metavar="KIND",
            help="Whose bias it is: common to all, of each evaluator, or group; in comparisons "
            "common, or of each judge.",
        ),
    ] = None
    workload: Annotated[
        str | None,
        _option(
            metavar="N|COL",
            help="How much an evaluator may be asked in all: a number, or a column of the "
            "evaluators.",
        ),
    ] = None
    conflicts: Annotated[
        str | None,
        _option(
            metavar="FILE|COL",
            help="Who must not judge what: a table with the columns option and evaluator, a line "
            "for each conflict of interest; or a column of the options that names evaluators, "
            "separated by semicolons.",
        ),
    ] = None

    def newcomers(self, before: Questions) -> dict[str, Any]:
        """Return who comes in addition, and at what price, as `Campaign.extend` takes it."""
        who, roles = self._evaluators()
        return newcomers_in(who, roles, self._workload(), before.evaluators)

    def _evaluators(self) -> tuple[Table, dict[str, str]]:
        """Return evaluators as a table, and which column has which role."""
        given, roles = self.evaluators or "", dict(self.columns)
        if not _is_file(given):
            pairs = (one.partition("=") for one in names_in(given) or [])
            rows = [{"evaluator": who.strip(), GROUP: of.strip()} for who, _, of in pairs]
            names = {row["evaluator"] for row in rows}
            if not rows or "" in names or len(names) < len(rows):
                raise InputError(
                    "--evaluators is a file, or different names such as P,Q or P=FRA,Q=ITA; got "
                    f"{given!r}."
                )
            own = {"evaluator": "evaluator", "evaluator_group": GROUP}
            return table_of(rows, "--evaluators"), roles | own
        who, column = table_at(given), roles.get("option_group")
        if column and column not in who.columns and GROUP in who.columns:
            column = GROUP
        return who, ({"evaluator_group": column} if column else {}) | roles

    def _workload(self) -> int | str | None:
        """Return how much an evaluator may be asked, or the column that says it."""
        if self.workload is None or not self.workload.lstrip("+-").isdecimal():
            return self.workload
        return whole_in(self.workload, "--workload")

    def like(self, options: Path, before: Askable, shown: Sequence[str]) -> NewTables:
        """Return what is left unsaid of more questions, by those before and by where names are."""
        questions = Questions.of(before)
        who, often = None, None
        if self.evaluators is not None:
            largest = int(questions.capacity.max())
            often = "none" if largest >= UNLIMITED else str(largest)
            if _is_file(self.evaluators):
                who = _column_with(self.evaluators, questions.evaluators)
        named = {"option": _column_with(options, questions.options.labels), "evaluator": who}
        columns = {role: column for role, column in named.items() if column is not None}
        return NewTables(
            **vars(self) | {"columns": {**self.columns, **columns}},
            capacity=often,
            show=",".join(shown),
            compare=isinstance(before, Questions) and compares(before),
            position=any(column.kind == "position" for column in questions.columns),
        )


@dataclass(frozen=True, kw_only=True)
class PanelTables(Tables):
    """What the user says about tables of what can be asked."""

    capacity: Annotated[
        str | None,
        _option(
            metavar="N|none",
            help="How often an evaluator may be asked the same; people once, if not given.",
        ),
    ] = None
    compare: Annotated[
        bool,
        _option(
            "--compare", help="Evaluators say which of two options is better, and by how much."
        ),
    ] = False
    position: Annotated[
        bool,
        _option(
            "--position/--no-position",
            help="In comparisons: whether judges may favour what is named first.",
        ),
    ] = True

    def refuse(self, *names: str) -> None:
        """Refuse what has no meaning without a table, or names, of evaluators."""
        for name in names:
            if name in self.columns or getattr(self, name, None):
                flag = "--column " * (name in self.columns) or "--"
                raise InputError(
                    f"{flag}{name} is for several evaluators; say who they are: --evaluators."
                )

    def panel(self, options: Table) -> Questions:
        """Return the questions to several evaluators, without conflicts of interest."""
        if "features" in self.columns:
            raise InputError(
                "features say what options are worth to one evaluator; with --evaluators they are "
                "compared by their own scores: leave out --column features."
            )
        who, roles = self._evaluators()
        often = (self.capacity or "1").strip().lower()
        return panel_of(
            options,
            who,
            roles,
            capacity=None if often == "none" else whole_in(often, "--capacity"),
            workload=self._workload(),
            conflicts=_conflicts(
                self.conflicts,
                options,
                label_in(options, roles.get("option"), roles.get("option_group")),
            ),
            compare=self.compare,
            position=self.position,
            bias=self.bias,
        )


@dataclass(frozen=True, kw_only=True)
class NewTables(PanelTables):
    """What the user says about tables of a new campaign."""

    show: Annotated[
        str | None,
        _option(
            metavar="A,B,…",
            help="Columns of the options that evaluators are shown, beside the name. Nothing else "
            "is.",
        ),
    ] = None

    def read(
        self, options: Path, like: Askable | None = None
    ) -> tuple[Askable, dict[str, dict[str, str]]]:
        """Return what can be asked about a table of options, and what is shown of each."""
        # Features are in the units that they had in what could be asked before, if there was any.
        table = table_at(options)
        shown = self._display(table)
        if self.evaluators is not None:
            return self.panel(table), shown
        self.refuse("prices", *OF_SEVERAL)
        return self._alone(table, like), shown

    def _alone(self, table: Table, like: Askable | None) -> Askable:
        """Return options that one evaluator is asked about, by their features."""
        group, features = (self.columns.get(role) for role in ("option_group", "features"))
        if group is None or features is None:
            raise InputError(
                "one evaluator alone needs the group that scores may favour (--column "
                "option_group) and features that say what options are worth (--column features); "
                "or name several evaluators: --evaluators."
            )
        return ActionSet.from_table(
            table,
            group,
            label_in(table, self.columns.get("option"), group),
            names_in(features),
            like=like if isinstance(like, ActionSet) else None,
        )

    def _display(self, table: Table) -> dict[str, dict[str, str]]:
        """Return what evaluators are shown of each option."""
        columns = names_in(self.show) or []
        group = self.columns.get("option_group")
        if group is not None and group in columns:
            raise InputError(
                f"--show names the column of groups, {group!r}, and evaluators never "
                "see a group; leave it out."
            )
        named = label_in(table, self.columns.get("option"), group)
        names = table.texts(named, "--column option")
        shown = {c: table.texts(c, "--show") for c in columns if c != named}
        return {
            name: {c: cells[row] or "" for c, cells in shown.items()}
            for row, name in enumerate(names)
            if name is not None and shown
        }


def _is_file(given: str) -> bool:
    # names may have dots, as gpt-4.1 has; a file that is not there should be missed as one
    return given == "-" or os.path.exists(given) or Path(given).suffix.lower() in _ENDINGS


def _column_with(path: str | Path, names: Sequence[str]) -> str | None:
    """Return the column of a table that has all of these names; None if none has."""
    table = table_at(path)
    return next((c for c in table.columns if c and set(names) <= {*table.texts(c)}), None)


def _conflicts(given: str | None, options: Table, label: str) -> Table | None:
    """Return conflicts of interest as a table: that of a file, or what a column of options says."""
    if given is None:
        return None
    if _is_file(given):
        return table_at(given)
    rows: list[dict[str, str | None]] = []
    places: list[int] = []
    cells = zip(options.texts(label), options.texts(given, "--conflicts"), strict=True)
    for row, (option, named) in enumerate(cells):
        names = filter(None, map(str.strip, (named or "").split(";")))
        rows += [{"option": option, "evaluator": name} for name in names]
        places += [row] * (len(rows) - len(places))
    if not rows:
        return None
    found = table_of(rows, options.name)
    found.where = lambda rows: options.where([places[row] for row in rows])
    return found
