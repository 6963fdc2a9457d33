"""Two tables as a panel, options and evaluators: what commands and pages make of what they get."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.questions.inputs import Named, named
from evenhand.questions.questions import Questions
from evenhand.tables.columns import Defects

if TYPE_CHECKING:
    from evenhand.tables.columns import Table

Roles = Mapping[str, str]
"""The columns of ``option`` and ``evaluator`` (the first if not said), their ``option_group`` and
``evaluator_group``, and of the ``prices`` of evaluators."""


def panel_of(
    options: Table,
    evaluators: Table,
    roles: Roles,
    *,
    capacity: int | None,
    workload: int | str | None = None,
    conflicts: Table | None = None,
    compare: bool = False,
    position: bool = True,
    bias: Any = None,
) -> Questions:
    """Return the questions to the evaluators of a table about the options of another.

    The workload is as for `Questions.panel`, or a column of the evaluators; the conflicts are in
    columns option and evaluator.
    """
    choice = people_in(options, "option", roles)
    judges = people_in(evaluators, "evaluator", roles)
    if choice.sides and not judges.sides:
        raise InputError(
            "options have groups, and evaluators have none; say theirs, too, beside their names or "
            "in a column of their table, or leave out those of options: then nobody is taken to "
            "be partial."
        )
    more = _numbers(evaluators, roles, workload) | {"capacity": capacity}
    if compare:
        bias = "judge" if bias == "evaluator" else bias
        made = Questions.comparisons(choice, judges, position=position, bias=bias, **more)
    else:
        made = Questions.panel(choice, judges, bias=bias or "common", **more)
    return made if conflicts is None else _barred(made, conflicts)


def newcomers_in(
    evaluators: Table, roles: Roles, workload: int | str | None, known: Collection[str]
) -> dict[str, Any]:
    """Return who comes in addition to those known, as `Campaign.extend` takes it."""
    judges = people_in(evaluators, "evaluator", roles)
    fresh = [row for row, name in enumerate(judges.names) if name not in known]
    numbers = _numbers(evaluators, roles, workload)
    return {"evaluators": judges} | {
        what: given if isinstance(given, int) else given[fresh] for what, given in numbers.items()
    }


def people_in(table: Table, role: str, roles: Roles) -> Named:
    """Return the names and groups of the options, or the evaluators, of a table."""
    return named(table, f"{role}s", label=roles.get(role), group=roles.get(f"{role}_group", ""))


def _numbers(evaluators: Table, roles: Roles, workload: int | str | None) -> dict[str, Any]:
    """Return prices and workloads, where they are said."""
    found: dict[str, Any] = {}
    if "prices" in roles:
        found["prices"] = evaluators.numbers(roles["prices"], "prices=", above=0.0)
    if isinstance(workload, str):
        found["workload"] = evaluators.numbers(workload, "workload=", above=0.0)
    elif workload is not None:
        found["workload"] = workload
    return found


def _barred(panel: Questions, conflicts: Table) -> Questions:
    """Return the questions without conflicts of interest; an error names the lines of others."""
    columns = (conflicts.texts(column) for column in ("option", "evaluator"))
    pairs = [(one or "", other or "") for one, other in zip(*columns, strict=True)]
    try:
        return panel.barring(pairs)
    except InputError:
        wrong = Defects(conflicts)
        for row, pair in enumerate(pairs):
            with wrong.at(row):
                panel.barring([pair])
        wrong.refuse()
        raise
