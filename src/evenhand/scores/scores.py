"""The table of scores: a row for each, with the parts that the columns play, names as numbers.

Notation
--------
y           scores;  R their range
c           the origin: what is taken off all scores before anything is added up
u           what scores are rounded to: the distance of neighbouring floating-point numbers

Nothing that is said of differences may hang on a constant that is added to all scores. But sums of
squares of scores about a level of 10⁸ R have no digit left of the scatter, and what is called
rounding 'of the largest score' is then larger than the noise. So scores are taken from c, which
lies among them, and differences below a few u are rounding, and no differences.

c is a multiple of a power of 2 near R, so that taking it off is exact where y is as large as R, and
whole numbers stay whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import ArrayValue, Floats, Indices
from evenhand.best import Best, sign, turned
from evenhand.errors import InputError
from evenhand.tables.texts import spelled

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Finding(ArrayValue):
    """Something that the evaluations say about the assumptions behind a decision.

    Parameters
    ----------
    assumption
        Which one, in a word: fit, scale, drift, dependence, outliers, repeats, rounding, range,
        intercept, looks, attendance.
    message
        In plain words: what was seen, on which options, and what to do.
    alarm
        Whether the assumption is contradicted, so that nothing certain may rest on it. Else a
        note, which withdraws nothing.
    options
        The options that it was seen on, by their indices (in a panel or in comparisons: the
        questions); empty if on all of them.
    p_value
        How probable as much would be if the assumption held; NaN where that is not the point.
    concerns
        Options whose leads it concerns, over whomever, by name; empty if all that is said.

    Examples
    --------
    >>> print(Finding("drift", "Scores rise by 0.2 per 100 evaluations. Ask in another order."))
    Scores rise by 0.2 per 100 evaluations. Ask in another order.
    """

    assumption: str
    message: str
    alarm: bool = True
    options: tuple[int, ...] = ()
    p_value: float = np.nan
    concerns: tuple[str, ...] = ()

    @classmethod
    def note(cls, assumption: str, message: str) -> Finding:
        """Return what the owner of scores should know, and what stops nobody."""
        return cls(assumption, message, alarm=False)

    def __str__(self) -> str:
        return self.message


Codes = NDArray[np.int32]
"""(n,) numbers of names, counted from 0; −1 where there is none."""

_CHUNK = 1 << 17  # rows looked at in one go
_FEW_KEYS = 4_096  # of which a list is short


@dataclass(frozen=True, eq=False)
class Factor:
    """Names, and which of them stands in each row.

    Parameters
    ----------
    codes
        (n,) the number of the name in each row; −1 for none.
    names
        The names, in the order in which they first come.

    Examples
    --------
    >>> column = Factor.of(["Ann", "Bo", "Ann"])
    >>> column.codes, column.names, len(column)
    (array([0, 1, 0], dtype=int32), ('Ann', 'Bo'), 2)
    """

    codes: Codes
    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: list[str] | tuple[str, ...]) -> Factor:
        """Return the factor of some texts."""
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(np.array(codes, dtype=np.int32), tuple(numbers))

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.names)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(names,) in how many rows each name stands."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self))


def crossed(*columns: Codes) -> tuple[Codes, int]:
    """Return (n,) numbers of the rows' combinations of names, in order, and how many there are."""
    if all(column is columns[0] for column in columns):
        return columns[0], int(columns[0].max(initial=-1)) + 1
    keys, size = _keys(columns)
    if size <= max(_FEW_KEYS, 4 * len(keys)):  # so few that all are counted
        there = np.bincount(keys, minlength=size) > 0
        places = np.cumsum(there, dtype=np.int32) - np.int32(1)
        return places[keys], int(there.sum())
    found, codes = np.unique(keys, return_inverse=True)
    return codes.reshape(-1).astype(np.int32), len(found)


def _keys(columns: Sequence[Codes]) -> tuple[NDArray[np.int64], int]:
    """Return (n,) keys of the rows' combinations of names, in their order, and their limit."""
    keys, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=-1)) + 2  # −1 where there is no name
        if size * width > np.iinfo(np.int64).max:
            found, codes = np.unique(keys, return_inverse=True)
            keys, size = codes.reshape(-1), len(found)
        keys *= width
        keys += column + 1
        size *= width
    return keys, size


def chunks(n: int, least: int = 0) -> Iterator[slice]:
    """Return n rows, a few at a time."""
    size = max(_CHUNK, least)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def sums_over(codes: Codes, size: int, *columns: Floats | NDArray[np.bool_]) -> Floats:
    """Return (size,) sums over the rows of each code of the product of columns, or of ones."""
    total = np.zeros(size)
    for rows in chunks(len(codes), least=size):  # since each makes a sum for every code
        product = None
        for column in columns:
            product = column[rows] if product is None else product * column[rows]
        total += np.bincount(codes[rows], product, minlength=size)
    return total


def less_means(values: Floats, codes: Codes, size: int) -> Floats:
    """Return (n,) values less the mean of all rows with the same code."""
    means = sums_over(codes, size, values) / np.maximum(np.bincount(codes, minlength=size), 1)
    return np.asarray(values - means[codes])


def sums(codes: Codes, size: int, columns: Floats) -> Floats:
    """Return (size, r) the sums of columns over clusters."""
    return np.column_stack([sums_over(codes, size, column) for column in columns.T])


def taken_together(parts: Sequence[Factor]) -> Factor:
    """Return several columns of names as one, such as a competition and a programme as an event."""
    if len(parts) == 1:
        return parts[0]
    codes, n = crossed(*(part.codes for part in parts))
    first = np.full(n, len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = np.argsort(first)
    number = np.empty(n, dtype=np.int32)
    number[order] = np.arange(n, dtype=np.int32)
    columns = [[part.names[code] for code in part.codes[first[order]].tolist()] for part in parts]
    return Factor(number[codes], tuple(", ".join(texts) for texts in zip(*columns, strict=True)))


def first_repeated(*columns: Codes) -> tuple[NDArray[np.int64], int] | None:
    """Return the rows of the first repeated combination, and how many repeat one; or None."""
    keys, _ = _keys(columns)
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    return (np.flatnonzero(keys == again[0]), again.size) if again.size else None


LEAST, MOST = 1e-100, 1e100
"""How small and how large the range of scores may be, so that squares of squares are no matter."""

WHOLE = 2.0**53
"""Up to where whole numbers are not rounded."""

# What scores have a cell of in every row.
_OF_ROWS = (
    "score", "option", "evaluator", "rival", "item", "event", "cluster", "criterion", "criteria",
    "stated", "reference", "attributes", "time", "beside",
)  # fmt: skip

_LOST = 1e-6  # of the range: scores that are rounded to more have lost their differences
_ROUNDINGS = 4.0  # of single scores that may add up in a difference


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Scores that were given: who scored what, and how.

    A score of an option, or (``rival``) a verdict on two: how much ``option`` is better than
    ``rival``, in the units of value. `evenhand.read_scores` reads them; `audit`, `decide` and
    `Questions.from_scores` take them.

    Parameters
    ----------
    score
        (n,) the scores.
    option
        What may be chosen: skaters, answers, models.
    evaluator
        Who gave the score; None where nobody said.
    rival
        (n,) in comparisons, the option that stands second, a number of ``option.names``.
    item
        What the option was tried on: a programme, a prompt. What is scored is the option on it.
    event
        Where options compete with one another. An evaluator may be lenient at one and severe at
        another, and each has a winner of its own.
    cluster
        What scores hang together by, beside the item: a template that items come from, a session,
        a school. Errors are by clusters then.
    groups
        Names of the groups that options and evaluators are of.
    option_group, evaluator_group
        (options,) and (evaluators,) the number of the group of each, −1 for none; None where no
        groups were given.
    stated
        (n,) how partial the evaluator is to the option, where a column says so instead of groups.
    reference
        (n,) what the score should have been, where something impartial knows.
    attributes
        Further columns of numbers that scores may react to and value does not, such as length.
    time
        (n,) when the score was given; None where nobody said.
    scale
        The lowest and highest score that can be given; None where nobody said.
    called
        What the columns are called in the user's table, by the part that they play.
    notes
        What the owner of the table should know about it.
    beside
        Columns of the table that play no part, as names.
    place
        Says where the score in a row stands in the user's table.
    baseline
        In comparisons of all options with one, which stands second in all of them: its number.
    grades
        Grades with the numbers that they were read as, the best first; empty for other scores.
    barred
        Pairs of an option and an evaluator who stood aside, as for a conflict of interest.
    criterion
        On what a mark was given, before marks are taken together.
    criteria, weights
        The marks on each criterion, (n,) each, that the score is the weighted mean of.
    best
        Whether the "high" or the "low" scores are the best. In comparisons, where the low ones are,
        a score below 0 says that the first option is better.

    Examples
    --------
    >>> scores = Scores(
    ...     np.array([7.0, 5.0, 6.0]), Factor.of(["Ann", "Bo", "Ann"]), Factor.of(["P", "P", "Q"]),
    ...     groups=("FRA", "ITA"), option_group=np.array([0, 1]), evaluator_group=np.array([0, 1]),
    ... )
    >>> len(scores), scores.partial
    (3, array([1., 0., 0.]))
    """

    score: Floats
    option: Factor
    evaluator: Factor | None
    rival: Codes | None = None
    item: Factor | None = None
    event: Factor | None = None
    cluster: Factor | None = None
    groups: tuple[str, ...] = ()
    option_group: Codes | None = None
    evaluator_group: Codes | None = None
    stated: Floats | None = None
    reference: Floats | None = None
    attributes: Mapping[str, Floats] = field(default_factory=dict)
    time: Floats | None = None
    scale: tuple[float, float] | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()
    beside: Mapping[str, Factor] = field(default_factory=dict)
    place: Callable[[int], str] | None = field(default=None, repr=False)
    baseline: int | None = None
    grades: Mapping[str, float] = field(default_factory=dict)
    best: Best = "high"
    barred: tuple[tuple[str, str], ...] = ()
    criterion: Factor | None = None
    criteria: Mapping[str, Floats] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return how many scores there are."""
        return len(self.score)

    def __str__(self) -> str:
        parts = [(len(self.option), "option", "of")]
        if self.evaluator is not None:
            parts.append((len(self.evaluator), "evaluator", "by"))
        for factor, what, word in ((self.item, "item", "on"), (self.event, "event", "at")):
            if factor is not None:
                parts.append((len(factor), what, word))
        said = " ".join(f"{word} {n:,} {what}{'s' * (n != 1)}" for n, what, word in parts)
        low, high = (self.score.min(), self.score.max()) if len(self) else (np.nan, np.nan)
        about = "score" if self.rival is None else "comparison"
        head = f"{len(self):,} {about}{'s' * (len(self) != 1)} {said}, from {low:g} to {high:g}"
        head += "; lower is better" if self.best == "low" else ""
        return "\n".join([head, *(f"  - {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"Scores({str(self).splitlines()[0]})"

    def __getstate__(self) -> dict[str, Any]:
        # a table, which says where rows stand, is not sent along
        return self.__dict__ | {"place": None if self.place is None else "row {}".format}

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a pandas frame, a row each.

        Columns have the names of the parts: ``option``, ``evaluator``, ``item``, ``score``, and so
        on; those that play no part follow, under their own. Where the lowest scores are the best,
        ``attrs["best"]`` says so, and whoever reads the frame takes it from there.

        Examples
        --------
        >>> scores = Scores(np.array([7.0, 5.0]), Factor.of(["Ann", "Bo"]), Factor.of(["P", "P"]))
        >>> print(scores.to_frame().to_string())
          option evaluator  score
        0    Ann         P    7.0
        1     Bo         P    5.0
        """
        from evenhand.scores.read import Kept  # noqa: PLC0415 # pyarrow is slow to load

        return Kept(self).to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as a plain value, fit for JSON: columns, and what is to be said.

        Examples
        --------
        >>> Scores(np.array([7.0]), Factor.of(["Ann"]), None).to_dict()
        {'scores': 1, 'best': 'high', 'called': {},
         'columns': {'option': ['Ann'], 'score': [7.0]}, 'notes': []}
        """
        frame = self.to_frame()
        return {
            "scores": len(self),
            "best": self.best,
            "called": dict(self.called),
            "columns": {
                str(name): [None if cell != cell else cell for cell in column.tolist()]  # noqa: PLR0124 # NaN
                for name, column in frame.items()
            },
            "notes": [note.message for note in self.notes],
        }

    @property
    def maximised(self) -> Scores:
        """The same scores with the highest the best: turned where the lowest are."""
        if self.best == "high":
            return self
        return replace(
            self,
            score=-self.score,
            reference=None if self.reference is None else -self.reference,
            criteria={name: -marks for name, marks in self.criteria.items()},
            scale=turned(self.scale, "low"),
            best="high",
        )

    @property
    def on_criteria(self) -> dict[str, Scores]:
        """The same scores on each criterion alone."""
        alone = replace(self, criteria={}, weights={}, notes=(), place=None)
        return {name: replace(alone, score=marks) for name, marks in self.criteria.items()}

    def where(self, row: int) -> str:
        """Return where a score stands in the user's table."""
        try:
            return f"row {row}" if self.place is None else self.place(row)
        except InputError:  # the file is gone
            return f"score {row + 1}"

    def among(self, rows: Indices) -> Scores:
        """Return the scores in some rows; names stay, those too that no row has then.

        Examples
        --------
        >>> scores = Scores(np.array([7.0, 5.0]), Factor.of(["Ann", "Bo"]), Factor.of(["P", "P"]))
        >>> scores.among(np.array([1])).score
        array([5.])
        """

        def taken(column: Any) -> Any:
            if isinstance(column, Mapping):
                return {name: taken(one) for name, one in column.items()}
            if isinstance(column, Factor):
                return Factor(column.codes[rows], column.names)
            return None if column is None else column[rows]

        place = self.place
        return replace(
            self,
            **{name: taken(getattr(self, name)) for name in _OF_ROWS},
            place=None if place is None else lambda row: place(int(rows[row])),
        )

    @property
    def partial(self) -> Floats | None:
        """(n,) how partial the evaluator is: 1 for the own group, else 0; None if nobody said.

        In comparisons, partiality to the first option less that to the second.
        """
        if self.stated is not None:
            return self.stated
        if self.option_group is None or self.evaluator_group is None or self.evaluator is None:
            return None
        side = self.evaluator_group[self.evaluator.codes]
        own: Floats = (self.option_group[self.option.codes] == side).astype(float)
        if self.rival is not None:
            own -= self.option_group[self.rival] == side
        own[side < 0] = 0.0  # who is of no group shares it with nobody
        return own

    @cached_property
    def level(self) -> Level:
        """Where the scores lie; `InputError` where their differences are lost."""
        column = self.called.get("score", "score")
        return level_of(self.score, column, compared=self.rival is not None)

    @property
    def centred(self) -> Floats:
        """(n,) the scores less the origin of their level: what to add up. Made anew each time."""
        return self.score - self.level.origin

    @cached_property
    def scored(self) -> tuple[Codes, int]:
        """(n,) the number of what was scored, an option on an item at an event; how many."""
        parts = [self.option, self.item, self.event]
        return crossed(*(part.codes for part in parts if part is not None))

    @cached_property
    def chairs(self) -> tuple[Codes, int]:
        """(n,) the number of the evaluator at an event, who has a leniency; how many there are."""
        if self.evaluator is None:
            return np.zeros(len(self), dtype=np.int32), 1
        if self.event is None:
            return self.evaluator.codes, len(self.evaluator)
        return crossed(self.evaluator.codes, self.event.codes)


class Level(NamedTuple):
    """What is taken off all scores, and below what a difference of them is rounding; the sign that
    scores have that were turned before that, since the lowest are the best.
    """

    origin: float = 0.0
    grain: float = 0.0
    sign: int = 1


AS_GIVEN = Level()
"""Nothing was taken off."""


def level_of(y: Floats, column: str = "score", *, compared: bool = False) -> Level:
    """Return where scores lie; `InputError` where their differences cannot be worked with."""
    if not len(y):
        return AS_GIVEN
    low, high = float(y.min()), float(y.max())
    size = max(abs(low), abs(high))
    apart = size if compared else high - low
    if apart == 0.0:
        return Level(0.0 if compared else low)
    if not LEAST <= apart <= MOST:
        raise InputError(
            f"column {column!r}: scores lie between {low:g} and {high:g}; to add up their squares "
            f"they must differ by {LEAST:g} to {MOST:g}. Give them in another unit"
            + (f": all divided by {apart:.0e}." if math.isfinite(apart) else ".")
        )
    step = 2.0 ** math.floor(math.log2(apart))
    origin = 0.0 if compared else step * round(0.5 * (low / step + high / step))
    rounded = float(np.spacing(size))
    if size <= WHOLE and bool((y == np.rint(y)).all()):
        return Level(origin)
    if rounded > _LOST * apart:
        raise InputError(
            f"column {column!r}: scores lie between {low!r} and {high!r}, and are rounded to "
            f"{rounded:.2g}, so that what tells them apart is lost. Take about {origin:g} off all "
            "of them where they still have their digits."
        )
    return Level(origin, _ROUNDINGS * rounded)


BASELINE = "baseline"
"""What the note is about that says that all were compared with one."""

_A_RULE, _NO_CHANCE = 3, 1e-3  # so many scores that are one number, hardly by chance
POSITION = "position"
"""What standing first in a comparison is called, where it is an attribute."""


def baseline_in(first: Codes, second: Codes, n: int) -> int | None:
    """Return which option stands in every comparison, of two the one more often second."""
    if not len(first) or n < 2:
        return None
    times = np.bincount(first, minlength=n) + np.bincount(second, minlength=n)
    always = np.flatnonzero((times == len(first)) & (first != second).all())
    return max(always.tolist(), key=lambda one: int((second == one).sum()), default=None)


def without_own(scores: Scores) -> Scores:
    """Return scores without those that evaluators gave themselves, if these are all the worst there
    is, and others are not: a rule of the table, as zeros of a country for itself, and no judgement.
    """
    who, option, y = scores.evaluator, scores.option, scores.score
    if who is None or scores.rival is not None:
        return scores
    known = {spelled(name): x for x, name in enumerate(option.names)}
    themselves = np.array([known.get(spelled(name), -1) for name in who.names])
    own = themselves[who.codes] == option.codes
    n, mine, rest = int(own.sum()), y[own], y[~own]
    if (
        not _A_RULE <= n < len(y)
        or np.ptp(mine) > 0.0
        or (rest == mine[0]).mean() ** n > _NO_CHANCE
    ):
        return scores
    if (sign(scores.best) * (mine[0] - rest) > 0.0).any():  # then they may have judged
        return scores
    if not all(np.bincount(one.codes[~own], minlength=len(one)).all() for one in (who, option)):
        return scores
    text = f"{n:,} scores that evaluators gave themselves are all {mine[0]:g}, and left out."
    notes = (*scores.notes, Finding.note("standing", text))
    return replace(scores.among(np.flatnonzero(~own)), notes=notes)


def against_baseline(scores: Scores) -> Scores:
    """Return comparisons with one baseline with the baseline second in all of them, on items; who
    stood first is an attribute then, if it was not always the same. Other scores stay as they are.
    """
    if scores.rival is None or scores.item is None or scores.event is not None:
        return scores
    base = baseline_in(scores.option.codes, scores.rival, len(scores.option))
    if base is None:
        return scores
    turned = scores.option.codes == base
    sign = np.where(turned, -1.0, 1.0)
    attributes = {name: column * sign for name, column in scores.attributes.items()}
    if turned.any() and not turned.all() and POSITION not in attributes:
        attributes[POSITION] = sign
    most = 0.0 if scores.scale is None else max(-scores.scale[0], scores.scale[1])
    return replace(
        scores,
        score=scores.score * sign,
        option=Factor(np.where(turned, scores.rival, scores.option.codes), scores.option.names),
        rival=np.full(len(scores), base, dtype=np.int32),
        stated=None if scores.stated is None else scores.stated * sign,
        attributes=attributes,
        criteria={name: marks * sign for name, marks in scores.criteria.items()},
        scale=None if scores.scale is None else (-most, most),
        baseline=base,
    )


def as_scores(scores: Scores) -> Scores:
    """Return comparisons with a baseline as scores of options on items, and 0 of the baseline on
    every item, by every evaluator; attributes are 0 there.

    Let y say by how much option m is better than the baseline b on item i: y = v_m − v_b − u + β x
    + ε, with u how good b's answer on i is, by an evaluator, and x what y reacts to and value does
    not. Every verdict says how good one option is on one item, on the scale of the baseline, which
    is 0 on every item. So verdicts are scores, the baseline's own among them, with x as attributes.
    """
    assert scores.item is not None
    assert scores.baseline is not None
    evaluator, item, cluster = scores.evaluator, scores.item, scores.cluster
    who = np.zeros(len(scores), np.int32) if evaluator is None else evaluator.codes
    cells = np.unique(np.stack([who, item.codes], axis=1), axis=0)
    n = len(cells)

    def with_baseline(factor: Factor, codes: Codes) -> Factor:
        return Factor(np.concatenate([factor.codes, codes.astype(np.int32)]), factor.names)

    if cluster is not None:
        of = np.zeros(len(item), dtype=np.int32)
        of[item.codes] = cluster.codes
        cluster = with_baseline(cluster, of[cells[:, 1]])
    name, place = scores.option.names[scores.baseline], scores.where
    several = evaluator is not None and len(evaluator) > 1
    return replace(
        scores,
        score=np.concatenate([scores.score, np.zeros(n)]),
        option=with_baseline(scores.option, np.full(n, scores.baseline)),
        rival=None,
        evaluator=None if evaluator is None else with_baseline(evaluator, cells[:, 0]),
        item=with_baseline(item, cells[:, 1]),
        cluster=cluster,
        stated=None,
        attributes={
            name: np.concatenate([column, np.zeros(n)])
            for name, column in scores.attributes.items()
        },
        time=None,
        beside={},
        criteria={},
        evaluator_group=scores.evaluator_group if several else None,
        notes=(*scores.notes, *_notes_on_baseline(scores, name, several)),
        place=lambda row: place(row) if row < len(scores) else f"{name} against itself",
    )


def _notes_on_baseline(scores: Scores, name: str, several: bool) -> Iterator[Finding]:
    text = (
        f"Everything was compared with {name!r}: a value is by how much an option is better. A win "
    )
    text += "rate is (1 + value)/2 where scores run from −1 to 1."
    yield Finding.note(BASELINE, text)
    if scores.evaluator is not None and scores.evaluator_group is not None and not several:
        text = f"Whether {scores.evaluator.names[0]!r} favours its own group cannot be told, as "
        text += "nobody else judged. A judge of another group on the same items would tell."
        yield Finding.note("groups", text)
