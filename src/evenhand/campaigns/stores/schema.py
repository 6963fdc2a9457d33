"""The tables of a store: made when it is new, and refused when they are of another version."""

from __future__ import annotations

from sqlalchemy import insert
from sqlalchemy.schema import CreateIndex, CreateTable

from evenhand.campaigns.stores.session import Session, Statement
from evenhand.campaigns.stores.store import Store
from evenhand.campaigns.stores.tables import metadata, version
from evenhand.errors import StoreError

VERSION = 1
"""Which tables and which record this evenhand reads and writes; a change of either is a new one."""

_SAY = Statement(insert(version).values(version=VERSION))


def prepare(store: Store) -> None:
    """Make the tables of a store that is new; refuse one that this evenhand does not read.

    All tables are made in one transaction, by one of those who open the store at the same time.
    """
    if not store.read(lambda session: _is_ready(store.name, session)):
        store.write(lambda session: _make(store.name, session))


def _is_ready(name: str, session: Session) -> bool:
    """Tell whether the tables are there; refuse those of something else, or of another version."""
    there = session.table_names()
    if version.name in there:
        found = [row[0] for row in session.execute(f"SELECT * FROM {version.name}").fetchall()]
        if found == [VERSION]:
            return True
        said = f"version {found[0]}" if found else "no version"
        raise StoreError(
            f"the store {name!r} has tables of {said}, and this evenhand reads version {VERSION}. "
            "Open it with the evenhand that made it, or begin a new store; nothing was changed."
        )
    in_the_way = sorted(there & set(metadata.tables) if session.may_be_shared else there)
    if in_the_way:
        raise StoreError(
            f"{name!r} is a database of something else: it has a table {in_the_way[0]!r} and "
            "no campaigns. Give another place; nothing was changed."
        )
    return False


def _make(name: str, session: Session) -> None:
    session.be_alone()
    if _is_ready(name, session):
        return  # somebody else was faster
    for table in metadata.sorted_tables:
        session.execute(str(CreateTable(table).compile(dialect=session.dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            session.execute(str(CreateIndex(index).compile(dialect=session.dialect)))
    session.run(_SAY)
