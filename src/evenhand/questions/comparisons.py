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

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.errors import InputError
from evenhand.questions.identifiable import identified_by
from evenhand.questions.inputs import (
    Column,
    Named,
    biases_of,
    named,
    named_options,
    of_kind,
    parts_of,
    per_evaluator,
    same_group,
    sparse_rows,
)

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

Bias = Literal["judge", "common"]


def comparisons(  # noqa: D417 - a method of `Questions`
    cls: type[Questions],
    /,
    options: Any,
    judges: Any,
    *,
    position: bool = True,
    bias: Bias | None = None,
    capacity: Any = None,
    prices: Any = None,
    workload: Any = None,
    trusted: Any = None,
) -> Questions:
    """Return the questions 'a against b', in either order, to every judge.

    Verdicts may be −1, 0, 1, or 0, ½, 1, or graded, as long as more is better for the first
    named and the judge keeps to one way: with ``position`` a constant in all verdicts of a
    judge counts as favour for the first named and touches no value. Without it verdicts must
    turn their sign with the order.

    Parameters
    ----------
    options, judges
        Names, a mapping from names to families, or a data frame, as for `panel`.
    position
        Whether judges may favour what is named first: each by its own amount.
    bias
        The favour for the own family: "judge", each has its own; "common", all the same. None:
        each its own where verdicts can tell it (`check` says when), else common.
    capacity, prices, workload
        How often a judge may be asked the same, what that costs, and how much in all: one
        number, or one per judge. Without capacity: as often as one likes.

    Examples
    --------
    >>> import evenhand as eh
    >>> questions = eh.Questions.comparisons({"Ann": "x", "Bo": "y", "Cy": None}, {"J": "x"})
    >>> questions
    Questions(6 questions about 3 options by 1 evaluator, 2 attributes: own family, first)
    >>> questions.label(0), questions.points[0].tolist()
    ('Ann against Bo by J', [1.0, -1.0, 0.0, 1.0, 1.0])
    """
    if bias not in ("judge", "common", None):
        raise InputError(f"bias must be 'judge', 'common' or None; got {bias!r}.")
    choice, panel = named_options(options), named(judges, "judges")
    k, e = len(choice.names), len(panel.names)
    own = _own(choice, panel)
    first, second = (side.reshape(-1) for side in np.nonzero(~np.eye(k, dtype=np.bool_)))
    a, b = np.repeat(first, e), np.repeat(second, e)
    judge = np.tile(np.arange(e), len(first))

    def each(given: Any, what: str) -> Floats | None:
        """Numbers by judge, of all pairs alike."""
        by_judge = per_evaluator(given, panel.names, what, 1.0)
        return None if by_judge is None else by_judge[judge]

    def made(bias: Bias) -> Questions:
        columns, of_judge = _columns(panel, own, position, bias)
        return cls._made(
            **parts_of(choice, panel, workload, trusted),
            rows=_rows(a, b, judge, own, of_judge, len(columns), position),
            about=np.column_stack([a, b]),
            columns=columns,
            evaluator=judge,
            prices=each(prices, "prices"),
            capacity=each(capacity, "capacity"),
        )

    if bias is not None:
        return made(bias)
    theirs = made("judge")
    told = identified_by(theirs, np.arange(len(theirs))).of_attributes()
    return theirs if told[of_kind(theirs.columns, "bias")].all() else made("common")


def _own(choice: Named, panel: Named) -> NDArray[np.bool_]:
    """Return (k, e) whether an option is of a judge's family; of no judge's who has no others."""
    own = same_group(choice.groups, panel.groups)
    return own & ~own.all(axis=0)


def _columns(
    panel: Named, own: NDArray[np.bool_], position: bool, bias: Bias
) -> tuple[tuple[Column, ...], Indices]:
    """Return the columns, and (e,) which of them is a judge's favour for the own family."""
    alone = int(own.any(axis=0).sum()) < 2
    biases, of_judge = biases_of(own, panel.names, "own family", common=alone or bias == "common")
    if not position:
        return tuple(biases), of_judge
    one = len(panel.names) == 1
    first = [Column("first" if one else f"first by {n}", "position", n) for n in panel.names]
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
    named_first = (row, k + p - e + judge, 1.0)
    return sparse_rows(
        (q, k + p),
        (row, a, 1.0),
        (row, b, -1.0),
        (some, k + of_judge[judge[some]], favour[some]),
        *([named_first] if position else []),
    )
