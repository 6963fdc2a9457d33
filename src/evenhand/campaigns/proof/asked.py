"""The questions of a record, read by code of its own.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.errors import InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]
Truths = NDArray[np.bool_]

MOST_COLUMNS = 4_000
"""Columns of a model that is solved densely; larger records are not derived again."""
_MOST_DENSE = 30_000_000  # numbers in rows that are decomposed as they are
_RANK = 1e-10  # singular values of rows above this share of the largest count
_RANK_OF_SQUARES = 1e-11  # the same of eigenvalues of their squares
_WITHIN = 1e-7  # share of a row that may lie outside a span for the row to count as inside


@dataclass(frozen=True)
class Named:
    """Something that scores react to: what it is called, and what of the attributes it is.

    Parameters
    ----------
    name, kind, evaluator, group
        As in the record.
    row
        What combination of the attributes it is.
    """

    name: str
    kind: str
    evaluator: str | None
    group: str | None
    row: tuple[float, ...]


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
    noise, prices
        (q,) relative noise and price.
    capacity, workload
        (q,) how often each may be asked, (e,) how much every evaluator; −1 for any number.
    about
        (q, 2) items of every question; −1 for none.
    evaluators, evaluator
        Their names, and (q,) who is asked; −1 if that is not said.
    columns
        What the attributes are called and stand for.
    alone
        Whether options stand for themselves.
    known
        (k, d) features of options that stand for themselves all the same; None if there are none.
    own_questions
        Whether options are their own questions.
    """

    labels: tuple[str, ...]
    groups: tuple[str | None, ...] | None
    rows: sparse.csr_array
    n_features: int
    options: Floats
    noise: Floats
    prices: Floats
    capacity: Counts
    workload: Counts
    about: Indices
    evaluators: tuple[str, ...]
    evaluator: Indices
    columns: tuple[Mapping[str, Any], ...]
    alone: bool
    known: Floats | None
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
        """
        try:
            return _options(content) if "features" in content else _questions(content)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"the questions in the record cannot be read: {type(error).__name__}, {error}."
            ) from error

    @property
    def n_attributes(self) -> int:
        """How many of the columns are attributes."""
        return int(self.rows.shape[1]) - self.n_features

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
    def biases(self) -> tuple[Named, ...]:
        """What scores react to; leniencies as deviations from the mean of all evaluators."""
        unit, found = np.eye(self.n_attributes), []
        lenient: dict[str | None, Floats] = {}
        for column, row in zip(self.columns, unit, strict=True):
            who = column.get("evaluator")
            if column["kind"] == "leniency":
                lenient[who] = row
            else:
                kind, group = str(column["kind"]), column.get("group")
                found.append(Named(str(column["name"]), kind, who, group, tuple(row)))
        for name in self.evaluators if lenient else ():
            row = lenient.get(name, np.zeros(len(unit))) - self.neutral
            found.append(Named(name, "leniency", name, None, tuple(row)))
        return tuple(found)

    @cached_property
    def bias_rows(self) -> Floats:
        """(n, m) the rows of `biases`."""
        rows = np.zeros((len(self.biases), self.rows.shape[1]))
        for i, bias in enumerate(self.biases):
            rows[i, self.n_features :] = bias.row
        return rows

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
        if m > MOST_COLUMNS:
            raise InputError(
                f"the model of this record has {m:,} parameters; records are derived again up to "
                f"{MOST_COLUMNS:,}."
            )
        scales = np.asarray(abs(rows).max(axis=0).todense()).reshape(-1).astype(np.float64)
        scales[scales == 0.0] = 1.0
        scaled = rows @ sparse.diags_array(1.0 / scales)
        if q * m <= _MOST_DENSE:
            _, sizes, Wt = np.linalg.svd(scaled.toarray(), full_matrices=False)
            kept = sizes > _RANK * sizes.max(initial=0.0)
        else:
            squares, W = np.linalg.eigh((scaled.T @ scaled).toarray())
            kept = squares > _RANK_OF_SQUARES * squares.max(initial=0.0)
            sizes, Wt = np.sqrt(np.maximum(squares, 0.0)), W.T
        sizes, Wt = sizes[kept], Wt[kept]
        return cls(scales, Wt.T / sizes, sizes[:, None] * Wt)

    @property
    def rank(self) -> int:
        """Its dimension r."""
        return int(self.into.shape[1])

    def coordinates(self, rows: Floats | sparse.csr_array) -> Floats:
        """Return (n, r) coordinates of rows, (n, m)."""
        if isinstance(rows, np.ndarray):
            return np.asarray((rows / self.scales) @ self.into)
        return np.asarray((rows @ sparse.diags_array(1.0 / self.scales)) @ self.into)

    def has(self, rows: Floats) -> Truths:
        """Tell which rows, (n, m), lie in the span."""
        scaled = rows / self.scales
        off = np.linalg.norm(scaled - (scaled @ self.into) @ self.back, axis=1)
        return np.asarray(off <= _WITHIN * np.maximum(np.linalg.norm(scaled, axis=1), 1e-300))


def _options(content: Mapping[str, Any]) -> Asked:
    """Read an action set: every option is its own question."""
    X = np.array(content["features"], dtype=np.float64)
    k = len(X)
    X = X.reshape(k, -1)
    groups: tuple[str, ...] | None = None
    if content.get("groups") is not None:
        groups = tuple(str(group) for group in content["groups"])
        Z = np.where(np.array(groups) == content["positive"], 1.0, -1.0)[:, None]
    else:
        Z = np.array(content["attributes"], dtype=np.float64).reshape(k, -1)
    names = content.get("attribute_names") or [f"z{j + 1}" for j in range(Z.shape[1])]
    labels = content.get("labels") or [f"option {x + 1}" for x in range(k)]
    kind = "attribute" if groups is None else "bias"
    return Asked(
        labels=tuple(labels),
        groups=groups,
        rows=sparse.csr_array(np.hstack([X, Z])),
        n_features=X.shape[1],
        options=np.hstack([X, np.zeros_like(Z)]),
        noise=np.ones(k),
        prices=np.ones(k),
        capacity=np.full(k, -1),
        workload=np.zeros(0, dtype=np.int64),
        about=np.column_stack([np.arange(k), np.full(k, -1)]),
        evaluators=(),
        evaluator=np.full(k, -1),
        columns=tuple({"name": name, "kind": kind} for name in names),
        alone=False,
        known=None,
        own_questions=True,
    )


def _questions(content: Mapping[str, Any]) -> Asked:
    """Read questions to several evaluators, or comparisons."""
    kept = content["rows"]
    entries = np.array(kept["entries"], dtype=np.float64), kept["columns"], kept["starts"]
    rows = sparse.csr_array(entries, shape=tuple(kept["shape"]))
    q, m = rows.shape
    d, k = int(content["n_features"]), len(content["options"])
    options = np.zeros((k, m))
    own = content["own_features"]
    options[:, :d] = np.eye(k, d) if own is None else np.array(own, dtype=np.float64)
    noise = np.ones(q) if content["noise"] is None else np.array(content["noise"], dtype=np.float64)
    known = content["known_features"]
    groups = content["groups"]
    return Asked(
        labels=tuple(content["options"]),
        groups=None if groups is None else tuple(groups),
        rows=sparse.csr_array(sparse.diags_array(1.0 / noise) @ rows),
        n_features=d,
        options=options,
        noise=noise,
        prices=np.array(content["prices"], dtype=np.float64),
        capacity=_limits(content["capacity"]),
        workload=_limits(content["workload"]),
        about=np.array(content["about"], dtype=np.intp).reshape(-1, 2),
        evaluators=tuple(content["evaluators"]),
        evaluator=np.array(content["evaluator"], dtype=np.intp),
        columns=tuple(content["columns"]),
        alone=own is None,
        known=None if known is None else np.array(known, dtype=np.float64).reshape(k, -1),
        own_questions=False,
    )


def _limits(given: Sequence[int]) -> Counts:
    """Return how often something may be asked, −1 where no limit that matters is stated."""
    limits = np.array(given, dtype=np.int64)
    return np.where(limits >= 2**50, -1, limits)
