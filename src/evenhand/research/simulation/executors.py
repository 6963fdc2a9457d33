"""Who runs the pieces of an experiment: this process, a pool of processes, any executor.

An experiment is pickled once and unpacked once per worker process. So all runs of a worker share
one set of options, and with it what policies cache about it.

A Dask cluster is sent bytes that are opened inside the task, by the standard library. For a
scheduler opens the tasks that it passes on, and would need all that they are made of; and a worker
that cannot open a task ends without a word, and the next one, until nobody is left and all wait.
Inside the task, what a worker lacks is an error like any other.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from importlib.metadata import version
from typing import Any

from evenhand.errors import EvenhandError, InputError
from evenhand.research.simulation.experiment import Experiment, Piece
from evenhand.research.simulation.results import Runs

_FEW_RUNS = 16  # not worth starting processes for
_PIECES_PER_WORKER = 16  # so that nobody waits long for the last worker
_LARGEST_PIECE = 250  # runs; bounds what a kill can cost


def pieces_of(missing: Sequence[Piece], executor: Executor | None, size: int | None) -> list[Piece]:
    """Cut long pieces into ones of at most ``size`` replications, or a size that suits."""
    if size is None:
        total = sum(len(piece) for piece in missing)
        share = -(-total // (_PIECES_PER_WORKER * _workers(executor)))
        size = max(1, min(share, _LARGEST_PIECE))
    return [
        Piece(piece.contender, piece.horizon, first, min(first + size, piece.last))
        for piece in missing
        for first in range(piece.first, piece.last, size)
    ]


def run_pieces(
    experiment: Experiment, pieces: Sequence[Piece], executor: Executor | None
) -> Generator[Runs, None, None]:
    """Run the pieces and yield their runs as they are done; without an executor, here if there is
    little to do or one processor, else in a pool of processes, one per processor.
    """
    if executor is None:
        if processors() == 1 or sum(len(piece) for piece in pieces) < _FEW_RUNS:
            yield from map(experiment.run, pieces)
            return
        shared = _Shared(experiment)
        shared.refuse_what_cannot_be_sent()
        with ProcessPoolExecutor(processors(), initializer=end_with_parent) as pool:
            yield from _as_they_come([pool.submit(_run, shared, piece) for piece in pieces])
    elif _dask_client(executor) is None:
        shared = _Shared(experiment)
        yield from _as_they_come([executor.submit(_run, shared, piece) for piece in pieces])
    else:
        import cloudpickle  # noqa: PLC0415 # comes with Dask; sends what a notebook defines

        shared = _Shared(experiment, cloudpickle.dumps)
        shared.refuse_what_cannot_be_sent()
        calls = [pickle.dumps(_Call(_versions(), shared.packed, piece)) for piece in pieces]
        sent: Any = executor.submit
        with _in_plain_words():
            yield from _as_they_come([sent(pickle.loads, call, pure=False) for call in calls])


def _as_they_come(futures: Sequence[Future[Runs]]) -> Generator[Runs, None, None]:
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def processors() -> int:
    """Return how many processors there are for this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _workers(executor: Executor | None) -> int:
    """How many pieces run at once; executors do not have to say."""
    client = _dask_client(executor)
    if client is not None:
        return sum(client.nthreads().values()) or 1
    return int(getattr(executor, "_max_workers", None) or processors())


def _dask_client(executor: Executor | None) -> Any:
    """Return the client behind a Dask executor; None for any other executor."""
    dask = sys.modules.get("distributed.cfexecutor")  # whoever has such an executor has loaded it
    return executor._client if dask and isinstance(executor, dask.ClientExecutor) else None


class _Shared:
    """An experiment that is pickled once, however many pieces of it are sent."""

    def __init__(self, experiment: Experiment, dumps: Callable[..., bytes] = pickle.dumps) -> None:
        self.experiment = experiment
        self._dumps = dumps

    @cached_property
    def packed(self) -> bytes:
        return self._dumps(self.experiment, protocol=pickle.HIGHEST_PROTOCOL)

    def refuse_what_cannot_be_sent(self) -> None:
        """Raise `InputError` if a policy cannot be made in another process."""
        for contender in self.experiment.contenders:
            try:
                self._dumps(contender)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InputError(
                    f"policy {contender.name!r} cannot be sent to other processes ({error}). "
                    "Define its function at the top of a module, or give "
                    "executor=concurrent.futures.ThreadPoolExecutor()."
                ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.packed,)


@lru_cache(1)
def _unpacked(content: bytes) -> _Shared:
    return _Shared(pickle.loads(content))


def _run(shared: _Shared, piece: Piece) -> Runs:
    return shared.experiment.run(piece)


class _Call:
    """A piece that is run by unpickling it, where versions are the same."""

    def __init__(self, versions: dict[str, str], content: bytes, piece: Piece) -> None:
        self._call = versions, content, piece

    def __reduce__(self) -> tuple[Any, ...]:
        return _run_on_worker, self._call


def _run_on_worker(versions: dict[str, str], content: bytes, piece: Piece) -> Runs:
    if versions != _versions():
        raise InputError(
            f"a worker of the cluster has {_listed(_versions())}, and this process has "
            f"{_listed(versions)}; another version may give other numbers. Install the same on "
            "every worker, and start them again."
        )
    return _run(_unpacked(content), piece)


@cache
def _versions() -> dict[str, str]:
    """Return the versions that the bits of a result may depend on."""
    return {name: version(name) for name in ("evenhand", "numpy", "scipy")}


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


@contextmanager
def _in_plain_words() -> Iterator[None]:
    """Say what went wrong on a cluster, and what to do about it."""
    from distributed import KilledWorker  # noqa: PLC0415 # loaded by whoever has a client

    try:
        yield
    except ImportError as error:
        raise InputError(
            f"a worker of the cluster cannot load what the simulation needs ({error}). Install "
            f"{_listed(_versions())} on every worker, and the modules that your policies come "
            "from (or send those with client.upload_file)."
        ) from error
    except KilledWorker as error:
        raise EvenhandError(
            "a piece of the simulation was given up: every worker that took it died, the last at "
            f"{error.last_worker.address}. Their logs say why; often memory is short: start fewer "
            "workers per machine, or give piece_size=1."
        ) from error
    except CancelledError as error:
        raise EvenhandError(
            "the cluster was lost: its scheduler ended, or the work was cancelled there. Start it "
            "and run this again; with a store, only what is missing is run."
        ) from error


def end_with_parent() -> None:
    """Make a worker end when its parent is killed; it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
