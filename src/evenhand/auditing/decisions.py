"""Which winners would change: by which rule, at which bias, and how sure that is.

Notation
--------
mean        (entries,) by the scores as given, and with the bias off
v(y) − β v(p)   fair values, with leniency, position and attributes off, too (`events`)
favour      what all evaluators together may add to the winner's group before another group wins
δ           1 less the confidence

An option w stays ahead of another, j, for β on one side of (v_w − v_j)(y)/(v_w − v_j)(p); ahead of
all, on an interval. If the interval of the bias lies within it, the winner does not hang on the
bias; if it lies outside, another is ahead at every plausible bias. All of this is by the mean of
these scores, which need not be how a committee or a sport decides.

Who is ahead may be so by luck. The fair winner is the best if its lead over every rival has a
chance below δ, two-sided, and the winner by the mean is not the best if that of the lead over it
has: the rules of `inference.conclusion`, which also says who is surely wanted of a target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.auditing.events import Contests, Panel, panels
from evenhand.auditing.shortlist import Shortlist, shortlist
from evenhand.inference import Target
from evenhand.inference.biases import BiasEstimate
from evenhand.numerics.tolerance import TIE
from evenhand.scores import Scores
from evenhand.scores.scores import Codes

if TYPE_CHECKING:
    import pandas as pd

RULES = {
    "bias": "the mean with the bias off, against the mean",
    "bias and leniency": "values without bias, leniency, position and attributes, against the mean",
    "reference": "the mean of the references, against the mean of scores",
}
"""What each rule compares: who wins by it, against who wins without."""


@dataclass(frozen=True, eq=False)
class RuleComparison:
    """Who wins at every event by a rule, and who without it."""

    rule: str
    winner: Indices  # (events,) the entry that wins by the rule; −1 where options cannot be ranked
    baseline: Indices  # (events,) the one that wins without it
    flipped: NDArray[np.bool_]  # (events,) whether another wins; a tie changes nothing
    margin: Floats  # (events,) lead by the rule: 0 in a tie, infinite without a rival
    # (entries,) whether each wins without the rule, alone or in a tie
    first_before: NDArray[np.bool_]

    @classmethod
    def of(cls, rule: str, contests: Contests, values: Floats, before: Floats) -> RuleComparison:
        """Return who wins by some values, against who wins by others; (entries,) both."""
        ranked = ~contests.any_of(np.isnan(values))
        leading, earlier = contests.leading(values, before), contests.leading(before, values)
        return cls(
            rule,
            np.where(ranked, leading[:, 0], -1),
            np.where(ranked, earlier[:, 0], -1),
            ranked & (leading[:, 0] != earlier[:, 0]),
            np.where(ranked, contests.lead(values, leading), np.nan),
            contests.places(before) == 0,
        )


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
        (events,) of the fair winner the largest chance, over all rivals, of such a
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
                "flipped": np.concatenate([rule.flipped for rule in rules]),
                "margin": np.concatenate([rule.margin for rule in rules]),
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


def decisions(
    scores: Scores,
    bias: BiasEstimate,
    attributes: Mapping[str, BiasEstimate] | None = None,
    target: Target | None = None,
) -> Decisions:
    """Return what scores decide, and what a common bias changes; ``attributes``: what scores rise
    with each of them; ``target``: what is wanted.
    """
    attributes = attributes or {}
    if scores.best == "low":  # rules and tests maximise
        found = decisions(
            scores.maximised,
            -bias,
            {name: -one for name, one in attributes.items()},
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
    contests, made = Contests.of(scores), list(panels(scores, bias, attributes))
    known = bool(np.isfinite(bias.value))
    beta = bias.value if known else 0.0
    mean, partial, at_zero, per_bias = (
        np.concatenate([getattr(one, name) for one in made])
        for name in ("mean", "mean_partial", "at_zero", "per_bias")
    )
    unbiased, fair = mean - beta * partial, at_zero - beta * per_bias
    values = {"bias": unbiased} if known else {}
    values["bias and leniency" if scores.reference is None else "reference"] = fair
    winner, leading = contests.leading(mean, fair)[:, 0], contests.leading(fair, mean)
    ranked = ~contests.any_of(np.isnan(fair))
    fair_winner, runner_up = (np.where(ranked, entries, -1) for entries in leading.T)
    who = np.column_stack([fair_winner, runner_up, winner]) - contests.starts[:, None]
    tests = [
        _tested(one, *entries) if there else (math.nan,) * 3
        for one, entries, there in zip(made, who.tolist(), ranked.tolist(), strict=True)
    ]
    groups = scores.option_group
    if groups is None:
        groups = np.arange(len(scores.option), dtype=np.int32)
    short = None
    if target is not None:
        added = sum(float(scores.attributes[x].mean()) * b.value for x, b in attributes.items()
                    if math.isfinite(b.value))  # fmt: skip
        by = mean, unbiased, at_zero, fair
        short = shortlist(scores, contests, made, target, by, 1.0 - bias.level, added)
    lead_se, chance, of_winner = (np.array(part) for part in zip(*tests, strict=True))
    wins_from, wins_to = _wins(contests, at_zero, per_bias, winner)
    return Decisions(
        contests,
        scores.option.names,
        bias,
        tuple(RuleComparison.of(rule, contests, of, mean) for rule, of in values.items()),
        winner,
        fair_winner,
        runner_up,
        np.where(ranked, contests.lead(fair, leading), np.nan),
        lead_se,
        chance,
        of_winner,
        wins_from,
        wins_to,
        _tipping_favour(contests, fair, fair_winner, groups),
        short,
    )


def _tested(panel: Panel, first: int, second: int, by_mean: int) -> tuple[float, float, float]:
    """Return the standard error of the lead of an event's fair winner over the next, its chance
    over any rival, and over who wins by the mean (NaN where that is the same).
    """
    if second < 0:
        return 0.0, 0.0, math.nan
    rivals, found = panel.leads(first, (one for one in (second, by_mean) if one != first))
    chances = np.where(found.estimate > 0.0, np.minimum(2.0 * found.above, 1.0), 1.0)
    error = math.sqrt(float(found.variance[rivals == second][0]))
    over = math.nan if by_mean == first else float(chances[rivals == by_mean][0])
    return error if math.isfinite(error) else math.nan, float(chances.max()), over


def _wins(
    contests: Contests, at_zero: Floats, slope: Floats, entry: Indices
) -> tuple[Floats, Floats]:
    """(events,) from which bias to which an entry of each event is the best, of values that fall
    with the bias by their slopes.
    """
    event, starts = contests.event, contests.starts
    ahead, steeper = at_zero[entry][event] - at_zero, slope[entry][event] - slope
    steep = TIE * np.abs(slope).max(initial=0.0, where=np.isfinite(slope))
    rises, falls = steeper < -steep, steeper > steep
    crossing = np.full(len(event), np.nan)
    np.divide(ahead, steeper, out=crossing, where=rises | falls)
    never = ~(rises | falls) & (ahead < -contests.enough(at_zero))
    first = np.where(rises, crossing, np.where(never, np.inf, -np.inf))
    last = np.where(falls, crossing, np.where(never, -np.inf, np.inf))
    wins_from, wins_to = np.maximum.reduceat(first, starts), np.minimum.reduceat(last, starts)
    nowhere, unknown = wins_from > wins_to, contests.any_of(np.isnan(ahead))
    wins_from = np.where(nowhere, np.inf, wins_from)
    wins_to = np.where(nowhere, -np.inf, wins_to)
    return np.where(unknown, np.nan, wins_from), np.where(unknown, np.nan, wins_to)


def _tipping_favour(contests: Contests, values: Floats, winner: Indices, groups: Codes) -> Floats:
    """(events,) the lead of the winner over the best of another group; NaN where nobody wins."""
    group = groups[contests.option]
    others = (group != group[winner][contests.event]) | (group < 0)
    others[winner[winner >= 0]] = False
    best = np.maximum.reduceat(np.where(others, values, -np.inf), contests.starts)
    return np.where(winner < 0, np.nan, np.maximum(values[winner] - best, 0.0))
