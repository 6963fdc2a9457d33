"""The encoding: how the user's columns became features, and the way back into the user's units.

A column of numbers `u` becomes `x = (u − mean) / scale`; a category becomes one column of zeros and
ones per level. With an intercept the first level is left out, since all levels together would add
up to the intercept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from numpy.typing import ArrayLike

from evenhand.arrays import as_vector
from evenhand.errors import InputError
from evenhand.plain import Form

CONSTANT = "(constant)"
INTERCEPT = "intercept"


_COLUMN = {"source": str, "category": str | None, "mean": float, "scale": float}
_FORM = Form(
    {
        "features": [_COLUMN],
        "attributes": [_COLUMN],
        "intercept": bool,
        "references": list[tuple[str, str]],
        "decimal": str,
    }
)


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
    decimal : str
        What stands before decimals in the texts of the table, "." or ",".

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
    decimal: str = field(default=".", compare=False)

    @classmethod
    def with_intercept(cls, features: Sequence[str], attributes: Sequence[str]) -> Self:
        """Return the encoding that leaves columns as they are and puts ones before them."""
        if INTERCEPT in features:
            raise InputError(
                f"a feature is called {INTERCEPT!r}, as the column of ones is that intercept=True "
                "puts first; rename it, or leave out intercept=True"
            )
        return cls(
            tuple(EncodedColumn(name) for name in (INTERCEPT, *features)),
            tuple(EncodedColumn(name) for name in attributes),
            intercept=True,
            references=(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as a plain value of texts, numbers and lists, fit for JSON."""
        return {
            "features": [asdict(column) for column in self.features],
            "attributes": [asdict(column) for column in self.attributes],
            "intercept": self.intercept,
            "references": [list(reference) for reference in self.references],
            "decimal": self.decimal,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the encoding that `to_dict` returned."""
        _FORM.check(content)
        columns = [*content["features"], *content["attributes"]]
        if any(column["scale"] == 0.0 for column in columns):
            raise InputError("the scale of a column cannot be 0.")
        return cls(
            tuple(EncodedColumn(**column) for column in content["features"]),
            tuple(EncodedColumn(**column) for column in content["attributes"]),
            content["intercept"],
            tuple((column, category) for column, category in content["references"]),
            content["decimal"],
        )

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
        pairs = self._paired(coefficients, "coefficients")
        constant = pairs[0][1] if self.intercept else 0.0
        result: dict[str, float] = {}
        for column, value in pairs[int(self.intercept) :]:
            result[column.name] = value / column.scale
            constant -= result[column.name] * column.mean
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
        references = dict(self.references)
        result: dict[str, float | str] = {}
        for column, value in self._paired(row, "row")[int(self.intercept) :]:
            if column.category is None:
                result[column.source] = _unscaled(value, column)
            elif value == 1:
                result[column.source] = column.category
            else:
                # A category never marked is the reference; this also keeps the columns in order.
                result.setdefault(column.source, references.get(column.source, ""))
        return result

    def _paired(self, numbers: ArrayLike, name: str) -> list[tuple[EncodedColumn, float]]:
        """Each feature with its number."""
        vector = as_vector(numbers, len(self.features), name)
        return list(zip(self.features, vector.tolist(), strict=True))


def _unscaled(x: float, column: EncodedColumn) -> float:
    """The user's number behind an encoded one, without the dust of rounding."""
    value = x * column.scale + column.mean
    magnitude = max(abs(value), abs(column.mean))
    if (column.mean, column.scale) == (0.0, 1.0) or magnitude == 0:
        return value
    return round(value, 13 - math.floor(math.log10(magnitude)))


def linear_rule(terms: dict[str, float], digits: int = 3, most: int = 12) -> str:
    """Return a linear function in words, such as "0.5·age − 3.2", with so many terms at most.

    Examples
    --------
    >>> linear_rule({"age": 0.5, "income": -2.0, "height": 1.0, "(constant)": -3.25})
    '0.5·age − 2·income + height − 3.25'
    """
    text = ""
    shown = [(name, value) for name, value in terms.items() if value != 0.0]
    for name, value in shown[:most]:
        size = f"{abs(value):.{digits}g}"
        if name != "(constant)":
            size = name if size == "1" else f"{size}·{name}"
        sign = ("−" if value < 0 else "") if not text else (" − " if value < 0 else " + ")
        text += sign + size
    return (text or "0") + (" + …" if len(shown) > most else "")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which columns play which part, and how they are to be encoded: perhaps as others were."""

    group: str | None = None
    label: str | None = None
    features: Sequence[str] | None = None
    attributes: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    intercept: bool = True
    standardize: bool = True
    positive: object = None
    decimal: str | None = None
    like: Encoding | None = None
