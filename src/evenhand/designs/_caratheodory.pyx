"""Carathéodory's cut: fewer rows, the same second moments.

The moments Σ w_i y_i y_iᵀ live in a space of p = r(r+1)/2 dimensions, so at most p rows can carry
them, and fewer where the moments are dependent: an intercept, dummies or ±1 columns make some
moments combinations of others. Scale row i of the moment matrix S by w_i; then every row has
weight one. Gaussian elimination picks a basis of rows, skipping columns that depend on earlier
ones, and writes each other row as a combination t of the basis (the tableau). Rows outside the
basis are emptied one by one: either the basis takes all of a row's weight, or some weight reaches
zero on the way, and the row takes that place in the basis.

Products are taken in blocks, by matrix products.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from scipy.linalg.cython_blas cimport dgemm, dtrsm

cdef enum:
    BLOCK = 48  # columns eliminated, and rows emptied, between two matrix products


def moment_tableau(const double[:, ::1] Y, const double[::1] w, double dependent):
    """Return (basis, others, T): row others[j] of the moments = Σ T[j, i] row basis[i].

    A column whose entries all fall below ``dependent``, as a share of the largest moment, once
    the basis so far is taken out of it, adds no dimension.
    """
    cdef Py_ssize_t n = Y.shape[0], r = Y.shape[1], p = r * (r + 1) // 2
    cdef Py_ssize_t x, i, j, c, later, at, first, stop, rank = 0
    cdef int n_int = <int>n, q, rest, trailing
    cdef double one = 1.0, minus = -1.0, root2 = sqrt(2.0), value, largest, floor = 0.0
    cdef double[:, ::1] S = np.empty((p, n))  # BLAS reads columns: the (n, p) moment matrix
    L_array = np.empty((min(n, p), n))
    cdef double[:, ::1] L = L_array
    order_array = np.arange(n)
    cdef Py_ssize_t[::1] order = order_array
    with nogil:
        c = 0
        for i in range(r):
            for j in range(i + 1):
                value = 1.0 if i == j else root2
                for x in range(n):
                    S[c, x] = value * w[x] * Y[x, i] * Y[x, j]
                    floor = max(floor, fabs(S[c, x]))
                c += 1
        floor *= dependent
        stop = 0
        while stop < p and rank < n:
            c = stop
            stop = min(stop + BLOCK, p)
            first = rank
            while c < stop and rank < n:
                at = rank
                largest = 0.0
                for x in range(rank, n):
                    if fabs(S[c, x]) > largest:
                        largest = fabs(S[c, x])
                        at = x
                if largest > floor:
                    if at != rank:
                        order[at], order[rank] = order[rank], order[at]
                        for j in range(c, p):
                            S[j, at], S[j, rank] = S[j, rank], S[j, at]
                        for j in range(rank):
                            L[j, at], L[j, rank] = L[j, rank], L[j, at]
                    value = 1.0 / S[c, rank]
                    for x in range(rank + 1, n):
                        L[rank, x] = S[c, x] * value
                    for later in range(c + 1, stop):
                        value = S[later, rank]
                        if value != 0.0:
                            for x in range(rank + 1, n):
                                S[later, x] -= value * L[rank, x]
                    rank += 1
                c += 1
            q, rest, trailing = <int>(rank - first), <int>(n - rank), <int>(p - stop)
            if q > 0 and rest > 0 and trailing > 0:
                dtrsm("L", "L", "N", "U", &q, &trailing, &one, &L[first, first], &n_int,
                      &S[stop, first], &n_int)
                dgemm("N", "N", &rest, &trailing, &q, &minus, &L[first, rank], &n_int,
                      &S[stop, first], &n_int, &one, &S[stop, rank], &n_int)
        q, rest = <int>rank, <int>(n - rank)
        if q > 0 and rest > 0:
            dtrsm("R", "L", "N", "U", &rest, &q, &one, &L[0, 0], &n_int, &L[0, rank], &n_int)
    T = np.ascontiguousarray(L_array[:rank, rank:].T)
    return order_array[:rank], order_array[rank:], T


def empty_rows(double[:, ::1] T, double[::1] weights, Py_ssize_t[::1] place,
               const double[::1] others, double growth):
    """Move the weight of all rows of T to the basis, in place, without raising the total weight.

    ``weights`` holds the weights of the basis, ``others`` those of the rows of T. ``place[i]`` is
    set to j where row j has taken the i-th place of the basis, and left alone elsewhere.

    A row may give its weight to the basis or take weight from it; one of the two does not raise
    the total. Where neither moves it by more than ``growth``, the larger pivot is taken.
    """
    cdef Py_ssize_t n = T.shape[0], p = T.shape[1], start, stop, j, i, l, s, q, up, down, chosen
    cdef double most, least, share, value, z, raised
    cdef double[:, ::1] R = np.empty((BLOCK, p)), Z = np.empty((max(n, 1), BLOCK))
    cdef double[::1] pivots = np.empty(BLOCK), basic = np.ones(p), scales = np.array(weights)
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
                # Row j may give up to `most` of its weight away or take up to `least` more;
                # giving one unit raises the total by `raised`.
                most = INFINITY
                least = INFINITY
                raised = -others[j]
                up = -1
                down = -1
                for i in range(p):
                    value = T[j, i]
                    raised += value * scales[i]
                    if value < -1e-12:
                        if basic[i] < -most * value:
                            most = -basic[i] / value
                            up = i
                    elif value > 1e-12:
                        if basic[i] < least * value:
                            least = basic[i] / value
                            down = i
                if down < 0 or min(most, 1.0) * raised <= growth:
                    if most >= 1.0:
                        for i in range(p):
                            basic[i] = max(basic[i] + T[j, i], 0.0)
                        continue
                    chosen = up
                    if down >= 0 and T[j, down] > -T[j, up] and -least * raised <= growth:
                        chosen = down
                else:
                    chosen = down
                share = most if chosen == up else -least
                for i in range(p):
                    basic[i] = max(basic[i] + share * T[j, i], 0.0)
                basic[chosen] = 1.0 - share
                scales[chosen] = others[j]
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
        for i in range(p):
            weights[i] = basic[i] * scales[i]
