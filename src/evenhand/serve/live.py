"""Progress of campaigns on open pages: looked up once, for all who look at the same time.

Every open page asks for it every few seconds. All viewers of a campaign see the same, so that one
answer serves them for a moment; the owner has one of his own, since forms may stand in it. Every
second it is looked up whether their links are still good and the campaign is in the same state.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.campaigns.stores.session import Session
from evenhand.serve.access import Access, known, may_still_look
from evenhand.serve.guard import LIVE, OWNER, token_in

_FRESH = 1.0  # seconds for which an answer serves, at least
_SHARE = 50.0  # times as long as it took, so that looking takes a small share of the time
_LONGEST = 60.0  # seconds, however long it took
_MOST = 10_000  # links, and answers, that are kept
_CHANGED = re.compile(r"/campaigns/([0-9]{1,15})(/.*)?")
_STATUS = "SELECT status FROM campaign WHERE id = :id"

_Key = tuple[str, str]  # number of a campaign, and whose answer it is


class _Answer:
    """What some are shown, and who they are."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # held while somebody finds out whether it may be shown
        self.messages: list[Message] = []
        self.until = self.checked = 0.0  # when it is to be looked at again, and checked
        self.looking = False
        self.status: Any = None
        self.good: set[str] = set()  # tokens that may see it


class Live:
    """Middleware that shares what `LIVE` answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._holders: dict[str, Access] = {}  # as far as that does not change
        self._answers: dict[_Key, _Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what others were just shown, or have the application look."""
        if scope["type"] != "http" or not (found := _CHANGED.fullmatch(scope["path"])):
            await self._app(scope, receive, send)
        elif scope["method"] == "GET" and LIVE.fullmatch(scope["path"]):
            await self._shared(Request(scope, receive), found[1], send)
        else:
            await self._app(scope, receive, send)
            if scope["method"] != "GET":  # whoever did something sees it
                gone = [key for key in self._answers if key[0] == found[1]]
                for key in gone:
                    del self._answers[key]

    async def _shared(self, request: Request, number: str, send: Send) -> None:
        token = token_in(request, OWNER)
        answer = await self._answer(request, number, token)
        if answer is not None and (time.monotonic() > answer.checked or not answer.messages):
            async with answer.lock:
                if time.monotonic() > answer.checked:
                    await asyncio.to_thread(_check, request, int(number), answer)
                if token in answer.good and not answer.messages:
                    await self._look(request, answer)
        if answer is None or token not in answer.good or not answer.messages:
            await self._app(request.scope, request.receive, send)  # it says why not
            return
        if time.monotonic() > answer.until and not answer.looking:
            await self._look(request, answer)
        for message in answer.messages:
            await send(dict(message))

    async def _answer(self, request: Request, number: str, token: str) -> _Answer | None:
        """Return what somebody is shown, if that is shared with him; his token is good then."""
        holder = self._holders.get(token)
        answer = None if holder is None else self._answers.get((number, _whose(holder, token)))
        if answer is not None and token in answer.good:
            return answer
        holder = await asyncio.to_thread(known, request.app.state.store, token)
        if holder is None or holder.role == "evaluator":
            return None
        if len(self._answers) >= _MOST or len(self._holders) >= _MOST:
            self._answers.clear()
            self._holders.clear()
        self._holders[token] = holder
        answer = self._answers.setdefault((number, _whose(holder, token)), _Answer())
        answer.good.add(token)
        return answer

    async def _look(self, request: Request, answer: _Answer) -> None:
        """Have the application answer; meanwhile others see what was shown before."""
        begun, messages = time.monotonic(), []

        async def kept(message: Message) -> None:
            messages.append(message)

        answer.looking = True
        try:
            await self._app(request.scope, request.receive, kept)
        finally:
            answer.looking = False
        now = time.monotonic()
        answer.until = now + min(max(_FRESH, _SHARE * (now - begun)), _LONGEST)
        answer.messages = messages if messages and messages[0]["status"] == 200 else []


def _whose(holder: Access, token: str) -> str:
    """Return who sees the same: all viewers of a campaign, or the owner by one link."""
    return token if holder.role == "owner" else f"viewers of {holder.number}"


def _check(request: Request, number: int, answer: _Answer) -> None:
    """Find out whose tokens are good; forget what is shown if the campaign is in another state."""
    tokens = answer.good.copy()

    def look(session: Session) -> tuple[set[str], Any]:
        return may_still_look(session, tokens), session.row(_STATUS, id=number)

    good, status = request.app.state.store.read(look)
    answer.good -= tokens - good
    if status != answer.status:
        answer.status, answer.messages = status, []
    answer.checked = time.monotonic() + _FRESH
