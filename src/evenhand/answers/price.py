"""What not knowing the biases cost: how many evaluations went into telling them from value.

Notation
--------
V           Σ n a aᵀ over the questions that were asked, a = (x; z): features and attributes
c           x_b − x_j, for the chosen option b and another one j

The lead c·γ has the variance (c; 0)ᵀV⁺(c; 0), and cᵀV_xx⁺c if the biases ω had been known. Both
fall as one over the number of evaluations, so their ratio is the share of evaluations that would
have told the two apart as well.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.arrays import Counts
from evenhand.numerics.least_squares import Svd
from evenhand.questions import Questions


def share_for_biases(questions: Questions, counts: Counts, chosen: int, other: int) -> float:
    """Return the share of evaluations spent on biases; NaN if the lead is not identified."""
    (seen,) = np.nonzero(counts)
    if questions.has_arrow_form:
        unknown, known = _of_panel(questions, counts, seen, chosen, other)
    else:
        rows = questions.weighted_points[seen] * np.sqrt(counts[seen])[:, None]
        features = questions.options.features
        lead = features[chosen] - features[other]
        of_both = np.append(lead, np.zeros(questions.n_attributes))
        known = float(Svd.of(rows[:, : questions.n_features]).variances(lead[None])[0])
        unknown = float(Svd.of(rows).variances(of_both[None])[0])
    if not 0.0 < unknown < math.inf:
        return math.nan
    return min(max(1.0 - known / unknown, 0.0), 1.0)


def _of_panel(
    questions: Questions, counts: Counts, seen: Counts, chosen: int, other: int
) -> tuple[float, float]:
    form = questions.panel_form(seen, counts[seen])
    unknown = float(form.lead_variances(chosen, np.array([other]))[0])
    items, i = questions.about[seen, 0], len(questions.items)
    n = np.bincount(items, form.weights, i)[[chosen, other]]
    return unknown, float((1.0 / n).sum()) if n.all() else math.inf
