"""Whether a file that was copied is whole.

SQLite's own way to copy a file that is in use is its backup. To copy the file and its log one after
the other may give some pages from before a checkpoint and some from after it: a file that opens,
and lacks what was acknowledged. So a file says in its header which one it is, by its number in the
file system; a copy has another number, and is looked at once, all of it, when it is first opened.
"""

from __future__ import annotations

import os

from evenhand.campaigns.stores.session import Session

_HEADER = "PRAGMA user_version"
# what one row says of others: a file of pages from two moments does not agree with itself
_DISAGREES = """
SELECT 1 FROM campaign AS c WHERE
    c.head <> (SELECT count(*) FROM event WHERE campaign = c.id)
    OR c.hash IS NOT (SELECT hash FROM event WHERE campaign = c.id AND number = c.head)
    OR c.tickets <> (SELECT count(*) FROM ticket WHERE campaign = c.id)
    OR c.evaluations <> (SELECT count(*) FROM evaluation WHERE campaign = c.id)
UNION ALL
SELECT 1 FROM evaluation AS e JOIN ticket AS t ON t.campaign = e.campaign AND t.number = e.ticket
    WHERE e.standing = 'counted' AND t.state <> 'done'
LIMIT 1
"""


def is_copy(session: Session, file: os.stat_result) -> bool:
    """Tell whether a file is not the one that its header speaks of."""
    (found,) = session.execute(_HEADER).fetchone()
    return bool(found != _number(file))


def sign(session: Session, file: os.stat_result) -> None:
    """Write into the header which file it is."""
    session.execute(f"{_HEADER} = {_number(file)}")


def is_whole(session: Session) -> bool:
    """Tell whether all pages of a file are of one moment."""
    (said,) = session.execute("PRAGMA integrity_check(1)").fetchone()
    return said == "ok" and session.execute(_DISAGREES).fetchone() is None


def _number(file: os.stat_result) -> int:
    return file.st_ino % (2**31 - 1) + 1  # what a header has room for, and never 0
