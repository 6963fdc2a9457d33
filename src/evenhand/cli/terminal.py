"""What commands share: printing for people and machines, numbers as people write them, workers."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from evenhand.errors import InputError
from evenhand.simulation.executors import end_with_parent


def console() -> Console:
    """Return where people read; the user's names are printed as they are, brackets and all."""
    return Console(markup=False, emoji=False, highlight=False)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object; what is not a number becomes null."""
    typer.echo(json.dumps(_plain(values), indent=2, allow_nan=False, ensure_ascii=False))


def whole_number(text: str, option: str) -> int:
    """Return the number in a text such as 1000, 1_000 or 1e6.

    Examples
    --------
    >>> whole_number("1e6", "--horizon"), whole_number("2500", "--horizon")
    (1000000, 2500)
    """
    try:
        number = int(text) if "e" not in text.lower() and "." not in text else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number != int(number):
        raise InputError(f"{option} must be a whole number such as 1000 or 1e6; got {text!r}.")
    return int(number)


def processors() -> int:
    """Return how many processors there are for this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int | None) -> Iterator[Executor | None]:
    """Give an executor with so many workers; None, which stands for all processors, if not said."""
    if workers is None:
        yield None
    elif workers == 1:
        with ThreadPoolExecutor(1) as thread:
            yield thread
    else:
        with ProcessPoolExecutor(workers, initializer=end_with_parent) as pool:
            yield pool


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
