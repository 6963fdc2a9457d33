"""The same verbs over HTTP, for programs: JSON in, JSON out, a bearer's token."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from evenhand.campaigns import Campaign
from evenhand.campaigns.tickets import NoTicket
from evenhand.serve.access import Access
from evenhand.serve.guard import JUDGE, RefusedError, holder
from evenhand.serve.judging import check_own, seen

router = APIRouter(prefix="/api/v1", tags=["campaign"])


class Thing(BaseModel):
    """What is to be judged: its name, and what was declared to be shown."""

    name: str
    shown: dict[str, str]


class Asked(BaseModel):
    """A ticket, or none and why."""

    ticket: str | None = None
    things: list[Thing] = []
    until: float | None = None
    reason: str = ""
    why: str = ""
    again_in: float | None = None


class Told(BaseModel):
    """A score for a ticket."""

    model_config = ConfigDict(extra="forbid")
    ticket: str = Field(max_length=100)
    score: float = Field(allow_inf_nan=False)
    note: str = Field(default="", max_length=10_000)


class Receipt(BaseModel):
    """What became of a score."""

    evaluation: int
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


class Refusal(BaseModel):
    """Why something was not done; nothing has changed."""

    error: str


_REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Refusal} for status in (400, 401, 403, 404, 405, 409, 413, 422, 429, 503)
}


def refusal(status: int, words: str) -> JSONResponse:
    """Return why something was not done."""
    return JSONResponse({"error": words}, status)


@router.post("/ask", responses=_REFUSALS)
def ask(request: Request) -> Asked:
    """Return the ticket that this evaluator is to answer next; the same until it is told."""
    access, campaign = _evaluator(request)
    ticket = campaign.ask(access.evaluator)
    if isinstance(ticket, NoTicket):
        again = ticket.again_in
        finite = again if again is not None and again < 1e12 else None
        return Asked(reason=ticket.reason, why=ticket.why, again_in=finite)
    things = [Thing(**thing) for thing in seen(ticket)]
    return Asked(ticket=ticket.id, things=things, until=ticket.until)


@router.post("/tell", responses=_REFUSALS)
def tell(request: Request, told: Told) -> Receipt:
    """Take a score; telling the same again returns the first receipt."""
    access, campaign = _evaluator(request)
    check_own(campaign, access, told.ticket)
    receipt = campaign.tell(told.ticket, told.score, note=told.note)
    return Receipt(
        evaluation=receipt.evaluation, counted=receipt.counted, repeated=receipt.repeated,
        why=receipt.why,
    )  # fmt: skip


@router.post("/decline", responses=_REFUSALS)
def decline(request: Request, given: Declined) -> Notice:
    """Give a ticket back that this evaluator must not judge; others are asked."""
    access, campaign = _evaluator(request)
    check_own(campaign, access, given.ticket)
    notice = campaign.decline(given.ticket, given.reason)
    return Notice(done=notice.done, why=notice.why)


def _evaluator(request: Request) -> tuple[Access, Campaign]:
    access = holder(request, JUDGE)
    if access.role != "evaluator" or access.campaign is None:
        raise RefusedError(403, "This token is not an evaluator's.")
    return access, request.app.state.opened(access.campaign)
