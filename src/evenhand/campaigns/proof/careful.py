"""What `CarefulChoice` may say, by the rounds of a record (docs/careful.md: what it rests on).

Notation
--------
y = x·γ + u_o + z·ω + noise     an evaluation of option o;  u_o ~ N(0, τ²), exchangeable
ȳ, V    (k,)    mean scores and their variances σ_o²/n_o
P       (k, r)  coordinates of (x; z);  B (k, r) those of (0; z − c), c the centre of the attributes
K(τ)    (r, k)  θ̂ = Kȳ by least squares with weights 1/(τ² + V)
a, D            a contrast a·v, estimated by a·ȳ − D·θ̂: of error variance Σ (a − DK)²V from noise,
                and τ² Σ (DK)² from what the features miss

Given τ all is Gaussian; τ² has forty values, evenly in its logarithm, weighed by the restricted
likelihood times 1/(τ² + V̄).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from evenhand.campaigns.proof.asked import Counts, Floats, Named, Truths
from evenhand.campaigns.proof.lack_of_fit import lack_of_fit
from evenhand.campaigns.proof.record import Derived, Plan, Record, first_largest
from evenhand.campaigns.proof.squares import Sums

_FIRST, _LOOKS, _SPARE, _GROWTH, _ALARM = 4, 16, 100.0, 0.3, 0.03
_PRIOR = 8.0  # scores that an own scatter has to outweigh
_GRID = 40
_MOST_GROUPS, _MOST_PAIRED = 8, 1_000
_USUAL_BIAS = 0.25  # in units of the noise


@dataclass(eq=False)
class _Known:
    """The posterior of τ: (g,) squares and weights, and (g, r, k) K."""

    squares: Floats
    weights: Floats
    K: Floats


class Careful:
    """The rounds of a record, gone through once."""

    def __init__(self, record: Record) -> None:
        self.record, asked = record, record.asked
        self.asked = asked
        A, d = asked.rows.toarray(), asked.n_features
        self.k = len(A)
        cells, cell = np.unique(A[:, d:], axis=0, return_inverse=True)
        self.cell, self.n_cells = cell.reshape(-1), len(cells)
        centred = np.zeros_like(A)
        centred[:, d:] = A[:, d:] - cells.mean(axis=0)
        self.P, self.B = asked.span.coordinates(A), asked.span.coordinates(centred)
        self.H = asked.span.coordinates(asked.options)  # of which only differences matter
        self.unit = record.noise_scale or 1.0
        self.tolerance = float(record.setting("tolerance", 0.0)) / self.unit
        self.delta = record.delta
        stated = record.settings.get("deviation")
        self.deviation = None if stated is None else float(stated)
        self.noise_known = record.noise_scale is not None
        self.horizon = record.at_most(0)
        self.paired = self.k <= _MOST_PAIRED and self.horizon >= 2 * self.k
        self.linear, self.refuted = not self.deviation, math.nan
        self.tests, self.next_test = 0, 0
        self.counts: Counts = np.zeros(self.k, dtype=np.int64)
        self.option = 0
        self.certainty: str | None = None
        self.theta: Floats | None = None
        self.duels = [np.zeros((self.k, self.k)) for _ in range(3)] if self.paired else None
        self.looked = False
        self.wrong: list[str] = []
        self._go_through()

    # ------------------------------------------------------------------ one pass

    def _go_through(self) -> None:
        record, begin = self.record, 0
        for number, plan in enumerate(record.plans):
            wanted = np.zeros(self.k, dtype=np.int64)
            np.add.at(wanted, plan.content["questions"], plan.content["counts"])
            following = record.plans[number + 1] if number + 1 < len(record.plans) else None
            end = self._whole_at(begin, wanted) if following is None else following.at
            batch = record.sums_of(record.counted(begin, end))
            if not batch.counts.any() or not self._is_over(batch.counts, wanted, end, following):
                continue  # learnt when it is
            begin = end
            self.counts = self.counts + batch.counts
            self._duel(batch)
            event = math.inf if following is None else following.since
            if following is None and record.learning is not None:
                event = int(record.learning[np.searchsorted(record.looks, end)])
            self._look(end, record.allowed_by(event))
            until = min((p.since for p in record.plans if p.since > event), default=math.inf)
            for more in record.allowed:
                if event <= more.event <= until and self._stopped_by(more.event):
                    self._look(end, record.allowed_by(more.event + 1))

    def _stopped_by(self, event: int) -> bool:
        """Tell whether nothing was wanted any more before an event, and no options came since."""
        plans = [plan for plan in self.record.plans if plan.since < event]
        added = (c.event for c in self.record.extensions if c.absent)
        since = plans[-1].since if plans else 0
        wanted = bool(plans) and any(plans[-1].content["counts"])
        return not wanted and not any(since <= other < event for other in added)

    def _is_over(self, counts: Counts, wanted: Counts, place: int, following: Plan | None) -> bool:
        """Tell whether a batch was ended, and see that it lacked nothing but what was withdrawn."""
        record, whole = self.record, self._is_whole(counts, wanted, place, following)
        more = {c.event for c in record.extensions} | {c.event for c in record.allowed}
        if whole or following is None or following.since in more:
            return whole and bool(wanted.any())
        if following.event and (record.withdrawn < 0).all():
            self.wrong.append(f"the batch that ended at {place} evaluations")
        return True

    def _whole_at(self, begin: int, wanted: Counts) -> int:
        """Return how many evaluations were in when a batch was whole: with all, if it is not."""
        record = self.record
        for place in record.looks[record.looks > begin].tolist():
            some = record.questions[record.counted(begin, place)]
            if self._is_whole(np.bincount(some, minlength=self.k), wanted, place):
                return int(place)
        return record.total

    def _is_whole(
        self, counts: Counts, wanted: Counts, place: int, following: Plan | None = None
    ) -> bool:
        """Tell whether a batch lacks nothing, or nothing more could be asked for."""
        record, spent = self.record, len(self.record.counted(0, place))
        most = record.at_most(place) if following is None else record.allowed_by(following.since)
        return bool((counts >= wanted).all()) or spent >= most

    def _duel(self, batch: Sums) -> None:
        """Add the comparisons of a batch, whose counts were fixed before it."""
        if self.duels is None:
            return
        n, weights = batch.counts.astype(np.float64), self.duels
        both = (n[:, None] > 0) & (n > 0)
        w = np.where(both, n[:, None] * n / np.where(both, n[:, None] + n, 1.0), 0.0)
        weights[0] += w
        weights[1] += w * (batch.means[:, None] - batch.means)
        weights[2] += np.where(both, w**2 / np.where(n > 0, n, 1.0)[:, None], 0.0)

    def _look(self, end: int, horizon: int) -> None:
        """Look at all whole rounds, as the policy does after each."""
        self.looked, self.certainty = True, None
        whole = self.record.sums_of(self.record.counted(0, end))
        self.sums = whole
        self._hear(whole)
        self._share_out(horizon)
        deviation = None if self.deviation == 0.0 and not self.linear else self.deviation
        self.known = self._posterior(deviation)
        misfit = self._fit_linear()
        if self.linear and self.theta is not None:
            self._test(misfit)
        contenders = self._contenders()
        least = np.array([self.leads(i)[:, 1].min() for i in contenders])
        if least.max() >= -self.tolerance:
            self.option, self.certainty = contenders[first_largest(least)], "own scores"
            return
        self.option = contenders[0]
        heard = math.isfinite(self._quantile(0.5 * (1.0 - self.delta)))
        if heard and self.linear and self.theta is not None:
            self._linear_look(misfit, contenders[0])

    def _test(self, misfit: float) -> None:
        spent = int(self.counts.sum())
        if spent >= self.next_test and not math.isnan(misfit):
            self.next_test = 2 * spent
            self.tests += 1
            self._believe(misfit, 0.5 * _ALARM / (self.tests * (self.tests + 1)))

    def _believe(self, misfit: float, failure: float) -> None:
        self.linear = misfit >= failure
        if not self.linear:
            self.refuted = misfit

    def _linear_look(self, misfit: float, otherwise: int) -> None:
        """See whether the leader of the linear model is ahead of all, and was checked."""
        assert self.theta is not None
        best = self.option = first_largest(self.H @ self.theta)
        D = self.H[best] - self.H
        behind = D @ self.theta + self.tolerance < self._quantile(self.level_linear) * self._sds(D)
        lacking = (self.counts > 0) & (self.counts < self._enough_looks())
        if behind.any() or math.isnan(misfit) or lacking.any():
            return
        self._believe(misfit, 0.5 * _ALARM)
        if self.linear:
            self.certainty = "features exact"
        else:
            self.option = otherwise

    def _enough_looks(self) -> int:
        if not self.record.setting("looks", True):
            return 0
        spare = max(int((self.counts > 0).sum()) - self.asked.span.rank, 1)
        fewer = min(1.0, math.sqrt(_SPARE / spare))
        return max(_FIRST, math.ceil(_LOOKS * (1.0 + 1.0 / spare) * fewer))

    # ------------------------------------------------------------------ what is known

    def _hear(self, told: Sums) -> None:
        """Work out the noise of every option: the largest of several scatters."""
        groups = self.cell if self.n_cells <= _MOST_GROUPS else np.zeros_like(self.cell)
        freedom = np.maximum(told.counts - 1, 0)
        pooled = float(told.within.sum()) / max(int(freedom.sum()), 1)
        squares = np.full(self.k, pooled)
        for g in range(int(groups.max()) + 1):
            of = groups == g
            scatter, df = float(told.within[of].sum()), int(freedom[of].sum())
            squares[of] = np.maximum(squares[of], (scatter + _PRIOR * pooled) / (df + _PRIOR))
        squares = np.maximum(squares, (told.within + _PRIOR * pooled) / (freedom + _PRIOR))
        if self.noise_known:
            # sums are in units of the stated noise
            squares, self.freedom = np.maximum(squares, 1.0), math.inf
        else:
            self.freedom = float(freedom.sum()) if pooled > 0.0 else 0.0
        self.scales = np.sqrt(squares)
        seen = told.counts > 0
        self.V = np.where(seen, squares / np.maximum(told.counts, 1), np.inf)

    def _share_out(self, horizon: int) -> None:
        """Share δ out among what is said at this look."""
        k, spent = self.k, int(self.counts.sum())
        directions = self.n_cells - 1
        if self.asked.n_attributes == 1:
            directions = min(directions, 2)
        looks = 3.0 + math.log(horizon / min(_FIRST * k, horizon)) / math.log1p(_GROWTH)
        late = spent / (horizon * (1.0 + 1.0 / _GROWTH))
        self.level_unexplained = self.delta / max(directions, 1)
        self.level_noise = 0.2 * self.delta / (k * looks)
        self.level_duel = min(0.2 * self.delta / max(k - 1, 1), 0.06)
        self.level_linear = 0.3 * self.delta / k * (1.0 / looks + late)

    def _quantile(self, failure: float) -> float:
        if self.freedom < 1.0:
            return math.inf
        if math.isinf(self.freedom):
            return float(-special.ndtri(failure))
        return float(-special.stdtrit(self.freedom, failure))

    def _posterior(self, deviation: float | None) -> _Known | None:
        """Return what is known of τ; None where too few options were scored."""
        seen = np.isfinite(self.V)
        P, y, V = self.P[seen], self.sums.means[seen], self.V[seen]
        n, r = P.shape
        if n < r + (deviation is None) or np.linalg.matrix_rank(P) < r:
            return None
        left = y - P @ np.linalg.lstsq(P, y, rcond=None)[0]
        centre = float(V.mean())
        if deviation is None:
            scale = centre + float(left @ left) / (n - r)
            if scale == 0.0:
                return None
            low, high = 1e-3 * max(centre, 1e-12 * scale), 1e4 * scale
            squares = low * (high / low) ** (np.arange(_GRID) / (_GRID - 1.0))
        else:
            squares = np.array([(deviation / self.unit) ** 2])
        logs, K = np.zeros(len(squares)), np.zeros((len(squares), r, self.k))
        for g, square in enumerate(squares.tolist()):
            W = 1.0 / np.maximum(square + V, 1e-300)
            G = (P * W[:, None]).T @ P
            half = np.linalg.pinv(P * np.sqrt(W)[:, None])
            K[g][:, seen] = half * np.sqrt(W)
            rest = left - P @ (K[g][:, seen] @ left)
            prior = math.log(square / (square + centre)) if square > 0.0 else 0.0
            logs[g] = 0.5 * float(np.log(W).sum()) - 0.5 * float(np.linalg.slogdet(G)[1])
            logs[g] += prior - 0.5 * float(W @ rest**2)
        weights = np.exp(logs - logs.max())
        return _Known(squares, weights / weights.sum(), K)

    def _fit_linear(self) -> float:
        """Fit as if features explained all; return how probable scores so far off would be."""
        seen = self.counts > 0
        P, n, y = self.P[seen], self.counts[seen], self.sums.means[seen]
        self.theta = None
        enough = len(P) >= P.shape[1] and np.linalg.matrix_rank(P) == P.shape[1]
        if not enough or not (self.scales > 0.0).all():
            return math.nan
        weights = np.sqrt(n) / self.scales[seen]
        inverse = np.linalg.pinv(P * weights[:, None])
        self.theta, self.inverse = inverse @ (weights * y), inverse
        noise = float(self.scales.max()) if math.isinf(self.freedom) else None
        return lack_of_fit(P, n, y, self.sums.within[seen], noise).p_value

    def _sds(self, directions: Floats) -> Floats:
        return np.asarray(np.linalg.norm(directions @ self.inverse, axis=1))

    # ------------------------------------------------------------------ leads and values

    def contrast(self, own: Floats, D: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (g, q) estimates of contrasts, (q, k) and (q, r), and both parts of variances."""
        assert self.known is not None
        V, means = np.where(np.isfinite(self.V), self.V, 0.0), self.sums.means
        estimates, noise, missed = [], [], []
        for square, K in zip(self.known.squares, self.known.K, strict=True):
            h = D @ K
            estimates.append(own @ means - h @ means)
            noise.append((own - h) ** 2 @ V)
            missed.append(square * (h**2).sum(axis=1))
        return np.array(estimates), np.array(noise), np.array(missed)

    def interval(
        self, parts: tuple[Floats, Floats, Floats], noise: float, failure: float
    ) -> Floats:
        """Return (q, 3) posterior means with ends that are passed with this probability each."""
        assert self.known is not None
        weights, (estimates, by_noise, missed) = self.known.weights, parts
        middle = weights @ estimates
        if math.isinf(noise):
            return np.column_stack([middle, np.full_like(middle, -np.inf), middle * 0 + np.inf])
        stretch = max(1.0, noise / -float(special.ndtri(failure)))
        sds = np.sqrt(missed + stretch**2 * by_noise)
        each = list(zip(estimates.T, sds.T, strict=True))
        low = np.array([_quantile(m, s, weights, failure) for m, s in each])
        high = np.array([-_quantile(-m, s, weights, failure) for m, s in each])
        return np.column_stack([np.clip(middle, low, high), low, high])

    def leads(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option by own scores."""
        leads = np.tile([np.nan, -np.inf, np.inf], (self.k, 1))
        same: Truths = self.cell == self.cell[i]
        if self.duels is not None:
            stretch = self._quantile(self.level_duel) / -float(special.ndtri(self.level_duel))
            if math.isfinite(stretch):
                leads[same] = self._duels_of(i, stretch)[same]
            others = np.flatnonzero(~same)
            if self.known is not None and len(others):
                own = -np.eye(self.k)[others]
                own[:, i] += 1.0
                parts = self.contrast(own, self.B[i] - self.B[others])
                noise = self._quantile(self.level_noise)
                leads[others] = self.interval(parts, noise, self.level_unexplained)
        leads[self.counts == 0] = np.nan, -np.inf, np.inf
        leads[i] = 0.0
        return leads

    def _duels_of(self, i: int, stretch: float) -> Floats:
        """Return leads by batches alone: a walk of known variance, bounded by a mixture."""
        assert self.duels is not None
        W, S = self.duels[0][i], self.duels[1][i]
        v = self.scales[i] ** 2 * self.duels[2][i] + self.scales**2 * self.duels[2][:, i]
        rho = np.maximum(2.0 * self.scales[i] * self.scales, 1e-300)
        odds = 2.0 * math.log(1.0 / (2.0 * 0.977 * self.level_duel))
        some = W > 0.0
        safe = np.where(some, W, 1.0)
        width = stretch * np.sqrt((v + rho) * (np.log((v + rho) / rho) + odds)) / safe
        middle = S / safe
        leads = np.column_stack([middle, middle - width, middle + width])
        leads[~some] = np.nan, -np.inf, np.inf
        return leads

    def _contenders(self) -> list[int]:
        """Return what may be best: by own scores less what is known of biases, and by group."""
        seen = self.counts > 0
        means = np.where(seen, self.sums.means, -np.inf)
        guesses = means
        if self.known is not None:
            parts = self.contrast(np.zeros((self.k, self.k)), -self.B)
            weights = self.known.weights
            bias = weights @ parts[0]
            variance = np.maximum(weights @ ((parts[0] - bias) ** 2 + parts[1] + parts[2]), 1e-300)
            usual = (_USUAL_BIAS * self.scales) ** 2
            share = np.maximum(
                usual / (usual + variance), 1.0 - 4.0 * variance / np.maximum(bias**2, 1e-300)
            )
            guesses = means - share * bias
        found = [first_largest(guesses)]
        if self.n_cells <= _MOST_GROUPS:
            for g in range(self.n_cells):
                members = np.flatnonzero(self.cell == g)
                found.append(int(members[first_largest(means[members])]))
        return [x for x in dict.fromkeys(found) if seen[x]]

    def linear_leads(self, i: int) -> Floats:
        """Return (k, 3) the leads of an option if features are exact."""
        assert self.theta is not None
        D = self.H[i] - self.H
        middle, width = D @ self.theta, self._quantile(self.level_linear) * self._sds(D)
        return np.column_stack([middle, middle - width, middle + width])


def _quantile(means: Floats, sds: Floats, weights: Floats, level: float) -> float:
    """Return the quantile, below the median, of a mixture of Gaussians."""
    sds = np.maximum(sds, 1e-300)

    def excess(x: float) -> float:
        return float(weights @ special.ndtr((x - means) / sds)) - level

    least = float(weights[weights > 1e-12].min(initial=1.0))
    reach = 2.0 - float(special.ndtri(level * least))
    low, high = float((means - reach * sds).min()), float(means.max())
    if low == high or excess(high) <= 0.0:
        return high
    return float(optimize.brentq(excess, low, high, xtol=1e-14 * max(1.0, abs(high)), rtol=1e-14))


def careful(record: Record) -> Derived:
    """Return what follows from the rounds of `CarefulChoice`."""
    run, asked = Careful(record), record.asked
    unit, k = run.unit, run.k
    values = np.tile([np.nan, -np.inf, np.inf], (k, 1))
    biases: list[tuple[Named, float, float, float]] = []
    if not run.looked:
        return Derived(option=0, values=values, biases=biases)
    leads = run.leads(run.option)
    if run.certainty == "features exact":
        leads = run.linear_leads(run.option)
    loss = max(0.0, -float(leads[:, 1].min()))
    if run.known is not None:
        noise, failure = run._quantile(0.5 * run.level_noise), 0.5 * run.level_unexplained
        if run.paired:
            found = run.interval(run.contrast(np.eye(k), run.B), noise, failure)
            values = np.where((run.counts > 0)[:, None], found, values)
        row = np.zeros((1, asked.rows.shape[1]))
        row[0, asked.n_features] = 1.0
        if asked.span.has(row)[0]:
            parts = run.contrast(np.zeros((1, k)), -asked.span.coordinates(row))
            line = run.interval(parts, noise, failure)[0] * unit
            biases = [(asked.biases[0], *line.tolist())]
    return Derived(
        option=run.option,
        loss=loss * unit,
        certainty=run.certainty,
        leads=leads * unit,
        values=values * unit,
        biases=biases,
        wrong=tuple(run.wrong),
        alarms=("fit",) if run.deviation == 0.0 and not math.isnan(run.refuted) else (),
        derived=("estimates", "leads", "values", "the bias", "the tests of every round", "loss"),
        taken=("how often each option was to be evaluated in each round",),
    )
