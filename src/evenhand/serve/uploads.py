"""'I have scores': a table is uploaded, its columns are confirmed, and there are two reports."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

import evenhand as eh
from evenhand.campaigns.stores import Store
from evenhand.campaigns.stores.session import Session
from evenhand.errors import EvenhandError, InputError
from evenhand.report.html import as_page
from evenhand.serve.guard import OWNER, REPORT_POLICY, RefusedError, check_form, holder
from evenhand.serve.pages import page
from evenhand.tables.opened import opened

router = APIRouter(include_in_schema=False)

PARTS = {
    "option": "what is scored",
    "evaluator": "who scores",
    "score": "the score",
    "option_group": "the group of what is scored",
    "evaluator_group": "the group of who scores",
    "item": "what it was tried on",
    "event": "where options compete",
}
_NONE, _FIND = "", "?"
_FIRST_ROWS = 8
_DAY = 86_400.0
_KEEP = "INSERT INTO upload (id, name, body, until) VALUES (:id, :name, :body, :until)"
_FORGET = "DELETE FROM upload WHERE until < :now"
_FIND_IT = "SELECT name, body FROM upload WHERE id = :id AND until > :now"


@router.get("/scores")
def ask_for_table(request: Request) -> Response:
    """Show where to give a table."""
    access = holder(request, OWNER)
    return page(request, "scores.html", access, wrong="")


@router.post("/scores")
def take_table(
    request: Request,
    csrf: Annotated[str, Form()] = "",
    table: Annotated[UploadFile, File()] = ...,  # type: ignore[assignment]
) -> Response:
    """Keep a table for a day, and go on to its columns."""
    access = holder(request, OWNER)
    check_form(access, csrf)
    body = table.file.read()
    if not body:
        return page(request, "scores.html", access, 400, wrong="Choose a file that is not empty.")
    id = keep(request.app.state.store, Path(table.filename or "table").name, body)
    return RedirectResponse(f"/scores/{id}", 303)


@router.get("/scores/{id}")
def confirm_columns(request: Request, id: str) -> Response:
    """Show the first rows, and what each column is taken for."""
    access = holder(request, OWNER)
    return _columns(request, access, id, {}, {})


@router.get("/scores/{id}/answer")
def answer(request: Request, id: str) -> Response:
    """Show what the scores say, or what is wrong with them, beside their rows."""
    access = holder(request, OWNER)
    chosen = {name: value for name, value in request.query_params.items() if value != _FIND}
    try:
        audit, decision = _both(request, id, chosen)
    except EvenhandError as error:
        return _columns(request, access, id, dict(request.query_params), {"wrong": str(error)})
    return page(
        request, "answer.html", access, id=id, query=request.url.query,
        audit=str(audit).split("\n\n")[0], decision=str(decision).split("\n\n")[0],
    )  # fmt: skip


@router.get("/scores/{id}/{which}.html")
def report(request: Request, id: str, which: str) -> Response:
    """Return a report, as one file to read, print or mail."""
    holder(request, OWNER)
    if which not in ("audit", "decision"):
        raise RefusedError(404, "There is nothing here.")
    chosen = {name: value for name, value in request.query_params.items() if value != _FIND}
    audit, decision = _both(request, id, chosen)
    result: Any = audit if which == "audit" else decision
    return HTMLResponse(
        as_page(result._report()), headers={"Content-Security-Policy": REPORT_POLICY}
    )


def keep(store: Store, name: str, body: bytes) -> str:
    """Keep an upload for a day, and forget those that are older."""
    id = secrets.token_urlsafe(16)

    def work(session: Session) -> None:
        now = session.now()
        session.run(_FORGET, now=now)
        session.run(_KEEP, id=id, name=name[:200], body=body, until=now + _DAY)

    store.write(work)
    return id


def kept(store: Store, id: str) -> tuple[str, bytes]:
    """Return name and contents of an upload."""
    row = store.read(lambda session: session.row(_FIND_IT, id=id, now=session.now()))
    if row is None:
        raise RefusedError(404, "This table is gone: tables are kept for a day. Give it again.")
    return str(row[0]), bytes(row[1])


def _both(request: Request, id: str, chosen: Mapping[str, str]) -> tuple[eh.Audit, eh.Answer]:
    """Return the audit and the decision by the scores of an upload."""
    options: dict[str, Any] = {
        part: (value or None) for part, value in chosen.items() if part in PARTS
    }
    with _Opened(request.app.state.store, id) as path:
        scores = eh.read_scores(path, **options)
        top = _whole(chosen.get("top", ""))
        return eh.audit(scores, top=top), eh.decide(scores, top=top)


def _whole(given: str) -> int | None:
    if not given:
        return None
    if not given.isascii() or not given.isdigit():
        raise InputError(f"how many are wanted must be a whole number; got {given!r}.")
    return int(given)


class _Opened:
    """An upload as a file, which the readers take, for as long as it is read."""

    def __init__(self, store: Store, id: str) -> None:
        self._name, self._body = kept(store, id)

    def __enter__(self) -> Path:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / f"table{Path(self._name).suffix[:12]}"
        path.write_bytes(self._body)
        return path

    def __exit__(self, *exception: object) -> None:
        self._folder.cleanup()


def _columns(
    request: Request, access: Any, id: str, chosen: Mapping[str, str], more: Mapping[str, str]
) -> Response:
    name, _ = kept(request.app.state.store, id)
    header: Sequence[str] = ()
    rows: list[list[str]] = []
    wrong = more.get("wrong", "")
    with _Opened(request.app.state.store, id) as path:
        try:
            source = opened(path, name=name)
            header = source.columns
            columns = [source.texts(column)[:_FIRST_ROWS] for column in header]
            rows = [[cell or "" for cell in row] for row in zip(*columns, strict=True)]
        except EvenhandError as error:
            wrong = wrong or str(error)
    status = 400 if wrong else 200
    return page(
        request, "columns.html", access, status, id=id, name=name, header=list(header), rows=rows,
        parts=PARTS, chosen=chosen, wrong=wrong,
    )  # fmt: skip
