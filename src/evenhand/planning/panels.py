"""Panels to plan with: what some of the evaluators are asked, how often, and at what price."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.hand_outs import hand_out


def asked_of(questions: Questions, evaluators: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return (q,) which questions go to these evaluators, or to nobody in particular."""
    if evaluators is None or not len(questions.evaluators):
        return np.ones(len(questions), dtype=bool)
    return np.asarray(np.append(evaluators, True)[questions.evaluator])


def everything_once(questions: Questions, mask: NDArray[np.bool_]) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once.

    What workloads leave out is as even as it can be, in a panel by a hand-out.
    """
    # Else an evaluator who may not be asked everything is asked about all options as evenly as can
    # be, beginning with another option than the evaluator before.
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    busy = np.append(questions.workload, UNLIMITED)[questions.evaluator] < UNLIMITED
    if (busy & mask).any() and counts.max(initial=0) <= 1:
        found = hand_out(questions, int(counts.sum()), left=counts)
        if found is not None:
            return found
    for e in np.flatnonzero(questions.workload < UNLIMITED).tolist():
        most = int(questions.workload[e])
        (own,) = np.nonzero(mask & (questions.evaluator == e))
        if not len(own):
            continue
        shift = (e * max(1, len(own) // max(len(questions.evaluators), 1))) % len(own)
        own = np.roll(own, -shift)
        caps = questions.capacity[own]
        if int(np.minimum(caps, most).sum()) > most:
            counts[own] = _evenly(np.minimum(caps, most), most)
    return counts


def _evenly(caps: Counts, most: int) -> Counts:
    """Return counts that add to ``most``, as equal as caps allow, earlier ones first."""
    level = most // len(caps)
    counts = np.minimum(caps, level)
    while (left := most - int(counts.sum())) > 0:
        (room,) = np.nonzero(counts < caps)
        if not len(room):
            break
        counts[room[:left]] += 1
    return counts


def price_of(questions: Questions, counts: Floats | Counts) -> float:
    """Return what so many evaluations of each question, (q,), cost."""
    return float(counts @ questions.prices)
