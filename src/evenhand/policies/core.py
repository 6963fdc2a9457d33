"""The provable core: elimination by streams of blocks, and a rule for when to stop learning.

Notation
--------
C           options that may still be the best
c           centre of the attributes; ζ_x = (z_x − c)·ω is what the bias adds to x (two groups: ±ω)
ē_x ± b_x   evaluation of x, from its own stream
ζ̂_x ± r_x   what the bias adds to x, from the stream of its attributes
est_x = ē_x − ζ̂_x,   W_xy = b_x + b_y + (r_x + r_y, unless x and y have the same attributes)
D_x         upper bound of the gap of x, never growing
K           what the blocks for the bias have cost at most
Λ           precision (1/variance, in evaluations) of a stream; r(Λ) its radius

A stream is fed by blocks whose counts are fixed before they begin, and from their own evaluations
only. So the error of a stream is a martingale, and its radius needs no factor for the dimension,
for the number of options or for whatever else is evaluated in between:

    r(Λ) = σ √((1 + ρ/Λ)(2 log(1/δ) + log(1 + Λ/ρ)) / Λ)

holds at all times at once with probability 1 − δ. The blocks for the bias follow the design of
`AttributePlan`, at the price κ_A.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices, recalled, recalled_counts
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.messages import Feedback
from evenhand.policies.phase_designs import AttributePlan, LeastSquares, least_squares, whole

ETA = 0.5
"""η: evaluations are refined until b ≤ η r. The leading term of the regret has the factor
(1 + η)^{2/3}, the next the factor 1 + 1/η."""

ZETA = 0.25
"""ζ ≤ 1: a block adds ζ times the precision there is. The leading term has the factor 1 + ζ; there
are of the order of log T / log(1 + ζ) blocks."""

FIRST_PRECISION = 10.0
"""Precision λ₀ of the first block for the bias; small, for it is paid before anything is known."""

_MIXING = 0.1  # ρ, relative to the first precision

_NUMBERS = ("noise_scale", "_cost", "_bias_precision", "_evaluated")

Mask = NDArray[np.bool_]
Purpose = Literal["evaluations", "bias", "exploit"]


class _Streams:
    """Several quantities, each estimated from blocks; radii hold at all times for all of them."""

    def __init__(self, size: int, failure: float, mixing: float) -> None:
        self.precision = np.zeros(size)
        self._weighted = np.zeros(size)
        self._odds = 2.0 * np.log(max(size, 1) / failure)
        self._mixing = mixing

    def add(self, which: Indices, fit: LeastSquares, means: Floats) -> None:
        """Take the estimates of a block; a quantity that it does not show has no precision."""
        precision = fit.deviations**-2
        self.precision[which] += precision
        self._weighted[which] += precision * fit.estimates(means)

    def memory(self) -> dict[str, Any]:
        """Return all that was learnt, by name."""
        return {"precision": self.precision.copy(), "weighted": self._weighted.copy()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        size = (len(self.precision),)
        self.precision = recalled(memory, "precision", size, least=0.0)
        self._weighted = recalled(memory, "weighted", size)

    @property
    def estimates(self) -> Floats:
        """Estimates weighted by precision; 0 where there is none."""
        some = np.where(self.precision > 0.0, self.precision, 1.0)
        return np.asarray(self._weighted / some)

    def radii(self, noise_scale: float) -> Floats:
        """Return r(Λ) for each; infinite without an estimate."""
        (some,) = np.nonzero(self.precision > 0.0)
        y = self.precision[some] / self._mixing
        radii = np.full(len(self.precision), np.inf)
        factor = (1.0 + 1.0 / y) * (self._odds + np.log1p(y))
        radii[some] = noise_scale * np.sqrt(factor / self.precision[some])
        return radii


@dataclass(frozen=True, eq=False)
class _Block:
    """Evaluations fixed in advance, and what they are for."""

    purpose: Purpose
    counts: Counts
    nominal: float = 0.0  # precision that it adds at least
    cost: float = 0.0  # what it may cost

    @classmethod
    def recalled(cls, memory: Mapping[str, Any], k: int) -> Self:
        """Return the block of k options that a state has."""
        if memory["purpose"] not in get_args(Purpose):
            raise ValueError(f"the purpose of a block is {memory['purpose']!r:.80}")
        return cls(
            memory["purpose"],
            recalled_counts(memory, "counts", k),
            recalled(memory, "nominal", least=0.0),
            recalled(memory, "cost", least=0.0),
        )


class Core:
    """What the envelope falls back on: a policy with a proof, in blocks."""

    # Its regret is of the order of (B σ² κ_A log T)^{1/3} T^{2/3}, whatever happens between its
    # blocks. ``failures`` are probabilities that some stream for the bias, or for evaluations, ever
    # leaves its radius; ``bounds`` are (k,) upper bounds D of the gaps.

    def __init__(
        self,
        actions: ActionSet,
        *,
        value_bound: float,
        noise_scale: float,
        failures: tuple[float, float],
    ) -> None:
        self.noise_scale = noise_scale
        self._most = 2.0 * value_bound
        self._plan = AttributePlan.of(actions)
        self._rows = self._plan.frame.points
        self._cell = self._plan.frame.cell
        k, m = actions.points.shape
        self._columns = m
        self._first_size = 2.0 * m
        self._bias = _Streams(len(self._plan.directions), failures[0], _MIXING * FIRST_PRECISION)
        self._evaluations = _Streams(k, failures[1], _MIXING * self._first_size / m)
        self._known: Mask = (self._rows == 0.0).all(axis=1)  # a point of zeros is evaluated as 0
        self.bounds = np.full(k, self._most)
        self.candidates: Indices = np.arange(k)
        self._cost = 0.0  # K
        self._bias_precision = 0.0  # nominal: what blocks were made for
        self._evaluated = 0.0  # nominal size of all evaluation blocks
        self._exploited = 0
        self._closing = False  # whether a block was too large for what remained
        self._block: _Block | None = None

    def next_block(self, remaining: int) -> Counts:
        """Return the counts of the next block; the same until it is learnt."""
        # A block that what remains cannot hold would teach too late: from then on the option that
        # is certain to lose least is played instead, which costs no more than the block would have.
        # It is played in batches that double.
        block = self._exploit(remaining) if self._closing else self._choose(remaining)
        if block.purpose != "exploit" and block.counts.sum() > remaining:
            self._closing = True
            block = self._exploit(remaining)
        self._block = block
        return block.counts

    def learn(self, feedback: Feedback) -> None:
        """Take the feedback of the block that was asked for."""
        block, self._block = self._block, None
        assert block is not None
        if block.purpose == "exploit":
            self._exploited += int(block.counts.sum())
            return
        if block.purpose == "evaluations":
            which = self.candidates[~self._known[self.candidates]]
            fit = least_squares(self._rows, feedback.counts, self._rows[which])
            self._evaluations.add(which, fit, feedback.means)
            self._evaluated += block.nominal
        else:
            targets = self._plan.coordinates
            fit = least_squares(self._rows, feedback.counts, targets)
            self._bias.add(np.arange(len(targets)), fit, feedback.means)
            self._bias_precision += block.nominal
            self._cost += block.cost
        self._certify()

    def memory(self) -> dict[str, Any]:
        """Return all that was learnt and is asked for, by name."""
        kept = {name: getattr(self, name) for name in _NUMBERS}
        block = self._block
        return kept | {
            "_exploited": self._exploited,
            "_closing": self._closing,
            "bounds": self.bounds.copy(),
            "candidates": self.candidates,
            "bias": self._bias.memory(),
            "evaluations": self._evaluations.memory(),
            "block": None if block is None else dataclasses.asdict(block),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        k = len(self.bounds)
        for name in _NUMBERS:
            setattr(self, name, recalled(memory, name, least=0.0))
        self._exploited = recalled(memory, "_exploited", (), int, 0)
        self._closing = recalled(memory, "_closing", kind=bool)
        self.bounds = recalled(memory, "bounds", (k,), most=self._most)
        self.candidates = recalled(memory, "candidates", (None,), int, 0, k - 1)
        if len(self.candidates) == 0 or (np.diff(self.candidates) <= 0).any():
            raise ValueError("candidates must be one or more options, in increasing order")
        self._bias.recall(memory["bias"])
        self._evaluations.recall(memory["evaluations"])
        block = memory["block"]
        self._block = None if block is None else _Block.recalled(block, k)

    def awaits(self, counts: Counts) -> bool:
        """Tell whether this is the block that it will learn from."""
        return self._block is not None and np.array_equal(self._block.counts, counts)

    def hear(self, noise_scale: float) -> None:
        """Take a lower bound of the noise: what was learnt is then known better."""
        # The rules compare radii with bounds of gaps, so both must be of the same noise.
        if noise_scale < self.noise_scale:
            self.noise_scale = noise_scale
            self._certify()

    def tighten(self, bounds: Floats) -> None:
        """Take upper bounds of the gaps that are known otherwise."""
        np.minimum(self.bounds, bounds, out=self.bounds)

    def _choose(self, remaining: int) -> _Block:
        C = self.candidates
        b, r = (float(radii[C].max()) for radii in self._radii())
        alike = bool((self._cell[C] == self._cell[C[0]]).all())
        least = float(self.bounds.min())
        if len(C) == 1 or least == 0.0:
            return self._exploit(remaining)
        # certified: what more about the bias could save is no more than what it has cost
        if not alike and np.isfinite(r) and remaining * least <= 2.0 * self._cost:
            return self._exploit(remaining)
        if alike or b > ETA * r or not np.isfinite(b):
            return self._evaluate(C)
        return self._debias(r)

    def _evaluate(self, C: Indices) -> _Block:
        size = max(self._first_size, ZETA * self._evaluated)
        return _Block("evaluations", self._plan.evaluations(C, size), size)

    def _debias(self, r: float) -> _Block:
        costs = np.minimum(np.maximum(self.bounds, 0.5 * r), self._most)
        precision = max(FIRST_PRECISION, ZETA * self._bias_precision)
        counts = whole(precision * self._plan.pulls(costs)[0])
        return _Block("bias", counts, precision, float(counts @ costs))

    def _exploit(self, remaining: int) -> _Block:
        counts = np.zeros(len(self.bounds), dtype=np.int64)
        size = max(int(self._first_size), self._exploited)
        counts[first_largest(-self.bounds)] = min(size, remaining)
        return _Block("exploit", counts)

    def _radii(self) -> tuple[Floats, Floats]:
        """Return b and r of each option."""
        b = self._evaluations.radii(self.noise_scale)
        b[self._known] = 0.0
        # the last entry is for options whose attributes are the centre: nothing is added to them
        r = np.append(self._bias.radii(self.noise_scale), 0.0)[self._plan.stream]
        return b, r

    def _certify(self) -> None:
        """Drop what is certainly not the best; lower the bounds of the gaps."""
        # The largest over y ∈ C of est_y − est_x ± W_xy takes one look at each option's own cell,
        # and one at the best of the other cells.
        b, r = self._radii()
        added = np.append(self._bias.estimates, 0.0)[self._plan.stream] * self._plan.sign
        est = self._evaluations.estimates - added
        alive: Mask = np.zeros(len(est), dtype=np.bool_)
        alive[self.candidates] = True
        own, others = _rivals(est - b, est - b - r, self._cell, alive)
        # own cell: the bias is the same, so that W is b + b; other cells: with r + r
        behind = (own > est + b) | (others > est + b + r)
        alive &= ~behind
        self.candidates = np.flatnonzero(alive)
        own, others = _rivals(est + b, est + b + r, self._cell, alive)
        worst = np.zeros(len(est))
        for rivals, low in ((own, est - b), (others, est - b - r)):
            (some,) = np.nonzero(rivals > -np.inf)
            worst[some] = np.maximum(worst[some], rivals[some] - low[some])
        np.minimum(self.bounds, worst, out=self.bounds)


def _rivals(near: Floats, far: Floats, cell: Indices, alive: Mask) -> tuple[Floats, Floats]:
    """Return, for each option, the largest ``near`` of other living options in its cell, and the
    largest ``far`` of living options in other cells; −∞ where there are none.
    """
    own = _largest_of_others(np.where(alive, near, -np.inf), cell)
    best = np.full(int(cell.max()) + 1, -np.inf)
    np.maximum.at(best, cell[alive], far[alive])
    return own, _largest_of_others(best, np.zeros(len(best), dtype=np.intp))[cell]


def _largest_of_others(values: Floats, cell: Indices) -> Floats:
    """Return for each entry the largest of the other values in its cell; −∞ if it is alone."""
    order = np.lexsort((-values, cell))
    first = np.flatnonzero(np.diff(cell[order], prepend=-1))
    second = np.full(len(first), -np.inf)
    has = np.append(first[1:], len(order)) - first > 1
    second[has] = values[order[first[has] + 1]]
    place = np.cumsum(np.diff(cell[order], prepend=-1) != 0) - 1
    largest = np.empty(len(values))
    largest[order] = values[order[first]][place]
    largest[order[first]] = second
    return largest
