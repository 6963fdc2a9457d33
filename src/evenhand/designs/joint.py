"""Joint designs: estimate several directions at once, each well enough, at the least total cost.

    κ_U(c) = min { Σ c_x μ_x : uᵀV(μ)⁺u ≤ 1 for every u ∈ U }

With weights w^u that write u as a combination of points, that is a conic program:
Σ_x w^u_x a_x = u,  (w^u_x)² ≤ t^u_x μ_x,  Σ_x t^u_x ≤ 1. Any vectors h_u with
Σ_u (a_x·h_u)² ≤ c_x for all x prove κ_U ≥ Σ_u (u·h_u)², because uᵀV⁺u ≥ 2 u·g − gᵀVg for every g;
with one direction that is Elfving's dual. Directions join the program as they are found violated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evenhand.arrays import Floats, Indices, as_points, as_vector, refuse_non_finite
from evenhand.designs.design import Certificate, Design, checked
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError

_RESCALINGS = 4  # of the conic program, where some pulls are tiny beside others
_IN_SPAN = 1e-8  # relative distance from the span below which a direction lies in it


def joint_design(
    points: ArrayLike, directions: ArrayLike, costs: ArrayLike | None = None, tol: float = 1e-6
) -> Design:
    """Return the cheapest pulls that estimate every direction with variance at most one.

    The XY or transductive criterion: with differences of features as directions, what tells all
    options apart soonest. ``certificate.gap`` says how far it is from the best at most.

    Parameters
    ----------
    points
        (k, m) what can be evaluated.
    directions
        (n, m) what is to be estimated, each a combination of the points. A direction that may be
        known less well is given over the standard deviation that will do.
    costs
        (k,) costs of the points, above 0; 1 each if not given.
    tol
        Relative gap of the value to its proven bound.

    Returns
    -------
    Design
        ``weights`` are proportions, ``mass`` evaluations in all, ``value`` what they cost.

    Examples
    --------
    Two options that differ by the second feature alone; the third point tells that best:

    >>> points = [[1.0, 0.0], [0.8, 0.6], [0.0, 2.0]]
    >>> design = joint_design(points, [[0.0, 0.5]])
    >>> design.weights.round(3), round(design.value, 6), design.certificate.gap < 1e-6
    (array([0., 0., 1.]), 0.0625, True)
    >>> apart = [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]          # leads among three options
    >>> round(joint_design([[1.0, 0.0], [0.0, 1.0]], apart).value, 6)
    4.0
    >>> design.verify(points).ok
    True
    """
    A = as_points(points)
    U = as_points(directions, "directions")
    refuse_non_finite(A)
    refuse_non_finite(U, "directions")
    if U.shape[1] != A.shape[1]:
        raise InputError(
            f"directions must have {A.shape[1]} columns, as the points have; got {U.shape[1]}."
        )
    if not U.any():
        raise InputError("all directions are zero vectors; there is nothing to estimate.")
    cost = np.ones(len(A)) if costs is None else as_vector(costs, len(A), "costs")
    if not cost.min() > 0:
        x = int(np.argmin(cost))
        raise InputError(f"costs[{x}] is {cost[x]}; in a joint design a cost must be > 0.")
    scales = np.abs(A).max(axis=0)
    scales[scales == 0.0] = 1.0
    transform = _coordinates(A / np.sqrt(cost)[:, None], U)
    B = A @ transform / np.sqrt(cost)[:, None]
    spent, H = _solve(B, U @ transform, tol / 10)
    mu = spent / cost
    mass = float(mu.sum())
    bound = float(((U @ transform * H).sum(axis=1) ** 2).sum())
    certificate = Certificate(float(spent.sum()), bound, H @ transform.T)
    design = Design("joint", mu / mass, certificate.value, mass, certificate, U, cost)
    return checked(design, A, scales, tol)


def _coordinates(rows: Floats, U: Floats) -> Floats:
    """Return a matrix C, (m, r), so that the rows a C have the unit matrix as Σ (aC)ᵀ(aC)."""
    scales = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=0))[1])
    scales[~(np.abs(rows).max(axis=0) > 0)] = 1.0
    _, singular, V = np.linalg.svd(rows / scales, full_matrices=False)
    kept = singular > 1e-12 * singular[0]
    C = (V[kept].T / singular[kept]) / scales[:, None]
    whole = (U @ C) @ ((V[kept] * singular[kept][:, None]) * scales)
    stray = np.abs((whole - U) / scales).max(axis=1) > _IN_SPAN * np.abs(U / scales).max(axis=1)
    if stray.any():
        raise NotIdentifiableError(
            f"no combination of the options' points gives direction {int(np.argmax(stray))}: it "
            "cannot be estimated, however many evaluations are made."
        )
    return np.ascontiguousarray(C)


def _solve(B: Floats, U: Floats, tol: float) -> tuple[Floats, Floats]:
    """Return the least costs λ, (k,), with uᵀV(λ)⁺u ≤ 1 for all u, and dual vectors, one per u."""
    # Σ b bᵀ is the unit matrix: then Σ λ is between 1 and k for directions of length at most 1.
    # Some options may cost next to nothing and be needed all the same, so the program is solved
    # again in units of the λ that it found, until the two sides meet; the best of each side is
    # kept.
    scale = float(np.linalg.norm(U, axis=1).max())
    U = U / scale
    n_new = 2 * B.shape[1] + 2
    used = np.sort(np.argsort(-np.linalg.norm(U, axis=1), kind="stable")[:n_new])
    units = np.ones(len(B))
    value, bound = math.inf, 0.0
    design, proof = units, np.zeros_like(U)
    rescaled = 0
    while rescaled < _RESCALINGS:
        costs, H, active = _conic_program(B, U[used], units)
        variances = _variances(B, costs, U)
        if costs.sum() * variances.max() < value:
            value, design = float(costs.sum() * variances.max()), costs * variances.max()
        H = H / math.sqrt(((B @ H.T) ** 2).sum(axis=1).max())  # charges no option beyond its cost
        proves = float(((U[used[active]] * H).sum(axis=1) ** 2).sum())
        if proves > bound:
            bound, proof = proves, np.zeros_like(U)
            proof[used[active]] = H
        if value <= bound * (1 + tol):
            break
        violated = np.setdiff1d(np.flatnonzero(variances > 1 + 1e-8), used)
        worst = violated[np.argsort(-variances[violated], kind="stable")[:n_new]]
        used = np.union1d(used, worst)
        if len(worst) == 0:
            units = np.clip(costs, 1e-6 * units, None)
            rescaled += 1
    return design * scale**2, proof


def _variances(B: Floats, costs: Floats, U: Floats) -> Floats:
    """Return uᵀV(λ)⁺u for every row u; infinite where u is outside the range."""
    rows = (B * np.sqrt(costs)[:, None]).T
    y, *_ = np.linalg.lstsq(rows, U.T, rcond=1e-13)
    variances = (y**2).sum(axis=0)
    variances[np.abs(rows @ y - U.T).max(axis=0) > 1e-7] = math.inf
    return np.asarray(variances)


def _conic_program(B: Floats, U: Floats, units: Floats) -> tuple[Floats, Floats, Indices]:
    """Solve min Σ λ_x, Σ_x w^v_x b_x = u_v, (w^v_x)² ≤ t^v_x λ_x, Σ_x t^v_x ≤ 1."""
    # Returns λ, the dual vectors h, and which directions they belong to. ``units`` are guesses of
    # λ.
    # w² ≤ tλ is the second-order cone (t + λ, t − λ, 2w). With multipliers y_v of the equations and
    # η_v of the sums, h_v = y_v/(2√η_v) satisfy Σ_v (b_x·h_v)² ≤ 1, and Σ_v (u_v·h_v)² is the
    # value.
    (k, r), n = B.shape, len(U)
    B = B * np.sqrt(units)[:, None]
    cells = n * k
    x, cell = np.tile(np.arange(k), n), np.arange(cells)
    lam, w, t = x, k + cell, k + cells + cell
    one = np.ones(cells)
    equations = sparse.hstack(
        [
            sparse.csc_matrix((n * r, k)),
            sparse.kron(sparse.eye(n), B.T, format="csc"),
            sparse.csc_matrix((n * r, cells)),
        ]
    )
    sums = sparse.csc_matrix((one, (cell // k, t)), shape=(n, k + 2 * cells))
    entries = np.concatenate([-one, -one, -one, one, -2 * one])
    row = np.concatenate([3 * cell, 3 * cell, 3 * cell + 1, 3 * cell + 1, 3 * cell + 2])
    column = np.concatenate([t, lam, t, lam, w])
    cones = sparse.csc_matrix((entries, (row, column)), shape=(3 * cells, k + 2 * cells))
    solution = solve_conic(
        np.concatenate([units, np.zeros(2 * cells)]),
        sparse.vstack([equations, sums, cones], format="csc"),
        np.concatenate([U.ravel(), np.ones(n), np.zeros(3 * cells)]),
        n_equal=n * r,
        n_positive=n,
        name="the joint design",
    )
    costs = units * np.clip(solution.x[:k], 0.0, None)
    eta = solution.z[n * r : n * r + n]
    (active,) = np.nonzero(eta > 1e-9 * eta.max())
    H = solution.z[: n * r].reshape(n, r)[active] / (2 * np.sqrt(eta[active]))[:, None]
    return costs, H, active


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """Primal solution x and multipliers z of a program, in the order of its rows."""

    x: Floats
    z: Floats


def solve_conic(
    objective: Floats,
    matrix: sparse.csc_matrix,
    b: Floats,
    *,
    n_equal: int,
    n_positive: int,
    name: str,
    tol: float = 1e-10,
) -> ConicSolution:
    """Minimise objective·x where b − matrix·x is zero, then ≥ 0, then in cones of dimension 3."""
    # A cone holds (t, y, z) with t ≥ √(y² + z²): first come ``n_equal`` equations, then
    # ``n_positive`` inequalities, then cones of three rows each. The answer may be less accurate
    # than asked for: every caller proves for itself what it makes of it. ``name`` is what errors
    # call the program.
    import clarabel  # noqa: PLC0415 # slow to load, and few need it

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    n_cones = (len(b) - n_equal - n_positive) // 3
    kinds = [clarabel.ZeroConeT(n_equal), clarabel.NonnegativeConeT(n_positive)]
    kinds = [kind for kind, n in zip(kinds, (n_equal, n_positive), strict=True) if n > 0]
    kinds += [clarabel.SecondOrderConeT(3)] * n_cones
    quadratic = sparse.csc_matrix((len(objective), len(objective)))
    solved = clarabel.DefaultSolver(quadratic, objective, matrix, b, kinds, settings).solve()
    x, z = np.array(solved.x), np.array(solved.z)
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        raise AccuracyError(f"the conic program of {name} failed: {solved.status}.")
    return ConicSolution(x, z)
