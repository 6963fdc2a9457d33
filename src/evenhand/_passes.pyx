"""One pass over all rows at the speed of memory, and a basis from a few of them."""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "_passes.h" nogil:
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)
    Py_ssize_t beyond(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u,
                      const double *s, Py_ssize_t *found, double *values)

cdef enum:
    ROWS = 32  # as in _passes.h


def squared_norms_into(const double[:, ::1] rows, const double[:, ::1] W, double[::1] out):
    """Write ``‖W a‖²`` for every row ``a``; zeros at the right of a row of W cost nothing."""
    cdef Py_ssize_t k = rows.shape[0], m = rows.shape[1], r = W.shape[0], i, j
    if W.shape[1] != m or out.shape[0] != k:
        raise ValueError("shapes do not fit")
    if k == 0 or r == 0:
        out[:] = 0.0
        return
    cdef double *turned = <double *>malloc(m * ROWS * sizeof(double))
    cdef Py_ssize_t *length = <Py_ssize_t *>malloc(r * sizeof(Py_ssize_t))
    if turned == NULL or length == NULL:
        free(turned)
        free(length)
        raise MemoryError
    with nogil:
        memset(turned, 0, m * ROWS * sizeof(double))
        for i in range(r):
            j = m
            while j > 0 and W[i, j - 1] == 0.0:
                j -= 1
            length[i] = j
        squared_norms(&rows[0, 0], k, m, &W[0, 0], r, length, turned, &out[0])
    free(turned)
    free(length)


def products_into(const double[:, ::1] rows, const double[::1] u, double[::1] out):
    """Write ``a·u`` for every row ``a``."""
    cdef Py_ssize_t k = rows.shape[0], m = rows.shape[1]
    if u.shape[0] != m or out.shape[0] != k:
        raise ValueError("shapes do not fit")
    if k == 0 or m == 0:
        out[:] = 0.0
        return
    with nogil:
        products(&rows[0, 0], k, m, &u[0], &out[0])


def rows_beyond(const double[:, ::1] rows, const double[::1] u, const double[::1] s):
    """Return the indices of the rows with |a·u| > s, or not a number, and the products a·u.

    ``s`` may be None: then it is one for every row.
    """
    cdef Py_ssize_t k = rows.shape[0], m = rows.shape[1], n
    if u.shape[0] != m or (s is not None and s.shape[0] != k):
        raise ValueError("shapes do not fit")
    # reserved for the worst case; memory is used only for what is found
    found_array, values_array = np.empty(k, dtype=np.intp), np.empty(k)
    cdef Py_ssize_t[::1] found = found_array
    cdef double[::1] values = values_array
    if k == 0:
        return found_array, values_array
    cdef const double *limits = NULL if s is None else &s[0]
    with nogil:
        n = beyond(&rows[0, 0], k, m, &u[0], limits, &found[0], &values[0])
    return found_array[:n].copy(), values_array[:n].copy()


def spanning_rows(const double[:, ::1] points, const Py_ssize_t[::1] sample,
                  Py_ssize_t n_leading, double tol):
    """Return places in ``sample`` of rows that span the sample, how many lead, and column scales.

    Pivoted Gram–Schmidt on rows of length one, columns divided by their largest magnitude: takes
    the row farthest from the span so far, first among the ``n_leading`` rows at the top until
    they are spent, then among all.
    """
    cdef Py_ssize_t n = sample.shape[0], m = points.shape[1], i, j, pick, limit
    cdef Py_ssize_t taken = 0, leading = 0
    cdef double value, norm, inverse
    cdef bint leads = True
    scales_array = np.zeros(m)
    basis_array = np.empty(min(n, m), dtype=np.intp)
    cdef double[::1] scales = scales_array, left = np.empty(n), direction = np.empty(m)
    cdef double[:, ::1] U = np.empty((n, m))
    cdef Py_ssize_t[::1] basis = basis_array
    with nogil:
        for i in range(n):
            for j in range(m):
                value = points[sample[i], j]
                U[i, j] = value
                if not fabs(value) <= scales[j]:  # so that NaN gets through to the caller
                    scales[j] = fabs(value)
        for j in range(m):
            if scales[j] == 0.0:
                scales[j] = 1.0
        for i in range(n):
            norm = 0.0
            for j in range(m):
                U[i, j] /= scales[j]
                norm += U[i, j] * U[i, j]
            left[i] = 0.0
            if norm > 0.0:
                inverse = 1.0 / sqrt(norm)
                for j in range(m):
                    U[i, j] *= inverse
                left[i] = 1.0
        limit = n_leading
        while taken < basis.shape[0]:
            pick = -1
            norm = tol * tol
            for i in range(limit):
                if left[i] > norm:
                    norm = left[i]
                    pick = i
            if pick < 0:
                if not leads:
                    break
                leads = False
                leading = taken
                limit = n
                continue
            basis[taken] = pick
            taken += 1
            inverse = 1.0 / sqrt(norm)
            for j in range(m):
                direction[j] = U[pick, j] * inverse
            for i in range(n):
                value = 0.0
                for j in range(m):
                    value += U[i, j] * direction[j]
                norm = 0.0
                for j in range(m):
                    U[i, j] -= value * direction[j]
                    norm += U[i, j] * U[i, j]
                left[i] = norm
            left[pick] = 0.0
    return basis_array[:taken], taken if leads else leading, scales_array
