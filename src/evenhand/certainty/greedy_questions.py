"""Greedy questions: for a fixed number of evaluations, ask what lowers the expected loss most.

Nothing is certified here; what is spent goes into the choice alone. `certain_choice` is for those
who want to know how sure it is.

Notation
--------
V, θ̂    Σ n_a a aᵀ and least squares of the questions a that were asked, with a flat prior
        (`posteriors`)
i, y_j          option of largest estimated value, and h_i − h_j: its lead over j is y_j·θ
d_j, s_j        that lead as estimated, and its standard deviation σ‖y_j‖ in the norm of V⁻¹
z_j = d_j/s_j

Were θ drawn from the posterior N(θ̂, σ²V⁻¹), the rival j would be better than i by
s_j (φ(z_j) − z_j Φ(−z_j)) on average. Its derivative by s_j² is φ(z_j)/(2 s_j), and an evaluation
of a takes s_j² down by σ²(aᵀV⁻¹y_j)²/(1 + aᵀV⁻¹a). So the question of largest

    Σ_j φ(z_j)/s_j · (aᵀV⁻¹y_j)²/(1 + aᵀV⁻¹a) / price

is asked; of questions that tie, one that was asked least, drawn at random. Rivals far behind weigh
nothing, rivals that nobody can tell from the leader weigh most.

An evaluator not yet asked has a gain of exactly 0, one question at a time: how lenient it is
explains whatever it says. So two questions that are both out of reach of what was asked, about the
leader and the closest rival by the same evaluator, are also looked at together, at the price of
both. Where nothing was asked, the flat prior does the same: the second question about a pair has
the whole gain.

Evaluations on their way are taken for made: the estimate stays, the deviations shrink.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, Indices, recalled, recalled_counts
from evenhand.certainty.posteriors import Posterior, posterior_of
from evenhand.numerics.intervals import Estimate
from evenhand.numerics.tolerance import TIE, first_largest
from evenhand.policies.base import Policy, Settings, checked_failure
from evenhand.policies.confidence import Ellipsoid
from evenhand.policies.limits import Allowance
from evenhand.policies.messages import Decision, Feedback
from evenhand.policies.registry import registered
from evenhand.questions import Askable

_OUT_OF_REACH = 1e4  # leverage from which on a question is about something never asked
_RIVALS = 64  # rivals that are looked at: those of largest weight
_REPEAT = 0.04  # share by which a decision may add to what is known of what it asks
_DECISIONS = 64  # that a batch is made of, about; each stands for a share of it
_SPARE = 4  # evaluations beyond the rank before an unknown noise is estimated


@registered
class GreedyQuestions(Policy):
    """Asks what lowers the expected loss of the choice most for its price; certifies nothing.

    For panels, comparisons and any questions; capacities, workloads, who is available and a budget
    are kept to. An option of its own is a question, too. Recommends by joint least squares.

    Parameters
    ----------
    actions, horizon
        The questions (or options), and the number of evaluations in all.
    delta
        The interval of the bias has level 1 − delta, at all times at once. It is not part of the
        decisions.
    settings
        ``noise_scale``, ``value_bound`` (not used), ``seed`` and ``budget``, as for every policy.
        A noise that is not given is estimated.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"}, capacity=None)
    >>> problem = eh.BiasedLinearBandit(panel, gamma=[1.0, 2.0], omega=[3.0, 0.5])
    >>> policy = GreedyQuestions(panel, horizon=200, noise_scale=1.0)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.recommend()
    Decision(option=1, label='Bo')
    """

    name: ClassVar[str] = "greedy-questions"
    plays_questions: ClassVar[bool] = True

    def __init__(
        self,
        actions: Askable,
        horizon: int,
        *,
        delta: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        self.delta = checked_failure(delta)
        q = len(self.questions)
        self._counts: Counts = np.zeros(q, dtype=np.int64)
        self._sums: Floats = np.zeros(q)
        self._known = posterior_of(self.actions)

    # ------------------------------------------------------------------ how it is played

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Decide as often as it takes to have n evaluations; once, if n is not given."""
        known, counts = self._known.expecting(pending), np.zeros_like(pending)
        allowance, chance = Allowance(self.limits, pending), TieBreak(self)
        room = self.remaining - int(pending.sum())
        most = room if n is None else min(n, room)
        at_once = 1 if n is None else max(1, n // _DECISIONS)
        while (free := most - int(counts.sum())) > 0:
            chosen = self._next(known, self._counts + pending + counts, allowance, chance)
            for x in chosen:
                leverage = float(known.leverages[x])
                times = min(max(_repeats(leverage), at_once), free, allowance.most(x))
                counts[x] += times
                free -= times
                allowance.take(x, times)
                if free > 0:
                    known = known.expecting(times * (np.arange(len(counts)) == x))
            if n is None or not chosen:
                break
        return counts

    def learn(self, feedback: Feedback) -> None:
        """Update least squares, one question at a time."""
        self.take_in(feedback)
        self._round += 1

    def take_in(self, feedback: Feedback) -> bool:
        """Learn from what was not asked for as well."""
        self._known = self._known.told(feedback)
        self._counts += feedback.counts
        self._sums += feedback.sums
        return True

    def memory(self) -> dict[str, Any]:
        """Return the evaluations so far, and least squares on them."""
        return {"counts": self._counts.copy(), "sums": self._sums.copy()} | self._known.memory()

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        q = len(self.questions)
        self._counts = recalled_counts(memory, "counts", q)
        self._sums = recalled(memory, "sums", (q,))
        self._known = self._known.recalled(memory)

    # ------------------------------------------------------------------ what it asks

    def _next(
        self, known: Posterior, asked: Counts, allowance: Allowance, chance: TieBreak
    ) -> list[int]:
        """Return the question to ask next, or the two; none where none may be asked."""
        open_ = allowance.open
        if not open_.any():
            return []
        leader, closest, rivals, weights = self._rivals(known, chance)
        G, leverage = known.along(leader, rivals), known.leverages
        prices = self.questions.prices
        gains = np.where(open_, (G**2 @ weights) / (1.0 + leverage) / prices, -np.inf)
        best = _largest(gains, asked, chance)
        new = open_ & (leverage > _OUT_OF_REACH)
        pairs = self._pairs(leader, closest, new) if new.any() else np.zeros((0, 2), dtype=np.intp)
        if len(pairs) == 0:
            return [best]
        a, b = pairs.T
        between = known.between(a, b) / (1.0 + leverage[a])
        first = (G[a] ** 2 @ weights) / (1.0 + leverage[a])
        beside = 1.0 + np.maximum(leverage[b] - between**2 * (1.0 + leverage[a]), 0.0)
        second = ((G[b] - between[:, None] * G[a]) ** 2 @ weights) / beside
        both = (first + second) / (prices[a] + prices[b])
        if both.max() <= gains[best] * (1.0 + TIE):
            return [best]
        chosen = pairs[_largest(both, asked[a] + asked[b], chance)].tolist()
        return [int(x) for x in chosen]

    def _rivals(self, known: Posterior, chance: TieBreak) -> tuple[int, int, Indices, Floats]:
        """Return leader and closest rival, rivals (n,), and weights φ(z)/s in proportion, (n,)."""
        values = known.values
        size = np.abs(values).max(initial=0.0)
        ties = np.flatnonzero(values >= values.max() - TIE * size)
        leader = chance.of(ties)
        spread = known.spreads(leader)
        rivals = np.flatnonzero(~self.options.same_as(leader) & (spread > 0.0))
        if len(rivals) == 0:
            return leader, leader, rivals, np.zeros(0)
        s = self._noise * spread[rivals]
        z = np.clip((values[leader] - values[rivals]) / s, -1e100, 1e100)  # its square is finite
        weights = np.exp(-0.5 * (z**2 - (z**2).min())) / s
        closest = int(rivals[first_largest(weights)])
        if len(rivals) > _RIVALS:
            heavy = np.argsort(-weights, kind="stable")[:_RIVALS]
            rivals, weights = rivals[heavy], weights[heavy]
        return leader, closest, rivals, weights

    def _pairs(self, leader: int, rival: int, new: NDArray[np.bool_]) -> Indices:
        """Return (n, 2) questions out of reach about the two of them, by the same evaluator."""
        about = self.questions.about
        ours = ((about == leader) | (about == rival) | (about < 0)).all(axis=1) & new
        some = np.flatnonzero(ours & (about[:, 0] >= 0))
        who = self.questions.evaluator[some]
        one, other = np.nonzero(np.triu(who[:, None] == who[None, :], 1))
        return np.column_stack([some[one], some[other]])

    @property
    def _noise(self) -> float:
        """σ, or what it looks like where it was not given."""
        spare = int(self._counts.sum()) - self._known.rank
        if self.stated_noise is not None or spare < _SPARE or self._known.scatter == 0.0:
            return self.noise_scale
        return math.sqrt(self._known.scatter / spare)

    # ------------------------------------------------------------------ what it says

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        return Decision.of(self, first_largest(self._known.values))

    def bias(self) -> Estimate:
        """Return the (first) bias by least squares; the interval holds at all times at once.

        Where no noise scale was given there is none.
        """
        ellipsoid = Ellipsoid(self.actions, self.horizon)
        return ellipsoid.fit(self._counts, self._sums).bias(self.delta, self.stated_noise)


def _repeats(leverage: float) -> int:
    """Return how often to ask a question before deciding anew, at least once."""
    return max(1, math.floor(_REPEAT / max(leverage, 1e-300) * (1.0 + TIE)))


class TieBreak:
    """Who is taken of several that are as good, by a policy's randomness; made when needed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rng: np.random.Generator | None = None

    def of(self, some: Indices) -> int:
        """Return one of them."""
        if len(some) == 1:
            return int(some[0])
        if self._rng is None:
            self._rng = self._policy._rng()
        return int(some[self._rng.integers(len(some))])


def _largest(values: Floats, asked: Counts, chance: TieBreak) -> int:
    """Return where the values are largest; of those that tie, one asked least, at random."""
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    (ties,) = np.nonzero(values >= values.max() - TIE * size)
    return chance.of(ties[asked[ties] == asked[ties].min()])
