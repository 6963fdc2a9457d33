"""What is certain after one look at planned scores, or after looks that were fixed before them.

Notation
--------
N, n        scores of a design that are planned, and that are in;  t = n/N
b           the option that leads by all that are in;  p_j the chances of `Winner` for its rivals j
δ           1 − confidence;  α(t) the share of δ that is used up by then
δ_m         what the m-th look has of δ: δ times what α has grown by since the look before

Why it holds
------------
What is asked was fixed before its first score, so the scores that are in at a look are those of a
fixed design with fresh noise. p_j < δ_m for all rivals j makes b certain. That is wrong only if the
best option, one j, has p_j < δ_m although b is worse, and whichever b leads this has a probability
of δ_m at most (`winner`): there is no factor for the number of options. When one looks, and what
each look has of δ, is fixed by counts of scores alone (`record`), so all looks together are wrong
with a probability of δ at most. Nothing else is asked of the looks: the noise may be known or not,
and where scores lie between bounds that were stated the chances are those of `BoundedLeads`. With a
tolerance, comparisons with the best (`winner`) take the place of p_j where they are the stronger
test; they also say what b loses at most. docs/research/one_look.md has the proofs.

Plans that are one design
-------------------------
A plan to "ask more" goes on with the design of the plan before it: options, evaluators or answers
were added, for a reason that is not in the scores. One that asks nothing says that no more scores
can come, and then all that is left of δ is for the look at those that did.

Any other plan begins a new design, of its own scores alone: what came before may be why it was
made. After an answer, about options to which others were added, it has what is left of δ; so each
answer is wrong with a probability of δ at most, given all that came before. Without an answer
nothing is left once there was a look: what later looks would have had is used by those who, being
hopeful, went on to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.certainty.aim import Aim
from evenhand.certainty.alike import fitted
from evenhand.certainty.line import Errors
from evenhand.certainty.look import (
    Look,
    difference_by,
    intervals_by,
    leading,
    leads_by,
    plain_intervals,
    rounding,
    told_apart,
)
from evenhand.certainty.models import Fit, Spread, in_pairs
from evenhand.certainty.record import Record
from evenhand.certainty.winner import bounded_intervals
from evenhand.numerics.intervals import planned_interval
from evenhand.policies.messages import Feedback, nothing

TIMES = (0.4, 0.6, 0.8, 1.0)  # shares of the scores at which α grows by a step, to t²,
STEADY = 0.1  # and the share of δ that is used with every look


def used_by(t: float) -> tuple[float, float]:
    """Return α(t), and how much of it is there by steps."""
    stepped = (1.0 - STEADY) * max((time for time in TIMES if time <= t), default=0.0) ** 2
    return stepped + STEADY * t, stepped


@dataclass(frozen=True, eq=False)
class Said:
    """What the looks so far have said."""

    before: Feedback  # scores of plans before the one in force that belong to the same design
    began: int = 0  # the first plan of that design
    used: float = 0.0  # share of δ that was used up by now,
    gone: float = 0.0  # and before the design began
    # at which α had grown by a step, and those that made an option certain
    looks: tuple[Look, ...] = ()
    answer: int | None = None  # the option that is certain among those that there were


class OneLook:
    """What a record of planned scores, which may grow, says; every look is worked out once."""

    def __init__(
        self, aim: Aim, record: Record, judges_too: bool = True, corrects: bool = False
    ) -> None:
        self.aim, self.record = aim, record
        self.judges_too, self.corrects = judges_too, corrects
        alone = aim.same(0).all()  # one option, or all of them alike
        self._said = Said(nothing(record.q), answer=0 if alone else None)
        self._seen = 0, 0  # plans, and looks at the last of them
        self._fitted: tuple[tuple[int, int], Fit] | None = None

    # ------------------------------------------------------------------ looks

    def said(self) -> Said:
        """Return what the looks so far have said."""
        for r in range(max(0, self._seen[0] - 1), len(self.record.rounds)):
            if r >= self._seen[0]:
                self._begin(r)
                self._seen = r + 1, 0
            round_ = self.record.rounds[r]
            for count, told in round_.looks(self._seen[1]):
                self._look(r, count, told)
            self._seen = r + 1, len(round_.blocks)
        return self._said

    @property
    def certain(self) -> int | None:
        """The option that is certain among all that there are now; None if none is."""
        answer = self.said().answer
        return answer if self._stands(len(self.record.rounds)) else None

    def _stands(self, r: int) -> bool:
        """Tell whether there is an answer, and plan r has no options that it is not about."""
        said = self._said
        if said.answer is None or not said.looks:
            return said.answer is not None
        return len(self._options(said.looks[-1].plan)) == len(self._options(r))

    def _options(self, r: int) -> Indices:
        """Return the options that there were for plan r; all of them for a plan to come."""
        among = self.record.rounds[r].plan.among if r < len(self.record.rounds) else None
        return np.arange(len(self.aim.questions.options)) if among is None else among

    def _begin(self, r: int) -> None:
        """Go on with the design of the plans before plan r, or begin a new one with it."""
        said, plan = self._said, self.record.rounds[r].plan
        if r == 0:
            return
        if self._stands(r) or (plan.purpose == "ask more" and said.answer is None):
            before = said.before + self.record.rounds[r - 1].total
            self._said = replace(said, before=before)
        else:
            unseen = said.used == said.gone  # nobody looked at the design before this one
            gone = said.used if unseen or said.answer is not None else 1.0
            self._said = Said(nothing(self.record.q), r, used=gone, gone=gone, looks=said.looks)
        if plan.number == 0:
            self._look(r, 0, nothing(self.record.q))

    def _look(self, r: int, count: int, told: Feedback) -> None:
        """Use the share of δ that is due to see whether the leader is certain."""
        said = self._said
        n = int(said.before.counts.sum())
        if said.answer is not None or said.used >= 1.0 or n + count == 0:
            return
        share = (n + count) / (n + self.record.rounds[r].plan.number)
        used, stepped = (said.gone + (1.0 - said.gone) * part for part in used_by(share))
        if share == 1.0:
            used = stepped = 1.0
        if used <= said.used:
            return
        told, among = said.before + told, self._options(r)
        fit = self._fit_of(told, r, count)
        leader = leading(fit, among, self._rounding(told))
        if leader is None:
            return  # by what was asked, not by what was answered: δ is kept for later looks
        look = self._look_at(fit, leader, among, self.aim.delta * (used - said.used))
        look = replace(look, began=said.began, plan=r, count=count, share=share)
        kept = look.certain or said.used < stepped
        self._said = replace(
            said,
            used=used,
            looks=(*said.looks, look) if kept else said.looks,
            answer=leader if look.certain else None,
        )

    def _look_at(self, fit: Fit, leader: int, among: Indices, failure: float) -> Look:
        rivals = among[~self.aim.same(leader)[among]]
        return Look.at(fit, leader, rivals, self.aim.slack, failure, self.aim.bounded)

    # ------------------------------------------------------------------ what else is said

    @property
    def unit(self) -> float:
        """σ, or 1 where it is not known: what estimates of a fit are in units of."""
        return self.aim.noise or 1.0

    def _rounding(self, told: Feedback) -> float:
        return rounding(told, self.unit, self.aim.grain)

    @property
    def told(self) -> Feedback:
        """All scores of the design in force."""
        before, now = self.said().before, self.record.now
        return before if now is None else before + now.total

    @property
    def fit(self) -> Fit:
        """Least squares on them, with each option's own noise."""
        now = self.record.now
        return self._fit_of(self.told, len(self.record.rounds) - 1, 0 if now is None else now.count)

    def _fit_of(self, told: Feedback, r: int, count: int) -> Fit:
        if self._fitted is None or self._fitted[0] != (r, count):
            units = counted(self.aim, told, self.judges_too)
            self._fitted = (r, count), fitted(self.aim, told, units, self.corrects)
        return self._fitted[1]

    @property
    def silent(self) -> bool:
        """Whether nothing scatters, or nothing is left over that could."""
        return self.fit.freedom < 1.0

    @property
    def agree(self) -> bool:
        """Whether nothing scatters although something is left over that could."""
        units = counted(self.aim, self.told, self.judges_too)
        return self.silent and self.aim.model.fit(units, self.aim.noise).freedom >= 1.0

    @property
    def leader(self) -> int | None:
        """The option that leads by all scores; None while not all can be compared."""
        everybody = self._options(len(self.record.rounds))
        return leading(self.fit, everybody, self._rounding(self.told))

    def now(self, leader: int) -> Look:
        """Return what a look at all scores would see, if there were one."""
        everybody = self._options(len(self.record.rounds))
        return self._look_at(self.fit, leader, everybody, self.chance)

    def leads(self, option: int) -> tuple[Floats, Floats]:
        """Return (k, 3) the leads of an option with intervals, and (k,) what they are at least."""
        found, told = self.fit.leads(option, self._options(len(self.record.rounds))), self.told
        estimates = told_apart(found.estimates, self._rounding(told))
        if not np.isfinite(found.variances).all():
            estimates = np.full(len(estimates), np.nan)
        leads, least = leads_by(self.said().looks, option, estimates, self.aim.same(option))
        return leads * self.unit, least * self.unit

    @property
    def chance(self) -> float:
        """What of δ the looks at the design in force have."""
        return self.aim.delta * (1.0 - self.said().gone)

    def values(self, neutral: Floats, once: bool) -> Floats:
        """Return (k, 3) values with their intervals, each by itself; see `intervals`."""
        found = self.intervals(lambda fit: fit.values(neutral), once)
        if not once or self.aim.bounded:
            return found
        failure = self.chance if self.said().used >= 1.0 else 0.0
        errors = Errors.of(self.fit, neutral, like=self.judges_too).times(self.unit)
        return intervals_by(found[:, 0], errors, failure)

    def intervals(self, what: Callable[[Fit], Spread], once: bool) -> Floats:
        """Return (n, 3) estimates with intervals, each by itself, of what no score selected, that
        hold at one look (``once``) or at all times.
        """
        # Between bounds, of any n scores with a share of 1/n(n + 1) of the chance, which add up to
        # 1.
        told, fit = self.told, self.fit
        found, noise = what(fit), (fit.scatter, fit.freedom)
        found = found._replace(estimates=told_apart(found.estimates, self._rounding(told)))
        failure = self.chance if self.said().used >= 1.0 else 0.0
        if self.aim.bounded:
            n = float(told.counts.sum())
            failure = failure if once else self.chance / max(n * (n + 1.0), 1.0)
            return bounded_intervals(found, failure) * self.unit
        if once:
            return plain_intervals(found, noise, failure) * self.unit
        ends = plain_intervals(found, noise, 0.0)
        known = np.isfinite(ends[:, 0]) & (fit.freedom >= 1.0) & (self.chance > 0.0)
        more = self._to_come(what)
        for i in np.flatnonzero(known).tolist():
            J = 1.0 / float(found.variances[i])
            ends[i, 1:] = planned_interval(
                float(ends[i, 0]), J, *noise, J * float(more[i]), self.chance
            )
        return ends * self.unit

    def difference(self, a: int, b: int, once: bool) -> Floats:
        """Return (4,) as `difference_by` does; where one looks always it holds at all times."""
        if once:
            failure = self.chance if self.said().used >= 1.0 else 0.0
            return difference_by(self.fit, a, b, failure) * self.unit
        both = self.intervals(lambda fit: fit.leads(a, np.array([b])), once)[0]
        return np.append(both, both[1])

    def _to_come(self, what: Callable[[Fit], Spread]) -> Floats:
        """Return (n,) how many times as much the whole design tells as the scores so far do."""
        now, zeros = self.record.now, np.zeros(self.record.q)
        planned = self.said().before.counts + (0 if now is None else now.plan.wanted(self.record.q))
        model = self.aim.model
        so_far, whole = (
            what(model.fit(Feedback(counts, zeros, zeros), 1.0)).variances
            for counts in (self.told.counts, planned)
        )
        known = (whole > 0.0) & np.isfinite(so_far)
        return np.where(known, so_far / np.where(known, whole, 1.0), 1.0)


def counted(aim: Aim, told: Feedback, judges_too: bool) -> Feedback:
    """Return scores as they count: for other judges, what one says again is no further opinion."""
    return in_pairs(aim.questions, told) if judges_too else told
