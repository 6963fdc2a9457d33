"""Passes over all rows, at the speed of memory, and samples that save them."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.numerics._passes import products_into, squared_norms_into

_SAMPLE_RUN = 16  # neighbouring rows read together when a large matrix is sampled


def products(points: Floats, u: Floats) -> Floats:
    """Return a·u for every row a, in one pass."""
    out = np.empty(len(points))
    products_into(points, np.ascontiguousarray(u), out)
    return out


def leverages(points: Floats, W: Floats) -> Floats:
    """Return ‖W a‖² for every row a, in one pass."""
    out = np.empty(len(points))
    squared_norms_into(points, W, out)
    return out


def sample_rows(k: int, size: int) -> Indices:
    """Return about ``size`` row indices spread over range(k), the same ones every time."""
    # Short runs at random places, one per stretch of equal length: quick to read, and proof against
    # any order that the rows may have.
    if k <= size:
        return np.arange(k)
    n_runs = max(1, size // _SAMPLE_RUN)
    stretch = k / n_runs
    offsets = np.random.default_rng(20210307).random(n_runs) * (stretch - _SAMPLE_RUN)
    starts = (np.arange(n_runs) * stretch + np.maximum(offsets, 0.0)).astype(np.intp)
    runs: Indices = (starts[:, None] + np.arange(_SAMPLE_RUN)).ravel()
    return runs[runs < k]
