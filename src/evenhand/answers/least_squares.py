"""What a policy does not say itself of all evaluations: raw means, least squares, what biases cost.

Notation
--------
A, n        (s, m)  rows of the questions that were asked, (s,) how often
√n·A = U Σ Wᵀ       of rank r, with columns scaled to a largest entry of 1; θ̂ = W Σ⁻¹ Uᵀ √n·ȳ

t·θ is shown by the scores if t = W Wᵀt; its variance is then σ² |Σ⁻¹Wᵀt|². What is not shown is
NaN: nothing is refused. Panels keep their arrow form, so that nothing has the size of questions ×
options.

Not knowing the biases ω costs evaluations. For V = Σ n a aᵀ over the rows a = (x; z), the lead
c·γ, c = x_b − x_j, has the variance (c; 0)ᵀV⁺(c; 0), and cᵀV_xx⁺c if ω had been known. Both fall as
one over the number of evaluations, so their ratio is the share of evaluations that would have told
the two apart as well.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats
from evenhand.checks import Checks
from evenhand.numerics.least_squares import Svd
from evenhand.questions import Questions


class Known(NamedTuple):
    """Estimates, (n,), and their variances, (n,); NaN where the scores do not show them."""

    estimates: Floats
    variances: Floats


class ScoresFit(Protocol):
    """Values and biases by least squares."""

    def values(self) -> Known:
        """Return (k,) the values of the options."""

    def attributes(self, rows: Floats) -> Known:
        """Return combinations, (n, p), of what attributes add to evaluations."""


def least_squares(questions: Questions, checks: Checks) -> ScoresFit:
    """Return the least-squares fit to the counts, means and scatter of all that was told."""
    told = checks.counts, checks.means, float(checks.scatters.sum()), checks.level.origin
    return _OfPanel(questions, *told) if questions.has_arrow_form else _OfRows(questions, *told)


class _OfRows:
    """Least squares on dense rows."""

    def __init__(
        self, questions: Questions, n: Counts, means: Floats, scatter: float, origin: float = 0.0
    ) -> None:
        self._questions, self._origin = questions, origin
        self._neutral = questions.neutral_among(n)
        (seen,) = np.nonzero(n)
        rows, root = questions.weighted_points[seen], np.sqrt(n[seen])
        self._rows, y = Svd.of(rows * root[:, None]), root * means[seen]
        self._along = self._rows.U.T @ y
        left = float(((y - self._rows.U @ self._along) ** 2).sum())
        self._variance = _variance(scatter + left, int(n.sum()) - self._rows.rank)

    def values(self) -> Known:
        options = self._questions.options
        away = np.tile(self._neutral, (len(options), 1))
        found = self._of(np.hstack([options.features, away]))
        return found._replace(estimates=found.estimates + self._origin)

    def attributes(self, rows: Floats) -> Known:
        none = np.zeros((len(rows), self._questions.n_features))
        return self._of(np.hstack([none, rows]))

    def _of(self, targets: Floats) -> Known:
        weights, _ = self._rows.weights(targets)
        return _known(weights @ self._along, self._rows.variances(targets), self._variance)


class _OfPanel:
    """Least squares in arrow form."""

    def __init__(
        self, questions: Questions, n: Counts, means: Floats, scatter: float, origin: float = 0.0
    ) -> None:
        self._neutral, self._origin = questions.neutral_among(n), origin
        self._options = np.arange(len(questions.options))
        (seen,) = np.nonzero(n)
        items = questions.about[seen, 0]
        Z = sparse.csr_array(questions.matrix[seen][:, questions.n_features :])
        self._form = questions.panel_form(seen, n[seen])
        weights = self._form.weights
        y = means[seen] * (1.0 if questions.noise is None else questions.noise[seen])
        self._items, self._omega = self._form.solve(weights * y)
        left = float(weights @ (y - self._items[items] - Z @ self._omega) ** 2)
        self._variance = _variance(scatter + left, int(n.sum()) - self._form.rank)

    def values(self) -> Known:
        variances = self._form.value_variances(self._options, self._neutral)
        values = self._items[self._options] + self._omega @ self._neutral + self._origin
        return _known(values, variances, self._variance)

    def attributes(self, rows: Floats) -> Known:
        return _known(rows @ self._omega, self._form.variances(rows), self._variance)


def _variance(scatter: float, freedom: int) -> float:
    """Return the variance of an evaluation by what is left over; NaN if nothing can be."""
    return scatter / freedom if freedom > 0 else math.nan


def _known(estimates: Floats, variances: Floats, unit: float) -> Known:
    """Return what is known, of estimates with variances per ``unit``, infinite where nothing is."""
    seen = np.isfinite(variances)
    return Known(np.where(seen, estimates, np.nan), np.where(seen, variances, np.nan) * unit)


class RawScores(NamedTuple):
    """(k,) mean scores of the options, NaN without any, and how many evaluations they are of."""

    means: Floats
    counts: Counts

    @property
    def best(self) -> int | None:
        """The option of the highest mean; None without scores."""
        return int(np.nanargmax(self.means)) if self.counts.any() else None


def raw_scores(questions: Questions, checks: Checks) -> RawScores:
    """Return the mean of all answers about each option, of a comparison with opposite signs."""
    k = len(questions.options)
    answers = checks.means if questions.noise is None else checks.means * questions.noise
    answers = answers + checks.level.origin
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for items, sign in zip(questions.about.T, (1.0, -1.0), strict=True):
        about = (items >= 0) & (items < k)
        n = checks.counts[about]
        counts += np.bincount(items[about], n, k).astype(np.int64)
        sums += np.bincount(items[about], sign * n * answers[about], k)
    with np.errstate(invalid="ignore"):
        return RawScores(sums / counts, counts)


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
