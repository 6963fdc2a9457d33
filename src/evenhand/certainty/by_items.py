"""One look at options that were tried on items, such as prompts or tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.certainty.alike import of_trusted
from evenhand.certainty.choice import checked_aim, withstood
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.likings_on_items import corrected_items
from evenhand.certainty.look import (
    Look,
    guess,
    leading,
    leads_by,
    plain_intervals,
    rounding,
    told_apart,
)
from evenhand.certainty.models import Spread
from evenhand.certainty.record import (
    SCALE,
    Stop,
    certain,
    grounds,
    may_be_chance,
    not_compared,
    nothing_left_over,
)
from evenhand.errors import InputError
from evenhand.numerics.intervals import Estimate
from evenhand.policies.conclusion import UNKNOWN, Conclusion, scored
from evenhand.policies.messages import Decision, Feedback
from evenhand.questions import Askable
from evenhand.questions.options import named_biases
from evenhand.scores.scores import AS_GIVEN, Level


def by_items(
    actions: Askable,
    asked: Sequence[int],
    items: Sequence[int],
    scores: Sequence[float],
    *,
    clusters: Sequence[int] | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    judges_too: bool = True,
    scale: tuple[float, float] | None = None,
    level: Level = AS_GIVEN,
) -> tuple[Conclusion, ItemsFit]:
    """Say how sure a choice is by scores on items drawn independently (or in ``clusters``), and
    return least squares with errors by items, too; what was scored was decided without looking at
    scores.
    """
    # With G items the winner test has Student's distribution with G − 1 degrees of freedom, so
    # scores on few items make nothing certain, however many judges gave them. The checks of the
    # model take scores to be independent tries, and find nothing.
    confidence, tolerance = checked_aim(confidence, tolerance)
    if not len(asked) == len(items) == len(scores) or not len(scores):
        raise InputError(
            f"asked, items and scores must have one entry for each score; got {len(asked)}, "
            f"{len(items)} and {len(scores)}."
        )
    told, checks, known = scored(actions, asked, scores, None, level)
    questions, size = checks.questions, rounding(told, 1.0, level.grain)
    span, failure = None if scale is None else scale[1] - scale[0], 1.0 - confidence
    which, g, y = np.asarray(asked, np.intp), np.asarray(items, np.intp), np.asarray(scores)
    hang = g if clusters is None else np.asarray(clusters, np.intp)

    def fitted(some: NDArray[np.bool_]) -> ItemsFit:
        return ItemsFit(
            questions,
            which[some],
            g[some],
            y[some],
            None if clusters is None else hang[some],
            judges_too,
            span,
            failure,
            level.grain,
        )

    theirs, fit = of_trusted(questions, told.counts), None
    if theirs is not None:
        fit = corrected_items(fitted, questions, which, g, theirs[which])
    if fit is None:
        fit = fitted(np.ones(len(y), dtype=np.bool_))

    def said(found: Spread) -> Floats:
        found = found._replace(estimates=told_apart(found.estimates, size))
        return plain_intervals(found, (fit.scatter, fit.freedom), failure)

    columns, rows = named_biases(questions)
    biases = [
        (column, Estimate(value, low, high, confidence))
        for column, (value, low, high) in zip(
            columns, said(fit.attributes(rows)).tolist(), strict=True
        )
    ]
    decision, because = _decided(fit, actions, told, confidence, tolerance, size)
    found = Conclusion(
        decision=decision,
        bias=biases[0][1] if biases and columns[0].kind != "leniency" else UNKNOWN,
        findings=(),
        method="one look, with errors by items",
        scope="like these" if judges_too else "these",
        items=fit.n_items,
        stopped_because=because,
        biases=biases,
        values=said(fit.values()) + level.origin,
        fit=fit,
        **known,
    )
    return found, fit


def _decided(
    fit: ItemsFit,
    actions: Askable,
    told: Feedback,
    confidence: float,
    tolerance: float,
    size: float,
) -> tuple[Decision, str]:
    """Return the decision, and in words what makes it certain or not; up to size is rounding."""
    options, n = fit.questions.options, int(told.counts.sum())
    everybody = np.arange(len(options))
    leader = leading(fit, everybody, size)
    if leader is None:
        option, looks = guess(fit.questions, told, size), []
        estimates = np.full(len(options), np.nan)
        apart = np.flatnonzero(np.isinf(fit.leads(0, everybody).variances))
        because = f"{not_compared(options, Stop('stuck', (0, *apart.tolist())), n)}."
    else:
        option = leader
        rivals = everybody[~options.same_as(option)]
        look = Look.at(fit, option, rivals, tolerance, 1.0 - confidence)
        looks, estimates = [look], told_apart(fit.leads(option, everybody).estimates, size)
        stop = Stop("spent", (option, *look.open.tolist()))
        would_help = "more judges and items" if fit.judged else "more items"
        because = may_be_chance(options, stop, n, confidence, would_help)
        if len(look.open) and fit.alike(option, look.open).all() and not fit.bounded:
            because = nothing_left_over(options, option, n, True, SCALE)
        if look.certain:
            because = certain(options, option, confidence, tolerance)
    leads, least = leads_by(looks, option, estimates, options.same_as(option))
    loss = max(0.0, -float(least.min(initial=0.0)))
    if any(look.certain for look in looks):
        loss = min(loss, tolerance)
    return Decision(
        option,
        options.labels[option],
        loss=loss,
        level=confidence,
        withstands=withstood(actions, option, least) if loss <= tolerance else 0.0,
        leads=leads,
        certainty=grounds(options) if np.isfinite(loss) else None,
    ), because
