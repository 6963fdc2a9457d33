"""Ascent of log det V(w) over the weights of a working set of rows.

Notation: rows b_i of B (n × r), weights w ≥ 0, V = Σ w_i b_i b_iᵀ = L Lᵀ, y_i = L⁻¹ b_i,
leverage d_i = ‖y_i‖². At the optimum of  f(w) = log det V(w) − r Σ w_i  over w ≥ 0 the weights
sum to one and max d = r (Kiefer and Wolfowitz). The gradient of f is d − r and its Hessian −H,
H_ij = (y_i·y_j)², for which H w = d.
"""

import numpy as np

from libc.math cimport INFINITY, log, sqrt
from libc.stdlib cimport qsort
from scipy.linalg.cython_blas cimport dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs, dtrtri

cdef extern from "numerics/_passes.h" nogil:
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)

cdef enum:
    ROWS = 32  # as in numerics/_passes.h


cdef int descending(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const double *>a)[0], y = (<const double *>b)[0]
    return -1 if x > y else (1 if x < y else 0)


cdef class Workspace:
    """The arrays one solve needs, so that no step allocates."""

    cdef const double[:, ::1] B
    cdef double[:, ::1] scaled, L, W
    cdef double[::1] d, turned
    cdef Py_ssize_t[::1] length
    cdef Py_ssize_t n, r

    def __init__(self, const double[:, ::1] B, double[::1] d):
        self.B = B
        self.n, self.r = B.shape[0], B.shape[1]
        self.d = d
        self.scaled = np.empty((self.n, self.r))
        self.L = np.empty((self.r, self.r))
        self.W = np.empty((self.r, self.r))
        self.turned = np.zeros(self.r * ROWS)
        self.length = np.arange(1, self.r + 1)

    cdef double factor(self, double[::1] w) noexcept nogil:
        """L <- Cholesky factor of V(w); return log det V(w), or −∞ where V is singular."""
        cdef int r = <int>self.r, used = 0, info = 0
        cdef Py_ssize_t i, j
        cdef double root, one = 1.0, zero = 0.0, total = 0.0
        for i in range(self.n):
            if w[i] > 0.0:
                root = sqrt(w[i])
                for j in range(self.r):
                    self.scaled[used, j] = root * self.B[i, j]
                used += 1
        if used < r:
            return -INFINITY
        dsyrk("L", "N", &r, &used, &one, &self.scaled[0, 0], &r, &zero, &self.L[0, 0], &r)
        dpotrf("L", &r, &self.L[0, 0], &r, &info)
        if info != 0:
            return -INFINITY
        for i in range(self.r):
            total += log(self.L[i, i])
        return 2.0 * total

    cdef double leverage(self) noexcept nogil:
        """W <- L⁻¹ and d <- leverages, for the factor at hand; return the largest leverage."""
        cdef int r = <int>self.r, info = 0
        cdef Py_ssize_t i, j
        cdef double largest = 0.0
        dtrtri("L", "N", &r, &self.L[0, 0], &r, &info)
        for i in range(self.r):
            for j in range(i + 1):
                self.W[i, j] = self.L[j, i]  # LAPACK stores columns
        squared_norms(&self.B[0, 0], self.n, self.r, &self.W[0, 0], self.r, &self.length[0],
                      &self.turned[0], &self.d[0])
        for i in range(self.n):
            largest = max(largest, self.d[i])
        return largest

    cdef void whiten(self, Py_ssize_t[::1] rows, Py_ssize_t count, double[:, ::1] Y) noexcept nogil:
        """Y <- y_i = W b_i for the given rows."""
        cdef Py_ssize_t t, i, j
        cdef double value
        for t in range(count):
            for i in range(self.r):
                value = 0.0
                for j in range(i + 1):
                    value += self.W[i, j] * self.B[rows[t], j]
                Y[t, i] = value


cdef double multiply(Workspace space, double[::1] w, int steps) noexcept nogil:
    """Titterington's steps w_i <- w_i d_i / r, which never lower log det V; the gap reached."""
    cdef Py_ssize_t i
    cdef double r = <double>space.r
    for _ in range(steps):
        if space.factor(w) == -INFINITY:
            return INFINITY
        space.leverage()
        for i in range(space.n):
            w[i] *= space.d[i] / r
    if space.factor(w) == -INFINITY:
        return INFINITY
    return space.leverage() / r - 1.0


def multiplicative(const double[:, ::1] B, double[::1] w, double[::1] d, int steps):
    """Make ``steps`` multiplicative steps on ``w`` in place, write the leverages, return the gap."""
    cdef Workspace space = Workspace(B, d)
    return multiply(space, w, steps)


def newton(const double[:, ::1] B, double[::1] w, double[::1] d, double tol, Py_ssize_t cap,
           int max_steps):
    """Active-set Newton steps on ``w`` in place until max d ≤ r (1 + tol); return the gap.

    One step maximises the quadratic model of f on the candidates C, the support and the rows
    with d > r, at most ``cap`` of them: H_CC x = 2d − r, dropping rows that come out negative.
    Stops early, with the gap it has, when no step improves f any more.
    """
    cdef Workspace space = Workspace(B, d)
    cdef Py_ssize_t n = space.n, i, j, t, kept, nc
    cdef double r = <double>space.r, gap = INFINITY, f, trial, step, total, threshold, one = 1.0, zero = 0.0
    cdef int r_int = <int>space.r, nc_int, one_int = 1, info = 0, step_count, round_, fallbacks = 0
    cdef bint negative
    cdef double best_gap = INFINITY, damping
    cdef Py_ssize_t[::1] C = np.empty(n, dtype=np.intp)
    cdef double[::1] sorted_d = np.empty(n), x = np.empty(n), aim = np.empty(n), w_new = np.empty(n)
    cdef double[:, ::1] Yc = np.empty((min(n, cap), space.r))
    cdef double[::1] H = np.empty(min(n, cap) ** 2)

    with nogil:
        for step_count in range(max_steps):
            f = space.factor(w)
            if f == -INFINITY:
                gap = INFINITY
                break
            gap = space.leverage() / r - 1.0
            if gap <= tol:
                break
            for i in range(n):
                f -= r * w[i]
            # candidates: the support and all violators; when too many, those of largest leverage
            nc = 0
            for i in range(n):
                if w[i] > 0.0 or d[i] > r * (1.0 + 0.5 * tol):
                    C[nc] = i
                    sorted_d[nc] = d[i]
                    nc += 1
            if nc > cap:
                qsort(&sorted_d[0], nc, sizeof(double), descending)
                threshold = sorted_d[cap - 1]
                kept = 0
                for t in range(nc):
                    if d[C[t]] >= threshold and kept < cap:
                        C[kept] = C[t]
                        kept += 1
                nc = kept
            # Twins, and more rows than r(r+1)/2, make H singular. Damping keeps weights near w
            # where the model says nothing; it vanishes with the gap, so the last steps are Newton's.
            damping = 0.1 * min(gap, 1.0) * r * r * r + 1e-11 * r * r
            for round_ in range(12):
                space.whiten(C, nc, Yc)
                for t in range(nc):
                    x[t] = 2.0 * d[C[t]] - r + damping * w[C[t]]
                nc_int = <int>nc
                dsyrk("L", "T", &nc_int, &r_int, &one, &Yc[0, 0], &r_int, &zero, &H[0], &nc_int)
                for t in range(nc):
                    for j in range(t, nc):
                        H[t * nc + j] *= H[t * nc + j]
                    H[t * nc + t] += damping
                dpotrf("L", &nc_int, &H[0], &nc_int, &info)
                if info != 0:
                    break
                dpotrs("L", &nc_int, &one_int, &H[0], &nc_int, &x[0], &nc_int, &info)
                kept = 0
                for t in range(nc):
                    if x[t] > 0.0:
                        x[kept] = x[t]
                        C[kept] = C[t]
                        kept += 1
                negative = kept < nc
                nc = kept
                if not negative or nc < space.r:
                    break
            for i in range(n):
                aim[i] = 0.0
            if info == 0:
                for t in range(nc):
                    aim[C[t]] = x[t]
            step = 1.0 if info == 0 else 0.0
            while step > 1e-3:
                total = 0.0
                for i in range(n):
                    w_new[i] = w[i] + step * (aim[i] - w[i])
                    total += w_new[i]
                trial = space.factor(w_new) - r * total
                if trial >= f - 1e-13 * r:
                    break
                step *= 0.5
            if step > 1e-3 and (trial > f + 1e-14 * r or gap < best_gap):
                best_gap = min(gap, best_gap)
                for i in range(n):
                    w[i] = w_new[i] / total
                continue
            # the model misleads here: blend in every row near the surface and climb slowly
            fallbacks += 1
            if fallbacks > 3:
                break
            total = 0.0
            kept = 0
            for i in range(n):
                if w[i] > 0.0 or d[i] > r * (1.0 - gap):
                    kept += 1
            for i in range(n):
                if w[i] > 0.0 or d[i] > r * (1.0 - gap):
                    w[i] = 0.9 * w[i] + 0.1 / kept
                else:
                    w[i] *= 0.9
                total += w[i]
            for i in range(n):
                w[i] /= total
            multiply(space, w, 30)
            best_gap = INFINITY
        else:
            gap = multiply(space, w, 0)
    return gap
