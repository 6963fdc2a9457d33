"""The conclusion from one look at scores: who is wanted, how sure that is, and what is lost else.

Notation
--------
m           how many are wanted;  a, b, x  options;  leads and their errors are `linear`'s
p(a, b)     the chance of a lead as large as that of a over b, if a were no better
δ           1 less the confidence;  ε  the tolerance

One joint statement, with a probability of δ at most to be wrong in any of it:

- *The best.* The leader is the best if p(leader, b) < δ/2 for all others b. Who leads falsely leads
  by noise alone, and two options that tie are the worst case (Gutmann and Maymin, 1987; Hung and
  Fithian, 2019): so nothing is paid for the number of options. Else b is surely not the best if
  p(leader, b) < δ/(k − 1): that is wrong only if b is the best one, and one of the k − 1 others
  leads it by noise.
- *The loss.* If it is more than ε, the worst of the chosen is none of the m best, the best of the
  others is one, and one of m(k − m) such pairs has a lead beyond noise: so ε is the least with
  p < δ/m(k − m) of all leads across the line that are larger by ε. Shares are δ/2 at most.
- *The m best*: likewise if p < δ/2 across the line for all pairs. Else option x is in if p < α over
  k − m others, and out if m others are so over it. Who is in falsely, at place m + j, is falsely
  better than j of the m + j − 1 before it; who is out falsely, at place m − i + 1, falsely worse
  than i of the k − m + i − 1 behind it. Ties are the worst case; and given the error of x, those of
  the others are independent, so that how many of n it beats is binomial, each with a chance of
  Φ(ε + √2 Φ⁻¹(α)), ε the error in units of its own. α is where the chances of all k places, on
  average over ε, add up to δ: two to eight times what Markov's inequality allows. Then step by
  step: of who is placed nothing false is left to say.
- *A bar, and against one option*: two-sided t tests by Holm.
- *Ranks*: pairs that differ by Holm over all of them, and what is sure of the target: nobody who is
  surely in has a rank beyond the line.

Chances are estimates (`chances`). They are never 0 or 1, and not beyond what is sure: who is not
surely in has no 100%. A value has an interval of its own, by its own scores, and so has each lead.
An option that is doubted (an alarm concerns its scores) has no lead that is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.inference.chances import _MANY, Drawn
from evenhand.inference.target import Target
from evenhand.linear import Fit, Spread

Verdict = Literal["in", "out", "open", "not worse", "itself"]
Flags = NDArray[np.bool_]

_NEAR = 0.01  # chances of who is not placed are no nearer to 0 and 1
_NEAREST = 0.001
_DRAWING = 0.02  # by which chances differ that do not differ by their draws alone
_ERRORS = np.arange(-32, 33) / 4  # of an option, in units of its standard error
_DENSITY = np.exp(-0.5 * _ERRORS**2) / np.exp(-0.5 * _ERRORS**2).sum()


@dataclass(frozen=True, eq=False)
class Conclusion:
    """Where every option stands against a target.

    Parameters
    ----------
    target
        What was wanted.
    delta
        Probability of being wrong in anything that is sure.
    verdicts
        (k,) in, out or open; with a tolerance also 'not worse' by more than that.
    chosen
        Indices of those that look wanted, the most valuable first.
    leader
        The option with the highest value.
    loss
        What any of the chosen is worse than any other option, at most; infinite if not known. Of a
        bar, and against an option, NaN.
    values
        (k, 3) values with intervals, each by itself.
    leads
        (k, 3) leads of the most valuable option over all, with intervals, each by itself.
    chances
        (k,) how probable it is that each is wanted: an estimate. NaN where nothing is known.
    expected_loss
        What is expected to be lost per place, against the true best: an estimate.
    spread
        Standard deviation of values in general, by estimate.
    short
        Indices of those that surely fall short of a bar or another option by more than the
        tolerance.
    parts
        Options of each category, which compete with one another alone; all, where there are none.
    """

    target: Target
    delta: float
    verdicts: tuple[Verdict, ...]
    chosen: tuple[int, ...]
    leader: int
    loss: float
    values: Floats
    leads: Floats
    chances: Floats
    expected_loss: float = math.nan
    spread: float = math.nan
    short: tuple[int, ...] = ()
    parts: tuple[Indices, ...] = ()
    fit: Fit | None = field(default=None, repr=False)
    doubted: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_), repr=False)

    def where(self, *verdicts: Verdict) -> tuple[int, ...]:
        """Return the options, by index, of which one of these is said, the most valuable first."""
        found = [x for x, said in enumerate(self.verdicts) if said in verdicts]
        return tuple(sorted(found, key=lambda x: -self.values[x, 0]))

    @property
    def inside(self) -> tuple[int, ...]:
        """Who is surely wanted; with a tolerance, or not worse by more than that."""
        return self.where("in", "not worse")

    @property
    def outside(self) -> tuple[int, ...]:
        """Who is surely not wanted."""
        return self.where("out")

    @property
    def undecided(self) -> tuple[int, ...]:
        """Who is neither."""
        return self.where("open")

    @property
    def sure(self) -> bool:
        """Whether nothing is open; of the m best, also if no more than the tolerance is lost."""
        if self.target.top is None:
            return "open" not in self.verdicts
        return bool(self.chosen) and self.loss <= self.target.tolerance

    @property
    def expected_right(self) -> float:
        """How many of the chosen are expected to be wanted: an estimate."""
        return float(self.chances[list(self.chosen)].sum()) if self.chosen else 0.0

    def passes(self, option: int) -> bool | None:
        """Tell whether an option is surely wanted, up to the tolerance; None where it is open."""
        top = self.target.top is not None
        verdict = self.verdicts[option]
        if verdict in ("in", "not worse") or (top and self.sure and option in self.chosen):
            return True
        fails = verdict == "out" and not self.target.tolerance
        return False if fails or option in self.short else None

    def compare(self, a: int, b: int) -> Spread:
        """Return the lead of one option over another."""
        assert self.fit is not None
        return _doubting(self.fit.leads([a], [b]), self.doubted[[a]] | self.doubted[[b]])

    @cached_property
    def ranks(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(k,) the best and the worst place that each may have in its category, of all at once."""
        k = len(self.verdicts)
        low, high = np.ones(k, dtype=np.intp), np.full(k, k, dtype=np.intp)
        surely = np.zeros((k, k), dtype=np.bool_)
        if self.fit is not None and not self.fit.silent:
            surely = _sure_pairs(_pairs(self.fit, self.doubted), self.parts, k, self.delta)
        for some in self.parts:
            n = len(some)
            better = surely[np.ix_(some, some)]
            better |= self._sure_of_target(some)
            low[some] = 1 + better.sum(axis=0)
            high[some] = n - better.sum(axis=1)
            if (m := self.target.top) is not None:
                said = np.array([self.verdicts[x] for x in some.tolist()])
                high[some] = np.where(said == "in", np.minimum(high[some], m), high[some])
                low[some] = np.where(said == "out", np.maximum(low[some], m + 1), low[some])
        return low, np.maximum(low, high)

    def _sure_of_target(self, some: Indices) -> Flags:
        """Return (n, n) who is surely better than whom, by what is sure of the target."""
        said = np.array([self.verdicts[x] for x in some.tolist()])
        inside, outside = said == "in", said == "out"
        if self.target.top is not None or self.target.bar is not None:
            return np.asarray(inside[:, None] & outside)
        itself = said == "itself"
        return np.asarray((inside[:, None] & itself) | (itself[:, None] & outside))


def conclude(
    fit: Fit,
    target: Target,
    delta: float,
    *,
    rival: int | None = None,
    like: bool = True,
    doubted: Flags | None = None,
    parts: Sequence[Indices] | None = None,
) -> Conclusion:
    """Return where options stand against a target by one look at all scores.

    Parameters
    ----------
    fit
        The fit of the scores; the highest values are the best.
    target
        What is wanted.
    delta
        Probability of being wrong in anything that is sure.
    rival
        Index of the option that others are held ``against``, if the target is that.
    like
        Whether values are those for judges like these, or for these alone.
    doubted
        (k,) options whose scores are in doubt.
    parts
        Categories: options compete inside of them alone.
    """
    k = fit.design.n_options
    doubt = np.zeros(k, dtype=np.bool_) if doubted is None else doubted
    groups = tuple(parts) if parts is not None else (np.arange(k),)
    nothing: list[Verdict] = ["open"] * k
    level = _doubting(fit.level(like), doubt)
    values = level.ends(delta)
    if (votes := Votes.of(fit)) is not None:
        values = votes.widened(values, delta)
    said = Conclusion(
        target,
        delta,
        tuple(nothing),
        (),
        int(fit.order[0]),
        math.nan,
        values,
        np.zeros((k, 3)),
        np.full(k, math.nan),
        parts=groups,
        fit=fit,
        doubted=doubt,
    )
    drawn = _drawn(fit, groups)

    @cache
    def over(option: int) -> Spread:
        """Return the leads of an option."""
        leads = fit.leads(np.full(k, option), np.arange(k))
        return _doubting(leads, doubt | doubt[option])

    if target.top is None:
        found = _holm_target(said, level, target, rival)
    else:
        found = _best(said, target.top, drawn, over)
    leads = over(found.leader).ends(delta)
    leads[found.leader] = 0.0
    return replace(found, leads=leads, chances=_chances(found, level, drawn, rival))


def _doubting(spread: Spread, doubted: Flags) -> Spread:
    """Return contrasts, unknown where they are in doubt."""
    return spread._replace(variance=np.where(doubted, np.inf, spread.variance))


def _pairs(fit: Fit, doubted: Flags) -> Iterator[tuple[Indices, Indices, Spread]]:
    """Return all leads of a over b, block by block."""
    for a, b, spread in fit.pairs():
        yield a, b, _doubting(spread, doubted[a] | doubted[b])


def _above(fit: Fit, doubted: Flags) -> Floats:
    """Return (k, k) p(a, b)."""
    k = len(doubted)
    p = np.full((k, k), 0.5)
    for a, b, spread in _pairs(fit, doubted):
        p[a, b], p[b, a] = spread.above, spread.turned.above
    return p


def _best(
    said: Conclusion, m: int, drawn: Sequence[Drawn | None], over: Callable[[int], Spread]
) -> Conclusion:
    """Return who is among the m best of each category."""
    fit, values = said.fit, said.values[:, 0]
    assert fit is not None
    delta = said.delta / len(said.parts)
    verdicts, chosen, losses, lost = list(said.verdicts), list[int](), [0.0], list[float]()
    above, line = None, _Line.of(len(values))
    for some, draws in zip(said.parts, drawn, strict=True):
        order = some[np.argsort(np.argsort(fit.order, kind="stable")[some], kind="stable")]
        if len(some) <= m:
            chosen += order.tolist()
            for x in order.tolist():
                verdicts[x] = "in"
            continue
        share = delta / max(2, m * (len(some) - m))
        if m == 1:
            best = bool((_at(over(int(order[0])), order[1:]).above < 0.5 * delta).all())
            order = order if best else _probable(order, 1, draws, some)
            first, rest = order[:1], order[1:]
            ahead = _at(over(int(first[0])), rest)
            inside = first if best else first[:0]
            outside = rest if best else rest[ahead.above < share]
            losses += [] if best else [_loss(ahead, share)]
        else:
            above = _above(fit, said.doubted) if above is None else above
            inside, outside = _several(above[np.ix_(order, order)], order, m, delta)
            order = order if len(inside) == m else _probable(order, m, draws, some)
            first, rest = order[:m], order[m:]
            if len(inside) < m:
                line.side[first], line.side[rest] = len(chosen) + 1, -len(chosen) - 1
                line.share[some] = share
        chosen += first.tolist()
        for x in inside.tolist():
            verdicts[x] = "in"
        for x in outside.tolist():
            verdicts[x] = "out"
        if draws is not None:
            lost.append(draws.lost(np.searchsorted(np.sort(some), np.sort(first))) * len(first))
    losses += line.losses(_pairs(fit, said.doubted)) if line.side.any() else []
    for x in chosen if max(losses) <= said.target.tolerance else ():
        if verdicts[x] == "open":
            verdicts[x] = "not worse"
    by_value = sorted(chosen, key=lambda x: (-values[x], x))
    expected = sum(lost) / len(chosen) if lost and None not in drawn else math.nan
    spreads = [one.spread for one in drawn if one is not None]
    return replace(
        said,
        verdicts=tuple(verdicts),
        chosen=tuple(by_value if len(said.parts) == 1 else chosen),
        leader=by_value[0],
        loss=max(losses),
        expected_loss=expected,
        spread=float(np.mean(spreads)) if spreads else math.nan,
    )


def _probable(order: Indices, m: int, draws: Drawn | None, some: Indices) -> Indices:
    """Return the order of the options of a category in which the first m are those that are most
    probably the m best; by value, where their chances are as good as equal. An option with few
    scores may lead by luck.
    """
    if draws is None:
        return order
    chance = draws.among(m)[np.searchsorted(some, order)]
    first = np.arange(len(order)) < m
    for _ in range(m):
        least, most = np.where(first, chance, np.inf).argmin(), np.where(first, -1, chance).argmax()
        if chance[most] < chance[least] + _DRAWING:
            break
        first[[least, most]] = False, True
    return np.concatenate([order[first], order[~first]])


def _at(spread: Spread, some: Any) -> Spread:
    return Spread(*(part[some] for part in spread))


class _Line(NamedTuple):
    """The line between those that are chosen and the others, in every category."""

    side: Indices  # (k,) a number of the category, less than 0 behind the line; 0: no line
    share: Floats  # (k,) of δ that each lead across it has

    @classmethod
    def of(cls, k: int) -> Self:
        """Return no line."""
        return cls(np.zeros(k, dtype=np.intp), np.ones(k))

    def losses(self, pairs: Iterable[tuple[Indices, Indices, Spread]]) -> list[float]:
        """Return what is lost at most across the line, by blocks of pairs."""
        found = list[float]()
        for a, b, spread in pairs:
            here = np.flatnonzero((self.side[a] + self.side[b] == 0) & (self.side[a] != 0))
            leads = _at(spread, here)
            ahead = np.where(self.side[a[here]] > 0, leads.estimate, -leads.estimate)
            found.append(_loss(leads._replace(estimate=ahead), self.share[a[here]]))
        return found


def _loss(leads: Spread, share: Floats | float) -> float:
    """Return the least tolerance within which all leads are sure, each but for a share of δ."""
    t = special.stdtrit(np.maximum(leads.freedom, 0.1), 1.0 - share)
    with np.errstate(invalid="ignore"):
        short = t * np.sqrt(leads.variance) - leads.estimate
    return max(0.0, float(short.max(initial=0.0)))


@lru_cache(maxsize=256)
def _share(k: int, m: int, delta: float) -> float:
    """Return α, with which somebody is falsely in, or out, with a probability of δ at most."""
    place = np.arange(1, k + 1)[:, None]
    of = np.where(place > m, place - 1, k - place)  # it is truly no better, or no worse, than these
    beaten = np.where(place > m, place - m, m + 1 - place)  # of whom so many are to be wrong
    low, high = math.log(delta / k**2), math.log(0.5 * delta)
    for _ in range(16):
        middle = 0.5 * (low + high)
        each = special.ndtr(_ERRORS + math.sqrt(2.0) * special.ndtri(math.exp(middle)))
        false = float((special.bdtrc(beaten - 1, of, each) @ _DENSITY).sum())
        low, high = (middle, high) if false <= delta else (low, middle)
    return math.exp(low)


def _several(p: Floats, order: Indices, m: int, delta: float) -> tuple[Indices, Indices]:
    """Return who is surely among the m best, and who surely not, by p of options in order."""
    if (p[:m, m:] < 0.5 * delta).all():
        return order[:m], order[m:]
    inside, outside, left = list[int](), list[int](), m
    among = np.arange(len(order))
    while len(among) > 1 and 0 < left < len(among):
        r = len(among)
        share = _share(r, left, delta)
        better = p[np.ix_(among, among)] < share
        is_in, is_out = better.sum(1) >= r - left, better.sum(0) >= left
        if not (is_in | is_out).any():
            break
        inside += among[is_in].tolist()
        outside += among[is_out & ~is_in].tolist()
        left -= int(is_in.sum())
        among = among[~(is_in | is_out)]
    return order[inside], order[outside]


def unbounded(estimates: Floats) -> Floats:
    """Return (k, 3) estimates with intervals that are everything."""
    everything = np.full(len(estimates), np.inf)
    return np.column_stack([estimates, -everything, everything])


def _holm_target(said: Conclusion, level: Spread, target: Target, rival: int | None) -> Conclusion:
    """Return who is surely above a bar, or better than one option, and who surely not."""
    fit, k, slack = said.fit, len(said.verdicts), target.tolerance
    assert fit is not None
    verdicts: list[Verdict] = ["open"] * k
    others = np.arange(k)
    if target.bar is not None:
        away = level.shifted(-target.bar)
    else:
        assert rival is not None
        others = np.delete(others, rival)
        verdicts[rival] = "itself"
        against = fit.leads(np.arange(k), np.full(k, rival))
        away = _doubting(against, said.doubted | said.doubted[rival])
    tested, votes = _at(away, others), Votes.of(fit)
    verdict_of = list[Indices]()
    for shift in (0.0, slack):
        spread = tested.shifted(shift)
        with np.errstate(invalid="ignore"):
            p = spread.above
        if votes is not None and target.bar is not None:
            p = votes.above(target.bar - shift, p)
        verdict_of += [others[flags] for flags in holm(spread.estimate, p, said.delta)]
    above, below, near, short = verdict_of
    for x in near.tolist():
        verdicts[x] = "not worse"
    for x in above.tolist():
        verdicts[x] = "in"
    for x in below.tolist():
        if verdicts[x] != "not worse":
            verdicts[x] = "out"
    looks = others[away.estimate[others] > -slack]
    chosen = looks[np.argsort(-away.estimate[looks], kind="stable")]
    return replace(
        said, verdicts=tuple(verdicts), chosen=tuple(chosen.tolist()), short=tuple(short.tolist())
    )


def holm(
    estimate: Floats, above: Floats, delta: float, n: int | None = None
) -> tuple[Flags, Flags]:
    """Return what is surely above 0, and what below, of all n at once (Holm); others than those
    that are given are not sure.
    """
    p = 2.0 * np.minimum(above, 1.0 - above)
    order = np.argsort(p, kind="stable")
    sure = np.zeros(len(p), dtype=np.bool_)
    left = (len(p) if n is None else n) - np.arange(len(p))
    sure[order] = np.logical_and.accumulate(p[order] < delta / left)
    return sure & (estimate > 0.0), sure & (estimate < 0.0)


@dataclass(frozen=True, eq=False)
class Votes:
    """Scores of two kinds only, as yes and no: how many say yes has a binomial law, or one that is
    narrower where judges differ (Hoeffding, 1956). An option of which all say the same has no
    scatter of its own that tells how sure its value is.
    """

    yes: Floats  # (k,)
    n: Floats  # (k,) how many were asked
    ends: tuple[float, float]  # the score that is no, and the one that is yes

    @classmethod
    def of(cls, fit: Fit) -> Votes | None:
        """Return the votes; None where scores are of more kinds, or of pairs."""
        design, y = fit.design, fit.design.y
        no, yes = float(y.min(initial=np.inf)), float(y.max(initial=-np.inf))
        plain = design.rival is None and design.features is None and design.control is None
        if not (plain and no < yes and ((y == no) | (y == yes)).all()):
            return None
        n, said = (np.zeros(design.n_options) for _ in range(2))
        np.add.at(n, design.option, 1.0)
        np.add.at(said, design.option, (y == yes).astype(np.float64))
        return cls(said, n, (no, yes))

    def above(self, bar: float, p: Floats) -> Floats:
        """Return (k,) chances to be above a bar, none nearer to 0 or 1 than by the binomial law."""
        q = np.clip((bar - self.ends[0]) / (self.ends[1] - self.ends[0]), 0.0, 1.0)
        s, n = self.yes, self.n
        more = np.where(s > 0, special.betainc(np.maximum(s, 1), n - s + 1, q), 1.0)
        fewer = np.where(s < n, special.betaincc(s + 1, np.maximum(n - s, 1), q), 1.0)
        up = np.maximum(p, np.minimum(more, 0.5))
        return np.where(p < 0.5, up, np.minimum(p, 1.0 - np.minimum(fewer, 0.5)))

    def widened(self, values: Floats, delta: float) -> Floats:
        """Return (k, 3) values with intervals no narrower than those of Clopper and Pearson."""
        (no, yes), (s, n) = self.ends, (self.yes, self.n)
        low = np.where(s > 0, special.betaincinv(np.maximum(s, 1), n - s + 1, 0.5 * delta), 0.0)
        rest = np.maximum(n - s, 1)
        high = np.where(s < n, special.betaincinv(s + 1, rest, 1.0 - 0.5 * delta), 1.0)
        ends = no + (yes - no) * np.column_stack([low, high])
        return np.column_stack([
            values[:, 0], np.minimum(values[:, 1], ends[:, 0]), np.maximum(values[:, 2], ends[:, 1])
        ])  # fmt: skip


def _sure_pairs(
    pairs: Iterable[tuple[Indices, Indices, Spread]],
    parts: Sequence[Indices],
    k: int,
    delta: float,
) -> Flags:
    """Return (k, k) who is surely better than whom, of all pairs in a category at once (Holm)."""
    # Of pairs of which u are not sure, none is sure with p > share/(u + 1); Student's p is larger
    # than the normal one.
    share, whose, never = delta / len(parts), np.full(k, -1), np.zeros(len(parts))
    for number, some in enumerate(parts):
        whose[some] = number
    found = [(np.zeros((2, 0), dtype=np.int32), np.zeros(0))]
    for a, b, spread in pairs:
        near, t = np.flatnonzero(whose[a] == whose[b]), np.abs(spread.t)
        for _ in range(2):
            least = -special.ndtri(0.5 * share / (never + 1.0)) * (1.0 - 1e-9)
            far = t[near] < least[whose[a[near]]]
            never += np.bincount(whose[a[near[far]]], minlength=len(never))
            near = near[~far]
        both = np.array([a[near], b[near]], dtype=np.int32)
        found.append((both, _at(spread, near).above))
    ends, above = (np.concatenate(part, axis=-1) for part in zip(*found, strict=True))
    better = np.zeros((k, k), dtype=np.bool_)
    for number, some in enumerate(parts):
        mine = whose[ends[0]] == number
        (a, b), p, n = ends[:, mine], above[mine], len(some)
        up, down = holm(0.5 - p, p, share, n * (n - 1) // 2)
        better[a[up], b[up]] = better[b[down], a[down]] = True
    return better


def _drawn(fit: Fit, parts: Sequence[Indices]) -> list[Drawn | None]:
    """Return draws of the values of each category; None where nothing is known of them."""
    found: list[Drawn | None] = []
    for some in parts:
        known = not fit.silent and np.ptp(fit.part[some]) == 0 and len(some) > 1
        found.append(None)
        if known:
            C, freedom = fit.covariance(some, alone=len(some) > _MANY)
            found[-1] = Drawn.of(fit.values[some], C, freedom) if freedom >= 1.0 else None
    return found


def _chances(
    said: Conclusion, level: Spread, drawn: Sequence[Drawn | None], rival: int | None
) -> Floats:
    """Return (k,) chances, as far as what is sure allows."""
    target, chances = said.target, np.full(len(said.verdicts), math.nan)
    for some, draws in zip(said.parts, drawn, strict=True):
        if target.top is not None and len(some) <= target.top:
            chances[some] = 1.0
        elif draws is None:
            continue
        elif target.top is not None:
            chances[some] = draws.among(target.top)
            least = chances[np.intersect1d(some, said.chosen)].min()  # more is of the draws alone
            others = np.setdiff1d(some, said.chosen)
            chances[others] = np.minimum(chances[others], least)
        elif target.bar is not None:
            known = np.isfinite(level.variance)
            if not known.all():
                continue
            mean, least = float(level.estimate.mean()), float(level.variance.min())
            own = draws.values.var(axis=1).min()
            shared = math.sqrt(max(least - float(own), 0.0))
            chances[some] = draws.above(mean, shared, target.bar - target.tolerance)
        else:
            assert rival is not None
            chances[some] = draws.beside(rival, target.tolerance)
    return np.asarray(np.where(said.doubted, np.nan, capped(said, chances)))


def capped(said: Conclusion, chances: Floats) -> Floats:
    """Return (k,) chances as far as what is sure allows; never 0 or 1."""
    said_in = np.isin(said.verdicts, ("in", "not worse"))
    said_out = np.array(said.verdicts) == "out"
    if said.target.top is None and said.target.tolerance:  # it may be worse by less than that
        said_out &= np.isin(np.arange(len(said_out)), said.short)
    sure = 1.0 - said.delta
    known = np.where(np.isnan(chances) & said_in, sure, chances)
    known = np.where(np.isnan(chances) & said_out, said.delta, known)
    chances = np.where(said_in | said_out, known, np.clip(chances, _NEAR, 1.0 - _NEAR))
    chances = np.where(said_in, np.clip(chances, sure, 1.0 - _NEAREST), chances)
    return np.where(said_out, np.clip(chances, _NEAREST, said.delta), chances)
