"""Who may do what: tokens of 256 bits, of which the store keeps hashes only.

A token is the owner's, a viewer's, or an evaluator's for one campaign. It is shown once, when it is
made. Whoever reads the store cannot use what is in it; whoever has a token has what it stands for
until it ends or is revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal

from evenhand.campaigns import ledger
from evenhand.campaigns.stores import Session, Store
from evenhand.errors import InputError

Role = Literal["owner", "viewer", "evaluator"]

_BYTES = 32
_YEAR = 365.25 * 86_400.0

_GRANT = """
    INSERT INTO access (hash, role, campaign, evaluator, made, until)
    VALUES (:hash, :role, :campaign, :evaluator, :made, :until)
"""
_FIND = """
    SELECT a.role, a.campaign, c.name, a.evaluator, a.until, @clock
    FROM access a LEFT JOIN campaign c ON c.id = a.campaign WHERE a.hash = :hash
"""
_REVOKE = """
    UPDATE access SET until = :now
    WHERE role = :role AND campaign = :campaign AND evaluator = :evaluator AND until > :now
"""
_INVITED = """
    SELECT evaluator, made, until FROM access
    WHERE role = 'evaluator' AND campaign = :campaign AND until > :now ORDER BY evaluator, made
"""


@dataclass(frozen=True)
class Access:
    """What somebody who showed a token may do, and the word that his forms must carry."""

    role: Role
    number: int | None  # of the campaign, in the store
    campaign: str | None
    evaluator: str
    csrf: str

    def may(self, role: Role, campaign: str | None = None) -> bool:
        """Tell whether this is good for a page of that role; the owner may see what viewers may."""
        if role == "evaluator":
            return self.role == "evaluator" and self.campaign == campaign
        if self.campaign is not None and self.campaign != campaign:
            return False
        return self.role in ("owner", role)


@dataclass(frozen=True)
class Invitation:
    """A link that an evaluator has, without the token, which nobody keeps."""

    evaluator: str
    made: float
    until: float


def grant(
    store: Store,
    role: Role,
    campaign: str | None = None,
    evaluator: str = "",
    seconds: float = _YEAR,
) -> str:
    """Make a token and return it; this is the only time that anybody sees it."""
    token = secrets.token_urlsafe(_BYTES)

    def work(session: Session) -> None:
        number = None if campaign is None else _campaign(session, campaign)
        now = session.now()
        session.run(
            _GRANT, hash=_hash(token), role=role, campaign=number, evaluator=evaluator, made=now,
            until=now + seconds,
        )  # fmt: skip

    store.write(work)
    return token


def renew(store: Store, campaign: str, evaluator: str) -> str:
    """Make a new token for an evaluator; those from before are worth nothing any more."""
    revoke(store, campaign, evaluator)
    return grant(store, "evaluator", campaign, evaluator)


def revoke(store: Store, campaign: str, evaluator: str) -> None:
    """Make an evaluator's tokens for a campaign worth nothing."""

    def work(session: Session) -> None:
        about = {"campaign": _campaign(session, campaign), "evaluator": evaluator}
        session.run(_REVOKE, role="evaluator", now=session.now(), **about)

    store.write(work)


def invited(store: Store, campaign: str) -> list[Invitation]:
    """Return who has a link to a campaign."""
    found = store.read(
        lambda session: session.rows(
            _INVITED, campaign=_campaign(session, campaign), now=session.now()
        )
    )
    return [Invitation(*row) for row in found]


def known(store: Store, token: str) -> Access | None:
    """Return what a token is good for; None if it is nobody's, revoked, or over."""
    if not 20 <= len(token) <= 100:
        return None
    digest = _hash(token)
    row = store.read(lambda session: session.row(_FIND, hash=digest))
    if row is None:
        return None
    role, number, campaign, evaluator, until, clock = row
    if until <= float(clock) + store.clock_offset:
        return None
    return Access(role, number, campaign, evaluator, csrf_of(token))


def csrf_of(token: str) -> str:
    """Return the word that forms of this token's holder carry; no other site can know it."""
    return hmac.new(token.encode(), b"evenhand form", hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _campaign(session: Session, name: str) -> int:
    number = ledger.find(session, name)
    if number is None:
        raise InputError(f"there is no campaign {name!r} in the store.")
    return number
