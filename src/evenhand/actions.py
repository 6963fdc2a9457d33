"""Action sets: the options to choose among, with their features, and a group or other attributes.

Notation: `k` options, `d` features, `p` attributes, `m = d + p`. A feature is what the
value of an option depends on; an attribute is what evaluations react to and value does not. Two
groups are one attribute of −1 and +1. The rows `a_x = (x; z_x)` of the matrix `points` are all that
the solvers need; everything else here is about the user's own names and units.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arrays import real_matrix, refuse_non_finite
from evenhand.errors import InputError
from evenhand.plain import Form
from evenhand.report import model
from evenhand.tables import (
    EncodedColumn,
    Encoding,
    Names,
    Recipe,
    check_length,
    column_names,
    group_signs,
    listed,
    option_names,
)

if TYPE_CHECKING:
    from evenhand.tables.matrix import EncodedTable

_FORM = Form(
    {
        "features": list[list[float]],
        "feature_names?": list[str] | None,
        "labels?": list[str] | None,
        "groups?": list[str] | None,
        "positive?": str | None,
        "attributes?": list[list[float]] | None,
        "attribute_names?": list[str] | None,
        "encoding?": dict[str, Any] | None,
    }
)

_SHOWN_OPTIONS, _SHOWN_COLUMNS = 10, 8  # in a notebook

__all__ = ["ActionSet", "EncodedColumn", "Encoding", "Names", "checked_actions"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ActionSet:
    """The options to choose among: their features, and the group that evaluations may react to.

    Parameters
    ----------
    features : (k, d) numbers
        What the value of an option depends on.
    groups : k labels of exactly two kinds, optional
        The group of each option, under your own names.
    labels : k distinct names, optional
        What the options are called; "option 1", "option 2", … if not given.
    attributes : (k, p) numbers, optional
        Instead of `groups`: what evaluations react to and value does not. With neither, nothing
        biases evaluations: a plain linear bandit.
    positive : optional
        The group that becomes +1; if not given, the one that sorts last.
    feature_names, attribute_names : names, optional
        What the columns are called.
    intercept : bool
        Whether to put a column of ones, "intercept", first: values may then share a constant.
        Without it an option whose features are all 0 is worth 0, which few scores mean.

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
        The names of groups −1 and +1; None if the set has attributes instead, or no bias.
    encoding : Encoding or None
        How the columns of the user's table became features; None for a set made from arrays, if
        no intercept was added.

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
    >>> ActionSet([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    ActionSet(3 options, 2 features: x1, x2; no bias)
    >>> ActionSet([[0.2], [0.9], [0.5]], ["home", "away", "home"], intercept=True).points
    array([[ 1. ,  0.2,  1. ],
           [ 1. ,  0.9, -1. ],
           [ 1. ,  0.5,  1. ]])
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
        intercept: bool = False,
    ) -> None:
        x = real_matrix(features, "features")
        k, d = x.shape
        if groups is not None and attributes is not None:
            raise InputError(
                "groups and attributes were both given: groups is for two groups, attributes for a "
                "matrix of what evaluations react to; leave one out, or both where nothing biases "
                "evaluations"
            )
        group_names: tuple[str, str] | None = None
        z: NDArray[Any]
        if groups is not None:
            z, group_names = group_signs(groups, k, positive)
        else:
            if positive is not None:
                raise InputError(f"positive={positive!r} names a group, but no groups were given")
            z = np.zeros((k, 0)) if attributes is None else real_matrix(attributes, "attributes")
            check_length("attributes", len(z), k)
        names = option_names(labels, k)
        x_names = column_names(feature_names, d, "feature_names", "x")
        z_names = column_names(
            ("group",) if attribute_names is None and groups is not None else attribute_names,
            z.shape[1],
            "attribute_names",
            "z",
        )
        # The one copy: from here on features and attributes are windows on this matrix.
        first = int(bool(intercept))
        points = np.empty((k, first + d + z.shape[1]))
        points[:, :first] = 1.0
        points[:, first : first + d] = x
        points[:, first + d :] = z
        refuse_non_finite(points[:, first : first + d], "features", x_names)
        refuse_non_finite(points[:, first + d :], "attributes", z_names)
        encoding = None
        if intercept:
            encoding = Encoding.with_intercept(x_names, () if groups is not None else z_names)
            x_names = tuple(column.name for column in encoding.features)
        self._set((points, first + d, names, x_names, z_names, group_names, encoding))

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
    def from_table(
        cls,
        table: Any,
        group: str | None = None,
        label: str | None = None,
        features: Sequence[str] | None = None,
        *,
        intercept: bool = True,
        standardize: bool = True,
        positive: object = None,
        attributes: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        decimal: str | None = None,
        like: ActionSet | None = None,
    ) -> Self:
        """Take options from a table: a file, a data frame, or a list of rows.

        Columns of numbers are standardised (mean 0, standard deviation 1). Columns of text become
        zeros and ones, one column per category but the first (every category without an
        intercept), and so do truth values and a frame's categories. Text that reads as numbers is
        numbers. Numbers written in another way (1,200; 20%; €20) are refused, not guessed and not
        taken for categories, unless the column is listed in `categorical`.

        Parameters
        ----------
        table : path, open file, data frame or list of rows
            A CSV file with a header, in UTF-8, separated by commas, semicolons, tabs or bars; it
            may be compressed. Or an Excel or Parquet file, a data frame of pandas, polars or
            pyarrow, or rows that are mappings.
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
        decimal : str, optional
            What stands before decimals, "." or ",". If not given, it is a comma in a file that
            separates by something else, has commas that can mean nothing else (3,5) and has no
            decimal points, and a point in every other; ``encoding.decimal`` says which.
        like : ActionSet, optional
            Options that were read before. Columns are standardised by their means and deviations,
            and categories measured from theirs, so that options which are in both are the same in
            both: for `Campaign.extend`.

        Examples
        --------
        >>> import io
        >>> file = io.StringIO('''skater,nation,base,discipline
        ... Ann,home,30,pairs
        ... Bo,away,50,dance
        ... Cy,away,40,pairs''')
        >>> actions = ActionSet.from_table(file, group="nation", label="skater")
        >>> actions.feature_names
        ('intercept', 'base', 'discipline=pairs')
        >>> actions.describe("Ann")
        {'base': 30.0, 'discipline': 'pairs'}

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"side": [0, 1, 1, 0], "age": [30, 40, 50, 60]})
        >>> ActionSet.from_table(frame, group="side")
        ActionSet(4 options, 2 features: intercept, age; groups '0' (2) and '1' (2))
        >>> some = ActionSet.from_table(frame[:3], group="side")
        >>> bool((ActionSet.from_table(frame, "side", like=some).points[:3] == some.points).all())
        True
        """
        recipe = Recipe(
            group,
            label,
            features,
            attributes,
            categorical,
            intercept,
            standardize,
            positive,
            decimal,
            None if like is None else checked_actions(like)._units,
        )
        from evenhand.tables.matrix import encode  # noqa: PLC0415 - see evenhand.tables
        from evenhand.tables.opened import open_table  # noqa: PLC0415

        return cls._from_table(encode(open_table(table, "options"), recipe))

    @classmethod
    def _from_table(cls, table: EncodedTable) -> Self:
        return cls._assembled(
            table.points,
            len(table.encoding.features),
            option_names(None, len(table.points)) if table.labels is None else Names(table.labels),
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
        """The group of each option, −1 or +1; an error if the set has none."""
        if self.group_names is None:
            has = f"the attributes {listed(self.attribute_names)}"
            raise InputError(
                f"this set has {has if self.n_attributes else 'no bias'}, not two groups; use "
                ".attributes, or make the set with groups"
            )
        signs = self.points[:, -1].astype(np.int8)
        signs.flags.writeable = False
        return signs

    @cached_property
    def has_constant(self) -> bool:
        """Whether some combination of the features is the same for all options, and not 0.

        If so, values may share a constant. No, too, where 16 digits do not tell.

        Examples
        --------
        >>> ActionSet([[1.0, 0.0], [0.25, 0.75]], ["a", "b"]).has_constant      # shares of 1
        True
        >>> ActionSet([[1.0, 0.0], [0.25, 0.75], [0.5, 0.0]], ["a", "b", "b"]).has_constant
        False
        """
        if self.encoding is not None and self.encoding.intercept:
            return True
        from evenhand.numerics.row_space import DoubtfulRankError, space_of  # noqa: PLC0415 # here

        # 1 = X γ for some γ, unless weights w on the options have wᵀX = 0 and wᵀ1 = 1
        X = np.column_stack([self.features, np.ones(self.n_actions)])
        alone = np.zeros(X.shape[1])
        alone[-1] = 1.0
        try:
            return not space_of(X).contains(alone)
        except DoubtfulRankError:
            return False

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
        >>> import pyarrow as pa
        >>> frame = pa.table({"side": [0, 1, 1, 0], "age": [30, 40, 60, 70]})
        >>> actions = ActionSet.from_table(frame, group="side", standardize=False)
        >>> actions.in_user_units([3.0, 0.5])
        {'age': 0.5, '(constant)': 3.0}
        >>> ActionSet([[1.0], [2.0]], [0, 1]).in_user_units([3.0])
        {'x1': 3.0}
        """
        return self._units.in_user_units(coefficients)

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
        elif isinstance(option, bool) or not isinstance(option, int | np.integer):
            raise InputError(f"an option is named or numbered, from 0; {option!r} does neither")
        elif not 0 <= option < self.n_actions:
            raise InputError(
                f"there is no option {option}; they run from 0 to {self.n_actions - 1}"
            )
        return self._units.describe(self.features[option])

    @property
    def _units(self) -> Encoding:
        """The encoding; for a set made from arrays, one that leaves every column as it is."""
        if self.encoding is not None:
            return self.encoding
        columns = tuple(EncodedColumn(name) for name in self.feature_names)
        return Encoding(columns, attributes=(), intercept=False, references=())

    def to_dict(self) -> dict[str, Any]:
        """Return the options as a plain value of texts, numbers and lists, fit for JSON.

        Examples
        --------
        >>> actions = ActionSet([[1.0], [2.0]], ["home", "away"], labels=["Ann", "Bo"])
        >>> actions.to_dict()["groups"], ActionSet.from_dict(actions.to_dict()) == actions
        (['home', 'away'], True)
        """
        content: dict[str, Any] = {
            "labels": list(self.labels),
            "feature_names": list(self.feature_names),
            "features": self.features.tolist(),
        }
        if self.group_names is not None:
            content["groups"] = [self.group_names[z] for z in (self.groups > 0).tolist()]
            content["positive"] = self.group_names[1]
        elif self.n_attributes:
            content["attributes"] = self.attributes.tolist()
        if self.n_attributes:
            content["attribute_names"] = list(self.attribute_names)
        if self.encoding is not None:
            content["encoding"] = self.encoding.to_dict()
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the options that `to_dict` returned, perhaps by way of a JSON file."""
        try:
            _FORM.check(content)
        except InputError as error:
            raise InputError(f"these are no options as to_dict() writes them: {error}") from None
        made = cls(
            content["features"],
            content.get("groups"),
            content.get("labels"),
            attributes=content.get("attributes"),
            positive=content.get("positive"),
            feature_names=content.get("feature_names"),
            attribute_names=content.get("attribute_names"),
        )
        if content.get("encoding") is not None:
            encoding = Encoding.from_dict(content["encoding"])
            own = 0 if made.group_names is not None else made.n_attributes
            if (len(encoding.features), len(encoding.attributes)) != (made.n_features, own):
                raise InputError("encoding has other columns than features and attributes.")
            object.__setattr__(made, "encoding", encoding)
        return made

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

    def _repr_html_(self) -> str:
        from evenhand.report.html import as_html  # noqa: PLC0415 # only notebooks need it

        first = [self.describe(x) for x in range(min(self.n_actions, _SHOWN_OPTIONS))]
        features = list(first[0])[:_SHOWN_COLUMNS]
        reacting = self.attribute_names[:_SHOWN_COLUMNS]
        cut = ["…"] * (max(len(first[0]), self.n_attributes) > _SHOWN_COLUMNS)
        rows: list[list[model.Cell]] = []
        for x, row in enumerate(first):
            z: list[model.Cell] = [*self.attributes[x, : len(reacting)].tolist()]
            if self.group_names is not None:
                z = [self.group_names[int(self.groups[x] > 0)]]
            rows.append([self.labels[x], *z, *(row[name] for name in features), *cut])
        header = ["option", *reacting, *features, *cut]
        table = model.Table("", header, rows, more=self.n_actions - len(first))
        return as_html(model.Report("", repr(self), sections=[model.Section("", [table], "brief")]))

    def __repr__(self) -> str:
        shown = ", ".join(self.feature_names[:4]) + (", …" if self.n_features > 4 else "")
        if self.group_names is None:
            rest = f"attributes: {', '.join(self.attribute_names[:4])}"
            rest += ", …" if self.n_attributes > 4 else ""
            rest = rest if self.n_attributes else "no bias"
        else:
            n_positive = int(np.count_nonzero(self.groups > 0))
            sizes = (self.n_actions - n_positive, n_positive)
            parts = [f"{n!r} ({size})" for n, size in zip(self.group_names, sizes, strict=True)]
            rest = "groups " + " and ".join(parts)
        return f"ActionSet({self.n_actions} options, {self.n_features} features: {shown}; {rest})"


def checked_actions(actions: object) -> ActionSet:
    """Return the options if they are an `ActionSet`; else say how to make one of what was given."""
    if isinstance(actions, ActionSet):
        return actions
    is_table = hasattr(actions, "columns") or isinstance(actions, str | os.PathLike)
    remedy = "from_table(table, group=...)" if is_table else "(features, groups)"
    raise InputError(
        f"actions must be an ActionSet; got a {type(actions).__name__}. Make one with "
        f"ActionSet{'.' * is_table}{remedy}."
    )
