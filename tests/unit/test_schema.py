"""The schema of a store: made, brought up to date, or refused; all of it or nothing."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import MetaData, NullPool, create_engine, inspect, text
from sqlalchemy.dialects import sqlite

import children
import evenhand as eh
from evenhand.campaigns import ledger, schema
from evenhand.campaigns.schema import migration
from evenhand.campaigns.stores import open_store
from evenhand.campaigns.stores.session import Statement
from evenhand.campaigns.stores.tables import metadata
from postgres_server import Postgres

KEPT = Path(__file__).parents[1] / "fixtures" / "stores"
NEXT = '''
"""One more column, and something in it."""
from alembic import op
import sqlalchemy as sa
revision, down_revision, branch_labels, depends_on = "{new}", "{old}", None, None

def upgrade():
    op.add_column("campaign", sa.Column("motto", sa.Text))
    op.execute("UPDATE campaign SET motto = 'fair to ' || name")
    {then}
'''


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "new.db")
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        url = postgres.empty()
        yield url
        postgres.drop(url)


def engine_of(address: str) -> Any:
    if "://" in address:
        return create_engine(
            address.replace("postgresql", "postgresql+psycopg"), poolclass=NullPool
        )
    return create_engine(f"sqlite:///{address}", poolclass=NullPool)


def next_revision(folder: Path, then: str = "") -> Path:
    (folder / "revision_next.py").write_text(NEXT.format(new="9001", old=schema.HEAD, then=then))
    return folder


def with_next(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(migration, "FOLDERS", [*migration.FOLDERS, folder])
    monkeypatch.setattr(schema, "HEAD", "9001")


def a_campaign(address: str) -> eh.Campaign:
    panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=None)
    return eh.Campaign.create(address, "prize", panel, noise_scale=1.0)


# ---------------------------------------------------------------------- migrations and tables


def test_the_newest_revision_is_the_one_that_stores_are_held_to() -> None:
    assert migration.scripts().get_current_head() == schema.HEAD


def test_revisions_make_the_tables_that_the_program_knows(empty_address: str) -> None:
    open_store(empty_address).close()
    with engine_of(empty_address).connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": schema.TABLE, "compare_type": True},
        )
        assert compare_metadata(context, metadata) == []


def test_revisions_make_the_same_indexes_and_constraints(
    empty_address: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    def described(address: str) -> dict[str, Any]:
        """All of a table but the order in which things are listed."""
        with engine_of(address).connect() as connection:
            look = inspect(connection)
            return {
                name: [
                    [(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(name)],
                    look.get_pk_constraint(name),
                    sorted(map(str, look.get_unique_constraints(name))),
                    look.get_foreign_keys(name),
                    sorted(
                        (i["name"], i["column_names"], i["unique"], where(i))
                        for i in look.get_indexes(name)
                    ),
                ]
                for name in metadata.tables
            }

    def where(index: Any) -> str:
        options = index.get("dialect_options", {})
        found = options.get("sqlite_where", options.get("postgresql_where", ""))
        return str(found)

    open_store(empty_address).close()
    by_revisions = described(empty_address)
    with engine_of(empty_address).begin() as connection:
        everything = MetaData()
        everything.reflect(connection)
        everything.drop_all(connection)
        metadata.create_all(connection)
    assert described(empty_address) == by_revisions


STATEMENTS = {name: value for name, value in vars(ledger).items() if isinstance(value, Statement)}


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_looks_through_all_of_a_campaign(name: str, tmp_path: Path) -> None:
    """An index of what waits, or a key: what a statement costs does not grow with the campaign."""
    path = tmp_path / "store.db"
    open_store(path).close()
    words, constant = STATEMENTS[name].words(sqlite.dialect(paramstyle="named"))
    given = {key: constant.get(key, 1) for key in re.findall(r"(?<!:):(\w+)", words)}
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {words}", given)]
    connection.close()
    for step in plan:
        assert not re.search(r"SCAN (ticket|evaluation|event)", step), step
        assert not re.search(r"(ticket|evaluation)_1 \(campaign=\?\)", step), step
        assert not re.search(r"PRIMARY KEY \(campaign=\?\)", step), step


def test_an_ordinary_opening_does_not_load_alembic(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(path).close()
    program = (
        "import sys; from evenhand.campaigns.stores import open_store; "
        f"open_store({str(path)!r}).close(); print('alembic' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"


# ---------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("kept", sorted(KEPT.glob("*.db")), ids=lambda path: path.stem)
def test_stores_of_every_schema_are_opened_and_continued(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    shutil.copy(kept, path)
    for name in ("prize", "Preis für Ö 🏆"):
        campaign = eh.Campaign.open(path, name)
        held = campaign.ask("Paul")
        assert held.attempt in (1, 2)  # leased when the file was put away, perhaps long ago
        assert campaign.tell(held, 1.0).counted
        ticket = campaign.ask("Quinn")
        assert campaign.tell(ticket, 2.0).evaluation == 22
        assert campaign.answer().spent == 22
        assert campaign.verify(), str(campaign.verify())
        campaign.close()


def test_there_is_a_store_of_every_schema() -> None:
    revisions = {script.revision for script in migration.scripts().walk_revisions()}
    assert {path.stem for path in KEPT.glob("*.db")} == revisions


# ---------------------------------------------------------------------- to a newer one


def test_an_older_schema_is_backed_up_and_upgraded(
    store_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_campaign(store_address)
    assert campaign.tell(campaign.ask("Paul"), 3.0).counted
    campaign.close()
    with_next(monkeypatch, next_revision(tmp_path))
    again = eh.Campaign.open(store_address, "prize")
    assert again.tell(again.ask("Quinn"), 4.0).evaluation == 2
    again.close()
    with engine_of(store_address).connect() as connection:
        assert connection.scalar(text("SELECT motto FROM campaign")) == "fair to prize"
    if "://" in store_address:
        before = f'SELECT count(*) FROM "evenhand_before_{schema_before()}".evaluation'
        with engine_of(store_address).connect() as connection:
            assert connection.scalar(text(before)) == 1
    else:
        backup = sqlite3.connect(f"{store_address}.before-{schema_before()}")
        assert backup.execute("SELECT count(*) FROM evaluation").fetchone() == (1,)
        assert "motto" not in str(backup.execute("SELECT sql FROM sqlite_master").fetchall())
        backup.close()


def schema_before() -> str:
    return str(migration.scripts().get_revision("9001").down_revision)


def open_with_next(address: str, folder: Path) -> None:
    schema.HEAD = "9001"
    migration.FOLDERS.append(folder)
    open_store(address)


@pytest.mark.parametrize("then", ["os.kill(os.getpid(), 9)", "os._exit(1)"])
def test_an_upgrade_that_dies_in_the_middle_has_changed_nothing(
    store_address: str, tmp_path: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_campaign(store_address).close()
    folder = tmp_path / "revisions"
    folder.mkdir()
    next_revision(folder, f"import os; {then}")
    assert children.ended(children.start(open_with_next, store_address, folder)) in (-9, 1)
    campaign = eh.Campaign.open(store_address, "prize")  # with the revisions there really are
    assert campaign.tell(campaign.ask("Paul"), 3.0).counted
    campaign.close()
    with engine_of(store_address).connect() as connection:
        assert "motto" not in {c["name"] for c in inspect(connection).get_columns("campaign")}
    next_revision(folder)
    with_next(monkeypatch, folder)
    open_store(store_address).close()
    with engine_of(store_address).connect() as connection:
        assert connection.scalar(text("SELECT motto FROM campaign")) == "fair to prize"


def test_an_upgrade_that_fails_has_changed_nothing(
    store_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_campaign(store_address).close()
    next_revision(tmp_path, "raise ValueError('no')")
    with monkeypatch.context() as context:
        with_next(context, tmp_path)
        with pytest.raises(ValueError, match="no"):
            open_store(store_address)
    campaign = eh.Campaign.open(store_address, "prize")
    assert campaign.tell(campaign.ask("Paul"), 3.0).counted
    campaign.close()


def open_when_told(address: str, go: Any) -> None:
    go.wait()
    open_store(address).close()


def test_of_several_who_open_at_once_one_makes_the_tables(empty_address: str) -> None:
    go = children.Event()
    processes = [children.start(open_when_told, empty_address, go) for _ in range(4)]
    go.set()
    assert [children.ended(process) for process in processes] == [0] * 4
    with engine_of(empty_address).connect() as connection:
        rows = connection.execute(text(f"SELECT version_num FROM {schema.TABLE}")).all()
        assert [tuple(row) for row in rows] == [(schema.HEAD,)]


# ---------------------------------------------------------------------- what is refused


def test_a_newer_schema_is_refused(store_address: str) -> None:
    open_store(store_address).close()
    with engine_of(store_address).begin() as connection:
        connection.execute(text(f"UPDATE {schema.TABLE} SET version_num = '9999'"))
    with pytest.raises(eh.StoreError, match=r"'9999'.*Install the newest evenhand"):
        open_store(store_address)


def test_a_database_of_something_else_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.commit()
    connection.close()
    before = hashlib.sha256(path.read_bytes()).digest()
    for _ in range(2):
        with pytest.raises(eh.StoreError, match=r"'invoices'.*nothing was changed"):
            open_store(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before


@pytest.mark.parametrize("content", [b"name,score\nAnn,1\n", b"x" * 5000, b"SQLite format 3\0"])
def test_what_is_no_database_is_refused_and_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(eh.StoreError, match=r"scores\.csv"):
        open_store(path)
    assert path.read_bytes() == content


def test_tables_of_the_same_name_are_left_alone(empty_address: str) -> None:
    with engine_of(empty_address).begin() as connection:
        connection.execute(text("CREATE TABLE event (guest TEXT)"))
        connection.execute(text("INSERT INTO event VALUES ('Ann')"))
    with pytest.raises(eh.StoreError, match="'event'"):
        open_store(empty_address)
    with engine_of(empty_address).connect() as connection:
        assert connection.scalar(text("SELECT guest FROM event")) == "Ann"


def test_a_server_may_have_other_tables_beside(postgres: Postgres) -> None:
    url = postgres.empty()
    with engine_of(url).begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
    assert a_campaign(url).ask("Paul")
    postgres.drop(url)
