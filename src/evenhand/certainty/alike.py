"""Whether evaluators are alike: in whom they favour by how much, and in being trusted.

Notation
--------
R_0, m_0    residual sum of squares and rank with one bias for all
R_1, m_1    the same with a bias for each evaluator;  n answers in all

If all favour their own by as much, (R_0 − R_1)/(m_1 − m_0) over R_1/(n − m_1) has the distribution
F of these degrees of freedom; over σ², where that is known, χ².

A cheap judge, such as a model beside a few people, is asked most, and what a search for certainty
makes of it is as certain as it is true that judges differ by leniency and favours alone. If the
model likes an option for itself, asking it again finds that liking with ever more certainty. So
where some judges are trusted, by name or by price, their scores correct those of the others
(`likings`), and what a search has found must be certain by scores that are corrected, too. That is
one look, by the winner test; it makes nothing certain by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Counts, Indices
from evenhand.certainty.aim import Aim, model_of
from evenhand.certainty.likings import corrected
from evenhand.certainty.line import Errors, beside, beyond_bar
from evenhand.certainty.look import Look, leading, rounding
from evenhand.certainty.models import Fit, in_pairs, with_own_noise
from evenhand.checks import Finding
from evenhand.checks.statistics import span_of
from evenhand.errors import NotIdentifiableError
from evenhand.policies.messages import Feedback
from evenhand.questions import Column, Questions
from evenhand.tables import listed

if TYPE_CHECKING:
    from evenhand.certainty.one_look import OneLook

_RARE = 0.01  # how improbable a difference must be by chance to be told of
_DEARER = 5.0  # times the price of the next cheaper, from which on judges are trusted


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


def difference(inference: OneLook, confirms: Callable[[Fit], bool] | None = None) -> Finding | None:
    """Return what is to be said of evaluators who differ in their biases; None if they may not.

    ``confirms`` tells whether what was found follows from another fit, where that is not just who
    is the best.
    """
    aim, told = inference.aim, inference.told
    chance = chance_of_difference(aim.questions, told, aim.noise, aim.grain)
    if chance >= _RARE:
        return None
    answer, confirmed = inference.certain, False
    fit = _own_fit(aim, told, inference.judges_too)
    if fit is not None and confirms is not None:
        confirmed = confirms(fit)
    elif fit is not None and answer is not None:
        everybody = np.arange(len(aim.questions.options))
        leader = leading(fit, everybody, rounding(told, inference.unit, aim.grain))
        rivals = everybody[~aim.same(answer)]
        look = Look.at(fit, answer, rivals, aim.slack, inference.chance, aim.bounded)
        confirmed = leader == answer and look.certain
    return _finding(chance, confirmed, fit is not None)


def with_own_biases(questions: Questions) -> Questions | None:
    """Return the same questions with a bias for each evaluator; None if nobody shares one."""
    if not any(column.kind == "bias" and column.evaluator is None for column in questions.columns):
        return None
    d, matrix = questions.n_features, questions.matrix.tocsc()
    biases: list[tuple[Column, sparse.csc_array]] = []
    others: list[tuple[Column, sparse.csc_array]] = []
    for place, column in enumerate(questions.columns):
        entries = matrix[:, [d + place]]
        if column.kind != "bias" or column.evaluator is not None:
            (biases if column.kind == "bias" else others).append((column, entries))
            continue
        rows = entries.nonzero()[0]
        for who in np.unique(questions.evaluator[rows]).tolist():
            if who < 0:
                biases.append((column, entries))
                break
            name = questions.evaluators[who]
            own = sparse.csc_array(entries.multiply((questions.evaluator == who)[:, None]))
            named = Column(f"{column.name} of {name}", "bias", name, column.group)
            biases.append((named, own))
    if len(biases) + len(others) == len(questions.columns):
        return None
    columns = [*biases, *others]
    stacked = sparse.hstack([matrix[:, :d], *(entries for _, entries in columns)], format="csr")
    rows_ = sparse.csr_array(stacked)
    rows_.eliminate_zeros()
    return questions._changed(rows=rows_, columns=tuple(column for column, _ in columns))


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


def trusted_ones(questions: Questions, counts: Counts) -> NDArray[np.bool_] | None:
    """Return (evaluators,) which of those who were asked are trusted; None if all are, or none.

    Those who are named, or else who cost several times as much as the others.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["model", "Paul", "Rosa"], capacity=None,
    ...                         prices={"model": 0.01, "Rosa": 1.5})
    >>> trusted_ones(panel, np.ones(6, dtype=np.int64))
    array([False,  True,  True])
    """
    who, n = questions.evaluator, len(questions.evaluators)
    asked = (counts > 0) & (who >= 0)
    often = np.bincount(who[asked], minlength=n)
    there = often > 0
    if questions.trusted is not None:
        names = set(questions.trusted)
        found = there & np.array([name in names for name in questions.evaluators], dtype=np.bool_)
        return found if found.any() and (there & ~found).any() else None
    prices = np.zeros(n) + np.bincount(who[asked], questions.prices[asked], n)
    prices[there] /= often[there]
    steps = np.sort(prices[there])
    ratios = steps[1:] / steps[:-1]
    if not len(ratios) or ratios.max() < _DEARER:
        return None
    return np.asarray(there & (prices > steps[int(ratios.argmax())] * (1.0 + 1e-9)))


def of_trusted(questions: Questions, counts: Counts) -> NDArray[np.bool_] | None:
    """Return (q,) which questions go to trusted judges; None if they are not told apart."""
    trusted = trusted_ones(questions, counts)
    if trusted is None:
        return None
    return np.where(questions.evaluator >= 0, trusted[questions.evaluator], True)


def fitted(aim: Aim, told: Feedback, units: Feedback, corrects: bool) -> Fit:
    """Return least squares with each option's own noise on all scores, as they count (``units``);
    corrected, where some judges are trusted and the policy ``corrects``.
    """
    theirs = of_trusted(aim.questions, told.counts) if corrects and not aim.bounded else None
    if theirs is not None:
        found = corrected(aim.model, told, units, aim.noise, aim.grain, theirs)
        if found is not None:
            return found
    return with_own_noise(aim.questions, aim.model.fit(units, aim.noise), units, aim.grain)


def unconfirmed(
    aim: Aim, told: Feedback, chosen: Sequence[int], outside: Sequence[int] = ()
) -> Finding | None:
    """Return what is to be said of a choice that trusted judges do not confirm; None if they do.

    Where options are held against a bar or one of them, ``chosen`` are above it, the others, who
    are ``outside``, below.
    """
    questions = aim.questions
    theirs = of_trusted(questions, told.counts)
    if theirs is None:
        return None
    fit = corrected(aim.model, told, told, aim.noise, aim.grain, theirs)
    if fit is not None and aim.base is not None:
        if _sides_confirmed(aim, fit, list(chosen), list(outside)):
            return None
    elif fit is not None and all(_confirmed(aim, fit, option, chosen) for option in chosen):
        return None
    who = np.unique(questions.evaluator[(told.counts > 0) & ~theirs])
    names = [questions.evaluators[e] for e in who.tolist()]
    share = 1.0 - float(told.counts[theirs].sum()) / float(told.counts.sum())
    return Finding(
        "kinds",
        f"{share:.0%} of the scores are those of {listed(names, 3)}, who are not trusted as the "
        "others are. A liking for single options that such judges have looks like value, however "
        "often they are asked; and with their scores corrected by those of the others the choice "
        "is not certain. Ask the others more.",
        alarm=True,
    )


def _sides_confirmed(aim: Aim, fit: Fit, inside: list[int], outside: list[int]) -> bool:
    """Tell whether options are on their sides of a bar, or of another, by one look at a fit."""
    above, below = np.zeros((2, len(aim.questions.options)), dtype=np.bool_)
    if aim.bar is not None:
        unit = aim.noise or 1.0
        away, errors = (
            fit.values().estimates * unit - aim.bar,
            Errors.of(fit, like=False).times(unit),
        )
        above, below = beyond_bar(away, errors, aim.tolerance, aim.delta)
    elif aim.against is not None:
        others = np.flatnonzero(~aim.same(aim.against))
        better, worse, close, _ = beside(fit, aim.against, others, aim.slack, aim.delta)
        above[others], below[others] = close if aim.slack else better, worse
    return bool(above[inside].all() and below[outside].all())


def _confirmed(aim: Aim, fit: Fit, option: int, chosen: Sequence[int]) -> bool:
    """Tell whether one of those chosen is better than all others, at its share of the level."""
    rivals = np.setdiff1d(np.flatnonzero(~aim.same(option)), chosen)
    if not (fit.leads(option, rivals).estimates >= 0.0).all():
        return False
    slack = aim.tolerance / (aim.noise or 1.0)
    return Look.at(fit, option, rivals, slack, aim.delta / len(chosen)).certain
