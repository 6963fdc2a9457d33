"""Intervals that hold at all times at once, whatever decided what was evaluated.

Notation
--------
a_x, h_x        points and directions of values of `frame`;  θ = (γ; ω) parameters
n, s    (k,)    counts and sums of all evaluations;  V = Σ n_x a_x a_xᵀ,  θ̂ least squares
R_i             the mixture: R_j = 8^j for j = 0, …, J, of weight 1/(2(J+1)) each, and
                R_jx = 8^j + (T/100) a_x a_xᵀ, of weight 1/(2(J+1)k) each

For every i, exp(½‖Σ ξ_s a_s‖²_{(V+R_i)⁻¹}/σ²) √(det R_i / det(V + R_i)) is a supermartingale, since
R_i is fixed in advance (the method of mixtures). So with probability at least 1 − δ, for all i, all
times and all directions v,

    |v·(θ̂ − θ)| ≤ σ b_i √(vᵀV⁻¹(V + R_i)V⁻¹v),   b_i² = 2 log(1/(δ w_i)) + log det(V + R_i)/det R_i,

and the least of these may be used. Nothing is asked of how the evaluations were chosen. R_jx is for
an option that is played most of the time: it pays for that direction in advance. Where V is
singular the same holds, with V⁺ for V⁻¹, for v in its range; of others nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, dense, recalled
from evenhand.errors import InputError
from evenhand.numerics.tolerance import EXACT, EXACT_IN_SPAN, first_largest
from evenhand.policies.base import Policy
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Decision, Estimate
from evenhand.questions import Askable

_FAVOURITES = 3  # most evaluated options whose R_jx are tried
_CHUNK = 8192  # directions worked on at once


@dataclass(frozen=True, eq=False)
class Leads:
    """How far an option leads the others: with the stated probability, at all times at once, its
    lead over x is within ``widths[x]`` of ``leads[x]``.
    """

    option: int  # x̂
    leads: Floats  # (k,) estimated leads d_x = (x̂ − x)·γ̂
    widths: Floats  # (k,) half-widths w_x; infinite while too little is known

    @classmethod
    def recalled(cls, memory: Mapping[str, Any], k: int) -> Self:
        """Return the leads among k options that a state has; an error if they cannot be those."""
        return cls(
            recalled(memory, "option", (), int, 0, k - 1),
            recalled(memory, "leads", (k,)),
            recalled(memory, "widths", (k,), least=0.0, most=math.inf),
        )

    @property
    def loss(self) -> float:
        """What ``option`` loses at most: U = max (w − d)⁺."""
        return max(0.0, float((self.widths - self.leads).max()))

    @property
    def gaps(self) -> Floats:
        """What each option loses at most: U + d + w; (k,)."""
        return np.asarray(self.loss + self.leads + self.widths)

    def decision(self, policy: Policy, level: float, most: float = math.inf) -> Decision:
        """Return a policy's decision for the option, which loses ``most`` at most whatever the
        leads, and how sure that is, if features are exact; after an alarm of the checks nothing is
        sure.
        """
        decision = Decision.of(policy, self.option)
        alarmed = any(finding.alarm for finding in decision.warnings)
        widths = np.full_like(self.leads, np.inf) if alarmed else self.widths
        low, high = self.leads - widths, self.leads + widths
        decision = replace(decision, leads=np.column_stack([self.leads, low, high]))
        own = policy.actions is not policy.questions  # else attributes are those of questions
        attributes = dense(policy.questions.attributes) if own else np.zeros((len(low), 0))
        if alarmed:
            return decision
        return replace(
            decision,
            loss=min(self.loss, most),
            level=level,
            withstands=_withstands(attributes, self.option, low),
            certainty="features exact" if self.loss < most else None,
        )


def _withstands(attributes: Floats, option: int, low: Floats) -> float:
    """Return the largest t so that the option is best for all values x·γ + z·τ, max |τ_j| ≤ t."""
    # ``low`` are lower bounds of its leads. Over x, a difference τ takes at most t Σ_j |z_xj − z_j|
    # from its lead: 2t for the other of two groups, nothing for the same attributes.
    if attributes.shape[1] == 0:
        return 0.0
    reach = np.abs(attributes - attributes[option]).sum(axis=1)
    alike = reach == 0.0
    if low[alike].min() < 0.0:
        return 0.0
    return max(0.0, float((low[~alike] / reach[~alike]).min(initial=np.inf)))


class Ellipsoid:
    """Confidence sets of pooled least squares, for all times and directions at once; beyond the
    horizon they hold, but are no longer tight.
    """

    def __init__(self, actions: Askable, horizon: int) -> None:
        self.frame = OptionFrame.of(actions)
        self.extra = horizon / 100.0
        self.scales = 8.0 ** np.arange(1 + math.floor(math.log(max(horizon, 1), 8.0)))

    def fit(self, counts: Counts, sums: Floats) -> BoundedFit:
        """Return least squares on these evaluations, (k,) counts and sums."""
        return BoundedFit(self, counts, sums)


class BoundedFit:
    """Least squares on all evaluations so far, and intervals around it; see `Ellipsoid.fit`."""

    # With V = W diag(s²) Wᵀ on its range, directions v in it are worked on as y = (Wᵀv)/s, so that
    # vᵀV⁺v = ‖y‖². ``identified`` is whether the range is everything, so that all options can be
    # compared.

    def __init__(self, ellipsoid: Ellipsoid, counts: Counts, sums: Floats) -> None:
        self.ellipsoid, frame = ellipsoid, ellipsoid.frame
        (used,) = np.nonzero(counts)
        # QR of √n·P, heavy rows first: counts may differ by 10¹²
        order = used[np.argsort(-counts[used], kind="stable")]
        rows, root = frame.points[order], np.sqrt(counts[order].astype(np.float64))
        self._range = _range(rows)
        q = self._range.shape[1]
        self.identified = q == frame.rank
        system = np.column_stack([rows @ self._range * root[:, None], sums[order] / root])
        R: Floats = np.asarray(np.linalg.qr(system, mode="r"))
        U, self._s, Wt = np.linalg.svd(R[:q, :q])
        self._to_unit: Floats = self._range @ (Wt.T / self._s)
        self._estimate: Floats = U.T @ R[:q, q]  # θ̂ in the same coordinates: v·θ̂ = y · estimate
        self._favourites = rows[:_FAVOURITES] @ self._to_unit
        self._mixtures: dict[float, Floats] = {}  # components by failure

    def widths(self, directions: Floats, failure: float) -> Floats:
        """Return half-widths for σ = 1 of v·θ, for directions (rows) in the frame's coordinates,
        that hold for all times and directions at once; infinite where the evaluations so far say
        nothing.
        """
        if not 0.0 < failure < 1.0:
            raise InputError(f"the probability of failure must lie in (0, 1); got {failure!r}.")
        if failure not in self._mixtures:
            self._mixtures[failure] = self._components(failure)
        C = self._mixtures[failure]
        squares = np.empty(len(directions))
        for start in range(0, len(directions), _CHUNK):
            y = directions[start : start + _CHUNK] @ self._to_unit
            along = np.hstack([y, y @ self._favourites.T])
            squares[start : start + _CHUNK] = (np.square(along, out=along) @ C).min(axis=1)
        if not self.identified:
            squares[self._outside(directions)] = np.inf
        return np.sqrt(squares)

    def leads(self, failure: float, noise_scale: float = 1.0, option: int | None = None) -> Leads:
        """Return the leads of an option, or of the one that looks best; one that the evaluations so
        far say nothing of is 0, of infinite width.
        """
        H = self.ellipsoid.frame.values
        parameter = self.parameter
        best = first_largest(H @ parameter) if option is None else option
        apart = H[best] - H  # differences first: equal options are then exactly equal
        widths = self.widths(apart, failure)
        leads = np.where(np.isfinite(widths), apart @ parameter, 0.0)
        if np.isfinite(noise_scale):
            widths *= noise_scale
        else:
            widths[widths > 0.0] = np.inf  # options that equal x̂ do so whatever the noise
        return Leads(best, leads, widths)

    def bias(self, failure: float, noise_scale: float | None = 1.0) -> Estimate:
        """Return the (first) bias with its interval of level 1 − ``failure``; with None for the
        noise scale that is everything, of level 0.
        """
        if noise_scale is None:
            return Estimate.without_interval(self.bias(failure).value)
        e = self.ellipsoid.frame.bias
        width = np.inf if e is None else noise_scale * float(self.widths(e[None, :], failure)[0])
        if e is None or not np.isfinite(width):
            return Estimate.without_interval(level=1.0 - failure)
        value = float(e @ self._to_unit @ self._estimate)
        return Estimate(value, value - width, value + width, 1.0 - failure)

    def stated_bias(
        self, policy: Policy, failure: float, noise_scale: float, level: float
    ) -> Estimate:
        """Return the bias as a policy says it, at a level; without interval after an alarm."""
        estimate = self.bias(failure, noise_scale)
        if any(finding.alarm for finding in policy.findings()):
            return Estimate.without_interval(estimate.value)
        return replace(estimate, level=level)

    @property
    def root(self) -> Floats:
        """S, (r, q), with S Sᵀ = V⁺ in the frame's coordinates: vᵀV⁺v = ‖Sᵀv‖²."""
        return self._to_unit

    @property
    def parameter(self) -> Floats:
        """θ̂, (r,), in the frame's coordinates."""
        return np.asarray(self._to_unit @ self._estimate)

    def _outside(self, directions: Floats) -> NDArray[np.bool_]:
        """Tell which directions do not lie in the range of V."""
        beside = directions - directions @ self._range @ self._range.T
        lengths = np.linalg.norm(directions, axis=1)
        return np.asarray(np.linalg.norm(beside, axis=1) > EXACT_IN_SPAN * lengths)

    def _components(self, failure: float) -> Floats:
        """Return C, (r + n, components): the squared widths of y are the entries of (y², f²) C."""
        # f are the products of y with the favourites, in the same coordinates. A component that is
        # beaten by another in all entries cannot be the least for any direction; where there are
        # many directions it is left out.
        scales, extra = self.ellipsoid.scales, self.ellipsoid.extra
        k, n = len(self.ellipsoid.frame.points), len(self._favourites)
        ratio = scales[:, None] / self._s**2  # R_j relative to V, (J + 1, r)
        log_det = np.log1p(1.0 / ratio).sum(axis=1)
        odds = 2.0 * math.log(2.0 * len(scales) / failure)
        plain = np.hstack([1.0 + ratio, np.zeros((len(scales), n))])
        columns = [(odds + log_det)[:, None] * plain]
        # determinants change by 1 + extra·aᵀM⁻¹a, for M = V + R_j and for M = R_j; (n, J + 1)
        f2 = self._favourites**2
        grown = 1.0 + extra * (f2 @ (1.0 / (1.0 + ratio)).T)
        prior = 1.0 + extra * (f2 @ (1.0 / ratio).T)
        b2 = odds + 2.0 * math.log(k) + log_det + np.log(grown / prior)
        for i in range(n):
            spiked = plain.copy()
            spiked[:, len(self._s) + i] = extra
            columns.append(b2[i][:, None] * spiked)
        C = np.vstack(columns)
        if k > _CHUNK:
            no_better = np.asarray((C[None, :, :] <= C[:, None, :]).all(axis=2))
            C = C[~(no_better & ~no_better.T).any(axis=1)]
        return np.ascontiguousarray(C.T)


def _range(rows: Floats) -> Floats:
    """Return (r, q) orthonormal columns that span the rows: the range of V, whatever the counts."""
    _, s, Wt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Wt[s > EXACT * s.max(initial=0.0)].T)


def noise_bound(scatter: float, room: Floats, failure: float, horizon: int) -> float:
    """Return an upper bound σ̄ of the noise scale that fails at any time with probability
    ``failure`` at most, given Σ we² and (J,) ½ Σ log(1 + 2ηw) for η = 1, ½, ¼, …
    """
    # Given the past, the error e of a prediction made from it is N(b, σ²), with b known: so
    # E[exp(−ηwe²/σ²)] ≤ (1 + 2ηw)^{−1/2}, the largest at b = 0, for a weight w known in advance.
    # The products exp(−η Σ we²/σ²) Π(1 + 2ηw)^{1/2} are supermartingales, whatever decided what was
    # evaluated; with a grid of J of them, Σ we² ≥ σ²(½ Σ log(1 + 2ηw) − log(J/δ))/η for all η and
    # at all times, with probability 1 − δ. σ̄ is the least bound. Infinite while there is too
    # little, and where nothing scatters at all, which Gaussian noise never does.
    size = _grid_size(horizon)
    eta = 2.0 ** -np.arange(size)
    spare = room[:size] - math.log(size / failure)
    if scatter == 0.0 or not (spare > 0.0).any():
        return math.inf
    eta, spare = eta[spare > 0.0], spare[spare > 0.0]
    return math.sqrt(float((eta / spare).min()) * scatter)


def noise_room(failure: float, horizon: int) -> float:
    """Return the room at η = 1 from which on `noise_bound` is of use."""
    # With 2 log(3) log(J/failure), that of 4 log(J/failure) evaluations that are well predicted, η
    # = 1 gives σ̄² ≤ 3.35 scatter/n.
    return 2.0 * math.log(3.0) * math.log(_grid_size(horizon) / failure)


def _grid_size(horizon: int) -> int:
    return 2 + math.ceil(0.5 * math.log2(max(horizon, 1)))
