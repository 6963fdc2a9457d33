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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Truths = NDArray[np.bool_]

MOST_COLUMNS, MOST_NUMBERS = 2_000, 10_000_000
"""Columns of a model, and numbers in its rows, up to which records are confirmed."""
LARGEST = 1e100
"""Size of a number up to which it may stand in a record: its square is a number, too."""
UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)
"""What comes of reading records that are none."""
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
    rows, n_features, options
        (q, m) A, how many of its columns are features, and (k, m) X.
    noise, about
        (q,) relative noise, and (q, 2) items of every question; −1 for none.
    evaluators, columns
        Names of the evaluators; what the attributes are called and stand for.
    alone, helped
        Whether options stand for themselves, and whether features help to guess all the same.
    own_questions
        Whether options are their own questions.
    """

    labels: tuple[str, ...]
    groups: tuple[str | None, ...] | None
    rows: Floats
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
        >>> asked.rows.tolist(), asked.labels
        ([[1.0, 1.0], [2.0, -1.0]], ('Ann', 'Bo'))
        """
        return _options(content) if "features" in content else _questions(content)

    @property
    def compared(self) -> bool:
        """Whether options are compared in pairs, so that only differences can be told."""
        return bool((self.about >= 0).all())

    @cached_property
    def neutral(self) -> Floats:
        """(m,) the attributes of an impartial question to an evaluator of average leniency."""
        lenient = [column["kind"] == "leniency" for column in self.columns]
        share = np.array(lenient, dtype=np.float64) / max(len(self.evaluators), 1)
        return np.concatenate([np.zeros(self.n_features), share])

    @cached_property
    def biases(self) -> list[Bias]:
        """What scores react to; leniencies as deviations from the mean of all evaluators."""
        found, lenient, unit = [], {}, np.eye(len(self.neutral))[self.n_features :]
        for column, row in zip(self.columns, unit, strict=True):
            kind, who, group, name = (column.get(x) for x in ("kind", "evaluator", "group", "name"))
            if kind == "leniency":
                lenient[who] = row
            else:
                found.append(Bias(str(kind), who, group, str(name), row))
        for name in self.evaluators if lenient else ():
            row = lenient.get(name, 0.0) - self.neutral
            found.append(Bias("leniency", name, None, name, row))
        return found

    def same(self, option: int) -> Truths:
        """Tell which options have the value of this one, having its features."""
        if self.alone:
            return np.asarray(np.arange(len(self.labels)) == option)
        X = self.options
        return np.asarray(np.abs(X - X[option]).max(axis=1) <= 1e-12 * np.abs(X).max())

    # ------------------------------------------------------------------ the span of all questions

    @cached_property
    def _span(self) -> tuple[Floats, Floats, Floats]:
        """What columns are divided by, (m,), and T and T' of rows that are."""
        scales = np.abs(self.rows).max(axis=0, initial=0.0)
        scales[scales == 0.0] = 1.0
        _, sizes, Wt = np.linalg.svd(self.rows / scales, full_matrices=False)
        kept = sizes > _RANK * sizes.max(initial=0.0)
        return scales, Wt[kept].T / sizes[kept], sizes[kept, None] * Wt[kept]

    def coordinates(self, rows: Floats) -> Floats:
        """Return (n, r) coordinates of rows, (n, m)."""
        scales, into, _ = self._span
        return np.asarray((rows / scales) @ into)

    def spans(self, rows: Floats) -> Truths:
        """Tell which rows, (n, m), lie in the span."""
        scales, into, back = self._span
        scaled = rows / scales
        off = np.linalg.norm(scaled - (scaled @ into) @ back, axis=1)
        return np.asarray(off <= _WITHIN * np.maximum(np.linalg.norm(scaled, axis=1), 1e-300))


def numbers(given: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Return an array of numbers of a shape, −1 for any length; `ValueError` if it is none.

    Examples
    --------
    >>> numbers([[1, 2.5]], (-1, 2), "entries").tolist()
    [[1.0, 2.5]]
    """
    found = np.asarray(given)
    right = found.shape == tuple(
        m if n < 0 else n for n, m in zip(shape, found.shape, strict=False)
    )
    if right and found.size and found.dtype.kind in "iuf" and (np.abs(found) <= LARGEST).all():
        return found.astype(np.float64)
    if right and not found.size:
        return np.zeros(found.shape)
    size = " × ".join("n" if n < 0 else f"{n:,}" for n in shape)
    raise ValueError(f"{what} must be {size} numbers; got {given!r:.80}")


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


def _texts(given: Any, what: str) -> tuple[str, ...]:
    if type(given) is not list or not all(type(text) is str for text in given):
        raise ValueError(f"{what} must be texts; got {given!r:.80}")
    return tuple(given)


def _names(given: Any, what: str) -> tuple[str, ...]:
    found = _texts(given, what)
    if len(set(found)) < len(found):
        raise ValueError(f"{what} must be different; got {given!r:.80}")
    return found


def _options(content: Mapping[str, Any]) -> Asked:
    """Read an action set: every option is its own question."""
    X, groups = numbers(content["features"], (-1, -1), "features"), content.get("groups")
    k = len(X)
    if groups is not None:
        Z = np.array([[1.0 if group == content["positive"] else -1.0] for group in groups])
    else:
        Z = numbers(content["attributes"], (k, -1), "attributes")
    titles = content.get("attribute_names") or [f"z{j + 1}" for j in range(Z.shape[1])]
    labels = _names(content.get("labels") or [f"option {x + 1}" for x in range(k)], "labels")
    if not len(labels) == len(Z) == k >= 1 or len(titles) != Z.shape[1]:
        raise ValueError(f"{k} options with {len(labels)} labels and {len(Z)} groups")
    kind = "attribute" if groups is None else "bias"
    return Asked(
        labels=labels,
        groups=None if groups is None else tuple(groups),
        rows=_fit_for(np.hstack([X, Z])),
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
    labels, items = _names(content["options"], "options"), _names(content["items"], "items")
    k, d, about = len(labels), len(items), numbers(content["about"], (-1, 2), "about")
    if own is not None:
        own = numbers(own, (k, -1), "own_features")
        d = own.shape[1]
    q, m, groups = len(about), d + len(columns), content["groups"]
    _texts([column[name] for column in columns for name in ("kind", "name")], "columns")
    if content["n_features"] != d or list(kept["shape"]) != [q, m] or not len(items) >= k >= 1:
        raise ValueError(f"rows of {kept['shape']!r:.80} for {q} questions with {m} parameters")
    entries = numbers(kept["entries"], (-1,), "entries")
    where, n = places(kept["columns"], m, "columns"), len(entries)
    starts = places(kept["starts"], n + 1, "starts")
    lengths = np.diff(starts)
    if len(where) != n or len(lengths) != q or lengths.sum() != n or (lengths < 0).any():
        raise ValueError(f"{n} entries in {len(where)} columns of {len(lengths)} rows")
    noise = np.ones(q) if content["noise"] is None else numbers(content["noise"], (q,), "noise")
    if not (noise > 1.0 / LARGEST).all() or (groups is not None and len(groups) != k):
        raise ValueError("noise must be more than 0, and every option has a group, or none has")
    if max(q, k) * m > MOST_NUMBERS:
        raise TooLargeError(f"{q:,} questions with {m:,} parameters")
    rows, options = np.zeros((q, m)), np.zeros((k, m))
    np.add.at(rows, (np.repeat(np.arange(q), lengths), where), entries)
    options[:, :d] = np.eye(k, d) if own is None else own
    return Asked(
        labels=labels,
        groups=None if groups is None else tuple(groups),
        rows=_fit_for(rows / noise[:, None]),
        n_features=d,
        options=options,
        noise=noise,
        about=places(about.reshape(-1), len(items), "about", -1).reshape(-1, 2),
        evaluators=_names(content["evaluators"], "evaluators"),
        columns=columns,
        alone=own is None,
        helped=own is None and content["known_features"] is not None,
        own_questions=False,
    )


def _fit_for(rows: Floats) -> Floats:
    """Return rows, unless there are too many of them."""
    q, m = rows.shape
    if m > MOST_COLUMNS or q * m > MOST_NUMBERS:
        raise TooLargeError(f"{q:,} questions with {m:,} parameters")
    return rows
