"""What `CertainChoice` may say, by the stages of a record (docs/certainty.md has the proof).

Notation
--------
i           the leader of a stage;  x its rivals, frozen with it
E_x         evidence of a stage against 'x is better than i by more than the tolerance'
W_x         product over stages; x is out for good once W_x E_x ≥ 1/δ
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.campaigns.proof.asked import Counts, Floats, Indices, Named, Truths
from evenhand.campaigns.proof.evidence import (
    Reading,
    are_rounding,
    first_beyond,
    interval,
    log_evidence,
    most_evidence,
    one_sided,
    planned_interval,
)
from evenhand.campaigns.proof.record import Change, Derived, Plan, Record, first_largest
from evenhand.campaigns.proof.squares import Fit, Spread, Sums, helped
from evenhand.campaigns.proof.walk import walk

_FIRST = 0.1  # share of δ for what the first stage alone says of biases
_ROUNDED = 1e-5  # of the scores: below that, what differs is rounding
_SAME = 1e-6  # share by which what a plan states may differ from what follows
_CLOSE = 1e-3  # evidence so close to what is needed may fall on either side of it
_AHEAD = 64  # candidates that are weighed at once


@dataclass(eq=False)
class _Stage:
    """A stage: what was frozen, and which evaluations it has."""

    leader: int
    rivals: Indices
    begin: int
    end: int
    whole: bool
    before: Fit  # by which it was planned
    now: Fit  # likewise, without what was withdrawn since


class Certain:
    """The stages of a record, gone through once.

    Parameters
    ----------
    record
        What was asked, answered and planned.
    """

    def __init__(self, record: Record) -> None:
        self.record, self.asked = record, record.asked
        k = len(self.asked.labels)
        self.unit = record.noise_scale or 1.0
        self.known = record.noise_scale is not None
        self.bounded = record.settings.get("bounds") is not None
        self.tolerance = float(record.setting("tolerance", 0.0))
        self.slack = self.tolerance / self.unit
        self.scale = float(np.abs(record.scores).max(initial=0.0)) / self.unit
        self.enough = math.log(1.0 / record.delta)
        self.H = self.asked.span.coordinates(self.asked.options)
        self.wealth, self.gains = np.zeros(k), np.zeros((k, k))
        self.rejected: Truths = np.zeros(k, dtype=np.bool_)
        self.cleared: Truths = np.zeros((k, k), dtype=np.bool_)
        self.among: Truths = np.ones(k, dtype=np.bool_)  # the options that there are
        self.same = np.array([self.asked.same(x) for x in range(k)])
        self.answer: int | None = None if len(self._open(0)) else 0
        self.answered_at = 0 if self.answer is not None else -1
        self.stages: list[_Stage] = []  # those that were closed, and had evaluations
        self.present: _Stage | None = None  # the last, if it was not closed
        self.stuck = False
        self.close: list[str] = []
        self.wrong: list[str] = []  # what the record states and does not follow from it
        self._go_through()
        self.among[:] = True

    # ------------------------------------------------------------------ one pass

    def _go_through(self) -> None:
        plans = [plan for plan in self.record.plans if not plan.goes_on]
        number, begin = 0, plans[0].at if plans else 0
        while number < len(plans):
            plan, following = plans[number], None
            if number + 1 < len(plans):
                following = plans[number + 1]
                self._see_why_it_ended(plan, following)
            stage = self._stage(plan, following, begin)
            self._look(stage)
            some = len(self.record.told(stage.begin, stage.end))
            if self.answer is None and stage.whole:
                self.stages += [stage] if some else []
                self._see_whether_all_are_out(stage.end)
            if self.answer is None:
                number, begin = number + 1, stage.end
                self.present = None if stage.whole else stage
                continue
            stage.end, self.present = self.answered_at, stage
            more = self._reopened(following)
            if more is None:
                return
            # others came since: that stage counts no more, and nothing is tested until the next
            self.answer, self.present, begin = None, None, more.at
            while number < len(plans) and plans[number].since < more.event:
                number += 1
            if number < len(plans):
                fit, end = self.record.fit_of(self.record.counted(0, begin)), plans[number].at
                gap = _Stage(-1, np.zeros(0, dtype=np.intp), begin, end, True, fit, fit)
                self.stages += [gap] if len(self.record.told(begin, gap.end)) else []
                begin = gap.end
        last = self.present
        empty = last is not None and last.leader < 0 and not len(plans[-1].content["order"])
        self.stuck = empty and self.answer is None

    def _stage(self, plan: Plan, following: Plan | None, begin: int) -> _Stage:
        """Return the stage of a plan, with the evaluations from ``begin`` on."""
        whole_at = end = -1 if following is None else following.at
        if following is None:
            whole_at = self._whole_at(plan)
            end = min(whole_at, self.record.total)
        leader, rivals = int(plan.content["leader"]), plan.content["rivals"]
        fits = self._before(plan)
        stage = _Stage(leader, np.array(rivals, dtype=np.intp), begin, end, end == whole_at, *fits)
        self.among = self._there(following.since if following is not None else math.inf)
        return stage

    def _reopened(self, following: Plan | None) -> Change | None:
        """Return the first extension after an answer that had options to compare it with."""
        assert self.answer is not None
        others = {name for x, name in enumerate(self.asked.labels) if not self.same[self.answer, x]}
        at = self.answered_at
        since = 0 if following is None or at < following.at else following.since
        for change in self.record.extensions:
            later = change.at > at or (change.at == at and change.event >= since)
            if later and others.intersection(change.absent):
                return change
        return None

    def _there(self, event: float) -> Truths:
        """Tell which options there were after an event."""
        later = [change.absent for change in self.record.extensions if change.event > event]
        return ~np.isin(self.asked.labels, [name for names in later for name in names])

    def _see_why_it_ended(self, plan: Plan, following: Plan) -> None:
        """See that a stage was closed where it had to be, by what was known when that was written.

        It was whole; or somebody left or joined; or there was more to ask; or scores were observed
        before any answer, which open a search as well as a first stage does. Where something had
        been withdrawn by then, the record is believed.
        """
        record = self.record
        gone = record.withdrawn[record.withdrawn >= 0]
        if not following.event or (gone < following.event).any():
            return  # or there is no log
        events = [c.event for c in (*record.absences, *record.extensions)]
        as_of, opening = following.event, int(plan.content["leader"]) < 0
        if opening and not len(record.told(plan.at, following.at, as_of)):
            events += [c.event for c in record.imports]
        if following.since not in events and self._whole_at(plan, as_of) != following.at:
            self.wrong.append(f"the plan that was in force from {following.at} evaluations on")

    def _before(self, plan: Plan) -> tuple[Fit, Fit]:
        """Return what was known when a plan was made, and that without what was withdrawn since.

        The record says what was expected; that must follow from what counted when it was written.
        """
        there = np.flatnonzero(self._there(plan.since))
        then, now = (
            self._pooled(self.record.counted(0, plan.at, as_of), there)
            for as_of in (plan.event, None)
        )
        answered = plan.content.get("answer") is not None  # then nothing more is tested
        if not answered and self._off(plan, then) > _SAME:
            self.wrong.append(f"what was expected of the stage at {plan.at} evaluations")
        return then, now

    def _pooled(self, some: Indices, there: Indices) -> Fit:
        """Return least squares on some evaluations, which features of options may help."""
        record, asked = self.record, self.asked
        fit = record.fit_of(some)
        if asked.known is None or not asked.alone or not len(some):
            return fit
        deviation = record.settings.get("deviation")
        if deviation is not None:
            deviation = max(float(deviation), 1e-6 * fit.unit) / self.unit
        return helped(fit, self.H[there], asked.known[there], deviation)

    def _off(self, plan: Plan, fit: Fit) -> float:
        """Return by which share what a plan expected differs from a fit."""
        stated, leader = plan.content.get("expected"), int(plan.content["leader"])
        if stated is None or leader < 0:
            return 0.0
        rivals = np.array(plan.content["rivals"], dtype=np.intp)
        said = fit.along(self.H[leader] - self.H[rivals])
        leads, variances = (np.array(stated[n], dtype=np.float64) for n in ("leads", "variances"))
        if leads.shape != rivals.shape or not np.isfinite(said.variances).all():
            return math.inf
        least = _ROUNDED * self.scale  # below that, scores that are all alike leave rounding
        sizes = np.maximum(np.sqrt(said.variances) * fit.unit, np.abs(said.estimates))
        shares = [
            np.abs(leads - said.estimates) / np.maximum(sizes, least),
            np.abs(variances - said.variances) / said.variances,
            # of noise, policies have sums of squares alone: half of the digits may have cancelled
            np.array([abs(float(stated["unit"]) - fit.unit) / max(fit.unit, self.scale)]),
        ]
        return float(np.concatenate(shares).max())

    def _whole_at(self, plan: Plan, as_of: int | None = None) -> int:
        """Return how many evaluations were in when a stage was whole; more than all if it is not.

        What cannot be asked any more is not waited for, nor what others have made up for. What was
        withdrawn later than ``as_of`` was there then.
        """
        record, asked = self.record, self.asked
        order = np.array(plan.content["order"], dtype=np.intp)
        q = asked.rows.shape[0]
        wanted = int(plan.content.get("times", 1)) * np.bincount(order, minlength=q)
        never = record.total + 1
        some = record.told(plan.at, record.total, as_of)
        needed = np.flatnonzero(wanted)
        if not len(needed):  # whatever comes ends it
            return record.look_after(int(some[0]) + 1) if len(some) else never
        by = np.argsort(record.questions[some], kind="stable")
        starts = np.searchsorted(record.questions[some][by], np.arange(q + 1))
        places = np.full(q, never)
        enough = starts[1:] - starts[:-1] >= wanted
        full = enough & (wanted > 0)
        places[full] = some[by[starts[:-1][full] + wanted[full] - 1]] + 1
        late = needed[~enough[needed]]
        if len(late):
            places[late] = [self._used_up(int(x), as_of) for x in late]
        done = int(places[needed].max())
        at = record.look_after(done) if done <= record.total else -1
        return self._made_up_for(plan, wanted, at if at >= 0 else never, as_of)

    def _made_up_for(self, plan: Plan, wanted: Counts, whole: int, as_of: int | None) -> int:
        """Return when a stage told as much as it was planned to by evaluations beyond the plan.

        That is, leads were as precise, and a start knew as many: a matter of counts alone. Once it
        is so it stays so, which is why it can be searched for. ``whole`` if it never was before.
        """
        record, q = self.record, len(wanted)
        looks = record.looks[(record.looks > plan.at) & (record.looks < whole)].tolist()

        def there(look: int) -> Indices:
            return record.questions[record.told(plan.at, look, as_of)]

        def has_more(look: int) -> bool:
            some = there(look)
            counts = np.bincount(some, minlength=q)
            return bool((counts > wanted).any()) and len(some) >= wanted.sum()

        if record.stated.get("rules", 1) < 2 or not looks or not has_more(looks[-1]):
            return whole  # the first records waited for all that was planned
        planned, freedom = self._told_by(np.repeat(np.arange(q), wanted), plan)

        def enough(look: int) -> bool:
            if not has_more(look):
                return False
            variances, heard = self._told_by(there(look), plan)
            return bool((variances <= planned * (1.0 + _SAME)).all()) and heard >= freedom

        at = bisect.bisect_left(looks, True, key=enough)
        return int(looks[at]) if at < len(looks) else whole

    def _told_by(self, questions: Indices, plan: Plan) -> tuple[Floats, float]:
        """Return the variances of the leads that a stage is for, by the questions asked alone.

        Of a start, only whether they are known; and degrees of freedom.
        """
        leader, H = int(plan.content["leader"]), self.H
        none = Sums.of(questions, np.zeros(len(questions)), self.asked.rows.shape[0])
        fit = Fit.of(self.asked, none, self.known)
        if leader >= 0:
            rivals = np.array(plan.content["rivals"], dtype=np.intp)
            return fit.along(H[leader] - H[rivals]).variances, fit.freedom
        first = H[int(plan.content.get("first", 0))]  # of the options that there were then
        known = np.isfinite(fit.along(first - H[self._there(plan.since)]).variances)
        return np.where(known, 1.0, np.inf), fit.freedom

    def _used_up(self, question: int, as_of: int | None) -> int:
        """Return how many evaluations were in when a question could not be asked any more."""
        record, asked = self.record, self.asked
        never, who = record.total + 1, int(asked.evaluator[question])
        some = record.counted(0, record.total, as_of)

        def reached(of: Truths, limit: int) -> int:
            times = some[of]
            if limit < 0 or len(times) < limit:
                return never
            return 0 if limit == 0 else int(times[limit - 1]) + 1

        questions = record.questions[some]
        found = reached(questions == question, int(asked.capacity[question]))
        if who < 0:
            return found
        found = min(found, reached(asked.evaluator[questions] == who, int(asked.workload[who])))
        name = asked.evaluators[who]
        if name in record.absent(record.total):
            found = min(found, max(c.at for c in record.absences if name in c.absent))
        return found

    def _fit_of(self, stage: _Stage) -> Fit:
        return self.record.fit_of(self.record.told(stage.begin, stage.end))

    # ------------------------------------------------------------------ looks

    def _prior(self, leader: int, options: Indices, before: Fit) -> tuple[Spread, Floats, Floats]:
        """Return what was expected of leads over options, and the prior of their effects."""
        expected = before.along(self.H[leader] - self.H[options])
        known = np.isfinite(expected.variances) & (expected.variances > 0.0)
        spreads = np.sqrt(np.where(known, expected.variances, 1.0))
        heard, unit = max(1.0, before.freedom), before.unit
        return expected, *one_sided(expected.estimates, spreads, unit, heard, -self.slack)

    def _look(self, stage: _Stage) -> None:
        """Look after every evaluation of a stage, or at its end only where scores are bounded."""
        if stage.leader < 0:
            return
        some = self.record.told(stage.begin, stage.end)
        rivals, leader = stage.rivals, stage.leader
        expected, effects, logs = self._prior(leader, rivals, stage.before)
        heard = np.isfinite(expected.variances)
        D = self.H[leader] - self.H[rivals]
        wealth = (self.wealth + self.gains[leader])[rivals]
        if not self.bounded:
            first = self._first_times(stage, some, D, heard, effects, logs, wealth)
            self._take_out(leader, rivals, first, some)
        if stage.whole and self.answer is None:
            self._close_with(stage)

    def _first_times(
        self,
        stage: _Stage,
        some: Indices,
        D: Floats,
        heard: Truths,
        effects: Floats,
        logs: Floats,
        wealth: Floats,
    ) -> Counts:
        """Return (n,) after how many evaluations of the stage a rival is out; −1 if it stays."""
        record, n = self.record, len(D)
        first, best = np.full(n, -1), np.full(n, -np.inf)
        questions, scores = record.questions[some], record.units[some]
        # of evaluations that were learnt together, the last
        looked = np.diff(np.searchsorted(record.looks, some + 1), append=-1) != 0
        sizes = np.cumsum(scores**2)
        for stretch in walk(self.asked, questions, scores, D, self.known, looked):
            open_ = np.flatnonzero((first < 0) & heard)
            if not len(open_):
                break
            for x in open_.tolist():
                beta = stretch.estimates[:, x] + self.slack
                J, R, nu = stretch.information[:, x], stretch.scatter, stretch.freedom
                if not self.known:
                    size = sizes[stretch.places - 1]
                    J = np.where(are_rounding(stretch.estimates[:, x], J, R, size), 0.0, J)
                most = wealth[x] + most_evidence(beta, J, R, nu)
                there = looked[stretch.places - 1]
                (maybe,) = np.nonzero(there & (most >= self.enough - _CLOSE) & (J > 0.0))
                for begin in range(0, len(maybe), _AHEAD):
                    at = maybe[begin : begin + _AHEAD]
                    prior = np.tile(effects[x], (len(at), 1)), np.tile(logs[x], (len(at), 1))
                    had = wealth[x] + log_evidence(beta[at], J[at], R[at], nu[at], *prior)
                    best[x] = max(best[x], float(had.max()))
                    (out,) = np.nonzero(had >= self.enough)
                    if len(out):
                        first[x] = int(stretch.places[at[out[0]]])
                        best[x] = float(had[out[0]])
                        break
        near = np.abs(best - self.enough) <= _CLOSE
        for x in np.flatnonzero(near).tolist():
            rival = self.asked.labels[int(stage.rivals[x])]
            self.close.append(f"the evidence against {rival!r} in the stage at {stage.begin}")
        return first

    def _take_out(self, leader: int, rivals: Indices, first: Counts, some: Indices) -> None:
        """Take rivals out in the order in which the evidence was enough, until none is left."""
        out = self.cleared[leader] if self.slack else self.rejected
        among = self.among
        for place in np.unique(first[first >= 0]).tolist():
            out[rivals[first == place]] = True
            at = self.record.look_after(int(some[place - 1]) + 1)
            added = [c.event for c in self.record.extensions if c.at >= at]
            self.among = among if not added else self._there(min(added) - 1)
            if self.answer is None and not len(self._open(leader)):
                self.answer, self.answered_at = leader, at
        self.among = among

    def _close_with(self, stage: _Stage) -> None:
        """Add the evidence of a whole stage to that before it."""
        leader, rivals = stage.leader, stage.rivals
        fit = self._fit_of(stage)
        expected, effects, logs = self._prior(leader, rivals, stage.before)
        said = Reading.of(fit, fit.along(self.H[leader] - self.H[rivals]), stage.before, expected)
        plain = self._weighed(said, effects, logs, 0.0)
        eased = self._weighed(said, effects, logs, -self.slack)
        if self.bounded:
            out = self.cleared[leader] if self.slack else self.rejected
            had = (self.wealth + self.gains[leader])[rivals] + eased
            out[rivals[had >= self.enough]] = True
            if not len(self._open(leader)):
                self.answer, self.answered_at = leader, stage.end
        self.wealth[rivals] += plain
        self.gains[leader, rivals] += eased - plain
        if self.slack:
            self.rejected |= self.wealth >= self.enough

    def _weighed(self, said: Reading, effects: Floats, logs: Floats, null: float) -> Floats:
        return log_evidence(
            said.estimates - null, said.information, said.scatter, said.freedom, effects, logs
        )

    def _see_whether_all_are_out(self, end: int) -> None:
        """See whether the option that leads when a stage is whole has no rival left."""
        there = np.flatnonzero(self.among)
        leader = self._leading(self._pooled(self.record.counted(0, end), there))
        if not len(self._open(leader)):
            self.answer, self.answered_at = leader, end

    def _open(self, leader: int) -> Indices:
        out = self.same[leader] | self.rejected | self.cleared[leader]
        return np.flatnonzero(self.among & ~out)

    def _leading(self, fit: Fit) -> int:
        said = fit.along(self.H[0] - self.H)
        return first_largest(-said.estimates, self.among & ~self.rejected, self.scale)

    # ------------------------------------------------------------------ what follows

    @property
    def over(self) -> bool:
        """Whether no more is asked that would count."""
        done = self.answer is not None or self.stuck
        return done or self._spent_all or self._broke

    @property
    def _spent_all(self) -> bool:
        record = self.record
        return len(record.told(0, record.total)) >= record.at_most(record.total)

    @property
    def _broke(self) -> bool:
        """Whether the budget pays for nothing of what is still to be asked."""
        record, asked = self.record, self.asked
        budget = record.settings.get("budget")
        if budget is None or not record.plans:
            return False
        plan = record.plans[-1]
        order = np.array(plan.content["order"], dtype=np.intp)
        q = asked.rows.shape[0]
        wanted = int(plan.content.get("times", 1)) * np.bincount(order, minlength=q)
        begin = self.present.begin if self.present is not None else record.total
        have = np.bincount(record.questions[record.told(begin, record.total)], minlength=q)
        paid = float(asked.prices[record.questions[record.told(0, record.total)]].sum())
        open_ = asked.prices[wanted > have]
        return bool(len(open_) and (float(budget) - paid) * (1.0 + 1e-12) < open_.min())

    def fit(self) -> Fit:
        """Return the fit that estimates are from: in the end all, else up to the last stage."""
        record = self.record
        if self.over or self.present is None:
            return record.fit_of(record.counted(0, record.total))
        begin = self.present.begin
        since = record.counted(begin, record.total)
        since = since[record.observed[since]]
        if not len(since):
            return self.present.now
        return record.fit_of(np.concatenate([record.counted(0, begin), since]))

    def testing(self) -> list[_Stage]:
        """Return the stages that tested something, and count."""
        stages = list(self.stages)
        last = self.present
        looked = self.over and not self.bounded and last is not None
        if looked and last is not None and len(self.record.told(last.begin, last.end)):
            stages.append(last)
        return [stage for stage in stages if stage.leader >= 0]

    def readings(self, what: Callable[[Fit], Spread], leader: int | None = None) -> list[Reading]:
        """Return what the stages (that an option led) say of directions."""
        found = []
        for stage in self.testing():
            if leader is None or stage.leader == leader:
                fit = self._fit_of(stage)
                found.append(Reading.of(fit, what(fit), stage.now, what(stage.now)))
        return found

    def ends(
        self, what: Callable[[Fit], Spread], n: int, leader: int | None = None, share: float = 1.0
    ) -> tuple[Floats, Floats]:
        """Return intervals of n directions by the stages (that an option led)."""
        readings = self.readings(what, leader)
        if not readings:
            return np.full(n, -np.inf), np.full(n, np.inf)
        return interval(readings, share * self.record.delta)

    def loss(self, option: int) -> float:
        """Return the least loss of an option for which the evidence was ever enough."""
        rivals = self._open(option)
        floor = self.tolerance if self.slack and self.cleared[option].any() else 0.0
        if not len(rivals):
            return floor
        stages = self.testing()
        led = np.array([stage.leader == option for stage in stages], dtype=np.bool_)
        if not led.any():
            return math.inf
        said, priors = [], []
        for stage in stages:
            fit = self._fit_of(stage)
            expected, effects, logs = self._prior(stage.leader, rivals, stage.now)
            D = self.H[stage.leader] - self.H[rivals]
            one = Reading.of(fit, fit.along(D), stage.now, expected)
            one.information[~np.isin(rivals, stage.rivals)] = 0.0
            said.append(one)
            priors.append((effects, logs))
        J = np.array([one.information for one in said])
        if not (J[led] > 0.0).any(axis=0).all():
            return math.inf

        n = len(rivals)
        estimates = np.array([one.estimates for one in said])
        scatter, freedom = (
            np.array([getattr(one, name) for one in said]).repeat(n)
            for name in ("scatter", "freedom")
        )
        effects, logs = (np.concatenate(parts) for parts in zip(*priors, strict=True))

        def beyond(loss: Floats) -> Floats:
            beta = (estimates + led[:, None] * loss).reshape(-1)
            had = log_evidence(beta, J.reshape(-1), scatter, freedom, effects, logs)
            return np.asarray(had.reshape(-1, n).cumsum(axis=0).max(axis=0) - self.enough)

        unit = max(one.unit for one in said)
        steps = [one.spreads for one, own in zip(said, led.tolist(), strict=True) if own]
        step = unit * np.min(steps, axis=0)
        found = first_beyond(beyond, np.zeros(len(rivals)), step)
        return max(floor, float(found.max()) * self.unit)


def certain(record: Record) -> Derived:
    """Return what follows from the stages of `CertainChoice`."""
    run = Certain(record)
    asked, fit = record.asked, run.fit()
    option = run.answer if run.answer is not None else run._leading(fit)
    k, loss = len(asked.labels), run.loss(option)

    def leads(fit: Fit) -> Spread:
        return fit.along(run.H[option] - run.H)

    def values(fit: Fit) -> Spread:
        return fit.of_rows(asked.value_rows)

    low, high = run.ends(leads, k, option)
    found = np.column_stack([np.clip(leads(fit).estimates, low, high), low, high]) * run.unit
    found[asked.same(option)] = 0.0
    ends = run.ends(values, k)
    worth = _within(values(fit).estimates, *ends) * run.unit
    withstands = 0.0
    if loss <= run.tolerance and not asked.own_questions and asked.groups is not None:
        others = np.array([group != asked.groups[option] for group in asked.groups])
        withstands = max(0.0, float(found[others, 1].min())) if others.any() else 0.0
    return Derived(
        option=option,
        loss=loss,
        certainty=None if math.isinf(loss) else "own scores" if asked.alone else "features exact",
        withstands=withstands,
        leads=found,
        values=worth,
        biases=_biases(run, fit),
        close=tuple(run.close),
        wrong=tuple(run.wrong),
        derived=("estimates", "leads", "values", "biases", "evidence of every stage", "loss"),
        taken=_taken(record),
    )


def _taken(record: Record) -> tuple[str, ...]:
    taken = ("which option led each stage, its rivals and its questions",)
    after = ("when stages ended after something was withdrawn",)
    return taken + (after if (record.withdrawn >= 0).any() else ())


def _within(estimates: Floats, low: Floats, high: Floats) -> Floats:
    """Return (n, 3) estimates within their intervals; NaN where there is none."""
    unknown = np.isinf(low) | np.isinf(high)
    middle = np.where(unknown, np.nan, np.clip(estimates, low, high))
    return np.column_stack([middle, low, high])


def _biases(run: Certain, fit: Fit) -> list[tuple[Named, float, float, float]]:
    """Return biases with intervals: those of the first stage alone, and those of later ones.

    A tenth of δ is for the first, which tests nothing and so may be planned for: both hold.
    """
    asked, record = run.asked, run.record
    rows = asked.bias_rows
    n = len(rows)
    if not n:
        return []
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if run.stages:
        start = run.stages[0]
        first = run._fit_of(start)
        said = first.of_rows(rows)
        low, high = run.ends(lambda fit: fit.of_rows(rows), n, share=1.0 - _FIRST)
        for i in range(n):
            J = 1.0 / said.variances[i] if said.variances[i] > 0.0 else 0.0
            plan = J if run.known else 0.1 * J
            one = planned_interval(
                float(said.estimates[i]),
                J,
                first.scatter,
                first.freedom,
                plan,
                _FIRST * record.delta,
            )
            both = max(low[i], one[0]), min(high[i], one[1])
            if both[0] <= both[1]:
                low[i], high[i] = both
    found = _within(fit.of_rows(rows).estimates, low, high) * run.unit
    return [(name, *line) for name, line in zip(asked.biases, found.tolist(), strict=True)]
