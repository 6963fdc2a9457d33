"""`simulate`: run policies on a problem many times and measure their regret."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager

import numpy as np

from evenhand.arrays import whole_number
from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.policies.registry import policy_class
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation.executors import pieces_of, run_pieces
from evenhand.research.simulation.experiment import Contender, Experiment, Factory, Piece
from evenhand.research.simulation.results import Results, Runs
from evenhand.research.simulation.storage import RunStore

Entry = str | type[Policy] | tuple[str, str | Factory] | Contender
Policies = str | type[Policy] | Iterable[Entry] | Mapping[str, str | Factory]

_LONGEST_HORIZON = 2**62  # counts are 64-bit
_MOST_RUNS = 10**9  # of a policy and horizon: 100 GB of results


def simulate(
    problem: BiasedLinearBandit,
    policies: Policies,
    horizon: int | Sequence[int],
    replications: int = 100,
    seed: int = 0,
    executor: Executor | None = None,
    *,
    checkpoints: Sequence[int] | None = None,
    piece_size: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Results:
    """Run policies on a problem, many times each, and measure what they lose.

    Replication i of every policy and horizon sees the same noise, which depends on ``seed`` and i
    only. Results are the same to the last bit whoever runs them, and however many at once.

    Parameters
    ----------
    problem
        The truth.
    policies
        Registered names and classes; or your own names with what makes the policy: a name, a class,
        one with settings such as ``functools.partial(eh.FairPhasedElimination,
        delta=0.01)``, or a function of ``(actions, horizon, seed=…)``. Pairs or a dict. Policies
        are told of the problem what their class says (``told``: the noise scale, and more for an
        oracle), unless the partial says otherwise; your own functions choose. A policy that may
        stop before the horizon says ``spends_all = False``; it loses nothing after it has stopped.
    horizon
        Number of evaluations of a run, or several such numbers.
    replications
        Runs per policy and horizon.
    seed
        Number that all randomness derives from.
    executor
        Any `concurrent.futures.Executor`, such as ``client.get_executor()`` of a Dask cluster;
        processes on all processors if not given (or this process, where there is little to do).
    checkpoints
        Numbers of evaluations at which the regret is kept; ten per decade if not given. The
        horizon is always one.
    piece_size
        Most replications that a worker takes at a time.
    store
        A folder that keeps the runs, in a Parquet file per problem, policy, horizon and seed. What
        it holds already is not run again, so a simulation that was killed goes on where it was,
        and one with more replications, horizons or policies only adds what is missing. Where the
        file that a policy is written in has changed since, its runs are run again.
    progress
        Whether to show a progress bar; if not given, when the error stream is a terminal.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, -1])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.2], omega=0.3)
    >>> results = simulate(problem, ["fair-phased-elimination", "uniform"], 10**12, 5)
    >>> results.summary()[["policy", "horizon", "n"]]
                        policy        horizon  n
    0  fair-phased-elimination  1000000000000  5
    1                  uniform  1000000000000  5
    """
    experiment = Experiment(
        problem,
        contenders(policies),
        whole_number("seed", seed, 0, 2**128),
        None
        if checkpoints is None
        else tuple(
            sorted({whole_number("checkpoints", t, 1, _LONGEST_HORIZON) for t in checkpoints})
        ),
    )
    horizons = _horizons(horizon)
    n = whole_number("replications", replications, 1, _MOST_RUNS)
    if piece_size is not None:
        piece_size = whole_number("piece_size", piece_size, 1, _MOST_RUNS)
    _refuse_what_cannot_start(experiment, horizons)
    wanted = [Piece(c, T, 0, n) for c in range(len(experiment.contenders)) for T in horizons]

    kept = None if store is None else RunStore(store, experiment)
    done: dict[tuple[str, int], list[Runs]] = {
        _key(experiment, piece): [] if kept is None else kept.runs(*_key(experiment, piece))
        for piece in wanted
    }
    missing = [part for piece in wanted for part in _missing(piece, done[_key(experiment, piece)])]
    pieces = pieces_of(missing, executor, piece_size)
    n_wanted = n * len(wanted)
    n_missing = sum(len(piece) for piece in pieces)
    with (
        closing(run_pieces(experiment, pieces, executor)) as finished,
        _progress_bar(progress, n_wanted, n_wanted - n_missing) as advance,
    ):
        for runs in finished:
            if kept is not None:
                kept.add(runs)
            done[runs.policy, runs.horizon].append(runs)
            advance(len(runs))
    if kept is not None:
        for key, some in done.items():
            kept.put_together(*key, some)
    merged = (Runs.merged(done[_key(experiment, piece)]) for piece in wanted)
    asked = tuple(runs.take(np.flatnonzero(runs.replication < n)) for runs in merged)
    return Results(problem, asked, experiment.seed)


def _key(experiment: Experiment, piece: Piece) -> tuple[str, int]:
    return experiment.contenders[piece.contender].name, piece.horizon


def _missing(piece: Piece, done: Iterable[Runs]) -> Iterator[Piece]:
    """Yield the stretches of a piece that have not been run."""
    open_ = np.ones(piece.last, dtype=bool)
    for runs in done:
        open_[runs.replication[runs.replication < piece.last]] = False
    edges = np.flatnonzero(np.diff(open_, prepend=False, append=False))
    for first, last in edges.reshape(-1, 2).tolist():
        yield Piece(piece.contender, piece.horizon, first, last)


def contenders(policies: Policies) -> tuple[Contender, ...]:
    """Return who plays, given by registered names, classes, pairs or a dict; refuse who cannot."""
    if isinstance(policies, str | type):
        policies = [policies]
    found: dict[str, Contender] = {}
    for entry in policies.items() if isinstance(policies, Mapping) else policies:
        if isinstance(entry, Contender):
            one = entry
        elif isinstance(entry, str):
            one = Contender(entry, entry)
        elif isinstance(entry, type) and issubclass(entry, Policy):
            one = Contender(entry.name, entry)
        elif isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
            one = Contender(*entry)
        else:
            raise InputError(
                "a policy is a registered name, a class or a pair (name, function), such as "
                f"('mine', MyPolicy); got {entry!r}."
            )
        if isinstance(one.source, str):
            policy_class(one.source)  # says which names there are
        elif not callable(one.source):
            raise InputError(
                f"policy {one.name!r} must be made by a registered name or a function of "
                f"(actions, horizon, seed=…); got {one.source!r}."
            )
        if one.name in found:
            raise InputError(
                f"two policies are called {one.name!r}; give pairs (name, function) with names of "
                "their own."
            )
        found[one.name] = one
    if not found:
        raise InputError("no policies to play; name at least one.")
    return tuple(found.values())


def _horizons(horizon: int | Sequence[int]) -> list[int]:
    given = np.atleast_1d(np.asarray(horizon, dtype=object)).tolist()
    horizons = [whole_number("horizon", T, 1, _LONGEST_HORIZON) for T in given]
    if not horizons:
        raise InputError("no horizon to simulate; give at least one.")
    for T in horizons:
        if horizons.count(T) > 1:
            raise InputError(f"horizon {T} is given {horizons.count(T)} times; give it once.")
    return horizons


def _refuse_what_cannot_start(experiment: Experiment, horizons: Sequence[int]) -> None:
    """Make every policy once, so that what it refuses is said here and not by a worker."""
    for contender in range(len(experiment.contenders)):
        for horizon in horizons:
            experiment.policy(contender, horizon, replication=0)


@contextmanager
def _progress_bar(show: bool | None, total: int, done: int) -> Iterator[Callable[[int], None]]:
    """Give a function that tells a bar how many runs more are done."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda n: None
        return
    from rich import progress  # noqa: PLC0415 # only who looks has to wait for it
    from rich.console import Console  # noqa: PLC0415

    columns = (progress.MofNCompleteColumn(), "runs", progress.TimeRemainingColumn())
    with progress.Progress(
        "simulating",
        progress.BarColumn(),
        *columns,
        console=Console(stderr=True),
        auto_refresh=False,  # a thread of its own would be copied into forked workers
    ) as bar:
        task = bar.add_task("", total=total, completed=done)
        bar.refresh()
        yield lambda n: bar.update(task, advance=n, refresh=True)
