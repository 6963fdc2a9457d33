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
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.errors import InputError
from evenhand.policies.base import Allocation, Feedback
from evenhand.problem import BiasedLinearBandit

_POWERS = 63  # W is fixed at 2^0 … 2^62: counts are 64-bit
# Standard deviations of W(1), W(2) − W(1), W(4) − W(2), …
_STEPS = np.sqrt(np.concatenate([[1.0], 2.0 ** np.arange(_POWERS - 1)]))


class SimulatedEvaluations:
    """Answers what a policy asks with evaluations drawn from a problem.

    Parameters
    ----------
    problem
        The truth.
    seed
        Where the noise comes from: a number, a seed sequence or a generator. The same number or
        seed sequence gives the same noise to every policy (see the module's notes).

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.problem import BiasedLinearBandit
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, -1])
    >>> problem = BiasedLinearBandit(actions, gamma=[0.5, 0.2], omega=0.3)
    >>> evaluations = SimulatedEvaluations(problem, seed=1)
    >>> policy = eh.policy("uniform", actions, horizon=10**12)
    >>> feedback = evaluations.evaluate(policy.ask())
    >>> policy.tell(feedback)
    >>> policy.spent
    3
    """

    def __init__(
        self,
        problem: BiasedLinearBandit,
        seed: int | np.random.SeedSequence | np.random.Generator,
    ) -> None:
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(2**63))
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        self._seed = seed
        self._means = problem.evaluations
        self._noise_scale = float(problem.noise_scale)
        self._variance = self._noise_scale**2
        self._streams: dict[int, _Stream] = {}

    def evaluate(self, allocation: Allocation) -> Feedback:
        """Draw the evaluations of an allocation; every call draws new ones."""
        counts = allocation.counts
        k = len(self._means)
        if counts.shape != (k,):
            raise InputError(f"an allocation must count {k} options; this one is {counts!r}.")
        sums, squares = np.zeros(k), np.zeros(k)
        for x in counts.nonzero()[0].tolist():
            n = int(counts[x])
            if n < 0:
                raise InputError(f"an allocation counts {n} evaluations of option {x}.")
            stream = self._streams.get(x)
            if stream is None:
                stream = self._streams[x] = _Stream(self._seed, x)
            noise, scatter = stream.batch(n)
            total = n * float(self._means[x]) + self._noise_scale * noise
            sums[x] = total
            squares[x] = total * total / n + self._variance * scatter
        return Feedback(counts, sums, squares)


class _Stream:
    """The noise of one option: how far its path W has been read, and what comes next."""

    def __init__(self, seed: np.random.SeedSequence, option: int) -> None:
        child = np.random.SeedSequence(
            seed.entropy, spawn_key=(*seed.spawn_key, option), pool_size=seed.pool_size
        )
        self._rng = np.random.Generator(np.random.PCG64(child))
        # W(2^j), known to all
        self._fixed: list[float] = np.cumsum(_STEPS * self._rng.standard_normal(_POWERS)).tolist()
        self._read = 0  # m
        self._path = 0.0  # W(m)

    def batch(self, n: int) -> tuple[float, float]:
        """Return W(m + n) − W(m) and C of the next n evaluations."""
        m, before = self._read, self._path
        end = m + n
        j = (end - 1).bit_length()  # 2^(j−1) < end ≤ 2^j
        after = self._fixed[j]
        if end < 1 << j:
            # the bridge to 2^j starts at the last known time: where we are, or 2^(j−1)
            start, level = m, before
            if m < 1 << (j - 1):
                start, level = 1 << (j - 1), self._fixed[j - 1]
            share = (end - start) / ((1 << j) - start)
            deviation = math.sqrt(share * ((1 << j) - end))
            after = level + share * (after - level) + deviation * self._rng.standard_normal()
        self._read, self._path = end, after
        return after - before, float(self._rng.chisquare(n - 1)) if n > 1 else 0.0
