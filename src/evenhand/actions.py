"""Action sets: the options to choose among, with their features, and a group or other attributes.

Notation (SPEC §1): `k` options, `d` features, `p` attributes, `m = d + p`. A feature is what the
value of an option depends on; an attribute is what evaluations react to and value does not. Two
groups are one attribute of −1 and +1. The rows `a_x = (x; z_x)` of the matrix `points` are all that
the solvers need; everything else here is about the user's own names and units.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import IO, Any, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import InputError
from evenhand.tables import (
    CsvFile,
    EncodedColumn,
    EncodedTable,
    Encoding,
    Frame,
    Recipe,
    as_text,
    checked_coefficients,
    coded,
    encode,
    listed,
    repeated_name,
    two_groups,
)

__all__ = ["ActionSet", "EncodedColumn", "Encoding", "Names"]

# Rows looked at in one go: the marks of what is not finite stay small beside the data.
BLOCK_ROWS = 1 << 16


class Names(Sequence[str]):
    """The names of the options: a sequence of texts that takes little memory until it is read.

    Options without names of their own are called "option 1", "option 2", and so on.

    Parameters
    ----------
    texts : pyarrow text, optional
        The names given by the user.
    numbers : (k,) ints or range, optional
        The numbers of the options where no names were given, counted from 1.

    Examples
    --------
    >>> names = Names(numbers=range(1, 1_000_001))
    >>> len(names), names[0], names[-1], names.index("option 7")
    (1000000, 'option 1', 'option 1000000', 6)
    >>> Names(pa.chunked_array([["Ann", "Bo"]])) == ("Ann", "Bo")
    True
    """

    __slots__ = ("_numbers", "_texts")

    def __init__(
        self,
        texts: pa.ChunkedArray | None = None,
        numbers: NDArray[np.int64] | range = range(0),
    ) -> None:
        self._texts = texts
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers if self._texts is None else self._texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Names: ...
    def __getitem__(self, index: int | slice) -> str | Names:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        position = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= position < len(self):
            raise IndexError(f"there are {len(self)} names; index {index} is outside")
        if self._texts is None:
            return f"option {self._numbers[position]}"
        return str(self._texts[position].as_py())

    def __iter__(self) -> Iterator[str]:
        if self._texts is None:
            return (f"option {number}" for number in self._numbers)
        return (name for chunk in self._texts.iterchunks() for name in chunk.to_pylist())

    def __contains__(self, name: object) -> bool:
        return self._position(name) >= 0

    def index(self, name: object, start: int = 0, stop: int | None = None) -> int:
        """The position of a name; ValueError if it is not there."""
        position = self._position(name)
        if position not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"there is no option {name!r}")
        return position

    def _position(self, name: object) -> int:
        if not isinstance(name, str):
            return -1
        if self._texts is not None:
            return int(pc.index(self._texts, name).as_py())
        word, _, digits = name.partition(" ")
        if word != "option" or not digits.isdecimal() or name != f"option {int(digits)}":
            return -1
        if isinstance(self._numbers, range):
            wanted = int(digits)
            return self._numbers.index(wanted) if wanted in self._numbers else -1
        found = np.flatnonzero(self._numbers == int(digits))
        return int(found[0]) if found.size else -1

    def take(self, indices: NDArray[np.int64]) -> Names:
        """The names at these positions."""
        if self._texts is not None:
            return Names(self._texts.take(pa.array(indices)))
        return Names(numbers=np.asarray(self._numbers)[indices])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and self._texts is not None and other._texts is not None:
            return bool(self._texts.equals(other._texts))
        if isinstance(other, Names) and self._texts is None and other._texts is None:
            return np.array_equal(self._numbers, other._numbers)
        if isinstance(other, (Names, tuple, list)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), *self[:1], *self[-1:]))

    def __reduce__(self) -> tuple[type[Names], tuple[Any, Any]]:
        return Names, (self._texts, self._numbers)

    def __repr__(self) -> str:
        return f"Names({listed(list(self[:3]))}{f', … ({len(self)})' if len(self) > 3 else ''})"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ActionSet:
    """The options to choose among: their features, and the group that evaluations may react to.

    Parameters
    ----------
    features : (k, d) numbers
        What the value of an option depends on. Include a column of ones for an intercept.
    groups : k labels of exactly two kinds, optional
        The group of each option, under your own names.
    labels : k distinct names, optional
        What the options are called; "option 1", "option 2", … if not given.
    attributes : (k, p) numbers, optional
        Instead of `groups`: what evaluations react to and value does not.
    positive : optional
        The group that becomes +1; if not given, the one that sorts last.
    feature_names, attribute_names : names, optional
        What the columns are called.

    Attributes
    ----------
    points : (k, m) floats
        The features and then the attributes of each option; read-only.
    n_features : int
        How many of the columns are features.
    labels : sequence of str
        The names of the options.
    feature_names, attribute_names : tuple of str
        The names of the columns.
    group_names : (str, str) or None
        The names of groups −1 and +1; None if the set has attributes instead.
    encoding : Encoding or None
        How the columns of the user's table became features; None for a set made from arrays.

    Examples
    --------
    >>> actions = ActionSet([[1.0, 0.2], [1.0, 0.9], [1.0, 0.5]], ["home", "away", "home"],
    ...                     labels=["Ann", "Bo", "Cy"], positive="home")
    >>> actions
    ActionSet(3 options, 2 features: x1, x2; groups 'away' (1) and 'home' (2))
    >>> actions.groups
    array([ 1, -1,  1], dtype=int8)
    >>> actions.points
    array([[ 1. ,  0.2,  1. ],
           [ 1. ,  0.9, -1. ],
           [ 1. ,  0.5,  1. ]])
    >>> ActionSet([[1.0], [2.0]], attributes=[[0.1, 3.0], [0.4, 5.0]]).n_attributes
    2
    """

    points: NDArray[np.float64]
    n_features: int
    labels: Names
    feature_names: tuple[str, ...]
    attribute_names: tuple[str, ...]
    group_names: tuple[str, str] | None
    encoding: Encoding | None

    def __init__(
        self,
        features: ArrayLike,
        groups: Sequence[object] | NDArray[Any] | None = None,
        labels: Sequence[object] | NDArray[Any] | None = None,
        *,
        attributes: ArrayLike | None = None,
        positive: object = None,
        feature_names: Sequence[str] | None = None,
        attribute_names: Sequence[str] | None = None,
    ) -> None:
        x = _matrix(features, "features")
        k, d = x.shape
        if (groups is None) == (attributes is None):
            raise InputError(
                "exactly one of groups and attributes is needed: groups for two groups, attributes "
                "for a matrix of what evaluations react to"
            )
        group_names: tuple[str, str] | None = None
        z: NDArray[Any]
        if groups is not None:
            z, group_names = _signs(groups, k, positive)
        else:
            if positive is not None:
                raise InputError(f"positive={positive!r} names a group, but attributes were given")
            z = _matrix(attributes, "attributes")
            _check_length("attributes", len(z), k)
        names = _names(labels, k)
        x_names = _column_names(feature_names, d, "feature_names", "x")
        z_names = _column_names(
            ("group",) if attribute_names is None and groups is not None else attribute_names,
            z.shape[1],
            "attribute_names",
            "z",
        )
        # The one copy: from here on features and attributes are windows on this matrix.
        points = np.empty((k, d + z.shape[1]))
        points[:, :d] = x
        points[:, d:] = z
        _check_finite(points, d, x_names, z_names)
        self._set((points, d, names, x_names, z_names, group_names, None))

    def _set(self, parts: tuple[Any, ...]) -> None:
        """Store the fields, in the order in which the class declares them."""
        for declared, value in zip(fields(self), parts, strict=True):
            object.__setattr__(self, declared.name, value)
        self.points.flags.writeable = False

    @classmethod
    def _assembled(cls, *parts: Any) -> Self:
        """A set from parts that are known to be valid."""
        actions = cls.__new__(cls)
        actions._set(parts)
        return actions

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str] | IO[str] | IO[bytes],
        group: str | None = None,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        intercept: bool = True,
        standardize: bool = True,
        positive: object = None,
        attributes: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
    ) -> Self:
        """Read options from a CSV file with a header line.

        Columns of numbers are standardised (mean 0, standard deviation 1). Columns of text become
        zeros and ones, one column per category but the first (every category without an
        intercept). Text that reads as numbers is numbers. The file is read in blocks, twice; it may
        be longer than the memory, as long as the matrix fits.

        Parameters
        ----------
        path : path or open file
            The file: UTF-8, separated by commas, semicolons, tabs or bars; it may be compressed.
        group : str
            The column with the two groups.
        label : str, optional
            The column with the names of the options.
        features : list of str, optional
            The columns that value depends on; if not given, all that have no other part.
        intercept : bool
            Whether to put a column of ones, "intercept", first.
        standardize : bool
            Whether to standardise the columns of numbers.
        positive : str, optional
            The group that becomes +1; if not given, the one that sorts last.
        attributes : list of str, optional
            Instead of `group`: columns that evaluations react to and value does not (several
            groups, evaluators, an age). They are encoded as features are.
        categorical : list of str, optional
            Columns that are categories though they look like numbers.

        Examples
        --------
        >>> import io
        >>> file = io.StringIO('''skater,nation,base,discipline
        ... Ann,home,30,pairs
        ... Bo,away,50,dance
        ... Cy,away,40,pairs''')
        >>> actions = ActionSet.from_csv(file, group="nation", label="skater")
        >>> actions.feature_names
        ('intercept', 'base', 'discipline=pairs')
        >>> actions.describe("Ann")
        {'base': 30.0, 'discipline': 'pairs'}
        """
        recipe = Recipe(
            group, label, features, attributes, categorical, intercept, standardize, positive
        )
        return cls._from_table(encode(CsvFile(path), recipe))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        group: str | None = None,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        intercept: bool = True,
        standardize: bool = True,
        positive: object = None,
        attributes: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
    ) -> Self:
        """Take options from a data frame of pandas, polars or pyarrow.

        The parameters are those of `from_csv`. Text, truth values and categorical columns are
        categories; text that reads as numbers is numbers, as in a file.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"side": [0, 1, 1, 0], "age": [30, 40, 50, 60]})
        >>> ActionSet.from_frame(frame, group="side")
        ActionSet(4 options, 2 features: intercept, age; groups '0' (2) and '1' (2))
        >>> ActionSet.from_frame(frame, attributes=["side"]).attribute_names
        ('side',)
        """
        recipe = Recipe(
            group, label, features, attributes, categorical, intercept, standardize, positive
        )
        return cls._from_table(encode(Frame(frame), recipe))

    @classmethod
    def _from_table(cls, table: EncodedTable) -> Self:
        k = len(table.points)
        return cls._assembled(
            table.points,
            len(table.encoding.features),
            Names(numbers=range(1, k + 1)) if table.labels is None else Names(table.labels),
            tuple(column.name for column in table.encoding.features),
            table.attribute_names,
            table.group_names,
            table.encoding,
        )

    @property
    def features(self) -> NDArray[np.float64]:
        """What value depends on, (k, d): a window on `points`."""
        return self.points[:, : self.n_features]

    @property
    def attributes(self) -> NDArray[np.float64]:
        """What evaluations react to and value does not, (k, p): a window on `points`."""
        return self.points[:, self.n_features :]

    @property
    def n_actions(self) -> int:
        """How many options there are, k."""
        return int(self.points.shape[0])

    @property
    def n_attributes(self) -> int:
        """How many columns of attributes there are, p; 1 for two groups."""
        return int(self.points.shape[1]) - self.n_features

    @cached_property
    def groups(self) -> NDArray[np.int8]:
        """The group of each option, −1 or +1; an error if the set has attributes instead."""
        if self.group_names is None:
            raise InputError(
                f"this set has the attributes {listed(self.attribute_names)}, not two groups; "
                "use .attributes, or make the set with group"
            )
        signs = self.points[:, -1].astype(np.int8)
        signs.flags.writeable = False
        return signs

    def in_user_units(self, coefficients: ArrayLike) -> dict[str, float]:
        """Rewrite a linear function of the features over the user's own columns and categories.

        Parameters
        ----------
        coefficients : (d,) numbers
            The function is `features @ coefficients`.

        Returns
        -------
        dict
            A coefficient per column or "column=category"; "(constant)" where there is one.

        Examples
        --------
        >>> frame = pa.table({"side": [0, 1, 1, 0], "age": [30, 40, 60, 70]})
        >>> actions = ActionSet.from_frame(frame, group="side", standardize=False)
        >>> actions.in_user_units([3.0, 0.5])
        {'age': 0.5, '(constant)': 3.0}
        >>> ActionSet([[1.0], [2.0]], [0, 1]).in_user_units([3.0])
        {'x1': 3.0}
        """
        c = checked_coefficients(coefficients, self.n_features)
        if self.encoding is not None:
            return self.encoding.in_user_units(c)
        return dict(zip(self.feature_names, c.tolist(), strict=True))

    def describe(self, option: int | str) -> dict[str, float | str]:
        """The features of one option, by number (from 0) or by name, in the user's units and words.

        Examples
        --------
        >>> ActionSet([[1.0], [2.0]], [0, 1], labels=["Ann", "Bo"]).describe("Bo")
        {'x1': 2.0}
        """
        if isinstance(option, str):
            if option not in self.labels:
                raise InputError(f"there is no option {option!r}; the options are {self.labels!r}")
            option = self.labels.index(option)
        elif not 0 <= option < self.n_actions:
            raise InputError(
                f"there is no option {option}; they run from 0 to {self.n_actions - 1}"
            )
        row = self.features[option]
        if self.encoding is not None:
            return self.encoding.describe(row)
        return dict(zip(self.feature_names, row.tolist(), strict=True))

    def subset(self, indices: ArrayLike) -> Self:
        """Keep some of the options, with their names, groups and encoding.

        Parameters
        ----------
        indices : distinct ints, or k truth values
            The options to keep. A set with groups needs options of both.

        Examples
        --------
        >>> actions = ActionSet([[1.0], [2.0], [3.0]], ["b", "a", "b"])
        >>> actions.subset([2, 1]).labels
        Names('option 3', 'option 2')
        """
        chosen = _positions(indices, self.n_actions)
        points = self.points[chosen]
        if self.group_names is not None and np.ptp(points[:, -1]) == 0:
            only = self.group_names[int(points[0, -1] > 0)]
            raise InputError(
                f"the {len(chosen)} options chosen are all of group {only!r}; choose options of "
                "both groups, or use .points[indices] for the numbers alone"
            )
        return self._assembled(
            points,
            self.n_features,
            self.labels.take(chosen),
            self.feature_names,
            self.attribute_names,
            self.group_names,
            self.encoding,
        )

    def __len__(self) -> int:
        return self.n_actions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ActionSet):
            return NotImplemented
        return self is other or (
            self._summary() == other._summary()
            and self.encoding == other.encoding
            and np.array_equal(self.points, other.points)
            and self.labels == other.labels
        )

    def __hash__(self) -> int:
        # Two rows tell sets apart well enough, and cost nothing when there are millions.
        ends = (*self.points[0].tolist(), *self.points[-1].tolist())
        return hash((self._summary(), ends))

    def _summary(self) -> tuple[object, ...]:
        return self.points.shape, self.feature_names, self.attribute_names, self.group_names

    def __reduce__(self) -> tuple[Callable[..., ActionSet], tuple[Any, ...]]:
        # Through `_assembled`, since an unpickled array would be writeable.
        parts = tuple(getattr(self, declared.name) for declared in fields(self))
        return type(self)._assembled, parts

    def __repr__(self) -> str:
        shown = ", ".join(self.feature_names[:4]) + (", …" if self.n_features > 4 else "")
        if self.group_names is None:
            rest = f"attributes: {', '.join(self.attribute_names[:4])}"
            rest += ", …" if self.n_attributes > 4 else ""
        else:
            n_positive = int(np.count_nonzero(self.groups > 0))
            sizes = (self.n_actions - n_positive, n_positive)
            parts = [f"{n!r} ({size})" for n, size in zip(self.group_names, sizes, strict=True)]
            rest = "groups " + " and ".join(parts)
        return f"ActionSet({self.n_actions} options, {self.n_features} features: {shown}; {rest})"


def _matrix(values: ArrayLike | None, what: str) -> NDArray[Any]:
    """The values as a matrix of real numbers, without a copy where they are one already."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(_ragged(values, what)) from None
    if array.ndim != 2:
        hint = (
            f"for a single column use {what}.reshape(-1, 1)"
            if array.ndim == 1
            else "give one row per option and one column per number"
        )
        raise InputError(
            f"{what} must have two dimensions (options × columns), not {array.ndim} "
            f"(shape {array.shape}); {hint}"
        )
    if 0 in array.shape:
        raise InputError(
            f"{what} has the shape {array.shape}: at least one option and one column are needed"
        )
    if array.dtype.kind not in "fiub":
        raise InputError(_not_numbers(array, what))
    return array


def _ragged(values: Any, what: str) -> str:
    first = len(values[0]) if hasattr(values[0], "__len__") else 1
    for row, entry in enumerate(values):
        n = len(entry) if hasattr(entry, "__len__") else 1
        if n != first:
            return (
                f"{what}: row {row} has {n} numbers, row 0 has {first}; "
                "every option needs the same number of them"
            )
    return f"{what} cannot be read as a matrix of numbers; give one row of numbers per option"


def _not_numbers(array: NDArray[Any], what: str) -> str:
    if array.dtype.kind == "c":
        return f"{what} holds complex numbers ({array.dtype}); give real ones, such as {what}.real"
    for (row, column), value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            return (
                f"{what}: row {row}, column {column}: {value!r} is not a number; correct it, or "
                "use ActionSet.from_frame for tables with text"
            )
    return (
        f"{what} has the type {array.dtype} though it holds numbers only; "
        f"convert it with np.asarray({what}, dtype=float)"
    )


def _check_finite(
    points: NDArray[np.float64], d: int, x_names: Sequence[str], z_names: Sequence[str]
) -> None:
    for start in range(0, len(points), BLOCK_ROWS):
        finite = np.isfinite(points[start : start + BLOCK_ROWS])
        if finite.all():
            continue
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        value = points[start + row, column]
        what, name, position = (
            ("features", x_names[column], column)
            if column < d
            else ("attributes", z_names[column - d], column - d)
        )
        raise InputError(
            f"{what}: row {start + row}, column {position} ({name!r}) is {value}; every number "
            "must be finite: fill it in, or leave the row or the column out"
        )


def _check_length(what: str, n: int, k: int) -> None:
    if n != k:
        raise InputError(f"{what} has {n} entries, features has {k} rows; one per option is needed")


def _entries(values: Any, what: str, k: int) -> pa.Array:
    """One value per option."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{what} must hold one value per option, not the single text {values!r}")
    if isinstance(values, (pa.Array, pa.ChunkedArray)) or not hasattr(values, "__array__"):
        entries = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else list(values)
    else:
        entries = np.asarray(values)
        if entries.ndim != 1:
            raise InputError(
                f"{what} must have one dimension, not the shape {entries.shape}; use {what}.ravel()"
            )
    _check_length(what, len(entries), k)
    if isinstance(entries, pa.ChunkedArray):
        entries = entries.combine_chunks()
    if not isinstance(entries, pa.Array):
        try:
            entries = pa.array(entries, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            # Values of several kinds, such as 1 and "1": their texts tell them apart, or do not.
            entries = pa.array([None if v is None else str(v) for v in entries], pa.string())
    return entries


def _check_present(missing: NDArray[np.bool_], what: str) -> None:
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(f"{what}: row {row} is missing or empty; every option needs one")


def _signs(groups: Any, k: int, positive: object) -> tuple[NDArray[np.int8], tuple[str, str]]:
    entries = _entries(groups, "groups", k)
    counts: dict[str, int] = {}
    codes = np.empty(k, dtype=np.int8)
    for start in range(0, k, BLOCK_ROWS):
        names, local = coded(entries[start : start + BLOCK_ROWS])
        sizes = np.bincount(local[local >= 0], minlength=len(names))
        for name, size in zip(names, sizes, strict=True):
            counts[name] = counts.get(name, 0) + int(size)
        order = list(counts)
        # A third group ends in an error below, so its number need not be right.
        numbers = [*(min(order.index(name), 2) for name in names), -1]
        codes[start : start + BLOCK_ROWS] = np.array(numbers, dtype=np.int8)[local]
    _check_present(codes < 0, "groups")
    group_names = two_groups(
        counts,
        positive,
        "groups",
        "for several groups give attributes=, one column of zeros and ones for each group but one",
    )
    sign = np.array([2 * group_names.index(name) - 1 for name in counts], dtype=np.int8)
    return sign[codes][:, np.newaxis], group_names


def _names(labels: Any, k: int) -> Names:
    if labels is None:
        return Names(numbers=range(1, k + 1))
    if isinstance(labels, Names):
        _check_length("labels", len(labels), k)
        return labels
    entries = as_text(_entries(labels, "labels", k))
    _check_present(~pc.is_valid(entries).to_numpy(zero_copy_only=False), "labels")
    texts = pa.chunked_array([entries])
    repeated = repeated_name(texts)
    if repeated is not None:
        name, rows = repeated
        raise InputError(
            f"labels: the name {name!r} stands in {len(rows)} rows ({', '.join(map(str, rows[:5]))}"
            f"{', …' if len(rows) > 5 else ''}); names must differ"
        )
    return Names(texts)


def _column_names(names: Sequence[str] | None, n: int, what: str, letter: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{letter}{number}" for number in range(1, n + 1))
    if isinstance(names, str):
        raise InputError(f"{what} is a list of names: {what}=[{names!r}]")
    result = tuple(str(name) for name in names)
    if len(result) != n:
        raise InputError(
            f"{what} has {len(result)} names, there are {n} columns; give one for each"
        )
    repeated = sorted({name for name in result if result.count(name) > 1})
    if repeated:
        raise InputError(f"{what} has {listed(repeated)} more than once; names must differ")
    return result


def _positions(indices: ArrayLike, k: int) -> NDArray[np.int64]:
    chosen = np.asarray(indices)
    if chosen.dtype == np.bool_ and chosen.shape == (k,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise InputError(
            f"indices must be a list of at least one option number, or {k} truth values; given is "
            f"an array of {chosen.dtype} of shape {chosen.shape}"
        )
    outside = chosen[(chosen < 0) | (chosen >= k)]
    if outside.size:
        raise InputError(f"there is no option {outside[0]}; they run from 0 to {k - 1}")
    values, counts = np.unique(chosen, return_counts=True)
    if len(values) < len(chosen):
        raise InputError(
            f"option {values[counts > 1][0]} is chosen twice; choose each at most once"
        )
    return chosen.astype(np.int64)
