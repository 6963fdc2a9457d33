"""What the columns of a table are and how it is read: options declared once, for all commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.tables import (
    column_in,
    columns_in,
    grades_in,
    groups_in,
    scale_in,
    scores_at,
)
from evenhand.cli.terminal import names_in

TABLE, SCORES, READING = "What the columns are", "What scores are", "How the table is read"
"""What groups of options are called in the help."""


def column(help: str, metavar: str = "COL") -> Any:
    """Return an option that names a column, or several."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=TABLE)


def _reading(*flags: str, metavar: str | None = None, help: str, panel: str = READING) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=panel)


OPTION = column("Names of the options: what is scored.")
EVALUATOR = column("Names of the evaluators: who gives the scores.")
SCORE = column("The scores.")
RIVAL = column(
    "In comparisons: the option that stands second. The score then says who won (first, second, "
    "tie; 1 or 0), or by how much the first is better."
)
OPTION_GROUP = column(
    "Groups of options, such as nations: evaluators may favour their own. An empty cell is in "
    "none. For scores also NAME=GROUP,…"
)
EVALUATOR_GROUP = column(
    "Groups of evaluators; in a table of their own the column that the options have, if not said."
)
FEATURES = column("Numbers that value depends on, which scores are not.", "A,B,…")
ATTRIBUTES = column(
    "Numbers that scores may react to and value does not, such as a length; each has a bias of its "
    "own. Lengths of answers against one baseline, if not said; 'none' for none.",
    "A,B,…",
)
PRICES = column(
    "The price of an answer, in the table of evaluators; of options alone, what an evaluation of "
    "each costs, for κ(Δ)."
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


_OF_LOGS = ("metric", "families")
_READ: dict[str, Callable[[Any], Any]] = {  # what is not taken as it is typed
    **dict.fromkeys(("evaluator", "rival"), column_in),
    **dict.fromkeys(("item", "event"), columns_in),
    **dict.fromkeys(("option_group", "evaluator_group"), groups_in),
    "scale": scale_in,
    "grades": grades_in,
}


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """What the user says about a table of scores: options of a command."""

    option: Annotated[str, OPTION] = "option"
    evaluator: Annotated[str, EVALUATOR] = "evaluator"
    score: Annotated[str, SCORE] = "score"
    rival: Annotated[str, RIVAL] = "rival"
    item: Annotated[
        str, column("What the option was tried on, such as a prompt or a programme.", "A,B,…")
    ] = "item"
    event: Annotated[
        str,
        column(
            "Where options compete; an evaluator may be severe at one and lenient at another.",
            "A,B,…",
        ),
    ] = "event"
    option_group: Annotated[str, OPTION_GROUP] = "option_group"
    evaluator_group: Annotated[str, EVALUATOR_GROUP] = "evaluator_group"
    partial: Annotated[
        str | None,
        column("Instead of groups: how partial the evaluator is to the option, from 0 to 1."),
    ] = None
    time: Annotated[
        str | None,
        column("When scores were given: drift shows. In the order of the lines if not said."),
    ] = None
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
        said = {name: value for name, value in vars(self).items() if name not in _OF_LOGS}
        said |= {name: read(said[name]) for name, read in _READ.items()}
        return said | {"wide": self.wide == "all" or names_in(self.wide) or False}


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these classes in place of the parameters of that name."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        fields = {
            name: list(inspect.signature(group, eval_str=True).parameters.values())
            for name, group in groups.items()
        }
        own = inspect.signature(command, eval_str=True)

        @functools.wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: group(**{field.name: given.pop(field.name) for field in fields[name]})
                for name, group in groups.items()
            }
            command(**given, **made)

        parts = (fields.get(p.name, [p]) for p in own.parameters.values())
        run.__signature__ = own.replace(parameters=[*chain(*parts)])  # type: ignore[attr-defined] # read by typer
        return run

    return with_options
