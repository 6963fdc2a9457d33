"""What a search takes to be likely when it plans: pooled least squares, and noise of one's own.

All that is made of it are guesses. They shape what is asked and how much is bet on it, and nothing
that is certain rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.numerics.least_squares import Gram, PanelForm, gram
from evenhand.numerics.tolerance import ROUNDING, first_largest
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions, panel_form
from evenhand.search.evidence import BAR
from evenhand.search.leads import directions

_PRIOR = 3.0  # scores that the common noise counts for beside an option's, or an evaluator's, own
_QUIET = 1e-7  # of the size of scores: no noise is taken to be less


@dataclass(frozen=True, eq=False)
class Guess:
    """Least squares on all scores that are known."""

    questions: Questions
    told: Feedback
    stated: float | None = None  # standard deviation of a score, where it is known
    bar: float = 0.0

    @cached_property
    def _panel(self) -> PanelForm | None:
        if not self.questions.has_arrow_form:
            return None
        return panel_form(self.questions, self._used, self.told.counts[self._used])

    @cached_property
    def _used(self) -> Indices:
        return np.flatnonzero(self.told.counts)

    @cached_property
    def _gram(self) -> Gram:
        rows = self.questions.weighted_points[self._used]
        V = gram(rows, self.told.counts[self._used].astype(np.float64))
        return Gram.of_matrix(V, np.diag(V))

    @cached_property
    def parameter(self) -> Floats:
        """(d + p,) the parameter, of least norm where it is not known."""
        questions, used, sums = self.questions, self._used, self.told.sums[self._used]
        if self._panel is not None:
            loud = 1.0 if questions.noise is None else questions.noise[used]
            return np.concatenate(self._panel.solve(sums / loud))
        root = self._gram.root
        return np.asarray(root @ (root.T @ (questions.weighted_points[used].T @ sums)))

    @property
    def rank(self) -> int:
        """How many numbers the scores tell."""
        return self._panel.rank if self._panel is not None else self._gram.root.shape[1]

    @cached_property
    def values(self) -> Floats:
        """(k + 1,) the values of options, and the bar."""
        d, options = self.questions.n_features, self.questions.options
        own = self.parameter[: len(options)]
        if not options.stand_alone:
            own = options.features @ self.parameter[:d]
        if self.questions.n_attributes:
            own = own + self.questions.neutral @ self.parameter[d:]
        return np.append(own, self.bar)

    def leads(self, pairs: Indices) -> Floats:
        """Return (n,) the leads of pairs of options."""
        return np.asarray(self.values[pairs[:, 0]] - self.values[pairs[:, 1]])

    def deviations(self, pairs: Indices) -> Floats:
        """Return (n,) standard deviations of leads; infinite where nothing is known of one."""
        own = np.append(self.own, 0.0)
        loud = np.sqrt(own[pairs[:, 0]] ** 2 + own[pairs[:, 1]] ** 2)
        shared = np.where((pairs == BAR).any(axis=1), 1.0, math.sqrt(0.5))
        return np.asarray(np.sqrt(self._variances(pairs)) * loud * shared)

    def _variances(self, pairs: Indices) -> Floats:
        """Return (n,) the variances of leads per unit of noise variance."""
        if self._panel is None:
            return self._gram.variances(directions(self.questions, pairs))
        found = np.empty(len(pairs))
        barred = (pairs == BAR).any(axis=1)
        some = pairs[barred].max(axis=1)
        found[barred] = self._panel.value_variances(some, self.questions.neutral)
        for i in np.unique(pairs[~barred, 0]).tolist():
            led = ~barred & (pairs[:, 0] == i)
            found[led] = self._panel.lead_variances(i, pairs[led, 1])
        return found

    @cached_property
    def _left(self) -> Floats:
        """(u,) sums of squares about the fit, of the questions that were asked."""
        counts, sums, squares = (part[self._used] for part in self.told.parts)
        fitted = self.fitted
        return np.maximum(squares - 2.0 * fitted * sums + counts * fitted**2, 0.0)

    @cached_property
    def fitted(self) -> Floats:
        """(u,) what the fit expects of questions that were asked."""
        questions, used = self.questions, self._used
        found = np.asarray(questions.matrix[used] @ self.parameter)
        return found if questions.noise is None else found / questions.noise[used]

    @property
    def freedom(self) -> float:
        """How many scores there are beyond what they tell, at least 1; ∞ where noise is stated."""
        known = self.stated is not None
        return math.inf if known else max(float(self.told.counts.sum()) - self.rank, 1.0)

    @cached_property
    def heard(self) -> bool:
        """Whether there is anything to tell the noise by."""
        return self.stated is not None or float(self.told.counts.sum()) > self.rank

    @cached_property
    def common(self) -> float:
        """Standard deviation of a score."""
        if self.stated is not None:
            return self.stated
        n = max(float(self.told.counts.sum()), 1.0)
        size = float(self.told.sums_of_squares.sum()) / n
        if not self.heard:
            spread = size - (float(self.told.sums.sum()) / n) ** 2
            return math.sqrt(max(spread, _QUIET**2 * size, 1e-200))
        return math.sqrt(max(float(self._left.sum()) / self.freedom, _QUIET**2 * size, 1e-200))

    @cached_property
    def _scale(self) -> float:
        return float(self.told.counts.sum()) / self.freedom  # where noise is not stated

    @cached_property
    def own(self) -> Floats:
        """(k,) standard deviations of the scores of options."""
        k, common = len(self.questions.options), self.common
        if self.stated is not None or not self.questions.options.stand_alone:
            return np.full(k, common)
        squares, often = np.zeros(k), np.zeros(k)
        for item in self.questions.about[self._used].T:
            mine = (item >= 0) & (item < k)
            squares += np.bincount(item[mine], self._left[mine], k)
            often += np.bincount(item[mine], self.told.counts[self._used][mine], k)
        return np.sqrt((_PRIOR * common**2 + self._scale * squares) / (_PRIOR + often))

    @cached_property
    def noise(self) -> Floats:
        """(q,) standard deviations of the scores of questions."""
        questions, used = self.questions, self._used
        first, second = np.where(questions.about < len(self.own), questions.about, -1).T
        own = np.append(self.own, 0.0)
        of = np.sqrt(own[first] ** 2 + own[second] ** 2)
        of = np.where((first >= 0) & (second >= 0), of * math.sqrt(0.5), of)
        of = np.where(of > 0.0, of, self.common)
        if self.stated is not None or not len(questions.evaluators):
            return of
        who = questions.evaluator[used]
        n = len(questions.evaluators) + 1
        squares = np.bincount(who % n, self._left / of[used] ** 2, n) * self._scale
        often = np.bincount(who % n, self.told.counts[used], n)
        loud = np.sqrt((_PRIOR + squares) / (_PRIOR + often))
        loud[-1] = 1.0
        return np.asarray(of * loud[questions.evaluator])


def first_guess(questions: Questions, told: Feedback, grain: float = 0.0) -> int:
    """Return an option while not all can be compared: by its own scores, drawn to the mean."""
    counts, sums, _ = told.parts
    beyond = sums - counts * (sums.sum() / max(int(counts.sum()), 1))
    first, second = questions.about.T
    k = len(questions.options)
    n = k + 1  # the last: none
    total = np.bincount(first % n, beyond, n) - np.bincount(second % n, beyond, n)
    often = np.bincount(first % n, counts, n) + np.bincount(second % n, counts, n)
    size = max(float(np.abs(told.means).max(initial=0.0)), grain / ROUNDING)
    return first_largest((total / (often + 1.0))[:k], size)
