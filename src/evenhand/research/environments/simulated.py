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

import numpy as np

from evenhand.errors import InputError
from evenhand.policies.messages import Allocation, Feedback
from evenhand.research.environments._streams import Streams
from evenhand.research.environments.problem import BiasedLinearBandit


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
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, -1])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.2], omega=0.3)
    >>> evaluations = SimulatedEvaluations(problem, seed=1)
    >>> policy = eh.policy("uniform", actions, horizon=10**12)
    >>> feedback = evaluations.evaluate(policy.ask())
    >>> policy.tell(feedback)
    >>> policy.spent
    3
    """

    def __init__(
        self, problem: BiasedLinearBandit, seed: int | np.random.SeedSequence | np.random.Generator
    ) -> None:
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(2**63))
        if not isinstance(seed, np.random.SeedSequence):
            seed = np.random.SeedSequence(seed)
        relative = problem.questions.noise
        self._relative = 1.0 if relative is None else relative
        self._n_options = len(problem.actions)
        self.streams = Streams(seed, problem.evaluations / self._relative, problem.noise_scale)
        """Where the evaluations come from, in units of their relative noise, for a simulation's
        compiled loop."""

    def evaluate(self, allocation: Allocation) -> Feedback:
        """Draw the evaluations of an allocation; every call draws new ones."""
        counts, k = allocation.counts, self._n_options
        if counts.shape != (k,):
            raise InputError(f"an allocation must count {k} options; this one is {counts!r}.")
        if counts.min() < 0:
            x = int(np.argmin(counts))
            raise InputError(f"an allocation counts {counts[x]} evaluations of option {x}.")
        sums, squares = np.zeros(k), np.zeros(k)
        self.streams.evaluate(np.ascontiguousarray(counts, dtype=np.int64), sums, squares)
        return Feedback(counts, sums * self._relative, squares * self._relative**2)
