"""c-optimal designs: estimate one direction of the parameter at the least cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, as_points, as_vector
from evenhand.designs.check import checked
from evenhand.designs.design import Certificate, Design
from evenhand.designs.elfving import ElfvingProgram, ElfvingSolution
from evenhand.errors import InputError

FREE_EXCESS = 0.01
"""How much more than κ the pulls may cost where options of cost zero would need infinitely many."""

_GAP = 1e-6  # what the value is proven to, at least; the simplex stops at 1e-9

_LEAST = 1e-145  # of a weight: squares of weights are to be floats, with room to spare


def c_optimal_design(
    points: ArrayLike, direction: ArrayLike, costs: ArrayLike | None = None
) -> Design:
    """Return the cheapest way to estimate ``direction · parameter`` with unit variance.

    Parameters
    ----------
    points
        (k, m) matrix, one row per option.
    direction
        (m,) vector c.
    costs
        (k,) costs ≥ 0 of one evaluation of each option; 1 each if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> design = eh.c_optimal_design([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [0.0, 1.0])
    >>> design.support, round(design.value, 12)   # a slope is best read off the two ends
    (array([0, 2]), 1.0)
    """
    A = as_points(points)
    k, m = A.shape
    c = as_vector(direction, m, "direction")
    if not c.any():
        raise InputError("direction is the zero vector; there is nothing to estimate.")
    if costs is None:
        program = ElfvingProgram(A)
        return _checked(_design(program.solve(c), k, c, None, None), program)
    cost = as_vector(costs, k, "costs")
    if cost.min() < 0:
        x = int(np.argmin(cost))
        raise InputError(f"costs[{x}] is {cost[x]}; a cost must be ≥ 0.")
    s = np.sqrt(cost)
    program = ElfvingProgram(A, s)
    return _checked(_design(program.solve(c), k, c, cost, s), program)


def _checked(design: Design, program: ElfvingProgram) -> Design:
    """Return the design as `checked`; a fault names the columns that are to blame."""
    with program.space.blamed():
        return checked(design, program.A, program.space.scales, _GAP)


def _design(
    lp: ElfvingSolution, k: int, c: Floats, cost: Floats | None, s: Floats | None
) -> Design:
    """Turn the weights of the program into pulls: μ_x = |w_x| √κ / s_x (the paper's Lemma 9)."""
    # Rows of cost zero would need infinitely many pulls. Their cost is floored, for the pulls only,
    # so that the design costs (1 + FREE_EXCESS) κ; the value stays κ.
    rows, w = lp.support()
    w = np.abs(w)
    if not _LEAST <= float(w.max()) <= 1.0 / _LEAST:
        raise InputError(
            f"this direction takes a weight of {w.max():.3g} on row {int(rows[np.argmax(w)])}, "
            "whose square leaves the range of floats: direction and points differ too much in "
            "size. Choose a unit for the direction, or for the columns, nearer to the other."
        )
    root_cost = np.ones(len(w)) if s is None else s[rows]
    free = root_cost == 0.0
    free_weight = float(w[free].sum())
    if free_weight > 0.0:
        root_cost[free] = FREE_EXCESS * lp.root / free_weight if lp.root > 0.0 else 1.0
    mu = w * float(root_cost @ w) / root_cost
    mass = float(mu.sum())
    weights = np.zeros(k)
    weights[rows] = mu / mass
    value, bound = lp.root**2, max(lp.root_bound, 0.0) ** 2
    excess = FREE_EXCESS if free_weight > 0.0 and lp.root > 0.0 else 0.0
    return Design("c", weights, value, mass, Certificate(value, bound, lp.dual), c, cost, excess)
