"""Which column has which role: as the user says, else by its name, else by what repeats with what.

A role that only one column can have is taken for it, and said; where two could, the table is
refused, with what to say. An evaluator is never found by repeats alone: what tells scores apart may
as well be an attempt, a day or an item.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from evenhand.errors import InputError, Remedy
from evenhand.scores.grades import verdicts_in
from evenhand.scores.roles import BY_NAME, EITHER, NEEDED, ROLES, THINGS, counts_repeats
from evenhand.scores.scores import Codes, crossed, first_repeated
from evenhand.tables.cells import as_text, coded
from evenhand.tables.columns import GROUP_WORDS, Table, found_columns, no_such_column
from evenhand.tables.office import is_beside, is_summed, loose_number
from evenhand.tables.texts import is_date, listed, written_elsewhere

_WORDED = tuple(role.name for role in ROLES.values() if role.words)
_GROUPS = ("option_group", "evaluator_group")
_WITH = {"id", "name", "no", "nr", "number", "code", "key", "idx", "index"}  # beside a word
_SHOWN, _FIRST = 200, 10_000  # cells by which a column is of numbers
_COUNTED = re.compile(r"(.+?)(?:[\s_.\-]*[0-9]{1,3}|[\s_.\-]+[A-Za-z]|(?<=[a-z])[A-Z])")
_SAME = 0.1  # share of rows where a comparison may be of one option with itself
_SHORT = {"resp"}  # words that others begin with: response
_MOST_ASKED = 3  # columns that are tried beside another
_LONG_WORD = 5  # letters of a word that is known within another: idreviewer


@dataclass(frozen=True)
class Parts:
    """The columns of a table by their roles."""

    columns: Mapping[str, tuple[str, ...]]  # by role; one that nothing has is not there
    # columns of numbers about the first option, with those about the second
    against: Mapping[str, str] = field(default_factory=dict)
    # columns that nobody named, with their roles
    read_as: Mapping[str, str] = field(default_factory=dict)

    def one(self, role: str) -> str | None:
        """Return the column with this role; None if there is none."""
        return next(iter(self.columns.get(role, ())), None)

    def all(self, role: str) -> tuple[str, ...]:
        """Return the columns with this role."""
        return self.columns.get(role, ())

    @property
    def numbers(self) -> list[str]:
        """All columns of numbers."""
        own = self._holding("numbers")
        return own + [self.against[column] for column in own if column in self.against]

    @property
    def names(self) -> list[str]:
        """All columns of names that no row may lack."""
        return self._holding("names")

    def _holding(self, what: str) -> list[str]:
        return [c for r in ROLES.values() if r.holds == what for c in self.all(r.name)]

    @property
    def called(self) -> dict[str, str]:
        """What the user calls the roles."""
        return {role: ", ".join(columns) for role, columns in self.columns.items() if columns}

    def unused(self, source: Table) -> list[str]:
        """Return the columns of a table that have no role."""
        used = {column for columns in self.columns.values() for column in columns}
        return [c for c in source.columns if c and c not in used and c not in self.against.values()]


def parts_of(
    source: Table, said: Mapping[str, Any], *, by_name: bool = True, scored: bool = True
) -> Parts:
    """Return the columns of a table by their roles, an `InputError` if one is not there; `said` are
    those that were named, None for no column, and nothing else is found but `by_name`; a score is
    there only if it is `scored`, or has a column of its name.
    """
    needed = NEEDED if scored else NEEDED[:1]
    for role in needed:
        if role in said and said[role] is None:
            raise InputError(f"{role} must be the name of a column; got None")
    found = Found(source, said)
    read_as = found.sure if by_name else {}
    given = {role: said.get(role, None if own.asked else role) for role, own in ROLES.items()}
    given |= {role: None for role, value in said.items() if isinstance(value, Mapping)}
    given |= {role: column for column, role in read_as.items()}
    if not scored and given["score"] == "score" and "score" not in source.columns:
        del given["score"]
    lacking = [role for role in needed if given[role] == role and role not in source.columns]
    if lacking:
        said_ = no_such_column(source, lacking[0], typed=False)
        raise InputError(said_, *found.remedies(lacking))
    several = [role.name for role in ROLES.values() if role.several]
    kept = found_columns(source, given, by_name=BY_NAME, several=several)
    items = kept.get("item", ())
    if len(items) > 1 and (again := [column for column in items if counts_repeats(column)]):
        rest = [column for column in items if column not in again]
        raise InputError(
            f"{source.name}: {shown(again)} counts how often the same was asked, and is no item "
            "(if it tells apart what was judged, rename it)",
            Remedy(
                "columns",
                {"item": rest[0] if len(rest) == 1 else rest or None},
                "and that evaluators were asked again (repeats)",
            ),
        )
    own = [*kept.get("partial", ()), *kept.get("attributes", ())] if "rival" in kept else []
    against = {c: f"rival_{c}" for c in own if f"rival_{c}" in source.columns}
    return Parts(kept, against, read_as)


class Found:
    """The roles of a table's columns: those that are sure, and guesses for somebody to confirm."""

    def __init__(self, source: Table, said: Mapping[str, Any], strict: bool = True) -> None:
        self.source, self.said, self.strict = source, said, strict
        named = {c for value in said.values() for c in columns_in(value)}
        self._free = [c for c in source.columns if c and c not in named]
        self._words = {c: words_in(c) for c in self._free}

    def by_words(self, roles: Collection[str] = _WORDED) -> dict[str, str]:
        """Return columns with the roles that they have by their names alone."""
        found = dict[str, str]()
        exact = {role for role in ROLES if self._unsaid(role) and role in self.source.columns}
        for role in (role for role in roles if self._unsaid(role) and role not in exact):
            free = [c for c in self._free if c not in found and c not in exact]
            known = [c for c in free if " ".join(self._words[c]) in (role, *ROLES[role].words)]
            known = known or [c for c in free if self._is_called(c, role)]
            if self.strict and len(known) > 1 and self._differ(known):
                raise InputError(
                    f"{self.source.name}: {shown(known)} may be the {role}",
                    *(Remedy("columns", {role: column}) for column in known),
                )
            found |= {known[0]: role} if known else {}
        judged = "evaluator" in exact or "evaluator" in found.values() or self.said.get("evaluator")
        free = [c for c in self._free if "participant" in self._words[c] and c not in found]
        if judged and len(free) == 1 and "option" in roles and self._unsaid("option"):
            scored = "option" in exact or "option" in found.values()
            found |= {} if scored else {free[0]: "option"}
        return found

    @cached_property
    def sure(self) -> dict[str, str]:
        """Columns with roles that nobody else can have."""
        found = self.by_words()
        has = self._columns(found)
        if self._unsaid("score") and not {"score", "rival"} & has.keys():
            free = [c for c in self._numeric() if c not in found]
            scores = self._numeric(("score", *ROLES["score"].words)) or free
            found |= {scores[0]: "score"} if len(scores) == 1 else {}
        has = self._columns(found)
        option, who, item = (has.get(role) for role in ("option", "evaluator", "item"))
        if self._unsaid("item") and not item and option:
            number = next(
                (c for c in self._free if " ".join(self._words[c]) in ("id", "idx")), None
            )
            keys = [c for c in (who, option) if c]
            if number and number not in found and not self._tell_apart(keys):
                found |= {number: "item"} if self._tell_apart([*keys, number]) else {}
        marked = "score" in has or len(self._numeric()) > 1
        if self._unsaid("option") and not option and who and marked:
            by = [who, *columns_in(item), *columns_in(has.get("event"))]
            fits = [c for c in self._names(found) if self._is_scored(c, by)]
            found |= {fits[0]: "option"} if fits and not self._differ(fits) else {}
        return found | self._group_columns(self._columns(found))

    @property
    def guessed(self) -> dict[str, Any]:
        """Columns by roles, for somebody to confirm; empty where the three needed are not there."""
        has = self._columns(self.sure)
        groups = [c for c in self._free if self._has_word(c, GROUP_WORDS)]
        judges = [
            c
            for c in self._free
            if self._has_word(c, ROLES["evaluator"].words)
            and not is_thing(c)
            and not self._has_decimals(c)
            and c not in evaluators_across(self.source)
        ]

        def take(role: str, fitting: Iterable[str]) -> None:
            taken = {c for value in has.values() for c in columns_in(value)}
            free = [c for c in fitting if c not in taken]
            if self._unsaid(role) and role not in has and free:
                has[role] = free[0]

        if {"option", "rival", "score"}.isdisjoint(has) and (compared := self._compared()):
            return has | compared
        take("evaluator_group", (c for c in judges if c in groups))
        take("evaluator", (c for c in judges if c not in groups))
        take("option_group", groups)
        theirs = "".join(words_in(has.get("option_group", "")))
        take("evaluator_group", (c for c in groups if "".join(words_in(c)).endswith(theirs)))
        numeric = self._numeric()
        take("score", (c for c in numeric if self._has_word(c, ("score", *ROLES["score"].words))))
        names = self._names({c: "" for value in has.values() for c in columns_in(value)})
        options = [c for c in names if not self._is_called_other(c, "option")]
        if "option" not in has and "evaluator" in has:
            by = [has["evaluator"], *columns_in(has.get("item"))]
            pairs = ((o, i) for o in options for i in names if o != i) if "item" not in has else ()
            for some in [*((c,) for c in options), *pairs]:
                if self._tell_apart([*by, *some]):
                    has |= dict(zip(("option", "item"), some, strict=False))
                    break
        if "option" in has:
            own = (c for c in names if c not in numeric and self._is_scored(has["option"], [c])
                   and not self._is_called_other(c, "evaluator"))  # fmt: skip
            take("evaluator", own)
        return {r: c for r, c in has.items() if c} if has.keys() >= {*NEEDED, "evaluator"} else {}

    def directed(self) -> dict[str, Any]:
        """Return who gives a score to whom, by columns such as 'from_country' and 'to_country'."""
        ends = {word: [c for c in self._free if self._words[c][:1] == (word,)]
                for word in ("from", "to")}  # fmt: skip
        pairs = [(c, d) for c in ends["from"] for d in ends["to"]
                 if self._words[c][1:] == self._words[d][1:]]  # fmt: skip
        scores = self._numeric(("score", *ROLES["score"].words))
        if not pairs or not scores or {"option", "evaluator"} & self.said.keys():
            return {}
        (who, what), *_ = sorted(pairs, key=lambda pair: len(self._words[pair[0]]))
        score = scores[0] if len(scores) == 1 else ...
        return {"evaluator": who, "option": what, "score": score}

    def _is_called_other(self, column: str, role: str) -> bool:
        """Whether a column has a word of another role than this, or of a thing."""
        others = (own for own in ("option", "evaluator", "score") if own != role)
        return is_thing(column) or any(
            self._has_word(column, (own, *ROLES[own].words)) for own in others
        )

    def _compared(self) -> dict[str, str] | None:
        """Return two columns with the same names, and one that says which of both is better."""
        names = {c: {t for t in texts_in(self.source, c, _FIRST) if t} for c in self._free}
        named = [c for c, own in names.items() if not any(map(written_elsewhere, own))]
        for both in combinations(named, 2):
            ours, theirs = (names[c] for c in both)
            cells = (texts_in(self.source, c, _FIRST) for c in both)
            same = sum(one == other for one, other in zip(*cells, strict=True))
            few = same <= _SAME * self.source.n_rows
            if few and len(ours & theirs) > 0.5 * len(ours | theirs):
                told = next((c for c in self._free if self._has_verdicts(c, *both)), None)
                if told:
                    return dict(zip(("option", "rival", "score"), (*both, told), strict=True))
        return None

    def _has_verdicts(self, column: str, *both: str) -> bool:
        """Whether a column says which of two options is better."""
        cells = [texts_in(self.source, c, _SHOWN) for c in (column, *both)]
        try:
            rows = [(v or "", a or "", b or "") for v, a, b in zip(*cells, strict=True)]
            return column not in both and verdicts_in(rows) is not None
        except InputError:
            return False

    def remedies(self, lacking: Sequence[str]) -> list[Remedy]:
        """Return what may be said where needed roles have no column."""
        across = [] if self.source.is_large else evaluators_across(self.source)
        if across and self._unsaid("evaluator") and "score" not in self.said:
            return [Remedy("wide", across, "if each holds the scores of an evaluator")]
        guess = {} if self.source.is_large else self.directed() or self.guessed
        new = {r: c for r, c in guess.items() if r not in self.said and c != r}
        new = {r: c for r, c in new.items() if self.sure.get(c) != r}
        own = self._numeric() if "score" in lacking else []
        numbers = [c for c in own if not is_thing(c) and c not in self.sure]
        if {*lacking} <= {*new} and (len(numbers) < 2 or "score" not in lacking or len(new) > 1):
            return [Remedy("columns", new, "if that is what they are")]
        named = Remedy("columns", dict.fromkeys(lacking, ...), "with the name of the column")
        if len(numbers) < 2 or self.source.columns[0] in numbers:
            return [named]
        listed_ = f"{listed(numbers, 6)} hold the scores of an evaluator each"
        return [
            Remedy("wide", True, f"if {listed_}"),
            Remedy("wide", ..., "with those that do"),
            named,
        ]

    def has(self, role: str) -> bool:
        """Whether a column has a role: the one that was named, or one that is called so."""
        said = self.said.get(role)
        named = (isinstance(said, str) and said != role) or role in self.by_words().values()
        return named or (self._unsaid(role) and role in self.source.columns)

    def _unsaid(self, role: str) -> bool:
        return role not in self.said or self.said[role] == role

    def _columns(self, found: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns by role, found and said, or called so."""
        there = {role: role for role in ROLES if role in self.source.columns}
        said = {r: c for r, c in self.said.items() if not isinstance(c, Mapping)}
        asked = {r for r, own in ROLES.items() if own.asked}
        has = {r: c for r, c in there.items() if r not in asked} | said
        has = {r: c for r, c in has.items() if c and {*columns_in(c)} <= {*self.source.columns}}
        return has | {role: c for c, role in found.items()}

    def _is_called(self, column: str, role: str) -> bool:
        """Whether a column has a role's word, or its name, and beside it 'id' or 'name'."""
        words = () if role == "score" else self._words[column]
        for known in (role, *ROLES[role].words):
            own = known.split()
            rest = [word for word in words if word not in own]
            if len(words) > len(own) == len(words) - len(rest) and {*rest} <= _WITH:
                return True
        return False

    def _has_word(self, column: str, known: Iterable[str]) -> bool:
        starts = tuple(word for word in known if " " not in word and word not in _SHORT)
        ends = tuple(word for word in starts if len(word) >= _LONG_WORD)
        return any(w.startswith(starts) or w.endswith(ends) for w in self._words[column])

    def _numeric(self, ending: Sequence[str] = ()) -> list[str]:
        """Return free columns of numbers that may be scores, or whose names end with a word."""
        found = []
        for c in self._free:
            words, beside = self._words[c], is_beside(c) and not is_summed(c)
            if beside or counts_repeats(c) or {*words} & _WITH:
                continue
            if not ending or (len(words) > 1 and words[-1] in ending):
                texts = [text for text in texts_in(self.source, c, _SHOWN) if text]
                if texts and all(map(written_elsewhere, texts)) and not all(map(is_date, texts)):
                    found.append(c)
        return [c for c in found if not counts_rows(self.source, c)]

    def _names(self, found: Mapping[str, str]) -> list[str]:
        """Return free columns that may name things, those without numbers first."""
        free = [c for c in self._free if c not in found and not counts_repeats(c)]
        free = [c for c in free if not self._has_decimals(c)]
        numeric = {*self._numeric()}
        return sorted(free, key=numeric.__contains__)

    def _has_decimals(self, column: str) -> bool:
        texts = texts_in(self.source, column, _SHOWN)
        return any((loose_number(text) or 0.0) % 1.0 for text in texts if text)

    def _is_scored(self, column: str, by: Sequence[str]) -> bool:
        """Whether nothing in a column comes again by the same evaluator, but most by others."""
        codes = _codes(self.source, [column, *by])
        n = len(codes[0])
        several = 0 < 2 * len(np.unique(codes[0])) <= n
        return several and first_repeated(*codes) is None and first_repeated(*codes[1:]) is not None

    def _tell_apart(self, columns: Sequence[str]) -> bool:
        return tells_apart(self.source, columns)

    def _differ(self, columns: Sequence[str]) -> bool:
        """Whether columns do not name the same things, each in its own way."""
        codes = np.stack(_codes(self.source, columns))
        return len({np.unique(own, axis=1).shape[1] for own in (*codes[:, None], codes)}) > 1

    def _group_columns(self, has: Mapping[str, Any]) -> dict[str, str]:
        """Return columns of groups, as 'Country' beside 'JCountry'; none if several pairs fit."""
        if any(role in has or not self._unsaid(role) for role in _GROUPS):
            return {}
        option, evaluator = has.get("option"), has.get("evaluator")
        if not (isinstance(option, str) and isinstance(evaluator, str)):
            return {}
        taken = {c for value in has.values() for c in columns_in(value)}
        small = {" ".join(self._words[c]): c for c in self._free if c not in taken}
        ours, theirs = " ".join(words_in(option)), " ".join(words_in(evaluator))
        pairs = {
            (small[group], small[name])
            for name in small
            for who in {theirs, "evaluator", *({theirs.split()[0]} if theirs else ())}
            for what in (name.removeprefix(f"{who} "), name.removesuffix(f" {who}"))
            for group in (what, f"{ours} {what}", f"{what} {ours}")
            if what != name and group in small
        }
        if not pairs:  # what is one for each option, and what is one for each evaluator
            groups = [c for c in small.values() if self._has_word(c, GROUP_WORDS)]
            of = [[c for c in groups if _is_of(self.source, c, who)] for who in (option, evaluator)]
            if [*map(len, of)] == [1, 1] and of[0] != of[1]:
                own, other = (coded(c)[0] for c in self.source.read([*of[0], *of[1]]).values())
                pairs = {(of[0][0], of[1][0])} if {*own} & {*other} else set()
        return dict(zip(pairs.pop(), _GROUPS, strict=True)) if len(pairs) == 1 else {}


def columns_in(value: Any) -> list[Any]:
    """Return the columns that a value of the user's names."""
    if value is None or isinstance(value, Mapping):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def words_in(column: str) -> tuple[str, ...]:
    """Return the words of a column's name in small letters, however they are joined."""
    apart = re.sub(
        r"[_.\-/]|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=[0-9]$)", " ", column
    )  # modelA, JScore, model1
    return tuple(apart.casefold().split())


def _is_of(source: Table, group: str, column: str) -> bool:
    """Whether all rows with the same name have the same group, and groups have several names."""
    names, groups = _codes(source, [column, group])
    n = len(np.unique(names))
    return crossed(names, groups)[1] == n > len(np.unique(groups))


def counts_rows(source: Table, column: str) -> bool:
    """Whether a column numbers the rows."""
    (codes,) = _codes(source, [column])
    return len(codes) > 2 and len(np.unique(codes)) == len(codes) and _is_range(source, column)


def _is_range(source: Table, column: str) -> bool:
    texts = texts_in(source, column)
    return all(text and text.isdigit() for text in texts) and bool(
        (np.diff(np.sort(np.array(texts, dtype=np.float64))) == 1.0).all()
    )


def _codes(source: Table, columns: Sequence[str]) -> list[Codes]:
    return [coded(cells)[1] for cells in source.read(columns).values()]


def tells_apart(source: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows are the same in some columns, and some are in each of them."""
    codes = _codes(source, columns)
    again = all(first_repeated(own) is not None for own in codes)
    return again and first_repeated(*codes) is None


def texts_in(source: Table, column: str, most: int | None = None) -> list[str | None]:
    """Return the first cells of a column as texts; none where they are no names and no numbers."""
    try:
        found: list[str | None] = as_text(source.cells(column)[:most]).to_pylist()
    except InputError:  # of lists, say
        return []
    return found


def shown(columns: Sequence[str]) -> str:
    """Return columns for a message."""
    return ("columns " if len(columns) > 1 else "column ") + listed(columns, 6)


def may_name_evaluators(source: Table, parts: Parts, *, repeats: bool) -> str | None:
    """Return a column that is called as evaluators are, or tells repeated scores apart."""
    keys, option = parts.names, parts.one("option")
    repeated = not repeats and not tells_apart(source, keys)
    unused = [] if source.is_large else parts.unused(source)
    known = EITHER.union(ROLES["evaluator"].words)
    some: list[tuple[int, str]] = []  # that are crossed with options, by how many names they have
    for column in unused:
        texts = [text for text in texts_in(source, column) if text]
        words, n = {*words_in(column)}, len({*texts})
        called = not words.isdisjoint(known) and words.isdisjoint(GROUP_WORDS)
        telling = repeated and (
            all(map(str.isdigit, texts)) or not any(map(written_elsewhere, texts))
        )
        if (called and 1 < n <= len(texts) // 2) or (
            telling and tells_apart(source, [*keys, column])
        ):
            return column
        if telling and may_score(source, column, option):
            some.append((n, column))
    for _, column in sorted(some, reverse=True)[:_MOST_ASKED]:  # beside an item, say
        if any(tells_apart(source, [*keys, column, c]) for c in unused if c != column):
            return column
    return None


def may_score(source: Table, column: str, option: str | None) -> bool:
    """Whether a column may name who scored: two names or more that had two options or more each,
    and every option had two of them; and not by the name of a thing.
    """
    if is_thing(column) or option is None:
        return False
    own, options = _codes(source, [column, option])
    pairs = np.unique(np.stack([own, options]), axis=1)
    of_names, of_options = (np.bincount(side[side >= 0]) for side in pairs)
    several = len(of_names) > 1 and len(of_options) > 0
    return several and bool(min(of_names.min(), of_options.min()) > 1)


def is_thing(column: str) -> bool:
    """Whether a column is called as what is scored in parts, or when: nobody who scored."""
    return not THINGS.isdisjoint(words_in(column))


def evaluators_across(source: Table) -> list[str]:
    """Return columns of numbers that are called as evaluators are, and counted: Judge 1, …"""
    found: dict[str, list[str]] = {}
    for column in source.columns:
        counted = _COUNTED.fullmatch(column)
        stem = " ".join(words_in(counted[1])) if counted else ""
        if stem in ("evaluator", *ROLES["evaluator"].words) and range_of(source, column):
            found.setdefault(stem, []).append(column)
    return max(found.values(), key=len) if found and max(map(len, found.values())) > 1 else []


def range_of(source: Table, column: str) -> tuple[float, float] | None:
    """Return the extremes of the first cells of a column; None if not all are numbers."""
    texts = [text for text in texts_in(source, column, _FIRST) if text]
    numbers = np.array([loose_number(text) for text in texts], dtype=np.float64)
    if not texts or not np.isfinite(numbers).all():
        return None
    return float(numbers.min()), float(numbers.max())


def looks_wide(source: Table, others: Sequence[str], like: str | None = None) -> list[str]:
    """Return the columns that hold numbers only, where two do or more: perhaps evaluators."""
    ranges = {column: range_of(source, column) for column in others}
    found = {column: ends for column, ends in ranges.items() if ends is not None}
    if like in found:
        low, high = found[like]
        room = high - low
        found = {c: e for c, e in found.items() if low - room <= e[0] <= e[1] <= high + room}
    return list(found) if len(found) > 1 else []
