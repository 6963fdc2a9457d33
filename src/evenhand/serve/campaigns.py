"""The owner's pages of campaigns: begin one, watch it, invite, pause, withdraw; its answer."""

from __future__ import annotations

import base64
import csv
import io
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import segno
from fastapi import APIRouter, Depends, Form, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

import evenhand as eh
from evenhand.campaigns import Campaign
from evenhand.campaigns.sections import campaign_report
from evenhand.campaigns.status import Status
from evenhand.report.html import as_page
from evenhand.serve import panel
from evenhand.serve.access import Access, Role, grant, invited, renew, revoke
from evenhand.serve.guard import REPORT_POLICY, RefusedError, check_form, owner
from evenhand.serve.pages import page
from evenhand.serve.uploads import as_file

router = APIRouter(include_in_schema=False)

Number = Annotated[int, InPath(ge=1, le=2**53)]
"""Which campaign, in an address: no name of a client's ever stands in one."""

_MOST_TYPED = 8 * 2**20  # bytes of one field
_LEASE = 7 * 86_400.0
_ALL = "SELECT id, name, status FROM campaign ORDER BY id DESC"
_ONE = "SELECT name FROM campaign WHERE id = :number"
_LOOKS_ON = "whoever looks on"


@router.get("/")
def home(request: Request) -> Response:
    """Show all campaigns, and the two doors."""
    access = owner(request)
    found = request.app.state.store.read(lambda session: session.rows(_ALL))
    return page(request, "home.html", access, campaigns=found)


@router.get("/campaigns/new")
def ask_for_campaign(request: Request) -> Response:
    """Show what a campaign needs to begin."""
    access = owner(request)
    return page(request, "new.html", access, wrong="", told="", given=panel.GIVEN)


async def _form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=4, max_fields=40, max_part_size=_MOST_TYPED) as form:
        yield form


@router.post("/campaigns/new")
def begin(request: Request, form: Annotated[FormData, Depends(_form)]) -> Response:
    """Take tables in, say what can be told and what it takes, or begin."""
    access = owner(request)
    check_form(access, str(form.get("csrf", "")))
    given = {name: str(form.get(name, default)) for name, default in panel.GIVEN.items()}
    told = ""
    try:
        uploaded = _take_tables(form, given)
        if form.get("do") == "begin" and not uploaded:
            name = given["name"].strip()
            asked = panel.questions(given)
            store = request.app.state.store
            made = Campaign.create(store, name, asked, lease=_LEASE, **panel.arguments(given))
            return RedirectResponse(f"/campaigns/{made._follower.id}", 303)
        if given["options"].strip() and given["evaluators"].strip():
            told = panel.forecast(panel.questions(given), given)
    except eh.EvenhandError as error:
        return page(request, "new.html", access, 400, wrong=str(error), told="", given=given)
    return page(request, "new.html", access, wrong="", told=told, given=given)


def _take_tables(form: FormData, given: dict[str, str]) -> bool:
    """Put uploaded tables where they would be typed in; tell whether there were any."""
    found = False
    for field in ("options", "evaluators"):
        file = form.get(f"{field}_table")
        if isinstance(file, UploadFile) and file.filename:
            name = Path(file.filename).name
            with as_file(name, file.file.read()) as path:
                given[field] = panel.from_table(path, name)
            found = True
    return found


@router.get("/campaigns/{number}")
def watch(request: Request, number: Number) -> Response:
    """Show how a campaign stands."""
    access, name = _known(request, number, "viewer")
    return page(request, "campaign.html", access, **_standing(request, name))


@router.get("/campaigns/{number}/live")
def live(request: Request, number: Number) -> Response:
    """Return the part of the page that changes."""
    access, name = _known(request, number, "viewer")
    return page(request, "live.html", access, **_standing(request, name))


@router.post("/campaigns/{number}/do")
def do(
    request: Request,
    number: Number,
    what: Annotated[str, Form()],
    csrf: Annotated[str, Form()] = "",
    whom: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Pause, resume, extend, withdraw, leave, join."""
    access, name = _known(request, number)
    check_form(access, csrf)
    campaign = request.app.state.opened(name)
    deeds: dict[str, Any] = {
        "pause": lambda: campaign.pause(reason),
        "resume": campaign.resume,
        "leave": lambda: campaign.leave(whom, reason),
        "join": lambda: campaign.join(whom),
        "extend": lambda: campaign.extend(at_most=panel.whole(whom, "at most")),
        "withdraw": lambda: campaign.withdraw(panel.whole(whom, "the evaluation"), reason),
    }
    if what not in deeds:
        raise RefusedError(400, f"{what!r} is nothing that can be done here.")
    deeds[what]()
    return RedirectResponse(f"/campaigns/{number}", 303)


@router.get("/campaigns/{number}/report.html")
def report(request: Request, number: Number) -> Response:
    """Return the report for a committee."""
    _, name = _known(request, number, "viewer")
    campaign = request.app.state.opened(name)
    text = as_page(campaign_report(campaign._follower))
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/campaigns/{number}/record.zip")
def record(request: Request, number: Number) -> Response:
    """Return the record, by which anybody can check the decision."""
    _, name = _known(request, number, "viewer")
    with tempfile.TemporaryDirectory() as folder:
        files = request.app.state.opened(name).export(Path(folder) / "record")
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, Path(file).name)
    return Response(
        body.getvalue(),
        media_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="record.zip"'},
    )


@router.get("/campaigns/{number}/verify")
def verify(request: Request, number: Number) -> Response:
    """Say whether the record is whole, and the decision follows from it."""
    access, name = _known(request, number, "viewer")
    found = request.app.state.opened(name).verify()
    return page(
        request, "verified.html", access, name=name, number=number, found=found, words=str(found)
    )


@router.get("/campaigns/{number}/links")
def links(request: Request, number: Number) -> Response:
    """Show who has a link."""
    access, name = _known(request, number)
    return page(
        request, "links.html", access, **_links(request, name), made=[], table="", download=""
    )


@router.post("/campaigns/{number}/links")
def make_links(
    request: Request,
    number: Number,
    csrf: Annotated[str, Form()] = "",
    evaluator: Annotated[str, Form()] = "",
    what: Annotated[str, Form()] = "make",
) -> Response:
    """Make links: for all who have none, or a new one for somebody; or revoke somebody's."""
    access, name = _known(request, number)
    check_form(access, csrf)
    store = request.app.state.store
    people = _evaluators(request, name)
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
    here = str(request.base_url).rstrip("/")
    made = [
        {"evaluator": one, "link": f"{here}/enter/{token}", "code": _code(f"{here}/enter/{token}")}
        for one, token in tokens
    ]
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerows([("evaluator", "link"), *((_safe(m["evaluator"]), m["link"]) for m in made)])
    text = table.getvalue()
    return page(
        request, "links.html", access, **_links(request, name), made=made, table=text,
        here_only=request.url.hostname in ("127.0.0.1", "localhost", "::1"),
        download=base64.b64encode(text.encode("utf-8-sig")).decode(),
    )  # fmt: skip


def _known(request: Request, number: int, role: Role = "owner") -> tuple[Access, str]:
    """Return what the one who asks may do with a campaign, and what that is called."""
    found = request.app.state.store.read(lambda session: session.row(_ONE, number=number))
    name = None if found is None else str(found[0])
    access = owner(request, name or "", role)
    if name is None:
        raise RefusedError(404, "There is no such campaign.")
    return access, name


def _standing(request: Request, name: str) -> dict[str, Any]:
    """Return all that the page of a campaign shows."""
    campaign = request.app.state.opened(name)
    status = campaign.status()
    known: dict[str, tuple[str, dict[str, Any]]] = request.app.state.answers
    if name not in known or known[name][0] != status.hash:
        known[name] = status.hash, _found(campaign, status)
    return {"name": name, "number": campaign._follower.id, "status": status, **known[name][1]}


def _found(campaign: Campaign, status: Status) -> dict[str, Any]:
    """Return what is known by now, where it may be looked at."""
    if not status.evaluations or (status.looks_once and status.status != "finished"):
        return {"verdict": "", "rows": [], "biases": []}
    answer = campaign.answer()
    return {
        "verdict": str(answer).split("\n\n")[0],
        "rows": answer.standings.to_dict("records"),
        "biases": list(answer.biases),
    }


def _links(request: Request, name: str) -> dict[str, Any]:
    have = {one.evaluator for one in invited(request.app.state.store, name)}
    people = [(one, one in have) for one in _evaluators(request, name)]
    return {"name": name, "number": request.app.state.opened(name)._follower.id, "people": people}


def _evaluators(request: Request, name: str) -> list[str]:
    campaign = request.app.state.opened(name)
    return [one.evaluator for one in campaign.status().evaluators]


def _code(link: str) -> str:
    """Return a link as a picture that a phone reads."""
    return segno.make(link).svg_data_uri(scale=3)


def _safe(cell: str) -> str:
    """Keep a spreadsheet from running what somebody is called."""
    return f"'{cell}" if cell[:1] in "=+-@\t\r" else cell
