"""Whether what `PlannedChoice` states follows from (plan, scores) alone (docs/people.md).

Notation
--------
t       share of the scores of a design that are in;  α(t) the share of δ that is used up by then:
        nine tenths in steps, t² at t = .4, .6, .8 and 1, the last tenth evenly; all of it at t = 1
δ_m     what the m-th look has of δ: δ times what α has grown by
b, p_j  the option that leads at a look, and the chance of its lead over j (`winner`)

Plans to "ask more" go on with a design; any other begins a new one, with what is left of δ after an
answer, and without one with nothing if there was a look. That b loses at most ε is confirmed if for
every j there was a look with p_j(−ε) ≤ δ_m.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.evidence import Reading
from evenhand.campaigns.proof.record import Round
from evenhand.campaigns.proof.squares import Fit, Scores, Truths
from evenhand.campaigns.proof.winner import Winner

_TIMES, _STEADY = (0.4, 0.6, 0.8, 1.0), 0.1
_REPEATS = 1e-24  # share of all squares below which a scatter is rounding
_SAME = 1e-10  # share by which two may differ that tie


class _Look(NamedTuple):
    """A look: the option that led, its rivals and leads, and δ_m."""

    leader: int
    rivals: Indices
    winner: Winner
    failure: float


class Planned(Checker):
    """What the looks at a record show."""

    def prepare(self) -> None:
        """Look at every design as often as was due."""
        record, places, q = self.record, self.places, len(self.record.questions)
        self.looks: list[_Look] = []
        self._told = Scores.of([])  # those of the design
        self._gone = self._used = 0.0
        self._answered: Truths | None = None  # the options that an answer is about
        if any(one.plan.purpose != "ask more" for one in record.rounds[1:]):
            places = set()  # how much of δ an answer has left over, all looks at it tell
        for r, one in enumerate(record.rounds):
            others = self._answered is not None and (self._answered != one.there).any()
            if others or (self._answered is None and one.plan.purpose != "ask more"):
                if self._answered is None and self._used > self._gone:
                    self._used = 1.0  # what later looks would have had, others went on to use
                self._told, self._gone = Scores.of([]), self._used
                self._answered = None
            for n in one.looked if one.plan.number else [0]:
                if self._answered is None and self._used < 1.0:
                    self._look(one, n, not places or (r, n) in places)
            self._wanted = self._told.means(q)[0] + one.plan.wanted(q)
            self._told = Scores.joined([self._told, one.scores])

    @property
    def scores(self) -> Scores:
        """What estimates are made of: the scores of the last design."""
        return self._told

    def _look(self, one: Round, n: int, sufficed: bool) -> None:
        """Use what of δ is due, if the scores that are in compare all options that there are."""
        before = len(self._told.values)
        t = (before + n) / max(before + one.plan.number, 1)
        step = max((time for time in _TIMES if time <= t + 1e-9), default=0.0)
        used, stepped = (1.0 - _STEADY) * step**2 + _STEADY * t, (1.0 - _STEADY) * step**2
        used, stepped = (self._gone + (1.0 - self._gone) * part for part in (used, stepped))
        used = 1.0 if step == 1.0 else used
        scores = Scores.joined([self._told, one.scores.first(n)])
        if used <= self._used or not len(scores.values):
            return
        fit = self.record.fit(scores)
        (there,) = np.nonzero(one.there)
        said = fit.of_rows(self.lead_rows(there[0], there))
        if not np.isfinite(said.variances).all():
            return
        failure, due = self.delta * (used - self._used), self._used < stepped
        self._used = used
        behind = np.where(
            np.abs(said.estimates) <= _SAME * math.sqrt(fit.size), 0.0, said.estimates
        )
        leader = int(there[np.argmax(behind <= behind.min() + _SAME * np.abs(behind).max())])
        rivals = there[~self.same(leader)[there]]
        look = _Look(leader, rivals, self._winner(fit, leader, rivals), failure)
        if sufficed and (look.winner.chances(-self.slack) <= failure * (1.0 + SLACK)).all():
            self._answered = one.there
        if due or self._answered is not None:
            self.looks.append(look)

    def _winner(self, fit: Fit, leader: int, rivals: Indices) -> Winner:
        D = self.record.span.coordinates(self.lead_rows(leader, rivals))
        leads = np.maximum(D @ fit.theta, 0.0)
        return Winner(leads, D @ fit.root, *self._noise(fit))

    def _noise(self, fit: Fit) -> tuple[float, float]:
        """Return scatter and degrees of freedom; 0 and 0 where residuals are rounding."""
        rounding = math.isfinite(fit.freedom) and fit.scatter <= _REPEATS * fit.size
        return (0.0, 0.0) if rounding else (fit.scatter, fit.freedom)

    # ------------------------------------------------------------------ what is stated

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        found = ~self.same(option)
        for look in self.looks:
            if look.leader == option:
                chances = look.winner.chances(-loss / self.unit)
                found[look.rivals[chances <= look.failure * (1.0 + SLACK)]] = False
        return found

    def refuted_leads(self, option: int, null: Floats) -> Truths:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        found = np.isinf(null)
        for look in self.looks:
            if look.leader == option:
                at = np.where(found, 0.0, null)[look.rivals] / self.unit
                sides = [look.winner.chances(at, upper=upper) for upper in (False, True)]
                found[look.rivals[np.minimum(*sides) <= 0.5 * look.failure * (1.0 + SLACK)]] = True
        return found

    def refuted(self, rows: Floats, null: Floats) -> Truths:
        """Tell (n,) which numbers rows do not come to.

        Where one looks once, by Student's test at that look; else by evidence of the whole design.
        """
        everything, chance = np.isinf(null), self.delta * (1.0 - self._gone) * (1.0 + SLACK)
        scatter, freedom = self._noise(self.fit)
        said = self.fit.of_rows(rows)
        known = np.isfinite(said.variances) & (said.variances > 0.0)
        if chance == 0.0 or freedom < 1.0 or not known.any():
            return everything
        variances = np.where(known, said.variances, 1.0)
        null = np.where(everything, 0.0, null) / self.unit
        if self.record.policy.looks == "once":
            if self._used < 1.0:
                return everything
            unit = 1.0 if math.isinf(freedom) else math.sqrt(scatter / freedom)
            off = -np.abs(said.estimates - null) / (unit * np.sqrt(variances))
            tail = special.ndtr(off) if math.isinf(freedom) else special.stdtr(freedom, off)
            return np.asarray(everything | (known & (2.0 * tail <= chance)))
        zeros = np.zeros(len(self._wanted))
        whole = Fit.of(self.record.span, self._wanted, zeros, zeros, True).of_rows(rows).variances
        reading = Reading(said.estimates, known / variances, scatter, freedom)
        planned = 1.0 / np.where(np.isfinite(whole) & (whole > 0.0), whole, variances)
        found = reading.mixed(null, planned) >= math.log(1.0 / chance)
        return np.asarray(everything | (known & found))
