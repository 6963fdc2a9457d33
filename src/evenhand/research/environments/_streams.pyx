# distutils: extra_compile_args = IN_ORDER
# distutils: libraries = npyrandom
"""The noise of simulated evaluations, one stream per option; `simulated.py` has the notation.

The streams are numpy's: PCG64 and numpy's own normal and chi-squared numbers, called without going
through Python.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_chisquare, random_standard_normal

import numpy as np

cdef enum:
    POWERS = 63  # W is fixed at 2^0 … 2^62: counts are 64-bit

cdef uint64_t ONE = 1
cdef uint64_t EXACT = ONE << 53  # whole numbers up to here are doubles


cdef class Stream:
    """The noise of one option: how far its path W has been read, and what comes next."""

    cdef object generator  # owns what bits points at
    cdef bitgen_t *bits
    cdef double fixed[POWERS]  # W(2^j), known to all
    cdef uint64_t read  # m
    cdef int power  # the least j with m ≤ 2^j
    cdef double path  # W(m)

    def __cinit__(self, seed, option):
        cdef Py_ssize_t j
        cdef double level = 0.0
        child = np.random.SeedSequence(
            seed.entropy, spawn_key=(*seed.spawn_key, option), pool_size=seed.pool_size
        )
        self.generator = np.random.PCG64(child)
        self.bits = <bitgen_t *>PyCapsule_GetPointer(self.generator.capsule, "BitGenerator")
        # deviations of W(1), W(2) − W(1), W(4) − W(2), …
        for j in range(POWERS):
            level += sqrt(<double>(ONE << max(j - 1, 0))) * random_standard_normal(self.bits)
            self.fixed[j] = level
        self.read, self.power, self.path = 0, 0, 0.0

    cdef int batch(self, int64_t n, double *noise, double *scatter) except -1:
        """Leave W(m + n) − W(m) and C of the next n evaluations."""
        cdef uint64_t end = self.read + <uint64_t>n, start
        cdef int j = self.power
        cdef double after, level, share, before = self.path
        while j < POWERS and (ONE << j) < end:
            j += 1  # 2^(j−1) < end ≤ 2^j
        if j == POWERS:
            raise OverflowError("more than 2^62 evaluations of one option")
        after = self.fixed[j]
        if end < ONE << j:
            # the bridge to 2^j starts at the last known time: where we are, or 2^(j−1)
            start, level = self.read, before
            if self.read < ONE << (j - 1):
                start, level = ONE << (j - 1), self.fixed[j - 1]
            share = quotient(end - start, (ONE << j) - start)
            after = level + share * (after - level) + (
                sqrt(share * <double>((ONE << j) - end)) * random_standard_normal(self.bits)
            )
        self.read, self.power, self.path = end, j, after
        noise[0] = after - before
        scatter[0] = random_chisquare(self.bits, <double>(n - 1)) if n > 1 else 0.0
        return 0


cdef double quotient(uint64_t a, uint64_t b) except -1.0:
    """Return a / b, rounded once, however large they are."""
    if b <= EXACT:
        return <double>a / <double>b
    return int(a) / int(b)


cdef class Streams:
    """The evaluations of all options.

    Parameters
    ----------
    seed
        A `numpy.random.SeedSequence`.
    means
        (k,) means of the evaluations.
    noise_scale
        σ.
    """

    def __init__(self, seed, means, double noise_scale):
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.noise_scale = noise_scale
        self.variance = noise_scale * noise_scale
        self.seed = seed
        self.streams = [None] * self.means.shape[0]

    cdef int draw(self, Py_ssize_t x, int64_t n, double *total, double *squares) except -1:
        """Leave the sum and the sum of squares of the next n ≥ 1 evaluations of option x."""
        cdef double noise, scatter
        cdef Stream stream
        cdef object known = self.streams[x]
        if known is None:
            known = self.streams[x] = Stream(self.seed, x)
        stream = <Stream>known
        stream.batch(n, &noise, &scatter)
        total[0] = <double>n * self.means[x] + self.noise_scale * noise
        squares[0] = total[0] * total[0] / <double>n + self.variance * scatter
        return 0

    def evaluate(self, const int64_t[::1] counts, double[::1] sums, double[::1] squares):
        """Write the sums and sums of squares of the options that are counted."""
        cdef Py_ssize_t x, k = self.means.shape[0]
        if counts.shape[0] != k or sums.shape[0] != k or squares.shape[0] != k:
            raise ValueError("shapes do not fit")
        for x in range(k):
            if counts[x] > 0:
                self.draw(x, counts[x], &sums[x], &squares[x])
