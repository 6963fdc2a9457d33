"""What a record makes certain: a fold over its blocks, and all that a verifier has to run.

Notation
--------
W_x         evidence that x is not the best: the product of e over all blocks that tested a lead
            over x, whoever had it (`evidence`)
W_{a,b}     evidence that b is not better than a: the product over the blocks that tested a over b
ε           the tolerance: what an option that is chosen may lose
δ           probability of being wrong, ever

Where the best is wanted
------------------------
Blocks that i led count with ε for i, e(X + ε), and with 0 for others. Let b be the best, and call
an option bad if it is worse than b by more than ε. W_b with ε in the blocks of all bad leaders is a
supermartingale, since in these X + ε, and in all others X, has no positive mean; and it is as large
as the W_b that any one bad leader is chosen by. So a bad option is ever chosen with probability δ
at most: x is out once W_x ≥ 1/δ, for all x at once. A loss is said in the same way: the least ε for
which all others were ever out.

Where several are wanted
------------------------
The m best: a is said to be better than b, by no less than −ε, where W_{a,b} ≥ m(k − m)/δ. Something
that is said is wrong only if a pair is that has b among the m best and a not, or ties for them:
there are m(k − m). An option is in if it is better than k − m others, and out if m others are
better.
Above a bar, or better than one option: W of (x, bar) and of (bar, x), at 2n/δ for n options. ε is
for those that are said to be above.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.inference.target import Target
from evenhand.questions import Questions
from evenhand.search.evidence import BAR, bets, bounded, gaussian, symmetric
from evenhand.search.leads import lead_weights
from evenhand.search.record import Record, Round

_ROUNDING = 1e-12  # share of its scores below which a lead is rounding
_HALVINGS = 50
_WIDEST = 1e9  # a loss, as a multiple of the largest lead that was seen, beyond which none is said

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Aim:
    """What is to be known, and what is taken for granted."""

    questions: Questions
    target: Target
    delta: float
    noise: float | None = None  # standard deviation σ of a score; None if it is not known
    bounds: tuple[float, float] | None = None  # of scores; None if they have none

    @property
    def tolerance(self) -> float:
        """What an option that is chosen may lose."""
        return self.target.tolerance

    @property
    def base(self) -> int | None:
        """What options are held against: one of them, or a bar; None where the best are wanted."""
        if self.target.bar is not None:
            return BAR
        return self.target.rival(self.questions.options.labels)

    @property
    def enough(self) -> float:
        """Log of how much W must be."""
        k, top = len(self.questions.options), self.target.top
        if top is None:
            ways = 2 * (k - (self.target.bar is None))
        else:
            ways = 1 if top == 1 else top * (k - top)
        return math.log(max(ways, 1) / self.delta)


@dataclass(frozen=True, eq=False)
class Tested:
    """What a block says of the leads that it tested, (n,) each."""

    pairs: Indices  # (n, 2)
    X: Floats
    bets: Floats  # (n, g)
    tau: Floats  # deviations of X, where that of a score is stated
    least: Floats  # the least that X can be, where scores have bounds

    @classmethod
    def by(cls, round_: Round, aim: Aim) -> Tested:
        """Return what a whole block says."""
        plan, questions = round_.plan, aim.questions
        W = lead_weights(questions, round_.asked, round_.counts, plan.pairs)
        told = np.isfinite(W).all(axis=1)
        W, pairs, (leads, deviations, tau) = W[told], plan.pairs[told], plan.hopes[told].T
        means = round_.means
        off = np.zeros(len(pairs))
        if aim.target.bar is not None:
            off = ((pairs[:, 0] == BAR) * 1.0 - (pairs[:, 1] == BAR)) * aim.target.bar
        X = W @ means + off
        X[np.abs(X) <= _ROUNDING * (np.abs(W) @ np.abs(means) + np.abs(off))] = 0.0
        known, least = np.ones(len(X)), np.full(len(X), -np.inf)
        if aim.noise is not None:
            known = aim.noise * np.sqrt((W**2 / round_.counts).sum(axis=1))
        elif aim.bounds is not None:
            loud = 1.0 if questions.noise is None else questions.noise[round_.asked]
            low, high = (W * (end / loud) for end in aim.bounds)
            least = np.minimum(low, high).sum(axis=1) + off
        by = bets(leads, deviations, tau, bounded=aim.noise is None)
        return cls(pairs, X, by, known, least)

    def log_e(self, aim: Aim, slack: Floats | float) -> Floats:
        """Return (n,) log e that leads are more than −``slack``."""
        X = self.X + slack
        if aim.noise is not None:
            return gaussian(X, self.bets, self.tau)
        if aim.bounds is not None:
            return bounded(X, self.bets, self.least + slack)
        return symmetric(X, self.bets)


@dataclass(eq=False)
class Evidence:
    """All that the whole blocks of a record have shown by now."""

    aim: Aim
    read: int = 0  # blocks that were taken in
    blocks: list[Tested] = field(default_factory=list)

    def __post_init__(self) -> None:
        k = len(self.aim.questions.options)
        one = self.aim.target.top == 1
        # (1, k + 1) by who is behind, or (k + 1, k + 1) by both; the last is the bar
        self.wealth: Floats = np.zeros((1 if one else k + 1, k + 1))
        self.most = self.wealth.copy()  # that it ever was
        self._gains: dict[int, Floats] = {}  # (k + 1,) what ε adds, by leader
        self._cleared: dict[int, Floats] = {}  # (k + 1,) the most that it ever was with that

    def follow(self, record: Record) -> Evidence:
        """Take in the blocks that became whole since."""
        for r in record.finished[self.read :]:
            self._hear(record.rounds[r])
        self.read = len(record.finished)
        return self

    def _hear(self, round_: Round) -> None:
        if len(round_.plan.pairs):
            self._take(Tested.by(round_, self.aim))

    def _take(self, block: Tested) -> None:
        aim, (ahead, behind) = self.aim, block.pairs.T
        self.blocks.append(block)
        if aim.target.top != 1:
            slack = np.where(ahead == aim.base, 0.0, aim.tolerance)
            self.wealth[ahead, behind] += block.log_e(aim, slack)
            np.maximum(self.most, self.wealth, out=self.most)
            return
        plain = block.log_e(aim, 0.0)
        self.wealth[0, behind] += plain
        np.maximum(self.most, self.wealth, out=self.most)
        if not aim.tolerance or not len(behind):
            return
        leader = int(ahead[0])
        if leader not in self._gains:
            self._gains[leader], self._cleared[leader] = np.zeros((2, self.wealth.shape[1]))
        self._gains[leader][behind] += block.log_e(aim, aim.tolerance) - plain
        for i, gain in self._gains.items():
            np.maximum(self._cleared[i], self.wealth[0] + gain, out=self._cleared[i])

    def copied(self, aim: Aim) -> Evidence:
        """Return the same of an equal aim."""
        return copy.deepcopy(self, {id(self.aim): aim} | {id(one): one for one in self.blocks})

    def behind(self, leader: int) -> Flags:
        """Tell (k,) who is not better than a leader by more than the tolerance, for certain."""
        most = self._cleared.get(leader, self.most[0])
        enough = np.maximum(most, self.most[0])[:-1] >= self.aim.enough
        return np.asarray(enough | self.aim.questions.options.same_as(leader))

    @property
    def best(self) -> int | None:
        """The option that is certainly the best, or loses no more than the tolerance."""
        left = np.flatnonzero(self.most[0, :-1] < self.aim.enough).tolist()
        if len(left) > 1 and self.aim.questions.options.stand_alone:
            left = [i for i in left if i in self._cleared]  # by the tolerance, if by anything
        for i in [*left, *self._gains]:
            if self.behind(i).all():
                return i
        return None

    def lacking(self, ahead: Indices, behind: Indices) -> Floats:
        """Return (n,) the evidence, a logarithm, that leads lack."""
        if self.aim.target.top != 1:
            return np.asarray(self.aim.enough - self.wealth[ahead, behind])
        gain = self._gains.get(int(ahead[0]) if len(ahead) else -1)
        return np.asarray(
            self.aim.enough - self.wealth[0, behind] - (0.0 if gain is None else gain[behind])
        )

    def loss(self, leader: int) -> float:
        """Return the least loss of a leader for which the evidence against all others was ever
        enough; infinite if there is none.
        """
        out = self.most[0, :-1] >= self.aim.enough
        rivals = np.flatnonzero(~(out | self.aim.questions.options.same_as(leader)))
        if self.behind(leader).all():
            return self.aim.tolerance if len(rivals) else 0.0
        row = np.full(self.wealth.shape[1:] * 2, -1)
        row[:, rivals] = np.arange(len(rivals))
        return self._least(row, leader)

    def loss_of(self, chosen: Indices) -> float:
        """Return the least loss of any that is chosen for which the evidence against all others was
        ever enough.
        """
        others = np.setdiff1d(np.arange(self.wealth.shape[1] - 1), chosen)
        of = np.ix_(chosen, others)
        row, open_ = np.full(self.wealth.shape, -1), ~self.beaten[of]
        row[of] = np.where(open_, np.cumsum(open_).reshape(open_.shape) - 1, -1)
        return max(self._least(row), self.aim.tolerance) if open_.any() else self.aim.tolerance

    def _least(self, row: Indices, leader: int | None = None) -> float:
        """Return the least loss for which W was ever enough in all rows, by pairs of options; it
        counts in all blocks, or those of one leader.
        """
        aim = self.aim
        parts = [(block, row[block.pairs[:, 0], block.pairs[:, 1]] >= 0) for block in self.blocks]
        names = ("pairs", "X", "bets", "tau", "least")
        if not any(some.any() for _, some in parts):
            return math.inf
        flat = [np.concatenate([getattr(b, name)[some] for b, some in parts]) for name in names]
        of = row[flat[0][:, 0], flat[0][:, 1]]
        order = np.argsort(of, kind="stable")
        tested = Tested(*(part[order] for part in flat))
        starts = np.flatnonzero(np.diff(of[order], prepend=-1))
        if len(starts) <= row.max():
            return math.inf
        mine = (leader is None) | (tested.pairs[:, 0] == leader)

        def enough(loss: float) -> bool:
            log_e = tested.log_e(aim, np.where(mine, loss, 0.0))
            total = np.cumsum(log_e)
            before = (total - log_e)[starts]
            return bool((np.maximum.reduceat(total, starts) - before >= aim.enough).all())

        low, high = 0.0, float(np.abs(tested.X).max()) or 1.0
        most = _WIDEST * high
        while not enough(high):
            low, high = high, 4.0 * high
            if high > most:
                return math.inf
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    @property
    def beaten(self) -> Flags:
        """Tell (k + 1, k + 1) who is better than whom, or as good, for certain; the last is the
        bar.
        """
        found = self.most >= self.aim.enough
        options = self.aim.questions.options
        if not options.stand_alone:
            for x in range(len(options)):
                found[x, :-1] |= options.same_as(x)
        return np.asarray(found)

    @property
    def sides(self) -> tuple[Flags, Flags]:
        """(k,) who is certainly wanted, and who is certainly not."""
        beaten, top, base = self.beaten, self.aim.target.top, self.aim.base
        k = len(beaten) - 1
        if top is not None:
            over = beaten[:-1, :-1] & ~np.eye(k, dtype=np.bool_)
            return over.sum(axis=1) >= k - top, over.sum(axis=0) >= top
        assert base is not None
        inside, outside = beaten[:-1, base].copy(), beaten[base, :-1].copy()
        if base != BAR:
            inside[base] = outside[base] = False
        return inside, outside & ~inside
