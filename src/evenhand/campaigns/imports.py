"""Scores that come in tables: sheets of tickets, and logs of what nobody asked for.

They come whole or not at all, and coming twice counts once: a line of a sheet is known by its
ticket, a logged score by what it says and by how many equal ones stand before it. Every line that
is wrong is named, and then nothing is taken.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.answers.question import Question, ReplyScale, compares
from evenhand.campaigns.arguments import checked_name, checked_reason
from evenhand.campaigns.course import Course
from evenhand.campaigns.events import Evaluation, evaluations_to
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.sheets import (
    SCORE,
    TICKET,
    SheetLine,
    decimal_of,
    is_sheet,
    name_in,
    read_sheet,
    score_in,
)
from evenhand.campaigns.state import State, TicketState, said
from evenhand.campaigns.tell import ScoreDesk, TicketReply, declined_on, row_of
from evenhand.campaigns.tickets import Receipt
from evenhand.errors import ConflictError, InputError
from evenhand.plain import canonical
from evenhand.tables.columns import Defects, check_decimal, found_columns
from evenhand.tables.texts import listed

if TYPE_CHECKING:
    from evenhand.questions import Questions
    from evenhand.tables.columns import Table

_NOTHING = "\nNothing was taken."


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
    declined
        Lines without a score on which somebody stands aside, as for a conflict of interest, by
        ticket with what was written: they are declined (`Campaign.decline`).
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
    declined: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as a plain value."""
        by_ticket = ("notes", "lost_notes", "declined")
        return asdict(self) | {name: dict(getattr(self, name)) for name in by_ticket}


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
    from evenhand.tables.opened import open_table  # noqa: PLC0415 # loads pyarrow

    check_decimal(decimal)
    source = open_table(table, "scores")
    if is_sheet(source):
        return _take_sheet(follower, source, decimal)
    names = {"option": option, "rival": rival, "evaluator": evaluator, "score": score}
    return _take_log(follower, source, names, key, decimal)


def _take_sheet(follower: Follower, source: Table, decimal: str | None) -> Imported:
    shown = dict.fromkeys(c for own in follower.state().display.values() for c in own)
    lines = read_sheet(source, list(shown))
    if not lines:
        raise InputError(f"{source.name} has no lines below its header; nothing was taken.")
    decimal = decimal or decimal_of([line.score for line in lines])

    def take(page: Page) -> Imported:
        found, desk = Defects(source), ScoreDesk(page)
        above: dict[str, tuple[SheetLine, TicketReply]] = {}  # by ticket
        receipts: list[Receipt] = []
        notes: list[tuple[str, str]] = []
        lost: list[tuple[str, str]] = []
        declined: list[tuple[str, str]] = []
        for line in lines:
            with found.at(line.row):
                aside = _aside(line, follower.reading)
                if aside and _about(follower, desk.page, line).evaluator:
                    declined_on(desk.page, line.ticket, checked_reason(aside))
                    declined.append((line.ticket, aside))
                    continue
                reply = _reply(follower, desk.page, line, decimal)
                if reply is None:
                    lost += [(line.ticket, line.note)] if line.note else []
                    continue
                first, said = above.setdefault(reply.id, (line, reply))
                if said.score != reply.score:
                    raise InputError(
                        f"ticket {line.ticket} has {line.score}, and on "
                        f"{found.rows([first.row])} it has {first.score}; leave one of them"
                    )
                receipts.append(desk.one(reply))
                if line.note:
                    kept = desk.note_of(receipts[-1].evaluation) == line.note
                    (notes if kept else lost).append((line.ticket, line.note))
        found.refuse(after=_NOTHING)
        desk.close()
        fresh = [one for one in receipts if not one.repeated]
        return Imported(
            counted=sum(one.counted for one in fresh),
            late=sum(not one.counted for one in fresh),
            repeated=len(receipts) - len(fresh),
            unfilled=len(lines) - len(receipts) - len(declined),
            notes=tuple(notes),
            lost_notes=tuple(lost),
            declined=tuple(declined),
        )

    return follower.write(take)


def _aside(line: SheetLine, reading: ReplyScale) -> str:
    """Return what says on a line without a score that its evaluator stands aside; "" if nothing."""
    from evenhand.tables.office import stands_aside  # noqa: PLC0415 # seldom needed

    if line.score is not None and stands_aside(line.score) and not reading.knows(line.score):
        return line.note or line.score
    return line.note if line.score is None and stands_aside(line.note) else ""


def _reply(
    follower: Follower, page: Page, line: SheetLine, decimal: str | None
) -> TicketReply | None:
    """Return what a line of a sheet says, None if it is not filled in; refuse what is wrong."""
    row = _about(follower, page, line)
    if line.score is None:
        return None
    score = _read(follower.reading, page.state.asked(row), line.score, decimal)
    return TicketReply(row.id, score, note=line.note)


def _about(follower: Follower, page: Page, line: SheetLine) -> TicketState:
    """Return the ticket of a line; refuse a line that is about something else."""
    with _column(TICKET):
        if not line.ticket:
            raise InputError("it is empty; it must be as the sheet had it, such as 17-9f3a2c")
        row = row_of(page, line.ticket)
    question = page.state.asked(row)
    said = tuple(name_in(label, question.labels, file=True) for label in line.labels)
    if said and said != question.labels:
        raise InputError(
            f"ticket {line.ticket} is about {' and '.join(map(repr, question.labels))}, and the "
            f"line about {' and '.join(map(repr, said))}; was one of the columns sorted "
            "alone?"
        )
    return row


def _take_log(
    follower: Follower,
    source: Table,
    names: dict[str, str],
    key: str | None,
    decimal: str | None,
) -> Imported:
    state, found = follower.state(), Defects(source)
    columns = _columns(source, state.questions, names, key)
    if not columns["score"]:
        raise InputError(f"{source.name} has no lines below its header; nothing was taken.")
    scores = _logged(state, columns, decimal or decimal_of(columns["score"]), found)
    while True:  # again, as long as something happens meanwhile
        with follower.course() as course:
            state = course.state
            new = _new(state, scores, found)
            taken = Imported(counted=len(new), repeated=len(scores) - len(new))
            if not new:
                return taken
            if state.status == "finished":
                raise InputError(
                    "the campaign is finished, and scores that come now would not count; extend "
                    "it first. Nothing was taken."
                )
            _try(course, new, found)
        first = state.length_of_scores + 1
        numbered = [one._replace(number=n) for n, one in enumerate(new.values(), first)]

        if follower.write(partial(_put_in, course.known, numbered)):
            return taken


def _put_in(known: tuple[object, int], scores: Sequence[Evaluation], page: Page) -> bool:
    """Write logged scores down, unless the campaign has moved on."""
    right = page.follows(*known) and scores[0].number == len(page.state.evaluations) + 1
    return right and page.append("imported", evaluations_to(scores)) > 0


def _new(state: State, scores: Mapping[int, Evaluation], found: Defects) -> dict[int, Evaluation]:
    """Return the logged scores, by their rows, that were not told before."""
    new = {}
    for row, one in scores.items():
        number = state.keys.get((one.evaluator, one.key))
        if number is None:
            new[row] = one
            continue
        before = state.evaluations[number].said
        if (before.question, before.score) != (one.question, one.score):
            with found.at(row):
                raise ConflictError(
                    f"{one.key!r} was told before, as evaluation {number}, and otherwise"
                )
    found.refuse(after=_NOTHING)
    return new


def _try(course: Course, new: Mapping[int, Evaluation], found: Defects) -> None:
    """Refuse logged scores that may not be asked, or that a copy of the policy does not take."""
    left = course.policy.limits.left(course.pending)
    for row, one in new.items():
        index = course.places[one.question]
        left[index] -= 1
        if left[index] < 0:
            with found.at(row):
                raise InputError(
                    "this was asked as often as it may be; a ticket for it may be out, which "
                    "can be told instead"
                )
    found.refuse(after=_NOTHING)
    try:
        told = course.feedback(
            [one.question for one in new.values()], [one.score for one in new.values()]
        )
        copy.copy(course.policy).observe(told)
    except Exception as error:
        raise InputError(f"{said(error)} Nothing was taken.") from error


def _columns(
    source: Table, questions: Questions, names: dict[str, str], key: str | None
) -> dict[str, list[str | None]]:
    """Return the columns by what they are; an error for those missing and those too many."""
    needed = ["option", *(["rival"] if compares(questions) else [])]
    needed += ["evaluator"] if questions.evaluators else []
    parts = {part: names[part] for part in [*needed, "score"]}
    if key is not None:
        parts["key"] = key
    wanted = listed(list(parts.values()))
    found_columns(
        source,
        parts,
        hint=lambda: (
            f"Logged scores need {wanted} (other names can be given), and sheets a column 'ticket'."
        ),
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
    return {part: source.texts(column) for part, column in parts.items()}


def _logged(
    state: State, columns: dict[str, list[str | None]], decimal: str | None, found: Defects
) -> dict[int, Evaluation]:
    """Return logged scores by their rows, each known by its key; refuse what is wrong."""
    labels: Sequence[str] = state.questions.options.labels
    given = {"option": labels, "rival": labels, "evaluator": state.questions.evaluators}
    names = {part: some for part, some in given.items() if some and part in columns}
    sets = {part: set(some) for part, some in names.items()}
    seen: Counter[tuple[str, str]] = Counter()

    def read(cells: dict[str, str]) -> Evaluation:
        lacking = [part for part, cell in cells.items() if not cell]
        if lacking and ("evaluator" in names or lacking != ["evaluator"]):
            raise InputError(f"the {listed(lacking)} is empty")
        for part, some in names.items():  # in a file they may have been guarded
            cells[part] = name = name_in(cells[part], sets[part], file=found.source.is_text)
            if name not in sets[part]:
                what = "evaluator" if part == "evaluator" else "option"
                there = listed(list(some))
                raise InputError(f"column {part!r}: there is no {what} {name!r}; there are {there}")
        about = tuple(cells[part] for part in ("option", "rival") if part in cells)
        who = cells.get("evaluator", "")
        (index,) = state.questions.find([about], who if "evaluator" in names else None).tolist()
        question = int(state.numbers[index])
        score = _read(state.reading, state.question(question), cells["score"], decimal)
        who = checked_name(who, "the name of an evaluator", empty=True)
        # a score is known by a key, or by what it says, numbered among equal ones
        key = cells["key"] if "key" in cells else _digest(about, who, score)
        seen[who, key] += 1
        if "key" not in cells:
            key = f"{key}-{seen[who, key]}"
        elif seen[who, key] > 1:
            raise InputError(f"column 'key': {key!r} stands on a line above, too")
        return Evaluation(0, None, question, score, who, checked_name(key, "key"))

    scores = {}
    for row in range(len(columns["score"])):
        cells = {part: column[row] or "" for part, column in columns.items()}
        if any(cells.values()):
            with found.at(row):
                scores[row] = read(cells)
    found.refuse(after=_NOTHING)
    return scores


def _digest(about: Sequence[str], evaluator: str, score: float) -> str:
    """Return what a logged score is known by, beside its number among equal ones."""
    said = canonical([list(about), evaluator, score])
    return f"logged-{hashlib.sha256(said.encode()).hexdigest()[:24]}"


def _read(reading: ReplyScale, question: Question, text: str, decimal: str | None) -> float:
    """Return the score that a cell has, or refuse it."""
    with _column(SCORE):
        return reading.replied(question, score_in(text, reading, decimal))


@contextmanager
def _column(name: str) -> Iterator[None]:
    """Name the column in what is refused of a cell."""
    try:
        yield
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None
