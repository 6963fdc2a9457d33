"""Can these scores tell the bias at all? If not: why not, and whom to ask about what.

Notation
--------
p(o, c)     partiality of evaluator c to option o
f, g        where the bias cannot be told, p = f(o) + g(c) in every row of a connected part

If c is asked about two options, the difference p(o, c) − p(o', c) is compared with what is there:
f(o) − f(o'), if scores link the two options already, or that of another evaluator who is asked
about both. Where two such differences are unequal the bias can be told, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import Effects, sides, two_way, whose_position
from evenhand.auditing.features import Columns
from evenhand.checks.finding import Finding
from evenhand.numerics.tolerance import ROUNDING, TIE
from evenhand.scores import Scores
from evenhand.scores.factor import Codes
from evenhand.tables import listed

NEW_EVALUATOR = "a new evaluator"
"""What an evaluator is called whom advice adds."""

NEW_OPTION = "a new option"
"""What an option is called that advice adds."""

ELSEWHERE = "another group"
"""The group of those who are of none that is there."""

_MOST = 24  # options, and evaluators, among whom advice is looked for
_EVENTS = 12  # events that are tried
_SHOWN = 3  # names in a sentence


class Ask(NamedTuple):
    """A score to add: who should be asked about what.

    Parameters
    ----------
    option, evaluator
        Their names; `NEW_OPTION` or `NEW_EVALUATOR` (with a number, if there are several) for
        somebody who is not in the table.
    rival
        In comparisons, the option that stands second.
    item, event
        On what, and where; None where the table has none.
    option_group, evaluator_group
        Of which groups they are; None where the table has no groups.
    partial
        How partial the evaluator is to the option.
    """

    option: str
    evaluator: str
    rival: str | None
    item: str | None
    event: str | None
    option_group: str | None
    evaluator_group: str | None
    partial: float


@dataclass(frozen=True)
class Identified:
    """Whether scores tell the bias, and what would help if they do not.

    Parameters
    ----------
    told
        Whether they do.
    why
        Why not, in plain words; empty if they do.
    advice
        What to do about it.
    asks
        Scores to add, after which the bias can be told; empty where other things must be done.
    notes
        What scores do not tell beside the bias: about whom, and between whom.
    """

    told: bool
    why: str = ""
    advice: str = ""
    asks: tuple[Ask, ...] = ()
    notes: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"{self.why} {self.advice}".strip()


def identified(effects: Effects) -> Identified:
    """Return whether scores tell the bias, and whom to ask if they do not.

    Examples
    --------
    >>> from evenhand.scores import Factor
    >>> scores = Scores(
    ...     np.array([7.0, 5.0]), Factor.of(["Ann", "Bo"]), Factor.of(["P", "P"]),
    ...     groups=("FRA", "ITA"), option_group=np.array([0, 1]), evaluator_group=np.array([0]),
    ... )
    >>> print(identified(two_way(scores)))
    There is one evaluator, 'P': what is added to some options looks the same as what they are
    worth. Ask a new evaluator (ITA) about 'Ann', 'Bo'.
    """
    scores = effects.scores
    if effects.told:
        return Identified(True, notes=tuple(_notes(effects)))
    if scores.partial is None:
        return Identified(
            False,
            "Nobody said who is partial to what.",
            "Name the columns with the groups of options and of evaluators, or one that says how "
            "partial the evaluator is to the option.",
        )
    if isinstance(effects.met, Columns):
        return Identified(
            False,
            "Who is partial to what follows from the features: a bias looks the same as what they "
            "are worth.",
            "Leave out features that follow from the groups, or have several evaluators score the "
            "same things.",
        )
    without = two_way(replace(scores, attributes={})) if scores.attributes else effects
    if without.told:
        names = listed(tuple(scores.attributes), _SHOWN)
        return Identified(
            False,
            f"Partiality goes hand in hand with {names}: which of them scores rise with cannot "
            "be told.",
            "Leave these attributes out, or add scores in which they differ.",
        )
    asks = _asks(scores)
    return Identified(False, _reason(scores), _in_words(asks), asks)


def _reason(scores: Scores) -> str:
    partial = scores.partial
    assert partial is not None
    lowest, highest = partial.min(), partial.max()
    if lowest == highest == 0.0:
        return "Nobody has scored anything that they are partial to."
    if lowest == highest:
        return "Everybody is equally partial to everything that they have scored."
    evaluator = scores.evaluator
    if evaluator is not None and len(evaluator) == 1 and scores.reference is None:
        return (
            f"There is one evaluator, {evaluator.names[0]!r}: what is added to some options looks "
            "the same as what they are worth."
        )
    chairs, n_chairs = scores.chairs
    if scores.rival is None:
        if scores.reference is None and _alike(chairs, *scores.scored):
            return (
                "Every option was scored by one evaluator only: what they add looks the same as "
                "what options are worth."
            )
        if _alike(partial, chairs, n_chairs):
            return (
                "Everybody has scored either only what they are partial to, or only what they are "
                "not: being partial looks the same as being lenient."
            )
        if _alike(partial, *scores.scored):
            return (
                "Every option was scored either only by those who are partial to it, or only by "
                "those who are not: partiality looks the same as what options are worth."
            )
    return (
        "Who is partial to what follows from the option and the evaluator in all of these scores: "
        "a bias looks the same as differences of worth and leniency."
    )


def _alike(values: Codes | Floats, codes: Codes, n: int) -> bool:
    """Tell whether values are the same in all rows of a code."""
    one = np.zeros(n)
    one[codes] = values
    return bool((one[codes] == values).all())


def _notes(effects: Effects) -> Iterator[Finding]:
    """Yield what is not told beside a bias that is."""
    scores = effects.scores
    if scores.evaluator is not None:
        shares = np.bincount(
            scores.evaluator.codes, effects.own**2, minlength=len(scores.evaluator)
        )
        silent = np.flatnonzero(shares <= ROUNDING * effects.information)
        names = [scores.evaluator.names[e] for e in silent[: _SHOWN + 1].tolist()]
        if names:
            yield Finding(
                "overlap",
                f"{len(silent):,} of {len(scores.evaluator):,} evaluators tell nothing about the "
                f"bias: {_some(names, len(silent))} scored only what they are partial to, only "
                "what they are not, or what nobody else scored.",
                alarm=False,
            )
    if scores.reference is not None:
        return
    codes, n = effects.valued
    where = np.zeros(n, dtype=np.int64)
    if scores.event is not None:
        where[codes] = scores.event.codes
    parts = np.unique(np.column_stack([where, effects.part]), axis=0)[:, 0]
    split = np.flatnonzero(np.bincount(parts) > 1)
    if len(split):
        at = ""
        if scores.event is not None:
            names = [scores.event.names[e] for e in split[: _SHOWN + 1].tolist()]
            at = f" at {len(split):,} events ({_some(names, len(split))})"
        yield Finding(
            "overlap",
            f"Options fall into parts{at} that no evaluator links, {len(parts):,} in all: values "
            "and leniencies of two parts have no common measure. The bias is told within parts.",
            alarm=False,
        )


def _some(names: list[str], n: int) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if n <= _SHOWN else f"{shown}, … ({n:,} in all)"


class _Thing(NamedTuple):
    """What may be scored: an option on an item at an event, there or new."""

    number: int  # of what is valued; −1 if it is new
    option: str
    item: str | None
    event: str | None
    group: str | None
    part: int
    level: float  # f


class _Person(NamedTuple):
    """An evaluator, there or new."""

    number: int  # −1 if new
    name: str
    group: str | None
    partial: tuple[float, float] | None  # to two options, where no groups say


class _Witness(NamedTuple):
    """A difference of partiality to two options, and the scores that show it."""

    price: float
    difference: float
    asks: tuple[Ask, ...]


def _asks(scores: Scores) -> tuple[Ask, ...]:
    """Return the fewest scores that were found to make the bias identified."""
    found: tuple[float, tuple[Ask, ...]] = (np.inf, ())
    search = _Search(scores)
    for event in search.events():
        for new in (False, True):
            for one, two in search.pairs(event, new):
                price, asks = search.settled(one, two)
                if price < found[0]:
                    found = price, asks
            if found[1]:
                break
        if found[0] <= 2.0:
            break
    return found[1]


class _Search:
    """Who may be asked about which two options, what that shows, and what it takes."""

    def __init__(self, scores: Scores) -> None:
        partial = scores.partial
        assert partial is not None
        self._scores, self._partial = scores, partial
        self._grouped = scores.stated is None
        bare = replace(
            scores, score=partial, stated=None, option_group=None, evaluator_group=None,
            reference=None, attributes={},
        )  # fmt: skip
        self._fitted = two_way(bare)
        # who stands second in a comparison may be asked about too
        rival = scores.rival
        self._codes, self._options = self._fitted.valued[0], scores.option.codes
        self._rows = np.arange(len(scores))
        if rival is not None:
            self._codes = np.concatenate(sides(scores)[:2])
            self._options = np.concatenate([self._options, rival])
            self._rows = np.tile(self._rows, 2)
        self._linked = rival is None or self._positions_told()

    def _positions_told(self) -> bool:
        """Tell whether no position looks like a value: then comparisons link what they compare."""
        options = self._fitted.valued[1] - len(np.unique(self._fitted.part))
        rank = len(self._scores) - self._fitted.freedom
        return rank == options + whose_position(self._scores)[1]

    def events(self) -> list[int]:
        event = self._scores.event
        return [0] if event is None else np.unique(event.codes)[:_EVENTS].tolist()

    def pairs(self, event: int, new: bool) -> Iterator[tuple[_Thing, _Thing]]:
        """Yield two options of the event; one that is there and a new one, if that is asked for."""
        scores = self._scores
        places = np.arange(len(self._codes))
        if scores.event is not None:
            places = np.flatnonzero(scores.event.codes[self._rows] == event)
        _, first = np.unique(self._codes[places], return_index=True)
        things = self._varied([self._thing(int(place)) for place in places[first[: 8 * _MOST]]])
        self._seen = self._seen_by(places, things)
        self._people = self._known(self._rows[places])
        if not new:
            yield from combinations(things, 2)
            return
        for thing in things:
            groups = {ELSEWHERE, *scores.groups} - {thing.group} if self._grouped else {None}
            for group in sorted(groups, key=str):
                yield thing, thing._replace(number=-1, option=NEW_OPTION, group=group, part=-1)

    def _thing(self, place: int) -> _Thing:
        scores, number, row = self._scores, int(self._codes[place]), int(self._rows[place])
        option = int(self._options[place])
        group = None
        if self._grouped and scores.option_group is not None:
            group = _group(scores, int(scores.option_group[option]))
        return _Thing(
            number,
            scores.option.names[option],
            None if scores.item is None else scores.item.names[scores.item.codes[row]],
            None if scores.event is None else scores.event.names[scores.event.codes[row]],
            group,
            int(self._fitted.part[number]),
            float(self._fitted.values()[number]),
        )

    def _varied(self, things: list[_Thing]) -> list[_Thing]:
        """Return a few of many: of every part and group two at most."""
        count: dict[tuple[int, str | None], int] = {}
        chosen: list[_Thing] = []
        for thing in things:
            key = thing.part, thing.group
            count[key] = count.get(key, 0) + 1
            if count[key] <= 2 and len(chosen) < _MOST:
                chosen.append(thing)
        return chosen

    def _seen_by(self, rows: Indices, things: list[_Thing]) -> dict[tuple[int, int], float]:
        """Return the partiality of who scored which of the things; nothing for comparisons."""
        evaluator = self._scores.evaluator
        if evaluator is None or self._scores.rival is not None:
            return {}
        among = rows[np.isin(self._codes[rows], [thing.number for thing in things])]
        pairs = zip(
            self._codes[among].tolist(),
            evaluator.codes[among].tolist(),
            self._partial[among].tolist(),
            strict=True,
        )
        return {(thing, who): partial for thing, who, partial in pairs}

    def _known(self, rows: Indices) -> list[_Person]:
        """Return evaluators of the event: of every group, and of those who scored the things."""
        scores = self._scores
        if scores.evaluator is None:
            return []
        there = [who for _, who in self._seen]
        others = np.unique(scores.evaluator.codes[rows])[: 8 * _MOST].tolist()
        people: list[_Person] = []
        groups: set[str | None] = set()
        for who in dict.fromkeys([*there, *others]):
            group = None
            if self._grouped and scores.evaluator_group is not None:
                group = _group(scores, int(scores.evaluator_group[who]))
            if len(people) < _MOST or group not in groups:
                people.append(_Person(who, scores.evaluator.names[who], group, None))
            groups.add(group)
        return people

    def settled(self, one: _Thing, two: _Thing) -> tuple[float, tuple[Ask, ...]]:
        """Return the cheapest scores on two options that show two differences, and their price."""
        cheapest: dict[int, _Witness] = {}
        for witness in self._witnesses(one, two):
            key = round(witness.difference / TIE)
            if key not in cheapest or witness.price < cheapest[key].price:
                cheapest[key] = witness
        if len(cheapest) < 2:
            return np.inf, ()
        best = min(  # of those that cost the same, the pair that differs most tells most
            combinations(cheapest.values(), 2),
            key=lambda two: (
                two[0].price + two[1].price,
                -abs(two[0].difference - two[1].difference),
            ),
        )
        # two new evaluators are two people
        asks = [*best[0].asks]
        taken = {ask.evaluator for ask in asks if ask.evaluator.startswith(NEW_EVALUATOR)}
        for ask in best[1].asks:
            asks.append(
                ask._replace(evaluator=f"{NEW_EVALUATOR} 2") if ask.evaluator in taken else ask
            )
        return best[0].price + best[1].price, tuple(asks)

    def _witnesses(self, one: _Thing, two: _Thing) -> Iterator[_Witness]:
        if self._scores.reference is not None and self._scores.rival is None:
            yield _Witness(0.0, 0.0, ())
        elif self._linked and one.part == two.part >= 0:
            yield _Witness(0.0, one.level - two.level, ())
        price = 1.0 if two.number >= 0 else 1.5
        for person in self._people:
            p = self._partiality(person, one), self._partiality(person, two)
            if p[0] is None or p[1] is None:
                continue
            asks = self._scores_of(person, one, two, (p[0], p[1]))
            yield _Witness(price * len(asks), p[0] - p[1], asks)
        for person in self._strangers(one, two):
            p = self._partiality(person, one, 0), self._partiality(person, two, 1)
            assert p[0] is not None
            assert p[1] is not None
            asks = self._scores_of(person, one, two, (p[0], p[1]))
            yield _Witness(price * 1.25 * len(asks), p[0] - p[1], asks)

    def _strangers(self, one: _Thing, two: _Thing) -> Iterator[_Person]:
        if not self._grouped:
            for partial in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
                yield _Person(-1, NEW_EVALUATOR, None, partial)
            return
        for group in (ELSEWHERE, one.group, two.group):
            if group is not None:
                yield _Person(-1, NEW_EVALUATOR, group, None)

    def _partiality(self, person: _Person, thing: _Thing, place: int = 0) -> float | None:
        if self._grouped:
            return float(person.group is not None and person.group == thing.group)
        if person.partial is not None:
            return person.partial[place]
        return self._seen.get((thing.number, person.number))

    def _scores_of(
        self, person: _Person, one: _Thing, two: _Thing, p: tuple[float, float]
    ) -> tuple[Ask, ...]:
        """Return what the evaluator has to score; of comparisons both orders, for the position."""

        def ask(thing: _Thing, rival: _Thing | None, partial: float) -> Ask:
            return Ask(
                thing.option, person.name, None if rival is None else rival.option,
                thing.item, thing.event, thing.group, person.group, partial,
            )  # fmt: skip

        if self._scores.rival is not None:
            return ask(one, two, p[0] - p[1]), ask(two, one, p[1] - p[0])
        return tuple(
            ask(thing, None, partial)
            for thing, partial in zip((one, two), p, strict=True)
            if (thing.number, person.number) not in self._seen
        )


def _group(scores: Scores, code: int) -> str | None:
    return scores.groups[code] if code >= 0 else None


def _in_words(asks: tuple[Ask, ...]) -> str:
    """Return whom to ask about what."""
    if not asks:
        return (
            "Add scores of the same options by several evaluators, some of whom are partial to "
            "some of the options and some of whom are not."
        )
    about: dict[tuple[str, str | None, float | None], list[str]] = {}
    for ask in asks:
        stated = ask.partial if ask.evaluator_group is None else None
        new = ask.evaluator.startswith(NEW_EVALUATOR)
        key = ask.evaluator, ask.evaluator_group if new else None, stated if new else None
        text = _about(ask)
        if text not in about.setdefault(key, []):
            about[key].append(text)
    said = []
    for (evaluator, group, stated), things in about.items():
        who = evaluator if evaluator.startswith(NEW_EVALUATOR) else repr(evaluator)
        who += f" ({group})" if group is not None else ""
        how = "" if stated is None else f", to which they are {'' if stated else 'not '}partial"
        said.append(f"{who} about {', '.join(things)}{how}")
    return f"Ask {'; and '.join(said)}{_place(asks[0])}."


def _about(ask: Ask) -> str:
    group = "" if ask.option_group is None else f" ({ask.option_group})"
    name = f"{ask.option}{group}" if ask.option == NEW_OPTION else repr(ask.option)
    if ask.rival is None:
        return name
    return f"{name} against {ask.rival if ask.rival == NEW_OPTION else repr(ask.rival)}"


def _place(ask: Ask) -> str:
    on = "" if ask.item is None else f", on {ask.item!r}"
    return on + ("" if ask.event is None else f", at {ask.event!r}")
