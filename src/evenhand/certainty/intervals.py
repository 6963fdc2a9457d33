"""Losses and intervals that hold at all times, from the evidence of plans.

Let E(ε) be the evidence of a plan against 'the leader loses ε or more to x'; a loss is stated once
the product of these over the plans, with ε in those that the option led and 0 in others, was enough
against all rivals. An interval has the numbers μ for which the product of the evidence against
c·θ = μ stays below 1/δ. docs/research/certainty.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.certainty import e_process
from evenhand.certainty.e_process import StageReading
from evenhand.certainty.models import Fit, Spread
from evenhand.certainty.record import Expected, Plan
from evenhand.certainty.stages import ROUNDING, Inference, InOrder, prior, reading
from evenhand.numerics.intervals import first_beyond, planned_interval

_FALLBACK = 0.1  # share of δ for what the first plan says of a bias


def loss(inference: Inference, option: int) -> float:
    """Return the least loss for which the evidence against all rivals was ever enough."""
    # That is ε with W_x ≥ 1/δ for all x, where ε is the tolerance in plans that the option led and
    # 0 in others; see docs/research/certainty.md for why that needs no union over leaders.
    aim, now = inference.aim, inference.evidence()
    rivals = inference.open(now, option)
    cleared = now.cleared.get(option)
    floor = aim.tolerance if cleared is not None and cleared.any() else 0.0
    if len(rivals) == 0:
        return floor
    readings, own = [], []
    priors: list[tuple[Floats, Floats]] = []
    for plan, _, fit in inference.tests():
        expected = _expected(plan, rivals, len(now.wealth))
        leads = Spread(expected.leads, expected.variances)
        readings.append(reading(fit, fit.leads(plan.leader, rivals), leads, expected.unit))
        priors.append(prior(expected, -aim.slack))
        own.append(np.full(len(rivals), plan.leader == option))
    if not np.any(own):
        return np.inf
    rows, led = StageReading.joined(readings), np.concatenate(own)
    effects = np.concatenate([p[0] for p in priors]), np.concatenate([p[1] for p in priors])
    if not (rows.information.reshape(-1, len(rivals)) * np.array(own)).any(axis=0).all():
        return np.inf

    def beyond(loss: Floats) -> Floats:
        null = np.where(led, -np.tile(loss, len(readings)), 0.0)
        evidence = rows.evidence(effects, null).reshape(-1, len(rivals))
        return np.asarray(evidence.cumsum(axis=0).max(axis=0) - aim.enough)

    start = np.zeros(len(rivals))
    sizes = rows.spreads.reshape(-1, len(rivals))
    step = sizes.min(axis=0, where=np.array(own), initial=np.inf)  # of leads over the rivals
    found = first_beyond(beyond, start, rows.units.max() * step)
    return max(floor, float(found.max()) * (aim.noise or 1.0))


def loss_across(inference: InOrder[Any], chosen: Indices, kinds: Indices) -> float:
    """Return what any that is chosen is worse than any other at most, in units of the evidence."""
    # By intervals of all k(k − 1)/2 leads at once, whoever is chosen and when: a union.
    k = len(kinds)
    others = np.setdiff1d(np.arange(k), chosen)
    x, y = np.repeat(chosen, len(others)), np.tile(others, len(chosen))
    apart = kinds[x] != kinds[y]
    x, y = x[apart], y[apart]
    failure = inference.aim.delta / (0.5 * k * (k - 1))
    low, _ = interval(inference, lambda fit: fit.leads(x, y), failure=failure)
    return max(0.0, float(-low.min(initial=0.0)))


def interval(
    inference: InOrder[Any],
    what: Callable[[Fit], Spread],
    leader: int | None = None,
    failure: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of what a fit says, in units of the evidence, that hold at all
    times, each by itself; for leads, by the plans that the option led alone.
    """
    readings = [
        reading(fit, what(fit), what(before), before.unit)
        for plan, before, fit in inference.tests()
        if leader is None or plan.leader == leader
    ]
    if not readings:
        n = len(what(inference.before(len(inference.record.rounds))).estimates)
        return np.full(n, -np.inf), np.full(n, np.inf)
    return e_process.interval(readings, inference.aim.delta if failure is None else failure)[1:]


def bias_ends(inference: InOrder[Any], rows: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals of combinations of attributes, (n, p)."""
    # Plans that settle leads within a group say nothing of a bias. The first plan mostly does, so a
    # tenth of δ is for an interval from it alone; where both are there, both hold.
    record, aim = inference.record, inference.aim
    if not record.rounds or not record.is_over(0):
        return np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    fit = aim.model.fit(record.rounds[0].total, aim.noise)
    first = np.tile([-np.inf, np.inf], (len(rows), 1))
    repeats = math.isfinite(fit.freedom) and fit.scatter <= ROUNDING * fit.size
    for i, (estimate, variance) in enumerate(zip(*fit.attributes(rows), strict=True)):
        J = 1.0 / variance if variance > 0.0 else 0.0
        plan = 0.1 * J if aim.noise is None else J  # few degrees of freedom: a wide mixture
        failure = _FALLBACK * aim.delta
        if not repeats:  # else nothing is known of the noise
            first[i] = planned_interval(estimate, J, fit.scatter, fit.freedom, plan, failure)
    later = interval(
        inference, lambda fit: fit.attributes(rows), failure=(1.0 - _FALLBACK) * aim.delta
    )
    low, high = np.maximum(first[:, 0], later[0]), np.minimum(first[:, 1], later[1])
    apart = low > high
    return np.where(apart, later[0], low), np.where(apart, later[1], high)


def _expected(plan: Plan, options: Indices, k: int) -> Expected:
    """Return what a plan expected of leads over some of k options: nothing of those not tested."""
    assert plan.expected is not None
    leads, variances = np.zeros(k), np.full(k, np.inf)
    leads[plan.rivals], variances[plan.rivals] = plan.expected.leads, plan.expected.variances
    return plan.expected._replace(leads=leads[options], variances=variances[options])
