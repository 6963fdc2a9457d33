"""Second-order cone programs, by Clarabel: the one place that speaks to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.errors import AccuracyError


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
