"""The owner's pages of campaigns: begin one, watch it, invite, pause, withdraw; its answer."""

from __future__ import annotations

import io
import re
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request
from fastapi import Path as InPath
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

import evenhand as eh
from evenhand.campaigns import Campaign
from evenhand.campaigns.export import given_scores
from evenhand.campaigns.holdings import Holding, due_of, holdings_of
from evenhand.campaigns.sections import campaign_report, with_grades
from evenhand.campaigns.status import Status
from evenhand.errors import InputError
from evenhand.report.html import as_page
from evenhand.serve import panel
from evenhand.serve.access import Access, Role, invited
from evenhand.serve.guard import (
    MOST_TYPED,
    REPORT_POLICY,
    Given,
    RefusedError,
    from_own_page,
    owner,
)
from evenhand.serve.pages import page
from evenhand.serve.uploads import as_field, as_file
from evenhand.tables.texts import whole_in

router = APIRouter(include_in_schema=False, dependencies=[Depends(from_own_page)])

Number = Annotated[int, InPath(ge=1, le=2**53)]
"""Which campaign, in an address: no name of a client's ever stands in one."""

_LEASE = 7 * 86_400.0
_ALL = "SELECT id, name, status, counted FROM campaign ORDER BY id DESC"
_ONE = "SELECT name FROM campaign WHERE id = :number"
_ON_A_PAGE = 100  # scores
_PATIENCE = 50.0  # times as long as it took to find an answer, before another is looked for
_FRESH, _LONGEST = 1.0, 60.0  # seconds for which one look serves all viewers, at least and at most
_FIELDS = {"at_most": "Evaluations at most", "budget": "Money at most"}
_LIMITS = re.compile(r"\b(at_most|budget)(?= must be )")
_DONE = {
    "begin": "It has begun. Nobody is asked before you send them their link.",
    "pause": "It is paused: nobody is asked anything until it goes on.",
    "resume": "It goes on.",
    "leave": "It goes on without them; others are asked instead.",
    "join": "They are asked again.",
    "extend": "More may be asked now.",
    "add": "They are in. Evaluators need a link before they are asked: invite them.",
    "withdraw": "The score counts no more. It is kept in the record, marked, with your reason.",
}
"""What was done, in words, by what the address says of it."""


@router.get("/")
def home(request: Request) -> Response:
    """Show all campaigns, and the two doors."""
    access = owner(request)
    found = request.app.state.store.read(lambda session: session.rows(_ALL))
    return page(request, "home.html", access, campaigns=found)


@router.get("/campaigns/new")
def ask_for_campaign(request: Request, example: bool = False, like: int = 0) -> Response:
    """Show what a campaign needs to begin, filled in by an example, or by another campaign."""
    access = owner(request)
    given = panel.GIVEN | (panel.EXAMPLE if example else {})
    if like:
        _, campaign = known_campaign(request, like, without_scores=True)
        state = campaign._follower.known()
        given |= panel.like(state.questions, state.display) | {"name": f"{campaign.name}, again"}
        given["best"] = state.settings["best"]
    return _new(request, access, given)


def _new(
    request: Request,
    access: Access,
    given: dict[str, str],
    *,
    wrong: str = "",
    told: Sequence[Any] = (),
    uploaded: bool = False,
) -> Response:
    return page(
        request, "new.html", access, 400 if wrong else 200, wrong=wrong, told=told, given=given,
        uploaded=uploaded,
    )  # fmt: skip


@router.post("/campaigns/new")
def begin(request: Request, form: Given) -> Response:
    """Take tables in, say what can be told and what it takes, or begin."""
    access = owner(request)
    given = {name: str(form.get(name, default)) for name, default in panel.GIVEN.items()}
    told: Sequence[Any] = ()
    try:
        uploaded = _take_tables(form, given)
        if form.get("do") == "begin" and not uploaded:
            name = given["name"].strip()
            asked = panel.questions(given)
            store = request.app.state.store
            made = Campaign.create(store, name, asked, lease=_LEASE, **panel.arguments(given))
            return RedirectResponse(f"/campaigns/{made._follower.id}?done=begin", 303)
        if given["options"].strip() and given["evaluators"].strip():
            told = panel.forecast(panel.questions(given), given)
    except eh.EvenhandError as error:
        return _new(request, access, given, wrong=error.told(as_field))
    return _new(request, access, given, told=told, uploaded=uploaded)


def _take_tables(form: FormData, given: dict[str, str]) -> bool:
    """Put uploaded tables where they would be typed in; tell whether there were any."""
    found = False
    for field in ("options", "evaluators"):
        file = form.get(f"{field}_table")
        if isinstance(file, UploadFile) and file.filename:
            name = Path(file.filename).name
            with as_file(name, file.file.read()) as table:
                given[field] = panel.from_table(table.path, name)
            found = True
    return found


@router.get("/campaigns/{number}")
def watch(request: Request, number: Number, done: str = "") -> Response:
    """Show how a campaign stands, and what was done last."""
    access, campaign = known_campaign(request, number, "viewer", without_scores=True)
    said = _DONE.get(done, "")
    return page(
        request,
        "campaign.html",
        access,
        said=said,
        wrong="",
        typed={},
        **_standing(request, campaign),
    )


@router.get("/campaigns/{number}/live")
def live(request: Request, number: Number) -> Response:
    """Return the part of the page that changes, the same for all viewers who look at that time."""
    access, campaign = known_campaign(request, number, "viewer", without_scores=True)

    def looked() -> Response:
        return page(request, "live.html", access, **_standing(request, campaign))

    if access.role == "owner":  # who sees at once what he does
        return looked()
    looks: dict[int, _Look] = request.app.state.looks
    return HTMLResponse(looks.setdefault(number, _Look()).body(looked))


class _Look:
    """What all viewers are shown for a moment, so that looking takes a small share of the time."""

    def __init__(self) -> None:
        self._lock, self._body, self._until = threading.Lock(), b"", 0.0

    def body(self, look: Callable[[], Response]) -> bytes:
        """Return what was seen; look anew if it is old, one at a time."""
        if time.monotonic() > self._until and self._lock.acquire(blocking=not self._body):
            try:
                begun = time.monotonic()
                self._body = bytes(look().body)
                now = time.monotonic()
                self._until = now + min(max(_FRESH, _PATIENCE * (now - begun)), _LONGEST)
            finally:
                self._lock.release()
        return self._body


@router.post("/campaigns/{number}/do")
def do(
    request: Request,
    number: Number,
    what: Annotated[str, Form()],
    whom: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
    budget: Annotated[str, Form()] = "",
    blind: Annotated[str, Form()] = "",
    evaluators: Annotated[str, Form(max_length=MOST_TYPED)] = "",
    options: Annotated[str, Form(max_length=MOST_TYPED)] = "",
    conflicts: Annotated[str, Form(max_length=MOST_TYPED)] = "",
) -> Response:
    """Pause, resume, extend, add, withdraw, leave, join."""
    access, campaign = known_campaign(request, number, without_scores=True)
    deeds: dict[str, Any] = {
        "pause": lambda: campaign.pause(reason),
        "resume": campaign.resume,
        "leave": lambda: campaign.leave(whom, reason),
        "join": lambda: campaign.join(whom),
        "extend": lambda: campaign.extend(**panel.more(whom, budget)),
        "add": lambda: _add(
            campaign, {"evaluators": evaluators, "options": options, "conflicts": conflicts}
        ),
        "withdraw": lambda: campaign.withdraw(
            whole_in(whom, "the evaluation"), reason, blind=bool(blind)
        ),
    }
    if what not in deeds:
        raise RefusedError(400, f"{what!r} is nothing that can be done here.")
    try:
        deeds[what]()
    except InputError as error:  # what was typed stays where it was
        typed = {"evaluators": evaluators, "options": options, "conflicts": conflicts}
        wrong = _LIMITS.sub(lambda found: f"‘{_FIELDS[found[0]]}’", str(error))
        return page(
            request, "campaign.html", access, 400, said="", wrong=wrong, typed=typed,
            **_standing(request, campaign),
        )  # fmt: skip
    return RedirectResponse(f"/campaigns/{number}?done={what}", 303)


def _add(campaign: Campaign, given: dict[str, str]) -> None:
    """Have more people or options, unless it was decided by one look, which nobody can join."""
    status = campaign.status()
    if status.looks_once and status.status == "finished":
        raise InputError(
            "the scores of this campaign were looked at once, and it is decided: who comes now "
            "could make nothing surer. Begin a new campaign with these options and people, and "
            "those who come."
        )
    known = campaign._follower.known().questions.evaluators
    campaign.extend(**panel.newcomers(given, known))


@router.get("/campaigns/{number}/scores")
def scores(request: Request, number: Number, before: int = 2**53) -> Response:
    """Show the scores that were given, the newest first."""
    access, campaign = known_campaign(request, number, "viewer", without_scores=True)
    found, more = given_scores(campaign._follower, before, _ON_A_PAGE)
    status = campaign.status()
    return page(
        request, "given.html", access, name=campaign.name, number=number, scores=found, more=more,
        hidden=closed(status), status=status,
    )  # fmt: skip


@router.get("/campaigns/{number}/report.html")
def report(request: Request, number: Number) -> Response:
    """Return the report for a committee."""
    _, campaign = known_campaign(request, number, "viewer")
    text = as_page(campaign_report(campaign._follower))
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/campaigns/{number}/record.zip")
def record(request: Request, number: Number) -> Response:
    """Return the record, by which anybody can check the decision."""
    _, campaign = known_campaign(request, number, "viewer")
    with tempfile.TemporaryDirectory() as folder:
        files = campaign.export(Path(folder) / "record")
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
    access, campaign = known_campaign(request, number, "viewer")
    found = campaign.verify()
    return page(
        request, "verified.html", access, name=campaign.name, number=number, said=found._report(),
        right=bool(found),
    )  # fmt: skip


def known_campaign(
    request: Request, number: int, role: Role = "owner", *, without_scores: bool = False
) -> tuple[Access, Campaign]:
    """Return what the one who asks may do with a campaign, and the campaign.

    Every page of a campaign comes through here. It is refused while nobody may look at the scores,
    unless it says that it shows none then: no score, value, note or record.
    """
    found = request.app.state.store.read(lambda session: session.row(_ONE, number=number))
    name = None if found is None else str(found[0])
    access = owner(request, name or "", role)
    if name is None:
        raise RefusedError(404, "There is no such campaign.")
    campaign: Campaign = request.app.state.opened(name)
    if not without_scores and closed(campaign.status()):
        raise RefusedError(
            403, "Scores are looked at once, when all are in. Until then nobody is shown this."
        )
    return access, campaign


def _standing(request: Request, campaign: Campaign) -> dict[str, Any]:
    """Return all that the page of a campaign shows."""
    status = campaign.status()
    now, holdings = holdings_of(campaign._follower)
    due = due_of(campaign) if status.status == "running" else {}
    people = [
        (one, holdings.get(one.evaluator, Holding()), due.get(one.evaluator, 0))
        for one in status.evaluators
    ]
    known: dict[str, tuple[str, str, float, dict[str, Any]]] = request.app.state.answers
    was, state, until, found = known.get(campaign.name, ("", "", 0.0, {}))
    if was != status.hash and (state != status.status or time.monotonic() > until):
        begun = time.monotonic()
        found = _found(campaign, status)
        was, until = status.hash, time.monotonic() + _PATIENCE * (time.monotonic() - begun)
        known[campaign.name] = was, status.status, until, found
    links = bool(invited(request.app.state.store, campaign.name))
    last = max((one.last for one in holdings.values() if one.last is not None), default=None)
    return {
        "name": campaign.name, "number": campaign._follower.id, "status": status, "people": people,
        "now": now, "last": last, "closed": closed(status), "invited": links,
        "mark": f"{was[:16]}.{status.hash[:16]}.{int(now // 60)}.{links:d}", **found,
    }  # fmt: skip


def closed(status: Status) -> bool:
    """Tell whether scores are not to be looked at yet, by anybody."""
    return status.looks_once and status.status != "finished"


def _found(campaign: Campaign, status: Status) -> dict[str, Any]:
    """Return what is known by now, where it may be looked at."""
    if not status.evaluations or closed(status):
        return {"told": None}
    answer = campaign.answer()
    said = with_grades(answer._report(), campaign._follower.reading)
    known = any(one.known for one in answer.biases)
    shown = [one for one in said.sections if known or one.title != "Biases"]
    return {"told": replace(said, sections=shown)}
