"""The design of some questions of a panel, taken apart for least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.panels import PanelForm

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions


def form_of(questions: Questions, some: Indices, counts: Counts | Floats) -> PanelForm:
    """Return the form of questions of a panel, (n,), that are asked so often each, (n,).

    Weights are counts over the squared relative noise.

    Examples
    --------
    >>> from evenhand import Questions
    >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"])
    >>> form_of(panel, np.arange(4), np.array([1, 2, 1, 2])).lead_variances(0, np.array([1]))
    array([0.66666667])
    """
    Z = sparse.csr_array(questions.matrix[some][:, questions.n_features :])
    weights = counts.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[some] ** 2
    items = questions.about[some, 0]
    return PanelForm.of(items, Z, weights, len(questions.items), questions.lenient)
