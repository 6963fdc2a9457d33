"""Which winners would change: by which rule, at which bias, and how sure that is.

Notation
--------
y, p        (rows,) scores and partiality
v(x)        (entries,) values by a rule that is linear in the rows x (`rules`)
v(y) − β v(p)   values with a bias β taken off
favour      what all evaluators together may add to the winner's group before another group wins

An option w stays ahead of another, j, for β on one side of (v_w − v_j)(y)/(v_w − v_j)(p); ahead of
all, on an interval. If the interval of the bias lies within it, the winner does not hang on the
bias; if it lies outside, another is ahead at every plausible bias. All of this is by the mean of
these scores, which need not be how a committee or a sport decides.

Who is ahead may be so by luck. That an option is the best of its event is said if the winner test
(`certainty.winner`) has a chance below δ, 1 less the confidence, for every rival. That the winner
by the mean is *not* the best is said if its own chance is below δ. It is said falsely only if it is
the best one, and then by a probability of δ at most, whoever leads: so no rival else has to be
behind for that, and there is no factor for who was picked. Where not everybody scored everything,
both also allow for unequal use of the scale (`scale_use`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.leads import LeadErrors, Tested, winner_test
from evenhand.auditing.leads import fair as fair_way
from evenhand.auditing.rules import Ballots, Contests, RuleComparison
from evenhand.auditing.scale_use import leads_of
from evenhand.auditing.shortlists import Shortlist, shortlist
from evenhand.inference.target import Target
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, crossed

if TYPE_CHECKING:
    import pandas as pd

RULES = {
    "bias": "the mean with the bias off, against the mean",
    "bias and leniency": "values without bias, leniency, position and attributes, against the mean",
    "reference": "the mean of the references, against the mean of scores",
}
"""What each rule compares: who wins by it, against who wins without."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What the scores decide at every event, and what would change that.

    Parameters
    ----------
    contests
        The events, and who competes at each.
    options
        Names of the options.
    bias
        The bias that is taken off.
    rules
        Who wins by each rule.
    winner, fair_winner, runner_up
        (events,) the entry that wins by the mean, the one that wins with bias and leniency off, and
        who is next to the latter; −1 for nobody.
    lead, lead_se
        (events,) by how much the fair winner leads, and the standard error of that.
    chance
        (events,) the winner test of the fair winner: the largest chance, over all rivals, of such a
        lead if the rival were as good.
    chance_of_winner
        (events,) the same of the winner by the mean alone; NaN where that is the fair winner.
    wins_from, wins_to
        (events,) the biases between which the winner by the mean has the highest corrected value;
        from ∞ to −∞ where it never has.
    tipping_favour
        (events,) how much all evaluators together would have to favour the fair winner's group (or
        it alone, where there are no groups) for somebody else to be best; infinite where nobody
        else competes.
    shortlist
        Who is wanted by the mean, and with bias and leniency off: among the m best, above a bar or
        better than one option; None if nobody said what is wanted.
    """

    contests: Contests
    options: tuple[str, ...]
    bias: BiasEstimate
    rules: tuple[RuleComparison, ...]
    winner: Indices
    fair_winner: Indices
    runner_up: Indices
    lead: Floats
    lead_se: Floats
    chance: Floats
    chance_of_winner: Floats
    wins_from: Floats
    wins_to: Floats
    tipping_favour: Floats
    shortlist: Shortlist | None = None

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.contests)

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """(events,) whether the fair winner is better than all others by more than noise."""
        return self.chance < 1.0 - self.bias.level

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """For every event: wrong, fragile, safe or unknown.

        wrong: at every plausible bias another is ahead of the winner by the mean, and by more than
        noise. safe: at every plausible bias it is ahead of all others, and by more than noise.
        unknown: options cannot be compared, or the bias is not known. fragile: all else.
        """
        low, high = self.bias.low, self.bias.high
        with np.errstate(invalid="ignore"):
            outside = (low > self.wins_to) | (high < self.wins_from)
            inside = (low >= self.wins_from) & (high <= self.wins_to)
            behind = self.chance_of_winner < 1.0 - self.bias.level
        said = np.where(outside & behind, "wrong", np.where(inside & self.sure, "safe", "fragile"))
        nobody = np.isnan(self.wins_from) | np.isnan(self.lead)
        return tuple(np.where(nobody | np.isnan(self.bias.value), "unknown", said).tolist())

    def names(self, entries: Indices) -> list[str | None]:
        """Return the names of the options of some entries; None for nobody."""
        codes = self.contests.option[np.maximum(entries, 0)].tolist()
        there = (entries >= 0).tolist()
        return [
            self.options[code] if is_one else None
            for code, is_one in zip(codes, there, strict=True)
        ]

    def rule(self, name: str) -> RuleComparison | None:
        """Return who wins by a rule; None where it cannot be followed."""
        return next((one for one in self.rules if one.rule == name), None)

    def tied(self, rule: RuleComparison) -> list[str]:
        """Return, for every event, who ties with the winner without a rule; "" for nobody."""
        entries, contests = np.flatnonzero(rule.first_before), self.contests
        event = contests.event[entries]
        others = entries != rule.baseline[event]
        found: dict[int, list[str]] = {}
        for one, name in zip(event[others].tolist(), self.names(entries[others]), strict=True):
            found.setdefault(one, []).append(str(name))
        there = (rule.baseline >= 0).tolist()
        return [", ".join(found.get(one, ())) if there[one] else "" for one in range(len(self))]

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row for every event."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        return pd.DataFrame(
            {
                "event": self.contests.names,
                "options": self.contests.sizes,
                "winner": self.names(self.winner),
                "fair_winner": self.names(self.fair_winner),
                "runner_up": self.names(self.runner_up),
                "lead": self.lead,
                "lead_se": self.lead_se,
                "chance": self.chance,
                "sure": self.sure,
                "wins_from": self.wins_from,
                "wins_to": self.wins_to,
                "tipping_favour": self.tipping_favour,
                "verdict": self.verdict,
            }
        )

    def flips(self) -> pd.DataFrame:
        """Return a data frame with a row for every event and rule.

        ``tied`` has those who share the first place with ``baseline``.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        n = len(self)
        rules = self.rules
        return pd.DataFrame(
            {
                "event": list(self.contests.names) * len(rules),
                "rule": [rule.rule for rule in rules for _ in range(n)],
                "winner": [name for rule in rules for name in self.names(rule.winner)],
                "baseline": [name for rule in rules for name in self.names(rule.baseline)],
                "tied": [names for rule in rules for names in self.tied(rule)],
                "flipped": _joined([rule.flipped for rule in rules], np.bool_),
                "margin": _joined([rule.margin for rule in rules], np.float64),
            }
        )

    def changed(self) -> pd.DataFrame:
        """Return the rows of `flips` whose winner changes; a tie without the rule is named."""
        frame = self.flips()
        frame = frame[frame["flipped"]] if len(frame) else frame
        named = [
            f"{name} (tied with {tied})" if tied else name
            for name, tied in zip(frame["baseline"], frame["tied"], strict=True)
        ]
        return frame.assign(baseline=named)


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def decisions(
    scores: Scores,
    bias: BiasEstimate,
    attributes: Floats | None = None,
    target: Target | None = None,
) -> Decisions:
    """Return what scores decide, and what a common bias changes; ``attributes``: (n,) what these
    add to each score; ``target``: what is wanted.
    """
    if scores.best == "low":  # rules and tests maximise
        found = decisions(
            scores.maximised,
            -bias,
            None if attributes is None else -attributes,
            None if target is None else target.turned,
        )
        short = found.shortlist
        return replace(
            found,
            bias=bias,
            wins_from=-found.wins_to,
            wins_to=-found.wins_from,
            shortlist=None if short is None else replace(short, target=short.target.turned),
        )
    ballots = Ballots.of(scores)
    p, contests = ballots.partial, ballots.contests
    known = bool(np.isfinite(bias.value))
    beta = bias.value if known else 0.0
    plain = ballots.mean(ballots.score)
    way = fair_way(scores, ballots)
    worth = scores.centred if attributes is None else scores.centred - attributes
    at_zero, per_bias = way.lines(worth, p[: len(scores)])
    fair = at_zero - beta * per_bias
    values = {"bias": plain - beta * ballots.mean(p)} if known else {}
    values["bias and leniency" if scores.reference is None else "reference"] = fair
    rules = [RuleComparison.of(rule, contests, of, plain) for rule, of in values.items()]
    lines = _Lines(contests, at_zero, per_bias)
    winner = contests.leading(contests.order(contests.places(plain), contests.places(fair)))[:, 0]
    leading = contests.leading(contests.order(contests.places(fair), contests.places(plain)))
    ranked = ~contests.any_of(np.isnan(fair))
    fair_winner, runner_up = (np.where(ranked, entries, -1) for entries in leading.T)
    lead = np.where(ranked, contests.lead(fair, leading), np.nan)
    fitted = int(known) + int(attributes is not None)
    errors = way.errors(worth - beta * p[: len(scores)], fair, fitted)
    tests = [
        _test(lines, beta, bias.se if known else 0.0, errors, first, by_mean)
        for first, by_mean in zip(fair_winner.tolist(), winner.tolist(), strict=True)
    ]
    chance, chance_of_winner, lead_se = np.array(tests).reshape(-1, 3).T
    for event in _scored_unequally(scores, contests, fair_winner):
        by_scale, over_winner = _chances_by_scale(
            scores, contests, event, int(fair_winner[event]), int(winner[event]), bias.level
        )
        chance[event] = max(chance[event], by_scale)
        chance_of_winner[event] = max(chance_of_winner[event], over_winner)  # NaN stays
    groups = scores.option_group
    if groups is None:
        groups = np.arange(len(scores.option), dtype=np.int32)
    return Decisions(
        contests,
        scores.option.names,
        bias,
        tuple(rules),
        winner,
        fair_winner,
        runner_up,
        lead,
        lead_se,
        chance,
        chance_of_winner,
        *lines.wins(winner),
        _tipping_favour(contests, fair, fair_winner, groups),
        None if target is None else shortlist(scores, bias, target, attributes),
    )


def _scored_unequally(scores: Scores, contests: Contests, fair_winner: Indices) -> Iterator[int]:
    """Yield the events with a fair winner at which not everybody scored everything alike."""
    if scores.rival is not None or scores.evaluator is None or scores.item is not None:
        return
    chairs, n_chairs = scores.chairs
    entry = contests.entry[contests.scored]
    event_of_chair = np.zeros(n_chairs, dtype=np.intp)
    event_of_chair[chairs] = contests.event[entry]
    seats = np.bincount(event_of_chair[np.unique(chairs)], minlength=len(contests))
    pair, n_pairs = crossed(entry, chairs)
    event_of_pair = np.zeros(n_pairs, dtype=np.intp)
    event_of_pair[pair] = contests.event[entry]
    pairs = np.bincount(event_of_pair, minlength=len(contests))
    rows = np.bincount(contests.event[entry], minlength=len(contests))
    unequal = (pairs < seats * contests.sizes) | (rows % np.maximum(pairs, 1) != 0)
    yield from np.flatnonzero(unequal & (fair_winner >= 0)).tolist()


def _chances_by_scale(
    scores: Scores, contests: Contests, event: int, first: int, by_mean: int, level: float
) -> tuple[float, float]:
    """Return how probable the lead of an event's fair winner over any rival, and over the winner by
    the mean, would be if they were as good and evaluators used the scale unequally.
    """
    there = np.flatnonzero(contests.event[contests.entry[contests.scored]] == event)
    leads = leads_of(replace(scores.among(there), event=None), int(contests.option[first]), level)
    chances = {rival: lead.chance if lead.value > 0.0 else 1.0 for rival, lead in leads.items()}
    over_winner = chances.get(int(contests.option[by_mean]), 0.0) if by_mean != first else 0.0
    return max(chances.values(), default=0.0), over_winner


@dataclass(frozen=True, eq=False)
class _Lines:
    """Values that fall with the bias that is taken off: (entries,) at 0, and how steeply."""

    contests: Contests
    at_zero: Floats
    slope: Floats

    def over(self, entry: int, others: slice) -> tuple[Floats, Floats]:
        """(n,) by how much an entry is ahead of others at 0, and falls more steeply."""
        ahead, steeper = (x[entry] - x[others] for x in (self.at_zero, self.slope))
        return ahead, steeper

    def wins(self, entry: Indices) -> tuple[Floats, Floats]:
        """(events,) from which bias to which an entry of each event is the best."""
        event, starts = self.contests.event, self.contests.starts
        ahead = self.at_zero[entry][event] - self.at_zero
        steeper = self.slope[entry][event] - self.slope
        size = self.contests.enough(self.at_zero)
        steep = TIE * np.abs(self.slope).max(initial=0.0, where=np.isfinite(self.slope))
        rises, falls = steeper < -steep, steeper > steep
        crossing = np.full(len(event), np.nan)
        np.divide(ahead, steeper, out=crossing, where=rises | falls)
        never = ~(rises | falls) & (ahead < -size)
        first = np.where(rises, crossing, np.where(never, np.inf, -np.inf))
        last = np.where(falls, crossing, np.where(never, -np.inf, np.inf))
        unknown = self.contests.any_of(np.isnan(ahead))
        wins_from = np.maximum.reduceat(first, starts)
        wins_to = np.minimum.reduceat(last, starts)
        never_at_all = wins_from > wins_to
        wins_from = np.where(never_at_all, np.inf, wins_from)
        wins_to = np.where(never_at_all, -np.inf, wins_to)
        return np.where(unknown, np.nan, wins_from), np.where(unknown, np.nan, wins_to)


def _test(
    lines: _Lines, beta: float, se: float, errors: LeadErrors, first: int, by_mean: int
) -> Tested:
    """Return the winner test of the entry that leads an event with ``beta`` off (it may be wrong by
    ``se``), and of who wins by the mean.
    """
    if first < 0:
        return Tested(math.nan, math.nan, math.nan)
    contests = lines.contests
    event = int(contests.event[first])
    start, size = int(contests.starts[event]), int(contests.sizes[event])
    if size == 1:
        return Tested(0.0, math.nan, 0.0)
    ahead, steeper = lines.over(first, slice(start, start + size))
    off = np.zeros(size)
    np.multiply(se, steeper, out=off, where=np.abs(steeper) > TIE)
    rival = -1 if by_mean == first else by_mean - start
    found = errors(event, first - start, rival) if np.isfinite(off).all() else None
    return winner_test(np.maximum(ahead - beta * steeper, 0.0), found, off, rival)


def _tipping_favour(contests: Contests, values: Floats, winner: Indices, groups: Codes) -> Floats:
    """(events,) the lead of the winner over the best of another group; NaN where nobody wins."""
    group = groups[contests.option]
    others = (group != group[winner][contests.event]) | (group < 0)
    others[winner[winner >= 0]] = False
    best = np.maximum.reduceat(np.where(others, values, -np.inf), contests.starts)
    return np.where(winner < 0, np.nan, np.maximum(values[winner] - best, 0.0))
