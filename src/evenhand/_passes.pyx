"""One pass over all rows at the speed of memory, and a basis from a few of them."""

import numpy as np

from libc.math cimport sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "_passes.h" nogil:
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)

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


def spanning_rows(double[:, ::1] U, Py_ssize_t n_leading, double tol):
    """Return indices of rows that span all rows of U, and how many of them are leading ones.

    Pivoted Gram–Schmidt: takes the row farthest from the span so far, first among the
    ``n_leading`` rows at the top until they are spent, then among all. U, whose rows should have
    length one or zero, is overwritten with what is left of them.
    """
    cdef Py_ssize_t n = U.shape[0], q = U.shape[1], i, j, pick, limit, taken = 0, leading = 0
    cdef double value, norm, inverse
    cdef double[::1] left = np.empty(n), direction = np.empty(q)
    basis_array = np.empty(min(n, q), dtype=np.intp)
    cdef Py_ssize_t[::1] basis = basis_array
    with nogil:
        for i in range(n):
            norm = 0.0
            for j in range(q):
                norm += U[i, j] * U[i, j]
            left[i] = norm
        limit = n_leading
        while taken < basis.shape[0]:
            pick = -1
            norm = tol * tol
            for i in range(limit):
                if left[i] > norm:
                    norm = left[i]
                    pick = i
            if pick < 0:
                if limit == n:
                    break
                limit = n
                leading = taken
                continue
            basis[taken] = pick
            taken += 1
            inverse = 1.0 / sqrt(norm)
            for j in range(q):
                direction[j] = U[pick, j] * inverse
            for i in range(n):
                value = 0.0
                for j in range(q):
                    value += U[i, j] * direction[j]
                norm = 0.0
                for j in range(q):
                    U[i, j] -= value * direction[j]
                    norm += U[i, j] * U[i, j]
                left[i] = norm
            left[pick] = 0.0
    return basis_array[:taken], taken if limit < n else leading
