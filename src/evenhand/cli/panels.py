"""Who is asked about what: tables of options and evaluators, as questions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.actions import ActionSet
from evenhand.answers.question import compares
from evenhand.cli.options import ASKED, Said, names_in, switch
from evenhand.cli.output import table_at
from evenhand.errors import InputError
from evenhand.questions import UNLIMITED, Askable, Questions
from evenhand.questions.inputs import GROUP, label_in
from evenhand.questions.tables import newcomers_in, panel_of
from evenhand.tables.opened import of_rows
from evenhand.tables.texts import whole_in

if TYPE_CHECKING:
    from evenhand.tables.columns import Table

_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet", ".gz", ".zst", ".bz2")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Who is asked about what, and how: options of a command."""

    column: Said
    evaluators: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGES.csv|A,B,…",
            help="Who can be asked: a file with one line each, or names, also NAME=GROUP,… "
            "Without it there is one evaluator, and options need features.",
            rich_help_panel=ASKED,
        ),
    ] = None
    ask: Said
    assume: Said

    def refuse(self, *names: str) -> None:
        """Refuse what has no meaning without a table, or names, of evaluators."""
        for flag, said in ("--column", self.column), ("--ask", self.ask), ("--assume", self.assume):
            if given := [name for name in names if name in said]:
                raise InputError(
                    f"{flag} {given[0]} is for several evaluators; say who they are: --evaluators."
                )

    def questions(self, options: Table) -> Questions:
        """Return the questions to several evaluators, without conflicts of interest."""
        if "features" in self.column:
            raise InputError(
                "features say what options are worth to one evaluator; with --evaluators they are "
                "compared by their own scores: leave out --column features."
            )
        who, roles = self._evaluators()
        often = self.ask.get("capacity", "1").lower()
        label = label_in(options, roles.get("option"), roles.get("option_group"))
        return panel_of(
            options,
            who,
            roles,
            capacity=None if often == "none" else whole_in(often, "--ask capacity"),
            workload=self._workload(),
            conflicts=_conflicts(self.ask.get("conflicts"), options, label),
            compare=switch(self.ask, "--ask", "pairs", False),
            position=switch(self.assume, "--assume", "position", True),
            bias=self.assume.get("bias"),
        )

    def read(
        self, options: Path, like: Askable | None = None
    ) -> tuple[Askable, dict[str, dict[str, str]]]:
        """Return what can be asked about a table of options, and what is shown of each; features
        are in the units of those before, if there were any.
        """
        table, columns = table_at(options), self.column
        shown = self._shown(table)
        if self.evaluators is not None:
            return self.questions(table), shown
        self.refuse("prices", "pairs", "conflicts", "capacity", "workload", "bias")
        group, features = columns.get("option_group"), columns.get("features")
        if group is None or features is None:
            raise InputError(
                "one evaluator alone needs the group that scores may favour (--column "
                "option_group) and features that say what options are worth (--column features); "
                "or name several evaluators: --evaluators."
            )
        label = label_in(table, columns.get("option"), group)
        like = like if isinstance(like, ActionSet) else None
        return ActionSet.from_table(table, group, label, names_in(features), like=like), shown

    def newcomers(self, before: Questions) -> dict[str, Any]:
        """Return who comes in addition, and at what price, as `Campaign.extend` takes it."""
        who, roles = self._evaluators()
        return newcomers_in(who, roles, self._workload(), before.evaluators)

    def like(self, options: Path, before: Askable, shown: Sequence[str]) -> Panel:
        """Return what is left unsaid of more questions, by those before and by where names are."""
        questions = Questions.of(before)
        column, ask, assume = dict(self.column), dict(self.ask), dict(self.assume)
        named = {"option": _column_with(options, questions.options.labels), "evaluator": None}
        if self.evaluators is not None:
            largest = int(questions.capacity.max())
            ask["capacity"] = "none" if largest >= UNLIMITED else str(largest)
            if _is_file(self.evaluators):
                named["evaluator"] = _column_with(self.evaluators, questions.evaluators)
        column |= {role: found for role, found in named.items() if found is not None}
        if shown:
            column["show"] = ",".join(shown)
        if isinstance(before, Questions) and compares(before):
            ask["pairs"] = "yes"
        if not any(one.kind == "position" for one in questions.columns):
            assume["position"] = "no"
        return replace(self, column=column, ask=ask, assume=assume)

    def _evaluators(self) -> tuple[Table, dict[str, str]]:
        """Return evaluators as a table, and which column has which role."""
        given, roles = self.evaluators or "", dict(self.column)
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
            return of_rows(rows, "--evaluators"), roles | own
        who, column = table_at(given), roles.get("option_group")
        if column and column not in who.columns and GROUP in who.columns:
            column = GROUP
        return who, ({"evaluator_group": column} if column else {}) | roles

    def _workload(self) -> int | str | None:
        """Return how much an evaluator may be asked, or the column that says it."""
        most = self.ask.get("workload")
        is_number = most is not None and most.lstrip("+-").isdecimal()
        return whole_in(most or "", "--ask workload") if is_number else most

    def _shown(self, table: Table) -> dict[str, dict[str, str]]:
        """Return what evaluators are shown of each option."""
        columns, group = names_in(self.column.get("show")) or [], self.column.get("option_group")
        if group is not None and group in columns:
            raise InputError(
                f"--column show names the column of groups, {group!r}, and evaluators never "
                "see a group; leave it out."
            )
        label = label_in(table, self.column.get("option"), group)
        names = table.texts(label, "--column option")
        shown = {c: table.texts(c, "--column show") for c in columns if c != label}
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
    cells = zip(options.texts(label), options.texts(given, "--ask conflicts"), strict=True)
    for row, (option, named) in enumerate(cells):
        names = filter(None, map(str.strip, (named or "").split(";")))
        rows += [{"option": option, "evaluator": name} for name in names]
        places += [row] * (len(rows) - len(places))
    if not rows:
        return None
    found = of_rows(rows, options.name)
    found.where = lambda rows: options.where([places[row] for row in rows])
    return found
