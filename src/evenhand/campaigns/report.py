"""The report of a campaign: that of its answer, with the record it rests on and how to check it."""

from __future__ import annotations

import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from evenhand.answers.report import report_of
from evenhand.campaigns.events import evaluations_in
from evenhand.campaigns.export import ScoresInLog, events_of
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.replica import Replica, asked_from
from evenhand.campaigns.status import Status, answer_from, status_of
from evenhand.campaigns.stores import SqliteStore
from evenhand.policies.state import restore
from evenhand.questions import Questions
from evenhand.report import markup as html
from evenhand.report.document import Section, facts, note, points, table, write_page
from evenhand.report.markup import Markup
from evenhand.report.words import listed, short

_MOST_ROWS = 50
_MOST_LINES = 100
_REASONS = {
    "open": "to begin with, before anything was known",
    "explore": "to learn more",
    "check the model": "to check the model",
    "measure the bias": "to measure the bias",
    "ask what was planned": "as planned before the first answer",
}


def write_report(
    follower: Follower,
    path: str | os.PathLike[str],
    title: str | None = None,
    made: date | None = None,
) -> None:
    """Write the report of a campaign to a file; see `Campaign.report`."""
    status = status_of(follower)
    with follower.lock:
        replica = follower.followed()
        answer = answer_from(replica)
        told = _story(follower, replica)
    sections = [
        Section("Who was asked, and why", _asked(status, told, answer.questions.priced)),
        Section("What happened on the way", _happened(told)),
        Section("The record, and how to check it", _record(follower, status, told)),
    ]
    write_page(report_of(answer, title or f"{follower.name}: what to choose", made, sections), path)


@dataclass
class _Story:
    """What the log tells, beside scores that count.

    Parameters
    ----------
    first, last
        When the first and the last event happened.
    purposes
        How many tickets were made for what.
    paid
        What answers that count cost, by evaluator.
    lines
        What happened: when, and what.
    notes
        What evaluators said beside their scores.
    """

    first: float = 0.0
    last: float = 0.0
    purposes: Counter[str] = field(default_factory=Counter)
    paid: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lines: list[tuple[float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _story(follower: Follower, replica: Replica) -> _Story:
    """Return what the log tells, read once from end to end."""
    told, scores = _Story(), ScoresInLog()
    ask = lru_cache(maxsize=None)(replica.question)
    there: set[tuple[str, str]] = set()  # what there is: "option" or "evaluator", and its name

    def given(number: int) -> str:
        one = scores[number].said
        score = follower.reading.reply(one.score)
        return f"{short(ask(one.question).label)} by {one.evaluator or 'somebody'}, {score:g}"

    for event in events_of(follower):
        told.first = told.first or event.at
        told.last = event.at
        content = scores.take(event)
        said = _said(event.kind, content, given)
        if event.kind == "proposed":
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
    for one in scores.values():
        question, who = ask(one.said.question), one.said.evaluator
        if one.said.note:
            told.notes.append(f"{who or 'Somebody'} on {short(question.label)}: {one.said.note}")
        if one.standing == "counted" and one.ticket is not None:
            told.paid[who] += question.price
    return told


def _purpose(purpose: dict[str, Any]) -> str:
    """Return in words what tickets were made for."""
    what = str(purpose.get("what", "explore"))
    if what == "ask what was planned" and purpose.get("stage"):
        return "as planned anew on the way"
    if what == "compare" and purpose.get("against"):
        rivals = [short(name) for name in purpose["against"][:3]]
        others = len(purpose["against"]) - len(rivals) + int(purpose.get("others", 0))
        more = f" and {others:,} other{'s' * (others != 1)}" if others else ""
        return f"to compare {short(purpose['for'])} with {', '.join(rivals)}{more}"
    return _REASONS.get(what, f"to {what}")


def _said(kind: str, content: Any, given: Callable[[int], str]) -> str:
    """Return in words what an event tells, beside scores that count; "" for the usual ones."""
    because = f": {content['reason']}" if content.get("reason") else ""
    match kind:
        case "created":
            return "The campaign began."
        case "paused":
            return f"Paused{because}."
        case "resumed":
            return "Went on."
        case "left":
            return f"{content['evaluator']} left{because}."
        case "joined":
            return f"{content['evaluator']} came back."
        case "alarmed":
            return f"ALARM: {' '.join(content['text'].split())}"
        case "withdrawn":
            number = content["evaluation"]
            return f"Evaluation {number} ({given(number)}) was withdrawn{because}."
        case "late":
            return " ".join(
                f"A score came late and does not count: {given(one.number)}."
                for one in evaluations_in(content)
            )
        case "imported":
            n = len(content["evaluations"])
            return f"{n:,} score{'s' * (n != 1)} that had been given before were taken in."
        case "failed":
            given_up = ", and was given up" if content["given_up"] else ""
            return f"Ticket {content['ticket']} could not be answered{given_up}{because}."
        case "decided":
            sure = "sure" if content["answer"]["sure"] else "not sure"
            return f"Decided: {short(content['answer']['option'])}, {sure}."
    return ""


def _names(questions: Questions) -> set[tuple[str, str]]:
    """Return the options and evaluators of questions, each as what it is and its name."""
    return {("option", name) for name in questions.items} | {
        ("evaluator", name) for name in questions.evaluators
    }


def _extended(content: Any, new: set[tuple[str, str]]) -> str:
    """Return in words what there was more of."""
    more = [f"at most {content['at_most']:,} evaluations"] if content.get("at_most") else []
    more += [f"a budget of {content['budget']:g}"] if content.get("budget") else []
    for what in ("option", "evaluator"):
        names = sorted(name for kind, name in new if kind == what)
        more += [f"{what}{'s' * (len(names) != 1)} {listed(names)}"] if names else []
    if content.get("questions") and not new:
        more += ["more of the same questions"]
    return f"The campaign was extended: {', '.join(more) or 'more is shown'}."


def _asked(status: Status, told: _Story, priced: bool) -> list[str]:
    header = ["evaluator", "evaluations", "late", "withdrawn", "given up"]
    header += ["paid"] if priced else []
    rows = [
        [
            short(one.evaluator) if one.evaluator else "nobody named",
            one.evaluations,
            one.late,
            one.withdrawn,
            one.given_up,
            *([_money(told.paid[one.evaluator])] if priced else []),
        ]
        for one in status.evaluators
    ]
    reasons = [[why, n] for why, n in told.purposes.most_common()]  # the first column wraps
    return [
        table("Evaluators, and what came from each", header, rows[:_MOST_ROWS],
              max(0, len(rows) - _MOST_ROWS)) if rows else "",
        table("What tickets were made for", ["what for", "tickets"], reasons[:_MOST_ROWS],
              max(0, len(reasons) - _MOST_ROWS)) if reasons else "",
        note(
            "What was asked followed from the scores before, by rules that were fixed before the "
            "first. Evaluators saw neither groups nor estimates nor what others said."
        ),
    ]  # fmt: skip


def _happened(told: _Story) -> list[str]:
    lines = [f"{_when(at)} {text}" for at, text in told.lines]
    half = _MOST_LINES // 2
    if len(lines) > _MOST_LINES:
        gone = len(lines) - 2 * half
        lines = [*lines[:half], f"… {gone:,} more are in the record …", *lines[-half:]]
    more = len(told.notes) - _MOST_ROWS
    said = told.notes[:_MOST_ROWS] + ([f"… {more:,} more are in the record …"] if more > 0 else [])
    return [
        points(lines),
        "What evaluators noted beside their scores:" if said else "",
        points(said),
    ]


def _record(follower: Follower, status: Status, told: _Story) -> list[str]:
    store = follower.store.name if isinstance(follower.store, SqliteStore) else "postgresql://…"
    where = f"{shlex.quote(store)} {shlex.quote(follower.name)}"
    return [
        facts(
            "The record",
            {
                "campaign": follower.name,
                "store": follower.store.name,
                "events": f"{status.events:,}, from {_when(told.first)} to {_when(told.last)}",
                "seal of the last event": status.hash,
                "evaluations": f"{status.evaluations:,} that count, {status.late:,} late, "
                f"{status.withdrawn:,} withdrawn",
            },
        ),
        "Every event is sealed to all before it: whoever has written down the seal above can tell "
        "whether anything before it was changed, left out or put in.",
        _command(
            "To check it:",
            f"evenhand campaign verify {where}",
            "It replays the decision, and confirms it from plans and scores alone, by other code "
            "than that which decided.",
        ),
        _command(
            "To read it:",
            f"evenhand campaign export {where} --to record",
            "It writes all evaluations as a table, and all events as lines of JSON.",
        ),
    ]


def _command(before: str, command: str, after: str) -> Markup:
    """Return a paragraph with what to type."""
    parts = html.text(before), html.text(command), html.text(after)
    return Markup("<p>{} <code>{}</code><br>{}</p>\n".format(*parts))


def _money(paid: float) -> object:
    return int(paid) if paid == int(paid) else html.Rounded(paid, 2)


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
