"""When to stop looking: the free boundary of Chernoff's problem, by backward induction.

One rival trails by δ, known as N(μ, η) in units where the price of information and what is at
stake are both one. Looking turns μ into a Brownian motion while η falls, and costs dη/η²; whoever
stops takes the better of the two, |μ|/2 above their mean. With x = μ/√η, ℓ = log η and √η·g(x, ℓ)
the worth of being allowed to look,

    ∂g/∂ℓ = ½ ∂²g/∂x² + ½ x ∂g/∂x − ½ g − η^{−3/2},   ∂g/∂x(0) = −½,   g ≥ 0,

and it is worth to look while g > 0: for x < Z(√η). The induction starts at a small η, where looking
never pays. Implicit steps in ℓ; the obstacle g ≥ 0 is met exactly in the back substitution, which
starts in the region of stopping (Brennan and Schwartz).
"""

import numpy as np

from libc.math cimport exp, sqrt


def boundary(double[::1] log_eta, double widest, Py_ssize_t n):
    """Return Z at the given equidistant log η, from an induction through these very points.

    Parameters
    ----------
    log_eta
        Increasing; the first must be so small that stopping is right everywhere.
    widest
        Where the grid in x ends.
    n
        Number of steps of the grid in x.
    """
    cdef double h = widest / n, dl, c, x, low, high, middle, right, pivot
    cdef Py_ssize_t i, j, last
    cdef double[::1] g = np.zeros(n + 1), up = np.zeros(n + 1), rhs = np.zeros(n + 1)
    result = np.zeros(log_eta.shape[0])
    cdef double[::1] Z = result
    for j in range(1, log_eta.shape[0]):
        dl = log_eta[j] - log_eta[j - 1]
        c = exp(-1.5 * log_eta[j])
        # forward elimination from x = 0, where a ghost node gives the slope −½
        for i in range(n):
            x = i * h
            low = -dl * (0.5 / (h * h) - 0.25 * x / h)
            high = -dl * (0.5 / (h * h) + 0.25 * x / h)
            middle = 1.0 + dl * (1.0 / (h * h) + 0.5)
            right = g[i] - dl * c
            if i == 0:
                right -= low * h  # g(−h) = g(h) + h
                high += low
                pivot = middle
            else:
                pivot = middle - low * up[i - 1]
                right -= low * rhs[i - 1]
            up[i] = high / pivot
            rhs[i] = right / pivot
        g[n] = 0.0
        last = -1
        for i in range(n - 1, -1, -1):
            g[i] = rhs[i] - up[i] * g[i + 1]
            if g[i] <= 0.0:
                g[i] = 0.0
            elif last < 0:
                last = i
        if last >= 1:
            # near the boundary g grows with the square of the distance
            low, high = sqrt(g[last - 1]), sqrt(g[last])
            Z[j] = h * (last + high / (low - high)) if low > high else h * last
        elif last == 0:
            Z[j] = 0.5 * h
    return result
