"""What other kernels may use."""

cdef int invert(const double[:, ::1] P, Py_ssize_t[::1] basis, double[:, ::1] Binv,
                int[::1] ipiv, double[::1] work) noexcept nogil
