"""Whoever runs a simulation, and in whatever pieces, the results are the same to the last bit."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from asking import assert_same
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation import Results, Runs, executors, simulate
from evenhand.research.simulation.executors import pieces_of
from evenhand.research.simulation.experiment import Contender, Experiment, Piece

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1], [0.6, 0.6]], [1, -1, -1, 1])
PROBLEM = BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.7], omega=0.2, noise_scale=0.7)
POLICIES = {
    "paper": "fair-phased-elimination",
    "bold": partial(eh.FairPhasedElimination, delta=0.3, noise_scale=0.7),
    "uniform": "uniform",
}
HORIZONS = [300, 20_000]
REPLICATIONS = 5


class Backwards(Executor):
    """Takes everything and runs it on the way out, the last first, through pickles."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], bytes]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, pickle.dumps((fn, args, kwargs))))
        if len(self._waiting) > 5:
            self.work()
        return future

    def work(self) -> None:
        while self._waiting:
            future, call = self._waiting.pop()
            fn, args, kwargs = pickle.loads(call)
            future.set_result(fn(*args, **kwargs))


def processes(n: int, method: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(n, mp_context=multiprocessing.get_context(method))


EXECUTORS: dict[str, Callable[[], Executor | None]] = {
    "default": lambda: None,
    "one process": partial(processes, 1, "fork"),
    "two processes": partial(processes, 2, "fork"),
    "two fresh processes": partial(processes, 2, "spawn"),
    "three threads": partial(ThreadPoolExecutor, 3),
}


def run(executor: Executor | None = None, **options: Any) -> Results:
    return simulate(PROBLEM, POLICIES, HORIZONS, REPLICATIONS, 5, executor, **options)


@pytest.fixture(scope="module")
def reference() -> Results:
    """One run at a time, in this process, each from a fresh copy of the experiment."""
    runs = []
    for c, (name, source) in enumerate(POLICIES.items()):
        for T in HORIZONS:
            pieces = []
            for i in range(REPLICATIONS):
                contenders = (*[Contender("other", "uniform")] * c, Contender(name, source))
                experiment = Experiment(pickle.loads(pickle.dumps(PROBLEM)), contenders, 5)
                pieces.append(experiment.run(Piece(c, T, i, i + 1)))
            runs.append(Runs.merged(pieces))
    return Results(PROBLEM, tuple(runs), 5)


@pytest.fixture(params=list(EXECUTORS), scope="module")
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    made = EXECUTORS[request.param]()
    yield made
    if made is not None:
        made.shutdown()


@pytest.mark.parametrize("size", [None, 2])
def test_results_are_the_same_to_the_last_bit(
    reference: Results, executor: Executor | None, size: int | None
) -> None:
    assert_same(run(executor, piece_size=size), reference)


def test_the_order_in_which_pieces_end_does_not_matter(reference: Results) -> None:
    executor = Backwards()
    # 18 pieces, so that the executor, which takes six, has none left when the last is handed in
    assert_same(run(executor, piece_size=2), reference)


def test_an_executor_of_the_users_own_stays_open() -> None:
    with ThreadPoolExecutor(1) as executor:
        run(executor)
        assert executor.submit(int, "3").result() == 3


def test_pieces_cover_every_run_once() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        missing = [Piece(c, 10, 0, int(rng.integers(1, 3000))) for c in range(3)]
        size = [None, int(rng.integers(1, 400))][rng.integers(2)]
        pieces = pieces_of(missing, None, size)
        for whole in missing:
            own = [p for p in pieces if p.contender == whole.contender]
            covered = np.concatenate([np.arange(p.first, p.last) for p in own])
            np.testing.assert_array_equal(covered, np.arange(whole.last))
        assert max(len(piece) for piece in pieces) <= (size or 250)


def test_a_worker_unpacks_the_options_once() -> None:
    # what policies cache about a set of options is theirs as long as the set is
    with processes(1, "fork") as executor:
        results = simulate(PROBLEM, [("where", WhereAmI)], 10, 12, executor=executor, piece_size=1)
    assert len(set(results.runs[0].bias.tolist())) == 1


class WhereAmI(eh.Policy):
    """Tells the address of its options as its estimate of the bias."""

    name = "where"

    def play(self) -> Any:
        yield {0: self.horizon}

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(float(id(self.actions)), 0.0, 0.0, 0.5)


def test_what_cannot_be_sent_to_processes_is_said_before_any_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executors, "processors", lambda: 2)
    own = [("mine", lambda actions, horizon, seed: eh.policy("uniform", actions, horizon))]
    with pytest.raises(eh.InputError, match=r"'mine' cannot be sent.*ThreadPoolExecutor"):
        simulate(PROBLEM, own, 100, 40)
    with ThreadPoolExecutor(2) as threads:
        results = simulate(PROBLEM, own, 100, 40, executor=threads)
    assert len(results.runs[0]) == 40
