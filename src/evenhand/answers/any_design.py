"""What scores say whose questions may have been chosen by earlier scores.

Notation
--------
a_t, y_t    the question of the t-th score and the score, in the order in which they were given
e_t, w_t    error of its prediction from all scores before it, and 1/(1 + leverage)
σ̄           bound of the noise by Σ w e² (`confidence.noise_bound`), where σ is not known
δ           1 − confidence; a tenth of it goes to σ̄, where that is needed

Whoever asks again where the leader looks weak, or stops when it looks strong, has leads that are
not normal about the true ones, and one look at them is wrong too often. What holds whatever decided
the next question is the ellipsoid of `confidence`: it pays for every direction and every time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenhand.answers.of_policy import Outcome, first_bias
from evenhand.arrays import Floats, checked_aim
from evenhand.findings import Checks
from evenhand.numerics.solves import observed
from evenhand.numerics.tolerance import ROUNDING, first_largest
from evenhand.policies.confidence import Ellipsoid, noise_bound
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Decision, Feedback
from evenhand.questions import Askable, Questions, checked_askable
from evenhand.scores.scores import AS_GIVEN, Level
from evenhand.search.choice import grounds, nothing_left_over, withstood
from evenhand.search.guess import first_guess

_SAME = 1e-12  # share of the largest score below which a difference is rounding
_FLAT = 1e5  # square root of the prior variance, in evaluations: nothing is known
_FOR_NOISE = 0.1  # share of δ that goes to the noise
_GRID = 32  # values of η at which the room of `noise_bound` is kept


def by_any_design(
    actions: Askable,
    asked: Sequence[int],
    scores: Sequence[float],
    *,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    noise_scale: float | None = None,
    level: Level = AS_GIVEN,
) -> Outcome:
    """Say how sure a choice is by (n,) scores in the order in which they were given, whoever chose
    what was scored and when to stop.
    """
    # That costs certainty. Noise is taken to be Gaussian, and as loud for all questions but for
    # their relative noise.
    confidence, tolerance = checked_aim(confidence, tolerance)
    questions = Questions.of(checked_askable(actions))
    which, quiet = np.asarray(asked, dtype=np.intp), np.asarray(scores, dtype=np.float64)
    if questions.noise is not None:
        quiet = quiet / questions.noise[which]
    q, n, limits = len(questions), len(scores), Limits(questions)
    told = Feedback(*(np.bincount(which, part, minlength=q) for part in (None, quiet, quiet**2)))
    limits.asked = told.counts
    checks = Checks(questions, noise_scale=noise_scale, level=level)
    checks.take(*told.parts)
    checks.look()
    options = questions.options
    ellipsoid, failure = Ellipsoid(actions, max(n, 1)), 1.0 - confidence
    fit, noise, silent = ellipsoid.fit(told.counts, told.sums), noise_scale, False
    size = rounding(told, 1.0, level.grain)
    if noise is None:
        points = ellipsoid.frame.points[which]
        left = float(np.abs(quiet - points @ fit.parameter).max(initial=0.0))
        silent = left <= size
        noise = math.inf if silent else noise_within(points, quiet, _FOR_NOISE * failure)
        failure *= 1.0 - _FOR_NOISE
    values = ellipsoid.frame.values @ fit.parameter
    option = first_largest(values, size / ROUNDING)
    compared = bool(np.isfinite(fit.leads(failure, 1.0, option).widths).all())
    if not compared:
        option = first_guess(questions, told, size)
    found = fit.leads(failure, noise, option)
    leads = np.column_stack([found.leads, found.leads - found.widths, found.leads + found.widths])
    leads[:, 0] = told_apart(leads[:, 0], size)
    if not compared:
        leads[~options.same_as(option), 0] = np.nan
    label = options.labels[option]
    because = _why(label, found.loss, compared, n, confidence, tolerance)
    if silent and compared:
        because = nothing_left_over(options, option, n, n > fit.root.shape[1])
    noise = noise if math.isfinite(noise) else None
    return Outcome(
        actions,
        checks,
        Decision(
            option,
            label,
            loss=found.loss,
            level=confidence,
            leads=leads,
            withstands=withstood(actions, option, leads[:, 1]),
            certainty=grounds(options) if np.isfinite(found.loss) else None,
            warnings=checks.findings(),
        ),
        "bounds for any design",
        because,
        n,
        max(1, n),
        float(told.counts @ questions.prices),
        first_bias(questions, lambda: fit.bias(failure, noise)),
        may_ask=bool(limits.left(np.zeros(q, dtype=np.int64)).any()),
        noise_scale=noise_scale,
    )


def noise_within(points: Floats, scores: Floats, failure: float) -> float:
    """Return a bound of σ that holds whatever decided what was scored; ∞ if there is none."""
    # points (n, r) and scores (n,) come in order, in units of the questions' relative noise.
    eta, r = 2.0 ** -np.arange(_GRID), points.shape[1]
    root, theta = _FLAT * np.eye(r), np.zeros(r)
    scatter, room = 0.0, np.zeros(_GRID)
    for a, y in zip(points, scores.tolist(), strict=True):
        f = root.T @ a
        grown = 1.0 + float(f @ f)
        error = y - float(a @ theta)
        scatter += error**2 / grown
        room += 0.5 * np.log1p(2.0 * eta / grown)
        theta = theta + root @ f * (error / grown)
        root = observed(root, a, 1)
    return noise_bound(scatter, room, failure, max(len(scores), 1))


def _why(
    name: str, loss: float, compared: bool, n: int, confidence: float, tolerance: float
) -> str:
    """Return what the scores come to, in plain words."""
    level, more = f"{100 * confidence:g}%", f" by more than {tolerance:g}" if tolerance else ""
    if not compared:
        return f"the {n} scores do not compare all options with one another."
    if loss <= tolerance:
        return (
            f"no option is better than {name!r}{more}, with {level} confidence whoever chose what "
            "was scored."
        )
    return (
        f"that {name!r} leads by these {n} scores may be chance or come of who chose what was "
        f"scored, at {level} confidence."
    )


def rounding(told: Feedback, unit: float, grain: float = 0.0) -> float:
    """Return below what a difference of scores is rounding; ``grain`` is that of single ones."""
    counts, _, squares = told.parts
    size = math.sqrt(float((squares / np.maximum(counts, 1)).max(initial=0.0)))
    return max(_SAME * size, grain) / unit


def told_apart(estimates: Floats, size: float) -> Floats:
    """Return estimates, 0 where they are no more than rounding."""
    return np.where(np.abs(estimates) <= size, 0.0, estimates)
