"""Whether what `CarefulChoice` states follows from plan and scores (docs/research/certainty.md).

Notation
--------
n, ȳ    (k,)    counts and mean scores of a plan
w_ij = n_i n_j/(n_i + n_j)      S_ij = Σ w_ij (ȳ_i − ȳ_j),  W_ij = Σ w_ij, over plans
v_ij            variance of S_ij, Σ w_ij² (σ_i²/n_i + σ_j²/n_j)

Leads within a group are walks of known variance over the plans. So are confirmed what is lost to
options of the same group; and, if features are said to be exact, to all, by least squares. Leads
across groups by own scores rest on a posterior of what the features miss: replay alone says those.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.squares import Fit, Scores, Truths

_PRIOR = 8.0  # scores that an own scatter has to outweigh
_MOST_GROUPS = 8  # distinct attributes; more are no groups


class Careful(Checker):
    """What the plans of a record show that are over."""

    confirms, leaves = ("what is lost within a group",), ("what is lost to others", "values")

    def prepare(self) -> None:
        """Add up the scores of these plans, and work out the noise of every option."""
        record, self.k = self.record, len(self.record.labels)
        rows = record.rows[:, record.questions.n_features :]
        cells, cell = np.unique(rows, axis=0, return_inverse=True)
        self.cell = cell.reshape(-1)
        self.exact = bool(self.certificate) and self.certificate["exact"] is True
        if self.exact or len(cells) == 1:
            self.confirms, self.leaves = ("what is lost",), ("values", "biases")
        self.chance = 0.0
        if self.certificate:
            self.chance = self.share(self.certificate["chance"], self.delta / max(self.k - 1, 1))
        self.over = [one for one in record.rounds if one.over and one.told]
        self.n, self.means, within = Scores.joined(o.scores for o in self.over).means(self.k)
        freedom = np.maximum(self.n - 1.0, 0.0)
        groups = self.cell if len(cells) <= _MOST_GROUPS else np.zeros_like(self.cell)
        pooled = float(within.sum()) / max(float(freedom.sum()), 1.0)
        squares = np.full(self.k, pooled)  # the largest of several scatters
        for which in (np.arange(self.k), groups):
            scatter, df = np.bincount(which, within), np.bincount(which, freedom)
            squares = np.maximum(squares, ((scatter + _PRIOR * pooled) / (df + _PRIOR))[which])
        self.freedom = float(freedom.sum()) if pooled > 0.0 else 0.0
        if record.noise is not None:  # scores are in units of it
            squares, self.freedom = np.maximum(squares, 1.0), math.inf
        self.scales = np.sqrt(squares)

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss: of the same group."""
        others: Truths = np.arange(self.k) != option
        if self.chance == 0.0 or self.freedom < 1.0:
            return others
        leads, widths = self._model(option) if self.exact else self._walk(option)
        held = leads - widths * (1.0 - SLACK) >= -loss / self.unit
        looked_at = np.full(self.k, self.exact) | (self.cell == self.cell[option])
        return np.asarray(~held & others & looked_at)

    def _quantile(self) -> float:
        known = math.isinf(self.freedom)
        z = special.ndtri(self.chance) if known else special.stdtrit(self.freedom, self.chance)
        return -float(z)

    def _walk(self, i: int) -> tuple[Floats, Floats]:
        """Return leads by plans alone, and how far off they may be at any time."""
        W, S, v = np.zeros((3, self.k))
        for one in self.over:
            n, means, _ = one.scores.means(self.k)
            w = n[i] * n / np.maximum(n[i] + n, 1.0)
            noise = self.scales[i] ** 2 / max(n[i], 1.0) + self.scales**2 / np.maximum(n, 1.0)
            W, S, v = W + w, S + w * (means[i] - means), v + w**2 * noise
        rho = np.maximum(2.0 * self.scales[i] * self.scales, 1e-300)
        odds = 2.0 * math.log(1.0 / (2.0 * 0.977 * self.chance))
        stretch = self._quantile() / -float(special.ndtri(self.chance))
        with np.errstate(divide="ignore", invalid="ignore"):
            return S / W, stretch * np.sqrt((v + rho) * (np.log1p(v / rho) + odds)) / W

    def _model(self, i: int) -> tuple[Floats, Floats]:
        """Return leads if features are exact, and how far off they may be."""
        loud = np.maximum(self.scales, 1e-300)
        rows, means = self.record.rows / loud[:, None], self.means / loud
        found = Fit.of(rows, self.n, means, np.zeros(self.k), True).of_rows(self.lead_rows(i))
        return found.estimates, self._quantile() * np.sqrt(found.variances)
