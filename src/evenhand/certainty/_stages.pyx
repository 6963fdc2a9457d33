"""Designs of stages: the proportions that settle all rivals soonest, and an order for them.

The worst of f_x(w) = u_xᵀV(w)⁻¹u_x over directions u is minimised over weights w of points p by
multiplicative steps on both sides of the saddle: w_p ∝ w_p √(pᵀV⁻¹(Σ λ_x u_x u_xᵀ)V⁻¹p), as for a
design that is optimal on average over λ, and λ_x ∝ λ_x f_x, which leans on the worst direction.
The best w on the way is kept. An order of points lessens Σ f³, one after the other: max f would not
do, since where two of them tie it is lessened by no single point, or only by one that tells of
both. Nothing that is certain rests on either.
"""

import numpy as np

from libc.math cimport INFINITY, floor, sqrt

cdef extern from "numerics/_ties.h" nogil:
    Py_ssize_t first_largest(const double *entries, Py_ssize_t n)


cdef bint inverse(double[:, ::1] V, double[:, ::1] L, double[:, ::1] inv) noexcept nogil:
    """Put V⁻¹ into ``inv``, by Cholesky; tell whether that went well."""
    cdef Py_ssize_t r = V.shape[0], i, j, l
    cdef double s
    for i in range(r):
        for j in range(i + 1):
            s = V[i, j]
            for l in range(j):
                s -= L[i, l] * L[j, l]
            if i == j:
                if s <= 1e-13 * V[i, i]:
                    return False
                L[i, i] = sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    for j in range(r):  # inverse of L, in the upper part of L by rows of inv
        for i in range(r):
            inv[i, j] = 1.0 if i == j else 0.0
        for i in range(r):
            s = inv[i, j]
            for l in range(i):
                s -= L[i, l] * inv[l, j]
            inv[i, j] = s / L[i, i]
        for i in range(r - 1, -1, -1):
            s = inv[i, j]
            for l in range(i + 1, r):
                s -= L[l, i] * inv[l, j]
            inv[i, j] = s / L[i, i]
    return True


cdef void gram(
    const double[:, ::1] P, const double[::1] w, double ridge, double[:, ::1] V
) noexcept nogil:
    cdef Py_ssize_t x, i, j, r = P.shape[1]
    cdef double s
    for i in range(r):
        for j in range(r):
            V[i, j] = 0.0
    for x in range(P.shape[0]):
        if w[x] == 0.0:
            continue
        for i in range(r):
            s = w[x] * P[x, i]
            for j in range(i + 1):
                V[i, j] += s * P[x, j]
    for i in range(r):
        V[i, i] *= 1.0 + ridge
        V[i, i] += ridge
        for j in range(i):
            V[j, i] = V[i, j]


def minimax_weights(
    const double[:, ::1] P, const double[:, ::1] U, double[::1] w, int steps, double tol
):
    """Improve the weights w in place; return max_x f_x(w). Σ w = 1; rows of P span everything."""
    cdef Py_ssize_t k = P.shape[0], n = U.shape[0], r = P.shape[1], x, i, j
    cdef double[:, ::1] V = np.empty((r, r)), L = np.zeros((r, r)), inv = np.empty((r, r))
    cdef double[:, ::1] M = np.empty((r, r))
    cdef double[::1] lam = np.full(n, 1.0 / n), f = np.empty(n), y = np.empty(r), best = w.copy()
    cdef double least = np.inf, worst, mean, total, s, g, top
    cdef int step
    with nogil:
        for step in range(steps + 1):
            gram(P, w, 1e-9, V)
            if not inverse(V, L, inv):
                break
            worst = 0.0
            mean = 0.0
            for i in range(r):
                for j in range(r):
                    M[i, j] = 0.0
            for x in range(n):
                s = 0.0
                for i in range(r):
                    y[i] = 0.0
                    for j in range(r):
                        y[i] += inv[i, j] * U[x, j]
                    s += y[i] * U[x, i]
                f[x] = s
                mean += lam[x] * s
                if s > worst:
                    worst = s
                for i in range(r):
                    for j in range(i + 1):
                        M[i, j] += lam[x] * y[i] * y[j]
            if worst < least:
                least = worst
                best[:] = w
            if step == steps:
                break
            top = 0.0
            total = 0.0
            for x in range(k):
                if w[x] == 0.0:
                    continue
                g = 0.0
                for i in range(r):
                    s = 0.5 * M[i, i] * P[x, i]
                    for j in range(i):
                        s += M[i, j] * P[x, j]
                    g += 2.0 * s * P[x, i]
                if g > top:
                    top = g
                w[x] *= sqrt(g if g > 0.0 else 0.0)
                total += w[x]
            # Σ λ f is at most the least maximum, and max over points of g is at least it
            if worst <= mean * (1.0 + tol) and top <= mean * (1.0 + tol):
                break
            for x in range(k):
                w[x] /= total
                if w[x] < 1e-7:
                    w[x] = 0.0
            total = 0.0
            for x in range(n):
                lam[x] *= f[x] / worst
                total += lam[x]
            for x in range(n):
                lam[x] = lam[x] / total if lam[x] > 1e-12 * total else 1e-12
    w[:] = best
    return least


def dealt(
    const double[:, ::1] P,
    double[:, ::1] inverse,
    double[:, ::1] S,
    double[::1] f,
    double[::1] lever,
    const double[::1] share,
    const double[::1] price,
    long long[::1] have,
    long long[::1] room,
    const long long[::1] group,
    Py_ssize_t length,
    Py_ssize_t greedy,
    double stays,
):
    """Return points, ``length`` of them or fewer, each next one that which lessens Σ f³ most.

    ``inverse`` is V⁻¹ before the first, S_ax = aᵀV⁻¹u_x, f_x = u_xᵀV⁻¹u_x, lever_a = 1 + aᵀV⁻¹a:
    one more of a lessens f_x by S_ax²/lever_a, and these follow by rank-one corrections, in place,
    as do ``have`` and ``room``. After the first ``greedy`` the point that is farthest behind its
    share is next. See `proportions` for prices, groups of peers and what ``stays``.
    """
    cdef Py_ssize_t q = P.shape[0], n = S.shape[1], r = P.shape[1], a, x, i, j, t, chosen = -1
    cdef double[::1] among = np.empty(q), gain = np.full(q, -np.inf), weight = np.empty(n)
    cdef double[::1] z = np.zeros(r), s = np.zeros(n), own = np.zeros(q)
    cdef double[::1] of_group = np.zeros(np.max(group, initial=-1) + 1)
    cdef long long open_ = 0
    order_ = np.empty(length, dtype=np.int64)
    cdef long long[::1] order = order_
    cdef double most, lever_of_it = 1.0, beside, again, behind
    with nogil:
        for a in range(q):
            of_group[group[a]] += share[a]
        for a in range(q):
            among[a] = share[a] / of_group[group[a]]
        for a in range(of_group.shape[0]):
            of_group[a] = 0.0
        for a in range(q):
            of_group[group[a]] += have[a]
            open_ += room[a] > 0
        for t in range(length):
            if open_ == 0:
                length = t
                break
            if t < greedy:
                most = 0.0
                for x in range(n):
                    f[x] -= s[x] * s[x] / lever_of_it
                    most = f[x] if f[x] > most else most
                for x in range(n):
                    weight[x] = (f[x] / most) ** 2 if f[x] > 0.0 else 0.0
                for a in range(q):
                    beside = 0.0
                    for i in range(r):
                        beside += P[a, i] * z[i]
                    again = beside / lever_of_it
                    for x in range(n):
                        S[a, x] -= again * s[x]
                    lever[a] -= again * beside
                    if room[a] <= 0:
                        gain[a] = -INFINITY
                        continue
                    gain[a] = 0.0
                    for x in range(n):
                        gain[a] += S[a, x] * S[a, x] * weight[x]
                    again = have[a] - floor(among[a] * of_group[group[a]] + 1e-9)
                    again = again if again > 0.0 else 0.0
                    gain[a] /= (1.0 + stays * again) * (1.0 + stays * (again + 1.0))
                    gain[a] /= (lever[a] if lever[a] > 1.0 else 1.0) * price[a]
                chosen = first_largest(&gain[0], q)
                lever_of_it = lever[chosen] if lever[chosen] > 1.0 else 1.0
                s[:] = S[chosen]
                for i in range(r):
                    z[i] = 0.0
                    for j in range(r):
                        z[i] += inverse[i, j] * P[chosen, j]
                for i in range(r):
                    for j in range(r):
                        inverse[i, j] -= z[i] * z[j] / lever_of_it
            else:
                most = -INFINITY
                for a in range(q):
                    behind = (t + 1) * share[a] - own[a]
                    if room[a] > 0 and behind > most:
                        most = behind
                        chosen = a
            order[t] = chosen
            own[chosen] += 1.0
            have[chosen] += 1
            of_group[group[chosen]] += 1.0
            room[chosen] -= 1
            open_ -= room[chosen] == 0
    return order_[:length]
