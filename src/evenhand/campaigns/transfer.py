"""Scores that come in tables, and the record that goes out in files.

What comes in comes whole or not at all, and coming twice counts once: a line of a sheet is known by
its ticket, a logged score by what it says and by how many equal ones stand before it. Every line
that is wrong is named, and then nothing is taken.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, literal_column, select

from evenhand.answers.scores import Scores, compares
from evenhand.campaigns import ledger
from evenhand.campaigns.events import Event, canonical, sealed
from evenhand.campaigns.following import Follower
from evenhand.campaigns.ledger import EvaluationRow, Page
from evenhand.campaigns.replica import BrokenError, OutdatedError, Replica
from evenhand.campaigns.sheets import (
    SCORE,
    TICKET,
    Line,
    decimal_of,
    is_sheet,
    read_sheet,
    score_in,
    texts_in,
)
from evenhand.campaigns.stores.session import Session, Statement
from evenhand.campaigns.stores.tables import evaluation
from evenhand.campaigns.telling import Desk, Reply, own
from evenhand.campaigns.tickets import Receipt, identifier, parsed
from evenhand.errors import ConflictError, InputError
from evenhand.files import write_atomically
from evenhand.tables.names import listed
from evenhand.tables.written import write_csv

if TYPE_CHECKING:
    from evenhand.campaigns.campaign import Campaign
    from evenhand.questions import Questions
    from evenhand.tables.sources import Source

EVALUATIONS, EVENTS = "evaluations.csv", "events.jsonl"
"""What files of a whole export are called."""

_PIECE = 4096  # events that are read at once
_MOST_NAMED = 20  # lines of a table that are named when they are wrong


@dataclass(frozen=True)
class Imported:
    """What became of a table of scores.

    Parameters
    ----------
    counted, late, repeated
        Scores that count now, that came late and are kept without counting, and that had been told
        before.
    unfilled
        Lines of a sheet without a score: their tickets stay open.
    notes
        What people wrote beside their scores, by ticket.

    Examples
    --------
    >>> taken = Imported(counted=4, unfilled=1, notes=(("3-9f3a2c", "no sound"),))
    >>> taken.counted, taken.to_dict()["notes"]
    (4, {'3-9f3a2c': 'no sound'})
    """

    counted: int
    late: int = 0
    repeated: int = 0
    unfilled: int = 0
    notes: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        return asdict(self) | {"notes": dict(self.notes)}


# ---------------------------------------------------------------------- coming in


def import_scores(
    follower: Follower,
    table: Any,
    *,
    option: str = "option",
    evaluator: str = "evaluator",
    score: str = SCORE,
    rival: str = "rival",
    key: str | None = None,
    decimal: str | None = None,
) -> Imported:
    """Take the scores of a table; see `Campaign.import_scores`."""
    from evenhand.tables.opened import opened  # noqa: PLC0415 # loads pyarrow

    if decimal not in (None, ".", ","):
        raise InputError(
            f"decimal={decimal!r} is neither '.' nor ','; leave it out to find it out."
        )
    source = opened(table, "scores")
    if is_sheet(source):
        return _take_sheet(follower, source, decimal)
    names = {"option": option, "rival": rival, "evaluator": evaluator, "score": score}
    return _take_log(follower, source, names, key, decimal)


def _take_sheet(follower: Follower, source: Source, decimal: str | None) -> Imported:
    shown = dict.fromkeys(c for own in follower.followed().display.values() for c in own)
    lines = read_sheet(source, list(shown))
    if not lines:
        raise InputError(f"{source.name} has no lines below its header; nothing was taken.")
    decimal = decimal or decimal_of([line.score for line in lines])

    def take(session: Session) -> list[Receipt]:
        found, desk = _Problems(source.name), Desk(session, follower)
        receipts = []
        for line in lines:
            with found.at(line.place):
                reply = _reply(follower, desk.page, line, decimal)
                if reply is not None:
                    receipts.append(desk.one(reply))
        found.refuse()
        desk.close()
        return receipts

    receipts = follower.store.write(take)
    fresh = [one for one in receipts if not one.repeated]
    return Imported(
        counted=sum(one.counted for one in fresh),
        late=sum(not one.counted for one in fresh),
        repeated=len(receipts) - len(fresh),
        unfilled=len(lines) - len(receipts),
        notes=tuple((line.ticket, line.note) for line in lines if line.note),
    )


def _reply(follower: Follower, page: Page, line: Line, decimal: str | None) -> Reply | None:
    """Return what a line of a sheet says, None if it is not filled in; refuse what is wrong."""
    reading = follower.reading
    with _column(TICKET):
        number, token = parsed(line.ticket)
        row = own(page, number, token, line.ticket, follower.name)
    question = follower.question(row)
    if line.labels and line.labels != question.labels:
        raise InputError(
            f"ticket {line.ticket} is about {' and '.join(map(repr, question.labels))}, and the "
            f"line about {' and '.join(map(repr, line.labels))}; was one of the columns sorted "
            "alone?"
        )
    if line.score is None:
        return None
    with _column(SCORE):
        value = score_in(line.score, decimal, reading.allows)
        score = reading.read(question, value)
    return Reply(identifier(number, token), number, token, None, score, None)


def _take_log(
    follower: Follower,
    source: Source,
    names: dict[str, str],
    key: str | None,
    decimal: str | None,
) -> Imported:
    replica = follower.followed()
    columns = _columns(source, replica.questions, names, key)
    if not columns["score"]:
        raise InputError(f"{source.name} has no lines below its header; nothing was taken.")
    entries = _entries(replica, follower.reading, source, columns, decimal)
    while True:
        try:
            return _logged(follower, source, entries)
        except OutdatedError:  # something was withdrawn meanwhile, or taken back
            continue


def _logged(follower: Follower, source: Source, entries: Sequence[_Entry]) -> Imported:
    body, digest = follower.followed().snapshot()

    def put_in(session: Session) -> Imported:
        page = Page(session, follower.id)
        found = _Problems(source.name)
        new = [one for one in entries if not _told_before(page, one, found)]
        found.refuse()
        if new:
            if page.status == "finished":
                raise InputError(
                    "the campaign is finished, and scores that come now would not count; extend "
                    "it first. Nothing was taken."
                )
            _put_in(page, Replica.from_snapshot(body, digest), new, found)
        return Imported(counted=len(new), repeated=len(entries) - len(new))

    return follower.store.write(put_in)


@dataclass(frozen=True)
class _Entry:
    """A logged score: where it stands, which question it answers, what and how it is known."""

    place: str
    question: int
    score: float
    evaluator: str
    key: str


def _columns(
    source: Source, questions: Questions, names: dict[str, str], key: str | None
) -> dict[str, list[str | None]]:
    """Return the columns by what they are; an error for those missing and those too many."""
    needed = ["option", *(["rival"] if compares(questions) else [])]
    needed += ["evaluator"] if questions.evaluators else []
    parts = {part: names[part] for part in [*needed, "score"]}
    if key is not None:
        parts["key"] = key
    wanted = listed(list(parts.values()))
    missing = [column for column in parts.values() if column not in source.columns]
    if missing:
        raise InputError(
            f"{source.name} has no column {listed(missing)}; logged scores need {wanted} (other "
            f"names can be given), and sheets a column 'ticket'. Its columns are "
            f"{listed(source.columns, 30)}."
        )
    strange = [column for column in source.columns if column and column not in parts.values()]
    # without names of evaluators in the questions, who gave a score can still be kept
    if not questions.evaluators and names["evaluator"] in strange:
        strange.remove(names["evaluator"])
        parts["evaluator"] = names["evaluator"]
    if strange:
        raise InputError(
            f"{source.name} has columns that are not used here: {listed(strange)}; remove them. "
            f"Logged scores have {wanted}, and nothing else."
        )
    return {part: texts_in(source, column) for part, column in parts.items()}


def _entries(
    replica: Replica,
    reading: Scores,
    source: Source,
    columns: dict[str, list[str | None]],
    decimal: str | None,
) -> list[_Entry]:
    """Return the logged scores; an error names every line that is wrong."""
    found, questions = _Problems(source.name), replica.questions
    decimal = decimal or decimal_of(columns["score"])
    n = len(columns["score"])
    empty: list[str | None] = [None] * n
    rivals, who = columns.get("rival", empty), columns.get("evaluator", empty)
    keys = columns.get("key")
    rows = [row for row in range(n) if any(cells[row] is not None for cells in columns.values())]
    places = source.places(rows, None)
    entries: list[_Entry] = []
    seen: Counter[str] = Counter()
    for row, place in zip(rows, places, strict=True):
        lacking = [part for part, cells in columns.items() if cells[row] is None]
        with found.at(place):
            if lacking and not (lacking == ["evaluator"] and not questions.evaluators):
                raise InputError(f"the {listed(lacking)} is empty")
            option, text = columns["option"][row], columns["score"][row]
            assert option is not None
            assert text is not None
            about = (option,) if rivals[row] is None else (option, str(rivals[row]))
            whom = who[row] if questions.evaluators else None
            _refuse_unknown(questions, about, whom)
            (index,) = questions.find([about], [whom]).tolist()
            number = int(replica.numbers[index])
            with _column(SCORE):
                value = score_in(text, decimal, reading.allows)
                score = reading.read(replica.question(number), value)
            told = who[row] or ""
            said = _digest(about, told, score) if keys is None else str(keys[row])
            seen[f"{told}\n{said}"] += 1
            again = seen[f"{told}\n{said}"]
            if keys is not None and again > 1:
                raise InputError(f"the key {said!r} stands on a line above, too")
            known = said if keys is not None else f"{said}-{again}"
            entries.append(_Entry(place, number, score, told, known))
    found.refuse()
    return entries


def _refuse_unknown(questions: Questions, about: Sequence[str], evaluator: str | None) -> None:
    """Say which name is not known, before a question of all of them is looked for."""
    for part, name in zip(("option", "rival"), about, strict=False):
        if name not in questions.items:
            raise InputError(
                f"column {part!r}: there is no option {name!r}; there are "
                f"{listed(list(questions.items))}"
            )
    if evaluator is not None and evaluator not in questions.evaluators:
        raise InputError(
            f"column 'evaluator': there is no evaluator {evaluator!r}; there are "
            f"{listed(list(questions.evaluators))}"
        )


def _digest(about: Sequence[str], evaluator: str, score: float) -> str:
    """Return what a logged score is known by, beside its number among equal ones."""
    said = canonical([list(about), evaluator, score])
    return f"logged-{hashlib.sha256(said.encode()).hexdigest()[:24]}"


def _told_before(page: Page, entry: _Entry, found: _Problems) -> bool:
    before = page.by_key(entry.evaluator, entry.key)
    if before is None:
        return False
    if (before.question, before.score) != (entry.question, entry.score):
        with found.at(entry.place):
            raise ConflictError(
                f"{entry.key!r} was told before, as evaluation {before.number}, and otherwise"
            )
    return True


def _put_in(page: Page, replica: Replica, new: Sequence[_Entry], found: _Problems) -> None:
    """Write logged scores down, once a copy of the policy has taken them."""
    if ledger.seal_of(page.session, page.id, replica.head) != replica.seal:
        raise OutdatedError
    replica.fold(ledger.events_after(page.session, page.id, replica.head, page.head))
    left = replica.policy.left(replica.pending).tolist()
    for one in new:
        index = int(replica.places[one.question])
        left[index] -= 1
        if left[index] < 0:
            with found.at(one.place):
                raise InputError(
                    "this was asked as often as it may be; a ticket for it may be out, which "
                    "can be told instead"
                )
    found.refuse()
    first = page.evaluations + 1
    rows = [
        [number, None, one.question, one.score, one.evaluator, one.key]
        for number, one in enumerate(new, first)
    ]
    content = {"evaluations": rows}
    try:
        replica.fold([sealed(page.hash, page.head + 1, page.now, "imported", content)])
    except BrokenError as error:
        raise InputError(f"{error.why} Nothing was taken.") from error
    at = page.append("imported", content)
    page.evaluations += len(rows)
    page.counted += len(rows)
    page.enter(
        EvaluationRow(number, None, one.question, one.score, one.evaluator, one.key, "counted", at)
        for number, one in enumerate(new, first)
    )
    page.close()


@contextmanager
def _column(name: str) -> Iterator[None]:
    """Name the column in what is refused of a cell."""
    try:
        yield
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None


class _Problems:
    """What is wrong with a table, line by line, until all of it is said at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[str] = []
        self._conflicts = 0

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Take note of what is refused, and of the line it stands on."""
        try:
            yield
        except (InputError, ConflictError) as error:
            self._found.append(f"{place}: {str(error).rstrip('.')}")
            self._conflicts += isinstance(error, ConflictError)

    def refuse(self) -> None:
        """Raise an error that names all of them, if there are any."""
        n = len(self._found)
        if not n:
            return
        kind = ConflictError if self._conflicts == n else InputError
        more = [f"… and {n - _MOST_NAMED} more"] if n > _MOST_NAMED else []
        lines = "".join(f"\n  - {one}" for one in [*self._found[:_MOST_NAMED], *more])
        raise kind(f"{self._name}: {n} line{'s' * (n != 1)} to correct; nothing was taken.{lines}")


# ---------------------------------------------------------------------- finding


_OF_TICKET = Statement(
    select(evaluation.c.number).where(
        evaluation.c.campaign == bindparam("id"),
        evaluation.c.ticket == bindparam("ticket"),
        evaluation.c.standing == literal_column("'counted'"),
    )
)


def evaluation_of(campaign: Campaign, said: str) -> int:
    """Return the number of an evaluation that somebody names by it, or by its ticket."""
    follower = campaign._follower
    if said.strip().isdecimal():
        return int(said)
    number, token = parsed(said)

    def look(session: Session) -> int:
        own(Page(session, follower.id, lock=False), number, token, said, follower.name)
        row = session.row(_OF_TICKET, id=follower.id, ticket=number)
        if row is None:
            raise InputError(f"there is no score for ticket {said} that counts.")
        return int(row[0])

    return follower.store.read(look)


# ---------------------------------------------------------------------- going out


def export(follower: Follower, path: str | os.PathLike[str]) -> list[Path]:
    """Write the record to files; see `Campaign.export`."""
    to = Path(path)
    if to.suffix.lower() == ".csv":
        _write_evaluations(follower, to)
        return [to]
    if to.suffix.lower() in (".jsonl", ".ndjson"):
        _write_events(follower, to)
        return [to]
    if to.suffix and not to.is_dir():
        raise InputError(
            f"export writes a folder, evaluations to FILE.csv or events to FILE.jsonl; got "
            f"{str(path)!r}."
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {str(path)!r} cannot be made: {error.strerror or error}."
        ) from error
    _write_evaluations(follower, to / EVALUATIONS)
    _write_events(follower, to / EVENTS)
    return [to / EVALUATIONS, to / EVENTS]


def events_of(follower: Follower) -> Iterator[Event]:
    """Give all events of a campaign, a piece at a time."""
    after = 0
    while True:
        piece = partial(ledger.events_after, id=follower.id, after=after, most=_PIECE)
        events = follower.store.read(piece)
        yield from events
        if len(events) < _PIECE:
            return
        after = events[-1].number


def as_line(event: Event) -> str:
    """Return an event as a line of JSON; its body is as it was sealed.

    Examples
    --------
    >>> from evenhand.campaigns.events import START, sealed
    >>> as_line(sealed(START, 1, 0.0, "paused", {"reason": "lunch"}))[:41]
    '{"at":0.0,"body":{"reason":"lunch"},"hash'
    """
    return (
        f'{{"at":{event.at!r},"body":{event.body},"hash":"{event.hash.hex()}",'
        f'"kind":"{event.kind}","number":{event.number}}}'
    )


def _write_events(follower: Follower, path: Path) -> None:
    with write_atomically(path, "the record") as draft, draft.open("w", encoding="utf-8") as file:
        for event in events_of(follower):
            file.write(as_line(event) + "\n")


def _write_evaluations(follower: Follower, path: Path) -> None:
    comparing = compares(follower.followed().questions)
    header = ["evaluation", "ticket", *(["first", "second"] if comparing else ["option"])]
    header += ["evaluator", "score", "standing", "at", "key"]
    write_csv(path, header, _rows(follower, comparing), "the evaluations")


def _rows(follower: Follower, comparing: bool) -> Iterable[list[object]]:
    """Return a row for every evaluation that the log tells of, in its order."""
    replica, reading = follower.followed(), follower.reading
    tokens: dict[int, str] = {}
    about: dict[int, list[str]] = {}
    rows: dict[int, list[object]] = {}
    width = 2 if comparing else 1
    for event in events_of(follower):
        if event.kind == "proposed":
            tokens.update((number, token) for number, token, *_ in event.content["tickets"])
        elif event.kind in ("told", "late", "imported"):
            at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
            for number, ticket, index, score, who, key in event.content["evaluations"]:
                if index not in about:
                    labels = replica.question(index).labels
                    about[index] = [*labels, *[""] * (width - len(labels))]
                rows[number] = [
                    number,
                    None if ticket is None else identifier(ticket, tokens[ticket]),
                    *about[index],
                    who,
                    reading.reply(score),
                    "late" if event.kind == "late" else "counted",
                    at,
                    key,
                ]
        elif event.kind == "withdrawn":
            rows[event.content["evaluation"]][-3] = "withdrawn"
    return rows.values()
