"""Can these scores tell the bias at all? If not: why not, and whom to ask about what.

Notation
--------
p(o, c)     partiality of evaluator c to option o
f, g        where the bias cannot be told, p = f(o) + g(c) in every row of a connected part

So v_o + s_c + (f(o) + g(c))β is all that scores tell of o and c. Of scores that may be asked for
the cheapest are taken that say something new, until the bias is a combination of rows; it needs
those that have a part in it (`numerics.row_space`, as the advice on questions does).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.auditing.effects import Effects, sides, two_way, whose_position
from evenhand.numerics.row_space import identifying
from evenhand.numerics.tolerance import ROUNDING
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, Finding
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


class MissingScore(NamedTuple):
    """A score to add: who should be asked about what."""

    option: str  # a name, or `NEW_OPTION` for one who is not in the table
    evaluator: str  # a name, or `NEW_EVALUATOR`, with a number if there are several
    rival: str | None  # in comparisons, the option that stands second
    item: str | None  # None where the table has none, as for event and groups
    event: str | None
    option_group: str | None
    evaluator_group: str | None
    partial: float  # how partial the evaluator is to the option


@dataclass(frozen=True)
class Identified:
    """Whether the bias is identified by the scores, and what would help if it is not."""

    told: bool  # whether it is
    why: str = ""  # why not, in plain words; empty if it is
    advice: str = ""
    # scores to add, after which it is; empty where other things must be done
    asks: tuple[MissingScore, ...] = ()
    # what scores do not tell beside the bias: about whom, and between whom
    notes: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"{self.why} {self.advice}".strip()


def identified(effects: Effects) -> Identified:
    """Return whether the bias is identified by the scores, and whom to ask if it is not."""
    scores = effects.scores
    if effects.told:
        return Identified(True, notes=tuple(_notes(effects)))
    if scores.partial is None:
        return Identified(
            False,
            "Nobody said who is partial to what.",
            "Say of which groups options and evaluators are, or name a column that says how "
            "partial the evaluator is to the option.",
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
    part: int
    level: float  # g
    favourite: int = -1  # of what new ones may be partial to, where no groups say


class _Score(NamedTuple):
    """What scores that exist tell, or may tell: a row, its price, and what to ask for it."""

    row: Floats
    price: float = 0.0
    asks: tuple[MissingScore, ...] = ()


def _asks(scores: Scores) -> tuple[MissingScore, ...]:
    """Return the fewest scores that were found to make the bias identified."""
    cheapest: tuple[float, tuple[MissingScore, ...]] = (np.inf, ())
    search = _Search(scores)
    for event in search.events():
        for new in (False, True):
            found = search.cheapest(event, new)
            if found[1]:
                cheapest = min(cheapest, found, key=lambda one: one[0])
                break
        if cheapest[0] <= 2.0:
            break
    return cheapest[1]


class _Search:
    """Who may be asked about what at an event, what that tells, and at what price.

    A row has a 1 for what is scored (−1 for what it is compared with), a 1 for who scores, and the
    partiality. Scores that exist tell v_o − v_o′ + (f − f′)β within a part, and of whoever scored
    there v_o + s_c + (f + g)β: that is free.
    """

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

    def cheapest(self, event: int, new: bool) -> tuple[float, tuple[MissingScore, ...]]:
        """Return the price of scores at an event that tell the bias, and what to ask for them."""
        scores = self._scores
        places = np.arange(len(self._codes))
        if scores.event is not None:
            places = np.flatnonzero(scores.event.codes[self._rows] == event)
        _, first = np.unique(self._codes[places], return_index=True)
        things = _varied([self._thing(int(place)) for place in places[first[: 8 * _MOST]]])
        people = self._known(places, things)
        if new:
            groups: list[str | None] = [None]
            if self._grouped:
                groups = [ELSEWHERE, *dict.fromkeys(one.group for one in people if one.group)]
            things += [
                things[0]._replace(number=-1, option=NEW_OPTION, group=group, part=-1)
                for group in groups
            ]
        people += self._strangers(things)
        self._things, self._people = things, people
        offers = [*self._existing(places), *self._possible()]
        rows = np.vstack([offer.row for offer in offers])
        prices = np.array([offer.price for offer in offers])
        bias = np.eye(1, rows.shape[1], rows.shape[1] - 1)
        about = np.argmax(rows[:, : len(things)] != 0.0, axis=1)  # one option after the other
        names = np.array([offer.asks[0].evaluator if offer.asks else "" for offer in offers])
        found: tuple[float, int, list[MissingScore]] = (np.inf, 0, [])
        for person in people:  # few are asked, if one of them is asked first
            order = np.lexsort((about, names != person.name, prices))
            used = np.sort(identifying(rows, bias, order))
            asks = [ask for x in used.tolist() for ask in offers[x].asks]
            those = float(prices[used].sum()), len({ask.evaluator for ask in asks}), asks
            if asks and those[:2] < found[:2]:
                found = those
        return found[0], _numbered(found[2])

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

    def _known(self, places: Indices, things: list[_Thing]) -> list[_Person]:
        """Return evaluators of the event: who scored the things first, and of every group."""
        scores, evaluator = self._scores, self._scores.evaluator
        if evaluator is None:
            return []
        about = np.isin(self._codes[places], [thing.number for thing in things])
        order = places[np.argsort(~about, kind="stable")]
        _, first = np.unique(evaluator.codes[self._rows[order]], return_index=True)
        people: list[_Person] = []
        groups: set[str | None] = set()
        for place in order[np.sort(first)[: 8 * _MOST]].tolist():
            row, group = int(self._rows[place]), None
            who = int(evaluator.codes[row])
            if self._grouped and scores.evaluator_group is not None:
                group = _group(scores, int(scores.evaluator_group[who]))
            if len(people) < _MOST or group not in groups:
                part = int(self._fitted.part[self._codes[place]])
                level = 0.0
                if scores.rival is None:
                    level = float(self._fitted.leniencies()[scores.chairs[0][row]])
                people.append(_Person(who, evaluator.names[who], group, part, level))
            groups.add(group)
        return people

    def _strangers(self, things: list[_Thing]) -> list[_Person]:
        """Return new evaluators: of the groups of things, or partial to one of them, and others."""
        if self._grouped:
            groups = [*dict.fromkeys(thing.group for thing in things if thing.group), ELSEWHERE]
            return [_Person(-1, f"{NEW_EVALUATOR} {g}", g, -1, 0.0) for g in groups]
        return [
            _Person(-1, f"{NEW_EVALUATOR} {n}", None, -1, 0.0, n)
            for n in (-1, *range(min(len(things), 2)))
        ]

    def _existing(self, places: Indices) -> Iterator[_Score]:
        """Yield what the scores at an event tell."""
        things, people = self._things, self._people
        self._seen: dict[tuple[int, int], float] = {}
        evaluator = self._scores.evaluator
        if self._scores.rival is None and evaluator is not None:
            among = places[np.isin(self._codes[places], [thing.number for thing in things])]
            by = evaluator.codes[self._rows[among]]
            pairs = zip(self._codes[among].tolist(), by.tolist(), strict=True)
            self._seen = dict(zip(pairs, self._partial[self._rows[among]].tolist(), strict=True))
        if self._scores.reference is not None and self._scores.rival is None:
            number = {person.number: c for c, person in enumerate(people)}
            for (_, who), partial in self._seen.items():
                if who in number:
                    yield _Score(self._row(None, number[who], partial))
            return
        first: dict[int, int] = {}
        for o, thing in enumerate(things):
            if self._linked and thing.part >= 0 and first.setdefault(thing.part, o) != o:
                row = self._row(o, None, thing.level)
                other = first[thing.part]
                yield _Score(row - self._row(other, None, things[other].level))
        for c, person in enumerate(people):
            if self._scores.rival is None and person.part in first:
                o = first[person.part]
                level = things[o].level + person.level
                yield _Score(self._row(o, c, level))

    def _possible(self) -> Iterator[_Score]:
        """Yield scores that may be asked for; of comparisons both orders, for the position."""
        things = self._things
        compared = self._scores.rival is not None
        known = self._scores.reference is not None and not compared
        for c, person in enumerate(self._people):
            dear = 1.0 if person.number >= 0 else 1.25
            said = [(o, self._partiality(person, o, thing)) for o, thing in enumerate(things)]
            theirs = [(o, p) for o, p in said if p is not None]
            for o, p in [] if compared else theirs:
                if (things[o].number, person.number) not in self._seen:
                    row = self._row(None if known else o, c, p)
                    price = dear * (1.0 if things[o].number >= 0 else 1.5)
                    yield _Score(row, price, (_ask(things[o], person, p),))
            for (a, p), (b, q) in combinations(theirs, 2) if compared else []:
                row = self._row(a, None, p) - self._row(b, None, q)
                price = 2.0 * dear * (1.0 if things[b].number >= 0 else 1.5)
                one, other = things[a], things[b]
                asks = _ask(one, person, p - q, other), _ask(other, person, q - p, one)
                yield _Score(row, price, asks)

    def _row(self, o: int | None, c: int | None, partial: float) -> Floats:
        row = np.zeros(len(self._things) + len(self._people) + 1)
        row[[x for x in (o, None if c is None else len(self._things) + c) if x is not None]] = 1.0
        row[-1] = partial
        return row

    def _partiality(self, person: _Person, o: int, thing: _Thing) -> float | None:
        if self._grouped:
            return float(person.group is not None and person.group == thing.group)
        if person.number < 0:
            return float(person.favourite == o)
        return self._seen.get((thing.number, person.number))


def _varied(things: list[_Thing]) -> list[_Thing]:
    """Return a few of many: of every part and group two at most."""
    count: dict[tuple[int, str | None], int] = {}
    chosen: list[_Thing] = []
    for thing in things:
        key = thing.part, thing.group
        count[key] = count.get(key, 0) + 1
        if count[key] <= 2 and len(chosen) < _MOST:
            chosen.append(thing)
    return chosen


def _ask(
    thing: _Thing, person: _Person, partial: float, rival: _Thing | None = None
) -> MissingScore:
    return MissingScore(
        thing.option, person.name, None if rival is None else rival.option, thing.item, thing.event,
        thing.group, person.group, partial,
    )  # fmt: skip


def _numbered(asks: list[MissingScore]) -> tuple[MissingScore, ...]:
    """Return the scores to ask for, new evaluators numbered from the second on."""
    names = dict.fromkeys(a.evaluator for a in asks if a.evaluator.startswith(NEW_EVALUATOR))
    called = {
        name: NEW_EVALUATOR if n == 1 else f"{NEW_EVALUATOR} {n}" for n, name in enumerate(names, 1)
    }
    return tuple(ask._replace(evaluator=called.get(ask.evaluator, ask.evaluator)) for ask in asks)


def _group(scores: Scores, code: int) -> str | None:
    return scores.groups[code] if code >= 0 else None


def _in_words(asks: tuple[MissingScore, ...]) -> str:
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


def _about(ask: MissingScore) -> str:
    group = "" if ask.option_group is None else f" ({ask.option_group})"
    name = f"{ask.option}{group}" if ask.option == NEW_OPTION else repr(ask.option)
    if ask.rival is None:
        return name
    return f"{name} against {ask.rival if ask.rival == NEW_OPTION else repr(ask.rival)}"


def _place(ask: MissingScore) -> str:
    on = "" if ask.item is None else f", on {ask.item!r}"
    return on + ("" if ask.event is None else f", at {ask.event!r}")
