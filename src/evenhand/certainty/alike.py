"""Whether evaluators favour their own by as much as each other, where that is taken for granted.

Notation
--------
R_0, m_0    residual sum of squares and rank with one bias for all
R_1, m_1    the same with a bias for each evaluator;  n answers in all

If they are alike, (R_0 − R_1)/(m_1 − m_0) over R_1/(n − m_1) has the distribution F of these
degrees of freedom; over σ², where that is known, χ².
"""

from __future__ import annotations

import numpy as np
from scipy import special

from evenhand.arrays import Indices
from evenhand.certainty.aim import Aim
from evenhand.certainty.look import Look, leading, rounding
from evenhand.certainty.model_choice import model_of
from evenhand.certainty.models import Fit
from evenhand.certainty.one_look import OneLook
from evenhand.certainty.own_noise import in_pairs, with_own_noise
from evenhand.checks import Finding
from evenhand.checks.fit import span_of
from evenhand.errors import NotIdentifiableError
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions
from evenhand.questions.variants import with_own_biases

_RARE = 0.01  # how improbable a difference must be by chance to be told of


def chance_of_difference(
    questions: Questions, told: Feedback, noise_scale: float | None, grain: float = 0.0
) -> float:
    """Return how probable it is that biases differ so much by chance; 1 where nothing tells."""
    apart = with_own_biases(questions)
    (used,) = np.nonzero(told.counts)
    if apart is None or not len(used):
        return 1.0
    scatter, rank = _left_over(questions, told, used)
    rest, full = _left_over(apart, told, used)
    freedom, more = float(told.counts.sum()) - full, full - rank
    if more <= 0:
        return 1.0
    if noise_scale is not None:
        return float(special.chdtrc(more, max(scatter - rest, 0.0) / noise_scale**2))
    counts, sums, squares = (part[used] for part in told.parts)
    within = float(np.maximum(squares - sums**2 / counts, 0.0).sum())
    rest_of_all = rest + within
    nil = max(1e-24 * float(squares.sum()), float(counts.sum()) * grain**2)
    if freedom < 1.0 or rest_of_all <= nil:
        return 1.0
    ratio = max(scatter - rest, 0.0) / more / (rest_of_all / freedom)
    return float(special.fdtrc(more, freedom, ratio))


def difference(inference: OneLook) -> Finding | None:
    """Return what is to be said of evaluators who differ in their biases; None if they may not."""
    aim, told = inference.aim, inference.told
    chance = chance_of_difference(aim.questions, told, aim.noise, aim.grain)
    if chance >= _RARE:
        return None
    answer, confirmed = inference.certain, False
    fit = _own_fit(aim, told, inference.judges_too)
    if fit is not None and answer is not None:
        everybody = np.arange(len(aim.questions.options))
        leader = leading(fit, everybody, rounding(told, inference.unit, aim.grain))
        rivals = everybody[~aim.same(answer)]
        look = Look.at(fit, answer, rivals, aim.slack, inference.chance, aim.bounded)
        confirmed = leader == answer and look.certain
    return _finding(chance, confirmed, fit is not None)


def _own_fit(aim: Aim, told: Feedback, judges_too: bool) -> Fit | None:
    """Return least squares with a bias for each evaluator; None where that leaves values open."""
    apart = with_own_biases(aim.questions)
    if apart is None:
        return None
    try:
        model = model_of(apart)
    except NotIdentifiableError:
        return None
    units = in_pairs(apart, told) if judges_too else told
    return with_own_noise(apart, model.fit(units, aim.noise), units, aim.grain)


def _finding(chance: float, confirmed: bool, identified: bool) -> Finding:
    """Return what is said of evaluators who differ, given whether the choice with a bias for each
    is ``confirmed``, and such biases ``identified``.
    """
    seen = (
        "Evaluators do not favour their own by the same amount, as is taken for granted: by chance "
        f"they would differ so much {100 * chance:.2g}% of the time. "
    )
    if confirmed:
        rest = "With a bias for each of them the choice is the same, and as certain."
    elif identified:
        rest = "With a bias for each of them the choice is not certain: ask with bias='evaluator'."
    else:
        rest = (
            "These answers cannot tell a bias for each of them from value; an evaluator who "
            "favours nobody would help, with bias='evaluator'."
        )
    return Finding("alike", seen + rest, alarm=not confirmed, p_value=chance)


def _left_over(questions: Questions, told: Feedback, used: Indices) -> tuple[float, int]:
    """Return the residual sum of squares of mean answers, and the rank of what was asked."""
    counts = told.counts[used]
    span = span_of(questions, used, counts)
    left = span.without(np.sqrt(counts) * told.means[used])
    left = span.without(left)  # what rounding left of the span
    return float(left @ left), span.rank
