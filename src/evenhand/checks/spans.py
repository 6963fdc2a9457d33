"""The span of what was evaluated: what the model can follow, and what it leaves over.

Notation
--------
A, n    (s, m), (s,)  rows of the questions that were evaluated, and how often
U       (s, r)        orthonormal columns that span those of √n·A;  H = UUᵀ, h its diagonal

For a panel in arrow form (`numerics.arrow`) U has two blocks. With w = n over the squared relative
noise, one has the columns √(w/n_o) of the items, each for the rows of its own, the other the rows
√w (z − c̄_o)ᵀR for S⁺ = RRᵀ. They are orthogonal, since Σ w (z − c̄_o) = 0 for every item. So all
that is needed of U comes by sums over rows, and no matrix has more than s·p numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.arrow import Arrow, per_item
from evenhand.numerics.svd import Svd
from evenhand.questions import Questions

_CHUNK = 8192  # rows made dense at once
_LARGE = 20_000  # numbers in a dense matrix of rows, from which on panels keep their structure


class Span(Protocol):
    """The columns of √n·A."""

    rank: int

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) = ‖UᵀΣU‖² for Σ with this diagonal."""


class RowSpan:
    """The span of any rows.

    Parameters
    ----------
    points, counts
        (s, m) A and (s,) n.

    Examples
    --------
    >>> span = RowSpan(np.ones((4, 1)), np.ones(4, dtype=np.int64))
    >>> span.rank, span.leverages(), span.without(np.array([1.0, 2.0, 3.0, 6.0]))
    (1, array([0.25, 0.25, 0.25, 0.25]), array([-2., -1.,  0.,  3.]))
    """

    def __init__(self, points: Floats, counts: Counts) -> None:
        self._U = Svd.of(points * np.sqrt(counts)[:, None]).U
        self.rank: int = self._U.shape[1]

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""
        return np.asarray(y - self._U @ (self._U.T @ y))

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""
        return np.asarray(np.einsum("ij,ij->i", self._U, self._U))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for Σ with this diagonal."""
        inner = self._U.T @ (variances[:, None] * self._U)
        return float((inner * inner).sum())


class PanelSpan:
    """The span of rows that have each a 1 for their item, and attributes.

    Parameters
    ----------
    items, Z
        (s,) items, and (s, p) attributes.
    weights
        (s,) how often each was asked, over its squared relative noise.
    n_items
        How many items there are.
    """

    def __init__(self, items: Indices, Z: sparse.csr_array, weights: Floats, n_items: int) -> None:
        form = Arrow.of(items, Z, weights, n_items)
        self.rank = form.rank
        self._items, self._Z, self._n = items, Z, n_items
        self._root = np.sqrt(weights)
        self._own = self._root / np.sqrt(form.sizes[items])
        self._R = form.root
        self._centres = form.centres @ form.root

    def _parts(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the second block of U, some rows at a time."""
        for begin in range(0, len(self._items), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            beside = self._Z[part] @ self._R - self._centres[self._items[part]]
            yield part, beside * self._root[part, None]

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""
        sums = np.bincount(self._items, self._own * y, self._n)
        left = y - self._own * sums[self._items]
        along = np.zeros(self._R.shape[1])
        for part, U in self._parts():
            along += U.T @ left[part]
        for part, U in self._parts():
            left[part] -= U @ along
        return left

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""
        h = self._own**2
        for part, U in self._parts():
            h[part] += np.einsum("ij,ij->i", U, U)
        return h

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for Σ with this diagonal."""
        r = self._R.shape[1]
        diagonal = np.bincount(self._items, self._own**2 * variances, self._n)
        across, inner = np.zeros((self._n, r)), np.zeros((r, r))
        for part, U in self._parts():
            scaled = variances[part, None] * U
            inner += U.T @ scaled
            across += per_item(self._items[part], self._own[part], self._n) @ scaled
        return float((diagonal**2).sum() + 2.0 * (across**2).sum() + (inner**2).sum())


def span_of(questions: Questions, seen: Indices, counts: Counts) -> Span:
    """Return the span of the questions that were seen, so often each."""
    if not questions.has_arrow_form or len(seen) * questions.rows.shape[1] < _LARGE:
        return RowSpan(questions.weighted_points[seen], counts)
    Z = sparse.csr_array(questions.matrix[seen][:, questions.n_features :])
    weights = counts.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[seen] ** 2
    return PanelSpan(questions.about[seen, 0], Z, weights, len(questions.items))
