"""Panels to plan with: some of the evaluators, and neutral ones who could be found."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats
from evenhand.questions import UNLIMITED, Column, Questions
from evenhand.questions.options import Kind
from evenhand.tables import Names


def with_neutral(questions: Questions, n: int) -> Questions:
    """Return the questions with n more evaluators, who favour nobody, about whatever others are."""
    # As `Questions.adding` does it, but for any number of them at once, and at the median price:
    # they may be lenient where others may, and have a position of their own where others have.
    if n == 0:
        return questions
    q, e = len(questions), len(questions.evaluators)
    _, first = np.unique(questions.about, axis=0, return_index=True)
    first.sort()
    everybodys = [c.kind == "position" and c.evaluator is None for c in questions.columns]
    kept = np.append(np.ones(questions.n_features), everybodys)
    rows = sparse.csr_array(questions.matrix[first] @ sparse.diags_array(kept))
    own = _kind_of_own(questions)
    extra = 0 if own is None else n
    blocks = [sparse.hstack([questions.matrix, sparse.csr_array((q, extra))])]
    for j in range(n):
        one = np.zeros((len(first), extra))
        one[:, j : j + 1] = 1.0
        blocks.append(sparse.hstack([rows, sparse.csr_array(one)]))
    matrix = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    names, more, noise = neutral_names(questions, n), n * len(first), questions.noise
    groups = questions.evaluator_groups
    columns = () if own is None else tuple(Column(name, own, name) for name in names)
    capacity, workload = max(1, int(questions.capacity.max())), np.median(questions.workload)
    return questions._changed(
        rows=matrix,
        columns=(*questions.columns, *columns),
        about=np.vstack([questions.about, np.tile(questions.about[first], (n, 1))]),
        evaluators=Names((*questions.evaluators, *names)),
        evaluator=np.append(questions.evaluator, np.repeat(e + np.arange(n), len(first))),
        evaluator_groups=None if groups is None else (*groups, *[None] * n),
        prices=_padded(questions.prices, more, np.median(questions.prices)),
        noise=None if noise is None else _padded(noise, more, np.median(noise)),
        capacity=_padded(questions.capacity, more, capacity),
        workload=_padded(questions.workload, n, min(workload, UNLIMITED)),
    )


def _padded(values: NDArray[Any], n: int, value: Any) -> NDArray[Any]:
    """Return values, and n more that are all the same."""
    return np.append(values, np.full(n, value, dtype=values.dtype))


def _kind_of_own(questions: Questions) -> Kind | None:
    """Return what a new evaluator brings that only evaluations tell; None if nothing."""
    own: dict[str, Kind] = {c.kind: c.kind for c in questions.columns if c.evaluator is not None}
    if "position" in own:
        return "position"
    alone = len(questions.evaluators) == 1 and all(c.kind == "bias" for c in questions.columns)
    # the leniency of one evaluator alone is the zero that those of others are measured from
    return "leniency" if "leniency" in own or alone else None


def neutral_names(questions: Questions, n: int) -> list[str]:
    """Return what neutral evaluators are called: names that nobody has."""
    numbers = (i for i in count(1) if f"neutral evaluator {i}" not in questions.evaluators)
    return [f"neutral evaluator {i}" for i in islice(numbers, n)]


def asked_of(questions: Questions, evaluators: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return (q,) which questions go to these evaluators, or to nobody in particular."""
    if evaluators is None or not len(questions.evaluators):
        return np.ones(len(questions), dtype=bool)
    return np.asarray(np.append(evaluators, True)[questions.evaluator])


def everything_once(questions: Questions, mask: NDArray[np.bool_]) -> Counts:
    """Return (q,) counts if these are asked as often as they may be; unlimited ones once."""
    # An evaluator who may not be asked everything is asked about all options as evenly as can be,
    # beginning with another option than the evaluator before.
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
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
