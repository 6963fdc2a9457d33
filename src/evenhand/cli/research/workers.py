"""What commands that simulate share: names of policies, and who does the work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

from evenhand.research.simulation.executors import end_with_parent, processors

POLICIES = (
    "priced-exploration, fair-phased-elimination, explore-then-commit, ids, ids-directed, "
    "thompson-sampling, oful-debiased, oful, phased-elimination, uniform, "
    "oracle; careful-choice, certain-choice, planned-choice, lingape, track-and-stop, "
    "lingame, rage, top-two, which stop when they are sure"
)
"""The policies that come with the package, for help texts: the ones to use first."""


@contextmanager
def worker_pool(workers: int | None) -> Iterator[Executor]:
    """Give an executor with so many workers; one per processor if not given."""
    workers = processors() if workers is None else workers
    if workers == 1:
        with ThreadPoolExecutor(1) as thread:
            yield thread
    else:
        with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
            yield pool
