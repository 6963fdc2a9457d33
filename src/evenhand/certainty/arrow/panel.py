"""A panel as its plans see it: rows that are each about one item, their prices, who is asked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.least_squares import Arrow
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.questions import Questions

GOLDEN = 0.5 * (5.0**0.5 - 1.0)
"""Multiples of it, less their whole parts, are spread evenly however many there are."""
CHUNK = 2048
"""Rows made dense at once."""


class ArrowPanel(NamedTuple):
    """Rows of questions that are each about one item."""

    item: Indices  # (q,)
    Z: sparse.csr_array  # (q, p) attributes
    price: Floats  # (q,) of an answer
    cost: Floats  # (q,) of a unit of weight
    evaluator: Indices  # (q,) who is asked
    n_evaluators: int
    partial: NDArray[np.bool_]  # (q,) whether a bias is in the answer
    n_options: int  # the options are the first of the items
    n_items: int

    @classmethod
    def of(cls, questions: Questions, Z: sparse.csr_array) -> ArrowPanel:
        """Return the panel of questions with these attributes."""
        prices, noise = questions.prices, questions.noise
        e = len(questions.evaluators)
        who = np.where(questions.evaluator < 0, e, questions.evaluator)
        return cls(
            questions.about[:, 0],
            Z,
            prices,
            prices if noise is None else prices * noise**2,
            who,
            e + int((questions.evaluator < 0).any()),
            abs(Z) @ np.array([column.kind == "bias" for column in questions.columns]) > 0.0,
            len(questions.options),
            len(questions.items),
        )


def form_of(panel: ArrowPanel, questions: Indices, times: Counts | None = None) -> Arrow:
    """Return the form of questions, each asked so many times, or as often as it is there."""
    weights = panel.price[questions] / panel.cost[questions] * (1.0 if times is None else times)
    return Arrow.of_rows(panel.item[questions], panel.Z[questions], weights, panel.n_items)


def gains_of(form: Arrow, panel: ArrowPanel, questions: Indices, direction: Floats) -> Floats:
    """Return by how much one more of each question lessens uᵀS⁺u, for its price."""
    # One more of weight 1 adds κ y yᵀ to S, y = z − c̄_o, κ = n_o/(n_o + 1).
    item = panel.item[questions]
    spare = form.sizes[item] / (form.sizes[item] + 1.0)
    y = panel.Z[questions] @ form.root - (form.centres @ form.root)[item]
    gain = spare * (y @ (direction @ form.root)) ** 2
    gain /= 1.0 + spare * np.einsum("ij,ij->i", y, y)
    if form.lost.shape[1]:  # what is not known otherwise tells nothing else
        beside = panel.Z[questions] @ form.lost - (form.centres @ form.lost)[item]
        gain[np.abs(beside).max(axis=1) > IN_SPAN] = 0.0
    return np.asarray(gain / panel.price[questions])


def turns(panel: ArrowPanel) -> Counts:
    """Return (q,) whose turn it is: a rank of every evaluator for every item."""
    # Items are taken in random order, and the first choices go round. So do the second ones, at a
    # distance that differs from round to round, so that evaluators are well connected.
    e = panel.n_evaluators
    place = np.random.default_rng(0).permutation(panel.n_items)[panel.item]
    ahead = (panel.evaluator - place) % e
    shift = np.floor((GOLDEN * (place // e)) % 1.0 * max(e - 1, 1)).astype(np.int64)
    return np.where(ahead == 0, 0, 1 + (ahead - 1 - shift) % max(e - 1, 1))
