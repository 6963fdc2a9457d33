"""The alarms that a record gives rise to (docs/checks.md says what each check sees).

Notation
--------
b, y, S     an entry: what was learnt of one question at once, b answers of mean y and scatter S
n, M        number and mean of the answers to the same question before, T their mean time
w = (y − M) √(nb/(n + b)),   τ = (t − T) √(nb/(n + b))
l, α_l      number of a look, and the level of a check there: 10 α/((l + 9)(l + 10))

All is looked at when 30, 39, 51, … answers are in, each 1.3 times the last, and at the ends of a
run. Of a run of more than 2,048 entries, blocks of 64 are looked at, every 2nd, 4th, …: as many as
leave 2,048; the fit is always that of all answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.campaigns.proof.asked import Asked, Floats, Indices, Truths
from evenhand.campaigns.proof.lack_of_fit import lack_of_fit
from evenhand.campaigns.proof.record import Record
from evenhand.campaigns.proof.squares import Sums

_RATE = 0.03
_SHARES = {"fit": 0.4, "drift": 0.3, "scale": 0.15, "dependence": 0.15, "outliers": 8.0}
_KEPT, _BLOCK = 2048, 64
_MEDIAN = float(special.ndtri(0.75))
_FEWEST = 16  # deviations that a verdict takes
_MOST_ROWS = 60_000_000  # numbers in the rows that were asked, for the check of the fit
_CLOSE = 1e-6  # share by which a p-value may miss its level and be called close


@dataclass(frozen=True, eq=False)
class Entries:
    """What was learnt, entry by entry: (n,) each, in order."""

    questions: Indices
    counts: Floats
    means: Floats
    scatters: Floats
    before: Floats

    @classmethod
    def of(cls, record: Record) -> Entries:
        """Return all entries of a record, in units of each question's relative noise."""
        some = record.counted(0, record.total)
        batch = np.searchsorted(record.looks, some + 1)
        questions = record.questions[some]
        scores = record.scores[some] / record.asked.noise[questions]
        q = record.asked.rows.shape[0]
        _, at = np.unique(batch * q + questions, return_inverse=True)
        at = at.reshape(-1)
        b = np.bincount(at).astype(np.float64)
        means = np.bincount(at, scores) / np.maximum(b, 1)
        scatters: Floats = np.bincount(at, (scores - means[at]) ** 2).astype(np.float64)
        squares = np.bincount(at, scores**2)
        scatters[(b == 1) | (scatters <= 1e-12 * squares)] = 0.0
        of = np.zeros(len(b), dtype=np.intp)
        of[at] = questions
        return cls(of, b, means, scatters, np.cumsum(b) - b)

    def __len__(self) -> int:
        return len(self.questions)

    def some(self, which: Truths | Indices) -> Entries:
        """Return some of them."""
        return Entries(
            self.questions[which],
            self.counts[which],
            self.means[which],
            self.scatters[which],
            self.before[which],
        )

    def kept(self, n: int) -> Indices:
        """Return which of the first n are in the record of bounded length."""
        places, stride = np.arange(n), 1
        while np.count_nonzero((places // _BLOCK) % stride == 0) > _KEPT:
            stride *= 2
        return np.asarray(places[(places // _BLOCK) % stride == 0])


@dataclass(eq=False)
class Alarms:
    """What was found: the alarms by name, and those of which rounding might decide."""

    found: dict[str, float]
    close: list[str]
    unchecked: list[str]


def alarms(record: Record) -> Alarms:
    """Return the alarms of a record; `record.ends` are its looks out of turn."""
    entries = Entries.of(record)
    said = Alarms({}, [], [])
    ends_of_batches = np.flatnonzero(np.diff(_batches(record, entries), append=-1))
    in_at = (entries.before + entries.counts)[ends_of_batches].astype(int)
    looks = last = 0
    next_look = 30
    ends = [record.total] if record.ends is None else list(record.ends)
    out_of_turn = [len(record.counted(0, end)) for end in ends]
    for n, total in zip((ends_of_batches + 1).tolist(), in_at.tolist(), strict=True):
        if total >= next_look:
            while total >= next_look:
                looks += 1
                next_look = math.ceil(1.3 * next_look)
            _look(record, entries, n, looks, 0, said)
        for end in out_of_turn:
            if end == total:
                looks, last = looks + 1, last + 1
                _look(record, entries, n, looks, last, said)
    _repeats(entries, said)
    return said


def _batches(record: Record, entries: Entries) -> Indices:
    """Return (n,) which look every entry was learnt at."""
    counted = record.counted(0, record.total)
    first = counted[entries.before.astype(int)] if len(entries) else counted
    return np.asarray(np.searchsorted(record.looks, first + 1))


def _look(record: Record, entries: Entries, n: int, looks: int, last: int, said: Alarms) -> None:
    """Judge the first n entries, at one look's share of the rate."""
    asked = record.asked
    share = 10.0 / ((looks + 9) * (looks + 10))
    levels = {check: _RATE * part * share for check, part in _SHARES.items()}
    panel = len(asked.evaluators) > 1
    all_ = entries.some(np.arange(n))
    sums = _sums(asked, all_)
    repeats = float(np.maximum(sums.counts - 1, 0).sum())
    if last and panel and repeats >= 15:
        levels["fit"] += _RATE / 3.0 / (last * (last + 1))
    stated = record.settings.get("noise_scale")
    if stated is None:
        stated = record.noise_scale
    _judge_fit(asked, sums, stated, panel, levels["fit"], said)
    places = entries.kept(n)
    kept = entries.some(places)
    step = _steps(kept)
    w, _, _ = _innovations(kept)
    far, p = _strays(kept, _robust(kept, w), step)
    _judge("outliers", p, levels, said)
    near = np.abs(far) <= 5.0
    usual, where = kept.some(near), places[near]
    w, tau, at = _innovations(usual)
    if stated is not None:
        _judge("scale", _scale(usual, w, float(stated)), levels, said)
    _judge("dependence", _dependence(usual, w, at, where), levels, said)
    _judge("drift", _drift(w, tau), levels, said)


def _judge(check: str, p: float, levels: dict[str, float], said: Alarms) -> None:
    if abs(p - levels[check]) <= _CLOSE * levels[check]:
        said.close.append(f"the check of {check}")
    if p <= levels[check]:
        said.found[check] = p


def _sums(asked: Asked, entries: Entries) -> Sums:
    """Add entries up by question."""
    q = asked.rows.shape[0]
    counts = _added(entries, entries.counts, q)
    means = _added(entries, entries.counts * entries.means, q) / np.maximum(counts, 1.0)
    off = entries.means - means[entries.questions]
    off[np.abs(off) <= 1e-12 * np.abs(entries.means)] = 0.0  # the same score, but for rounding
    within = _added(entries, entries.scatters + entries.counts * off**2, q)
    return Sums(counts.astype(np.int64), means, within)


def _added(entries: Entries, numbers: Floats, q: int) -> Floats:
    return np.asarray(np.bincount(entries.questions, numbers, q), dtype=np.float64)


def _judge_fit(
    asked: Asked, sums: Sums, stated: float | None, panel: bool, level: float, said: Alarms
) -> None:
    """Judge the fit; where a constant explains most of what is left, that is what is lacking."""
    (seen,) = np.nonzero(sums.counts)
    if len(seen) * asked.rows.shape[1] > _MOST_ROWS:
        said.unchecked.append("fit")
        return
    rows, n = asked.rows[seen].toarray(), sums.counts[seen]
    told = n, sums.means[seen], sums.within[seen]
    lack = lack_of_fit(rows, *told, stated, panel)
    if math.isnan(lack.p_value):
        return
    if abs(lack.p_value - level) <= _CLOSE * level:
        said.close.append("the check of the fit")
    if lack.p_value > level:
        return
    name = "fit"
    if not (asked.alone and (asked.about[:, 1] < 0).any()):
        one = np.column_stack([rows, 1.0 / asked.noise[seen]])
        more = lack_of_fit(one, *told, stated)
        if more.df not in (0, lack.df):
            share = 1.0 - float(n @ more.residuals**2) / float(n @ lack.residuals**2)
            ratio = share / max(1.0 - share, 1e-300) * (lack.df - 1)
            if share > 0.0 and special.fdtrc(1, lack.df - 1, ratio) <= 0.01:
                name = "intercept"
    said.found.pop("fit", None)
    said.found.pop("intercept", None)
    said.found[name] = lack.p_value


def _innovations(entries: Entries) -> tuple[Floats, Floats, Indices]:
    """Return w and τ of entries that have others of their question before them, and which."""
    time = entries.before + 0.5 * entries.counts
    w, tau, at = [], [], []
    for members in _by_question(entries.questions):
        b, y, t = entries.counts[members], entries.means[members], time[members]
        y, t = y - y[0], t - t[0]
        n = np.cumsum(b)[:-1]
        root = np.sqrt(n * b[1:] / (n + b[1:]))
        w.append((y[1:] - np.cumsum(b * y)[:-1] / n) * root)
        tau.append((t[1:] - np.cumsum(b * t)[:-1] / n) * root)
        at.append(members[1:])
    if not at:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.intp)
    order = np.argsort(np.concatenate(at))
    return np.concatenate(w)[order], np.concatenate(tau)[order], np.concatenate(at)[order]


def _by_question(questions: Indices) -> list[Indices]:
    """Return the places of every question, in order."""
    order = np.argsort(questions, kind="stable")
    cuts = np.flatnonzero(np.diff(questions[order])) + 1
    return np.split(order, cuts) if len(order) else []


def _sizes(entries: Entries) -> Floats:
    """Return √S of entries of several, in units in which the median is that of |N(0, σ²)|."""
    several = entries.counts > 1.0
    middle = special.chdtri(entries.counts[several] - 1.0, 0.5)
    return np.asarray(_MEDIAN * np.sqrt(entries.scatters[several] / middle))


def _robust(entries: Entries, w: Floats) -> float:
    sizes = np.concatenate([np.abs(w), _sizes(entries)])
    return float(np.median(sizes)) / _MEDIAN if len(sizes) else 0.0


def _steps(entries: Entries) -> float:
    """Return the least distance between common scores; 0 where scores hardly ever repeat."""
    sums = entries.means * entries.counts
    unit = 1e-12 * max(float(np.abs(sums).max(initial=0.0)), 1e-300)
    values, times = np.unique(np.round(sums / unit), return_counts=True)
    common = (times > 1) & (50 * times >= len(sums))
    if common.sum() < 2 or 2 * times[common].sum() < len(sums):
        return 0.0
    return float(np.diff(values[common]).min() * unit)


def _strays(entries: Entries, scale: float, step: float) -> tuple[Floats, float]:
    """Return how far entries lie from the median of their question, and the p-value of that."""
    n = len(entries)
    sizes, units, judged = np.zeros(n), np.zeros(n), np.ones(n, dtype=np.bool_)
    for members in _by_question(entries.questions):
        m, y, b = len(members), entries.means[members], entries.counts[members]
        off = (y - np.median(y)) * np.sqrt(b * (m / max(m - 1, 1)))
        own = float(np.median(np.abs(off))) / _MEDIAN if m >= 5 else 0.0
        units[members] = max(own, scale, 0.6 * step)
        sizes[members] = off
        if m == 2:  # of two that differ nobody knows which one strays: they count once
            judged[members[np.lexsort((np.arange(2), y))[0]]] = False
    if not n or not units.min() > 0.0:
        return np.zeros(n), 1.0
    sizes = sizes / units
    nu = np.maximum(entries.counts - 1.0, 1.0)
    tail = special.chdtrc(nu, entries.scatters / units**2)
    within = -special.ndtri(np.maximum(tail, 1e-300) / 2.0)
    sizes = np.where(within > np.abs(sizes), within, sizes)
    p = 1.0
    for r, share in ((2.5, 0.17), (3.5, 0.15)):
        far = np.abs(sizes[judged])
        beyond, twice = int((far > r).sum()), int((far > 2.0 * r).sum())
        p = min(p, 2.0 * _at_least(twice, beyond, share))
    return sizes, p


def _scale(entries: Entries, w: Floats, stated: float) -> float:
    """Return the p-value of 'the noise is at most 1.1 times what is stated'."""
    sigma, p = 1.1 * stated, 2.0 * float(special.ndtr(-1.5))
    several = entries.counts > 1.0
    nu = entries.counts[several] - 1.0
    tails = special.chdtrc(nu, entries.scatters[several] / sigma**2)
    beyond, n = int((np.abs(w) > 1.5 * sigma).sum() + (tails < p).sum()), len(w) + len(tails)
    return _at_least(beyond, n, p) if n >= _FEWEST else 1.0


def _dependence(entries: Entries, w: Floats, at: Indices, places: Indices) -> float:
    """Return the p-value of 'scores know nothing of others'."""
    p = _neighbours(entries, w, at, places)
    several = entries.counts[at] > 1.0
    S, b = entries.scatters[at][several], entries.counts[at][several]
    more = w[several] ** 2 - S / np.maximum(b - 1.0, 1.0)
    size = math.sqrt(float(more @ more))
    if len(more) < _FEWEST or size == 0.0:
        return p
    return min(1.0, 2.0 * min(p, float(special.ndtr(-float(more.sum()) / size))))


def _neighbours(entries: Entries, w: Floats, at: Indices, places: Indices) -> float:
    if not len(w) or not w.any():
        return 1.0
    pooled, units = float((w**2).mean()), np.empty(len(w))
    for members in _by_question(entries.questions[at]):
        own = float((w[members] ** 2).sum())
        units[members] = math.sqrt((own + pooled) / (len(members) + 1.0))
    u = w / units
    near = np.diff(places[at]) == 1
    products = (u[:-1] * u[1:])[near]
    if len(products) < _FEWEST:
        return 1.0
    correlation = float(products.mean() / np.mean(u * u))
    return float(special.ndtr(-correlation * math.sqrt(len(products))))


def _drift(w: Floats, tau: Floats) -> float:
    """Return the p-value of 'scores of the same question do not move with time'."""
    products = w * tau
    size = math.sqrt(float(products @ products))
    if len(products) < _FEWEST or size == 0.0:
        return 1.0
    return 2.0 * float(special.ndtr(-abs(float(products.sum()) / size)))


def _repeats(entries: Entries, said: Alarms) -> None:
    """See whether six repeats or more all gave the score of before."""
    alike = 0.0
    for members in _by_question(entries.questions):
        y, first = entries.means[members], entries.means[members[0]]
        if (np.abs(y - first) > 1e-12 * np.abs(y)).any() or entries.scatters[members].any():
            return
        alike += float(entries.counts[members].sum()) - 1.0
    if alike >= 6:
        said.found["repeats"] = math.nan


def _at_least(k: int, n: int, p: float) -> float:
    """Return the probability of k or more of n."""
    return 1.0 if k <= 0 else float(special.bdtrc(k - 1, n, p))
