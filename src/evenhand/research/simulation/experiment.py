"""What is simulated, as immutable data; and how one piece of it runs.

Replication i of every policy and horizon sees the same noise: it comes from (seed, i) and nothing
else, so no result depends on who runs what, in which order or how many at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import EvenhandError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.messages import Allocation, Estimate, Feedback
from evenhand.policies.registry import policy_class
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation._loop import Regret, advance
from evenhand.research.simulation.results import Runs

Factory = Callable[..., Policy]
Watch = Callable[[Policy, Allocation, Feedback], None]

_PER_DECADE = 10  # checkpoints


@dataclass(frozen=True)
class Contender:
    """A policy to be simulated: a name for it, and how to make one."""

    name: str  # what the results call it
    # a registered policy, a class, or a function of (actions, horizon, seed=…)
    source: str | Factory
    options: tuple[tuple[str, Any], ...] = ()  # what it is told besides, by name

    def with_options(self, **options: Any) -> Contender:
        """Return the same contender, told more."""
        return replace(self, options=(*self.options, *options.items()))

    def policy(self, problem: BiasedLinearBandit, horizon: int, seed: int) -> Policy:
        """Make the policy."""
        return policy_for(problem, self.source, horizon, seed=seed, **dict(self.options))


def policy_for(
    problem: BiasedLinearBandit, source: str | Factory, horizon: int, **options: Any
) -> Policy:
    """Make a policy for a problem, told of it the noise scale, or the attributes that its class
    names in ``told``; options go before these, and a plain function is told the options only.
    """
    make: Factory = policy_class(source) if isinstance(source, str) else source
    given: dict[str, Any] = {}
    cls: Any = make
    while isinstance(cls, partial):
        given, cls = cls.keywords | given, cls.func
    is_class = isinstance(cls, type) and issubclass(cls, Policy)
    told = getattr(cls, "told", ("noise_scale",)) if is_class else ()
    known = {name: getattr(problem, name) for name in told if name not in given}
    made = make(problem.actions, horizon, **(known | options))
    if not isinstance(made, Policy):
        raise InputError(f"what makes a policy must return a Policy; {source!r} returned {made!r}.")
    return made


@dataclass(frozen=True)
class Piece:
    """Some replications, first ≤ i < last, of one policy over one horizon."""

    contender: int
    horizon: int
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True, eq=False)
class Experiment:
    """A problem, the policies to try on it, and where the randomness comes from."""

    problem: BiasedLinearBandit
    contenders: tuple[Contender, ...]
    seed: int
    # when the regret is wanted, increasing; None for ten times per decade
    checkpoints: tuple[int, ...] | None = None

    def checkpoints_until(self, horizon: int) -> NDArray[np.int64]:
        """Return the checkpoints up to a horizon; the horizon itself is always the last."""
        wanted = log_spaced(horizon) if self.checkpoints is None else self.checkpoints
        return np.array([t for t in wanted if t < horizon] + [horizon], dtype=np.int64)

    def policy(self, contender: int, horizon: int, replication: int) -> Policy:
        """Make the policy of one run."""
        seed = int(self._randomness(replication, 1).generate_state(1, np.uint64)[0] >> 1)
        return self.contenders[contender].policy(self.problem, horizon, seed)

    def evaluations(self, replication: int) -> SimulatedEvaluations:
        """Return where the evaluations of one run come from, whoever asks for them."""
        return SimulatedEvaluations(self.problem, self._randomness(replication, 0))

    def run(self, piece: Piece) -> Runs:
        """Run the replications of a piece."""
        checkpoint = self.checkpoints_until(piece.horizon)
        n = len(piece)
        regret = np.empty((n, len(checkpoint)))
        spent = np.empty(n, dtype=np.int64)
        option = np.empty(n, dtype=np.int64)
        loss = np.empty(n)
        estimates: list[Estimate] = []
        stops: list[int] = checkpoint.tolist()
        for row, replication in enumerate(range(piece.first, piece.last)):
            try:
                policy = self.policy(piece.contender, piece.horizon, replication)
                evaluations = self.evaluations(replication)
                paid = play_out(policy, evaluations, self.problem.question_gaps, stops)
                regret[row], spent[row] = paid.curve(), paid.spent
                decision = policy.recommend()
                option[row], loss[row] = decision.option, decision.loss
                estimates.append(policy.bias())
            except Exception as error:
                error.add_note(
                    f"in replication {replication} of policy "
                    f"{self.contenders[piece.contender].name!r} over {piece.horizon} evaluations, "
                    f"seed {self.seed}"
                )
                raise
        # with several attributes, policies estimate the effect of the first
        truth = float(np.append(np.ravel(self.problem.omega), np.nan)[0])
        return Runs(
            policy=self.contenders[piece.contender].name,
            horizon=piece.horizon,
            checkpoint=checkpoint,
            regret=regret,
            replication=np.arange(piece.first, piece.last),
            spent=spent,
            option=option,
            correct=np.isin(option, self.problem.best_all),
            bias=np.array([estimate.value for estimate in estimates]),
            bias_low=np.array([estimate.low for estimate in estimates]),
            bias_high=np.array([estimate.high for estimate in estimates]),
            bias_level=np.array([estimate.level for estimate in estimates]),
            covered=np.array([estimate.covers(truth) for estimate in estimates]),
            loss=loss,
        )

    def _randomness(self, replication: int, purpose: int) -> np.random.SeedSequence:
        """Noise (0) and the policy's own randomness (1) of a replication, independent."""
        return np.random.SeedSequence(self.seed, spawn_key=(replication, purpose))


def log_spaced(horizon: int) -> list[int]:
    """Return whole numbers up to the horizon, ten to the decade."""
    steps: list[int] = []
    while not steps or steps[-1] < horizon:
        steps.append(round(10 ** (len(steps) / _PER_DECADE)))
    return sorted({step for step in steps if step <= horizon})


def play_out(
    policy: Policy,
    evaluations: SimulatedEvaluations,
    gaps: Floats,
    stops: Sequence[int] = (),
    *,
    watch: Watch | None = None,
) -> Regret:
    """Let a policy play to the end and return its regret at the stops, by (q,) gaps, lost when
    told; ``watch`` sees every turn, and has none of them compiled.
    """
    regret = Regret(gaps, stops)
    policy.checked = policy.checked and not policy.spends_all  # an alarm may be why it stops
    while regret.spent < policy.horizon:
        stepper = policy._compiled if watch is None else None
        if stepper is not None:
            before = regret.spent
            rounds = advance(stepper, evaluations.streams, regret, policy.horizon)
            if rounds > 0:
                policy._catch_up(rounds, regret.spent - before)
        allocation = policy.ask()
        if not allocation.total:
            break
        feedback = evaluations.evaluate(allocation)
        policy.tell(feedback)
        regret.pay(allocation.counts)
        if watch is not None:
            watch(policy, allocation, feedback)
    if regret.spent < policy.horizon and policy.spends_all:
        raise EvenhandError(
            f"policy {policy.name!r} stopped after {regret.spent} of {policy.horizon} "
            "evaluations; a policy that may do so must say spends_all = False."
        )
    return regret
