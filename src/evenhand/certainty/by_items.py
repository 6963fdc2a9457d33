"""One look at options that were tried on items, such as prompts or tasks.

Scores of others on items are corrected by those of trusted judges on some of the items.

Notation
--------
p, m, s     values by trusted judges, by all scores of the others, and by those scores of the others
            that are of the same options on the same items as a trusted judge's; less their means
ψ           what leaving out an item, or a judge's taste, changes of them (`items`)
u, τ, w     likings of the others, their deviation, and c/(c + τ²) (`likings`)

People label a part of what a model scored. Whatever the model likes is in s as it is in m, so

    p' = p − λ(s − m)

is about what p is about, and has less noise where both see the same of an item (prediction-powered
inference; Angelopoulos et al. 2023). λ is such that Σ|ψ'|² is least. What then remains, r = p' − m,
is −u and noise of variance c = Σ|ψ_r|²/(k − 1), and

    v̂ = p' − ρ w r,    ρ = Σψ'·ψ_r/Σ|ψ_r|²,

has the errors ψ' − ρ w ψ_r, those of likings, ρ²w²τ² = ρ²c w(1 − w) each, and what it differs by
with w, which is known as well as r tells it (`Likings`). Trusted judges, who confirm what is
certain, do so by p'. Two options have one r, which tells of no τ: then v̂ is p'.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.alike import of_trusted
from evenhand.certainty.choice import checked_aim, withstood
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.likings import Likings
from evenhand.certainty.line import Errors
from evenhand.certainty.look import (
    Look,
    guess,
    intervals_by,
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
from evenhand.questions import Askable, Questions
from evenhand.questions.options import named_biases
from evenhand.scores.scores import AS_GIVEN, Level

_LEAST, _MOST = 0.0, 2.0  # λ


def corrected_items(
    fitted: Callable[[NDArray[np.bool_], Questions], ItemsFit],
    questions: Questions,
    which: Indices,
    items: Indices,
    trusted: NDArray[np.bool_],
) -> ItemsFit | None:
    """Return the fit to scores on items, corrected by trusted judges; None where it cannot be."""
    # ``fitted`` returns the fit to some of the scores, (n,) truth values, as answers to questions;
    # the rest is (n,) by score.
    if not questions.options.stand_alone:
        return None
    cells = (questions.about[which] @ [len(questions.items) + 1, 1]) * (items.max() + 1) + items
    beside = ~trusted & np.isin(cells, cells[trusted])
    k = len(questions.options)
    by_trusted = fitted(trusted, questions)
    if by_trusted.freedom < 1.0:
        return None
    parts = [by_trusted]
    if beside.any():
        parts += [fitted(some, questions) for some in (~trusted, beside)]
        if not _compares(parts[1:], k):  # one judge's favour for its own is one of its likings
            plain = _without_favours(questions)
            parts[1:] = [fitted(some, plain) for some in (~trusted, beside)]
    if not _compares(parts, k):
        return by_trusted if _compares([by_trusted], k) else None
    if len(parts) == 1:
        return by_trusted
    p, m, s = (part.theta[:k] - part.theta[:k].mean() for part in parts)
    psi, psi_m, psi_s = _in_rows(parts, k)
    x = psi_s - psi_m
    size = float((x**2).sum())
    share = float(np.clip((psi * x).sum() / size, _LEAST, _MOST)) if size > 0.0 else 0.0
    p, psi = p - share * (s - m), psi - share * x
    confirming = _moved(by_trusted, p, psi)
    r, psi_r = p - m, psi - psi_m
    c = float((psi_r**2).sum()) / (k - 1)
    if k < 3 or not c > 0.0:
        w = rho = spread = 0.0
    else:
        b = np.full(k - 1, math.sqrt(float(r @ r) / (k - 1)) / c)
        told = Likings.told(np.full(k - 1, 1.0 / c), b)
        w, spread = 1.0 - float(told.mean[0]) / c, float(told.spread[0, 0]) / c**2
        rho = float((psi * psi_r).sum() / (psi_r**2).sum())
    liked = rho * math.sqrt(max(c * (w - w**2 - spread), 0.0)) * (np.eye(k) - 1.0 / k)
    rows = np.vstack([psi - rho * w * psi_r, liked, rho * math.sqrt(spread) * r])
    found = _moved(by_trusted, p - rho * w * r, rows)
    found.trusted = confirming
    return found


def _compares(parts: Sequence[ItemsFit], k: int) -> bool:
    """Tell whether each of some fits compares all options."""
    return all(np.isfinite(part.leads(0, np.arange(k)).variances).all() for part in parts)


def _without_favours(questions: Questions) -> Questions:
    """Return questions whose scores have no part that is a favour for some options."""
    kept = np.array([column.kind != "bias" for column in questions.columns], dtype=np.bool_)
    columns = tuple(column for column in questions.columns if column.kind != "bias")
    all_kept = np.append(np.ones(questions.n_features, dtype=np.bool_), kept)
    return questions._changed(rows=questions.rows[:, np.flatnonzero(all_kept)], columns=columns)


def _in_rows(parts: list[ItemsFit], k: int) -> list[Floats]:
    """Return ψ of each fit, the same clusters in the same rows, tastes in rows of their own."""
    # What the judges of all scores like is in the last of the fits, too, and no further taste.
    n = max(part.n_clusters for part in parts)
    tastes = [part.moved[part.n_clusters :, :k] for part in parts[:2]]
    rows, at = [np.zeros((n + sum(map(len, tastes)), k)) for _ in parts], n
    for psi, part in zip(rows, parts, strict=True):
        psi[: part.n_clusters] = part.moved[: part.n_clusters, :k]
    for x, some in enumerate(tastes):
        rows[x][at : at + len(some)] = some
        if x == 1:
            rows[2][at : at + len(some)] = some
        at += len(some)
    return [psi - psi.mean(axis=1, keepdims=True) for psi in rows]


def _moved(fit: ItemsFit, values: Floats, rows: Floats) -> ItemsFit:
    """Return a fit with other values of the options, less their mean, and other errors."""
    made, k = copy.copy(fit), len(values)
    made.theta = fit.theta.copy()
    made.theta[:k] = values + fit.theta[:k].mean()
    made.moved = np.zeros((len(rows), len(fit.theta)))
    made.moved[:, :k] = rows
    common = fit.moved[: fit.n_clusters]
    made.moved[: fit.n_clusters, :k] += common[:, :k].mean(axis=1, keepdims=True)
    made.moved[: fit.n_clusters, k:] = common[:, k:]
    made.moved_level = np.zeros(len(rows))
    made.moved_level[: fit.n_clusters] = fit.moved_level[: fit.n_clusters]
    return made


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

    def fitted(some: NDArray[np.bool_], questions: Questions) -> ItemsFit:
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
        fit = fitted(np.ones(len(y), dtype=np.bool_), questions)

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
        values=intervals_by(said(fit.values())[:, 0], Errors.of(fit, like=judges_too), failure)
        + level.origin,
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
