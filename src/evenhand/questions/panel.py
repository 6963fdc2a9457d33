"""Panels: several evaluators, each lenient or severe, each partial to some of the options.

Notation: y = v_o + s_e + β p_oe + noise for option o and evaluator e, where p_oe is 1 if the
evaluator is partial to the option. A row has a 1 for its item, then the columns of β, then a 1 for
its evaluator (but the first, whose leniency is the zero that others are measured from).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.questions.questions import Column

Bias = Literal["common", "evaluator", "group"]


def panel_rows(
    n_items: int,
    partial: Floats,
    columns: Sequence[tuple[Column, NDArray[np.bool_]]],
    leniency: bool,
) -> sparse.csr_array:
    """Return the rows of all pairs (item, evaluator), item by item.

    Parameters
    ----------
    n_items
        Items, each of which stands for itself.
    partial
        (items, e) how partial every evaluator is to every item; 0 for impartial.
    columns
        Of every bias, and the pairs (items, e) that it is about.
    leniency
        Whether evaluators may be lenient or severe.
    """
    e = partial.shape[1]
    q, b = n_items * e, len(columns)
    pairs = np.arange(q)
    blocks = [sparse.csr_array((np.ones(q), (pairs, pairs // e)), shape=(q, n_items))]
    if b:
        biases = [sparse.csr_array((partial * which).reshape(-1, 1)) for _, which in columns]
        blocks.append(sparse.hstack(biases, format="csr"))
    if leniency and e > 1:
        who = pairs % e
        later = who > 0
        ones = np.ones(int(later.sum()))
        blocks.append(sparse.csr_array((ones, (pairs[later], who[later] - 1)), shape=(q, e - 1)))
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))


def panel_columns(
    partial: Floats, evaluators: Sequence[str], groups: Sequence[str | None], bias: Bias
) -> list[tuple[Column, NDArray[np.bool_]]]:
    """Return the columns of the biases, each with the pairs (option, evaluator) it is about."""
    some = partial != 0.0
    if bias == "common":
        return [(Column("own group", "bias"), some)] if some.any() else []
    if bias == "evaluator":
        return [
            (
                Column(f"own group of {name}", "bias", evaluator=name),
                some & (np.arange(partial.shape[1]) == j),
            )
            for j, name in enumerate(evaluators)
            if some[:, j].any()
        ]
    found = []
    for group in dict.fromkeys(groups):
        which = some & np.array([g == group for g in groups])[:, None]
        if which.any():
            found.append((Column(f"own group {group}", "bias", group=group), which))
    return found
