"""How well evaluations would tell values and biases, before any of them is made.

Notation
--------
n       (q,)  evaluations of each question;  a_q its row over its relative noise;  V = Σ n a aᵀ
H       (k, m)  rows (x; 0): values are H θ, up to what all options share
n_o, c̄_o      of an item that stands for itself: evaluations, and their mean attributes z
S       (p, p)  Σ n z zᵀ − Σ n_o c̄_o c̄_oᵀ, what is left of V for the attributes

The error of the values is own · ξ + shared · ζ, for independent standard normal ξ and ζ. In a panel
own = 1/√n_o and shared = c̄ S^{−½}; that takes p × p numbers, however many options there are. For
other questions own = 0 and shared = H V^{−½}. What V or S does not determine is kept apart: options
can be compared if all of them have the same share in it, a bias is identified if it has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.questions import Questions

_RANK = 1e-9  # eigenvalues below this, relatively, are zero
_EQUAL = 1e-6  # relative difference below which shares in what is lost are the same


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What evaluations would tell, in units of the noise.

    Parameters
    ----------
    own
        (k,) error of each value that it shares with no other; infinite if it is never asked about.
    shared, attributes
        (k, r), (p, r) errors that come of the same r sources.
    lost_values, lost_attributes
        (k, s), (p, s) what the evaluations cannot determine, in relative units.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> found = accuracy(panel, np.full(4, 2.0))       # every judge twice about everybody
    >>> found.comparable, found.lead_variances(0).round(6).tolist()
    (True, [0.0, 0.5])
    >>> round(found.variance_of(np.array([1.0, 0.0])), 6)                      # of the bias
    0.5
    """

    own: Floats
    shared: Floats
    attributes: Floats
    lost_values: Floats
    lost_attributes: Floats

    @property
    def comparable(self) -> bool:
        """Whether the value of any two options can be compared."""
        lost = self.lost_values
        return bool(np.isfinite(self.own).all() and (np.abs(lost - lost[:1]) < _EQUAL).all())

    def classes(self) -> list[int]:
        """Return (k,) which options can be compared: those with the same number."""
        seen: list[Floats] = []
        found = []
        for own, row in zip(self.own.tolist(), self.lost_values, strict=True):
            same = (
                i for i, other in enumerate(seen) if np.abs(row - other).max(initial=0) < _EQUAL
            )
            place = next(same, len(seen)) if np.isfinite(own) else len(seen)
            if place == len(seen):
                seen.append(row if np.isfinite(own) else np.full_like(row, np.inf))
            found.append(place)
        return found

    def variance_of(self, direction: Floats) -> float:
        """Return the variance of a combination, (p,), of attributes; infinite if it is lost."""
        if np.abs(direction @ self.lost_attributes).max(initial=0.0) > _EQUAL:
            return float("inf")
        return float(((direction @ self.attributes) ** 2).sum())

    def lead_variances(self, leader: int) -> Floats:
        """Return (k,) the variance of the lead of one option over each; 0 over itself."""
        differ = self.shared - self.shared[leader]
        found = self.own**2 + self.own[leader] ** 2 + (differ**2).sum(axis=1)
        found[leader] = 0.0
        return np.asarray(found)

    def mean_lead_variance(self) -> float:
        """Return the variance of a lead, averaged over all pairs; infinite where one is lost."""
        k = len(self.own)
        if k < 2 or not self.comparable:
            return 0.0 if k < 2 else float("inf")
        about = self.shared - self.shared.mean(axis=0)
        return float(2.0 * (self.own**2).mean() + 2.0 * (about**2).sum() / (k - 1))

    def errors(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, k) draws of the errors of the values, but for what all options share."""
        own = self.own * rng.standard_normal((n, len(self.own)))
        return np.asarray(own + rng.standard_normal((n, self.shared.shape[1])) @ self.shared.T)


def accuracy(questions: Questions, counts: Floats) -> Accuracy:
    """Return how well so many evaluations of each question, (q,), would tell values and biases."""
    rows = questions.matrix
    if questions.noise is not None:
        rows = sparse.csr_array(rows.multiply(1.0 / questions.noise[:, None]))
    (used,) = np.nonzero(counts)
    rows, n = rows[used], counts[used].astype(np.float64)
    k, d = len(questions.options), questions.n_features
    about = questions.about[used]
    if questions.options.stand_alone and (about[:, 0] >= 0).all() and (about[:, 1] < 0).all():
        return _of_panel(rows, n, k, d)
    V = np.asarray((rows.T @ rows.multiply(n[:, None])).todense())
    root, lost, scale = inverse_root(V)
    X = questions.options.features
    return Accuracy(
        np.zeros(k), X @ root[:d], root[d:], _relative(X / scale[:d], lost[:d]), lost[d:]
    )


def _of_panel(rows: sparse.csr_array, n: Floats, k: int, d: int) -> Accuracy:
    """Return the accuracy where every question is about one item that stands for itself."""
    items, Z = rows[:, :d], rows[:, d:]
    weights = np.asarray(items.sum(axis=1)).ravel()  # 1 over the relative noise
    totals = np.asarray(items.T @ (n * weights))
    asked = totals > 0.0
    safe = np.where(asked, totals, 1.0)
    weighted = sparse.csr_array(sparse.diags_array(n) @ Z)
    means = (items.T @ weighted).toarray() / safe[:, None]
    M = (Z.T @ weighted).toarray()
    S = M - means.T @ (means * safe[:, None])
    root, lost, scale = inverse_root(S, np.diagonal(M))
    own = np.where(asked, 1.0 / np.sqrt(safe), np.inf)
    return Accuracy(own[:k], -means[:k] @ root, root, _relative(-means[:k] / scale, lost), lost)


def _relative(rows: Floats, lost: Floats) -> Floats:
    """Return rows · lost, in units of the largest entry: then what is tiny is rounding."""
    return np.asarray(rows @ lost / (np.abs(rows).max(initial=0.0) or 1.0))


def inverse_root(V: Floats, sizes: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Return R with R Rᵀ = V⁻¹ on the range of V, a basis of its null space, and scales.

    The basis is orthonormal in units of the scales: what V does not tell is basis/scales. ``sizes``
    are the diagonal of what V was the rest of: what is tiny beside them is rounding.
    """
    scale = np.sqrt(np.diag(V) if sizes is None else sizes)
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(V / np.outer(scale, scale))
    kept = values > _RANK * max(1.0, float(values[-1:].max(initial=0.0)))
    root = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, None]
    return root, vectors[:, ~kept], scale
