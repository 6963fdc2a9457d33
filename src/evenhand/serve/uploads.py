"""'I have scores': a table is uploaded, its columns are confirmed, and there are two reports."""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response

import evenhand as eh
from evenhand.campaigns.stores import Store
from evenhand.campaigns.stores.session import Session
from evenhand.cases import skating
from evenhand.errors import EvenhandError, InputError
from evenhand.report.html import as_page
from evenhand.report.model import Report
from evenhand.scores import Scores
from evenhand.serve.access import Access
from evenhand.serve.guard import REPORT_POLICY, RefusedError, check_form, owner
from evenhand.serve.pages import page
from evenhand.tables.columns import guessed_columns
from evenhand.tables.opened import opened
from evenhand.tables.sources import SourceTable
from evenhand.tables.texts import written_elsewhere

router = APIRouter(include_in_schema=False)

PARTS = {
    "option": "what is scored",
    "evaluator": "who scores",
    "score": "the score",
    "option_group": "the group of what is scored",
    "evaluator_group": "the group of who scores",
    "item": "what it was tried on (a task, a question)",
    "event": "where options compete (a round, a year)",
}
_FIND = "?"
_FIELDS = (*PARTS, "top", "no_score", "missing")
_EVENT, _PROGRAM = "ISU GP Rostelecom Cup 2016", "ICE DANCE FREE DANCE"
_NAMED = re.compile(r"(?:line|row) (\d+)[^;\n]*?column '([^'\n]*)':? ([^;\n]*)")
_FIRST_ROWS = 8
_DAY = 86_400.0
_KEEP = "INSERT INTO upload (id, name, body, until) VALUES (:id, :name, :body, :until)"
_FORGET = "DELETE FROM upload WHERE until < :now"
_FIND_IT = "SELECT name, body FROM upload WHERE id = :id AND until > :now"


@router.get("/scores")
def ask_for_table(request: Request) -> Response:
    """Show where to give a table."""
    access = owner(request)
    return page(request, "scores.html", access, wrong="")


@router.post("/scores")
def take_table(
    request: Request,
    csrf: Annotated[str, Form()] = "",
    query: Annotated[str, Form(max_length=20_000)] = "",
    table: Annotated[UploadFile, File()] = ...,  # type: ignore[assignment]
) -> Response:
    """Keep a table for a day, and go on to its columns; or, corrected, to what it says."""
    access = owner(request)
    check_form(access, csrf)
    body = table.file.read()
    if not body:
        return page(request, "scores.html", access, 400, wrong="Choose a file that is not empty.")
    id = keep(request.app.state.store, Path(table.filename or "table").name, body)
    chosen = [(part, value) for part, value in parse_qsl(query, True) if part in _FIELDS]
    where = f"/scores/{id}/answer?{urlencode(chosen)}" if chosen else f"/scores/{id}"
    return RedirectResponse(where, 303)


@router.post("/scores/example")
def take_example(request: Request, csrf: Annotated[str, Form()] = "") -> Response:
    """Keep the table of an event of real judges, and go on to its columns."""
    access = owner(request)
    check_form(access, csrf)
    season = skating.scores()
    there = (season["competition"] == _EVENT) & (season["program"] == _PROGRAM)
    table = season[there][["skater", "judge", "score", "nation", "judge_nation"]]
    id = keep(
        request.app.state.store, "Rostelecom Cup 2016.csv", table.to_csv(index=False).encode()
    )
    return RedirectResponse(f"/scores/{id}", 303)


@router.get("/scores/{id}")
def confirm_columns(request: Request, id: str) -> Response:
    """Show the first rows, and what each column is taken for."""
    access = owner(request)
    return _columns(request, access, id, dict(request.query_params))


@router.get("/scores/{id}/answer")
def answer(request: Request, id: str) -> Response:
    """Show what the scores say, or what is wrong with them, beside their rows."""
    access = owner(request)
    chosen = {name: value for name, value in request.query_params.items() if value != _FIND}
    try:
        scores, audit, decision = _both(request, id, chosen)
    except EvenhandError as error:
        return _columns(request, access, id, dict(request.query_params), _in_words(str(error)))
    name, _ = kept(request.app.state.store, id)
    return page(
        request, "answer.html", access, id=id, query=request.url.query, name=name, n=len(scores),
        notes=[(one.alarm, _in_words(" ".join(one.message.split()))) for one in scores.notes],
        audit=_plain(audit._report()), decision=_plain(decision._report()),
    )  # fmt: skip


@router.get("/scores/{id}/{which}.html")
def report(request: Request, id: str, which: str) -> Response:
    """Return a report, as one file to read, print or mail."""
    owner(request)
    if which not in ("audit", "decision"):
        raise RefusedError(404, "There is nothing here.")
    chosen = {name: value for name, value in request.query_params.items() if value != _FIND}
    _, audit, decision = _both(request, id, chosen)
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


def _both(
    request: Request, id: str, chosen: Mapping[str, str]
) -> tuple[Scores, eh.Audit, eh.Answer]:
    """Return the scores of an upload, the audit, and the decision by them."""
    options: dict[str, Any] = {
        part: (value or None) for part, value in chosen.items() if part in PARTS
    }
    if missing := [cell.strip() for cell in chosen.get("no_score", "").split(",") if cell.strip()]:
        options["no_score"] = missing
    if chosen.get("missing") == "drop":
        options["missing"] = "drop"
    with as_file(*kept(request.app.state.store, id)) as path:
        scores = eh.read_scores(path, **options)
        top = _whole(chosen.get("top", ""))
        return scores, eh.audit(scores, top=top), eh.decide(scores, top=top)


def _plain(report: Report) -> Report:
    """Return a report whose facts speak of the page, and not of Python."""
    return replace(report, facts=[(title, _in_words(fact)) for title, fact in report.told])


def _in_words(message: str) -> str:
    """Return what is wrong in words of the page, which has a field where Python has a name."""
    message = re.sub(
        r"say no_score=\[(.*?)\]", r"name it below as what stands in cells without a score: \1",
        message,
    )  # fmt: skip
    message = message.replace(
        "say missing='drop' to leave these scores out",
        "tick below that lines without a score are left out",
    )
    return re.sub(r" If (not|scores decided [^;.]*), say (wide|assigned)=[^.]*\.", "", message)


def _whole(given: str) -> int | None:
    if not given:
        return None
    if not given.isascii() or not given.isdigit():
        raise InputError(f"how many are wanted must be a whole number; got {given!r}.")
    return int(given)


def safe_suffix(name: str) -> str:
    """Return the ending of a file's name as far as readers know it; nothing else of it is used."""
    endings = re.fullmatch(r".*?((?:\.[A-Za-z0-9]{1,8}){0,2})", name, re.DOTALL)
    return endings[1].lower() if endings else ""


@contextmanager
def as_file(name: str, body: bytes) -> Iterator[Path]:
    """Have an upload as a file, which the readers take; errors call it as its owner does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{safe_suffix(name)}"
        path.write_bytes(body)
        try:
            yield path
        except EvenhandError as error:
            words = str(error).replace(str(path), name).replace(path.name, name)
            raise InputError(words) from None


def _columns(
    request: Request, access: Access, id: str, chosen: Mapping[str, str], wrong: str = ""
) -> Response:
    """Show the first rows and those that are wrong, and what each column is taken for."""
    name, body = kept(request.app.state.store, id)
    header: Sequence[str] = ()
    lines: list[Line] = []
    rows = 0
    try:
        with as_file(name, body) as path:
            source = opened(path, name=name)
            header = source.columns
            columns = [source.texts(column) for column in header]
            rows = len(columns[0]) if columns else 0
            lines = _lines(source, columns, wrong)
            chosen = chosen or guessed_columns(header, _numeric(header, columns))
    except EvenhandError as error:
        wrong = wrong or str(error)
    return page(
        request, "columns.html", access, 400 if wrong else 200, id=id, name=name, rows=rows,
        header=list(header), lines=lines, parts=PARTS, chosen=chosen, wrong=wrong,
        query=request.url.query,
    )  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line of a table: where it is, its cells, and what is wrong with it, by column."""

    where: str
    cells: list[str]
    wrong: dict[str, str]


def _numeric(header: Sequence[str], columns: Sequence[Sequence[str | None]]) -> set[str]:
    """Return the columns of which the first cells are numbers, as far as they are filled in."""
    first = ([cell for cell in column[:_FIRST_ROWS] if cell] for column in columns)
    return {
        name
        for name, cells in zip(header, first, strict=True)
        if cells and all(map(written_elsewhere, cells))
    }


def _lines(source: SourceTable, columns: Sequence[Sequence[str | None]], wrong: str) -> list[Line]:
    """Return the first lines, and those that a message names."""
    found: dict[int, dict[str, str]] = {}
    for number, column, words in _NAMED.findall(wrong):
        found.setdefault(int(number), {})[column] = words.strip()
    n = len(columns[0]) if columns else 0
    near = {row for number in found for row in range(number - 6, number + 1) if 0 <= row < n}
    lines = []
    for row in sorted({*range(min(n, _FIRST_ROWS)), *near}):
        where = source.where([row])[0].partition(" (")[0]
        bad = found.get(int(re.sub(r"\D", "", where) or -1), {})
        if row < _FIRST_ROWS or bad:
            lines.append(Line(where, [column[row] or "" for column in columns], bad))
    return lines
