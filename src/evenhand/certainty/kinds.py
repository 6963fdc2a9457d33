"""Whether a choice that rests on cheap judges is confirmed by the dear ones.

A cheap judge, such as a model beside a few people, is asked most, and what a search for certainty
makes of it is as certain as it is true that judges differ by leniency and favours alone. If the
model likes an option for itself, asking it again finds that liking with ever more certainty, and
people's few scores are too few to show it against their noise. So where judges come in kinds, by
price, what is certain has to be so in one of two ways that no such liking can bring about:

- by the scores of the dear kind alone;
- by all opinions, each counted once: the mean score of an option by a judge is one of them, and
  their scatter has likings in it (`own_noise`). Not where options are compared, since a liking for
  one is then in the verdicts on many pairs.

Both are one look, by the winner test; neither makes anything certain by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts
from evenhand.certainty.aim import Aim
from evenhand.certainty.look import Look
from evenhand.certainty.own_noise import in_pairs, with_own_noise
from evenhand.checks import Finding
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions
from evenhand.tables import listed

_DEARER = 5.0  # times the price of the next cheaper, from which on judges are of another kind


def dear_ones(questions: Questions, counts: Counts) -> NDArray[np.bool_] | None:
    """Return (evaluators,) which of those who were asked are of the dear kind; None if none is.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["model", "Paul", "Rosa"], capacity=None,
    ...                         prices={"model": 0.01, "Rosa": 1.5})
    >>> dear_ones(panel, np.ones(6, dtype=np.int64))
    array([False,  True,  True])
    """
    who, n = questions.evaluator, len(questions.evaluators)
    asked = (counts > 0) & (who >= 0)
    if not asked.any():
        return None
    prices, often = np.zeros(n), np.bincount(who[asked], minlength=n)
    np.add.at(prices, who[asked], questions.prices[asked])
    there = often > 0
    prices[there] /= often[there]
    steps = np.sort(prices[there])
    ratios = steps[1:] / steps[:-1]
    if not len(ratios) or ratios.max() < _DEARER:
        return None
    return np.asarray(there & (prices > steps[int(ratios.argmax())] * (1.0 + 1e-9)))


def unconfirmed(aim: Aim, told: Feedback, option: int) -> Finding | None:
    """Return what is to be said of a choice that rests on cheap judges; None if nothing is.

    Parameters
    ----------
    aim, told
        What is to be known, and all scores.
    option
        The choice.
    """
    questions = aim.questions
    dear = dear_ones(questions, told.counts)
    if dear is None:
        return None
    rivals = np.flatnonzero(~aim.same(option))
    theirs = np.where(questions.evaluator >= 0, dear[questions.evaluator], True)
    alone = Feedback(*(part * theirs for part in told.parts))
    if _certain(aim, alone, option, rivals, aim.noise):
        return None
    one_by_one = bool((questions.about[:, 1] < 0).all())
    if one_by_one and _certain(aim, in_pairs(questions, told), option, rivals, None):
        return None
    names = [name for name, is_dear in zip(questions.evaluators, dear, strict=True) if not is_dear]
    share = 1.0 - float(alone.counts.sum()) / float(told.counts.sum())
    return Finding(
        "kinds",
        f"{share:.0%} of the scores are those of {listed(names, 3)}, who cost less. A liking for "
        "single options that such judges have looks like value, however often they are asked; and "
        "neither the scores of the others alone make the choice certain, nor all opinions, each "
        "counted once. Ask the others more.",
        alarm=True,
    )


def _certain(
    aim: Aim, told: Feedback, option: int, rivals: NDArray[np.intp], noise: float | None
) -> bool:
    """Tell whether a look at some scores makes a choice certain."""
    fit = with_own_noise(aim.questions, aim.model.fit(told, noise), told)
    estimates, variances = fit.leads(option, rivals)
    if not np.isfinite(variances).all() or (estimates < 0.0).any():
        return False
    slack = aim.tolerance / (noise or 1.0)
    return Look.at(fit, option, rivals, slack, 0.5 * aim.delta).certain
