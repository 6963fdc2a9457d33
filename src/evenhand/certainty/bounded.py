"""Leads of scores that lie between bounds, and may have any distribution there.

Notation
--------
σ           half of what scores may differ by, in which leads are measured;  k options
L_j, S_j    lead of the option that leads over j, Σ c_i y_i, and its variance over σ², Σ c_i²

A score between bounds is sub-Gaussian of scale σ, whoever gives it and however loud (Hoeffding), so

    P(L_j ≥ λ_j + z √S_j) ≤ exp(−z²/2),    λ_j the true lead.

b is wrong if it leads a better option j, the best one: k − 1 options may do that, and where two are
the best each of the k may be called the only one. So

    p_j(μ) = k exp(−(L_j − μ)²/2S_j)    for L_j > μ, and k else,

in the place of the winner test's: b is certain if p_j(0) < δ for all j, and that is wrong with a
probability of δ at most, for any scores. Nothing is heard from residuals. The winner test goes by a
noise that is about normal, as loud as what was seen of it: it needs a third of the scores, and a
rare score that was not seen makes it wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Floats
from evenhand.certainty.models import Spread


@dataclass(frozen=True, eq=False)
class BoundedLeads:
    """Leads of the option that leads, by scores between bounds; as `winner.Winner`."""

    leads: Floats  # (n,) L over σ
    variances: Floats  # (n,) S over σ²
    among: int  # k, how many options there are
    freedom: float = math.inf

    def chances(self, null: Floats | float = 0.0) -> Floats:
        """Return (n,) p_j(``null``), bounds on chances: from 1 on they say nothing."""
        beyond = np.maximum(self.leads - null, 0.0)
        return np.asarray(self.among * np.exp(-0.5 * beyond**2 / self.variances))

    def deviations(self, chance: float) -> float:
        """Return of how many σ√S_j a lead is that has this bound on its chance."""
        return math.sqrt(2.0 * math.log(self.among / min(max(chance, 1e-300), self.among)))

    def at_least(self, failure: float) -> Floats:
        """Return (n,) what each lead is at least, with a chance of ``failure`` to be wrong."""
        return np.asarray(self.leads - self.deviations(failure) * self.errors)

    @property
    def silent(self) -> bool:
        """Whether nothing can be said: bounds are known."""
        return False

    @property
    def errors(self) -> Floats:
        """(n,) σ√S."""
        return np.sqrt(self.variances)

    def largest(self, failure: float) -> float:
        """Return what the noise of no lead exceeds, in errors, but with so small a chance."""
        return self.deviations(failure)


def bounded_intervals(found: Spread, failure: float) -> Floats:
    """Return (n, 3) estimates with Hoeffding's intervals, each by itself."""
    known = (found.variances > 0.0) & np.isfinite(found.variances)
    width = math.sqrt(2.0 * math.log(2.0 / failure)) if failure > 0.0 else np.inf
    widths = np.where(known, width * np.sqrt(np.where(known, found.variances, 1.0)), np.inf)
    values = np.where(known, found.estimates, np.nan)
    middle = np.where(known, found.estimates, 0.0)
    return np.column_stack([values, middle - widths, middle + widths])
