"""The evaluator's page: one question at a time, and nothing but what he is to judge.

What goes to the browser is made here from labels and declared columns alone. Groups, scores,
estimates, prices, others' work, and why something is asked never reach a template.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from evenhand.campaigns import Campaign, ledger
from evenhand.campaigns.tickets import Ticket, parsed
from evenhand.errors import EvenhandError, InputError
from evenhand.serve.access import Access
from evenhand.serve.guard import JUDGE, RefusedError, check_form, holder
from evenhand.serve.pages import page

router = APIRouter(include_in_schema=False)

_FEW = 11  # steps of a scale that are buttons


@router.get("/judge")
def judge(request: Request, wrong: str = "", typed: str = "") -> Response:
    """Show what is to be judged next."""
    access, campaign = _who(request)
    ticket = campaign.ask(access.evaluator)
    progress = _progress(campaign, access.evaluator)
    if not isinstance(ticket, Ticket):
        return page(
            request, "done.html", access, why=ticket.why, over=ticket.reason == "finished",
            waits=ticket.reason in ("waiting", "not now", "paused"), progress=progress,
        )  # fmt: skip
    low, high = campaign._follower.followed().settings["bounds"] or (None, None)
    return page(
        request, "judge.html", access, 400 if wrong else 200, ticket=ticket.id, things=seen(ticket),
        scale=_scale(low, high, two=len(ticket.question.labels) > 1), progress=progress,
        wrong=wrong, typed=typed,
    )  # fmt: skip


@router.post("/judge/tell")
def tell(
    request: Request,
    ticket: Annotated[str, Form()],
    score: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
    csrf: Annotated[str, Form()] = "",
) -> Response:
    """Take a score; the same twice counts once."""
    access, campaign = _who(request)
    check_form(access, csrf)
    check_own(campaign, access, ticket)
    try:
        campaign.tell(ticket, _number(score), note=note.strip())
    except EvenhandError as error:
        return judge(request, wrong=str(error), typed=score)
    return RedirectResponse("/judge", 303)


@router.post("/judge/decline")
def decline(
    request: Request,
    ticket: Annotated[str, Form()],
    reason: Annotated[str, Form()],
    csrf: Annotated[str, Form()] = "",
) -> Response:
    """Take it that the evaluator cannot judge this; somebody else is asked."""
    access, campaign = _who(request)
    check_form(access, csrf)
    check_own(campaign, access, ticket)
    campaign.decline(ticket, reason.strip() or "no reason given")
    return RedirectResponse("/judge", 303)


def seen(ticket: Ticket) -> list[dict[str, Any]]:
    """Return all that an evaluator is shown of a ticket: names, and what was declared."""
    labels = ticket.question.labels
    shown = [*ticket.shown, *({} for _ in labels)][: len(labels)]
    return [
        {"name": label, "shown": dict(columns)}
        for label, columns in zip(labels, shown, strict=True)
    ]


def _who(request: Request) -> tuple[Access, Campaign]:
    access = holder(request, JUDGE)
    if access.role != "evaluator" or access.campaign is None:
        raise RefusedError(403, "This link is not for judging.")
    return access, request.app.state.opened(access.campaign)


def check_own(campaign: Campaign, access: Access, ticket: str) -> None:
    """Refuse a ticket that is somebody else's."""
    number, token = parsed(ticket)
    follower = campaign._follower
    row = follower.store.read(lambda session: ledger.ticket_at(session, follower.id, number))
    if row is None or row.token != token or access.evaluator not in (row.evaluator, row.holder):
        raise RefusedError(403, "This question is not yours any more. Open the page again.")


def _number(text: str) -> float:
    words = {"first": 1.0, "second": -1.0, "tie": 0.0}
    if text in words:
        return words[text]
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"a number is needed; got {text!r}.") from None


def _scale(low: float | None, high: float | None, two: bool) -> dict[str, Any]:
    if two:
        return {"kind": "verdict"}
    if low is None or high is None:
        return {"kind": "number", "low": None, "high": None, "steps": []}
    whole = low == int(low) and high == int(high)
    if whole and high - low < _FEW:
        return {"kind": "buttons", "low": low, "high": high,
                "steps": [*range(int(low), int(high) + 1)]}  # fmt: skip
    return {"kind": "slider", "low": low, "high": high, "steps": []}


def _progress(campaign: Campaign, evaluator: str) -> dict[str, int]:
    own = next((e for e in campaign.status().evaluators if e.evaluator == evaluator), None)
    return {"done": own.evaluations if own else 0, "open": (own.open + own.leased) if own else 0}
