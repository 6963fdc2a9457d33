"""Which judges are trusted, and whether they confirm a choice that rests on the others.

A cheap judge, such as a model beside a few people, is asked most, and what a search for certainty
makes of it is as certain as it is true that judges differ by leniency and favours alone. If the
model likes an option for itself, asking it again finds that liking with ever more certainty. So
where some judges are trusted, by name or by price, their scores correct those of the others
(`likings`), and what a search has found must be certain by scores that are corrected, too. That is
one look, by the winner test; it makes nothing certain by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts
from evenhand.certainty.aim import Aim
from evenhand.certainty.likings import corrected
from evenhand.certainty.look import Look
from evenhand.certainty.models import Fit
from evenhand.certainty.own_noise import with_own_noise
from evenhand.checks import Finding
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions
from evenhand.tables import listed

_DEARER = 5.0  # times the price of the next cheaper, from which on judges are trusted


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
    """Return least squares with each option's own noise; corrected, where some are trusted.

    Parameters
    ----------
    aim
        What is to be known.
    told, units
        All scores, and as they count (`own_noise.in_pairs`).
    corrects
        Whether they are corrected.
    """
    theirs = of_trusted(aim.questions, told.counts) if corrects and not aim.bounded else None
    if theirs is not None:
        found = corrected(aim.model, told, units, aim.noise, aim.grain, theirs)
        if found is not None:
            return found
    return with_own_noise(aim.questions, aim.model.fit(units, aim.noise), units, aim.grain)


def unconfirmed(aim: Aim, told: Feedback, chosen: Sequence[int]) -> Finding | None:
    """Return what is to be said of a choice that trusted judges do not confirm; None if they do.

    Parameters
    ----------
    aim, told
        What is to be known, and all scores.
    chosen
        The choice: one option, or several, which are to be better than all others.
    """
    questions = aim.questions
    theirs = of_trusted(questions, told.counts)
    if theirs is None:
        return None
    fit = corrected(aim.model, told, told, aim.noise, aim.grain, theirs)
    if fit is not None and all(_confirmed(aim, fit, option, chosen) for option in chosen):
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


def _confirmed(aim: Aim, fit: Fit, option: int, chosen: Sequence[int]) -> bool:
    """Tell whether one of those chosen is better than all others, at its share of the level."""
    rivals = np.setdiff1d(np.flatnonzero(~aim.same(option)), chosen)
    if not (fit.leads(option, rivals).estimates >= 0.0).all():
        return False
    slack = aim.tolerance / (aim.noise or 1.0)
    return Look.at(fit, option, rivals, slack, aim.delta / len(chosen)).certain
