"""Many processes on one campaign at once: who gets what, and how long an ask takes.

    python tests/crowd.py --processes 16 --evaluations 1600

Everybody may answer every question, nobody rests, and all ask for the same tickets: there is no
harder case. Prints a line for each store; the exit code is 1 if a ticket went out twice at a time,
an evaluation was lost or doubled, or somebody got nothing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

import evenhand as eh
from campaign_record import Record
from evenhand.campaigns.stores import open_store
from postgres_server import some_server

STORES = ("sqlite", "postgres")


@dataclass(frozen=True)
class Crowd:
    """What became of a campaign that many worked on."""

    seconds: float
    asks: list[list[float]]  # by process, seconds that each ask took
    told: dict[int, list[int]]  # by process, the evaluations that were acknowledged
    record: Record

    def complaints(self) -> list[str]:
        """Return what is wrong."""
        wrong = self.record.complaints()
        acknowledged = [n for numbers in self.told.values() for n in numbers]
        if sorted(acknowledged) != [row["number"] for row in self.record.evaluations]:
            wrong.append("what was acknowledged is not what is in the store")
        if self.record.row["status"] != "finished":
            wrong.append(f"the campaign is {self.record.row['status']}")
        idle = [process for process, numbers in self.told.items() if not numbers]
        if idle:
            wrong.append(f"processes {idle} got nothing")
        return wrong

    def __str__(self) -> str:
        p50, p99, most = np.quantile(np.concatenate(self.asks), [0.5, 0.99, 1.0])
        later = np.quantile(np.concatenate([own[1:] for own in self.asks]), 0.99)
        shares = [len(numbers) for numbers in self.told.values()]
        return (
            f"{sum(shares) / self.seconds:.0f} evaluations a second; an ask takes {p50:.3f} s, "
            f"p99 {p99:.3f} s ({later:.3f} s after the first of each process, which loads the "
            f"campaign), at most {most:.3f} s; shares from {min(shares)} to {max(shares)}"
        )


def crowd(address: str, folder: Path, processes: int, evaluations: int) -> Crowd:
    """Have processes ask and tell until a campaign of so many evaluations is finished."""
    options = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.2, 0.9]], list("abab"))
    policy = eh.PricedExploration(options, horizon=evaluations, noise_scale=1.0)
    eh.Campaign.create(address, "crowd", options, policy=policy, lease=600.0).close()
    began = time.monotonic()
    together = multiprocessing.Barrier(processes)
    pids = [_start(address, folder, process, together) for process in range(processes)]
    _wait_for_all(pids)
    seconds = time.monotonic() - began
    asks, told = [], {}
    for process in range(processes):
        left = json.loads((folder / f"{process}.json").read_text())
        asks.append(left["asks"])
        told[process] = left["told"]
    with open_store(address) as store:
        return Crowd(seconds, asks, told, Record(store, "crowd"))


def _start(address: str, folder: Path, process: int, together: Barrier) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        left = json.dumps(_work(address, process, together))
        (folder / f"{process}.json").write_text(left)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _wait_for_all(pids: list[int]) -> None:
    """Wait until all have ended well; if one has not, end the others."""
    left = set(pids)
    while left:
        pid, status = os.wait()
        left.discard(pid)
        if status != 0:
            for other in left:
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
            raise RuntimeError("a process failed; see above")


def _work(address: str, process: int, together: Barrier) -> dict[str, list[float]]:
    rng = np.random.default_rng(process)
    campaign = eh.Campaign.open(address, "crowd")
    asks, told = [], []
    together.wait()  # if one fails before, the others are ended by their parent
    while True:
        start = time.monotonic()
        ticket = campaign.ask(f"process {process}")
        asks.append(time.monotonic() - start)
        if ticket:
            told.append(campaign.tell(ticket, rng.normal()).evaluation)
        elif ticket.reason == "finished":
            campaign.close()
            return {"asks": asks, "told": told}
        else:
            time.sleep(0.01)


@contextmanager
def place(store: str, folder: Path) -> Iterator[str]:
    """Give a new store."""
    if store == "sqlite":
        yield str(folder / "crowd.db")
    else:
        with some_server() as server:
            yield server.fresh()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--evaluations", type=int, default=1600)
    parser.add_argument("--store", choices=STORES, action="append")
    asked = parser.parse_args(argv)
    wrong = 0
    for store in asked.store or STORES:
        with (
            tempfile.TemporaryDirectory(prefix="evenhand-crowd-") as folder,
            place(store, Path(folder)) as address,
        ):
            seen = crowd(address, Path(folder), asked.processes, asked.evaluations)
        print(f"{store}, {asked.processes} processes: {seen}", flush=True)
        for text in seen.complaints():
            wrong += 1
            print(f"  ! {text}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
