"""An answer with a target in sentences: who is in, who is out, who stands at the line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.answers.placing import Placing, Verdict
from evenhand.auditing.page import changes
from evenhand.best import sign
from evenhand.report.words import counted, listed, number, percent, short

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer

_MANY = 12  # names that are written out
_LEAST = 0.005  # chance below which it is less than 1%


def target_verdict(answer: Answer, placing: Placing) -> str:
    """Return how many are in, out and at the line, and how sure that is."""
    target, k, level = placing.target, len(answer.options), percent(answer.confidence)
    if target.against is not None:
        return _against(answer, placing)
    wanted, inside = placing.wanted, placing.categories
    if answer.contradicted:
        failed = " and ".join(dict.fromkeys(finding.assumption for finding in answer.alarms))
        return (
            f"Who of {k:,} options is {wanted} is not sure: the scores contradict what was assumed "
            f"about them ({failed}; see below)."
        )
    if answer.sure and target.top is not None:
        names = listed([short(name) for name in answer.chosen], _MANY)
        if placing.loss <= 0.0 or not target.tolerance:
            among = f"{k:,} options"
            if inside is not None:
                among = f"their {short(inside.column)}, of {len(inside.names):,}"
            return f"Choose {names}: they are {target.words} of {among}. That is {level} sure."
        return (
            f"Choose {names}: none is worse than any other option by more than "
            f"{number(target.tolerance)}. That is {level} sure."
        )
    if math.isnan(placing.spread):
        return (
            f"Nothing can be said yet of who of {k:,} options is {wanted}: the scores do not tell "
            "how far they are apart."
        )
    n_in, n_line, n_out = (len(some) for some in groups(placing))
    there = "at the line" if target.top is not None else "at the bar"
    if answer.sure:
        return f"{_who_is(answer, wanted)} That is {level} sure."
    return (
        f"Of {k:,} options {_are(n_in)} {wanted} and {_are(n_out)} not, each with a chance of "
        f"{level} or more; {n_line:,} {'stands' if n_line == 1 else 'stand'} {there}. Sure of all "
        f"at once ({level}): {len(answer.inside):,} in, {len(answer.outside):,} out."
    )


def _who_is(answer: Answer, wanted: str) -> str:
    """Return who is wanted, where that is sure of everybody."""
    names, k = answer.inside, len(answer.options)
    if not names:
        return f"None of {k:,} options is {wanted}."
    are, rest = "is" if len(names) == 1 else "are", len(answer.outside)
    others = f"; the other {_are(rest)} not" if rest else ", all of them"
    return (
        f"Of {k:,} options {listed([short(name) for name in names], _MANY)} {are} {wanted}{others}."
    )


def _are(n: int) -> str:
    return f"{n:,} {'is' if n == 1 else 'are'}"


def groups(placing: Placing) -> tuple[list[int], list[int], list[int]]:
    """Return who is in, who at the line and who out: surely, or by a chance as large."""
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    for x in range(len(placing.verdicts)):
        verdict = placing.likely(x)
        if verdict in ("in", "not worse", "probably in"):
            found[0].append(x)
        elif verdict in ("out", "probably out"):
            found[2].append(x)
        elif verdict == "open":
            found[1].append(x)
    return found


def _against(answer: Answer, placing: Placing) -> str:
    """Return who is better than one option, who is not worse, and who is worse."""
    target, level = placing.target, percent(answer.confidence)
    rival = short(target.against or "")
    if answer.contradicted:
        return (
            f"Nothing is sure against {rival}: the scores contradict what was assumed (see below)."
        )
    parts = []
    said: dict[Verdict, str] = {
        "in": "better",
        "not worse": f"not worse by more than {number(target.tolerance)}",
        "out": "worse",
    }
    for verdict, word in said.items():
        names = answer._named(placing.where(verdict))
        if names:
            are = "is" if len(names) == 1 else "are"
            parts.append(f"{listed([short(name) for name in names], _MANY)} {are} {word}")
    unknown = answer.undecided
    if unknown:
        names_ = listed([short(name) for name in unknown], _MANY)
        parts.append(f"of {names_} it cannot be told")
    sure = f" ({level} sure, of all at once)" if len(unknown) < len(answer.options) - 1 else ""
    return f"Against {rival}: {'; '.join(parts)}{sure}."


def target_facts(answer: Answer, placing: Placing) -> list[tuple[str, str]]:
    """Return who is chosen, who stands at the line, what may be lost, and what changes the list."""
    _, line, _ = groups(placing)
    if placing.best:
        chances = _with_chances(answer, placing, line)
        return [("Chances", chances), ("Lost", _lost(answer, placing))]
    said = [
        ("Chosen", _chosen(answer, placing)),
        ("At the line", _with_chances(answer, placing, line)),
    ]
    if placing.target.top is not None:
        said.append(("Lost", _lost(answer, placing)))
    if placing.shortlist is not None:
        found = placing.shortlist
        names, by_mean = found.names(found.changed), found.by_mean[found.changed].tolist()
        surely = {True: answer.outside, False: answer.inside}
        entries = zip(found.changed.tolist(), names, by_mean, strict=True)
        wrong = [entry for entry, name, was in entries if name in surely[was]]
        said.append(("By the mean", changes(found, wrong)))
    if placing.categories is not None:
        said.append(("By the mean", _by_mean(answer, placing)))
    return said


def _by_mean(answer: Answer, placing: Placing) -> str:
    """Return who is among the best of a category by the mean scores, and not among the chosen."""
    assert placing.categories is not None
    first, up = list[int](), sign(answer.best)
    raw = {one.index: one.raw for one in answer.ranking if not math.isnan(one.raw)}
    for some in placing.categories.parts:
        known = sorted((x for x in some.tolist() if x in raw), key=lambda x: -up * raw[x])
        first += known[: placing.target.top]
    labels, chosen = answer.options.labels, set(placing.chosen)
    gone = [short(labels[x]) for x in first if x not in chosen]
    if not gone:
        return "The same are the best by the mean scores."
    come = [short(labels[x]) for x in sorted(chosen - set(first))]
    verb = "is" if len(gone) == 1 else "are"
    return (
        f"By the mean scores {listed(gone, _MANY)} {verb} {placing.wanted}, instead of "
        f"{listed(come, _MANY)}."
    )


def _chosen(answer: Answer, placing: Placing) -> str:
    names = listed([short(name) for name in answer.chosen], _MANY)
    if not names or answer.sure or placing.target.against is not None:
        return ""
    right = placing.expected_right
    about = (
        f"; about {number(right, 1)} of {counted(len(answer.chosen), 'choice')} are expected to be "
        "right"
        if right > 0.0
        else ""
    )
    verb, what = "looks" if len(answer.chosen) == 1 else "look", "best"
    if placing.target.bar is not None:
        what = "good enough" if placing.target.tolerance else placing.target.words
    return f"{names} {verb} {what}{about}."


def _with_chances(answer: Answer, placing: Placing, some: list[int]) -> str:
    """Return names of options with how probable it is that each is wanted; "" if there are none."""
    labels = answer.options.labels
    if not some or math.isnan(placing.chances[some[0]]):
        return ""
    ordered = sorted(some, key=lambda x: -placing.chances[x])
    named = [f"{short(labels[x])} ({chance_in_words(placing.chances[x])})" for x in ordered]
    return f"{listed(named, _MANY)}: how probable each is, by estimate."


def chance_in_words(chance: float) -> str:
    """Return a chance as whole percents, which are never all or nothing; "" if it is not known."""
    if math.isnan(chance):
        return ""
    if not _LEAST <= chance <= 1.0 - _LEAST:
        return "<1%" if chance < _LEAST else ">99%"
    return percent(round(float(chance), 2))


def _lost(answer: Answer, placing: Placing) -> str:
    """Return what the chosen are expected to lose, and what at most."""
    if answer.sure or math.isnan(placing.expected_loss):
        return ""
    said = f"{number(placing.expected_loss)} per place is expected to be lost, by estimate"
    if math.isfinite(placing.loss):
        said += f"; at most {number(placing.loss)} at any place ({percent(answer.confidence)} sure)"
    return f"{said}."
