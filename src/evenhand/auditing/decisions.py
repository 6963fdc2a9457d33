"""Which winners would change: by which rule, at which bias, and how sure that is.

Notation
--------
y, p        (rows,) scores and partiality
v(x)        (entries,) values by a rule that is linear in the rows x (`rules`)
v(y) − β v(p)   values with a bias β taken off
favour      what all evaluators together may add to the winner's group before another group wins

An option w stays ahead of another, j, for β on one side of (v_w − v_j)(y)/(v_w − v_j)(p); ahead of
all, on an interval. If the interval of the bias lies within it, the winner does not hang on the
bias; if it lies outside, another wins at every plausible bias; else nobody can tell. All of this is
by the mean of these scores, which need not be how a committee or a sport decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.contests import Contests
from evenhand.auditing.fair import fair as fair_way
from evenhand.auditing.rules import Ballots, Comparison
from evenhand.numerics.ties import TIE
from evenhand.scores import Scores
from evenhand.scores.factor import Codes

if TYPE_CHECKING:
    import pandas as pd

RULES = {
    "mean": "the mean, with the bias off, against the mean",
    "trimmed mean": "the mean without the highest and the lowest score, with the bias off, against "
    "the same of scores as given",
    "recusal": "the mean without scores of partial evaluators, against the mean",
    "recusal and leniency": "two-way values without scores of partial evaluators, against the mean",
    "bias and leniency": "values without bias, leniency, position and attributes, against the mean",
    "own biases": "the mean with each evaluator's own bias off, against the mean",
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
    wins_from, wins_to
        (events,) the biases between which the winner by the mean has the highest corrected value;
        from ∞ to −∞ where it never has.
    tipping_favour
        (events,) how much all evaluators together would have to favour the fair winner's group (or
        it alone, where there are no groups) for somebody else to be best; infinite where nobody
        else competes.
    freedom
        Degrees of freedom of the noise.
    """

    contests: Contests
    options: tuple[str, ...]
    bias: BiasEstimate
    rules: tuple[Comparison, ...]
    winner: Indices
    fair_winner: Indices
    runner_up: Indices
    lead: Floats
    lead_se: Floats
    wins_from: Floats
    wins_to: Floats
    tipping_favour: Floats
    freedom: float

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self.contests)

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """(events,) whether the fair winner leads by more than noise.

        Its lead over the next is more than the two-sided interval of two options that were not
        picked for leading: that also holds for the best of many (Gutmann and Maymin).
        """
        width = -float(special.stdtrit(self.freedom, 0.5 * (1.0 - self.bias.level)))
        with np.errstate(invalid="ignore"):
            return self.lead > width * self.lead_se

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """For every event: wrong, fragile, safe or unknown.

        wrong: at every plausible bias the winner by the mean is not the best by corrected values.
        fragile: it is at some and not at others, or the lead is within noise. unknown: options
        cannot be compared, or the bias is not known.
        """
        low, high = self.bias.low, self.bias.high
        with np.errstate(invalid="ignore"):
            outside = (low > self.wins_to) | (high < self.wins_from)
            inside = (low >= self.wins_from) & (high <= self.wins_to) & self.sure
        said = np.where(outside, "wrong", np.where(inside, "safe", "fragile"))
        nobody = np.isnan(self.wins_from) | np.isnan(self.lead)
        return tuple(np.where(nobody | np.isnan(self.bias.value), "unknown", said).tolist())

    def count(self, verdict: str) -> int:
        """Return at how many events it is said."""
        return self.verdict.count(verdict)

    def names(self, entries: Indices) -> list[str | None]:
        """Return the names of the options of some entries; None for nobody."""
        codes = self.contests.option[np.maximum(entries, 0)].tolist()
        there = (entries >= 0).tolist()
        return [
            self.options[code] if is_one else None
            for code, is_one in zip(codes, there, strict=True)
        ]

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
                "sure": self.sure,
                "wins_from": self.wins_from,
                "wins_to": self.wins_to,
                "tipping_favour": self.tipping_favour,
                "verdict": self.verdict,
            }
        )

    def flips(self) -> pd.DataFrame:
        """Return a data frame with a row for every event and rule."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        n = len(self)
        rules = self.rules
        return pd.DataFrame(
            {
                "event": list(self.contests.names) * len(rules),
                "rule": [rule.rule for rule in rules for _ in range(n)],
                "winner": [name for rule in rules for name in self.names(rule.winner)],
                "baseline": [name for rule in rules for name in self.names(rule.baseline)],
                "flipped": _joined([rule.flipped for rule in rules], np.bool_),
                "podium_changed": _joined([rule.podium_changed for rule in rules], np.bool_),
                "margin": _joined([rule.margin for rule in rules], np.float64),
            }
        )


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def decisions(
    scores: Scores,
    bias: BiasEstimate,
    noise: float,
    freedom: float,
    own: Floats | None = None,
    attributes: Floats | None = None,
) -> Decisions:
    """Return what scores decide, and what a bias changes.

    Parameters
    ----------
    scores
        The scores.
    bias
        The bias that is common to all; NaN where it is not known.
    noise, freedom
        Standard deviation of the noise, and its degrees of freedom.
    own
        (evaluators,) the bias of each, drawn to the common one; None where nobody knows.
    attributes
        (n,) what further attributes add to each score, which is no worth; None for nothing.
    """
    ballots = Ballots.of(scores)
    y, p, contests = ballots.score, ballots.partial, ballots.contests
    known, impartial = bool(np.isfinite(bias.value)), ~ballots.own
    beta = bias.value if known else 0.0
    plain = ballots.mean(y)

    def compared(rule: str, values: Floats, before: Floats = plain) -> Comparison:
        return Comparison.of(rule, contests, values, before)

    rules = []
    if known:
        rules.append(compared("mean", plain - beta * ballots.mean(p)))
        rules.append(compared("trimmed mean", ballots.trimmed(beta), ballots.trimmed()))
    if not impartial.all():
        rules.append(compared("recusal", ballots.mean(y, impartial)))
    way = fair_way(scores, ballots)
    worth = scores.score if attributes is None else scores.score - attributes
    at_zero, per_bias = way.lines(worth, p[: len(scores)])
    fair = at_zero - beta * per_bias
    if scores.reference is not None:
        rules.append(compared("reference", fair))
    elif ballots.levels is not None or ballots.compared:
        if ballots.levels is not None and not impartial.all():
            rules.append(compared("recusal and leniency", ballots.two_way(y, impartial)))
        rules.append(compared("bias and leniency", fair))
    if known and own is not None and ballots.evaluator is not None:
        rules.append(compared("own biases", ballots.mean_without(own)))
    lines = _Lines(contests, at_zero, per_bias)
    winner = contests.podium(contests.order(contests.places(plain), contests.places(fair)))[:, 0]
    podium = contests.podium(contests.order(contests.places(fair), contests.places(plain)))
    ranked = ~contests.any_of(np.isnan(fair))
    fair_winner, runner_up = (np.where(ranked, podium[:, step], -1) for step in (0, 1))
    lead = np.where(ranked, contests.lead(fair, podium), np.nan)
    variance = noise**2 * way.variances(fair_winner, runner_up)
    apart = np.abs(per_bias[fair_winner] - per_bias[runner_up])
    variance += np.multiply(bias.se if known else 0.0, apart, where=apart > 0.0, out=apart) ** 2
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
        np.sqrt(variance),
        *lines.wins(winner),
        _tipping_favour(contests, fair, fair_winner, groups),
        freedom,
    )


@dataclass(frozen=True, eq=False)
class _Lines:
    """Values that fall with the bias that is taken off: (entries,) at 0, and how steeply."""

    contests: Contests
    at_zero: Floats
    slope: Floats

    def wins(self, entry: Indices) -> tuple[Floats, Floats]:
        """(events,) from which bias to which an entry of each event is the best."""
        event, starts = self.contests.event, self.contests.starts
        ahead = self.at_zero[entry][event] - self.at_zero
        steeper = self.slope[entry][event] - self.slope
        size, steep = (
            TIE * np.abs(x).max(initial=0.0, where=np.isfinite(x))
            for x in (self.at_zero, self.slope)
        )
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


def _tipping_favour(contests: Contests, values: Floats, winner: Indices, groups: Codes) -> Floats:
    """(events,) the lead of the winner over the best of another group; NaN where nobody wins."""
    group = groups[contests.option]
    others = (group != group[winner][contests.event]) | (group < 0)
    others[winner[winner >= 0]] = False
    best = np.maximum.reduceat(np.where(others, values, -np.inf), contests.starts)
    return np.where(winner < 0, np.nan, np.maximum(values[winner] - best, 0.0))
