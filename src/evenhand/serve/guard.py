"""What every request passes: its host, its origin, its size, how often; and what goes with answers.

Cookies are HttpOnly and SameSite=Strict; forms carry a word besides that only the holder's pages
have. A page may load what is served here, and nothing else; no script stands in a page.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.serve.access import Access, Role, known, same
from evenhand.serve.pages import said

OWNER, JUDGE = "evenhand_owner", "evenhand_judge"
"""Names of cookies: one browser may be the owner's and an evaluator's at once."""

MOST_BYTES = 32 * 2**20
"""The largest body of a request."""
MOST_TYPED = 8 * 2**20
"""The longest field of a form, in bytes."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page of ours may load."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'; sandbox allow-popups"
)
"""What a report may load: nothing; its styles stand in it, since it is one file."""

NOT_KNOWN = "This needs the link that you were given; it may be over, or was revoked.\n"
"""What is said to a stranger."""

_MOST_REQUESTS, _MOST_STRANGERS = 6_000, 120  # in a minute
_MOST_KNOWN = 10_000  # who asked of late, of whom it is known how often
_TOKEN = re.compile(r"(/enter/)[^/?\s\"]+")
_LIVE = re.compile(r"/campaigns/[0-9]{1,15}/live")  # what open pages ask for again and again
_ENTER = "/enter/"
_TOO_OFTEN = "Too many requests in a minute; come back in one.\n"
_FREE = ("/static/", "/healthz")  # paths that anybody may ask for as often as they like

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    # not "no-referrer": browsers then send forms of this very page with the origin "null"
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_UNLESS_GIVEN = (
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
)

log = logging.getLogger("evenhand.serve")


class RefusedError(Exception):
    """A request that is not served, with the status and what is said about it."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Guard:
    """Middleware for all requests."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self._app, self._hosts = app, set(hosts)
        self._holders: dict[str, _Limit] = {}  # by token
        self._places: dict[str, _Limit] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that may be served, and say what its answer may load."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status, stranger = time.monotonic(), 0, False
        request = Request(scope, receive)

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if (stranger and status >= 400) or (status == 401 and token_in(request)):
                    self._forget(request)
                given = message["headers"]
                there = {name for name, _ in given}
                missing = (one for one in _UNLESS_GIVEN if one[0] not in there)
                message["headers"] = [*given, *_HEADERS, *missing]
            await send(message)

        try:
            stranger = self._check(request)
            await self._app(scope, receive, answered)
        except RefusedError as refused:
            await said(request, refused.status, refused.words)(scope, receive, answered)
        except Exception:
            log.exception("this should not have happened")
            if status:
                raise  # half of an answer is out: the connection ends
            words = "This should not have happened. Nothing was lost; try again."
            await said(request, 500, words)(scope, receive, answered)
        if log.isEnabledFor(logging.INFO):
            path, taken = _TOKEN.sub(r"\1…", request.url.path), 1e3 * (time.monotonic() - begun)
            log.info("%s %s %d %.0f ms", request.method, path, status, taken)

    def _check(self, request: Request) -> bool:
        """Refuse what is not served; tell whether who asks has not been seen of late."""
        headers = request.headers
        host = headers.get("host", "")
        if self._hosts and host not in self._hosts:
            raise RefusedError(400, f"This server is not {host!r}.\n")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RefusedError(403, "This came from a page of another site.\n")
        size = headers.get("content-length")
        if size is None and request.method not in ("GET", "HEAD"):
            raise RefusedError(411, "Say how long it is: Content-Length.\n")
        if size is not None and not (size.isascii() and size.isdigit()):
            raise RefusedError(400, "Content-Length must be a number.\n")
        if size is not None and (len(size) > 15 or int(size) > MOST_BYTES):
            raise RefusedError(413, f"At most {MOST_BYTES // 2**20} MB are taken at once.\n")
        return not request.scope["path"].startswith(_FREE) and self._count(request)

    def _count(self, request: Request) -> bool:
        """Refuse who asks too often, by token, or else by place; tell whether it is a stranger."""
        token = token_in(request) or _entering(request)
        stranger = token not in self._holders
        if stranger and not _limit(self._places, _place(request), _MOST_STRANGERS).has_room():
            raise RefusedError(429, _TOO_OFTEN)
        if not token:
            self._places[_place(request)].take()
            return False
        limit = _limit(self._holders, token, _MOST_REQUESTS)
        if not limit.has_room():
            raise RefusedError(429, _TOO_OFTEN)
        if not _LIVE.fullmatch(request.scope["path"]):  # many pages may be open by one link
            limit.take()
        return stranger

    def _forget(self, request: Request) -> None:
        """Count a token that is good for nothing where it came from."""
        self._holders.pop(token_in(request) or _entering(request), None)
        _limit(self._places, _place(request), _MOST_STRANGERS).take()


class _Limit:
    """So many requests at once, and from then on no more in a minute than that."""

    def __init__(self, most: int) -> None:
        self._most, self._left, self._at = float(most), float(most), time.monotonic()

    def has_room(self) -> bool:
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._most / 60.0)
        self._at = now
        return self._left >= 1.0

    def take(self) -> None:
        self._left -= 1.0


def _limit(limits: dict[str, _Limit], who: str, most: int) -> _Limit:
    limit = limits.get(who)
    if limit is None:
        if len(limits) >= _MOST_KNOWN:
            limits.clear()
        limit = limits[who] = _Limit(most)
    return limit


def _place(request: Request) -> str:
    return request.client.host if request.client else ""


def _entering(request: Request) -> str:
    """Return the token of a link that is opened."""
    path = str(request.scope["path"])
    return path[len(_ENTER) :] if path.startswith(_ENTER) else ""


def token_in(request: Request, cookie: str | None = None) -> str:
    """Return the token that a request shows: as a bearer, or in a cookie."""
    kind, _, bearer = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and bearer:
        return bearer.strip()
    names = (cookie,) if cookie else (OWNER, JUDGE)
    return next((request.cookies[name] for name in names if name in request.cookies), "")


def holder(request: Request, cookie: str) -> Access:
    """Return what the one who asks may do, or refuse."""
    token = token_in(request, cookie)
    access = known(request.app.state.store, token) if token else None
    if access is None:
        raise RefusedError(401, NOT_KNOWN)
    return access


def owner(request: Request, campaign: str | None = None, role: Role = "owner") -> Access:
    """Return what the one who asks may do, if that is the owner's, or a viewer's of a campaign."""
    access = holder(request, OWNER)
    if not access.may(role, campaign):
        raise RefusedError(403, "Your link is not for this page.\n")
    return access


async def form_of(request: Request) -> AsyncIterator[FormData]:
    """Give the form that a request sends; empty where it sends none."""
    async with request.form(max_files=4, max_fields=40, max_part_size=MOST_TYPED) as form:
        yield form


Given = Annotated[FormData, Depends(form_of)]


def from_own_page(request: Request, form: Given) -> None:
    """Refuse a form that does not come from a page of its sender's: every router of pages asks."""
    if request.method == "POST":
        judges = request.url.path.startswith("/judge")
        access = holder(request, JUDGE if judges else OWNER)
        if not same(str(form.get("csrf", "")), access.csrf):
            raise RefusedError(403, "This form is not from a page of yours. Open the page again.\n")
