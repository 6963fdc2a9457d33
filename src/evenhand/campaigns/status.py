"""What a campaign has come to: its status, its answer, and the decision that the log keeps."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenhand.answers.answer import Answer
from evenhand.answers.choose import absences, notes_on
from evenhand.answers.of_policy import answer_of, ending
from evenhand.answers.question import Failure
from evenhand.answers.withdrawn import Withdrawal, with_put_back
from evenhand.best import Best
from evenhand.campaigns.course import Course
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.state import NOTHING, said
from evenhand.policies.base import Policy, checks_of, forecast_of
from evenhand.policies.messages import Finding, Selection
from evenhand.questions import HandOut
from evenhand.report.model import Report, Result, plain
from evenhand.report.words import counted, listed
from evenhand.scores.grades import assumed_of
from evenhand.search import PlannedChoice
from evenhand.search.choice import Choice
from evenhand.search.record import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

# what of an answer is in the record as it is
_DECIDED = (
    "target", "option", "best", "sure", "certainty", "confidence", "tolerance", "withstands",
    "loses_at_most", "scores", "by_mean_scores", "attempts",
)  # fmt: skip
_NAMED = 20  # questions that were given up, in words
_FEW = 3  # evaluators who are waited for, by name


@dataclass(frozen=True)
class EvaluatorStatus:
    """How one evaluator stands."""

    evaluator: str
    left: str | None  # why; None if still there
    open: int  # tickets that wait for the evaluator
    leased: int  # tickets that the evaluator has
    evaluations: int  # that count
    late: int
    withdrawn: int
    given_up: int
    declined: int


@dataclass(frozen=True)
class Status(Result):
    """How a campaign stands.

    Parameters
    ----------
    name
        Its name.
    status, why
        "running", "paused" or "finished", and why, if it is not running.
    wanted, inside, outside
        What is wanted of the options, in words; where that is not just the best one, of how many it
        is certain by now that they are wanted, and that they are not; else None.
    trouble
        What keeps the policy from going on, or from saying where it stands, if something does;
        else "".
    evaluations, late, withdrawn
        How many evaluations count, came late, and were withdrawn.
    open, leased, done, given_up, void
        Tickets that wait, are out, were answered, were given up, and were taken back.
    at_most, paid, budget
        Evaluations that are allowed; what those so far cost, and how much money there is (infinite
        if nobody said).
    forecast, looks_once
        How many more evaluations are expected to come, NaN where that is not known; and whether
        they are looked at once, when all are in.
    best
        Whether the "high" or the "low" scores are the best.
    evaluators
        How each evaluator stands.
    grades
        What it takes for granted that grades are numbers, in words; "" where scores are numbers.
    alarms
        What contradicts an assumption, in words.
    put_aside
        What was given up, in words, the newest first, twenty at most. The policy asks it anew, if
        it still wants it; `Campaign.resume` where the campaign is paused, `Campaign.join` for who
        was taken to have left.
    events, hash
        How long the record is, and the seal of its last event, in hexadecimal digits. Whoever has
        written these down can tell later whether anything before was changed.

    Examples
    --------
    >>> import tempfile, os
    >>> import evenhand as eh
    >>> folder = tempfile.TemporaryDirectory()
    >>> options = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"])
    >>> campaign = eh.Campaign.create(os.path.join(folder.name, "prizes.db"), "prize", options)
    >>> receipt = campaign.tell(campaign.ask("Paul"), 7.5)
    >>> status = campaign.status()
    >>> status.status, status.evaluations, status.evaluators[0].evaluator
    ('running', 1, 'Paul')
    >>> campaign.close()
    >>> folder.cleanup()
    """

    name: str
    status: str
    why: str
    wanted: str
    inside: int | None
    outside: int | None
    trouble: str
    evaluations: int
    late: int
    withdrawn: int
    open: int
    leased: int
    done: int
    given_up: int
    void: int
    at_most: int
    paid: float
    budget: float
    forecast: float
    looks_once: bool
    best: Best
    evaluators: tuple[EvaluatorStatus, ...]
    grades: str
    alarms: tuple[str, ...]
    put_aside: tuple[str, ...]
    events: int
    hash: str

    def _report(self) -> Report:
        from evenhand.campaigns.sections import status_report  # noqa: PLC0415 # it speaks of this

        return status_report(self)

    def _record(self) -> dict[str, Any]:
        return asdict(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.campaigns.figure import draw_status  # noqa: PLC0415 # loads matplotlib

        return draw_status(self, axes)


def status_of(follower: Follower) -> Status:
    """Return how a campaign stands."""
    with follower.course() as course:
        state, policy = course.state, course.policy
        out = follower.read(lambda page: page.state.waiting(page.now, follower.tries))
        names = state.questions.evaluators or sorted(state.tally)
        target, troubles = getattr(policy, "target", None), [course.trouble]
        if target is not None and state.settings["best"] == "low":
            target = target.turned

        def told(by: Callable[[Policy], T], of: Policy, unknown: T) -> T:
            try:
                return by(of)
            except Exception as error:  # of a policy of somebody's own: the rest is still told
                troubles.append(said(error))
                return unknown

        certain = told(_certain, policy, None)
        over = state.status == "finished"
        forecast = 0.0 if over else told(forecast_of, course.asks, math.nan)
        return Status(
            name=follower.name,
            status=state.status,
            why=told(lambda _: ended(course), policy, "") if over else state.why,
            wanted="the best" if target is None else target.words,
            inside=None if certain is None else len(certain.inside),
            outside=None if certain is None else len(certain.outside),
            trouble=next(filter(None, troubles), ""),
            evaluations=state.counted,
            late=sum(counts["late"] for counts in state.tally.values()),
            withdrawn=len(state.withdrawn),
            open=out.open.total(),
            leased=out.leased.total(),
            done=state.states["done"],
            given_up=len(state.given_up),
            void=state.states["void"],
            at_most=policy.horizon,
            paid=policy.limits.paid,
            budget=policy.limits.money,
            forecast=forecast,
            looks_once=state.settings["looks"] == "once",
            best=state.settings["best"],
            evaluators=tuple(
                EvaluatorStatus(
                    name,
                    state.left.get(name),
                    out.open[name],
                    out.leased[name],
                    **state.tally.get(name, NOTHING),
                )
                for name in names
            ),
            grades=assumed_of(state.reading.grades) if state.reading.grades else "",
            alarms=tuple(found.message for found in policy.findings() if found.alarm),
            put_aside=tuple(_put_aside(one) for one in state.failures[: -_NAMED - 1 : -1]),
            events=state.head,
            hash=state.seal.hex(),
        )


def _put_aside(failure: Failure) -> str:
    asked = failure.question
    whose = f" by {asked.evaluator}" if asked.evaluator else ""
    return f"{asked.label}{whose} (ticket {asked.number}): {failure.error}"


def _certain(policy: Policy) -> Selection | None:
    """Return of whom it is certain by now; None where only the best one is wanted."""
    target = getattr(policy, "target", None)
    return None if target is None or target.top == 1 else policy.recommend().selection


def answer_from(course: Course) -> Answer:
    """Return the answer of a campaign's policy, which stays as it is."""
    # It says no more than what also holds by the record as it was given, where something was
    # withdrawn.
    state, answer, given = course.state, _answer_of(course, course.policy), course.as_given
    if not state.withdrawn:
        return answer
    scores = tuple(
        Withdrawal(
            one.number, state.question(one.question).label, one.evaluator, one.score, why, blind
        )
        for one, why, blind in state.withdrawals
    )
    return with_put_back(answer, scores, None if given is None else _answer_of(course, given))


def _answer_of(course: Course, policy: Policy) -> Answer:
    """Return the answer of a policy: the campaign's, or that of the record as it was given."""
    state = course.state
    settings, grades = state.settings, state.reading.grades
    return answer_of(
        _looked(policy),
        confidence=settings["confidence"],
        tolerance=settings["tolerance"],
        features_exact=settings["deviation"] == 0,
        stopped_because=_stopped_because(course),
        failures=state.failures,
        attempts=state.tried,
        notes=[
            *absences(dict(sorted(state.left.items()))),
            *_additions(state.added_late, settings["confidence"], settings["tolerance"]),
            *notes_on(policy, settings["checks"]),
            *([Finding("grades", assumed_of(grades), alarm=False)] if grades else []),
        ],
        scale=state.reading.limits,
        best=settings["best"],
    )


def _looked(policy: Policy) -> Policy:
    """Return a policy whose checks looked at all there is, before anything is said."""
    policy = copy.copy(policy)
    if policy.spent + policy.observed > 0:
        checks_of(policy).look()
    return policy


def ended(course: Course) -> str:
    """Return in words why a campaign is finished."""
    if course.ended[0] != course.known:  # pages ask for it again and again: a look takes 7 ms
        words = _stopped_because(course) or ending(_looked(course.policy))[1]
        course.ended = course.known, words
    return course.ended[1]


def _additions(m: int, confidence: float, tolerance: float) -> list[Finding]:
    """Return the level of all answers if questions were added after m of them; see `Choice`."""
    if m == 0:
        return []
    delta = 1.0 - confidence
    often = "once" if m == 1 else f"{m:,} times"
    most = min(1.0, (2 * m + 1 if tolerance else m + 1) * delta)
    return [
        Finding(
            "extensions",
            f"Questions were added after an answer, {often}, perhaps for what it was: all answers "
            f"together are then wrong with a probability of {100 * most:.3g}% at most, where one "
            f"is with {100 * delta:.3g}%.",
            alarm=False,
        )
    ]


def _stopped_because(course: Course) -> str | None:
    """Return why nothing more is asked, if not because the policy is done."""
    state = course.state
    if len(course.policy.options) == 1:
        return "there is no other option"
    if trouble := course.trouble:
        return f"{'without those who left, ' if state.left else ''}{trouble}"
    if state.status == "paused":
        return f"the campaign is paused{': ' if state.why else ''}{state.why}"
    if state.status == "finished" or course.finished:
        return None
    plan = course.due_plan(np.zeros_like(course.pending))
    if state.left and plan is not None and plan.get("order") == []:
        return (
            "of those who are there nothing more can be asked: the next `ask`, whoever's it is, "
            "has the scores that are in looked at"
        )
    return f"the campaign goes on{_waits_for(course)}"


def _waits_for(course: Course) -> str:
    """Return whose answers a plan lacks, where it waits for a few; "" if there are more."""
    policy = course.policy
    if not isinstance(policy, Choice) or not policy.record.alone or not policy.record.open:
        return ""
    (now,), questions = policy.record.open, course.questions
    due: dict[str, int] = {}
    for x, n in zip(now.asked.tolist(), now.lacks.tolist(), strict=True):
        if n:
            who = questions.evaluator_of(x) or ""
            due[who] = due.get(who, 0) + n
    for name in course.state.left:
        due.pop(name, None)
    if not due or "" in due or len(due) > _FEW or 2 * len(due) > len(questions.evaluators):
        return ""
    whose = listed([f"{name} ({counted(n, 'answer')})" for name, n in due.items()])
    return f", and waits for {whose}; `leave` goes on without them"


def decision_of(course: Course) -> dict[str, Any]:
    """Return what the record says of a decision: numbers, codes and names."""
    answer = answer_from(course)
    told, verdicts = answer.to_dict(), answer.conclusion.verdicts
    alone, gone = len(answer.options) == 1, told["withdrawn"]
    return {
        "answer": {name: told[name] for name in _DECIDED}
        | {
            "withdrawn": gone
            and gone | {"scores": [one.evaluation for one in answer.withdrawn.scores]},
            "ranking": [
                row | {"verdict": verdicts[one.index]}
                for row, one in zip(told["ranking"], answer.ranking, strict=True)
            ],
            "biases": [
                {name: part for name, part in bias.items() if name != "name"}
                for bias in told["biases"]
            ],
            "warnings": [finding_of(found) for found in answer.warnings],
        },
        "because": "alone" if alone else ending(answer.policy)[0],
        "evaluations": course.state.counted,
    }


def finding_of(found: Finding) -> dict[str, Any]:
    """Return what the record says of a finding: all but the message."""
    said: dict[str, Any] = plain({x.name: getattr(found, x.name) for x in fields(found)})
    return {name: part for name, part in said.items() if name != "message"}


def hand_out_from(course: Course) -> HandOut | None:
    """Return who is asked about what; None unless a plan of all single options is fixed."""
    policy = course.policy
    if not isinstance(policy, PlannedChoice) or (policy.questions.about[:, 1] >= 0).any():
        return None
    now, none = policy.record.now, np.zeros(len(policy.questions), dtype=np.int64)
    plan = policy.next_plan(none) if now is None else now.plan
    if isinstance(plan, Plan):
        asked, counts = plan.asked
        none[asked] = counts
    return HandOut(policy.questions, none)
