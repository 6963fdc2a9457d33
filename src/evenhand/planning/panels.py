"""Panels to plan with: some of the evaluators, and neutral ones who could be found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats
from evenhand.questions import UNLIMITED, Questions


def with_neutral(questions: Questions, n: int) -> Questions:
    """Return the questions with n more evaluators, who are partial to nobody.

    They can be asked about what others can, at the median price, and react to no attribute but a
    position that everybody reacts to; where evaluators may be lenient, so may they.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> more = with_neutral(panel, 1)
    >>> more.label(5), more.points[5].tolist()
    ('Bo by a neutral evaluator', [0.0, 1.0, 0.0, 0.0, 1.0])
    """
    if n == 0:
        return questions
    content = questions.to_dict()
    q, m = questions.rows.shape
    d = questions.n_features
    kinds = [column.kind for column in questions.columns]
    everybodys = [c.kind == "position" and c.evaluator is None for c in questions.columns]
    kept = np.concatenate([np.arange(d), d + np.flatnonzero(everybodys)])
    plain = sparse.csr_array(
        questions.matrix @ sparse.diags_array(np.isin(np.arange(m), kept).astype(float))
    )
    others = np.asarray(questions.matrix[:, kept[kept >= d]].todense())
    asked = np.column_stack([questions.about, others])
    _, which = np.unique(asked, axis=0, return_index=True)
    which.sort()
    lenient = "leniency" in kinds
    rows = [sparse.hstack([questions.matrix, sparse.csr_array((q, n if lenient else 0))])]
    for j in range(n):
        own = np.zeros((len(which), n if lenient else 0))
        own[:, j : j + 1] = 1.0
        rows.append(sparse.hstack([plain[which], sparse.csr_array(own)]))
    matrix = sparse.csr_array(sparse.vstack(rows, format="csr"))
    names = neutral_names(questions, n)
    content["rows"] = {
        "shape": list(matrix.shape),
        "starts": matrix.indptr.tolist(),
        "columns": matrix.indices.tolist(),
        "entries": matrix.data.tolist(),
    }
    if lenient:
        content["columns"] = content["columns"] + [
            {"name": name, "kind": "leniency", "evaluator": name, "group": None} for name in names
        ]
    e = len(questions.evaluators)
    content["evaluators"] = [*content["evaluators"], *names]
    content["evaluator"] = content["evaluator"] + np.repeat(e + np.arange(n), len(which)).tolist()
    content["about"] = content["about"] + questions.about[which].tolist() * n
    for name in ("prices", "capacity", "noise"):
        if content[name] is not None:
            usual = float(np.median(content[name]))
            usual = usual if name != "capacity" else int(min(usual, UNLIMITED))
            content[name] = content[name] + [usual] * (n * len(which))
    most = int(np.median(questions.workload)) if e else UNLIMITED
    content["workload"] = content["workload"] + [most] * n
    return Questions.from_dict(content)


def neutral_names(questions: Questions, n: int) -> list[str]:
    """Return what neutral evaluators are called."""
    if n == 1:
        return ["a neutral evaluator"]
    return [f"neutral evaluator {i + 1}" for i in range(n)]


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
