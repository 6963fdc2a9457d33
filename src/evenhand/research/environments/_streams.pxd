"""What the simulation's loop uses; `_streams.pyx` says what it is."""

from libc.stdint cimport int64_t


cdef class Streams:
    cdef object seed
    cdef list streams
    cdef const double[::1] means
    cdef double noise_scale, variance
    cdef int draw(self, Py_ssize_t x, int64_t n, double *total, double *squares) except -1
