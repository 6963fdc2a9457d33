"""The application: what is served where, over one store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from evenhand.campaigns import Campaign
from evenhand.campaigns.stores import Store
from evenhand.errors import EvenhandError, StoreError
from evenhand.report.html import styles
from evenhand.serve import api, campaigns, invitations, judging, runs, uploads
from evenhand.serve.access import known
from evenhand.serve.guard import JUDGE, OWNER, Guard, RefusedError
from evenhand.serve.pages import page, said

_HERE = Path(__file__).parent


def make_app(store: Store, hosts: Sequence[str] = (), secure: bool = False) -> FastAPI:
    """Return the application over a store.

    Parameters
    ----------
    store
        An open store; several applications may share one PostgreSQL.
    hosts
        Names, with ports, under which it is reached; requests to others are refused. Empty: any.
    secure
        Whether browsers reach it by https, so that cookies may be kept to that.
    """
    app = FastAPI(
        title="evenhand", version=version("evenhand"), docs_url=None, redoc_url=None,
        description="The right choice from unfair evaluations: campaigns over HTTP.",
    )  # fmt: skip
    app.state.store = store
    app.state.answers, app.state.looks = {}, {}
    app.state.opened = lru_cache(maxsize=256)(lambda name: Campaign.open(store, name))
    app.add_middleware(Guard, hosts=hosts)

    @app.get("/static/report.css", include_in_schema=False)
    def style_of_reports() -> Response:
        """Return the style sheet that stands in reports."""
        return Response(styles(), media_type="text/css")

    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    for room in (uploads, campaigns, invitations, judging, api, runs):
        app.include_router(room.router)

    @app.get("/healthz", include_in_schema=False)
    def healthz() -> PlainTextResponse:
        """Say whether the store answers."""
        store.read(lambda session: session.now())
        return PlainTextResponse("ok\n")

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> PlainTextResponse:
        """Count campaigns, for whoever watches; names are not told."""
        states = list(Campaign.names(store).values())
        lines = [f'evenhand_campaigns{{status="{one}"}} {states.count(one)}'
                 for one in ("running", "paused", "finished")]  # fmt: skip
        return PlainTextResponse("\n".join(["# TYPE evenhand_campaigns gauge", *lines, ""]))

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        """Have no picture: reports, too, are asked for one."""
        return Response(status_code=204, headers={"Cache-Control": "max-age=86400"})

    @app.get("/enter/{token}", include_in_schema=False)
    def enter(request: Request, token: str) -> Response:
        """Change the token of a link for a cookie, so that it stands in no address any more."""
        access = known(store, token)
        if access is None:
            return page(request, "refused.html", code=401)
        judges = access.role == "evaluator"
        # A page that goes on by itself: a redirect would come from where the link was clicked,
        # and a strict cookie does not go along with that.
        go = "/" if access.number is None else f"/campaigns/{access.number}"
        go = "/judge" if judges else go
        response = page(request, "enter.html", go=go)
        response.set_cookie(
            JUDGE if judges else OWNER, token, httponly=True, samesite="strict", secure=secure,
            max_age=90 * 86_400, path="/",
        )  # fmt: skip
        return response

    @app.get("/leave", include_in_schema=False)
    def leave() -> Response:
        """Forget who this browser is."""
        response = RedirectResponse("/", 303)
        for cookie in (OWNER, JUDGE):
            response.delete_cookie(cookie, path="/")
        return response

    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(EvenhandError, _refused_in_words)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    return app


async def _refused(request: Request, error: Any) -> Response:
    return said(request, error.status, error.words)


async def _refused_in_words(request: Request, error: Exception) -> Response:
    return said(request, 503 if isinstance(error, StoreError) else 400, str(error))


async def _http(request: Request, error: Any) -> Response:
    words = {404: "There is nothing here.", 405: "That cannot be done here."}
    answer = said(request, error.status_code, words.get(error.status_code, str(error.detail)))
    answer.headers.update(error.headers or {})
    return answer


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return said(request, 422, f"{where or 'The request'}: {first['msg']}.")
