"""What campaigns have to say: of their status, of a verification, and beside their answer."""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from evenhand.answers.page import costs_money, report_of, to_come
from evenhand.answers.question import ReplyScale
from evenhand.best import direction
from evenhand.campaigns.events import evaluations_in
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import all_events
from evenhand.campaigns.state import State, asked_from
from evenhand.campaigns.status import Status, answer_from, status_of
from evenhand.campaigns.stores import SqliteStore
from evenhand.policies.registry import restore
from evenhand.questions import Questions
from evenhand.report.model import (
    Cell,
    Facts,
    Name,
    Part,
    Picture,
    Points,
    Report,
    Rounded,
    Section,
    Table,
)
from evenhand.report.words import counted, listed, number, short

if TYPE_CHECKING:
    from evenhand.campaigns.verification import RecordVerification

_FEW = 3  # of what was given up that is named
_MOST_NOTES = 100  # beside scores; models say something beside each
_REASONS = {
    "open": "to begin with, before anything was known",
    "explore": "to learn more",
    "check the model": "to check the model",
    "measure the bias": "to measure the bias",
    "ask what was planned": "as planned before the first answer",
}


def status_report(status: Status) -> Report:
    """Return how a campaign stands."""
    why = f": {status.why}" if status.why else ""
    beside = [f"{status.late:,} came late"] if status.late else []
    beside += [f"{status.withdrawn:,} withdrawn"] if status.withdrawn else []
    more = f" ({', '.join(beside)})" if beside else ""
    money = f", for {number(status.paid)} of {number(status.budget)}"
    count, wait = ("counts" if status.evaluations == 1 else "count"), status.open == 1
    return Report(
        f"The campaign {status.name}",
        f"Campaign {status.name!r} is {status.status}{why}",
        [
            ("STUCK", status.trouble),
            *(("WARNING", text) for text in status.alarms),
            ("Wanted", _wanted(status)),
            ("Direction", "" if status.grades else direction(status.best)),
            (
                "Evaluations",
                f"{status.evaluations:,} {count}{more}, of at most {status.at_most:,}"
                f"{money if math.isfinite(status.budget) else ''}.",
            ),
            (
                "Tickets",
                f"{status.leased:,} {'is' if status.leased == 1 else 'are'} out, {status.open:,} "
                f"{'waits' if wait else 'wait'}.",
            ),
            ("To come", _to_come(status)),
            ("Grades", status.grades),
            *(("Given up", f"{text}; asked anew if wanted.") for text in status.put_aside[:_FEW]),
            ("Record", f"{counted(status.events, 'event')}, the last sealed {status.hash}"),
        ],
        [
            Section("Evaluators", [_evaluators(status)], "print"),
            Section("In a picture", [_picture(status)], "file"),
        ],
    )


def _wanted(status: Status) -> str:
    """Return what is wanted, and of how many options that is certain; "" of the best one."""
    if status.wanted == "the best":
        return ""
    if status.inside is None or status.outside is None:
        return f"Those that are {status.wanted}."
    return (
        f"Those that are {status.wanted}. Certain so far: {status.inside:,} are, "
        f"{status.outside:,} are not."
    )


def _to_come(status: Status) -> str:
    """Return what is still to be asked; "" where nobody can say, or all is over."""
    if status.status == "finished" or not math.isfinite(status.forecast):
        return ""
    if status.forecast == 0.0:
        return "Nothing more has to be asked: see the answer."
    return f"{to_come(status.forecast, status.looks_once)}."


def _evaluators(status: Status, paid: Mapping[str, float] | None = None) -> Table:
    """Return what came of every evaluator, and what was paid for it."""
    header = ["evaluator", "evaluations", "out", "waiting", "late", "withdrawn", "given up"]
    rows: list[list[Cell]] = [
        [
            Name(one.evaluator or "(nobody named)"),
            *(one.evaluations, one.leased, one.open, one.late, one.withdrawn, one.given_up),
            one.declined,
            *([] if paid is None else [_money(paid[one.evaluator])]),
            "" if one.left is None else f"left{': ' * bool(one.left)}{one.left}",
        ]
        for one in status.evaluators
    ]
    more = [] if paid is None else ["paid"]
    return Table("What came from each", [*header, "declined", *more, ""], rows)


def _picture(status: Status) -> Picture | None:
    said = "How much came of every evaluator, is out and waits; the numbers are in the table."
    return Picture("status", status.plot, said) if status.evaluators else None


_ANEW = (
    "A whole history that was written anew, with new seals: only a seal that was written down "
    "elsewhere at the time finds that."
)


def verification_report(found: RecordVerification) -> Report:
    """Return whether a record is whole, and what its decision follows from."""
    own = version("evenhand")
    other = f" by evenhand {own}, but made by {found.made_by}" if found.made_by != own else ""
    follows = f"the decision follows from it{other}" if found.decided else "nothing was decided"
    said = (
        f"The record is whole, and {follows}: {found.events:,} events, {found.evaluations:,} "
        "evaluations that count."
    )
    if found.wrong:
        said = f"The record does not verify{other and f' (replayed{other})'}."
    anew = "" if found.wrong or found.known else _ANEW
    return Report(
        "Is the record whole, and does the decision follow from it?",
        said,
        [
            ("Seal", found.seal),
            ("Not found", anew),
        ],
        [Section("What is wrong", [Points(found.wrong)], "print")],
        names=[found.seal[:16]] if found.seal else [],  # which has no capitals
    )


def campaign_report(follower: Follower) -> Report:
    """Return what a campaign has to say: its answer, who was asked, and how to check the record."""
    status = status_of(follower)
    with follower.course() as course:
        answer = answer_from(course)
        told = _story(follower, course.state, {one.assumption: str(one) for one in answer.alarms})
    *said, method = (report := with_grades(report_of(answer), follower.reading)).sections
    more = [
        Section("Who was asked, and why", _asked(status, told, costs_money(answer))),
        Section("What happened on the way", _happened(told)),
        Section("The record, and how to check it", _record(follower, status, told)),
    ]
    title = f"{follower.name}: what to choose"
    return replace(report, title=title, sections=[*said, *more, method])


def with_grades(report: Report, scale: ReplyScale) -> Report:
    """Return a report of an answer whose options have the grade beside their values, if any."""
    if not scale.grades:
        return report

    def graded(part: Part) -> Part:
        if not isinstance(part, Table) or not {"option", "value"} <= set(part.header):
            return part
        at = list(part.header).index("value")
        rows = [[*row[: at + 1], _nearest(row[at], scale), *row[at + 1 :]] for row in part.rows]
        header = [*part.header[: at + 1], "nearest grade", *part.header[at + 1 :]]
        return replace(part, header=header, rows=rows)

    def parts(section: Section) -> list[Part]:
        return [graded(part) for part in section.filled]

    sections = [replace(one, parts=partial(parts, one)) for one in report.sections]
    return replace(report, sections=sections)


def _nearest(value: Cell, scale: ReplyScale) -> str | None:
    """Return the grade whose number is nearest to a value; None if that is not known."""
    if not isinstance(value, float):
        return None
    return min(scale.grades, key=lambda grade: abs(scale.grades[grade] - value))


@dataclass
class _Story:
    """What the log tells, beside scores that count."""

    first: float = 0.0  # time of the first event
    last: float = 0.0  # and of the last
    purposes: Counter[str] = field(default_factory=Counter)  # tickets by purpose
    paid: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lines: list[tuple[float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _story(follower: Follower, state: State, alarms: Mapping[str, str]) -> _Story:
    """Return what the log tells, read once from end to end; alarms in words, if they still hold."""
    told = _Story()
    ask = lru_cache(maxsize=None)(state.question)
    there: set[tuple[str, str]] = set()  # what there is: "option" or "evaluator", and its name

    def given(number: int) -> str:
        one = state.evaluations[number].said
        score = state.reading.word(one.score)
        return f"{short(ask(one.question).label)} by {short(one.evaluator or 'somebody')}, {score}"

    for event in all_events(follower.store, follower.id):
        if event.number > state.head:
            break
        told.first = told.first or event.at
        told.last = event.at
        content = event.content
        said = _said(event.kind, content, state.reasons.get(event.number, ""), given)
        if event.kind == "alarmed":
            text = alarms.get(content["assumption"], f"{content['assumption']}, at that time")
            said = f"ALARM: {' '.join(text.split())}"
        elif event.kind == "proposed":
            told.purposes[_purpose(content["purpose"])] += len(content["tickets"])
        elif event.kind == "created":
            there = _names(restore(content["policy"]).questions)
        elif event.kind == "extended":
            asked = content["questions"]
            new = set() if asked is None else _names(Questions.of(asked_from(asked))) - there
            there |= new
            said = _extended(content, new)
        if said:
            told.lines.append((event.at, said))
    for one, standing, *_ in list(state.evaluations.values())[: state.length_of_scores]:
        question, who = ask(one.question), one.evaluator
        if one.note:
            told.notes.append(f"{who or 'Somebody'} on {short(question.label)}: {one.note}")
        if standing == "counted" and one.ticket is not None:
            told.paid[who] += question.price if one.cost is None else one.cost
    return told


def _purpose(purpose: dict[str, Any]) -> str:
    """Return in words what tickets were made for."""
    what = str(purpose.get("what", "explore"))
    if what == "ask what was planned" and purpose.get("stage"):
        return "as planned anew on the way"
    if what == "compare" and purpose.get("against"):
        rivals = [short(name) for name in purpose["against"][:3]]
        others = len(purpose["against"]) - len(rivals) + int(purpose.get("others", 0))
        more = f" and {counted(others, 'other')}" if others else ""
        return f"to compare {short(purpose['for'])} with {', '.join(rivals)}{more}"
    return _REASONS.get(what, f"to {what}")


_HAPPENED = {
    "created": "The campaign began.",
    "paused": "Paused{because}.",
    "resumed": "Went on.",
    "declined": "Question {question} was declined{because}.",
    "left": "{evaluator} left{because}.",
    "joined": "{evaluator} came back.",
    "withdrawn": "Evaluation {evaluation} ({score}) was withdrawn{because}.",
    "late": "{scores}",
    "imported": "{n} that had been given before were taken in.",
    "failed": "Ticket {ticket} could not be answered{given_up}{because}.",
    "decided": "Decided: {option}, {sure}.",
}  # what events tell beside scores that count


def _said(kind: str, content: Any, reason: str, given: Callable[[int], str]) -> str:
    """Return in words what an event tells; "" for the usual ones."""
    if kind not in _HAPPENED:
        return ""
    content = content | {"because": f": {reason}" if reason else ""}
    match kind:
        case "withdrawn":
            content["score"] = given(content["evaluation"])
        case "late":
            content["scores"] = " ".join(
                f"A score came late and does not count: {given(one.number)}."
                for one in evaluations_in(content)
            )
        case "imported":
            content["n"] = counted(len(content["evaluations"]), "score")
        case "failed":
            content["given_up"] = ", and was given up" * content["given_up"]
        case "decided":
            content["option"] = short(content["answer"]["option"])
            content["sure"] = "sure" if content["answer"]["sure"] else "not sure"
    return _HAPPENED[kind].format_map(content)


def _names(questions: Questions) -> set[tuple[str, str]]:
    """Return the options and evaluators of questions, each as what it is and its name."""
    return {("option", name) for name in questions.options.labels} | {
        ("evaluator", name) for name in questions.evaluators
    }


def _extended(content: Any, new: set[tuple[str, str]]) -> str:
    """Return in words what there was more of."""
    more = [f"at most {content['at_most']:,} evaluations"] if content.get("at_most") else []
    more += [f"a budget of {number(content['budget'])}"] if content.get("budget") else []
    for what in ("option", "evaluator"):
        names = sorted(name for kind, name in new if kind == what)
        more += [f"{what}{'s' * (len(names) != 1)} {listed(names)}"] if names else []
    if content.get("questions") and not new:
        more += ["more of the same questions"]
    return f"The campaign was extended: {', '.join(more) or 'more is shown'}."


def _asked(status: Status, told: _Story, priced: bool) -> list[Part]:
    reasons = told.purposes.most_common()  # the first column wraps
    asked = "was planned before the first score"
    if not status.looks_once:
        asked = "followed from the scores before, by rules that were fixed before the first"
    return [
        _evaluators(status, told.paid if priced else None),
        Table("What tickets were made for", ["what for", "tickets"], reasons),
        (
            f"What was asked {asked}. Evaluators saw neither groups nor estimates nor what others "
            "said."
        ),
    ]


def _happened(told: _Story) -> list[Part]:
    more = max(0, len(told.notes) - _MOST_NOTES)
    return [
        Points([f"{_when(at)} {text}" for at, text in told.lines]),
        "What evaluators noted beside their scores:" if told.notes else "",
        Points(told.notes[:_MOST_NOTES]),
        f"{counted(more, 'more note')}, in the record." if more else "",
    ]


def _record(follower: Follower, status: Status, told: _Story) -> list[Part]:
    store = follower.store.name if isinstance(follower.store, SqliteStore) else "postgresql://…"
    where = f"{shlex.quote(store)} {shlex.quote(follower.name)}"
    return [
        Facts(
            "The record",
            {
                "campaign": follower.name,
                "store": follower.store.name,
                "events": f"{status.events:,}, from {_when(told.first)} to {_when(told.last)}",
                "seal of the last event": status.hash,
                "evaluations": f"{status.evaluations:,} that count, {status.late:,} late, "
                f"{status.withdrawn:,} withdrawn",
                "to check it": f"evenhand campaign verify {where}",
                "to read it": f"evenhand campaign export {where} record",
            },
        ),
        "Every event is sealed to all before it: whoever has the seal above can tell whether "
        "anything was changed. The first command computes every decision again.",
    ]


def _money(paid: float) -> Cell:
    return int(paid) if paid == int(paid) else Rounded(paid, 2)


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
