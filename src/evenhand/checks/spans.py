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

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.arrow import Arrow, per_item
from evenhand.numerics.svd import Svd
from evenhand.questions import Questions

_CHUNK = 8192  # rows made dense at once
_LARGE = 20_000  # numbers in a dense matrix of rows, from which on panels keep their structure


class Span:
    """The columns of √n·A.

    Parameters
    ----------
    rank
        How many there are in U.
    items, own, n_items
        The first block of U: (s,) the item of each row, (s,) its entry there, and how many items
        there are.
    parts
        Yields the second block, some rows at a time.

    Examples
    --------
    >>> span = Span.of_rows(np.ones((4, 1)), np.ones(4, dtype=np.int64))
    >>> span.rank, span.leverages(), span.without(np.array([1.0, 2.0, 3.0, 6.0]))
    (1, array([0.25, 0.25, 0.25, 0.25]), array([-2., -1.,  0.,  3.]))
    """

    def __init__(
        self,
        rank: int,
        items: Indices,
        own: Floats,
        n_items: int,
        parts: Callable[[], Iterator[tuple[slice, Floats]]],
    ) -> None:
        self.rank = rank
        self._items, self._own, self._n, self._parts = items, own, n_items, parts

    @classmethod
    def of_rows(cls, points: Floats, counts: Counts) -> Self:
        """Return the span of any rows, (s, m) A, asked (s,) n times: U is one block."""
        U = Svd.of(points * np.sqrt(counts)[:, None]).U
        none = np.zeros(len(U), dtype=np.intp)
        return cls(U.shape[1], none, np.zeros(len(U)), 1, lambda: iter([(slice(None), U)]))

    @classmethod
    def of_panel(cls, items: Indices, Z: sparse.csr_array, weights: Floats, n_items: int) -> Self:
        """Return the span of rows that have each a 1 for their item, (s,), and attributes, (s, p).

        ``weights`` are (s,) how often each was asked, over its squared relative noise.
        """
        form = Arrow.of(items, Z, weights, n_items)
        root, centres = np.sqrt(weights), form.centres @ form.root

        def parts() -> Iterator[tuple[slice, Floats]]:
            for begin in range(0, len(items), _CHUNK):
                part = slice(begin, begin + _CHUNK)
                yield part, (Z[part] @ form.root - centres[items[part]]) * root[part, None]

        return cls(form.rank, items, root / np.sqrt(form.sizes[items]), n_items, parts)

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""
        sums = np.bincount(self._items, self._own * y, self._n)
        left = y - self._own * sums[self._items]
        along = sum(U.T @ left[part] for part, U in self._parts())
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
        """Return tr((HΣ)²) = ‖UᵀΣU‖² for Σ with this diagonal."""
        diagonal = np.bincount(self._items, self._own**2 * variances, self._n)
        across = inner = np.zeros(())
        for part, U in self._parts():
            scaled = variances[part, None] * U
            inner = inner + U.T @ scaled
            across = across + per_item(self._items[part], self._own[part], self._n) @ scaled
        return float((diagonal**2).sum() + 2.0 * (across**2).sum() + (inner**2).sum())


def span_of(questions: Questions, seen: Indices, counts: Counts) -> Span:
    """Return the span of the questions that were seen, so often each."""
    if not questions.has_arrow_form or len(seen) * questions.rows.shape[1] < _LARGE:
        return Span.of_rows(questions.weighted_points[seen], counts)
    Z = sparse.csr_array(questions.matrix[seen][:, questions.n_features :])
    weights = counts.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[seen] ** 2
    return Span.of_panel(questions.about[seen, 0], Z, weights, len(questions.items))
