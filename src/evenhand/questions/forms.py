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
    """Return the form of (n,) questions with (n,) counts, weighted over their squared noise."""
    Z = sparse.csr_array(questions.matrix[some][:, questions.n_features :])
    weights = counts.astype(np.float64)
    if questions.noise is not None:
        weights /= questions.noise[some] ** 2
    items = questions.about[some, 0]
    return PanelForm.of(items, Z, weights, len(questions.items), questions.lenient)
