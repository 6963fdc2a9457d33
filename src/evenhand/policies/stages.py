"""Stages: evaluations whose design is frozen before any of them is made.

Notation
--------
P, H    (k, r)  points a_x and h_x = (x; c) in the coordinates of `Frame`; h_i − h_x is a lead
N, V            evaluations before the stage, V = Σ a aᵀ over them; θ̂ their least squares
g, s            lead of the leader over a rival by θ̂, and s = ‖h_i − h_x‖_{V⁻¹}, both in units of σ
need            log(1/δ) − log W + 1: evidence still lacking against a rival, and some more
w               proportions: argmin max need ‖h_i − h_x‖²_{V(w)⁻¹} / max(g, s)²

What was learnt before decides who leads, the proportions, the length and the priors; then all of
it is frozen. That it is planned by pooled least squares and by guesses costs evaluations where the
guess is bad, and never certainty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.policies._stages import minimax_weights, spread_out
from evenhand.policies.confidence import Frame
from evenhand.policies.e_process import Reading
from evenhand.policies.messages import Feedback

_IN_SPAN = 1e-8  # relative distance from the span of the stage below which a direction lies in it
_CRITICAL = 64  # rivals that a design is made for at first
_STEPS, _TOL = 200, 0.01  # of the search for proportions
_HEAD = 0.1  # of an evaluation, in the proportions, that an order starts from
LONGEST = 4096
"""Evaluations after which the order of a stage is repeated."""
_FEW = 4  # evaluations of each option that looks see to, where there are so many
_NEGLIGIBLE = 1e-3  # of an equal share: weights below it are left out where they are not needed


@dataclass(frozen=True, eq=False)
class Stage:
    """What is frozen before a stage begins.

    Parameters
    ----------
    leader
        The option whose leads are tested; −1 for the first stage, which tests nothing.
    rivals
        (n,) those it is tested against.
    order, times
        (length,) options in the order in which they are handed out, and how often that is repeated.
    theta, covariance
        (r,) least squares on all evaluations before, and (r, r) V⁻¹.
    unit
        What the noise is taken to be, for priors.
    """

    leader: int
    rivals: Indices
    order: Counts
    theta: Floats
    covariance: Floats
    unit: float
    times: int = 1

    @cached_property
    def _places(self) -> tuple[Counts, Counts]:
        """The order twice, and which evaluation of its option each place is."""
        twice = np.concatenate([self.order, self.order])
        by_option = np.argsort(twice, kind="stable")
        starts = np.searchsorted(twice[by_option], twice[by_option])
        nth = np.empty(len(twice), dtype=np.int64)
        nth[by_option] = np.arange(len(twice)) - starts + 1
        return twice, nth

    def wanted(self, k: int) -> Counts:
        """Return (k,) evaluations that make the stage whole."""
        return self.times * np.bincount(self.order, minlength=k).astype(np.int64)

    def next_ones(self, have: Counts, most: int, *, beyond: bool) -> Counts:
        """Return (k,) counts of what is next beside what is there or on its way, at most so many.

        Once all of the stage is on its way, and where ``beyond`` is asked for, the order is gone
        through once more: evaluators need not wait for the last to come back.
        """
        twice, nth = self._places
        block = np.bincount(self.order, minlength=len(have))
        used = block > 0
        gone = min(self.times - 1, int((have[used] // block[used]).min()))
        (left,) = np.nonzero(nth > (have - gone * block)[twice])
        if gone == self.times - 1:
            of_stage = left[left < len(self.order)]
            left = of_stage if len(of_stage) or not beyond else left
        return np.bincount(twice[left[:most]], minlength=len(have)).astype(np.int64)

    def memory(self) -> dict[str, Any]:
        """Return all of it by name."""
        names = ("leader", "rivals", "order", "theta", "covariance", "unit", "times")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def recalled(cls, memory: Mapping[str, Any]) -> Self:
        """Return the stage that `memory` was made of."""
        return cls(
            int(memory["leader"]),
            np.asarray(memory["rivals"], dtype=np.intp),
            np.asarray(memory["order"], dtype=np.int64),
            np.asarray(memory["theta"], dtype=np.float64),
            np.asarray(memory["covariance"], dtype=np.float64),
            float(memory["unit"]),
            int(memory["times"]),
        )


def read(
    stage: Stage, frame: Frame, told: Feedback, directions: Floats, noise_scale: float | None
) -> Reading:
    """Return what the evaluations of a stage say about directions, (n, r) in the frame."""
    (used,) = np.nonzero(told.counts)
    counts, scale = told.counts[used].astype(np.float64), noise_scale or 1.0
    rows, sums = frame.points[used], told.sums[used] / scale
    sums = sums - counts * (rows @ stage.theta)  # about what was expected: fewer digits cancel
    values, vectors = np.linalg.eigh((rows * counts[:, None]).T @ rows)
    span = values > 1e-10 * values[-1:].max(initial=0.0)
    root = vectors[:, span] / np.sqrt(values[span])
    along = directions @ root
    variance = np.einsum("ij,ij->i", along, along)
    if not span.all():
        lost = directions @ vectors[:, ~span]
        outside = (lost**2).sum(axis=1) > _IN_SPAN**2 * (directions**2).sum(axis=1)
        variance[outside] = np.inf
    shift = root.T @ (rows.T @ sums)
    expected, ones = directions @ stage.theta, np.ones(len(directions))
    scatter, freedom = 0.0, math.inf
    if noise_scale is None:
        past = rows @ stage.theta
        squares = told.sums_of_squares[used] - 2.0 * past * told.sums[used] + counts * past**2
        scatter = max(0.0, float(squares.sum() - shift @ shift))
        freedom = float(counts.sum() - span.sum())
    return Reading(
        expected + along @ shift,
        np.where(variance > 0.0, 1.0 / np.where(variance > 0.0, variance, 1.0), 0.0),
        scatter * ones,
        freedom * ones,
        expected,
        spreads(stage.covariance, directions),
        stage.unit * ones,
    )


def spreads(covariance: Floats, directions: Floats) -> Floats:
    """Return √(cᵀV⁻¹c) for every direction, a row."""
    return np.asarray(np.sqrt(np.maximum(((directions @ covariance) * directions).sum(axis=1), 0)))


def least_squares(
    frame: Frame, told: Feedback, noise_scale: float | None
) -> tuple[Floats, Floats, float]:
    """Return θ̂, V⁻¹ and the noise by all evaluations, in units of the noise where it is known."""
    (used,) = np.nonzero(told.counts)
    counts, scale = told.counts[used].astype(np.float64), noise_scale or 1.0
    rows = frame.points[used]
    covariance = inverse_gram(rows, counts)
    theta = covariance @ (rows.T @ (told.sums[used] / scale))
    if noise_scale is not None:
        return theta, covariance, 1.0
    fitted = rows @ theta
    residual = told.sums_of_squares[used] - 2.0 * fitted * told.sums[used] + counts * fitted**2
    freedom = max(1.0, counts.sum() - frame.rank)
    size = np.abs(told.sums_of_squares[used]).sum()
    # scores without any scatter leave rounding; an evaluator that repeats itself is no proof
    return theta, covariance, math.sqrt(max(residual.sum(), 1e-24 * size, 1e-200) / freedom)


def first_stage(frame: Frame, length: int, order: Counts | None = None) -> Stage:
    """Return a stage that nothing is known before; G-optimal if no order is given."""
    r = frame.rank
    if order is None:
        rest = spread_out_by(frame.points, frame.points, frame.weights, length)
        order = np.concatenate([frame.basis, rest])[:length]
    return Stage(-1, np.zeros(0, dtype=np.intp), order, np.zeros(r), np.eye(r), 1.0)


def with_looks(order: Counts, share: float, told: Counts, rng: np.random.Generator) -> Counts:
    """Return an order of the same length with a share of looks at those evaluated least so far.

    They come in random order at random places. Of options that are evaluated equally seldom, chance
    decides; so early ones are looked at again, and where there are many a sample of them. Where
    there are few, up to twice the share goes to those with less than four evaluations.
    """
    n = max(1, round(share * len(order)))
    if _FEW * len(told) <= told.sum() + len(order):
        lacking = np.maximum(_FEW - told - np.bincount(order, minlength=len(told)), 0).sum()
        n = min(max(n, int(lacking)), 2 * n, len(order))
    kept = order[: len(order) - n]
    have = told + np.bincount(kept, minlength=len(told))
    looks = np.empty(n, dtype=np.int64)
    for j in range(n):
        (least,) = np.nonzero(have == have.min())
        looks[j] = rng.choice(least)
        have[looks[j]] += 1
    places = np.sort(rng.choice(len(order), n, replace=False))
    mixed = np.empty(len(order), dtype=np.int64)
    at = np.zeros(len(order), dtype=np.bool_)
    at[places] = True
    mixed[at], mixed[~at] = looks, kept
    return mixed


def proportions(frame: Frame, directions: Floats, start: Floats) -> tuple[Floats, float]:
    """Return w and max ‖u‖²_{V(w)⁻¹} over directions u, (n, r), each scaled by its need."""
    sizes = np.einsum("ij,ij->i", directions, directions)
    critical = np.argsort(-sizes, kind="stable")[:_CRITICAL]
    weights = start.copy()
    for _ in range(4):
        U = np.ascontiguousarray(directions[critical])
        value = minimax_weights(frame.points, U, weights, _STEPS, _TOL)
        if len(critical) == len(directions):
            break
        all_of_them = spreads(inverse_gram(frame.points, weights), directions) ** 2
        worse = np.setdiff1d(np.flatnonzero(all_of_them > 1.02 * value), critical)
        if len(worse) == 0:
            break
        worst = worse[np.argsort(-all_of_them[worse], kind="stable")[:_CRITICAL]]
        critical = np.concatenate([critical, worst])
        weights = 0.8 * weights + 0.2 * start
    return weights, value


def spread_out_by(points: Floats, directions: Floats, weights: Floats, length: int) -> Counts:
    """Return (length,) options in an order that has the proportions early on."""
    sizes = np.einsum("ij,ij->i", directions, directions)
    U = np.ascontiguousarray(directions[np.argsort(-sizes, kind="stable")[:_CRITICAL]])
    used = np.flatnonzero(weights > 0.0)
    heavy = np.flatnonzero(weights > _NEGLIGIBLE / len(weights))
    if len(heavy) < len(used):  # a point may be rare and needed all the same
        worst, without = (
            spreads(inverse_gram(points[some], weights[some]), U).max() for some in (used, heavy)
        )
        span = inverse_gram(points[heavy], weights[heavy])
        missing = np.abs(U - U @ span @ gram(points[heavy], weights[heavy])).max(axis=1)
        if without < 1.01 * worst and missing.max() < _IN_SPAN * np.abs(U).max():
            used = heavy
    share = weights[used] / weights[used].sum()
    return used[spread_out(np.ascontiguousarray(points[used]), U, share, length, _HEAD)]


def gram(points: Floats, weights: Floats) -> Floats:
    """Return V(w) = Σ w a aᵀ."""
    return np.asarray((points * weights[:, None]).T @ points)


def inverse_gram(points: Floats, weights: Floats) -> Floats:
    """Return V(w)⁻¹, on its range."""
    inverse = np.linalg.pinv(gram(points, weights), rcond=1e-11, hermitian=True)
    return np.asarray(inverse, dtype=np.float64)
