"""What is certain where judges agree to the last digit, if the scale of the scores is known.

Notation
--------
b, x        the option that leads, and a rival;  k options
J           judges, drawn independently, who told b from x with nothing else between them
L, W        the lead of b over x by each of these judges, the same by all; the least it can be is −W
p           share of all judges, of whom these were drawn, by whom the lead is L or more
μ           the mean lead over all of them
δ           chance of being wrong

Where nothing scatters there is no noise to hear, and no test that is made of noise. What may be
wrong is that judges who think otherwise are there, and none of them was drawn. As

    μ ≥ pL − (1 − p)W,    and all J have the lead at L or more with a chance of p^J,

μ ≥ qL − (1 − q)W for q = δ^(1/J), but for a chance of δ.

But b was looked for, and any option may have been it. One that is no better than all others has a
rival x with μ ≤ 0, so that p ≤ W/(L + W). If that is at most q = (δ/k)^(1/J), such options lead
all J judges with a chance of k q^J = δ at most. And where every judge scored all options, each of
them has one before all others: shares p_b of judges who have b there, by L or more, add up to 1 at
most, so that Σ p_b^J ≤ q^(J − 1), which is δ for q = δ^(1/(J − 1)). Which q is larger is a matter
of k and J alone.

Two options and votes of 0 and 1 need six judges who all prefer the same, at δ = .05: the sign test.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.certainty.choice import withstood
from evenhand.certainty.record import SCALE, certain, grounds, nothing_left_over
from evenhand.policies.conclusion import Conclusion
from evenhand.questions import Questions

_SAY = f"{SCALE}, or how loud noise is (noise_scale)"


class Agreement(NamedTuple):
    """Who told the leader from its rivals."""

    judges: Counts  # (k,) J
    width: Floats  # (k,) W; 0 where there are no judges
    together: bool  # whether every judge scored all options

    def least(self, leads: Floats, failure: float) -> Floats:
        """Return (k,) what leads are at least, the leader having been looked for."""
        J = np.maximum(self.judges, 1)
        q = (failure / len(leads)) ** (1.0 / J)
        if self.together:
            q = np.maximum(q, np.where(J > 1, failure ** (1.0 / np.maximum(J - 1, 1)), 0.0))
        return self._end(leads, q, -1.0)

    def ends(self, leads: Floats, failure: float) -> Floats:
        """Return (k, 2) what each lead is at least and at most, by itself."""
        q = (0.5 * failure) ** (1.0 / np.maximum(self.judges, 1))
        return np.column_stack([self._end(leads, q, side) for side in (-1.0, 1.0)])

    def _end(self, leads: Floats, q: Floats, side: float) -> Floats:
        known = self.judges > 0
        width = np.where(known, self.width, 0.0)
        return np.where(known, q * leads + side * (1.0 - q) * width, side * np.inf)


def agreement(
    questions: Questions, counts: Counts, leader: int, scale: tuple[float, float]
) -> Agreement:
    """Return who told an option from all others, by questions that were answered so often, (q,)."""
    # Of two scores a judge must favour both options alike; of two verdicts both orders count, or
    # one where nothing but value is in it.
    k, low, high = len(questions.options), *scale
    (asked,) = np.nonzero(counts)
    beside = questions.matrix[asked][:, questions.n_features :].tocsr()
    ends = beside.indptr.tolist()
    row = {}  # what else than value is in an answer, by who gave it and about what
    who, about = questions.evaluator[asked].tolist(), questions.about[asked].tolist()
    for n, (judge, pair) in enumerate(zip(who, about, strict=True)):
        part = slice(ends[n], ends[n + 1])
        row[judge, *pair] = beside.indices[part].tobytes(), beside.data[part].tobytes()

    def width(judge: int, a: int, b: int) -> float | None:
        """Return W of two options, if the judge told one from the other."""
        for pairs, most in (
            (((judge, a, b), (judge, b, a)), 0.5 * (high - low)),
            (((judge, a, -1), (judge, b, -1)), high - low),
        ):
            one, other = (row.get(pair) for pair in pairs)
            if one is not None and one == other:
                return most
        for pair, most in (((judge, a, b), -low), ((judge, b, a), high)):
            if row.get(pair) == (b"", b""):
                return max(most, 0.0)
        return None

    drawn = sorted({judge for judge in who if judge >= 0})
    found = [[width(judge, leader, x) for judge in drawn] for x in range(k)]
    widths = [[one for one in by_judge if one is not None] for by_judge in found]
    widths[leader] = []
    # of scores, who told each option from the next told all of them apart
    scored = bool((questions.about[:, 1] < 0).all())
    pairs = pairwise(range(k)) if scored else combinations(range(k), 2)
    return Agreement(
        np.array([len(one) for one in widths]),
        np.array([max(one, default=0.0) for one in widths]),
        all(width(judge, a, b) is not None for a, b in pairs for judge in drawn),
    )


def by_agreement(
    said: Conclusion, scale: tuple[float, float] | None, tolerance: float
) -> Conclusion:
    """Return what judges who agree to the last digit make certain, by the scale of the scores."""
    decision, questions = said.decision, said.questions
    assert decision.leads is not None
    if scale is None:
        because = nothing_left_over(questions.options, decision.option, said.spent, True, _SAY)
        return replace(said, stopped_because=because)
    same = questions.options.same_as(decision.option)
    found = agreement(questions, said.checks.counts, decision.option, scale)
    estimates, failure = decision.leads[:, 0], 1.0 - decision.level
    least = np.where(same, 0.0, found.least(estimates, failure))
    leads = np.column_stack([estimates, found.ends(estimates, failure)])
    leads[same] = 0.0
    loss, withstands = max(0.0, -float(least.min(initial=0.0))), 0.0
    if loss <= tolerance:
        withstands = withstood(said.actions, decision.option, least)
        why = certain(questions.options, decision.option, decision.level, tolerance)
        why += " All judges agree; by the scale, others who do not are too few to matter."
    else:
        why = (
            f"all {said.spent} answers agree to the last digit, and by the scale from {scale[0]:g} "
            f"to {scale[1]:g} judges who think otherwise, and were not asked, may be enough to "
            f"turn it.{_needed(found, np.delete(estimates, decision.option), failure, tolerance)}"
        )
    return replace(
        said,
        decision=replace(
            decision,
            loss=loss,
            leads=leads,
            withstands=withstands,
            certainty=grounds(questions.options) if np.isfinite(loss) else None,
        ),
        stopped_because=why,
    )


def _needed(found: Agreement, leads: Floats, failure: float, tolerance: float) -> str:
    """Return how many judges who agree it takes; "" where no number of them would do."""
    least, width = float(leads.min()), float(found.width.max())
    if not (width > 0.0 and least + tolerance > 0.0):
        return ""
    share = math.log((width - tolerance) / (least + width))
    n = math.log(failure / (len(leads) + 1)) / share
    if found.together:
        n = min(n, 1.0 + math.log(failure) / share)
    return f" {math.ceil(n):,} judges who all agree would settle it."
