"""Which question to ask about an option that was chosen.

Notation
--------
a_q     (m,)  row of a question                 h_x  (m,)  what is to be known of option x
V⁻¹           that of the regression so far     c_q        price of a question
gain of q: (a_qᵀV⁻¹h_x)² / (1 + a_qᵀV⁻¹a_q) / c_q, by how much one evaluation lowers the variance of
h_x·θ̂ for its price

Of the questions about x the one of largest gain is asked; of those that tie the one asked least, of
these the first in a random order. An evaluator who was not asked yet has no gain at all, whatever
is asked first: how lenient it is explains every answer. So there is an opening: questions that
identify the leads of all options, each asked once before anything else.
"""

import numpy as np

from evenhand.policies._sequential cimport Regression

cdef extern from "numerics/_ties.h" nogil:
    int clearly_larger(double one, double other)


cdef class Inquiry:
    """Questions about options: which to ask first, and which about an option.

    Parameters
    ----------
    starts, places
        (k + 1,) and (n,) the questions about option x are places[starts[x] : starts[x + 1]].
    prices
        (q,) what an answer costs.
    opening
        Questions that are asked once each before anything else, in this order.
    turn
        (q,) place of every question in a random order.
    width
        Number of columns m of the rows.
    """

    def __init__(self, starts, places, prices, opening, turn, Py_ssize_t width):
        self.starts = np.ascontiguousarray(starts, dtype=np.intp)
        self.places = np.ascontiguousarray(places, dtype=np.intp)
        self.prices = np.ascontiguousarray(prices, dtype=np.float64)
        self.opening = np.ascontiguousarray(opening, dtype=np.intp)
        self.turn = np.ascontiguousarray(turn, dtype=np.intp)
        self.target = np.zeros(width)
        self.n_options = self.starts.shape[0] - 1

    def opens_with(self, counts):
        """Return the question of the opening that is next, −1 once it is over."""
        return self.first(np.ascontiguousarray(counts, dtype=np.int64))

    def chosen(self, Py_ssize_t option, target, Regression regression, counts):
        """Return the question to ask about an option, of which ``target``·θ is to be known."""
        cdef const double[::1] h = np.ascontiguousarray(target, dtype=np.float64)
        return self.about(option, &h[0], h.shape[0], regression,
                          np.ascontiguousarray(counts, dtype=np.int64))

    cdef Py_ssize_t first(self, const long long[::1] counts) noexcept nogil:
        """Return the first question of the opening that was not asked; −1 if all were."""
        cdef Py_ssize_t i
        for i in range(self.opening.shape[0]):
            if counts[self.opening[i]] == 0:
                return self.opening[i]
        return -1

    cdef Py_ssize_t about(self, Py_ssize_t option, const double *h, Py_ssize_t w,
                          Regression regression, const long long[::1] counts) noexcept nogil:
        """Return the question about an option; h has w entries, zeros follow."""
        cdef Py_ssize_t i, j, x, best = -1, m = regression.m
        cdef double along, gain, most = 0.0
        cdef bint better
        for j in range(m):
            self.target[j] = h[j] if j < w else 0.0
        regression.multiply(&self.target[0])
        for i in range(self.starts[option], self.starts[option + 1]):
            x = self.places[i]
            along = 0.0
            for j in range(m):
                along += regression.rows[x, j] * regression.g[j]
            gain = along * along / (1.0 + regression.leverage(&regression.rows[x, 0]))
            gain /= self.prices[x]
            better = best < 0 or clearly_larger(gain, most)
            if not better and not clearly_larger(most, gain):
                better = counts[x] < counts[best]
                if counts[x] == counts[best]:
                    better = self.turn[x] < self.turn[best]
            if better:
                best, most = x, gain
        return best
