"""A real scheduler and real worker processes, some of which die: the rows are those of one machine.

Started by Dask's own commands, on loopback addresses and ports that the system chooses. What needs
workers of its own but for one that is killed is for the night.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client

import evenhand as eh
from asking import assert_same
from evenhand.research.rivals.uniform import Uniform
from evenhand.research.simulation import executors, simulate

PROBLEM = eh.families.random(k=12, d=3, seed=4)
PATIENCE = 240  # seconds for what takes two on a quiet machine

SLOW = """
import os, time
from pathlib import Path
from evenhand.research.rivals.uniform import Uniform

class Slow(Uniform):
    def recommend(self):
        time.sleep(0.05)
        with Path(__file__).with_name("ran").open("a") as file:
            file.write(f"{os.getpid()}\\n")
        return super().recommend()
"""
"""A module of the user's that workers find, for they are started in its folder."""


class Cluster:
    """A scheduler, the workers that were started for it, and a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self._processes: list[subprocess.Popen[bytes]] = []
        # a package of our name that cannot be loaded: a machine without evenhand
        bare = folder / "bare" / "evenhand"
        bare.mkdir(parents=True)
        (bare / "__init__.py").write_text("raise ModuleNotFoundError(\"No module 'evenhand'\")")
        # The scheduler has no evenhand, and needs none.
        self.scheduler = self._start(
            "dask_scheduler", "--port", "0", "--scheduler-file", str(self.file), bare=True
        )
        # the file is there before its text is
        self._wait("a scheduler", lambda: self.file.exists() and self.file.stat().st_size > 0)
        self.address: str = json.loads(self.file.read_text())["address"]
        self.client = Client(self.address, timeout=PATIENCE, set_as_default=False)

    def worker(self, *, bare: bool = False) -> str:
        """Start a worker process, without a nanny that would start it again; return its address."""
        before = set(self.client.nthreads())
        self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", bare=bare)
        self._wait("a worker", lambda: len(self.client.nthreads()) > len(before))
        (address,) = set(self.client.nthreads()) - before
        return address

    def kill(self, worker: str) -> None:
        pids = self.client.run(os.getpid, workers=[worker])
        os.kill(pids[worker], signal.SIGKILL)
        self._wait("the end of a worker", lambda: worker not in self.client.nthreads())

    def close(self) -> None:
        try:
            self.client.close()
        finally:
            for process in self._processes:
                process.kill()
                process.wait()

    def _start(self, command: str, *arguments: str, bare: bool) -> subprocess.Popen[bytes]:
        call = [sys.executable, "-m", f"distributed.cli.{command}", *arguments]
        call += ["--host", "127.0.0.1", "--no-dashboard"]
        environment = dict(os.environ)
        if bare:
            environment["PYTHONPATH"] = str(self.folder / "bare")
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                call, env=environment, cwd=self.folder, stdout=log, stderr=log
            )
        self._processes.append(process)
        return process

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                pytest.fail(
                    f"waited {PATIENCE} s for {what}. By hand: `python -m distributed.cli."
                    "dask_scheduler` and `python -m distributed.cli.dask_worker ADDRESS`, after "
                    f"`make setup`. They said: {(self.folder / 'log').read_text()[-2000:]}"
                )
            time.sleep(0.02)


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("cluster")) as made:
        made.worker()
        yield made


def slow(log: Path) -> type[Uniform]:
    """A policy that only this function knows, as in a notebook; it notes the process it runs in."""

    class Slow(Uniform):
        def recommend(self) -> eh.Decision:
            time.sleep(0.05)
            with log.open("a") as file:
                file.write(f"{os.getpid()}\n")
            return super().recommend()

    return Slow


def pids(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def test_a_worker_that_is_killed_changes_no_bit(
    running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (running.folder / "slow_policy.py").write_text(SLOW)
    monkeypatch.syspath_prepend(running.folder)
    one, two = (running.worker() for _ in range(2))
    log, path = running.folder / "ran", tmp_path / "runs"
    source = importlib.import_module("slow_policy").Slow
    policies = {"slow": source, "priced": "priced-exploration"}
    arguments = (PROBLEM, policies, [200, 5000], 24)
    executor = running.client.get_executor(workers=[one, two])
    victim = running.client.run(os.getpid, workers=[two])[two]
    with ThreadPoolExecutor(1) as background:
        future = background.submit(
            simulate, *arguments, executor=executor, piece_size=3, store=path
        )
        running._wait(
            "both workers and the store",
            lambda: (
                future.done()
                or (len(set(pids(log))) == 2 and len(list(path.glob("[!.]*.parquet"))) >= 2)
            ),
        )
        # rows are in the store, and others are still to come
        assert not future.done(), future.result()
        os.kill(victim, signal.SIGKILL)
        before = len(pids(log))
        results = future.result(timeout=PATIENCE)
    after = pids(log)[before + 1 :]  # one more line may have been on its way
    assert after
    assert victim not in after
    assert_same(results, simulate(*arguments))
    assert_same(results, simulate(*arguments, store=path))
    running.kill(one)


@pytest.mark.nightly
def test_a_worker_without_evenhand_says_what_to_install(running: Cluster) -> None:
    bare = running.worker(bare=True)
    try:
        executor = running.client.get_executor(workers=[bare])
        with pytest.raises(eh.InputError, match=r"No module 'evenhand'.*Install evenhand \d"):
            simulate(PROBLEM, "uniform", 100, 20, executor=executor)
        assert bare in running.client.nthreads()  # it lives, and says so again
    finally:
        running.kill(bare)


def test_a_worker_with_other_versions_is_refused(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = executors._versions()
    monkeypatch.setattr(executors, "_versions", lambda: ours | {"numpy": "1.0"})
    with pytest.raises(
        eh.InputError,
        match=r"a worker .* has .*numpy [2-9].*, and this process .*"
        r"numpy 1\.0.*Install the same",
    ):
        simulate(PROBLEM, "uniform", 100, 20, executor=running.client.get_executor())


def test_what_a_policy_raises_arrives_as_it_was(running: Cluster) -> None:
    class Fails(Uniform):
        def recommend(self) -> eh.Decision:
            raise ZeroDivisionError("on the worker")

    with pytest.raises(ZeroDivisionError, match="on the worker"):
        simulate(PROBLEM, {"fails": Fails}, 100, 20, executor=running.client.get_executor())


@pytest.mark.nightly
def test_a_scheduler_that_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "log-of-runs"
    with started(tmp_path) as own:
        own.worker()
        executor = own.client.get_executor()
        with ThreadPoolExecutor(1) as background:
            future = background.submit(
                simulate, PROBLEM, {"slow": slow(log)}, 100, 100, executor=executor
            )
            own._wait("the first rows", lambda: bool(pids(log)))
            own.scheduler.kill()
            with pytest.raises(eh.EvenhandError, match=r"the cluster was lost.*run this again"):
                future.result(timeout=PATIENCE)
