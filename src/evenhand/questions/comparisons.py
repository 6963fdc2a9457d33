"""Comparisons: 'a against b' as a question, to judges who may favour the first, or their own.

Notation: y = v_a − v_b + π_j + β_j (f_a − f_b) + noise for 'a against b' by judge j, where f_o is 1
if option o is of the judge's family. π_j is what being named first adds; it stands in every verdict
of the judge, so a constant in how verdicts are written (0, ½, 1 instead of −1, 0, 1) is part of it
and does no harm.

By one judge alone no number of verdicts tells β_j: a favour for a family is a difference in value.
Judges of two families tell it if it is common; each has its own if some option is of no judge's
family, or some judge of none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.errors import InputError
from evenhand.questions.given import Named, named, pair_numbers
from evenhand.questions.options import Column, Options
from evenhand.questions.questions import Questions
from evenhand.tables import listed, texts_or_none

Bias = Literal["judge", "common"]


def comparisons(
    cls: type[Questions],
    options: Any,
    judges: Any,
    family: Mapping[str, Any] | None,
    position: bool,
    bias: Bias | None,
    capacity: Any,
    prices: Any,
    workload: Any,
) -> Questions:
    """Return the questions of comparing options in pairs; see `Questions.comparisons`."""
    if bias not in ("judge", "common", None):
        raise InputError(f"bias must be 'judge', 'common' or None; got {bias!r}.")
    choice, panel = named(options, "options"), named(judges, "judges")
    if family is not None:
        choice, panel = _of_families(choice, panel, family)
    k, e = len(choice.names), len(panel.names)
    if k < 2:
        raise InputError(f"there is one option only, {choice.names[0]!r}; a choice needs two.")
    first, second = (side.reshape(-1) for side in np.nonzero(~np.eye(k, dtype=np.bool_)))
    own = _own(choice, panel)
    if bias is None:
        bias = "judge" if _told_apart(own) else "common"
    columns, of_judge = _columns(panel, own, position, bias)
    pair = np.repeat(np.arange(len(first)), e)
    judge = np.tile(np.arange(e), len(first))
    a, b = first[pair], second[pair]

    def each(given: Any, what: str) -> Floats | None:
        """Numbers by judge, of all pairs alike."""
        if given is None:
            return None
        by_judge: Floats = pair_numbers(given, choice.names[:1], panel.names, what, 1.0)[0]
        return by_judge[judge]

    work = None
    if workload is not None:
        work = pair_numbers(workload, choice.names[:1], panel.names, "workload", np.inf)[0]
    return cls._made(
        Options(
            choice.names,
            choice.groups if choice.grouped else None,
            None,
            k,
            choice.features,
            choice.feature_names,
        ),
        _rows(a, b, judge, own, of_judge, len(columns), position),
        k,
        np.column_stack([a, b]),
        columns=columns,
        evaluators=panel.names,
        evaluator=judge,
        evaluator_groups=panel.groups if panel.grouped else None,
        prices=each(prices, "prices"),
        capacity=None if capacity is None else each(capacity, "capacity"),
        workload=work,
    )


def _of_families(choice: Named, panel: Named, family: Mapping[str, Any]) -> tuple[Named, Named]:
    """Put options and judges into the families that a mapping says."""
    known = {*choice.names, *panel.names}
    strange = [str(name) for name in family if name not in known]
    if strange:
        raise InputError(f"family: {listed(strange)} is neither an option nor a judge.")

    def sides(old: Named) -> Named:
        groups = [family.get(n, g) for n, g in zip(old.names, old.groups, strict=True)]
        return Named(old.names, tuple(texts_or_none(groups)), old.features, old.feature_names)

    return sides(choice), sides(panel)


def _own(choice: Named, panel: Named) -> NDArray[np.bool_]:
    """Return (k, e) whether an option is of a judge's family; of no judge's who has no others."""
    mine = np.array([g if g is not None else "" for g in choice.groups])
    theirs = np.array([g if g is not None else "" for g in panel.groups])
    own: NDArray[np.bool_] = (mine[:, None] == theirs) & (mine[:, None] != "")
    return own & ~own.all(axis=0)


def _told_apart(own: NDArray[np.bool_]) -> bool:
    """Whether verdicts tell the favour of every judge for the own family.

    Judge j shows v + β_j f_j, up to a constant. So the β are told unless β_0 f_0 − β_j f_j is
    constant over the options for every j, for some β other than 0.
    """
    n = int(np.count_nonzero(own.any(axis=0)))
    if n < own.shape[1]:
        return True  # a judge who favours nobody shows the values
    f = own.astype(np.float64) - own.mean(axis=0)
    system = np.zeros((n - 1, len(f), n))
    system[:, :, 0] = f[:, 0]
    system[np.arange(n - 1), :, np.arange(1, n)] = -f[:, 1:].T
    return n > 1 and int(np.linalg.matrix_rank(system.reshape(-1, n))) == n


def _columns(
    panel: Named, own: NDArray[np.bool_], position: bool, bias: Bias
) -> tuple[tuple[Column, ...], Indices]:
    """Return the columns, and (e,) which of them is a judge's favour for the own family."""
    (partial,) = np.nonzero(own.any(axis=0))
    of_judge = np.zeros(own.shape[1], dtype=np.intp)
    if bias == "common" or len(partial) < 2:
        biases = [Column("own family", "bias")] if len(partial) else []
    else:
        of_judge[partial] = np.arange(len(partial))
        names = [panel.names[j] for j in partial.tolist()]
        biases = [Column(f"own family of {name}", "bias", evaluator=name) for name in names]
    if not position:
        return tuple(biases), of_judge
    alone = len(panel.names) == 1
    first = [Column("first" if alone else f"first by {n}", "position", n) for n in panel.names]
    return (*biases, *first), of_judge


def _rows(
    a: Indices,
    b: Indices,
    judge: Indices,
    own: NDArray[np.bool_],
    of_judge: Indices,
    p: int,
    position: bool,
) -> sparse.csr_array:
    q, (k, e) = len(a), own.shape
    row = np.arange(q)
    favour = own[a, judge].astype(np.float64) - own[b, judge]
    (some,) = np.nonzero(favour)
    at, columns = [row, row, some], [a, b, k + of_judge[judge[some]]]
    entries = [np.ones(q), -np.ones(q), favour[some]]
    if position:
        at.append(row)
        columns.append(k + p - e + judge)
        entries.append(np.ones(q))
    parts = (np.concatenate(entries), (np.concatenate(at), np.concatenate(columns)))
    rows = sparse.csr_array(parts, shape=(q, k + p))
    rows.sort_indices()
    return rows
