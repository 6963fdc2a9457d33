"""From an older schema to today's, by Alembic.

The revisions are in ``versions``. Which one a store has is written in a table of its own name, so
that another program that uses Alembic in the same PostgreSQL database is not disturbed.
"""

from __future__ import annotations

import threading
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from evenhand.campaigns.schema import TABLE
from evenhand.campaigns.stores.store import Migration, Store
from evenhand.campaigns.stores.tables import metadata
from evenhand.errors import StoreError

FOLDERS = [Path(__file__).parent / "versions"]
_OURS = {TABLE, *metadata.tables}
_ONE = threading.Lock()  # Alembic keeps what it works on in one place for all threads


def scripts() -> ScriptDirectory:
    """Return the revisions that this evenhand knows."""
    return ScriptDirectory(Path(__file__).parent, version_locations=FOLDERS)


def migrate(store: Store) -> None:
    """Bring a store's tables to the newest revision: all of it or nothing."""
    with _ONE:
        store.change(lambda migration: _upgrade(store, migration))


def _upgrade(store: Store, migration: Migration) -> None:
    known = scripts()
    head = str(known.get_current_head())
    context = MigrationContext.configure(
        migration.connection,
        opts={"version_table": TABLE, "fn": lambda at, _: known._upgrade_revs(head, at)},
    )
    current = context.get_current_revision()
    if current == head:
        return  # somebody else was faster
    if current is None:
        _refuse_others(store, migration)
    elif current not in {script.revision for script in known.walk_revisions()}:
        raise StoreError(
            f"the store {store.name!r} was made by a newer evenhand: its schema is {current!r}, "
            f"this one knows {head!r}. Install the newest evenhand; nothing was changed."
        )
    else:
        there = inspect(migration.connection).get_table_names()
        migration.back_up(current, [table for table in there if table in _OURS])
    with Operations.context(context):
        context.run_migrations()


def _refuse_others(store: Store, migration: Migration) -> None:
    """Refuse a database whose tables are of something else."""
    there = set(inspect(migration.connection).get_table_names())
    in_the_way = sorted(there & _OURS if migration.may_be_shared else there)
    if in_the_way:
        raise StoreError(
            f"{store.name!r} is a database of something else: it has a table {in_the_way[0]!r} and "
            "no campaigns. Give another place; nothing was changed."
        )
