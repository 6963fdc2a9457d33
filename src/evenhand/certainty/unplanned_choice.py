"""Unplanned choice: what scores say whose questions may have been chosen by earlier scores.

Notation
--------
a_t, y_t    the question of the t-th score and the score, in the order in which they were given
e_t, w_t    error of its prediction from all scores before it, and 1/(1 + leverage)
σ̄           bound of the noise by Σ w e² (`confidence.noise_bound`), where σ is not known
δ           1 − confidence; a tenth of it goes to σ̄, where that is needed

Whoever asks again where the leader looks weak, or stops when it looks strong, has leads that are
not normal about the true ones, and one look at them is wrong too often. What holds whatever decided
the next question is the ellipsoid of `confidence`: it pays for every direction and every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Counts, Floats
from evenhand.errors import InputError
from evenhand.numerics.solves import observed
from evenhand.policies.base import Policy
from evenhand.policies.confidence import Ellipsoid, Fit, noise_bound
from evenhand.policies.limits import is_number
from evenhand.policies.messages import Certainty, Decision, Estimate, Feedback
from evenhand.questions import Askable

_FLAT = 1e5  # square root of the prior variance, in evaluations: nothing is known
_FOR_NOISE = 0.1  # share of δ that goes to the noise
_GRID = 32  # values of η at which the room of `noise_bound` is kept


class UnplannedChoice(Policy):
    """Says how sure a choice is by scores that are there, whoever chose what was scored.

    It asks nothing. What it says holds where what was scored next depended on earlier scores, and
    where somebody stopped when they looked good; that costs certainty. Noise is taken to be
    Gaussian, and as loud for all questions but for their relative noise.

    Parameters
    ----------
    actions
        The questions, or options that are their own.
    asked, scores
        (n,) indices of the questions that were answered, and the scores, in the order in which
        they were given.
    confidence
        Probability of not being wrong.
    tolerance
        How much may be lost, in units of value.
    noise_scale
        Standard deviation σ of a score; None if it is not known.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    >>> policy = UnplannedChoice(panel, [0, 1] * 40, [6.0, 1.0] * 40, noise_scale=1.0)
    >>> policy.recommend().label, policy.recommend().loss, policy.spent
    ('Ann', 0.0, 80)
    """

    name = "unplanned-choice"
    plays_questions = True
    heeds_limits = True
    spends_all = False

    def __init__(
        self,
        actions: Askable,
        asked: Sequence[int],
        scores: Sequence[float],
        *,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
    ) -> None:
        if not is_number(confidence) or not 0.0 < confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        if not is_number(tolerance) or tolerance < 0.0:
            raise InputError(
                f"tolerance must be a number ≥ 0, in units of value; got {tolerance!r}."
            )
        self._which = np.asarray(asked, dtype=np.intp)
        self._scores = np.asarray(scores, dtype=np.float64)
        super().__init__(actions, max(1, len(self._which)), noise_scale=noise_scale)
        self.confidence, self.delta = float(confidence), 1.0 - float(confidence)
        self.tolerance = float(tolerance)
        q = len(self.questions)
        told = Feedback(
            np.bincount(self._which, minlength=q),
            np.bincount(self._which, self._scores, minlength=q),
            np.bincount(self._which, self._scores**2, minlength=q),
        )
        self._outstanding = told.counts.copy()
        self._answers.clear()
        if len(self._which):
            self.tell(told)

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Ask nothing: the scores are there."""
        return self._nothing

    def learn(self, feedback: Feedback) -> None:
        """Take note that the scores are in."""
        self._round += 1

    @cached_property
    def _ellipsoid(self) -> Ellipsoid:
        return Ellipsoid(self.actions, max(self.horizon, 1))

    @cached_property
    def _fit(self) -> Fit:
        q = len(self.questions)
        counts, sums = np.bincount(self._which, minlength=q), np.zeros(q)
        np.add.at(sums, self._which, self._quiet)
        return self._ellipsoid.fit(counts, sums)

    @cached_property
    def _quiet(self) -> Floats:
        """(n,) scores over the relative noise of their questions."""
        noise = self.questions.noise
        return self._scores if noise is None else self._scores / noise[self._which]

    @cached_property
    def noise(self) -> float:
        """σ, or a bound of it that holds whatever decided what was scored; infinite if none."""
        if self.noise_known:
            return self.noise_scale
        points, eta = self._ellipsoid.frame.points, 2.0 ** -np.arange(_GRID)
        root, theta = _FLAT * np.eye(points.shape[1]), np.zeros(points.shape[1])
        scatter, room = 0.0, np.zeros(_GRID)
        for x, y in zip(self._which.tolist(), self._quiet.tolist(), strict=True):
            a = points[x]
            f = root.T @ a
            grown = 1.0 + float(f @ f)
            error = y - float(a @ theta)
            scatter += error**2 / grown
            room += 0.5 * np.log1p(2.0 * eta / grown)
            theta = theta + root @ f * (error / grown)
            root = observed(root, a, 1)
        return noise_bound(scatter, room, _FOR_NOISE * self.delta, self.horizon)

    def recommend(self) -> Decision:
        """Return the option of largest estimated value, what it loses at most, and its leads."""
        failure = self.delta if self.noise_known else (1.0 - _FOR_NOISE) * self.delta
        found = self._fit.leads(failure, self.noise)
        loss = found.loss
        leads = np.column_stack(
            [found.leads, found.leads - found.widths, found.leads + found.widths]
        )
        grounds: Certainty = "own scores" if self.options.stand_alone else "features exact"
        decision = Decision(
            found.option,
            self.options.labels[found.option],
            loss=loss,
            level=self.confidence,
            leads=leads,
            withstands=self._withstands(found.option, leads[:, 1]),
            certainty=grounds if np.isfinite(loss) else None,
            warnings=self.findings(),
        )
        return decision

    def _withstands(self, option: int, least: Floats) -> float:
        """Return how much a whole panel may favour the option's group for it to remain best."""
        groups = self.options.groups
        if groups is None or self.actions is not self.questions:
            return 0.0
        others = np.array([group != groups[option] for group in groups])
        return max(0.0, float(least[others].min())) if others.any() else 0.0

    def bias(self) -> Estimate:
        """Return the (first) bias, with its interval."""
        failure = self.delta if self.noise_known else (1.0 - _FOR_NOISE) * self.delta
        return self._fit.bias(failure, self.noise if np.isfinite(self.noise) else None)

    def forecast(self) -> float:
        """Return 0: nothing is to come."""
        return 0.0

    @property
    def stopped_because(self) -> str | None:
        """What the scores come to, in plain words."""
        decision, level = self.recommend(), f"{100 * self.confidence:g}%"
        n, name = len(self._which), decision.label
        if not self._fit.identified:
            return f"the {n} scores do not compare all options with one another."
        more = f" by more than {self.tolerance:g}" if self.tolerance else ""
        if decision.loss <= self.tolerance:
            return (
                f"no option is better than {name!r}{more}, with {level} confidence whoever chose "
                "what was scored."
            )
        return (
            f"that {name!r} leads by these {n} scores may be chance or come of who chose what was "
            f"scored, at {level} confidence."
        )

    def memory(self) -> dict[str, Any]:
        """Return nothing: the policy is made of all that it knows."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned: nothing."""
