"""The steps of information-directed sampling.

Notation
--------
a_x = (x; z_x)   what an evaluation of x shows, a row;   h_x = (x; 0)  what x is worth
V, S, θ̂          the regression of `_sequential`, from V_0 = λI;   lev_x = a_xᵀV⁻¹a_x
β                radius of the ellipsoid ‖θ − θ̂‖_V ≤ β that is taken to hold θ, in evaluations
Δ_x              the most that x can lose against another option, for any θ in the ellipsoid
I_x              information of one evaluation of x
x̂                the option of largest estimated value, the leader
"""

import numpy as np

from evenhand.policies._sequential import lost

from evenhand.policies._sequential cimport RegressionStepper
from libc.math cimport INFINITY, fabs, floor, fmax, fmin, log, log1p, sqrt

cdef extern from "numerics/_passes.h" nogil:
    enum: ROWS
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)

cdef extern from "numerics/_ties.h" nogil:
    double TIE
    Py_ssize_t first_largest(const double *entries, Py_ssize_t n)
    int clearly_larger(double one, double other)
    double rounded_down(double x)


cdef struct Mixture:
    Py_ssize_t left, right
    double share  # of right


cdef Py_ssize_t _lowest(const double[::1] gaps, const double[::1] information,
                        double slope) noexcept nogil:
    """Return the option where gap − slope · information is least, the first that ties."""
    cdef Py_ssize_t x
    cdef double least = INFINITY
    for x in range(gaps.shape[0]):
        least = fmin(least, gaps[x] - slope * information[x])
    least += TIE * fabs(least)
    for x in range(gaps.shape[0]):
        if gaps[x] - slope * information[x] <= least:
            return x
    return 0


cdef bint _are_numbers(const double[::1] values) noexcept nogil:
    """Tell whether no value is NaN; infinite ones are left out of a mixture, or all of it."""
    cdef Py_ssize_t x
    for x in range(values.shape[0]):
        if values[x] != values[x]:
            return False
    return True


cdef Mixture _mixture(const double[::1] D, const double[::1] I) noexcept nogil:
    """Return the mixture μ of options with the least Δ(μ)²/I(μ): `best_mixture`.

    The points (I_x, Δ_x) matter only through the lower hull from the least Δ to the largest I,
    along which Δ²/I is a convex function of I (the perspective of a square, nondecreasing in Δ,
    of a convex function). So a bracket of two corners closes in on the best edge. The gradient
    at the best point of the bracket's chord has the direction (−c, 1), c = Δ/2I: a corner that
    lies lower in that direction than both ends cuts the bracket, and if there is none the chord
    is best, as Δ²/I is convex in the plane too. Two passes per corner, and two or three corners
    are the rule: this is Newton's method. A corner that ties with an end does not cut.
    """
    cdef Py_ssize_t x, lower, left = -1, right = -1
    cdef double rise, run, q, slope, here, least = INFINITY, most = 0.0
    cdef Mixture answer
    for x in range(D.shape[0]):
        least, most = fmin(least, D[x]), fmax(most, I[x])
    for x in range(D.shape[0]):
        if not clearly_larger(D[x], least) and (left < 0 or clearly_larger(I[x], I[left])):
            left = x
        if not clearly_larger(most, I[x]) and (right < 0 or clearly_larger(D[right], D[x])):
            right = x
    answer.left, answer.right, answer.share = left, left, 0.0
    if D[left] <= 0.0:
        return answer
    while clearly_larger(I[right], I[left]):
        rise, run = D[right] - D[left], I[right] - I[left]
        q = 1.0
        if rise > 0.0:
            q = fmin(1.0, fmax(0.0, D[left] / rise - 2.0 * I[left] / run))
        answer.left, answer.right, answer.share = left, right, q
        slope = 0.5 * (D[left] + q * rise) / (I[left] + q * run)
        x = _lowest(D, I, slope)
        here = D[x] - slope * I[x]
        if not (I[left] < I[x] < I[right] and clearly_larger(D[left] - slope * I[left], here)
                and clearly_larger(D[right] - slope * I[right], here)):
            break
        slope = 0.5 * D[x] / I[x]
        if D[x] - D[left] > slope * (I[x] - I[left]):
            right = x
        elif D[right] - D[x] < slope * (I[right] - I[x]):
            left = x
        else:  # x is best of the three: best of all, unless the hull goes lower on one side
            lower = _lowest(D, I, slope)
            if not (I[left] < I[lower] < I[right]
                    and clearly_larger(D[x] - slope * I[x], D[lower] - slope * I[lower])):
                answer.left, answer.right, answer.share = x, x, 0.0
                break
            if I[lower] < I[x]:
                right = x
            elif I[lower] > I[x]:
                left = x
            else:
                break
    return answer


def best_mixture(const double[::1] gaps, const double[::1] information):
    """Return (x, y, q): to play y with probability q and x else makes Δ(μ)²/I(μ) least.

    A mixture of two options is enough (Russo and Van Roy, 2014).

    Parameters
    ----------
    gaps, information
        (k,) Δ ≥ 0 and I ≥ 0. Without any information, the least gap is played.
    """
    cdef Mixture mixture = _mixture(gaps, information)
    return mixture.left, mixture.right, mixture.share


cdef double _uniform(unsigned long long key, unsigned long long t) noexcept nogil:
    """Return a number in [0, 1) that depends on key and t only (SplitMix64)."""
    cdef unsigned long long z = key + (t + 1) * 0x9E3779B97F4A7C15ULL
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    z = z ^ (z >> 31)
    return <double>(z >> 11) * (1.0 / 9007199254740992.0)


cdef class InformationStepper(RegressionStepper):
    """Information-directed sampling, one decision after the other.

    Parameters
    ----------
    rows
        (k, m) rows a_x.
    values
        (k, w) rows h_x without the zeros at their end.
    ridge
        λ.
    directed
        Whether information is about the most uncertain comparison, or about all of θ.
    all_pairs
        Whether every pair of options is compared, or every option with the leader.
    logarithmic
        Whether β = factor · σ√(2 log t), or the self-normalised bound.
    factor, noise_scale, offset
        β = factor · (noise_scale · √(2 log(1/δ_t) + log det V/det V_0) + offset), with
        δ_t = 1/(t log t).
    switching
        How much a decision may add to what it rests on, relatively; 0 for one evaluation at a time.
    key
        Where the randomness starts.

    Attributes
    ----------
    gaps, information
        (k,) Δ and I of the last decision.
    """

    cdef readonly object gaps, information
    cdef Py_ssize_t d
    cdef bint directed, all_pairs, logarithmic
    cdef double factor, noise_scale, offset, switching
    cdef unsigned long long key
    cdef double[::1] _gaps, _information, _means, _leverages, _scratch, _direction, _turned
    cdef double[:, ::1] _values, _apart, _transposed
    cdef Py_ssize_t[::1] _length

    def __init__(self, rows, values, double ridge, *, bint directed, bint all_pairs,
                 bint logarithmic, double factor, double noise_scale, double offset,
                 double switching, unsigned long long key):
        k, m = rows.shape
        n_features = values.shape[1]
        RegressionStepper.__init__(self, rows, np.eye(m) / sqrt(ridge), 2)
        self.d = n_features
        self.directed, self.all_pairs, self.logarithmic = directed, all_pairs, logarithmic
        self.factor, self.noise_scale, self.offset = factor, noise_scale, offset
        self.switching, self.key = switching, key
        self.gaps, self.information = np.zeros(k), np.zeros(k)
        self._gaps, self._information = self.gaps, self.information
        self._means, self._leverages, self._scratch = np.zeros((3, k))
        self._direction = np.zeros(m)
        self._values = np.ascontiguousarray(values)
        # differences from the leader, or all h_x in coordinates where V is the identity
        self._apart = np.zeros((k, m if all_pairs else n_features))
        self._transposed, self._turned = np.zeros((m, m)), np.zeros(m * ROWS)
        self._length = np.zeros(m, dtype=np.intp)

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        self.regression.add(x, <double>n, total)
        self.count(x, n, total)
        return 0

    cdef double radius(self) noexcept nogil:
        """Return β for the next evaluation."""
        cdef double t = fmax(<double>self.told + 1.0, 2.0)
        if self.logarithmic:
            return self.factor * self.noise_scale * sqrt(2.0 * log(t))
        return self.factor * (
            self.noise_scale * sqrt(2.0 * log(t * log(t)) + self.regression.log_det) + self.offset
        )

    cdef int choose(self, long long remaining) except -1:
        cdef double beta = self.radius()
        cdef Py_ssize_t leader = self.estimate_values()
        cdef bint settled
        cdef Mixture mixture
        if self.all_pairs:
            settled = self.compare_pairs(beta)
        else:
            settled = self.compare_with(leader, beta)
        self.inform(settled)
        if not _are_numbers(self._gaps) or not _are_numbers(self._information):
            raise lost("what an option loses, or what it tells, is no number")
        if self.directed and settled:  # one option is left that can be the best
            mixture.left, mixture.right, mixture.share = leader, leader, 0.0
        else:
            mixture = _mixture(self._gaps, self._information)
            if not (0 <= mixture.left < self.k and 0 <= mixture.right < self.k):
                raise lost("no option is worth its loss")
        self.allot(mixture, remaining)
        return 0

    cdef Py_ssize_t estimate_values(self) noexcept nogil:
        """Fill means and leverages; return the leader."""
        cdef Py_ssize_t n = self.k
        products(&self._values[0, 0], n, self.d, &self.regression.theta[0], &self._means[0])
        self.norms(&self.regression.rows[0, 0], self.k, self.regression.m, &self._leverages[0])
        return first_largest(&self._means[0], n)

    cdef void norms(self, const double *rows, Py_ssize_t n, Py_ssize_t w,
                    double *out) noexcept nogil:
        """Fill out with vᵀV⁻¹v of the (n, w) rows v, zeros added at their end."""
        cdef Py_ssize_t i, j, m = self.regression.m
        cdef double *W = &self._transposed[0, 0]
        for i in range(m):
            self._length[i] = w
            for j in range(w):
                W[i * w + j] = self.regression.root[j, i]
        squared_norms(rows, n, w, W, m, &self._length[0], &self._turned[0], out)

    cdef bint compare_with(self, Py_ssize_t leader, double beta) noexcept nogil:
        """Fill gaps and the direction from comparisons with the leader alone.

        Δ_x = (x̂ − x)·γ̂ + max_y [(y − x̂)·γ̂ + β‖h_y − h_x̂‖], by the triangle inequality between half
        and twice what all pairs give; the direction is the widest of h_y − h_x̂ among options y
        that can be better than x̂. Returns whether there is none.
        """
        cdef Py_ssize_t x, i, widest
        cdef double trail, width, most = 0.0
        for x in range(self.k):
            for i in range(self.d):
                self._apart[x, i] = self._values[x, i] - self._values[leader, i]
        self.norms(&self._apart[0, 0], self.k, self.d, &self._scratch[0])
        for x in range(self.k):
            width = sqrt(self._scratch[x])
            trail = self._means[leader] - self._means[x]
            most = fmax(most, beta * width - trail)
            self._scratch[x] = width if trail <= beta * width else 0.0
        widest = first_largest(&self._scratch[0], self.k)
        if self._scratch[widest] == 0.0:
            widest = leader
        for x in range(self.k):
            self._gaps[x] = most + (self._means[leader] - self._means[x])
        for i in range(self.d):
            self._direction[i] = self._apart[widest, i]
        return widest == leader

    cdef bint compare_pairs(self, double beta) noexcept nogil:
        """Fill gaps and the direction from all pairs, as the source defines them.

        Δ_x = max_y [(y − x)·γ̂ + β‖h_y − h_x‖]; the direction is the widest of h_y − h_x among
        options that no other certainly beats. Returns whether there is but one such option.
        """
        cdef Py_ssize_t x, y, i, j, first = 0, second = 0, m = self.regression.m
        cdef double lead, width, widest = 0.0
        for x in range(self.k):
            for j in range(m):
                self._apart[x, j] = 0.0
            for i in range(self.d):
                for j in range(m):
                    self._apart[x, j] += self._values[x, i] * self.regression.root[i, j]
            self._gaps[x] = 0.0
            self._scratch[x] = 0.0
        for x in range(self.k):
            for y in range(x):
                width = beta * self.distance(x, y)
                lead = self._means[y] - self._means[x]
                self._gaps[x] = fmax(self._gaps[x], lead + width)
                self._gaps[y] = fmax(self._gaps[y], width - lead)
                self._scratch[x] = fmax(self._scratch[x], lead - width)
                self._scratch[y] = fmax(self._scratch[y], -lead - width)
        for x in range(self.k):
            if self._scratch[x] > 0.0:  # certainly beaten
                continue
            for y in range(x):
                if self._scratch[y] > 0.0:
                    continue
                width = self.distance(x, y)
                if clearly_larger(width, widest):
                    widest, first, second = width, x, y
        for i in range(self.d):
            self._direction[i] = self._values[first, i] - self._values[second, i]
        return first == second

    cdef double distance(self, Py_ssize_t x, Py_ssize_t y) noexcept nogil:
        """Return ‖h_x − h_y‖ in the norm of V⁻¹."""
        cdef Py_ssize_t j
        cdef const double *a = &self._apart[x, 0]
        cdef const double *b = &self._apart[y, 0]
        cdef double total = 0.0
        for j in range(self.regression.m):
            total += (a[j] - b[j]) * (a[j] - b[j])
        return sqrt(total)

    cdef void inform(self, bint settled) noexcept nogil:
        """Fill information: ½ log(1 + lev_x), or how much x would narrow the direction w.

        An evaluation of x takes ‖w‖² = wᵀV⁻¹w down by (a_xᵀV⁻¹w)²/(1 + lev_x); directed
        information is ½ log of the quotient of before and after.
        """
        cdef Py_ssize_t x, i
        cdef double norm = 0.0, known
        for x in range(self.k):
            self._information[x] = 0.0 if self.directed else 0.5 * log1p(self._leverages[x])
        if not self.directed or settled:
            return
        self.regression.multiply(&self._direction[0])
        for i in range(self.regression.m):
            norm += self.regression.f[i] * self.regression.f[i]
        products(&self.regression.rows[0, 0], self.k, self.regression.m, &self.regression.g[0],
                 &self._scratch[0])
        for x in range(self.k):
            # at most the leverage, by Cauchy and Schwarz
            known = fmin(self._scratch[x] * self._scratch[x] / norm, self._leverages[x])
            self._information[x] = -0.5 * log1p(-known / (1.0 + self._leverages[x]))

    cdef void allot(self, Mixture mixture, long long remaining) noexcept nogil:
        """Turn a mixture into counts: n evaluations in its proportions, rounded at random.

        As many as add at most ``switching`` to the precision of either option and to t, so that
        the next decisions would have been much the same; the counts have the mixture as mean.
        """
        cdef double q = mixture.share, added, n = 1.0
        cdef long long total = remaining, of_right
        if self.switching > 0.0:
            added = fmax(q * self._leverages[mixture.right],
                         (1.0 - q) * self._leverages[mixture.left])
            n = self.switching * <double>self.told
            if added * n > self.switching:
                n = self.switching / added
            n = fmax(1.0, rounded_down(n))
        if n < <double>remaining:
            total = <long long>n
        of_right = <long long>floor(<double>total * q + _uniform(self.key, self.told))
        of_right = min(of_right, total)
        self.items[0], self.pulls[0] = mixture.left, total - of_right
        self.items[1], self.pulls[1] = mixture.right, of_right
        self.n_items = 2
