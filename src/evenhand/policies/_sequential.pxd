"""What other kernels may use; `_sequential.pyx` says what it is."""


cdef class Regression:
    cdef readonly Py_ssize_t k, m
    cdef const double[:, ::1] rows
    cdef double[:, ::1] root
    cdef double[::1] theta, f, g
    cdef public double log_det
    cdef double widest
    cdef double predicted(self, Py_ssize_t x) noexcept nogil
    cdef double leverage(self, const double *row) noexcept nogil
    cdef double add(self, Py_ssize_t x, double n, double total) noexcept nogil
    cdef void multiply(self, const double *row) noexcept nogil


cdef class Ledger:
    cdef readonly object bounds, pulls, counts, sums, room
    cdef readonly Regression regression
    cdef double bound
    cdef double[::1] _bounds, _sums, _room
    cdef long long[::1] _pulls, _counts
    cdef public double scatter, charge, limit, scale, until
    cdef public long long spent
    cdef double budget(self, double t) noexcept nogil
    cdef void hear(self, Py_ssize_t x, long long n, double total, double squares) noexcept nogil
    cdef bint admits_items(self, const Py_ssize_t *items, const long long *pulls, Py_ssize_t n) noexcept nogil
    cdef void record_item(self, Py_ssize_t x, long long n, double total, double squares, bint charged) noexcept nogil


cdef class Stepper:
    cdef public Ledger ledger
    cdef readonly Py_ssize_t k
    cdef Py_ssize_t n_items
    cdef Py_ssize_t[::1] items
    cdef long long[::1] pulls
    cdef bint proposed
    cdef int propose(self, long long remaining) except -1
    cdef int select(self, long long remaining) except -1
    cdef int choose(self, long long remaining) except -1
    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1
    cdef double expected(self, Py_ssize_t x) except? -1.0
    cdef int suppose(self, Py_ssize_t x, long long n) except -1


cdef class RegressionStepper(Stepper):
    cdef readonly Regression regression
    cdef readonly object counts, sums
    cdef long long[::1] _counts
    cdef double[::1] _sums
    cdef readonly long long told
    cdef void count(self, Py_ssize_t x, long long n, double total) noexcept nogil
