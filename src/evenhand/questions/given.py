"""What is given: names with their groups, and numbers for pairs, as people have them.

Lists, mappings, action sets and data frames all become the same: names, a group of each or None,
and a table of numbers, items × evaluators.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, unmasked
from evenhand.errors import InputError
from evenhand.tables import Names, listed, option_names, texts_or_none

GROUP = "group"
"""The column of a frame that holds groups."""


@dataclass(frozen=True, eq=False)
class Named:
    """Names, the group of each (None for none), and features where there are some."""

    names: Names
    groups: tuple[str | None, ...]
    features: Floats | None = None
    feature_names: tuple[str, ...] | None = None

    @property
    def grouped(self) -> bool:
        """Whether one of them has a group."""
        return any(group is not None for group in self.groups)


def named(
    given: Any,
    what: str,
    features: Sequence[str] | None = None,
    *,
    label: str | None = None,
    group: str | None = None,
) -> Named:
    """Return names and groups of what was given.

    Parameters
    ----------
    given
        Names, a mapping from names to groups, an action set, or a frame: its first column has the
        names, the column "group", if there is one, the groups.
    what
        What messages call it.
    features
        Columns of a frame that are features.
    label, group
        Columns of a frame with names and groups, if not the first and "group".

    Examples
    --------
    >>> named({"Ann": "fr", "Bo": None}, "options")
    Named(names=Names('Ann', 'Bo'), groups=('fr', None), features=None, feature_names=None)
    """
    if isinstance(given, Named):
        return given
    if isinstance(given, ActionSet):
        return _of_actions(given)
    if is_frame(given):
        return _of_frame(given, what, features, label, group)
    groups: Iterable[Any] | None = None
    if isinstance(given, Mapping):
        groups = given.values()
        given = list(given)
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(
            f"{what} must be names, a mapping from names to groups, or a data frame; got {given!r}."
        )
    given = list(given)
    if not given:
        raise InputError(f"{what} is empty; give at least one name.")
    names = option_names(given, len(given), what)
    return Named(names, _groups(groups, len(names)))


def _groups(groups: Iterable[Any] | None, n: int) -> tuple[str | None, ...]:
    return (None,) * n if groups is None else tuple(texts_or_none(groups))


def _of_actions(actions: ActionSet) -> Named:
    groups: tuple[str | None, ...] = (None,) * len(actions)
    if actions.group_names is not None:
        groups = tuple(actions.group_names[z] for z in (actions.groups > 0).tolist())
    return Named(actions.labels, groups, actions.features, actions.feature_names)


def is_frame(given: Any) -> bool:
    """Tell whether this is a data frame."""
    return hasattr(given, "columns") and not isinstance(given, Mapping)


def _of_frame(
    frame: Any, what: str, features: Sequence[str] | None, label: str | None, group: str | None
) -> Named:
    columns = FrameColumns(frame, what)
    if group is None and GROUP in columns.names:
        group = GROUP
    if label is None:
        label = next((name for name in columns.names if name != group), None)
    if label is None:
        raise InputError(f"{what}: the frame has no column with names.")
    texts = columns.texts(label)
    groups = None if group is None else columns.texts(group)
    X = None if features is None else np.column_stack([columns.numbers(c) for c in features])
    known = None if features is None else tuple(features)
    return Named(option_names(texts, len(texts), what), _groups(groups, len(texts)), X, known)


class FrameColumns:
    """The columns of a data frame, or of a CSV file, as texts and as numbers.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow, or a `tables.sources.CsvFile`.
    what
        What messages call it.
    """

    def __init__(self, frame: Any, what: str) -> None:
        from evenhand.tables.sources import CsvFile, Frame  # noqa: PLC0415 - see evenhand.tables

        self._source = frame if isinstance(frame, CsvFile) else Frame(frame)
        self.what = what
        self.names = self._source.columns

    def _cells(self, column: str) -> list[Any]:
        if column not in self.names:
            raise InputError(
                f"{self.what}: there is no column {column!r}; the columns are "
                f"{listed(self.names, 30)}."
            )
        return [block[0] for block in self._source.blocks([column])]

    def texts(self, column: str) -> list[str | None]:
        """Return the cells of a column as trimmed texts; None where they are empty."""
        from evenhand.tables.cells import as_text  # noqa: PLC0415 - see evenhand.tables

        return [text for cells in self._cells(column) for text in as_text(cells).to_pylist()]

    def numbers(self, column: str) -> Floats:
        """Return the cells of a column as numbers; an error names a cell that is none."""
        from evenhand.tables.cells import read_numbers  # noqa: PLC0415 - see evenhand.tables

        read = np.concatenate([read_numbers(cells) for cells in self._cells(column)])
        (wrong,) = np.nonzero(~np.isfinite(read))
        if wrong.size:
            raise InputError(
                f"{self.what}: {self._source.places([int(wrong[0])], None)[0]}, column {column!r} "
                "is not a finite number; correct the cell or leave the row out."
            )
        return read


def pair_numbers(
    given: Any, items: Names, evaluators: Names, what: str, default: float = 0.0
) -> Floats:
    """Return (items, evaluators) the number of every pair.

    Parameters
    ----------
    given
        One number; one per evaluator, in order or by name; one by (item, evaluator); a matrix,
        items × evaluators; or a frame whose first column names items and whose others are
        evaluators. None: the default.
    items, evaluators
        Who is asked about what.
    what
        What messages call it.
    default
        For pairs of which a mapping or a frame says nothing.

    Examples
    --------
    >>> items, evaluators = Names(("Ann", "Bo")), Names(("P", "Q"))
    >>> pair_numbers({"Q": 20.0, ("Ann", "P"): 3.0}, items, evaluators, "prices", 1.0)
    array([[ 3., 20.],
           [ 1., 20.]])
    """
    shape = len(items), len(evaluators)
    if given is None or isinstance(given, numbers.Real):
        return np.full(shape, default if given is None else float(given))
    if isinstance(given, Mapping):
        return _by_name(given, items, evaluators, what, default)
    if is_frame(given):
        return _by_frame(given, items, evaluators, what, default)
    array = unmasked(given, what)
    if array.shape not in (shape, shape[1:]) or array.dtype.kind not in "fiub":
        raise InputError(
            f"{what} must be one number, one for each of {shape[1]} evaluators, or a matrix of "
            f"{shape[0]} items × {shape[1]} evaluators; got an array of {array.dtype} of shape "
            f"{array.shape}."
        )
    return np.array(np.broadcast_to(array, shape), dtype=np.float64)


def _by_name(
    given: Mapping[Any, Any], items: Names, evaluators: Names, what: str, default: float
) -> Floats:
    found = np.full((len(items), len(evaluators)), default)
    rows = {name: i for i, name in enumerate(items)}
    columns = {name: j for j, name in enumerate(evaluators)}
    pairs = sorted(given, key=lambda key: isinstance(key, tuple))  # whole evaluators first
    for key in pairs:
        value = given[key]
        if not isinstance(value, numbers.Real):
            raise InputError(f"{what} of {key!r} must be a number; got {value!r}.")
        item, who = key if isinstance(key, tuple) and len(key) == 2 else (None, key)
        if who not in columns or (item is not None and item not in rows):
            raise InputError(
                f"{what}: {key!r} is no evaluator, and no pair of an item and an evaluator; "
                f"evaluators are {listed(list(evaluators))}."
            )
        found[slice(None) if item is None else rows[item], columns[who]] = value
    return found


def _by_frame(given: Any, items: Names, evaluators: Names, what: str, default: float) -> Floats:
    table = FrameColumns(given, what)
    first, *others = table.names
    if first in evaluators and hasattr(given, "index"):  # of pandas: names stand in the index
        texts, others = texts_or_none(list(given.index)), list(table.names)
    else:
        texts = table.texts(first)
    rows = option_names(texts, len(texts), what)
    strange = [name for name in rows if name not in items]
    strange += [name for name in others if name not in evaluators]
    if strange:
        raise InputError(
            f"{what}: {listed(strange)} is neither an item (rows) nor an evaluator (columns); "
            f"items are {listed(list(items))}, evaluators {listed(list(evaluators))}."
        )
    place = {name: i for i, name in enumerate(items)}
    found = np.full((len(items), len(evaluators)), default)
    at = [place[name] for name in rows]
    for column in others:
        found[at, evaluators.index(column)] = table.numbers(column)
    return found
