"""Least squares on all evaluations, for what a policy does not say itself.

Notation
--------
A, n        (s, m)  rows of the questions that were asked, (s,) how often
√n·A = U Σ Wᵀ       of rank r, with columns scaled to a largest entry of 1; θ̂ = W Σ⁻¹ Uᵀ √n·ȳ

t·θ is shown by the scores if t = W Wᵀt; its variance is then σ² |Σ⁻¹Wᵀt|². What is not shown is
NaN: nothing is refused. Panels keep their arrow form, so that nothing has the size of questions ×
options.
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


class LeastSquares(Protocol):
    """Values and biases by least squares."""

    def values(self) -> Known:
        """Return (k,) the values of the options."""

    def attributes(self, rows: Floats) -> Known:
        """Return combinations, (n, p), of what attributes add to evaluations."""


def least_squares(questions: Questions, checks: Checks) -> LeastSquares:
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
