"""The questions to ask next: those that lower the expected loss of the answer most for their price.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.inference import Conclusion
from evenhand.linear import Fit
from evenhand.linear.basis import dense, indicator
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.limits import Limits
from evenhand.questions.advice import NEUTRAL
from evenhand.scores import Scores
from evenhand.scores.scores import sums
from evenhand.tables import listed

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.answers.logged import Log

_CLOSE = 64  # contrasts, and options, that are looked at: those closest to the line
_FEW = 8  # options that are looked at, at least
_ASKED = 20_000  # questions that are looked at
_NEAR = 1e-4  # share of the largest expected loss from which on a contrast is looked at
_FLAT = 1e-9  # share of an answer's information that is put on what nothing else is known of
_SEEN = 0.005  # share of an error, and change of a chance, that is more than rounding
_SETTLE = "would settle it if leads stay as they are"
_IN_VAIN = "No single answer of these evaluators would tell more than can be seen; ask others, too."
_NOTHING = "Ask further evaluators: of these, nothing more may be asked."
_BUSY = (
    "Ask further evaluators, or these for more (workload): they have evaluated as much as they "
    "may, and not everything."
)


@dataclass(frozen=True)
class NextQuestion:
    """A question to ask, and what it is expected to settle.

    Parameters
    ----------
    question, label
        Index of the question, None where none were given; and its name.
    options, evaluator
        The options it is about, by name, and who is to be asked; None if that is not said.
    price
        What it costs.
    rival
        The option of which it tells most: its distance to the leader, or to the line.
    error, error_after
        Standard error of that distance before the answer (those to the questions above it
        included), and after it; NaN where nothing is known of the noise.
    chance, chance_after
        How probable it is, by the scores, that the option is on the other side; and what that falls
        to if the distance stays as it is.

    Examples
    --------
    >>> import evenhand as eh
    >>> rows = {"option": ["Ann", "Bo", "Ann", "Bo", "Ann"], "evaluator": ["P", "P", "Q", "Q", "R"],
    ...         "score": [7.0, 5.0, 6.0, 5.5, 8.0]}
    >>> import pandas as pd
    >>> answer = eh.decide(pd.DataFrame(rows))
    >>> question = answer.next_questions[0]
    >>> question.label, question.rival, question.error > question.error_after
    ('Bo by R', 'Bo', True)
    """

    question: int | None
    label: str
    options: tuple[str, ...]
    evaluator: str | None
    price: float
    rival: str
    error: float
    error_after: float
    chance: float
    chance_after: float

    @property
    def tells(self) -> bool:
        """Whether its effect is large enough to be seen in a table; where it is unknown, too."""
        falls = self.error - self.error_after
        return not (falls < _SEEN * self.error and self.chance - self.chance_after < _SEEN)


class NextQuestions(tuple[NextQuestion, ...]):
    """The questions to ask next, the best first: a tuple, which `to_frame` makes a frame of.

    Attributes
    ----------
    until_sure
        How many more scores like these, or items, settle it if leads stay as they are; infinite
        where all that may be asked would not, NaN where that is not known.
    advice
        What to do in a sentence; "" where there is nothing to say.
    """

    until_sure: float
    advice: str

    def __new__(
        cls,
        questions: Iterable[NextQuestion] = (),
        until_sure: float = 0.0,
        advice: str = "",
    ) -> Self:
        """Make a tuple of questions."""
        made = super().__new__(cls, questions)
        made.until_sure, made.advice = until_sure, advice
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self), self.until_sure, self.advice)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame, one row per question."""
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        names = [entry.name for entry in fields(NextQuestion)]
        return pd.DataFrame({name: [getattr(one, name) for one in self] for name in names})


class _About(NamedTuple):
    """A question, by names."""

    question: int | None
    label: str
    options: tuple[str, ...]
    evaluator: str | None
    price: float


@dataclass(frozen=True, eq=False)
class Asked:
    """What may be asked, and what was scored, as rows of the same effects."""

    labels: Sequence[str]  # of all options
    options: Indices  # (k,) which are looked at
    values: Floats  # (k, w) their values
    z: Floats  # (q, w) effects in the answers to questions
    judge: Indices  # (q,) whose severity is in it; −1: nobody's
    noise: Floats  # (q,) relative variance
    prices: Floats  # (q,)
    told: Any  # (w, n) effects in scores, perhaps sparse
    by: Indices  # (n,) whose severity is in them
    weight: Floats  # (n,) their information, and
    sums: Floats  # (n,) scores, as often
    scored: int  # how many scores there are
    open: Callable[[Counts], NDArray[np.bool_]]  # (q,) what may still be asked, by what is taken
    about: Callable[[int], _About]
    most: float = math.inf  # how many may be asked
    evaluators: int = 0
    nothing: str = _NOTHING  # what to do where nothing may be asked
    neutral: Floats | None = None  # (r,) slopes of a value

    @property
    def slopes(self) -> int:
        """How many of the effects, the last, are 0 in general."""
        return 0 if self.neutral is None else len(self.neutral)


def next_questions(
    asked: Asked, said: Conclusion, n: int, *, noise: float, level: float
) -> NextQuestions:
    """Return the n best questions to ask after a conclusion; answers have a standard deviation of
    ``noise``, if it is known, and scores are told from ``level`` on.
    """
    one = _one_best(said)
    made, found = np.zeros(len(asked.z), dtype=np.int64), list[NextQuestion]()
    ratio = further(said) if one else math.nan
    if not (n and asked.open(made).any()):
        advice = asked.nothing
        if asked.evaluators and 0.0 < ratio < math.inf:
            advice += f" About {math.ceil(asked.evaluators * ratio):,} more like them {_SETTLE}."
        return NextQuestions((), math.inf, advice)
    look = _Outlook(asked, said, noise, level)
    while len(found) < n and (may := asked.open(made)).any():
        x, option, away, before, after = look.take(may)
        found.append(_named(asked.about(x), asked.labels[option], away, before, after, noise))
        made[x] += 1
    found = [question for question in found if question.tells]
    if not found:
        return NextQuestions((), math.inf, _IN_VAIN)
    advice = f"Ask about {found[0].label}" + "".join(f", then {q.label}" for q in found[1:2])
    if not one:
        return NextQuestions(found, math.nan, f"{advice}: that tells most of who is at the line.")
    until = float(np.ceil(max(1.0, ratio * asked.weight.sum())))  # NaN stays
    if until > asked.most:
        until = math.inf
    if math.isfinite(until):
        advice += f"; about {until:,.0f} such questions {_SETTLE}"
    elif math.isinf(ratio):
        advice += "; but no number of questions settles a tie"
    elif math.isinf(until):
        advice += "; but all that may be asked would not settle it if leads stay as they are"
    return NextQuestions(found, until, f"{advice}.")


def _one_best(said: Conclusion) -> bool:
    return said.target.top == 1 and len(said.parts) < 2


def _named(
    about: _About, rival: str, away: float, before: float, after: float, noise: float = 1.0
) -> NextQuestion:
    """Return a question with variances of the distance of which it tells most."""
    unknown = math.nan if math.isnan(noise) else 1.0
    errors = [unknown * math.sqrt(max(v, 1e-300)) for v in (before, after)]
    chances = [float(special.ndtr(-abs(away) / s)) for s in errors]
    return NextQuestion(*about, rival, *errors, *chances)


class _Outlook:
    """What is known of the contrasts that decide, and what answers would take off their errors."""

    def __init__(self, asked: Asked, said: Conclusion, noise: float, level: float) -> None:
        wide = asked.values.shape[1]
        scores = asked.sums[asked.weight > 0] / asked.weight[asked.weight > 0]
        scatter = float(np.std(scores)) if len(scores) else 0.0
        sigma = noise if noise > 0.0 else scatter or 1.0
        scatter, s2 = max(scatter, sigma), sigma**2
        spread = said.spread if said.spread > 0.0 else scatter
        J = int(max(asked.by.max(initial=-1), asked.judge.max(initial=-1))) + 1
        over = indicator(asked.by + 1, J + 1)  # nobody is 0
        weighed = asked.told * asked.weight
        C = dense(over @ weighed.T)[1:] / s2
        self._D = (over @ asked.weight)[1:] / s2 + 1.0 / scatter**2
        E = C / self._D[:, None]
        parts = [np.flatnonzero(np.isin(asked.options, part)) for part in said.parts]
        population = asked.values.copy()
        for part in parts:
            population[part] -= population[part].mean(axis=0)
        S = dense(weighed @ asked.told.T) / s2 - C.T @ E + population.T @ population / spread**2
        r = asked.slopes
        S += np.diag(np.repeat([_FLAT / s2, 1.0 / scatter**2], [wide - r, r]))
        self._G = np.linalg.inv(S)
        b = asked.told @ asked.sums - E.T @ (over @ asked.sums)[1:]
        H = asked.values
        if said.target.bar is not None:
            H = H.copy()
            H[:, wide - r :] = asked.neutral
        rival = said.target.rival(asked.labels)
        away = _away(H @ self._G @ b / s2, asked.options, said, level, parts, rival)
        if (first := _first(said, rival)) is not None:
            H = H - H[np.searchsorted(asked.options, first)]
        elif said.target.top is not None:
            H = population
        v2 = np.maximum(np.einsum("ij,ij->i", H @ self._G, H), 0.0)
        losses = expected_losses(np.abs(away), np.sqrt(v2))
        near = np.argsort(-losses, kind="stable")[:_CLOSE]
        near = near[losses[near] >= _NEAR * losses[near[0]]]
        self._asked, self._options = asked, asked.options[near]
        self._away, self._v2 = np.abs(away[near]), v2[near]
        self._E = np.vstack([E, np.zeros(wide)])  # the last is nobody's
        self._D = np.append(self._D, np.inf)
        self._s2, self._GH = s2, self._G @ H[near].T
        self._T = asked.z - self._E[asked.judge]
        self._along = self._T @ self._GH
        self._behind = np.empty(len(self._T))
        self._renew(np.arange(len(self._T)))

    def _renew(self, some: Indices) -> None:
        """Set ω + tᵀGt of some questions."""
        t = self._T[some]
        omega = self._s2 * self._asked.noise[some] + 1.0 / self._D[self._asked.judge[some]]
        self._behind[some] = omega + np.einsum("ij,ij->i", t @ self._G, t)

    def take(self, may: NDArray[np.bool_]) -> tuple[int, int, float, float, float]:
        """Return the best of the questions that may be asked, (q,), the option of which it tells
        most, how far that is from the line, and its variance before and after the answer.
        """
        root = np.sqrt(self._behind)  # first, since fourth powers of huge scores overflow
        later = np.maximum(self._v2 - (self._along / root[:, None]) ** 2, 0.0)
        now = expected_losses(self._away, np.sqrt(self._v2))
        falls = now - expected_losses(self._away, np.sqrt(later))
        gain = np.where(may, falls.sum(axis=1) / self._asked.prices, -np.inf)
        x = first_largest(gain)
        o = int(np.argmax(falls[x]))
        found = float(self._away[o]), float(self._v2[o]), float(later[x, o])
        u, moved = self._G @ self._T[x] / root[x], self._along[x] / root[x]
        along = self._T @ u
        self._G -= np.outer(u, u)
        self._GH -= np.outer(u, moved)
        self._along -= np.outer(along, moved)
        self._behind -= along**2
        self._v2 = later[x]
        self._heard(x)
        return x, int(self._options[o]), *found

    def _heard(self, x: int) -> None:
        """Count an answer among what is known of the severity of who gave it."""
        asked, j = self._asked, int(self._asked.judge[x])
        if j < 0:
            return
        w = 1.0 / (self._s2 * asked.noise[x])
        self._E[j] = (self._D[j] * self._E[j] + w * asked.z[x]) / (self._D[j] + w)
        self._D[j] += w
        own = np.flatnonzero(asked.judge == j)
        self._T[own] = asked.z[own] - self._E[j]
        self._along[own] = self._T[own] @ self._GH
        self._renew(own)


def _away(
    values: Floats,
    options: Indices,
    said: Conclusion,
    level: float,
    parts: Sequence[Indices],
    rival: int | None,
) -> Floats:
    """Return how far some options are from the line, by their values; parts are places in these."""
    target = said.target
    if target.bar is not None:
        return values - (target.bar - target.tolerance - level)
    if (first := _first(said, rival)) is not None:
        slack = target.tolerance if rival is None else -target.tolerance
        return np.asarray(values - values[np.searchsorted(options, first)] - slack)
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


def _first(said: Conclusion, rival: int | None) -> int | None:
    """Return the option that all others are held against, if there is one."""
    return said.leader if _one_best(said) else rival


def expected_losses(distances: Floats, errors: Floats) -> Floats:
    """Return what contrasts on the wrong side lose: s (φ(z) − z Φ(−z)), z = l/s; 0 where s is 0."""
    s = np.maximum(errors, 1e-300)
    z = np.minimum(distances / s, 1e100)
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    return np.asarray(s * (density - z * special.ndtr(-z)))


def further(said: Conclusion) -> float:
    """Return how many times the scores so far it takes, beside them, if leads stay as they are."""
    tolerance = said.target.tolerance
    lead, low, _ = np.delete(said.leads, said.leader, axis=0).T
    if not len(lead) or not np.isfinite(low).all():
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(lead > low, ((lead - low) / np.maximum(lead + tolerance, 0.0)) ** 2, 0.0)
    return max(float(needed.max()) - 1.0, 0.0)


# ---------------------------------------------------------------------- what may be asked


def asked_in_table(scores: Scores, fit: Fit, said: Conclusion, level: float) -> Asked:
    """Return what a table lacks: its evaluators on options that they have not scored, or again
    where somebody was asked again; and where options are not compared, a neutral evaluator.
    """
    design, labels, who = fit.design, scores.option.names, scores.evaluator
    paired, J = design.rival is not None, 0 if who is None else len(who)
    people = np.full(1, -1) if who is None else np.flatnonzero(who.counts)
    near = _closest(said, labels, level, partial(_many, len(people), paired))
    k, place = len(near), np.full(len(labels), -1)
    place[near] = np.arange(k)
    mine = place[design.option] >= 0
    told, a, b = 0.0, np.arange(k), np.full(k, -1)
    if design.rival is not None:
        mine &= place[design.rival] >= 0
        told = indicator(place[design.rival[mine]], k)
        a, b = np.nonzero(~np.eye(k, dtype=np.bool_))
        if design.evaluator is None:  # what is named first does not matter
            a, b = a[a < b], b[a < b]
    told = indicator(place[design.option[mine]], k) - told
    rows = np.flatnonzero(place[scores.option.codes] >= 0)
    of, by = scores.option.codes[rows], np.full(len(rows), -1) if who is None else who.codes[rows]
    severity = np.full(J + 1, -1)  # the last is a neutral evaluator's
    if who is not None:
        if design.evaluator is not None:
            severity[who.codes if paired else design.evaluator] = design.evaluator
            severity[J] = design.n_evaluators
        often = np.bincount(by, minlength=J)[people]
        most = np.argsort(-often, kind="stable")[: max(1, _ASKED // len(a))]
        people = np.append(np.sort(people[most]), np.full(int(not fit.compared), J))
    a, b, j = np.repeat(a, len(people)), np.repeat(b, len(people)), np.tile(people, len(a))
    beside = np.full(len(rows), -1) if scores.rival is None else place[scores.rival[rows]]
    key, at = np.unique((place[of] * (k + 1) + beside) * (J + 1) + by, return_index=True)
    wanted = (a * (k + 1) + b) * (J + 1) + j
    found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    seen = key[found] == wanted
    once = not paired and who is not None and len(key) == len(rows)
    closed = seen & (once or (fit.silent and who is not None))
    x = _slopes(scores, design.x, near[a], near[b] if paired else None, j)
    if scores.stated is not None and x.size:
        x[:, 0] = np.where(seen, scores.stated[rows][at[found]], 0.0)
    size = np.abs(design.x).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    z = np.zeros((len(a), k + x.shape[1]))
    z[:, k:] = x / size
    z[np.arange(len(a)), a] = 1.0
    z[np.flatnonzero(b >= 0), b[b >= 0]] = -1.0
    effects = (design.x[mine] / size).T
    judges = () if who is None else (*who.names, NEUTRAL)

    def about(q: int) -> _About:
        names = tuple(labels[near[o]] for o in (a[q], b[q]) if o >= 0)
        judge, words = judges[j[q]] if judges else None, " against ".join(names)
        return _About(None, f"{words} by {judge}" if judge else words, names, judge, 1.0)

    return Asked(
        labels,
        near,
        np.eye(k, k + x.shape[1]),
        z,
        severity[j],
        np.ones(len(a)),
        np.ones(len(a)),
        np.vstack([told, effects])
        if isinstance(told, np.ndarray)
        else sparse.vstack([told, effects], "csr"),
        np.full(int(mine.sum()), -1) if design.evaluator is None else design.evaluator[mine],
        np.ones(int(mine.sum())),
        design.y[mine],
        len(scores),
        lambda made: ~closed & (made < 1 if once else True),
        about,
        len(labels) * J - len(scores) if once else math.inf,
        J,
        neutral=np.zeros(x.shape[1]),
    )


def _many(people: int, paired: bool, near: Indices) -> int:
    """Return how much may be asked about some options."""
    return people * len(near) * (len(near) - 1 if paired else 1)


def _slopes(scores: Scores, X: Floats, a: Indices, b: Indices | None, j: Indices) -> Floats:
    """Return (q, r) regressors of questions: who is partial, and attributes of options on average;
    those of two that are compared are taken to be alike.
    """
    x = np.zeros((len(a), X.shape[1]))
    if b is None and X.size and len(X) == len(scores):
        codes, k = scores.option.codes, len(scores.option)
        x[:] = (sums(codes, k, X) / np.maximum(np.bincount(codes, minlength=k), 1)[:, None])[a]
    p = scores.partial if X.size else None
    if (
        scores.option_group is not None
        and scores.evaluator_group is not None
        and p is not None
        and p.any()
    ):
        side = np.append(scores.evaluator_group, -1)[j]
        x[:, 0] = (scores.option_group[a] == side) & (side >= 0)
        if b is not None:
            x[:, 0] -= (scores.option_group[b] == side) & (side >= 0)
    return x


def asked_in_log(log: Log, said: Conclusion, level: float) -> Asked:
    """Return what may be asked of given questions."""
    questions, told = log.questions, log.feedback
    options, d, k = questions.options, questions.n_features, len(questions.options)
    near, kept, items = np.arange(k), np.ones(len(questions), np.bool_), np.arange(k, d)

    def about(near: Indices) -> NDArray[np.bool_]:
        return np.asarray(np.isin(questions.about, np.append(near, [-1, *items])).all(axis=1))

    if options.stand_alone:
        near = _closest(said, options.labels, level, lambda near: int(about(near).sum()))
        kept = about(near)
    mine = np.flatnonzero(kept)
    columns = np.concatenate([near, items]) if options.stand_alone else np.arange(d)
    lenient = np.array([one.kind == "leniency" for one in questions.columns], dtype=np.bool_)
    plain = bool(lenient.any()) and bool((questions.matrix[:, d:][:, lenient].data == 1.0).all())
    others = np.flatnonzero(~lenient | (not plain))
    z = questions.matrix[mine][:, np.concatenate([columns, d + others])].toarray()
    judge = questions.evaluator[mine] if plain else np.full(len(mine), -1)
    noise = np.ones(len(mine)) if questions.noise is None else questions.noise[mine] ** 2
    scored, limits = np.flatnonzero(told.counts[mine]), Limits(questions)
    limits.asked = told.counts
    closed = np.zeros(len(mine), dtype=np.bool_)
    if said.fit is not None and said.fit.silent and len(questions.evaluators):
        closed[scored] = True  # who said it may well say so again

    def left(made: Counts) -> Counts:
        pending = np.zeros_like(told.counts)
        pending[mine] = made
        return limits.left(pending)

    def named(x: int) -> _About:
        q = int(mine[x])
        names = tuple(questions.items[o] for o in questions.options_of(q))
        price = float(questions.prices[q])
        return _About(q, questions.label(q), names, questions.evaluator_of(q), price)

    values = options.features[near][:, columns]
    return Asked(
        options.labels,
        near,
        np.hstack([values, np.zeros((len(near), len(others)))]),
        z,
        judge,
        noise,
        questions.prices[mine],
        z[scored].T,
        judge[scored],
        (told.counts[mine] / noise)[scored],
        (told.sums[mine] / noise)[scored],
        int(told.counts.sum()),
        lambda made: (left(made)[mine] > 0) & ~closed,
        named,
        float(left(np.zeros(len(mine), np.int64)).sum(dtype=np.float64)),
        len(questions.evaluators),
        _BUSY if (told.counts < questions.capacity).any() else _NOTHING,
        questions.neutral[others],
    )


def _closest(
    said: Conclusion, labels: Sequence[str], level: float, asked: Callable[[Indices], int]
) -> Indices:
    """Return the options closest to the line, so many that not too much can be ``asked``."""
    assert said.fit is not None
    every, rival = np.arange(len(labels)), said.target.rival(labels)
    if len(every) <= _CLOSE and asked(every) <= _ASKED:
        return every
    away = _away(said.fit.values[every], every, said, level, said.parts, rival)
    order, m = np.argsort(np.abs(away), kind="stable"), _CLOSE
    while m > _FEW and asked(order[:m]) > _ASKED:
        m //= 2
    return np.union1d(order[:m], [said.leader if rival is None else rival])


def next_items(
    fit: Fit, said: Conclusion, labels: Sequence[str], items: int, n: int
) -> NextQuestions:
    """Return what to ask next where options were tried on items: the leader and its closest rivals,
    or who is at the line, on new ones.
    """
    k, leader = len(labels), said.leader
    rivals = np.delete(np.arange(k), leader)
    leads = fit.leads(np.full(len(rivals), leader), rivals)
    if fit.freedom < 1 or not np.isfinite(leads.variance).all():
        return NextQuestions((), math.nan, "Try all options on the same items, and on more.")
    if not _one_best(said):
        rival = [] if said.target.against is None else [said.target.against]
        names = [labels[x] for x in said.undecided] + rival
        advice = f"Try {listed(names, 4)} on new items." if said.undecided else ""
        return NextQuestions((), math.nan, advice)
    order = np.argsort(-expected_losses(leads.estimate, np.sqrt(leads.variance)), kind="stable")
    share, found = items / (items + 1), list[NextQuestion]()
    for j in order[:n].tolist():
        pair = labels[leader], labels[int(rivals[j])]
        about = _About(None, f"{pair[0]} and {pair[1]}, on a new item", pair, None, 1.0)
        before, away = float(leads.variance[j]), float(leads.estimate[j])
        found.append(_named(about, pair[1], away, before, before * share))
    advice = f"Try {found[0].options[0]!r} and {found[0].rival!r}, at least, on new items"
    until = float(np.ceil(max(1.0, items * further(said))))
    if math.isinf(until):
        return NextQuestions(found, until, f"{advice}; but they are too close to settle it.")
    if math.isnan(until):
        return NextQuestions(found, until, f"{advice}.")
    return NextQuestions(found, until, f"{advice}: about {until:,.0f} items {_SETTLE}.")
