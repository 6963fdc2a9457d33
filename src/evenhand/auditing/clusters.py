"""How sure a bias is when the same evaluators and the same options come back.

Notation
--------
V_e, V_o    variance of β from sums of S̃_i e_i over evaluators, over options (`leverage`: z_g)
V_p         the same over pairs of both: noise, and what an evaluator sees in an option
b_e, b_o    what an evaluator's bias, or that towards an option, is beside the mean

Residuals of one evaluator have b_e in common, those of one option b_o. The variance of β is
V_e + V_o − V_p (Cameron, Gelbach and Miller), where each part is at least V_p: a pair is in both.

Each of V_e and V_o is as good as its clusters are many and equal. `leverage` says by how much
residuals are too small, and as how many degrees of freedom a sum of squares counts. What exceeds
V_p is owed to b. Differences between evaluators' biases are partly absorbed by the fixed effects:
the excess is divided by the share that is not. Degrees of freedom of the sum are Welch's, with V_p
as the least weight: a sum over three evaluators may happen to be small, and is not the surer for
it. They are never below those of the least sure part, so that many evaluators and options give the
usual interval.

On 24 shapes of tables and 8 ways of scoring (`docs/audit_intervals.md`) it holds in 93% to
100% where 95% is asked for; the plain G/(G − 1) with min G − 1 degrees in 81% to 100%.

One partial evaluator, or two who are partial to each other's favourites only, don't show b_e: the
interval is then about these evaluators only, and says so. Likewise with one favourite. Where
neither shows, noise is taken to be alike in all pairs, since the partial ones are too few to tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.effects import Effects
from evenhand.auditing.leverage import Leverage, column_of, leverage
from evenhand.auditing.pairs import Components, Pairs, components_of, kinds_of, pairs_of
from evenhand.auditing.projections import ENOUGH
from evenhand.scores.factor import Codes, sums_over


@dataclass(frozen=True)
class _Part:
    """A variance of β with how sure it is."""

    variance: float
    freedom: float


def plain(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias as if scores were independent of one another."""
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    variance = float(effects.residual @ effects.residual) / effects.freedom / effects.information
    return _estimate(effects, _Part(variance, effects.freedom), level, {}, ())


def clustered(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias, where evaluators and options come back."""
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    return Clusters.of(effects).estimate(effects, level)


def here(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias of these evaluators towards these options: only noise, and what evaluators
    see in options, makes it unsure.
    """
    if effects.freedom < 1 or not effects.information > 0.0:
        return BiasEstimate.unknown(effects.bias, level)
    return _alone(effects, components_of(effects, Pairs.of(effects)), level)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Who comes back in a table of scores, and what residuals show of that, whatever the scores."""

    # evaluators and options: the cluster of each row, and what residuals show
    kinds: Mapping[str, tuple[Codes, Leverage]]
    pairs: Codes  # (n,) the pair of evaluator and option in each row
    n_pairs: int
    partial: Mapping[str, int]  # by kind, how many have partial scores
    design: Effects  # effects of any scores in these rows

    @cached_property
    def components(self) -> Components:
        """What residuals show of noise, and of what evaluators see in options."""
        return components_of(self.design, Pairs.of(self.design))

    @classmethod
    def of(cls, effects: Effects) -> Clusters:
        """Return the clusters of evaluators and options."""
        kinds = kinds_of(effects)
        own = np.flatnonzero(column_of(effects))
        return cls(
            {kind: (codes, leverage(effects, codes, n)) for kind, (codes, n) in kinds.items()},
            *pairs_of(effects),
            {kind: len(np.unique(codes[own])) for kind, (codes, _) in kinds.items()},
            effects,
        )

    def estimate(self, effects: Effects, level: float) -> BiasEstimate:
        """Return the bias with its interval."""
        least = pair_variance(effects, self.pairs, self.n_pairs)
        parts = {
            kind: _one_way(effects, codes, lever, least)
            for kind, (codes, lever) in self.kinds.items()
            if lever.shown > 0.0
        }
        only = tuple(kind for kind in self.kinds if kind not in parts)
        if not parts:
            return self.here(effects, level)
        part = _together(list(parts.values()), least)
        return _estimate(effects, part, level, {kind: self.partial[kind] for kind in parts}, only)

    def here(self, effects: Effects, level: float) -> BiasEstimate:
        """Return the bias of these evaluators towards these options."""
        return _alone(effects, self.components, level)


def pair_variance(effects: Effects, pairs: Codes, size: int) -> float:
    """Return V_p, from the residuals of pairs."""
    shrunk = effects.freedom / len(pairs)
    S, e = effects.own, effects.residual
    if size == len(pairs):  # nobody comes back
        return float(np.einsum("i,i,i,i->", S, S, e, e)) / effects.information**2 / shrunk
    return _squares(effects, pairs, np.ones(size)) / shrunk


def _one_way(effects: Effects, codes: Codes, lever: Leverage, least: float) -> _Part:
    """Return the variance by clusters of one kind."""
    variance = _squares(effects, codes, lever.factors)
    if variance <= least:
        return _Part(variance, lever.freedom)
    excess = (variance - least) / lever.shown
    share = excess / (least + excess)
    fewest = min(lever.own_freedom, lever.freedom)
    return _Part(least + excess, 1.0 / (share / fewest + (1.0 - share) / lever.freedom))


def _together(parts: list[_Part], least: float) -> _Part:
    """Return the variance by clusters of all kinds."""
    variance = sum(part.variance for part in parts) - (len(parts) - 1) * least
    variance = max(variance, *(part.variance for part in parts), 0.0)
    fewest = min(part.freedom for part in parts)
    if variance == 0.0:
        return _Part(0.0, fewest)
    spread = sum((max(part.variance, least) / variance) ** 2 / part.freedom for part in parts)
    return _Part(variance, max(1.0 / spread, fewest))


def _alone(effects: Effects, components: Components, level: float) -> BiasEstimate:
    """Return the bias where noise, and what evaluators see, is alike everywhere."""
    found, info = components.of(effects.residual[:, None]), effects.information
    variance = found.noise / info
    if found.pair:
        seen = components.pairs.sums(effects.own[:, None]) / info
        variance += found.pair * float((seen**2).sum())
    return _estimate(effects, _Part(variance, found.freedom), level, {}, tuple(kinds_of(effects)))


def _squares(effects: Effects, clusters: Codes, factors: Floats) -> float:
    z = sums_over(clusters, len(factors), effects.own, effects.residual)
    return float(factors @ (z * z)) / effects.information**2


def _estimate(
    effects: Effects, part: _Part, level: float, clusters: dict[str, int], only: tuple[str, ...]
) -> BiasEstimate:
    score, lies = effects.scores.score, effects.scores.level
    size = max(float(score.max()) - lies.origin, lies.origin - float(score.min()))
    nil = max(ENOUGH * size, lies.grain)
    value = effects.bias if abs(effects.bias) > nil else 0.0
    se = math.sqrt(part.variance)
    return BiasEstimate.by_student(value, se, part.freedom, level, clusters, only)
