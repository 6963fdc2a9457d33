"""Designs of stages: the proportions that settle all rivals soonest, and an order for them.

The worst of f_x(w) = u_xᵀV(w)⁻¹u_x over directions u is minimised over weights w of points p by
multiplicative steps on both sides of the saddle: w_p ∝ w_p √(pᵀV⁻¹(Σ λ_x u_x u_xᵀ)V⁻¹p), as for a
design that is optimal on average over λ, and λ_x ∝ λ_x f_x, which leans on the worst direction.
The best w on the way is kept. Nothing that is certain rests on it.
"""

import numpy as np

from libc.math cimport sqrt


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


def spread_out(
    const double[:, ::1] P, const double[:, ::1] U, const double[::1] w, Py_ssize_t n, double head
):
    """Return (n,) an order of points in the proportions w.

    Each next point lessens max_x f_x most, from ``head`` evaluations in the proportions on; after
    256 of them, the one that is farthest behind its share is next.
    """
    cdef Py_ssize_t k = P.shape[0], u = U.shape[0], r = P.shape[1], x, i, j, t, a, chosen
    order_ = np.empty(n, dtype=np.int64)
    cdef long long[::1] order = order_
    cdef double[:, ::1] V = np.empty((r, r)), L = np.zeros((r, r)), inv = np.empty((r, r))
    cdef double[:, ::1] Y = np.empty((u, r))
    cdef double[::1] f = np.empty(u), scaled = np.empty(k), z = np.empty(r), have = np.zeros(k)
    cdef double worst, least, s, lever, behind
    for x in range(k):
        scaled[x] = head * w[x]
    with nogil:
        gram(P, scaled, 1e-9, V)
        if not inverse(V, L, inv):
            with gil:
                raise ValueError("the proportions do not span the directions")
        for t in range(n):
            chosen = -1
            if t < 256:
                for x in range(u):
                    f[x] = 0.0
                    for i in range(r):
                        s = 0.0
                        for j in range(r):
                            s += inv[i, j] * U[x, j]
                        Y[x, i] = s
                        f[x] += s * U[x, i]
                least = 0.0
                for a in range(k):
                    if w[a] == 0.0:
                        continue
                    lever = 1.0
                    for i in range(r):
                        s = 0.0
                        for j in range(r):
                            s += inv[i, j] * P[a, j]
                        lever += s * P[a, i]
                    worst = 0.0
                    for x in range(u):
                        s = 0.0
                        for i in range(r):
                            s += Y[x, i] * P[a, i]
                        s = f[x] - s * s / lever
                        if s > worst:
                            worst = s
                    if chosen < 0 or worst < least * (1.0 - 1e-12):
                        least = worst
                        chosen = a
                lever = 1.0
                for i in range(r):
                    z[i] = 0.0
                    for j in range(r):
                        z[i] += inv[i, j] * P[chosen, j]
                    lever += z[i] * P[chosen, i]
                for i in range(r):
                    for j in range(r):
                        inv[i, j] -= z[i] * z[j] / lever
            else:
                behind = -1e300
                for a in range(k):
                    s = (t + 1) * w[a] - have[a]
                    if w[a] > 0.0 and s > behind:
                        behind = s
                        chosen = a
            have[chosen] += 1.0
            order[t] = chosen
    return order_
