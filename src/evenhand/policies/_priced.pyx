"""The steps of priced exploration: look while what is learnt is worth its price.

Notation
--------
P, H    (k, r)  rows: an evaluation of x is P_x·θ + noise, its value H_x·θ up to a constant
V, θ̂            pooled least squares;  σ noise scale
x̂               leader, argmax H_x·θ̂;  v_x = H_x̂ − H_x
d_x             its lead v_x·θ̂ over the rival x;  s_x = σ‖v_x‖_{V⁻¹}, how well that is known
L_x             what the leader loses to x on average: s ψ(d/s), ψ(u) = φ(u) − uΦ(−u)
c_a             price of one evaluation of a: its estimated gap plus the price of time, or 1
ρ_x             max_a (P_aᵀV⁻¹v_x)²/c_a, how fast ‖v_x‖² can fall per price
κ_x             s_x⁴/(σ²ρ_x), the price of a unit of precision on the lead over x
R               rounds that a wrong choice will cost

A rival is open while d_x < s_x Z(s_x / (κ_x/R)^{1/3}): looking is worth its price (`boundary`).
Among the open ones the steepest fall of the loss per price, φ(d/s)/s · ρ, decides what to evaluate.
With Λ = max_a P_aᵀV⁻¹P_a/c_a, Cauchy and Schwarz give ρ_x ≤ ‖v_x‖² Λ. So most rivals are seen to be
closed, or less steep than the best so far, without the pass over all options that ρ_x takes.
"""

import numpy as np

from libc.math cimport INFINITY, cbrt, erfc, exp, floor, fmax, fmin, log, sqrt
from libc.string cimport memcpy

from evenhand.policies._sequential cimport Regression, Stepper

cdef extern from "_passes.h" nogil:
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)

cdef enum:
    REFRESH = 64  # steps after which sums of updates are worked out anew
    LOOK_AT = 12  # rivals whose ρ is worked out, as soon as one of them is open

cdef double DENSITY_0 = 0.3989422804014327
cdef double ROOT_HALF = 0.7071067811865476
cdef double FLAT = 1e5  # the square root of V_0⁻¹, in rows of length about one: no knowledge
cdef double TIME_PRICE = 0.5  # share of the largest L that a round costs beside the gap
cdef double NEGLIGIBLE = 1e-3  # a loss until the end, in prices of a bad evaluation, to ignore


cdef inline double density(double u) noexcept nogil:
    return DENSITY_0 * exp(-0.5 * u * u)


cdef inline double mean_loss(double u) noexcept nogil:
    """ψ(u) = φ(u) − uΦ(−u), for u ≥ 0."""
    return fmax(0.0, density(u) - 0.5 * u * erfc(u * ROOT_HALF))


cdef class PricedSteps(Stepper):
    """Decides what to evaluate next, as the notes above say.

    Parameters
    ----------
    points, values
        (k, r) rows P and H.
    start
        Options to evaluate once each, in this order, before anything is decided.
    boundary, first_log, log_step
        Z at equidistant values of 2 log u.
    noise_scale
        σ; NaN to estimate it.
    worst_gap
        2B, the largest gap there can be.
    worth
        R in evaluations if a look costs one whatever is looked at; NaN if it costs its gap.
    anytime
        Whether R is twice the rounds played so far, instead of those that remain.
    batch
        Evaluations asked for at once.
    repeat, rest
        A decision stands for so many evaluations n that n·PᵀV⁻¹P is at most ``repeat``, or
        ``rest`` where the leader is played because no rival is open.
    """

    cdef readonly Regression regression
    cdef const double[:, ::1] P, H
    cdef const double[::1] boundary
    cdef double first_log, log_step, noise_scale, worst_gap, worth, repeat, rest
    cdef bint estimate_noise, unit_price, anytime
    cdef long long batch
    cdef const Py_ssize_t[::1] start
    cdef readonly object counts, sums
    cdef long long[::1] _counts
    cdef double[::1] _sums
    cdef Py_ssize_t m, started, leader, since
    cdef bint stale
    cdef double[::1] value, variance, leverage, price, along, bait, kept_variance, kept_leverage
    cdef double[::1] v
    cdef double[:, ::1] kept_root
    cdef unsigned char[::1] is_open
    cdef double residual, spent

    def __init__(self, points, values, start, boundary, double first_log, double log_step, *,
                 double noise_scale, double worst_gap, double worth, bint anytime,
                 long long batch, double repeat, double rest):
        k, m = points.shape
        super().__init__(k, max(1, batch))
        self.P = np.ascontiguousarray(points)
        self.H = np.ascontiguousarray(values)
        self.m = m
        self.regression = Regression(points, FLAT * np.eye(m))
        self.start = np.ascontiguousarray(start, dtype=np.intp)
        self.boundary = boundary
        self.first_log, self.log_step = first_log, log_step
        self.estimate_noise = noise_scale != noise_scale
        self.noise_scale = noise_scale
        self.worst_gap = worst_gap
        self.unit_price = worth == worth
        self.worth = worth
        self.anytime = anytime
        self.batch = batch
        self.repeat, self.rest = repeat, rest
        self.counts, self.sums = np.zeros(k, dtype=np.int64), np.zeros(k)
        self._counts, self._sums = self.counts, self.sums
        self.value, self.variance, self.leverage = np.zeros(k), np.zeros(k), np.zeros(k)
        self.price, self.along, self.bait = np.ones(k), np.zeros(k), np.zeros(k)
        self.kept_variance, self.kept_leverage = np.zeros(k), np.zeros(k)
        self.kept_root = np.zeros((m, m))
        self.is_open = np.zeros(k, dtype=np.uint8)
        self.v = np.zeros(m)
        self.started = self.leader = self.since = 0
        self.stale = True
        self.residual = self.spent = 0.0

    @property
    def estimates(self):
        """(k,) estimated values, up to a constant."""
        return np.asarray(self.H) @ self.regression.estimate

    @property
    def noise(self):
        """σ, or its estimate with a margin for its error; infinite before there is one."""
        return self.sigma()

    cdef double sigma(self) noexcept nogil:
        cdef double degrees = self.spent - self.m
        if not self.estimate_noise:
            return self.noise_scale
        if degrees < 1.0:
            return INFINITY
        return sqrt(self.residual / degrees) * (1.0 + 1.0 / sqrt(degrees))

    cdef double Z(self, double u) noexcept nogil:
        cdef double at = (2.0 * log(u) - self.first_log) / self.log_step
        cdef Py_ssize_t last = self.boundary.shape[0] - 1, i
        if not at > 0.0:
            return 0.0
        if at >= last:
            return self.boundary[last]
        i = <Py_ssize_t>at
        return self.boundary[i] + (at - i) * (self.boundary[i + 1] - self.boundary[i])

    cdef void look_at(self, Py_ssize_t x) noexcept nogil:
        """Leave v_x, V⁻¹v_x in the regression's g, and its products with all points in along."""
        cdef Py_ssize_t j
        for j in range(self.m):
            self.v[j] = self.H[self.leader, j] - self.H[x, j]
        self.regression.multiply(&self.v[0])
        products(&self.P[0, 0], self.k, self.m, &self.regression.g[0], &self.along[0])

    cdef void lead(self) noexcept nogil:
        """Find the leader; what depends on it must be worked out anew if it is another."""
        cdef Py_ssize_t x, best = 0
        for x in range(1, self.k):
            if self.value[x] > self.value[best]:
                best = x
        if best != self.leader:
            self.leader = best
            self.stale = True

    cdef void refresh(self) noexcept nogil:
        """Work out values, variances and leverages from θ̂ and the root of V⁻¹."""
        cdef Py_ssize_t x, j
        products(&self.H[0, 0], self.k, self.m, &self.regression.theta[0], &self.value[0])
        self.lead()
        for x in range(self.k):
            for j in range(self.m):
                self.v[j] = self.H[self.leader, j] - self.H[x, j]
            self.variance[x] = self.regression.leverage(&self.v[0])
            self.leverage[x] = self.regression.leverage(&self.P[x, 0])
        self.stale = False
        self.since = 0

    cdef double add(self, Py_ssize_t x, double n, double total) noexcept nogil:
        """Update the regression and all that follows from it; returns how far θ̂ moved along g."""
        cdef double lev = self.regression.leverage(&self.P[x, 0])
        cdef double move = self.regression.add(x, n, total)
        cdef double fall = n / (1.0 + n * lev), mine, apart
        cdef Py_ssize_t y
        products(&self.H[0, 0], self.k, self.m, &self.regression.g[0], &self.along[0])
        mine = self.along[self.leader]
        for y in range(self.k):
            apart = mine - self.along[y]
            self.value[y] += self.along[y] * move
            self.variance[y] = fmax(0.0, self.variance[y] - fall * apart * apart)
        products(&self.P[0, 0], self.k, self.m, &self.regression.g[0], &self.along[0])
        for y in range(self.k):
            self.leverage[y] = fmax(0.0, self.leverage[y] - fall * self.along[y] * self.along[y])
        return move * move * (1.0 + n * lev) / n

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        self._counts[x] += n
        self._sums[x] += total
        self.spent += n
        # the mean of the batch against what was expected of it, and the scatter within
        self.residual += self.add(x, n, total) + fmax(0.0, squares - total * total / n)
        self.since += 1
        if self.started < self.start.shape[0] or self.since >= REFRESH:
            self.stale = True
        self.started = min(self.started + n, self.start.shape[0])
        return 0

    cdef int choose(self, long long remaining) except -1:
        cdef long long left = min(remaining, max(1, self.batch)), n
        cdef Py_ssize_t x, j
        cdef bint first = True
        cdef double fitted
        self.n_items = 0
        if self.started < self.start.shape[0]:
            while left > 0 and self.started + self.n_items < self.start.shape[0]:
                self.propose_item(self.start[self.started + self.n_items], 1)
                left -= 1
            return 0
        if self.stale:
            self.refresh()
        else:
            self.lead()
            if self.stale:
                self.refresh()
        if self.batch <= 1:
            x = self.next_option(<double>remaining, True)
            if x >= 0:
                self.propose_item(x, self.evaluations(x, remaining))
            return 0
        # for a batch θ̂ and the open rivals stay as they are, and V grows as if it were evaluated
        memcpy(&self.kept_root[0, 0], &self.regression.root[0, 0], self.m * self.m * sizeof(double))
        self.kept_variance[:] = self.variance
        self.kept_leverage[:] = self.leverage
        while left > 0:
            x = self.next_option(<double>remaining, first)
            if x < 0:
                break
            n = self.evaluations(x, remaining if first else left)
            self.propose_item(x, n)
            left -= n
            first = False
            if left > 0:
                fitted = 0.0
                for j in range(self.m):
                    fitted += self.P[x, j] * self.regression.theta[j]
                self.add(x, n, n * fitted)
        memcpy(&self.regression.root[0, 0], &self.kept_root[0, 0], self.m * self.m * sizeof(double))
        self.variance[:] = self.kept_variance
        self.leverage[:] = self.kept_leverage
        return 0

    cdef void propose_item(self, Py_ssize_t x, long long n) noexcept nogil:
        self.items[self.n_items] = x
        self.pulls[self.n_items] = n
        self.n_items += 1

    cdef long long evaluations(self, Py_ssize_t x, long long most) noexcept nogil:
        """Return for how many evaluations a decision stands."""
        cdef double share = self.repeat
        cdef double n
        if x == self.leader and not self.any_open():
            share = self.rest
        n = floor(share / fmax(self.leverage[x], 1e-300))
        return <long long>fmax(1.0, fmin(n, <double>most))

    cdef bint any_open(self) noexcept nogil:
        cdef Py_ssize_t x
        for x in range(self.k):
            if self.is_open[x]:
                return True
        return False

    cdef Py_ssize_t next_option(self, double remaining, bint decide_open) noexcept nogil:
        """Return what to evaluate; −1 if nothing is worth it. Sets ``is_open`` if asked to."""
        cdef double sigma = self.sigma(), R = remaining, most = 0.0, scale = 1.0, sharpest = 0.0
        cdef double d, s, least, limit, bound, slope, steepest = 0.0, rho, kappa
        cdef Py_ssize_t x, a, best = -1, candidate, arg
        cdef int looked = 0
        if self.unit_price:
            R = self.worth
        elif self.anytime:
            R = fmin(R, 2.0 * self.spent)
        if not self.unit_price:
            scale = 0.5 * self.worst_gap
        least = NEGLIGIBLE * scale / R
        # losses, and with them prices
        for x in range(self.k):
            s = sigma * sqrt(self.variance[x])
            d = self.value[self.leader] - self.value[x]
            self.bait[x] = 0.0
            if s > 0.0 and d < 9.0 * s:
                self.bait[x] = s * mean_loss(d / s)
                most = fmax(most, self.bait[x])
        if decide_open:
            self.is_open[:] = 0
        if most < least:
            return -1 if self.unit_price else self.leader
        for a in range(self.k):
            if not self.unit_price:
                d = self.value[self.leader] - self.value[a]
                self.price[a] = fmin(d, self.worst_gap) + TIME_PRICE * most
            sharpest = fmax(sharpest, self.leverage[a] / self.price[a])
        # how steep a rival can be at most; what is closed at the least price it can have is closed
        for x in range(self.k):
            s = sigma * sqrt(self.variance[x])
            d = self.value[self.leader] - self.value[x]
            if self.bait[x] < least or s <= 0.0:
                self.bait[x] = 0.0
            elif decide_open and d >= s * self.Z(s / cbrt(s * s / (sharpest * R))):
                self.bait[x] = 0.0
            elif not decide_open and not self.is_open[x]:
                self.bait[x] = 0.0
            else:
                self.bait[x] = density(d / s) * s * sharpest / (sigma * sigma)
        while True:
            candidate, bound = -1, steepest
            for x in range(self.k):
                if self.bait[x] > bound:
                    bound = self.bait[x]
                    candidate = x
            if candidate < 0 or (best >= 0 and looked >= LOOK_AT):
                break
            looked += 1
            self.bait[candidate] = 0.0
            s = sigma * sqrt(self.variance[candidate])
            d = self.value[self.leader] - self.value[candidate]
            self.look_at(candidate)
            rho, arg = 0.0, -1
            for a in range(self.k):
                limit = self.along[a] * self.along[a] / self.price[a]
                if limit > rho:
                    rho, arg = limit, a
            if arg < 0:
                continue
            kappa = s * s * s * s / (sigma * sigma * rho)
            if decide_open:
                self.is_open[candidate] = d < s * self.Z(s / cbrt(kappa / R))
            if self.is_open[candidate]:
                slope = density(d / s) / s * rho
                if slope > steepest:
                    steepest, best = slope, arg
        if best < 0 and not self.unit_price:
            return self.leader
        return best

    def toward(self, Py_ssize_t rival, const double[::1] price, long long most):
        """Return an option, and how often to evaluate it, to learn of the lead over a rival.

        The option is where the variance of the lead falls most per price.
        """
        cdef double share, largest = -1.0
        cdef Py_ssize_t a, best = 0
        if self.stale:
            self.refresh()
        self.look_at(rival)
        for a in range(self.k):
            share = self.along[a] * self.along[a] / fmax(price[a], 1e-12 * self.worst_gap)
            if share > largest:
                largest, best = share, a
        share = floor(self.repeat / fmax(self.leverage[best], 1e-300))
        return best, <long long>fmax(1.0, fmin(share, <double>most))
