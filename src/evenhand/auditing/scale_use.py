"""Unequal use of the scale: it can look like a bias, or like a lead, and be neither.

Notation
--------
x           v̂ of what is scored, less its mean over what the same chair scored
u_e         by how much evaluator e stretches differences: adds u_e x to a score
S̃           a regressor (partiality, or 'this is the leader') less what all effects explain
a_e         Σ S̃ x over the scores of e, so that u moves β by Σ u_e a_e / S̃·S̃
z           a_e x / max |a_e|: one more regressor; its coefficient λ is u_e of the most exposed

Effects that add up are the first order of any scores h(v + s) that rise with worth and leniency.
The second is h'' v s: where the scale ends, in votes, and where evaluators multiply, the lenient
ones stretch differences less, or more, than the severe ones do. Some stretch for reasons of their
own. All of that is u. As far as u_e has nothing to do with a_e it is a difference among evaluators,
which errors by clusters have in them. What goes with a_e moves β, and looks like what moves it: if
home is better, and judges from home tell good from bad more sharply, they seem to favour home. The
column z takes just that off. It costs next to nothing where the groups are worth the same.

Nobody turns the scale round, or stretches it without end: |λ| ≤ ½, so that no evaluators' steps are
more than three times as large as others'. Where scores do not tell λ, β may be off by that much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special

from evenhand.arrays import Floats
from evenhand.auditing.bias import BiasEstimate, clustered, here
from evenhand.auditing.effects import Effects, two_way
from evenhand.report.words import decimals, fixed, short
from evenhand.scores import Scores
from evenhand.scores.scores import Factor, Finding, crossed, less_means, sums_over

_MOST = 0.5  # |λ|
_COLUMN = "use of the scale"
_LEAD = "lead"
_RIVALS = 40  # who come closest, and whom others scored
_NOTHING = 1e-9  # of what a sum could be, at which it is rounding


def common_bias(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias where evaluators and options come back, and use of the scale may differ."""
    return allowing_for_scale(effects, clustered(effects, level), clustered)


def allowing_for_scale(
    effects: Effects,
    bias: BiasEstimate,
    error: Callable[[Effects, float], BiasEstimate],
    values: Floats | None = None,
) -> BiasEstimate:
    """Return a bias with the interval that holds with and without unequal use of the scale; by
    ``values`` in each row, if they are not those of the effects.
    """
    scores = effects.scores
    if scores.rival is not None or scores.baseline is not None or scores.evaluator is None:
        return bias
    if not effects.told or not math.isfinite(bias.high - bias.low) or len(scores.evaluator) < 2:
        return bias
    x = less_means(values_by_row(effects) if values is None else values, *scores.chairs)
    z = _exposed(effects, x)
    if z is None:
        return bias
    beside = two_way(replace(scores, attributes={**scores.attributes, _COLUMN: z}))
    beside = beside.along(effects.name)
    found = error(beside, bias.level) if beside.told else BiasEstimate.unknown(0.0, bias.level)
    moves = _MOST * abs(float(effects.own @ z)) / effects.information
    low = max(min(bias.low, found.low), bias.low - moves)
    high = min(max(bias.high, found.high), bias.high + moves)
    # the error by which the interval would reach as far to 0
    reach = bias.value - low if bias.value > 0.0 else high - bias.value
    times = -float(special.stdtrit(bias.freedom, 0.5 * (1.0 - bias.level)))
    return replace(bias, low=low, high=high, se=max(bias.se, reach / times))


def _exposed(effects: Effects, x: Floats) -> Floats | None:
    """Return (n,) z; None where no stretching moves the effect."""
    assert effects.scores.evaluator is not None
    who, n = effects.scores.evaluator.codes, len(effects.scores.evaluator)
    along = sums_over(who, n, effects.own, x)
    most = float(np.abs(along).max())
    if most <= _NOTHING * float(np.abs(effects.own) @ np.abs(x)):
        return None
    return np.asarray((along / most)[who] * x)


def leads_by_scale(scores: Scores, leader: int, failure: float, tolerance: float) -> list[Finding]:
    """Return an alarm if other evaluators scored a rival than the leader, and the lead may come of
    how they use the scale.
    """
    leads = leads_of(scores, leader, 1.0 - failure)
    if not leads:
        return []
    rival, lead = min(leads.items(), key=lambda one: one[1].low)
    if lead.low > -tolerance:
        return []
    names = scores.option.names
    doubted = [other for other, found in leads.items() if found.low <= -tolerance]
    first, second = (short(names[option]) for option in (leader, rival))
    digits = decimals(0.5 * (lead.high - lead.low))
    low, high = (fixed(end, digits) for end in (lead.low, lead.high))
    return [
        Finding(
            "slopes",
            f"Not the same evaluators scored {first} and {second}. If some use the scale more "
            "widely than others, or an end of it cuts their scores, that alone may make the lead: "
            f"with it allowed for, {first} leads by {low} to {high}. Have both scored by the same "
            "evaluators.",
            alarm=True,
            pairs=tuple((names[leader], names[other]) for other in doubted),
        )
    ]


def leads_of(scores: Scores, leader: int, level: float) -> dict[int, BiasEstimate]:
    """Return by how much an option leads those who come closest of all whom other evaluators
    scored, with unequal use of the scale allowed for; of comparisons and items nothing is said.
    """
    if scores.rival is not None or scores.evaluator is None or scores.item is not None:
        return {}
    found = {rival: _lead(scores, leader, rival, level) for rival in _by_others(scores, leader)}
    return {rival: lead for rival, lead in found.items() if lead is not None}


def _by_others(scores: Scores, leader: int) -> list[int]:
    """Return the rivals who come closest, of those whom other evaluators scored than the leader."""
    assert scores.evaluator is not None
    options, option = np.unique(scores.option.codes, return_inverse=True)
    judges, judge = np.unique(scores.evaluator.codes, return_inverse=True)
    times = np.zeros((len(options), len(judges)), dtype=np.int32)
    np.add.at(times, (option, judge), 1)
    first = int(np.searchsorted(options, leader))
    others = (times != times[first]).any(axis=1)
    if not others.any():
        return []
    values = np.zeros(len(options))
    values[option] = values_by_row(two_way(scores))
    behind = values[first] - values
    others &= behind <= 2.0 * _MOST * np.ptp(values)
    order = np.argsort(behind, kind="stable")
    return [int(options[rival]) for rival in order if others[rival]][:_RIVALS]


def _lead(scores: Scores, leader: int, rival: int, level: float) -> BiasEstimate | None:
    """Return by how much one option leads another, with unequal use of the scale allowed for."""
    leads = scores.option.codes == leader
    kept, alike = np.unique(np.where(leads, rival, scores.option.codes), return_inverse=True)
    names = tuple(scores.option.names[option] for option in kept.tolist())
    # what they are worth is taken to be the same: else the lead would be among what is stretched
    as_one = Factor(alike.astype(np.int32), names)
    both = replace(scores, option=as_one, option_group=None, stated=scores.partial)
    own = leads.astype(np.float64)
    apart = two_way(replace(both, attributes={**both.attributes, _LEAD: own})).along(_LEAD)
    if not apart.told or apart.freedom < 1:
        return None
    return allowing_for_scale(apart, here(apart, level), here, values_by_row(two_way(both)))


def values_by_row(effects: Effects) -> Floats:
    """(n,) how good what is scored is, against the mean of its event; in comparisons, 0."""
    scores = effects.scores
    if scores.rival is not None:
        return np.zeros(len(scores))
    values = effects.values()[effects.valued[0]]
    # options of an event that nobody links have no common measure: each part has its own mean
    part = effects.part[effects.valued[0]]
    places = [part] if scores.event is None else [scores.event.codes, part]
    return less_means(values, *crossed(*places))
