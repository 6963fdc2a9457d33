"""The schema of a store, and how an older one is brought up to date."""

from __future__ import annotations

from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.stores.store import Store

HEAD = "0001"  # the newest revision in `versions`
TABLE = "evenhand_schema"  # where a store says which revision it has


def bring_up_to_date(store: Store) -> None:
    """Make a store's tables, or change them to today's; almost always, only see that they are.

    What a store had is backed up first. All that is changed is changed in one transaction, under a
    lock, by one of those who open the store at the same time.
    """

    def revision(session: Session) -> str | None:
        if TABLE not in session.table_names():
            return None
        row = session.execute(f"SELECT version_num FROM {TABLE}").fetchone()
        return None if row is None else str(row[0])

    if store.read(revision) != HEAD:
        from evenhand.campaigns.schema.migration import migrate  # noqa: PLC0415 # slow to load

        migrate(store)
