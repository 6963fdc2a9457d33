"""Options, declared once for all commands: what they say, how it is read, how it is completed."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.errors import InputError
from evenhand.report.nouns import NOUNS
from evenhand.scores.grades import typed_scores
from evenhand.tables.texts import number_in

Said = Mapping[str, str]
"""What an option says whose values are KEY=VALUE."""

TABLES, SCORES = "What the columns are", "What scores are"
ASKED, WANTED, SHOWN = "Who is asked, and what is assumed", "What is wanted", "What is shown"
_KEYED: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "column": ("ROLE=COL", "Which column has which role; none: no column has it.", TABLES, {
        "option": "what is scored.",
        "evaluator": "who gives the scores.",
        "score": "the scores.",
        "wide": "A,B,… or all: a column for each evaluator, with his scores.",
        "rival": "in comparisons, the option that stands second. The score then says who won "
        "(first, second, tie; 1 or 0), or by how much the first is better.",
        "item": "what the option was tried on, such as a prompt or a programme: A,B,…",
        "criterion": "what a mark is on, one of several of a review (see --criteria).",
        "event": "where options compete; an evaluator may be severe at one and lenient at "
        "another: A,B,…",
        "option_group": "groups of options, such as nations: evaluators may favour their own. An "
        "empty cell is in none. For scores also NAME=GROUP,…",
        "evaluator_group": "groups of evaluators; in a table of their own the column that the "
        "options have, if not said.",
        "rival_group": "in comparisons, groups of the rivals.",
        "partial": "instead of groups, how partial the evaluator is to the option, from 0 to 1.",
        "time": "when scores were given: drift shows. In the order of the lines if not said.",
        "reference": "what the score should have been, where something impartial knows.",
        "cluster": "what scores hang together by, such as a template or a session: errors are "
        "then by clusters: A,B,…",
        "within": "the category of every option, in which alone options are compared; top=M is of "
        "each. Evaluators have one leniency across all. Also NAME=CATEGORY,…",
        "attributes": "numbers that scores may react to and value does not, such as a length; "
        "each has a bias of its own: A,B,… Lengths of answers against one baseline, if not said.",
        "features": "numbers that value depends on, which scores are not: A,B,…",
        "categorical": "columns that are categories though they are numbers: A,B,…",
        "prices": "the price of an answer, in the table of evaluators.",
        "show": "what evaluators are shown of an option beside its name, and nothing else: A,B,…",
        "key": "of a log, what a score is known by, so that it counts once. Its line if not said.",
    }),
    "read": ("HOW=WHAT", "How a table is read.", TABLES, {
        "missing": "drop: leave out lines with an empty cell; else the table is refused.",
        "copies": "drop: keep one of lines that are the same in every cell; else refused.",
        "repeats": "an evaluator may have scored the same thing several times.",
        "decimal": "what stands before decimals, . or ,; found out if not said.",
        "metric": "which metric of a log, where it has several: A,B,…",
        "families": "a file, families of models in a log beside those known (name, family).",
    }),
    "ask": ("HOW=WHAT", "How evaluators are asked.", ASKED, {
        "pairs": "which of two options is better, and by how much.",
        "capacity": "how often an evaluator may be asked the same, or none for no limit; people "
        "once, if not said.",
        "workload": "how much an evaluator may be asked in all: a number, or a column of the "
        "evaluators.",
        "conflicts": "who must not judge what: a file with the columns option and evaluator, or a "
        "column of the options that names evaluators, separated by semicolons.",
        "reviews": "for a hand-out: evaluations of each option, each by another evaluator; 3.5 "
        "for three or four. As many as the workload allows, if not said.",
        "checks": "no: spend no evaluations on checking the model.",
        "lease": "how long a ticket is somebody's, such as 20m, 8h or 3d; 1d if not said. A later "
        "score still counts, unless another came first.",
        "retries": "how often a ticket that failed is handed out again; 2 if not said.",
    }),
    "assume": ("WHAT=VALUE", "What is assumed.", ASKED, {
        "bias": "whose bias it is: common to all, of each evaluator, or group; in comparisons "
        "common, or of each judge.",
        "position": "no: judges of comparisons do not favour what is named first.",
        "assigned": "who chose what was scored: before any score was seen, or adaptively, by "
        "looking at earlier ones.",
        "scope": "whom it is about: judges 'like these', or 'these' alone.",
        "noise": "the standard deviation of one score; the unit of all others in a plan if not "
        "said.",
        "lead": "that the best leads all others by so much.",
        "spread": "instead: that the options' values have this standard deviation.",
        "deviation": "the standard deviation of what features do not explain; 0: they are exact.",
        "intercept": "no: values share no constant.",
        "standardize": "no: features are as they stand, and not in standard deviations.",
    }),
    "target": ("WHAT=VALUE", "What is wanted; the best one if nothing is said.", WANTED, {
        "best": "the best one.",
        "top": "the so many best, such as those to be funded.",
        "bar": "those better than this, by the average evaluator; in a plan, worth so much more "
        "than the average one.",
        "against": "those better than this option.",
        "tolerance": "what may be lost at each place.",
        "margin": "the same: by how much they may be worse than the bar, or that option.",
        "chance": "the probability of being certain after one look; 0.8 if not said.",
    }),
    "call": ("NOUN=WORD", "Nouns of your own: option=application,evaluator=reviewer.", SHOWN, {
        "title": "what it is about, in your words.",
        **{noun: f"your word for {noun}" for noun in NOUNS},
    }),
}  # fmt: skip
_SWITCHES = ("repeats", "pairs", "best")  # keys that need no value
_SWITCH = {"": True, "yes": True, "true": True, "no": False, "false": False}

OF_SCORES = (
    *("option", "evaluator", "score", "wide", "rival", "item", "event"),
    *("criterion", "option_group", "rival_group", "evaluator_group", "partial", "time"),
)
"""The roles of columns in a table of scores."""
OF_NEWCOMERS = ("option_group", "evaluator_group", "features", "prices")
OF_PANELS = ("option", "evaluator", *OF_NEWCOMERS)
"""The roles of columns in tables of options and evaluators."""
READING = tuple(_KEYED["read"][-1])
"""All that can be said about how a table of scores is read."""
PANELS = ("pairs", "capacity", "workload", "conflicts")
"""How several evaluators can be asked."""
TARGETS = ("best", "top", "bar", "against", "tolerance", "margin")
CALLS = tuple(_KEYED["call"][-1])


def takes(**keys: Collection[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options in place of its parameters: of KEY=VALUE, with these keys, where it
    takes what they `Said`, and all of a group's where it takes a dataclass.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        every = own.parameters.values()
        groups: dict[str, Any] = {p.name: p.annotation for p in every if is_dataclass(p.annotation)}
        fields = {name: _parameters(group) for name, group in groups.items()}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, some in keys.items():
                given[name] = said_by(f"--{name}", given[name], some)
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields[name]})
            command(**given)

        flat = [f for p in every for f in fields.get(p.name, [p])]
        run.__signature__ = own.replace(  # type: ignore[attr-defined] # read by typer
            parameters=[
                p.replace(
                    kind=p.KEYWORD_ONLY, default=None, annotation=_option(p.name, keys[p.name])
                )
                if p.name in keys
                else p.replace(kind=p.KEYWORD_ONLY)
                for p in flat
            ]
        )
        run.says = {  # type: ignore[attr-defined] # for what is said of an error
            key: f"--{name} {key}" for name, some in keys.items() if name != "call" for key in some
        }
        return run

    return with_options


def _parameters(group: Any) -> list[inspect.Parameter]:
    return [*inspect.signature(group, eval_str=True).parameters.values()]


def _option(name: str, keys: Collection[str]) -> Any:
    metavar, purpose, panel, known = _KEYED[name]
    each = "\n".join(f"- {key}: {known[key]}" for key in keys)
    return Annotated[
        list[str] | None,
        typer.Option(
            metavar=metavar,
            help=f"{purpose} May be given again.\n\n{each}",
            rich_help_panel=panel,
            autocompletion=lambda: [key + "=" * (key not in _SWITCHES) for key in keys],
        ),
    ]


def said_by(flag: str, given: Iterable[str] | None, keys: Collection[str]) -> Said:
    """Return what an option of KEY=VALUE said, whose keys these are."""
    known = "|".join(
        key + r"\s*" + ("(?:=|,|$)" if key in _SWITCHES else "=") for key in keys
    )  # a value may have commas in it, too
    found: dict[str, str] = {}
    for one in (part for text in given or () for part in re.split(rf",(?=\s*(?:{known}))", text)):
        key, equals, value = (part.strip() for part in one.partition("="))
        if key not in keys:
            near = get_close_matches(key.lower().replace("-", "_"), keys, 1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise InputError(f"{flag} has no {key!r} here{meant} It takes {', '.join(keys)}.")
        if not value and (equals or key not in _SWITCHES):
            raise InputError(f"{flag} {key} does not say what; got {one!r}.")
        if key in found:
            raise InputError(
                f"{flag} says {key} twice, {found[key]!r} and {value!r}; leave one out."
            )
        found[key] = value
    return found


def switch(said: Said, flag: str, key: str, usual: bool) -> bool:
    """Return whether something is so."""
    if key not in said:
        return usual
    if (found := _SWITCH.get(said[key].lower())) is None:
        raise InputError(f"{flag} {key} is yes or no; got {said[key]!r}.")
    return found


def number(said: Said, flag: str, key: str) -> float | None:
    """Return a number that was said, read as those in tables are."""
    if key not in said:
        return None
    try:
        return number_in(said[key])
    except InputError as error:
        raise InputError(f"{flag} {key}: {error}.") from None


def _whole(found: float, what: str) -> int:
    if not found.is_integer() or abs(found) > 10**18:
        raise InputError(f"{what} is a whole number up to 1e18; got {found:g}.")
    return int(found)


def target_in(said: Said) -> dict[str, Any]:
    """Return what is wanted, as functions take it."""
    lost = [number(said, "--target", key) for key in ("tolerance", "margin")]
    if None not in lost:
        raise InputError("--target margin is another word for tolerance; leave one out.")
    if "best" in said and (others := {"top", "bar", "against"} & said.keys()):
        raise InputError(f"--target is the best, or {others.pop()}; leave one out.")
    top = number(said, "--target", "top")
    return {
        "top": None if top is None else _whole(top, "--target top"),
        "bar": number(said, "--target", "bar"),
        "against": said.get("against"),
        "tolerance": next((one for one in lost if one is not None), 0.0),
    }


def at_most_in(text: str | None, *known: str) -> tuple[int | None, float | None]:
    """Return how many evaluations there may be, and what they may cost."""
    number_of, cost = None, None
    for one in () if text is None else text.split(","):
        key, equals, value = (part.strip() for part in one.partition("="))
        key, value = (key, value) if equals else ("N", key)
        if key not in known:
            ways = " or ".join("cost=X" if way == "cost" else way for way in known)
            raise InputError(f"--at-most is {ways} here; got {one!r}.")
        if key == "cost":
            cost = number({"cost": value}, "--at-most", "cost")
        else:
            n = number({"N": value}, "--at-most", "N")
            number_of = None if n is None else _whole(n, "--at-most")
    return number_of, cost


def scale_in(text: str | None, *kinds: str) -> dict[str, Any]:
    """Return what scores are: their scale, or grades, or which are the best, or of which kind."""
    if text is None:
        return {}
    return {"scores": text.strip()} if text.strip() in kinds else typed_scores(text)


def names_in(text: str | None) -> list[str] | None:
    """Return the names in a list separated by commas; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _typed(text: str | float) -> float:
    try:
        return number_in(str(text))
    except InputError as error:
        raise typer.BadParameter(f"{error}.") from None


def _typed_whole(text: str | int) -> int:
    return _whole(_typed(text), "it")


def numeric(metavar: str, help: str, *, whole: bool = False) -> Any:
    """Return an option that is a number, as people write it."""
    return typer.Option(parser=_typed_whole if whole else _typed, metavar=metavar, help=help)


Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH|low|A,B,…",
        help="The lowest and highest score that can be given; 5,1 where 1 is the best; or just "
        "low, where the lowest are best. Or letters or words, the best first: equally spaced, "
        "unless numbers are stated, A=4,B=3.",
        rich_help_panel=SCORES,
    ),
]
Criteria = Annotated[
    str | None,
    typer.Option(
        metavar="A=2,B,…",
        help="The criteria of a review with their weights, 1 if not said: columns, or what stands "
        "in the column criterion. Their weighted mean is the score.",
        rich_help_panel=SCORES,
    ),
]
AtMost = Annotated[
    str | None,
    typer.Option(
        metavar="N|cost=X",
        help="What may be spent in all: so many evaluations, or so much at their prices, or both "
        "(200,cost=50).",
        rich_help_panel=WANTED,
    ),
]
Confidence = Annotated[float, numeric("P", "How sure it is to be.")]
Trusted = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…",
        help="Evaluators who are trusted, such as people beside a model: they alone say what "
        "options are worth, and the others are compared with them.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Number all randomness comes from.")]
Workers = Annotated[  # every one is a process with its own copy of the libraries, about 0.1 GB
    int | None, typer.Option(min=1, max=1024, metavar="N", help="Processes; one per processor.")
]
Runs = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Keep the runs in this folder; what it holds already is not run again."
    ),
]
_REPORT = (
    "Write it to FILE.html, to read and print, or its picture to FILE.png, .svg or .pdf{}. May be "
    "given again."
)


def _shown(*flags: str, metavar: str | None = None, help: str) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=SHOWN)


Report = Annotated[list[Path] | None, _shown(metavar="FILE", help=_REPORT.format(""))]
TabledReport = Annotated[
    list[Path] | None,
    _shown(metavar="FILE", help=_REPORT.format(", or its table to FILE.csv")),
]
Brief = Annotated[bool, _shown("--brief", help="Print what was found, and no tables.")]
AsJson = Annotated[bool, _shown("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How a result is shown: options of a command."""

    report: Report = None
    brief: Brief = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class Tabled(Shown):
    """How a result with a table is shown."""

    report: TabledReport = None


@dataclass(frozen=True, kw_only=True)
class Called(Shown):
    """How a result is shown, in which words."""

    call: Said

    @property
    def words(self) -> tuple[str | None, dict[str, str] | None]:
        """The title, and nouns of the user's own."""
        nouns = {key: word for key, word in self.call.items() if key != "title"}
        return self.call.get("title"), nouns or None
