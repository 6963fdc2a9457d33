"""The questions of a record, read by code of its own, and checked before anything is made of them.

Notation
--------
k, q, m     options, questions, and columns of their rows
A       (q, m)  rows of the questions over their relative noise: features, then attributes
X       (k, m)  rows of the options: their features, and no attributes
T       (m, r)  A T has orthonormal columns, r the rank of A; rows c in the span of A are (c T) T',
                with T = W S⁻¹ and T' = S Wᵀ of the singular value decomposition A = U S Wᵀ
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.errors import InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Truths = NDArray[np.bool_]

MOST_COLUMNS, MOST_NUMBERS = 2_000, 30_000_000
"""Columns of a model, and numbers in its rows, up to which records are confirmed."""
LARGEST = 1e100
"""Size of a number up to which it may stand in a record: its square is a number, too."""
_RANK = 1e-10  # singular values of rows above this share of the largest count
_WITHIN = 1e-7  # share of a row that may lie outside a span for the row to count as inside


class TooLargeError(Exception):
    """The model of a record is too large to be solved here."""


class Bias(NamedTuple):
    """Something that scores react to: what tells it from others, and (m,) its row."""

    kind: str
    evaluator: str | None
    group: str | None
    name: str
    row: Floats


@dataclass(frozen=True, eq=False)
class Asked:
    """What could be asked, and what can be chosen.

    Parameters
    ----------
    labels, groups
        Names of the options, and the group of each.
    rows
        (q, m) A, sparse.
    n_features
        How many of the columns are features.
    options
        (k, m) X.
    noise
        (q,) relative noise.
    about
        (q, 2) items of every question; −1 for none.
    evaluators
        Their names.
    columns
        What the attributes are called and stand for.
    alone
        Whether options stand for themselves.
    helped
        Whether features of such options are known all the same, and help to guess.
    own_questions
        Whether options are their own questions.
    """

    labels: tuple[str, ...]
    groups: tuple[str | None, ...] | None
    rows: sparse.csr_array
    n_features: int
    options: Floats
    noise: Floats
    about: Indices
    evaluators: tuple[str, ...]
    columns: tuple[Mapping[str, Any], ...]
    alone: bool
    helped: bool
    own_questions: bool

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Asked:
        """Read questions, or options that are their own, as they stand in a record.

        Examples
        --------
        >>> asked = Asked.of({"labels": ["Ann", "Bo"], "features": [[1.0], [2.0]],
        ...                   "groups": ["home", "away"], "positive": "home"})
        >>> asked.rows.toarray().tolist(), asked.labels
        ([[1.0, 1.0], [2.0, -1.0]], ('Ann', 'Bo'))
        >>> Asked.of({"labels": ["Ann"], "features": [[float("inf")]]})
        Traceback (most recent call last):
        evenhand.errors.InputError: the questions in the record cannot be read: features must be …
        """
        try:
            return _options(content) if "features" in content else _questions(content)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else error
            raise InputError(f"the questions in the record cannot be read: {what}.") from error

    @property
    def compared(self) -> bool:
        """Whether options are compared in pairs, so that only differences can be told."""
        return bool((self.about >= 0).all())

    @cached_property
    def neutral(self) -> Floats:
        """(p,) the attributes of an impartial question to an evaluator of average leniency."""
        lenient = np.array([column["kind"] == "leniency" for column in self.columns], dtype=bool)
        return np.where(lenient, 1.0 / max(len(self.evaluators), 1), 0.0)

    @cached_property
    def value_rows(self) -> Floats:
        """(k, m) what values are: an option's features, asked about neutrally."""
        rows = self.options.copy()
        rows[:, self.n_features :] = self.neutral
        return rows

    @cached_property
    def biases(self) -> list[Bias]:
        """What scores react to; leniencies as deviations from the mean of all evaluators."""
        d, unit, found = self.n_features, np.eye(len(self.columns), self.rows.shape[1]), []
        unit = np.roll(unit, d, axis=1)
        lenient: dict[str | None, Floats] = {}
        for column, row in zip(self.columns, unit, strict=True):
            who, kind = column.get("evaluator"), column["kind"]
            if kind == "leniency":
                lenient[who] = row
            else:
                found.append(Bias(kind, who, column.get("group"), str(column["name"]), row))
        for name in self.evaluators if lenient else ():
            row = lenient.get(name, np.zeros(unit.shape[1])).copy()
            row[d:] -= self.neutral
            found.append(Bias("leniency", name, None, name, row))
        return found

    def same(self, option: int) -> Truths:
        """Tell which options have the value of this one, having its features."""
        if self.alone:
            return np.asarray(np.arange(len(self.labels)) == option)
        X = self.options
        return np.asarray(np.abs(X - X[option]).max(axis=1) <= 1e-12 * np.abs(X).max())

    @cached_property
    def span(self) -> Span:
        """The span of all questions."""
        return Span.of(self.rows)


@dataclass(frozen=True, eq=False)
class Span:
    """The span of rows, and coordinates in it.

    Parameters
    ----------
    scales
        (m,) what columns are divided by.
    into, back
        (m, r) T and (r, m) T' of rows with scaled columns.
    """

    scales: Floats
    into: Floats
    back: Floats

    @classmethod
    def of(cls, rows: sparse.csr_array) -> Span:
        """Return the span of rows, (q, m)."""
        q, m = rows.shape
        if m > MOST_COLUMNS or q * m > MOST_NUMBERS:
            raise TooLargeError(f"{q:,} questions with {m:,} parameters")
        dense = rows.toarray()
        scales = np.abs(dense).max(axis=0, initial=0.0)
        scales[scales == 0.0] = 1.0
        _, sizes, Wt = np.linalg.svd(dense / scales, full_matrices=False)
        kept = sizes > _RANK * sizes.max(initial=0.0)
        sizes, Wt = sizes[kept], Wt[kept]
        return cls(scales, Wt.T / sizes, sizes[:, None] * Wt)

    @property
    def rank(self) -> int:
        """Its dimension r."""
        return int(self.into.shape[1])

    def coordinates(self, rows: Floats) -> Floats:
        """Return (n, r) coordinates of rows, (n, m)."""
        return np.asarray((rows / self.scales) @ self.into)

    def has(self, rows: Floats) -> Truths:
        """Tell which rows, (n, m), lie in the span."""
        scaled = rows / self.scales
        off = np.linalg.norm(scaled - (scaled @ self.into) @ self.back, axis=1)
        return np.asarray(off <= _WITHIN * np.maximum(np.linalg.norm(scaled, axis=1), 1e-300))


def numbers(given: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Return an array of numbers of a shape, −1 for any length; `ValueError` if it is none.

    Examples
    --------
    >>> numbers([[1, 2.5]], (-1, 2), "entries").tolist()
    [[1.0, 2.5]]
    """
    found = np.asarray(given)
    right = found.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, found.shape))
    if found.size == 0 and right:
        return found.astype(np.float64)
    if not right or found.dtype.kind not in "iuf" or not (np.abs(found) <= LARGEST).all():
        size = " × ".join("n" if n < 0 else f"{n:,}" for n in shape)
        raise ValueError(f"{what} must be {size} numbers; got {given!r:.80}")
    return found.astype(np.float64)


def places(given: Any, n: int, what: str, least: int = 0) -> Indices:
    """Return whole numbers from ``least`` to n − 1; `ValueError` if some are none.

    Examples
    --------
    >>> places([2, 0], 3, "rivals").tolist()
    [2, 0]
    """
    found = numbers(given, (-1,), what)
    if not ((found == np.floor(found)) & (found >= least) & (found < n)).all():
        raise ValueError(f"{what} must be whole numbers from {least} to {n - 1}; got {given!r:.80}")
    return found.astype(np.intp)


def names(given: Any, what: str) -> tuple[str, ...]:
    """Return names, each of which is there once; `ValueError` if they are none."""
    found = tuple(given) if isinstance(given, Sequence) else ()
    if not all(type(name) is str for name in found) or len(set(found)) < len(found):
        raise ValueError(f"{what} must be names, each once; got {given!r:.80}")
    return found


def _options(content: Mapping[str, Any]) -> Asked:
    """Read an action set: every option is its own question."""
    X = numbers(content["features"], (-1, -1), "features")
    k = len(X)
    groups: tuple[str, ...] | None = None
    if content.get("groups") is not None:
        groups = tuple(content["groups"])
        Z = np.where(np.array(groups, dtype=object) == content["positive"], 1.0, -1.0)[:, None]
    else:
        Z = numbers(content["attributes"], (k, -1), "attributes")
    titles = content.get("attribute_names") or [f"z{j + 1}" for j in range(Z.shape[1])]
    labels = names(content.get("labels") or [f"option {x + 1}" for x in range(k)], "labels")
    if not len(labels) == len(Z) == k or len(titles) != Z.shape[1]:
        raise ValueError(f"{k} options with {len(labels)} labels and {len(Z)} groups")
    kind = "attribute" if groups is None else "bias"
    return Asked(
        labels=labels,
        groups=groups,
        rows=sparse.csr_array(np.hstack([X, Z])),
        n_features=X.shape[1],
        options=np.hstack([X, np.zeros_like(Z)]),
        noise=np.ones(k),
        about=np.column_stack([np.arange(k), np.full(k, -1)]),
        evaluators=(),
        columns=tuple({"name": name, "kind": kind} for name in titles),
        alone=False,
        helped=False,
        own_questions=True,
    )


def _questions(content: Mapping[str, Any]) -> Asked:
    """Read questions to several evaluators, or comparisons."""
    kept, columns, own = content["rows"], tuple(content["columns"]), content["own_features"]
    labels, items = names(content["options"], "options"), names(content["items"], "items")
    k, d = len(labels), len(items)
    if own is not None:
        own = numbers(own, (k, -1), "own_features")
        d = own.shape[1]
    m, about = d + len(columns), numbers(content["about"], (-1, 2), "about")
    q = len(about)
    if content["n_features"] != d or list(kept["shape"]) != [q, m] or not len(items) >= k >= 1:
        raise ValueError(f"rows of {kept['shape']!r:.80} for {q} questions with {m} parameters")
    entries = numbers(kept["entries"], (-1,), "entries")
    where, n = places(kept["columns"], m, "columns"), len(entries)
    starts = places(kept["starts"], n + 1, "starts")
    if len(where) != n or len(starts) != q + 1 or starts[0] != 0 or starts[-1] != n:
        raise ValueError(f"{n} entries in {len(where)} columns of {len(starts)} rows")
    if (np.diff(starts) < 0).any():
        raise ValueError("rows that end before they begin")
    noise = np.ones(q) if content["noise"] is None else numbers(content["noise"], (q,), "noise")
    groups = content["groups"]
    if not (noise > 1.0 / LARGEST).all() or (groups is not None and len(groups) != k):
        raise ValueError("noise must be more than 0, and every option has a group, or none has")
    if k * m > MOST_NUMBERS:
        raise TooLargeError(f"{k:,} options with {m:,} parameters")
    options = np.zeros((k, m))
    options[:, :d] = np.eye(k, d) if own is None else own
    rows = sparse.csr_array((entries, where, starts), shape=(q, m))
    return Asked(
        labels=labels,
        groups=None if groups is None else tuple(groups),
        rows=sparse.csr_array(sparse.diags_array(1.0 / noise) @ rows),
        n_features=d,
        options=options,
        noise=noise,
        about=places(about.reshape(-1), len(items), "about", -1).reshape(-1, 2),
        evaluators=names(content["evaluators"], "evaluators"),
        columns=columns,
        alone=own is None,
        helped=own is None and content["known_features"] is not None,
        own_questions=False,
    )
