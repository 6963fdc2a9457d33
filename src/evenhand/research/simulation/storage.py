"""Runs on disk: nothing is lost when a simulation is killed, and nothing is counted twice.

`runs.parquet` holds finished runs, a row each. While a simulation works, every piece that is done
becomes a file of its own in `runs.parquet.parts/`; at the end all are put together and the folder
goes. A file has its name only once it is complete and on the disk (`write_atomically`). Runs are
told apart by policy, horizon and replication: after a kill at the very end the same run may stand
in two files, and counts once.

Every file says what its runs are of: problem, seed, policies, checkpoints, and the code that each
policy stood on (`source_code`). Runs of something else are never mixed in. And every file is
sealed: its last words are the SHA-256 of all its bytes, taken with zeros where the seal itself
stands. The seal is checked before anything is read, so no bit that turned on the disk becomes a
number.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InputError
from evenhand.files import sync_folder, write_atomically
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation.experiment import Contender, Experiment
from evenhand.research.simulation.results import OUTCOMES, Runs
from evenhand.research.simulation.source_code import changed, fingerprints

if TYPE_CHECKING:
    import pyarrow as pa

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# pyarrow is imported where it is used: most simulations keep nothing, and it takes long to load.

_IDENTITY = "evenhand.simulation"
_SEAL = "evenhand.seal"
_SEALED = b"SHA-256 of this file with zeros here: "
_MAGIC = b"PAR1"  # how every Parquet file begins and ends
_WORDS = {
    "problem": "another problem",
    "seed": "another seed",
    "checkpoints": "other checkpoints",
    "parallel": "other evaluators",
    "outcomes": "other outcomes",
}


class RunStore:
    """A Parquet file of runs that a simulation adds to, piece by piece; `RunStore.opened` lets only
    one process at a time have it.
    """

    def __init__(self, path: Path, experiment: Experiment, *, rerun: bool = False) -> None:
        self._path = path
        self._rerun = rerun  # forget runs of other code, and let them be run again
        self._parts = path.with_name(path.name + ".parts")
        self._identity = identity(experiment)
        self._asked: dict[str, dict[str, str]] = dict(self._identity["code"])
        self._merged: list[Path] = []
        self._runs: dict[tuple[str, int], list[Runs]] = defaultdict(list)
        self._added = 0

    @classmethod
    @contextmanager
    def opened(
        cls, path: str | os.PathLike[str], experiment: Experiment, *, rerun: bool = False
    ) -> Iterator[Self]:
        """Open a store, new or not; on leaving without an error, put its parts together."""
        if not Path(path).name:
            raise InputError(f"store={str(path)!r} has no name; give the name of a file.")
        store = cls(Path(path).resolve(), experiment, rerun=rerun)  # a link stays one
        folder = store._path.parent
        try:
            if not folder.is_dir():
                raise InputError(
                    f"store={str(path)!r}: there is no folder {str(folder)!r}; make it."
                )
            if store._path.is_dir():
                raise InputError(f"store={str(path)!r} is a folder; give the name of a file.")
        except OSError as error:  # a name that no file can have
            raise InputError(
                f"store={str(path)!r} cannot be a file: {error.strerror or error}; choose another."
            ) from None
        with _only_one(store._parts, path):
            store._load()
            yield store
            store._put_together()

    def runs(self, policy: str, horizon: int) -> list[Runs]:
        """Return what there is of one policy and horizon."""
        return list(self._runs[policy, horizon])

    def add(self, runs: Runs) -> None:
        """Keep runs: when this returns they are on the disk."""
        name = f"{self._added:06d}-{os.getpid()}-{os.urandom(4).hex()}.parquet"
        part = self._write(name, [runs])
        self._added += 1
        self._runs[runs.policy, runs.horizon].append(runs)
        self._merged.append(part)

    def _load(self) -> None:
        for draft in self._parts.glob(".*"):  # a kill left it
            draft.unlink()
        parts = sorted(self._parts.glob("*.parquet"))
        for path in ([self._path] if self._path.exists() else []) + parts:
            for runs in self._read(path):
                self._runs[runs.policy, runs.horizon].append(runs)
        self._merged = parts

    def _put_together(self) -> None:
        """Put all runs into one part, give it the name of the file, and drop the other parts."""
        if not self._merged:
            return
        whole = [Runs.merged(pieces) for pieces in self._runs.values() if pieces]
        part = self._write("whole.parquet", whole)
        try:
            part.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            raise InputError(
                f"the runs cannot be written to {str(self._path)!r}: {error.strerror or error}. "
                f"They are kept in {str(self._parts)!r}, for the next time."
            ) from error
        for part in self._merged:
            part.unlink()
        self._merged.clear()

    def _read(self, path: Path) -> Iterator[Runs]:
        import pyarrow.parquet as pq  # noqa: PLC0415

        content = path.read_bytes()
        _refuse_damaged(content, path)
        with pq.ParquetFile(io.BytesIO(content)) as file:
            found = json.loads(file.metadata.metadata[_IDENTITY.encode()])
            self._refuse_others(found, path)
            outdated = self._outdated(found, path)
            for key in ("policies", "code"):
                self._identity[key] = found.get(key, {}) | self._identity[key]
            yield from (runs for runs in _runs(file.read()) if runs.policy not in outdated)

    def _outdated(self, found: dict[str, Any], path: Path) -> set[str]:
        """Return the policies whose runs are of other code; refuse, unless these are run again."""
        then = found.get("code", {})
        known = {name: code for name, code in self._asked.items() if name in found["policies"]}
        parts = {name: changed(then.get(name, {}), code) for name, code in known.items()}
        outdated = [name for name in parts if parts[name]]
        if outdated and not self._rerun:
            name = outdated[0]
            more = f" (and of {len(outdated) - 1} more)" if len(outdated) > 1 else ""
            raise InputError(
                f"{str(path)!r} holds runs of policy {name!r}{more} by other code. Changed since: "
                f"{', '.join(parts[name])}. Say rerun=True (--rerun) to have such runs run again, "
                "give the policy another name to keep both, or choose another file."
            )
        return set(outdated)

    def _refuse_others(self, found: dict[str, Any], path: Path) -> None:
        for key, words in _WORDS.items():
            kept = found.get(key, "unknown")
            if kept != self._identity[key]:
                detail = (
                    ""
                    if key in ("problem", "checkpoints")
                    else f" ({kept}, not {self._identity[key]})"
                )
                raise InputError(
                    f"{str(path)!r} holds runs of {words}{detail}; choose another file for these, "
                    "or delete that one."
                )
        for name, description in self._identity["policies"].items():
            if found["policies"].get(name, description) != description:
                raise InputError(
                    f"{str(path)!r} holds runs of another policy by the name {name!r}: "
                    f"{found['policies'][name]}, not {description}. Give this one another name, "
                    "or choose another file."
                )

    def _write(self, name: str, pieces: Sequence[Runs]) -> Path:
        """Write runs to a part that is complete on the disk before it has its name."""
        content = _sealed(pieces, json.dumps(self._identity, sort_keys=True))
        part = self._parts / name
        with write_atomically(part, "the runs") as draft:
            draft.write_bytes(content)
        return part


def identity(experiment: Experiment) -> dict[str, Any]:
    """Return what tells runs of this experiment from others, as JSON would have it."""
    parallel = experiment.parallel
    return {
        "problem": problem_digest(experiment.problem),
        "seed": experiment.seed,
        "checkpoints": None if experiment.checkpoints is None else list(experiment.checkpoints),
        "parallel": "none in parallel" if parallel is None else parallel.words,
        "outcomes": ", ".join(OUTCOMES),
        "policies": {contender.name: described(contender) for contender in experiment.contenders},
        "code": {one.name: fingerprints(one.parts) for one in experiment.contenders},
    }


def problem_digest(problem: BiasedLinearBandit) -> str:
    """Return a fingerprint of all numbers that runs depend on; names do not count."""
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


def described(contender: Contender) -> str:
    """Say what a policy is made of, the same in every process."""
    source, options = contender.source, dict(contender.options)
    try:
        words = source if isinstance(source, str) else _words(source)
        return f"{words}({_options(options)})" if options else words
    except TypeError as error:
        raise InputError(
            f"policy {contender.name!r} cannot be recognised again, so its runs cannot be stored "
            f"({error}). Use a registered name, a function or class at the top of a module, or "
            "functools.partial of one with plain values."
        ) from None


def _options(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_words(part)}" for name, part in sorted(options.items()))


def _words(value: object) -> str:
    if isinstance(value, functools.partial):
        options = [*map(_words, value.args), _options(value.keywords)]
        return f"{_words(value.func)}({', '.join(filter(None, options))})"
    if callable(value) and not isinstance(value, MethodType):
        name = getattr(value, "__qualname__", "")
        if not name or "<" in name:
            raise TypeError(f"{value!r} has no name that another process could find")
        return f"{value.__module__}.{name}"
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array({value.dtype.str}, {value.shape}, {digest})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, list | tuple):
        return f"[{', '.join(_words(part) for part in value)}]"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise TypeError(f"{value!r} is not a plain value")


def _sealed(pieces: Sequence[Runs], identity: str) -> bytes:
    """Return the bytes of a file of runs, with its seal."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.concat_tables([_table_of(runs) for runs in pieces])
    file = io.BytesIO()
    with pq.ParquetWriter(file, table.schema, write_page_checksum=True) as writer:
        writer.write_table(table)
        blank = _SEALED.decode() + "0" * 64
        writer.add_key_value_metadata({_IDENTITY: identity, _SEAL: blank})
    content = bytearray(file.getvalue())
    at = content.rindex(_SEALED) + len(_SEALED)
    content[at : at + 64] = hashlib.sha256(content).hexdigest().encode()
    return bytes(content)


def _refuse_damaged(content: bytes, path: Path) -> None:
    """Say what is wrong with a file, unless its seal is whole."""
    at = content.rfind(_SEALED) + len(_SEALED)
    if _MAGIC.startswith(content[:4]) and not content[4:].endswith(_MAGIC):
        fault = f"it ends in the middle, after {len(content):,} bytes"
    elif at >= len(_SEALED):
        blank = content[:at] + b"0" * 64 + content[at + 64 :]
        if content[at : at + 64] == hashlib.sha256(blank).hexdigest().encode():
            return
        fault = "its content does not match its seal, so a bit of it turned or somebody changed it"
    elif _IDENTITY.encode() in content:
        fault = "it has no seal"
    else:
        raise InputError(
            f"{str(path)!r} was not written by simulate, so runs cannot be added to it; choose "
            "another file."
        )
    raise InputError(
        f"{str(path)!r} is damaged: {fault}. Put a copy back, or delete it: then its runs are run "
        "again."
    )


def _table_of(runs: Runs) -> pa.Table:
    """Return runs as a table, a row each; curves are lists."""
    import pyarrow as pa  # noqa: PLC0415

    n, c = runs.regret.shape
    offsets = pa.array(np.arange(0, (n + 1) * c, c, dtype=np.int32))
    columns: dict[str, Any] = {
        "policy": pa.array([runs.policy] * n, pa.string()),
        "horizon": np.full(n, runs.horizon, dtype=np.int64),
        "regret": runs.final_regret,
    }
    columns |= {name: getattr(runs, name) for name in OUTCOMES}
    columns |= {
        "checkpoints": pa.ListArray.from_arrays(offsets, pa.array(np.tile(runs.checkpoint, n))),
        "regrets": pa.ListArray.from_arrays(offsets, pa.array(runs.regret.ravel())),
    }
    return pa.table(columns)


def _runs(table: pa.Table) -> Iterator[Runs]:
    """Yield the runs in a table, one `Runs` per policy and horizon."""
    policy = np.asarray(table["policy"].to_pylist(), dtype=object)
    horizon: NDArray[np.int64] = table["horizon"].to_numpy()
    for name, end in dict.fromkeys(zip(policy.tolist(), horizon.tolist(), strict=True)):
        own = table.take(np.flatnonzero((policy == name) & (horizon == end)))
        n = len(own)
        yield Runs(
            policy=name,
            horizon=end,
            checkpoint=_flat(own["checkpoints"]).reshape(n, -1)[0].copy(),
            regret=_flat(own["regrets"]).reshape(n, -1),
            **{column: own[column].to_numpy() for column in OUTCOMES},
        )


def _flat(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.combine_chunks().flatten())


_HELD: set[tuple[int, Path]] = set()
"""The folders that this process holds, with its number: a fork holds nothing."""
_HOLDING = threading.Lock()


@contextmanager
def _only_one(folder: Path, path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a folder for one thread; the system lets go of it when the process is killed.

    Between processes it is a lock of the process, not of the open file: workers inherit files, and
    may live longer. Such a lock says nothing to other threads, so these are told by `_HELD`.
    """
    mine = os.getpid(), folder.resolve()
    with _HOLDING:
        if mine in _HELD:
            raise InputError(
                f"another thread is adding runs to {str(path)!r}; wait for it, or choose another "
                "file."
            )
        _HELD.add(mine)
    try:
        descriptor = _locked(folder, path)
        try:
            yield
        finally:
            # while the lock is held; a folder that still has parts stays for the next time
            if not any(folder.glob("*.parquet")):
                (folder / "lock").unlink()
                folder.rmdir()
            os.close(descriptor)
    finally:
        with _HOLDING:
            _HELD.discard(mine)


def _locked(folder: Path, path: str | os.PathLike[str]) -> int:
    while True:
        try:
            folder.mkdir(exist_ok=True)
            descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # another process has just finished and removed the folder
            continue
        except OSError as error:
            raise InputError(
                f"runs cannot be written to {str(path)!r}: {error.strerror or error}; choose "
                "another place."
            ) from None
        try:
            if sys.platform == "win32":
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise InputError(
                f"another process is adding runs to {str(path)!r}; wait for it, or choose another "
                "file."
            ) from None
        try:
            if os.path.samestat(os.fstat(descriptor), os.stat(folder / "lock")):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # a lock on a file that is gone guards nothing
