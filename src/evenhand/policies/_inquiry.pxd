"""What other kernels may use; `_inquiry.pyx` says what it is."""

from evenhand.policies._sequential cimport Regression


cdef class Inquiry:
    cdef const Py_ssize_t[::1] starts, places, opening, turn
    cdef const double[::1] prices
    cdef double[::1] target
    cdef readonly Py_ssize_t n_options
    cdef Py_ssize_t first(self, const long long[::1] counts) noexcept nogil
    cdef Py_ssize_t about(self, Py_ssize_t option, const double *h, Py_ssize_t w,
                          Regression regression, const long long[::1] counts) noexcept nogil
