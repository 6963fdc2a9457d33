"""What the scores say as they stand: means by option, bias and all, and least squares on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.checks import Checks
from evenhand.estimation import least_squares_estimator
from evenhand.questions import Questions

_SEEN = 1e-8  # share of a direction that scores may miss for it to count as seen


class RawScores(NamedTuple):
    """(k,) mean scores of the options, NaN without any, and how many evaluations they are of."""

    means: Floats
    counts: Counts

    @property
    def best(self) -> int | None:
        """The option of the highest mean; None without scores."""
        return int(np.nanargmax(self.means)) if self.counts.any() else None


def raw_scores(questions: Questions, checks: Checks) -> RawScores:
    """Return the mean of all answers about each option, whoever gave them.

    A comparison counts for the first option as it is, and for the second with the sign turned.

    Examples
    --------
    >>> pair = Questions(options=np.eye(2), features=[[1.0, -1.0], [-1.0, 1.0]],
    ...                  attributes=[[1.0], [1.0]])
    >>> checks = Checks(pair)
    >>> checks.take(np.array([3, 1]), np.array([3.0, 1.0]), np.array([3.0, 1.0]))
    >>> raw_scores(pair, checks)
    RawScores(means=array([ 0.5, -0.5]), counts=array([4, 4]))
    """
    k = len(questions.options)
    answers = checks.means if questions.noise is None else checks.means * questions.noise
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for items, sign in zip(questions.about.T, (1.0, -1.0), strict=True):
        about = (items >= 0) & (items < k)
        n = checks.counts[about]
        counts += np.bincount(items[about], n, k).astype(np.int64)
        sums += np.bincount(items[about], sign * n * answers[about], k)
    with np.errstate(invalid="ignore"):
        return RawScores(sums / counts, counts)


class LeastSquares:
    """Least squares on all evaluations, for what a policy does not say itself.

    Parameters
    ----------
    questions
        What can be asked.
    checks
        Counts, means and scatter of what was told.

    Attributes
    ----------
    noise
        Standard deviation of an evaluation, by what the model leaves over; NaN if nothing is.

    Examples
    --------
    >>> panel = Questions.panel({"Ann": "a", "Bo": "b"}, {"P": "a", "Q": "b"})
    >>> checks = Checks(panel)
    >>> y = panel.points @ [5.0, 4.0, 0.5, 0.25]         # values, a favour, Q is lenient
    >>> checks.take(np.ones(4, dtype=np.int64), y, y**2)
    >>> LeastSquares(panel, checks).attributes(np.eye(2))[0].round(6)
    array([0.5 , 0.25])
    """

    def __init__(self, questions: Questions, checks: Checks) -> None:
        self._questions = questions
        (self._seen,) = np.nonzero(checks.counts)
        self._rows = questions.weighted_points[self._seen]
        self._counts, self._means = checks.counts[self._seen], checks.means[self._seen]
        E = self._estimator(self._rows)
        left = self._means - E @ self._means
        freedom = float(self._counts.sum()) - float(np.trace(E))
        scatter = float(checks.scatters.sum() + self._counts @ left**2)
        self.noise = float(np.sqrt(scatter / freedom)) if freedom > 0.5 else np.nan

    def _estimator(self, targets: Floats) -> Floats:
        return least_squares_estimator(self._rows, self._counts, targets)

    def values(self) -> Floats:
        """Return (k,) the values of the options; NaN where the scores do not show one."""
        options = self._questions.options
        away = np.tile(self._questions.neutral, (len(options), 1))
        return self._estimates(np.hstack([options.features, away]))[0]

    def attributes(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return combinations, (n, p), of what attributes add, and variances; NaN likewise."""
        none = np.zeros((len(rows), self._questions.n_features))
        return self._estimates(np.hstack([none, rows]))

    def _estimates(self, targets: Floats) -> tuple[Floats, Floats]:
        E = self._estimator(targets)
        off = np.abs(E @ self._rows - targets).max(axis=1, initial=0.0)
        seen = off <= _SEEN * np.abs(targets).max(initial=0.0)
        variances = self.noise**2 * (E**2 / np.maximum(self._counts, 1)).sum(axis=1)
        return np.where(seen, E @ self._means, np.nan), np.where(seen, variances, np.nan)
