"""Until it is sure: what policies that look for the best option, and then stop, have in common.

Notation
--------
P       (k, r)  points a_x, in the coordinates of `confidence.Frame`
H       (k, r)  directions h_x of the values
n, s    (k,)    counts and sums of all evaluations;  V = Σ n_a a aᵀ,  θ̂ pooled least squares
x̂, d_x          option of largest estimated value, and its lead over x: (h_x̂ − h_x)·θ̂
w_x             half-width of that lead
t, δ, ε         evaluations in all, 1 − confidence, tolerance

All of them stop as soon as w_x − d_x ≤ ε for every x. They differ in what they evaluate before, and
in where the widths come from:

- "proved": the mixture of `confidence`. It holds at all times, whatever decided what was evaluated,
  so with probability 1 − δ the option that it stops with loses at most ε.
- "usual": w_x = σ ‖h_x̂ − h_x‖ √(2 log((1 + log t)/δ)) in the norm of V⁻¹, what papers run in their
  experiments. No theorem is known to cover it, so a decision that rests on it states no level.

Where σ is not told, nothing is ever sure, and all evaluations are spent.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Literal, Unpack

import numpy as np

from evenhand.arrays import Counts, Floats, checked_aim
from evenhand.errors import InputError
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.base import Policy, Settings
from evenhand.policies.confidence import BoundedFit, Ellipsoid, Leads
from evenhand.policies.messages import Decision, Estimate, Feedback
from evenhand.questions import Askable, limited
from evenhand.search.choice import limit_of

Threshold = Literal["proved", "usual"]


class IdentificationSettings(Settings, total=False):
    """What a policy that looks for the best option can be told; see `IdentificationPolicy`."""

    at_most: int | None
    confidence: float
    tolerance: float
    threshold: Threshold


class IdentificationPolicy(Policy):
    """A policy that evaluates until it is sure which option is the best, and stops by itself.

    One of this kind has a ``name`` and writes `allocate`, perhaps `replan`.

    Parameters
    ----------
    actions
        The options: two groups, any attributes, or no bias. Or questions about features that may
        be asked as often as one likes, at one price: what is measured need not be what is chosen.
    horizon, at_most
        Evaluations after which it gives up, by either name; 1,000 per option if neither is given.
    confidence
        Probability 1 − δ that the option it stops with is the best.
    tolerance
        ε, what that option may lose at most.
    threshold
        When to stop. "proved" holds at all times; "usual" stops earlier and states no level.
    settings
        ``noise_scale``, without which it is never sure, and ``budget``, as for every policy;
        ``value_bound``, which RAGE uses, and ``seed``, which top-two does.

    Attributes
    ----------
    fit
        Least squares on all evaluations so far.
    noise
        σ; infinite where it is not known.
    leads
        x̂, its leads d_x and their half-widths w_x.
    apart
        (k, r) the directions h_x̂ − h_x; zero for options that are worth the same as x̂.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.policies.registry import policy_class
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9])
    >>> for name in ("lingame", "lingape", "rage", "top-two"):
    ...     policy = policy_class(name)(actions, at_most=10_000, noise_scale=1.0)
    ...     evaluations = eh.SimulatedEvaluations(problem, seed=1)
    ...     while not policy.finished:
    ...         policy.tell(evaluations.evaluate(policy.ask()))
    ...     print(name, policy.recommend().option, policy.recommend().loss)
    lingame 1 0.0
    lingape 1 0.0
    rage 1 0.0
    top-two 1 0.0
    """

    spends_all = False
    memory: ClassVar[None] = None  # nobody goes on with a rival elsewhere

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        threshold: Threshold = "proved",
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, limit_of(actions, horizon, at_most), **settings)
        self.confidence, self.tolerance = checked_aim(confidence, tolerance)
        if threshold not in ("proved", "usual"):
            raise InputError(f"threshold must be 'proved' or 'usual'; got {threshold!r}.")
        self.threshold = threshold
        self._ellipsoid = Ellipsoid(self.actions, self.horizon)
        self.frame = self._ellipsoid.frame
        self.noise = math.inf if self.stated_noise is None else self.noise_scale
        self.counts: Counts = np.zeros(len(self.actions), dtype=np.int64)
        self.sums: Floats = np.zeros(len(self.actions))
        self._settled: Leads | None = None  # what it stopped with
        self._look()

    def _refuse_what_it_cannot_play(self) -> None:
        questions = self.questions
        bound = limited(questions) or np.ptp(questions.prices) or len(questions.evaluators)
        if bound or questions.options.stand_alone:
            raise InputError(
                f"{self.name!r} asks about features as often as it likes, at one price, and cannot "
                f"play {questions!r}. Use certain-choice or planned-choice."
            )

    @abstractmethod
    def allocate(self, n: int | None, pending: Counts) -> Counts:
        """Return counts of n evaluations (None: as many as a decision stands for) beside what is on
        its way, changing nothing; asked while the policy is not sure, and V has an inverse.
        """

    def replan(self, evaluations: int) -> None:
        """Take note that so many evaluations came in; what they say is known already."""

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Ask nothing once sure; at first, for what makes all options comparable."""
        if self._settled is not None:
            return self._nothing
        counts = self.allocate(n, pending) if self.fit.identified else self._first(n, pending)
        room = self.remaining - int(pending.sum())
        return within(counts, room if n is None else min(n, room))

    def learn(self, feedback: Feedback) -> None:
        """Look at what is known now."""
        self.take_in(feedback)
        self._round += 1

    def take_in(self, feedback: Feedback) -> bool:
        """Learn from what was not asked for as well: it makes no difference to what is said."""
        self.counts = self.counts + feedback.counts
        self.sums = self.sums + feedback.sums
        self._look()
        self.replan(int(feedback.counts.sum()))
        return True

    def _first(self, n: int | None, pending: Counts) -> Counts:
        """Return points that span all others: each once, then in turns for who is free."""
        basis = self.frame.basis
        known = (self.counts + pending)[basis]
        turns = basis[np.argsort(known, kind="stable")]
        size = int((known == 0).sum()) if n is None else n
        return np.bincount(np.resize(turns, size), minlength=len(self.actions))

    def _look(self) -> None:
        """Work out what is known now; that depends on what was told only."""
        self.fit: BoundedFit = self._ellipsoid.fit(self.counts, self.sums)
        H = self.frame.values
        best = first_largest(H @ self.fit.parameter) if self.fit.identified else 0
        self.apart: Floats = H[best] - H
        if not self.fit.identified or math.isinf(self.noise):
            unknown = np.where(self.apart.any(axis=1), np.inf, 0.0)
            self.leads = Leads(best, np.zeros(len(H)), unknown)
        elif self.threshold == "proved":
            self.leads = self.fit.leads(1.0 - self.confidence, self.noise, best)
        else:
            odds = math.log((1.0 + math.log(self._evaluations)) / (1.0 - self.confidence))
            widths = self.noise * math.sqrt(2.0 * odds) * lengths(self.apart @ self.fit.root)
            self.leads = Leads(best, self.apart @ self.fit.parameter, widths)
        if self._settled is None and self.leads.loss <= self.tolerance:
            self._settled = self.leads

    @property
    def _alarmed(self) -> bool:
        return any(finding.alarm for finding in self.findings())

    @property
    def _evaluations(self) -> int:
        return int(self.counts.sum())

    def recommend(self) -> Decision:
        """Return the option of largest estimated value, once sure the one that it stopped with.

        How sure that is, if features are exact. With the usual threshold, or after an alarm of the
        checks, nothing is said of it.
        """
        found = self.leads if self._settled is None else self._settled
        if self.threshold == "usual":
            return Decision.of(self, found.option)
        return found.decision(self, self.confidence)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval that holds at all times at once.

        After an alarm of the checks it is everything, at level 0.
        """
        return self.fit.stated_bias(self, 1.0 - self.confidence, self.noise, self.confidence)

    @property
    def stopped_because(self) -> str | None:
        """Why it stopped, in plain words."""
        if self._settled is not None:
            name = self.options.labels[self._settled.option]
            found = f"{name} is the best"
            if self.tolerance > 0.0:
                found = f"{name} loses at most {self.tolerance:g}"
            if self._alarmed:
                return f"{found} if the model were right, but an alarm says that it is not"
            if self.threshold == "usual":
                return f"{found} by the usual threshold, which proves nothing"
            return f"{found} with probability {self.confidence:g}, if the features are exact"
        return f"all {self.horizon:,} evaluations are spent" if self.remaining == 0 else None


def lengths(rows: Floats) -> Floats:
    """Return the length of every row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def within(counts: Counts, most: int) -> Counts:
    """Return the counts, cut to so many in all: as shares of what was wanted."""
    if counts.sum() <= most:
        return counts
    return apportioned(counts.astype(np.float64), most)


def apportioned(wanted: Floats, n: int) -> Counts:
    """Return n as whole numbers in proportion to what is wanted, by largest remainders."""
    exact = np.round(wanted * (n / wanted.sum()), 9)  # ties are broken by place, not by rounding
    counts: Counts = np.floor(exact).astype(np.int64)
    order = np.argsort(counts - exact, kind="stable")
    left = n - int(counts.sum())
    counts[order[:left]] += 1
    return counts
