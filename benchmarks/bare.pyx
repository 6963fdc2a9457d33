"""A loop that plays options and does nothing else: what `sequential.py` measures policies by."""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal

cdef extern from "policies/_index.h" nogil:
    enum: LANES
    Py_ssize_t follow(const double *T, Py_ssize_t k, Py_ssize_t w, const double *g, double move,
                      double fall, double beta, double *mean, double *leverage, double *index)


def bare_steps(rows, values, int64_t steps, double beta, seed):
    """Return how often each row is played by a loop that does nothing else: a yardstick.

    Sherman and Morrison's update of V⁻¹, one normal number, and the pass over all options, with
    a width that stays the same. Nothing is kept, checked or reported.
    """
    cdef Py_ssize_t k = len(rows), m = rows.shape[1], padded = (k + LANES - 1) // LANES * LANES
    cdef Py_ssize_t x = 0, i, j
    cdef int64_t step
    cdef const double[:, ::1] A = np.ascontiguousarray(rows, dtype=np.float64)
    cdef const double[::1] truth = np.ascontiguousarray(values, dtype=np.float64)
    columns = np.zeros((m, padded))
    columns[:, :k] = np.transpose(rows)
    means, leverages = np.full(padded, -np.inf), np.zeros(padded)
    means[:k], leverages[:k] = 0.0, (np.asarray(rows) ** 2).sum(axis=1)
    cdef double[:, ::1] T = columns, inverse = np.eye(m)
    cdef double[::1] mean = means, leverage = leverages, index = np.zeros(padded)
    cdef double[::1] g = np.zeros(m), theta = np.zeros(m)
    counts = np.zeros(k, dtype=np.int64)
    cdef int64_t[::1] played = counts
    generator = np.random.PCG64(np.random.SeedSequence(seed))
    cdef bitgen_t *bits = <bitgen_t *>PyCapsule_GetPointer(generator.capsule, "BitGenerator")
    cdef double lev, fitted, move, scaled, total
    for step in range(steps):
        lev = fitted = 0.0
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += inverse[i, j] * A[x, j]
            g[i] = total
            lev += A[x, i] * total
            fitted += A[x, i] * theta[i]
        move = (truth[x] + random_standard_normal(bits) - fitted) / (1.0 + lev)
        for i in range(m):
            scaled = g[i] / (1.0 + lev)
            theta[i] += move * g[i]
            for j in range(m):
                inverse[i, j] -= scaled * g[j]
        played[x] += 1
        x = follow(&T[0, 0], padded, m, &g[0], move, 1.0 / (1.0 + lev), beta, &mean[0],
                   &leverage[0], &index[0])
    return counts
