"""One pass over all rows at the speed of memory."""

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
