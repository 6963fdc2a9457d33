"""Settings shared by all tests; its place puts `reference` and `instances` on the import path."""

from __future__ import annotations

import itertools
import secrets
import signal
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

from rotation import rotated

if TYPE_CHECKING:
    import httpx

    from evenhand.campaigns.stores import Store
    from postgres_server import Postgres

# The runner makes all commands anew for every call, 60 times the work of the call itself. They are
# values that no call changes.
typer.testing._get_command = cache(typer.testing._get_command)

# The same examples on every machine and run; solves vary in time, so no deadline.
settings.register_profile(
    "evenhand",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

# Other examples in every run, and many, with nothing remembered from the last one: `make fuzz`,
# or pytest's `--hypothesis-profile=fuzz`. A failure prints the line that repeats it.
settings.register_profile(
    "fuzz",
    settings.get_profile("evenhand"),
    derandomize=False,
    database=None,
    max_examples=2000,
    print_blob=True,
)

settings.load_profile("evenhand")


def pytest_configure() -> None:
    """Hear interrupts, which a shell has ignored by what it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="also run the tests marked nightly, and all combinations of those marked rotated",
    )


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--nightly"):
        return "nightly: all combinations, and what is slow"
    return "without --nightly: rotated combinations, and nothing marked nightly"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise by ``@pytest.mark.rotated(dealt, name=levels, …)``: all combinations at night."""
    for mark in metafunc.definition.iter_markers("rotated"):
        (dealt,), factors = mark.args, mark.kwargs
        if metafunc.config.getoption("--nightly"):
            combinations = list(itertools.product(*factors.values()))
        else:
            combinations = rotated(list(factors).index(dealt), *factors.values())
        ids = ["-".join(map(_called, combination)) for combination in combinations]
        metafunc.parametrize(list(factors), combinations, ids=ids)


def _called(level: Any) -> str:
    return level if isinstance(level, str) else getattr(level, "name", None) or level.__name__


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for the night; pytest counts it as deselected."""
    if config.getoption("--nightly"):
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


@pytest.fixture
def short_by_day(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the checks of policies break runs off after half as many rounds, but at night."""
    if not request.config.getoption("--nightly"):
        from evenhand.testing import checks  # noqa: PLC0415 # only where a test needs it

        monkeypatch.setattr(checks, "ROUNDS", checks.ROUNDS // 2)


@pytest.fixture
def tries(pytestconfig: pytest.Config) -> tuple[int, int]:
    """A seed and how many mutations: the same ones, or others and many with `make fuzz`."""
    if pytestconfig.getoption("--hypothesis-profile") == "fuzz":
        return secrets.randbits(32), 10_000
    return 0, 1_000


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Databases on a real PostgreSQL: one server for each process of tests."""
    from postgres_server import some_server  # noqa: PLC0415 # only where a test needs it

    with some_server() as server:
        yield server


@pytest.fixture
def postgres_address(postgres: Postgres) -> Iterator[str]:
    """The address of a database of one's own, with the tables of a store in it."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is: a file that is not there yet, then a database of a real PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    address: str = request.getfixturevalue("postgres_address")
    return address


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in a file."""
    from evenhand.campaigns.stores import open_store  # noqa: PLC0415 # as above

    with open_store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def address(store: Store) -> Iterator[str]:
    """Where the pages of that store are served."""
    from evenhand.serve import make_app  # noqa: PLC0415 # as above
    from served import serving  # noqa: PLC0415 # as above

    with serving(make_app(store)) as found:
        yield found


@pytest.fixture
def http(store: Store, address: str) -> Iterator[httpx.Client]:
    """A browser of the owner's of that store."""
    from pages import owner_of  # noqa: PLC0415 # as above

    with owner_of(store, address) as browser:
        yield browser


@pytest.fixture(scope="module")
def hasty() -> Iterator[None]:
    """Have SQLite not wait for the disk, where a test is about something else than durability."""
    from evenhand.campaigns.stores import SqliteStore  # noqa: PLC0415 # as above

    connect = SqliteStore._connect

    def at_once(store: SqliteStore) -> sqlite3.Connection:
        connection = connect(store)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "_connect", at_once)
        yield
