"""Reading options from tables, and turning the user's columns into numbers and back.

A table is read twice in blocks, so that a file of any length needs the memory of the final matrix:

1. *scan*: which columns are numbers, which are categories; mean and spread; every defect and its
   row;
2. *fill*: the matrix is allocated once and written block by block.

Notation of the encoding: a column of numbers `u` becomes `x = (u − mean) / scale`; a category
becomes one column of zeros and ones per level. With an intercept the first level is left out, since
all levels together would add up to the intercept.

The file follows the data: the encoding, texts and names, where tables come from (`CsvFile`,
`Frame`), what is in them (`scan`), and the whole way (`encode`).
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError

CONSTANT = "(constant)"
INTERCEPT = "intercept"

# More categories than this are names or free text: one column each would fill the memory.
MAX_LEVELS = 1000
# Shorter runs 1, 2, 3, … are common honest features, such as a start order.
ROW_NUMBERS_FROM = 20
# Below this many rows memory is of no concern.
SMALL_TABLE = 1 << 20
# The reader keeps some forty blocks in flight.
CSV_BLOCK_BYTES = 1 << 20
FRAME_BLOCK_ROWS = 1 << 16
# A spread of a few units in the last place of the largest value is rounding, not information.
ROUNDING = 8 * float(np.finfo(float).eps)

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?([iI]nf(inity)?|[nN]a[nN])$"


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """One column of the matrix, and where in the user's table it comes from.

    Attributes
    ----------
    source : str
        The user's column ("intercept" for the column of ones).
    category : str or None
        The category whose presence this column marks with 1; None for a column of numbers.
    mean, scale : float
        The matrix holds `(value − mean) / scale`.

    Examples
    --------
    >>> EncodedColumn("discipline", "pairs").name
    'discipline=pairs'
    >>> EncodedColumn("age", mean=40.0, scale=10.0).name
    'age'
    """

    source: str
    category: str | None = None
    mean: float = 0.0
    scale: float = 1.0

    @property
    def name(self) -> str:
        """The name of the column: the user's own, with the category if it marks one."""
        return self.source if self.category is None else f"{self.source}={self.category}"


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the columns of a table became features, so that results come back in the user's units.

    Attributes
    ----------
    features, attributes : tuple of EncodedColumn
        One entry per column of the matrix. `attributes` is empty for a set with two groups.
    intercept : bool
        Whether the first feature is the constant one.
    references : tuple of (column, category)
        The category of each categorical column that has no column of its own; the effects of the
        other categories are measured from it. Empty without an intercept.

    Examples
    --------
    >>> encoding = Encoding(
    ...     features=(EncodedColumn("intercept"), EncodedColumn("age", mean=40.0, scale=10.0)),
    ...     attributes=(), intercept=True, references=())
    >>> encoding.in_user_units([5.0, 2.0])      # 5 + 2 (age - 40)/10 = 0.2 age - 3
    {'age': 0.2, '(constant)': -3.0}
    >>> encoding.describe([1.0, -1.5])
    {'age': 25.0}
    """

    features: tuple[EncodedColumn, ...]
    attributes: tuple[EncodedColumn, ...]
    intercept: bool
    references: tuple[tuple[str, str], ...]

    def in_user_units(self, coefficients: ArrayLike) -> dict[str, float]:
        """Rewrite a linear function of the features over the user's own columns.

        Parameters
        ----------
        coefficients : (d,) floats
            The function is `coefficients · features`.

        Returns
        -------
        dict
            One coefficient per user's column, or per category ("column=category", measured from the
            reference category), and "(constant)" where the function has one.
        """
        c = checked_coefficients(coefficients, len(self.features))
        constant = 0.0
        result: dict[str, float] = {}
        for position, (column, value) in enumerate(zip(self.features, c, strict=True)):
            if self.intercept and position == 0:
                constant += float(value)
                continue
            result[column.name] = float(value) / column.scale
            constant -= float(value) / column.scale * column.mean
        if self.intercept or any(column.mean != 0 for column in self.features):
            result[CONSTANT] = constant
        return result

    def describe(self, row: ArrayLike) -> dict[str, float | str]:
        """Say what one row of features was in the user's table.

        Parameters
        ----------
        row : (d,) floats
            The encoded features of one option.

        Returns
        -------
        dict
            The user's columns with their numbers (to 14 digits) and categories.
        """
        x = checked_coefficients(row, len(self.features))
        references = dict(self.references)
        result: dict[str, float | str] = {}
        for column, value in list(zip(self.features, x, strict=True))[int(self.intercept) :]:
            if column.category is None:
                result[column.source] = _unscaled(float(value), column)
            elif value == 1:
                result[column.source] = column.category
            else:
                # A category never marked is the reference; this also keeps the columns in order.
                result.setdefault(column.source, references.get(column.source, ""))
        return result


def checked_coefficients(coefficients: ArrayLike, n_features: int) -> NDArray[np.float64]:
    """One number per feature, or an error that says how many are needed.

    Examples
    --------
    >>> checked_coefficients([1, 2], 2)
    array([1., 2.])
    """
    c = np.asarray(coefficients, dtype=np.float64)
    if c.shape != (n_features,):
        raise InputError(
            f"one number per feature is needed, an array of shape ({n_features},); "
            f"the shape given is {c.shape}"
        )
    return c


def _unscaled(x: float, column: EncodedColumn) -> float:
    """The user's number behind an encoded one, without the dust of rounding."""
    value = x * column.scale + column.mean
    magnitude = max(abs(value), abs(column.mean))
    if (column.mean, column.scale) == (0.0, 1.0) or magnitude == 0:
        return value
    return round(value, 13 - math.floor(math.log10(magnitude)))


def text_of(value: object) -> str:
    """The name of one value given by the user: 1.0 and 1 are the same group.

    Examples
    --------
    >>> text_of(1.0), text_of(True), text_of("home")
    ('1', 'True', 'home')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def as_text(cells: pa.Array) -> pa.Array:
    """Cells as trimmed text; what is missing or empty becomes null.

    Examples
    --------
    >>> as_text(pa.array([1.0, None, 2.5])).to_pylist()
    ['1', None, '2.5']
    >>> as_text(pa.array([" a", "  "])).to_pylist()
    ['a', None]
    """
    kind = cells.type
    if pa.types.is_null(kind):
        return cells.cast(pa.string())
    if pa.types.is_dictionary(kind):
        return as_text(cells.dictionary_decode())
    if pa.types.is_boolean(kind):
        return pc.if_else(cells, "True", "False")
    if pa.types.is_floating(kind):
        encoded = cells.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        names = [None if math.isnan(value) else text_of(value) for value in values]
        return pa.array(names, pa.string()).take(encoded.indices)
    try:
        texts = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"cells of type {kind} cannot be read as text; convert the column"
        ) from None
    empty = pc.equal(texts, "")
    if pc.any(empty).as_py():
        return pc.if_else(empty, pa.scalar(None, pa.string()), texts)
    return texts


def coded(cells: pa.Array) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct texts of some cells, and each cell's number among them (−1 where it is empty).

    Examples
    --------
    >>> coded(pa.array(["b", None, "a", " b"]))
    (['b', 'a'], array([ 0, -1,  1,  0], dtype=int32))
    """
    if pa.types.is_dictionary(cells.type):
        # A dictionary may list what no cell holds; encoding anew drops it.
        cells = cells.dictionary_decode()
    if pa.types.is_null(cells.type) or pa.types.is_nested(cells.type):
        cells = as_text(cells)
    encoded = cells.dictionary_encode()
    numbers: dict[str, int] = {}
    # Only the distinct values are turned into text: of millions of cells they are few.
    renumbered = [
        -1 if text is None else numbers.setdefault(text, len(numbers))
        for text in as_text(encoded.dictionary).to_pylist()
    ]
    indices = encoded.indices.fill_null(len(renumbered)).to_numpy(zero_copy_only=False)
    return list(numbers), np.array([*renumbered, -1], dtype=np.int32)[indices]


def sorted_levels(levels: Sequence[str]) -> list[str]:
    """Levels in the order a reader expects: by value if all are numbers, else as text.

    Examples
    --------
    >>> sorted_levels(["10", "9", "-1"]), sorted_levels(["+1", "-1"]), sorted_levels(["b", "a"])
    (['-1', '9', '10'], ['-1', '+1'], ['a', 'b'])
    """
    try:
        values = {level: float(level) for level in levels}
    except ValueError:
        return sorted(levels)
    if not all(math.isfinite(value) for value in values.values()):
        return sorted(levels)
    return sorted(levels, key=lambda level: (values[level], level))


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes for a message, the first few of many.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a', … (3 in all)")
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def two_groups(
    counts: Mapping[str, int], positive: object, what: str, several: str
) -> tuple[str, str]:
    """The names of groups −1 and +1; an error unless there are exactly two.

    Parameters
    ----------
    counts : mapping
        How many options each group has.
    positive : object
        The group that becomes +1; None for the one that sorts last.
    what, several : str
        What holds the groups, and what to do with several of them, for the message.

    Examples
    --------
    >>> two_groups({"home": 3, "away": 9}, "away", "groups", "use attributes=")
    ('home', 'away')
    """
    names = sorted_levels(list(counts))
    if len(names) == 1:
        raise InputError(
            f"{what} has one group only, {names[0]!r} ({counts[names[0]]} options): the bias is a "
            "difference between two groups; add options of the other group"
        )
    if len(names) != 2:
        shown = ", ".join(f"{name!r} ({counts[name]})" for name in names[:8])
        more = ", …" if len(names) > 8 else ""
        raise InputError(
            f"{what} has {len(names)} groups, two are needed: {shown}{more}; {several}"
        )
    if positive is None:
        return names[0], names[1]
    wanted = text_of(positive)
    matching = [name for name in names if name == wanted] or [
        name for name in names if _same_number(name, wanted)
    ]
    if len(matching) != 1:
        raise InputError(
            f"{what} has no group {positive!r}, named by positive=; its groups are {listed(names)}"
        )
    other = names[0] if matching[0] == names[1] else names[1]
    return other, matching[0]


def _same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def repeated_name(names: pa.ChunkedArray) -> tuple[str, list[int]] | None:
    """A name that stands in several rows, with its rows; None if all are distinct.

    Examples
    --------
    >>> repeated_name(pa.chunked_array([["Ann", "Bo"], ["Ann"]]))
    ('Ann', [0, 2])
    """
    # Names that end differently differ: sorted by their last byte, a table of all names, several
    # times as large as the names, is never needed at once.
    parts = 1 if len(names) < SMALL_TABLE else 16
    endings = pa.chunked_array([_last_bytes(chunk) % parts for chunk in names.iterchunks()])
    for ending in range(parts):
        part = names.filter(pc.equal(endings, ending))
        if pc.count_distinct(part, mode="all").as_py() == len(part):
            continue
        counts = pc.value_counts(part)
        name = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0].as_py()
        return name, np.flatnonzero(pc.equal(names, name).to_numpy()).tolist()
    return None


def _last_bytes(texts: pa.Array) -> NDArray[np.uint8]:
    """The last byte of each text; the texts are not empty."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset + 1 :][: len(texts)]
    return np.frombuffer(data, dtype=np.uint8)[ends - 1]


class Source(Protocol):
    """A table that can be read twice, block by block, and that can say where a row stands."""

    @property
    def name(self) -> str:
        """What the messages call the table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; an empty name is a column without one."""

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block, in the order asked for."""

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """Where these rows (counted from 0) stand, in the user's words."""


class CsvFile:
    r"""A CSV file with a header line, in UTF-8, separated by commas, semicolons, tabs or bars.

    Parameters
    ----------
    file : path, or an open file
        A path (also of a compressed `.csv.gz`), or a file object, whose content is then kept.

    Examples
    --------
    >>> table = CsvFile(io.StringIO("name;age\nAnn;31\nBo;45\n"))
    >>> table.columns
    ('name', 'age')
    >>> [block[0].to_pylist() for block in table.blocks(["age"])]
    [['31', '45']]
    >>> table.places([1], "name")
    ["line 3 ('Bo')"]
    """

    def __init__(self, file: str | os.PathLike[str] | IO[str] | IO[bytes]) -> None:
        self._path: Path | None = None
        self._content = b""
        if isinstance(file, (str, os.PathLike)):
            self._path = Path(file)
            self.name = str(self._path)
        else:
            content = file.read()
            self._content = content.encode() if isinstance(content, str) else content
            self.name = "the file given"
        self._delimiter, self._header = self._read_header()
        # A name keeps no blanks around it: ' age' in a header is 'age' to everybody who reads it.
        self.columns = tuple(name.strip() for name in self._header)
        named = [name for name in self.columns if name]
        repeated = sorted({name for name in named if named.count(name) > 1})
        if repeated:
            raise InputError(
                f"{self.name}: the header names {listed(repeated)} more than once; "
                "give every column a name of its own"
            )
        self._refuse_open_quote()

    def _open(self) -> Any:
        if self._path is None:
            return pa.BufferReader(self._content)
        try:
            return pa.input_stream(str(self._path), compression="detect")
        except FileNotFoundError:
            where = "" if self._path.is_absolute() else f" in {Path.cwd()}"
            raise InputError(f"there is no file {self.name}{where}; check the path") from None
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self._open(), encoding="utf-8-sig", newline="")

    def _records(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The non-empty records with the line they start on; slow, for the header and messages."""
        with self._text() as text:
            reader = csv.reader(text, delimiter=self._delimiter, strict=strict)
            start = 1
            for record in reader:
                if record:
                    yield start, record
                start = reader.line_num + 1

    def _read_header(self) -> tuple[str, list[str]]:
        self._delimiter = ","
        try:
            with self._text() as text:
                first = next((line for line in text if line.strip()), None)
            if first is None:
                raise InputError(
                    f"{self.name} is empty; it needs a header line and one line per option"
                )
            self._delimiter = max(",;\t|", key=first.count)
            return self._delimiter, next(self._records())[1]
        except UnicodeDecodeError:
            raise self._unreadable("it is not text in UTF-8") from None
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None

    def _refuse_open_quote(self) -> None:
        """A quotation mark without its partner swallows the rest of a file without a word."""
        quotes = 0
        with self._open() as stream:
            while chunk := stream.read(1 << 20):
                quotes += chunk.count(b'"')
        if quotes % 2 == 0:
            return
        line = 0
        try:
            for start, record in self._records(strict=True):
                line = start + sum(cell.count("\n") for cell in record)
        except UnicodeDecodeError:
            raise self._unreadable("it is not text in UTF-8") from None
        except csv.Error as error:
            if "end of data" in str(error):
                raise InputError(
                    f"{self.name}: after line {line} a quotation mark opens and never closes, "
                    "so the rest of the file is one cell; close it or remove it"
                ) from None

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns as text, block by block."""
        wanted = [self._header[self.columns.index(column)] for column in columns]
        try:
            with self._open() as stream:
                reader = pacsv.open_csv(
                    stream,
                    read_options=pacsv.ReadOptions(block_size=CSV_BLOCK_BYTES),
                    parse_options=pacsv.ParseOptions(
                        delimiter=self._delimiter, newlines_in_values=True
                    ),
                    convert_options=pacsv.ConvertOptions(
                        # Text throughout: guessing types from the first block would reject what
                        # the later ones hold, without saying where.
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        strings_can_be_null=False,
                    ),
                )
                for batch in reader:
                    yield batch.columns
        except pa.ArrowInvalid as error:
            if "cannot infer number of columns" in str(error):
                return  # a header without a line end: no rows
            raise self._unreadable(str(error)) from None

    def _unreadable(self, reason: str) -> InputError:
        """Say which line made the file unreadable."""
        with self._open() as stream:
            line = 0
            for line, raw in enumerate(io.BufferedReader(stream), start=1):
                try:
                    raw.decode()
                except UnicodeDecodeError as error:
                    return InputError(
                        f"{self.name}: line {line} has the byte 0x{raw[error.start]:02x} at "
                        f"position {error.start + 1}, which is not UTF-8; save the file as UTF-8 "
                        "(in a spreadsheet: 'CSV UTF-8')"
                    )
        try:
            for line, record in self._records():
                if len(record) != len(self._header):
                    return InputError(
                        f"{self.name}: line {line} has {len(record)} cells, the header has "
                        f"{len(self._header)}; mend the line (text that contains "
                        f"{self._delimiter!r} stands in double quotes)"
                    )
        except csv.Error as error:
            return InputError(f"{self.name}: after line {line}: {error}")
        return InputError(f"{self.name} cannot be read: {reason}")

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The lines of the file where these rows stand, with the names of the options."""
        found: dict[int, str] = {}
        wanted = set(rows)
        try:
            for row, (line, record) in enumerate(self._records(), start=-1):
                if row in wanted:
                    name = "" if label is None else record[self.columns.index(label)].strip()
                    found[row] = f"line {line} ({name!r})" if name else f"line {line}"
                    if len(found) == len(wanted):
                        break
        except csv.Error:
            pass  # a cell too long for this reader: the row's number has to do
        return [found.get(row, f"row {row}") for row in rows]


class Frame:
    """A data frame of pandas, polars or pyarrow, read through narwhals.

    Examples
    --------
    >>> table = Frame(pa.table({"name": ["Ann", "Bo"], "age": [31, 45]}))
    >>> table.columns
    ('name', 'age')
    >>> table.places([1], "name")
    ["row 1 ('Bo')"]
    """

    name = "the frame"

    def __init__(self, frame: Any) -> None:
        try:
            native = nw.from_native(frame)
            frame = native.collect() if isinstance(native, nw.LazyFrame) else native
            keys = list(frame.columns)
        except TypeError:
            raise InputError(
                "a data frame of pandas, polars or pyarrow is needed, not "
                f"{type(frame).__name__}; arrays go to ActionSet(features, groups)"
            ) from None
        except nw.exceptions.DuplicateError as error:
            message = " ".join(str(error).split())
            raise InputError(f"{self.name}: {message}; give every column its own name") from None
        self._frame: nw.DataFrame[Any] = frame
        # pandas allows numbers as column names.
        self.columns = tuple(str(key) for key in keys)
        self._keys = dict(zip(self.columns, keys, strict=True))
        if not self.columns:
            raise InputError(f"{self.name} has no columns; it needs a group and features")

    def blocks(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Read some columns, block by block."""
        for start in range(0, len(self._frame), FRAME_BLOCK_ROWS):
            block = self._frame[start : start + FRAME_BLOCK_ROWS]
            yield [_arrow(block.get_column(self._keys[column])) for column in columns]

    def places(self, rows: Sequence[int], label: str | None) -> list[str]:
        """The positions of these rows in the frame, counted from 0, with the options' names."""
        if label is None:
            return [f"row {row}" for row in rows]
        names = self._frame.get_column(self._keys[label])
        return [f"row {row} ({text_of(names[row])!r})" for row in rows]


def _arrow(series: nw.Series[Any]) -> pa.Array:
    try:
        cells = series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # An object column of mixed kinds, such as numbers with 'n/a' among them: as text, the
        # scan finds the cell that does not belong.
        missing = series.is_null().to_list()
        values = series.to_list()
        cells = pa.array(
            [None if gone else str(value) for gone, value in zip(missing, values, strict=True)],
            pa.string(),
        )
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def read_numbers(cells: pa.Array) -> NDArray[np.float64]:
    """Cells as numbers; NaN where a cell is missing or not a number.

    Examples
    --------
    >>> read_numbers(pa.array(["1.5", " +2 ", "n/a", ""]))
    array([1.5, 2. , nan, nan])
    """
    if not _is_text(cells.type):
        return _to_numpy(cells.cast(pa.float64(), safe=False))
    try:
        return _to_numpy(cells.cast(pa.float64()))
    except pa.ArrowInvalid:
        names, codes = coded(cells)
        return np.append(_numbers_among(names), np.nan)[codes]


def _numbers_among(names: Sequence[str]) -> NDArray[np.float64]:
    """Texts as numbers; NaN where a text is not one."""
    texts = pa.array(names, pa.string())
    only = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, pa.scalar(None, pa.string()))
    return _to_numpy(only.cast(pa.float64()))


def _to_numpy(numbers: pa.Array) -> NDArray[np.float64]:
    result: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    return result


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_category(kind: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(kind) or pa.types.is_dictionary(kind))


@dataclass
class Moments:
    """Mean and spread of numbers that arrive in blocks (Chan's update about a shifted origin).

    Numbers are measured from the first one, so that 1e9 + small keeps the small.

    Examples
    --------
    >>> moments = Moments()
    >>> moments.add(np.array([1e9, 1e9 + 2]))
    >>> moments.add(np.array([1e9 + 4]))
    >>> moments.mean - 1e9, moments.deviation
    (2.0, 1.632993161855452)
    """

    count: int = 0
    origin: float = 0.0
    shifted_mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Take in one block of finite numbers."""
        if numbers.size == 0:
            return
        if self.count == 0:
            self.origin = float(numbers[0])
        with np.errstate(over="ignore", invalid="ignore"):
            shifted = numbers - self.origin
            n, total = numbers.size, self.count + numbers.size
            mean = float(shifted.mean())
            shifted -= mean
            step = mean - self.shifted_mean
            self.squares += float(shifted @ shifted) + step * step * self.count * n / total
            self.shifted_mean += step * n / total
        self.count = total
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))

    @property
    def mean(self) -> float:
        """The mean of all numbers so far."""
        return self.origin + self.shifted_mean

    @property
    def deviation(self) -> float:
        """The standard deviation (of the numbers themselves, not of a sample: divided by n)."""
        return math.sqrt(self.squares / self.count)

    @property
    def constant(self) -> bool:
        """Whether the spread is no more than rounding."""
        return self.high - self.low <= ROUNDING * max(abs(self.low), abs(self.high))


@dataclass
class ColumnScan:
    """What the first pass learns about one column."""

    name: str
    categorical: bool = False
    unsupported: str | None = None
    n_missing: int = 0
    first_missing: int = -1
    n_numbers: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] | None = None
    first_infinite: tuple[int, float] | None = None
    moments: Moments = field(default_factory=Moments)
    counts_rows: bool = True
    group_value: dict[int, float] = field(default_factory=dict)
    varies_in_group: bool = False
    levels: dict[str, set[int]] = field(default_factory=dict)
    levels_incomplete: bool = False

    def add(self, cells: pa.Array, start: int, groups: NDArray[np.int32] | None) -> None:
        """Take in the cells of one block.

        Parameters
        ----------
        cells : pyarrow array
            The column's cells in this block.
        start : int
            The row of the first of them.
        groups : (n,) ints or None
            The group of each row, 0 or 1 (−1 where it has none); None unless there are two groups.
        """
        kind = cells.type
        if _is_category(kind):
            self.categorical = True
        if self.categorical or pa.types.is_null(kind):
            self._add_categories(*coded(cells), start, groups)
        elif _is_number(kind):
            self._add_plain_numbers(cells, read_numbers(cells), start, groups)
        elif _is_text(kind):
            self._add_text(cells, start, groups)
        else:
            self.unsupported = str(kind)

    def _add_text(self, cells: pa.Array, start: int, groups: NDArray[np.int32] | None) -> None:
        try:
            numbers = _to_numpy(cells.cast(pa.float64()))
        except pa.ArrowInvalid:
            names, codes = coded(cells)
            fits = pc.match_substring_regex(pa.array(names, pa.string()), NUMBER)
            is_number = np.append(fits.to_numpy(zero_copy_only=False).astype(np.bool_), False)[
                codes
            ]
            odd = np.flatnonzero((codes >= 0) & ~is_number)
            if odd.size and self.first_text is None:
                self.first_text = (start + int(odd[0]), names[codes[odd[0]]])
            self.n_texts += odd.size
            self._add_categories(names, codes, start, groups)
            self._add_numbers(read_numbers(cells), is_number, start, groups)
        else:
            self._add_plain_numbers(cells, numbers, start, groups)

    def _add_plain_numbers(
        self,
        cells: pa.Array,
        numbers: NDArray[np.float64],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        """Take in a block without a text in it.

        Its numbers are not kept as categories: millions of them differ. Should the column turn out
        to be categorical after all, it is scanned once more.
        """
        self.levels_incomplete = True
        present = pc.is_valid(cells).to_numpy(zero_copy_only=False)
        self._note_missing(~present, start)
        self._add_numbers(numbers, present, start, groups)

    def _note_missing(self, missing: NDArray[np.bool_], start: int) -> None:
        n = int(np.count_nonzero(missing))
        if n and not self.n_missing:
            self.first_missing = start + int(np.argmax(missing))
        self.n_missing += n

    def _add_numbers(
        self,
        numbers: NDArray[np.float64],
        which: NDArray[np.bool_],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        finite = np.isfinite(numbers)
        infinite = which & ~finite
        if self.first_infinite is None and infinite.any():
            row = int(np.argmax(infinite))
            self.first_infinite = (start + row, float(numbers[row]))
        which = which & finite
        self.n_numbers += int(np.count_nonzero(which | infinite))
        if which.all():
            values = numbers
        else:
            values, groups = numbers[which], None if groups is None else groups[which]
        if self.counts_rows:
            first = self.moments.origin if self.moments.count else values[:1]
            self.counts_rows = np.array_equal(values, first + np.arange(start, start + len(values)))
        self.moments.add(values)
        if groups is not None and not self.varies_in_group:
            self._compare_with_groups(values, groups)

    def _compare_with_groups(self, values: NDArray[np.float64], groups: NDArray[np.int32]) -> None:
        for group in np.unique(groups[groups >= 0]):
            own = values[groups == group]
            known = self.group_value.setdefault(int(group), float(own[0]))
            tolerance = ROUNDING * max(abs(known), float(np.abs(own).max()))
            if float(np.abs(own - known).max()) > tolerance:
                self.varies_in_group = True

    def _add_categories(
        self,
        names: Sequence[str],
        codes: NDArray[np.int32],
        start: int,
        groups: NDArray[np.int32] | None,
    ) -> None:
        self._note_missing(codes < 0, start)
        if len(self.levels) > MAX_LEVELS:
            return
        occurs = np.zeros((len(names), 2), dtype=np.bool_)
        if groups is not None:
            kept = (codes >= 0) & (groups >= 0)
            occurs[codes[kept], groups[kept]] = True
        for name, (in_first, in_second) in zip(names, occurs, strict=True):
            seen = self.levels.setdefault(name, set())
            seen.update(number for number, there in ((0, in_first), (1, in_second)) if there)

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories: text that is not mostly numbers."""
        return self.categorical or self.n_texts > self.n_numbers

    @property
    def sorted_levels(self) -> list[str]:
        """The categories in their order."""
        return sorted_levels(list(self.levels))


@dataclass
class Scan:
    """What the first pass learns about a table."""

    n_rows: int
    columns: dict[str, ColumnScan]
    groups: dict[str, int]
    group_missing: int | None
    labels: pa.ChunkedArray | None
    label_missing: int | None


def scan(
    source: Source,
    columns: Sequence[str],
    categorical: Sequence[str],
    group: str | None = None,
    label: str | None = None,
) -> Scan:
    """Read a table once and note what is in it, defects included.

    Parameters
    ----------
    source : Source
        The table.
    columns : sequence of str
        The columns that become features or attributes.
    categorical : sequence of str
        Those among them that are categories even if they look like numbers.
    group, label : str, optional
        The columns with the groups and the names of the options.

    Examples
    --------
    >>> table = Frame(pa.table({"age": [31, 45], "town": ["Ulm", "Bonn"]}))
    >>> found = scan(table, ["age", "town"], categorical=[])
    >>> found.columns["age"].moments.mean, found.columns["town"].sorted_levels
    (38.0, ['Bonn', 'Ulm'])
    """
    scans = {name: ColumnScan(name, categorical=name in categorical) for name in columns}
    special = [column for column in (group, label) if column is not None]
    wanted = list(dict.fromkeys([*columns, *special]))
    counts: dict[str, int] = {}
    group_missing: int | None = None
    label_missing: int | None = None
    labels: list[pa.Array] = []
    n_rows = 0
    for block in source.blocks(wanted):
        cells = dict(zip(wanted, block, strict=True))
        codes = None
        if group is not None:
            names, local = coded(cells[group])
            if group_missing is None and (local < 0).any():
                group_missing = n_rows + int(np.argmax(local < 0))
            if len(counts) <= MAX_LEVELS:
                sizes = np.bincount(local[local >= 0], minlength=len(names))
                for name, size in zip(names, sizes, strict=True):
                    counts[name] = counts.get(name, 0) + int(size)
            if len(counts) <= 2:
                order = list(counts)
                # The last entry answers for −1, the rows without a group.
                numbers = [*(order.index(name) for name in names), -1]
                codes = np.array(numbers, dtype=np.int32)[local]
        if label is not None:
            texts = as_text(cells[label])
            if label_missing is None and texts.null_count:
                named = pc.is_valid(texts).to_numpy(zero_copy_only=False)
                label_missing = n_rows + int(np.argmin(named))
            labels.append(texts)
        for name in columns:
            scans[name].add(cells[name], n_rows, codes)
        n_rows += len(block[0])
    again = [name for name in columns if scans[name].is_category and scans[name].levels_incomplete]
    if again:
        scans |= scan(source, again, again, group).columns
    return Scan(
        n_rows,
        scans,
        counts,
        group_missing,
        pa.chunked_array(labels, pa.string()) if label is not None else None,
        label_missing,
    )


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """A table turned into the matrix of an action set, with everything needed to turn back.

    Attributes
    ----------
    points : (k, m) floats
        Features, then attributes.
    encoding : Encoding
        Where each column comes from.
    attribute_names : tuple of str
        Names of the last columns of `points`.
    group_names : (str, str) or None
        The labels of groups −1 and +1.
    labels : pyarrow text or None
        The names of the options, if the table has them.
    """

    points: NDArray[np.float64]
    encoding: Encoding
    attribute_names: tuple[str, ...]
    group_names: tuple[str, str] | None
    labels: pa.ChunkedArray | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which columns play which part, and how they are to be encoded."""

    group: str | None = None
    label: str | None = None
    features: Sequence[str] | None = None
    attributes: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    intercept: bool = True
    standardize: bool = True
    positive: object = None


def encode(source: Source, recipe: Recipe) -> EncodedTable:
    """Turn a table into the matrix of an action set.

    Parameters
    ----------
    source : Source
        The table: `CsvFile` or `Frame`.
    recipe : Recipe
        Which columns are what.

    Examples
    --------
    >>> table = pa.table({"age": [30, 50, 40], "side": ["home", "away", "home"]})
    >>> encoded = encode(Frame(table), Recipe(group="side"))
    >>> encoded.group_names
    ('away', 'home')
    >>> encoded.points.round(2)
    array([[ 1.  , -1.22,  1.  ],
           [ 1.  ,  1.22, -1.  ],
           [ 1.  ,  0.  ,  1.  ]])
    """
    chosen, attributes = _choose_columns(source, recipe)
    found = scan(source, [*chosen, *attributes], recipe.categorical, recipe.group, recipe.label)
    if found.n_rows == 0:
        raise InputError(f"{source.name} has a header but no rows; it needs one row per option")
    group_names = _check_groups(source, recipe, found)
    _check_labels(source, recipe, found)
    _check_columns(source, recipe, found, chosen, attributes)
    encoding = _encoding(recipe, found, chosen, attributes)
    _check_names(source, encoding)
    return EncodedTable(
        points=_fill(source, recipe, found, encoding, group_names),
        encoding=encoding,
        attribute_names=(
            tuple(column.name for column in encoding.attributes)
            if recipe.group is None
            else (recipe.group,)
        ),
        group_names=group_names,
        labels=found.labels,
    )


def _choose_columns(source: Source, recipe: Recipe) -> tuple[list[str], list[str]]:
    """The columns of features and of attributes; an error for names that are not in the table."""
    if (recipe.group is None) == (recipe.attributes is None):
        raise InputError(
            "exactly one of group= and attributes= is needed: group= names the column with the two "
            "groups, attributes= lists columns that evaluations react to and value does not; "
            f"the columns of {source.name} are {listed([c for c in source.columns if c], 30)}"
        )
    for argument, value in (
        ("features", recipe.features),
        ("attributes", recipe.attributes),
        ("categorical", recipe.categorical),
    ):
        if isinstance(value, str):
            raise InputError(f"{argument} is a list of columns: {argument}=[{value!r}]")
    attributes = list(recipe.attributes or [])
    if recipe.attributes is not None and not attributes:
        raise InputError("attributes=[] names no column; list at least one, or use group=")
    named = [("group", recipe.group), ("label", recipe.label)]
    special = [(role, column) for role, column in named if column is not None]
    special += [("attributes", column) for column in attributes]
    roles = {column: role for role, column in special}
    for column in [*roles, *(recipe.features or []), *recipe.categorical]:
        if column not in source.columns:
            raise InputError(_no_such_column(source, column))
    if len(roles) < len(special):
        raise InputError("group=, label= and attributes= must name different columns")
    if recipe.features is None:
        rest = [column for column in source.columns if column and column not in roles]
        return rest, attributes
    features = list(recipe.features)
    for column in features:
        if features.count(column) > 1:
            raise InputError(f"features names {column!r} twice; name every column once")
        if column in roles:
            raise InputError(
                f"{column!r} is named in features= and in {roles[column]}=; a column can be only "
                "one of them: remove it from features"
            )
    if not features and not recipe.intercept:
        raise InputError("features=[] without an intercept leaves nothing to value options by")
    return features, attributes


def _no_such_column(source: Source, column: str) -> str:
    columns = [name for name in source.columns if name]
    lower = {name.casefold(): name for name in columns}
    close = difflib.get_close_matches(str(column).casefold(), list(lower), n=3)
    hint = f"did you mean {' or '.join(repr(lower[name]) for name in close)}? " if close else ""
    if any(_same_number(name, name) for name in columns):
        hint += "The first line looks like data: does the table have a header? "
    return f"{source.name} has no column {column!r}; {hint}Its columns are {listed(columns, 30)}"


def _check_groups(source: Source, recipe: Recipe, found: Scan) -> tuple[str, str] | None:
    if recipe.group is None:
        return None
    column = f"{source.name}: column {recipe.group!r}"
    if found.group_missing is not None:
        place = source.places([found.group_missing], recipe.label)[0]
        raise InputError(
            f"{source.name}: {place}, column {recipe.group!r} is empty; every option needs a "
            "group: fill it in or remove the row"
        )
    if len(found.groups) > MAX_LEVELS:
        raise InputError(
            f"{column} has more than {MAX_LEVELS} different values, such as "
            f"{listed(list(found.groups)[:3])}; group= names a column with exactly two"
        )
    return two_groups(
        found.groups,
        recipe.positive,
        column,
        f"for several groups use attributes=[{recipe.group!r}] instead of group=, "
        "or make a column with two values",
    )


def _check_labels(source: Source, recipe: Recipe, found: Scan) -> None:
    if found.label_missing is not None:
        place = source.places([found.label_missing], None)[0]
        raise InputError(
            f"{source.name}: {place}, column {recipe.label!r} is empty; every option needs a name: "
            "fill it in, or leave label= out to have them numbered"
        )
    repeated = None if found.labels is None else repeated_name(found.labels)
    if repeated is not None:
        name, rows = repeated
        places = ", ".join(source.places(rows[:5], None)) + (", …" if len(rows) > 5 else "")
        raise InputError(
            f"{source.name}: the name {name!r} in column {recipe.label!r} stands in {len(rows)} "
            f"rows ({places}); names must differ: keep one row per option, or name another column"
        )


def _check_columns(
    source: Source, recipe: Recipe, found: Scan, features: Sequence[str], attributes: Sequence[str]
) -> None:
    """Report everything that is wrong with the columns at once, so that it is mended at once."""
    problems = {
        name: problem
        for name in [*features, *attributes]
        if (problem := _problem(source, recipe, found, name)) is not None
    }
    unnamed = [str(number) for number, name in enumerate(source.columns, start=1) if not name]
    if unnamed and recipe.features is None:
        problems[""] = (
            f"column {', '.join(unnamed)} has no name; give it one, or leave it out "
            "(a row number written by pandas: write with index=False)"
        )
    if not problems:
        return
    usable = [name for name in features if name not in problems]
    advice = ""
    if recipe.features is None and usable and not problems.keys() <= set(attributes):
        advice = f"\nThe columns that can be used as they are: features={usable!r}"
    if len(problems) == 1:
        raise InputError(f"{source.name}: {next(iter(problems.values()))}{advice}")
    lines = "".join(f"\n  - {problem}" for problem in problems.values())
    raise InputError(
        f"{source.name}: {len(problems)} columns cannot be used as they are:{lines}{advice}"
    )


def _problem(source: Source, recipe: Recipe, found: Scan, name: str) -> str | None:
    """What is wrong with one column, and what to do; None if it is fine."""
    column = found.columns[name]
    n = found.n_rows
    role = "attributes" if name in (recipe.attributes or ()) else "features"

    def at(row: int) -> str:
        return f"{source.places([row], recipe.label)[0]}, column {name!r}"

    if column.unsupported is not None:
        return f"column {name!r} holds {column.unsupported}, not numbers or categories; convert it"
    if column.n_missing == n:
        return f"column {name!r} is empty in every row; leave it out"
    if column.n_missing:
        return (
            f"{at(column.first_missing)} is empty ({column.n_missing} of {n} rows are); "
            "fill in the cells, remove the rows, or leave the column out"
        )
    if column.is_category:
        return _problem_of_category(recipe, found, column, role)
    if column.first_text is not None:
        row, value = column.first_text
        more = f" ({column.n_texts} cells are not)" if column.n_texts > 1 else ""
        comma = value.replace(",", "", 1).lstrip("+-").isdigit()
        mend = "write decimals with a point" if comma else "correct the cell or remove the row"
        return (
            f"{at(row)}: {value!r} is not a number{more}; {mend}, or, if the column holds "
            f"categories, say categorical=[{name!r}]"
        )
    if column.first_infinite is not None:
        row, number = column.first_infinite
        return f"{at(row)}: {number} is not a finite number; correct the cell or remove the row"
    return _problem_of_numbers(recipe, found, column, role)


def _problem_of_category(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    name, levels, n = column.name, column.levels, found.n_rows
    if len(levels) > MAX_LEVELS or len(levels) == n > 1:
        many = f"more than {MAX_LEVELS}" if len(levels) > MAX_LEVELS else str(n)
        example = sorted_levels(list(levels))[0]
        names = "" if recipe.label else f"say label={name!r} if it names the options, or "
        return (
            f"column {name!r} holds {many} different texts in {n} rows, such as {example!r}: "
            f"that describes each option by itself and is of no use among {role}; {names}"
            "leave it out"
        )
    if len(levels) == 1 and recipe.intercept:
        return (
            f"column {name!r} is {next(iter(levels))!r} in every row, which the intercept says "
            f"already; leave it out of {role}"
        )
    in_one_group = recipe.group is not None and all(len(seen) == 1 for seen in levels.values())
    if role == "features" and in_one_group and len(levels) > 1:
        return (
            f"column {name!r} tells the group ({recipe.group!r}): each of its {len(levels)} "
            "categories occurs in one group only, so the bias cannot be told from it; "
            "leave it out of features"
        )
    return None


def _problem_of_numbers(recipe: Recipe, found: Scan, column: ColumnScan, role: str) -> str | None:
    name, moments = column.name, column.moments
    if moments.constant and (recipe.intercept or recipe.standardize):
        why = (
            "which the intercept says already"
            if recipe.intercept
            else "so it has no spread to be standardised by"
        )
        return f"column {name!r} is {moments.low:.15g} in every row, {why}; leave it out of {role}"
    if (
        role == "features"
        and len(column.group_value) == 2
        and not column.varies_in_group
        and not moments.constant
    ):
        groups = list(found.groups)
        told = " and ".join(
            f"{value:.15g} for every {groups[number]!r}"
            for number, value in sorted(column.group_value.items())
        )
        return (
            f"column {name!r} tells the group ({recipe.group!r}): it is {told}, so the bias cannot "
            "be told from it; leave it out of features"
        )
    if recipe.standardize and not 0 < moments.deviation < math.inf:
        return (
            f"column {name!r} runs from {moments.low:.3g} to {moments.high:.3g}, which is beyond "
            "what squares can hold; give it in another unit"
        )
    if (
        role == "features"
        and recipe.features is None
        and column.counts_rows
        and found.n_rows >= ROW_NUMBERS_FROM
    ):
        return (
            f"column {name!r} counts the rows ({moments.low:.15g}, {moments.low + 1:.15g}, …); "
            f"leave it out, or list it in features= if it means something"
        )
    return None


def _encoding(
    recipe: Recipe, found: Scan, features: Sequence[str], attributes: Sequence[str]
) -> Encoding:
    references: list[tuple[str, str]] = []

    def columns(name: str) -> Iterator[EncodedColumn]:
        column = found.columns[name]
        if not column.is_category:
            if recipe.standardize:
                yield EncodedColumn(name, None, column.moments.mean, column.moments.deviation)
            else:
                yield EncodedColumn(name)
            return
        levels = column.sorted_levels
        if recipe.intercept:
            references.append((name, levels[0]))
        for level in levels[int(recipe.intercept) :]:
            yield EncodedColumn(name, level)

    intercept = [EncodedColumn(INTERCEPT)] if recipe.intercept else []
    return Encoding(
        features=(*intercept, *(column for name in features for column in columns(name))),
        attributes=tuple(column for name in attributes for column in columns(name)),
        intercept=recipe.intercept,
        references=tuple(references),
    )


def _check_names(source: Source, encoding: Encoding) -> None:
    names = [column.name for column in encoding.features + encoding.attributes]
    clash = [name for name in names if names.count(name) > 1 or name == CONSTANT]
    if clash:
        raise InputError(
            f"{source.name}: the name {clash[0]!r} would stand for two things; rename the column "
            "(the names 'intercept', '(constant)' and 'column=category' are made here)"
        )


def _fill(
    source: Source,
    recipe: Recipe,
    found: Scan,
    encoding: Encoding,
    group_names: tuple[str, str] | None,
) -> NDArray[np.float64]:
    """Second pass: write the matrix, block by block."""
    encoded = [*encoding.features, *encoding.attributes]
    m = len(encoded) + (group_names is not None)
    try:
        points = np.empty((found.n_rows, m))
    except MemoryError:
        gigabytes = found.n_rows * m * 8 / 1e9
        raise InputError(
            f"{source.name}: {found.n_rows} rows of {m} numbers need {gigabytes:.1f} GB, more than "
            "there is; use fewer rows or columns"
        ) from None
    writers = _writers(recipe, found, encoded, group_names)
    changed = InputError(f"{source.name} changed while it was read; read it again")
    row = 0
    for block in source.blocks(list(writers)):
        rows = points[row : row + len(block[0])]
        if len(rows) < len(block[0]):
            raise changed
        if encoding.intercept:
            rows[:, 0] = 1.0
        for write, cells in zip(writers.values(), block, strict=True):
            write(rows, cells)
        # Writers leave NaN for a cell that the first reading did not find.
        if not np.isfinite(rows).all():
            raise changed
        row += len(rows)
    if row != found.n_rows:
        raise changed
    return points


Writer = Callable[[NDArray[np.float64], pa.Array], None]


def _writers(
    recipe: Recipe,
    found: Scan,
    encoded: Sequence[EncodedColumn],
    group_names: tuple[str, str] | None,
) -> dict[str, Writer]:
    """For each of the user's columns, how to write its cells into rows of the matrix."""
    writers: dict[str, Writer] = {}
    for position, column in enumerate(encoded):
        if column.source in writers or (recipe.intercept and position == 0):
            continue
        if column.category is None:
            writers[column.source] = _number_writer(position, column)
        else:
            levels = found.columns[column.source].sorted_levels
            writers[column.source] = _category_writer(position, levels, int(recipe.intercept))
    if recipe.group is not None and group_names is not None:
        writers[recipe.group] = _group_writer(group_names)
    return writers


def _number_writer(position: int, column: EncodedColumn) -> Writer:
    def write(rows: NDArray[np.float64], cells: pa.Array) -> None:
        np.subtract(read_numbers(cells), column.mean, out=rows[:, position])
        rows[:, position] /= column.scale

    return write


def _category_writer(position: int, levels: Sequence[str], dropped: int) -> Writer:
    width = len(levels) - dropped

    def write(rows: NDArray[np.float64], cells: pa.Array) -> None:
        codes = _numbered(cells, levels)
        target = rows[:, position : position + width]
        target[:] = 0.0
        target[codes < 0] = np.nan
        marked = np.flatnonzero(codes >= dropped)
        target[marked, codes[marked] - dropped] = 1.0

    return write


def _group_writer(group_names: tuple[str, str]) -> Writer:
    sign = np.array([-1.0, 1.0, np.nan])

    def write(rows: NDArray[np.float64], cells: pa.Array) -> None:
        rows[:, -1] = sign[_numbered(cells, group_names)]

    return write


def _numbered(cells: pa.Array, levels: Sequence[str]) -> NDArray[np.int32]:
    """The position of each cell's text among the levels, −1 where it is none of them."""
    positions = {level: position for position, level in enumerate(levels)}
    names, codes = coded(cells)
    known = [*(positions.get(name, -1) for name in names), -1]
    return np.array(known, dtype=np.int32)[codes]
