"""Carathéodory's cut: fewer rows, the same second moments.

The moments Σ w_i y_i y_iᵀ live in a space of p = r(r+1)/2 dimensions, so at most p rows can carry
them. Scale row i of the moment matrix by w_i; then every row has weight one. Gaussian elimination
picks a basis of rows and writes each other row as a combination t of them (the tableau). Rows
outside the basis are emptied one by one: either the basis takes all of a row's weight, or some
basic weight reaches zero on the way, and the row takes that place in the basis.

The pivots are applied to the rows still to come in blocks, by matrix products.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from scipy.linalg.cython_blas cimport dgemm, dtrsm
from scipy.linalg.cython_lapack cimport dgetrf

cdef enum:
    BLOCK = 48


def moment_tableau(const double[:, ::1] Y, const double[::1] w):
    """Return (basis, others, T, smallest pivot): row others[j] = Σ T[j, i] row basis[i]."""
    cdef Py_ssize_t n = Y.shape[0], r = Y.shape[1], p = r * (r + 1) // 2, x, i, j, c
    cdef int n_int = <int>n, p_int = <int>p, rest = <int>(n - p), info = 0
    cdef double one = 1.0, pivot, smallest = INFINITY, largest = 0.0, root2 = sqrt(2.0)
    S_array = np.empty((p, n))  # read by LAPACK as the (n, p) moment matrix
    cdef double[:, ::1] S = S_array
    cdef int[::1] ipiv = np.empty(p, dtype=np.intc)
    with nogil:
        c = 0
        for i in range(r):
            for j in range(i + 1):
                pivot = 1.0 if i == j else root2
                for x in range(n):
                    S[c, x] = pivot * w[x] * Y[x, i] * Y[x, j]
                c += 1
        dgetrf(&n_int, &p_int, &S[0, 0], &n_int, &ipiv[0], &info)
        for c in range(p):
            pivot = fabs(S[c, c])
            smallest = min(smallest, pivot)
            largest = max(largest, pivot)
        if smallest > 0.0:
            dtrsm("R", "L", "N", "U", &rest, &p_int, &one, &S[0, 0], &n_int, &S[0, p], &n_int)
    order = np.arange(n)
    for c in range(p):
        if ipiv[c] - 1 != c:
            order[c], order[ipiv[c] - 1] = order[ipiv[c] - 1], order[c]
    T = np.ascontiguousarray(S_array[:, p:].T)
    return order[:p], order[p:], T, smallest / largest if largest > 0.0 else 0.0


def empty_rows(double[:, ::1] T, double[::1] basic, Py_ssize_t[::1] place):
    """Move all weight (one for each row of T) to the basis, in place.

    ``basic`` holds the weights of the basis, ones at the start. ``place[i]`` is set to j where row j
    of T has taken the i-th place of the basis, and left alone elsewhere.
    """
    cdef Py_ssize_t n = T.shape[0], p = T.shape[1], start, stop, j, i, l, s, q, up, down, chosen
    cdef double most, least, share, value, z
    cdef double[:, ::1] R = np.empty((BLOCK, p)), Z = np.empty((max(n, 1), BLOCK))
    cdef double[::1] pivots = np.empty(BLOCK)
    cdef Py_ssize_t[::1] columns = np.empty(BLOCK, dtype=np.intp)
    cdef int p_int = <int>p, later, q_int, lda = BLOCK
    cdef double minus = -1.0, one = 1.0
    with nogil:
        stop = 0
        while stop < n:
            start = stop
            stop = min(start + BLOCK, n)
            q = 0
            for j in range(start, stop):
                # the weight of row j may fall to `most` less or rise by `least`
                most = INFINITY
                least = INFINITY
                up = -1
                down = -1
                for i in range(p):
                    value = T[j, i]
                    if value < -1e-12:
                        if basic[i] < -most * value:
                            most = -basic[i] / value
                            up = i
                    elif value > 1e-12:
                        if basic[i] < least * value:
                            least = basic[i] / value
                            down = i
                if most >= 1.0:
                    for i in range(p):
                        basic[i] += T[j, i]
                        if basic[i] < 0.0:
                            basic[i] = 0.0
                    continue
                if down >= 0 and fabs(T[j, down]) > fabs(T[j, up]):
                    chosen = down
                    share = -least
                else:
                    chosen = up
                    share = most
                for i in range(p):
                    basic[i] += share * T[j, i]
                    if basic[i] < 0.0:
                        basic[i] = 0.0
                basic[chosen] = 1.0 - share
                place[chosen] = j
                for i in range(p):
                    R[q, i] = T[j, i]
                R[q, chosen] -= 1.0
                pivots[q] = 1.0 / T[j, chosen]
                columns[q] = chosen
                for l in range(j + 1, stop):
                    z = T[l, chosen] * pivots[q]
                    if z != 0.0:
                        for i in range(p):
                            T[l, i] -= z * R[q, i]
                q += 1
            later = <int>(n - stop)
            if q == 0 or later == 0:
                continue
            for l in range(stop, n):
                for s in range(q):
                    value = T[l, columns[s]]
                    for i in range(s):
                        value -= Z[l, i] * R[i, columns[s]]
                    Z[l, s] = value * pivots[s]
            q_int = <int>q
            dgemm("N", "N", &p_int, &later, &q_int, &minus, &R[0, 0], &p_int, &Z[stop, 0], &lda,
                  &one, &T[stop, 0], &p_int)
