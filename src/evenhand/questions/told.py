"""What answers tell: which leads, which biases, and the questions that it takes.

Notation
--------
A = (F, Z)   rows of the questions, columns scaled; a lead is (x − y; 0), a bias e_j
n, D         what is left after items are taken out. Where every question is about one item that
             stands for itself, a row is (e_o; z), and with the first question f(o) to an item
             D = {z_r − z_f(o)}, in n = p columns. Otherwise D = A, in n = d + p columns
S, N         questions whose rows of D are a basis, and the null space of D, (n, n − |S|)
u_o          z_f(o), or (x; 0). The lead of o over o′ is told exactly if u_o − u_o′ lies in the span
             of D, which is: if u_o N = u_o′ N. A bias is told exactly if e_j N = 0

All that is told is a combination of basis rows, in one way only: what a lead needs are the
questions that have a part in it. Nothing here ever takes a solution of minimum norm for an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.identifying import EQUAL, classes, first_independent, parts
from evenhand.questions.questions import Questions


@dataclass(frozen=True, eq=False)
class Told:
    """What some questions tell.

    Parameters
    ----------
    questions
        The questions.
    firsts
        (items,) the first question to each item, −1 for none; empty where D = A.
    chosen
        (r,) the questions S.
    basis
        (r, n) their rows of D.
    unknown
        (n, n − r) the null space N.
    scales, rows
        (d + p,) the largest magnitude in each column, and the rows over them.
    """

    questions: Questions
    firsts: Indices
    chosen: Indices
    basis: Floats
    unknown: Floats
    scales: Floats
    rows: sparse.csr_array

    @property
    def rank(self) -> int:
        """Dimension of what is told."""
        return int((self.firsts >= 0).sum()) + len(self.chosen)

    def options(self) -> Floats:
        """(k, n) what has to be told of an option, u_o; 0 where no question is about it."""
        k = len(self.questions.options)
        if not len(self.firsts):
            X = self.questions.options.features / self.scales[: self._before]
            return np.hstack([X, np.zeros((k, self.questions.n_attributes))])
        firsts = self.firsts[:k]
        u = self.rows[np.maximum(firsts, 0), self.questions.n_features :].toarray()
        return np.asarray(np.where(firsts[:, None] >= 0, u, 0.0))

    def attributes(self) -> Floats:
        """(p, n) what has to be told of an attribute, e_j."""
        return np.eye(self.basis.shape[1])[self._before :]

    @property
    def _before(self) -> int:
        """Columns before the attributes."""
        return 0 if len(self.firsts) else self.questions.n_features

    def classes(self) -> Indices:
        """Return (k,) the number of the class of each option: those that can be compared."""
        k = len(self.questions.options)
        labels = np.zeros(k, dtype=np.intp)
        if len(self.firsts):
            apart = self.firsts[:k] < 0
            labels[apart] = 1 + np.arange(int(apart.sum()))
        return classes(self.options() @ self.unknown, labels)

    def told_attributes(self) -> NDArray[np.bool_]:
        """Return (p,) whether what each attribute does is told."""
        return np.asarray(
            np.abs(self.attributes() @ self.unknown).max(axis=1, initial=0.0) <= EQUAL
        )

    def start(self) -> Indices:
        """Return the questions that all leads which are told are made of."""
        labels = self.classes()
        first = np.unique(labels, return_index=True)[1]
        leads = np.column_stack([np.arange(len(labels)), first[labels]])
        return self.used(leads[leads[:, 0] != leads[:, 1]], np.empty(0, dtype=np.intp))

    def used(self, leads: Indices, attributes: Indices) -> Indices:
        """Return the questions that leads, (n, 2) pairs of options, and attributes are made of.

        With u_o − u_o′ = Σ_s c_s D_s the lead is f(o) − f(o′) − Σ_s c_s (a_s − f(o_s)), in rows.
        """
        u = self.options()
        wanted = np.vstack([u[leads[:, 0]] - u[leads[:, 1]], self.attributes()[attributes]])
        has = parts(self.basis, wanted)
        some = self.chosen[has.any(axis=1)]
        if not len(self.firsts):
            return np.sort(some)
        items = self.questions.about[self.chosen, 0]
        needed = set(leads.reshape(-1).tolist())
        for item in np.unique(items).tolist():
            share = has[items == item].sum(axis=0)
            share[len(leads) :] *= -1.0
            share[: len(leads)] += (leads[:, 0] == item).astype(float) - (leads[:, 1] == item)
            (needed.add if (np.abs(share) > EQUAL).any() else needed.discard)(item)
        return np.unique(np.concatenate([some, self.firsts[sorted(needed)]]).astype(np.intp))


def told_by(questions: Questions, order: Indices, free: Counts | None = None) -> Told:
    """Return what questions tell; of those that say the same the first in order are chosen.

    Parameters
    ----------
    questions
        The questions.
    order
        Indices of those that are asked, the cheapest first: then what is chosen is a basis at the
        least price.
    free
        (e,) how many questions may be chosen of each evaluator; any number if not given.
    """
    free = None if free is None else free.copy()
    sizes = abs(questions.matrix).max(axis=0).toarray().reshape(-1)
    scales = np.where(sizes > 0.0, sizes, 1.0)
    rows = sparse.csr_array(questions.matrix @ sparse.diags_array(1.0 / scales))
    if not questions.has_arrow_form:
        D, firsts = rows, np.empty(0, dtype=np.intp)

        def part(asked: Indices) -> sparse.csr_array:
            return sparse.csr_array(D[asked])
    else:
        D = sparse.csr_array(rows[:, questions.n_features :])
        firsts = _firsts(questions, order, free)
        items = questions.about[:, 0]
        order = order[firsts[items[order]] >= 0]  # the others' evaluators are too busy

        def part(asked: Indices) -> sparse.csr_array:
            return sparse.csr_array(D[asked] - D[firsts[items[asked]]])

    chosen, unknown = first_independent(part, order, D.shape[1], questions.evaluator, free)
    return Told(questions, firsts, chosen, part(chosen).toarray(), unknown, scales, rows)


def _firsts(questions: Questions, order: Indices, free: Counts | None) -> Indices:
    """Return (items,) the first question to each item whose evaluator is not too busy."""
    items = questions.about[order, 0]
    firsts = np.full(len(questions.items), -1, dtype=np.intp)
    if free is None:
        found, place = np.unique(items, return_index=True)
        firsts[found] = order[place]
        return firsts
    for question, item in zip(order.tolist(), items.tolist(), strict=True):
        who = questions.evaluator[question]
        if firsts[item] < 0 and (who < 0 or free[who] > 0):
            firsts[item] = question
            if who >= 0:
                free[who] -= 1
    return firsts
