"""Where scores are looked at once, no route shows one before all are in, whoever asks."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

import evenhand as eh
from evenhand.campaigns import Ticket
from evenhand.campaigns.stores import open_store
from evenhand.serve import make_app
from evenhand.serve.access import Role, grant
from served import serving

NOTE = "a secret note"
SCORES = {"Ann": 7.3125, "Bo": 3.4375, "Cy": 1.0625}
SHOWN = ["7.3125", "7.31", "3.4375", "3.44", "1.0625", "1.06", NOTE]


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[eh.Campaign]:
    store = open_store(tmp_path / "cup.db")
    panel = eh.Questions.panel(list(SCORES), ["Paul", "Rosa", "Sven"])
    yield eh.Campaign.create(store, "Cup", panel, looks="once")
    store.close()


def answered(campaign: eh.Campaign, evaluator: str) -> None:
    while isinstance(ticket := campaign.ask(evaluator), Ticket):
        campaign.tell(ticket, SCORES[ticket.question.label], note=NOTE)


def texts(body: bytes) -> str:
    if not body.startswith(b"PK"):
        return body.decode("utf-8", "replace")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


def shown(said: str) -> list[str]:
    """Return the scores and notes in a text; the seconds of a time, 07.31, are no score."""
    return [text for text in SHOWN if re.search(rf"(?<!\d){re.escape(text)}", said)]


def routes_of(app: Any) -> Iterator[APIRoute]:
    for one in app.routes:
        if isinstance(one, APIRoute):
            yield one
        elif hasattr(one, "original_router"):  # what was included as a whole
            yield from routes_of(one.original_router)


def shown_by_routes(campaign: eh.Campaign, role: Role) -> dict[str, list[str]]:
    """Call every route there is; return which scores and notes each of them shows."""
    app = make_app(campaign.store)
    token = grant(campaign.store, role, None if role == "owner" else "Cup")
    fill = {"number": "1", "id": "1", "which": "audit", "token": "x"}
    asked = [(method, one.path) for one in routes_of(app) for method in one.methods]
    asked += [("GET", f"/api/v1/runs/1/events?after={after}") for after in range(1, 60)]
    found = {}
    head = {"Authorization": f"Bearer {token}"}
    with serving(app) as address, httpx.Client(base_url=address, headers=head) as client:
        for method, path in asked:
            answer = client.request(method, path.format_map(fill))
            assert answer.status_code != 500, path
            found[f"{method} {path}"] = shown(texts(answer.content))
    assert len(found) > 100
    return found


@pytest.mark.parametrize("role", ["owner", "viewer"])
def test_nothing_is_shown_before_all_are_in_and_all_of_it_then(
    campaign: eh.Campaign, role: Role
) -> None:
    answered(campaign, "Paul")
    answered(campaign, "Rosa")
    assert {route for route, said in shown_by_routes(campaign, role).items() if said} == set()
    answered(campaign, "Sven")
    assert campaign.status().status == "finished"
    found = shown_by_routes(campaign, role)
    for page in ("", "/live", "/scores", "/report.html", "/record.zip"):
        assert found[f"GET /campaigns/{{number}}{page}"], page
    events = found["GET /api/v1/runs/{number}/events"]
    assert bool(events) == (role == "owner")
