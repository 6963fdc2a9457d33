"""What `eh.choose` on a server's store needs over HTTP, for the owner's programs alone.

A run evaluates on its own machine; tickets, scores and the record are here. It begins with the
first event of its campaign, which is tried before it is put into the store. These verbs are
evenhand's own, of the same version on both sides, and not in the document of the API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from evenhand.answers.question import Reply
from evenhand.campaigns.arguments import checked_name
from evenhand.campaigns.ask import ask
from evenhand.campaigns.course import Course
from evenhand.campaigns.events import START, as_line, sealed
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import events_after, find
from evenhand.campaigns.lifecycle import give_another_chance, leave
from evenhand.campaigns.run import begun, held_by_runs
from evenhand.campaigns.state import State
from evenhand.campaigns.tell import end_lease, fail, release, renew, tell
from evenhand.campaigns.tickets import NoTicket, Ticket, parsed
from evenhand.errors import InputError
from evenhand.serve.campaigns import Number, closed, known_campaign
from evenhand.serve.guard import RefusedError, owner

router = APIRouter(prefix="/api/v1/runs", include_in_schema=False)

_PIECE = 1_024  # events that are sent at once
_Name = Annotated[str, Field(max_length=400)]
_Words = Annotated[str, Field(max_length=20_000)]
_Done = dict[str, bool]  # whether it was done


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Begun(_Given):
    """The first event of a campaign, and which limits were given, and may have grown."""

    content: dict[str, Any]
    given: list[Literal["at_most", "budget"]] = []


class Named(_Given):
    """A ticket, which try of it, and who has it."""

    id: Annotated[str, Field(max_length=100)]
    holder: _Name
    worker: _Name
    attempt: int = Field(ge=0, le=10**9)


class Asked(_Given):
    """How many tickets a worker wants, among whose questions."""

    among: list[_Name] | None = None
    worker: _Name
    n: int = Field(ge=1, le=10_000)
    lease: float = Field(gt=0, le=86_400)


class Told(Named):
    """A score for a ticket, what it cost and what was said beside it."""

    score: Annotated[float, Field(allow_inf_nan=False, strict=True)]
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    said: _Words = ""


class Failed(Named):
    """A ticket that could not be answered."""

    why: _Words


class Released(_Given):
    """Tickets that are given back."""

    tickets: list[Named] = Field(max_length=10_000)


class Renewed(Named):
    """A ticket that is to be held for so many seconds more."""

    lease: float = Field(gt=0, le=86_400)


class Left(_Given):
    """Who is not asked any more."""

    evaluator: _Name
    why: _Words


class Dead(_Given):
    """Tickets of workers that are no more."""

    dead: list[Named] = Field(max_length=10_000)


@router.post("")
def begin_run(request: Request, given: Begun) -> dict[str, int]:
    """Begin a campaign, or go on with it if it was begun with the same."""
    owner(request)
    content = _tried(given.content)
    return {"number": begun(request.app.state.store, content, given.given).id}


def _tried(content: dict[str, Any]) -> dict[str, Any]:
    """Return a first event that can be followed, or say why it cannot."""
    try:
        event = sealed(START, 1, 0.0, "created", content | {"made": "0" * 16})
        policy = Course().follow(State().fold([event]).view()).policy
        checked_name(content["name"], "name")
        if policy.spent + policy.observed:
            raise InputError("the policy has been told something that the record has not.")
    except Exception as error:  # whatever somebody wrote there
        raise InputError(f"this campaign cannot be begun: {error}") from None
    return content


@router.get("")
def find_run(request: Request, name: Annotated[str, Query(max_length=400)]) -> dict[str, int]:
    """Return the number of the campaign of a name."""
    owner(request)
    number = request.app.state.store.read(lambda session: find(session, name))
    if number is None:
        raise RefusedError(404, f"There is no campaign {name!r} here.")
    return {"number": number}


@router.get("/{number}/events")
def events(
    request: Request, number: Number, after: Annotated[int, Query(ge=0, le=2**53)] = 0
) -> dict[str, Any]:
    """Return the next events of the record as lines of JSON, the seal of the one before, and
    whether there are more; none with a score while nobody may look at them (``closed``).
    """
    _, campaign = known_campaign(request, number, without_scores=True)
    follower, kept_back = campaign._follower, closed(campaign.status())
    # the one before is among them, for its seal
    found = request.app.state.store.read(
        lambda session: events_after(session, follower.id, max(after - 1, 0), _PIECE + 2)
    )
    before = found.pop(0).hash.hex() if after and found else ""
    first = next(iter(follower.state().evaluations.values()), None)
    if kept_back and first is not None:
        found = [event for event in found if event.number < first.event]
    lines = [as_line(event) for event in found[:_PIECE]]
    more = len(found) > _PIECE
    return {"seal": before, "events": lines, "more": more, "closed": kept_back}


@router.post("/{number}/held")
def held(request: Request, number: Number) -> dict[str, Any]:
    """Return the tickets that runs have."""
    rows = _follower(request, number).read(held_by_runs)
    return {"tickets": [{name: getattr(row, name) for name in Named.model_fields} for row in rows]}


@router.post("/{number}/begin")
def begin_working(request: Request, number: Number, given: Dead) -> _Done:
    """Take tickets back from workers that are no more; who failed has another chance."""
    follower = _follower(request, number)
    for one in given.dead:
        end_lease(follower, _ticket(follower, one))
    give_another_chance(follower)
    return {"done": True}


@router.post("/{number}/ask")
def ask_for_run(request: Request, number: Number, given: Asked) -> dict[str, Any]:
    """Hand out what is to be evaluated next; what the worker has is among it."""
    follower = _follower(request, number)
    among: Sequence[str] | None = given.among
    if among is not None and not follower.known().questions.evaluators:
        among = None
    got = ask(follower, among, given.worker, given.n, given.lease)
    if isinstance(got, NoTicket):
        soon = got.again_in if got.again_in is not None and got.again_in < 1e9 else None
        return {"tickets": [], "reason": got.reason, "why": got.why, "again_in": soon}
    tickets = [got] if isinstance(got, Ticket) else got
    rows = follower.read(lambda page: [page.ticket(one.number) for one in tickets])
    handed = [
        {"id": one.id, "question": row.question, "turn": row.turn, "holder": one.holder,
         "attempt": one.attempt, "until": one.until}
        for one, row in zip(tickets, rows, strict=True) if row is not None
    ]  # fmt: skip
    return {"tickets": handed}


@router.post("/{number}/tell")
def tell_for_run(request: Request, number: Number, given: Told) -> _Done:
    """Take a score; the same again changes nothing."""
    follower = _follower(request, number)
    reply = Reply(given.score, given.cost, given.said)
    tell(follower, [(_ticket(follower, given), reply, None)])
    return {"done": True}


@router.post("/{number}/fail")
def fail_for_run(request: Request, number: Number, given: Failed) -> _Done:
    """Take a ticket back that could not be answered."""
    follower = _follower(request, number)
    return {"done": fail(follower, _ticket(follower, given), given.why).done}


@router.post("/{number}/release")
def release_for_run(request: Request, number: Number, given: Released) -> _Done:
    """Take tickets back unanswered."""
    follower = _follower(request, number)
    release(follower, *(_ticket(follower, one) for one in given.tickets))
    return {"done": True}


@router.post("/{number}/renew")
def renew_for_run(request: Request, number: Number, given: Renewed) -> _Done:
    """Have a ticket held for longer."""
    follower = _follower(request, number)
    got = renew(follower, _ticket(follower, given), given.lease)
    return {"done": isinstance(got, Ticket)}


@router.post("/{number}/leave")
def leave_for_run(request: Request, number: Number, given: Left) -> _Done:
    """Go on without an evaluator."""
    leave(_follower(request, number), given.evaluator, given.why, code="away")
    return {"done": True}


def _follower(request: Request, number: int) -> Follower:
    _, campaign = known_campaign(request, number, without_scores=True)
    return campaign._follower


def _ticket(follower: Follower, given: Named) -> Ticket:
    """Return a ticket as the run that names it has it."""
    number, token = parsed(given.id)
    row = follower.read(lambda page: page.ticket(number))
    if row is None or row.token != token:
        raise InputError(f"there is no ticket {given.id}.")
    return replace(
        follower.ticket(row), holder=given.holder, worker=given.worker, attempt=given.attempt
    )
