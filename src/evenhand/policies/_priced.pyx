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
closed, or less steep than the best so far, without the pass over all options that ρ_x takes: a
rival can be open only if s_x ΛR > Z⁻¹(d_x/s_x)³, and its steepness is at most φ(d/s) s Λ/σ².

The price of time is half of the largest L: who waits loses that in every round. Without it the
leader is free and is evaluated for ever, whatever that tells: 2 to 270 times the regret on worst
cases, gaps and random problems, T = 10⁵. All of L instead of half changes little there (0.97 to
1.03 times the regret), a quarter costs up to 1.4 times.
"""

import numpy as np

from libc.math cimport INFINITY, cbrt, erfc, exp, fabs, fmax, fmin, log, sqrt
from libc.string cimport memcpy, memset

from evenhand.arrays import recalled
from evenhand.policies._sequential import FLAT, lost

from evenhand.policies._sequential cimport RegressionStepper

cdef extern from "policies/_rivals.h" nogil:
    enum: LANES
    enum: CELLS
    enum: FARTHEST
    Py_ssize_t first_largest(const double *entries, Py_ssize_t k)
    int clearly_larger(double one, double other)
    double rounded_down(double x)
    void tiles_of(const double *rows, Py_ssize_t k, Py_ssize_t m, double *tiles)
    void tile_products(const double *tiles, Py_ssize_t k, Py_ssize_t m, const double *u,
                       double *out)
    void tile_distances(const double *tiles, Py_ssize_t k, Py_ssize_t m, const double *origin,
                        const double *S, double *apart, double *out)
    Py_ssize_t place_of_largest(const double *entries, Py_ssize_t k)
    Py_ssize_t place_of_steepest(const double *entries, Py_ssize_t k)
    void shift(Py_ssize_t k, const double *along, double move, double *value)
    void lower(Py_ssize_t k, const double *along, double origin, double fall, double *variance)
    void size_up(Py_ssize_t k, double best, double sigma, const double *value,
                 const double *variance, const double *table, double *deviation, double *loss,
                 double *steep, double *needed)
    double price_all(Py_ssize_t k, double best, double worst, double extra, const double *value,
                     const double *leverage, double *per_price)
    void keep_open(Py_ssize_t k, double stake, const double *deviation, const double *needed,
                   double *steep)
    Py_ssize_t sharpest(const double *tiles, Py_ssize_t k, Py_ssize_t m, const double *g,
                        const double *per_price, double *sharp)

cdef enum:
    REFRESH = 64  # steps after which sums of updates are worked out anew
    LOOK_AT = 12  # rivals whose ρ is worked out, as soon as one of them is open
    UNDECIDED = 0  # of a rival, at the start of a batch
    OPEN = 1
    CLOSED = 2

cdef double DENSITY_0 = 0.3989422804014327
cdef double ROOT_HALF = 0.7071067811865476
cdef double TIME_PRICE = 0.5  # share of the largest L that a round costs beside the gap; see below
cdef double CANCELLED = 1e-4  # share of a number that is left when it must be worked out anew


cdef inline double density(double u) noexcept nogil:
    return DENSITY_0 * exp(-0.5 * u * u)


cdef inline double mean_loss(double u) noexcept nogil:
    """ψ(u) = φ(u) − uΦ(−u), for u ≥ 0."""
    return fmax(0.0, density(u) - 0.5 * u * erfc(u * ROOT_HALF))


cdef inline long long at_most(double n, long long most) noexcept nogil:
    """⌊n⌋, but at least 1 and at most ``most``, which a double may not hold exactly."""
    return most if n >= <double>most else max(1, <long long>rounded_down(n))


cdef class Boundary:
    """Z on a grid, and for the cells of d/s what can be said of all rivals at once.

    Parameters
    ----------
    values
        Z at equidistant values of 2 log u, increasing.
    first_log, log_step
        The first of them, and how far they are apart.
    """

    cdef readonly object values
    cdef readonly double first_log, log_step
    cdef const double[::1] Z
    cdef double[:, ::1] table  # ψ, φ and Z⁻¹(·)³ at the left ends of the cells

    def __init__(self, values, double first_log, double log_step):
        cdef Py_ssize_t i, n = CELLS * FARTHEST
        self.values = self.Z = values
        self.first_log, self.log_step = first_log, log_step
        u = np.arange(n + 1) / <double>CELLS
        last = np.searchsorted(values, u, side="right") - 1  # where Z is not yet larger
        table = np.zeros((3, n + 1))
        for i in range(n):
            table[0, i], table[1, i] = mean_loss(u[i]), density(u[i])
        table[2] = np.exp(1.5 * (first_log + log_step * last))
        table[2, last == len(values) - 1] = np.inf
        table[2, n] = np.inf  # beyond the last cell a rival is closed
        self.table = table

    cdef double at(self, double u) noexcept nogil:
        cdef double place = (2.0 * log(u) - self.first_log) / self.log_step
        cdef Py_ssize_t last = self.Z.shape[0] - 1, i
        if not place > 0.0:
            return 0.0
        if place >= last:
            return self.Z[last]
        i = <Py_ssize_t>place
        return self.Z[i] + (place - i) * (self.Z[i + 1] - self.Z[i])


cdef tiled(rows):
    """Return rows in tiles, as the passes want them."""
    cdef const double[:, ::1] given = rows
    cdef Py_ssize_t k = given.shape[0], m = given.shape[1]
    result = np.zeros((k + LANES - 1) // LANES * LANES * m)
    cdef double[::1] tiles = result
    tiles_of(&given[0, 0], k, m, &tiles[0])
    return result


cdef class PricedSteps(RegressionStepper):
    """Decides what to evaluate next, as the notes above say.

    Parameters
    ----------
    points, values
        (k, r) rows P and H.
    start
        Options to evaluate, in this order, before anything is decided; some more than once.
    boundary
        Z.
    noise_scale
        σ; NaN to estimate it.
    worst_gap
        2B, the largest gap there can be.
    worth
        R in evaluations if a look costs one whatever is looked at; NaN if it costs its gap.
    anytime
        Whether R is twice the rounds played so far, instead of those that remain.
    batch
        Most evaluations asked for at once; 0 for as many as a decision stands for.
    repeat
        A decision stands for so many evaluations n that n·PᵀV⁻¹P is at most this.
    """

    cdef const double[:, ::1] P, H
    cdef Boundary boundary
    cdef double noise_scale, worst_gap, worth, repeat
    cdef bint estimate_noise, unit_price, anytime
    cdef long long batch
    cdef const Py_ssize_t[::1] start
    cdef long long[::1] due, lacking, none_pending  # of the start; what is missing of it
    cdef Py_ssize_t m, size, leader, since
    cdef bint begun, stale
    cdef double[::1] P_tiles, H_tiles, value, variance, leverage, per_price, along
    cdef double[::1] deviation, loss, steep, needed, v, apart, kept_theta
    cdef double[:, ::1] kept, kept_root
    cdef unsigned char[::1] status
    cdef double residual
    cdef double rounds, best_value, most_per_price  # R, the leader's value and Λ of the moment

    def __init__(self, points, values, start, Boundary boundary, *,
                 double noise_scale, double worst_gap, double worth, bint anytime,
                 long long batch, double repeat):
        k, m = points.shape
        RegressionStepper.__init__(self, points, FLAT * np.eye(m), max(1, batch, len(start)))
        self.P = np.ascontiguousarray(points)
        self.H = np.ascontiguousarray(values)
        self.m = m
        self.start = np.ascontiguousarray(start, dtype=np.intp)
        self.due = np.bincount(start, minlength=k).astype(np.int64)
        self.lacking, self.none_pending = np.zeros((2, k), dtype=np.int64)
        self.boundary = boundary
        self.estimate_noise = noise_scale != noise_scale
        self.noise_scale = noise_scale
        self.worst_gap = worst_gap
        self.unit_price = worth == worth
        self.worth = worth
        self.anytime = anytime
        self.batch = batch
        self.repeat = repeat
        self.P_tiles, self.H_tiles = tiled(self.P), tiled(self.H)
        self.size = (k + LANES - 1) // LANES * LANES  # the last tile repeats an option
        self.value, self.variance, self.leverage, self.along = np.zeros((4, self.size))
        self.deviation, self.loss, self.steep, self.needed = np.zeros((4, self.size))
        self.per_price, self.kept = np.zeros(self.size), np.zeros((4, self.size))
        self.status = np.zeros(k, dtype=np.uint8)
        self.kept_root, self.kept_theta = np.zeros((m, m)), np.zeros(m)
        self.v, self.apart = np.zeros(m), np.zeros(m * LANES)
        self.leader = self.since = 0
        self.begun = False
        self.stale = True
        self.residual = 0.0
        self.rounds = self.best_value = self.most_per_price = 0.0

    @property
    def estimates(self):
        """(k,) estimated values, up to a constant."""
        return np.asarray(self.H) @ self.regression.estimate

    @property
    def noise(self):
        """σ, or its estimate with a margin for its error; infinite before there is one."""
        return self.sigma()

    cdef double sigma(self) noexcept nogil:
        cdef double degrees = <double>(self.told - self.m)
        if not self.estimate_noise:
            return self.noise_scale
        if degrees < 1.0:
            return INFINITY
        return sqrt(self.residual / degrees) * (1.0 + 1.0 / sqrt(degrees))

    cdef Py_ssize_t first(self) noexcept nogil:
        """Return the option of largest value, the last if none is a number."""
        return min(place_of_largest(&self.value[0], self.size), self.k - 1)

    cdef void lead(self) noexcept nogil:
        """Find the leader; if it is another one, what is known of its leads follows."""
        cdef Py_ssize_t x, best = self.first()
        cdef double between, variance
        if best == self.leader:
            return
        # w = H_best − H_leader adds to every v:  ‖v + w‖² = ‖v‖² + 2 v·w + ‖w‖², in V⁻¹
        self.aim(best, self.leader)
        between = self.regression.leverage(&self.v[0])
        tile_products(&self.H_tiles[0], self.size, self.m, &self.regression.g[0], &self.along[0])
        for x in range(self.k):
            variance = self.variance[x] + between
            self.variance[x] = variance + 2.0 * (self.along[self.leader] - self.along[x])
            if self.variance[x] < CANCELLED * variance:
                self.aim(best, x)
                self.variance[x] = self.regression.leverage(&self.v[0])
        self.leader = best

    cdef void aim(self, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
        """Leave H_one − H_other in v, and V⁻¹ times that in the regression's g."""
        cdef Py_ssize_t j
        for j in range(self.m):
            self.v[j] = self.H[one, j] - self.H[other, j]
        self.regression.multiply(&self.v[0])

    cdef void refresh(self) noexcept nogil:
        """Work out values, variances and leverages from θ̂ and the root of V⁻¹."""
        cdef const double *S = &self.regression.root[0, 0]
        tile_products(&self.H_tiles[0], self.size, self.m, &self.regression.theta[0],
                      &self.value[0])
        self.leader = self.first()
        tile_distances(&self.H_tiles[0], self.size, self.m, &self.H[self.leader, 0], S,
                       &self.apart[0], &self.variance[0])
        self.v[:] = 0.0
        tile_distances(&self.P_tiles[0], self.size, self.m, &self.v[0], S, &self.apart[0],
                       &self.leverage[0])
        self.stale = False
        self.since = 0

    cdef double add(self, Py_ssize_t x, double n, double total) noexcept nogil:
        """Update the regression and all that follows from it; returns how far θ̂ moved along g."""
        cdef double lev = self.regression.leverage(&self.P[x, 0])
        cdef double move = self.regression.add(x, n, total)
        cdef double fall = n / (1.0 + n * lev)
        cdef const double *g = &self.regression.g[0]
        cdef double *along = &self.along[0]
        tile_products(&self.H_tiles[0], self.size, self.m, g, along)
        shift(self.size, along, move, &self.value[0])
        lower(self.size, along, along[self.leader], fall, &self.variance[0])
        tile_products(&self.P_tiles[0], self.size, self.m, g, along)
        lower(self.size, along, 0.0, fall, &self.leverage[0])
        if n * lev > 1.0 / CANCELLED:
            self.stale = True
        return move * move * (1.0 + n * lev) / n

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        self.count(x, n, total)
        # the mean of the batch against what was expected of it, and the scatter within
        self.residual += self.add(x, n, total) + fmax(0.0, squares - total * total / n)
        self.since += 1
        if self.since >= REFRESH:
            self.stale = True
        return 0

    def memory(self):
        """Return all that was learnt: arrays and numbers by name."""
        return RegressionStepper.memory(self) | {
            "residual": self.residual,
            "since": self.since,
            "stale": self.stale,
            "leader": self.leader,
            "value": np.array(self.value[: self.k]),
            "variance": np.array(self.variance[: self.k]),
            "leverage": np.array(self.leverage[: self.k]),
        }

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that."""
        k = (self.k,)
        return RegressionStepper.checked(self, memory) | {
            "residual": recalled(memory, "residual", least=0.0, most=INFINITY),
            "since": recalled(memory, "since", kind=int, least=0),
            "stale": recalled(memory, "stale", kind=bool),
            "leader": recalled(memory, "leader", kind=int, least=0, most=self.k - 1),
            "value": recalled(memory, "value", k),
            "variance": recalled(memory, "variance", k, least=0.0),
            "leverage": recalled(memory, "leverage", k, least=0.0),
        }

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        RegressionStepper.recall(self, memory)
        self.residual = memory["residual"]
        self.since, self.stale = memory["since"], memory["stale"]
        self.leader = memory["leader"]
        for name, entries in (
            ("value", self.value), ("variance", self.variance), ("leverage", self.leverage)
        ):
            np.asarray(entries)[: self.k] = memory[name]
            np.asarray(entries)[self.k :] = entries[self.size - LANES]  # which is repeated
        self.begun = False

    cdef int choose(self, long long remaining) except -1:
        cdef long long left = min(remaining, self.batch) if self.batch > 0 else remaining
        cdef Py_ssize_t x
        self.n_items = 0
        self.choose_start(left, self.none_pending)
        if self.n_items > 0:
            return 0
        self.catch_up()
        if self.batch > 0:
            self.choose_batch(remaining, left, self.none_pending)
            return 0
        x = self.next_option(<double>remaining, False)
        if x >= 0:
            self.propose_item(x, self.evaluations(x, remaining))
        return 0

    def ask_beside(self, long long remaining, long long most, const long long[::1] pending):
        """Return (k,) counts of what to evaluate beside what is on its way; nothing is learnt.

        At most ``most``; with 0, as many as the first decision stands for.
        """
        cdef long long left = remaining if most == 0 else min(most, remaining)
        cdef Py_ssize_t i
        if self.batch > 0:
            left = min(left, self.batch)
        if left > self.items.shape[0] and most > 0:
            self.items, self.pulls = np.zeros(left, dtype=np.intp), np.zeros(left, dtype=np.int64)
        self.n_items = 0
        self.choose_start(left, pending)
        if self.n_items == 0:
            self.catch_up()
            self.choose_batch(remaining, 0 if most == 0 and self.batch == 0 else left, pending)
        counts = np.zeros(self.k, dtype=np.int64)
        for i in range(self.n_items):
            counts[self.items[i]] += self.pulls[i]
        self.proposed = False
        return counts

    cdef void choose_start(self, long long left, const long long[::1] pending) noexcept nogil:
        """Propose what is missing of the start; while all of it is on its way, more of the same."""
        cdef Py_ssize_t i, x
        cdef bint missing = False
        if self.begun:
            return
        for x in range(self.k):
            self.lacking[x] = self.due[x] - self._counts[x]
            missing = missing or self.lacking[x] > 0
            self.lacking[x] -= pending[x]
        if not missing:
            self.begun = True
            return
        for i in range(self.start.shape[0]):
            x = self.start[i]
            if left > 0 and self.lacking[x] > 0:
                self.propose_item(x, 1)
                self.lacking[x] -= 1
                left -= 1
        if self.n_items == 0:
            for i in range(min(<Py_ssize_t>left, self.start.shape[0])):
                self.propose_item(self.start[i], 1)

    cdef int catch_up(self) except -1:
        """Bring what is known of leads and leverages up to date."""
        if self.stale:
            self.refresh()
        else:
            self.lead()
        if not fabs(self.value[self.leader]) < INFINITY:
            raise lost("no option has an estimate")
        return 0

    cdef void choose_batch(self, long long remaining, long long left,
                           const long long[::1] pending) noexcept nogil:
        """Choose one after the other: θ̂ and the open rivals stay as they are, V grows.

        It has grown by what is on its way before the first is chosen. With 0 left, one decision is
        made, for as many evaluations as it stands for.
        """
        cdef size_t row = self.m * sizeof(double), column = self.size * sizeof(double)
        cdef Py_ssize_t x
        cdef long long n
        cdef bint first = True, single = left == 0
        cdef double log_det = self.regression.log_det
        memcpy(&self.kept_root[0, 0], &self.regression.root[0, 0], self.m * row)
        memcpy(&self.kept_theta[0], &self.regression.theta[0], row)
        memcpy(&self.kept[0, 0], &self.value[0], column)
        memcpy(&self.kept[1, 0], &self.variance[0], column)
        memcpy(&self.kept[2, 0], &self.leverage[0], column)
        for x in range(self.k):
            if pending[x] > 0:
                if first and self.next_option(<double>remaining, False) < 0:
                    left, single = 0, False  # nothing is worth a look, whatever is on its way
                    break
                first = False
                self.add(x, pending[x], pending[x] * self.regression.predicted(x))
        while left > 0 or single:
            x = self.next_option(<double>remaining, not first)
            if x < 0:
                break
            first = False
            n = self.evaluations(x, remaining if single else left)
            self.propose_item(x, n)
            left -= n
            if single:
                break
            if left > 0:
                self.add(x, n, n * self.regression.predicted(x))
        memcpy(&self.regression.root[0, 0], &self.kept_root[0, 0], self.m * row)
        memcpy(&self.regression.theta[0], &self.kept_theta[0], row)
        memcpy(&self.value[0], &self.kept[0, 0], column)
        memcpy(&self.variance[0], &self.kept[1, 0], column)
        memcpy(&self.leverage[0], &self.kept[2, 0], column)
        self.regression.log_det = log_det

    cdef void propose_item(self, Py_ssize_t x, long long n) noexcept nogil:
        self.items[self.n_items] = x
        self.pulls[self.n_items] = n
        self.n_items += 1

    cdef long long evaluations(self, Py_ssize_t x, long long most) noexcept nogil:
        """Return for how many evaluations a decision stands."""
        return at_most(self.repeat / fmax(self.leverage[x], 1e-300), most)

    cdef Py_ssize_t next_option(self, double remaining, bint within_batch) noexcept nogil:
        """Return what to evaluate; −1 if nothing is worth it.

        Within a batch those are open that were so at its start.
        """
        cdef Py_ssize_t best = -1
        cdef double loss
        self.rounds = self.rounds_at_stake(remaining)
        loss = self.size_up_rivals()
        if loss > 0.0:
            self.price_options(loss)
            self.leave_closed(within_batch)
            best = self.steepest_look(within_batch)
        else:
            memset(&self.status[0], CLOSED, self.k)
        return self.leader if best < 0 and not self.unit_price else best

    cdef double rounds_at_stake(self, double remaining) noexcept nogil:
        """Return R."""
        if self.unit_price:
            return self.worth
        return fmin(remaining, 2.0 * <double>self.told) if self.anytime else remaining

    cdef double size_up_rivals(self) noexcept nogil:
        """Work out, for every rival, s and what is at most lost and gained; return the largest L.

        L is worked out only where its bound is larger than the largest so far.
        """
        cdef double s, most = 0.0
        cdef Py_ssize_t x
        self.best_value = self.value[self.leader]
        size_up(self.size, self.best_value, self.sigma(), &self.value[0], &self.variance[0],
                &self.boundary.table[0, 0], &self.deviation[0], &self.loss[0], &self.steep[0],
                &self.needed[0])
        for x in range(self.k):
            if self.loss[x] > most:
                s = self.deviation[x]
                most = fmax(most, s * mean_loss(self.behind(x) / s))
        return most

    cdef double behind(self, Py_ssize_t x) noexcept nogil:
        """Return d_x; 0 where x ties with the leader, whichever is ahead."""
        return fmax(0.0, self.best_value - self.value[x])

    cdef void price_options(self, double loss) noexcept nogil:
        """Work out 1/c_a of all options, and Λ; ``loss`` is the largest L."""
        cdef double worst = 0.0 if self.unit_price else self.worst_gap
        cdef double extra = 1.0 if self.unit_price else TIME_PRICE * loss
        self.most_per_price = price_all(self.size, self.best_value, worst, extra, &self.value[0],
                                        &self.leverage[0], &self.per_price[0])

    cdef void leave_closed(self, bint within_batch) noexcept nogil:
        """Leave only rivals that may be open, by Λ; within a batch, those that may have been."""
        cdef double stake = INFINITY if within_batch else self.most_per_price * self.rounds
        cdef Py_ssize_t x
        keep_open(self.size, stake, &self.deviation[0], &self.needed[0], &self.steep[0])
        self.steep[self.k :] = 0.0
        if within_batch:
            self.leave_out(CLOSED)
            return
        for x in range(self.k):
            self.status[x] = UNDECIDED if self.steep[x] > 0.0 else CLOSED
        memcpy(&self.kept[3, 0], &self.per_price[0], self.size * sizeof(double))

    cdef Py_ssize_t steepest_look(self, bint within_batch) noexcept nogil:
        """Return what to evaluate for the open rival of steepest fall; −1 if none is open.

        Rivals are looked at in the order of how steep they can be, until no other can be steeper
        or, once one is open, so many were looked at.
        """
        cdef double sigma = self.sigma(), unit = self.most_per_price / (sigma * sigma)
        cdef double s, d, rho, slope, steepest = 0.0
        cdef Py_ssize_t x, a, best = -1
        cdef int looked = 0, decided = 0
        while best < 0 or looked < LOOK_AT:
            x = place_of_steepest(&self.steep[0], self.size)
            if not clearly_larger(self.steep[x] * unit, steepest):
                break
            self.steep[x] = 0.0
            s, d = self.deviation[x], self.behind(x)
            if within_batch and self.status[x] == UNDECIDED:
                if decided >= LOOK_AT:
                    self.leave_out(UNDECIDED)
                    continue
                decided += 1
                self.decide(x, d)
            elif not within_batch and not self.is_open(d, s, self.variance[x] * self.most_per_price):
                self.status[x] = CLOSED
            if self.status[x] == CLOSED:
                continue
            looked += 1
            self.aim(self.leader, x)
            a = sharpest(&self.P_tiles[0], self.size, self.m, &self.regression.g[0],
                         &self.per_price[0], &self.along[0])
            rho = self.along[a]
            if self.status[x] == UNDECIDED:
                self.status[x] = OPEN if self.is_open(d, s, rho) else CLOSED
            if self.status[x] == OPEN:
                slope = density(d / s) / s * rho
                if clearly_larger(slope, steepest):
                    steepest, best = slope, a
            elif best < 0 and looked >= LOOK_AT:
                self.narrow(x, rho)
        return best

    cdef void leave_out(self, int status) noexcept nogil:
        """Do not look at rivals of this status."""
        cdef Py_ssize_t x
        for x in range(self.k):
            if self.status[x] == status:
                self.steep[x] = 0.0

    cdef bint is_open(self, double d, double s, double rho) noexcept nogil:
        """Tell whether d < s Z(s / (κ/R)^{1/3}), for κ = s⁴/(σ²ρ)."""
        cdef double sigma = self.sigma()
        return rho > 0.0 and d < s * self.boundary.at(cbrt(self.rounds * rho * sigma * sigma / s))

    cdef void decide(self, Py_ssize_t x, double d) noexcept nogil:
        """Decide whether a rival was open at the start of the batch."""
        cdef double *f = &self.apart[0]
        cdef double *g = f + self.m
        cdef double s = self.sigma() * sqrt(self.kept[1, x])
        cdef Py_ssize_t i, j, a
        for j in range(self.m):
            f[j] = 0.0
            for i in range(self.m):
                f[j] += (self.H[self.leader, i] - self.H[x, i]) * self.kept_root[i, j]
        for i in range(self.m):
            g[i] = 0.0
            for j in range(self.m):
                g[i] += self.kept_root[i, j] * f[j]
        a = sharpest(&self.P_tiles[0], self.size, self.m, g, &self.kept[3, 0], &self.along[0])
        self.status[x] = OPEN if self.is_open(d, s, self.along[a]) else CLOSED

    cdef void narrow(self, Py_ssize_t rival, double rho) noexcept nogil:
        """Close rivals that are like one that is closed.

        For v = αv_rival + w with w orthogonal to v_rival, √ρ ≤ |α| √ρ_rival + √Λ ‖w‖. The
        regression's g must be V⁻¹v_rival.
        """
        cdef double norm = self.variance[rival], inner, beside, bound
        cdef double *along = &self.along[0]
        cdef Py_ssize_t x
        tile_products(&self.H_tiles[0], self.size, self.m, &self.regression.g[0], along)
        for x in range(self.k):
            if self.steep[x] > 0.0:
                inner = along[self.leader] - along[x]
                beside = fmax(0.0, self.variance[x] - inner * inner / norm)
                beside += 1e-12 * self.variance[x]  # for rounding
                bound = fabs(inner) / norm * sqrt(rho) + sqrt(self.most_per_price * beside)
                if not self.is_open(self.behind(x), self.deviation[x], bound * bound):
                    self.steep[x] = 0.0
                    self.status[x] = CLOSED

    def toward(self, Py_ssize_t option, Py_ssize_t rival, const double[::1] price, long long most):
        """Return what to evaluate, and how often, to learn of the lead of an option over a rival.

        That is where the variance of the lead falls most per price.
        """
        cdef Py_ssize_t a, best
        if self.stale:
            self.refresh()
        self.aim(option, rival)
        tile_products(&self.P_tiles[0], self.size, self.m, &self.regression.g[0], &self.along[0])
        for a in range(self.k):
            self.along[a] *= self.along[a] / fmax(price[a], 1e-12 * self.worst_gap)
        best = first_largest(&self.along[0], self.k)
        return best, self.evaluations(best, most)
