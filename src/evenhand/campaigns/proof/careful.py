"""Whether what `CarefulChoice` states follows from (plan, scores) alone (docs/careful.md).

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o;  u_o ~ N(0, τ²), exchangeable
ȳ, V    (k,)    mean scores and their variances σ_o²/n_o
P       (k, r)  coordinates of (x; z);  B (k, r) those of (0; z − c), c the centre of the attributes
K(τ)    (r, k)  θ̂ = Kȳ by least squares with weights 1/(τ² + V)
a, D            a contrast a·v, estimated by a·ȳ − D·θ̂: of error variance Σ (a − DK)²V from noise,
                and τ² Σ (DK)² from what the features miss

Given τ all is Gaussian; τ² has forty values, evenly in its logarithm, weighed by the restricted
likelihood times 1/(τ² + V̄). Leads within a group are walks of known variance over the plans.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.campaigns.proof.asked import Floats, Truths
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.record import Record, number
from evenhand.campaigns.proof.squares import Scores

_FIRST, _GROWTH = 4, 0.3  # evaluations of each option at first; a batch as a share of all before
_PRIOR = 8.0  # scores that an own scatter has to outweigh
_GRID = 40
_MOST_GROUPS, _MOST_PAIRED = 8, 1_000


class _Posterior(NamedTuple):
    """What is known of τ: (g,) squares and weights, and (g, r, k) K."""

    squares: Floats
    weights: Floats
    K: Floats


class Careful(Checker):
    """What the plans of a record show that are over.

    Parameters
    ----------
    record
        What was asked, planned and answered.
    exact
        Whether what is stated holds if the features are exact.
    """

    def __init__(self, record: Record, exact: bool) -> None:
        super().__init__(record)
        self.exact, asked = exact, self.asked
        A, d = asked.rows.toarray(), asked.n_features
        cells, cell = np.unique(A[:, d:], axis=0, return_inverse=True)
        self.cell, self.n_cells, self.k = cell.reshape(-1), len(cells), len(A)
        centred = np.zeros_like(A)
        centred[:, d:] = A[:, d:] - cells.mean(axis=0)
        self.P, self.B = asked.span.coordinates(A), asked.span.coordinates(centred)
        over = [one for one in record.rounds if one.over and one.count]
        self._scores = Scores.joined([one.scores for one in over])
        self.n, self.means, self.within = self._scores.means(self.k)
        first = record.rounds[0] if record.rounds else None
        few = self.k <= _MOST_PAIRED and first is not None
        self.paired = few and _most(first) >= 2 * int(first.there.sum())  # type: ignore[union-attr] # few
        self.walks = np.zeros((3, self.k, self.k) if self.paired else (3, 1, 1))
        for one in over if self.paired else ():
            n, means, _ = one.scores.means(self.k)
            both = (n[:, None] > 0) & (n > 0)
            w = np.where(both, n[:, None] * n / np.maximum(n[:, None] + n, 1.0), 0.0)
            rate = w**2 / np.maximum(n, 1.0)[:, None]
            self.walks += [w, w * (means[:, None] - means), rate]
        self._hear()
        if over:
            self._share_out(int(over[-1].there.sum()), _most(over[-1]))

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
        self.V = np.where(self.n > 0, squares / np.maximum(self.n, 1.0), np.inf)

    def _share_out(self, k: int, at_most: float) -> None:
        """Share δ out among what is said after the last plan."""
        directions = self.n_cells - 1
        if len(self.asked.columns) == 1:
            directions = min(directions, 2)
        looks = 3.0 + math.log(at_most / min(_FIRST * k, at_most)) / math.log1p(_GROWTH)
        late = float(self.n.sum()) / (at_most * (1.0 + 1.0 / _GROWTH))
        self.by_features = self.delta / max(directions, 1)
        self.by_noise = 0.2 * self.delta / (k * looks)
        self.by_walks = min(0.2 * self.delta / max(k - 1, 1), 0.06)
        self.by_model = 0.3 * self.delta / k * (1.0 / looks + late)

    def _quantile(self, failure: float) -> float:
        if self.freedom < 1.0:
            return math.inf
        known = math.isinf(self.freedom)
        return -float(special.ndtri(failure) if known else special.stdtrit(self.freedom, failure))

    # ------------------------------------------------------------------ own scores

    @cached_property
    def _posterior(self) -> _Posterior | None:
        """What is known of τ; None where too few options were scored."""
        deviation = self.record.settings.get("deviation")
        if deviation is not None and not (deviation == 0 and not self.exact):
            deviation = number(deviation, "deviation", 0.0, 1e100) / self.unit
        else:
            deviation = None
        seen = self.n > 0
        P, y, V = self.P[seen], self.means[seen], self.V[seen]
        n, r = P.shape
        if n < r + (deviation is None) or np.linalg.matrix_rank(P) < r:
            return None
        left = y - P @ np.linalg.lstsq(P, y, rcond=None)[0]
        centre = float(V.mean())
        squares = np.array([(deviation or 0.0) ** 2])
        if deviation is None:
            scale = centre + float(left @ left) / (n - r)
            if scale == 0.0:
                return None
            squares = np.geomspace(1e-3 * max(centre, 1e-12 * scale), 1e4 * scale, _GRID)
        logs, K = np.zeros(len(squares)), np.zeros((len(squares), r, self.k))
        for g, square in enumerate(squares.tolist()):
            W = 1.0 / np.maximum(square + V, 1e-300)
            K[g][:, seen] = np.linalg.pinv(P * np.sqrt(W)[:, None]) * np.sqrt(W)
            rest = left - P @ (K[g][:, seen] @ left)
            _, size = np.linalg.slogdet((P * W[:, None]).T @ P)
            logs[g] = 0.5 * (float(np.log(W).sum()) - float(size) - float(W @ rest**2))
            logs[g] += math.log(square / (square + centre)) if square > 0.0 else 0.0
        weights = np.exp(logs - logs.max())
        return _Posterior(squares, weights / weights.sum(), K)

    def _contrasts(self, own: Floats, D: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (g, n) estimates of contrasts, (n, k) and (n, r), and both parts of variances."""
        assert self._posterior is not None
        V, parts = np.where(np.isfinite(self.V), self.V, 0.0), []
        for square, K in zip(self._posterior.squares, self._posterior.K, strict=True):
            c = own - D @ K
            parts.append((c @ self.means, c**2 @ V, square * ((D @ K) ** 2).sum(axis=1)))
        estimates, noise, missed = (np.array(part) for part in zip(*parts, strict=True))
        return estimates, noise, missed

    def _beyond(self, own: Floats, D: Floats, null: Floats, half: float) -> Truths:
        """Tell (n,) which numbers contrasts are not, with a share of the levels on either side."""
        noise, failure = self._quantile(half * self.by_noise), half * self.by_features
        if self._posterior is None or math.isinf(noise):
            return np.zeros(len(D), dtype=np.bool_)
        estimates, by_noise, missed = self._contrasts(own, D)
        stretch = max(1.0, noise / -float(special.ndtri(failure)))
        z = (null - estimates) / np.sqrt(np.maximum(missed + stretch**2 * by_noise, 1e-300))
        tails = (self._posterior.weights @ special.ndtr(side * z) for side in (1.0, -1.0))
        return np.asarray(np.minimum(*tails) <= failure * (1.0 + SLACK))

    def _across(self, i: int) -> tuple[Floats, Floats]:
        """Return the contrasts of leads of an option over all others."""
        own = -np.eye(self.k)
        own[:, i] += 1.0
        return own, self.B[i] - self.B

    def refuted_leads(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        if not len(self._scores.values):
            return np.isinf(null)
        at = np.where(np.isinf(null), 0.0, null) / self.unit
        if self.exact:
            found = np.abs(self._model(option)[0] - at) >= self._model(option)[1] * (1.0 - SLACK)
            return np.asarray(found | np.isinf(null))
        same, found = self.cell == self.cell[option], np.isinf(null)
        if self.paired:
            middle, width = self._walk(option)
            found |= same & (np.abs(middle - at) >= width * (1.0 - SLACK))
            found |= ~same & self._beyond(*self._across(option), at, 1.0)
        return found & ((self.n > 0) | np.isinf(null))

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
        D = self.asked.span.coordinates(self.lead_rows(i))
        middle = D @ (inverse @ (weights * self.means[seen]))
        return middle, self._quantile(self.by_model) * np.linalg.norm(D @ inverse, axis=1)

    # ------------------------------------------------------------------ what is stated

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        null = np.full(self.k, -loss)
        held = self.refuted_leads(option, null) & (self.leads(option) >= null)
        return ~held & (np.arange(self.k) != option)

    def leads(self, option: int) -> Floats:
        """Return (k,) the leads of an option; NaN where that is not known."""
        if not len(self._scores.values) or not (self.paired or self.exact):
            return np.full(self.k, np.nan)
        if self.exact:
            return np.asarray(self._model(option)[0] * self.unit)
        found, _ = self._walk(option)
        if self._posterior is not None:
            across = self._posterior.weights @ self._contrasts(*self._across(option))[0]
            found = np.where(self.cell == self.cell[option], found, across)
        return np.where(self.n > 0, found, np.nan) * self.unit

    def refuted_values(self, null: Floats) -> Truths:
        """Tell (k,) which numbers the values are not."""
        found = np.zeros(self.k, dtype=np.bool_)
        if self.paired and len(self._scores.values):
            at = np.where(np.isinf(null), 0.0, null) / self.unit
            found = (self.n > 0) & self._beyond(np.eye(self.k), self.B, at, 0.5)
        return found | np.isinf(null)

    def values(self) -> Floats:
        """Return (k,) own scores less the bias; where there are none, what the features say."""
        plain = super().values()
        if not self.paired or self._posterior is None:
            return plain
        own = self._posterior.weights @ self._contrasts(np.eye(self.k), self.B)[0] * self.unit
        return np.where(self.n > 0, own, plain)

    def refuted_biases(self, null: Floats) -> Truths:
        """Tell (n,) which numbers the biases are not; of the first only anything is known."""
        found = np.isinf(null)
        if len(self._scores.values) and self.asked.span.has(self.bias_rows[:1]).all():
            row, none = -self.asked.span.coordinates(self.bias_rows[:1]), np.zeros((1, self.k))
            at = np.where(found, 0.0, null)[:1] / self.unit
            found[:1] |= self._beyond(none, row, at, 0.5)
        return found

    def biases(self) -> Floats:
        """Return (n,) the biases: the first beside what features miss, others by least squares."""
        found = super().biases()
        if self._posterior is not None and self.asked.span.has(self.bias_rows[:1]).all():
            row, none = -self.asked.span.coordinates(self.bias_rows[:1]), np.zeros((1, self.k))
            found[:1] = self._posterior.weights @ self._contrasts(none, row)[0] * self.unit
        return found


def _most(one: Round) -> float:
    """Return how many evaluations were allowed when a plan was made."""
    return number(one.content["at_most"], "at_most", 1.0, 1e18)
