"""The start: few and cheap questions that tell all leads.

A basis that takes the cheapest questions first is the cheapest that tells everything; what the
leads do not need of it is dropped. But leads need less than everything, and what is cheapest for
them depends on whom one keeps to: so that is done again with the questions of one evaluator first,
and of each two, as far as the number of questions allows, and the cheapest is taken.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Indices
from evenhand.questions.entries import UNLIMITED
from evenhand.questions.questions import Questions
from evenhand.questions.told import told_by

_WORK = 200_000  # questions looked at in all attempts


def in_order(questions: Questions, tier: NDArray[np.int64] | None = None) -> Indices:
    """Return questions, the cheapest first; of equal ones the impartial, then by evaluator."""
    biased = [j for j, column in enumerate(questions.columns) if column.kind == "bias"]
    Z = questions.matrix[:, questions.n_features :]
    favour = abs(Z[:, biased]).sum(axis=1) if biased else np.zeros(len(questions))
    keys = (questions.about[:, 0], questions.evaluator, np.asarray(favour), questions.prices)
    return np.lexsort(keys if tier is None else (*keys, tier))


def cheap_start(questions: Questions, classes: Indices) -> Indices | None:
    """Return questions that tell all leads within classes; None if workloads leave no room.

    Parameters
    ----------
    questions
        The questions.
    classes
        (k,) the class of each option.
    """
    free = questions.workload if (questions.workload < UNLIMITED).any() else None
    best: tuple[float, int, Indices] | None = None
    least = _least(questions, classes)
    for preferred in _preferences(questions):
        if best is not None and best[0] <= least:
            break
        order = in_order(questions, 1 - np.isin(questions.evaluator, preferred).astype(np.int64))
        told = told_by(questions, order[questions.may_ask[order]], free)
        if free is not None and not np.array_equal(told.classes(), classes):
            continue
        start = told.start()
        found = float(questions.prices[start].sum()), len(start), start
        if best is None or found[:2] < best[:2]:
            best = found
    return None if best is None else best[2]


def _least(questions: Questions, classes: Indices) -> float:
    """Return a price that no start goes below: an answer about every option that has a lead."""
    if not questions.has_arrow_form:
        return 0.0
    may_ask = questions.may_ask
    cheapest = np.full(len(questions.items), np.inf)
    np.minimum.at(cheapest, questions.about[may_ask, 0], questions.prices[may_ask])
    has_lead = (np.bincount(classes) > 1)[classes]
    return float(cheapest[: len(classes)][has_lead].sum())


def _preferences(questions: Questions) -> list[tuple[int, ...]]:
    """Return whose questions to take first: nobody's, each evaluator's, those of each two."""
    who = questions.evaluator
    n = len(questions.evaluators)
    known = questions.may_ask & (who >= 0)
    asked: Counts = np.bincount(who[known], minlength=n)
    price = np.bincount(who[known], questions.prices[known], minlength=n) / np.maximum(asked, 1)
    order = np.lexsort((-asked, price))[: int((asked > 0).sum())].tolist() if n else []
    order = [j for j in order if asked[j]]
    several: list[tuple[int, ...]] = [(), *((j,) for j in order), *combinations(order, 2)]
    return several[: max(1, _WORK // max(len(questions), 1))]
