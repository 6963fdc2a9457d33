"""A panel as its plans see it: rows that are each about one item, their prices, who is asked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.numerics.arrow import Arrow
from evenhand.questions import Questions

GOLDEN = 0.5 * (5.0**0.5 - 1.0)
"""Multiples of it, less their whole parts, are spread evenly however many there are."""
CHUNK = 2048
"""Rows made dense at once."""
BESIDE = 1e-9
"""Relative length below which a row adds no rank."""
SMALL = 0.15
"""What attributes may add to the variance of a lead, as a share of the rest."""


class Panel(NamedTuple):
    """Rows of questions that are each about one item.

    item, Z
        (q,) items and (q, p) attributes.
    price, cost
        (q,) prices of an answer, and of a unit of weight.
    evaluator, n_evaluators
        (q,) who is asked, and how many there are.
    partial
        (q,) whether a bias is in the answer.
    n_options, n_items
        The options are the first of the items.
    """

    item: Indices
    Z: sparse.csr_array
    price: Floats
    cost: Floats
    evaluator: Indices
    n_evaluators: int
    partial: NDArray[np.bool_]
    n_options: int
    n_items: int

    @classmethod
    def of(cls, questions: Questions, Z: sparse.csr_array) -> Panel:
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


def firsts_of(items: Indices) -> Indices:
    """Return where every item first occurs, given in its order."""
    return np.flatnonzero(np.diff(items, prepend=-1))


def places_of(items: Indices) -> tuple[Indices, Indices]:
    """Return which of its item's every entry is, from 0, and where that item begins."""
    begins = firsts_of(items)
    first = np.repeat(begins, np.diff(begins, append=len(items)))
    return np.arange(len(items)) - first, first


def form_of(panel: Panel, questions: Indices) -> Arrow:
    """Return the form of questions, each asked as often as it is there."""
    weights = panel.price[questions] / panel.cost[questions]
    return Arrow.of(panel.item[questions], panel.Z[questions], weights, panel.n_items)


def occurrences(items: Indices) -> Indices:
    """Return for every entry how often the same came before it."""
    order = np.argsort(items, kind="stable")
    nth = np.empty(len(items), dtype=np.intp)
    nth[order], _ = places_of(items[order])
    return nth


def some_of(questions: Indices) -> Indices:
    """Return `CHUNK` of the questions at most, in their order, as if at random."""
    if len(questions) <= CHUNK:
        return questions
    chosen = np.random.default_rng(0).choice(len(questions), CHUNK, replace=False)
    return questions[np.sort(chosen)]


def told_of(
    form: Arrow, panel: Panel, questions: Indices, direction: Floats, *, known: bool
) -> Floats:
    """Return by how much one more of each question lessens uᵀS⁺u; or whether it tells of u at all.

    One more of weight 1 adds κ y yᵀ to S, y = z − c̄_o, κ = n_o/(n_o + 1).
    """
    item = panel.item[questions]
    spare = form.sizes[item] / (form.sizes[item] + 1.0)
    basis = form.root if known else form.lost
    y = panel.Z[questions] @ basis - (form.centres @ basis)[item]
    along = (y @ (direction @ basis)) ** 2
    if not known:
        return np.asarray(np.where(along > BESIDE, along, 0.0))
    gain = spare * along / (1.0 + spare * np.einsum("ij,ij->i", y, y))
    if form.lost.shape[1]:  # what is not known otherwise tells nothing else
        beside = panel.Z[questions] @ form.lost - (form.centres @ form.lost)[item]
        gain[np.abs(beside).max(axis=1) > BESIDE] = 0.0
    return np.asarray(gain)
