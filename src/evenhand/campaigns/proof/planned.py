"""Whether what `PlannedChoice` states follows from plan and scores (docs/research/one_look.md).

Notation
--------
b, p_j  the option that led at a look, and the chance of its lead over j (`winner`)
t_j     its lead over j, less what that is compared with, in errors; n rivals
c       what the largest of n exceeds with a chance of δ_m (`Winner.largest`)
δ_m     what the m-th look had of δ
ε       the tolerance

The certificate says which looks there were, at which design, and their shares of δ, which may not
add up to more than 1. A look makes b certain if p_j(−ε) ≤ δ_m for all j, or, where ε is large
beside the smallest error of any difference (`_is_wide`), if t_j(−ε) ≥ c for all j. That b loses at
most l is confirmed if for every j there was a look that b led, with t_j(−l) ≥ c (of two options, c
for δ_m/2); or that made b certain, with l ≥ ε or p_j(−l) ≤ δ_m. The lead over j lies within c
errors, c for δ_m/2. With bounds, p_j is Hoeffding's bound times the number of options.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.campaigns.proof.checker import SLACK, Checker
from evenhand.campaigns.proof.evidence import Reading
from evenhand.campaigns.proof.loudness import heard
from evenhand.campaigns.proof.squares import Fit, Scores, Truths
from evenhand.campaigns.proof.winner import Winner

_REPEATS = 1e-24  # share of all squares below which a scatter is rounding
_SAME = 1e-10  # share of all scores below which a lead is rounding
_SAME_OPTION = 1e-12  # share of the largest variance below which two options are one


class _Look(NamedTuple):
    """A look: the option that led, its rivals and leads, and δ_m."""

    leader: int
    rivals: Indices
    winner: Winner | _Bounded
    failure: float
    certain: bool

    def loses_at_most(self, loss: Floats | float, slack: float) -> Truths:
        """Tell (n,) which rivals are better by no more than so much; less than 0 is a lead."""
        found = self.winner.away(-loss) >= self.enough(1 if len(self.rivals) > 1 else 2)
        found &= np.asarray(loss) >= 0.0
        if self.certain:
            known = self.winner.chances(-loss) <= self.failure * (1.0 + SLACK)
            found |= known | (np.asarray(loss) >= slack)
        return np.asarray(found)

    def enough(self, sides: int) -> float:
        """Return c for δ_m on one side, or on either of two."""
        if self.winner.silent:
            return math.inf
        return self.winner.largest(self.failure / sides) * (1.0 - SLACK)


class _Bounded(NamedTuple):
    """Leads by scores between bounds, and the squares of their coefficients, in units of σ."""

    leads: Floats
    squares: Floats
    options: int

    @property
    def silent(self) -> bool:
        """Whether nothing is known of the noise: bounds are known."""
        return False

    def chances(self, null: Floats | float) -> Floats:
        """Return (n,) at most how probable a lead so far above numbers is."""
        off = np.maximum(self.away(null), 0.0)
        return np.asarray(np.minimum(1.0, self.options * np.exp(-0.5 * off * off)))

    def away(self, null: Floats | float) -> Floats:
        """Return (n,) by how many roots of the squares leads are above ``null``."""
        return np.asarray((self.leads - null) / np.sqrt(self.squares))

    def largest(self, failure: float) -> float:
        """Return what the noise of a lead exceeds so rarely that all options' do so together."""
        return math.sqrt(2.0 * math.log(self.options / failure))


class Planned(Checker):
    """What the looks at a record show."""

    def prepare(self) -> None:
        """Take the looks of the certificate, and the scores of the design in force."""
        rounds, shares = self.record.rounds, 0.0
        if self.record.policy.target.top != 1:
            self.confirms, self.leaves = self.confirms[1:], ("which are the best", *self.leaves)
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
        self.fit = self._fit(self._told(began, len(rounds)))
        self.have = self._told(began, len(rounds)).means(len(self.record.loud))[0]
        self.wanted = self._told(began, len(rounds) - 1).means(len(self.record.questions))[0]
        for now in rounds[-1:]:
            self.wanted = self.wanted + now.plan.wanted(len(self.wanted))

    def _told(self, first: int, end: int) -> Scores:
        """Return the scores of plans that are one design."""
        return Scores.joined(one.scores for one in self.record.rounds[first : max(end, 0)])

    def _look(self, scores: Scores, leader: int, there: Truths, failure: float) -> _Look:
        """Return a look at scores; an error if an option does not lead by them as it is said to."""
        fit, rivals = self._fit(scores), np.flatnonzero(there & ~self.same(leader))
        rows = self.lead_rows(leader, rivals)
        leads, variances = fit.of_rows(rows)
        if not there[leader] or (leads < -_SAME * math.sqrt(fit.size)).any():
            raise ValueError(f"{self.record.labels[leader]!r} does not lead where it is said to")
        if np.isinf(variances).any():
            raise ValueError("there was a look before all options could be compared")
        leads = np.maximum(leads, 0.0)
        if self.record.policy.aim.bounded:
            bounded = _Bounded(leads, variances, len(rivals) + 1)
            certain = bounded.chances(-self.slack) <= failure * (1.0 + SLACK)
            return _Look(leader, rivals, bounded, failure, bool(certain.all()))
        scatter, freedom = fit.scatter, fit.freedom
        if fit.vague is not None and self.record.questions.has_arrow_form:
            # variances of two mean scores, each known so well, in that of the lead (Satterthwaite)
            sizes = np.bincount(
                self.record.questions.about[:, 0], self._units(scores)[0] / self.record.loud**2
            )
            of_means = fit.vague / np.maximum(sizes, 1e-4) ** 2
            whole = variances**2 / (of_means[leader] + of_means[rivals])
            scatter = freedom = np.clip(whole, 1.0, fit.most)
        winner = Winner(leads, fit.factor(rows), scatter, freedom)
        look = _Look(leader, rivals, winner, failure, certain=False)
        if _is_wide(winner, self.slack, failure):
            certain = winner.away(-self.slack) >= look.enough(1)
        else:
            certain = winner.chances(-self.slack) <= failure * (1.0 + SLACK)
        return look._replace(certain=bool(certain.all()))

    def _units(self, scores: Scores) -> tuple[Floats, Floats, Floats]:
        """Return counts, means and squares about them; a judge's repeats count as one opinion."""
        counts, means, within = scores.means(len(self.record.loud))
        asked = self.record.questions
        if self.record.policy.judges_too and len(asked.evaluators) > 1:
            again = (counts > 1.0) & (asked.evaluator >= 0)
            counts, within = np.where(again, 1.0, counts), np.where(again, 0.0, within)
        return counts, means, within

    def _fit(self, scores: Scores) -> Fit:
        """Return least squares with the noise of each option, or with that which is known."""
        told = self._units(scores)
        fit = Fit.of(self.record.rows, *told, self.record.noise is not None)
        if math.isinf(fit.freedom):
            return fit
        if fit.freedom < 1.0 or fit.scatter <= _REPEATS * fit.size:
            return replace(fit, scatter=0.0, freedom=0.0)
        about = np.unique(self.record.questions.about, axis=0, return_inverse=True)[1].reshape(-1)
        return heard(fit, self.record.rows, *told, about)

    # ------------------------------------------------------------------ what is stated

    def unrefuted(self, option: int, loss: float) -> Truths:
        """Tell (k,) which options may be better than one by more than a loss."""
        found = ~self.same(option)
        for look in self.looks:
            if look.leader == option:
                found[look.rivals[look.loses_at_most(loss / self.unit, self.slack)]] = False
        return found

    def refuted_leads(self, option: int, null: Floats) -> Floats:
        """Tell (k,) which numbers the leads of an option over all others are not."""
        found = np.zeros(len(null))
        for look in self.looks:
            if look.leader == option:
                at = null[look.rivals] / self.unit
                off = look.winner.away(at)
                beyond = np.abs(off) >= look.enough(2)
                found[look.rivals[beyond]] = -np.sign(off[beyond])
                if look.certain:
                    below = (at <= 0.0) & look.loses_at_most(-at, self.slack)
                    found[look.rivals[below]] = -1.0
        return found

    def refuted(self, rows: Floats, null: Floats) -> Floats:
        """Tell (n,) which numbers rows of values do not come to."""
        return self._refuted(rows, null, self.fit.pooled)

    def refuted_biases(self, null: Floats) -> Floats:
        """Tell (n,) which numbers the biases are not."""
        return self._refuted(self.record.bias_rows, null, None)

    def _refuted(self, rows: Floats, null: Floats, pooled: Fit | None) -> Floats:
        """Tell (n,) which numbers rows do not come to, by no less than a noise of all."""
        # Where one looks once, by Student's test at that look; else by evidence of the whole
        # design. With bounds by Hoeffding's, at n scores with a share of 1/n(n + 1).
        at, chance = null / self.unit, self.chance
        scatter, freedom = self.fit.scatter, self.fit.freedom
        said = self.fit.of_rows(rows)
        known = np.isfinite(said.variances) & (said.variances > 0.0)
        if chance == 0.0 or freedom < 1.0:
            return np.zeros(len(rows))
        variances = np.where(known, said.variances, 1.0)
        once = self.record.policy.looks == "once"
        if self.record.policy.aim.bounded:
            n = float(self.have.sum())
            off = (said.estimates - at) ** 2 / variances
            share = 1.0 if once else n * (n + 1.0)
            beyond = math.log(2.0 * share / chance) - 0.5 * off <= SLACK
        elif once:
            unit = 1.0 if math.isinf(freedom) else scatter / freedom
            noisy, nu = unit * variances, np.full(len(rows), freedom)
            if pooled is not None:
                alike = pooled.of_rows(rows).variances * pooled.scatter / pooled.freedom
                nu[noisy <= alike] = math.sqrt(freedom * pooled.freedom)
                noisy = np.maximum(noisy, np.where(known, alike, 1.0))
            off = -np.abs(said.estimates - at) / np.sqrt(noisy)
            tail = np.where(np.isinf(nu), special.ndtr(off), special.stdtr(nu, off))
            beyond = 2.0 * tail <= chance * (1.0 + SLACK)
        else:
            zeros = np.zeros(len(self.wanted))
            _, whole = Fit.of(self.record.rows, self.wanted, zeros, zeros, True).of_rows(rows)
            _, so_far = Fit.of(self.record.rows, self.have, zeros, zeros, True).of_rows(rows)
            more = np.isfinite(so_far) & (whole > 0.0)
            planned = np.where(more, so_far / np.where(more, whole, 1.0), 1.0) / variances
            reading = Reading(said.estimates, known / variances, scatter, freedom)
            beyond = reading.mixed(at, planned) >= math.log(1.0 / chance) - SLACK
        return np.where(known & beyond, np.sign(at - said.estimates), 0.0)


def _is_wide(winner: Winner, slack: float, failure: float) -> bool:
    """Tell whether a tolerance is large: δ·P(T > t) ≤ P(T > c), t is ε if b is just certain."""
    # That is ε over the smallest error of any difference, e, on the scale of the winner test, given
    # Q = ν + c²: e/√(1 + (c² − e²)/ν).
    n, nu = len(winner.leads), float(np.min(winner.freedom, initial=math.inf))
    if slack <= 0.0 or winner.silent or n <= 2:
        return slack > 0.0 and n > 0 and not winner.silent
    far = winner.variances
    apart = np.append(far, far[:, None] + far - 2.0 * winner.factor @ winner.factor.T)
    apart = apart[apart > _SAME_OPTION * far.max()]
    unit = 1.0 if math.isinf(nu) else float(np.max(winner.scatter / winner.freedom))
    e, c = slack / math.sqrt(unit * float(apart.min())), winner.largest(failure)
    if math.isinf(nu):
        return e >= c or failure * float(special.ndtr(-e)) <= float(special.ndtr(-c))
    t = e if e >= c else e / math.sqrt(1.0 + (c * c - e * e) / nu)
    return e >= c or failure * float(special.stdtr(nu, -t)) <= float(special.stdtr(nu, -c))
