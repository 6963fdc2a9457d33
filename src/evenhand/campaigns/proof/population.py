"""Values as draws from one normal population, by which plans guess who leads and by how much.

Notation
--------
D       (k, m)  rows of the options, less their mean;  Q (k, f) an orthonormal basis of its columns
a       (f,)    QᵀDθ̂, by which values differ, with errors B, (f, r): BBᵀ is their covariance
τ²              variance of values, for which aᵀ(BBᵀ + τ²)⁻¹a = f

With θ̂ = Ru, the guess is R(1 + BᵀB/τ²)⁻¹u, and R(1 + BᵀB/τ²)^(−½) has its errors: the posterior if
all of a is normal about 0, of variance τ². A prior weighs effects by one over their size; a lead of
g ± s by that guess is expected to be g + 1.2(1 − 5/f)s²/max(g, s), which takes that back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.optimize import brentq

from evenhand.arrays import Floats
from evenhand.campaigns.proof.squares import Fit, Spread

_RANK = 1e-7  # singular values above this share of the largest count
_FEWEST = 3  # dimensions that a population is known by
_TAKEN_BACK, _FEW = 1.2, 5.0


@dataclass(frozen=True, eq=False)
class Population:
    """Options whose features say what they have in common."""

    rows: Floats  # (f, m) QᵀD

    @classmethod
    def of(cls, rows: Floats, stand_alone: bool) -> Self | None:
        """Return that of options with rows, (k, m); None where they have too little in common."""
        D = rows - rows.mean(axis=0)
        U, sizes, _ = np.linalg.svd(D, full_matrices=False)
        Q = U[:, sizes > _RANK * sizes.max(initial=0.0)]
        if stand_alone or not _FEWEST <= Q.shape[1] < len(rows) - 1:
            return None
        return cls(np.asarray(Q.T @ D))

    def drawn_together(self, fit: Fit) -> Fit:
        """Return a fit with values drawn together; as it is where not all are known."""
        said = fit.of_rows(self.rows)
        if not np.isfinite(said.variances).all():
            return fit
        B = fit.unit * fit.factor(self.rows)
        shares, axes = np.linalg.eigh(B.T @ B / _variance(said.estimates, B))
        kept = 1.0 / (1.0 + np.maximum(shares, 0.0))
        u = np.linalg.lstsq(fit.root, fit.theta, rcond=None)[0]
        theta = fit.root @ (axes @ (kept * (axes.T @ u)))
        return replace(fit, theta=theta, root=fit.root @ (axes * np.sqrt(kept)))

    def less_cautious(self, leads: Spread, unit: float, slack: float) -> Spread:
        """Return leads as they are expected to be, in units of the evidence."""
        back = _TAKEN_BACK * max(0.0, 1.0 - _FEW / len(self.rows))
        errors = unit * np.sqrt(leads.variances)
        larger = np.maximum(leads.estimates + slack, errors)
        more = back * errors**2 / np.where(larger > 0.0, larger, 1.0)
        return leads._replace(estimates=leads.estimates + more)


def _variance(a: Floats, B: Floats) -> float:
    """Return τ²; as little as can be seen at all, where values scatter no more than their noise."""
    errors, axes = np.linalg.eigh(B @ B.T)
    errors, squares = np.maximum(errors, 0.0), (axes.T @ a) ** 2

    def beyond(log: float) -> float:
        return float((squares / (errors + math.exp(log))).sum()) - len(a)

    least = float(errors.mean()) / len(a) + 1e-300
    if beyond(math.log(least)) <= 0.0:
        return least
    most = least + float(squares.sum())
    return math.exp(brentq(beyond, math.log(least), math.log(most), xtol=1e-13))
