"""The questions to ask next where options are wanted that lie above a line: those that tell most of
who stands at it.

Notation
--------
θ, P        features' and attributes' effects, and their covariance by the scores and by what values
            and evaluators are in general
h_x, μ_x    row of option x, its value from the line's level on;  s_x² = h_xᵀ P h_x
a           row of a question;  σ² the variance of an answer

Values are taken to come from one normal population, as chances do (`certainty.chances`), and what
attributes add to vary no more than scores do. An option on the wrong side of the line loses
s_x (φ(z) − z Φ(−z)) on average, z = |μ_x − line|/s_x. An answer to a takes (h_xᵀPa)²/(σ² + aᵀPa)
off s_x², whatever it says; so the question that takes most off the sum over all options for its
price is asked, then the next with that one taken for answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse, special

from evenhand.answers.next_questions import (
    NextQuestion,
    NextQuestions,
    expected_losses,
    nothing_left,
)
from evenhand.arrays import Floats, Indices
from evenhand.certainty.targets import Target
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions

_MOST = 3_000  # effects, up to which all covariances are computed
_NEAR = 1e-4  # share of the largest expected loss from which on an option is looked at
_IN_VAIN = "No single answer of these evaluators would tell more than can be seen; ask others, too."
_FLAT = 1e-9  # share of an answer's information that is put on what nothing else is known of


def line_questions(
    asked: Askable,
    told: Feedback,
    target: Target,
    n: int,
    *,
    noise: float,
    spread: float,
    level: float = 0.0,
    parts: Sequence[Indices] | None = None,
) -> NextQuestions:
    """Return the n best questions to ask next; answers have a standard deviation of ``noise``,
    values in general one of ``spread``, and scores are told from ``level`` on. Options compete
    inside ``parts``, if there are any.
    """
    questions = Questions.of(asked)
    X, d, p = questions.options.features, questions.n_features, questions.n_attributes
    if d + p > _MOST or not (noise > 0.0 and spread > 0.0):
        return NextQuestions()
    parts = [np.arange(len(X))] if parts is None else parts
    H = np.hstack([X, np.zeros((len(X), p))])
    for part in parts:
        H[part] -= H[part].mean(axis=0)
    weights = 1.0 if questions.noise is None else 1.0 / questions.noise
    rows = sparse.csr_array(
        questions.matrix.multiply(np.broadcast_to(weights, len(questions))[:, None])
    )
    counts, sums = told.counts.astype(np.float64), told.sums * weights
    V = (rows.T @ (sparse.diags_array(counts) @ rows)).toarray() / noise**2
    V += H.T @ H / spread**2
    scatter = math.sqrt(max(float(np.var(told.means[counts > 0])), noise**2))
    V[np.arange(d, d + p), np.arange(d, d + p)] += 1.0 / scatter**2
    V[np.arange(d), np.arange(d)] += _FLAT / noise**2
    P = np.linalg.inv(V)
    theta = P @ (rows.T @ sums) / noise**2
    if target.bar is not None:
        H = np.hstack([X, np.broadcast_to(questions.neutral, (len(X), p))])
    elif target.against is not None:
        H -= H[questions.options.labels.index(target.against)]
    means = H @ theta
    away = means - _lines(means, target, level, parts)
    limits = Limits(questions)
    limits.asked = told.counts
    made = np.zeros_like(told.counts)
    listed: list[NextQuestion] = []
    while len(listed) < n and (open_ := np.flatnonzero(limits.left(made) > 0)).size:
        s = np.sqrt(np.maximum(np.einsum("ij,ij->i", H @ P, H), 0.0))
        losses = np.where(s > 0.0, expected_losses(np.abs(away), s), 0.0)
        near = np.flatnonzero(losses >= _NEAR * losses.max())
        some = rows[open_]
        behind = noise**2 + np.asarray(some.multiply(some @ P).sum(axis=1)).reshape(-1)
        along = np.asarray(some @ (P @ H[near].T)).T
        later = np.sqrt(np.maximum(s[near, None] ** 2 - along**2 / behind, 1e-300))
        left = expected_losses(np.abs(away)[near, None], later)
        gain = (losses[near, None] - left).sum(axis=0) / questions.prices[open_]
        at = int(np.argmax(gain))
        x, one = int(open_[at]), int(np.argmax(losses[near] - left[:, at]))
        o = int(near[one])
        listed.append(_described(questions, x, o, away[o], s[o], later[one, at]))
        Pa = np.asarray(P @ rows[[x]].toarray().reshape(-1))
        P -= np.outer(Pa, Pa) / behind[at]
        made[x] += 1
    if not listed:
        return NextQuestions((), math.inf, advice=nothing_left(questions, told))
    listed = [one for one in listed if one.tells]
    if not listed:
        return NextQuestions((), math.inf, advice=_IN_VAIN)
    said, tell = f"Ask about {listed[0].label}", "it tells"
    if len(listed) > 1:
        said, tell = f"{said}, then about {listed[1].label}", "they tell"
    return NextQuestions(listed, math.nan, advice=f"{said}: {tell} most of who is at the line.")


def _lines(means: Floats, target: Target, level: float, parts: Sequence[Indices]) -> Floats:
    """Return (k,) where the line is: between the last that is in and the first that is out."""
    if target.bar is not None:
        return np.full(len(means), target.bar - target.tolerance - level)
    if target.against is not None:
        return np.full(len(means), -target.tolerance)
    assert target.top is not None
    # who has too few rivals is in, far from any line
    lines = np.full(len(means), means.min() - 1e6 * (np.ptp(means) + 1.0))
    for some in parts:
        if len(some) > target.top:
            ordered = -np.sort(-means[some])
            lines[some] = 0.5 * (ordered[target.top - 1] + ordered[target.top])
    return lines


def _described(
    questions: Questions, x: int, option: int, away: float, error: float, after: float
) -> NextQuestion:
    """Return a question, and what it tells of the option that it tells most of."""
    now, then = (float(special.ndtr(-abs(away) / max(s, 1e-300))) for s in (error, after))
    return NextQuestion(
        x,
        questions.label(x),
        tuple(questions.items[o] for o in questions.options_of(x)),
        questions.evaluator_of(x),
        float(questions.prices[x]),
        questions.options.labels[option],
        float(error),
        float(after),
        now,
        then,
    )
