"""What a result has to say, as a value, and what every result can do with it.

A room says *what*, as a `Report`: a verdict, facts, and sections of tables and pictures. `Result`
prints it in lines of text, shows it in a notebook, writes it as a page (`html`), draws its picture
(`pictures`), and gives plain values for JSON. The order is the same everywhere: what was decided
and how sure, with at most ten lines of facts; tables; pictures; what all of it rests on.

New in a room: a `Section` with tables, made by `Table.of` from columns; `spans` makes the columns
of estimates with their intervals, `Chip` a verdict on a row. Nothing else has to be touched.
"""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date
from functools import cached_property
from itertools import islice
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from evenhand.report.pictures import checked_format, save_figure
from evenhand.report.words import abridged, decimals, number, sentence, short, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console

WIDTH = 100
"""Letters of a line."""

Depth = Literal["print", "brief", "file", "page"]
"""Where a section stands: everywhere; in notebooks, terminals and pages; in files only (pictures);
on pages, folded under 'What this rests on'."""

Kind = Literal["in", "in maybe", "at", "out maybe", "out", "bad", ""]
"""What a verdict comes to, which a mark and a colour show beside its words."""

Standing = Literal["held", "contradicted", "noted", "not tested"]


class Rounded(float):
    """A number that is written with so many decimals, as all others of its column."""

    digits: int

    def __new__(cls, value: float, digits: int) -> Self:
        """Take the number down, and how many decimals it has."""
        made = super().__new__(cls, value)
        made.digits = digits
        return made


class Share(float):
    """A share or probability, written as a percentage."""


class Chance(float):
    """A probability that may be tiny, as of tests."""


class Name(str):
    """A user's name, which is shown whole where there is room."""

    __slots__ = ()


class Strong(Name):
    """A name that stands out among those of its column."""

    __slots__ = ()


class Figures(str):
    """A text of figures, such as "2–7" or "< 1%", which stands right as numbers do."""

    __slots__ = ()


class Chip(str):
    """A verdict on a row: words with a mark, in the colour of what it comes to."""

    kind: Kind

    def __new__(cls, words: str, kind: Kind) -> Self:
        """Take down the words, and what they come to."""
        made = super().__new__(cls, words)
        made.kind = kind
        return made


@dataclass(frozen=True)
class Span:
    """An interval that is drawn where there is room for drawings: a line with a dot."""

    value: float
    low: float
    high: float
    ends: tuple[float, float]  # of the axis, the same for a whole column
    kind: Kind = ""
    raw: float = math.nan  # a tick beside the dot, such as a mean score; NaN for none
    line: float = math.nan  # what values are held against, drawn from top to bottom; NaN for none

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return math.isfinite(self.value) and self.ends[1] > self.ends[0]

    def place(self, x: float) -> str:
        """Return where on the axis a number stands, in per cent, within its margins."""
        first, last = self.ends
        return f"{3.0 + 94.0 * min(max((x - first) / (last - first), 0.0), 1.0):.4g}%"

    @property
    def words(self) -> str:
        """What the drawing shows."""
        written = f"{number(self.value)}, from {number(self.low)} to {number(self.high)}"
        return written if math.isnan(self.raw) else f"{written}; plain mean {number(self.raw)}"


Cell = str | float | int | bool | Span | None


@dataclass(frozen=True)
class Table:
    """Rows under a header; each rendering shows as many as it has room for."""

    caption: str
    header: Sequence[str]
    # texts, numbers (`Rounded` with the decimals of their column), drawings, None
    rows: Sequence[Sequence[Cell]]
    must: Collection[int] = ()  # positions of rows that are shown whatever is left out
    more: int = 0  # rows there are beside these, where giving all would take long

    @classmethod
    def of(
        cls, caption: str, columns: Mapping[str, Sequence[Cell]], must: Collection[int] = ()
    ) -> Self:
        """Return columns by their titles as a table."""
        return cls(caption, list(columns), list(zip(*columns.values(), strict=True)), must)

    @property
    def sides(self) -> list[str]:
        """The class of every column: "n" of numbers, "pic" of drawings."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.header)
        return [
            "pic" if any(isinstance(x, Span) for x in own) else "n" * any(map(is_number, own))
            for own in map(list, columns)
        ]

    @property
    def counts(self) -> list[tuple[int, Chip]]:
        """How many rows have each verdict, in their order."""
        found: dict[str, list[Chip]] = {}
        for row in self.rows:
            for one in row:
                if isinstance(one, Chip):
                    found.setdefault(one, []).append(one)
        return [(len(some), some[0]) for some in found.values()]

    def left_out(self, shown: Sequence[Sequence[Cell]]) -> int:
        """Return how many rows there are beside those that are shown."""
        return len(self.rows) - len(shown) + self.more

    def shown(self, most: int) -> list[Sequence[Cell]]:
        """Return the first rows, and those that must be shown, in order."""
        return [self.rows[i] for i in first_places(len(self.rows), self.must, most)]


def first_places(n: int, must: Collection[int], most: int) -> list[int]:
    """Return the first of n places, at most so many, with those that must be among them."""
    kept = sorted(range(n), key=lambda i: (i not in must, i))
    return sorted(kept[: max(most, len(must))])


def frame_table(
    caption: str,
    frame: pd.DataFrame,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Callable[[Any], Cell]] | None = None,
    drawn: Sequence[str] = (),
) -> Table:
    """Return a frame as a table: columns by `names`, shares and chances by `kinds`; of estimates
    with both ends of their intervals, whose columns are `drawn`, a drawing beside.
    """
    kinds = {} if kinds is None else kinds
    called = {str(name): str(name).replace("_", " ") for name in frame.columns}
    called = called if names is None else {k: v for k, v in names.items() if k in called}
    ends = frame[list(drawn)].itertuples(index=False, name=None) if drawn else ()
    found = spans(list(ends), line=0.0)[1]
    same = dict(zip(drawn, ("estimate", "low", "high"), strict=False))
    columns: dict[str, Sequence[Cell]] = {}
    for name, title in called.items():
        own = frame[name].tolist()
        if name in drawn[:1]:
            columns[""] = found[""]
        columns[title] = [*map(kinds[name], own)] if name in kinds else alike(own)
        if name in same:
            columns[title] = found[same[name]]
    return Table.of(caption, columns)


def spans(
    found: Sequence[tuple[float, float, float]],
    kinds: Sequence[Kind] = (),
    raw: Sequence[float] = (),
    line: float = math.nan,
) -> tuple[int, dict[str, list[Cell]]]:
    """Return how many decimals estimates deserve, and their columns: estimate, low, high, and all
    of it drawn on one axis; in the colours of verdicts, with a mean score beside each.
    """
    widths = [0.5 * (high - low) for _, low, high in found if math.isfinite(high - low)]
    values = [value for value, _, _ in found if math.isfinite(value)] or [0.0]
    places = [x for one in found for x in one if math.isfinite(x)] or [0.0]
    places += [x for x in (line, *raw) if math.isfinite(x)]
    digits = decimals(median(widths) if widths else 0.1 * (max(values) - min(values)))
    kinds, raw = kinds or [""] * len(found), raw or [math.nan] * len(found)
    ends = min(places), max(places)
    columns: dict[str, list[Cell]] = {
        "": [Span(*x, ends, k, m, line) for x, k, m in zip(found, kinds, raw, strict=True)]
    }
    for i, name in enumerate(("estimate", "low", "high")):
        columns[name] = [rounded(one[i], digits) for one in found]
    return digits, columns


def alike(values: Sequence[Cell]) -> list[Cell]:
    """Return cells of a column, numbers that are not whole with the same decimals."""
    floats = [x for x in values if isinstance(x, float)]
    sizes = [abs(x) for x in floats if math.isfinite(x) and x != 0.0]
    digits = max(0, 2 - math.floor(math.log10(median(sizes)))) if sizes else 2
    return [rounded(x, digits) if isinstance(x, float) else x for x in values]


def rounded(value: float, digits: int) -> Rounded | None:
    """Return a number with so many decimals; None if it is not finite."""
    return Rounded(value, digits) if math.isfinite(value) else None


@dataclass(frozen=True)
class Facts:
    """What and how much, line by line."""

    caption: str
    entries: Mapping[str, Cell]


@dataclass(frozen=True)
class Points:
    """Sentences, one below the other; of many, the first and the last are shown."""

    sentences: Sequence[str]

    def shown(self, most: int) -> list[str]:
        """Return those that say something, at most so many lines."""
        said = [one for one in self.sentences if one]
        if len(said) <= most:
            return said
        half = (most - 1) // 2
        gone = len(said) - (most - 1)
        return [*said[: most - 1 - half], f"… {gone:,} more …", *said[len(said) - half :]]


@dataclass(frozen=True)
class Assumptions:
    """Assumptions, each with what became of it and what was seen."""

    entries: Sequence[tuple[str, Standing, str]]


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is needed."""

    name: str  # that no other picture of the report has
    draw: Callable[[], Figure]
    description: str  # what it shows, for those who cannot see it
    caption: str = ""  # how to read it


Part = str | Table | Facts | Points | Assumptions | Picture


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading of its own."""

    title: str
    # or what works them out where they are shown; what is empty is left out, and so is a section
    # without any part
    parts: Sequence[Part | None] | Callable[[], Sequence[Part | None]]
    depth: Depth = "page"

    @property
    def written(self) -> bool:
        """Whether there is anything beside pictures."""
        return any(not isinstance(part, Picture) for part in self.filled)

    @cached_property
    def filled(self) -> tuple[Part, ...]:
        """The parts that say something."""
        parts = self.parts() if callable(self.parts) else self.parts
        return tuple(part for part in parts if part and _says_something(part))


def _says_something(part: Part) -> bool:
    if isinstance(part, Points):
        return any(part.sentences)
    return all(getattr(part, name, True) for name in ("rows", "entries"))


@dataclass(frozen=True)
class Report:
    """All that a result has to say."""

    title: str
    verdict: str  # what the reader came for, in a sentence or two
    # sentences under short titles, which may come several times
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default=())  # tables, pictures and notes
    names: Sequence[str] = ()  # the user's own, in what is said here
    rests: Sequence[tuple[str, str]] = ()  # facts that stand below, under 'What this rests on'

    def split(self, width: int = WIDTH) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the facts that stand with the verdict, within ten lines of so many letters, and
        those that stand below the tables.
        """
        told = [(title, text) for title, text in self.facts if text]
        left = _LINES_FIRST - len(_wrapped(self.verdict, width).splitlines())
        rest = [(title, text) for title, text in self.rests if text]
        for n in range(len(told), 0, -1):
            if len(_facts(told[:n], width).splitlines()) <= left:
                return told[:n], told[n:] + rest
        return [], told + rest

    def grouped(self, facts: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
        """Return facts by their titles, as sentences; what begins with a name stays as it is."""
        names, said = tuple(short(name) for name in self.names), dict[str, list[str]]()
        for title, fact in facts:
            begun = fact if fact.startswith(names) else sentence(fact)
            said.setdefault(title, []).append(begun)
        return said

    def at(self, *depths: Depth) -> Iterable[Section]:
        """Return the sections of these depths that say something."""
        return (one for one in self.sections if one.depth in depths and one.filled)


def cell(value: Cell) -> str:
    """Return a cell of a table as text; "" for a drawing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Span):
        return ""
    if isinstance(value, str):
        return abridged(value) if isinstance(value, Name) else visible(value)
    if isinstance(value, Share):
        return f"{value:.0%}" if value == 0.0 or value >= 0.01 else f"{100 * value:.1g}%"
    if isinstance(value, Chance):
        return "< 0.001" if value < 0.001 else number(value, 3)
    return number(value, value.digits if isinstance(value, Rounded) else None)


def is_number(value: Cell) -> bool:
    """Tell whether a cell stands right."""
    return isinstance(value, int | float | Figures) and not isinstance(value, bool)


class Observation(Protocol):
    """What was seen of an assumption."""

    @property
    def assumption(self) -> str:
        """Which one, by a word."""

    @property
    def message(self) -> str:
        """What was seen, in sentences."""

    @property
    def alarm(self) -> bool:
        """Whether it contradicts the assumption."""


def became(
    findings: Sequence[Observation], assumption: str, names: Sequence[str], seen: bool, lacking: str
) -> tuple[str, Standing, str]:
    """Return an assumption, what became of it by its findings, and what was seen or `lacking`."""
    found = [finding for finding in findings if finding.assumption in names]
    said = " ".join(" ".join(finding.message.split()) for finding in found)
    if any(finding.alarm for finding in found):
        return assumption, "contradicted", said
    if not seen:
        return assumption, "not tested", said or lacking
    return assumption, "noted" if found else "held", said


def warned(findings: Sequence[Observation]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return alarms, and other findings, as facts under their titles."""
    said = [("WARNING" if one.alarm else "Note", visible(one.message)) for one in findings]
    return [one for one in said if one[0] == "WARNING"], [one for one in said if one[0] == "Note"]


def plain(value: Any) -> Any:
    """Return a value of plain Python, with None in the place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value


_LINES_FIRST = 10  # before the first table
_MOST_ROWS = 20
RESTS = "What this rests on"


def blocks(
    report: Report, width: int, depths: Sequence[Depth], most: int
) -> Iterator[tuple[str, str]]:
    """Yield what is printed, block by block: a heading, which may be "", and what is below it."""
    first, rest = report.split(width)
    yield _wrapped(report.verdict, width), ""
    yield "", _facts(first, width)
    for section in report.at(*depths):
        yield visible(section.title), _below(section, width, most)
    yield RESTS, _facts(rest, width)


def as_text(report: Report, width: int = WIDTH) -> str:
    """Return what is printed, in lines of at most so many letters but for tables."""
    (verdict, _), *found = blocks(report, width, ("print",), _MOST_ROWS)
    below = (f"{title}\n{text}" if title else text for title, text in found if text)
    return "\n\n".join([verdict, *below])


def _below(section: Section, width: int, most: int) -> str:
    return "\n".join(text for part in section.filled if (text := part_text(part, width, most)))


def table_lines(table: Table, most: int) -> Iterator[str]:
    """Yield the lines of a table: header, rows, and how many were left out."""
    rows = table.shown(most)
    columns = [
        (any(map(is_number, own)), [visible(name), *map(cell, own)])
        for name, *own in zip(table.header, *rows, strict=True)
        if name or any(map(cell, own))
    ]
    for i in range(len(rows) + 1):
        written = ""
        for right, texts in columns:
            width = max(map(len, texts))
            written += f"  {texts[i]:{'>' if right else '<'}{width}}"
        yield written.rstrip()
    if left_out := table.left_out(rows):
        yield f"  … and {left_out:,} more"


def _facts(facts: Sequence[tuple[str, str]], width: int) -> str:
    """Return sentences beside their titles; a title that is repeated stands once."""
    column, before = max((len(title) for title, _ in facts), default=0) + 2, ""
    lines = []
    for title, text in facts:
        shown, before = "" if title == before else visible(title), title
        first, rest = shown.ljust(column), " " * column
        lines.append(_wrapped(text, width, first, rest, break_on_hyphens=False))
    return "\n".join(lines)


def part_text(part: Part, width: int, most: int) -> str:
    """Return a part as text; "" of a picture."""
    if isinstance(part, Table):
        return "\n".join(table_lines(part, most))
    if isinstance(part, Facts):
        return "\n".join(f"  {cell(name)}: {cell(value)}" for name, value in part.entries.items())
    if isinstance(part, Points):
        return "\n".join(_wrapped(one, width, "- ", "  ") for one in part.shown(most))
    if isinstance(part, Assumptions):
        said = (f"{what} {standing}. {seen}".rstrip() for what, standing, seen in part.entries)
        return "\n".join(_wrapped(one, width, "- ", "  ") for one in said)
    if isinstance(part, Picture):
        return ""
    return _wrapped(part, width)


def _wrapped(text: str, width: int, first: str = "", rest: str = "", **how: Any) -> str:
    return textwrap.fill(visible(text), width, initial_indent=first, subsequent_indent=rest, **how)


class Result(ABC):
    """A result that says what it has to say in one value, a `Report`, however it is shown.

    A room implements three methods, which hand on to its `sections.py` and `figure.py`.
    """

    @abstractmethod
    def _report(self) -> Report:
        """Return what there is to say."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """Return what machines read, by names that stay; numbers may be infinite or NaN."""

    @abstractmethod
    def _draw(self, axes: Axes | None) -> Figure:
        """Draw the picture, or its main part into axes of the user's."""

    def __str__(self) -> str:
        return as_text(self._report())

    def _repr_html_(self) -> str:
        from evenhand.report.html import as_html  # noqa: PLC0415 # only notebooks need it

        return as_html(self._report())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as texts, numbers, lists and dictionaries, fit for JSON.

        What is not known, or has no end, is None.
        """
        found: dict[str, Any] = plain(dict(self._record()))
        return found

    def plot(self, path: str | PathLike[str] | None = None, ax: Axes | None = None) -> Figure:
        """Draw the picture.

        Parameters
        ----------
        path
            Where to write it (.png, .svg or .pdf); nowhere if not given.
        ax
            Axes of a figure of your own, which get the main part of the picture.
        """
        if path is not None:
            checked_format(path)
        figure = self._draw(ax)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        made: date | None = None,
        call: Mapping[str, str] | None = None,
    ) -> None:
        """Write a page of HTML that holds everything, to read, to print and to send on.

        Parameters
        ----------
        path
            Where to write it.
        title
            What it is about, in your words.
        made
            The day that it is of; today if not given.
        call
            Nouns of your own, such as ``{"option": "application", "evaluator": "reviewer"}``; what
            may be called otherwise is option, evaluator, group, item, score and evaluation.
        """
        from evenhand.report.html import as_page, write_page  # noqa: PLC0415

        write_page(as_page(in_nouns(self._report(), call), title, made), path)


def in_nouns(report: Report, call: Mapping[str, str] | None) -> Report:
    """Return a report in nouns of the user's own, if there are any."""
    from evenhand.report.nouns import Nouns, reworded  # noqa: PLC0415 # seldom needed

    return reworded(report, Nouns.of(call, report.names)) if call else report


_MOST_ON_TERMINAL = 40


def print_result(
    out: Console,
    result: Result,
    title: str | None = None,
    call: Mapping[str, str] | None = None,
    brief: bool = False,
) -> None:
    """Print a report with its sections that are brief, or only the lines before its tables; --json
    has all rows.
    """
    report = in_nouns(result._report(), call)
    if title is not None:
        out.print(f"{visible(title)}\n", style="bold", soft_wrap=True)
    depths: tuple[Depth, ...] = ("print", "brief")
    found = blocks(report, out.width, depths, _MOST_ON_TERMINAL)
    for n, (heading, text) in enumerate(islice(found, 2) if brief else found):
        if n and text:
            out.print()
        if heading and (text or not n):
            out.print(heading, style="bold", soft_wrap=True)
        if text:
            out.print(text, soft_wrap=True)
