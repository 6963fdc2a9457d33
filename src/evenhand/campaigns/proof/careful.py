"""Whether what `CarefulChoice` states of leads follows from (plan, scores) alone (docs/careful.md).

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o;  u_o ~ N(0, τ²), exchangeable
ȳ, V    (k,)    mean scores and their variances σ_o²/n_o
P       (k, r)  coordinates of (x; z);  B (k, r) those of (0; z − c), c the centre of the attributes
K(τ)    (r, k)  θ̂ = Kȳ by least squares with weights 1/(τ² + V)
a, D            the lead of i over j across groups, a·ȳ − D·θ̂ with a = e_i − e_j and D = aB, of
                error variance Σ (a − DK)²V from noise, and τ² Σ (DK)² from what the features miss

Given τ all is Gaussian; τ² has forty values, evenly in its logarithm, weighed by the restricted
likelihood times 1/(τ² + V̄). Leads within a group are walks of known variance over the plans.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.squares import Scores, Truths

_FIRST, _GROWTH = 4, 0.3  # evaluations of each option at first; a batch as a share of all before
_PRIOR, _GRID = 8.0, 40  # scores that an own scatter has to outweigh; values of τ²
_MOST_GROUPS, _MOST_PAIRED = 8, 1_000


class _Posterior(NamedTuple):
    """What is known of leads of one option: (g,) weights, (g, k) means and parts of variances."""

    weights: Floats
    means: Floats
    by_noise: Floats
    missed: Floats


class Careful(Checker):
    """What the plans of a record show that are over."""

    says = ("leads",)

    def prepare(self) -> None:
        """Add up the scores of these plans."""
        self.grounds = "own scores", "features exact", None
        record, self.exact = self.record, self.certainty == "features exact"
        self.span = record.span
        A, d = self.span.rows.copy(), record.questions.n_features
        cells, cell = np.unique(A[:, d:], axis=0, return_inverse=True)
        self.cell, self.n_cells, self.k = cell.reshape(-1), len(cells), len(A)
        A[:, :d], centred = 0.0, A.copy()
        A[:, d:] -= cells.mean(axis=0)
        self.P, self.B = self.span.coordinates(centred), self.span.coordinates(A)
        over = [one for one in record.rounds if one.over and one.count]
        self.n, self.means, self.within = Scores.joined(o.scores for o in over).means(self.k)
        self.paired = False
        if over:
            first, last = record.rounds[0], over[-1]
            few = self.k <= _MOST_PAIRED
            self.paired = few and first.plan.at_most >= 2 * int(first.there.sum())
            self._share_out(int(last.there.sum()), max(last.plan.at_most, float(self.n.sum())))
        self.walks = np.zeros((3, self.k, self.k) if self.paired else (3, 1, 1))
        for one in over if self.paired else ():
            n, means, _ = one.scores.means(self.k)
            w = n[:, None] * n / np.maximum(n[:, None] + n, 1.0)
            self.walks += [w, w * (means[:, None] - means), w**2 / np.maximum(n, 1.0)[:, None]]
        self._hear()

    def _share_out(self, k: int, at_most: float) -> None:
        """Share δ out among what is said after the last plan."""
        directions = self.n_cells - 1
        if len(self.record.questions.columns) == 1:
            directions = min(directions, 2)
        looks = 3.0 + math.log(at_most / min(_FIRST * k, at_most)) / math.log1p(_GROWTH)
        late = float(self.n.sum()) / (at_most * (1.0 + 1.0 / _GROWTH))
        self.by_features = self.delta / max(directions, 1)
        self.by_noise = 0.2 * self.delta / (k * looks)
        self.by_walks = min(0.2 * self.delta / max(k - 1, 1), 0.06)
        self.by_model = 0.3 * self.delta / k * (1.0 / looks + late)

    def _hear(self) -> None:
        """Work out the noise of every option: the largest of several scatters."""
        groups = self.cell if self.n_cells <= _MOST_GROUPS else np.zeros_like(self.cell)
        freedom = np.maximum(self.n - 1.0, 0.0)
        pooled = float(self.within.sum()) / max(float(freedom.sum()), 1.0)
        squares = np.maximum(pooled, (self.within + _PRIOR * pooled) / (freedom + _PRIOR))
        scatter, df = np.bincount(groups, self.within), np.bincount(groups, freedom)
        squares = np.maximum(squares, ((scatter + _PRIOR * pooled) / (df + _PRIOR))[groups])
        self.freedom = float(freedom.sum()) if pooled > 0.0 else 0.0
        if self.record.noise is not None:  # scores are in units of it
            squares, self.freedom = np.maximum(squares, 1.0), math.inf
        self.scales = np.sqrt(squares)
        self.V = squares / np.maximum(self.n, 1.0)

    def _quantile(self, failure: float) -> float:
        if self.freedom < 1.0:
            return math.inf
        known = math.isinf(self.freedom)
        return -float(special.ndtri(failure) if known else special.stdtrit(self.freedom, failure))

    # ------------------------------------------------------------------ three kinds of leads

    def _walk(self, i: int) -> tuple[Floats, Floats]:
        """Return leads by plans alone, and how far off they may be at any time."""
        W, S = self.walks[0, i], self.walks[1, i]
        v = self.scales[i] ** 2 * self.walks[2, i] + self.scales**2 * self.walks[2, :, i]
        rho = np.maximum(2.0 * self.scales[i] * self.scales, 1e-300)
        odds = 2.0 * math.log(1.0 / (2.0 * 0.977 * self.by_walks))
        stretch = self._quantile(self.by_walks) / -float(special.ndtri(self.by_walks))
        width = stretch * np.sqrt((v + rho) * (np.log1p(v / rho) + odds))
        some, safe = W > 0.0, np.where(W > 0.0, W, 1.0)
        return np.where(some, S / safe, np.nan), np.where(some, width / safe, np.inf)

    def _model(self, i: int) -> tuple[Floats, Floats]:
        """Return leads if features are exact, and how far off they may be."""
        seen = self.n > 0
        weights = np.sqrt(self.n[seen]) / np.maximum(self.scales[seen], 1e-300)
        inverse = np.linalg.pinv(self.P[seen] * weights[:, None])
        D = self.span.coordinates(self.lead_rows(i))
        middle = D @ (inverse @ (weights * self.means[seen]))
        return middle, self._quantile(self.by_model) * np.linalg.norm(D @ inverse, axis=1)

    @cached_property
    def _deviations(self) -> tuple[Floats, Floats, Floats] | None:
        """(g,) values of τ² and their weights, (g, r, k) K; None if too few options were scored."""
        seen, known = self.n > 0, self.record.policy.deviation
        known = None if known is None else known / self.unit
        P, y, V = self.P[seen], self.means[seen], self.V[seen]
        n, r = P.shape
        if n < r + (known is None) or np.linalg.matrix_rank(P) < r:
            return None
        left = y - P @ np.linalg.lstsq(P, y, rcond=None)[0]
        centre = float(V.mean())
        scale = centre + float(left @ left) / max(n - r, 1)
        if scale == 0.0:
            return None
        low, high = 1e-3 * max(centre, 1e-12 * scale), 1e4 * scale
        squares = np.geomspace(low, high, _GRID) if known is None else np.array([known**2])
        logs, K = np.zeros(len(squares)), np.zeros((len(squares), r, self.k))
        for g, square in enumerate(squares.tolist()):
            W = 1.0 / np.maximum(square + V, 1e-300)
            K[g][:, seen] = np.linalg.pinv(P * np.sqrt(W)[:, None]) * np.sqrt(W)
            rest = left - P @ (K[g][:, seen] @ left)
            size = float(np.linalg.slogdet((P * W[:, None]).T @ P)[1])
            logs[g] = 0.5 * (float(np.log(W).sum()) - size - float(W @ rest**2))
            logs[g] += 0.0 if known is not None else math.log(square / (square + centre))
        weights = np.exp(logs - logs.max())
        return squares, weights / weights.sum(), K

    def _across(self, i: int) -> _Posterior | None:
        """Return what is known of leads over options of other groups; None if nothing is."""
        if self._deviations is None:
            return None
        squares, weights, K = self._deviations
        h = (self.B[i] - self.B) @ K  # (g, k, k)
        c = -np.eye(self.k) - h
        c[:, :, i] += 1.0
        missed = squares[:, None] * (h**2).sum(axis=2)
        return _Posterior(weights, c @ self.means, c**2 @ np.where(self.n > 0, self.V, 0.0), missed)

    # ------------------------------------------------------------------ what is stated

    def leads(self, option: int) -> Floats:
        """Return (k,) the leads of an option; NaN where that is not known."""
        if not self.n.any() or not (self.paired or self.exact):
            return np.full(self.k, np.nan)
        found, _ = self._model(option) if self.exact else self._walk(option)
        across = None if self.exact else self._across(option)
        if across is not None:
            walked = (self.cell == self.cell[option]) & ~np.isnan(found)
            found = np.where(walked, found, across.weights @ across.means)
        return np.where((self.n > 0) | self.exact, found, np.nan) * self.unit

    def refuted_leads(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        everything = np.isinf(null)
        if not self.n.any() or not (self.paired or self.exact):
            return everything
        at = np.where(everything, 0.0, null) / self.unit
        middle, width = self._model(option) if self.exact else self._walk(option)
        found = np.abs(middle - at) >= width * (1.0 - SLACK)
        if not self.exact:
            found = np.where(self.cell == self.cell[option], found, self._beyond(option, at))
            found &= self.n > 0
        return np.asarray(found | everything)

    def _beyond(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers leads across groups are not."""
        across, noise = self._across(option), self._quantile(self.by_noise)
        if across is None or math.isinf(noise):
            return np.zeros(self.k, dtype=np.bool_)
        stretch = max(1.0, noise / -float(special.ndtri(self.by_features)))
        spread = np.sqrt(np.maximum(across.missed + stretch**2 * across.by_noise, 1e-300))
        z = (null - across.means) / spread
        tails = (across.weights @ special.ndtr(side * z) for side in (1.0, -1.0))
        return np.asarray(np.minimum(*tails) <= self.by_features * (1.0 + SLACK))

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        null = np.full(self.k, -loss)
        held = self.refuted_leads(option, null) & (self.leads(option) >= null)
        return np.asarray(~held & (np.arange(self.k) != option))
