"""Tickets in somebody's hands: given back, failed, or kept for longer.

A ticket says how often it was handed out. One that went to somebody else since is no longer the
caller's to give back; and who gives back twice finds that it was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from evenhand.campaigns.asking import mend
from evenhand.campaigns.following import Follower
from evenhand.campaigns.given import checked_reason, checked_seconds
from evenhand.campaigns.ledger import Page, TicketRow
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.telling import own
from evenhand.campaigns.tickets import Notice, NoTicket, Ticket, parsed

_AGAIN = "it waits for the next try"
_GIVEN_UP = "it is given up"


def fail(follower: Follower, ticket: Ticket | str, reason: Any) -> Notice:
    """Give a ticket back that could not be answered; after some tries it is given up."""
    reason = checked_reason(reason)
    retries = follower.known().settings["retries"]

    def work(page: Page, row: TicketRow) -> Notice:
        given_up = row.failures + 1 > retries
        page.append(
            "failed",
            {"ticket": row.number, "holder": row.holder, "reason": reason, "given_up": given_up},
        )
        page.settle(row, "failed" if given_up else "open", failures=row.failures + 1)
        return Notice(True, _GIVEN_UP if given_up else _AGAIN)

    notice = _given_back(follower, ticket, work)
    if notice.why == _GIVEN_UP:
        mend(follower)
    return notice


def release(follower: Follower, ticket: Ticket | str) -> Notice:
    """Give a ticket back for somebody else, or for later."""
    return _given_back(follower, ticket, _released)


def release_all(follower: Follower, tickets: Iterable[Ticket]) -> None:
    """Give tickets back, at once."""
    given = list(tickets)
    if given:
        follower.store.write(
            lambda session: [_give_back(session, follower, ticket, _released) for ticket in given]
        )


def _released(page: Page, row: TicketRow) -> Notice:
    page.append("released", {"ticket": row.number, "holder": row.holder})
    page.settle(row, "open")
    return Notice(True, _AGAIN)


def end_lease(follower: Follower, ticket: Ticket) -> Notice:
    """Take a ticket from who is known to be gone, as if the time were up."""

    def work(page: Page, row: TicketRow) -> Notice:
        entry = {"ticket": row.number, "holder": row.holder, "until": page.now}
        page.append("renewed", entry)
        page.settle(row, "leased", leased=page.now, until=page.now)
        return Notice(True, _AGAIN)

    return _given_back(follower, ticket, work)


def renew(follower: Follower, ticket: Ticket | str, lease: Any) -> Ticket | NoTicket:
    """Keep a ticket for longer, from now on."""
    span = follower.known().settings["lease"] if lease is None else checked_seconds(lease)

    def work(session: Session) -> TicketRow | NoTicket:
        page, row, gone = _found(session, follower, ticket)
        if gone or row.state != "leased":
            return NoTicket("not now", gone or "the ticket was given back", None)
        until = page.now + span
        page.append("renewed", {"ticket": row.number, "holder": row.holder, "until": until})
        page.settle(row, "leased", leased=page.now, until=until)
        page.close()
        return replace(row, leased=page.now, until=until)

    kept = follower.store.write(work)
    return kept if isinstance(kept, NoTicket) else follower.ticket(kept)


def _given_back(
    follower: Follower, ticket: Ticket | str, work: Callable[[Page, TicketRow], Notice]
) -> Notice:
    return follower.store.write(lambda session: _give_back(session, follower, ticket, work))


def _give_back(
    session: Session,
    follower: Follower,
    ticket: Ticket | str,
    work: Callable[[Page, TicketRow], Notice],
) -> Notice:
    page, row, gone = _found(session, follower, ticket)
    if gone:
        return Notice(False, gone)
    if row.state == "leased":
        notice = work(page, row)
        page.close()
        return notice
    return Notice(True, _GIVEN_UP if row.state == "failed" else _AGAIN)


def _found(
    session: Session, follower: Follower, ticket: Ticket | str
) -> tuple[Page, TicketRow, str]:
    """Return a ticket in its campaign, and why it is no longer the caller's, if it is not."""
    id = ticket.id if isinstance(ticket, Ticket) else str(ticket)
    number, token = parsed(id)
    page = Page(session, follower.id)
    row = own(page, number, token, id, follower.name)
    if row.state == "done":
        return page, row, "the ticket was answered"
    if row.state == "void":
        return page, row, "the ticket is no longer wanted"
    if isinstance(ticket, Ticket) and ticket.attempt != row.attempt:
        return page, row, "the lease was over, and the ticket was handed out again"
    return page, row, ""
