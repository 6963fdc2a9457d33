"""Evidence against 'no better than the rival': the inner loop of `e_process`.

log_moment(ν, y) is log E[exp(ρy)] for ρ of the χ distribution with ν + 1 degrees of freedom. With
I_ν = ∫ρ^ν exp(−ρ²/2 + ρy)dρ it is log I_ν(y)/I_ν(0), and integration by parts gives
I_{ν+1} = y I_ν + ν I_{ν−1}. For y > 0 all terms are positive, so that ratios r_ν = I_ν/I_{ν−1} can
be taken forward: r_{ν+1} = y + ν/r_ν. Elsewhere Laplace's method with its first correction is off
by less than 0.02/ν², which is taken off; with one degree or none, Jensen's exp(y E[ρ]) is used. Both
are too small rather than too large, so that what is made of them stays valid.
"""

from libc.math cimport INFINITY, asinh, erfc, exp, lgamma, log, sqrt

cdef enum:
    FEW = 12


cdef double laplace(double nu, double y) noexcept nogil:
    cdef double x = 0.5 * y / sqrt(nu), t = asinh(x)
    cdef double rho = sqrt(nu) * exp(t), p = exp(-2.0 * t)
    cdef double correction = (-0.75 * p / (1 + p) ** 2 + 5.0 / 6.0 * p * p / (1 + p) ** 3)
    return (
        nu * t + 0.5 * rho * y - 0.5 * log(0.5 * (1 + p))
        + correction / (rho * rho) + 1.0 / (12.0 * nu) - 0.02 / (nu * nu)
    )


cdef double moment(double nu, double y) noexcept nogil:
    cdef double ratio, r, r0
    cdef int j
    if y == 0.0:
        return 0.0
    if nu > FEW or (y < 0.0 and nu >= 2.0):
        return laplace(nu, y)
    if y < 0.0:
        return y * sqrt(2.0) * exp(lgamma(0.5 * nu + 1.0) - lgamma(0.5 * nu + 0.5))
    ratio = erfc(-y / sqrt(2.0))  # I_0(y)/I_0(0) = exp(y²/2) · 2Φ(y)
    r0 = 0.7978845608028654  # I_1/I_0 at 0: √(2/π)
    r = y + r0 * exp(-0.5 * y * y) / ratio
    for j in range(1, <int>nu + 1):
        ratio *= r / r0
        r, r0 = y + j / r, j / r0
    return 0.5 * y * y + log(ratio)


def log_moment(double nu, double y):
    """Return log E[exp(ρy)], or a little less; ρ is χ with ν + 1 degrees of freedom."""
    return moment(nu, y)


def log_evidence(
    double[::1] S,
    double[::1] J,
    double[::1] q,
    double[::1] nu,
    const double[:, ::1] eta,
    const double[:, ::1] log_prior,
    double[::1] out,
):
    """Put into ``out`` log Σ_η π(η) M(η) for every row; see `e_process` for M.

    A row with infinite ν has known noise of scale 1.
    """
    cdef Py_ssize_t x, j, n = eta.shape[1]
    cdef double largest, total, h, root, term
    cdef double terms[64]
    if n > 64:
        raise ValueError("at most 64 effects")
    with nogil:
        for x in range(S.shape[0]):
            if J[x] <= 0.0:
                out[x] = 0.0
                continue
            largest = -INFINITY
            root = sqrt(q[x])
            for j in range(n):
                h = eta[x, j]
                if nu[x] == INFINITY:
                    term = h * S[x]
                elif root > 0.0:
                    term = moment(nu[x], h * S[x] / root)
                else:
                    term = 0.0
                term += log_prior[x, j] - 0.5 * h * h * J[x]
                terms[j] = term
                if term > largest:
                    largest = term
            total = 0.0
            for j in range(n):
                total += exp(terms[j] - largest)
            out[x] = largest + log(total)
