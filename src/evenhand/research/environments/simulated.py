"""Evaluations drawn from a problem: one draw per option and allocation, however many it counts.

Notation
--------
n       evaluations of an option in one batch;  m  those before it;  N = m + n
W(N)    sum of the option's first N noises, in units of σ: a Brownian motion at whole times
C       Σ (y − ȳ)² of the batch, in units of σ²; χ²_{n−1}, independent of the sum

A batch has sum n·mean + σ(W(N) − W(m)) and sum of squares sum²/n + σ²C, exactly the law of n
independent evaluations.

Common random numbers
---------------------
Everything an option returns comes from its own stream, which depends on the seed and the option
only. Its path W is fixed at N = 1, 2, 4, 8, … before anything is asked, and is filled in between by
Brownian bridges as batches end there. So
- policies that ask the same get the same, and what one option returns does not depend on how
  often the others are asked;
- the first 2^j evaluations of an option have the same sum for every policy, whatever its batches;
- sums at other N agree as far as the path at the powers of two says, not exactly, since the bridge
  takes the next draw of the stream. C is drawn batch by batch too.

Evaluators who take their time
------------------------------
With a `Latency`, evaluations may also be handed out one by one and come back later. What an
evaluation will say is drawn when it is handed out, and how long it takes comes from a stream of its
own, by its running number. So neither depends on the other, nor on the order in which they return.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from evenhand.arrays import Counts, Floats, is_number
from evenhand.errors import InputError
from evenhand.policies.messages import Allocation, Feedback
from evenhand.research.environments._streams import Streams
from evenhand.research.environments.problem import BiasedLinearBandit

_CLOCK = 2**32 - 1  # the stream of the latencies: options count from 0, and are fewer


@dataclass(frozen=True)
class Latency:
    """How long evaluations take: the logarithm of the time is normal.

    Parameters
    ----------
    median
        Half of them take longer, in any unit of time.
    sigma
        Standard deviation of the logarithm of the time; 0 if all take the same.

    Examples
    --------
    >>> Latency.constant(2.0).times(np.random.default_rng(0), 3)
    array([2., 2., 2.])
    >>> times = Latency.lognormal(median=2.0, sigma=1.0).times(np.random.default_rng(0), 10_001)
    >>> bool(abs(np.median(times) - 2.0) < 0.1)
    True
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        for name in ("median", "sigma"):
            value = getattr(self, name)
            if not is_number(value) or value < 0.0:
                raise InputError(f"{name} of a latency must be a number ≥ 0; got {value!r}.")

    @classmethod
    def lognormal(cls, median: float = 1.0, sigma: float = 1.0) -> Self:
        """Return the latency of evaluators of whom some take much longer than others."""
        return cls(median, sigma)

    @classmethod
    def constant(cls, time: float = 1.0) -> Self:
        """Return the latency of evaluators who all take the same time."""
        return cls(time, 0.0)

    def times(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw how long the next n evaluations take."""
        return np.asarray(self.median * np.exp(self.sigma * rng.standard_normal(n)))


class SimulatedEvaluations:
    """Answers what a policy asks with evaluations drawn from a problem.

    Parameters
    ----------
    problem
        The truth.
    seed
        Where the noise comes from: a number, a seed sequence or a generator. The same number or
        seed sequence gives the same noise to every policy (see the module's notes).
    latency
        How long the evaluators take, if evaluations are to be handed out with `start`.

    Attributes
    ----------
    clock
        The time, from 0; it passes in `wait`.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, -1])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.2], omega=0.3)
    >>> evaluations = SimulatedEvaluations(problem, seed=1)
    >>> policy = eh.policy("uniform", actions, horizon=10**12)
    >>> feedback = evaluations.evaluate(policy.ask())
    >>> policy.tell(feedback)
    >>> policy.spent
    3

    Two evaluators side by side, who take a minute:

    >>> evaluations = SimulatedEvaluations(problem, seed=1, latency=Latency.constant(1.0))
    >>> evaluations.start(policy.ask(n=2))
    >>> evaluations.pending
    array([1, 1, 0])
    >>> [feedback.counts.tolist() for _, feedback in evaluations.wait()], evaluations.clock
    ([[1, 0, 0], [0, 1, 0]], 1.0)
    """

    def __init__(
        self,
        problem: BiasedLinearBandit,
        seed: int | np.random.SeedSequence | np.random.Generator,
        latency: Latency | None = None,
    ) -> None:
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(2**63))
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        relative = problem.questions.noise
        self._relative = 1.0 if relative is None else relative
        self.streams = Streams(seed, problem.evaluations / self._relative, problem.noise_scale)
        """Where the evaluations come from, in units of their relative noise, for a simulation's
        compiled loop."""
        self._n_options = len(problem.actions)
        self._latency = latency
        self._times = np.random.default_rng(
            np.random.SeedSequence(
                seed.entropy, spawn_key=(*seed.spawn_key, _CLOCK), pool_size=seed.pool_size
            )
        )
        self._started = 0
        self._coming: list[tuple[float, int, Allocation, Feedback]] = []  # the next one first
        self._pending: Counts = np.zeros(self._n_options, dtype=np.int64)
        self.clock = 0.0

    def evaluate(self, allocation: Allocation) -> Feedback:
        """Draw the evaluations of an allocation; every call draws new ones."""
        counts = self._checked(allocation)
        sums, squares = np.zeros(self._n_options), np.zeros(self._n_options)
        self.streams.evaluate(np.ascontiguousarray(counts, dtype=np.int64), sums, squares)
        return Feedback(counts, sums * self._relative, squares * self._relative**2)

    @property
    def pending(self) -> Counts:
        """(k,) evaluations that were started and are not back yet, a copy."""
        return self._pending.copy()

    @property
    def n_pending(self) -> int:
        """How many those are."""
        return len(self._coming)

    def start(self, allocation: Allocation) -> None:
        """Hand out the evaluations of an allocation now, each to an evaluator of its own."""
        if self._latency is None:
            raise InputError(
                "evaluations take no time here; say how long they take, such as "
                "latency=Latency.lognormal(median=1.0, sigma=1.0)."
            )
        options = np.repeat(np.arange(self._n_options), self._checked(allocation))
        times = self.clock + self._latency.times(self._times, len(options))
        for option, time in zip(options.tolist(), times.tolist(), strict=True):
            counts = np.zeros(self._n_options, dtype=np.int64)
            counts[option] = 1
            one = replace(allocation, counts=counts)
            heapq.heappush(self._coming, (time, self._started, one, self.evaluate(one)))
            self._started += 1
        self._pending += allocation.counts

    def wait(self) -> list[tuple[Allocation, Feedback]]:
        """Wait until something is back; return all that is, single evaluations, oldest first."""
        if not self._coming:
            raise InputError("nothing is on its way; start some evaluations first.")
        self.clock = self._coming[0][0]
        back = []
        while self._coming and self._coming[0][0] == self.clock:
            _, _, one, feedback = heapq.heappop(self._coming)
            self._pending -= one.counts
            back.append((one, feedback))
        return back

    def _checked(self, allocation: Allocation) -> Counts:
        """Return the counts of an allocation, or say what is wrong with them."""
        counts, k = allocation.counts, self._n_options
        if counts.shape != (k,):
            raise InputError(f"an allocation must count {k} options; this one is {counts!r}.")
        if counts.min() < 0:
            x = int(np.argmin(counts))
            raise InputError(f"an allocation counts {counts[x]} evaluations of option {x}.")
        return counts
