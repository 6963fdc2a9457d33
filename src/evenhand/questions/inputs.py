"""What `Questions` are made of: options and columns, and inputs as people have them, checked.

Lists, mappings, action sets and data frames all become the same: names, a group of each or None,
and a table of numbers, items × evaluators.

A leniency is measured from the first evaluator's, which is nobody's business: what is said is how
far every evaluator is from the mean of the panel, the first included: of those who scored.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices, as_vector, unmasked
from evenhand.errors import InputError
from evenhand.tables import Names, column_names, listed, option_names, texts_or_none

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions
    from evenhand.scores import Factor
    from evenhand.scores.scores import Codes
    from evenhand.tables.columns import Table

GROUP = "group"
"""The column of a frame that holds groups."""
UNLIMITED = 2**62
"""How often a question may be asked that may be asked as often as one likes."""
Kind = Literal["bias", "leniency", "position", "attribute"]

_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
"""Share of a column's largest number by which two of its numbers may differ and be the same."""


@dataclass(frozen=True, eq=False)
class Options:
    """What can be chosen.

    Parameters
    ----------
    labels
        Their names.
    groups
        The group of each, by name, None for none; None if none has one.
    own_features
        (k, d) what their values depend on; None if every option stands for itself.

    Examples
    --------
    >>> options = Options(Names(("Ann", "Bo")), groups=("home", "away"))
    >>> len(options), options.group_of(1), options.features
    (2, 'away', array([[1., 0.],
           [0., 1.]]))
    """

    labels: Names
    groups: tuple[str | None, ...] | None = None
    own_features: Floats | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def stand_alone(self) -> bool:
        """Whether every option stands for itself, so that no model of value is needed."""
        return self.own_features is None

    @cached_property
    def features(self) -> Floats:
        """(k, d) what values depend on; a unit matrix where options stand for themselves."""
        return np.eye(len(self)) if self.own_features is None else self.own_features

    def same_as(self, option: int) -> NDArray[np.bool_]:
        """Tell (k,) which options have the same features as one, and so the same value."""
        X = self.own_features
        if X is None:
            return np.asarray(np.arange(len(self)) == option)
        # up to rounding, each column in its own unit: 0.1 + 0.2 is 0.3
        return np.asarray((np.abs(X[option] - X) <= _ROUNDING * np.abs(X).max(axis=0)).all(axis=1))

    def group_of(self, option: int) -> str | None:
        """Return the name of an option's group; None if it has none."""
        return None if self.groups is None else self.groups[option]


@dataclass(frozen=True)
class Column:
    """What a column of attributes stands for.

    Parameters
    ----------
    name
        What it is called.
    kind
        "bias": a favour; "leniency": what an evaluator adds to all scores; "position": what being
        named first adds; "attribute": anything else.
    evaluator, group
        Whose it is, and towards whom; None if it is everybody's.
    """

    name: str
    kind: Kind = "attribute"
    evaluator: str | None = None
    group: str | None = None


def of_kind(columns: Sequence[Column], kind: Kind) -> NDArray[np.bool_]:
    """Return (p,) which columns are of a kind."""
    return np.array([column.kind == kind for column in columns], dtype=np.bool_)


def names_about(questions: Questions, question: int) -> tuple[str, ...]:
    """Return the names of the options that a question is about."""
    return tuple(questions.options.labels[x] for x in questions.about[question].tolist() if x >= 0)


def named_biases(questions: Questions) -> list[Column]:
    """Return what is said of evaluations beside values: of leniencies, those of all evaluators."""
    found = [column for column in questions.columns if column.kind != "leniency"]
    if len(found) < len(questions.columns):
        found += [Column(name, "leniency", evaluator=name) for name in questions.evaluators]
    return found


@dataclass(frozen=True, eq=False)
class Named:
    """Names, and the group of each (None for none)."""

    names: Names
    groups: tuple[str | None, ...]

    @classmethod
    def of(cls, factor: Factor, groups: Codes | None, names: Sequence[str]) -> Self:
        """Return the names of a factor, with the groups of all of them, by codes of their names."""
        of = np.full(len(factor), -1) if groups is None else groups
        return cls(Names(factor.names), tuple(None if x < 0 else names[x] for x in of.tolist()))

    @property
    def sides(self) -> tuple[str | None, ...] | None:
        """The groups; None if none of them has one."""
        return self.groups if any(group is not None for group in self.groups) else None


def named(given: Any, what: str, *, label: str | None = None, group: str | None = None) -> Named:
    """Return names and groups of a sequence, a mapping to groups, an action set or a frame."""
    # In a frame the first column has the names and "group", if there is one, the groups, unless
    # `label` and `group` name others ("": there are none); `what` is its name in messages.
    if isinstance(given, Named):
        return given
    if isinstance(given, ActionSet):
        return _of_actions(given)
    if is_frame(given):
        return _of_frame(given, what, label, group)
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


def named_options(given: Any) -> Named:
    """Return the names of two options or more; see `named`."""
    found = named(given, "options")
    if len(found.names) < 2:
        raise InputError(f"there is one option only, {found.names[0]!r}; a choice needs two.")
    return found


def parts_of(options: Named, evaluators: Named, workload: Any, trusted: Any) -> dict[str, Any]:
    """Return the parts of `Questions` that say who they are about, and who is asked."""
    who = evaluators.names
    return {
        "options": options.names,
        "groups": options.sides,
        "evaluators": who,
        "evaluator_groups": evaluators.sides,
        "workload": per_evaluator(workload, who, "workload", np.inf),
        "trusted": None if trusted is None else trusted_among(trusted, who),
    }


def trusted_among(given: Any, evaluators: Sequence[str]) -> tuple[str, ...]:
    """Return the names of evaluators who are trusted; an error for those who are none of them."""
    names = tuple(str(name) for name in ([given] if isinstance(given, str) else given))
    strange = [name for name in names if name not in evaluators]
    if strange or not names:
        said = f"{listed(strange)} is none of the evaluators" if strange else "nobody is named"
        raise InputError(f"trusted: {said}; they are {listed(list(evaluators))}.")
    return tuple(name for name in evaluators if name in set(names))


def _groups(groups: Iterable[Any] | None, n: int) -> tuple[str | None, ...]:
    return (None,) * n if groups is None else tuple(texts_or_none(groups))


def _of_actions(actions: ActionSet) -> Named:
    groups: tuple[str | None, ...] = (None,) * len(actions)
    if actions.group_names is not None:
        groups = tuple(actions.group_names[z] for z in (actions.groups > 0).tolist())
    return Named(actions.labels, groups)


def is_frame(given: Any) -> bool:
    """Tell whether this is a data frame."""
    return hasattr(given, "columns") and not isinstance(given, Mapping)


def _of_frame(frame: Any, what: str, label: str | None, group: str | None) -> Named:
    table = _opened(frame, what)
    if group is None and GROUP in table.columns:
        group = GROUP
    role = what.removesuffix("s")
    names = table.names(label_in(table, label, group), f"{role}=")
    if not names:
        raise InputError(f"{table.name} has no lines below its header; it needs at least one.")
    groups = table.texts(group, f"{role}_group=") if group else None
    return Named(Names(names), _groups(groups, len(names)))


def label_in(table: Table, label: str | None, group: str | None) -> str:
    """Return the column with the names: the first that is no group, if nobody says."""
    found = label or next((name for name in table.columns if name and name != group), None)
    if found is None:
        raise InputError(f"{table.name} has no column with names.")
    return found


def _opened(frame: Any, what: str) -> Table:
    from evenhand.tables.opened import open_table  # noqa: PLC0415 - see evenhand.tables

    return open_table(frame, what, what)


def same_group(items: Sequence[str | None], evaluators: Sequence[str | None]) -> NDArray[np.bool_]:
    """Return (items, evaluators) whether both are of one group; None is none."""
    codes = {group: code for code, group in enumerate(dict.fromkeys(items))}
    mine = np.array([codes[group] for group in items])
    theirs = np.array([-1 if group is None else codes.get(group, -1) for group in evaluators])
    return np.asarray(mine[:, None] == theirs)


def biases_of(
    some: NDArray[np.bool_], evaluators: Names, what: str, *, common: bool
) -> tuple[list[Column], Indices]:
    """Return the columns of the biases of evaluators, and (e,) which of them is whose."""
    # `some` is (items, evaluators) who may favour whom; who favours nobody has no bias, and any
    # number.
    (partial,) = np.nonzero(some.any(axis=0))
    place = np.zeros(len(evaluators), dtype=np.intp)
    if common:
        return [Column(what, "bias")] if len(partial) else [], place
    place[partial] = np.arange(len(partial))
    names = [evaluators[j] for j in partial.tolist()]
    return [Column(f"{what} of {name}", "bias", evaluator=name) for name in names], place


def attribute_columns(names: Sequence[str | Column] | None, n: int) -> tuple[Column, ...]:
    """Return what attributes stand for."""
    given: list[Any] = [None] * n if names is None else list(names)
    plain = column_names(
        None if names is None else [getattr(one, "name", one) for one in given],
        n,
        "attribute_names",
        "z",
    )
    return tuple(
        one if isinstance(one, Column) else Column(name)
        for one, name in zip(given, plain, strict=True)
    )


def evaluators_of(names: Sequence[object] | None, q: int) -> tuple[Names | None, Indices | None]:
    """Return who can be asked, and (q,) who is."""
    if names is None:
        return None, None
    if len(names) != q:
        raise InputError(
            f"evaluator has {len(names)} names; one for each of {q} questions, please."
        )
    texts = texts_or_none(names)
    everybody = list(dict.fromkeys(text for text in texts if text is not None))
    place: dict[str | None, int] = {name: i for i, name in enumerate(everybody)}
    place[None] = -1
    return Names(tuple(everybody)), np.array([place[text] for text in texts], dtype=np.intp)


def items_of(about: Any, F: Floats, X: Floats, items: Names) -> Indices:
    """Return (q, 2) the items of questions, as given or by their features."""
    q = len(F)
    if about is not None:
        return _given_about(about, q, items)
    k = len(X)
    found = np.full((q, 2), -1, dtype=np.intp)
    place: dict[bytes, tuple[int, int]] = {}
    for a in range(k):
        place.setdefault((X[a] + 0.0).tobytes(), (a, -1))
    if k <= 200:  # differences of two
        for a in range(k):
            for b in range(k):
                if a != b:
                    place.setdefault((X[a] - X[b] + 0.0).tobytes(), (a, b))
    for row in range(q):
        found[row] = place.get((F[row] + 0.0).tobytes(), (-1, -1))
    return found


def _given_about(about: Any, q: int, items: Names) -> Indices:
    place = {name: i for i, name in enumerate(items)}
    entries = list(about)
    if len(entries) != q:
        raise InputError(
            f"about has {len(entries)} entries; one for each of {q} questions, please."
        )
    found = np.full((q, 2), -1, dtype=np.intp)
    for row, entry in enumerate(entries):
        pair = (entry,) if isinstance(entry, str) or np.ndim(entry) == 0 else tuple(entry)
        for side, one in enumerate(pair):
            at = place.get(one, -2) if isinstance(one, str) else one
            if side > 1 or isinstance(at, float | np.floating) or not -1 <= at < len(items):
                raise InputError(
                    f"about[{row}] is {entry!r}; it must be an item or a pair of items, by name or "
                    f"by index (0 to {len(items) - 1}, −1 for none). Items are "
                    f"{listed(list(items))}."
                )
            found[row, side] = at
    return found


def per_evaluator(given: Any, evaluators: Names | None, what: str, default: float) -> Floats | None:
    """Return (e,) a number of every evaluator: see `pair_numbers`; None if nothing is given."""
    if given is None:
        return None
    return pair_numbers(given, Names(("",)), evaluators or Names(()), what, default).reshape(-1)


def pair_numbers(
    given: Any, items: Names, evaluators: Names, what: str, default: float = 0.0
) -> Floats:
    """Return (items, evaluators) the number of every pair; the default where none is given."""
    # One number; one per evaluator, in order or by name; one by (item, evaluator); a matrix; or a
    # frame whose first column names items and whose others are evaluators.
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
        (who,) = texts_or_none([who])
        if who is None or who not in columns or (item is not None and item not in rows):
            raise InputError(
                f"{what}: {key!r} is no evaluator, and no pair of an item and an evaluator; "
                f"evaluators are {listed(list(evaluators))}."
            )
        found[slice(None) if item is None else rows[item], columns[who]] = value
    return found


def _by_frame(given: Any, items: Names, evaluators: Names, what: str, default: float) -> Floats:
    table = _opened(given, what)
    first, *others = table.columns
    if first in evaluators and hasattr(given, "index"):  # of pandas: names stand in the index
        texts, others = texts_or_none(list(given.index)), list(table.columns)
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


def positive(values: ArrayLike | None, n: int, name: str) -> Floats:
    """Return (n,) positive numbers, of one number or n."""
    if values is None:
        return np.ones(n)
    given = unmasked(values, name)
    vector = as_vector(np.full(n, given) if given.ndim == 0 else given, n, name)
    if not (vector > 0.0).all():
        place = int(np.argmin(vector > 0.0))
        raise InputError(f"{name} must be larger than 0; {name}[{place}] is {vector[place]:g}.")
    return vector


def limits(values: ArrayLike | None, n: int, name: str) -> Counts:
    """Return (n,) whole numbers, `UNLIMITED` where there is no limit (None or infinite)."""
    if values is None:
        return np.full(n, UNLIMITED, dtype=np.int64)
    given = unmasked(values, name)
    vector = np.full(n, given) if given.ndim == 0 else given
    if vector.shape != (n,) or vector.dtype.kind not in "fiub":
        raise InputError(
            f"{name} must be one whole number or {n}; got an array of {vector.dtype} of shape "
            f"{given.shape}."
        )
    fine = (vector >= 0) & (vector == np.floor(vector))
    if not fine.all():
        place = int(np.argmin(fine))
        raise InputError(
            f"{name} must be whole numbers ≥ 0 (infinite: no limit); {name}[{place}] is "
            f"{vector[place]}."
        )
    counts: Counts = np.minimum(vector, UNLIMITED).astype(np.int64)
    return counts


def limited(questions: Questions) -> bool:
    """Tell whether some question, or some evaluator, may be asked only so often."""
    return questions._limited


def sparse_rows(
    shape: tuple[int, int], *cells: tuple[Indices, Indices, Floats | float]
) -> sparse.csr_array:
    """Return rows of which some cells are not 0: where they stand, and what is in them."""
    entries = [np.broadcast_to(entry, row.shape) for row, _, entry in cells]
    at = [np.concatenate(places) for places in zip(*(cell[:2] for cell in cells), strict=True)]
    rows = sparse.csr_array((np.concatenate(entries), tuple(at)), shape=shape)
    rows.sort_indices()
    return rows
