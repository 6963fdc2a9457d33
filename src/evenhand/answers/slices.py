"""The same question in every slice of the scores, such as a language, with one level over all.

Notation
--------
S, δ        slices, and 1 − confidence
k, n        options in a slice; n pairs of them: k − 1 against one option, else k(k − 1)/2
w_i         share of the comparisons on item i that an option wins, ties half;  ŵ their mean

Each slice is decided by its own rows at δ/S (Bonferroni), so that all that is sure in any of them
is so with a chance of 1 − δ; that of all rows together is a statement of its own. Differences have
δ/(S n), whoever leads. Win rates are means of w_i with Wilson's interval, of as many items as their
scatter says: ŵ(1 − ŵ)/se², by clusters where there are some. A win rate counts how often, a lead by
how much: they may differ in sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.answers.categories import factor_of
from evenhand.answers.placing import SAID
from evenhand.arrays import Floats
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.numerics.intervals import Estimate, student_quantile
from evenhand.report.words import joined, number, percent, short
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import crossed

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.answers.answer import Answer

_FEWEST = 4  # scores that a slice has on average
ALL = "all"


@dataclass(frozen=True)
class Row:
    """A line of the table: an option against another in a slice, or who is wanted there."""

    slice: str
    scores: int
    option: str | None  # None where several are wanted
    rival: str | None
    verdict: str
    lead: Estimate
    at_least: float  # of the lead, on that side alone; NaN if not known
    wins: Estimate
    inside: tuple[str, ...] = ()  # surely wanted
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Slices:
    """What is said in every slice, after what is said of all rows."""

    column: str
    level: float  # confidence of all slices together
    rows: tuple[Row, ...]
    answers: dict[str, Answer]  # by slice, those that could be decided

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The slices."""
        return tuple(dict.fromkeys(row.slice for row in self.rows if row.slice != ALL))

    @property
    def worst(self) -> dict[str, float]:
        """By how much an option is worse in any slice at most, where that is known of all."""
        found: dict[str, list[float]] = {}
        for row in self.rows:
            if row.slice != ALL and row.option is not None:
                found.setdefault(row.option, []).append(max(0.0, -row.at_least))
        return {
            name: max(most)
            for name, most in found.items()
            if len(most) == len(self.names) and math.isfinite(max(most))
        }

    def sentence(self, against: str | None) -> str:
        """Return in words that an option is in no slice worse by more than so much."""
        whom = "any other" if against is None else short(against)
        parts = [f"{short(name)} by more than {number(most)}" for name, most in self.worst.items()]
        if not parts:
            return ""
        more = f" (and {len(parts) - 3:,} others)" if len(parts) > 3 else ""
        return (
            f"in no {short(self.column)} worse than {whom}: {'; '.join(parts[:3])}{more} "
            f"({percent(self.level)} sure of all {len(self.names):,} at once)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for all scores, and for each slice."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        return pd.DataFrame([_plain(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        return {
            "column": self.column,
            "level": self.level,
            "rows": [_plain(row) for row in self.rows],
        }


def _plain(row: Row) -> dict[str, Any]:
    lead, wins = row.lead, row.wins
    return {
        "slice": row.slice,
        "scores": row.scores,
        "option": row.option,
        "rival": row.rival,
        "verdict": row.verdict,
        "lead": lead.value,
        "low": lead.low,
        "high": lead.high,
        "at_least": row.at_least,
        "win_rate": wins.value,
        "win_rate_low": wins.low,
        "win_rate_high": wins.high,
        "inside": row.inside,
        "outside": row.outside,
    }


def slices_of(
    answer: Answer, table: Scores, column: str, decided: Callable[[Scores, float], Answer]
) -> Slices:
    """Return what is said in every slice; ``decided`` answers for some rows, at a confidence."""
    factor = factor_of(table, column, "slices")
    _check(table, factor, column)
    delta, n = 1.0 - answer.confidence, len(factor)
    rows, answers = _rows(answer, answer, table, ALL, delta), {}
    for code, name in enumerate(factor.names):
        some = table.among(np.flatnonzero(factor.codes == code))
        try:
            here = decided(some, 1.0 - delta / n)
        except (InputError, NotIdentifiableError) as error:
            said = f"not decided: {' '.join(str(error).split())}"
            nothing = Estimate.without_interval()
            rows.append(Row(name, len(some), None, None, said, nothing, math.nan, nothing))
            continue
        answers[name] = here
        rows += _rows(here, answer, some, name, delta / n)
    return Slices(column, answer.confidence, tuple(rows), answers)


def without(table: Scores, column: str) -> Scores:
    """Return the scores without a column beside: what slices are by is no cluster."""
    beside = {name: factor for name, factor in table.beside.items() if name != column}
    return replace(table, beside=beside)


def _check(table: Scores, factor: Factor, column: str) -> None:
    """Raise an error for a column that makes no slices."""
    n, k = len(factor), len(table.option)
    if n < 2:
        raise InputError(f"slices={column!r} has one name in every row; slices need two or more.")
    if len(table) < _FEWEST * n:
        raise InputError(
            f"slices={column!r} has {n:,} names in {len(table):,} rows, too many to say anything "
            "of each; name a column that many rows share, such as a language or a topic."
        )
    if table.rival is None and crossed(table.option.codes, factor.codes)[1] == k > 1:
        raise InputError(
            f"slices={column!r} tells options apart, and none is in two slices, so that nothing "
            f"can be compared across; options of categories are decided by within={column!r}."
        )


def _rows(here: Answer, whole: Answer, table: Scores, name: str, delta: float) -> list[Row]:
    """Return the rows of a slice, at a level of its own."""
    placing, labels, count = here.placing, here.options.labels, len(table)
    if placing is not None and placing.target.against is None:
        said = "settled" if here.sure else "alarm" if here.alarms else "not settled"
        nothing = Estimate.without_interval()
        wanted = here.inside, here.outside
        return [Row(name, count, None, None, said, nothing, math.nan, nothing, *wanted)]
    k = len(labels)
    if placing is not None:
        base = placing.target.against
        assert base is not None
        pairs = [(one.option, base) for one in here.ranking if one.option != base]
        share = delta / max(k - 1, 1)
    else:
        rivals = [one.option for one in here.ranking if one.option != whole.label]
        pairs = [(whole.label, rival) for rival in rivals] if whole.label in labels else []
        share = delta / max(k * (k - 1) / 2, 1.0)
    leveled, found = replace(here, confidence=1.0 - share), []
    for option, rival in pairs:
        two = leveled.compare(option, rival)
        lead = Estimate(two.value, two.low, two.high, two.level)
        verdict = _verdict(here, option)
        at_least = two.at_least if placing is not None else two.low
        wins = win_rate(table, option, rival, share)
        found.append(Row(name, count, option, rival, verdict, lead, at_least, wins))
    if not found:
        nothing = Estimate.without_interval()
        return [Row(name, count, None, None, "not compared", nothing, math.nan, nothing)]
    if placing is not None:
        return found
    closest = min(found, key=lambda row: (math.isnan(row.lead.value), row.lead.value))
    return [replace(closest, at_least=min(row.at_least for row in found))]


def _verdict(here: Answer, option: str) -> str:
    if here.alarms:
        return "alarm"
    if here.placing is not None:
        return SAID["against"][here.placing.verdicts[here.options.labels.index(option)]]
    return f"{short(here.label)} {'is' if here.sure else 'looks'} best"


def win_rate(table: Scores, option: str, rival: str, failure: float) -> Estimate:
    """Return on which share of items an option is above another, ties half; NaN where nothing
    pairs them.
    """
    nothing, names = Estimate.without_interval(), table.option.names
    if option not in names or rival not in names:
        return nothing
    a, b = names.index(option), names.index(rival)
    unit: Any = table.item.codes if table.item is not None else None
    if table.rival is not None:
        first, second, y = table.option.codes, table.rival, np.asarray(table.score)
        sign = np.where((first == a) & (second == b), 1.0, 0.0)
        sign -= np.where((first == b) & (second == a), 1.0, 0.0)
        some = np.flatnonzero(sign)
        unit = np.arange(len(table)) if unit is None else unit
        won, unit = 0.5 + 0.5 * np.sign(sign * y)[some], unit[some]
        clusters = None if table.cluster is None else table.cluster.codes[some]
    elif unit is None:
        return nothing
    else:
        won, unit, clusters = _paired(table, a, b)
    if not len(won):
        return nothing
    means = _means(won, unit)
    of = np.ones(len(means))
    rate = float(means.mean())
    if clusters is not None:
        theirs = clusters[np.unique(unit, return_index=True)[1]]
        means, of = _means(means, theirs), np.unique(theirs, return_counts=True)[1].astype(float)
    return _wilson(rate, means, of, failure)


def _paired(table: Scores, a: int, b: int) -> tuple[Floats, Any, Any]:
    """Return (n,) who wins on an item by an evaluator, with the item and the cluster of each."""
    assert table.item is not None
    who = np.zeros(len(table), dtype=np.int32)
    who = who if table.evaluator is None else table.evaluator.codes
    cells, n = crossed(table.item.codes, who)
    of_a, of_b = (table.option.codes == x for x in (a, b))
    first_n, second_n = (np.bincount(cells[some], minlength=n) for some in (of_a, of_b))
    both = np.flatnonzero((first_n > 0) & (second_n > 0))
    first_y, second_y = (np.bincount(cells[s], table.score[s], n) for s in (of_a, of_b))
    apart = (first_y / np.maximum(first_n, 1) - second_y / np.maximum(second_n, 1))[both]
    grain = table.level.grain
    won = np.where(np.abs(apart) <= grain, 0.5, (apart > 0.0).astype(float))
    first = np.zeros(n, dtype=np.intp)
    first[cells[::-1]] = np.arange(len(table))[::-1]
    at = first[both]
    return won, table.item.codes[at], None if table.cluster is None else table.cluster.codes[at]


def _means(values: Floats, unit: Any) -> Floats:
    """Return (g,) the means over what has the same unit."""
    codes = np.unique(unit, return_inverse=True)[1].reshape(-1)
    return np.asarray(np.bincount(codes, values) / np.bincount(codes))


def _wilson(rate: float, means: Floats, of: Floats, failure: float) -> Estimate:
    """Return Wilson's interval of a rate, of as many units as their scatter is worth."""
    g = len(means)
    if g < 2:
        return Estimate(rate, 0.0, 1.0, 1.0 - failure)
    weights = of / of.sum()
    variance = float((weights**2 * (means - rate) ** 2).sum()) * g / (g - 1)
    n = g if variance <= 0.0 else min(rate * (1.0 - rate) / variance, float(of.sum()))
    z = student_quantile(0.5 * failure, g - 1.0)
    middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return Estimate(rate, max(0.0, middle - half), min(1.0, middle + half), 1.0 - failure)


def sliced_in_words(slices: Slices, against: str | None, most: int = 3) -> str:
    """Return the slices in which something else is said than of all rows."""
    whole = {row.option: row.verdict for row in slices if row.slice == ALL}
    other = [row for row in slices if row.slice != ALL and row.verdict != whole.get(row.option)]
    if not other:
        return f"the same is said in every {short(slices.column)} as of all."
    named = [
        f"{short(row.slice)} ({short(row.option) + ' ' if against and row.option else ''}"
        f"{row.verdict})"
        for row in other
    ]
    return f"otherwise than of all: {joined(named, most)}."
