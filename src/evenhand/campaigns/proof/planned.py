"""What `PlannedChoice` may say, by the looks of a record (docs/people.md has the proof).

Notation
--------
N, n    answers that are planned, and that are in
α       share of δ that is used up by then: nine tenths in steps, t² at t = .4, .6, .8 and 1, and
        the last tenth with every answer (of more than 500, in 500 steps); all of it when nothing
        more can come
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from evenhand.campaigns.proof.asked import Asked, Counts, Floats, Indices
from evenhand.campaigns.proof.evidence import planned_interval
from evenhand.campaigns.proof.record import (
    Change,
    Derived,
    Plan,
    Record,
    first_largest,
)
from evenhand.campaigns.proof.squares import Fit, Spread, Sums
from evenhand.campaigns.proof.winner import Winner

_TIMES = (0.4, 0.6, 0.8, 1.0)
_STEADY = 0.1
_MOST_LOOKS = 500
_HEARD = 5  # degrees of freedom from which on an unknown noise is known well enough to give up
_REPEATS = 1e-24  # share of all squares below which a scatter is rounding
_SAME = 1e-12  # likewise of a difference of answers
_CLOSE = 1e-6  # share by which a chance may miss what is needed and be called close


class Planned:
    """The looks of a record, gone through once."""

    def __init__(self, record: Record) -> None:
        self.record, self.asked = record, record.asked
        self.unit, self.known = record.noise_scale or 1.0, record.noise_scale is not None
        self.tolerance = float(record.setting("tolerance", 0.0))
        self.slack = self.tolerance / self.unit
        self.once = record.setting("looks", "once") == "once"
        self.give_up = float(record.setting("give_up", 0.05))
        q = self.asked.rows.shape[0]
        self.planned: Counts = np.zeros(q, dtype=np.int64)
        self.gone = 0.0  # share of δ that was used up by old plans
        self.have: list[int] = []  # the answers of the plan that are in
        self.kept: list[int] = []  # those of another, which a longer one may have
        self.absent: frozenset[str] = frozenset()
        self.H = self.asked.span.coordinates(self.asked.options)
        self.used, self.gave_up = 0.0, False
        added = [name for change in record.extensions for name in change.absent]
        self.among = ~np.isin(self.asked.labels, added)  # the options that there are
        self.answer: int | None = 0 if not len(self.rivals(0)) else None
        self.seen: list[tuple[int, Winner, float]] = []
        self.close: list[str] = []
        self.wrong: list[str] = []
        for step in self._steps():
            step()

    # ------------------------------------------------------------------ one pass

    def _steps(self) -> list[Callable[[], None]]:
        """Return all that happened, in order: by event, or where there is no log by evaluations."""
        record, begin = self.record, 0
        found: list[tuple[int, int, int, Callable[[], None]]] = []
        looks = record.looks.tolist()
        events = (
            np.zeros(len(looks), dtype=np.int64) if record.learning is None else record.learning
        )
        for place, event in zip(looks, events.tolist(), strict=True):
            told = record.told(begin, place).tolist()
            found.append((event, place, 0, partial(self._learn, told)))
            begin = place
        for change in record.absences:
            found.append((change.event, change.at, 1, partial(self._attend, change)))
        for change in record.extensions:
            found.append((change.event, change.at, 2, partial(self._extend, change)))
        for more in record.allowed:
            found.append((more.event, more.at, 3, self._allow))
        for plan in record.plans:
            found.append((plan.since, plan.at, 4, partial(self._put_in_force, plan)))
        return [step for *_, step in sorted(found, key=lambda one: one[:3])]

    def _learn(self, told: list[int]) -> None:
        """Take answers in that are planned; others wait, and are offered one by one."""
        if not told:
            return
        if not self.kept and self._expects(told):
            self._take(told)
            return
        self.kept += told
        self._offer()

    def _expects(self, told: list[int]) -> bool:
        return bool((self._counts(self.have + told) <= self.planned).all())

    def _offer(self) -> None:
        taken = True
        while taken and self.kept:
            taken, waiting, self.kept = False, self.kept, []
            for one in waiting:
                if self._expects([one]):
                    self._take([one])
                    taken = True
                else:
                    self.kept.append(one)

    def _take(self, told: list[int]) -> None:
        self.have += told
        self._look()

    def _counts(self, some: list[int]) -> Counts:
        return np.bincount(self.record.questions[some], minlength=len(self.planned))

    def _attend(self, change: Change) -> None:
        self.absent = frozenset(change.absent)
        if self.have:
            self._look()

    def _extend(self, change: Change) -> None:
        """Go on with more questions: the answer stands, unless there are more options."""
        self.among |= np.isin(self.asked.labels, change.absent)
        if self.answer is not None and not change.absent:
            self.seen = [] if change.moved else self.seen
            return
        self._begin_anew()
        self.answer, self.gave_up, self.seen = None, False, []

    def _allow(self) -> None:
        if self.answer is None:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Look at new answers alone from now on, if it is over, with what is left of δ."""
        if self.over and self.used < 1.0:
            self.have, self.gone, self.gave_up = [], self.used, False

    def _put_in_force(self, plan: Plan) -> None:
        """Go on by a plan: a longer one, or one of new answers alone."""
        content, gone = plan.content, float(plan.content.get("gone", 0.0))
        if self.answer is None:
            counts, have = np.zeros_like(self.planned), self._counts(self.have)
            np.add.at(counts, content["questions"], content["counts"])
            anew = gone > self.gone * (1.0 + _CLOSE)
            self.planned = counts + have if anew else np.maximum(counts, have)
            same = abs(gone - self.gone) <= _CLOSE or (self.record.withdrawn >= 0).any()
            if not same:
                self.wrong.append(f"what of δ was used up at {plan.at} evaluations")
        self._offer()

    @property
    def delta(self) -> float:
        """What of δ earlier plans have left."""
        return self.record.delta * (1.0 - self.gone)

    @property
    def over(self) -> bool:
        """Whether nothing more is asked."""
        return self.answer is not None or self.used >= 1.0 or self.gave_up

    def rivals(self, option: int) -> Indices:
        """Return the options that are not the same as this one in all features."""
        if self.asked.alone:
            others = np.arange(len(self.asked.labels)) != option
        else:
            X = self.asked.options
            scales = np.abs(X).max(axis=0)
            others = (np.abs(X - X[option]) > 1e-12 * scales).any(axis=1)
        return np.flatnonzero(others & self.among)

    @property
    def told(self) -> Indices:
        """The answers of the plan that are in."""
        return np.array(self.have, dtype=np.intp)

    @property
    def to_come(self) -> Counts:
        """(q,) answers that are planned and could still come."""
        asked = self.asked
        left: Counts = np.maximum(self.planned - self._counts(self.have), 0)
        gone = [asked.evaluators.index(name) for name in self.absent]
        left[np.isin(asked.evaluator, gone)] = 0
        return left

    def _share(self) -> tuple[float, bool]:
        if not self.to_come.any():
            return 1.0, True
        if self.once:
            return self.gone, False
        N = int(self.planned.sum())
        t = len(self.have) / N
        step = max((time for time in _TIMES if time <= t + 1e-9), default=0.0) ** 2
        steady = math.floor(t * _MOST_LOOKS) / _MOST_LOOKS if N > _MOST_LOOKS else t
        left, by_steps = 1.0 - self.gone, (1.0 - _STEADY) * step
        share = self.gone + left * (by_steps + _STEADY * steady)
        return share, self.used < self.gone + left * by_steps

    # ------------------------------------------------------------------ a look

    def _look(self) -> None:
        if self.over:
            return
        share, planned = self._share()
        failure = self.record.delta * (share - self.used)
        if failure <= 0.0:
            return
        told = self.record.sums_of(self.told)
        fit = Fit.of(self.asked, told, self.known)
        leader = self.leader(fit, told)
        if leader is None:
            return
        self.used = share
        winner = self.winner(fit, leader)
        if not planned and self._fails_at_once(winner, failure):
            return
        worst = float(winner.chances(-self.slack).max(initial=0.0))
        if abs(worst - failure) <= _CLOSE * failure:
            self.close.append(f"the chance that it is no accident at {len(self.have)}")
        if worst < failure:
            self.answer = leader
        if worst < failure or planned:
            self.seen.append((leader, winner, failure))
        if planned and share < 1.0 and self._hope(worst, fit) < self.give_up:
            self.gave_up = self.answer is None

    def _fails_at_once(self, winner: Winner, failure: float) -> bool:
        """See whether the closest rival is too close, which settles most looks."""
        if not len(winner.leads):
            return False
        closest = np.array([int(np.argmin(winner.leads / np.sqrt(winner.variances)))])
        return float(winner.chances(-self.slack, closest)[0]) > failure * (1.0 + _CLOSE)

    def _hope(self, worst: float, fit: Fit) -> float:
        """Return the chance that the last look settles it, if things go on as they are."""
        if not self.known and fit.freedom < _HEARD:
            return 1.0
        t = len(self.have) / int(self.planned.sum())
        last = (1.0 - _TIMES[-2] ** 2) * (1.0 - _STEADY) * self.delta
        z, enough = (-float(special.ndtri(0.5 * p)) for p in (max(worst, 1e-300), last))
        return float(special.ndtr((z / math.sqrt(t) - enough) / math.sqrt((1.0 - t) / t)))

    def leader(self, fit: Fit, told: Sums) -> int | None:
        """Return the option that leads; None while not all can be compared."""
        (there,) = np.nonzero(self.among)
        said = fit.along(self.H[there[0]] - self.H[there])
        if not np.isfinite(said.variances).all():
            return None
        return int(there[first_largest(-told_apart(said.estimates, told))])

    def winner(self, fit: Fit, leader: int) -> Winner:
        """Return what the winner test needs."""
        D = self.H[leader] - self.H[self.rivals(leader)]
        leads = np.maximum(fit.along(D).estimates, 0.0)
        return Winner(leads, D @ fit.root, *self.noise(fit))

    def noise(self, fit: Fit) -> tuple[float, float]:
        """Return scatter and degrees of freedom; 0 and 0 where residuals are rounding."""
        if self.known or fit.scatter > _REPEATS * fit.size:
            return fit.scatter, fit.freedom
        return 0.0, 0.0

    def ends(self, option: int) -> Floats:
        """Return (k, 3) what leads are at least (one-sided), and their lows and highs."""
        k, rivals = len(self.asked.labels), self.rivals(option)
        ends = np.tile([-np.inf, -np.inf, np.inf], (k, 1))
        for leader, winner, failure in self.seen:
            if leader == option:
                ends[rivals, 0] = np.maximum(ends[rivals, 0], winner.ends(failure, upper=False))
                half = 0.5 * failure
                ends[rivals, 1] = np.maximum(ends[rivals, 1], winner.ends(half, upper=False))
                ends[rivals, 2] = np.minimum(ends[rivals, 2], winner.ends(half, upper=True))
        return ends

    def said(self, fit: Fit, found: Spread, planned: Spread, told: Sums) -> Floats:
        """Return (n, 3) estimates with intervals of what nothing was selected by."""
        scatter, freedom = self.noise(fit)
        values, ends = told_apart(found.estimates, told), []
        delta = self.delta
        for value, variance, plan in zip(values, found.variances, planned.variances, strict=True):
            if not 0.0 < variance < math.inf:
                ends.append((math.nan, -math.inf, math.inf))
            elif freedom < 1.0 or (self.once and self.used < 1.0):
                ends.append((value, -math.inf, math.inf))
            elif self.once:
                beyond = float(special.ndtri(0.5 * delta))
                if math.isfinite(freedom):
                    beyond = float(special.stdtrit(freedom, 0.5 * delta))
                size = 1.0 if math.isinf(freedom) else math.sqrt(scatter / freedom)
                width = -beyond * size * math.sqrt(variance)
                ends.append((value, value - width, value + width))
            else:
                J = 1.0 / variance
                plan_J = 1.0 / plan if plan > 0.0 else J
                ends.append((value, *planned_interval(value, J, scatter, freedom, plan_J, delta)))
        return np.array(ends).reshape(-1, 3) * self.unit


def planned_fit(run: Planned, asked: Asked) -> Planned:
    """Return the same looks on another model of the same options."""
    other = copy.copy(run)
    other.asked, other.H = asked, asked.span.coordinates(asked.options)
    return other


def told_apart(estimates: Floats, told: Sums) -> Floats:
    """Return estimates, 0 where they are no more than rounding of the answers."""
    squares = told.within / np.maximum(told.counts, 1) + told.means**2
    size = math.sqrt(float(squares.max(initial=0.0)))
    return np.where(np.abs(estimates) <= _SAME * size, 0.0, estimates)


def planned(record: Record) -> Derived:
    """Return what follows from the looks of `PlannedChoice`."""
    run, asked = Planned(record), record.asked
    told = record.sums_of(run.told)
    fit = Fit.of(asked, told, run.known)
    leader = run.leader(fit, told)
    option = leader if run.answer is None else run.answer
    if option is None:
        option = _guess(record, run.told)
    k, ends, rivals = len(asked.labels), run.ends(option), run.rivals(option)
    leads = np.column_stack([np.full(k, np.nan), ends[:, 1:]])
    if leader is not None:
        estimates = told_apart(fit.along(run.H[option] - run.H).estimates, told)
        leads[:, 0] = np.clip(estimates, ends[:, 1], ends[:, 2])
    leads[np.setdiff1d(np.arange(k), rivals)] = 0.0
    loss = max(0.0, -float(ends[rivals, 0].min(initial=0.0))) * run.unit
    if run.answer is not None:
        loss = min(loss, run.tolerance)
    withstands = 0.0
    if asked.groups is not None and not asked.own_questions:
        others = np.array([group != asked.groups[option] for group in asked.groups])
        least = float(ends[others, 0].min(initial=np.inf))
        withstands = max(0.0, least) * run.unit if others.any() else 0.0
    plan = Sums(run.planned, np.zeros(len(run.planned)), np.zeros(len(run.planned)))
    whole = Fit.of(asked, plan, True)
    rows = asked.bias_rows
    biases = run.said(fit, fit.of_rows(rows), whole.of_rows(rows), told)
    values = asked.value_rows
    return Derived(
        option=option,
        loss=loss,
        certainty=None if math.isinf(loss) else "own scores" if asked.alone else "features exact",
        withstands=withstands,
        leads=leads * run.unit,
        values=run.said(fit, fit.of_rows(values), whole.of_rows(values), told),
        biases=[(name, *line) for name, line in zip(asked.biases, biases.tolist(), strict=True)],
        close=tuple(run.close),
        wrong=tuple(run.wrong),
        waiting=tuple(run.kept),
        derived=("estimates", "leads", "values", "biases", "the winner test at every look", "loss"),
        taken=("how often each question was planned to be asked",),
    )


def _guess(record: Record, some: Indices) -> int:
    """Return an option while not all can be compared: by its own scores, drawn to the mean."""
    asked = record.asked
    y, about = record.units[some], asked.about[record.questions[some]]
    y = y - (y.mean() if len(y) else 0.0)
    total, often = np.zeros(len(asked.labels)), np.zeros(len(asked.labels))
    for side, sign in ((0, 1.0), (1, -1.0)):
        of = (about[:, side] >= 0) & (about[:, side] < len(total))
        np.add.at(total, about[of, side], sign * y[of])
        np.add.at(often, about[of, side], 1.0)
    return first_largest(
        total / (often + 1.0), made_of=float(np.abs(record.units).max(initial=0.0))
    )
