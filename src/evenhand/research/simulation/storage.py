"""Runs on disk: a folder with a Parquet file per problem, policy, horizon and seed.

A file is known by a hash of all that its runs depend on: the problem's numbers, seed, checkpoints,
evenhand's version, and the policy: its arguments and the source file that it is in.
Whatever changes, changes the name, and the runs are run again.

While a simulation works, every piece that is done becomes a file of its own beside it; at the end
they are put together. A replication that stands in two files after a kill counts once. Files have
their names only once they are complete (`write_atomically`), and Parquet's own checksums are
verified when they are read.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.files import make_folder, write_atomically
from evenhand.policies.registry import policy_class
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation.experiment import Contender, Experiment
from evenhand.research.simulation.results import OUTCOMES, Runs

if TYPE_CHECKING:
    import pyarrow as pa  # here and below: most simulations keep nothing, and it is slow to load


class RunStore:
    """The runs of one experiment in a folder, which may hold those of others as well."""

    def __init__(self, folder: str | os.PathLike[str], experiment: Experiment) -> None:
        self._stems: dict[str, tuple[str, str]] = {}  # by policy: what its files are called
        for contender in experiment.contenders:
            words = identity(experiment, contender)
            called = re.sub(r"[^\w.-]+", "-", contender.name)[:60]
            self._stems[contender.name] = called, hashlib.sha256(words.encode()).hexdigest()[:20]
        make_folder(folder)
        self._folder = Path(folder)

    def runs(self, policy: str, horizon: int) -> list[Runs]:
        """Return what there is of one policy and horizon."""
        return [_read(path, policy, horizon) for path in self._files(policy, horizon)]

    def add(self, runs: Runs) -> None:
        """Keep runs: when this returns they are on the disk."""
        first, last = int(runs.replication[0]), int(runs.replication[-1])
        _write(self._path(runs.policy, runs.horizon, f".{first}-{last}"), runs)

    def put_together(self, policy: str, horizon: int, done: list[Runs]) -> None:
        """Make one file of all runs of a policy and horizon."""
        whole = self._path(policy, horizon)
        parts = [path for path in self._files(policy, horizon) if path != whole]
        if parts:
            _write(whole, Runs.merged(done))
            for part in parts:
                part.unlink(missing_ok=True)

    def _path(self, policy: str, horizon: int, part: str = "") -> Path:
        called, key = self._stems[policy]
        return self._folder / f"{called}-{horizon}-{key}{part}.parquet"

    def _files(self, policy: str, horizon: int) -> list[Path]:
        return sorted(self._folder.glob(self._path(policy, horizon, "*").name))


def identity(experiment: Experiment, contender: Contender) -> str:
    """Return all that the runs of a policy depend on, in words that every process finds."""
    source = contender.source
    given = [
        version("evenhand"),
        problem_digest(experiment.problem),
        [experiment.seed, experiment.checkpoints, OUTCOMES],
        policy_class(source) if isinstance(source, str) else source,
        dict(contender.options),
    ]
    try:
        return json.dumps(given, sort_keys=True, default=_plain)
    except (TypeError, OSError) as error:
        raise InputError(
            f"policy {contender.name!r} cannot be recognised again, so its runs cannot be stored "
            f"({error}). Use a registered name, a function or class at the top of a module, or "
            "functools.partial of one with plain values."
        ) from None


def problem_digest(problem: BiasedLinearBandit) -> str:
    """Return a hash of all numbers that runs depend on; names do not count."""
    numbers = [problem.actions.points, problem.gamma, problem.omega, problem.noise_scale]
    if problem.actions is problem.questions:
        asked = problem.questions
        numbers += [asked.options.features, asked.about, asked.evaluator, asked.prices]
        numbers += [asked.capacity, asked.workload, [] if asked.noise is None else asked.noise]
    digest = hashlib.sha256(str(problem.actions.n_features).encode())
    for part in numbers:
        array = np.ascontiguousarray(part, dtype="<f8")
        digest.update(str(array.shape).encode() + array.tobytes())
    return digest.hexdigest()


def _plain(value: object) -> Any:
    """Return an argument by what JSON knows; a class or function with a hash of its file."""
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if not (inspect.isclass(value) or inspect.isfunction(value)) or "<" in value.__qualname__:
        raise TypeError(f"{value!r} has no name that another process could find")
    content = Path(inspect.getsourcefile(value) or "").read_bytes()
    return [value.__module__, value.__qualname__, hashlib.sha256(content).hexdigest()]


def _write(path: Path, runs: Runs) -> None:
    """Write runs to a file, a row each; curves are lists."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    n, c = runs.regret.shape
    offsets = pa.array(np.arange(0, (n + 1) * c, c, dtype=np.int32))
    columns: dict[str, Any] = {
        "policy": pa.array([runs.policy] * n, pa.string()),
        "horizon": np.full(n, runs.horizon, dtype=np.int64),
        "regret": runs.final_regret,
        **{name: getattr(runs, name) for name in OUTCOMES},
        "checkpoints": pa.ListArray.from_arrays(offsets, pa.array(np.tile(runs.checkpoint, n))),
        "regrets": pa.ListArray.from_arrays(offsets, pa.array(runs.regret.ravel())),
    }
    with write_atomically(path, "the runs") as draft:
        pq.write_table(pa.table(columns), draft, write_page_checksum=True)


def _read(path: Path, policy: str, horizon: int) -> Runs:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        n = len(table)
        return Runs(
            policy=policy,
            horizon=horizon,
            checkpoint=_flat(table["checkpoints"]).reshape(n, -1)[0].copy(),
            regret=_flat(table["regrets"]).reshape(n, -1),
            **{column: table[column].to_numpy() for column in OUTCOMES},
        )
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{str(path)!r} is damaged: {error}. Put a copy back, or delete it: then its runs are "
            "run again."
        ) from None


def _flat(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.combine_chunks().flatten())
