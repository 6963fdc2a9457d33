"""Least squares on all evaluations, for what a policy does not say itself.

It never refuses: what the scores do not show is NaN. Panels keep their arrow form, so that nothing
has the size of questions × options; other questions are few enough for dense rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.estimation import least_squares_estimator
from evenhand.policies.arrow import ArrowModel, has_arrow_form
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_SEEN = 1e-8  # share of a direction that scores may miss for it to count as seen


class Known(NamedTuple):
    """Estimates, (n,), and their variances, (n,); NaN where the scores do not show them."""

    estimates: Floats
    variances: Floats


class LeastSquares:
    """Values and biases by least squares, each evaluation with the same weight.

    Parameters
    ----------
    questions
        What can be asked.
    checks
        Counts, means and scatter of what was told.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "a", "Bo": "b"}, {"P": "a", "Q": "b"})
    >>> checks = Checks(panel)
    >>> y = panel.points @ [5.0, 4.0, 0.5, 0.25]         # values, a favour, Q is lenient
    >>> checks.take(np.ones(4, dtype=np.int64), y, y**2)
    >>> LeastSquares(panel, checks).attributes(np.eye(2)).estimates.round(6)
    array([0.5 , 0.25])
    """

    def __init__(self, questions: Questions, checks: Checks) -> None:
        self._questions, self._fit = questions, None
        n, means, scatters = checks.counts, checks.means, checks.scatters
        if has_arrow_form(questions):
            told = Feedback(n, n * means, scatters + n * means**2)
            self._fit = ArrowModel(questions).fit(told, None)
            return
        (seen,) = np.nonzero(n)
        self._rows = questions.weighted_points[seen]
        self._counts, self._means = n[seen], means[seen]
        E = least_squares_estimator(self._rows, self._counts, self._rows)
        left = self._means - E @ self._means
        freedom = float(n.sum()) - round(float(np.trace(E)))
        scatter = float(scatters.sum() + self._counts @ left**2)
        self._noise = math.sqrt(scatter / freedom) if freedom > 0.0 else math.nan

    def values(self) -> Known:
        """Return (k,) the values of the options."""
        if self._fit is not None:
            return self._known(*self._fit.values())
        options = self._questions.options
        away = np.tile(self._questions.neutral, (len(options), 1))
        return self._of(np.hstack([options.features, away]))

    def attributes(self, rows: Floats) -> Known:
        """Return combinations, (n, p), of what attributes add to evaluations."""
        if self._fit is not None:
            return self._known(*self._fit.attributes(rows))
        none = np.zeros((len(rows), self._questions.n_features))
        return self._of(np.hstack([none, rows]))

    def _known(self, estimates: Floats, variances: Floats) -> Known:
        assert self._fit is not None
        seen = np.isfinite(variances)
        unit = self._fit.unit if self._fit.freedom > 0.0 else math.nan
        return Known(np.where(seen, estimates, np.nan), np.where(seen, variances, np.nan) * unit**2)

    def _of(self, targets: Floats) -> Known:
        E = least_squares_estimator(self._rows, self._counts, targets)
        off = np.abs(E @ self._rows - targets).max(axis=1, initial=0.0)
        seen = off <= _SEEN * np.abs(targets).max(initial=0.0)
        variances = self._noise**2 * (E**2 / np.maximum(self._counts, 1)).sum(axis=1)
        return Known(np.where(seen, E @ self._means, np.nan), np.where(seen, variances, np.nan))
