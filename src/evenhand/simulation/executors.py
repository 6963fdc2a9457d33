"""Who runs the pieces of an experiment: this process, a pool of processes, or any executor.

An experiment is pickled once and unpacked once per worker process. So all runs of a worker share
one set of options, and with it what policies cache about it.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from functools import cached_property
from typing import Any

from evenhand.errors import InputError
from evenhand.simulation.experiment import Experiment, Piece
from evenhand.simulation.results import Runs

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
    """Run the pieces and yield their runs as they are done.

    Without an executor: in this process if there is little to do or only one processor, else in
    a pool of processes, one per processor.
    """
    if executor is not None:
        yield from _run_in(executor, _Shared(experiment), pieces)
        return
    workers = _workers(None)
    if workers == 1 or sum(len(piece) for piece in pieces) < _FEW_RUNS:
        yield from map(experiment.run, pieces)
        return
    shared = _Shared(experiment)
    shared.refuse_what_cannot_be_sent()
    with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
        yield from _run_in(pool, shared, pieces)


def _run_in(
    executor: Executor, shared: _Shared, pieces: Sequence[Piece]
) -> Generator[Runs, None, None]:
    futures: list[Future[Runs]] = [executor.submit(_run, shared, piece) for piece in pieces]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _run(shared: _Shared, piece: Piece) -> Runs:
    return shared.experiment.run(piece)


def _workers(executor: Executor | None) -> int:
    """How many pieces run at once; executors do not have to say."""
    if executor is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return int(getattr(executor, "_max_workers", None) or _workers(None))


class _Shared:
    """An experiment that is pickled once, however many pieces of it are sent."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @cached_property
    def _packed(self) -> tuple[bytes, bytes]:
        content = pickle.dumps(self.experiment, protocol=pickle.HIGHEST_PROTOCOL)
        return hashlib.sha256(content).digest(), content

    def refuse_what_cannot_be_sent(self) -> None:
        """Raise `InputError` if a policy cannot be made in another process."""
        for contender in self.experiment.contenders:
            try:
                pickle.dumps(contender)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InputError(
                    f"policy {contender.name!r} cannot be sent to other processes ({error}). "
                    "Define its function at the top of a module, or give "
                    "executor=concurrent.futures.ThreadPoolExecutor()."
                ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, self._packed


_LATEST: dict[bytes, _Shared] = {}


def _unpacked(digest: bytes, content: bytes) -> _Shared:
    """Unpack an experiment, or find the one that is unpacked already."""
    shared = _LATEST.get(digest)
    if shared is None:
        _LATEST.clear()
        shared = _LATEST[digest] = _Shared(pickle.loads(content))
    return shared


def end_with_parent() -> None:
    """Make a worker end when its parent is killed; it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
