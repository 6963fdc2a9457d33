"""Panels to plan with: what some of the evaluators are asked, how often, and at what price."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.hand_outs import hand_out


def asked_of(questions: Questions, evaluators: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return (q,) which questions go to these evaluators, or to nobody in particular."""
    if evaluators is None or not len(questions.evaluators):
        return np.ones(len(questions), dtype=bool)
    return np.asarray(np.append(evaluators, True)[questions.evaluator])


def everything_once(
    questions: Questions, mask: NDArray[np.bool_], *, roughly: bool = False
) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once.

    What workloads leave out is as even as it can be, in a panel by a hand-out, unless ``roughly``.
    """
    # Else an evaluator who may not be asked everything is asked about all options as evenly as can
    # be, beginning with another option than the evaluator before.
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    busy = np.append(questions.workload, UNLIMITED)[questions.evaluator] < UNLIMITED
    if not roughly and (busy & mask).any() and counts.max(initial=0) <= 1:
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


def alike(questions: Questions) -> list[int]:
    """Return (e,) numbers of evaluators, equal where one may stand for the other in any plan."""
    # Their questions are then the same, but for whose leniency and whose bias is in the answers.
    own = {"leniency": -1, "bias": -2, "position": -3, "attribute": -4}
    found: list[int] = []
    seen: dict[object, int] = {}
    Z = sparse.csr_array(questions.matrix[:, questions.n_features :])
    for e, name in enumerate(questions.evaluators):
        (asked,) = np.nonzero(questions.evaluator == e)
        asked = asked[np.lexsort(questions.about[asked].T)]
        of = (own[c.kind] if c.evaluator == name else x for x, c in enumerate(questions.columns))
        codes, rows = np.fromiter(of, dtype=np.int64), Z[asked]
        given = [questions.about, questions.prices, questions.capacity]
        given += [] if questions.noise is None else [questions.noise]
        parts = [*(part[asked] for part in given), codes[rows.indices], rows.data, rows.indptr]
        busy = e if questions.workload[e] < UNLIMITED else -1  # asked about others than others are
        key = (tuple(part.tobytes() for part in parts), busy)
        found.append(seen.setdefault(key, len(seen)))
    return found
