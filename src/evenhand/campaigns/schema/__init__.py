"""The schema of a store, and how an older one is brought up to date."""

from __future__ import annotations

from sqlalchemy.schema import CreateIndex, CreateTable

from evenhand.campaigns.stores.session import Session, Statement
from evenhand.campaigns.stores.store import Store
from evenhand.campaigns.stores.tables import metadata


def bring_up_to_date(store: Store) -> None:
    """Make the tables that are not there."""

    def make(session: Session) -> None:
        for table in metadata.sorted_tables:
            session.run(Statement(CreateTable(table, if_not_exists=True)))
            for index in table.indexes:
                session.run(Statement(CreateIndex(index, if_not_exists=True)))

    store.write(make)
