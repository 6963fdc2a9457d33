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
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.checks import Checks
from evenhand.policies.arrow import ArrowModel, has_arrow_form
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_RANK = 1e-11  # singular values above this share of the largest count
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
        rows, root = questions.weighted_points[seen], np.sqrt(n[seen])
        self._scales = np.abs(rows).max(axis=0, initial=0.0)
        self._scales[self._scales == 0.0] = 1.0
        U, sizes, W = np.linalg.svd(rows / self._scales * root[:, None], full_matrices=False)
        span = sizes > _RANK * sizes.max(initial=0.0)
        U, self._span, self._sizes = U[:, span], W[span].T, sizes[span]
        y = root * means[seen]
        self._along = U.T @ y
        freedom = int(n.sum()) - len(self._sizes)
        scatter = float(scatters.sum() + ((y - U @ self._along) ** 2).sum())
        self._noise = math.sqrt(scatter / freedom) if freedom > 0 else math.nan

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
        T = targets / self._scales
        inside = T @ self._span
        off = np.abs(T - inside @ self._span.T).max(axis=1, initial=0.0)
        seen = off <= _SEEN * np.abs(T).max(initial=0.0)
        weights = inside / self._sizes
        variances = self._noise**2 * (weights**2).sum(axis=1)
        estimates = weights @ self._along
        return Known(np.where(seen, estimates, np.nan), np.where(seen, variances, np.nan))
