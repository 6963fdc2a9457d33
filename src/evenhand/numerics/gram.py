"""Least squares by Gram matrices: what they know, and what they do not.

V = Σ w a aᵀ over rows a with weights w. A direction u has the variance uᵀV⁻u per unit of noise if
it lies in the range of V, and an infinite one elsewhere; no solution of least norm is ever taken
for an answer. What counts in V is judged by its eigenvalues, in units of rows and columns in which
these are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.numerics.tolerance import IN_SPAN, RANK


@dataclass(frozen=True, eq=False)
class Gram:
    """A Gram matrix V, taken apart."""

    root: Floats  # (r, s) with root·rootᵀ a generalised inverse of V, s the rank
    # (r, r − s) columns that span what V says nothing of; orthonormal once rows are multiplied by
    # the scales
    lost: Floats
    scales: Floats  # (r,) units of the rows of V

    @staticmethod
    def of(rows: Floats, weights: Floats) -> Gram:
        """Return the form of rows, (q, r), with these weights, (q,), in comparable units."""
        return Gram.of_matrix(gram(rows, weights))

    @staticmethod
    def of_matrix(V: Floats, sizes: Floats | None = None, rank: float = RANK) -> Gram:
        """Return the form of a symmetric matrix; eigenvalues count beyond the share ``rank``."""
        # ``sizes``, (r,), are the diagonal of what V is, or is the rest of: beside their roots its
        # rows are comparable, and what is tiny beside them is rounding. Without them V is in units
        # in which its rows are comparable anyway; its inverse is then that of least norm.
        scales, least = np.ones(len(V)), 0.0
        if sizes is not None:
            scales, least = np.sqrt(np.where(sizes > 0.0, sizes, 1.0)), 1.0
        values, vectors = np.linalg.eigh(V / np.outer(scales, scales))
        inside = values > rank * values[-1:].max(initial=least)
        vectors /= scales[:, None]
        root = vectors[:, inside] / np.sqrt(values[inside])
        # in the order of arrays that come back from a file: products then agree to the bit
        return Gram(np.ascontiguousarray(root), np.ascontiguousarray(vectors[:, ~inside]), scales)

    @property
    def inverse(self) -> Floats:
        """(r, r) a generalised inverse of V."""
        return np.asarray(self.root @ self.root.T)

    def variances(self, directions: Floats, of: Floats | None = None) -> Floats:
        """Return (n,) the variances of directions, (n, r); see `outside`."""
        along = directions @ self.root
        found = np.asarray(np.einsum("ij,ij->i", along, along))
        found[self.outside(directions, of)] = np.inf
        return found

    def outside(self, directions: Floats, of: Floats | None = None) -> NDArray[np.bool_]:
        """Tell (n,) which directions do not lie in the range of V; ``of`` is how large, by
        `lengths`, that is which they are differences of, they themselves if not given.
        """
        if not self.lost.shape[1]:
            return np.zeros(len(directions), dtype=np.bool_)
        beside = np.linalg.norm(directions @ self.lost, axis=1)
        return np.asarray(beside > IN_SPAN * (self.lengths(directions) if of is None else of))

    def lengths(self, directions: Floats) -> Floats:
        """Return (n,) the lengths of directions, (n, r), in units of the scales."""
        return np.asarray(np.linalg.norm(directions / self.scales, axis=1))


def gram(rows: Floats, weights: Floats) -> Floats:
    """Return V = Σ w a aᵀ, (r, r)."""
    return np.asarray((rows * weights[:, None]).T @ rows)
