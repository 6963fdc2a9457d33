"""What a careful choice asks next: heuristics, which cost evaluations where they err, no certainty.

Four evaluations of every option, then batches of 30% of what was spent:
- In linear mode a batch is c-optimal for the closest rival of the leader on the model, a quarter of
  it for options that lack looks. If the leader leads all others, it is what looks still lack.
- Otherwise it goes to the open rivals, to each what would settle it, in shares that make the noise
  of its lead least.

If what τ does to a lead cannot be beaten at any budget it stops and says so, and likewise if what
is left will not do. A floor is what a lead across groups must exceed at any number of evaluations:
what its unexplained part exceeds rarely enough when noise is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices
from evenhand.designs import c_optimal_design
from evenhand.numerics.least_squares import Svd
from evenhand.numerics.tolerance import TIE, first_largest
from evenhand.policies.limits import nth
from evenhand.search.careful_conclusions import (
    FIRST,
    GROWTH,
    CarefulAim,
    CarefulConclusion,
    CarefulLook,
    by_own_scores,
)
from evenhand.search.own_scores import LinearFit
from evenhand.search.record import Plan, Record, Stop

_HOPE = 3.0  # what is needed is reckoned with leads so many deviations larger than they look
_FOR_LOOKS = 0.25  # share of a batch in linear mode that goes to options that lack looks
_SAMPLED = 64  # options that are looked at where there are too many to look at all
_LONGEST = 4096  # evaluations after which the order of a batch is repeated

_WOULD_SETTLE = (
    "Evaluators from outside the groups, evaluations that are known to be fair, or more options "
    "would settle it."
)


@dataclass(frozen=True, eq=False)
class CarefulPlanner:
    """Plans the next batch."""

    actions: ActionSet
    aim: CarefulAim
    record: Record
    now: CarefulConclusion | None  # what is concluded from the record; None before the first batch
    at_most: int  # evaluations in all
    seed: int  # decides which options are looked at where there are too many to look at all

    def next(self) -> Plan | Stop:
        """Return the next batch, or why there is none."""
        now = self.now
        if now is None:
            return self._open(self._first())
        own = by_own_scores(self.record)
        asked = np.unique(np.concatenate([round_.plan.order for round_ in self.record.rounds]))
        new = np.setdiff1d(np.arange(len(self.actions)), asked)
        if own and len(new):
            return self._open(new)
        if now.certainty == "own scores":
            return Stop("certain", (now.option,), "It leads all others by its own scores.")
        if now.certainty is not None:
            return Stop("certain", (now.option,), "It leads all others if the features are exact.")
        if not now.look.scores.differ:
            return Stop("stuck", why="The scores never differ: the noise is not known.")
        if now.linear and now.look.fit is not None:
            return self._on_the_model(now, now.look.fit)
        if not own:
            return Stop(
                "stuck",
                why="The features do not explain the values, and there are too many options to "
                "compare them by their own scores. Drop some, or add features.",
            )
        return self._by_own_scores(now.look)

    # ------------------------------------------------------------------ the first batch

    def _first(self) -> Indices:
        """Return the options that are asked about first: all, or some where there are too many."""
        k = len(self.actions)
        if by_own_scores(self.record, self.at_most):
            return np.arange(k)
        basis = self.aim.frame.basis
        others = np.random.default_rng(self.seed).permutation(k)
        chosen = np.concatenate([basis, others[~np.isin(others, basis)]])
        return chosen[: min(max(_SAMPLED, 3 * len(basis)), max(1, self._left // FIRST))]

    def _open(self, options: Indices) -> Plan | Stop:
        """Return four evaluations of each of these options, or as many as there may be."""
        if not self._left:
            return Stop("spent")
        times = max(1, min(FIRST, self._left // len(options)))
        order = np.tile(options, times)[: self._left]
        return Plan("open", order, at_most=self.at_most)

    # ------------------------------------------------------------------ later batches

    def _on_the_model(self, now: CarefulConclusion, fit: LinearFit) -> Plan | Stop:
        """Return what shows the leader of the linear model ahead of its closest rival."""
        look, best = now.look, now.option
        directions = self.aim.frame.values[best] - self.aim.frame.values
        leads, sds = directions @ fit.parameters + self.aim.tolerance, fit.deviations(directions)
        few, counts = look.scores.quantile(look.levels.linear), look.scores.counts
        (open_,) = np.nonzero(leads < few * sds)
        lacking = self.aim.lacking(counts)
        if len(open_) == 0:
            return self._looks(best, lacking, math.isnan(fit.misfit))
        rival = int(open_[first_largest(-leads[open_] / sds[open_])])
        # in the options' own coordinates, which are the same on every machine
        apart = np.zeros(self.actions.points.shape[1])
        X = self.actions.features
        apart[: X.shape[1]] = X[best] - X[rival]
        design = c_optimal_design(self.actions.points, apart)
        hoped = max(leads[rival] + _HOPE * sds[rival], 1e-300)
        # n evaluations of the design add n/(σ²κ) to the precision 1/sd² that there is
        precision = (few / hoped) ** 2 - 1.0 / sds[rival] ** 2
        needed = float(look.scores.scales.max()) ** 2 * design.value * precision
        if needed > self._left or self._left == 0:
            return self._give_up(best, rival)
        n = self._size
        for_looks = lacking * (min(1.0, _FOR_LOOKS * n / max(int(lacking.sum()), 1)))
        looks = np.floor(for_looks).astype(np.int64)
        batch = looks + towards(design.weights, n - int(looks.sum()), counts)
        lead = float(leads[rival]) - self.aim.tolerance, max(float(sds[rival]), 1e-300)
        return self._compare(batch, needed, best, rival, lead)

    def _looks(self, best: int, lacking: Counts, unseen: bool) -> Plan | Stop:
        """Have every option looked at, before it is said what holds if the features are exact."""
        says = "It leads all others if the features explain the values, but "
        if unseen:
            return Stop(
                "stuck",
                (best,),
                f"{says}nothing was checked: {len(self.actions)} options leave nothing to see a "
                "lack of fit by. Add options, or leave out features.",
            )
        n = int(lacking.sum())
        if n > self._left:
            return Stop(
                "hopeless",
                (best,),
                f"{says}the evaluations that are left are too few to check that.",
            )
        order, times = in_turn(lacking)
        return Plan("check the model", order, times, at_most=self.at_most, forecast=float(n))

    def _by_own_scores(self, look: CarefulLook) -> Plan | Stop:
        """Return what shows a contender ahead of its rivals by own scores."""
        needs = {i: settling(look, i, self.aim.tolerance) for i in look.contenders}
        hopeful = [i for i in look.contenders if np.isfinite(needs[i]).all()]
        if not hopeful:
            return Stop(
                "stuck",
                why="No number of evaluations can settle the choice between the groups: what the "
                f"features do not explain is too large beside the leads. {_WOULD_SETTLE}",
            )
        ahead, needed = hopeful[0], needs[hopeful[0]]
        rival, lacking = hardest(look, ahead), np.maximum(needed - look.scores.counts, 0.0)
        forecast = float(lacking.sum())
        if forecast > self._left or self._left == 0:
            return self._give_up(look.contenders[0], rival)
        if not lacking.any():  # it should show by now: some more of the same
            lacking = needed
        batch = rounded(lacking / lacking.sum() * self._size, self._size)
        lead, low, _ = look.leads_of(ahead)[rival].tolist()
        sd = (lead - low) / look.scores.quantile(look.levels.noise)
        known = (lead, sd) if math.isfinite(sd) and sd > 0.0 else (0.0, 1.0)
        return self._compare(batch, forecast, ahead, rival, known)

    def _compare(
        self, batch: Counts, forecast: float, option: int, rival: int, lead: tuple[float, float]
    ) -> Plan:
        """Return a batch for an option against its closest rival, with what its lead is by now."""
        order, times = in_turn(batch)
        return Plan(
            "compare",
            order,
            times,
            pairs=np.array([[option, rival]]),
            hopes=np.array([[*lead, 1.0]]),
            at_most=self.at_most,
            forecast=max(forecast, 1.0),
        )

    def _give_up(self, best: int, rival: int) -> Stop:
        left = f"the {self._left} evaluations that are left"
        if self._left == 0:
            left = f"{self.at_most} evaluations"
        one, other = self.actions.labels[best], self.actions.labels[rival]
        cells = self.aim.frame.cell
        apart = cells[best] != cells[rival] and self.now is not None and not self.now.linear
        return Stop(
            "hopeless",
            (best, rival),
            f"{one} and {other} cannot be told apart with {left}. Allow more of them, or a "
            "tolerance." + (f" {_WOULD_SETTLE}" if apart else ""),
        )

    @property
    def _left(self) -> int:
        """How many scores there may still be; those that came early are some of them."""
        return self.at_most - (0 if self.now is None else self.now.spent)

    @property
    def _size(self) -> int:
        assert self.now is not None
        return min(self._left, math.ceil(GROWTH * self.now.spent))


def hardest(look: CarefulLook, i: int) -> int:
    """Return the rival of option i whose lead by own scores is farthest from being settled."""
    leads = look.leads_of(i)
    width = np.maximum(leads[:, 0] - leads[:, 1], 1e-300)
    ratio = np.where(np.isfinite(width), leads[:, 0] / width, -np.inf)
    ratio[i] = np.inf
    return int(np.argmin(ratio))


def floors(look: CarefulLook, i: int) -> Floats:
    """Return (k,) what the leads of option i must exceed at any number of evaluations."""
    if look.known is None:
        return np.where(look.same(i), 0.0, np.inf)
    seen = look.scores.counts > 0
    K = np.zeros((look.frame.rank, len(seen)))
    some = Svd.of(look.frame.points[seen])
    K[:, seen] = some.coordinates @ some.U.T
    h = (look.bias_part[i] - look.bias_part) @ K
    exceeded = look.known.exceeded(look.levels.unexplained)
    return np.asarray(exceeded * np.linalg.norm(h, axis=1))


def settling(look: CarefulLook, i: int, tolerance: float) -> Floats:
    """Return (k,) evaluations of each option in all that should show option i ahead; infinite if no
    number of them can.
    """
    # Every lead is reckoned three deviations larger than it looks, so that few are given up that
    # need not be.
    scores, leads = look.scores, look.leads_of(i)
    (open_,) = np.nonzero(leads[:, 1] < -tolerance)
    K = (
        np.zeros((look.frame.rank, len(leads)))
        if look.known is None
        else look.known.median.estimators[0]
    )
    c = -(look.bias_part[i] - look.bias_part[open_]) @ K
    c[:, i] += 1.0
    c[np.arange(len(open_)), open_] -= 1.0
    V = np.where(scores.counts > 0, scores.variances, 0.0)
    noise = c**2 @ V
    few = scores.quantile(look.levels.noise)
    least_lead = floors(look, i)[open_]
    lead = np.nan_to_num(leads[open_, 0]) + tolerance
    if (lead + few * np.sqrt(noise) < least_lead).any():
        return np.full(len(leads), np.inf)
    shares = np.abs(c) * scores.scales
    hoped = lead + _HOPE * np.sqrt(noise)
    least = 1e-30 * shares.sum(axis=1) ** 2  # more than 10³⁰ evaluations are as good as none
    spare = np.where(hoped > least_lead, np.maximum(hoped**2 - least_lead**2, least), least)
    # Σ c²σ²/n is least for n in the shares |c|σ, and then (Σ |c|σ)²/n
    needed = few**2 * shares * (shares.sum(axis=1) / spare)[:, None]
    return np.asarray(needed.max(axis=0, initial=0.0))


def in_turn(counts: Counts) -> tuple[Indices, int]:
    """Return an order in which each option comes at equal distances, and how often to repeat it."""
    n = int(counts.sum())
    times = -(-n // _LONGEST)
    if times > 1:
        counts = rounded(counts / n * (n // times), n // times)
    options = np.repeat(np.arange(len(counts)), counts)
    due = (nth(options) - 0.5) / counts[options]
    return options[np.argsort(due, kind="stable")], times


def towards(shares: Floats, n: int, counts: Counts) -> Counts:
    """Return n evaluations that bring the counts nearer to these shares."""
    lacking = np.maximum(shares * (int(counts.sum()) + n) - counts, 0.0)
    lacking = lacking if lacking.any() else shares
    return rounded(lacking / lacking.sum() * n, n)


def rounded(parts: Floats, n: int) -> Counts:
    """Round parts of n to whole numbers that add up to n; the largest remainders are rounded up."""
    near = np.rint(parts)
    parts = np.where(np.abs(parts - near) <= TIE * n, near, parts)  # met from either side
    counts = np.floor(parts).astype(np.int64)
    left = parts - counts
    for _ in range(n - int(counts.sum())):
        x = first_largest(left)
        counts[x] += 1
        left[x] = -1.0
    return counts
