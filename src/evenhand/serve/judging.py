"""The evaluator's page: one question at a time, and nothing but what he is to judge."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from evenhand.errors import EvenhandError, InputError
from evenhand.serve.guard import from_own_page
from evenhand.serve.pages import page
from evenhand.serve.seat import NotAsked, Seat

router = APIRouter(include_in_schema=False, dependencies=[Depends(from_own_page)])

MOST_NOTE = 2_000
"""Characters of a note."""
_WAITS = ("waiting", "not now", "paused", "blocked")
_PICTURE = re.compile(r"https://[^\s?#]+\.(png|jpe?g|gif|webp|avif|svg)(\?\S*)?", re.IGNORECASE)


@router.get("/judge")
def judge(request: Request, ticket: str = "", last: str = "", late: str = "") -> Response:
    """Show what is to be judged next; or a ticket again, of which a score was taken back."""
    seat = Seat(request)
    return _shown(request, seat, ticket=ticket, last=last, late=bool(late))


@router.post("/judge/tell")
def tell(
    request: Request,
    ticket: Annotated[str, Form(max_length=100)],
    score: Annotated[str, Form(max_length=100)] = "",
    note: Annotated[str, Form(max_length=MOST_NOTE)] = "",
    attempt: Annotated[int, Form(ge=1)] = 1,
) -> Response:
    """Take a score; the same twice counts once."""
    seat = Seat(request)
    try:
        receipt = seat.tell(ticket, seat.typed(score), note, attempt)
    except EvenhandError as error:
        return _shown(request, seat, ticket, wrong=str(error), typed=score, note=note)
    late = {} if receipt.counted or receipt.repeated else {"late": "1"}
    return RedirectResponse(f"/judge?{urlencode({'last': ticket} | late)}", 303)


@router.post("/judge/decline")
def decline(
    request: Request,
    ticket: Annotated[str, Form(max_length=100)],
    reason: Annotated[str, Form(max_length=MOST_NOTE)],
    more: Annotated[str, Form(max_length=MOST_NOTE)] = "",
) -> Response:
    """Take it that the evaluator cannot judge this; somebody else is asked."""
    seat = Seat(request)
    seat.decline(ticket, ": ".join(part for part in (reason.strip(), more.strip()) if part))
    return RedirectResponse("/judge", 303)


@router.post("/judge/undo")
def undo(
    request: Request,
    ticket: Annotated[str, Form(max_length=100)],
) -> Response:
    """Take the last score back, and ask the same again."""
    seat = Seat(request)
    seat.undo(ticket)
    return RedirectResponse(f"/judge?{urlencode({'ticket': ticket})}", 303)


def _shown(
    request: Request,
    seat: Seat,
    ticket: str = "",
    *,
    last: str = "",
    late: bool = False,
    wrong: str = "",
    typed: str = "",
    note: str = "",
) -> Response:
    try:
        undo = last if seat.can_undo(last) else ""
        asked = seat.ask(ticket)
    except InputError:  # an address that somebody changed
        undo, asked = "", seat.ask()
    common: dict[str, Any] = {
        "progress": seat.progress(),
        "planned": seat.planned,
        "undo": undo,
        "late": late,
        "most_note": MOST_NOTE,
    }
    if isinstance(asked, NotAsked):
        waits = asked.reason in _WAITS
        return page(
            request, "done.html", seat.access, why=asked.why, over=not waits, waits=waits, **common
        )
    things = [
        {
            "name": one.name,
            "shown": [(c, text, _how(text)) for c, text in one.shown.items() if text],
        }
        for one in asked.things
    ]
    return page(
        request, "judge.html", seat.access, 400 if wrong else 200, ticket=asked.ticket,
        attempt=asked.attempt, things=things, scale=asked.scale, wrong=wrong, typed=typed,
        note=note, again=bool(ticket) and not wrong, **common,
    )  # fmt: skip


def _how(text: str) -> str:
    """Return how a declared text is shown: as a picture, a link, or what it says."""
    if _PICTURE.fullmatch(text):
        return "picture"
    return "link" if re.fullmatch(r"https?://\S+", text) else "text"
