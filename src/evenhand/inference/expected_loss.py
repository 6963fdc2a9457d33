"""What answers would take off the expected loss of a conclusion, and which would take most.

Notation
--------
z           effects: values of options (or of their features), and slopes;  s_j  severities
t           row of z in a question's answer, less what is expected of its s_j given z
G           covariance of z by the scores and by what values and slopes are in general
σ², D_j⁻¹   variance of an answer, and of s_j if z were known
h           row of a contrast that decides;  l, v²  its distance from its line, and hᵀGh

Of the best, contrasts are the leads of all others over who leads, and the line is the tolerance;
against an option, they are leads over it; with a bar, values; of the m best, values from their mean
on, and the line lies between the last that is in and the first that is out. A contrast on the wrong
side loses v (φ(z) − z Φ(−z)) on average, z = |l|/v. Severities are summed out one by one, so that
an answer is one to t with a variance of ω = σ² + D_j⁻¹: it takes (hᵀGt)²/(ω + tᵀGt) off v²,
whatever it says, and G loses a matrix of rank one. So the question is asked that takes most off the
sum of losses for its price, then the next, with that one taken for answered. What cannot be
compared yet is as little known as values are in general, so that a question which connects options
takes most off.

They are chosen by the scores. Who asks them and decides anew has chosen what was scored by looking
at scores: then ``assigned="adaptively"`` says what is sure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Counts, Floats, Indices, dense
from evenhand.inference.conclusion import Conclusion
from evenhand.linear import Fit
from evenhand.linear.basis import indicator
from evenhand.numerics.tolerance import first_largest
from evenhand.questions import UNLIMITED, Questions
from evenhand.questions.advice import NEUTRAL
from evenhand.scores import Scores
from evenhand.scores.scores import sums

_CLOSE, _FEW = 64, 8  # contrasts, and options, that are looked at: those closest to the line
_ASKED = 20_000  # questions that are looked at
_NEAR = 1e-4  # share of the largest expected loss from which on a contrast is looked at
_FLAT = 1e-9  # share of an answer's information that is put on what nothing else is known of


class Step(NamedTuple):
    """The best question, the option of which it tells most, how far that is from the line, and the
    variance of that before and after the answer.
    """

    question: int
    option: int
    away: float
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Askable:
    """What may be asked, and what was scored, as rows of the same effects.

    Parameters
    ----------
    options
        (k,) the options that are looked at.
    values
        (k, w) their values, as rows of effects.
    z, severity
        (q, w) effects in the answer to each question, and (q,) whose severity; −1: nobody's.
    noise, prices, left
        (q,) relative variances, prices, and how often each may be asked.
    about, who, numbers
        (q, 2) what each is about, of ``items``, (q,) whom it is put to, of ``people`` (−1: none, or
        nobody), and (q,) its number, where questions were given.
    told, by, weight, total
        (w, n) effects in scores, perhaps sparse, (n,) whose severity, their information, and scores
        times that.
    neutral
        (r,) slopes, the last of the effects, in a value.
    room
        (people,) how often each may be asked, where that is limited.
    most
        How much may be asked in all.
    """

    options: Indices
    values: Floats
    z: Floats
    severity: Indices
    noise: Floats
    prices: Floats
    left: Floats
    about: Indices
    who: Indices
    items: Sequence[str]
    people: Sequence[str]
    told: Any
    by: Indices
    weight: Floats
    total: Floats
    neutral: Floats
    numbers: Indices | None = None
    room: Floats | None = None
    most: float = math.inf

    def open(self, made: Counts) -> NDArray[np.bool_]:
        """Tell (q,) what may still be asked beside what is."""
        found = np.asarray(made < self.left)
        if self.room is not None:
            busy = np.bincount(self.who[self.who >= 0], made[self.who >= 0], len(self.room))
            found &= (self.who < 0) | (busy < self.room)[self.who]
        return found


class Outlook:
    """What is known of the contrasts that decide, and what answers would take off their errors.

    ``noise`` is the standard deviation of an answer, if it is known.
    """

    def __init__(self, asked: Askable, said: Conclusion, noise: float) -> None:
        w, r = asked.values.shape[1], len(asked.neutral)
        scatter = float(np.std(asked.total / asked.weight)) if len(asked.weight) else 0.0
        sigma = noise if noise > 0.0 else scatter or 1.0
        scatter, s2 = max(scatter, sigma), sigma**2
        spread = said.spread if said.spread > 0.0 else scatter
        J = int(max(asked.by.max(initial=-1), asked.severity.max(initial=-1))) + 1
        over, weighed = indicator(asked.by + 1, J + 1), asked.told * asked.weight  # nobody is 0
        C = dense(over @ weighed.T)[1:] / s2
        D = (over @ asked.weight)[1:] / s2 + 1.0 / scatter**2
        E = C / D[:, None]
        parts = [np.flatnonzero(np.isin(asked.options, part)) for part in said.parts]
        H = asked.values.copy()
        for part in parts:
            H[part] -= H[part].mean(axis=0)
        S = dense(weighed @ asked.told.T) / s2 - C.T @ E + H.T @ H / spread**2
        S += np.diag(np.repeat([_FLAT / s2, 1.0 / scatter**2], [w - r, r]))
        self._G = np.linalg.inv(S)
        values = asked.values
        if said.target.bar is not None:
            values = H = values + np.pad(asked.neutral, (w - r, 0))
        theta = self._G @ (asked.told @ asked.total - E.T @ (over @ asked.total)[1:]) / s2
        away = _away(values @ theta, asked.options, said, parts)
        if (first := _first(said)) is not None:
            H = values - values[np.searchsorted(asked.options, first)]
        v2 = np.maximum(np.einsum("ij,ij->i", H @ self._G, H), 0.0)
        losses = expected_losses(np.abs(away), np.sqrt(v2))
        near = np.argsort(-losses, kind="stable")[:_CLOSE]
        near = near[losses[near] >= _NEAR * losses[near[0]]]
        self._asked, self._s2, self._options = asked, s2, asked.options[near]
        self._away, self._v2, self._GH = np.abs(away[near]), v2[near], self._G @ H[near].T
        self._E, self._D = np.vstack([E, np.zeros(w)]), np.append(D, np.inf)  # the last is nobody's
        self._t, self._along = np.empty_like(asked.z), np.empty((len(asked.z), len(near)))
        self._behind = np.empty(len(asked.z))
        self._set(np.arange(len(asked.z)))

    def _set(self, some: Indices) -> None:
        """Set t, hᵀGt and ω + tᵀGt of some questions."""
        asked, j = self._asked, self._asked.severity[some]
        t = self._t[some] = asked.z[some] - self._E[j]
        self._along[some] = t @ self._GH
        omega = self._s2 * asked.noise[some] + 1.0 / self._D[j]
        self._behind[some] = omega + np.einsum("ij,ij->i", t @ self._G, t)

    def take(self, may: NDArray[np.bool_]) -> Step:
        """Return the best of the questions that may be asked, (q,), and count it as answered."""
        asked, root = self._asked, np.sqrt(self._behind)  # fourth powers of huge scores overflow
        later = np.maximum(self._v2 - (self._along / root[:, None]) ** 2, 0.0)
        now = expected_losses(self._away, np.sqrt(self._v2))
        falls = now - expected_losses(self._away, np.sqrt(later))
        x = first_largest(np.where(may, falls.sum(axis=1) / asked.prices, -np.inf))
        o = int(np.argmax(falls[x]))
        found = float(self._away[o]), float(self._v2[o]), float(later[x, o])
        u, moved = self._G @ self._t[x] / root[x], self._along[x] / root[x]
        along = self._t @ u
        self._G -= np.outer(u, u)
        self._GH -= np.outer(u, moved)
        self._along -= np.outer(along, moved)
        self._behind -= along**2
        self._v2 = later[x]
        if (j := int(asked.severity[x])) >= 0:  # it tells of that severity, too
            weight = 1.0 / (self._s2 * asked.noise[x])
            self._E[j] = (self._D[j] * self._E[j] + weight * asked.z[x]) / (self._D[j] + weight)
            self._D[j] += weight
            self._set(np.flatnonzero(asked.severity == j))
        return Step(x, int(self._options[o]), *found)


def expected_losses(distances: Floats, errors: Floats) -> Floats:
    """Return what contrasts on the wrong side lose: s (φ(z) − z Φ(−z)), z = l/s; 0 where s is 0."""
    s = np.maximum(errors, 1e-300)
    z = np.minimum(distances / s, 1e9)
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return np.asarray(s * (density - z * special.ndtr(-z)))


def one_best(said: Conclusion) -> bool:
    """Tell whether the best option of all is wanted."""
    return said.target.top == 1 and len(said.parts) < 2


def _first(said: Conclusion) -> int | None:
    """Return the option that all others are held against, if there is one."""
    if one_best(said):
        return said.leader
    return said.verdicts.index("itself") if said.target.against is not None else None


def _away(values: Floats, options: Indices, said: Conclusion, parts: Sequence[Indices]) -> Floats:
    """Return how far some options are from the line, by their values; parts are places in these."""
    target, slack = said.target, said.target.tolerance
    if target.bar is not None:
        return values - (target.bar - slack)
    if (first := _first(said)) is not None:
        slack = -slack if target.against is None else slack
        return np.asarray(values - values[np.searchsorted(options, first)] + slack)
    assert target.top is not None
    assert said.fit is not None
    # who has too few rivals is in, far from any line
    away = np.full(len(values), 1e6 * (np.ptp(values) + 1.0))
    for whole, some in zip(said.parts, parts, strict=True):
        m, others = target.top, np.setdiff1d(whole, options)  # those far above the line are in
        if len(others) and len(some):
            middle = np.median(said.fit.values[options[some]])
            m -= int((said.fit.values[others] > middle).sum())
        if 0 < m < len(some):
            ordered = -np.sort(-values[some])
            away[some] = values[some] - 0.5 * (ordered[m - 1] + ordered[m])
    return away


def _closest(said: Conclusion, asked: Callable[[Indices], int]) -> Indices:
    """Return the options closest to the line, so few that not too much can be ``asked``."""
    assert said.fit is not None
    every, m = np.arange(len(said.verdicts)), _CLOSE
    if len(every) <= m and asked(every) <= _ASKED:
        return every
    away = _away(said.fit.values[every], every, said, said.parts)
    order = np.argsort(np.abs(away), kind="stable")
    while m > _FEW and asked(order[:m]) > _ASKED:
        m //= 2
    first = _first(said)
    return np.union1d(order[:m], [] if first is None else [first]).astype(np.intp)


def askable_in_table(scores: Scores, fit: Fit, said: Conclusion) -> Askable:
    """Return what a table lacks: its evaluators on options that they have not scored, or again
    where somebody was asked again; and where options are not compared, a neutral evaluator.
    """
    design, labels, who = fit.design, scores.option.names, scores.evaluator
    paired, J = design.rival is not None, 0 if who is None else len(who)
    people = np.full(1, -1) if who is None else np.flatnonzero(who.counts)
    many = len(people)
    near = _closest(said, lambda o: many * len(o) * (len(o) - 1 if paired else 1))
    k, place = len(near), np.full(len(labels), -1)
    place[near] = np.arange(k)
    rows = np.flatnonzero(place[scores.option.codes] >= 0)
    by = np.full(len(rows), -1) if who is None else who.codes[rows]
    second = np.full(len(rows), -1) if scores.rival is None else place[scores.rival[rows]]
    a, b = np.arange(k), np.full(k, -1)
    if paired:  # without position, what is named first does not matter
        a, b = np.nonzero(~np.eye(k, dtype=np.bool_))
        a, b = (side[(a < b) | (design.evaluator is not None)] for side in (a, b))
    severity = np.full(J + 1, -1)  # the last is a neutral evaluator's
    if who is not None:
        if design.evaluator is not None:
            severity[who.codes if paired else design.evaluator] = design.evaluator
            severity[J] = design.n_evaluators
        often = np.argsort(-np.bincount(by, minlength=J)[people], kind="stable")
        people = np.sort(people[often[: max(1, _ASKED // len(a))]])
        people = np.append(people, np.full(int(not fit.compared), J))
    a, b, j = np.repeat(a, len(people)), np.repeat(b, len(people)), np.tile(people, len(a))
    key = (place[scores.option.codes[rows]] * (k + 1) + second) * (J + 1) + by
    wanted = (a * (k + 1) + b) * (J + 1) + j
    key, at = np.unique(key, return_index=True)
    found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    seen = key[found] == wanted
    once = not paired and who is not None and len(key) == len(rows)
    left = np.full(len(a), 1.0 if once else np.inf)
    left[seen & (once or (fit.silent and who is not None))] = 0.0
    named = () if who is None else who.names
    barred = {(o, e) for o, e in scores.barred if o in labels and e in named}
    pairs = [(labels[o], *named[e : e + 1]) for o, e in zip(near[a], j, strict=True)]
    left[[pair in barred for pair in pairs]] = 0.0

    size = np.abs(design.x).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    x = _regressors(scores, design.x, near[a], near[b] if paired else None, j)
    if scores.stated is not None and x.size and scores.stated.any():
        x[:, 0] = np.where(seen, scores.stated[rows][at[found]], 0.0)
    z = np.zeros((len(a), k + x.shape[1]))
    z[:, k:] = x / size
    z[np.arange(len(a)), a] = 1.0
    z[np.flatnonzero(b >= 0), b[b >= 0]] = -1.0
    mine = place[design.option] >= 0
    if design.rival is not None:
        mine &= place[design.rival] >= 0
    told: Any = indicator(place[design.option[mine]], k)
    if design.rival is not None:
        told = told - indicator(place[design.rival[mine]], k)
    stacked: Any = np.vstack if isinstance(told, np.ndarray) else sparse.vstack
    effects, n = stacked([told, (design.x[mine] / size).T]), int(mine.sum())
    return Askable(
        near,
        np.eye(k, k + x.shape[1]),
        z,
        severity[j],
        np.ones(len(a)),
        np.ones(len(a)),
        left,
        np.column_stack([near[a], np.where(b < 0, -1, near[b])]),
        j,
        labels,
        () if who is None else (*who.names, *([] if fit.compared else [NEUTRAL])),
        effects,
        np.full(n, -1) if design.evaluator is None else design.evaluator[mine].astype(np.intp),
        np.ones(n),
        design.y[mine],
        np.zeros(x.shape[1]),
        most=len(labels) * J - len(scores) - len(barred) if once else math.inf,
    )


def _regressors(scores: Scores, X: Floats, a: Indices, b: Indices | None, j: Indices) -> Floats:
    """Return (q, r) regressors of questions: who is partial, and attributes of options on average;
    those of two that are compared are taken to be alike.
    """
    x = np.zeros((len(a), X.shape[1]))
    if b is None and X.size and len(X) == len(scores):
        x[:] = (sums(scores.option.codes, len(scores.option), X)[a].T / scores.option.counts[a]).T
    partial = scores.partial if X.size else None
    if partial is None or not partial.any() or scores.stated is not None:
        return x
    assert scores.option_group is not None
    assert scores.evaluator_group is not None
    side = np.append(scores.evaluator_group, -1)[j]
    x[:, 0] = (scores.option_group[a] == side) & (side >= 0)
    if b is not None:
        x[:, 0] -= (scores.option_group[b] == side) & (side >= 0)
    return x


def askable_in(questions: Questions, counts: Counts, scores: Floats, said: Conclusion) -> Askable:
    """Return what may be asked of given questions, of which each was answered so often, with scores
    that add up to so much.
    """
    options, d = questions.options, questions.n_features
    near, alone = np.arange(len(options)), options.stand_alone

    def about(near: Indices) -> NDArray[np.bool_]:
        return np.asarray(np.isin(questions.about, np.append(near, -1)).all(axis=1))

    if alone:
        near = _closest(said, lambda near: int(about(near).sum()))
    mine = np.flatnonzero(about(near)) if alone else np.arange(len(questions))
    columns = near if alone else np.arange(d)
    lenient = np.array([one.kind == "leniency" for one in questions.columns], dtype=np.bool_)
    plain = lenient.any() and (questions.matrix[:, d:][:, lenient].data == 1.0).all()
    others = np.flatnonzero(~(lenient & plain))
    z = questions.matrix[mine][:, np.concatenate([columns, d + others])].toarray()
    who = questions.evaluator
    severity = who[mine] if plain else np.full(len(mine), -1)
    noise = np.ones(len(mine)) if questions.noise is None else questions.noise[mine] ** 2
    told = np.flatnonzero(counts[mine])
    left = np.where(questions.capacity == UNLIMITED, np.inf, questions.capacity - counts)
    if said.fit is not None and said.fit.silent and len(questions.evaluators):
        left[counts > 0] = 0.0  # who said it may well say so again
    done = np.bincount(who[who >= 0], counts[who >= 0], len(questions.evaluators))
    room = np.where(questions.workload == UNLIMITED, np.inf, questions.workload - done)
    most = np.minimum(np.bincount(who[who >= 0], left[who >= 0], len(room)), room).sum()
    values = options.features[near][:, columns]
    return Askable(
        near,
        np.hstack([values, np.zeros((len(near), len(others)))]),
        z,
        severity,
        noise,
        questions.prices[mine],
        left[mine],
        questions.about[mine],
        who[mine],
        questions.options.labels,
        questions.evaluators,
        z[told].T,
        severity[told],
        (counts[mine] / noise)[told],
        (scores[mine] / noise)[told],
        questions.neutral[others],
        mine,
        room if len(room) else None,
        float(most + left[who < 0].sum()),
    )
