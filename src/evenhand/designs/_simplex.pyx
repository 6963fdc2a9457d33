"""The revised simplex for Elfving's linear program, on a pool of rows held in memory.

    minimise Σ|v_i|   subject to   Σ v_i h_i = g          (rows h_i of P, coordinates in R^r)

Every nonsingular choice of r rows is a feasible basis, since v may have any sign; so there is no
phase 1. One step lets a row enter whose |h·u| exceeds 1 (u the dual vector) and follows the
piecewise linear objective through its kinks to the minimum, so that one step may turn many signs.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from evenhand.numerics._bases cimport invert

cdef extern from "numerics/_passes.h" nogil:
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)

cdef extern from "numerics/_ties.h" nogil:
    double TIE
    int clearly_larger(double one, double other)


def elfving_basis(const double[:, ::1] P, const double[::1] g, Py_ssize_t[::1] basis,
                  double[::1] u, double tol, int max_steps):
    """Improve ``basis`` in place until no row of P has |h·u| > 1 + tol; write the dual ``u``.

    Returns the number of steps, or -1 when ``max_steps`` were not enough, or -2 when the basis
    became singular to working precision.
    """
    cdef Py_ssize_t n = P.shape[0], r = P.shape[1], i, j, q, leave, steps = 0
    cdef double[:, ::1] Binv = np.empty((r, r))
    cdef double[::1] v = np.empty(r), sign = np.empty(r), alpha = np.empty(r), theta = np.empty(r)
    cdef double[::1] y = np.empty(n), work = np.empty(64 * r), lift = np.empty(r)
    cdef int[::1] ipiv = np.empty(r, dtype=np.intc)
    cdef double scale, best, value, tau, slope, step, pivot, spread, exact, signed
    cdef Py_ssize_t[::1] queue = np.empty(r, dtype=np.intp)
    cdef Py_ssize_t n_kinks, t
    cdef bint fresh
    cdef int round_

    with nogil:
        if invert(P, basis, Binv, ipiv, work) != 0:
            with gil:
                return -2
        # A basic weight of zero makes steps of length zero that may go in circles. A small lift
        # of g, along the rows of the basis, makes every weight differ from zero; it is taken
        # back in stages, each of which starts from an optimal basis of the stage before.
        spread = 1e-7
        for round_ in range(4):
            scale = 0.0
            for j in range(r):
                v[j] = 0.0
            for i in range(r):
                for j in range(r):
                    v[j] += g[i] * Binv[i, j]
            for j in range(r):
                scale += fabs(v[j])
            if round_ == 3:
                spread = 0.0
            for j in range(r):
                # square roots of different odd numbers: no few lifts are in a simple proportion
                lift[j] = spread * scale / r * (1.0 + (4321.0 * sqrt(2.0 * j + 3.0)) % 1.0)
                v[j] += lift[j] if v[j] >= 0.0 else -lift[j]
            fresh = True
            while True:
                for i in range(r):
                    sign[i] = 1.0 if v[i] >= 0.0 else -1.0
                for i in range(r):
                    value = 0.0
                    for j in range(r):
                        value += Binv[i, j] * sign[j]
                    u[i] = value
                products(&P[0, 0], n, r, &u[0], &y[0])
                for i in range(r):
                    y[basis[i]] = 0.0  # |h·u| = 1 there up to rounding, which must not count
                q = -1
                best = 1.0 + tol
                for i in range(n):
                    if fabs(y[i]) > best and (q < 0 or clearly_larger(fabs(y[i]), best)):
                        best = fabs(y[i])
                        q = i
                if q < 0:
                    if fresh:
                        break
                    if invert(P, basis, Binv, ipiv, work) != 0:
                        with gil:
                            return -2
                    fresh = True
                    continue
                tau = 1.0 if y[q] > 0.0 else -1.0
                for j in range(r):
                    alpha[j] = 0.0
                for i in range(r):
                    value = P[q, i]
                    for j in range(r):
                        alpha[j] += value * Binv[i, j]
                n_kinks = 0
                for j in range(r):
                    if sign[j] * tau * alpha[j] > 1e-11:
                        theta[j] = fabs(v[j]) / fabs(alpha[j])
                        # insertion sort: r is small
                        t = n_kinks
                        while t > 0 and theta[queue[t - 1]] > theta[j]:
                            queue[t] = queue[t - 1]
                            t -= 1
                        queue[t] = j
                        n_kinks += 1
                slope = 1.0 - best
                leave = -1
                for t in range(n_kinks):
                    leave = queue[t]
                    slope += 2.0 * fabs(alpha[leave])
                    if slope >= -TIE * best:  # a flat piece ends here, whatever rounding says
                        break
                if leave < 0:  # only rounding error lets a row enter that nothing holds back
                    if fresh:
                        with gil:
                            return -2
                    if invert(P, basis, Binv, ipiv, work) != 0:
                        with gil:
                            return -2
                    fresh = True
                    continue
                step = tau * theta[leave]
                for j in range(r):
                    v[j] -= step * alpha[j]
                v[leave] = step
                pivot = 1.0 / alpha[leave]
                for i in range(r):
                    value = Binv[i, leave] * pivot
                    for j in range(r):
                        Binv[i, j] -= value * alpha[j]
                    Binv[i, leave] = value
                basis[leave] = q
                fresh = False
                steps += 1
                if steps >= max_steps:
                    with gil:
                        return -1
            # The dual u is feasible; with the exact g it proves Σ sign_i v_i. Done if that is
            # the value, so if no lift has turned a sign that matters.
            exact = 0.0
            signed = 0.0
            for j in range(r):
                value = 0.0
                for i in range(r):
                    value += g[i] * Binv[i, j]
                exact += fabs(value)
                signed += sign[j] * value
            if exact - signed <= 1e-12 * exact:
                break
            spread *= 1e-3
    return steps
