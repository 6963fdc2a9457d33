"""A record: what was asked and what came back. It is the whole state of a search for certainty.

Plans stand in it in order, each frozen before its scores, each with the scores that count for it;
beside them scores that nobody asked for, by which plans may be made and which are no evidence.
Everything else that is said or asked is a function of the record.

Which plan a score counts for
-----------------------------
For the plan in force when it arrives, as long as that lacks scores; else for the next one. So a
plan is whole when its number of scores has come, by counts alone, whoever gave them; a ticket that
comes late, and one that was handed out beyond the plan so that nobody had to wait, are rows of the
next plan's design. Given all scores that count for plans before it, each plan is then a fixed
design with fresh noise: its questions were fixed by what was known before its first score, and the
order in which they are answered does not depend on the answers. docs/research/certainty.md
has the proof.

A plan is looked at after fixed shares of its number (`Plan.looks`); the record keeps scores added
up from look to look. So what is concluded does not depend on when somebody asks.

At the end stands what a search rests on, and why it asks nothing more, in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, recalled
from evenhand.certainty.models import BAR
from evenhand.inference.target import Target
from evenhand.policies.limits import nth
from evenhand.policies.messages import (
    Certainty,
    Feedback,
    Selection,
    dense,
    nothing,
    sparse,
)
from evenhand.questions import Superset

if TYPE_CHECKING:
    from evenhand.certainty.choice import Choice

Purpose = Literal[
    "open",
    "compare",
    "check the model",
    "measure the bias",
    "ask what was planned",
    "ask more",
    "explore",
]
_MOST = 10**18
_NO_ONE: Indices = np.zeros(0, dtype=np.intp)
_SHOWN = 5  # rivals that are named,
_MANY = 12  # and options that are chosen


class Expected(NamedTuple):
    """What is expected of a plan's leads when it is frozen: all that its priors depend on."""

    leads: Floats  # (n,) over the rivals, in units of the evidence (of σ, where that is known)
    variances: Floats  # (n,) per unit of noise variance
    unit: float  # what the noise was taken to be, 1 where it is known,
    freedom: float  # and with how many degrees of freedom


@dataclass(frozen=True, eq=False)
class Plan:
    """What is asked next, frozen before any of its scores."""

    # "open" is a start that tests nothing, "compare" tests a leader, "ask more" goes on with a plan
    # that was fixed before the first score (`one_look`)
    purpose: Purpose
    # (n,) questions in the order in which they are handed out; none: no more scores can come
    order: Indices
    times: int = 1  # how often that is repeated
    looks: int = 1  # at how many equal shares of its scores it is looked at; 1: when it is whole
    # whether evaluators who would wait for its last scores are asked more of the same
    more: bool = False
    at_most: int = _MOST  # evaluations that were allowed in all when it was made
    forecast: float = math.nan  # evaluations that were expected to come
    leader: int = -1  # the option that is tested, −1 if none is
    rivals: Indices = field(default_factory=lambda: _NO_ONE)  # those it is tested against
    expected: Expected | None = None  # of its leads over them
    among: Indices | None = None  # (n,) the options that there were, where others came since
    # where the m best are wanted, or those above a bar or another option: (k,) options by their
    # places, and (n,) who leads each rival; `BAR` among these is the bar
    places: Indices | None = None
    leaders: Indices | None = None
    budget: float = math.inf  # money that was allowed in all when it was made

    @property
    def ahead(self) -> int | Indices:
        """Who leads the rivals: one option, or (n,) one for each of them."""
        return self.leader if self.leaders is None else self.leaders

    @property
    def number(self) -> int:
        """How many scores make it whole."""
        return len(self.order) * self.times

    def wanted(self, q: int) -> Counts:
        """Return (q,) how often it asks each of q questions."""
        return self.times * np.bincount(self.order, minlength=q).astype(np.int64)

    def next_ones(self, have: Counts) -> Indices:
        """Return questions that are next, in order, beside those that are there or on their way,
        (q,): all that are left, or of a long plan about as many as the order has.
        """
        twice, turn = self._places
        block = np.bincount(self.order, minlength=len(have))
        used = block > 0
        gone = min(self.times - 1, int((have[used] // block[used]).min(initial=_MOST)))
        (left,) = np.nonzero(turn > (have - gone * block)[twice])
        if gone == self.times - 1:
            left = left[left < len(self.order)]
        return np.asarray(twice[left])

    @cached_property
    def _places(self) -> tuple[Indices, Counts]:
        """The order twice, and which score of its question each place is."""
        twice = np.concatenate([self.order, self.order])
        return twice, nth(twice)

    def moved(self, to: Superset) -> Self:
        """Return the plan by the places of its questions and options among more of them."""
        return replace(
            self,
            order=to.questions[self.order],
            leader=self.leader if self.leader < 0 else int(to.options[self.leader]),
            rivals=_moved_options(self.rivals, to),
            among=to.options if self.among is None else to.options[self.among],
            places=None if self.places is None else to.options[self.places],
            leaders=None if self.leaders is None else _moved_options(self.leaders, to),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return kept | {"expected": None if self.expected is None else self.expected._asdict()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int) -> Self:
        """Return the plan that `to_dict` was made of; `ValueError` if it is none of q questions."""
        kept = dict(given)
        kept["order"] = _places(kept, "order", q)
        for name in ("rivals", "among", "places", "leaders"):
            if kept[name] is not None:
                least = BAR if name in ("rivals", "leaders") else 0
                kept[name] = _places(kept, name, k, least)
        for name, least in (("times", 1), ("looks", 1), ("at_most", 0)):
            kept[name] = recalled(kept, name, (), int, least, _MOST)
        kept["leader"] = recalled(kept, "leader", (), int, -1, k - 1)
        if not isinstance(kept["purpose"], str) or type(kept["more"]) is not bool:
            raise ValueError(f"{kept['purpose']!r:.80}, {kept['more']!r:.80}")
        kept["forecast"], kept["budget"] = float(kept["forecast"]), float(kept["budget"])
        if kept["expected"] is not None:
            kept["expected"] = _expected(kept["expected"], len(kept["rivals"]))
        if (kept["expected"] is None) != (kept["leader"] < 0):
            raise ValueError(f"leader {kept['leader']}, of whom {kept['expected']} is expected")
        _refuse_no_places(kept)
        plan = cls(**kept)
        if plan.number > _MOST or not plan.budget > 0.0:
            raise ValueError(f"{plan.number} scores, {plan.budget} to spend")
        return plan


def _refuse_no_places(kept: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless there is one leader for each rival where options have places."""
    places, leaders = kept["places"], kept["leaders"]
    if (places is None) != (leaders is None):
        raise ValueError(f"places {places!r:.80}, with leaders {leaders!r:.80}")
    if leaders is not None and (
        len(leaders) != len(kept["rivals"]) or len(np.unique(places)) < len(places)
    ):
        raise ValueError(f"{len(leaders)} leaders of {len(kept['rivals'])} rivals by {places!r}")


def _places(given: Mapping[str, Any], name: str, n: int, least: int = 0) -> Indices:
    return np.asarray(recalled(given, name, (None,), int, least, n - 1), dtype=np.intp)


def _moved_options(options: Indices, to: Superset) -> Indices:
    return np.where(options == BAR, BAR, to.options[options])


def _expected(given: Mapping[str, Any], n: int) -> Expected:
    return Expected(
        recalled(given, "leads", (n,)),
        recalled(given, "variances", (n,), least=0.0, most=math.inf),
        recalled(given, "unit", least=5e-324),
        recalled(given, "freedom", least=0.0, most=math.inf),
    )


@dataclass(frozen=True)
class Stop:
    """Why nothing more is planned."""

    # "certain"; "checked", where nothing was to be asked at all; "hopeless", where options cannot
    # be told apart with what is left; "stuck", where nobody who is there can compare them; "spent",
    # "broke"; "alarm"
    reason: str
    options: tuple[int, ...] = ()  # those that it is about
    why: str = ""  # in words, where there is more to say


class Round:
    """A plan and the scores of q questions that count for it, added up from look to look."""

    def __init__(self, plan: Plan, q: int) -> None:
        self.plan = plan
        self.count = self.looked = 0  # scores, and looks whose share of them has come
        self.blocks: list[Mapping[str, Any]] = []  # up to the last of these looks
        self._since = nothing(q)  # that look
        self.total = nothing(q)
        self.last_look = 0, self.total  # how many scores there were, and all of them by then

    @property
    def whole(self) -> bool:
        """Whether the plan lacks no score."""
        return self.count >= self.plan.number

    def tell(self, feedback: Feedback) -> None:
        """Count scores for the plan."""
        self._since = self._since + feedback
        # block by block, so that a copy, which has these, has the same to the last digit
        self.total = self.last_look[1] + self._since
        self.count += int(feedback.counts.sum())
        due = min(self.plan.looks, self.count * self.plan.looks // self.plan.number)
        if due > self.looked:
            self.looked = due
            self.blocks.append(sparse(self._since))
            self._since = nothing(len(feedback.counts))
            self.last_look = self.count, self.total

    def looks(self, after: int = 0) -> Iterator[tuple[int, Feedback]]:
        """Yield for each block the number of scores and all of them up to its end."""
        if after >= len(self.blocks) - 1:  # no more than the last
            yield from [self.last_look] * (len(self.blocks) - after)
            return
        told, count = nothing(len(self.total.counts)), 0
        for i, block in enumerate(self.blocks):
            told = told + dense(block, len(told.counts))
            count += int(block["counts"].sum())
            if i >= after:
                yield count, told

    def moved(self, to: Superset, q: int) -> Round:
        """Return the round of a moved plan; see `Record.moved`."""
        new = Round(self.plan.moved(to), q)
        for block in self.blocks:
            new.tell(_moved(block, to, q))
        if self._since.counts.any():
            new.tell(_moved(sparse(self._since), to, q))
        return new

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        return {
            "plan": self.plan.to_dict(),
            "blocks": self.blocks,
            "since": sparse(self._since),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int) -> Round:
        """Return the round that `to_dict` was made of; `ValueError` if it is none."""
        new = cls(Plan.from_dict(given["plan"], q, k), q)
        for block in given["blocks"]:
            new.tell(dense(block, q))
        if len(new.blocks) < len(given["blocks"]):
            raise ValueError(f"{len(given['blocks'])} looks, with scores for {len(new.blocks)}")
        since = dense(given["since"], q)
        if since.counts.any():
            new.tell(since)
        return new


class Record:
    """What was asked of q questions, by plans, and what came back."""

    def __init__(self, q: int) -> None:
        self.q = q
        self.rounds: list[Round] = []
        # how many plans there were, and scores that came then and that nobody asked for
        self.outside: list[tuple[int, Feedback]] = []
        self.early: list[Feedback] = []  # came when the last plan was whole: count for the next

    @property
    def now(self) -> Round | None:
        """The plan in force, with its scores; None before the first."""
        return self.rounds[-1] if self.rounds else None

    def begin(self, plan: Plan) -> None:
        """Put a plan in force; the one before is closed with what it has."""
        self.rounds.append(Round(plan, self.q))
        early, self.early = self.early, []
        for feedback in early:
            self.tell(feedback)

    def tell(self, feedback: Feedback) -> None:
        """Take scores that were asked for."""
        now = self.now
        if now is None or now.whole:
            self.early.append(nothing(self.q) + feedback)  # a copy: who told may reuse his arrays
        else:
            now.tell(feedback)

    def observe(self, feedback: Feedback) -> None:
        """Take scores that nobody asked for."""
        self.outside.append((len(self.rounds), nothing(self.q) + feedback))

    def is_over(self, r: int) -> bool:
        """Tell whether plan r takes no more scores: it is whole, or another one follows."""
        return r < len(self.rounds) - 1 or self.rounds[r].whole

    def known_to(self, r: int) -> Feedback:
        """Return all that was known when plan r was frozen, or, of the next one, that is now."""
        known = nothing(self.q)
        for round_ in self.rounds[:r]:
            known = known + round_.total
        for at, feedback in self.outside:
            known = known + feedback if at <= r else known
        return known

    @property
    def everything(self) -> Feedback:
        """All scores there are."""
        known = self.known_to(len(self.rounds))
        for feedback in self.early:
            known = known + feedback
        return known

    def moved(self, to: Superset, q: int) -> Record:
        """Return the record by the places of its questions among q of them."""
        new = Record(q)
        new.rounds = [round_.moved(to, q) for round_ in self.rounds]
        new.outside = [(at, _moved(sparse(told), to, q)) for at, told in self.outside]
        new.early = [_moved(sparse(told), to, q) for told in self.early]
        return new

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, texts and arrays by name."""
        return {
            "rounds": [round_.to_dict() for round_ in self.rounds],
            "outside": [{"at": at} | sparse(told) for at, told in self.outside],
            "early": [sparse(told) for told in self.early],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], q: int, k: int) -> Record:
        """Return the record that `to_dict` was made of; `ValueError` if it is none."""
        new = cls(q)
        new.rounds = [Round.from_dict(round_, q, k) for round_ in given["rounds"]]
        for kept in given["outside"]:
            at = recalled(kept, "at", (), int, 0, len(new.rounds))
            new.outside.append((at, dense(kept, q)))
        new.early = [dense(kept, q) for kept in given["early"]]
        return new


def _moved(kept: Mapping[str, Any], to: Superset, q: int) -> Feedback:
    """Return a feedback by the places of its questions among q of them."""
    return dense({**kept, "options": to.questions[kept["options"]]}, q)


def stopped(
    policy: Choice, stop: Stop, target: Target | None = None, said: Selection | None = None
) -> str:
    """Return why nothing more is asked; with a ``target``, what is ``said`` of it."""
    limits, rivals = policy.limits, shown(policy.options, stop)
    about = "" if not stop.options else repr(policy.options.labels[stop.options[0]])
    if stop.options and stop.options[0] == BAR and target is not None:
        about = f"the bar of {target.bar:g}"
    if stop.why:
        return stop.why
    if stop.reason == "certain":
        alarms = [finding for finding in policy.findings() if finding.alarm]
        if alarms and all(finding.assumption == "kinds" for finding in alarms):
            return "it would be certain if no judge liked single options, which nobody confirms."
        if alarms:
            return "it would be certain if the model were right, but an alarm says that it is not."
        if target is not None and said is not None and target.top is None:
            return certain_sides(policy.options, target, said, policy.confidence)
        if said is not None:
            less = 0.0 if said.wrong_at_most == 0 else policy.tolerance
            return certain_set(policy.options, said.chosen, policy.confidence, less)
        return certain(policy.options, stop.options[0], policy.confidence, policy.tolerance)
    if stop.reason == "hopeless":
        rest = f"{policy.remaining} evaluations"
        if math.isfinite(limits.money):
            rest += f" and the {limits.money - limits.paid:g} of the budget"
        or_less = "" if policy.tolerance else ", or state a tolerance: how much may be lost"
        return (
            f"{about} and {rivals} cannot be told apart with the {rest} that are left. Call "
            f"allow() with more{or_less}."
        )
    if stop.reason == "stuck" and limits.absent:
        gone = ", ".join(repr(name) for name in limits.absent_names)
        return f"{about} and {rivals} cannot be compared while {gone} cannot be asked."
    if stop.reason == "stuck":
        return (
            f"{about} and {rivals} cannot be compared any more: the questions that would do it "
            "were asked as often as they may be. Allow more of them, or ask further evaluators."
        )
    if stop.reason == "broke":
        return f"the budget of {limits.money:g} is spent: {limits.paid:g} of it."
    return f"all {policy.horizon} evaluations are spent; allow() goes on with more."


def certain(options: Any, option: int, confidence: float, tolerance: float) -> str:
    """Return that an option is certain."""
    more = f" by more than {tolerance:g}" if tolerance else ""
    said = f"no option is better than {options.labels[option]!r}{more}, with "
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    return f"{said}{100 * confidence:g}% confidence{rests}"


def certain_set(
    options: Any, chosen: Sequence[int], confidence: float, tolerance: float = 0.0
) -> str:
    """Return that several options are certain to be the best."""
    names = ", ".join(repr(options.labels[x]) for x in chosen[:_MANY])
    more = "" if len(chosen) <= _MANY else f" and {len(chosen) - _MANY:,} more"
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    what = f"the {len(chosen):,} best, {names}{more},"
    if tolerance:
        what = f"{names}{more} by more than {tolerance:g},"
    return (
        f"no other option is better than any of {what} with {100 * confidence:g}% confidence{rests}"
    )


def certain_sides(options: Any, target: Target, said: Selection, confidence: float) -> str:
    """Return that it is certain of every option on which side of a bar, or of another, it is."""
    n, level = len(said.inside), f"{100 * confidence:g}% confidence"
    rests = "." if options.stand_alone else " and if the features tell values exactly."
    are = "is" if n == 1 else "are"
    return f"{n:,} of {len(options.labels):,} options {are} {target.words}, with {level}{rests}"


def set_may_be_chance(options: Any, selection: Selection, n: int, confidence: float) -> str:
    """Return that n planned answers do not settle which options are the best few."""
    m, sure = len(selection.chosen), len(selection.inside)
    return (
        f"all {n} answers are in, and of the {m:,} that look best {sure:,} certainly are, at "
        f"{100 * confidence:g}% confidence. More evaluators from the start would help."
    )


def sides_may_be_chance(
    options: Any, target: Target, said: Selection, n: int, confidence: float
) -> str:
    """Return that n planned answers do not settle who is above a bar, or better than an option."""
    k = len(options.labels) - (target.against is not None)
    sure = len(said.inside) + len(said.outside)
    return (
        f"all {n} answers are in, and of {sure:,} of {k:,} options it is certain whether they are "
        f"{target.words}, at {100 * confidence:g}% confidence. More evaluators from the start "
        "would help, or a tolerance."
    )


def may_be_chance(options: Any, stop: Stop, n: int, confidence: float, would_help: str) -> str:
    """Return that n planned answers do not make the leader certain, and what would help."""
    return (
        f"all {n} answers are in, and that {options.labels[stop.options[0]]!r} leads "
        f"{shown(options, stop)} may be chance, at {100 * confidence:g}% confidence. A tolerance "
        f"would help (how much may be lost), or {would_help}."
    )


def nothing_left_over(
    options: Any, option: int, n: int, agree: bool, say: str = "how large noise is (noise_scale)"
) -> str:
    """Return that n answers cannot tell how sure the leader is: they agree, or none is spare;
    ``say`` is what would help if somebody knew it.
    """
    seen = "agree to the last digit" if agree else "are no more than the model has parameters"
    return (
        f"all {n} answers are in, and {options.labels[option]!r} leads; but they {seen}, and "
        "without any scatter scores cannot tell how sure that is. Ask further evaluators, or, if "
        f"it is known, say {say}."
    )


def not_compared(options: Any, stop: Stop, n: int) -> str:
    """Return which options remain apart after n answers."""
    first = options.labels[stop.options[0]]
    return f"the {n} answers that are in do not compare {first!r} with {shown(options, stop)}"


def shown(options: Any, stop: Stop) -> str:
    """Return the names of those that a leader is not certain to be better than, or some of them."""
    rivals = [repr(options.labels[x]) for x in stop.options[1 : _SHOWN + 1]]
    return ", ".join(rivals) + (", …" if len(stop.options) > _SHOWN + 1 else "")


def grounds(options: Any) -> Certainty:
    """Return what certainty rests on: options that stand for themselves need no model of value."""
    return "own scores" if options.stand_alone else "features exact"
