"""One pass over all rows at the speed of memory."""

import numpy as np

from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef extern from "numerics/_passes.h" nogil:
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)
    void products(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u, double *out)
    Py_ssize_t beyond(const double *A, Py_ssize_t k, Py_ssize_t m, const double *u,
                      const double *s, Py_ssize_t *found, double *values)

cdef enum:
    ROWS = 32  # as in numerics/_passes.h


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
