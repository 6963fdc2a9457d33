"""Blocks of questions: what to ask so that leads are told soonest, and frozen bets on them.

A block tells leads by itself. In a panel it is a *ballot*: one evaluator scores options, so that
his severity cancels; or several do, whose favours cancel. For others it is a *bundle*, about as
many questions as there are numbers to be known. A bar is told by all evaluators together.

Notation
--------
need    log of what W is lacking for a lead
η       a lead, as a multiple of the noise τ that a block has about it

A lead takes need/growth(η) blocks. One that takes a share of what the hardest takes is asked about
in that share of the blocks. Small leads are told by blocks that are repeated (`Plan.times`): as
long as η is small, one block of t repeats tells as much as t blocks.

All of these are heuristics: they cost evaluations where they err, and never certainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Counts, Floats, Indices, dense
from evenhand.policies.frame import per_action_set
from evenhand.policies.limits import Limits, nth
from evenhand.questions import Askable, Questions
from evenhand.search.conclude import Flags
from evenhand.search.evidence import BAR, growth
from evenhand.search.guess import Guess
from evenhand.search.leads import directions, lead_weights, shortest
from evenhand.search.record import Plan, Record
from evenhand.search.shares import proportions

FEW = 4
"""How often a question may be asked at most for a further answer to be no new one: of people."""
_HOPED = 1.0  # deviations that a lead is planned for to be at least
_SMALL = 0.3  # effects of a block up to which it may be repeated,
_AT_ONCE = 0.06  # and the share of what was spent that one block may be
_AGO = 64  # blocks that are looked back at
_LONGEST = 64  # scores of one option in a row, beyond which all of a block is repeated
_FIRST, _SOON = 8.0, 0.15  # blocks that are thought of at least, and as a share of those so far
_DEAR = 4.0  # how much dearer than others who is available may be, so as not to wait for them
_BESIDE = 2.0  # how much more often than favoured ones an impartial evaluator is asked
_SIZES = (1.0, 1.25, 1.6, 2.0)  # of a bundle, in ranks
_HARDEST = 48  # leads that a bundle is made for
_NOTHING = 1e-9  # of a weight
_LOST = 1e-6  # share of a lead that questions may miss and still tell it


@dataclass(frozen=True, eq=False)
class Open:
    """Leads that are to be told, (n,) each."""

    pairs: Indices  # (n, 2)
    leads: Floats  # what they are guessed to be, with what may be lost,
    deviations: Floats  # and how far that may be off
    need: Floats

    def some(self, which: Indices | Flags) -> Open:
        """Return some of them."""
        return Open(self.pairs[which], self.leads[which], self.deviations[which], self.need[which])

    @property
    def hoped(self) -> Floats:
        """What leads are planned for."""
        return np.maximum(self.leads, _HOPED * self.deviations)

    def blocks(self, tau: Floats, leads: Floats | None = None) -> Floats:
        """Return (n,) how many blocks of this noise leads take."""
        effect = np.maximum((self.hoped if leads is None else leads) / tau, 1e-6)
        return np.maximum(self.need, 0.1) / growth(effect)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes blocks for questions, by what is known."""

    questions: Questions
    record: Record
    limits: Limits
    pending: Counts
    guess: Guess
    most: int  # evaluations that are left
    rng: np.random.Generator
    centre: int | None = None  # the option that all leads are over, or of; `BAR`; None: no one

    @cached_property
    def left(self) -> Counts:
        """(q,) how often questions may be asked: once, where a further answer is no new one."""
        left = self.limits.left(self.pending, later=True)
        once = self.questions.capacity <= FEW
        left[once & (self.limits.asked + self.pending > 0)] = 0
        left[once] = np.minimum(left[once], 1)
        return left

    @property
    def again(self) -> bool:
        """Whether questions may be asked again and again."""
        return bool((self.questions.capacity > FEW).all())

    def made(self, open_: Open) -> Plan | None:
        """Return a block that tests leads which are open; None where none can be told."""
        if not self.questions.has_arrow_form:
            found = self._bundle(open_)
        elif self.centre == BAR:
            found = self._values(open_)
        else:
            found = self._ballot(open_)
        if found is None:
            return None
        order, times, among = found
        return self.frozen(order, times, among)

    def frozen(self, order: Indices, times: int, among: Open) -> Plan | None:
        """Return a block of these questions with its bets; None if it tells no lead."""
        asked, counts = np.unique(order, return_counts=True)
        counts = counts * times
        W = lead_weights(self.questions, asked, counts, among.pairs)
        told = np.asarray(np.isfinite(W).all(axis=1))
        if not told.any():
            return None
        W, among = W[told], among.some(told)
        tau = np.sqrt((W**2 * (self.guess.noise[asked] ** 2 / counts)).sum(axis=1))
        # the noise, too, is a guess
        wide = np.sqrt(among.deviations**2 + 2.0 * among.leads**2 / self.guess.freedom)
        blocks = float(among.blocks(tau).max())
        return Plan(
            "compare",
            order,
            times,
            among.pairs,
            np.column_stack([among.leads, np.maximum(wide, 1e-9 * tau), tau]),
            forecast=float(counts.sum()) * blocks,
        )

    def _times(self, effect: float, number: int) -> int:
        """Return how often a block is repeated whose hardest lead has an effect."""
        if not self.again:
            return 1
        spent = float(self.record.everything.counts.sum())
        most = min(_AT_ONCE * spent, float(self.most)) / number
        return max(1, math.floor(min((_SMALL / max(effect, 1e-9)) ** 2, most)))

    @cached_property
    def _cell(self) -> Indices:
        return cells(self.questions)

    @cached_property
    def _free(self) -> Flags:
        """(i, e + 1) which evaluators may be asked about which items."""
        return np.asarray((self._cell >= 0) & (self.left > 0)[self._cell])

    @cached_property
    def _visits(self) -> Floats:
        """(e + 1,) how much evaluators were asked, those that are dear or loud counted more."""
        questions = self.questions
        n = self._free.shape[1]
        often = np.bincount(
            questions.evaluator % n, self.record.everything.counts + self.pending, n
        )
        size = np.maximum(np.bincount(questions.evaluator % n, minlength=n), 1)
        dear = questions.prices * self.guess.noise**2
        dear = np.bincount(questions.evaluator % n, dear, n) / size
        least = dear[dear > 0.0].min(initial=np.inf)
        return np.asarray((often + 1.0) * np.maximum(dear / least, 1.0) ** 2)

    def ballots(self) -> Iterator[Indices]:
        """Yield orders in which one evaluator after the other scores all options, for a start;
        first those who are available.
        """
        k = len(self.questions.options)
        for judge in np.lexsort((self._visits, ~self._there)).tolist():
            (options,) = np.nonzero(self._free[:k, judge])
            if len(options):
                yield self.rng.permutation(self._cell[options, judge])

    @cached_property
    def _there(self) -> np.ndarray:
        """(e + 1,) who is available just now."""
        available = self.limits.available
        there = np.ones(self._free.shape[1], dtype=np.bool_)
        if available is not None:
            there[np.setdiff1d(np.arange(len(there)), self.questions.evaluator[available])] = False
        return there

    def _ballot(self, open_: Open) -> tuple[Indices, int, Open] | None:
        own = self.guess.own
        tau = np.sqrt(own[open_.pairs[:, 0]] ** 2 + own[open_.pairs[:, 1]] ** 2)
        often = self._often(open_.blocks(tau))
        due = self._since(open_.pairs) * often
        for at in np.argsort(-due, kind="stable").tolist():
            crew = self._crew(*open_.pairs[at].tolist())
            if crew is None:
                continue
            times = self._times(float((open_.hoped / tau)[at]), 2 * len(crew))
            turns = due + often * (times - 1)
            want = turns >= 1.0 if self.again else np.ones(len(due), dtype=np.bool_)
            want[at] = True
            want &= self._fits(open_.pairs, crew)
            turns = np.clip(np.floor(turns[want]), 1, times).astype(np.int64)
            turn = np.zeros(len(own), dtype=np.int64)
            np.maximum.at(turn, open_.pairs[want].T.reshape(-1), np.tile(turns, 2))
            if self.again and self.centre is not None:
                turn[self.centre] *= self._over_all(open_.some(want), turns)
            again = max(1, int(turn.max()) // _LONGEST)
            options = np.repeat(np.arange(len(turn)), np.maximum(turn // again, turn > 0))
            order = np.concatenate([self._cell[options, judge] for judge in crew])
            return self.rng.permutation(order), again, open_.some(want)
        return None

    def _over_all(self, open_: Open, turns: Floats) -> int:
        """Return how much more often than a rival the option is asked that all leads are over."""
        often, own = float((turns / turns.max()).sum()), self.guess.own
        centre = open_.pairs == self.centre
        rival = own[np.where(centre[:, 0], open_.pairs[:, 1], open_.pairs[:, 0])]

        def price(m: int) -> float:
            tau = np.sqrt((rival**2 + own[self.centre] ** 2 / m) / turns.max())
            return (m + often) * float(open_.blocks(tau).max())

        return min(range(1, max(1, round(math.sqrt(often))) + 1), key=price)

    def _often(self, blocks: Floats) -> Floats:
        """Return (n,) in how many of the next blocks leads are tested that take so many."""
        # No more are thought of than there were: what seems to take longer may turn out otherwise,
        # and others are told meanwhile.
        soon = _SOON * max(1.0, float(self._before[2]))
        return np.asarray(np.minimum(blocks / min(float(blocks.max()), max(soon, _FIRST)), 1.0))

    @cached_property
    def _before(self) -> tuple[Indices, Indices, int]:
        """(n, 2) leads that blocks tested, (n,) how many ballots ago, and how many there were."""
        tested = [one.plan for one in reversed(self.record.rounds) if len(one.plan.pairs)]
        times = [int(plan.asked[1].max()) for plan in tested]
        last = tested[:_AGO]
        ago = 1 + np.cumsum([0, *times[: len(last)]])[:-1]
        pairs = np.concatenate([plan.pairs for plan in last]) if last else np.zeros((0, 2), np.intp)
        return pairs, np.repeat(ago, [len(plan.pairs) for plan in last]), sum(times)

    def _since(self, pairs: Indices) -> Floats:
        """Return (n,) how many ballots ago leads were tested; where one option has them all, or the
        bar, whoever had the lead.
        """
        tested, ago, found = self._before
        k = len(self.questions.options)
        last = np.full((k + 1, k + 1), found + 1)  # the last for `BAR`
        if self.centre is not None:
            np.minimum.at(last[0], tested.reshape(-1), np.repeat(ago, 2))
            other = np.where(pairs[:, 0] == self.centre, pairs[:, 1], pairs[:, 0])
            return np.asarray(last[0, other], dtype=np.float64)
        for a, b in (tested.T, tested.T[::-1]):
            np.minimum.at(last, (a, b), ago)
        return np.asarray(last[pairs[:, 0], pairs[:, 1]], dtype=np.float64)

    def _apart(self, i: Indices, x: Indices, judges: Indices) -> Floats:
        """Return (n, p) what attributes differ by between options, as judges are asked about them;
        severity is the same in both.
        """
        Z = self.questions.attributes
        return dense(Z[self._cell[i, judges]] - Z[self._cell[x, judges]])

    def _crew(self, i: int, x: int) -> Indices | None:
        """Return an evaluator to whom both options are alike, or several whose favours cancel; of
        all those the ones who were asked least. None if there are none, or others are far better
        who are not available.
        """
        (judges,) = np.nonzero(self._free[i] & self._free[x])
        if not len(judges):
            return None
        judges = judges[np.argsort(self._visits[judges], kind="stable")]
        apart = self._apart(np.full(len(judges), i), np.full(len(judges), x), judges)
        there, visits = self._there[judges], self._visits
        alike = judges[(apart == 0.0).all(axis=1)]
        alike = np.append(alike[self._there[alike]], alike[~self._there[alike]])
        used = np.abs(apart).max(axis=0) > 0.0
        crossed = None
        if used.any():
            side = apart[:, used][:, 0]
            up, down = judges[side > 0.0], judges[side < 0.0]
            if used.sum() == 1 and len(up) and len(down):
                pairs = [
                    (a, b)
                    for a in (up[0], *up[self._there[up]][:1])
                    for b in (down[0], *down[self._there[down]][:1])
                ]
                pairs = [pair for pair in pairs if self._there[list(pair)].any()] or pairs[:1]
                crossed = np.array(min(pairs, key=lambda pair: visits[list(pair)].sum()))
            elif not len(alike):
                crossed = self._balanced(judges, apart[:, used])
        crews = [crew for crew in (alike[:1], crossed) if crew is not None and len(crew)]
        able = [crew for crew in crews if self._there[crew].any()]
        if not able:
            return None
        best = float(visits[judges[0]])
        if len(able) == 2 and visits[alike[0]] <= _BESIDE * visits[able[1]].max():
            able = able[:1]
        near = visits[able[-1]].min() <= _DEAR * best or there.all()
        return np.asarray(able[-1]) if near else None

    def _balanced(self, judges: Indices, apart: Floats) -> Indices | None:
        """Return the first judges among whom favours of several kinds cancel; None if none do."""
        for n in range(2, min(len(judges), 2 * apart.shape[1] + 2) + 1):
            c = shortest(apart[:n])
            if c is not None:
                return np.asarray(judges[:n][np.abs(c) > _NOTHING])
        return None

    def _fits(self, pairs: Indices, crew: Indices) -> Flags:
        """Tell (n,) which leads a crew can tell."""
        fits = np.asarray(self._free[pairs[:, 0]][:, crew].all(axis=1))
        fits &= self._free[pairs[:, 1]][:, crew].all(axis=1)
        (some,) = np.nonzero(fits)
        apart = self._apart(
            np.repeat(pairs[some, 0], len(crew)),
            np.repeat(pairs[some, 1], len(crew)),
            np.tile(crew, len(some)),
        ).reshape(len(some), len(crew), -1)
        if len(crew) == 1:
            fits[some] = (apart == 0.0).all(axis=(1, 2))
        else:  # an opposite favour cancels, and none at all does
            ahead = apart.reshape(len(some), -1)
            known = {
                row.tobytes(): shortest(one) is not None
                for row, one in zip(ahead, apart, strict=True)
            }
            fits[some] = [known[row.tobytes()] for row in ahead]
        return fits

    def _values(self, open_: Open) -> tuple[Indices, int, Open] | None:
        """All evaluators, on options that are to be held against a bar."""
        x = open_.pairs.max(axis=1)
        judges = np.flatnonzero((self._cell >= 0).any(axis=0))
        tau = self.guess.own[x] / math.sqrt(len(judges))
        due = self._since(open_.pairs) * self._often(open_.blocks(tau))
        want = due >= min(1.0, float(due.max()))
        beside = np.setdiff1d(np.arange(len(self.questions.options)), x[want])
        for n in range(len(beside) + 1):  # others show what favours are
            among = open_.some(np.isin(x, [*x[want], *beside[:n]]))
            asked = self._cell[np.append(x[want], beside[:n])][:, judges].reshape(-1)
            asked = np.sort(asked[(asked >= 0) & (self.left > 0)[asked]])
            W = lead_weights(self.questions, asked, np.ones_like(asked), among.pairs)
            if len(asked) and np.isfinite(W).all():
                effect = float((open_.hoped / tau)[want].min())
                return self.rng.permutation(asked), self._times(effect, len(asked)), among
        return None

    @cached_property
    def _kinds(self) -> tuple[Indices, Indices, Floats]:
        """(q,) the kind of each question, (u,) one of each kind that may be asked, and (u, m) its
        row over the noise and the root of its price.
        """
        kind = kinds(self.questions)
        may = np.flatnonzero(self.left > 0)
        price = self.guess.noise[may] * np.sqrt(self.questions.prices[may])
        may = may[np.argsort(price, kind="stable")]
        some = may[np.unique(kind[may], return_index=True)[1]]
        dear = self.guess.noise[some] * np.sqrt(self.questions.prices[some])
        return kind, some, self.questions.points[some] / dear[:, None]

    def start(self, length: int) -> Indices:
        """Return questions that tell what is least known, one after the other."""
        _, some, rows = self._kinds
        if not len(some):
            return some
        scale = np.abs(rows).max(axis=0)
        A = rows[:, scale > 0.0] / scale[scale > 0.0]
        V = A.T @ (A * np.minimum(self._counts(some), 1e6)[:, None])
        G = np.linalg.inv(V + 1e-6 * np.eye(len(V)))
        order = []
        for _ in range(length):
            AG = A @ G
            gain = np.einsum("ij,ij->i", AG, A)
            at = int(np.argmax(gain))
            order.append(int(some[at]))
            g = AG[at]
            G -= np.outer(g, g) / (1.0 + gain[at])
        return self.shared_out(np.array(order, dtype=np.intp))

    def _counts(self, some: Indices) -> Counts:
        kind = kinds(self.questions)
        counts = self.record.known.counts + self.pending
        return np.bincount(kind, counts, int(kind.max()) + 1)[kind[some]].astype(np.int64)

    def shared_out(self, order: Indices) -> Indices:
        """Return questions of the same kinds, by evaluators who were asked least, as allowed."""
        kind = kinds(self.questions)
        peers = np.flatnonzero(np.isin(kind, np.unique(kind[order])) & (self.left > 0))
        if len(peers) == len(np.unique(order)):
            found = order
        else:
            asked = (self.record.everything.counts + self.pending).astype(np.float64)
            who = self.questions.evaluator
            often = np.bincount(who % (who.max() + 2), asked)
            made: list[int] = []
            taken = self.pending.copy()
            for question in order.tolist():
                mine = peers[(kind[peers] == kind[question]) & self.limits.open(taken)[peers]]
                if not self.again:
                    mine = np.setdiff1d(mine, made)
                if not len(mine):
                    continue
                best = mine[np.lexsort((asked[mine], often[who[mine]]))[0]]
                taken[best] += 1
                asked[best] += 1.0
                often[who[best]] += 1.0
                made.append(int(best))
            found = np.array(made, dtype=np.intp)
        found = found[nth(found) <= self.left[found]]
        return self.limits.allowed(found, self.pending)

    def _bundle(self, open_: Open) -> tuple[Indices, int, Open] | None:
        """As many questions as cost least until all leads are told."""
        _, some, rows = self._kinds
        if not len(some):
            return None
        A, U, able = in_span(rows, directions(self.questions, open_.pairs))
        (told,) = np.nonzero(able)
        if not len(told):
            return None
        hard = np.argsort((-open_.need / open_.hoped**2)[told], kind="stable")[:_HARDEST]
        few = open_.some(told[hard])
        U = U[told[hard]]
        C = U * (np.sqrt(few.need) / few.hoped)[:, None]
        w, _ = proportions(A, C)
        best, found = np.inf, None
        for n in sorted({math.ceil(A.shape[1] * size) for size in _SIZES}):
            order = rounded(A, C, w, n, None if self.again else self._room(some))
            tau = np.sqrt(variances(A[order], U))
            if not np.isfinite(tau).all():
                continue
            cost = len(order) * float(few.blocks(tau).max())
            if cost < best:
                best, found = cost, order
        if found is None:
            return None
        tau = np.sqrt(variances(A[found], U))
        effect = float((few.hoped / tau)[np.argmax(few.blocks(tau))])
        order = self.shared_out(some[found])
        return self.rng.permutation(order), self._times(effect, len(order)), open_

    def _room(self, some: Indices) -> Counts:
        kind = kinds(self.questions)
        each = np.bincount(kind, self.left, int(kind.max()) + 1)
        return each[kind[some]].astype(np.int64)


def in_span(rows: Floats, directions: Floats) -> tuple[Floats, Floats, Flags]:
    """Return rows and directions in coordinates of the span of the rows, and which directions lie
    in it.
    """
    scale = np.abs(rows).max(axis=0)
    used = scale > 0.0
    A, U = rows[:, used] / scale[used], directions[:, used] / scale[used]
    _, sizes, axes = np.linalg.svd(A, full_matrices=False)
    basis = axes[sizes > 1e-9 * sizes.max(initial=0.0)].T
    lost = np.abs(U - U @ basis @ basis.T).max(axis=1, initial=0.0)
    beside = np.abs(directions[:, ~used]).max(axis=1, initial=0.0) > 0.0
    told = (lost <= _LOST * np.abs(U).max(axis=1, initial=0.0)) & ~beside
    return A @ basis, U @ basis, np.asarray(told)


@per_action_set
def cells(questions: Askable) -> Indices:
    """Return (i, e + 1) the question about each item to each evaluator, −1 where there is none; the
    last are those of nobody in particular.
    """
    assert isinstance(questions, Questions)
    found = np.full((len(questions.options), len(questions.evaluators) + 1), -1, dtype=np.intp)
    found[questions.about[:, 0], questions.evaluator] = np.arange(len(questions))
    return found


@per_action_set
def kinds(questions: Askable) -> Indices:
    """Return (q,) numbers that are the same for questions which have the same row."""
    assert isinstance(questions, Questions)
    return np.unique(questions.points, axis=0, return_inverse=True)[1].reshape(-1)


def variances(A: Floats, U: Floats) -> Floats:
    """Return (n,) the variances of directions by these rows; infinite where they do not tell."""
    _, sizes, axes = np.linalg.svd(A, full_matrices=False)
    some = sizes > 1e-9 * sizes.max(initial=0.0)
    told = U @ axes[some].T
    lost = np.abs(U - told @ axes[some]).max(axis=1, initial=0.0)
    found = ((told / sizes[some]) ** 2).sum(axis=1)
    return np.where(lost > _LOST * np.abs(U).max(axis=1, initial=0.0), np.inf, found)


def _completed(A: Floats, U: Floats, order: Indices, room: Counts | None) -> Indices:
    """Return the questions, and those that are lacking to tell directions with little weight in
    some that no share is left for in a few questions.
    """
    while True:
        rest = U - U @ np.linalg.pinv(A[order], rcond=1e-9) @ A[order]
        lost = np.abs(rest).max(axis=1) / np.abs(U).max(axis=1)
        worst = int(np.argmax(lost))
        gain = np.abs(A @ rest[worst])
        if room is not None:
            gain[room <= np.bincount(order, minlength=len(A))] = 0.0
        if lost[worst] <= 0.1 * _LOST or gain.max() == 0.0 or len(order) > 4 * A.shape[1]:
            return order
        order = np.append(order, np.argmax(gain))


def rounded(A: Floats, U: Floats, w: Floats, n: int, room: Counts | None = None) -> Indices:
    """Return n questions by these shares, or some more, that tell the directions precisely."""
    (some,) = np.nonzero(w > 1e-3 / len(w))
    V = 0.3 * (A.T * w) @ A
    V += 1e-9 * np.trace(V) * np.eye(len(V))
    order: list[int] = []
    left = None if room is None else room.copy()
    for _ in range(n):
        if left is not None:
            some = some[left[some] > 0]
            if not len(some):
                (some,) = np.nonzero(left > 0)
            if not len(some):
                break
        G = np.linalg.inv(V)
        Z, f = A[some] @ G, np.einsum("ij,ij->i", U @ G, U)
        gain = ((Z @ U.T) ** 2 * (f / f.max()) ** 2).sum(axis=1)
        at = int(some[np.argmax(gain / (1.0 + np.einsum("ij,ij->i", Z, A[some])))])
        order.append(at)
        if left is not None:
            left[at] -= 1
        V += np.outer(A[at], A[at])
    chosen = np.array(order, dtype=np.intp)
    if room is None:
        chosen = _exchanged(A, U, chosen, some)
    return np.sort(_completed(A, U, chosen, room))


def _exchanged(A: Floats, U: Floats, order: Indices, some: Indices) -> Indices:
    """Return the questions after each was exchanged once for the best instead of it."""
    now = np.inf
    for _ in range(len(order)):
        V = A[order[1:]].T @ A[order[1:]]
        V += 1e-9 * np.trace(V) * np.eye(len(V))
        G = np.linalg.inv(V)
        Z = A[some] @ G
        grown = 1.0 + np.einsum("ij,ij->i", Z, A[some])
        f = np.einsum("ij,ij->i", U @ G, U) - (Z @ U.T) ** 2 / grown[:, None]
        worst = f.max(axis=1)
        at = int(np.argmin(worst))
        now = min(now, float(worst[at]))
        order = np.append(order[1:], some[at])
    return order
