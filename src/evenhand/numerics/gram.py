"""Least squares on dense rows: what their Gram matrix knows, and what it does not.

V = Σ w a aᵀ over rows a with weights w. A direction u has the variance uᵀV⁺u per unit of noise if
it lies in the range of V, and an infinite one elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats

RANGE = 1e-11
"""Eigenvalues of V above this share of the largest are no rounding error.

Rounding leaves 10⁻¹⁵ of the largest or so, and a few digits more where rows of very different
lengths were added. Rows are in coordinates in which a design has a unit V, so a smaller eigenvalue
would mean 10¹¹ evaluations of some rows for one of others.
"""
IN_SPAN = 1e-8
"""Relative distance from a span below which a direction lies in it.

An eigenvector is off by rounding over the gap between eigenvalues, all as shares of the largest:
10⁻¹⁵ over 10⁻⁵ or more, unless counts differ by a factor of 10⁵.
"""


@dataclass(frozen=True, eq=False)
class Gram:
    """A Gram matrix V, taken apart.

    Parameters
    ----------
    root
        (r, s) with root·rootᵀ = V⁺, s the rank.
    lost
        (r, r − s) orthonormal columns that span what V says nothing of.

    Examples
    --------
    >>> form = Gram.of(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, 3.0]))
    >>> form.variances(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([ 1., inf])
    """

    root: Floats
    lost: Floats

    @classmethod
    def of(cls, rows: Floats, weights: Floats) -> Self:
        """Return the form of rows, (q, r), with these weights, (q,)."""
        return cls.of_matrix(gram(rows, weights))

    @classmethod
    def of_matrix(cls, V: Floats) -> Self:
        """Return the form of a symmetric matrix."""
        values, vectors = np.linalg.eigh(V)
        inside = values > RANGE * values[-1:].max(initial=0.0)
        root = vectors[:, inside] / np.sqrt(values[inside])
        # in the order of arrays that come back from a file: products then agree to the bit
        return cls(np.ascontiguousarray(root), np.ascontiguousarray(vectors[:, ~inside]))

    def variances(self, directions: Floats) -> Floats:
        """Return (n,) the variances of directions, (n, r)."""
        along = directions @ self.root
        found = np.asarray(np.einsum("ij,ij->i", along, along))
        found[self.outside(directions)] = np.inf
        return found

    def outside(self, directions: Floats) -> NDArray[np.bool_]:
        """Tell (n,) which directions do not lie in the range of V."""
        beside = directions @ self.lost
        sizes = (directions**2).sum(axis=1)
        return np.asarray((beside**2).sum(axis=1) > IN_SPAN**2 * sizes)


def gram(rows: Floats, weights: Floats) -> Floats:
    """Return V = Σ w a aᵀ, (r, r)."""
    return np.asarray((rows * weights[:, None]).T @ rows)
