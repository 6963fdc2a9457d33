"""Office sheets: what people write around and into tables of marks.

Titles stand above the header, headers are on two lines, totals and statistics are below the marks
and beside them. What is a header is told by how many cells are filled: a title has fewer, a header
as many as the lines below it, and it names columns: a line with marks in it, or with cells that
come again below, is data. A statistic is told by its name and by what it is of.

Marks come as 8/10, 85% or 7*, and cells say that somebody stood aside. What is passed over is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.tables.texts import is_absent, listed, may_be_thousands, number_in, parsed, text_of

if TYPE_CHECKING:
    from evenhand.tables.columns import Table

LOOKED_AT = 50
"""Lines by which a header is found."""
MOST_TITLES = 10
ABOVE = "Above the header stands"
"""How a note on titles begins."""
_LAST = 10  # lines at the end of a table that may be totals
_ENOUGH = 1000  # rows that show what is worked out of others
_BY_CHANCE = 1e-4  # with which somebody's marks may be worked out of those of others

Line: TypeAlias = tuple[int, Sequence[Any]]
"""Which line it is, and its cells; None or a blank text for an empty one."""

_ASIDE = {
    *("coi", "c.o.i.", "conflict", "conflict of interest", "conflicted", "conflict of interests"),
    *("recused", "recusal", "abstain", "abstained", "abstention", "declined", "decline"),
    *("not reviewed", "no review", "did not review", "no score", "withdrawn", "excused"),
    *("biased", "absent"),
    *("befangen", "enthaltung", "enthalten", "keine wertung", "conflit d'intérêts", "conflit"),
}
_ASIDE_IN = re.compile(
    r"\b(?:coi|conflicts? of interests?|conflicted|recus\w+|befangen\w*|conflit d.int\w+)\b",
    re.IGNORECASE,
)
_NUMBER = r"[+-]?[0-9]+(?:[.,][0-9]+)?"
_FOOTNOTE = re.compile(
    rf"({_NUMBER}(?:\s*%|\s*/\s*[0-9]+)?)\s*(?:[*†‡§¹²³]+|\([a-z0-9*]\)|\[[a-z0-9*]\])"
)
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_OUT_OF = re.compile(rf"({_NUMBER})\s*(?:/|out of|von|sur|of)\s*([0-9]+(?:[.,][0-9]+)?)")
_WORDED = re.compile(rf"({_NUMBER})\s*(?:[:=]\s*|[-–—.]\s+|(?=\())([^\d:=.–—-].*)", re.DOTALL)


class Tidy(NamedTuple):
    """A table: names of columns, lines below them, and what was passed over."""

    names: list[str]
    lines: list[Line]
    notes: list[str]


def tidied(lines: Sequence[Line], word: str) -> Tidy:
    """Return lines without titles above the header, and with one header; a line is called so."""
    notes = []
    widest = max((len(filled(cells)) for _, cells in lines[:LOOKED_AT]), default=0)
    start = 0
    while start < min(MOST_TITLES, len(lines) - 2) and _is_title(lines[start][1], widest):
        start += 1
    if start and holds_marks(_texts(lines[start][1])):
        start = 0  # what looked like a title is the header of a table with fewer names than cells
    header, body = lines[start] if lines else (0, ()), list(lines[start + 1 :])
    names = _texts(header[1])
    both = _two_lines(names, body) if body else None
    if both is not None and both == _texts(body[0][1]):  # nothing is left of the first line
        start, names, both, body = start + 1, both, None, body[1:]
    if start:
        titles = [", ".join(filter(None, _texts(cells))) for _, cells in lines[:start]]
        notes.append(f"{ABOVE} {listed(titles, 3)}, which is no part of the table.")
    if both is not None:
        names, body = both, body[1:]
        where = f"{word} {header[0]} and the next"
        notes.append(f"The header is on two lines, {where}: {listed(names, 12)}.")
    while names and not names[-1]:
        names.pop()
    return Tidy(names, body, notes)


def filled(cells: Sequence[Any]) -> list[int]:
    """Return which cells have something in them."""
    return [
        i
        for i, cell in enumerate(cells)
        if cell is not None and (cell == cell and str(cell).strip())  # noqa: PLR0124 # NaN
    ]


def _texts(cells: Sequence[Any]) -> list[str]:
    return ["" if cell is None else text_of(cell).strip() for cell in cells]


def holds_marks(names: Sequence[str]) -> bool:
    """Whether names of columns hold numbers that name nothing: neither 1, 2, 3, … nor years."""
    filled = [name for name in names if name]
    point, comma = (parsed(filled, mark)[0] for mark in ".,")
    both = np.where(np.isnan(point), comma, point)
    found = both[np.isfinite(both)].tolist()
    counts = found == list(range(1, len(found) + 1))
    years = all(1900 <= n <= 2100 and n == int(n) for n in found) and len({*found}) == len(found)
    return bool(found) and not counts and not years


def _is_title(cells: Sequence[Any], widest: int) -> bool:
    return len(filled(cells)) <= max(1, widest // 3) and widest > 1


def _two_lines(names: Sequence[str], body: Sequence[Line]) -> list[str] | None:
    """Return the names of a header on two lines, where cells were merged; None if it has one."""
    second = _texts(body[0][1])
    below = {i for _, cells in body[1:LOOKED_AT] for i in filled(cells)}
    width = max(below, default=-1) + 1
    names = [*names, *[""] * (width - len(names))]
    second += [""] * (len(names) - len(second))
    gaps = [i for i in below if not names[i]]
    if not gaps or not all(second[i] for i in gaps):
        return None
    if parsed([text for text in second if text])[1].any():
        return None
    for _, cells in body[1:LOOKED_AT]:  # where names of columns do not come again, as cells do
        if any(name and name == text for name, text in zip(second, _texts(cells), strict=False)):
            return None
    return [own or above for above, own in zip(names, second, strict=False)]


_TOTALS = {
    *("mean", "average", "avg", "total", "totals", "sum", "median", "overall", "grand total"),
    *("mittelwert", "mittel", "durchschnitt", "summe", "gesamt", "schnitt"),
    *("moyenne", "somme", "promedio", "media", "suma", "totale", "somma", "gemiddelde", "totaal"),
}
_SUMMED = {
    *("score", "final", "final score", "panel score", "total score", "overall score", "mean score"),
    *("average score", "weighted total", "weighted mean", "weighted average", "weighted score"),
}
_STATISTICS = {
    *("max", "maximum", "min", "minimum", "count", "n", "range", "sd", "std", "std dev", "stdev"),
    *("st dev", "std deviation", "standard deviation", "var", "variance", "anzahl", "spannweite"),
    *("stabw", "standardabweichung", "varianz", "höchstwert", "tiefstwert", "écart type"),
    *("nombre", "étendue", "desviación estándar", "máximo", "mínimo", "rango", "massimo", "minimo"),
    *("deviazione standard", "aantal", "standaardafwijking", "standardavvikelse", "s d"),
}


def is_total(text: str) -> bool:
    """Whether a name is that of a line or a column with totals or means."""
    return text.strip().rstrip(":.").casefold() in _TOTALS


def is_summed(text: str) -> bool:
    """Whether a name is that of a column with totals or means."""
    return is_total(text) or text.strip().rstrip(":.").casefold() in _SUMMED


def is_statistic(text: str) -> bool:
    """Whether a name may be that of a line or a column with another statistic, or of a Max."""
    return " ".join(re.sub(r"[-.:_]", " ", text.casefold()).split()) in _STATISTICS


_BESIDE = {
    *("id", "no", "nr", "number", "#", "rank", "place", "position", "year", "age", "date", "row"),
    *("budget", "amount", "cost", "costs", "sum requested", "requested", "weight", "lfd. nr"),
    *("alter", "jahr", "rang", "platz", "betrag", "summe", "datum", "année", "âge", "montant"),
}


def is_beside(text: str) -> bool:
    """Whether a column of this name holds numbers that are no scores."""
    bare = re.sub(r"\s*[(\[].*?[)\]]\s*$", "", text.strip()).rstrip(":.")  # Budget (€)
    return is_summed(bare) or bare.casefold() in _BESIDE


def texts_in(source: Table, column: str, start: int = 0) -> list[str | None]:
    """Return the cells of a column as texts; none where they are neither names nor numbers."""
    try:
        return source.texts(column, start=start)
    except InputError:  # of lists, say: no names and no numbers
        return []


def totals_at_end(source: Table) -> tuple[int, str] | None:
    """Return how many rows come before totals and statistics at the end of a table, and a note."""
    columns = [column for column in source.columns if column]
    for first in [] if source.is_large else columns[:2]:
        others, n = [c for c in columns if c != first], source.n_rows
        start = max(2, n - _LAST)
        names = [name or "" for name in texts_in(source, first, start)]
        for last, name in enumerate(names, start):
            if not is_total(name) and not is_statistic(name):
                continue
            ends = names[last - start :]
            if all(
                (is_total(name) and row > last)
                or _adds_up(source, others, last, row, strict=not is_total(name))
                for row, name in enumerate(ends, last)
            ):
                where = ", ".join(source.where(list(range(last, n))))
                return last, f"{where}, {listed(ends)}, is taken for totals and left out."
    return None


def _adds_up(source: Table, columns: Sequence[str], last: int, row: int, *, strict: bool) -> bool:
    """Whether a row has a statistic of the first rows: in all columns, or a mean or sum in one."""
    found = list[NDArray[np.bool_]]()
    for texts in filter(None, (texts_in(source, column) for column in columns)):
        marks, text = numbers_in(texts[:last]), texts[row] or ""
        own = loose_number(text)
        if np.isfinite(marks).sum() * 2 <= sum(map(bool, texts[:last])):
            if not text and all(texts[:last]):
                return True
        elif text and own is None and strict:
            return False
        elif own is not None:
            likely = _statistics(marks[np.newaxis])[: None if strict else 3, 0]
            near = _rounding([text]) if strict else 0.06 * np.maximum(1.0, np.abs(likely) * 0.1)
            found.append(np.abs(own - likely) <= near)
    return bool(found) and bool((np.all if strict else np.any)(found, axis=0).any())


def numbers_in(texts: Sequence[str | None]) -> Floats:
    """Return the numbers in cells, NaN where there is none."""
    known = {text: loose_number(text) for text in {*texts} if text}
    return np.array([known.get(text) if text else None for text in texts], dtype=np.float64)


def _rounding(texts: Iterable[str | None]) -> float:
    """Return half a unit of the last digit of numbers."""
    digits = max(
        (len(m[1]) for t in texts if (m := re.search(r"[.,]([0-9]+)\D*$", t or ""))), default=0
    )
    return 0.501 * 10.0 ** -min(digits, 9)


def _statistics(marks: Floats) -> Floats:
    """Return (10, n) mean, sum, median, extremes, range, deviations, variance, number of rows."""
    high, low, n = np.nanmax(marks, 1), np.nanmin(marks, 1), np.isfinite(marks).sum(axis=1)
    squares = np.nanvar(marks, 1) * n
    variance = squares / np.maximum(n - 1, 1)
    middle = np.nanmean(marks, 1), np.nansum(marks, 1), np.nanmedian(marks, 1)
    spreads = high - low, np.sqrt(squares / n), np.sqrt(variance), variance
    return np.array([*middle, high, low, *spreads, n])


def worked_out(columns: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Return columns that are statistics, or weighted sums, of others beyond chance."""
    columns = {column: texts[:_ENOUGH] for column, texts in columns.items()}
    marks = {column: numbers_in(texts) for column, texts in columns.items()}
    found = list[str]()
    for order in (list(marks), list(marks)[::-1]):
        others = list[str]()
        for column in order:
            if len(others) > 1 and _is_of_others(column, marks, others, columns):
                found.append(column)
            elif column not in found:
                others.append(column)
    return [column for column in columns if column in found]


def _is_of_others(
    column: str,
    marks: Mapping[str, Floats],
    others: Sequence[str],
    texts: Mapping[str, Sequence[str | None]],
) -> bool:
    beside = np.stack([marks[other] for other in others], axis=1)
    known = np.isfinite(marks[column]) & np.isfinite(beside).any(axis=1)
    own, beside, called = marks[column][known], beside[known], is_statistic(column)
    if len(own) < 2 + (not called):
        return False
    half = _rounding(texts[column])
    likely = _statistics(beside)
    same = np.abs(own - likely).max(axis=1) <= half
    if called and same.any():
        return True
    scatter = (beside - likely[0][:, np.newaxis])[:, np.isfinite(beside).any(axis=0)]
    noise = np.nanmean(np.abs(scatter - np.nanmean(scatter, axis=0)))  # of somebody's own marks
    grid = np.unique(beside[np.isfinite(beside)])
    step = max(half, 0.5 * np.diff(grid).min(initial=np.inf)) if np.isin(own, grid).all() else half
    whole = np.isfinite(beside).all(axis=1)
    x, y, (n, m) = beside[whole], own[whole], (int(whole.sum()), len(others))
    if step > 0.25 * noise or (n > m and _rank_is_lost(x, noise)):
        return False
    if same[:-1].any() and (step / noise) ** len(own) < _BY_CHANCE:
        return True
    if n <= m or (half / noise) ** (n - m) > _BY_CHANCE:
        return False
    weights = np.linalg.lstsq(x, y)[0]
    several = (
        int((weights > 0.05 * weights.sum()).sum()) > 1 and weights.min() > -0.02 * weights.max()
    )
    return several and bool(np.abs(y - x @ weights).max() <= half)


def _rank_is_lost(marks: Floats, noise: float) -> bool:
    """Whether marks have no noise of their own, as those that somebody made up."""
    sizes = np.linalg.svd(marks - marks.mean(axis=0), compute_uv=False)
    return bool(sizes[-1] < 0.03 * noise * np.sqrt(len(marks)))


def with_commas_read(cells: Sequence[Any]) -> Sequence[Any]:
    """Return cells of a workbook with texts such as '7,5' as numbers, if they stand among these."""
    if not any(isinstance(cell, int | float) for cell in cells):
        return cells

    def read(cell: Any) -> Any:
        if not isinstance(cell, str) or "," not in cell or may_be_thousands(cell):
            return cell
        numbers, fits = parsed([cell.strip()], ",")
        return float(numbers[0]) if fits[0] else cell

    return list(map(read, cells))


def is_none(text: str) -> bool:
    """Whether a cell says that there is no score."""
    return is_absent(text) or says_none(text)


def says_none(text: str) -> bool:
    """Whether a cell says that somebody gave no score, as for a conflict of interest."""
    return text.casefold().strip(" .!()[]") in _ASIDE


def stands_aside(text: str) -> bool:
    """Whether a reply says that somebody gives no score, as for a conflict of interest."""
    return says_none(text.strip()) or bool(_ASIDE_IN.search(text))


class Unmarked(NamedTuple):
    """Texts without what stands behind numbers, with the ends of a scale, and notes."""

    texts: list[str | None]
    scale: tuple[float, float] | None
    notes: list[str]


def unmarked(texts: Sequence[str | None]) -> Unmarked:
    """Take footnotes off, and what all texts have: a percent sign, the highest mark, words."""
    notes, scale = list[str](), None

    def without(pattern: re.Pattern[str]) -> list[str | None]:
        return [m[1] if t is not None and (m := pattern.fullmatch(t)) else t for t in texts]

    if marked := [text for text in texts if text is not None and _FOOTNOTE.fullmatch(text)]:
        texts = without(_FOOTNOTE)
        notes.append(
            f"What stands behind numbers, as in {listed(marked, 3)}, is taken for footnotes."
        )
    some = [text for text in texts if text is not None]
    out_of = {match and match[2] for match in map(_OUT_OF.fullmatch, some)}
    if some and all(map(_PERCENT.fullmatch, some)):
        texts = without(_PERCENT)
        notes.append(f"Scores are percentages, such as {some[0]!r}; the sign is left out.")
    elif len(out_of) == 1 and (most := loose_number(next(iter(out_of)) or "")) is not None:
        texts, scale = without(_OUT_OF), (0.0, most)
        notes.append(f"Scores such as {some[0]!r} are read as marks out of {most:g}.")
    elif worded := {text: match for text in some if (match := _WORDED.fullmatch(text))}:
        words = {match[1]: text for text, match in worded.items()}
        plain = [loose_number(text) is not None for text in some if text not in worded]
        if len(words) == len(worded) and all(plain):
            texts = without(_WORDED)
            order = sorted(words, key=lambda number: loose_number(number) or 0.0)
            said = listed([words[number] for number in order], 12)
            notes.append(f"Scores are the numbers before their words: {said}.")
    return Unmarked(list(texts), scale, notes)


def loose_number(text: str) -> float | None:
    """Return the number in a cell that may be a score; None if there is none."""
    for pattern in (_FOOTNOTE, _PERCENT, _OUT_OF, _WORDED):
        text = match[1] if (match := pattern.fullmatch(text.strip())) else text
    try:
        return number_in(text, "," if "," in text else ".")
    except InputError:
        return None
