"""What commands that simulate share: names of policies, and who does the work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

from evenhand.errors import InputError
from evenhand.research.simulation.cluster import cluster_executor
from evenhand.research.simulation.executors import end_with_parent

POLICIES = (
    "priced-exploration, fair-phased-elimination, explore-then-commit, ids, ids-directed, "
    "thompson-sampling, oful-debiased, oful-evaluation, oful, phased-elimination, uniform, "
    "oracle; careful-choice, certain-choice, planned-choice, lingape, track-and-stop, "
    "frank-wolfe-sampling, lingame, peps, rage, top-two, which stop when they are sure"
)
"""The policies that come with the package, for help texts: the ones to use first."""


def processors() -> int:
    """Return how many processors there are for this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def worker_pool(
    workers: int | None, cluster: str | None = None, default: int | None = None
) -> Iterator[Executor | None]:
    """Give an executor with so many workers, or a cluster's; None for all processors."""
    if cluster is not None:
        if workers is not None:
            raise InputError(
                "--workers starts processes here, and --dask runs on those that are running "
                "there; give one of the two."
            )
        with cluster_executor(cluster) as executor:
            yield executor
        return
    workers = default if workers is None else workers
    if workers is None:
        yield None
    elif workers == 1:
        with ThreadPoolExecutor(1) as thread:
            yield thread
    else:
        with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
            yield pool
