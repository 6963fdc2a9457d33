"""The same verbs over HTTP, for programs: JSON in, JSON out, a bearer's token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from evenhand.serve.guard import RefusedError
from evenhand.serve.seat import Asked, NotAsked, Progress, Seat

_BEARER = HTTPBearer(description="The token of an evaluator's link.", auto_error=False)
router = APIRouter(prefix="/api/v1", tags=["campaign"], dependencies=[Security(_BEARER)])


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


class Refusal(BaseModel):
    """Why something was not done; nothing has changed."""

    error: str


_REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal}
    for status in (400, 401, 403, 404, 405, 409, 411, 413, 415, 422, 429, 503)
}


def _is_json(request: Request) -> None:
    """Refuse a body that a form of another site could have sent, with this browser's cookie."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "Content-Type must be application/json.")


@router.post("/ask", responses=_REFUSALS)
def ask(request: Request) -> Asked | NotAsked:
    """Return the ticket that this evaluator is to answer next; the same until it is told."""
    return Seat(request).ask()


@router.post("/tell", responses=_REFUSALS, dependencies=[Depends(_is_json)])
def tell(request: Request, told: Told) -> Receipt:
    """Take a score; telling the same again returns the first receipt."""
    seat = Seat(request)
    score = seat.typed(told.score) if isinstance(told.score, str) else told.score
    receipt = seat.tell(told.ticket, score, told.note, told.attempt)
    return Receipt(counted=receipt.counted, repeated=receipt.repeated, why=receipt.why)


@router.post("/decline", responses=_REFUSALS, dependencies=[Depends(_is_json)])
def decline(request: Request, given: Declined) -> Notice:
    """Give a ticket back that this evaluator must not judge."""
    notice = Seat(request).decline(given.ticket, given.reason)
    return Notice(done=notice.done, why=notice.why)


@router.get("/status", responses=_REFUSALS)
def status(request: Request) -> Progress:
    """Return how this evaluator stands."""
    return Seat(request).progress()
