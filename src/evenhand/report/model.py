"""What a result has to say, as a value: a verdict, facts, and sections of tables and pictures.

A room says *what*, in one function `sections.report_of(result) -> Report`; how it looks as text,
in a notebook, on a page, on a terminal is `text`, `notebook`, `document`, `terminal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Literal, Protocol, Self

from evenhand.report.words import number, sentence, short, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Depth = Literal["print", "brief", "page"]
"""Where a section stands: everywhere; in notebooks, terminals and pages; on pages only."""

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


class Strong(str):
    """A text that stands out among those of its column."""

    __slots__ = ()


@dataclass(frozen=True)
class Span:
    """An interval that is drawn where there is room for drawings: a line with a dot."""

    value: float
    low: float
    high: float
    ends: tuple[float, float]  # of the axis, the same for a whole column


@dataclass(frozen=True)
class Bar:
    """A share from 0 to 1 that is drawn where there is room for drawings."""

    share: float


Cell = str | float | int | bool | Span | Bar | None


@dataclass(frozen=True)
class Table:
    """Rows under a header; each rendering shows as many as it has room for."""

    caption: str
    header: Sequence[str]
    # texts, numbers (`Rounded` with the decimals of their column), drawings, None
    rows: Sequence[Sequence[Cell]]
    must: Collection[int] = ()  # positions of rows that are shown whatever is left out
    more: int = 0  # rows there are beside these, where giving all would take long

    def __bool__(self) -> bool:
        return bool(self.rows)

    def left_out(self, shown: Sequence[Sequence[Cell]]) -> int:
        """Return how many rows there are beside those that are shown."""
        return len(self.rows) - len(shown) + self.more

    def shown(self, most: int) -> list[Sequence[Cell]]:
        """Return the first rows, and those that must be shown, in order."""
        return [self.rows[i] for i in first_places(len(self.rows), self.must, most)]


def first_places(n: int, must: Collection[int], most: int) -> list[int]:
    """Return the first of n places, at most so many, with those that must be among them."""
    late = [i for i in sorted(must) if i >= most]
    early = list(range(min(most, n)))
    for i in reversed(early.copy()):
        if len(early) + len(late) <= most:
            break
        if i not in must:
            early.remove(i)
    return [*early, *late]


def frame_table(
    caption: str,
    frame: pd.DataFrame,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Callable[[float], Cell]] | None = None,
) -> Table:
    """Return a data frame as a table, the numbers of a column with the same decimals; ``names``:
    columns to show, and as what; ``kinds``: those that are `Share`, `Chance`.
    """
    kinds = {} if kinds is None else kinds
    called = {str(name): str(name).replace("_", " ") for name in frame.columns}
    called = called if names is None else {k: v for k, v in names.items() if k in called}
    columns = [
        [kinds[name](x) for x in frame[name].tolist()]
        if name in kinds
        else alike(frame[name].tolist())
        for name in called
    ]
    return Table(caption, list(called.values()), list(zip(*columns, strict=True)))


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

    def __bool__(self) -> bool:
        return bool(self.entries)


@dataclass(frozen=True)
class Points:
    """Sentences, one below the other; of many, the first and the last are shown."""

    sentences: Sequence[str]

    def __bool__(self) -> bool:
        return any(self.sentences)

    def shown(self, most: int) -> list[str]:
        """Return those that say something, at most so many lines."""
        said = [one for one in self.sentences if one]
        if len(said) <= most:
            return said
        half = (most - 1) // 2
        gone = len(said) - (most - 1)
        return [*said[: most - 1 - half], f"… {gone:,} more …", *said[len(said) - half :]]


@dataclass(frozen=True)
class Note:
    """A sentence that stands back behind the others, such as how to read a table."""

    sentence: str

    def __bool__(self) -> bool:
        return bool(self.sentence)


@dataclass(frozen=True)
class Assumptions:
    """Assumptions, each with what became of it and what was seen."""

    entries: Sequence[tuple[str, Standing, str]]

    def __bool__(self) -> bool:
        return bool(self.entries)


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is needed."""

    name: str  # that no other picture of the report has
    draw: Callable[[], Figure]
    description: str  # what it shows, for those who cannot see it
    caption: str = ""  # how to read it


Part = str | Table | Facts | Points | Note | Assumptions | Picture


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading of its own."""

    title: str
    # or what works them out where they are shown; what is empty is left out, and so is a section
    # without any part
    parts: Sequence[Part | None] | Callable[[], Sequence[Part | None]]
    depth: Depth = "page"

    @cached_property
    def filled(self) -> tuple[Part, ...]:
        """The parts that say something."""
        parts = self.parts() if callable(self.parts) else self.parts
        return tuple(part for part in parts if part)


@dataclass(frozen=True)
class Report:
    """All that a result has to say."""

    title: str
    verdict: str  # what the reader came for, in a sentence or two
    # sentences under short titles, which may come several times
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default=())  # tables, pictures and notes
    names: Sequence[str] = ()  # the user's own, in what is said here

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """The facts that say something."""
        return tuple((title, text) for title, text in self.facts if text)

    @property
    def short(self) -> dict[str, list[str]]:
        """The facts by their titles, as sentences; one that begins with a name stays as it is."""
        names, said = tuple(short(name) for name in self.names), dict[str, list[str]]()
        for title, fact in self.told:
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
    if isinstance(value, Span | Bar):
        return ""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Share):
        return f"{value:.0%}" if value == 0.0 or value >= 0.01 else f"{100 * value:.1g}%"
    if isinstance(value, Chance):
        return "< 0.001" if value < 0.001 else number(value, 3)
    return number(value, value.digits if isinstance(value, Rounded) else None)


def is_number(value: Cell) -> bool:
    """Tell whether a cell stands right."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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
    """Return an assumption with what became of it by findings of these names (``lacking``: why it
    was not seen), and what was seen, for `Assumptions`.
    """
    found = [finding for finding in findings if finding.assumption in names]
    said = " ".join(" ".join(finding.message.split()) for finding in found)
    if any(finding.alarm for finding in found):
        return assumption, "contradicted", said
    if not seen:
        return assumption, "not tested", said or lacking
    return assumption, "noted" if found else "held", said
