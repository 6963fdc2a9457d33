"""Ascent of log det V(w) over the weights of a working set of rows.

Notation: rows b_i of B (n × r), weights w ≥ 0, V = Σ w_i b_i b_iᵀ = L Lᵀ, y_i = L⁻¹ b_i,
leverage d_i = ‖y_i‖². At the optimum of  f(w) = log det V(w) − r Σ w_i  over w ≥ 0 the weights
sum to one and max d = r (Kiefer and Wolfowitz). The gradient of f is d − r and its Hessian −H,
H_ij = (y_i·y_j)² = m_i·m_j, where m_i = svec(y_i y_iᵀ) are the p = r(r+1)/2 moments of row i.
"""

import numpy as np

from libc.math cimport INFINITY, log, sqrt
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs, dtrtri

cdef extern from "numerics/_passes.h" nogil:
    void squared_norms(const double *A, Py_ssize_t k, Py_ssize_t m, const double *W,
                       Py_ssize_t r, const Py_ssize_t *length, double *turned, double *out)

cdef enum:
    ROWS = 32  # as in numerics/_passes.h
    BLOCK = 256  # rows whose moments are held at once
    TOGETHER = 4  # indices whose pairs go into one matrix product

cdef double ROUNDING = 1e-14  # of log det V, per dimension
cdef double SHORTEST = 1e-3  # of Newton's step; a shorter one says that the model is none
cdef double MISLED = 0.01  # of other rows far too high: more than few that were overlooked
cdef double FAR_TOO = 4.0  # times the gap
cdef double NEGLIGIBLE = 0.1  # of the unit matrix: changes no step by more than a tenth


cdef class Workspace:
    """The arrays one solve needs, so that no step allocates."""

    cdef const double[:, ::1] B
    cdef double[:, ::1] scaled, L, W
    cdef double[::1] d, turned
    cdef Py_ssize_t[::1] length
    cdef Py_ssize_t n, r

    def __init__(self, const double[:, ::1] B, double[::1] d):
        self.B = B
        self.n, self.r = B.shape[0], B.shape[1]
        self.d = d
        self.scaled = np.empty((self.n, self.r))
        self.L = np.empty((self.r, self.r))
        self.W = np.empty((self.r, self.r))
        self.turned = np.zeros(self.r * ROWS)
        self.length = np.arange(1, self.r + 1)

    cdef double factor(self, double[::1] w) noexcept nogil:
        """L <- Cholesky factor of V(w); return log det V(w), or −∞ where V is singular."""
        cdef int r = <int>self.r, used = 0, info = 0
        cdef Py_ssize_t i, j
        cdef double root, one = 1.0, zero = 0.0, total = 0.0
        for i in range(self.n):
            if w[i] > 0.0:
                root = sqrt(w[i])
                for j in range(self.r):
                    self.scaled[used, j] = root * self.B[i, j]
                used += 1
        if used < r:
            return -INFINITY
        dsyrk("L", "N", &r, &used, &one, &self.scaled[0, 0], &r, &zero, &self.L[0, 0], &r)
        dpotrf("L", &r, &self.L[0, 0], &r, &info)
        if info != 0:
            return -INFINITY
        for i in range(self.r):
            total += log(self.L[i, i])
        return 2.0 * total

    cdef double leverage(self) noexcept nogil:
        """W <- L⁻¹ and d <- leverages, for the factor at hand; return the largest leverage."""
        cdef int r = <int>self.r, info = 0
        cdef Py_ssize_t i, j
        cdef double largest = 0.0
        dtrtri("L", "N", &r, &self.L[0, 0], &r, &info)
        for i in range(self.r):
            for j in range(i + 1):
                self.W[i, j] = self.L[j, i]  # LAPACK stores columns
        squared_norms(&self.B[0, 0], self.n, self.r, &self.W[0, 0], self.r, &self.length[0],
                      &self.turned[0], &self.d[0])
        for i in range(self.n):
            largest = max(largest, self.d[i])
        return largest

    cdef void whiten(self, Py_ssize_t row, double *y) noexcept nogil:
        """y <- W b for one row b."""
        cdef Py_ssize_t i, j
        cdef double value
        for i in range(self.r):
            value = 0.0
            for j in range(i + 1):
                value += self.W[i, j] * self.B[row, j]
            y[i] = value


cdef double multiply(Workspace space, double[::1] w, int steps) noexcept nogil:
    """Titterington's steps w_i <- w_i d_i / r, which never lower log det V; the gap reached."""
    cdef Py_ssize_t i
    cdef double r = <double>space.r
    for _ in range(steps):
        if space.factor(w) == -INFINITY:
            return INFINITY
        space.leverage()
        for i in range(space.n):
            w[i] *= space.d[i] / r
    if space.factor(w) == -INFINITY:
        return INFINITY
    return space.leverage() / r - 1.0


def multiplicative(const double[:, ::1] B, double[::1] w, double[::1] d, int steps):
    """Make ``steps`` multiplicative steps on ``w`` in place, write the leverages, return the gap."""
    cdef Workspace space = Workspace(B, d)
    return multiply(space, w, steps)


cdef void squared_products(double *Z, int n, int r, double *H) noexcept nogil:
    """The lower triangle of H <- (z_i·z_j)² for the n rows of Z."""
    cdef double one = 1.0, zero = 0.0
    cdef Py_ssize_t i, j
    dsyrk("L", "T", &n, &r, &one, Z, &r, &zero, H, &n)
    for i in range(n):
        for j in range(i, n):
            H[i * n + j] *= H[i * n + j]


def moment_gram(const double[:, ::1] Y, const double[::1] q, double[:, ::1] F):
    """The lower triangle of F <- Σ q_x m_x m_xᵀ, for the moments m_x of the rows of Y and q ≥ 0."""
    # An entry is Σ q y_i y_j y_k y_l, whatever the order of the four: of 3 that are alike one is
    # worked out, that with i ≤ j ≤ k ≤ l. Pairs (j, i) come by j, so those up to k are the first
    # ones; pairs (k, l) come by k, a few k at a time.
    cdef Py_ssize_t n = Y.shape[0], r = Y.shape[1], start = 0, t, i, j, k, l, a, b, c, d, x, y
    cdef int p = <int>(r * (r + 1) // 2), count, pairs, first
    cdef double one = 1.0, kept = 0.0, root, scale, root2 = sqrt(2.0)
    cdef double[:, ::1] N = np.empty((BLOCK, p)), T = np.empty((BLOCK, p)), G = np.empty((p, p))
    with nogil:
        while start < n:
            count = <int>min(<Py_ssize_t>BLOCK, n - start)
            for t in range(count):
                root = sqrt(q[start + t])
                x = 0
                y = 0
                for i in range(r):
                    scale = root * Y[start + t, i]
                    for j in range(i + 1):
                        N[t, x + j] = scale * Y[start + t, j]
                    for j in range(i, r):
                        T[t, y + j - i] = scale * Y[start + t, j]
                    x += i + 1
                    y += r - i
            k = 0
            x = 0
            while k < r:
                l = min(k + TOGETHER, r)
                pairs = <int>((l - k) * r - (l * (l - 1) - k * (k - 1)) // 2)
                first = <int>(l * (l + 1) // 2)
                dgemm("N", "T", &first, &pairs, &count, &one, &N[0, 0], &p, &T[0, x], &p, &kept,
                      &G[x, 0], &p)
                k = l
                x += pairs
            kept = 1.0
            start += count
        for a in range(r):
            for b in range(a + 1):
                x = a * (a + 1) // 2 + b
                y = 0
                for c in range(a + 1):
                    for d in range(c + 1):
                        if y > x:
                            break
                        k, j = max(b, c), max(min(b, c), d)
                        i = b + c + d - k - j
                        scale = (1.0 if a == b else root2) * (1.0 if c == d else root2)
                        F[x, y] = scale * G[k * r - k * (k - 1) // 2 + a - k, j * (j + 1) // 2 + i]
                        y += 1


cdef class ActiveSet:
    """The rows C that carry weight or have d > r, and where the quadratic model of f says they go.

    The model on C has its maximum at H_CC x = 2d − r, since H w = d. Rows that come out negative
    leave C, and the rest is solved again. Moments that are nearly dependent say nothing about the
    weights; there ``damping`` keeps them near w: the gap times r, which is what H_ij is for rows in
    unrelated directions. So the last steps are Newton's.
    """

    cdef Py_ssize_t[::1] rows
    cdef double[:, ::1] Y
    cdef double[::1] H, x
    cdef Py_ssize_t count

    def __init__(self, Py_ssize_t n, Py_ssize_t r):
        n = min(n, r * (r + 1) // 2)
        self.rows = np.empty(n, dtype=np.intp)
        self.Y, self.H, self.x = np.empty((n, r)), np.empty(n * n), np.empty(n)

    cdef bint gather(self, Workspace space, double[::1] w, double least) noexcept nogil:
        """C <- the rows of positive weight or a leverage above ``least``; whether they are few."""
        cdef Py_ssize_t i
        self.count = 0
        for i in range(space.n):
            if w[i] > 0.0 or space.d[i] > least:
                if self.count == self.rows.shape[0]:
                    return False
                self.rows[self.count] = i
                space.whiten(i, &self.Y[self.count, 0])
                self.count += 1
        return True

    cdef bint maximise(self, Workspace space, double[::1] w, double damping) noexcept nogil:
        """x <- the weights on C that maximise the model, all positive; whether there are any."""
        cdef Py_ssize_t t, i, kept
        cdef int n, one = 1, info = 0
        while True:
            n = <int>self.count
            if n < space.r:
                return False
            for t in range(n):
                self.x[t] = 2.0 * space.d[self.rows[t]] - space.r + damping * w[self.rows[t]]
            squared_products(&self.Y[0, 0], n, <int>space.r, &self.H[0])
            for t in range(n):
                self.H[t * n + t] += damping
            dpotrf("L", &n, &self.H[0], &n, &info)
            if info != 0:
                return False
            dpotrs("L", &n, &one, &self.H[0], &n, &self.x[0], &n, &info)
            kept = 0
            for t in range(n):
                if self.x[t] > 0.0:
                    self.rows[kept] = self.rows[t]
                    for i in range(space.r):
                        self.Y[kept, i] = self.Y[t, i]
                    kept += 1
            self.count = kept
            if kept == n:
                return True


cdef double climb(Workspace space, ActiveSet active, double[::1] w, double[::1] ahead, double tol,
                  int max_steps) noexcept nogil:
    """The steps of `newton`."""
    cdef Py_ssize_t i, t
    cdef double r = <double>space.r, f, gap, last = INFINITY, gain = INFINITY, length, total
    for _ in range(max_steps):
        f = space.factor(w) - r
        if f == -INFINITY:
            return INFINITY
        gap = space.leverage() / r - 1.0
        if gap <= tol or (gain <= ROUNDING * r and gap > 0.5 * last):
            return gap
        last = gap
        if not active.gather(space, w, r * (1.0 + 0.5 * tol)):
            return gap
        if not active.maximise(space, w, min(gap, 1.0) * r):
            return gap
        length = 1.0
        while length > SHORTEST:
            for i in range(space.n):
                ahead[i] = (1.0 - length) * w[i]
            for t in range(active.count):
                ahead[active.rows[t]] += length * active.x[t]
            total = 0.0
            for i in range(space.n):
                total += ahead[i]
            gain = space.factor(ahead) - r * total - f
            if gain >= -ROUNDING * r:
                break
            length *= 0.5
        else:
            return gap
        for i in range(space.n):
            w[i] = ahead[i] / total
    return multiply(space, w, 0)


def newton(const double[:, ::1] B, double[::1] w, double[::1] d, double tol, int max_steps):
    """Make Newton steps on ``w`` in place until max d ≤ r (1 + tol); return the gap.

    Stops with the gap it has where H_CC must be singular, since more than p rows carry weight or
    have d > r; where it is so all the same; and where no step raises f.
    """
    cdef Workspace space = Workspace(B, d)
    cdef ActiveSet active = ActiveSet(B.shape[0], B.shape[1])
    return climb(space, active, w, np.empty(B.shape[0]), tol, max_steps)


cdef class NewtonSystem:
    """Solves (H + S/W) x = g for slacks s: never singular, whatever the rows.

    With q = w/s and N the rows √q_i m_i it is  x = √q (I + N Nᵀ)⁻¹ √q g. Twins, intercepts, dummies
    and more than p rows make H singular and the optimal weights many; they leave I + N Nᵀ alone.
    Woodbury's identity, (I + N Nᵀ)⁻¹ = I − N (I + Nᵀ N)⁻¹ Nᵀ, takes whichever side is shorter.

    Rows with q_i d_i² < NEGLIGIBLE / n add less than NEGLIGIBLE to NᵀN, beside I, all of them together.
    They are left out of it, and follow the others: x_i = q_i (g_i − Σ_j H_ij x_j). Near the end of
    the path these are all but the rows of the support.
    """

    cdef double[:, ::1] Y, Z, N, D
    cdef double[::1] F, q, u, z
    cdef Py_ssize_t[::1] chosen
    cdef Py_ssize_t n, r, p, count
    cdef int size
    cdef bint few

    def __init__(self, Py_ssize_t n, Py_ssize_t r):
        self.n, self.r, self.p = n, r, r * (r + 1) // 2
        self.size = <int>min(n, self.p)
        self.Y, self.Z = np.empty((n, r)), np.empty((n, r))
        self.N = np.empty((0 if n <= self.p else n, self.p))
        self.D = np.empty((r, r))
        self.F = np.empty(self.size * self.size)
        self.q, self.u, self.z = np.empty(n), np.empty(n), np.empty(self.size)
        self.chosen = np.empty(n, dtype=np.intp)

    cdef int factor(self, Workspace space, double[::1] w, double[::1] s) noexcept nogil:
        """F <- the Cholesky factor of the shorter side; 0 if there is one."""
        cdef Py_ssize_t t, i, j, c, x
        cdef int n, r = <int>self.r, p = <int>self.p, info = 0
        cdef double one = 1.0, zero = 0.0, scale, root, root2 = sqrt(2.0)
        n = 0
        for x in range(self.n):
            space.whiten(x, &self.Y[x, 0])
            self.q[x] = w[x] / s[x]
            if self.q[x] * space.d[x] * space.d[x] * self.n >= NEGLIGIBLE:
                self.chosen[n] = x
                root = sqrt(sqrt(self.q[x]))  # so that the squares of Z Zᵀ are N Nᵀ
                for i in range(self.r):
                    self.Z[n, i] = root * self.Y[x, i]
                n += 1
        self.count = n
        self.few = n <= self.p
        self.size = n if self.few else p
        if n == 0:
            return 0
        if self.few:
            squared_products(&self.Z[0, 0], n, r, &self.F[0])
        else:
            for t in range(n):
                c = 0
                for i in range(self.r):
                    scale = root2 * self.Z[t, i]
                    for j in range(i):
                        self.N[t, c + j] = scale * self.Z[t, j]
                    c += i
                    self.N[t, c] = self.Z[t, i] * self.Z[t, i]
                    c += 1
            dsyrk("L", "N", &p, &n, &one, &self.N[0, 0], &p, &zero, &self.F[0], &p)
        for t in range(self.size):
            self.F[t * self.size + t] += 1.0
        dpotrf("L", &self.size, &self.F[0], &self.size, &info)
        return info

    cdef void solve(self, double[::1] x) noexcept nogil:
        """x <- the solution for the right-hand side x."""
        cdef Py_ssize_t t, i, j, at = 0
        cdef int n = <int>self.count, p = <int>self.p, r = <int>self.r, one_int = 1, info = 0
        cdef double one = 1.0, minus = -1.0, zero = 0.0, value, inner
        for t in range(n):
            self.u[t] = sqrt(self.q[self.chosen[t]]) * x[self.chosen[t]]
        if n == 0:
            pass
        elif self.few:
            dpotrs("L", &n, &one_int, &self.F[0], &n, &self.u[0], &n, &info)
        else:
            dgemv("N", &p, &n, &one, &self.N[0, 0], &p, &self.u[0], &one_int, &zero, &self.z[0], &one_int)
            dpotrs("L", &p, &one_int, &self.F[0], &p, &self.z[0], &p, &info)
            dgemv("T", &p, &n, &minus, &self.N[0, 0], &p, &self.z[0], &one_int, &one, &self.u[0], &one_int)
        for t in range(n):
            x[self.chosen[t]] = self.u[t] * sqrt(self.q[self.chosen[t]])
        if self.count == self.n:
            return
        # D = Σ_j x_j y_j y_jᵀ over the chosen rows, so that Σ_j H_ij x_j = y_iᵀ D y_i
        for i in range(self.r):
            for j in range(self.r):
                self.D[i, j] = 0.0
        for t in range(n):
            for i in range(self.r):
                value = x[self.chosen[t]] * self.Y[self.chosen[t], i]
                for j in range(i + 1):
                    self.D[i, j] += value * self.Y[self.chosen[t], j]
        for t in range(self.n):
            if at < self.count and self.chosen[at] == t:
                at += 1
                continue
            value = 0.0
            for i in range(self.r):
                inner = 0.0
                for j in range(i):
                    inner += self.D[i, j] * self.Y[t, j]
                value += self.Y[t, i] * (2.0 * inner + self.D[i, i] * self.Y[t, i])
            x[t] = self.q[t] * (x[t] - value)


cdef double longest(double[::1] x, double[::1] dx) noexcept nogil:
    """The largest t with x + t dx ≥ 0."""
    cdef Py_ssize_t i
    cdef double steepest = 0.0
    for i in range(x.shape[0]):
        if -dx[i] > steepest * x[i]:
            steepest = -dx[i] / x[i]
    return 1.0 / steepest if steepest > 0.0 else INFINITY


cdef bint misled(Workspace space, const double[:, ::1] others, double[::1] theirs, double most) noexcept nogil:
    """Whether many of the other rows have leverages above ``most``."""
    cdef Py_ssize_t i, high = 0
    if others.shape[0] == 0:
        return False
    squared_norms(&others[0, 0], others.shape[0], space.r, &space.W[0, 0], space.r, &space.length[0],
                  &space.turned[0], &theirs[0])
    for i in range(others.shape[0]):
        high += theirs[i] > most
    return high > MISLED * others.shape[0]


cdef double follow(Workspace space, NewtonSystem system, const double[:, ::1] others, double[::1] theirs, double[::1] w, double[::1] v, double[::1] s,
                   double[::1] dw, double[::1] ds, double tol, int max_steps) noexcept nogil:
    """The steps of `interior_point`, on v and s; w is the best design so far."""
    cdef double[::1] d = space.d
    cdef Py_ssize_t n = space.n, i
    cdef int step
    cdef double r = <double>space.r, gap, best = INFINITY, total, mu, ahead, centre, most, a, b, start
    if space.factor(v) == -INFINITY:
        return INFINITY
    # Scaled so that no leverage exceeds r, the weights leave slacks r − d, with w·s = r gap.
    gap = space.leverage() / r - 1.0
    if gap <= tol:
        return gap
    start = 0.1 * gap * r / n
    for i in range(n):
        v[i] = max(v[i] * (1.0 + gap), start / r)
        s[i] = max(r - d[i] / (1.0 + gap), start / v[i])
        v[i] = max(v[i], start / s[i])
    for step in range(max_steps):
        if space.factor(v) == -INFINITY:
            break
        total = 0.0
        mu = 0.0
        for i in range(n):
            total += v[i]
            mu += v[i] * s[i] / n
        gap = space.leverage() * total / r - 1.0
        if gap < best:
            best = gap
            for i in range(n):
                w[i] = v[i] / total
        if gap <= tol or misled(space, others, theirs, r * (1.0 + FAR_TOO * gap) / total):
            break
        if system.factor(space, v, s) != 0:
            break
        for i in range(n):
            dw[i] = d[i] - r
        system.solve(dw)
        for i in range(n):
            ds[i] = -s[i] - s[i] / v[i] * dw[i]
        a, b = min(1.0, longest(v, dw)), min(1.0, longest(s, ds))
        ahead = 0.0
        for i in range(n):
            ahead += (v[i] + a * dw[i]) * (s[i] + b * ds[i]) / n
        centre = mu * max(ahead / mu, 0.0) ** 3
        for i in range(n):
            ds[i] = (centre - dw[i] * ds[i]) / v[i]  # what s gains at Δw = 0, beside −s
            dw[i] = d[i] - r + ds[i]
        system.solve(dw)
        for i in range(n):
            ds[i] -= s[i] + s[i] / v[i] * dw[i]
        most = 1.0 - min(0.1, max(0.001, mu * n / r))  # short of the boundary, less so near the end
        a, b = min(1.0, most * longest(v, dw)), min(1.0, most * longest(s, ds))
        for i in range(n):
            v[i] += a * dw[i]
            s[i] += b * ds[i]
    return best


def interior_point(const double[:, ::1] B, double[::1] w, double[::1] d, double tol, int max_steps,
                   const double[:, ::1] others):
    """Follow the central path on ``w`` in place until max d ≤ r (1 + tol); return the gap.

    The path is  d + s = r,  w_i s_i = μ → 0  with slacks s > 0; on it the gap is n μ / r. Steps are
    Mehrotra's: a first direction, for μ = 0, tells how far μ can fall and how much the products w_i s_i
    bend; a second one, with the same factor, allows for both. ``w`` sums to one, at the start and
    at the end; on return it is the best design on the way, and ``d`` its leverages.

    It ends early where B fits its own noise: many of the ``others`` are several times as high.
    """
    cdef Workspace space = Workspace(B, d)
    cdef NewtonSystem system = NewtonSystem(B.shape[0], B.shape[1])
    n = B.shape[0]
    return follow(space, system, others, np.empty(others.shape[0]), w, np.array(w), np.empty(n),
                  np.empty(n), np.empty(n), tol, max_steps)
