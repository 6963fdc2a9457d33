"""The questions to ask next: those that lower the expected loss of the answer most for their price.

Notation
--------
θ, P        effects of features and attributes, and their covariance by the scores and by what
            values and evaluators are in general
h, a        row of a contrast that decides, and of a question;  σ² the variance of an answer
l, s²       distance of a contrast from its line, and hᵀPh

Of the best, contrasts are the leads of all others over who leads, and the line is the tolerance;
against an option, they are leads over it; with a bar, values; of the m best, values from their mean
on, and the line lies between the last that is in and the first that is out. A contrast on the wrong
side loses s (φ(z) − z Φ(−z)) on average, z = |l|/s. An answer to a takes (hᵀPa)²/(σ² + aᵀPa) off
s², whatever it says. So the question is asked that takes most off the sum of losses for its price,
then the next, with that one taken for answered. What cannot be compared yet is as little known as
values are in general, so that a question which connects options takes most off.

They are chosen by the scores. Who asks them and decides anew has chosen what was scored by looking
at scores: then ``assigned="adaptively"`` says what is sure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.inference import Conclusion, Target
from evenhand.linear import Fit
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions
from evenhand.tables import listed

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.answers.answer import Answer

_MOST, _CLOSE = 1_500, 64  # effects that are looked at; contrasts, and options of larger panels
_NEAR = 1e-4  # share of the largest expected loss from which on a contrast is looked at
_FLAT = 1e-9  # share of an answer's information that is put on what nothing else is known of
_SEEN = 0.005  # share of an error, and change of a chance, that is more than rounding
_PART = 4_096  # questions whose variances are computed at a time
_SETTLE = "would settle it if leads stay as they are"
_IN_VAIN = "No single answer of these evaluators would tell more than can be seen; ask others, too."


@dataclass(frozen=True)
class NextQuestion:
    """A question to ask, and what it is expected to settle.

    Parameters
    ----------
    question, label
        Index and name of the question.
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

    question: int
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


def next_questions(
    asked: Askable,
    told: Feedback,
    said: Conclusion,
    n: int,
    *,
    noise: float = math.nan,
    spread: float = math.nan,
    level: float = 0.0,
) -> NextQuestions:
    """Return the n best questions to ask after what was told; answers have a standard deviation of
    ``noise``, values in general one of ``spread``, where these are known, and scores are told from
    ``level`` on.
    """
    questions, target = Questions.of(asked), said.target
    parts = None if len(said.parts) < 2 else said.parts
    best, limits = target.top == 1 and parts is None, Limits(questions)
    limits.asked = told.counts
    made, found = np.zeros_like(told.counts), list[NextQuestion]()
    look = _Contrasts(questions, told, said, target, best, noise, spread, level, parts)
    while len(found) < n and (limits.left(made) > 0)[look.asked].any():
        x, option, away, before, after = look.take(limits.left(made) > 0)
        unknown = math.nan if math.isnan(noise) else 1.0
        errors = [unknown * math.sqrt(max(s, 1e-300)) for s in (before, after)]
        chances = [float(special.ndtr(-abs(away) / s)) for s in errors]
        about = tuple(questions.items[o] for o in questions.options_of(x))
        found.append(NextQuestion(x, questions.label(x), about, questions.evaluator_of(x),
                                   float(questions.prices[x]), questions.options.labels[option],
                                   *errors, *chances))  # fmt: skip
        made[x] += 1
    ratio = further(said) if best else math.nan
    if not found:
        advice, e = nothing_left(questions, told), len(questions.evaluators)
        if e and 0.0 < ratio < math.inf:
            advice += f" About {math.ceil(e * ratio):,} more like them {_SETTLE}."
        return NextQuestions((), math.inf, advice)
    found = [one for one in found if one.tells]
    if not found:
        return NextQuestions((), math.inf, _IN_VAIN)
    advice = f"Ask about {found[0].label}" + "".join(f", then {one.label}" for one in found[1:2])
    if not best:
        return NextQuestions(found, math.nan, f"{advice}: that tells most of who is at the line.")
    until = float(np.ceil(max(1.0, ratio * told.counts.sum())))  # NaN stays
    if until > float(limits.left(np.zeros_like(made)).sum(dtype=np.float64)):
        until = math.inf
    if math.isfinite(until):
        advice += f"; about {until:,.0f} such questions {_SETTLE}"
    elif math.isinf(ratio):
        advice += "; but no number of questions settles a tie"
    elif math.isinf(until):
        advice += "; but all that may be asked would not settle it if leads stay as they are"
    return NextQuestions(found, until, f"{advice}.")


class _Contrasts:
    """What is known of the contrasts that decide, and what answers would take off their errors."""

    def __init__(
        self,
        questions: Questions,
        told: Feedback,
        conclusion: Conclusion,
        target: Target,
        best: bool,
        noise: float,
        spread: float,
        level: float,
        parts: Sequence[Indices] | None,
    ) -> None:
        X, d, p = questions.options.features, questions.n_features, questions.n_attributes
        weights = np.ones(len(questions)) if questions.noise is None else 1.0 / questions.noise
        rows = sparse.csr_array(questions.matrix.multiply(weights[:, None]))
        H = np.hstack([X, np.zeros((len(X), p))])
        options, self.asked = np.arange(len(X)), np.arange(len(questions))
        parts, neutral = [options] if parts is None else parts, questions.neutral
        if d + p > _MOST:  # those closest to the line, and who is asked about them
            behind = np.nan_to_num(conclusion.leads[:, 0], nan=np.inf)
            rival = target.rival(questions.options.labels)
            line = np.sort(behind)[(target.top or 1) - 1] if rival is None else behind[rival]
            if target.bar is not None:  # by mean scores, however lenient those are who gave them
                whose, k = np.maximum(questions.about[:, 0], 0), len(X)
                n, total = (np.bincount(whose, y, k) for y in (told.counts, told.sums))
                behind, line = total / np.maximum(n, 1), target.bar - target.tolerance - level
            near = np.argsort(np.abs(behind - line), kind="stable")[:_CLOSE]
            options = np.union1d(near, [conclusion.leader] if rival is None else [rival])
            if target.top is not None and len(parts) == 1:  # those far above the line are in
                far = np.delete(behind, options) < line
                target = replace(target, top=target.top - int(far.sum()))
            mine = np.isin(questions.about, np.append(options, -1)).all(axis=1)
            self.asked = np.flatnonzero(mine)
            rows, H = rows[self.asked], H[options]
            filled = np.bincount(rows.indices, minlength=d + p) + np.abs(H).sum(axis=0) > 0
            neutral = neutral[filled[d:]]
            rows, H, d = rows[:, filled], H[:, filled], int(filled[:d].sum())
            p = H.shape[1] - d
        parts = [np.flatnonzero(np.isin(options, part)) for part in parts]
        counts, sums = told.counts[self.asked].astype(np.float64), told.sums[self.asked]
        means = told.means[self.asked][counts > 0]
        scatter = float(np.std(means)) if len(means) else 0.0
        sigma = noise if noise > 0.0 else scatter or 1.0
        scatter = max(scatter, sigma)
        population = H.copy()
        for part in parts:
            population[part] -= H[part].mean(axis=0)
        V = (rows.T @ (sparse.diags_array(counts) @ rows)).toarray() / sigma**2
        V += population.T @ population / (spread if spread > 0.0 else scatter) ** 2
        V += np.diag(np.repeat([_FLAT / sigma**2, 1.0 / scatter**2], [d, p]))
        P = np.linalg.inv(V)
        theta = P @ (rows.T @ (sums * weights[self.asked])) / sigma**2
        if target.bar is not None:
            H = np.hstack([H[:, :d], np.broadcast_to(neutral, (len(H), p))])
        elif best or target.against is not None:
            first = target.rival(questions.options.labels)
            H = H - H[np.searchsorted(options, conclusion.leader if first is None else first)]
        else:
            H = population
        values = H @ theta
        away = values - (target.tolerance if best else _lines(values, target, level, parts))
        s2 = np.maximum(np.einsum("ij,ij->i", H @ P, H), 0.0)
        losses = expected_losses(np.abs(away), np.sqrt(s2))
        near = np.argsort(-losses, kind="stable")[:_CLOSE]
        near = near[losses[near] >= _NEAR * losses[near[0]]]
        self._options, self._away, self._s2 = options[near], away[near], s2[near]
        self._P, self._rows, self._prices = P, rows, questions.prices[self.asked]
        self._along = np.asarray(rows @ (P @ H[near].T))
        blocks = (rows[i : i + _PART] for i in range(0, len(self.asked), _PART))
        own = [np.asarray(some.multiply(some @ P).sum(axis=1)).reshape(-1) for some in blocks]
        self._behind = sigma**2 + np.concatenate(own)

    def take(self, may: NDArray[np.bool_]) -> tuple[int, int, float, float, float]:
        """Return the best of the questions that may be asked, (q,), the option of which it tells
        most, how far that is from the line, and its variance before and after the answer.
        """
        root = np.sqrt(self._behind)  # first, since fourth powers of huge scores overflow
        later = np.maximum(self._s2 - (self._along / root[:, None]) ** 2, 0.0)
        now = expected_losses(np.abs(self._away), np.sqrt(self._s2))
        falls = now - expected_losses(np.abs(self._away), np.sqrt(later))
        gain = np.where(may[self.asked], falls.sum(axis=1) / self._prices, -np.inf)
        x = first_largest(gain)
        o = int(np.argmax(falls[x]))
        found = float(self._away[o]), float(self._s2[o]), float(later[x, o])
        u = self._P @ self._rows[[x]].toarray().reshape(-1) / root[x]
        self._P -= np.outer(u, u)
        along = self._rows @ u
        self._s2 = later[x]
        self._along = self._along - np.outer(along, self._along[x] / root[x])
        self._behind = self._behind - along**2
        return int(self.asked[x]), int(self._options[o]), *found


def _lines(values: Floats, target: Target, level: float, parts: Sequence[Indices]) -> Floats:
    """Return (k,) where the line is: between the last that is in and the first that is out."""
    if target.bar is not None:
        return np.full(len(values), target.bar - target.tolerance - level)
    if target.against is not None:
        return np.full(len(values), -target.tolerance)
    assert target.top is not None
    # who has too few rivals is in, far from any line
    lines = np.full(len(values), values.min() - 1e6 * (np.ptp(values) + 1.0))
    for some in parts:
        if len(some) > target.top:
            ordered = -np.sort(-values[some])
            lines[some] = 0.5 * (ordered[target.top - 1] + ordered[target.top])
    return lines


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


def nothing_left(questions: Questions, told: Feedback) -> str:
    """Return whom to ask where nothing more may be asked, because of workloads or altogether."""
    if (told.counts < questions.capacity).any():
        return (
            "Ask further evaluators, or these for more (workload): they have evaluated as much as "
            "they may, and not everything."
        )
    return "Ask further evaluators: of these, nothing more may be asked."


def next_items(fit: Fit, answer: Answer, items: int, n: int) -> NextQuestions:
    """Return what to ask next where options were tried on items: the leader and its closest rivals,
    or who is at the line, on new ones.
    """
    said, labels = answer.conclusion, answer.options.labels
    leader = said.leader
    rivals = np.delete(np.arange(len(labels)), leader)
    found = fit.leads(np.full(len(rivals), leader), rivals)
    leads, variances = found.estimate, found.variance
    if fit.freedom < 1 or not np.isfinite(variances).all():
        return NextQuestions((), math.nan, "Try all options on the same items, and on more.")
    if not (said.target.top == 1 and len(said.parts) == 1):
        rival = [] if said.target.against is None else [said.target.against]
        names = listed([*answer.undecided, *rival], 4)
        return NextQuestions((), math.nan, f"Try {names} on new items." if answer.undecided else "")
    errors, listed_ = np.sqrt(variances), list[NextQuestion]()
    order = np.argsort(-expected_losses(leads, errors), kind="stable")
    for j in order[:n].tolist():
        pair = labels[leader], labels[int(rivals[j])]
        then = errors[j] * math.sqrt(items / (items + 1))
        chances = [float(special.ndtr(-leads[j] / max(s, 1e-300))) for s in (errors[j], then)]
        listed_.append(NextQuestion(-1, f"{pair[0]} and {pair[1]}, on a new item", pair, None, 1.0,
                                    pair[1], float(errors[j]), float(then), *chances))  # fmt: skip
    advice = f"Try {listed_[0].options[0]!r} and {listed_[0].rival!r}, at least, on new items"
    until = float(np.ceil(max(1.0, items * further(said))))
    if math.isinf(until):
        return NextQuestions(listed_, until, f"{advice}; but they are too close to settle it.")
    if math.isnan(until):
        return NextQuestions(listed_, until, f"{advice}.")
    return NextQuestions(listed_, until, f"{advice}: about {until:,.0f} items {_SETTLE}.")
