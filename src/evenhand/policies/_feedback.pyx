"""The check that every tell and observe makes, compiled: it runs once for every allocation."""

from libc.math cimport INFINITY, fabs, sqrt


def first_misfit(const long long[::1] most, const long long[::1] counts,
                 const double[::1] sums, const double[::1] squares):
    """Return the first option whose feedback cannot be right, or -1.

    Right is: 0 or more evaluations, at most so many; none, then sums of zero; otherwise
    |sum| ≤ √(count · sum of squares) (Cauchy and Schwarz), both finite. A NaN fails everything.
    """
    cdef Py_ssize_t x
    for x in range(most.shape[0]):
        if counts[x] > most[x] or counts[x] < 0:
            return x
        if counts[x] == 0:
            if not (sums[x] == 0.0 and squares[x] == 0.0):
                return x
        elif not (squares[x] >= 0.0 and squares[x] < INFINITY and
                  fabs(sums[x]) <= sqrt(squares[x]) * sqrt(<double>counts[x]) * (1.0 + 1e-9)):
            return x
    return -1
