"""Shares of the price of a panel's questions, at which leads of one option are known best.

Notation, beside that of `numerics.least_squares` and `certainty.shares`
--------
b, j    the best option and a rival;  x_j = V⁻¹u_j for the lead u_j, times the root of its need κ_j

It is the problem of `certainty.shares`, whose rows have the size of all options. Here options
stand for themselves, so that for a question about o with attributes z

    f_j = κ_j (1/n_b + 1/n_j + d_jᵀS⁺d_j),   d_j = c̄_b − c̄_j,
    aᵀx_j = √κ_j ([o = b]/n_b − [o = j]/n_j − (z − c̄_o)ᵀS⁺d_j).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.certainty.shares import balanced
from evenhand.numerics.least_squares import Gram, per_item

_LIGHT = 1e-6  # λ, as shares of the largest, below which leads are left out of gains


@dataclass(frozen=True, eq=False)
class PanelShares:
    """Questions of a panel that may be asked."""

    items: Indices  # (n,) what each is about
    n_items: int
    Z: Floats  # (n, p) attributes
    cost: Floats  # (n,) price × squared noise: of a unit of weight

    def known_best(self, best: int, rivals: Indices, need: Floats) -> Floats:
        """Return (n,) shares for which the largest of need · variance of a lead is least."""
        items, Z, n = self.items, self.Z, self.n_items
        by_item = per_item(items, np.ones(len(items)), n)

        def look(s: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
            w = s / self.cost
            sizes = np.maximum(np.bincount(items, w, n), 1e-300)
            weighted = Z * w[:, None]
            sums = np.asarray(by_item @ weighted)
            C = sums / sizes[:, None]
            M = Z.T @ weighted
            root = Gram.of_matrix(M - C.T @ sums, np.diagonal(M)).root
            d = (C[best] - C[rivals]) @ root
            f = need * (1.0 / sizes[best] + 1.0 / sizes[rivals] + (d**2).sum(axis=1))

            def gains(dual: Floats) -> Floats:
                some = dual > _LIGHT * dual.max()
                who, weight, X = rivals[some], (dual * need)[some], d[some]
                # Σ (α − β)², α = [o = b]/n_b − [o = j]/n_j and β = (z − c̄_o)ᵀS⁺d_j
                y = Z @ root - (C @ root)[items]
                W = (X * weight[:, None]).T @ X
                along, constant = np.zeros((n, root.shape[1])), np.zeros(n)
                along[best] = weight @ X / sizes[best]
                along[who] = -(weight / sizes[who])[:, None] * X
                constant[best] = weight.sum() / sizes[best] ** 2
                constant[who] = weight / sizes[who] ** 2
                linear = y @ W - 2.0 * along[items]
                return np.asarray((np.einsum("ij,ij->i", y, linear) + constant[items]) / self.cost)

            return f, gains

        return balanced(look, np.full(len(items), 1.0 / len(items)))[0]
