"""A Dask cluster, found by its address: who runs simulations when one machine is too few."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from evenhand.errors import InputError

_PATIENCE = 5.0  # seconds; an answer takes milliseconds, also from the other side of the world


@contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """Connect to a running cluster, by its scheduler's address or file, and give the executor that
    `simulate` takes.
    """
    where = _scheduler(address)
    try:
        from distributed import Client  # noqa: PLC0415 # optional, and slow to load
    except ImportError as error:
        raise InputError(f'a cluster needs Dask ({error}): pip install "evenhand[dask]".') from None
    try:
        asyncio.run(_greet(where))
        client = Client(where, timeout=_PATIENCE, set_as_default=False)
    except OSError:
        raise InputError(
            f"no scheduler answers at {where} within {_PATIENCE:g} s. Start one there "
            "with `dask scheduler`, or give the address that it prints."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise InputError(
                f"the scheduler at {where} has no workers. Start some: "
                f"`dask worker {where} --nworkers auto --nthreads 1`."
            ) from None
        yield client.get_executor()


async def _greet(where: str) -> None:
    """Connect once: a client would wait for ever for one that listens and never answers."""
    from distributed import Security  # noqa: PLC0415
    from distributed.core import connect  # noqa: PLC0415

    async with asyncio.timeout(_PATIENCE):
        keys = Security().get_connection_args("client")
        connection = await connect(where, timeout=_PATIENCE, **keys)
        await connection.close()


def _scheduler(address: str) -> str:
    """Return where a scheduler listens, given that or a file that says so."""
    where = _address_in(Path(address)) if os.path.isfile(address) else address
    if "://" not in where:
        where = f"tcp://{where}"
    try:
        parts = urlsplit(where)
        complete = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port
    except ValueError:
        complete = False
    if not complete:
        raise InputError(
            "a cluster is given by its scheduler's address, such as tcp://10.0.0.1:8786, or by "
            f"the file of `dask scheduler --scheduler-file`; got {address!r}."
        )
    return where


def _address_in(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} is not the file of a scheduler ({type(error).__name__}: {error}). Give the "
            "one that was named in `dask scheduler --scheduler-file`."
        ) from None
