"""What goes wrong under a store: disks, files, clocks, servers. Clear errors, and nothing lost."""

from __future__ import annotations

import os
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import children
import evenhand as eh
from campaign_record import Record
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.stores import Session, SqliteStore, Store, open_store
from evenhand.campaigns.stores.postgres import PostgresStore
from postgres_server import Postgres, kill, own_server, revive


def begun(address: str | Store | Path) -> eh.Campaign:
    panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=None)
    return eh.Campaign.create(address, "prize", panel, noise_scale=1.0, lease=60.0, at_most=100_000)


def tell_one(campaign: eh.Campaign) -> int:
    """Have one evaluation made; return its number."""
    ticket = campaign.ask("Paul") or campaign.ask("Quinn")
    return campaign.tell(ticket, 1.0).evaluation


def count(address: str | Path) -> int:
    """Return how many evaluations another process finds, all numbers from 1 without a gap."""
    with eh.Campaign.open(str(address), "prize") as campaign:
        numbers = sorted(campaign._follower.known().evaluations)
    assert numbers == list(range(1, len(numbers) + 1))
    return len(numbers)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def fill_the_disk(path: Path, pipe: Any) -> None:
    """Tell until a file may not grow any more; then let it, and go on."""
    campaign = begun(path)
    tell_one(campaign)
    most = os.path.getsize(f"{path}-wal") + 1_000_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    told = 1
    try:
        while True:
            told = tell_one(campaign)
    except eh.StoreError as error:
        pipe.send((told, str(error)))
    try:
        tell_one(campaign)
    except eh.StoreError as error:
        pipe.send(str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    pipe.send(tell_one(campaign))
    campaign.close()


def test_a_full_disk_is_said_and_what_was_acknowledged_is_kept(path: Path) -> None:
    here, there = children.Pipe()
    process = children.start(fill_the_disk, path, there)
    told, said = here.recv()
    assert told > 3
    assert "full" in said
    assert "What was acknowledged is kept" in said
    assert "full" in here.recv()  # as long as it is
    assert here.recv() == told + 1  # and when there is room, it goes on
    assert children.ended(process) == 0
    assert count(path) == told + 1


def write_as_nobody(path: Path, pipe: Any) -> None:
    if os.geteuid() == 0:  # to whom nothing is forbidden
        os.setgid(65534)
        os.setuid(65534)
    try:
        begun_already = eh.Campaign.open(path, "prize")
        tell_one(begun_already)
    except eh.StoreError as error:
        pipe.send(str(error))
    else:
        pipe.send("it was written")


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o777), (0o444, 0o555), (0o666, 0o555)])
def test_what_may_not_be_written_says_so(tmp_path: Path, file: int, folder: int) -> None:
    inner = tmp_path / "closed"
    inner.mkdir()
    path = inner / "store.db"
    campaign = begun(path)
    tell_one(campaign)
    campaign.close()
    for outer in (tmp_path, *tmp_path.parents):  # pytest's own are made for this user alone
        if outer.stat().st_mode & 0o005 != 0o005 and outer.owner() == tmp_path.owner():
            outer.chmod(outer.stat().st_mode | 0o055)
    for one in inner.iterdir():
        one.chmod(file)
    inner.chmod(folder)
    before = path.read_bytes()
    here, there = children.Pipe()
    process = children.start(write_as_nobody, path, there)
    said = here.recv()
    assert "store.db" in said
    assert "permission" in said or "may be written" in said
    assert children.ended(process) == 0
    inner.chmod(0o777)
    assert path.read_bytes() == before


def test_what_is_written_to_a_removed_file_is_not_acknowledged(path: Path) -> None:
    campaign = begun(path)
    tell_one(campaign)
    away = path.rename(path.with_name("away.db"))
    for _ in range(2):
        with pytest.raises(eh.StoreError, match="is gone"):
            tell_one(campaign)
    campaign.close()
    with pytest.raises(eh.StoreError, match="is gone"):  # and no empty one is made in its place
        tell_one(campaign)
    assert not path.exists()
    away.rename(path)  # and once it is put back, it is used again
    number = tell_one(campaign)
    campaign.close()
    assert count(path) == number


def test_what_is_written_to_a_replaced_file_is_not_acknowledged(path: Path) -> None:
    campaign = begun(path)
    tell_one(campaign)
    other = path.with_name("other.db")
    second = begun(other)
    second.close()
    os.replace(other, path)
    with pytest.raises(eh.StoreError, match="was replaced"):
        tell_one(campaign)
    campaign.close()


def test_a_relative_path_and_a_link_lead_to_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "Ö %20 ?mode=ro#.db").symlink_to(tmp_path / "store.db")
    monkeypatch.chdir(tmp_path)
    campaign = begun("store.db")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert tell_one(campaign) == 1
    linked = eh.Campaign.open("../Ö %20 ?mode=ro#.db", "prize")
    assert tell_one(linked) == 2
    assert tell_one(campaign) == 3
    linked.close()
    campaign.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "elsewhere",
        "store.db",
        "Ö %20 ?mode=ro#.db",
    ]


def test_a_log_that_is_removed_is_found_missing(path: Path) -> None:
    campaign = begun(path)
    tell_one(campaign)
    Path(f"{path}-wal").unlink()
    with pytest.raises(eh.StoreError, match=r"-wal' was removed"):
        tell_one(campaign)
    campaign.close()


def test_a_writer_that_holds_the_file_for_too_long_is_named(path: Path) -> None:
    store = SqliteStore(path, patience=0.2)
    campaign = begun(store)
    tell_one(campaign)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(eh.StoreError, match="another process has been writing for too long"):
        tell_one(campaign)
    other.execute("ROLLBACK")
    other.close()  # the last to close, who removes the log
    (path.parent / "other").touch()  # takes its number
    assert tell_one(campaign) == 2
    campaign.close()


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_clock_that_jumps_a_day_lets_no_ticket_stick(store_address: str, jump: float) -> None:
    campaign = begun(store_address)
    held = campaign.ask("Paul")
    campaign.store.clock_offset = jump
    again = campaign.ask("Paul", worker="second")
    assert again.number == held.number  # it goes out again, early rather than never
    assert campaign.tell(again, 1.0).counted
    assert not campaign.tell(held, 2.0, key="mine").counted  # the first score counts; this is kept
    other = campaign.ask("Paul")
    campaign.store.clock_offset = 0.0
    assert campaign.ask("Paul", worker="third").number == other.number
    campaign.close()
    assert count(store_address) == 2


@pytest.fixture
def server_store(postgres_address: str) -> Iterator[PostgresStore]:
    with PostgresStore(postgres_address) as store:
        yield store


def in_turn(*steps: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does the first step when it is first called, and so on."""
    left = list(steps)

    def step() -> None:
        if left:
            left.pop(0)()

    return step


def test_a_backend_that_is_ended_in_the_middle_is_replaced(
    server_store: PostgresStore, postgres_address: str
) -> None:
    campaign = begun(server_store)
    tell_one(campaign)

    def end_the_backends() -> None:
        with psycopg.connect(postgres_address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    end_the_backends()  # between two transactions
    assert tell_one(campaign) == 2
    end = in_turn(end_the_backends, end_the_backends)

    def work(session: Session) -> int:
        session.run("INSERT INTO upload VALUES ('this', '', '', 0.0)")
        end()
        return len(session.rows("SELECT 1 FROM upload WHERE id = 'this'"))

    assert server_store.write(work) == 1
    kept = server_store.read(lambda s: s.rows("SELECT 1 FROM upload WHERE id = 'this'"))
    assert len(kept) == 1
    assert tell_one(campaign) == 3


def test_a_server_that_goes_and_comes_back_is_waited_for() -> None:
    with own_server() as server:
        url = Postgres(server.get_uri()).fresh()
        campaign = begun(url)
        tell_one(campaign)
        kill(server)  # as in a power cut
        campaign.store.patience = 0.2
        with pytest.raises(eh.StoreError, match="See that the server is up"):
            tell_one(campaign)
        campaign.store.patience = 60.0
        start = threading.Timer(0.5, revive, [server])
        start.start()
        assert tell_one(campaign) == 2
        start.join()  # it knows which process to end only then
        campaign.close()
        assert count(url) == 2


def as_user(url: str, user: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}"))


@pytest.fixture
def few_connections(postgres_address: str) -> Iterator[str]:
    """The address of a database for a user who may have two connections."""
    user = f"evenhand_few_{os.getpid()}"
    with psycopg.connect(postgres_address, autocommit=True) as root:
        root.execute(f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 2".encode())
        root.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}".encode())
        root.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {user}".encode())
        yield as_user(postgres_address, user)
        root.execute(f"DROP OWNED BY {user}".encode())
        root.execute(f"DROP ROLE {user}".encode())


def test_a_server_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(
    postgres_address: str,
) -> None:
    campaign = begun(postgres_address)
    assert tell_one(campaign) == 1
    with psycopg.connect(postgres_address, autocommit=True) as server:
        server.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        full = "CREATE TRIGGER full_disk BEFORE INSERT ON event EXECUTE FUNCTION no_room()"
        server.execute(full)
        with pytest.raises(eh.StoreError, match="disk is full: have room made"):
            tell_one(campaign)
        server.execute("DROP TRIGGER full_disk ON event")
    assert tell_one(campaign) == 2
    assert Record(campaign.store, "prize").complaints() == []
    campaign.close()


def test_a_server_with_too_many_clients_is_waited_for(few_connections: str) -> None:
    others = [psycopg.connect(few_connections) for _ in range(2)]
    with pytest.raises(eh.StoreError, match="too many"):
        begun(PostgresStore(few_connections, patience=0.2))
    threading.Timer(0.3, lambda: [other.close() for other in others]).start()
    campaign = begun(few_connections)
    assert tell_one(campaign) == 1
    campaign.close()
    for other in others:
        other.close()


def test_who_is_not_let_in_does_not_wait(postgres_address: str) -> None:
    nobody = as_user(postgres_address, "nobody_of_this_name")
    nowhere = urlunsplit(urlsplit(postgres_address)._replace(path="/no_such_database"))
    for wrong, said in ((nobody, "nobody_of_this_name"), (nowhere, "no_such_database")):
        start = time.monotonic()
        with pytest.raises(eh.StoreError, match=said):
            open_store(wrong)
        assert time.monotonic() - start < 25.0  # the patience is 30


def test_a_database_that_can_only_be_read_says_so(postgres_address: str) -> None:
    campaign = begun(postgres_address)
    tell_one(campaign)
    campaign.close()
    name = urlsplit(postgres_address).path[1:]
    with psycopg.connect(postgres_address, autocommit=True) as root:
        root.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only TO on'.encode())
    with pytest.raises(eh.StoreError, match="the server that is written to"):
        tell_one(eh.Campaign.open(postgres_address, "prize"))


@pytest.mark.parametrize("address", ["postgresql://[::1/x", "postgresql://h/x?nonsense=1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(eh.InputError, match="an address looks like"):
        open_store(address)


def test_passwords_are_not_said() -> None:
    store = PostgresStore("postgresql://ann:secret@localhost:1/prizes", patience=0.0)
    assert "secret" not in repr(store)
    with pytest.raises(eh.StoreError) as caught:
        store.read(Session.now)
    assert "secret" not in str(caught.value)


def test_a_server_that_acknowledges_too_early_is_told_not_to(postgres_address: str) -> None:
    name = urlsplit(postgres_address).path[1:]
    with psycopg.connect(postgres_address, autocommit=True) as root:
        root.execute(f'ALTER DATABASE "{name}" SET synchronous_commit TO off'.encode())
    with open_store(postgres_address) as store:
        ask = "SHOW synchronous_commit"
        assert store.write(lambda session: session.row(ask)) == ("on",)


def test_what_a_server_acknowledges_is_on_its_disk(postgres_address: str) -> None:
    begun(postgres_address).close()

    def write(session: Session) -> str:
        page = Page(session, 1)
        page.catch_up(None)
        page.append("resumed", {})
        page.close()
        return str(session.row("SELECT pg_current_wal_insert_lsn()::text")[0])

    with (
        open_store(postgres_address) as one,
        open_store(postgres_address) as other,
        psycopg.connect(postgres_address, autocommit=True) as server,
    ):
        for store in (one, one, other, one, other):
            written = store.write(write)
            flushed = "SELECT pg_current_wal_flush_lsn() > %s::pg_lsn"
            assert server.execute(flushed, [written]).fetchone() == (True,)


def test_a_file_is_its_makers_alone(path: Path) -> None:
    begun(path)
    assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}
