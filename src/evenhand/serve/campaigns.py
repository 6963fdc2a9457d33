"""The owner's pages of campaigns: begin one, watch it, invite, pause, withdraw; its answer."""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

import segno
from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

import evenhand as eh
from evenhand.campaigns import Campaign
from evenhand.campaigns.sections import campaign_report
from evenhand.errors import InputError
from evenhand.report.html import as_page
from evenhand.serve.access import Access, grant, invited, renew, revoke
from evenhand.serve.guard import OWNER, REPORT_POLICY, RefusedError, check_form, holder
from evenhand.serve.pages import page

router = APIRouter(include_in_schema=False)

_MOST_LINES = 5_000


@router.get("/")
def home(request: Request) -> Response:
    """Show all campaigns, and the two doors."""
    access = holder(request, OWNER)
    return page(request, "home.html", access, campaigns=Campaign.names(request.app.state.store))


@router.get("/campaigns/new")
def ask_for_campaign(request: Request) -> Response:
    """Show what a campaign needs to begin."""
    access = holder(request, OWNER)
    return page(request, "new.html", access, wrong="", told="", given=_GIVEN)


@router.post("/campaigns/new")
async def begin(request: Request) -> Response:
    """Say what can be told and what it takes, or begin."""
    access = holder(request, OWNER)
    form = await request.form()
    given = {name: str(form.get(name, default)) for name, default in _GIVEN.items()}
    check_form(access, str(form.get("csrf", "")))
    try:
        panel = _panel(given)
        if form.get("do") != "begin":
            told = f"{panel.check()}"
            return page(request, "new.html", access, wrong="", told=told, given=given)
        name = given["name"].strip()
        Campaign.create(
            request.app.state.store,
            name,
            panel,
            looks="once" if given["looks"] == "once" else None,
            bounds=_bounds(given["scale"]),
            lease=7 * 86_400.0,
        )
    except eh.EvenhandError as error:
        return page(request, "new.html", access, 400, wrong=str(error), told="", given=given)
    return RedirectResponse(f"/campaigns/{_quoted(name)}", 303)


@router.get("/campaigns/{name}")
def watch(request: Request, name: str) -> Response:
    """Show how a campaign stands."""
    access = _owner(request, name)
    return page(request, "campaign.html", access, **_standing(request, name))


@router.get("/campaigns/{name}/live")
def live(request: Request, name: str) -> Response:
    """Return the part of the page that changes."""
    access = _owner(request, name)
    return page(request, "live.html", access, **_standing(request, name))


@router.post("/campaigns/{name}/do")
def do(
    request: Request,
    name: str,
    what: Annotated[str, Form()],
    csrf: Annotated[str, Form()] = "",
    whom: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Pause, resume, extend, withdraw, leave, join."""
    access = _owner(request, name)
    check_form(access, csrf)
    campaign = request.app.state.opened(name)
    deeds: dict[str, Any] = {
        "pause": lambda: campaign.pause(reason),
        "resume": campaign.resume,
        "leave": lambda: campaign.leave(whom, reason),
        "join": lambda: campaign.join(whom),
        "extend": lambda: campaign.extend(at_most=_number(whom)),
        "withdraw": lambda: campaign.withdraw(_number(whom), reason),
    }
    if what not in deeds:
        raise RefusedError(400, f"{what!r} is nothing that can be done here.")
    deeds[what]()
    return RedirectResponse(f"/campaigns/{_quoted(name)}", 303)


@router.get("/campaigns/{name}/report.html")
def report(request: Request, name: str) -> Response:
    """Return the report for a committee."""
    _owner(request, name)
    campaign = request.app.state.opened(name)
    text = as_page(campaign_report(campaign._follower))
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/campaigns/{name}/record.zip")
def record(request: Request, name: str) -> Response:
    """Return the record, by which anybody can check the decision."""
    _owner(request, name)
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


@router.get("/campaigns/{name}/verify")
def verify(request: Request, name: str) -> Response:
    """Say whether the record is whole, and the decision follows from it."""
    access = _owner(request, name)
    found = request.app.state.opened(name).verify()
    return page(request, "verified.html", access, name=name, found=found, words=str(found))


@router.get("/campaigns/{name}/links")
def links(request: Request, name: str) -> Response:
    """Show who has a link."""
    access = _owner(request, name)
    return page(request, "links.html", access, **_links(request, name), made=[], table="")


@router.post("/campaigns/{name}/links")
def make_links(
    request: Request,
    name: str,
    csrf: Annotated[str, Form()] = "",
    evaluator: Annotated[str, Form()] = "",
    what: Annotated[str, Form()] = "make",
) -> Response:
    """Make links: for all who have none, or a new one for somebody; or revoke somebody's."""
    access = _owner(request, name)
    check_form(access, csrf)
    store = request.app.state.store
    people = _evaluators(request, name)
    if evaluator and evaluator not in people:
        raise RefusedError(400, f"{evaluator!r} is no evaluator of this campaign.")
    tokens: list[tuple[str, str]] = []
    if what == "revoke":
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
    return page(
        request, "links.html", access, **_links(request, name), made=made, table=table.getvalue()
    )


_GIVEN = {"name": "", "options": "", "evaluators": "", "scale": "0,10", "looks": "once"}


def _panel(given: dict[str, str]) -> eh.Questions:
    options, evaluators = _lines(given["options"]), _lines(given["evaluators"])
    if len(options) < 2 or len(evaluators) < 1:
        raise InputError("give at least two options and one evaluator, one on each line.")
    return eh.Questions.panel(options, evaluators)


def _lines(text: str) -> Any:
    """Read names, one on a line, each with its group after a comma if there are groups."""
    rows = [line.partition(",") for line in text.splitlines() if line.strip()]
    if len(rows) > _MOST_LINES:
        raise InputError(f"at most {_MOST_LINES:,} lines are taken; got {len(rows):,}.")
    names = [name.strip() for name, _, _ in rows]
    if any(group.strip() for _, _, group in rows):
        return {
            name: group.strip() or None for name, (_, _, group) in zip(names, rows, strict=True)
        }
    return names


def _bounds(text: str) -> tuple[float, float] | None:
    if not text.strip():
        return None
    low, _, high = text.partition(",")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputError(f"the scale is two numbers, such as 0,10; got {text!r}.") from None


def _owner(request: Request, name: str) -> Access:
    access = holder(request, OWNER)
    if not access.may("owner", name):
        raise RefusedError(403, "This link is not for this campaign.")
    if name not in Campaign.names(request.app.state.store):
        raise RefusedError(404, f"There is no campaign {name!r}.")
    return access


def _standing(request: Request, name: str) -> dict[str, Any]:
    campaign = request.app.state.opened(name)
    status = campaign.status()
    rows: list[dict[str, Any]] = []
    verdict = ""
    if status.evaluations and (status.status == "finished" or not status.looks_once):
        answer = campaign.answer()
        verdict = str(answer).split("\n\n")[0]
        rows = answer.standings.to_dict("records")
    return {"name": name, "status": status, "verdict": verdict, "rows": rows}


def _links(request: Request, name: str) -> dict[str, Any]:
    have = {one.evaluator for one in invited(request.app.state.store, name)}
    people = [(one, one in have) for one in _evaluators(request, name)]
    return {"name": name, "people": people}


def _evaluators(request: Request, name: str) -> list[str]:
    campaign = request.app.state.opened(name)
    return [one.evaluator for one in campaign.status().evaluators]


def _number(text: str) -> int:
    if not text.strip().isdigit():
        raise InputError(f"a whole number is needed; got {text!r}.")
    return int(text)


def _code(link: str) -> str:
    """Return a link as a picture that a phone reads."""
    return segno.make(link).svg_data_uri(scale=3)


def _safe(cell: str) -> str:
    """Keep a spreadsheet from running what somebody is called."""
    return f"'{cell}" if cell[:1] in "=+-@\t\r" else cell


def _quoted(name: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415 # seldom

    return quote(name, safe="")
