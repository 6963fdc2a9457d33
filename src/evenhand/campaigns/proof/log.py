"""The log of a campaign, read anew: which evaluations were learnt when, and by which plans.

A campaign learns evaluations in the order of the log, one by one at first, then so many together as
are a thirty-second of those before, or of the options; whatever changes the campaign has it learn
what came before. When something is withdrawn, all is learnt anew without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.campaigns.proof.asked import Indices
from evenhand.campaigns.proof.record import Allowed, Change, Plan, Record
from evenhand.errors import InputError

_SHARE = 1 / 32
_CHANGES = ("imported", "withdrawn", "left", "joined", "resumed", "extended", "decided")


class Entry(NamedTuple):
    """An evaluation of the log: its number, the number of its question, its score."""

    event: int
    number: int
    question: int
    score: float


def record_of(events: Iterable[tuple[str, Mapping[str, Any]]]) -> Record:
    """Return the record that the events of a campaign come to: kinds and particulars, in order.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> policy = eh.CertainChoice(panel, at_most=50)
    >>> created = {"policy": policy.state(), "settings": {"tolerance": 0.0}}
    >>> told = {"evaluations": [[1, 1, 2, 7.5, "P", "a"]]}
    >>> record = record_of([("created", created), ("told", told)])
    >>> record.policy, record.questions, record.scores, record.settings["at_most"]
    ('certain-choice', array([2]), array([7.5]), 50)
    """
    log = list(events)
    if not log or log[0][0] != "created":
        raise InputError("the log does not begin with how the campaign was made.")
    reader = _Reader(log)
    for number, (kind, content) in enumerate(log, start=1):
        reader.read(number, kind, content)
    return reader.record()


class _Reader:
    """Goes through the events."""

    def __init__(self, log: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.gone: dict[int, int] = {}  # the events that withdrew evaluations
        self.written: dict[int, list[tuple[int, Mapping[str, Any]]]] = {}
        """Plans that came into force with an event, and the events that wrote them down."""
        for event, (kind, content) in enumerate(log, start=1):
            if kind == "withdrawn":
                self.gone[int(content["evaluation"])] = event
            for since, plan in _plans_in(event, content):
                if not 0 < since <= event:
                    raise InputError(f"the plan in event {event} says that it holds since {since}.")
                self.written.setdefault(since, []).append((event, plan))
        self.policy = ""
        self.content: Mapping[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.stated: Mapping[str, Any] = {}
        self.numbers: Indices = np.zeros(0, dtype=np.intp)  # of the questions, by place
        self.new: list[Entry] = []
        self.learnt: list[Entry] = []
        self.observed: list[bool] = []
        self.looks: list[int] = []
        self.absent: list[str] = []
        self.absences: list[Change] = []
        self.imports: list[Change] = []
        self.extensions: list[Change] = []
        self.allowed: list[Allowed] = []
        self.learning: list[int] = []
        self.event = 0  # that is being read
        self.before: dict[int, int] = {}  # how many evaluations were in before imports
        self.plans: list[Plan] = []
        self.versions: list[tuple[int, Indices, list[str]]] = []  # numbers and options, by plans
        self.told = 0  # evaluations that were asked for, and learnt

    def read(self, event: int, kind: str, content: Mapping[str, Any]) -> None:
        """Take in an event."""
        self.event = event
        if kind == "created":
            self._created(content)
        elif kind == "told":
            self.new += self._entries(event, content)
            if len(self.new) >= 1 + int(_SHARE * max(self.told, len(self.versions[-1][2]))):
                self._learn()
        elif kind == "looked":
            self._learn(int(content["seen"]))
        elif kind in _CHANGES:
            self._changed(event, kind, content)
        for written, plan in self.written.get(event, ()):
            self._planned(written, plan)

    def _created(self, content: Mapping[str, Any]) -> None:
        state, self.stated = content["policy"], content["settings"]
        self.policy = state["policy"]
        placed, named = state["arguments"]["placed"], dict(state["arguments"]["named"])
        first = placed[0] if placed else named.pop("actions")
        self._asked(first)
        if len(placed) > 1:
            named["horizon"] = placed[1]
        self.settings = {name: _number(value) for name, value in named.items()}
        most = self.settings.get("at_most") or self.settings.get("horizon")
        self.settings["at_most"] = most

    def _asked(self, given: Mapping[str, Any], numbers: Sequence[int] | None = None) -> None:
        self.content = given["actions"] if "actions" in given else given["questions"]
        plain = "features" in self.content
        q = len(self.content["features"]) if plain else self.content["rows"]["shape"][0]
        self.numbers = np.arange(q) if numbers is None else np.array(numbers, dtype=np.intp)
        names = self.content.get("labels") if plain else self.content["options"]
        names = names or [f"option {x + 1}" for x in range(q)]
        self.versions.append((len(self.plans), self.numbers, list(names)))

    def _changed(self, event: int, kind: str, content: Mapping[str, Any]) -> None:
        self._learn()
        place = len(self.learnt)
        if kind == "imported":
            self.before[event] = place
            self._take(self._entries(event, content), observed=True)
            self.imports.append(Change(len(self.learnt), (), event))
        elif kind in ("left", "joined"):
            name = content["evaluator"]
            self.absent = [other for other in self.absent if other != name]
            self.absent += [name] if kind == "left" else []
            self.absences.append(Change(place, tuple(self.absent), event))
        elif kind == "extended":
            if content["questions"] is not None:
                before = self.versions[-1][2]
                self._asked(content["questions"], content["numbers"])
                names = self.versions[-1][2]
                new = tuple(name for name in names if name not in before)
                self.extensions.append(Change(place, new, event, names != before))
            if content["at_most"] is not None:
                self.allowed.append(Allowed(place, int(content["at_most"]), event))
            if content["budget"] is not None:
                self.settings["budget"] = float(content["budget"])
                self.allowed.append(Allowed(place, -1, event))

    # ------------------------------------------------------------------ learning

    def _entries(self, event: int, content: Mapping[str, Any]) -> list[Entry]:
        return [Entry(event, row[0], row[2], row[3]) for row in content["evaluations"]]

    def _learn(self, seen: int | None = None) -> None:
        ready = [entry for entry in self.new if seen is None or entry.event <= seen]
        self.new = self.new[len(ready) :]
        if not ready:
            return
        self.told += len(ready)
        self._take(ready)

    def _take(self, entries: list[Entry], *, observed: bool = False) -> None:
        if not entries:
            return
        self.learnt += entries
        self.observed += [observed] * len(entries)
        self.looks.append(len(self.learnt))
        self.learning.append(self.event)

    # ------------------------------------------------------------------ plans

    def _planned(self, written: int, plan: Mapping[str, Any]) -> None:
        """Take down a plan that came into force with this event."""
        at, since = len(self.learnt), self.event
        if since in self.before and not self._opened_by(since, written):
            at = self.before[since]  # by what was told; then came the import
        self.plans.append(Plan(at, plan, since, written))

    def _opened_by(self, event: int, as_of: int) -> bool:
        """Tell whether an import put a plan in force: before any answer to those that opened."""
        if self.policy != "certain-choice" or not self.plans:
            return True
        plan = self.plans[-1]
        told = [i for i in range(plan.at, self.before[event]) if not self.observed[i]]
        gone = (self.gone.get(self.learnt[i].number, as_of + 1) <= as_of for i in told)
        return int(plan.content["leader"]) < 0 and all(gone)

    def record(self) -> Record:
        """Return the record."""
        places = np.argsort(self.numbers)
        n, gone = len(self.learnt), self.gone
        return Record(
            self.content,
            self.policy,
            self.settings,
            places[np.array([entry.question for entry in self.learnt], dtype=np.intp)],
            np.array([entry.score for entry in self.learnt], dtype=np.float64),
            np.array(self.observed, dtype=np.bool_).reshape(n),
            np.array([gone.get(entry.number, -1) for entry in self.learnt], dtype=np.int64),
            [self._moved(number) for number in range(len(self.plans))],
            self.absences,
            self.imports,
            self.extensions,
            self.allowed,
            np.array(self.looks, dtype=np.int64),
            np.array(self.learning, dtype=np.int64),
            stated=self.stated,
        )

    def _moved(self, number: int) -> Plan:
        """Return a plan in the places that questions and options have in the end."""
        plan = self.plans[number]
        content = plan.content
        _, numbers, names = [one for one in self.versions if one[0] <= number][-1]
        last = self.versions[-1]
        if numbers is last[1]:
            return plan
        places, options = np.argsort(last[1]), {name: x for x, name in enumerate(last[2])}
        moved = dict(content) | {"first": options[names[0]]}
        for name in ("order", "questions"):
            if name in content:
                moved[name] = places[numbers[np.array(content[name], dtype=np.intp)]].tolist()
        for name in ("rivals", "stuck", "hopeless"):
            if name in content:
                moved[name] = [options[names[x]] for x in content[name]]
        for name in ("leader", "answer"):
            if content.get(name) is not None and content[name] >= 0:
                moved[name] = options[names[content[name]]]
        return plan._replace(content=moved)


def _plans_in(event: int, content: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the plans that an event has, and since which events they were in force.

    The first records do not say since when; it was since the evaluation before.
    """
    found = [(int(since), plan) for since, plan in content.get("passed", ())]
    if content.get("plan") is not None:
        found.append((int(content.get("since", event)), content["plan"]))
    return found


def _number(value: Any) -> Any:
    """Return an argument as it was: those that are not finite are written by name."""
    if isinstance(value, Mapping) and set(value) == {"number"}:
        return float(value["number"])
    return value
