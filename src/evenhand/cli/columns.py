"""Which column has which role, and how a table is read: options declared once, for all commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.tables import grades_in, scores_at
from evenhand.cli.terminal import names_in
from evenhand.errors import InputError
from evenhand.scores.grades import typed_scale

SCORES = "What scores are"
"""What a group of options is called in the help."""

_NOTHING = "none"
_ROLES = {
    "option": "what is scored.",
    "evaluator": "who gives the scores.",
    "score": "the scores.",
    "rival": "in comparisons, the option that stands second. The score then says who won (first, "
    "second, tie; 1 or 0), or by how much the first is better.",
    "item": "what the option was tried on, such as a prompt or a programme: A,B,…",
    "event": "where options compete; an evaluator may be severe at one and lenient at another: "
    "A,B,…",
    "option_group": "groups of options, such as nations: evaluators may favour their own. An empty "
    "cell is in none. For scores also NAME=GROUP,…",
    "evaluator_group": "groups of evaluators; in a table of their own the column that the options "
    "have, if not said.",
    "rival_group": "in comparisons, groups of the rivals.",
    "partial": "instead of groups, how partial the evaluator is to the option, from 0 to 1.",
    "time": "when scores were given: drift shows. In the order of the lines if not said.",
    "reference": "what the score should have been, where something impartial knows.",
    "cluster": "what scores hang together by, such as a template or a session: errors are then by "
    "clusters: A,B,…",
    "within": "the category of every option, in which alone options are compared; --top is of "
    "each. Evaluators have one leniency across all. Also NAME=CATEGORY,…",
    "attributes": "numbers that scores may react to and value does not, such as a length; each has "
    "a bias of its own: A,B,… Lengths of answers against one baseline, if not said.",
    "features": "numbers that value depends on, which scores are not: A,B,…",
    "prices": "the price of an answer, in the table of evaluators.",
    "key": "of a log, what a score is known by, so that it counts once. Its line if not said.",
}
OF_SCORES = (
    *("option", "evaluator", "score", "rival", "item", "event"),
    *("option_group", "rival_group", "evaluator_group", "partial", "time"),
)
"""The roles of columns in a table of scores."""
OF_NEWCOMERS = ("option_group", "evaluator_group", "features", "prices")
OF_PANELS = ("option", "evaluator", *OF_NEWCOMERS)
"""The roles of columns in tables of options and evaluators."""

Columns = Mapping[str, str]
"""What `--column` said: the column of each role."""


def _of(*roles: str) -> Any:
    """Return the option that says which column has which of these roles."""
    each = "\n".join(f"- {role}: {_ROLES[role]}" for role in roles)
    return Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COL",
            help=f"Which column has which role; given again for each.\n\n{each}",
            rich_help_panel="What the columns are",
        ),
    ]


def _named(given: list[str] | None, roles: tuple[str, ...]) -> Columns:
    """Return the column of each role."""
    found: dict[str, str] = {}
    for one in given or []:
        role, equals, column = (part.strip() for part in one.partition("="))
        if not equals or not column:
            raise InputError(
                f"--column is ROLE=COL; got {one!r}. The roles are {', '.join(roles)}."
            )
        if role not in roles:
            near = get_close_matches(role.lower().replace("-", "_"), roles, 1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise InputError(
                f"--column has no role {role!r} here{meant} The roles are {', '.join(roles)}."
            )
        if role in found:
            raise InputError(
                f"--column says {role} twice, {found[role]!r} and {column!r}; leave one out."
            )
        found[role] = column
    return found


def _read(role: str, column: str) -> Any:
    """Return a column as `audit` and `decide` take it, or several, or groups written out."""
    if role == "attributes":
        return () if column == _NOTHING else names_in(column)
    if column == _NOTHING:
        return None
    if role in ("item", "event", "cluster"):
        return names_in(column) if "," in column else column
    if role == "option":  # of logs it may be several; a column's name may have ", " in it
        return names_in(column) if "," in column and ", " not in column else column
    pairs = names_in(column) or []
    if role in ("option_group", "evaluator_group", "within") and all("=" in p for p in pairs):
        return {name.strip(): group.strip() for name, group in (p.split("=", 1) for p in pairs)}
    return column


def _reading(*flags: str, metavar: str | None = None, help: str, panel: str | None = None) -> Any:
    return typer.Option(
        *flags, metavar=metavar, help=help, rich_help_panel=panel or "How the table is read"
    )


SCALE = _reading(
    metavar="LOW,HIGH",
    help="The lowest and highest score that can be given; 5,1 where 1 is the best.",
    panel=SCORES,
)
BEST = _reading(
    metavar="high|low",
    help="Whether the highest scores are the best, or the lowest, as of ranks and marks from 1.",
    panel=SCORES,
)
GRADES = _reading(
    metavar="A,B,…",
    help="Scores that are letters or words, the best first: equally spaced, unless numbers are "
    "stated, A=4,B=3.",
    panel=SCORES,
)
DECIMAL = _reading(metavar=". or ,", help="What stands before decimals; found out if not said.")


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """What the user says about a table of scores: options of a command."""

    columns: Columns
    scale: Annotated[str | None, SCALE] = None
    best: Annotated[str | None, BEST] = None
    wide: Annotated[
        str | None,
        _reading(
            metavar="all|A,B,…",
            help="A line for each option and a column for each evaluator: all that play no other "
            "part, or which.",
        ),
    ] = None
    repeats: Annotated[
        bool,
        _reading("--repeats", help="An evaluator may have scored the same thing several times."),
    ] = False
    missing: Annotated[
        str,
        _reading(
            metavar="WHAT", help="Lines with an empty cell: 'refuse' the table, or 'drop' them."
        ),
    ] = "refuse"
    decimal: Annotated[str | None, DECIMAL] = None
    grades: Annotated[str | None, GRADES] = None
    copies: Annotated[
        str,
        _reading(
            metavar="WHAT",
            help="Lines that are the same in every cell: 'refuse' the table, or 'drop' copies.",
        ),
    ] = "refuse"
    metric: Annotated[
        list[str] | None,
        _reading(
            metavar="NAME",
            help="Which metric of a log; needed where it has several. May be given again.",
        ),
    ] = None
    families: Annotated[
        Path | None,
        _reading(
            metavar="FILE",
            help="Families of models in a log, beside those known: a table (name, family).",
        ),
    ] = None

    def at(self, scores: str) -> Any:
        """Return what to read."""
        return scores_at(scores, self.metric or None, self.families)

    def parts(self) -> dict[str, Any]:
        """Return how it is read, as `audit` and `decide` take it."""
        said = vars(self) | {
            "scale": None if self.scale is None else typed_scale(self.scale),
            "grades": grades_in(self.grades),
            "wide": self.wide == "all" or names_in(self.wide) or False,
        }
        for name in ("columns", "metric", "families"):
            del said[name]
        return said | {role: _read(role, column) for role, column in self.columns.items()}


def takes(*roles: str, **groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these classes in place of the parameters of that name, and
    `--column` with these roles in place of `columns`.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        fields = {
            name: list(inspect.signature(group, eval_str=True).parameters.values())
            for name, group in groups.items()
        }
        own = inspect.signature(command, eval_str=True)
        column = inspect.Parameter(
            "column", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_of(*roles)
        )

        @functools.wraps(command)
        def run(**given: Any) -> None:
            given["columns"] = _named(given.pop("column"), roles)
            made = {
                name: group(**{field.name: given.pop(field.name) for field in fields[name]})
                for name, group in groups.items()
            }
            command(**given, **made)

        parts = chain(*(fields.get(p.name, [p]) for p in own.parameters.values()))
        run.__signature__ = own.replace(  # type: ignore[attr-defined] # read by typer
            parameters=[column if p.name == "columns" else p for p in parts]
        )
        run.roles = roles  # type: ignore[attr-defined] # for what is said of an error
        return run

    return with_options
