"""What every request passes: its host, its origin, its size, how often; and what goes with answers.

Cookies are HttpOnly and SameSite=Strict; forms carry a word besides that only the holder's pages
have. A page may load what is served here, and nothing else; no script stands in a page.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from fastapi import Request
from fastapi.responses import Response

from evenhand.serve.access import Access, Role, known, same
from evenhand.serve.pages import said

OWNER, JUDGE = "evenhand_owner", "evenhand_judge"
"""Names of cookies: one browser may be the owner's and an evaluator's at once."""

MOST_BYTES = 32 * 2**20
"""The largest body of a request."""

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

_MINUTE, _MOST_REQUESTS, _MOST_STRANGERS = 60.0, 1_200, 120
_TOKEN = re.compile(r"(/enter/)[^/?\s\"]+")

log = logging.getLogger("evenhand.serve")


class RefusedError(Exception):
    """A request that is not served, with the status and what is said about it."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Guard:
    """Middleware for all requests."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = set(hosts)
        self._seen: dict[str, list[float]] = defaultdict(list)

    async def __call__(
        self, request: Request, serve: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Serve a request that may be served, and say what its answer may load."""
        begun = time.monotonic()
        try:
            self._check(request)
            response = await serve(request)
        except RefusedError as refused:
            response = said(request, refused.status, refused.words)
        except Exception:
            log.exception("this should not have happened")
            response = said(
                request, 500, "This should not have happened. Nothing was lost; try again."
            )
        headers = response.headers
        headers.setdefault("Content-Security-Policy", POLICY)
        headers["X-Content-Type-Options"] = "nosniff"
        # not "no-referrer": browsers then send forms of this very page with the origin "null"
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers.setdefault("Cache-Control", "no-store")
        path = _TOKEN.sub(r"\1…", request.url.path)
        taken = 1_000.0 * (time.monotonic() - begun)
        log.info("%s %s %d %.0f ms", request.method, path, response.status_code, taken)
        return response

    def _check(self, request: Request) -> None:
        host = request.headers.get("host", "")
        if self._hosts and host not in self._hosts:
            raise RefusedError(400, f"This server is not {host!r}.\n")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RefusedError(403, "This came from a page of another site.\n")
        try:
            size = int(request.headers.get("content-length", "0"))
        except ValueError:
            raise RefusedError(400, "Content-Length must be a number.\n") from None
        if request.method not in ("GET", "HEAD") and "content-length" not in request.headers:
            raise RefusedError(411, "Say how long it is: Content-Length.\n")
        if size > MOST_BYTES:
            raise RefusedError(413, f"At most {MOST_BYTES // 2**20} MB are taken at once.\n")
        self._count(request)

    def _count(self, request: Request) -> None:
        """Refuse who asks too often: by token, and strangers by where they come from."""
        token = token_in(request)
        who = token or (request.client.host if request.client else "")
        most = _MOST_REQUESTS if token else _MOST_STRANGERS
        if request.url.path.startswith("/static/") or request.url.path == "/healthz":
            return
        now = time.monotonic()
        seen = [at for at in self._seen[who] if at > now - _MINUTE]
        self._seen[who] = [*seen, now]
        if len(seen) >= most:
            raise RefusedError(429, "Too many requests in a minute; come back in one.\n")
        if len(self._seen) > 10_000:
            self._seen.clear()


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
        raise RefusedError(
            401, "This needs the link that you were given; it may be over, or was revoked.\n"
        )
    return access


def owner(request: Request, campaign: str | None = None, role: Role = "owner") -> Access:
    """Return what the one who asks may do, if that is the owner's, or a viewer's of a campaign."""
    access = holder(request, OWNER)
    if not access.may(role, campaign):
        raise RefusedError(403, "Your link is not for this page.\n")
    return access


def check_form(access: Access, given: str | None) -> None:
    """Refuse a form that does not come from a page of its sender's."""
    if not same(given or "", access.csrf):
        raise RefusedError(403, "This form is not from a page of yours. Open the page again.\n")
