"""How well evaluations would tell values and biases, before any of them is made.

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
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices, dense
from evenhand.numerics.least_squares import Arrow, Gram
from evenhand.numerics.panels import PanelForm
from evenhand.questions.options import of_kind

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions


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
        form = Arrow.of_rows(items, Z, weights, len(questions.items))
        return Accuracy(np.sqrt(form.reciprocals[:k]), form, -dense(form.centres[:k]))
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
    return PanelForm.of(questions.about[some, 0], Z, weights, len(questions.items), lenient)
