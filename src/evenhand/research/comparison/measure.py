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
from evenhand.research.comparison.instances import Benchmark, Counted, Instance
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation import Runs, simulate
from evenhand.research.simulation.experiment import Contender
from evenhand.research.simulation.run import contenders

FLAGSHIP = "priced-exploration"
SUREST = "certain-choice"
"""The policy to use where certainty is wanted."""
ORACLE = "oracle"
"""Knows the bias: drawn beside the others, and nobody's rival."""
PAPER = "fair-phased-elimination"

_MOSTLY = 0.5

Done = Callable[[], None]


VARIANTS = (
    Contender("ids-log", "ids", (("beta", "log"),)),
    Contender("ids-directed-half", "ids-directed", (("factor", 0.5),)),
    Contender("ids-directed-log-half", "ids-directed", (("beta", "log"), ("factor", 0.5))),
)
"""Further entrants: information-directed sampling loses less with a β that no theorem covers.

Half of its own, and β² = 2 log t, whole or with half of that β: whoever is compared with the best
rival should be compared with these.
"""


SURE = (
    Contender(SUREST, SUREST),
    Contender("lingape", "lingape"),
    Contender("lingape-usual", "lingape", (("threshold", "usual"),)),
    Contender("track-and-stop-usual", "track-and-stop", (("threshold", "usual"),)),
    Contender("priced-sure", FLAGSHIP, (("cost", "evaluation"), ("worth", 1e15))),
)
"""Who takes part where certainty is wanted.

With the usual threshold nothing is proved. priced-sure is told that certainty is worth any number
of evaluations.
"""


_IN_PAPERS = (
    "lingape",
    "track-and-stop",
    "lingame",
    "rage",
    "top-two",
)
CLASSICAL = (
    Contender(SUREST, SUREST),
    *(Contender(name, name) for name in _IN_PAPERS),
    *(Contender(f"{name}-usual", name, (("threshold", "usual"),)) for name in _IN_PAPERS),
)
"""Who takes part in the classical suites: each with the proved threshold, and with the usual one,
which is not proved.
"""


def entrants(
    names: Sequence[str | type[Policy]] | None = None,
    counted: Counted = "regret",
    *,
    classical: bool = False,
) -> tuple[Contender, ...]:
    """Return who takes part, where regret or evaluations are counted; or those named, or given.

    For regret all registered policies and variants, but not built-in ones that stop by themselves,
    which look for certainty. Where evaluations are counted, `SURE`, or `CLASSICAL`.

    Examples
    --------
    >>> [entrant.source for entrant in entrants(["uniform", "lingape-usual"])]
    ['uniform', 'lingape']

    A policy of one's own, which nobody has registered, beside all rivals of a suite:

    >>> from evenhand.policies import Policy
    >>> class Mine(Policy):
    ...     name = "mine"
    >>> players = [*entrants([Mine]), *entrants(counted="evaluations", classical=True)]
    >>> len(players), players[0].name
    (16, 'mine')
    """
    registered = registered_policies()
    known = {name: Contender(name, name) for name in registered}
    known |= {entrant.name: entrant for entrant in (*VARIANTS, *SURE, *CLASSICAL)}
    if names is None and counted == "evaluations":
        return CLASSICAL if classical else SURE
    if names is None:
        stopping = {name for name, cls in built_in_policies().items() if not cls.spends_all}
        return (*(known[name] for name in registered if name not in stopping), *VARIANTS)
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
    def per_replication(self) -> Floats:
        """(n,) mean over the problems, which share their noise: these are independent."""
        return np.asarray(self.cost.mean(axis=0))

    @property
    def mean(self) -> float:
        """Mean cost over problems and replications; NaN for who did not take part."""
        return float(self.cost.mean()) if self.cost.size else np.nan

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        n = self.cost.shape[1]
        return float(self.per_replication.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def moves(self) -> Floats:
        """(n,) cost of a replication over the mean."""
        return self.per_replication / self.mean

    def share(self, marks: NDArray[np.bool_]) -> float:
        """Return how often something was the case; NaN for who did not take part."""
        return float(marks.mean()) if marks.size else np.nan

    @property
    def claims(self) -> bool:
        """Whether it is anybody's rival: who is mostly unsure may stop as early as it likes."""
        if self.refusal is not None:
            return False
        return self.certified is None or float(self.certified.mean()) >= _MOSTLY


def steps(benchmark: Benchmark) -> int:
    """Return how often `measure` says that something is done: once per problem and horizon."""
    return sum(len(i.shape.problems(i.horizon)) for i in benchmark.instances)


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
    seed
        Number all randomness comes from.
    executor
        Who runs it, as for `simulate`.
    store
        A folder that keeps the runs, as for `simulate`.
    done
        Told after each of the `steps`.

    Examples
    --------
    >>> import dataclasses
    >>> from evenhand.research.comparison import QUICK
    >>> small = dataclasses.replace(QUICK.only(["skating"]).over([500]), replications=2)
    >>> [outcome.cost.shape for outcome in measure(small, entrants(["uniform"]))]
    [(1, 2)]
    """
    outcomes: list[Outcome] = []
    for instance in benchmark.instances:
        problems = instance.shape.problems(instance.horizon)
        players = [c.with_options(value_bound=instance.shape.value_bound) for c in contenders]
        refusals = {
            player.name: _refusal(player, instance, problems, benchmark.counted)
            for player in players
        }
        willing = [player for player in players if refusals[player.name] is None]
        runs: dict[str, list[Runs]] = {entrant.name: [] for entrant in contenders}
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
                for one in results.runs:
                    runs[one.policy].append(one)
            done()
        outcomes += [
            _outcome(
                instance,
                entrant.name,
                runs[entrant.name],
                refusals[entrant.name],
                benchmark.counted,
            )
            for entrant in contenders
        ]
    return tuple(outcomes)


def _outcome(
    instance: Instance, name: str, runs: Sequence[Runs], refusal: str | None, counted: Counted
) -> Outcome:
    none = np.empty((0, 0))
    sure = None
    if counted == "regret":
        cost = [one.final_regret for one in runs] or none
    else:
        cost = [one.spent.astype(np.float64) for one in runs] or none
        sure = np.array([one.loss <= 0.0 for one in runs] or none.astype(bool))
    wrong = [~one.correct for one in runs] or none.astype(bool)
    return Outcome(instance, name, np.array(cost), np.array(wrong), refusal, sure)


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
