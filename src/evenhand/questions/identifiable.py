"""Identifiability: which leads and biases answers identify, and the cheapest questions that do.

Notation
--------
A = (F, Z)   rows of the questions, columns scaled; a lead is (x − y; 0), a bias e_j
n, D         what is left after items are taken out. Where every question is about one item that
             stands for itself, a row is (e_o; z), and with the first question f(o) to an item
             D = {z_r − z_f(o)}, in n = p columns. Otherwise D = A, in n = d + p columns
S, N         questions whose rows of D are a basis, and the null space of D, (n, n − |S|)
u_o          z_f(o), or (x; 0). The lead of o over o′ is identified exactly if u_o − u_o′ lies in
             the span of D, which is: if u_o N = u_o′ N. A bias is identified exactly if e_j N = 0

All that is identified is a combination of basis rows, in one way only: what a lead needs are the
questions that have a part in it. Nothing here ever takes a solution of minimum norm for an answer.

`Accuracy`: how well evaluations would tell values and biases, before any of them is made.

Notation
--------
n       (q,)  evaluations of each question;  a_q its row over its relative noise;  V = Σ n a aᵀ
H       (k, m)  rows (x; 0): values are H θ, up to what all options share
n_o, c̄_o, S    of an item that stands for itself, see `numerics.least_squares`

The error of the values is own · ξ + shared · ζ, for independent standard normal ξ and ζ. In a panel
own = 1/√n_o and shared = −c̄ S^{−½}; that takes p × p numbers, however many options there are. For
other questions own = 0 and shared = H V^{−½}. A lead that V or S does not determine has an infinite
variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices, dense
from evenhand.errors import NotIdentifiableError
from evenhand.numerics.least_squares import Arrow, Gram, PanelForm
from evenhand.numerics.row_space import RowSpace, first_independent, parts
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.questions.inputs import of_kind

if TYPE_CHECKING:
    from evenhand.questions.questions import Askable, Questions


@dataclass(frozen=True, eq=False)
class IdentifiedSpace:
    """What some questions identify."""

    questions: Questions
    firsts: Indices  # (items,) first question to each item, −1 for none; empty where D = A
    chosen: Indices  # (r,) the questions S
    basis: Floats  # (r, n) their rows of D
    unknown: Floats  # (n, n − r) the null space N
    options: Floats  # (k, n) u_o, to be identified; 0 where no question is about it

    @property
    def rank(self) -> int:
        """Dimension of what is identified."""
        return int((self.firsts >= 0).sum()) + len(self.chosen)

    @property
    def attributes(self) -> Floats:
        """(p, n) what has to be identified of an attribute, e_j."""
        n = self.basis.shape[1]
        return np.eye(n)[n - self.questions.n_attributes :]

    def classes(self) -> Indices:
        """Return (k,) the number of the class of each option: those that can be compared."""
        k = len(self.options)
        labels = np.zeros(k, dtype=np.intp)
        if len(self.firsts):
            apart = self.firsts < 0
            labels[apart] = 1 + np.arange(int(apart.sum()))
        for column in (self.options @ self.unknown).T:
            order = np.lexsort((column, labels))
            new = (np.diff(labels[order]) != 0) | (np.diff(column[order]) > IN_SPAN)
            labels = np.empty_like(labels)
            labels[order] = np.concatenate([[0], np.cumsum(new)])
        # numbered by their first options
        _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first)).astype(np.intp)[labels.reshape(-1)]

    def of_attributes(self) -> NDArray[np.bool_]:
        """Return (p,) whether what each attribute does is identified."""
        return np.asarray(
            np.abs(self.attributes @ self.unknown).max(axis=1, initial=0.0) <= IN_SPAN
        )

    def used(self, leads: Indices, attributes: Indices) -> Indices:
        """Return the questions that leads, (n, 2) pairs of options, and attributes are made of."""
        # With u_o − u_o′ = Σ_s c_s D_s the lead is f(o) − f(o′) − Σ_s c_s (a_s − f(o_s)), in rows.
        u = self.options
        wanted = np.vstack([u[leads[:, 0]] - u[leads[:, 1]], self.attributes[attributes]])
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
            (needed.add if (np.abs(share) > IN_SPAN).any() else needed.discard)(item)
        return np.unique(np.concatenate([some, self.firsts[sorted(needed)]]).astype(np.intp))


def identified_by(questions: Questions, order: Indices) -> IdentifiedSpace:
    """Return what questions identify, by a basis that takes the first in order first."""
    # With the cheapest first it is a basis at the least price.
    sizes = abs(questions.matrix).max(axis=0).toarray().reshape(-1)
    scales = np.where(sizes > 0.0, sizes, 1.0)
    rows = sparse.csr_array(questions.matrix @ sparse.diags_array(1.0 / scales))
    d, k = questions.n_features, len(questions.options)
    if not questions.has_arrow_form:
        D, firsts = rows, np.empty(0, dtype=np.intp)
        X = questions.options.features / scales[:d]
        options = np.hstack([X, np.zeros((k, questions.n_attributes))])

        def part(asked: Indices) -> sparse.csr_array:
            return sparse.csr_array(D[asked])
    else:
        D = sparse.csr_array(rows[:, d:])
        items = questions.about[:, 0]
        firsts = np.full(k, -1, dtype=np.intp)
        found, place = np.unique(items[order], return_index=True)
        firsts[found] = order[place]
        own = D[np.maximum(firsts, 0)].toarray()
        options = np.where(firsts[:, None] >= 0, own, 0.0)

        def part(asked: Indices) -> sparse.csr_array:
            return sparse.csr_array(D[asked] - D[firsts[items[asked]]])

    chosen, unknown = first_independent(part, order, D.shape[1])
    return IdentifiedSpace(questions, firsts, chosen, part(chosen).toarray(), unknown, options)


def in_order(questions: Questions, tier: NDArray[np.int64] | None = None) -> Indices:
    """Return questions, the cheapest first; of equal ones the impartial, then by evaluator."""
    keys = (questions.about[:, 0], questions.evaluator, questions.partial, questions.prices)
    return np.lexsort(keys if tier is None else (*keys, tier))


def refuse_incomparable(questions: Questions, form: PanelForm | None = None) -> None:
    """Raise `NotIdentifiableError`, with what would help, unless all leads are identified."""
    # By the questions of a panel that a form is of; without one, by those that may be asked.
    if form is None:
        classes = identified_by(questions, np.flatnonzero(questions.may_ask)).classes()
        apart = classes != classes[0]
    else:
        apart = np.isinf(form.lead_variances(0, np.arange(len(questions.options))))
    if apart.any():
        one, other = (questions.options.labels[x] for x in (0, int(np.argmax(apart))))
        raise NotIdentifiableError(
            f"{one!r} and {other!r} cannot be compared by these questions, however often they are "
            f"asked. {' '.join(questions.check().sentences)}"
        )


def refuse_apart(actions: Askable, space: RowSpace) -> None:
    """Raise `NotIdentifiableError` unless the value of every two options can be compared."""
    # The difference of two points is a combination of points, so what matters is the difference of
    # their attributes: (0; z − z′) has to lie in the span of the points, ``space``.
    if not isinstance(actions, ActionSet):
        return refuse_incomparable(actions)
    cells, cell = np.unique(actions.attributes, axis=0, return_inverse=True)
    v = np.zeros(len(space.scales))
    for i in [] if space.full else range(1, len(cells)):
        v[actions.n_features :] = cells[i] - cells[0]
        if not space.contains(v):
            one, other = (actions.labels[int(np.argmax(cell.reshape(-1) == g))] for g in (0, i))
            raise NotIdentifiableError(
                f"{one!r} and {other!r} cannot be compared, however many evaluations are made: "
                "what their attributes do to evaluations looks the same as a difference in value "
                "along the features. Leave out a feature or an attribute that is a combination "
                "of others, or add an option with the features of one and the attributes of the "
                "other."
            )


@dataclass(frozen=True, eq=False)
class Accuracy:
    """What evaluations would identify, and how precisely, in units of the noise."""

    own: Floats  # (k,) error that a value shares with no other; infinite if never asked about
    form: Gram  # V, or S
    reach: Floats  # (k, m) what of the form is in the value of each option

    @cached_property
    def shared(self) -> Floats:
        """(k, r) errors of the values that come of the same r sources."""
        return np.asarray(self.reach @ self.form.root)

    @cached_property
    def comparable(self) -> bool:
        """Whether the value of any two options can be compared."""
        return bool(np.isfinite(self.lead_variances(0)).all())

    def lead_variances(self, leader: int) -> Floats:
        """Return (k,) the variance of the lead of one option over each; 0 over itself."""
        sizes = self.form.lengths(self.reach)
        apart = self.form.variances(self.reach - self.reach[leader], sizes + sizes[leader])
        found = self.own**2 + self.own[leader] ** 2 + apart
        found[leader] = 0.0
        return np.asarray(found)

    def mean_lead_variance(self) -> float:
        """Return the variance of a lead, averaged over all pairs; infinite where one is lost."""
        k = len(self.own)
        if k < 2 or not self.comparable:
            return 0.0 if k < 2 else float("inf")
        about = self.shared - self.shared.mean(axis=0)
        return float(2.0 * (self.own**2).mean() + 2.0 * (about**2).sum() / (k - 1))

    def errors(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, k) draws of the errors of the values, but for what all options share."""
        own = self.own * rng.standard_normal((n, len(self.own)))
        return np.asarray(own + rng.standard_normal((n, self.shared.shape[1])) @ self.shared.T)


def accuracy(questions: Questions, counts: Floats) -> Accuracy:
    """Return how well so many evaluations of each question, (q,), would tell values and biases."""
    (used,) = np.nonzero(counts)
    weights = counts[used].astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[used] ** 2
    rows = sparse.csr_array(questions.matrix[used])
    k, d, p = len(questions.options), questions.n_features, questions.n_attributes
    if questions.has_arrow_form:
        items, Z = questions.about[used, 0], sparse.csr_array(rows[:, d:])
        form = Arrow.of_rows(items, Z, weights, k)
        return Accuracy(np.sqrt(form.reciprocals), form, -dense(form.centres))
    V = (rows.T @ (sparse.diags_array(weights) @ rows)).toarray()
    reach = np.hstack([questions.options.features, np.zeros((k, p))])
    return Accuracy(np.zeros(k), Gram.of_matrix(V, np.diagonal(V)), reach)


def panel_form(questions: Questions, some: Indices, counts: Counts | Floats) -> PanelForm:
    """Return (n,) questions of a panel, taken apart for least squares with (n,) counts."""
    Z = sparse.csr_array(questions.attributes[some])
    weights = counts.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[some] ** 2
    lenient = of_kind(questions.columns, "leniency")
    return PanelForm.of(questions.about[some, 0], Z, weights, len(questions.options), lenient)
