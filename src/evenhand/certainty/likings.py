"""Scores of others beside those of trusted judges, where the others may like single options.

Notation
--------
A, y, D     rows of the questions that were asked, their mean scores, and variances of these
θ           values, and what attributes add (leniencies, a favour for the own family)
u           what judges who are not trusted, as a kind, like options by beside that: u_o ~ N(0, τ²)
Z           of each score the option that u adds to; 0 for scores of trusted judges
H, P        V⁺AᵀD⁻¹ and D⁻¹ − D⁻¹AH, where V = AᵀD⁻¹A
G, b        ZᵀPZ = E diag(g) Eᵀ and EᵀZᵀPy: where g > 0, b/g estimates u along E, of variance 1/g
s           τ²/(1 + τ²g)

A model that is asked a thousand times beside a few people has one lasting error about each option,
however often it is asked: y = Aθ + Zu + e. Were τ known, least squares would be

    θ̂ = Hy − HZE diag(s) b,    of covariance V⁺ + HZE diag(s) EᵀZᵀHᵀ,

from all scores alike (τ = 0) to the trusted judges' alone (τ = ∞, where nothing but u tells the
difference). In a whole panel, with one such model and a mean of trusted judges of variance c, this
is their lead less w times what it exceeds the model's by, w = c/(c + τ²).

How large likings are is seen where both kinds scored the same options, in b: of few options, badly.
So w is taken to be as probable anywhere from 0 to 1 before any score (Daniels 1999, the uniform
shrinkage prior), c = 1/mean g, and θ̂ and its covariance are means over what is probable after all:
the covariance has how θ̂ differs by τ in it.

Nobody says that likings are alike: a model may like one option, its maker's, and be fair to the
others. So what is certain has to be confirmed: trusted judges, by themselves, must have the leader
before each rival with a chance of δ at most on that one side (`doubts`). Whatever the
others like, they can choose who is tested, and no more. A lead of two tied options is then sure
with a chance of δ for whichever of them is liked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.models import (
    Fit,
    Freedoms,
    Model,
    Shared,
    Spread,
    freedom_of,
    own_variances,
    with_own_noise,
)
from evenhand.numerics.intervals import student_quantiles, student_tail
from evenhand.numerics.least_squares import Gram
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_STEP = 0.2  # of log w, where w is small
_SMALL = np.exp(-_STEP * (np.arange(150) + 0.5)) / 200
_SHARES = np.append((np.arange(1, 200) + 0.5) / 200, _SMALL)  # w,
_WEIGHTS = np.append(np.full(199, 1.0 / 200), _STEP * _SMALL)  # and how probable each is at first
_TOLD = 1e-9  # share of the largest g above which scores tell of u
_EXACT = 1e-6  # share of trusted scores' variance that others' mean scores have at least
_MOST = 2**24  # numbers in A and Z


class Likings(NamedTuple):
    """What is probable of s, along r directions of u."""

    mean: Floats  # (r,) of s,
    spread: Floats  # (r, r) and its covariance

    @classmethod
    def told(cls, g: Floats, b: Floats) -> Likings:
        """Return what g and b, (r,), tell of likings."""
        # the likelihood of τ given what depends on no θ is exp(Σ s b²/2)/√Π(1 + τ²g)
        seen = g > _TOLD * g.max(initial=0.0)
        variances = (1.0 - _SHARES) / (_SHARES * g[seen].mean())
        grown = 1.0 + variances[:, None] * g
        s = variances[:, None] / grown
        known = 0.5 * (s * b**2 - np.log(grown))[:, seen].sum(axis=1)
        chances = _WEIGHTS * np.exp(known - known.max())
        chances /= chances.sum()
        mean = chances @ s
        away = np.sqrt(chances)[:, None] * (s - mean)
        return cls(mean, away.T @ away)


@dataclass(frozen=True, eq=False)
class _TrustedFreedom:
    """Degrees of freedom of leads: those of the trusted judges' own."""

    trusted: Fit

    def of_leads(self, leader: int, rivals: Indices, variances: Floats) -> Floats:
        """Return (n,) the degrees of freedom of leads, whatever their variances are."""
        return np.broadcast_to(freedom_of(self.trusted, leader, rivals), variances.shape)


class CorrectedFit:
    """Scores of others, corrected by those of trusted judges; see `models.Fit`."""

    # Variances are those of the estimates themselves: scatter and freedom say no more than how well
    # they are known. ``trusted`` is the fit to scores of trusted judges alone, ``form`` is V, and
    # the covariance of θ̂ is V⁺ + factor·factorᵀ.

    unit: float = 1.0
    size: float = 0.0
    pooled: Fit | None = None

    def __init__(
        self, questions: Questions, trusted: Fit, theta: Floats, form: Gram, factor: Floats
    ) -> None:
        self.questions, self.trusted = questions, trusted
        self.theta, self._form = theta, form
        self._root: Floats = np.hstack([form.root, factor])
        self.freedom = trusted.freedom
        self.scatter = 0.0 if math.isinf(self.freedom) else self.freedom
        self.own: Freedoms | None = None if trusted.own is None else _TrustedFreedom(trusted)

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals."""
        return self._spread(self._leads(leader, rivals))

    def shared(self, leader: int, rivals: Indices) -> Shared:
        """Return what leads over rivals have in common."""
        return Shared(self._leads(leader, rivals) @ self._root, np.zeros(len(rivals)))

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option."""
        X = self.questions.options.features
        neutral = self.questions.neutral if neutral is None else neutral
        return self._spread(np.hstack([X, np.tile(neutral, (len(X), 1))]))

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to scores."""
        return self._spread(np.hstack([np.zeros((len(rows), self.questions.n_features)), rows]))

    def _leads(self, leader: int | Indices, rivals: Indices) -> Floats:
        X = self.questions.options.features
        none = np.zeros((len(rivals), self.questions.n_attributes))
        return np.hstack([X[leader] - X[rivals], none])

    def _spread(self, directions: Floats) -> Spread:
        unseen = self._form.outside(directions)
        along = directions @ self._root
        return Spread(
            np.where(unseen, 0.0, directions @ self.theta),
            np.where(unseen, np.inf, (along**2).sum(axis=1)),
        )


def doubts(
    trusted: Fit, leader: int, rivals: Indices, slack: float, failure: float
) -> tuple[Floats, Floats]:
    """Return (n,) one-sided chances of leads as large by a fit, if they were −slack.

    And (n,) what leads are at least, each with a chance of ``failure`` to be wrong on that side.
    """
    leads, variances = trusted.leads(leader, rivals)
    known = np.isfinite(variances) & (variances > 0.0)
    errors = np.sqrt(np.where(known, variances, 1.0))
    t = np.where(known, (leads + slack) / errors, 0.0)
    freedom = np.broadcast_to(freedom_of(trusted, leader, rivals), t.shape)
    least = np.where(known, leads - errors * student_quantiles(failure, freedom), -np.inf)
    return np.where(known, student_tail(t, freedom), 1.0), least


def corrected(
    model: Model,
    told: Feedback,
    units: Feedback,
    noise: float | None,
    grain: float,
    trusted: NDArray[np.bool_],
) -> Fit | None:
    """Return the fit to scores of all judges, corrected by those of some; None if it cannot be."""
    # It cannot where trusted judges do not compare all options, and where nothing is left over of
    # their scores that the noise could be heard from. Where they and the others have too few
    # options in common for likings to be seen, such as two, it is the fit to their scores alone.
    # ``units`` are the scores as they count (`in_pairs`), ``trusted`` is (q,) by question.
    questions = model.questions
    (used,) = np.nonzero(units.counts)
    k, m = len(questions.items), questions.rows.shape[1]
    if not questions.options.stand_alone or len(used) * (k + m) > _MOST:
        return None
    theirs = Feedback(*(part * trusted for part in units.parts))
    alone = model.fit(theirs, noise)
    heard = with_own_noise(questions, alone, theirs, grain)
    everybody = np.arange(len(questions.options))
    if heard.freedom < 1.0 or not np.isfinite(heard.leads(0, everybody).variances).all():
        return None
    apart = _noise_of_others(model, told, units, noise, ~trusted)

    def by(variances: Floats, heard: Fit) -> Fit:
        """Return it with (q,) noise of trusted judges, whose scores alone give another fit."""
        least = _EXACT * float(variances[trusted & (units.counts > 0)].mean())
        D = np.where(trusted, variances, max(apart, least))
        return _corrected(questions, units, D, noise, trusted, heard)

    if noise is not None:
        return by(np.ones(len(model.groups)), heard)
    left = alone.left_over(theirs)
    found = by(own_variances(left).variances[model.groups], heard)
    if isinstance(found, CorrectedFit):
        found.pooled = by(np.full(len(model.groups), alone.scatter / alone.freedom), alone)
    return found


def _corrected(
    questions: Questions,
    units: Feedback,
    variances: Floats,
    noise: float | None,
    trusted: NDArray[np.bool_],
    heard: Fit,
) -> Fit:
    """Return scores of all judges with (q,) noise, corrected by those of some, who are ``heard``;
    these alone where likings cannot be seen.
    """
    (used,) = np.nonzero(units.counts)
    k, others = len(questions.items), ~trusted
    D = variances[used] / units.counts[used]
    A = questions.matrix[used].toarray()
    if questions.noise is not None:
        A /= questions.noise[used][:, None]
    about, Z = questions.about[used], np.zeros((len(used), k))
    for side, sign in ((0, 1.0), (1, -1.0)):
        mine = others[used] & (about[:, side] >= 0)
        Z[mine, about[mine, side]] = sign
    if questions.noise is not None:
        Z /= questions.noise[used][:, None]
    y = units.means[used] / (noise or 1.0)
    B, C = A / D[:, None], Z / D[:, None]
    form = Gram.of_matrix(A.T @ B)
    theta = form.root @ (form.root.T @ (B.T @ y))
    reach = form.root @ (form.root.T @ (B.T @ Z))  # HZ
    g, E = np.linalg.eigh(Z.T @ C - (B.T @ Z).T @ reach)
    g = np.where(g > _TOLD * (Z**2 / D[:, None]).sum(axis=0).max(initial=0.0), g, 0.0)
    if np.count_nonzero(g) < 2:
        return heard
    b = np.where(g > 0.0, E.T @ (C.T @ (y - A @ theta)), 0.0)
    likings, R = Likings.told(g, b), reach @ E
    spread = np.diag(likings.mean) + b[:, None] * likings.spread * b
    sizes, axes = np.linalg.eigh(spread)
    factor = R @ (axes * np.sqrt(np.maximum(sizes, 0.0)))
    return CorrectedFit(questions, heard, theta - R @ (likings.mean * b), form, factor)


def _noise_of_others(
    model: Model,
    told: Feedback,
    units: Feedback,
    noise: float | None,
    others: NDArray[np.bool_],
) -> float:
    """Return the variance of a score of the others as it counts; 0 where nothing tells it.

    Beside what they like as a kind: by what they leave over among themselves, or of one of them by
    what repeats differ by. What nothing tells is then taken for likings.
    """
    if noise is not None:
        return 1.0
    mine = Feedback(*(part * others for part in units.parts))
    fit = model.fit(mine, None)
    if fit.freedom >= 1.0:
        return fit.scatter / fit.freedom
    counts, sums, squares = (part[others] for part in told.parts)
    free = int(np.maximum(counts - 1, 0).sum())
    if not free:
        return 0.0
    left = np.maximum(squares - sums**2 / np.maximum(counts, 1), 0.0).sum()
    return float(left) / free / max(float(counts[counts > 0].mean()), 1.0)
