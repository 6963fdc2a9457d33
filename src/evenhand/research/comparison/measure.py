"""Everybody on every instance: who takes part, and what came of it.

Replication i of all policies sees the same noise, so what is counted is compared in pairs. A policy
that refuses an instance has nothing to count, and its reason is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.errors import EvenhandError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.registry import built_in_policies, registered_policies
from evenhand.research.comparison.suites import SUITES, Benchmark, Counted, Instance
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation import Runs, simulate
from evenhand.research.simulation.experiment import Contender
from evenhand.research.simulation.run import contenders

_MOSTLY = 0.5

Done = Callable[[], None]


def entrants(
    names: Sequence[str | type[Policy]] | None = None, benchmark: Benchmark | None = None
) -> tuple[Contender, ...]:
    """Return those named, or given; or who takes part in a benchmark.

    In one of regret, and if none is said, that is all registered policies, but not built-in ones
    that stop by themselves, which look for certainty; and the variants of ids in `suites.toml`.

    Examples
    --------
    >>> [entrant.source for entrant in entrants(["uniform", "lingape-usual"])]
    ['uniform', 'lingape']

    A policy of one's own, which nobody has registered, beside all rivals of a suite:

    >>> from evenhand.policies import Policy
    >>> from evenhand.research.comparison import chosen
    >>> class Mine(Policy):
    ...     name = "mine"
    >>> players = [*entrants([Mine]), *entrants(benchmark=chosen(["classical"]))]
    >>> len(players), players[0].name
    (12, 'mine')
    """
    known = {name: Contender(name, name) for name in registered_policies()}
    stopping = {name for name, cls in built_in_policies().items() if not cls.spends_all}
    playing_on = [name for name in known if name not in stopping]
    for name, options in SUITES["variants"].items():
        settings = dict(options)
        source = settings.pop("source")
        known[name] = Contender(name, source, tuple(settings.items()))
        playing_on += [name] if source.startswith("ids") else []
    if names is None:
        names = (benchmark.players if benchmark else ()) or playing_on
    for one in names:
        if not isinstance(one, str) and one.name in known:
            raise InputError(
                f"{one.name!r} is a policy that is there already; give yours another name."
            )
    return contenders(
        [known.get(one, one) if isinstance(one, str) else one for one in dict.fromkeys(names)]
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one entrant on one instance.

    Parameters
    ----------
    instance, name
        Where, and who.
    cost
        (P, n) regret at the horizon, or evaluations until the stop, by problem of the instance and
        replication.
    wrong
        (P, n) whether the option recommended at the end was not a best one.
    refusal
        Why it did not take part; then there is nothing in the arrays.
    certified
        (P, n) whether it said at the end that it was sure; not looked at where regret is counted.
    """

    instance: Instance
    name: str
    cost: Floats
    wrong: NDArray[np.bool_]
    refusal: str | None = None
    certified: NDArray[np.bool_] | None = None

    @property
    def mean(self) -> float:
        """Mean cost over problems and replications; NaN for who did not take part."""
        return float(self.cost.mean()) if self.cost.size else np.nan

    @property
    def moves(self) -> Floats:
        """(n,) cost of a replication over the mean: the problems of an instance share their noise,
        so that means over them are independent.
        """
        return np.asarray(self.cost.mean(axis=0)) / self.mean

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        n = self.cost.shape[1]
        return float(self.cost.mean(axis=0).std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def claims(self) -> bool:
        """Whether it is anybody's rival: who is mostly unsure may stop as early as it likes."""
        if self.refusal is not None:
            return False
        return self.certified is None or float(self.certified.mean()) >= _MOSTLY


def steps(benchmark: Benchmark) -> int:
    """Return how often `measure` says that something is done: once per problem and horizon."""
    return sum(len(instance.problems()) for instance in benchmark.instances)


def measure(
    benchmark: Benchmark,
    contenders: Sequence[Contender],
    seed: int = 0,
    executor: Executor | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    done: Done = lambda: None,
) -> tuple[Outcome, ...]:
    """Let every entrant play every instance; return what came of it, instance by instance.

    Parameters
    ----------
    benchmark
        What is played, and how often.
    contenders
        Who plays.
    seed, executor, store
        As for `simulate`.
    done
        Told after each of the `steps`.

    Examples
    --------
    >>> import dataclasses
    >>> from evenhand.research.comparison import chosen
    >>> small = dataclasses.replace(chosen(["skating"]).over([500]), replications=2)
    >>> [outcome.cost.shape for outcome in measure(small, entrants(["uniform"]))]
    [(1, 2)]
    """
    outcomes: list[Outcome] = []
    for instance in benchmark.instances:
        problems, bound = instance.problems(), instance.value_bound
        players = [one.with_options(value_bound=bound) for one in contenders]
        refusals = {
            one.name: _refusal(one, instance, problems, benchmark.counted) for one in players
        }
        willing = [one for one in players if refusals[one.name] is None]
        runs: dict[str, list[Runs]] = {one.name: [] for one in contenders}
        for problem in problems:
            if willing:
                results = simulate(
                    problem,
                    willing,
                    instance.horizon,
                    benchmark.replications,
                    seed,
                    executor,
                    checkpoints=(),
                    store=store,
                    progress=False,
                )
                for played in results.runs:
                    runs[played.policy].append(played)
            done()
        outcomes += [
            _outcome(instance, name, own, refusals[name], benchmark.counted)
            for name, own in runs.items()
        ]
    return tuple(outcomes)


def _outcome(
    instance: Instance, name: str, runs: Sequence[Runs], refusal: str | None, counted: Counted
) -> Outcome:
    none = np.empty((0, 0))
    wrong = np.array([~one.correct for one in runs] or none, dtype=bool)
    if counted == "regret":
        cost = np.array([one.final_regret for one in runs] or none)
        return Outcome(instance, name, cost, wrong, refusal)
    spent = np.array([one.spent for one in runs] or none, dtype=np.float64)
    sure = np.array([one.loss <= 0.0 for one in runs] or none, dtype=bool)
    return Outcome(instance, name, spent, wrong, refusal, sure)


def _refusal(
    player: Contender, instance: Instance, problems: Sequence[BiasedLinearBandit], counted: Counted
) -> str | None:
    """Return why a policy will not play an instance, mostly in its own words; None if it will."""
    for problem in problems:
        try:
            policy = player.policy(problem, instance.horizon, seed=0)
        except EvenhandError as error:
            return str(error)
        if counted == "regret" and not policy.spends_all:
            return "it stops by itself, so that what it loses until then says little."
        if counted == "evaluations" and policy.spends_all:
            return "it never stops by itself: it spends all evaluations there are."
    return None
