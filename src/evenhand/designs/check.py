"""The check that every solver ends with: what it is about to say is finite, feasible and proven.

It looks at the rows in the support only, so it costs nothing beside the solver, and takes no step
of the solver's. That the dual holds on all other rows is for the solver's last pass over the data,
and for `Design.verify`, which looks at everything.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.arrays import Floats
from evenhand.designs.design import Design
from evenhand.designs.verification import largest_variance
from evenhand.errors import AccuracyError

_ROUNDING = 1e-6  # what a value computed in another way may be off by, relatively


def checked(design: Design, points: Floats, scales: Floats, tol: float) -> Design:
    """Return the design, or raise `AccuracyError` if its value is above its proven bound by more
    than ``tol``, relatively; ``scales`` are (m,) the magnitudes of the points' columns.
    """
    fault = _fault(design, points[design.support], scales, tol)
    if fault is not None:
        raise AccuracyError(
            f"the {design.criterion}-optimal design came out wrong: {fault}. The points are too "
            "close to dependent, or too different in size, for double precision: drop columns "
            "that are almost combinations of others, or bring rows and columns to comparable size."
        )
    return design


def _fault(design: Design, rows: Floats, scales: Floats, tol: float) -> str | None:
    """Say what is wrong, every comparison written so that a NaN fails it."""
    weights, certificate = design.weights[design.support], design.certificate
    numbers = (design.value, design.mass, certificate.bound)
    if not (all(map(math.isfinite, numbers)) and np.isfinite(certificate.dual).all()):
        return "some number in it is not finite"
    if not (len(weights) and weights.min() > 0 and abs(weights.sum() - 1.0) <= 1e-9):
        return "its weights are no shares"
    directions = np.zeros((0, len(scales))) if design.direction is None else design.direction
    proven = certificate.gap <= tol
    if not proven and not certificate.gap <= tol + _rounding(directions, rows, certificate.dual):
        return f"its value is proven to a gap of {certificate.gap:.2g} only, not {tol:.2g}"
    if design.criterion == "G":
        # leverages average to the rank, whatever the weights
        d = np.square(rows @ certificate.dual.T).sum(axis=1) * design.value
        if not abs(float(weights @ d) - certificate.bound) <= _ROUNDING * certificate.bound:
            return f"its leverages average to {float(weights @ d):.9g}, not to the rank"
        return None
    enough = 1.0 + _ROUNDING
    variance = largest_variance(rows / scales, design.mass * weights, directions / scales, enough)
    if not variance <= enough:
        return f"the variance at its mass is {variance:.9g}, not 1"
    return None


def _rounding(directions: Floats, rows: Floats, dual: Floats) -> float:
    """Return what the proven bound may be off by, relatively, because products are rounded sums."""
    # It is (c·u)², with u shrunk until a·u is within its limit, which it attains on the support.
    if dual.ndim != 1:
        return 0.0
    vectors = np.vstack([directions, rows])
    terms, sums = np.abs(vectors) @ np.abs(dual), np.abs(vectors @ dual)
    nonzero = sums > 0.0
    worst = float((terms[nonzero] / sums[nonzero]).max(initial=0.0))
    return 4.0 * np.finfo(float).eps * len(dual) * worst
