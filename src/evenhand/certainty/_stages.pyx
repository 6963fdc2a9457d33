"""An order of questions, each next one that which lessens the variances of leads most."""

import numpy as np

from libc.math cimport INFINITY, floor, pow

cdef extern from "numerics/_ties.h" nogil:
    Py_ssize_t first_largest(const double *entries, Py_ssize_t n)


def dealt(
    const double[:, ::1] P,
    double[:, ::1] inverse,
    double[:, ::1] S,
    double[::1] f,
    double[::1] lever,
    const double[::1] share,
    const double[::1] price,
    const long long[::1] asked,
    const long long[::1] left,
    const long long[::1] peers,
    Py_ssize_t length,
    double lean,
    double stays,
):
    """Return ``length`` points, or fewer if there are no more, in an order that is good early on.

    ``inverse`` is V⁻¹ before the first, S_ax = aᵀV⁻¹u_x, f_x = u_xᵀV⁻¹u_x, lever_a = 1 + aᵀV⁻¹a:
    one more of a lessens f_x by S_ax²/lever_a. These follow by rank-one corrections, in place. The
    next is the point of largest Σ_x f_x^lean S_ax²/lever_a for its price, by which Σ f^(1 + lean)
    falls. See `shares` for ``peers`` and what ``stays``.
    """
    cdef Py_ssize_t q = P.shape[0], n = S.shape[1], r = P.shape[1], a, x, i, j, t, chosen
    cdef Py_ssize_t groups = np.max(peers, initial=-1) + 1
    cdef double[::1] gain = np.empty(q), weight = np.empty(n), z = np.zeros(r), s = np.zeros(n)
    cdef double[::1] shares = np.zeros(groups), of_peers = np.zeros(groups)
    cdef long long[::1] have = np.array(asked), room = np.array(left)
    cdef Py_ssize_t open_ = np.count_nonzero(left)
    order_ = np.empty(length, dtype=np.int64)
    cdef long long[::1] order = order_
    cdef double most, size = 1.0, beside, again
    with nogil:
        for a in range(q):
            shares[peers[a]] += share[a]
            of_peers[peers[a]] += have[a]
        for t in range(length):
            if open_ == 0:
                length = t
                break
            most = 0.0
            for x in range(n):
                f[x] -= s[x] * s[x] / size
                most = f[x] if f[x] > most else most
            for x in range(n):
                weight[x] = pow(f[x] / most, lean) if f[x] > 0.0 else 0.0
            for a in range(q):
                beside = 0.0
                for i in range(r):
                    beside += P[a, i] * z[i]
                for x in range(n):
                    S[a, x] -= beside / size * s[x]
                lever[a] = max(lever[a] - beside / size * beside, 1.0)
                gain[a] = -INFINITY
                if room[a] > 0:
                    gain[a] = 0.0
                    for x in range(n):
                        gain[a] += S[a, x] * S[a, x] * weight[x]
                    again = floor(share[a] / shares[peers[a]] * of_peers[peers[a]] + 1e-9)
                    again = max(have[a] - again, 0.0)
                    gain[a] /= (1.0 + stays * again) * (1.0 + stays * (again + 1.0))
                    gain[a] /= lever[a] * price[a]
            chosen = first_largest(&gain[0], q)
            size = lever[chosen]
            s[:] = S[chosen]
            for i in range(r):
                z[i] = 0.0
                for j in range(r):
                    z[i] += inverse[i, j] * P[chosen, j]
            for i in range(r):
                for j in range(r):
                    inverse[i, j] -= z[i] * z[j] / size
            order[t] = chosen
            have[chosen] += 1
            of_peers[peers[chosen]] += 1.0
            room[chosen] -= 1
            open_ -= room[chosen] == 0
    return order_[:length]
