"""The same verbs over HTTP, for programs: JSON in, JSON out, a bearer's token."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from fastapi import APIRouter, Request, Security
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from evenhand.errors import EvenhandError, StoreError
from evenhand.serve.guard import JUDGE, RefusedError, token_in
from evenhand.serve.seat import Nothing

_BEARER = HTTPBearer(description="The token of an evaluator's link.", auto_error=False)
router = APIRouter(prefix="/api/v1", tags=["campaign"], dependencies=[Security(_BEARER)])


_TICKET = "^[0-9]{1,18}-[0-9a-f]{6}$"


class Thing(BaseModel):
    """What is to be judged: its name, and what was declared to be shown."""

    name: str
    shown: dict[str, str]


class Scale(BaseModel):
    """Which scores can be given."""

    kind: Literal["number", "slider", "buttons", "vote", "verdict", "grade"]
    low: float | None
    high: float | None
    best: Literal["high", "low"]
    wanted: str


class Asked(BaseModel):
    """A ticket, which try of it this is, what to judge, and for how long it is held."""

    ticket: str = Field(pattern=_TICKET)
    attempt: int = Field(ge=1)
    evaluator: str
    things: list[Thing] = Field(min_length=1, max_length=2)
    scale: Scale
    until: float = Field(description="Seconds since 1970.")


class NotAsked(BaseModel):
    """Why there is no ticket, and in how many seconds there may be one, if that is known."""

    ticket: None = None
    evaluator: str
    reason: Literal["waiting", "not now", "paused", "blocked", "left", "finished"]
    why: str
    again_in: float | None = Field(ge=0.0)


class Told(BaseModel):
    """A score for a ticket."""

    model_config = ConfigDict(extra="forbid", strict=True)
    ticket: str = Field(max_length=100)
    score: Annotated[float, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=100)]
    attempt: int = Field(default=1, ge=1, le=10**9)
    note: str = Field(default="", max_length=2_000)


class Receipt(BaseModel):
    """What became of a score."""

    counted: bool
    repeated: bool
    why: str


class Declined(BaseModel):
    """A ticket that its holder cannot judge."""

    model_config = ConfigDict(extra="forbid", strict=True)
    ticket: str = Field(max_length=100)
    reason: str = Field(max_length=2_000)


class Notice(BaseModel):
    """What became of a ticket that was given back."""

    done: bool
    why: str


class Progress(BaseModel):
    """How an evaluator stands: what counts, and what waits."""

    evaluator: str
    done: int = Field(ge=0)
    open: int = Field(ge=0)


class Refusal(BaseModel):
    """Why something was not done; nothing has changed."""

    error: str


_REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal}
    for status in (400, 401, 403, 404, 405, 409, 411, 413, 415, 422, 429, 503)
}


@router.post("/ask", responses=_REFUSALS)
async def ask(request: Request) -> Asked | NotAsked:
    """Return the ticket that this evaluator is to answer next; the same until it is told."""
    seat, asked = await request.app.state.desk.ask(token_in(request, JUDGE))
    if isinstance(asked, Nothing):
        words: dict[str, Any] = {"reason": asked.reason, "why": asked.why}
        return NotAsked(evaluator=seat.name, again_in=asked.again_in, **words)
    return Asked(
        ticket=asked.ticket, attempt=asked.attempt, evaluator=seat.name, until=asked.until,
        things=[Thing(**thing) for thing in asked.things],
        scale=Scale(**{key: asked.scale[key] for key in Scale.model_fields}),
    )  # fmt: skip


@router.post("/tell", responses=_REFUSALS)
async def tell(request: Request, told: Told) -> Receipt:
    """Take a score; telling the same again returns the first receipt."""
    receipt = await request.app.state.desk.tell(
        token_in(request, JUDGE), told.ticket, told.score, told.note, told.attempt
    )
    return Receipt(counted=receipt.counted, repeated=receipt.repeated, why=receipt.why)


@router.post("/decline", responses=_REFUSALS)
async def decline(request: Request, given: Declined) -> Notice:
    """Give a ticket back that this evaluator must not judge; others are asked."""
    notice = await request.app.state.desk.decline(
        token_in(request, JUDGE), given.ticket, given.reason
    )
    return Notice(done=notice.done, why=notice.why)


@router.get("/status", responses=_REFUSALS)
async def status(request: Request) -> Progress:
    """Return how this evaluator stands."""
    seat, progress = await request.app.state.desk.progress(token_in(request, JUDGE))
    return Progress(evaluator=seat.name, **progress)


class Verbs:
    """Middleware that serves the API by itself: read, call, answer.

    The application documents the same functions, and would serve them, too; what it does for pages
    on the way takes longer than to ask and tell.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._verbs = {
            (route.path, method): (route.endpoint, _body_of(route.endpoint))
            for route in router.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a verb; have the application serve all else."""
        known = scope["type"] == "http" and (scope["path"], scope["method"]) in self._verbs
        if not known:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._called(request, *self._verbs[scope["path"], scope["method"]])
        response = Response(answer.model_dump_json(), media_type="application/json")
        await response(scope, receive, send)

    async def _called(self, request: Request, verb: Any, body: type[BaseModel] | None) -> BaseModel:
        try:
            if body is None:
                return await verb(request)  # type: ignore[no-any-return] # a model, as declared
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise RefusedError(415, "Content-Type must be application/json.")
            given = body.model_validate_json(await request.body())
            return await verb(request, given)  # type: ignore[no-any-return] # as above
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "The body"
            raise RefusedError(422, f"{where}: {first['msg']}.") from None
        except EvenhandError as error:
            status = 503 if isinstance(error, StoreError) else 400
            raise RefusedError(status, str(error)) from None


def _body_of(verb: Any) -> type[BaseModel] | None:
    """Return what a verb takes besides the request."""
    models = [kind for kind in get_type_hints(verb).values() if kind in (Told, Declined)]
    return models[0] if models else None
