"""The same verbs over HTTP, for programs: JSON in, JSON out, a bearer's token."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from evenhand.serve.guard import JUDGE, token_in
from evenhand.serve.seat import Nothing, Seat

router = APIRouter(prefix="/api/v1", tags=["campaign"])


class Thing(BaseModel):
    """What is to be judged: its name, and what was declared to be shown."""

    name: str
    shown: dict[str, str]


class Scale(BaseModel):
    """Which scores can be given."""

    kind: Literal["number", "slider", "buttons", "vote", "verdict", "grade"]
    low: float | None
    high: float | None
    wanted: str


class Asked(BaseModel):
    """A ticket, which try of it this is, and what to judge; or none, and why."""

    ticket: str | None = None
    attempt: int = 1
    evaluator: str = ""
    things: list[Thing] = []
    scale: Scale | None = None
    until: float | None = None
    reason: str = ""
    why: str = ""
    again_in: float | None = None


class Told(BaseModel):
    """A score for a ticket."""

    model_config = ConfigDict(extra="forbid")
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

    model_config = ConfigDict(extra="forbid")
    ticket: str = Field(max_length=100)
    reason: str = Field(max_length=2_000)


class Notice(BaseModel):
    """What became of a ticket that was given back."""

    done: bool
    why: str


class Progress(BaseModel):
    """How an evaluator stands: what counts, and what waits."""

    evaluator: str
    done: int
    open: int


class Refusal(BaseModel):
    """Why something was not done; nothing has changed."""

    error: str


_REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal} for status in (400, 401, 403, 404, 405, 409, 413, 422, 429, 503)
}


@router.post("/ask", responses=_REFUSALS)
async def ask(request: Request) -> Asked:
    """Return the ticket that this evaluator is to answer next; the same until it is told."""
    desk, token = request.app.state.desk, token_in(request, JUDGE)
    asked = await desk.ask(token)
    evaluator = (await desk.seat(token)).name
    if isinstance(asked, Nothing):
        return Asked(
            evaluator=evaluator, reason=asked.reason, why=asked.why, again_in=asked.again_in
        )
    return Asked(
        ticket=asked.ticket, attempt=asked.attempt, evaluator=evaluator, until=asked.until,
        things=[Thing(**thing) for thing in asked.things],
        scale=Scale(**{key: asked.scale[key] for key in Scale.model_fields}),
    )  # fmt: skip


@router.post("/tell", responses=_REFUSALS)
async def tell(request: Request, told: Told) -> Receipt:
    """Take a score; telling the same again returns the first receipt."""
    desk, token = request.app.state.desk, token_in(request, JUDGE)
    score = told.score
    if isinstance(score, str):
        score = (await desk.seat(token)).typed(score)
    receipt = await desk.tell(token, told.ticket, score, told.note, told.attempt)
    return Receipt(counted=receipt.counted, repeated=receipt.repeated, why=receipt.why)


@router.post("/decline", responses=_REFUSALS)
def decline(request: Request, given: Declined) -> Notice:
    """Give a ticket back that this evaluator must not judge; others are asked."""
    notice = Seat.at(request).decline(given.ticket, given.reason)
    return Notice(done=notice.done, why=notice.why)


@router.get("/status", responses=_REFUSALS)
def status(request: Request) -> Progress:
    """Return how this evaluator stands."""
    seat = Seat.at(request)
    return Progress(evaluator=seat.name, **seat.progress())
