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
from evenhand.cli.tables import capacity_in, label_of, named_in, table_at
from evenhand.cli.terminal import names_in
from evenhand.errors import InputError
from evenhand.questions import UNLIMITED, Askable, Questions
from evenhand.questions.inputs import GROUP
from evenhand.tables.texts import listed

if TYPE_CHECKING:
    from evenhand.tables.columns import Table

_MOST = 10**9  # evaluations of one evaluator
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
        judges, who = PanelTables(**vars(self))._evaluators(self.evaluators or "")
        fresh = [row for row, name in enumerate(judges) if name not in before.evaluators]
        found: dict[str, Any] = {"evaluators": judges if any(judges.values()) else list(judges)}
        if "prices" in self.columns:
            found["prices"] = self._prices(who)[fresh]
        if self.workload is not None:
            most = _workload(who, self.workload)
            found["workload"] = most if isinstance(most, int) else most[fresh]
        return found

    def _prices(self, who: Table | None) -> Any:
        flag = "--column prices"
        return _needs(who, flag).numbers(self.columns["prices"], flag, above=0.0)

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

    def panel(self, options: Table, evaluators: str) -> Questions:
        """Return the questions to several evaluators, without conflicts of interest."""
        made = self._panel(options, evaluators)
        return made if self.conflicts is None else _barred(made, self.conflicts, options)

    def _panel(self, what: Table, evaluators: str) -> Questions:
        """Return the questions to several evaluators."""
        group = self.columns.get("option_group")
        options = named_in(what, "option", self.columns.get("option"), group)
        judges, who = self._evaluators(evaluators)
        if group is not None and not any(judges.values()):
            raise InputError(
                f"option_group says on which side options are, and {listed(list(judges))}, who "
                "judge, are on none; give theirs (such as P=FRA,Q=ITA, or a column of their file: "
                "--column evaluator_group), or leave out --column option_group: then nobody is "
                "partial."
            )
        more: dict[str, Any] = {"capacity": capacity_in(self.capacity or "1")}
        if self.workload is not None:
            more["workload"] = _workload(who, self.workload)
        if "prices" in self.columns:
            more["prices"] = self._prices(who)
        if "features" in self.columns:
            raise InputError(
                "features say what options are worth to one evaluator; with --evaluators they are "
                "compared by their own scores: leave out --column features."
            )
        if self.compare:
            bias = "judge" if self.bias == "evaluator" else self.bias
            return Questions.comparisons(
                options,
                judges,
                position=self.position,
                bias=bias,  # type: ignore[arg-type] # checked there
                **more,
            )
        grouped = any(group is not None for group in (*options.values(), *judges.values()))
        return Questions.panel(
            options,
            judges,
            partial="same group" if grouped else None,
            bias=self.bias or "common",  # type: ignore[arg-type] # checked there
            **more,
        )

    def _evaluators(self, given: str) -> tuple[dict[str, str | None], Table | None]:
        """Return evaluators with their groups, and their table if they have one."""
        if _is_file(given):
            who = table_at(given)
            own, column = (self.columns.get(f"{of}_group") for of in ("evaluator", "option"))
            if column and column not in who.columns and GROUP in who.columns:
                column = GROUP
            return named_in(who, "evaluator", self.columns.get("evaluator"), own or column), who
        judges: dict[str, str | None] = {}
        for one in names_in(given) or []:
            person, _, side = (part.strip() for part in one.partition("="))
            if not person or person in judges:
                raise InputError(
                    "--evaluators is a file, or different names such as P,Q or P=FRA,Q=ITA; got "
                    f"{given!r}."
                )
            judges[person] = side or None
        return judges, None


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
            return self.panel(table, self.evaluators), shown
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
            label_of(table, self.columns.get("option"), group),
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
        named = label_of(table, self.columns.get("option"), group)
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


def _barred(panel: Questions, given: str, options: Table) -> Questions:
    """Return the questions without the conflicts of interest of a file, or of a column."""
    table = table_at(given) if _is_file(given) else options
    conflicts: list[tuple[int, str, str]] = []
    if table is options:
        cells = zip(panel.options.labels, table.texts(given, "--conflicts"), strict=True)
        for row, (option, named) in enumerate(cells):
            names = (name.strip() for name in (named or "").split(";"))
            conflicts += [(row, option, name) for name in names if name]
    else:
        pairs = zip(table.texts("option"), table.texts("evaluator"), strict=True)
        conflicts += [(row, one or "", other or "") for row, (one, other) in enumerate(pairs)]
    for row, option, evaluator in conflicts:
        try:
            panel = panel.barring([(option, evaluator)])
        except InputError as error:
            raise InputError(f"{table.name}: {table.where([row])[0]}: {error}") from None
    return panel


def _needs(who: Table | None, flag: str) -> Table:
    if who is None:
        raise InputError(f"{flag} names a column of the evaluators; give --evaluators as a file.")
    return who


def _workload(who: Table | None, given: str) -> Any:
    if not given.lstrip("+-").isdecimal():
        return _needs(who, "--workload").numbers(given, "--workload", above=0.0)
    number = float(given)
    if not 1.0 <= number <= _MOST:
        raise InputError(
            f"--workload must be a whole number from 1 to {_MOST:,}, or a column of the "
            f"evaluators; got {given[:40]!r}."
        )
    return int(number)
