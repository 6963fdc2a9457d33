"""Judges who are trusted, by name, beside others such as a model.

A cheap judge is asked most, and what a search for certainty makes of it is as certain as it is true
that judges differ by leniency and favours alone. If the model likes an option for itself, asking it
again finds that liking with ever more certainty. So where somebody named judges who are trusted,
what a search has found must be certain by one look at their answers alone, too. That look makes
nothing certain by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts
from evenhand.inference import Conclusion, Target, conclude, design_of_feedback
from evenhand.linear import Fit
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions
from evenhand.scores import Finding
from evenhand.tables import listed

_MOST = 200_000  # answers that are looked at one by one


def of_trusted(questions: Questions, counts: Counts) -> NDArray[np.bool_] | None:
    """Return (q,) which questions go to trusted judges; None where nobody is named, or only those
    were asked.

    Examples
    --------
    >>> panel = Questions.panel(["Ann", "Bo"], ["model", "Rosa"], trusted=["Rosa"])
    >>> of_trusted(panel, np.ones(4, dtype=np.int64))
    array([False,  True, False,  True])
    """
    if questions.trusted is None:
        return None
    names = np.array([name in questions.trusted for name in questions.evaluators], dtype=np.bool_)
    theirs = np.append(names, True)[questions.evaluator]
    asked = theirs[counts > 0]
    return None if asked.all() else theirs


def look_at(
    questions: Questions,
    told: Feedback,
    target: Target,
    delta: float,
    noise: float | None,
) -> Conclusion | None:
    """Return one look at all answers, for these judges; None where there are none, or very many."""
    if not 0 < int(told.counts.sum()) <= _MOST:
        return None
    fit = Fit(design_of_feedback(questions, told, "these")[0], noise)
    k, rival = len(questions.options), target.rival(questions.options.labels)
    if np.ptp(fit.part[:k]):
        return None
    return conclude(fit, target, delta, rival=rival, like=False, parts=[np.arange(k)])


def unconfirmed(
    questions: Questions,
    told: Feedback,
    target: Target,
    delta: float,
    noise: float | None,
    chosen: Sequence[int],
    outside: Sequence[int] = (),
) -> Finding | None:
    """Return what is to be said of a choice that trusted judges do not confirm; None if they do.

    Where options are held against a bar or one of them, ``chosen`` are above it, and others
    ``outside``.
    """
    theirs = of_trusted(questions, told.counts)
    if theirs is None:
        return None
    said = look_at(
        questions, Feedback(*(part * theirs for part in told.parts)), target, delta, noise
    )
    if said is not None and target.top is not None:
        confirmed = said.sure and set(said.chosen) == set(chosen)
    else:
        confirmed = said is not None and {*chosen} <= {*said.inside}
        confirmed = confirmed and said is not None and {*outside} <= {*said.outside}
    if confirmed:
        return None
    who = np.unique(questions.evaluator[(told.counts > 0) & ~theirs])
    names = [questions.evaluators[e] for e in who.tolist()]
    share = 1.0 - float(told.counts[theirs].sum()) / float(told.counts.sum())
    return Finding(
        "kinds",
        f"{share:.0%} of the scores are those of {listed(names, 3)}, who are not trusted as the "
        "others are. A liking for single options that such judges have looks like value, however "
        "often they are asked; and by the scores of the others alone the choice is not certain. "
        "Ask the others more.",
        alarm=True,
    )
