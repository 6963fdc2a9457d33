"""The model for any questions: all rows in one matrix.

Notation
--------
P, H    (q, r), (k, r)  points of the questions and h_x = (x; c) of the options, in the coordinates
                        of `Frame`: h_i − h_x is the lead of i over x
n, s    (q,)            counts and sums of evaluations;  V = Σ n p pᵀ, θ̂ least squares
R, N                    V = R⁻ᵀR⁻¹ on its range, so that cᵀV⁻¹c = ‖Rᵀc‖²; N spans the rest
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.models import Plan, Shared, Spread
from evenhand.certainty.proportions import (
    IN_SPAN,
    dealt,
    gram,
    head_start,
    inverse_gram,
    needed,
    proportions,
    spread_out_by,
    spreads,
)
from evenhand.policies.confidence import Frame
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions

_RANGE = 1e-11  # eigenvalues of V above this share of the largest count
_UNKNOWN = 1e6  # variance of what nothing is known of, when a start is planned
_LENIENT = 3.0  # evaluations' worth that leniencies are taken to be known by, to have an order


class DenseModel:
    """Least squares and designs on the rows of the questions; see `models.Model`.

    Parameters
    ----------
    actions
        The options, or the questions that can be asked about them. All options must be comparable
        by these.
    """

    def __init__(self, actions: Askable) -> None:
        self.frame = Frame.of(actions)
        self.questions = Questions.of(actions)
        self.own_questions = isinstance(actions, ActionSet)
        self.rank = self.frame.rank
        self.peers = np.unique(self.questions.about, axis=0, return_inverse=True)[1].reshape(-1)

    def fit(self, told: Feedback, noise_scale: float | None, about: Any = None) -> DenseFit:
        """Return least squares on these evaluations, worked out about an earlier fit."""
        (used,) = np.nonzero(told.counts)
        counts, scale = told.counts[used].astype(np.float64), noise_scale or 1.0
        rows = self.frame.points[used]
        before = np.zeros(self.rank) if about is None else about.theta
        past = rows @ before
        root, beside = _range(gram(rows, counts))
        shift = root.T @ (rows.T @ (told.sums[used] / scale - counts * past))
        theta = before + root @ shift
        if noise_scale is not None:
            return DenseFit(self, theta, root, beside)
        squares = told.sums_of_squares[used]
        about_past = squares - 2.0 * past * told.sums[used] + counts * past**2
        return DenseFit(
            self,
            theta,
            root,
            beside,
            scatter=max(0.0, float(about_past.sum() - shift @ shift)),
            freedom=float(counts.sum() - root.shape[1]),
            size=float(squares.sum() + counts @ past**2),
        )

    def start(self, length: int, left: Counts) -> Indices:
        """Return questions that identify all leads, the cheapest first.

        Where options are their own questions, in G-optimal proportions: all is needed. Else by
        what each tells of the leads for its price when nothing is known of anything: a leniency is
        then no reason to ask, but two questions that have it in common are. The rest as in any
        stage.
        """
        frame = self.frame
        if self.own_questions:
            rest = spread_out_by(frame.points, frame.points, frame.weights, length)
            return np.concatenate([frame.basis, rest])[:length]
        leads = frame.values - frame.values.mean(axis=0)
        none = np.zeros(len(left), dtype=np.int64)
        first = self._dealt(leads, self._vague, 2 * self.rank, none, left)
        if not self._identifies(first, leads):  # one question at a time may see no gain in a pair
            needed = self.questions.check().start
            if needed is not None:
                first = np.concatenate([needed[left[needed] > 0], first])
        first = first[: _least(lambda n: self._identifies(first[:n], leads), len(first))]
        made = np.bincount(first, minlength=len(left))
        head = gram(frame.points, made.astype(np.float64)) + self._leniencies
        rest = self._dealt(leads, head, max(0, length - len(first)), made, left - made)
        return np.concatenate([first, rest])

    def _dealt(
        self, directions: Floats, head: Floats, length: int, asked: Counts, left: Counts
    ) -> Indices:
        """Return an order of any questions that may be asked."""
        points, prices = self.frame.points, self.questions.prices
        even = np.full(len(points), 1.0 / len(points))
        return dealt(points, directions, even, head, length, prices, asked, left, self.peers)

    @cached_property
    def _vague(self) -> Floats:
        """V when nothing is known of the parameters, in units of their columns."""
        scales = np.sqrt((self.questions.weighted_points**2).mean(axis=0))
        root = self.frame.transform * np.where(scales > 0.0, scales, 1.0)
        return np.asarray(root @ root.T / _UNKNOWN)

    @cached_property
    def _leniencies(self) -> Floats:
        """V of leniencies that are known a little.

        An evaluator who was not asked yet would else tell nothing by one answer, and the same few
        would be asked again and again.
        """
        which = [column.kind == "leniency" for column in self.questions.columns]
        W = self.frame.transform[:, self.questions.n_features :][:, which]
        return np.asarray(_LENIENT * W @ W.T)

    def _identifies(self, order: Indices, directions: Floats) -> bool:
        rows = self.frame.points[np.unique(order)]
        _, beside = _range(gram(rows, np.ones(len(rows))))
        return not bool(_outside(directions, beside).any())

    def plan(
        self,
        leader: int,
        rivals: Indices,
        weights: Floats,
        length: int,
        asked: Counts,
        left: Counts,
        shares: Floats | None = None,
    ) -> Plan:
        """Return what to ask next to compare the leader with its rivals."""
        points, prices = self.frame.points, self.questions.prices
        D = self.frame.values[leader] - self.frame.values[rivals]
        open_ = np.flatnonzero(left > 0)
        P = points if len(open_) == len(points) else points[open_]
        variances, known = np.full(len(rivals), np.inf), np.ones(len(rivals), dtype=np.bool_)
        if len(open_) < len(points):
            known = ~_outside(D, _range(gram(P, np.ones(len(P))))[1])
        if not known.any():
            return Plan(np.zeros(0, dtype=np.intp), variances, shares)
        U = D[known] * weights[known, None]
        even = np.full(len(P), 1.0 / len(P))
        last = even if shares is None else shares[open_]
        start = 0.5 * last / max(last.sum(), 1e-300) + 0.5 * even
        if not self.questions.priced:
            share, _ = proportions(P, U, start)
            variances[known] = spreads(inverse_gram(P, share), D[known]) ** 2 * prices[0]
        else:
            for_money = np.ascontiguousarray(P / np.sqrt(prices[open_])[:, None])
            share, _ = proportions(for_money, U, start)
            variances[known] = spreads(inverse_gram(for_money, share), D[known]) ** 2
        all_shares = np.zeros(len(points))
        all_shares[open_] = share
        used = open_[needed(P, U, share)]
        if np.minimum(left[used], length).sum() < length:
            used = open_
        evaluations = np.zeros(len(points))
        evaluations[used] = np.maximum(all_shares[used], 1e-9 / len(points)) / prices[used]
        head = head_start(points, evaluations) + self._leniencies
        order = dealt(points, U, evaluations, head, length, prices, asked, left, self.peers)
        if not self._identifies(order, D[known]):  # a stage that takes leniencies for known
            vague = self._vague
            order = dealt(points, U, evaluations, vague, length, prices, asked, left, self.peers)
        return Plan(order, variances, all_shares)


class DenseFit:
    """Least squares on some evaluations; see `models.Fit`."""

    def __init__(
        self,
        model: DenseModel,
        theta: Floats,
        root: Floats,
        beside: Floats,
        *,
        scatter: float = 0.0,
        freedom: float = math.inf,
        size: float = 0.0,
    ) -> None:
        self.model, self.theta, self._root, self._beside = model, theta, root, beside
        self.scatter, self.freedom, self.size = scatter, freedom, size
        # scores without any scatter leave rounding; an evaluator that repeats itself is no proof
        least = max(scatter, 1e-24 * size, 1e-200)
        self.unit = 1.0 if math.isinf(freedom) else math.sqrt(least / max(1.0, freedom))

    def leads(self, leader: int, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals."""
        H = self.model.frame.values
        return self._spread(H[leader] - H[rivals])

    def shared(self, leader: int, rivals: Indices) -> Shared:
        """Return what leads over rivals have in common."""
        H = self.model.frame.values
        return Shared((H[leader] - H[rivals]) @ self._root, np.zeros(len(rivals)))

    def values(self) -> Spread:
        """Return (k,) the value of every option."""
        questions = self.model.questions
        X = questions.options.features
        return self._of_rows(np.hstack([X, np.tile(questions.neutral, (len(X), 1))]))

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to evaluations."""
        return self._of_rows(
            np.hstack([np.zeros((len(rows), self.model.questions.n_features)), rows])
        )

    def _of_rows(self, rows: Floats) -> Spread:
        """Return what rows of features and attributes come to, unless no question tells."""
        frame = self.model.frame
        said = self._spread(rows @ frame.transform.T)
        if not frame.space.full:
            unknown = np.array([not frame.space.contains(row) for row in rows], dtype=np.bool_)
            said.estimates[unknown], said.variances[unknown] = 0.0, np.inf
        return said

    def _spread(self, directions: Floats) -> Spread:
        along = directions @ self._root
        variances = np.einsum("ij,ij->i", along, along)
        estimates = directions @ self.theta
        if self._beside.shape[1]:
            outside = _outside(directions, self._beside)
            variances[outside], estimates[outside] = np.inf, 0.0
        return Spread(estimates, variances)

    def helped(
        self, features: Floats, deviation: float | None, among: Indices | None = None
    ) -> DenseFit:
        """Return the fit that also takes values to follow from features, up to deviations.

        For guesses, not for what is certain. ``features`` are (k, d); the options' deviations from
        a linear function of them, and a constant, are taken to be normal with standard deviation
        ``deviation``, which is estimated where it is None (Paule and Mandel's equation). Of some
        options only, where ``among`` says which.
        """
        H = self.model.frame.values
        if among is not None:
            H, features = H[among], features[among]
        X = np.column_stack([np.ones(len(features)), features])
        U, sizes, _ = np.linalg.svd(X / np.maximum(np.abs(X).max(axis=0), 1e-300))
        free = U[:, int((sizes > IN_SPAN * sizes[0]).sum()) :]  # (k, f): what features leave open
        if free.shape[1] == 0 or _outside(H[:1] - H[1:], self._beside).any():
            return self
        open_, sigma = free.T @ H, self.unit
        if deviation is None:
            deviation = _deviation(open_ @ self.theta, sigma * (open_ @ self._root))
        # coordinates in which V is the unit matrix: θ = root·u
        along = open_ @ self._root * (sigma / deviation)
        _, stretch, Wt = np.linalg.svd(along, full_matrices=False)
        shrunk = (Wt.T * (1.0 / np.sqrt(1.0 + stretch**2) - 1.0)) @ Wt  # (1 + alongᵀalong)^−½ − 1
        root = np.ascontiguousarray(self._root + self._root @ shrunk)
        u = np.linalg.pinv(self._root) @ self.theta
        theta = root @ (u + shrunk @ u)
        numbers = {"scatter": self.scatter, "freedom": self.freedom, "size": self.size}
        return DenseFit(self.model, theta, root, self._beside, **numbers)


def _deviation(left: Floats, root: Floats) -> float:
    """Return τ with leftᵀ(CCᵀ + τ²)⁻¹left = f, for f numbers of error C; a cautious one if none.

    Examples
    --------
    >>> round(_deviation(np.array([3.0, -3.0]), np.eye(2)) ** 2, 9)             # 9/(1 + 8) each
    8.0
    """
    errors, axes = np.linalg.eigh(root @ root.T)
    errors, squares = np.maximum(errors, 0.0), (axes.T @ left) ** 2
    f = len(left)
    low = float(errors.mean()) / f + 1e-300  # as little as can be seen at all
    high = low + float(squares.sum())
    if float((squares / (errors + low)).sum()) <= f:
        return math.sqrt(low)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if float((squares / (errors + middle)).sum()) > f:
            low = middle
        else:
            high = middle
    return math.sqrt(high)


def _least(enough: Callable[[int], bool], most: int) -> int:
    """Return the least number that is enough, of 0 to ``most``; ``most`` if none is."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _range(V: Floats) -> tuple[Floats, Floats]:
    """Return R and N of a symmetric matrix."""
    values, vectors = np.linalg.eigh(V)
    inside = values > _RANGE * values[-1:].max(initial=0.0)
    root = vectors[:, inside] / np.sqrt(values[inside])
    # in the order that arrays have when they come back from a state: products then agree to the bit
    return np.ascontiguousarray(root), np.ascontiguousarray(vectors[:, ~inside])


def _outside(directions: Floats, beside: Floats) -> NDArray[np.bool_]:
    """Tell which directions do not lie in a range, of which ``beside`` spans the complement."""
    lost = directions @ beside
    sizes = (directions**2).sum(axis=1)
    return np.asarray((lost**2).sum(axis=1) > IN_SPAN**2 * sizes)
