"""Panels to plan with: some of the evaluators, and neutral ones who could be found."""

from __future__ import annotations

from dataclasses import asdict
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats
from evenhand.questions import UNLIMITED, Column, Questions
from evenhand.questions.options import Kind


def with_neutral(questions: Questions, n: int) -> Questions:
    """Return the questions with n more evaluators, who favour nobody, about whatever others are.

    As `Questions.adding` does it, but for any number of them at once, and at the median price: they
    may be lenient where others may, and have a position of their own where others have.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> more = with_neutral(panel, 1)
    >>> more.label(5), more.points[5].tolist()
    ('Bo by neutral evaluator 1', [0.0, 1.0, 0.0, 0.0, 1.0])
    """
    if n == 0:
        return questions
    content, q = questions.to_dict(), len(questions)
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
    names = neutral_names(questions, n)
    content["rows"] = {
        "shape": list(matrix.shape),
        "starts": matrix.indptr.tolist(),
        "columns": matrix.indices.tolist(),
        "entries": matrix.data.tolist(),
    }
    if own is not None:
        content["columns"] += [asdict(Column(name, own, name)) for name in names]
    e = len(questions.evaluators)
    content["evaluators"] += names
    content["evaluator"] += np.repeat(e + np.arange(n), len(first)).tolist()
    if content["evaluator_groups"] is not None:
        content["evaluator_groups"] += [None] * n
    content["about"] += questions.about[first].tolist() * n
    for name in ("prices", "noise"):
        if content[name] is not None:
            content[name] += [float(np.median(content[name]))] * (n * len(first))
    most = max(1, int(questions.capacity.max()))
    content["capacity"] += [most] * (n * len(first))
    content["workload"] += [int(min(np.median(questions.workload), UNLIMITED))] * n
    return Questions.from_dict(content)


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
    """Return (q,) evaluations if these questions are asked as often as they may be.

    Once where there is no limit. An evaluator who may not be asked everything is asked about all
    options as evenly as can be, beginning with another option than the evaluator before.
    """
    counts = np.where(questions.capacity < UNLIMITED, questions.capacity, 1) * mask
    for e, most in enumerate(questions.workload.tolist()):
        (own,) = np.nonzero(mask & (questions.evaluator == e))
        if most >= UNLIMITED or not len(own):
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
