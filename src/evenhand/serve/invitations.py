"""Invitations: a link for each evaluator, who has one, and who is to be reminded."""

from __future__ import annotations

import base64
import csv
import io
from typing import Annotated, Any
from urllib.parse import quote

import segno
from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from evenhand.campaigns import Campaign
from evenhand.campaigns.holdings import Holding, due_of, holdings_of
from evenhand.serve.access import grant, invited, renew, revoke
from evenhand.serve.campaigns import Number, known_campaign
from evenhand.serve.guard import RefusedError, from_own_page
from evenhand.serve.pages import page

router = APIRouter(include_in_schema=False, dependencies=[Depends(from_own_page)])

_LOOKS_ON = "whoever looks on"
_HERE = ("127.0.0.1", "localhost", "::1")


@router.get("/campaigns/{number}/links")
def links(request: Request, number: Number) -> Response:
    """Show who has a link."""
    access, campaign = known_campaign(request, number, without_scores=True)
    return page(request, "links.html", access, **_links(request, campaign), **_made(request, []))


@router.post("/campaigns/{number}/links")
def make_links(
    request: Request,
    number: Number,
    evaluator: Annotated[str, Form()] = "",
    what: Annotated[str, Form()] = "make",
) -> Response:
    """Make links: for all who have none, or a new one for somebody; or revoke somebody's."""
    access, campaign = known_campaign(request, number, without_scores=True)
    store = request.app.state.store
    people, name = _evaluators(campaign), campaign.name
    if evaluator and evaluator not in people:
        raise RefusedError(400, f"{evaluator!r} is no evaluator of this campaign.")
    tokens: list[tuple[str, str]] = []
    if what not in ("make", "renew", "revoke", "look"):
        raise RefusedError(400, f"{what!r} is nothing that can be done here.")
    if what == "look":
        tokens = [(_LOOKS_ON, grant(store, "viewer", name))]
    elif what == "revoke":
        revoke(store, name, evaluator)
    elif evaluator:
        tokens = [(evaluator, renew(store, name, evaluator))]
    else:
        have = {one.evaluator for one in invited(store, name)}
        missing = [one for one in people if one not in have]
        tokens = [(one, grant(store, "evaluator", name, one)) for one in missing]
    made = _made(request, tokens)
    return page(request, "links.html", access, **_links(request, campaign), **made)


@router.get("/campaigns/{number}/remind")
def remind(request: Request, number: Number) -> Response:
    """Show who is behind, since when, and what to write to them."""
    access, campaign = known_campaign(request, number, without_scores=True)
    return page(request, "remind.html", access, **_behind(request, campaign), **_made(request, []))


@router.post("/campaigns/{number}/remind")
def renew_links(request: Request, number: Number) -> Response:
    """Make new links for all who are behind; those from before are worth nothing any more."""
    access, campaign = known_campaign(request, number, without_scores=True)
    behind, store = _behind(request, campaign), request.app.state.store
    tokens = [(who["name"], renew(store, campaign.name, who["name"])) for who in behind["people"]]
    more = {who["name"]: (who["done"], who["due"]) for who in behind["people"]}
    return page(request, "remind.html", access, **behind, **_made(request, tokens, more))


def _made(
    request: Request,
    tokens: list[tuple[str, str]],
    more: dict[str, tuple[int, int]] | None = None,
) -> dict[str, Any]:
    """Return links that were made now, as pictures, and as a table to mail."""
    here = str(request.base_url).rstrip("/")
    made = [
        {"evaluator": one, "link": f"{here}/enter/{token}", "code": _code(f"{here}/enter/{token}")}
        for one, token in tokens
    ]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["evaluator", "link", *(["done", "to do"] if more else [])])
    for one in made:
        counts = () if more is None else more[one["evaluator"]]
        writer.writerow([_safe(one["evaluator"]), one["link"], *counts])
    text = written.getvalue()
    return {
        "made": made,
        "table": text,
        "download": base64.b64encode(text.encode("utf-8-sig")).decode(),
        "here_only": request.url.hostname in _HERE,
    }


def _links(request: Request, campaign: Campaign) -> dict[str, Any]:
    have = {one.evaluator: one for one in invited(request.app.state.store, campaign.name)}
    people = [(one, have.get(one)) for one in _evaluators(campaign)]
    return {"name": campaign.name, "number": campaign._follower.id, "people": people}


def _behind(request: Request, campaign: Campaign) -> dict[str, Any]:
    """Return who has something to do, those who had it for longest first."""
    name, status, due = campaign.name, campaign.status(), due_of(campaign)
    now, holdings = holdings_of(campaign._follower)
    have = {one.evaluator: one for one in invited(request.app.state.store, name)}
    people = []
    for one in status.evaluators:
        if status.status != "running" or one.left is not None or not due.get(one.evaluator):
            continue
        holding, invitation = holdings.get(one.evaluator, Holding()), have.get(one.evaluator)
        people.append(
            {
                "name": one.evaluator,
                "done": one.evaluations,
                "due": due[one.evaluator],
                "held": holding.held,
                "last": holding.last,
                "since": invitation.made if invitation else None,
                "mail": _mail(name, one.evaluator, one.evaluations, due[one.evaluator]),
            }
        )
    people.sort(key=lambda who: (who["last"] or who["since"] or 0.0, who["name"]))
    number = campaign._follower.id
    return {"name": name, "number": number, "people": people, "now": now, "status": status}


def _mail(campaign: str, evaluator: str, done: int, due: int) -> str:
    """Return an address that opens a letter in a mail program, to fill in whom it goes to."""
    text = (
        f"Dear {evaluator},\n\n{due} of your evaluations for {campaign} are still open ({done} are "
        "in, thank you). Please open the link that you were sent; it goes on where you stopped."
        "\n\nKind regards\n"
    )
    return f"mailto:?subject={quote(f'Reminder: {campaign}')}&body={quote(text, safe='')}"


def _evaluators(campaign: Campaign) -> list[str]:
    return [one.evaluator for one in campaign.status().evaluators]


def _code(link: str) -> str:
    """Return a link as a picture that a phone reads."""
    return segno.make(link).svg_data_uri(scale=3)


def _safe(cell: str) -> str:
    """Keep a spreadsheet from running what somebody is called."""
    return f"'{cell}" if cell[:1] in "=+-@\t\r" else cell
