# distutils: libraries = npyrandom
"""The steps of optimistic policies: ridge regression, and the option of largest upper bound.

Notation
--------
a_x     (m,)  what is regressed on          h_x  (w,)  what is maximised, w ≤ m: zeros follow
V = λI + Σ n_x a_x a_xᵀ                     θ̂ = V⁻¹ Σ (sum of evaluations of x − n_x offset_x) a_x
lev_x = h_xᵀV⁻¹h_x                          β = σ √(2 log(1/δ) + log det V/det λI) + penalty
index of x: h_x·θ̂ + β √lev_x

n evaluations of a, with g = V⁻¹a and lev = aᵀV⁻¹a of before, move every mean by a multiple of h_x·g
and lower every leverage by (h_x·g)² n/(1 + n lev): one pass. What is lost by rounding is a share
of the leverages at the last time they were computed from the square root of V⁻¹. That is done
anew after 1024 steps, or when det V has grown a thousandfold. In between no leverage falls by more
than det V grows, so the relative error stays below 1024 · 1000 · 2⁻⁵², about 2·10⁻¹⁰.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, fabs, log, sqrt
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

from evenhand.arrays import recalled
from evenhand.policies._sequential import lost

from evenhand.policies._sequential cimport RegressionStepper

cdef extern from "policies/_index.h" nogil:
    enum: LANES
    enum: ROWS
    double rounded_down(double x)
    Py_ssize_t follow(const double *T, Py_ssize_t k, Py_ssize_t w, const double *g, double move,
                      double fall, double beta, double *mean, double *leverage, double *index)
    Py_ssize_t largest_product(const double *T, Py_ssize_t k, Py_ssize_t w, const double *u,
                               const double *start, double *index)
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)

cdef Py_ssize_t RENEW_STEPS = 1024
cdef double RENEW_GROWTH = log(1000.0)


cdef Py_ssize_t whole_lanes(Py_ssize_t k) noexcept:
    return (k + LANES - 1) // LANES * LANES


cdef class Ridge(RegressionStepper):
    """Ridge regression and how long to stay with an option; its kinds choose the option.

    Parameters
    ----------
    rows
        (k, m) rows a_x.
    targets
        (k, w) rows h_x without the zeros at their end.
    offsets
        (k,) what is taken off the evaluations of each option.
    ridge
        λ, in evaluations.
    switching
        C: an option is evaluated until det V has grown by more than 1 + C.
    """

    cdef double switching
    cdef const double[::1] offsets
    cdef const double[:, ::1] targets
    cdef double[:, ::1] columns  # targets by columns, padded
    cdef double[::1] index  # scratch of the passes
    cdef Py_ssize_t w, padded

    def __init__(self, rows, targets, offsets, double ridge, double switching):
        cdef Py_ssize_t k = len(rows), m = rows.shape[1]
        RegressionStepper.__init__(self, rows, np.eye(m) / np.sqrt(ridge))
        self.targets = np.ascontiguousarray(targets, dtype=np.float64)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.float64)
        self.w = self.targets.shape[1]
        if self.targets.shape[0] != k or self.offsets.shape[0] != k or not 0 < self.w <= m:
            raise ValueError("shapes do not fit")
        self.switching = switching
        self.padded = whole_lanes(k)
        columns = np.zeros((self.w, self.padded))
        columns[:, :k] = np.transpose(targets)
        self.columns = columns
        self.index = np.zeros(self.padded)
        self.n_items = 1

    cdef double long_enough(self, Py_ssize_t x):
        """Return the least n with det(V + n a aᵀ) > (1 + C) det V; infinite if there is none."""
        cdef double leverage = self.regression.leverage(&self.regression.rows[x, 0])
        return rounded_down(self.switching / leverage) + 1.0 if leverage > 0.0 else INFINITY

    cdef int stay_with(self, Py_ssize_t x, long long remaining, double most) except -1:
        """Propose the option of largest index, for as long as the decision stands."""
        cdef double n = 1.0
        if x >= self.k or not fabs(self.index[x]) < INFINITY:
            raise lost("no option has an index")
        if self.switching > 0.0:
            n = min(self.long_enough(x), most)
        self.items[0] = x
        self.pulls[0] = remaining if n >= <double>remaining else <long long>n
        return 0

    cdef double expected(self, Py_ssize_t x) except? -1.0:
        return self.regression.predicted(x) + self.offsets[x]

    cdef double take(self, Py_ssize_t x, long long n, double total) noexcept:
        self.count(x, n, total)
        return self.regression.add(x, <double>n, total - <double>n * self.offsets[x])


cdef class Optimism(Ridge):
    """Plays the option of largest upper bound.

    Parameters
    ----------
    rows, targets, offsets, ridge, switching
        As for `Ridge`.
    noise_scale, failure, penalty
        σ, δ and √λ S of the width β.
    """

    cdef double noise_scale, confidence, penalty, renewed
    cdef double[::1] mean, leverage, turned
    cdef double[:, ::1] turned_root
    cdef Py_ssize_t[::1] length
    cdef Py_ssize_t best, since

    def __init__(self, rows, targets, offsets, double ridge, double switching,
                 double noise_scale, double failure, double penalty):
        Ridge.__init__(self, rows, targets, offsets, ridge, switching)
        cdef Py_ssize_t m = self.regression.m
        self.noise_scale, self.penalty = noise_scale, penalty
        self.confidence = 2.0 * log(1.0 / failure)
        self.mean = np.full(self.padded, -np.inf)
        self.leverage = np.zeros(self.padded)
        self.turned = np.zeros(self.w * ROWS)
        self.turned_root = np.zeros((m, self.w))
        self.length = np.full(m, self.w, dtype=np.intp)
        self.renew()

    @property
    def beta(self):
        """β."""
        return self.width()

    @property
    def indices(self):
        """(k,) means and leverages as they are followed from step to step, for tests."""
        n = self.k
        return np.array(self.mean[:n]), np.array(self.leverage[:n])

    cdef double width(self) noexcept nogil:
        return self.noise_scale * sqrt(self.confidence + self.regression.log_det) + self.penalty

    def memory(self):
        """Return all that was learnt: arrays and numbers by name."""
        mean, leverage = self.indices
        followed = {"mean": mean, "since": self.since}
        followed |= {"leverage": leverage, "renewed": self.renewed}
        return Ridge.memory(self) | followed

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that."""
        n = (self.k,)
        return Ridge.checked(self, memory) | {
            "mean": recalled(memory, "mean", n),
            "leverage": recalled(memory, "leverage", n, least=0.0),
            "since": recalled(memory, "since", kind=int, least=0),
            "renewed": recalled(memory, "renewed", least=0.0),
        }

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        Ridge.recall(self, memory)
        np.asarray(self.mean)[: self.k] = memory["mean"]
        np.asarray(self.leverage)[: self.k] = memory["leverage"]
        self.since, self.renewed = memory["since"], memory["renewed"]
        self.follow(0.0, 0.0)

    cdef void renew(self) noexcept:
        """Compute all means and leverages from the estimate and the square root."""
        cdef Py_ssize_t i, j, m = self.regression.m
        for i in range(m):
            for j in range(self.w):
                self.turned_root[i, j] = self.regression.root[j, i]
        squared_norms(&self.targets[0, 0], self.k, self.w, &self.turned_root[0, 0], m,
                      &self.length[0], &self.turned[0], &self.leverage[0])
        products(&self.targets[0, 0], self.k, self.w, &self.regression.theta[0],
                 &self.mean[0])
        self.since = 0
        self.renewed = self.regression.log_det
        self.follow(0.0, 0.0)

    cdef void follow(self, double move, double fall) noexcept:
        self.best = follow(&self.columns[0, 0], self.padded, self.w, &self.regression.g[0], move,
                           fall, self.width(), &self.mean[0], &self.leverage[0], &self.index[0])

    cdef int choose(self, long long remaining) except -1:
        return self.stay_with(self.best, remaining, INFINITY)

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        cdef double move = self.take(x, n, total), leverage = 0.0
        cdef Py_ssize_t j
        self.since += 1
        if self.since >= RENEW_STEPS or self.regression.log_det > self.renewed + RENEW_GROWTH:
            self.renew()
            return 0
        for j in range(self.regression.m):
            leverage += self.regression.f[j] * self.regression.f[j]
        self.follow(move, <double>n / (1.0 + <double>n * leverage))
        return 0


cdef class PosteriorSampling(Ridge):
    """Plays the best option of a parameter drawn from N(θ̂, v²V⁻¹), that is θ̂ + v S ξ.

    The normal numbers ξ are drawn when something is learnt, so they depend on what was told and
    not on how often was asked.

    Parameters
    ----------
    rows, targets, offsets, ridge, switching
        As for `Ridge`.
    deviation
        v.
    seed
        Where ξ comes from.
    """

    cdef double deviation
    cdef object generator
    cdef bitgen_t *bits
    cdef double[::1] xi, draw, start

    def __init__(self, rows, targets, offsets, double ridge, double switching, double deviation,
                 seed):
        Ridge.__init__(self, rows, targets, offsets, ridge, switching)
        self.deviation = deviation
        self.generator = np.random.PCG64(np.random.SeedSequence(seed))
        self.bits = <bitgen_t *>PyCapsule_GetPointer(self.generator.capsule, "BitGenerator")
        self.xi = np.zeros(self.regression.m)
        self.draw = np.zeros(self.regression.m)
        start = np.zeros(self.padded)
        start[self.k :] = -np.inf
        self.start = start
        self.redraw()

    @property
    def drawn(self):
        """The parameter that was drawn, a copy."""
        self.place()
        return np.array(self.draw)

    def memory(self):
        """Return all that was learnt and drawn: arrays and numbers by name."""
        state = self.generator.state["state"]
        return Ridge.memory(self) | {
            "xi": np.array(self.xi),
            "generator": [str(state["state"]), str(state["inc"])],  # of 128 bits
        }

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that."""
        drawn = memory["generator"]
        if not (isinstance(drawn, list) and len(drawn) == 2 and all(map(_is_of_128_bits, drawn))):
            raise ValueError(f"generator is {drawn!r:.80}; it must be two texts of digits")
        xi = recalled(memory, "xi", (self.regression.m,))
        return Ridge.checked(self, memory) | {"xi": xi, "generator": drawn}

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        Ridge.recall(self, memory)
        np.asarray(self.xi)[:] = memory["xi"]
        state, inc = map(int, memory["generator"])
        self.generator.state = self.generator.state | {"state": {"state": state, "inc": inc}}

    cdef void redraw(self) noexcept:
        cdef Py_ssize_t j
        for j in range(self.regression.m):
            self.xi[j] = random_standard_normal(self.bits)

    cdef void place(self) noexcept:
        cdef Py_ssize_t i, j, m = self.regression.m
        cdef double total
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += self.regression.root[i, j] * self.xi[j]
            self.draw[i] = self.regression.theta[i] + self.deviation * total

    cdef int choose(self, long long remaining) except -1:
        cdef Py_ssize_t best
        self.place()
        best = largest_product(
            &self.columns[0, 0], self.padded, self.w, &self.draw[0], &self.start[0], &self.index[0]
        )
        # never longer than a share C of the time so far: another draw may choose otherwise
        return self.stay_with(best, remaining,
                              rounded_down(self.switching * <double>self.told) + 1.0)

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        self.take(x, n, total)
        self.redraw()
        return 0


def _is_of_128_bits(text):
    """Tell whether this is a text of digits, of a number of up to 128 bits."""
    digits = isinstance(text, str) and text.isdecimal() and len(text) <= 39
    return digits and int(text) < 1 << 128
