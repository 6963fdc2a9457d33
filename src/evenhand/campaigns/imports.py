"""Scores that come in tables: sheets of tickets, and logs of what nobody asked for.

They come whole or not at all, and coming twice counts once: a line of a sheet is known by its
ticket, a logged score by what it says and by how many equal ones stand before it. Every line that
is wrong is named, and then nothing is taken.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.answers.scores import Scores, compares
from evenhand.campaigns import ledger
from evenhand.campaigns.arguments import checked_name
from evenhand.campaigns.events import evaluations_to
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import EvaluationRow, Page
from evenhand.campaigns.replica import Replica, said
from evenhand.campaigns.sheets import (
    SCORE,
    TICKET,
    Line,
    decimal_of,
    is_sheet,
    name_in,
    read_sheet,
    score_in,
    texts_in,
)
from evenhand.campaigns.stores.session import Session
from evenhand.campaigns.tell import Desk, Reply, row_of
from evenhand.campaigns.tickets import Receipt, identifier
from evenhand.errors import ConflictError, InputError
from evenhand.plain import canonical
from evenhand.tables.names import listed

if TYPE_CHECKING:
    from evenhand.questions import Questions
    from evenhand.tables.sources import Source

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
        What people wrote beside their scores, by ticket: kept in the record.
    lost_notes
        Notes that were not kept, by ticket, since there is no score beside them, or since the score
        had been told before without them.

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
    lost_notes: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        return asdict(self) | {"notes": dict(self.notes), "lost_notes": dict(self.lost_notes)}


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

    def take(session: Session) -> Imported:
        found, desk = _Problems(source.name), Desk(session, follower)
        above: dict[str, tuple[Line, Reply]] = {}  # by ticket
        receipts: list[Receipt] = []
        notes: list[tuple[str, str]] = []
        lost: list[tuple[str, str]] = []
        for line in lines:
            with found.at(line.place):
                reply = _reply(follower, desk.page, line, decimal)
                if reply is None:
                    lost += [(line.ticket, line.note)] if line.note else []
                    continue
                first, said = above.setdefault(reply.id, (line, reply))
                if said.score != reply.score:
                    raise InputError(
                        f"ticket {line.ticket} has {line.score}, and on {first.place} it has "
                        f"{first.score}; leave one of them"
                    )
                receipts.append(desk.one(reply))
                if line.note:
                    kept = desk.note_of(receipts[-1].evaluation) == line.note
                    (notes if kept else lost).append((line.ticket, line.note))
        found.refuse()
        desk.close()
        fresh = [one for one in receipts if not one.repeated]
        return Imported(
            counted=sum(one.counted for one in fresh),
            late=sum(not one.counted for one in fresh),
            repeated=len(receipts) - len(fresh),
            unfilled=len(lines) - len(receipts),
            notes=tuple(notes),
            lost_notes=tuple(lost),
        )

    return follower.store.write(take)


def _reply(follower: Follower, page: Page, line: Line, decimal: str | None) -> Reply | None:
    """Return what a line of a sheet says, None if it is not filled in; refuse what is wrong."""
    reading = follower.reading
    with _column(TICKET):
        if not line.ticket:
            raise InputError("it is empty; it must be as the sheet had it, such as 17-9f3a2c")
        row = row_of(page, line.ticket)
    question = follower.question(row)
    said = tuple(name_in(label, question.labels, file=True) for label in line.labels)
    if said and said != question.labels:
        raise InputError(
            f"ticket {line.ticket} is about {' and '.join(map(repr, question.labels))}, and the "
            f"line about {' and '.join(map(repr, said))}; was one of the columns sorted "
            "alone?"
        )
    if line.score is None:
        return None
    with _column(SCORE):
        value = score_in(line.score, decimal, reading.allows, verdicts=reading.kind == "verdicts")
        score = reading.read(question, value)
    return Reply(identifier(row.number, row.token), score, note=line.note)


def _take_log(
    follower: Follower,
    source: Source,
    names: dict[str, str],
    key: str | None,
    decimal: str | None,
) -> Imported:
    from evenhand.tables.sources import CsvFile  # noqa: PLC0415 # loads pyarrow

    replica = follower.followed()
    columns = _columns(source, replica.questions, names, key)
    if not columns["score"]:
        raise InputError(f"{source.name} has no lines below its header; nothing was taken.")
    log = _Log(replica, follower.reading, columns, decimal, isinstance(source, CsvFile))
    found, rows, entries = _Problems(source.name), log.rows(), []
    for row, place in zip(rows, source.places(rows, None), strict=True):
        with found.at(place):
            entries.append(log.entry(row, place))
    found.refuse()
    taken = None
    while taken is None:  # as long as something is withdrawn meanwhile
        taken = _logged(follower, source, entries)
    return taken


def _logged(follower: Follower, source: Source, entries: Sequence[_Entry]) -> Imported | None:
    with follower.lock:
        trial = Replica.from_snapshot(*follower.followed().snapshot())

    def put_in(session: Session) -> Imported | None:
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
            if not _put_in(page, trial, new, found):
                return None
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


class _Log:
    """Reads logged scores, line by line.

    Parameters
    ----------
    replica, reading
        What can be asked, and which scores are possible.
    columns
        What stands in the columns, by what they are.
    decimal
        What stands before decimals, if that is known.
    file
        Whether names may have been guarded against spreadsheets.
    """

    def __init__(
        self,
        replica: Replica,
        reading: Scores,
        columns: dict[str, list[str | None]],
        decimal: str | None,
        file: bool,
    ) -> None:
        self._replica, self._reading, self._columns = replica, reading, columns
        self._decimal, self._file = decimal or decimal_of(columns["score"]), file
        self._items, self._evaluators = set(self._asked.items), set(self._asked.evaluators)
        self._seen: Counter[tuple[str, str]] = Counter()

    @property
    def _asked(self) -> Questions:
        return self._replica.questions

    def rows(self) -> list[int]:
        """Return the lines that are not empty."""
        n = len(self._columns["score"])
        return [row for row in range(n) if any(self._cell(part, row) for part in self._columns)]

    def entry(self, row: int, place: str) -> _Entry:
        """Return the score on a line, or refuse what is wrong with it."""
        lacking = [part for part in self._columns if not self._cell(part, row)]
        if lacking and (self._evaluators or lacking != ["evaluator"]):
            raise InputError(f"the {listed(lacking)} is empty")
        about = tuple(
            self._known(part, row, self._items)
            for part in ("option", "rival")
            if part in self._columns
        )
        who = self._cell("evaluator", row)
        if self._evaluators:
            who = self._known("evaluator", row, self._evaluators)
        (index,) = self._asked.find([about], who or None if self._evaluators else None).tolist()
        number = int(self._replica.numbers[index])
        with _column(SCORE):
            value = score_in(
                self._cell("score", row),
                self._decimal,
                self._reading.allows,
                verdicts=self._reading.kind == "verdicts",
            )
            score = self._reading.read(self._replica.question(number), value)
        who = checked_name(who, "the name of an evaluator", empty=True)
        return _Entry(place, number, score, who, self._key(row, about, who, score))

    def _cell(self, part: str, row: int) -> str:
        cells = self._columns.get(part)
        return (cells[row] if cells else None) or ""

    def _known(self, part: str, row: int, names: set[str]) -> str:
        name = name_in(self._cell(part, row), names, file=self._file)
        if name not in names:
            what = "evaluator" if part == "evaluator" else "option"
            there = self._asked.evaluators if part == "evaluator" else self._asked.items
            raise InputError(
                f"column {part!r}: there is no {what} {name!r}; there are {listed(list(there))}"
            )
        return name

    def _key(self, row: int, about: Sequence[str], who: str, score: float) -> str:
        """Return what a score is known by."""
        given = "key" in self._columns
        said = self._cell("key", row) if given else _digest(about, who, score)
        self._seen[who, said] += 1
        again = self._seen[who, said]
        if given and again > 1:
            raise InputError(f"column 'key': {said!r} stands on a line above, too")
        return checked_name(said, "key") if given else f"{said}-{again}"


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


def _put_in(page: Page, trial: Replica, new: Sequence[_Entry], found: _Problems) -> bool:
    """Write logged scores down, if a replica that is of no other use can take them.

    False if it cannot go on with the log, so that another one must be tried.
    """
    if ledger.seal_of(page.session, page.id, trial.head) != trial.seal:
        return False
    if not trial.fold(ledger.events_after(page.session, page.id, trial.head, page.head)):
        return False
    left = trial.policy.limits.left(trial.pending).tolist()
    for one in new:
        index = int(trial.places[one.question])
        left[index] -= 1
        if left[index] < 0:
            with found.at(one.place):
                raise InputError(
                    "this was asked as often as it may be; a ticket for it may be out, which "
                    "can be told instead"
                )
    found.refuse()
    try:
        trial.policy.observe(trial.feedback([x.question for x in new], [x.score for x in new]))
    except Exception as error:
        raise InputError(f"{said(error)} Nothing was taken.") from error
    first = page.evaluations + 1
    rows = [
        EvaluationRow(number, None, one.question, one.score, one.evaluator, one.key, "counted", 0)
        for number, one in enumerate(new, first)
    ]
    at = page.append("imported", evaluations_to(row.said() for row in rows))
    page.evaluations += len(rows)
    page.counted += len(rows)
    page.enter(replace(row, event=at) for row in rows)
    page.close()
    return True


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
