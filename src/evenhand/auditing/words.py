"""Sentences of an audit: is there a bias, how large, how sure; whose; which decisions change.

With every audit goes what no score can tell, in numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.arrays import Floats
from evenhand.auditing.bias import BiasEstimate, clustered
from evenhand.auditing.effects import Effects
from evenhand.best import Best, direction
from evenhand.report.words import (
    abridged,
    counted,
    decimals,
    fixed,
    joined,
    listed,
    number,
    percent,
    short,
    signed,
)
from evenhand.scores import Scores
from evenhand.scores.baseline import POSITION

if TYPE_CHECKING:
    from evenhand.auditing.audit import Audit
    from evenhand.auditing.decisions import Decisions
    from evenhand.auditing.rules import RuleComparison
    from evenhand.auditing.shortlists import Shortlist

_MOST_NAMES = 3
_LEAST_DRAWS = 19  # of which a scatter is worth a word
_FEW = 5  # degrees of freedom: evaluators are too few to speak for others
_NONE_SHOWS = "No score shows a favour that all evaluators share: it looks like worth"


def verdict(audit: Audit) -> str:
    """Return whether there is a bias, how large and how sure, and what it decides."""
    bias = audit.bias
    if audit.effects.scores.partial is None and (audit.position or audit.attributes):
        return _others(audit)
    if not audit.effects.told or math.isnan(bias.value):
        if _only_attributes(audit):
            return _against_one(audit)
        return f"These scores can't tell whether there is a bias. {audit.identified}"
    said = _sized(bias, _subject(audit), audit.effects.noise)
    seen = bias.low > 0.0 or bias.high < 0.0
    return f"{said} {decided(audit)}".rstrip() if seen else said


class _Subject(NamedTuple):
    """How a bias is spoken of: what adds so much ({}), what takes it off, and what is added."""

    adds: str
    takes: str
    what: str
    best: Best = "high"

    def to(self, whom: str, best: Best) -> _Subject:
        """Return the same with whom it favours, where the lowest scores are the best."""
        if best == "high":
            return self
        adds, takes = f"{self.adds}, against {whom}", f"{self.takes}, in favour of {whom}"
        return _Subject(adds, takes, self.what, best)


_FIRST = _Subject(
    "standing first adds {}", "standing first takes off {}", "what standing first adds"
)


def _unit(column: Floats) -> float:
    """Return in what steps of an attribute its effect is spoken of: a power of 10 near its spread,
    or 1 where that will do.
    """
    spread = float(column.std())
    if not spread > 0.0 or 0.1 <= spread <= 100.0:
        return 1.0
    return float(10.0 ** round(math.log10(spread)))


def _sized(bias: BiasEstimate, of: _Subject, noise: float) -> str:
    """Return whether there is a bias, how large, and how sure."""
    level, half = percent(bias.level), 0.5 * (bias.high - bias.low)
    turned = bias.value < 0.0
    way = of.takes if turned else of.adds
    if not math.isfinite(half):
        by_estimate = way.format(_points(bias.value))
        return (
            f"These scores can't tell: by estimate {by_estimate}, but too few scores are left to "
            "say how far off that is."
        )
    if half == 0.0:
        if bias.value == 0.0:
            return f"No bias is seen: {of.what} is nothing at all."
        return f"Yes: {way.format(_points(bias.value))}, without any noise."
    digits = decimals(half)
    if bias.low > 0.0 or bias.high < 0.0:
        ends = (-bias.high, -bias.low) if turned else (bias.low, bias.high)
        low, high = (fixed(end, digits) for end in ends)
        size = f"{fixed(abs(bias.value), digits)} points ({low} to {high}, {level} sure)"
        return f"Yes: {way.format(size)}."
    if half > noise:
        between = f"between {fixed(bias.low, digits)} and {fixed(bias.high, digits)} points"
        return (
            f"These scores can't tell whether there is a bias: {of.what} is {between} ({level} "
            "sure), and that is wider than single scores scatter."
        )
    low, high = (fixed(end, digits) for end in (bias.low, bias.high))
    beyond = f"more than {high}" if of.best == "high" else f"less than {low}"
    return (
        f"No bias is shown: {of.what} may be anything from {low} to {high} points; {beyond} is "
        f"excluded ({level} sure)."
    )


def _subject(audit: Audit) -> _Subject:
    """Return how the bias of an audit is spoken of."""
    scores = audit.effects.scores
    if scores.stated is None:
        return _Subject(
            "evaluators add {} to their own group",
            "evaluators take {} off their own group",
            "what evaluators add to their own group",
        ).to("it", scores.best)
    column = short(scores.called.get("partial", "partiality"))
    plain = set(np.unique(scores.stated).tolist()) <= {-1.0, 0.0, 1.0}
    where = f"where {column} is 1" if plain else f"for every 1 of {column}"
    return _Subject(
        f"evaluators add {{}} {where}",
        f"evaluators take off {{}} {where}",
        f"what evaluators add {where}",
    ).to("the option", scores.best)


def _others(audit: Audit) -> str:
    """Return what position and attributes do, where nobody said who is partial to what."""
    said = [_sized(bias, of, audit.effects.noise) for bias, of in _further(audit)]
    return " ".join([*said, "Nobody said who is partial to what."])


def _only_attributes(audit: Audit) -> bool:
    """Tell whether one baseline shows what attributes do, and nothing shows partiality."""
    known = audit.effects.scores.baseline is not None and bool(audit.attributes)
    return known and (not audit.effects.told or math.isnan(audit.bias.value))


def _against_one(audit: Audit) -> str:
    """Return what attributes do where all were compared with one, and why partiality is unknown."""
    said = " ".join(_sized(bias, of, audit.effects.noise) for bias, of in _further(audit))
    return f"{said} Whether evaluators favour their own group can't be told. {audit.identified}"


def _further(audit: Audit) -> list[tuple[BiasEstimate, _Subject]]:
    """Return biases beside partiality: for standing first, and along attributes."""
    found = []
    if audit.position is not None:
        found.append((audit.position, _FIRST.to("it", audit.effects.scores.best)))
    scores = audit.effects.scores
    found += [_along(scores, name, bias) for name, bias in audit.attributes.items()]
    return found


def _along(scores: Scores, name: str, bias: BiasEstimate) -> tuple[BiasEstimate, _Subject]:
    """Return the bias along an attribute, of as much of it as is worth a word, and its words."""
    if name == POSITION and scores.baseline is not None:
        return bias, _FIRST.to("it", scores.best)
    unit = _unit(scores.attributes[name])
    every = f"every {unit:,.15g} of {short(name)}"
    words = (f"{every} adds {{}}", f"{every} takes off {{}}", f"what {every} adds")
    return bias.times(unit), _Subject(*words).to("the option", scores.best)


def attribute(effects: Effects, name: str, level: float) -> str:
    """Return by how much scores rise with an attribute, and how sure that is."""
    return _sized(
        *_along(effects.scores, name, clustered(effects.along(name), level)), effects.noise
    )


def decided(audit: Audit) -> str:
    """Return which winners the bias makes, and which leniency; "" if nothing competes."""
    found = audit.decisions
    known = (found.contests.sizes > 1) & (np.array(found.verdict) != "unknown")
    n, by_mean = int(known.sum()), found.rule("bias")
    if n == 0 or by_mean is None:
        return ""
    if n == 1:
        return _one_event(audit, by_mean, int(np.flatnonzero(known)[0]))
    some = int((known & by_mean.flipped).sum())
    changes = f"the winner at {some:,}" if some else "no winner"
    said = f"By the mean of these scores it changes {changes} of {n:,} events"
    changed = known & (found.winner != found.fair_winner)
    if not changed.any():
        return f"{said}."
    wrong = int((np.array(found.verdict)[changed] == "wrong").sum())
    if wrong == changed.sum():
        sure = "for sure"
    else:
        sure = f"at {wrong:,} of them for sure" if wrong else "none for sure"
    if (found.fair_winner == by_mean.winner)[known].all():
        return f"{said}, {sure}."
    return f"{said}. {_all_off(audit)}, another leads at {int(changed.sum()):,}, {sure}."


def _lenient(audit: Audit) -> str:
    """Return what evaluators add to everybody, or to whoever stands first."""
    return "leniency" if audit.position is None else "what standing first adds"


def _all_off(audit: Audit) -> str:
    """Return by what values are fair, beside the bias."""
    if audit.effects.scores.reference is not None:
        return "By the references"
    also = " and attributes" if audit.attributes else ""
    return f"With {_lenient(audit)}{also} taken off as well"


def _one_event(audit: Audit, by_mean: RuleComparison, event: int) -> str:
    """Return what the bias changes by the mean, then what leniency changes, and how sure it is."""
    found, changed = audit.decisions, bool(by_mean.flipped[event])
    firsts = np.flatnonzero(by_mean.first_before & (found.contests.event == event))
    fair, without = int(found.fair_winner[event]), int(by_mean.winner[event])
    given = listed([name or "" for name in found.names(firsts)], _MOST_NAMES)
    tie = len(firsts) > 1
    if changed:
        said = f"With it taken off, {_name(found, without)} wins by the mean of these scores, not "
        said += f"{given}{', who tie' if tie else ''}"
    elif tie:
        said = f"By the mean of these scores {given} tie"
        if by_mean.margin[event] > 0.0:
            said += f"; with it taken off, {_name(found, without)} is ahead"
        else:
            without = fair if fair in firsts else without
    else:
        said = f"{given} wins by these scores with it and without it"
    beyond = _beyond(found, event, fair in firsts)
    if fair == without:
        return f"{said}{'' if found.verdict[event] == 'safe' else beyond}."
    return f"{said}. {_all_off(audit)}, {_name(found, fair)} leads{beyond}."


def _beyond(found: Decisions, event: int, same: bool) -> str:
    """Return whether the fair winner leads by more than noise, at every plausible bias, over all
    others (``same``: it wins by the mean, too) or over the winner by the mean.
    """
    if found.verdict[event] in ("safe", "wrong"):
        return ", by more than noise"
    chance = found.chance if same else found.chance_of_winner
    if chance[event] < 1.0 - found.bias.level:
        return ", but not at every plausible bias"
    return ", but not by more than noise"


def _name(found: Decisions, entry: int) -> str:
    return short(found.names(np.array([entry]))[0] or "")


def facts(audit: Audit) -> list[tuple[str, str]]:
    """Return what else there is to say, under short titles."""
    first = audit.effects.scores.partial is None or _only_attributes(audit)
    beside = [] if first else _further(audit)
    said = [
        ("Beside it", " ".join(_sized(bias, of, audit.effects.noise) for bias, of in beside)),
        ("Naive", naive(audit)),
        ("Permutation test", placebo(audit)),
        ("Spread", spread(audit)),
        ("Who", who(audit)),
        ("Decisions", flips(audit)),
        ("Wanted", wanted(audit)),
        ("How sure", fragile(audit)),
        ("Pairs", pairs(audit)),
        ("Direction", direction(audit.effects.scores.best)),
    ]
    said += [
        ("WARNING" if finding.alarm else "Note", " ".join(finding.message.split()))
        for finding in audit.warnings
    ]
    said += [("No score tells", sentence) for sentence in audit.cannot_tell]
    return said


def listed_changes(
    short_list: Shortlist, event: int, inside: Sequence[str], outside: Sequence[str]
) -> str:
    """Return who is wanted at an event by the mean and who else is with all taken off, what changes
    it, and whether that is more than noise, by who is surely in and out.
    """
    here = short_list.contests.event == event
    changed = np.array([x for x in short_list.changed.tolist() if here[x]], dtype=np.intp)
    if not len(changed):
        words = "the best" if short_list.target.top else short_list.wanted
        return f"The same are {words} by the mean scores."
    gone, come = (
        short_list.names(changed[short_list.by_mean[changed] == flag]) for flag in (True, False)
    )
    said = f"By the mean scores {_swapped(short_list, gone, come)}."
    by: dict[str, list[str]] = {}
    for entry, name in zip(changed.tolist(), short_list.names(changed), strict=True):
        by.setdefault(short_list.reason(entry), []).append(name)
    causes = [f"{cause} ({listed(names, _MOST_NAMES)})" for cause, names in by.items()]
    said += f" What changes it: {'; '.join(causes)}."
    sure = [name for name in gone if name in outside] + [name for name in come if name in inside]
    if not sure:
        return f"{said} None of it is more than noise."
    return f"{said} More than noise: {listed(sure, _MOST_NAMES)}."


def _swapped(short_list: Shortlist, gone: Sequence[str], come: Sequence[str]) -> str:
    """Return who is wanted by the mean and not fairly, and who fairly and not by the mean."""
    wanted, left, new = short_list.wanted, listed(gone, _MOST_NAMES), listed(come, _MOST_NAMES)
    if short_list.target.top is not None:
        return f"{left} {'is' if len(gone) == 1 else 'are'} {wanted}, instead of {new}"
    counts, does = ("counts" if len(gone) == 1 else "count"), ("does" if len(come) == 1 else "do")
    if not gone:
        return f"{new} {does} not count as {wanted}, and {does} without bias and leniency"
    lacking = f", and {new} {does} not" if come else ""
    turned = "it is the other way round" if come else "no longer"
    return f"{left} {counts} as {wanted}{lacking}; without bias and leniency {turned}"


def naive(audit: Audit) -> str:
    """Return what the interval would be if nobody came back, and what is allowed for instead."""
    bias, plain = audit.bias, audit.naive
    if not all(math.isfinite(x.high - x.low) for x in (bias, plain)) or bias.high == bias.low:
        return ""
    digits = decimals(0.5 * (plain.high - plain.low))
    shown = f"{fixed(plain.low, digits)} to {fixed(plain.high, digits)}"
    clusters = [f"{n:,} {kind}" for kind, n in bias.clusters.items()]
    said = f"As if all scores were independent it would be {shown}."
    if clusters:
        said += f" The interval is cluster-robust, for {joined(clusters)} who come back."
    if bias.only:
        said += (
            f" It is about these {' and '.join(bias.only)} only: how others would be does not show."
        )
    elif bias.freedom < _FEW:
        low, high = (fixed(x, digits) for x in (audit.here.low, audit.here.high))
        said += f" So few say little about others. Of these alone the bias is {low} to {high}."
    return said


def placebo(audit: Audit) -> str:
    """Return what the bias is with groups permuted at random."""
    found = audit.placebo
    if found.impossible or math.isnan(found.z) or len(found.draws) < _LEAST_DRAWS:
        return ""
    return (
        f"With groups dealt out to evaluators at random ({len(found.draws):,} times) the bias "
        f"scatters by {number(found.sd)}; the true one is {number(abs(found.z))} times that far "
        "off."
    )


def spread(audit: Audit) -> str:
    """Return how much evaluators, and groups, differ in their bias."""
    said = []
    for one, many, found in (
        ("evaluator", "evaluators", audit.spread.evaluators),
        (audit.favoured, f"{audit.favoured}s", audit.spread.groups),
    ):
        if math.isfinite(found.next_high - found.next_low) and found.sd > 0.0:
            digits = decimals(0.5 * (found.next_high - found.next_low))
            said.append(
                f" of another {one} lies between {fixed(found.next_low, digits)} and "
                f"{fixed(found.next_high, digits)} (sd among {found.n:,} {many} "
                f"{number(found.sd)})"
            )
    if not said:
        return ""
    return f"That{'; that'.join(said)}; {percent(audit.bias.level)} sure."


def who(audit: Audit) -> str:
    """Return which evaluators' biases stand out, the largest first."""
    frame = audit.evaluators
    known = frame[frame["own"] > 0] if len(frame) else frame
    flagged = known[known["flagged"]]
    if not len(known) or not audit.effects.told or audit.bias.low == audit.bias.high:
        return ""
    of = f"of {counted(len(known), 'evaluator')} with partial scores"
    if not len(flagged):
        return f"Nobody {of} can be named: single biases are within noise."
    order = flagged["shrunk"].abs().sort_values(ascending=False, kind="stable").index
    named = [
        f"{short(flagged.loc[row, 'evaluator'])} ({signed(flagged.loc[row, 'shrunk'])})"
        for row in order
    ]
    shrunken = "" if math.isnan(audit.spread.evaluators.sd) else ", shrunken to the mean"
    return (
        f"{len(flagged):,} {of} {'stands' if len(flagged) == 1 else 'stand'} out (at most "
        f"{percent(1.0 - audit.bias.level)} of these by chance): {joined(named, _MOST_NAMES)}"
        f"{shrunken}."
    )


def flips(audit: Audit) -> str:
    """Return how many winners change by each rule."""
    found = audit.decisions
    n, bias = int((found.contests.sizes > 1).sum()), found.rule("bias")
    if n < 2 or bias is None:
        return ""
    fair = next(rule for rule in found.rules if rule is not bias)
    return (
        f"Winners that change, of {n:,}: with the bias taken off, {int(bias.flipped.sum()):,}. "
        f"{_all_off(audit)}, {int(fair.flipped.sum()):,}."
    )


def wanted(audit: Audit) -> str:
    """Return who of those wanted change, and by what; "" if nobody said what is wanted."""
    found = audit.decisions.shortlist
    if found is None:
        return ""
    if len(found.contests) == 1:
        names = (found.names(np.flatnonzero(flags)) for flags in (found.inside, found.outside))
        return listed_changes(found, 0, *names)
    n, top = int(found.contested.sum()), found.target.top
    who = f"Those {found.wanted}" if top is None else f"The best {top:,}"
    events = len(np.unique(found.contests.event[found.changed]))
    if not events:
        return f"{who} are the same by the mean scores, at all {n:,} events."
    causes: dict[str, int] = {}
    for entry in found.changed.tolist():
        causes[found.reason(entry)] = causes.get(found.reason(entry), 0) + 1
    by = ", ".join(f"{count:,} by {cause}" for cause, count in sorted(causes.items()))
    wrong = len(found.wrong)
    sure = f"{wrong:,} of them by more than noise" if wrong else "none by more than noise"
    return (
        f"{who} by the mean scores change at {events:,} of {n:,} events: places "
        f"in or out, {by}; {sure}."
    )


def fragile(audit: Audit) -> str:
    """Return how many winners are safe, fragile and wrong."""
    found = audit.decisions
    n = int((found.contests.sizes > 1).sum())
    if n < 2:
        return ""
    kinds = {
        "safe": "safe",
        "fragile": "fragile (the lead is within noise, or hangs on the bias)",
        "wrong": "wrong (another is better at every plausible bias, by more than noise)",
        "unknown": "not known",
    }
    rivals = found.contests.sizes > 1
    counts = {kind: int((rivals & (np.array(found.verdict) == kind)).sum()) for kind in kinds}
    said = [f"{counts[kind]:,} {kinds[kind]}" for kind in kinds if counts[kind]]
    return f"Of {n:,} winners, {', '.join(said)}."


def pairs(audit: Audit) -> str:
    """Return what stays with a pair of evaluator and option, against noise."""
    found = audit.pair
    if math.isnan(found.share):
        return ""
    return (
        "Evaluators' lasting likings for single options have a standard deviation of "
        f"{number(found.pair)}, other noise {number(found.noise)} (variance components, from "
        f"{found.pairs:,} pairs with several scores)."
    )


def _points(value: float) -> str:
    size = number(abs(value))
    return f"{size} point{'' if size == '1' else 's'}"


def cannot_tell(audit: Audit) -> tuple[str, ...]:
    """Return what these scores do not tell, however many there are of their kind."""
    said = [_shared(audit), _reference(audit), _seen_by_own(audit), _assigned(audit)]
    return tuple(sentence for sentence in said if sentence)


def _shared(audit: Audit) -> str:
    """A favour of all evaluators, against what would tip the winners."""
    decided = audit.decisions
    favour = decided.tipping_favour
    tips = np.flatnonzero(np.isfinite(favour))
    if audit.effects.scores.reference is not None or not tips.size:
        return ""
    closest = int(tips[np.argmin(favour[tips])])
    least = number(favour[closest])
    if len(decided) == 1 and favour[closest] == 0.0:
        return f"{_NONE_SHOWS}, and the least would do here."
    if len(decided) == 1:
        return (
            f"If all evaluators favoured {_whose(audit, closest)} by more than {least}, somebody "
            f"else would be best. {_NONE_SHOWS}."
        )
    half = number(float(np.median(favour[~np.isnan(favour)])))
    side = "winner" if audit.effects.scores.option_group is None else "winner's group"
    return (
        f"If all evaluators favoured the {side} by {half}, half of the winners would change; the "
        f"first of them, at {abridged(decided.contests.names[closest])}, if they favoured "
        f"{_whose(audit, closest)} by {least}. {_NONE_SHOWS}."
    )


def _whose(audit: Audit, event: int) -> str:
    """Who would have to be favoured for the winner of an event to change."""
    decided, scores = audit.decisions, audit.effects.scores
    entry = int(decided.fair_winner[event])
    winner = short(scores.option.names[int(decided.contests.option[entry])])
    if scores.option_group is None:
        return winner
    group = int(scores.option_group[decided.contests.option[entry]])
    return f"{short(scores.groups[group])} (the group of {winner})" if group >= 0 else winner


def _reference(audit: Audit) -> str:
    """What the reference itself has wrong."""
    if audit.effects.scores.reference is None:
        return ""
    return (
        "The reference is taken to be right: what it has wrong, and goes with partiality, looks "
        "like a bias."
    )


def _seen_by_own(audit: Audit) -> str:
    """What partial evaluators know that others do not."""
    scores = audit.effects.scores
    known = scores.partial is not None and scores.evaluator is not None and audit.effects.told
    if not known or scores.reference is not None:
        return ""
    return (
        "What partial evaluators see in their own and nobody else does counts as bias: a better "
        "eye for it looks the same as a favour."
    )


def _assigned(audit: Audit) -> str:
    """Who scored what was not drawn at random, as far as anybody knows."""
    scores = audit.effects.scores
    if scores.partial is None or scores.evaluator is None or not audit.effects.told:
        return ""
    own = int((scores.partial != 0.0).sum())
    return (
        f"{own:,} of {len(scores):,} scores are by partial evaluators. If they were asked, or "
        "came, because of how an option would do that day, the bias has that in it."
    )
