"""Bases chosen among rows: rows that span all others, and rows that dominate them."""

import numpy as np

from libc.float cimport DBL_MAX
from libc.math cimport fabs, frexp, ldexp
from scipy.linalg.cython_lapack cimport dgetrf, dgetri

cdef enum:
    MOST = 1000  # exponent of a unit: beyond, numbers are too small for floats beside others


cdef int invert(const double[:, ::1] P, Py_ssize_t[::1] basis, double[:, ::1] Binv,
                int[::1] ipiv, double[::1] work) noexcept nogil:
    """Binv <- inverse of the matrix whose rows are the basis rows."""
    cdef int r = <int>basis.shape[0], info = 0, lwork = <int>work.shape[0]
    cdef Py_ssize_t i, j
    for i in range(r):
        for j in range(r):
            Binv[i, j] = P[basis[i], j]
    # LAPACK sees the transpose; the inverse of the transpose is the transpose of the inverse.
    dgetrf(&r, &r, &Binv[0, 0], &r, &ipiv[0], &info)
    if info == 0:
        dgetri(&r, &Binv[0, 0], &r, &ipiv[0], &work[0], &lwork, &info)
    return info


def equilibrated(const double[:, ::1] points, const Py_ssize_t[::1] sample):
    """Return the sampled rows in units that make them comparable, and the exponents of columns.

    Columns, then rows, are divided by powers of two, which rounds nothing: the largest entry of
    each lies between 1 and 2. The first is None where an entry is not finite. A column of zeros
    has exponent 0.
    """
    cdef Py_ssize_t n = sample.shape[0], m = points.shape[1], i, j, x
    cdef int exponent = 0
    cdef double value, largest, unit
    cdef bint finite = True
    S_array, exponents_array = np.empty((n, m)), np.zeros(m, dtype=np.intc)
    cdef double[:, ::1] S = S_array
    cdef int[::1] exponents = exponents_array
    cdef double[::1] sizes = np.zeros(m), units = np.ones(m)
    with nogil:
        for i in range(n):
            x = sample[i]
            for j in range(m):
                value = fabs(points[x, j])
                if not value <= DBL_MAX:
                    finite = False
                if value > sizes[j]:
                    sizes[j] = value
        for j in range(m):
            if sizes[j] > 0.0:
                frexp(sizes[j], &exponent)
                exponents[j] = exponent - 1
                units[j] = ldexp(1.0, -exponents[j])
        for i in range(n):
            x = sample[i]
            largest = 0.0
            for j in range(m):
                value = points[x, j] * units[j]
                S[i, j] = value
                if fabs(value) > largest:
                    largest = fabs(value)
            if largest > 0.0:
                frexp(largest, &exponent)
                unit = ldexp(1.0, min(1 - exponent, MOST))
                for j in range(m):
                    S[i, j] *= unit
    return S_array if finite else None, exponents_array


def eliminate(double[:, ::1] S, Py_ssize_t n_rows, double least, Py_ssize_t[::1] rows,
              Py_ssize_t[::1] columns, Py_ssize_t taken):
    """Eliminate with complete pivoting, in place, while a pivot exceeds ``least``.

    Pivots are sought in the first ``n_rows`` rows; their places are written into ``rows`` and
    ``columns`` behind the ``taken`` ones that are there. Rows and columns that are spent become
    zero. Returns how many pivots there are now, and the largest entry that is left.
    """
    cdef Py_ssize_t n = S.shape[0], m = S.shape[1], i, j, p, q
    cdef double largest, factor, pivot
    with nogil:
        while True:
            largest = 0.0
            p = q = -1
            for i in range(n_rows):
                for j in range(m):
                    if fabs(S[i, j]) > largest:
                        largest = fabs(S[i, j])
                        p = i
                        q = j
            if largest <= least:
                break
            pivot = 1.0 / S[p, q]
            for i in range(n):
                if i != p and S[i, q] != 0.0:
                    factor = S[i, q] * pivot
                    for j in range(m):
                        S[i, j] -= factor * S[p, j]
                S[i, q] = 0.0
            for j in range(m):
                S[p, j] = 0.0
            rows[taken] = p
            columns[taken] = q
            taken += 1
            if taken == m:
                largest = 0.0
                break
    return taken, largest


def dominant_basis(double[:, ::1] P, Py_ssize_t[::1] basis, double limit):
    """Exchange basis rows until every row of P is a combination with weights at most ``limit``.

    Rows of P become those weights; the basis is changed in place. Each exchange multiplies the
    volume that the basis spans by more than ``limit``, so there is an end to it. Rows of very
    different lengths then have coordinates of order one.
    """
    cdef Py_ssize_t n = P.shape[0], r = P.shape[1], i, j, x, at = 0
    cdef double largest, pivot, value
    cdef double[::1] row = np.empty(r)
    cdef double[:, ::1] Binv = np.empty((r, r))
    cdef double[::1] work = np.empty(64 * max(r, 1))
    cdef int[::1] ipiv = np.empty(r, dtype=np.intc)
    cdef bint singular = False
    with nogil:
        if r > 0 and invert(P, basis, Binv, ipiv, work) != 0:
            singular = True
        elif r > 0:
            for x in range(n):
                for j in range(r):
                    row[j] = 0.0
                for i in range(r):
                    value = P[x, i]
                    for j in range(r):
                        row[j] += value * Binv[i, j]
                for j in range(r):
                    P[x, j] = row[j]
            while True:
                largest = limit
                x = -1
                for i in range(n):
                    for j in range(r):
                        if fabs(P[i, j]) > largest:
                            largest = fabs(P[i, j])
                            x = i
                            at = j
                if x < 0:
                    break
                pivot = 1.0 / P[x, at]
                for j in range(r):
                    row[j] = P[x, j]
                row[at] -= 1.0
                for i in range(n):
                    value = P[i, at] * pivot
                    if value != 0.0:
                        for j in range(r):
                            P[i, j] -= value * row[j]
                basis[at] = x
    if singular:
        raise ValueError("the basis rows are dependent")
