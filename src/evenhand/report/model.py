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

from evenhand.report.words import number, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Depth = Literal["print", "brief", "page"]
"""Where a section stands: everywhere; in notebooks, terminals and pages; on pages only."""

Standing = Literal["held", "contradicted", "noted", "not checked"]


class Rounded(float):
    """A number that is written with so many decimals, as all others of its column.

    Examples
    --------
    >>> Rounded(1.5, 2).digits
    2
    """

    digits: int

    def __new__(cls, value: float, digits: int) -> Self:
        """Take the number down, and how many decimals it has."""
        made = super().__new__(cls, value)
        made.digits = digits
        return made


class Share(float):
    """A share or probability, written as a percentage.

    Examples
    --------
    >>> cell(Share(0.333)), cell(Share(0.004))
    ('33%', '0.4%')
    """


class Chance(float):
    """A probability that may be tiny, as of tests.

    Examples
    --------
    >>> cell(Chance(0.0456)), cell(Chance(0.0004))
    ('0.046', '< 0.001')
    """


class Strong(str):
    """A text that stands out among those of its column."""

    __slots__ = ()


@dataclass(frozen=True)
class Span:
    """An interval that is drawn where there is room for drawings: a line with a dot.

    Parameters
    ----------
    value, low, high
        The estimate and its ends.
    ends
        The ends of the axis, the same for a whole column.
    """

    value: float
    low: float
    high: float
    ends: tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """A share from 0 to 1 that is drawn where there is room for drawings."""

    share: float


Cell = str | float | int | bool | Span | Bar | None


@dataclass(frozen=True)
class Table:
    """Rows under a header; each rendering shows as many as it has room for.

    Parameters
    ----------
    caption
        What it shows.
    header
        What the columns are called.
    rows
        Cells: texts, numbers (`Rounded` with the decimals of their column), drawings, None.
    must
        Positions of rows that are shown whatever is left out.
    more
        How many rows there are beside these, where giving all would take long.

    Examples
    --------
    >>> table = Table("Scores", ["option", "value"], [["Ann", 1.5], ["Bo", 1.2], ["Cy", 1.1]], {2})
    >>> table.shown(2)
    [['Ann', 1.5], ['Cy', 1.1]]
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    must: Collection[int] = ()
    more: int = 0

    def __bool__(self) -> bool:
        return bool(self.rows)

    def left_out(self, shown: Sequence[Sequence[Cell]]) -> int:
        """Return how many rows there are beside those that are shown."""
        return len(self.rows) - len(shown) + self.more

    def shown(self, most: int) -> list[Sequence[Cell]]:
        """Return the first rows, and those that must be shown, in order."""
        return [self.rows[i] for i in first_places(len(self.rows), self.must, most)]


def first_places(n: int, must: Collection[int], most: int) -> list[int]:
    """Return the first of n places, at most so many, with those that must be among them.

    Examples
    --------
    >>> first_places(9, {1, 7}, 4)
    [0, 1, 2, 7]
    """
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
    """Return a data frame as a table, the numbers of a column with the same decimals.

    Parameters
    ----------
    caption
        What it shows.
    frame
        The rows.
    names
        The columns to show, and what they are called; all of them if not given.
    kinds
        Columns that are more than numbers, and what: `Share`, `Chance`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"judge": ["P", "Q"], "bias": [1.0, 0.25], "found": [True, False]})
    >>> frame_table("Judges", frame, {"judge": "who", "bias": "bias"}).rows
    [('P', 1.0), ('Q', 0.25)]
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
    """Sentences, one below the other; of many, the first and the last are shown.

    Examples
    --------
    >>> Points(["a", "", "b", "c", "d", "e"]).shown(3)
    ['a', '… 3 more …', 'e']
    """

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
    """A figure that is drawn when it is needed.

    Parameters
    ----------
    name
        A name that no other picture of the report has.
    draw
        Draws it.
    description
        What it shows, for those who cannot see it.
    caption
        How to read it.
    """

    name: str
    draw: Callable[[], Figure]
    description: str
    caption: str = ""


Part = str | Table | Facts | Points | Note | Assumptions | Picture


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading of its own.

    Parameters
    ----------
    title
        The heading.
    parts
        What stands below it, or what works that out where it is shown; what is empty ("", None, a
        table without rows) is left out, and so is a section without any part.
    depth
        Where it stands; see `Depth`.

    Examples
    --------
    >>> Section("Notes", ("Ann left.", "", None)).filled
    ('Ann left.',)
    >>> Section("Notes", lambda: ["Worked out late."]).filled
    ('Worked out late.',)
    """

    title: str
    parts: Sequence[Part | None] | Callable[[], Sequence[Part | None]]
    depth: Depth = "page"

    @cached_property
    def filled(self) -> tuple[Part, ...]:
        """The parts that say something."""
        parts = self.parts() if callable(self.parts) else self.parts
        return tuple(part for part in parts if part)


@dataclass(frozen=True)
class Report:
    """All that a result has to say.

    Parameters
    ----------
    title
        What it is about.
    verdict
        What the reader came for, in a sentence or two.
    facts
        What else there is to say, sentences under short titles; a title may come several times.
    sections
        Tables, pictures and notes.

    Examples
    --------
    >>> said = Report("A prize", "Choose Ann.", [("Rival", "Bo comes closest."), ("Tied", "")])
    >>> said.told
    (('Rival', 'Bo comes closest.'),)
    """

    title: str
    verdict: str
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default=())

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """The facts that say something."""
        return tuple((title, text) for title, text in self.facts if text)

    def at(self, *depths: Depth) -> Iterable[Section]:
        """Return the sections of these depths that say something."""
        return (one for one in self.sections if one.depth in depths and one.filled)


def cell(value: Cell) -> str:
    """Return a cell of a table as text; "" for a drawing.

    Examples
    --------
    >>> cell(12_000), cell(Rounded(-0.5, 2)), cell(None), cell(True), cell(Bar(0.5))
    ('12,000', '−0.50', '–', 'yes', '')
    """
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
    """Return an assumption with what became of it, and what was seen, for `Assumptions`.

    Parameters
    ----------
    findings
        What was seen, of all assumptions.
    assumption
        What is assumed, in a sentence.
    names
        What findings about it are called.
    seen
        Whether it could be checked.
    lacking
        Why not, if it could not.

    Examples
    --------
    >>> from evenhand import Finding
    >>> drift = Finding("drift", "Scores rise.")
    >>> became([drift], "Scores do not drift.", ["drift"], True, "")
    ('Scores do not drift.', 'contradicted', 'Scores rise.')
    >>> became([], "Scores do not drift.", ["drift"], False, "No times were given.")
    ('Scores do not drift.', 'not checked', 'No times were given.')
    """
    found = [finding for finding in findings if finding.assumption in names]
    said = " ".join(" ".join(finding.message.split()) for finding in found)
    if any(finding.alarm for finding in found):
        return assumption, "contradicted", said
    if not seen:
        return assumption, "not checked", said or lacking
    return assumption, "noted" if found else "held", said
