"""'I have scores': a table is uploaded, its columns are confirmed, and there are two reports."""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Depends, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import QueryParams

import evenhand as eh
from evenhand.campaigns.stores import Session, Store
from evenhand.cases import skating
from evenhand.errors import EvenhandError, InputError, Problem, Remedy
from evenhand.files import UPLOADED, limited
from evenhand.readers.read import in_files
from evenhand.report.html import as_page
from evenhand.scores import Scores
from evenhand.scores.criteria import typed_criteria
from evenhand.scores.find import Found
from evenhand.scores.grades import typed_grades, typed_scale
from evenhand.scores.layout import laid_out
from evenhand.scores.roles import ReadOptions
from evenhand.serve.access import Access
from evenhand.serve.guard import REPORT_POLICY, RefusedError, from_own_page, owner
from evenhand.serve.pages import page
from evenhand.serve.panel import wanted
from evenhand.tables.columns import GROUP_WORDS, Table
from evenhand.tables.opened import open_table

router = APIRouter(include_in_schema=False, dependencies=[Depends(from_own_page)])

PARTS = {
    "option": "what is scored",
    "evaluator": "who scores",
    "score": "the score",
    "option_group": "the group of what is scored",
    "evaluator_group": "the group of who scores",
    "item": "what it was tried on (a task, a question)",
    "event": "where options compete (a round, a year)",
}
FIELDS = {
    "top": "How many are wanted",
    "wide": "Columns that hold the scores of one evaluator each",
    "evaluator_groups": "Groups of these evaluators, if they are known",
    "criteria": "Criteria of a review, with their weights, if it has several marks",
    "grades": "Grades, the best first, if scores are words",
    "scale": "Lowest and highest score that can be given",
    "best": "Which scores are better",
    "missing": "Leave out lines without a score",
    "copies": "Of lines that are the same in every cell, keep one",
    "repeats": "Evaluators scored the same thing several times, being asked again",
    "decimal": "What stands before decimals",
    "sheet": "Sheet of the workbook",
}
"""What else the page asks about a table, by the argument that it is to `read_scores`."""
_FIND = "?"
_TICKED: dict[str, Any] = {"missing": "drop", "copies": "drop", "repeats": True}
_MARKS = {",": "comma", ".": "point"}
_BEST_OF = {
    "best": {"high": "Higher is better", "low": "Lower is better"},
    "decimal": _MARKS,
}
_EVENT, _PROGRAM = "ISU GP Rostelecom Cup 2016", "ICE DANCE FREE DANCE"
_GROUP = rf"(?<![^\W_])(?:{'|'.join(GROUP_WORDS)})"
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
    query: Annotated[str, Form(max_length=20_000)] = "",
    table: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Keep a table for a day, and go on to its columns; or, corrected, to what it says."""
    access = owner(request)
    body = b"" if table is None else table.file.read()
    if table is None or not body:
        return page(request, "scores.html", access, 400, wrong="Choose a file that is not empty.")
    id = keep(request.app.state.store, Path(table.filename or "table").name, body)
    chosen = [(p, value) for p, value in parse_qsl(query, True) if p in PARTS or p in FIELDS]
    where = f"/scores/{id}/answer?{urlencode(chosen)}" if chosen else f"/scores/{id}"
    return RedirectResponse(where, 303)


@router.post("/scores/example")
def take_example(request: Request) -> Response:
    """Keep the table of an event of real judges, and go on to its columns."""
    owner(request)
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
    access, sheet = owner(request), request.query_params.get("sheet", "")
    if "other" in request.query_params:  # what was said of the columns was of those of a sheet
        return RedirectResponse(f"/scores/{quote(id)}?{urlencode({'sheet': sheet})}", 303)
    return _columns(request, access, id)


@router.get("/scores/{id}/answer")
def answer(request: Request, id: str) -> Response:
    """Show what the scores say, or what is wrong with them, beside their rows."""
    access = owner(request)
    try:
        scores, audit, decision = _both(request, id)
    except EvenhandError as error:
        return _columns(request, access, id, error)
    name, _ = kept(request.app.state.store, id)
    notes = [(one.alarm or one.assumption == "far", one.message) for one in scores.notes]
    return page(
        request, "answer.html", access, id=id, query=request.url.query, name=name, n=len(scores),
        notes=notes,
        audit=audit._report(), decision=decision._report(),
        several=request.query_params.get("top", "") not in ("", "1"),
    )  # fmt: skip


@router.get("/scores/{id}/{which}.html")
def report(request: Request, id: str, which: str) -> Response:
    """Return a report, as one file to read, print or mail."""
    owner(request)
    if which not in ("audit", "decision"):
        raise RefusedError(404, "There is nothing here.")
    _, audit, decision = _both(request, id)
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


def _both(request: Request, id: str) -> tuple[Scores, eh.Audit, eh.Answer]:
    """Return the scores of an upload, the audit, and the decision by them."""
    with as_file(*kept(request.app.state.store, id)) as file:
        reading = _reading(request.query_params)
        scores = eh.read_scores(_in(file, request), **reading)
        said = [replace(note, message=file.named(note.message)) for note in scores.notes]
        scores = replace(scores, notes=tuple(said))
        top = wanted(request.query_params.get("top", ""), len(scores.option))
        more: dict[str, Any] = {"top": top, "repeats": reading.get("repeats", False)}
        return scores, eh.audit(scores, **more), eh.decide(scores, **more)


def _reading(chosen: QueryParams) -> ReadOptions:
    """Return what was said about a table, as `read_scores` takes it; nothing that was not."""
    columns: dict[str, Any] = {p: v or None for p, v in chosen.items() if p in PARTS and v != _FIND}
    said: dict[str, Any] = {"columns": columns} | {
        p: word for p, word in _TICKED.items() if chosen.get(p) == str(word)
    }
    if chosen.get("best"):
        said["best"] = chosen["best"]
    if ends := chosen.get("scale", "").strip():
        said["scale"] = typed_scale(ends)
    if words := [word.strip() for word in chosen.get("grades", "").split(",") if word.strip()]:
        said["grades"] = typed_grades(words)
    if typed := chosen.get("criteria", "").strip():
        said["criteria"] = typed_criteria(typed)
        if columns.get("score") in said["criteria"]:
            del columns["score"]
    if chosen.get("decimal") in _MARKS:
        said["decimal"] = chosen["decimal"]
    if wide := chosen.getlist("wide"):
        if columns.get("score"):
            raise InputError(
                f"either one column has the scores ({columns['score']!r}), or every evaluator has "
                f"a column ({', '.join(map(repr, wide))}); untick these, or choose no column for "
                "the score."
            )
        said["wide"] = wide
        columns.pop("score", None)
    if theirs := chosen.get("evaluator_groups", "").strip():
        columns["evaluator_group"] = groups = _typed_groups(theirs)
        if wide and (strange := [name for name in groups if name not in wide]):
            raise InputError(
                f"under ‘{FIELDS['evaluator_groups']}’ stands {strange[0]!r}, who has no column of "
                f"scores; those who have one are {', '.join(map(repr, wide))}."
            )
    return said  # type: ignore[return-value] # checked where it is used


def _typed_groups(text: str) -> dict[str, str]:
    """Return groups by evaluator as they are typed in: Anne=FRA, Elena=ITA, or one on each line."""
    found: dict[str, str] = {}
    for one in filter(None, map(str.strip, re.split(r"[,;\n]", text))):
        name, _, group = (part.strip() for part in one.partition("="))
        if not name or not group or found.setdefault(name, group) != group:
            raise InputError(
                f"under ‘{FIELDS['evaluator_groups']}’ stands each evaluator once with a group, as "
                f"in Anne=FRA, Elena=ITA; got {one[:80]!r}."
            )
    return found


def as_field(remedy: Remedy) -> str | None:
    """Return what may help in words of the page; None where it has no field for that."""
    argument, value, _ = remedy
    if argument == "columns":
        if not all(role in PARTS for role in value):
            return None
        chosen = [
            f"no column as {PARTS[role]}" if one is None
            else f"{'its column' if one is ... else f'‘{one}’'} as {PARTS[role]}"
            for role, one in value.items()
        ]  # fmt: skip
        return remedy.said(f"choose {' and '.join(chosen)}")
    if argument not in FIELDS:
        return None
    label = f"‘{FIELDS[argument]}’"
    if argument in _TICKED:
        return remedy.said(f"tick {label}")
    if argument == "wide":
        return remedy.said("tick them below")
    if argument in _BEST_OF:
        return remedy.said(f"choose ‘{_BEST_OF[argument][value]}’")
    many = isinstance(value, Iterable) and not isinstance(value, str)
    what = ", ".join(map(str, value)) if many else str(value)
    what = _typed(value) if argument == "criteria" and value is not ... else what
    return remedy.said(f"write {'it' if value is ... else what} under {label}")


def _typed(weights: Mapping[str, float]) -> str:
    """Return criteria with their weights as they are typed."""
    return ", ".join(f"{name}={weight:g}" for name, weight in weights.items())


def safe_suffix(name: str) -> str:
    """Return the ending of a file's name as far as readers know it; nothing else of it is used."""
    endings = re.fullmatch(r".*?((?:\.[A-Za-z0-9]{1,8}){0,2})", name, re.DOTALL)
    return endings[1].lower() if endings else ""


@dataclass(frozen=True)
class GivenFile:
    """An upload as a file: where it is, and what its owner calls it."""

    path: Path
    name: str

    def named(self, message: str) -> str:
        """Return a message that calls the file as its owner does."""
        return message.replace(str(self.path), self.name).replace(self.path.name, self.name)


@contextmanager
def as_file(name: str, body: bytes) -> Iterator[GivenFile]:
    """Have an upload as a file, of which the readers take no more than of a stranger's; errors call
    it as its owner does.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = GivenFile(Path(folder) / f"table{safe_suffix(name)}", name)
        file.path.write_bytes(body)
        try:
            with limited(UPLOADED):
                yield file
        except EvenhandError as error:
            found = [replace(one, message=file.named(one.message)) for one in error.problems]
            raise InputError(file.named(error.head), problems=found) from None


def _in(file: GivenFile, request: Request) -> str:
    """Return what is read of a file: all of it, or the sheet that was chosen."""
    sheet = request.query_params.get("sheet", "")
    return f"{file.path}#{sheet}" if sheet else str(file.path)


@dataclass(frozen=True)
class Line:
    """A line of a table: where it is, its cells, and what is wrong with it, by column."""

    where: str
    cells: list[str]
    wrong: dict[str, str]


@dataclass(frozen=True)
class Seen:
    """A table as the readers see it: its first lines and those that are wrong, what is said of it,
    and its columns by the parts that the readers give them, or that are suggested.
    """

    header: tuple[str, ...] = ()
    lines: Sequence[Line] = ()
    rows: int = 0
    notes: Sequence[str] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    wide: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    guessed: bool = False
    criteria: str = ""  # with weights that are to be confirmed
    is_log: bool = False


def _columns(
    request: Request, access: Access, id: str, error: EvenhandError | None = None
) -> Response:
    """Show the first rows and those that are wrong, and what each column is taken for."""
    name, body = kept(request.app.state.store, id)
    seen, chosen = Seen(), request.query_params
    try:
        with as_file(name, body) as file:
            reading: ReadOptions = {} if error else _reading(chosen)
            seen = _seen(_in(file, request), reading, error.problems if error else ())
            seen = replace(seen, notes=list(map(file.named, seen.notes)))
    except EvenhandError as unreadable:
        error = error or unreadable
    wrong = "" if error is None else error.told(as_field)
    said = {p: v for p, v in chosen.items() if v != _FIND and (v or p in PARTS)}
    return page(
        request, "columns.html", access, 400 if wrong else 200, id=id, name=name, seen=seen,
        parts=PARTS, fields=FIELDS, chosen={"criteria": seen.criteria, **seen.parts, **said},
        ticked=chosen.getlist("wide") if "option" in chosen else seen.wide,
        wrong=wrong, notes=seen.notes, query=request.url.query,
    )  # fmt: skip


def _seen(path: str, reading: ReadOptions, wrong: Sequence[Problem]) -> Seen:
    """Return the table in a file as `read_scores` sees it."""
    files = in_files(path)
    table = open_table(files.table)
    header = tuple(column for column in table.columns if column)
    columns = [table.texts(column) for column in header]
    seen = Seen(
        header, _lines(table, header, columns, wrong), len(columns[0]), files.notes,
        is_log=files.is_log, sheets=table.sheets,
    )  # fmt: skip
    try:
        layout = laid_out(files.table, **reading)
        parts = {p: c for p in PARTS if (c := layout.parts.one(p)) in header}
        guess = {} if layout.wide else Found(table, layout.said, strict=False).guessed
        if guess.items() >= parts.items():  # with groups, for somebody to confirm
            parts = {p: c for p, c in guess.items() if p in PARTS}
    except InputError as error:
        parts = Found(table, reading.get("columns") or {}, strict=False).guessed
        parts = {p: c for p, c in parts.items() if p in PARTS}
        remedies = [remedy for one in error.problems for remedy in one.remedies]
        weights: Mapping[str, float] = next(
            (one.value for one in remedies if one.argument == "criteria"), {}
        )
        if parts.get("score") in weights:
            del parts["score"]
        notes = *seen.notes, *table.notes
        return replace(
            seen, notes=notes, parts=parts, guessed=bool(parts), criteria=_typed(weights)
        )
    if layout.wide and "option_group" not in parts:
        beside = [c for c in header if c not in layout.wide and c not in parts.values()]
        fits = [c for c in beside if re.search(_GROUP, c.casefold())]
        parts |= {"option_group": fits[0]} if fits else {}
    return replace(seen, notes=(*seen.notes, *layout.notes), parts=parts, wide=layout.wide)


def _lines(
    table: Table,
    header: Sequence[str],
    columns: Sequence[Sequence[str | None]],
    wrong: Sequence[Problem],
) -> list[Line]:
    """Return the first lines, and those with wrong cells."""
    bad: dict[int, dict[str, str]] = {}
    for one in wrong:
        for row, column in ((one.row, one.column), *one.also):
            if row is not None and column is not None:
                why = replace(one, where="", message=one.message.lstrip(": ")).told(as_field)
                bad.setdefault(row, {})[column] = why
    n = len(columns[0])
    rows = sorted({*range(min(n, _FIRST_ROWS)), *(row for row in bad if row < n)})
    return [
        Line(where, [column[row] or "" for column in columns], bad.get(row, {}))
        for row, where in zip(rows, table.where(rows), strict=True)
    ]
