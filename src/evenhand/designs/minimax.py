"""The minimax design: estimate a direction at the least regret against the worst parameter.

    κ̃ = min_μ max { Σ_x μ_x (x' − x)·γ : x', γ with |x·γ| ≤ 1 }    subject to  cᵀV(μ)⁺c ≤ 1.

The inner maximum is linear in μ, so opponents may mix: κ̃ is the largest κ(q) over mixtures
q = Σ λ_j Δ(γ_j) of gap vectors. With Elfving's dual for κ(q) that is one conic program,

    √κ̃ = max { c·u : (a_x·u)² ≤ Σ_j λ_j Δ_x(γ_j),  λ ≥ 0,  Σ λ_j = 1 },

whose multipliers are the design. The γ_j are found one after the other: each is the best answer
to the design at hand, by Elfving's program over the features.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices
from evenhand.designs.design import Certificate, Design, Mixture, checked
from evenhand.designs.elfving import ElfvingProgram
from evenhand.designs.joint import solve_conic
from evenhand.errors import AccuracyError
from evenhand.numerics.row_space import sample_rows

_ROUNDS = 100
_FIRST_ROWS = 512  # rows of the first conic program; others join when they matter
_ANSWERS = 8  # parameters added in a round


def minimax_design_of(points: Floats, n_features: int, direction: Floats, tol: float) -> Design:
    """Return the minimax design for points whose first ``n_features`` columns carry the value."""
    program = ElfvingProgram(points)
    with program.space.blamed():
        return _minimax(program, n_features, direction, tol)


def _minimax(program: ElfvingProgram, n_features: int, c: Floats, tol: float) -> Design:
    """Let the design and its opponent answer each other until neither gains."""
    A = program.A
    X = np.ascontiguousarray(A[:, :n_features])
    opponent = ElfvingProgram(X)
    first = program.solve(c)
    H, g = program.coordinates(A), program.coordinates(c)
    mu = np.zeros(len(A))
    mu[first.rows] = np.abs(first.weights) * first.root
    rows = np.union1d(sample_rows(len(A), _FIRST_ROWS), first.rows)
    parameters = np.empty((0, n_features))
    upper, pulls = np.inf, mu
    lower, dual = 0.0, np.zeros(A.shape[1])
    mixture = Mixture(np.ones(1), np.zeros((1, n_features)))
    for _ in range(_ROUNDS):
        worst, answers = _best_answers(opponent, X, mu)
        if worst < upper:
            upper, pulls = worst, mu
        if upper <= lower * (1.0 + tol):
            mass = float(pulls.sum())
            certificate = Certificate(upper, lower, dual, mixture)
            design = Design("minimax", pulls / mass, upper, mass, certificate, c)
            return checked(design, A, program.space.scales, tol)
        parameters = np.concatenate([parameters, answers])
        values = X @ parameters.T
        gaps = values.max(axis=0) - values
        lam, eta = _master(H[rows], gaps[rows], g)
        costs = gaps @ lam
        costs[costs < 1e-13 * costs.max()] = 0.0
        proof = ElfvingProgram(A, np.sqrt(costs)).solve_within(c)
        if proof.root_bound**2 > lower:
            lower, dual = proof.root_bound**2, proof.dual
            mixture = Mixture(lam[lam > 0], parameters[lam > 0])
        mu = np.zeros(len(A))
        mu[rows] = eta
        rows = np.union1d(rows, proof.rows)
    raise AccuracyError(
        f"the minimax design lies between {lower:.9g} and {upper:.9g} after {_ROUNDS} rounds; "
        f"ask for a tol larger than {tol:.1g}."
    )


def _best_answers(opponent: ElfvingProgram, X: Floats, mu: Floats) -> tuple[float, Floats]:
    """Return the worst regret of pulls μ, max over x' and γ, and parameters γ that come near it."""
    directions = mu.sum() * X - mu @ X
    worst = opponent.largest(directions)[:_ANSWERS]
    if len(worst) == 0:  # all options have the same features: no choice is worse than another
        return 0.0, np.zeros((1, X.shape[1]))
    answers = [opponent.solve_within(directions[x]) for x in worst]
    opponent.refuse_sensitive(answers[0], mu.sum() * np.abs(X[worst[0]]) + mu @ np.abs(X))
    return answers[0].root, np.array([answer.dual for answer in answers])


def _master(H: Floats, gaps: Floats, g: Floats) -> tuple[Floats, Floats]:
    """Solve the conic program over the given rows and gap vectors: mixture λ and pulls μ."""
    # (h·v)² ≤ q is the second-order cone (q + 1, q − 1, 2 h·v). With multipliers (y0, y1, y2) the
    # pulls are proportional to y0 + y1, and Σ −2 y2_x h_x is the direction.
    (n, r), J = H.shape, gaps.shape[1]
    scale = float(np.linalg.norm(g))
    cones = np.zeros((n, 3, r + J))
    cones[:, 0, r:] = cones[:, 1, r:] = -gaps
    cones[:, 2, :r] = -2.0 * H
    total = np.concatenate([np.zeros(r), np.ones(J)])[None]
    positive = np.hstack([np.zeros((J, r)), -np.eye(J)])
    matrix = sparse.csc_matrix(np.vstack([total, positive, cones.reshape(3 * n, r + J)]))
    b = np.concatenate([[1.0], np.zeros(J), np.tile([1.0, -1.0, 0.0], n)])
    solution = solve_conic(
        np.concatenate([-g / scale, np.zeros(J)]),
        matrix,
        b,
        n_equal=1,
        n_positive=J,
        name="the minimax design",
        tol=1e-11,
    )
    lam = np.clip(solution.x[r:], 0.0, None)
    y = solution.z[1 + J :].reshape(n, 3)
    eta = np.clip(y[:, 0] + y[:, 1], 0.0, None)
    if lam.sum() == 0.0 or eta.max() == 0.0:
        raise AccuracyError("the conic program of the minimax design gave no design.")
    eta[eta < 1e-10 * eta.max()] = 0.0
    return lam / lam.sum(), eta * _variance(H, eta, g)


def _variance(H: Floats, mu: Floats, g: Floats) -> float:
    """Return gᵀV(μ)⁺g: the squared length of the shortest y with Σ √μ_x y_x h_x = g."""
    used: Indices = np.flatnonzero(mu)
    y, *_ = np.linalg.lstsq((H[used] * np.sqrt(mu[used])[:, None]).T, g, rcond=1e-14)
    return float(y @ y)
