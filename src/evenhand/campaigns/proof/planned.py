"""Whether what `PlannedChoice` states follows from (plan, scores) alone (docs/people.md).

Notation
--------
b, p_j  the option that led at a look, and the chance of its lead over j (`winner`)
δ_m     what the m-th look had of δ

The certificate says which looks there were, at which design, and their shares of δ, which may not
add up to more than 1. That b loses at most ε is confirmed if for every j there was a look that b
led, with p_j(−ε) ≤ δ_m.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.evidence import Reading
from evenhand.campaigns.proof.squares import Fit, Scores, Truths
from evenhand.campaigns.proof.winner import Winner

_REPEATS = 1e-24  # share of all squares below which a scatter is rounding
_SAME = 1e-10  # share of all scores below which a lead is rounding


class _Look(NamedTuple):
    """A look: the option that led, its rivals and leads, and δ_m."""

    leader: int
    rivals: Indices
    winner: Winner
    failure: float


class Planned(Checker):
    """What the looks at a record show."""

    def prepare(self) -> None:
        """Take the looks of the certificate, and the scores of the design in force."""
        rounds, shares = self.record.rounds, 0.0
        self.looks: list[_Look] = []
        for first, r, n, leader, share in self.certificate["looks"]:
            one, shares = self.round(r), shares + self.share(share)
            self.whole(first, r, "a plan")
            self.whole(leader, len(self.record.labels) - 1, "an option")
            if self.whole(n, len(one.told), "scores") != one.looked(n):
                raise ValueError(f"there was no look after {n} scores of plan {r + 1}")
            scores = Scores.joined([self._told(first, r), one.scores.first(n)])
            self.looks.append(self._look(scores, leader, one.there, share * self.delta))
        self.share(shares)
        self.chance = self.delta * self.share(self.certificate["chance"])
        began = self.whole(self.certificate["began"], len(rounds), "a plan")
        self.fit = self.record.fit(self._told(began, len(rounds)))
        self.wanted = self._told(began, len(rounds) - 1).means(len(self.record.questions))[0]
        for now in rounds[-1:]:
            self.wanted = self.wanted + now.plan.wanted(len(self.wanted))

    def _told(self, first: int, end: int) -> Scores:
        """Return the scores of plans that are one design."""
        return Scores.joined(one.scores for one in self.record.rounds[first : max(end, 0)])

    def _look(self, scores: Scores, leader: int, there: Truths, failure: float) -> _Look:
        """Return a look at scores; an error if an option does not lead by them as it is said to."""
        fit, rivals = self.record.fit(scores), np.flatnonzero(there & ~self.same(leader))
        rows = self.lead_rows(leader, rivals)
        leads, variances = fit.of_rows(rows)
        if not there[leader] or (leads < -_SAME * math.sqrt(fit.size)).any():
            raise ValueError(f"{self.record.labels[leader]!r} does not lead where it is said to")
        if np.isinf(variances).any():
            raise ValueError("there was a look before all options could be compared")
        winner = Winner(np.maximum(leads, 0.0), fit.factor(rows), *noise(fit))
        return _Look(leader, rivals, winner, failure)

    # ------------------------------------------------------------------ what is stated

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        found = ~self.same(option)
        for look in self.looks:
            if look.leader == option:
                chances = look.winner.chances(-loss / self.unit)
                found[look.rivals[chances <= look.failure * (1.0 + SLACK)]] = False
        return found

    def refuted_leads(self, option: int, null: Floats) -> Floats:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        found = np.zeros(len(null))
        for look in self.looks:
            if look.leader == option:
                for side, upper in ((-1.0, False), (1.0, True)):
                    chances = look.winner.chances(null[look.rivals] / self.unit, upper=upper)
                    found[look.rivals[chances <= 0.5 * look.failure * (1.0 + SLACK)]] = side
        return found

    def refuted(self, rows: Floats, null: Floats) -> Floats:
        """Tell (n,) which numbers rows do not come to.

        Where one looks once, by Student's test at that look; else by evidence of the whole design.
        """
        at, chance, (scatter, freedom) = null / self.unit, self.chance, noise(self.fit)
        said = self.fit.of_rows(rows)
        known = np.isfinite(said.variances) & (said.variances > 0.0)
        if chance == 0.0 or freedom < 1.0:
            return np.zeros(len(rows))
        variances = np.where(known, said.variances, 1.0)
        if self.record.policy.looks == "once":
            unit = 1.0 if math.isinf(freedom) else math.sqrt(scatter / freedom)
            off = -np.abs(said.estimates - at) / (unit * np.sqrt(variances))
            tail = special.ndtr(off) if math.isinf(freedom) else special.stdtr(freedom, off)
            beyond = 2.0 * tail <= chance * (1.0 + SLACK)
        else:
            zeros = np.zeros(len(self.wanted))
            _, whole = Fit.of(self.record.rows, self.wanted, zeros, zeros, True).of_rows(rows)
            planned = 1.0 / np.where(np.isfinite(whole) & (whole > 0.0), whole, variances)
            reading = Reading(said.estimates, known / variances, scatter, freedom)
            beyond = reading.mixed(at, planned) >= math.log(1.0 / chance) - SLACK
        return np.where(known & beyond, np.sign(at - said.estimates), 0.0)


def noise(fit: Fit) -> tuple[float, float]:
    """Return scatter and degrees of freedom; 0 and 0 where residuals are rounding."""
    rounding = math.isfinite(fit.freedom) and fit.scatter <= _REPEATS * fit.size
    return (0.0, 0.0) if rounding else (fit.scatter, fit.freedom)
